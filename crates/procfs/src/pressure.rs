//! Pressure stall information: `/proc/pressure/{cpu,io,memory,irq}` and the `*.pressure` files of
//! cgroups (kernel `Documentation/accounting/psi.rst`):
//! `some avg10=0.47 avg60=0.92 avg300=1.55 total=18778901`.

use crate::scan::{hundredths, lines, take_number, take_word};

/// One line: how long tasks were stalled on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Share of time over the last 10, 60 and 300 s, in hundredths of a per cent.
    pub average: [u64; 3],
    /// Time since boot, in µs.
    pub total_us: u64,
}

/// The file.  `irq` has no `some` line, and `cpu` had no `full` one before Linux 5.13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Time in which at least one task was stalled.
    pub some: Option<Stall>,
    /// Time in which all non-idle tasks were stalled.
    pub full: Option<Stall>,
}

/// Parses the file; malformed lines are skipped.
pub fn parse_pressure(text: &[u8]) -> Pressure {
    let mut pressure = Pressure::default();
    for line in lines(text) {
        if let Some(rest) = line.strip_prefix(b"some ") {
            pressure.some = parse_stall(rest);
        } else if let Some(rest) = line.strip_prefix(b"full ") {
            pressure.full = parse_stall(rest);
        }
    }
    pressure
}

fn parse_stall(mut rest: &[u8]) -> Option<Stall> {
    let mut average = [0; 3];
    for (slot, key) in average.iter_mut().zip([&b"avg10="[..], b"avg60=", b"avg300="]) {
        *slot = hundredths(take_word(&mut rest).strip_prefix(key)?)?;
    }
    let mut total = take_word(&mut rest).strip_prefix(b"total=")?;
    Some(Stall { average, total_us: take_number(&mut total)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_files_and_broken_ones() {
        let pressure = parse_pressure(
            b"some avg10=0.47 avg60=0.92 avg300=100.00 total=18778901\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        );
        let some = Stall { average: [47, 92, 10_000], total_us: 18_778_901 };
        assert_eq!(pressure.some, Some(some));
        assert_eq!(pressure.full, Some(Stall { average: [0; 3], total_us: 0 }));
        let old_cpu = parse_pressure(b"some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
        assert_eq!((old_cpu.some.map(|s| s.total_us), old_cpu.full), (Some(7), None));
        for broken in [
            "",
            "some",
            "some avg10=1 avg60=0.92 avg300=1.55 total=1",
            "some avg10=0.47 avg60=0.92 total=18778901",
            "some avg10=0.47 avg60=0.92 avg300=1.55 total=",
        ] {
            assert_eq!(parse_pressure(broken.as_bytes()), Pressure::default(), "{broken}");
        }
    }
}
