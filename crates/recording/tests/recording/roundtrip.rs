//! Any samples, in any storage option, come back as they were.

use proptest::prelude::*;
use recording::{Compression, ReadOutcome, WriterOptions};
use sample::{Gap, Snapshot, State};

use crate::recording::support::{DEFS, assert_same, machine, read_all, reader, recorded};

fn options(compression: Compression, block_samples: u32) -> WriterOptions {
    WriterOptions { compression, block_samples, ..WriterOptions::default() }
}

#[test]
fn a_machine_comes_back() {
    let samples = machine(1_300, 42);
    for compression in [
        Compression::FramesOnly,
        Compression::None,
        Compression::Zstd(1),
        Compression::Zstd(3),
        Compression::Zstd(19),
    ] {
        let bytes = recorded(&samples, options(compression, 500));
        println!("{compression:?}: {} bytes a sample", bytes.len() as f64 / 1300.0);
        let mut reader = reader(bytes);
        assert_eq!(reader.meta().host(), "testhost");
        let (read, end) = read_all(&mut reader);
        assert_eq!(end, ReadOutcome::End);
        assert_same(&samples, &read);
        assert!(reader.damage().is_none(), "{:?}", reader.damage());
        assert!(!reader.damage().not_closed);
    }
}

/// One cell: missing, or a value of any size.
fn cell() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        2 => Just(None),
        4 => (0_u64..300).prop_map(Some),
        2 => any::<u64>().prop_map(Some),
        1 => Just(Some(u64::MAX)),
        1 => Just(Some(0)),
    ]
}

/// One source's reading: a state, and rows by instance with a change to few of their cells.
type Reading = (u8, Vec<(u8, Vec<(usize, Option<u64>)>)>);

fn reading() -> impl Strategy<Value = Reading> {
    let cells = proptest::collection::vec((0_usize..75, cell()), 0..12);
    let rows = proptest::collection::vec((0_u8..6, cells), 0..5);
    (0_u8..12, rows)
}

/// A tick: both clocks, whether it is a restart, the gap, the sources.
type Tick = (u64, i64, bool, Gap, Vec<Option<Reading>>);

fn tick() -> impl Strategy<Value = Tick> {
    let gap = prop_oneof![
        6 => Just(Gap::default()),
        1 => (any::<u64>(), 0_u64..9, 0_u64..9).prop_map(|(missed, unwritten, unreadable)| Gap {
            ticks_missed: missed,
            samples_unwritten: unwritten,
            samples_unreadable: unreadable,
        }),
    ];
    let sources = proptest::collection::vec(proptest::option::of(reading()), 3);
    (any::<u64>(), any::<i64>(), any::<bool>(), gap, sources)
}

/// Makes snapshots of what was drawn.  Tables are used again from tick to tick, so that rows
/// keep, gain and lose cells as real ones do.
fn snapshots(ticks: &[Tick]) -> Vec<Snapshot> {
    let mut out = Vec::new();
    for (monotonic_ns, realtime_ns, restart, gap, sources) in ticks {
        let mut snapshot = Snapshot::new(&DEFS);
        snapshot.monotonic_ns = *monotonic_ns;
        snapshot.realtime_ns = *realtime_ns;
        snapshot.restart = *restart;
        snapshot.gap = gap.clone();
        for (index, reading) in sources.iter().enumerate() {
            let Some((state, rows)) = reading else { continue };
            snapshot.fresh[index] = true;
            let sample = &mut snapshot.samples[index];
            sample.state = match state {
                8 => State::Absent,
                9 => State::Denied,
                10 => State::Failed(-7),
                11 => State::Skipped,
                _ => State::Ok,
            };
            sample.monotonic_ns = monotonic_ns.wrapping_add(u64::from(*state) * 1000);
            sample.realtime_ns = realtime_ns.wrapping_sub(5);
            sample.cost_ns = monotonic_ns >> 40;
            for (name, cells) in rows {
                let name = if index == 0 { String::new() } else { format!("dev{name}") };
                let mut row = sample.table.row(name.as_bytes());
                for &(field, value) in cells {
                    let field = field % DEFS[index].fields.len();
                    if DEFS[index].fields[field].unit == sample::Unit::Text {
                        let text = format!("text {}", value.unwrap_or(0) % 5);
                        row.set_text(field, text.as_bytes());
                    } else {
                        row.set_some(field, value);
                    }
                }
            }
        }
        out.push(snapshot);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_come_back(
        ticks in proptest::collection::vec(tick(), 1..40),
        block_samples in 1_u32..20,
        compression in prop_oneof![
            Just(Compression::FramesOnly), Just(Compression::None), Just(Compression::Zstd(1))],
    ) {
        let samples = snapshots(&ticks);
        let mut reader = reader(recorded(&samples, options(compression, block_samples)));
        let (read, end) = read_all(&mut reader);
        prop_assert_eq!(end, ReadOutcome::End);
        assert_same(&samples, &read);
        for (written, read) in samples.iter().zip(&read) {
            prop_assert_eq!(&written.gap, &read.gap);
        }
        prop_assert!(reader.damage().is_none());
    }
}
