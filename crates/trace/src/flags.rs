//! Names of numbers: flags and alternatives, as `strace` writes them.
//!
//! Data from the kernel's headers, in the order in which `strace` names them, because tools compare
//! its lines.  A lookup walks the list, of which the longest has 80 entries.

use std::io::Write as _;

use bpf::NameList;
use text::integer::push_hexadecimal;

pub(crate) mod errors;
pub(crate) mod event;
pub(crate) mod files;
pub(crate) mod ioctl;
pub(crate) mod memory;
pub(crate) mod netlink;
pub(crate) mod network;
pub(crate) mod perf;
pub(crate) mod process;
pub(crate) mod ring;

/// A set of flags.
#[derive(Debug)]
pub(crate) struct Flags {
    /// Written as a remark beside a number of which no flag has a name.
    pub(crate) unknown: &'static str,
    /// Masks and their names; a mask of several flags comes before its parts.  The name of zero, if
    /// there is one, may be anywhere.
    pub(crate) names: NumberedNames,
}

/// A list of alternatives.
#[derive(Debug)]
pub(crate) struct Names {
    /// Written as a remark beside a number that is not in the list.
    pub(crate) unknown: &'static str,
    /// Numbers and their names.
    pub(crate) names: NumberedNames,
}

/// Numbers and their names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedNames {
    numbers: &'static [u64],
    names: NameList,
}

impl NumberedNames {
    /// A list; [`names!`] makes one of pairs.
    pub(crate) const fn new(numbers: &'static [u64], names: NameList) -> Self {
        NumberedNames { numbers, names }
    }

    /// The name of the first number that is like this.
    fn find(&self, mut is_it: impl FnMut(u64) -> bool) -> Option<&'static str> {
        self.names.get(self.numbers.iter().position(|number| is_it(*number))?)
    }

    /// All pairs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &'static str)> {
        self.numbers.iter().copied().zip(self.names.iter())
    }
}

/// [`NumberedNames`] of pairs of a number and a literal.
macro_rules! names {
    [$(($number:expr, $name:literal)),* $(,)?] => {
        $crate::flags::NumberedNames::new(&[$($number),*], ::bpf::name_list![$($name),*])
    };
}
pub(crate) use names;

impl Flags {
    /// Writes the names, and the rest as a number: `A|B|0x40`, `0`, `0x40 /* X_??? */`.
    pub(crate) fn write(&self, value: u64, out: &mut Vec<u8>) {
        if value == 0 {
            let none = self.names.find(|bits| bits == 0);
            out.extend_from_slice(none.unwrap_or("0").as_bytes());
            return;
        }
        let start = out.len();
        let rest = self.write_names(value, out);
        if out.len() == start {
            push_hexadecimal(out, rest);
            if !self.unknown.is_empty() {
                let _ = write!(out, " /* {} */", self.unknown);
            }
        } else if rest != 0 {
            out.push(b'|');
            push_hexadecimal(out, rest);
        }
    }

    /// As [`write`](Self::write), after something else: `A|0x40`, without a remark.
    pub(crate) fn write_rest(&self, value: u64, out: &mut Vec<u8>) {
        let start = out.len();
        let rest = self.write_names(value, out);
        if rest != 0 {
            if out.len() > start {
                out.push(b'|');
            }
            push_hexadecimal(out, rest);
        }
    }

    /// Writes the names; returns the bits that have none.
    pub(crate) fn write_names(&self, value: u64, out: &mut Vec<u8>) -> u64 {
        let mut rest = value;
        let mut is_first = true;
        for (index, bits) in self.names.numbers.iter().enumerate() {
            if *bits != 0 && rest & bits == *bits {
                if !is_first {
                    out.push(b'|');
                }
                is_first = false;
                let name = self.names.names.get(index).unwrap_or_default();
                out.extend_from_slice(name.as_bytes());
                rest &= !bits;
            }
        }
        rest
    }
}

impl Names {
    /// The name of a number.
    pub(crate) fn get(&self, value: u64) -> Option<&'static str> {
        self.names.find(|number| number == value)
    }

    /// Writes the name, or the number with a remark: `SEEK_SET`, `0x9 /* SEEK_??? */`.
    pub(crate) fn write(&self, value: u64, out: &mut Vec<u8>) {
        match self.get(value) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => {
                hex(value, out);
                if !self.unknown.is_empty() {
                    let _ = write!(out, " /* {} */", self.unknown);
                }
            }
        }
    }
}

/// Writes `0x1f`, and `0` for zero.
pub(crate) fn hex(value: u64, out: &mut Vec<u8>) {
    if value == 0 { out.push(b'0') } else { push_hexadecimal(out, value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(set: &Flags, value: u64) -> String {
        let mut out = Vec::new();
        set.write(value, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn what_has_no_name_is_a_number() {
        assert_eq!(flags(&files::AT, 0), "0");
        assert_eq!(flags(&files::AT, 0x1100), "AT_SYMLINK_NOFOLLOW|AT_EMPTY_PATH");
        assert_eq!(flags(&files::AT, 0x1001), "AT_EMPTY_PATH|0x1");
        assert_eq!(flags(&files::AT, 1), "0x1 /* AT_??? */");
        assert_eq!(flags(&files::OPEN, 0x410000), "O_TMPFILE");
        assert_eq!(flags(&files::OPEN, 0x10000), "O_DIRECTORY");
    }
}
