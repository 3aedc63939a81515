//! Side files: how large they are, and what damage and killed writers do.

use std::path::Path;

use recording::{
    Reader, SideColumns, SideFile, SideValues, Writer, WriterOptions, side_path, write_side_file,
};

use sample::Snapshot;

use super::support::{DEFS, machine, meta};

fn record(path: &Path, samples: u64, block_samples: u32) {
    let options = WriterOptions { block_samples, ..WriterOptions::default() };
    let mut writer = Writer::create(path, &meta(), &DEFS, options).unwrap();
    for snapshot in machine(samples, 5) {
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
}

/// Everything that a side file says: for each segment and source what it has, if it can be read.
fn everything(path: &Path) -> Vec<Option<String>> {
    let reader = Reader::open(path, &[]).unwrap();
    let Some(side) = SideFile::open(path, &reader) else { return Vec::new() };
    let mut all = Vec::new();
    for segment in side.segments() {
        for (source, def) in reader.schemas().iter().enumerate() {
            let fields: Vec<usize> = (0..def.fields.len()).collect();
            all.push(
                side.columns(segment, source, &fields)
                    .map(|columns| values(&columns, fields.len())),
            );
        }
        all.push(samples(&side, &reader, segment.first_realtime_ns + 1));
    }
    all
}

/// The samples of a segment from a time on.
fn samples(side: &SideFile, reader: &Reader, from_ns: i64) -> Option<String> {
    let (mut samples, mut snapshot) =
        (side.samples(reader, from_ns)?, Snapshot::new(&reader.defs()));
    let mut all = String::new();
    while samples.next(&mut snapshot).ok()? {
        all += &format!("{} {:?}", snapshot.monotonic_ns, snapshot.gap);
        for sample in &snapshot.samples {
            let table = &sample.table;
            all += &format!("{:?} {} {:?}", sample.state, sample.cost_ns, table.values());
            (0..table.rows()).for_each(|row| all += &format!("{:?}", table.name(row)));
        }
    }
    Some(all)
}

fn values(columns: &SideColumns, fields: usize) -> String {
    let mut all = format!("{:?}", columns.readings);
    let mut out = SideValues::default();
    for instance in 0..columns.instances() {
        all += &format!("{:?}", columns.name(instance));
        for field in 0..fields {
            assert!(columns.read_column(instance, field, usize::MAX, &mut out));
            all += &format!("{:?}", out.runs().collect::<Vec<_>>());
            // The first readings alone are the same.
            for end in [0, 1, columns.readings.len() / 2] {
                let mut first = SideValues::default();
                assert!(columns.read_column(instance, field, end, &mut first));
                let whole = out.runs().filter(|run| run.0 < end);
                let whole = whole.map(|(begun, run)| (begun, &run[..run.len().min(end - begun)]));
                assert!(first.runs().eq(whole));
            }
        }
    }
    all
}

#[test]
fn it_is_no_larger_than_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.whit");
    record(&path, 4_000, 512);
    let written = write_side_file(&path).unwrap();
    let recorded = std::fs::metadata(&path).unwrap().len();
    assert_eq!(written.bytes, std::fs::metadata(side_path(&path)).unwrap().len());
    assert!(10 * written.bytes <= 12 * recorded, "{written:?} of {recorded} bytes");
}

#[test]
fn damage_of_any_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short.whit");
    record(&path, 18, 2);
    assert_eq!(write_side_file(&path).unwrap().segments, 2);
    let (side, whole) = (side_path(&path), everything(&path));
    assert!(whole.len() == 2 * (DEFS.len() + 1) && whole.iter().all(Option::is_some));
    let bytes = std::fs::read(&side).unwrap();
    for at in testkit::share_of((0..bytes.len()).collect()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&side, &damaged).unwrap();
        let found = everything(&path);
        // What is still read is right, and something is not.
        assert!(found.iter().zip(&whole).all(|(found, whole)| found.is_none() || found == whole));
        let read = found.iter().filter(|found| found.is_some()).count();
        assert!(read < whole.len(), "byte {at} of {}", bytes.len());
    }
}

#[test]
fn damaged_segments_are_written_anew_when_more_is_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grows.whit");
    let options = WriterOptions { block_samples: 3, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, &meta(), &DEFS, options).unwrap();
    let samples = machine(90, 5);
    for snapshot in &samples[..60] {
        writer.append(snapshot).unwrap();
    }
    assert_eq!(write_side_file(&path).unwrap().segments, 2);
    let side = side_path(&path);
    let mut bytes = std::fs::read(&side).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&side, bytes).unwrap();
    for snapshot in &samples[60..] {
        writer.append(snapshot).unwrap();
    }
    writer.close().unwrap();
    // The second one, a third one, and the rest.
    assert_eq!(write_side_file(&path).unwrap().segments, 3);
    assert!(everything(&path).iter().all(Option::is_some));
}

#[test]
fn what_a_killed_writer_left_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.whit");
    record(&path, 36, 3);
    let left = folder.path().join("killed.whit.columns.new");
    std::fs::write(&left, vec![7; 100_000]).unwrap();
    assert_eq!(write_side_file(&path).unwrap().segments, 2);
    assert!(!left.exists());
    assert!(everything(&path).iter().all(Option::is_some));
    // A link in its place is not followed.
    let (side, other) = (side_path(&path), folder.path().join("other"));
    std::fs::remove_file(&side).unwrap();
    std::fs::write(&other, "other").unwrap();
    std::os::unix::fs::symlink(&other, &left).unwrap();
    assert!(write_side_file(&path).unwrap_err().to_string().contains("killed.whit.columns"));
    assert_eq!(std::fs::read(&other).unwrap(), b"other");
    assert!(!side.exists());
}
