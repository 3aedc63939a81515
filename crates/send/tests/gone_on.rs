//! Recordings that a writer left and another one goes on with, as those of a central server whose connections
//! end and come again; and damaged ones.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use feed::{Feed as _, LiveFeed};
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot, SourceDef};
use send::{SendEvent, SendSettings, Sender};
use source::SourceContext;

use crate::deliveries::sender_to;
use crate::receiver::receive;

const SECOND_NS: i64 = 1_000_000_000;

/// One recording of made-up times.
struct Recorder {
    path: PathBuf,
    defs: Vec<Arc<SourceDef>>,
    snapshot: Snapshot,
}

impl Recorder {
    fn new(folder: &Path) -> Self {
        let memory = source::find("memory").unwrap();
        let mut feed = LiveFeed::open(Path::new("/"), &[memory], SourceContext::default());
        let defs = feed.defs();
        let mut snapshot = Snapshot::new(&defs);
        assert!(feed.next(&mut snapshot).unwrap());
        Recorder { path: folder.join("a.whit"), defs, snapshot }
    }

    fn options() -> WriterOptions {
        WriterOptions { block_samples: 10, ..WriterOptions::default() }
    }

    fn begin(&self) -> Writer {
        let mut meta = Meta::new();
        meta.set("host", "vm");
        Writer::create(&self.path, &meta, &self.defs, Self::options()).unwrap()
    }

    /// What another writer adds, which is then gone, as it is after a kill or with its end written.
    fn go_on(&mut self, samples: usize, is_closed: bool) {
        let (mut writer, _) = Writer::resume(&self.path, &self.defs, Self::options()).unwrap();
        self.write(&mut writer, samples);
        leave(writer, is_closed);
    }

    fn write(&mut self, writer: &mut Writer, samples: usize) {
        for _ in 0..samples {
            self.snapshot.realtime_ns += SECOND_NS;
            self.snapshot.monotonic_ns += SECOND_NS.cast_unsigned();
            for sample in &mut self.snapshot.samples {
                sample.realtime_ns += SECOND_NS;
                sample.monotonic_ns += SECOND_NS.cast_unsigned();
            }
            writer.append(&self.snapshot).unwrap();
        }
    }
}

fn leave(writer: Writer, is_closed: bool) {
    if is_closed {
        writer.close().unwrap();
    }
}

fn sender(folder: &Path, address: SocketAddr, follows: bool) -> Sender {
    let settings = SendSettings { follows, ..SendSettings::default() };
    sender_to(folder, &format!("otlp=http://{address}"), &settings)
}

#[test]
fn a_recording_that_another_writer_goes_on_with_is_sent_on() {
    let address = receive(|_| ("200 OK".to_owned(), Vec::new()));
    for is_closed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::new(folder.path());
        let mut writer = recorder.begin();
        recorder.write(&mut writer, 25);
        leave(writer, is_closed);
        // By one that follows.
        let mut follower = sender(folder.path(), address, true);
        let mut looks = 0;
        let mut pause = |_: Duration| {
            looks += 1;
            if looks == 2 || looks == 4 {
                recorder.go_on(7, is_closed);
            }
            looks < 6
        };
        follower.run(&mut pause, &mut |event| panic!("{event:?}")).unwrap();
        assert_eq!(follower.cursor().samples_sent, 25 + 14);
        assert!(follower.cursor().recordings.values().all(|one| one.is_done));
        drop(follower);
        // By the next process.
        recorder.go_on(5, is_closed);
        let waiting = || send::status(folder.path()).unwrap()[0].samples_waiting;
        assert_eq!(waiting(), 5);
        let mut next = sender(folder.path(), address, false);
        next.run(&mut |_| true, &mut |event| panic!("{event:?}")).unwrap();
        assert_eq!((next.cursor().samples_sent, waiting()), (25 + 14 + 5, 0));
        drop(next);
        // A cursor of an earlier version does not say what the file had: it is done as it is now.
        let path = folder.path().join(".send-test.json");
        let mut cursor: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let bytes = cursor["recordings"][0].as_object_mut().unwrap().remove("bytes").unwrap();
        assert_eq!(bytes, recorder.path.metadata().unwrap().len());
        std::fs::write(&path, cursor.to_string()).unwrap();
        let mut later = sender(folder.path(), address, true);
        looks = 0;
        let mut pause = |_: Duration| {
            looks += 1;
            if looks == 2 {
                recorder.go_on(3, is_closed);
            }
            looks < 4
        };
        later.run(&mut pause, &mut |event| panic!("{event:?}")).unwrap();
        assert_eq!(later.cursor().samples_sent, 25 + 14 + 5 + 3);
    }
}

#[test]
fn samples_that_cannot_be_read_are_counted_and_told() {
    let address = receive(|_| ("200 OK".to_owned(), Vec::new()));
    // Of five blocks, one in the middle, the last one, and all.
    for (damaged, readable) in
        [(vec![2], 40), (vec![4], 40), (vec![1, 3], 30), ((0..5).collect(), 0)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::new(folder.path());
        let mut writer = recorder.begin();
        recorder.write(&mut writer, 50);
        writer.close().unwrap();
        let mut bytes = std::fs::read(&recorder.path).unwrap();
        let blocks: Vec<usize> = (0..bytes.len() / 64)
            .map(|index| index * 64)
            .filter(|at| bytes[*at..].starts_with(b"WBLK"))
            .collect();
        damaged.iter().for_each(|block| bytes[blocks[*block] + 100] ^= 0x10);
        std::fs::write(&recorder.path, bytes).unwrap();
        let mut told = Vec::new();
        let mut first = sender(folder.path(), address, false);
        assert!(first.run(&mut |_| true, &mut |event| told.push(event)).unwrap());
        let cursor = first.cursor();
        assert_eq!((cursor.samples_sent, cursor.samples_unreadable), (readable, 50 - readable));
        let note = format!(
            "{}: damaged; samples that cannot be read are counted, the others are sent",
            recorder.path.display()
        );
        assert_eq!(told, [SendEvent::Note(note)]);
        assert_eq!(send::status(folder.path()).unwrap()[0].samples_waiting, 0);
        drop(first);
        // Once.
        let mut second = sender(folder.path(), address, false);
        assert!(second.run(&mut |_| true, &mut |event| panic!("{event:?}")).unwrap());
        assert_eq!(second.cursor().samples_unreadable, 50 - readable);
    }
}

#[test]
fn a_cursor_that_is_not_known_and_a_folder_that_is_none_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |folder: &Path| {
        let to = send::EngineAddress::parse("otlp=http://127.0.0.1:1").unwrap();
        let opened = Sender::new(folder, "test", &to, SendSettings::default());
        opened.err().unwrap().to_string()
    };
    let path = folder.path().join(".send-test.json");
    for (text, why) in [
        ("{\"version\": 7}", "it has version 7, this program knows 1"),
        ("", "it is empty"),
        ("{\"version\": 1}", "a member is missing"),
        ("{", "EOF"),
    ] {
        std::fs::write(&path, text).unwrap();
        let said = refused(folder.path());
        assert!(
            said.contains("is no cursor that this program knows") && said.contains(why),
            "{said}"
        );
    }
    for path in [&path, &folder.path().join("nothing")] {
        let said = refused(path);
        assert!(said.starts_with(&format!("{} is no folder: give", path.display())), "{said}");
    }
}
