//! The times in which a machine was not recorded.

use feed::Origin;
use recording::{Pause, Reader};

use crate::Error;
use crate::archive::Recordings;
use crate::archived_file::ArchivedFile;

/// A pause that is longer than so many intervals is a gap.
const GAP_INTERVALS: u64 = 3;

/// The interval of a recording that was made as fast as possible.
const FASTEST_NS: u64 = 1_000_000_000;

/// A time in which no recording of a machine has a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedGap {
    /// The last sample before it, in nanoseconds since the epoch.
    pub after_ns: i64,
    /// The first one after it, or the start of the recording that has it.
    pub until_ns: i64,
}

impl Recordings {
    /// The times from one to another in which a machine was not recorded for more than three
    /// intervals, between its first and its last sample: in a recording and from one to the next.
    /// What another recording has is no gap.  A recording of collectl counts as a whole: only all of
    /// its text tells its pauses.
    ///
    /// Costs the headers of the blocks of each recording of the period, and the decoding of those
    /// blocks that have a pause; what was found is kept.
    ///
    /// # Errors
    /// There is no such machine, or a recording cannot be read.
    pub fn gaps(&self, host: &str, from_ns: i64, thru_ns: i64) -> Result<Vec<RecordedGap>, Error> {
        self.check_host(host)?;
        let mut covered: Vec<Covered> = Vec::new();
        for (_, file) in self.of_host(host) {
            let started_ns = file.file.started_ns;
            if started_ns < thru_ns && file.ended_ns > from_ns {
                file.covered(&mut covered)?;
            } else if file.ended_ns != i64::MAX && file.ended_ns >= started_ns {
                covered.push(Covered {
                    from_ns: started_ns,
                    thru_ns: file.ended_ns,
                    longest_ns: 0,
                });
            }
        }
        covered.sort_unstable_by_key(|covered| covered.from_ns);
        let (mut gaps, mut end) = (Vec::new(), None::<Covered>);
        for next in covered {
            let Some(before) = end else {
                end = Some(next);
                continue;
            };
            let pause_ns = next.from_ns.saturating_sub(before.thru_ns);
            let longest_ns = before.longest_ns.max(next.longest_ns);
            if u64::try_from(pause_ns).is_ok_and(|pause_ns| pause_ns > longest_ns) {
                gaps.push(RecordedGap { after_ns: before.thru_ns, until_ns: next.from_ns });
            }
            end = Some(if next.thru_ns > before.thru_ns { next } else { before });
        }
        gaps.retain(|gap| gap.after_ns < thru_ns && gap.until_ns > from_ns);
        Ok(gaps)
    }
}

/// A time without gaps.
#[derive(Clone, Copy)]
struct Covered {
    from_ns: i64,
    thru_ns: i64,
    /// A longer time without samples is a gap.
    longest_ns: u64,
}

impl ArchivedFile {
    /// Adds the times of a recording that have samples.
    fn covered(&self, covered: &mut Vec<Covered>) -> Result<(), Error> {
        let interval_ns = self.file.meta.interval_ns();
        let longest_ns = match interval_ns {
            0 => FASTEST_NS,
            _ => interval_ns,
        }
        .saturating_mul(GAP_INTERVALS);
        let mut from_ns = self.file.started_ns;
        if self.file.origin != Origin::Whit {
            let modified_ns = i64::try_from(self.stamp.modified_ns).unwrap_or(i64::MAX);
            let thru_ns = if self.ended_ns == i64::MAX { modified_ns } else { self.ended_ns };
            covered.push(Covered { from_ns, thru_ns: thru_ns.max(from_ns), longest_ns });
            return Ok(());
        }
        let known = match self.pauses.get() {
            Some(known) => known,
            None => {
                let mut reader =
                    Reader::open(&self.file.path, &[]).map_err(feed::FeedError::from)?;
                let found = reader.pauses(interval_ns, longest_ns);
                let (pauses, last_ns) = found.map_err(feed::FeedError::from)?;
                self.pauses.get_or_init(|| (pauses, last_ns.unwrap_or(from_ns)))
            }
        };
        for &Pause { after_ns, until_ns } in &known.0 {
            covered.push(Covered { from_ns, thru_ns: after_ns, longest_ns });
            from_ns = until_ns;
        }
        covered.push(Covered { from_ns, thru_ns: known.1, longest_ns });
        Ok(())
    }
}
