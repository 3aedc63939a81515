//! Every source on every machine of the testkit, with one of the files that it reads replaced by
//! the input.
//!
//! ```text
//! byte 0  which source on which machine
//! byte 1  which of the files that it reads there
//! byte 2  bit 0: collectl's digits; bit 1: the file goes away at the third tick
//! rest    the file at the second tick, 0xff, the file at the third (the same without 0xff)
//! ```

use std::sync::{Arc, LazyLock};

use procfs::Host;
use sample::{Meta, Snapshot, State};
use source::{Entry, SourceContext};
use testkit::FakeHost;

use crate::show::Show;

/// Most text of a machine that a source is tried on: inputs by the thousand a second matter more
/// than 256 CPUs.
const TEXT_BYTES_MAX: usize = 96 * 1024;

/// A source, and the files that it reads on a machine, before and after an interval.
pub struct Case {
    entry: &'static Entry,
    /// Path, text at first, text an interval later.
    files: Vec<(String, Vec<u8>, Vec<u8>)>,
}

/// All cases that can be reached, in an order that never changes.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    // The guests' files have the form of those of `vm2`, and byte 0 can name only 256 cases.
    let trees = testkit::trees::ALL.iter().filter(|tree| !tree.name.starts_with("guest-"));
    let cases: Vec<Case> = trees.flat_map(cases_of).collect();
    assert!(cases.len() <= 256, "byte 0 cannot name all of {} cases", cases.len());
    cases
});

fn cases_of(tree: &testkit::trees::Tree) -> Vec<Case> {
    let folder = FakeHost::new().expect("a folder for temporary files");
    let read = |path: &String| std::fs::read(folder.path(path)).unwrap_or_default();
    tree.write(folder.root(), 0).expect("a machine");
    let paths = folder.files().expect("the machine's files");
    let before: Vec<_> = paths.iter().map(read).collect();
    tree.write(folder.root(), 1).expect("a machine");
    let files: Vec<_> = paths.iter().cloned().zip(before).collect();
    let files: Vec<_> =
        files.into_iter().map(|(path, text)| (path.clone(), text, read(&path))).collect();
    let case = |entry: &'static Entry| {
        let touched = touched(entry, &files);
        let files: Vec<_> =
            files.iter().filter(|(path, ..)| touched.contains(path)).cloned().collect();
        let bytes: usize = files.iter().map(|(_, text, _)| text.len()).sum();
        (!files.is_empty() && bytes <= TEXT_BYTES_MAX).then_some(Case { entry, files })
    };
    source::ALL.iter().copied().filter_map(case).collect()
}

/// The files that a source reads.
fn touched(entry: &'static Entry, files: &[(String, Vec<u8>, Vec<u8>)]) -> Vec<String> {
    let mut host = Host::in_memory();
    for (path, text, _) in files {
        host.put(path, Some(text));
    }
    host.probe_for(entry.name);
    let mut source = (entry.open)(&mut host, &Arc::new(SourceContext::default()));
    let mut snapshot = Snapshot::new(&[Arc::new(entry.def())]);
    for _ in 0..2 {
        host.begin_tick();
        host.probe_for(entry.name);
        source.read(&mut host, &mut snapshot.samples[0].table);
    }
    host.touches().map(|(path, _)| path.to_owned()).collect()
}

/// The target.
pub fn sources(bytes: &[u8]) {
    let [which, file, flags, text @ ..] = bytes else { return };
    let case = &CASES[usize::from(*which) % CASES.len()];
    let place = usize::from(*file) % case.files.len();
    let mut halves = text.splitn(2, |&byte| byte == 0xff);
    let second = halves.next().unwrap_or_default();
    let third = halves.next().unwrap_or(second);
    let goes = flags & 2 != 0;

    let mut host = Host::in_memory();
    for (path, text, _) in &case.files {
        host.put(path, Some(text));
    }
    let mut source = (case.entry.open)(&mut host, &Arc::new(SourceContext::default()));
    let mut snapshot = Snapshot::new(&[Arc::new(case.entry.def())]);
    let mut show = Show::new(&Meta::new(), &[Arc::new(case.entry.def())], flags & 1 != 0);
    for tick in 0..4_u64 {
        for (index, (path, before, after)) in case.files.iter().enumerate() {
            let text = match tick {
                _ if index != place => Some(if tick == 0 { before } else { after }.as_slice()),
                0 => Some(before.as_slice()),
                1 => Some(second),
                2 => (!goes).then_some(third),
                _ => Some(after.as_slice()),
            };
            host.put(path, text);
        }
        host.begin_tick();
        let now_ns = (tick + 1) * 1_000_000_000;
        (snapshot.monotonic_ns, snapshot.realtime_ns) = (now_ns, now_ns.cast_signed());
        snapshot.fresh.fill(true);
        let sample = &mut snapshot.samples[0];
        (sample.monotonic_ns, sample.realtime_ns) = (now_ns, now_ns.cast_signed());
        sample.state = source.read(&mut host, &mut sample.table);
        if sample.state != State::Ok {
            sample.table.begin();
        }
        let bytes: usize = case.files.iter().map(|(_, text, _)| text.len()).sum();
        let most = bytes + second.len() + third.len() + 64;
        assert!(sample.table.rows() <= most, "{} rows of {most} bytes", sample.table.rows());
        show.tick(&mut snapshot);
    }
    show.end();
}

/// For each file of each case an input that leaves it as it is: what to begin from.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (which, case) in CASES.iter().enumerate() {
        for (place, (_, _, after)) in case.files.iter().enumerate().take(256) {
            seeds.push([&[which as u8, place as u8, 0], after.as_slice()].concat());
        }
    }
    seeds
}

/// The sources that some case has.
pub fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.entry.name).collect()
}
