//! The pauses of a recording: times without samples, by the times of its blocks.
//!
//! The index, or the header of a block, has its first and latest time and its number of samples.  Only
//! a block that has fewer samples than its time demands is decoded, and of it the times alone.

use sample::Snapshot;

use crate::error::Error;
use crate::map::BlockLocation;
use crate::reader::{ReadOutcome, Reader};

/// A time without samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The last sample before it, in nanoseconds since the epoch.
    pub after_ns: i64,
    /// The first one after it.
    pub until_ns: i64,
}

impl Reader {
    /// The time of the last sample, if there is any; of those that cannot be read the latest one that
    /// can.  Decodes the last block only.  Afterwards the reader is at the end, and gives no source.
    ///
    /// # Errors
    /// If the file cannot be read; damage is not an error.
    pub fn last_realtime_ns(&mut self) -> Result<Option<i64>, Error> {
        self.focus(&[]);
        let last = self.map.blocks.last().map_or(0, |block| block.number);
        self.seek_after_block(last.saturating_sub(1));
        let mut latest = self.latest_closed_realtime_ns();
        let mut snapshot = Snapshot::new(&self.defs());
        while self.next(&mut snapshot)? == ReadOutcome::Sample {
            latest = latest.max(Some(snapshot.realtime_ns));
        }
        Ok(latest)
    }

    /// The times between two samples that are longer than `longest_ns`, in the order of the file, and
    /// the time of the last sample, if there is any.  Samples that cannot be read are missing, too.
    /// The recording has a sample every `interval_ns`; if that is 0, all blocks are decoded.
    ///
    /// Afterwards the reader is at the end, and gives no source.
    ///
    /// # Errors
    /// If the file cannot be read; damage is not an error.
    pub fn pauses(
        &mut self,
        interval_ns: u64,
        longest_ns: u64,
    ) -> Result<(Vec<Pause>, Option<i64>), Error> {
        self.focus(&[]);
        let mut found = Pauses { longest_ns, last_ns: None, pauses: Vec::new() };
        let mut snapshot = Snapshot::new(&self.defs());
        for index in 0..self.map.blocks.len() {
            let block = self.map.blocks[index];
            if is_steady(&block, interval_ns, longest_ns) {
                found.add(block.first_realtime_ns);
                found.last_ns = Some(block.latest_realtime_ns);
                continue;
            }
            self.seek_after_block(block.number.saturating_sub(1));
            while self.next(&mut snapshot)? == ReadOutcome::Sample
                && self.block_number() == block.number
            {
                found.add(snapshot.realtime_ns);
            }
        }
        Ok((found.pauses, found.last_ns))
    }
}

/// Whether the times and the number of samples of a block leave no room for a pause, even if its other
/// samples came up to an interval too early.
fn is_steady(block: &BlockLocation, interval_ns: u64, longest_ns: u64) -> bool {
    if block.latest_realtime_ns == i64::MAX || block.samples == 0 || interval_ns == 0 {
        return false;
    }
    let length_ns = block.latest_realtime_ns.saturating_sub(block.first_realtime_ns);
    let expected_ns = interval_ns.saturating_mul(u64::from(block.samples - 1));
    let allowed_ns = longest_ns.saturating_sub(interval_ns.saturating_mul(2));
    u64::try_from(length_ns)
        .is_ok_and(|length_ns| length_ns.saturating_sub(expected_ns) <= allowed_ns)
}

/// The pauses found so far.
struct Pauses {
    longest_ns: u64,
    last_ns: Option<i64>,
    pauses: Vec<Pause>,
}

impl Pauses {
    fn add(&mut self, realtime_ns: i64) {
        if let Some(after_ns) = self.last_ns {
            let pause_ns = realtime_ns.saturating_sub(after_ns);
            if u64::try_from(pause_ns).is_ok_and(|pause_ns| pause_ns > self.longest_ns) {
                self.pauses.push(Pause { after_ns, until_ns: realtime_ns });
            }
        }
        self.last_ns = Some(realtime_ns);
    }
}
