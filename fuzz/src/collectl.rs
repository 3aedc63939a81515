//! collectl's recordings: header and intervals from the bytes, plain or inside gzip, through the
//! sources and every view.

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use procfs::Host;
use recording::collectl::CollectlReader;
use sample::{Clock, Moment, Snapshot, State, Wake};
use source::{Sampler, SourceContext};

use crate::show::Show;

/// Intervals taken of one input: what more of them would show, a longer run shows.
const INTERVALS_MAX: u64 = 64;

/// A clock that stands where it was put.
struct Still(Moment);

impl Clock for Still {
    fn now(&mut self) -> Moment {
        self.0
    }

    fn sleep_until(&mut self, _monotonic_ns: u64) -> Wake {
        Wake::Due
    }
}

/// The bytes are a recording, plain or compressed as they say themselves.
pub fn collectl_plain(bytes: &[u8]) {
    play(bytes.to_vec());
}

/// The bytes are the text inside a sound gzip file, which is then cut at a place that depends on
/// the text.
pub fn collectl_gzip(bytes: &[u8]) {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("memory takes everything");
    let mut packed = packed.finish().expect("memory takes everything");
    let whole = play(packed.clone());
    let sum: usize = bytes.iter().map(|&byte| usize::from(byte)).sum();
    let end = sum % packed.len();
    packed.truncate(end);
    assert!(play(packed) <= whole, "less data has no more intervals");
}

/// Plays a recording; how many intervals it had.
pub fn play(bytes: Vec<u8>) -> u64 {
    let Ok(mut reader) = CollectlReader::from_reader(Cursor::new(bytes), Path::new("fuzz")) else {
        return 0;
    };
    let mut host = Host::in_memory();
    let entries: Vec<_> = source::ALL.to_vec();
    let mut sampler = Sampler::open(&mut host, &entries, &Arc::new(SourceContext::default()));
    let defs = sampler.defs();
    let mut snapshot = Snapshot::new(&defs);
    let mut show = Show::new(reader.meta(), &defs, false);
    let mut intervals = 0;
    while intervals < INTERVALS_MAX {
        let Ok(Some(interval)) = reader.next_interval(&mut host) else { break };
        intervals += 1;
        let realtime_ns = interval.realtime_ns;
        let mut clock = Still(Moment { monotonic_ns: realtime_ns.unsigned_abs(), realtime_ns });
        let due = |_: usize, _: &_| State::Ok;
        sampler.sample(&mut host, &mut clock, due, &mut snapshot);
        show.tick(&mut snapshot);
    }
    show.end();
    std::hint::black_box((reader.ending(), reader.last_marker_ns(), reader.markers_broken()));
    intervals
}
