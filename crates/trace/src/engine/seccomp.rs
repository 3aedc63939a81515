//! A seccomp filter that stops a task at the wanted calls and at no others.
//!
//! A program for classic BPF: `arch` selects the table, then a binary search finds the range of
//! numbers (all wanted, or none) that the call is in, with at most nine comparisons.  Kernels since
//! 5.11 run the filter once for each number and cache the calls that it always allows, so that
//! calls that are not wanted cost next to nothing.  Needs no privilege.

use std::ptr;

use super::CallFilter;
use crate::{Abi, CallId};

/// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_I386` of linux/audit.h.
pub(crate) const ARCH_X86_64: u32 = 0xC000_003E;
pub(crate) const ARCH_I386: u32 = 0x4000_0003;

/// Offsets of the number and of the table in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;

/// Slots of a table (see [`CallId::slot`]).
const SLOTS_PER_ABI: u32 = crate::SLOTS as u32 / 2;

/// A program for seccomp.
pub(crate) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// The filter for these calls.
    pub(crate) fn of(wanted: &CallFilter) -> Self {
        let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, ARCH_AT)];
        for (abi, arch) in [(Abi::X86_64, ARCH_X86_64), (Abi::I386, ARCH_I386)] {
            let mut part = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER_AT)];
            tree(&runs(wanted, abi), &mut part);
            program.push(jump(libc::BPF_JEQ, arch, 1, 0));
            program.push(statement(libc::BPF_JMP | libc::BPF_JA, part.len() as u32));
            program.append(&mut part);
        }
        program.push(answer(false));
        Filter(program)
    }

    /// Installs it for this thread and its descendants; returns whether the kernel took it, with
    /// `errno` if not.  Allocates nothing, because it runs between `fork` and `execve`.
    pub(crate) fn install(&self) -> bool {
        let program =
            libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // Without this flag kernels before 5.16 disable speculative store bypass in tasks with a
        // filter, which slows them down; kernels before 4.17 do not know it.
        let set = |flags: libc::c_ulong| {
            // SAFETY: the program is live and as long as it says; the kernel copies it.
            unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    flags,
                    ptr::from_ref(&program),
                ) == 0
            }
        };
        let set = || set(libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW) || set(0);
        // With CAP_SYS_ADMIN `no_new_privs` is not needed; with it, set-uid programs run as their
        // caller.
        set() || {
            // SAFETY: a plain call.
            let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            promised == 0 && set()
        }
    }
}

/// Ranges of numbers with the same answer: the first number of each, and the answer.  The last
/// range has no end.
fn runs(wanted: &CallFilter, abi: Abi) -> Vec<(u32, bool)> {
    let mut runs: Vec<(u32, bool)> = Vec::new();
    for number in 0..SLOTS_PER_ABI {
        let answer = wanted.has(CallId { abi, number: u64::from(number) });
        if runs.last().is_none_or(|(_, last)| *last != answer) {
            runs.push((number, answer));
        }
    }
    runs
}

/// Appends a search tree for the range that the number is in.
fn tree(runs: &[(u32, bool)], program: &mut Vec<libc::sock_filter>) {
    if let [(_, wanted)] = runs {
        program.push(answer(*wanted));
        return;
    }
    let (lower, upper) = runs.split_at(runs.len() / 2);
    let mut below = Vec::new();
    tree(lower, &mut below);
    // A comparison can skip 255 instructions, a jump any number.
    if let Ok(skip) = u8::try_from(below.len()) {
        program.push(jump(libc::BPF_JGE, upper[0].0, skip, 0));
    } else {
        program.push(jump(libc::BPF_JGE, upper[0].0, 0, 1));
        program.push(statement(libc::BPF_JMP | libc::BPF_JA, below.len() as u32));
    }
    program.append(&mut below);
    tree(upper, program);
}

fn answer(wanted: bool) -> libc::sock_filter {
    let action = if wanted { libc::SECCOMP_RET_TRACE } else { libc::SECCOMP_RET_ALLOW };
    statement(libc::BPF_RET | libc::BPF_K, action)
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(condition: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | condition | libc::BPF_K) as u16, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel would; returns its answer and the number of comparisons.
    fn run(filter: &Filter, arch: u32, number: u32) -> (bool, u32) {
        let (mut at, mut value, mut comparisons) = (0, 0, 0);
        loop {
            let libc::sock_filter { code, jt, jf, k } = filter.0[at];
            at += 1;
            let skip = |yes: bool| usize::from(if yes { jt } else { jf });
            match u32::from(code) {
                0x20 if k == ARCH_AT => value = arch,
                0x20 => value = number,
                0x15 => at += skip(value == k),
                0x35 => {
                    comparisons += 1;
                    at += skip(value >= k);
                }
                0x05 => at += k as usize,
                0x06 => return (k == libc::SECCOMP_RET_TRACE, comparisons),
                other => panic!("{other:#x} is no instruction of ours"),
            }
        }
    }

    #[test]
    fn every_number_of_both_tables_gets_its_answer() {
        let sets = [
            CallFilter::all(),
            CallFilter::of(|_| false),
            CallFilter::of(|call| call.number % 2 == 0),
            CallFilter::of(|call| call.number % 3 == 1 && call.abi == Abi::I386),
            CallFilter::of(|call| call.known_name() == Some("openat")),
            CallFilter::of(|call| call.known_name().is_none()),
        ];
        for wanted in sets {
            let filter = Filter::of(&wanted);
            // BPF_MAXINSNS.
            assert!(filter.0.len() <= 4096, "{} instructions", filter.0.len());
            for (abi, arch) in [(Abi::X86_64, ARCH_X86_64), (Abi::I386, ARCH_I386)] {
                for number in (0..600).chain([0x4000_0001, u32::MAX]) {
                    let (answer, comparisons) = run(&filter, arch, number);
                    let call = CallId { abi, number: u64::from(number) };
                    assert_eq!(answer, wanted.has(call), "{call:?}");
                    assert!(comparisons <= 9, "{comparisons} for {call:?}");
                }
            }
            // Calls of another architecture are not traced.
            assert!(!run(&filter, 0x1234, 0).0);
        }
    }
}
