//! The table of system calls: for each its arguments, its result, and its classes.
//!
//! One line for each call, in files by subject.  The decoder (`decode`), the captures of the engine
//! in the kernel ([`captures`]), and the sets of `-e trace=%class` (`select`) all use it.
//!
//! A call of 32-bit programs uses the line with its name.  Pointers to structures with a different
//! layout in 32-bit programs are shown as numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::decode::{ArgumentKind, Capture, CaptureCount, CapturedData, numbers};
use crate::flags::{Flags, Names};
use crate::{Abi, CallId, SLOTS};

mod compat;
mod event;
mod files;
mod memory;
mod process;

/// A set of classes of calls, as `-e trace=%class` names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class(pub(crate) u32);

macro_rules! classes {
    ($($bit:literal $name:ident $text:literal;)*) => {
        impl Class {
            $(pub(crate) const $name: Class = Class(1 << $bit);)*
            /// Every class with its name.
            pub(crate) const ALL: &[(&str, Class)] = &[$(($text, Class::$name)),*];
        }
    };
}

classes! {
    0 FILE "%file";
    1 DESC "%desc";
    2 PROCESS "%process";
    3 NETWORK "%network";
    4 SIGNAL "%signal";
    5 IPC "%ipc";
    6 MEMORY "%memory";
    7 CREDS "%creds";
    8 STAT "%stat";
    9 LSTAT "%lstat";
    10 FSTAT "%fstat";
    11 STATS "%%stat";
    12 STATFS "%statfs";
    13 FSTATFS "%fstatfs";
    14 STATFSES "%%statfs";
    15 CLOCK "%clock";
    16 PURE "%pure";
}

/// Every class, as `-e trace=` names it.
pub fn class_names() -> impl Iterator<Item = &'static str> {
    Class::ALL.iter().map(|(name, _)| *name)
}

impl Class {
    /// The class with this name of `strace`; `%net` is short for `%network`.
    pub(crate) fn by_name(name: &str) -> Option<Class> {
        let name = if name == "%net" { "%network" } else { name };
        Self::ALL.iter().find(|(text, _)| *text == name).map(|(_, class)| *class)
    }

    /// Whether both have a class in common.
    pub(crate) fn meets(self, other: Class) -> bool {
        self.0 & other.0 != 0
    }
}

/// The line of a call in the table.
#[derive(Clone, Copy)]
pub(crate) struct SyscallEntry {
    pub(crate) name: &'static str,
    // By reference, since most calls share their kinds: a third of the addresses to relocate.
    pub(crate) arguments: &'static [&'static ArgumentKind],
    pub(crate) result: &'static ArgumentKind,
    pub(crate) classes: Class,
}

/// Lines of the table: `name(kind, …) -> kind [CLASS …];`.
macro_rules! calls {
    ($($name:ident($($kind:expr),*) -> $result:ident [$($class:ident)*];)*) => {
        &[$(SyscallEntry {
            name: stringify!($name),
            arguments: &[$(&$kind),*],
            result: &$result,
            classes: Class(0 $(| Class::$class.0)*),
        }),*]
    };
}
use calls;

/// Flags of 32 bits with names.
const fn bits(set: &'static Flags) -> ArgumentKind {
    ArgumentKind::flags(set)
}

/// Flags of a whole word with names.
const fn wide(set: &'static Flags) -> ArgumentKind {
    ArgumentKind::wide_flags(set)
}

/// One of several values with names.
const fn name(list: &'static Names) -> ArgumentKind {
    ArgumentKind::names(list)
}

/// How an unknown call is shown: six words.
static UNKNOWN: SyscallEntry = SyscallEntry {
    name: "",
    arguments: &[&numbers::HEX; 6],
    result: &crate::decode::result::DECIMAL,
    classes: Class(0),
};

/// The line and the captures of every call, by slot.
struct Table {
    entries: Vec<&'static SyscallEntry>,
    captures: Vec<Vec<Capture>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let map = |lists: &[&'static [SyscallEntry]]| -> HashMap<&str, &'static SyscallEntry> {
        lists.iter().copied().flatten().map(|entry| (entry.name, entry)).collect()
    };
    let by_name = map(&[files::CALLS, memory::CALLS, process::CALLS, event::CALLS]);
    let by_name_32 = map(&[compat::CALLS]);
    let entry_of = |slot| {
        let call = CallId::of_slot(slot);
        let name = call.known_name()?;
        let own = if call.abi == Abi::I386 { by_name_32.get(name) } else { None };
        own.or_else(|| by_name.get(name)).copied()
    };
    let entries: Vec<_> = (0..SLOTS).map(|slot| entry_of(slot).unwrap_or(&UNKNOWN)).collect();
    let captures = entries
        .iter()
        .enumerate()
        .map(|(slot, entry)| captures_of(entry, CallId::of_slot(slot).abi))
        .collect();
    Table { entries, captures }
});

