//! `/proc/loadavg` (proc(5)): `0.20 0.18 0.12 1/80 11206`.

use crate::scan::{hundredths, take_number, take_word};

/// The parsed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loadavg {
    /// Averages over 1, 5 and 15 minutes, in hundredths.
    pub average: [u64; 3],
    /// Tasks that are runnable now.
    pub running: u64,
    /// Tasks that exist.
    pub tasks: u64,
    /// The latest process id that the kernel assigned.
    pub last_pid: Option<u64>,
}

/// Parses the file; `None` if it has another form.
pub fn parse_loadavg(mut text: &[u8]) -> Option<Loadavg> {
    let mut average = [0; 3];
    for slot in &mut average {
        *slot = hundredths(take_word(&mut text))?;
    }
    let running = take_number(&mut text)?;
    text = text.strip_prefix(b"/")?;
    let tasks = take_number(&mut text)?;
    Some(Loadavg { average, running, tasks, last_pid: take_number(&mut text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_line_and_broken_ones() {
        let load = parse_loadavg(b"12.05 0.18 0.12 1/80 11206\n").unwrap();
        assert_eq!(load.average, [1205, 18, 12]);
        assert_eq!((load.running, load.tasks, load.last_pid), (1, 80, Some(11206)));
        for broken in ["", "1 2 3", "0.1 0.2 0.3 1/2 3", "0.10 0.20 0.30 12 3"] {
            assert_eq!(parse_loadavg(broken.as_bytes()), None, "{broken:?}");
        }
    }
}
