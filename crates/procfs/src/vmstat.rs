//! `/proc/vmstat` (kernel `mm/vmstat.c`): `pgpgin 3629317`.
//!
//! Events since boot, in pages, except `pgpgin` and `pgpgout`, which count kibibytes; the three
//! `nr_shmem` are gauges.  Kernels before 4.8 count refills, steals and scans per zone, those before
//! 4.10 the stalls.  Both forms are read; a kernel has one of them.

//!
//! The kernel returns at most a page per read, and sums up all counters for each read.  On most
//! kernels the first page has all lines that are used here, so the rest is not read.

use sample::State;

use crate::host::{FileId, Host, ReadMode};
use crate::scan::KeyIndex;

/// The file of a host, and the offsets of the wanted lines.
pub struct Vmstat {
    file: FileId,
    index: KeyIndex,
    needs: Needs,
}

/// How much of the file is read.  The set of lines does not change while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Not yet known.
    Unknown,
    /// The result of one read, as long as it has this many of the lines.
    First(usize),
    Whole,
}

impl Vmstat {
    /// Reads the lines `keys`, given in the order of the file, each with the blank after it.
    pub fn new(host: &mut Host, keys: &'static [&'static [u8]]) -> Self {
        let file = host.file("/proc/vmstat", ReadMode::Records);
        Vmstat { file, index: KeyIndex::new(keys), needs: Needs::Unknown }
    }

    /// Calls `found` with the index and the value of each key that the file has; twice for a key
    /// if the first page was not enough, and then the last value is valid.
    ///
    /// # Errors
    /// As [`Host::read`].
    pub fn read(
        &mut self,
        host: &mut Host,
        mut found: impl FnMut(usize, u64),
    ) -> Result<(), State> {
        let mut scan = |text: &[u8]| {
            let mut count = 0;
            self.index.scan(text, |key, value| {
                count += 1;
                found(key, value);
            });
            count
        };
        let mut in_first = None;
        if self.needs != Needs::Whole {
            let (text, whole) = host.read_first(self.file)?;
            let count = scan(text);
            if whole || self.needs == Needs::First(count) {
                return Ok(());
            }
            in_first = Some(count);
        }
        let count = scan(host.read(self.file)?);
        self.needs = if in_first == Some(count) { Needs::First(count) } else { Needs::Whole };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_is_wanted() {
        let mut host = Host::new("/");
        let whole = host.file("/proc/vmstat", ReadMode::Records);
        let text = host.read(whole).unwrap().to_vec();
        host.begin_tick();
        // The first line, and one after the first page if there is one.
        let first = text.split_inclusive(|&b| b == b' ').next().unwrap().to_vec().leak();
        let last = text[..text.len() - 1].rsplit(|&b| b == b'\n').next().unwrap();
        let last = last.split_inclusive(|&b| b == b' ').next().unwrap().to_vec().leak();
        let keys = |keys: Vec<&'static [u8]>| &*keys.leak();
        let mut near = Vmstat::new(&mut host, keys(vec![first]));
        let mut far = Vmstat::new(&mut host, keys(vec![first, last]));
        for tick in 0..5 {
            host.begin_tick();
            let before = host.cost();
            let mut seen = 0;
            near.read(&mut host, |_, _| seen += 1).unwrap();
            let once = host.cost().calls - before.calls;
            assert!(seen >= 1 && (tick == 0 || once == 1), "{once} calls for the first line");
            // Another reader of the same tick reads the whole file.
            let mut found = [false; 2];
            far.read(&mut host, |key, _| found[key] = true).unwrap();
            assert_eq!(found, [true; 2]);
        }
    }

    #[test]
    fn a_line_that_is_gone_from_the_first_page_is_looked_for_in_the_rest() {
        let mut host = Host::in_memory();
        let mut vmstat = Vmstat::new(&mut host, &[b"pgpgin ", b"pgpgout ", b"pswpin "]);
        assert_eq!(vmstat.read(&mut host, |_, _| ()), Err(State::Absent));
        host.begin_tick();
        host.put("/proc/vmstat", Some(b"pgpgin 5\npgpgout 6\n"));
        vmstat.needs = Needs::First(3);
        let mut values = Vec::new();
        vmstat.read(&mut host, |_, value| values.push(value)).unwrap();
        assert_eq!(values, [5, 6]);
    }
}
