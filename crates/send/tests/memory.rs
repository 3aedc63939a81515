//! What a sender holds of each recording that it follows.

use std::path::Path;
use std::time::Duration;

use feed::{Feed as _, LiveFeed};
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot};
use send::SendSettings;
use source::SourceContext;

use crate::deliveries::sender_to;
use crate::receiver::receive;

const SOURCES: &[&str] = &["cpu", "disk", "memory", "network", "socket"];
const SECOND_NS: i64 = 1_000_000_000;
/// Samples of each recording: closed blocks, and one that is open.
const SAMPLES: i64 = 30;

/// Makes so many recordings of hosts, all of which go on, and has them followed by a protocol.  Gives the
/// bytes that the sender holds when it waits for the second time, and the series that it knows.
fn held(kind: &str, recordings: usize) -> (i64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<_> =
        source::ALL.iter().copied().filter(|entry| SOURCES.contains(&entry.name)).collect();
    assert_eq!(entries.len(), SOURCES.len());
    let mut feed = LiveFeed::open(Path::new("/"), &entries, SourceContext::default());
    let mut snapshot = Snapshot::new(&feed.defs());
    assert!(feed.next(&mut snapshot).unwrap());
    let began_ns = snapshot.realtime_ns;
    let begin = |number: usize| {
        let mut meta = Meta::new();
        meta.set("host", format!("host{number}"));
        let options = WriterOptions { block_samples: 12, ..WriterOptions::default() };
        let path = folder.path().join(format!("{number}.whit"));
        Writer::create(&path, &meta, &feed.defs(), options).unwrap()
    };
    let mut writers: Vec<Writer> = (0..recordings).map(begin).collect();
    let mut append = |second: i64| {
        let after_ns = second * SECOND_NS;
        (snapshot.realtime_ns, snapshot.monotonic_ns) =
            (began_ns + after_ns, (SECOND_NS + after_ns).cast_unsigned());
        for sample in &mut snapshot.samples {
            (sample.realtime_ns, sample.monotonic_ns) =
                (snapshot.realtime_ns, snapshot.monotonic_ns);
        }
        for writer in &mut writers {
            writer.append(&snapshot).unwrap();
        }
    };
    (0..SAMPLES).for_each(&mut append);
    let address = receive(|_| ("200 OK".to_owned(), Vec::new()));
    let settings = SendSettings { follows: true, ..SendSettings::default() };
    let (mut at_rest, mut waits) = (0, 0);
    let mut others = testkit::live_bytes();
    let mut sender = sender_to(folder.path(), &format!("{kind}=http://{address}"), &settings);
    let mut pause = |wait: Duration| {
        if wait.is_zero() {
            return true;
        }
        waits += 1;
        let before = testkit::live_bytes();
        if waits == 1 {
            append(SAMPLES);
            others += testkit::live_bytes() - before;
        } else {
            at_rest = before - others;
        }
        waits < 2
    };
    sender.run(&mut pause, &mut |event| panic!("{event:?}")).unwrap();
    let sent = sender.cursor();
    assert_eq!(sent.samples_sent, (SAMPLES as u64 + 1) * recordings as u64);
    (at_rest, sent.points_sent / sent.samples_sent)
}

#[test]
fn each_of_many_recordings_takes_tens_of_kilobytes() {
    for kind in ["remote-write", "otlp", "influx"] {
        let (few, many) = (held(kind, 10), held(kind, 110));
        let each = (many.0 - few.0) / 100;
        let series = many.1.cast_signed();
        eprintln!("{kind}: {each} bytes for {series} series");
        // Four hundred series, as those of a small machine, have 63 KiB.
        let most = 25_000 + 100 * series;
        assert!(each > 0 && each < most, "{kind}: {each} bytes of {most} for {series} series");
    }
}