/// The line of a call.
pub(crate) fn entry(call: CallId) -> &'static SyscallEntry {
    // The last slot of a table stands for every number beyond it.
    match call.known_name() {
        Some(_) => TABLE.entries[call.slot()],
        None => &UNKNOWN,
    }
}

/// The memory that has to be copied so that a call can be decoded later: for an engine that cannot
/// read it then.
#[must_use]
pub fn captures(call: CallId) -> &'static [Capture] {
    match call.known_name() {
        Some(_) => &TABLE.captures[call.slot()],
        None => &[],
    }
}

/// How many arguments a call has.
#[must_use]
pub fn argument_count(call: CallId) -> usize {
    entry(call).arguments.len()
}

fn captures_of(entry: &SyscallEntry, abi: Abi) -> Vec<Capture> {
    let mut captures = Vec::new();
    for (index, kind) in entry.arguments.iter().enumerate() {
        if abi == Abi::I386 && !kind.any_width {
            continue;
        }
        for reads in kind.reads {
            let argument = index as u8;
            captures.push(Capture {
                argument,
                when: reads.when,
                what: absolute(reads.what, argument),
            });
        }
    }
    captures
}

/// Turns indices that count from an argument into indices of the call's arguments.
fn absolute(what: CapturedData, argument: u8) -> CapturedData {
    let length = |length| match length {
        CaptureCount::Argument(offset) => CaptureCount::Argument(argument.wrapping_add(offset)),
        CaptureCount::Behind(offset) => CaptureCount::Behind(argument.wrapping_add(offset)),
        other => other,
    };
    match what {
        CapturedData::Bytes { count, size } => CapturedData::Bytes { count: length(count), size },
        CapturedData::Data(bytes) => CapturedData::Data(length(bytes)),
        CapturedData::Vectors { count, total } => {
            CapturedData::Vectors { count: length(count), total: total.map(length) }
        }
        CapturedData::Messages { count } => CapturedData::Messages { count: length(count) },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::decode::CapturePhase;

    #[test]
    fn every_call_has_a_line_and_every_line_a_call() {
        for call in CallId::all(Abi::X86_64) {
            assert_eq!(entry(call).name, call.name(), "{call:?}");
        }
        for call in CallId::all(Abi::I386) {
            assert_eq!(entry(call).name, call.name(), "{call:?}");
        }
        let common = [files::CALLS, memory::CALLS, process::CALLS, event::CALLS].concat();
        for (list, abi) in [(&common[..], Abi::X86_64), (compat::CALLS, Abi::I386)] {
            let mut names: Vec<_> = list.iter().map(|entry| entry.name).collect();
            for name in &names {
                assert!(CallId::by_name(abi, name).is_some(), "{name} is no call");
            }
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "a call has two lines");
        }
    }

    #[test]
    fn captures_name_arguments_that_there_are() {
        for abi in [Abi::X86_64, Abi::I386] {
            for call in CallId::all(abi) {
                for capture in captures(call) {
                    let lengths = match capture.what {
                        CapturedData::Bytes { count, .. }
                        | CapturedData::Messages { count }
                        | CapturedData::Data(count) => vec![count],
                        CapturedData::Vectors { count, total } => {
                            total.into_iter().chain([count]).collect()
                        }
                        _ => vec![],
                    };
                    for length in lengths {
                        if let CaptureCount::Argument(index) | CaptureCount::Behind(index) = length
                        {
                            assert!(
                                usize::from(index) < argument_count(call),
                                "{}: {capture:?}",
                                call.name()
                            );
                        }
                    }
                }
            }
        }
        let write = CallId::by_name(Abi::X86_64, "write").unwrap();
        assert_eq!(
            captures(write),
            [Capture {
                argument: 1,
                when: CapturePhase::Enter,
                what: CapturedData::Data(CaptureCount::Argument(2))
            }]
        );
    }
}
