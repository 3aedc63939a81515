//! `/proc/interrupts` (proc_interrupts(5), kernel `fs/proc/interrupts.c`): interrupts by number or
//! name, a column for each CPU that is online:
//!
//! ```text
//!            CPU0       CPU1
//!  24:          1          0  IO-APIC   5-edge      ACPI:Ged
//! LOC:      50944      55588   Local timer interrupts
//! ERR:          0
//! ```
//!
//! `ERR` and `MIS` have one column for the whole machine.  Recordings may lack the heading: then
//! the columns are numbered from 0, and a line has as many as it begins with numbers.

use crate::scan::{Lines, lines, take_number, take_word};

/// The heading and the lines below it.
pub struct Interrupts<'a> {
    /// The line that names the CPUs, empty when the text has none.
    pub heading: &'a [u8],
    lines: Lines<'a>,
}

/// One interrupt.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt<'a> {
    /// The line without leading blanks.
    pub line: &'a [u8],
    /// The interrupt's number, or a name such as `LOC`.
    pub name: &'a [u8],
    rest: &'a [u8],
}

/// Splits the file into its heading and lines.
pub fn parse_interrupts(text: &[u8]) -> Interrupts<'_> {
    let mut all = lines(text);
    match all.next() {
        Some(heading) if take_word(&mut &*heading).starts_with(b"CPU") => {
            Interrupts { heading, lines: all }
        }
        _ => Interrupts { heading: &[], lines: lines(text) },
    }
}

/// The numbers of the CPUs that a heading names, as text, in the order of the columns.
pub fn cpus(mut heading: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let number = take_word(&mut heading).strip_prefix(b"CPU")?;
        number.iter().all(u8::is_ascii_digit).then_some(number)
    })
}

impl<'a> Iterator for Interrupts<'a> {
    type Item = Interrupt<'a>;

    /// The next line with a name; other lines are skipped.
    fn next(&mut self) -> Option<Interrupt<'a>> {
        loop {
            let line = self.lines.next()?.trim_ascii_start();
            let Some(end) = memchr::memchr(b':', line) else { continue };
            let name = &line[..end];
            if !name.is_empty() && !name.contains(&b' ') {
                return Some(Interrupt { line, name, rest: &line[end + 1..] });
            }
        }
    }
}

impl<'a> Interrupt<'a> {
    /// Whether the line has one count for the whole machine instead of one per CPU.
    pub fn is_single(&self) -> bool {
        matches!(self.name, b"ERR" | b"MIS")
    }

    /// The count of the next CPU; `None` after the last one.
    #[inline]
    pub fn take_count(&mut self) -> Option<u64> {
        let mut rest = self.rest;
        let count = take_number(&mut rest)?;
        // A description may begin with a digit; a count is followed by a blank or the line's end.
        if !matches!(rest.first(), None | Some(b' ' | b'\t')) {
            return None;
        }
        self.rest = rest;
        Some(count)
    }

    /// The description after the counts; call it when [`Interrupt::take_count`] has returned `None`.
    pub fn description(&self) -> &'a [u8] {
        self.rest.trim_ascii()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read<'a> = (&'a str, Vec<u64>, &'a str);

    fn read(text: &str) -> Vec<Read<'_>> {
        let utf8 = |bytes| std::str::from_utf8(bytes).unwrap();
        let interrupts = parse_interrupts(text.as_bytes());
        let columns = match cpus(interrupts.heading).count() {
            0 => usize::MAX,
            columns => columns,
        };
        let mut read = Vec::new();
        for mut line in interrupts {
            let mut counts = Vec::new();
            while counts.len() < columns
                && let Some(count) = line.take_count()
            {
                counts.push(count);
            }
            read.push((utf8(line.name), counts, utf8(line.description())));
        }
        read
    }

    const REAL: &str = "           CPU0       CPU2       \n \
        24:          1          0  IO-APIC   5-edge      ACPI:Ged\n \
        29:          0          7 PCI-MSIX-0000:00:01.0   1-edge      virtio0-inflate\n\
        LOC:      50944      55588   Local timer interrupts\n\
        ERR:          3\n";

    #[test]
    fn a_real_file_with_and_without_its_heading() {
        let heading = parse_interrupts(REAL.as_bytes()).heading;
        assert_eq!(cpus(heading).collect::<Vec<_>>(), [b"0", b"2"]);
        let expected: [Read<'_>; 4] = [
            ("24", vec![1, 0], "IO-APIC   5-edge      ACPI:Ged"),
            ("29", vec![0, 7], "PCI-MSIX-0000:00:01.0   1-edge      virtio0-inflate"),
            ("LOC", vec![50_944, 55_588], "Local timer interrupts"),
            ("ERR", vec![3], ""),
        ];
        assert_eq!(read(REAL), expected);
        let (_, below) = REAL.split_once('\n').unwrap();
        assert_eq!(read(below), expected);
    }

    #[test]
    fn a_description_that_begins_with_a_number_is_not_a_count() {
        assert_eq!(read("CPU0\n 5: 1 2 level\n"), [("5", vec![1], "2 level")]);
        assert_eq!(read(" 5: 1 8259A timer\n"), [("5", vec![1], "8259A timer")]);
    }

    #[test]
    fn broken_text() {
        assert_eq!(read(""), []);
        assert_eq!(read("x\n\n: 1\na b: 1\n"), []);
        assert_eq!(
            read("CPU0 CPU1\n1:\n2: 99999999999999999999 1\n3: 4"),
            [("1", vec![], ""), ("2", vec![], "99999999999999999999 1"), ("3", vec![4], ""),]
        );
    }
}
