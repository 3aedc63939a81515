//! Numbers that have names, written as `-X` asks for: the name, the number, or both.
//!
//! Every kind writes the names only; what `-X` asks for is put around them here.

use super::DecodeContext;
use crate::flags::{Flags, Names, hex};

/// How a number that has a name is written (`-X`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConstantStyle {
    /// By its name: `O_RDONLY`.
    #[default]
    Name,
    /// As the number: `0`.
    Number,
    /// As both: `0 /* O_RDONLY */`.
    Both,
}

impl std::str::FromStr for ConstantStyle {
    type Err = &'static str;

    /// Parses the word of `-X`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "abbrev" => Ok(ConstantStyle::Name),
            "raw" => Ok(ConstantStyle::Number),
            "verbose" => Ok(ConstantStyle::Both),
            _ => Err("give abbrev (names), raw (numbers) or verbose (both)"),
        }
    }
}

impl ConstantStyle {
    /// Writes a number by its `name`, which is the number itself if it has none.
    pub(crate) fn write(
        self,
        out: &mut Vec<u8>,
        number: impl FnOnce(&mut Vec<u8>),
        name: impl FnOnce(&mut Vec<u8>),
    ) {
        if self == ConstantStyle::Number {
            return number(out);
        }
        let start = out.len();
        name(out);
        if self == ConstantStyle::Both {
            add_number(out, start, number);
        }
    }
}

/// Makes a remark of the name that stands from `start` on, and puts the number before it; a number
/// stays as it is.
fn add_number(out: &mut Vec<u8>, start: usize, number: impl FnOnce(&mut Vec<u8>)) {
    let is_name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    if out.get(start).is_some_and(is_name) {
        make_remark(out, start, number);
    }
}

/// Makes a remark of what stands from `start` on, and puts the number before it.
fn make_remark(out: &mut Vec<u8>, start: usize, number: impl FnOnce(&mut Vec<u8>)) {
    let name = out.split_off(start);
    number(out);
    for part in [&b" /* "[..], &name, b" */"] {
        out.extend_from_slice(part);
    }
}

/// A table of numbers with names.
pub(crate) trait Constants {
    /// Writes the name of a number, or the number if it has none.
    fn write_name(&self, value: u64, out: &mut Vec<u8>);
}

impl Constants for Flags {
    fn write_name(&self, value: u64, out: &mut Vec<u8>) {
        self.write(value, out);
    }
}

impl Constants for Names {
    fn write_name(&self, value: u64, out: &mut Vec<u8>) {
        self.write(value, out);
    }
}

impl DecodeContext<'_> {
    /// Writes a number of a table.
    pub(crate) fn constant(&mut self, table: &impl Constants, value: u64) {
        let number = |out: &mut Vec<u8>| hex(value, out);
        self.style.constants.write(self.out, number, |out| table.write_name(value, out));
    }

    /// Writes flags that follow others of the same number.
    pub(crate) fn more_flags(&mut self, set: &'static Flags, value: u64) {
        let number = |out: &mut Vec<u8>| hex(value, out);
        self.style.constants.write(self.out, number, |out| set.write_rest(value, out));
    }

    /// Writes a number whose names `write` writes.
    pub(crate) fn named(&mut self, value: u64, write: impl FnOnce(&mut Self)) {
        self.named_as(|out| hex(value, out), write);
    }

    /// Writes a decimal number whose names `write` writes.
    pub(crate) fn named_decimal(&mut self, value: i64, write: impl FnOnce(&mut Self)) {
        self.named_as(|out| text::integer::push_i64(out, value), write);
    }

    /// Writes a number, which `number` writes, and whose names `write` writes.
    pub(crate) fn named_as(
        &mut self,
        number: impl FnOnce(&mut Vec<u8>),
        write: impl FnOnce(&mut Self),
    ) {
        self.around(number, write, |out, start, number| add_number(out, start, number));
    }

    /// As [`named_as`](Self::named_as), also where what `write` writes begins with a digit.
    pub(crate) fn remarked(
        &mut self,
        number: impl FnOnce(&mut Vec<u8>),
        write: impl FnOnce(&mut Self),
    ) {
        self.around(number, write, |out, start, number| make_remark(out, start, number));
    }

    fn around<N: FnOnce(&mut Vec<u8>)>(
        &mut self,
        number: N,
        write: impl FnOnce(&mut Self),
        add: impl FnOnce(&mut Vec<u8>, usize, N),
    ) {
        let style = self.style.constants;
        if style == ConstantStyle::Number {
            return number(self.out);
        }
        let start = self.out.len();
        // The names within have no numbers of their own.
        self.style.constants = ConstantStyle::Name;
        write(self);
        self.style.constants = style;
        if style == ConstantStyle::Both {
            add(self.out, start, number);
        }
    }
}
