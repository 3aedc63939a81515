//! What a program was given by the `execve` that began it, from its own stack.
//!
//! Memory that was not resident at the entry of an `execve` is gone at its exit.  The kernel has
//! copied it to the stack of the new program: the strings of the arguments, those of the
//! environment, and the path.  This makes pieces of them, at the addresses that `execve` was given,
//! so that they are decoded as the memory before.
//!
//! If an interpreter runs the program, its arguments come before those given, and `argv[0]` is lost.

use bpf::{MemoryPieces, PIECE_BYTES, PieceOrigin};

use crate::{Abi, Call};

/// Most pointers of an array that are looked at.
const POINTERS_MAX: usize = 1 << 16;

/// The index of the argument that is the path of the program to begin.
fn path_index(call: &Call) -> Option<usize> {
    match call.id.known_name()? {
        "execve" => Some(0),
        "execveat" => Some(1),
        _ => None,
    }
}

/// The pieces, in the form in which records hold them; empty if the record of the exit, `late`, has
/// nothing of a new program.  `early` is what was copied at the entry.
pub(super) fn pieces(call: &Call, is_interpreted: bool, early: &[u8], late: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(first) = path_index(call) else { return out };
    for piece in MemoryPieces::of(late) {
        match piece.origin {
            PieceOrigin::Enter | PieceOrigin::Exit => {}
            PieceOrigin::NewPath => {
                let path = if first == 1 { below(call, piece.bytes) } else { piece.bytes };
                push(call.arguments[first], path, &mut out);
            }
            PieceOrigin::NewArguments if call.id.abi == Abi::X86_64 => {
                let strings = Strings { address: piece.address, bytes: piece.bytes };
                strings.as_array(call.arguments[first + 1], is_interpreted, early, &mut out);
            }
            PieceOrigin::NewEnvironment if call.id.abi == Abi::X86_64 => {
                let strings = Strings { address: piece.address, bytes: piece.bytes };
                strings.as_array(call.arguments[first + 2], false, early, &mut out);
            }
            PieceOrigin::NewArguments | PieceOrigin::NewEnvironment => {}
        }
    }
    out
}

/// The path that `execveat` was given: the kernel puts `/dev/fd/3/` before one below a descriptor.
fn below<'a>(call: &Call, path: &'a [u8]) -> &'a [u8] {
    let prefix = format!("/dev/fd/{}", call.arguments[0] as i32);
    match path.strip_prefix(prefix.as_bytes()) {
        Some(rest @ [0, ..]) => rest,
        Some([b'/', rest @ ..]) => rest,
        _ => path,
    }
}

/// Zero-terminated strings one after the other, on the stack of a new program.
struct Strings<'a> {
    address: u64,
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Each string with its zero byte, and where it is.
    fn each(&self) -> impl Iterator<Item = (u64, &'a [u8])> {
        let mut at = self.address;
        self.bytes.split_inclusive(|byte| *byte == 0).filter(|text| text.ends_with(&[0])).map(
            move |text| {
                let from = at;
                at = at.wrapping_add(text.len() as u64);
                (from, text)
            },
        )
    }

    /// Adds pieces for the array of pointers at `address`: the strings that its pointers point to;
    /// and, where the array itself was not copied, pointers to the strings of the stack.
    fn as_array(&self, address: u64, is_interpreted: bool, early: &[u8], out: &mut Vec<u8>) {
        let (known, is_whole) = pointers(early, address);
        let count = self.each().count();
        // If not all strings were copied, their number is unknown; and if neither array nor number
        // is known, so is which strings are the interpreter's.
        let is_cut = self.bytes.len() >= PIECE_BYTES as usize;
        if is_cut && (is_interpreted || !is_whole) || is_interpreted && !is_whole {
            return;
        }
        let added = if is_interpreted { count.saturating_sub(known.len()) } else { 0 };
        let lost = usize::from(is_interpreted);
        for (pointer, (_, text)) in known.iter().zip(self.each().skip(added)).skip(lost) {
            push(*pointer, text, out);
        }
        if !is_whole {
            let rest = self.each().skip(known.len()).map(|(at, _)| at).chain([0]);
            let rest: Vec<u8> = rest.flat_map(u64::to_ne_bytes).collect();
            push(address.wrapping_add(known.len() as u64 * 8), &rest, out);
            push(self.address, self.bytes, out);
        }
    }
}

/// The pointers of the array at `address` that were copied, and whether these are all.
fn pointers(early: &[u8], address: u64) -> (Vec<u64>, bool) {
    let memory = super::copied_memory::CopiedMemory::of(early);
    let mut found = Vec::new();
    while found.len() < POINTERS_MAX {
        let mut word = [0; 8];
        let at = address.wrapping_add(found.len() as u64 * 8);
        if crate::Memory::read(&memory, at, &mut word) < word.len() {
            return (found, false);
        }
        match u64::from_ne_bytes(word) {
            0 => return (found, true),
            pointer => found.push(pointer),
        }
    }
    (found, false)
}

/// Appends a piece copied at the entry: `struct piece` of the program.
fn push(address: u64, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(address.to_ne_bytes());
    out.extend(u32::try_from(bytes.len()).unwrap_or(0).to_ne_bytes());
    out.extend(1_u32.to_ne_bytes());
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use super::super::copied_memory::CopiedMemory;
    use super::*;
    use crate::{CallId, Memory};

    const ARRAY: u64 = 0x1000;
    const STACK: u64 = 0x7000;

    fn piece(address: u64, phase: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push(address, bytes, &mut out);
        out[12..16].copy_from_slice(&phase.to_ne_bytes());
        out
    }

    fn array(pointers: &[u64]) -> Vec<u8> {
        let bytes: Vec<u8> = pointers.iter().flat_map(|pointer| pointer.to_ne_bytes()).collect();
        piece(ARRAY, 1, &bytes)
    }

    /// The strings that the array points to; `None` for one that is unknown.
    fn texts(early: &[u8], made: &[u8]) -> Vec<Option<Vec<u8>>> {
        let both = [early, made].concat();
        let (pointers, is_whole) = pointers(&both, ARRAY);
        assert!(is_whole || pointers.is_empty(), "{pointers:?}");
        let memory = CopiedMemory::of(&both);
        let text = |pointer: &u64| {
            let mut bytes = vec![0; 64];
            let have = memory.read(*pointer, &mut bytes);
            let end = bytes[..have].iter().position(|byte| *byte == 0)?;
            Some(bytes[..end].to_vec())
        };
        pointers.iter().map(text).collect()
    }

    fn given(name: &str, arguments: [u64; 6]) -> Call {
        let id = CallId::by_name(Abi::X86_64, name).expect("a call of that name");
        Call { id, arguments }
    }

    fn some(texts: &[&str]) -> Vec<Option<Vec<u8>>> {
        texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn arguments_are_those_of_the_stack() {
        let call = given("execve", [0x10, ARRAY, 0, 0, 0, 0]);
        let late = piece(STACK, 8, b"one\0two\0");
        for early in [Vec::new(), array(&[0x20, 0x30, 0]), array(&[0x20])] {
            let made = pieces(&call, false, &early, &late);
            assert_eq!(texts(&early, &made), some(&["one", "two"]), "{early:?}");
        }
        assert!(pieces(&given("read", [0; 6]), false, &[], &late).is_empty());
        assert!(pieces(&call, false, &[], &piece(STACK, 1, b"one\0")).is_empty());
    }

    #[test]
    fn an_interpreter_has_arguments_of_its_own() {
        let call = given("execve", [0x10, ARRAY, 0, 0, 0, 0]);
        let late = piece(STACK, 8, b"/bin/sh\0-e\0./script\0two\0three\0");
        let early = array(&[0x20, 0x30, 0x40, 0]);
        let made = pieces(&call, true, &early, &late);
        let mut expected = some(&["", "two", "three"]);
        expected[0] = None;
        assert_eq!(texts(&early, &made), expected);
        // Nothing says which arguments are those of the interpreter.
        assert!(pieces(&call, true, &[], &late).is_empty());
    }

    #[test]
    fn the_path_is_the_one_given() {
        let folder = 3_u64;
        for (name, first, kernels, expected) in [
            ("execve", 0x10, &b"/bin/true\0"[..], &b"/bin/true\0"[..]),
            ("execveat", folder, b"/dev/fd/3/bin/x\0", b"bin/x\0"),
            ("execveat", folder, b"/dev/fd/3\0", b"\0"),
            ("execveat", folder, b"/bin/x\0", b"/bin/x\0"),
        ] {
            let call = given(name, [first, 0x10, 0, 0, 0, 0]);
            let at = if name == "execve" { first } else { 0x10 };
            let made = pieces(&call, false, &[], &piece(STACK, 4, kernels));
            let mut bytes = vec![0; expected.len()];
            assert_eq!(CopiedMemory::of(&made).read(at, &mut bytes), expected.len());
            assert_eq!(bytes, expected);
        }
    }
}
