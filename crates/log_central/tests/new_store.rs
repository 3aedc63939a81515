//! A proxy that goes on while its central server's store is another one: later records are as readable
//! there as they were in the first.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use connection::SocketStream;
use log_protocol::frame::{self, FrameKind, Head, StreamMark};
use log_protocol::handshake::{self, FrameReader};
use log_protocol::{GapReason, ProcessId, StreamId, own_record};
use log_proxy::{Proxy, Spool};
use log_store::audit::Audit;
use logring::LogLevel;

use rustix::process::Signal;
use testkit::Running;

use crate::common::{
    Folders, central, drain, folders, held_of_damaged, proxy, pump, settings, start,
};

/// A frame that a proxy sent to a [`scripted_server`], and the way back.
#[derive(Clone)]
struct ReceivedFrame {
    connection: usize,
    head: Head,
    body: Vec<u8>,
    writer: SocketStream,
}

/// A server of another store that takes so many connections, one after the other: it says the welcome,
/// hands out what comes, and answers nothing by itself.
fn scripted_server(socket: &Path, connections: usize) -> (JoinHandle<()>, Receiver<ReceivedFrame>) {
    let listener = UnixListener::bind(socket).unwrap();
    let (tell, told) = channel();
    let server = std::thread::spawn(move || {
        for connection in 0..connections {
            let mut writer = SocketStream::unix(listener.accept().unwrap().0);
            let mut reader = FrameReader::new(writer.clone());
            handshake::serve(&mut reader, &mut writer, None, [4; 16]).unwrap();
            let mut body = Vec::new();
            while let Ok(Some(head)) = reader.read(&mut body) {
                let (body, writer) = (body.clone(), writer.clone());
                tell.send(ReceivedFrame { connection, head, body, writer }).unwrap();
            }
        }
    });
    (server, told)
}

/// A proxy, and a writer that is stopped, of which a server has stored all records; that server has ended.
fn stored_so_far(folders: &Folders) -> (Proxy, Running) {
    let first = central(&folders.store, &folders.socket);
    let mut reading = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut writer = start(&format!("write|{}|2|0", folders.rings.display()));
    store_so_far(&mut reading, &mut writer);
    first.stop();
    (reading, writer)
}

/// Pumps until more than 1000 records are stored and the writer, which is stopped, has no others.
fn store_so_far(reading: &mut Proxy, writer: &mut Running) {
    pump(reading, "records come", |proxy| proxy.counters().records > 1000);
    writer.signal(Signal::STOP.as_raw());
    pump(reading, "records are stored", Proxy::is_all_committed);
}

#[test]
fn a_store_that_is_new_gets_the_definitions_of_what_is_sent_to_it() {
    let folders = folders();
    let (mut reading, mut writer) = stored_so_far(&folders);
    // As if the store had been emptied.
    let old = folders.all.path().join("old");
    std::fs::rename(&folders.store, &old).unwrap();
    let second = central(&folders.store, &folders.socket);
    writer.signal(Signal::CONT.as_raw());
    let before = reading.counters();
    pump(&mut reading, "the proxy connects again and sends", |proxy| {
        let now = proxy.counters();
        now.connections > before.connections && now.records > before.records + 1000
    });
    writer.kill();
    drain(&mut reading, &folders.rings);
    second.stop();
    let [one, other] = [&old, &folders.store].map(|store| held_of_damaged(store));
    assert_eq!((one.without_site, other.without_site), (0, 0));
    for (who, numbers) in &other.numbers {
        // Together they have each number, once.
        let mut all = one.numbers[who].clone();
        all.extend(numbers);
        assert!(!numbers.is_empty() && all.iter().copied().eq(0..all.len() as u64), "{who:?}");
    }
    assert_eq!(other.numbers.len(), 2);
    // What the first one has is not lost, and the second one knows that of each ring that it is sent.
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    for (stream, of_stream) in &audit.streams {
        let elsewhere = one.sequences.get(stream).map_or(0, Vec::len);
        assert_eq!(of_stream.elsewhere, elsewhere as u64, "{stream}");
    }
    assert!(audit.total().elsewhere > 0);
}

/// The same if the proxy was not running when the store changed: what it knows is in its spool's folder
/// and in the rings.
#[test]
fn a_proxy_that_starts_with_a_new_store_says_what_the_old_one_has() {
    let folders = folders();
    let first = central(&folders.store, &folders.socket);
    let mut reading = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut writer = start(&format!("write|{}|2|0", folders.rings.display()));
    store_so_far(&mut reading, &mut writer);
    drop(reading);
    first.stop();
    let old = folders.all.path().join("old");
    std::fs::rename(&folders.store, &old).unwrap();
    let second = central(&folders.store, &folders.socket);
    writer.signal(Signal::CONT.as_raw());
    let mut reading = proxy(&folders.rings, &folders.spool, &folders.socket);
    pump(&mut reading, "the second proxy sends", |proxy| proxy.counters().records > 1000);
    writer.kill();
    drain(&mut reading, &folders.rings);
    second.stop();
    let [one, other] = [&old, &folders.store].map(|store| held_of_damaged(store));
    assert_eq!((one.without_site, other.without_site), (0, 0));
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    for (stream, numbers) in &other.sequences {
        // What the second one does not have, the first one has; the last may be in both.
        let Some(before) = one.sequences.get(stream) else { continue };
        let first = numbers[0];
        assert!(first <= before.len() as u64, "{stream}: {first}");
        assert!(numbers.iter().copied().eq(first..first + numbers.len() as u64), "{stream}");
        assert_eq!(audit.streams[stream].elsewhere, first, "{stream}");
    }
    assert_eq!(other.numbers.len(), 2);
}

/// A new store whose server is killed when it knows of one ring alone what another store has is told of
/// the other ring when it is there again.
#[test]
fn a_store_is_told_again_what_it_did_not_acknowledge() {
    let folders = folders();
    let (mut reading, writer) = stored_so_far(&folders);
    let _ = std::fs::remove_file(&folders.socket);
    let (server, told) = scripted_server(&folders.socket, 2);
    let mut acknowledged: Option<StreamMark> = None;
    let mut told_again = None;
    pump(&mut reading, "the other ring's gap comes with the second connection", |reading| {
        for ReceivedFrame { connection, head, body, mut writer } in told.try_iter() {
            if head.kind == FrameKind::Ask {
                let mut answer = Vec::new();
                for mark in frame::marks(&body) {
                    let known = acknowledged.filter(|known| known.stream == mark.stream);
                    frame::put_mark(&mut answer, known.unwrap_or(mark));
                }
                handshake::send(&mut writer, Head::plain(FrameKind::Marks), &answer).unwrap();
            }
            if head.kind != FrameKind::Lost {
                continue;
            }
            assert_eq!(body, (GapReason::AnotherStore as u32).to_le_bytes());
            let Some(known) = acknowledged else {
                let mark = StreamMark { stream: head.stream, next: head.next };
                let mut body = Vec::new();
                frame::put_mark(&mut body, mark);
                handshake::send(&mut writer, Head::plain(FrameKind::Ack), &body).unwrap();
                acknowledged = Some(mark);
                // It has come before the connection ends.
                for _ in 0..50 {
                    reading.round();
                    reading.wait(Duration::from_millis(1));
                }
                writer.shut_down();
                continue;
            };
            if connection == 1 {
                assert_ne!(head.stream, known.stream);
                told_again = Some(head.stream);
            }
        }
        told_again.is_some()
    });
    drop(reading);
    writer.kill();
    drop(told);
    server.join().unwrap_or_default();
}

/// A question about more marks than a frame holds has several answers: nothing goes before the last.
#[test]
fn nothing_is_sent_before_all_marks_have_come() {
    let folders = folders();
    let mut spool = Spool::open(&folders.spool, 1 << 30, [1; 16]).unwrap();
    let (mut bytes, mut heads) = (Vec::new(), Vec::new());
    for ring in 0..40_000 {
        let stream = StreamId { process: ProcessId([3; 16]), ring };
        let body = own_record::record(LogLevel::Info, "one", 0, 1);
        let head = Head::of(FrameKind::Records, stream, 0, 1, 1);
        heads.push(frame::put(&mut bytes, head, &body));
    }
    spool.append(&bytes, &heads).unwrap();
    let (server, told) = scripted_server(&folders.socket, 1);
    let mut reading = Proxy::new(settings(&folders.rings, &folders.socket), spool);
    let mut asked = Vec::new();
    pump(&mut reading, "it asks twice", |_| {
        asked.extend(told.try_iter());
        asked.len() == 2
    });
    assert!(asked.iter().all(|one| one.head.kind == FrameKind::Ask));
    let answer = |number: usize| {
        let ReceivedFrame { body: marks, mut writer, .. } = asked[number].clone();
        // The proxy takes it piece by piece.
        let send = move || handshake::send(&mut writer, Head::plain(FrameKind::Marks), &marks);
        std::thread::spawn(send)
    };
    let first = answer(0);
    for _ in 0..200 {
        reading.round();
        reading.wait(Duration::from_millis(1));
    }
    assert!(told.try_recv().is_err(), "it sends before it knows all marks");
    let second = answer(1);
    let mut records = 0;
    pump(&mut reading, "it sends everything", |_| {
        records += told.try_iter().filter(|one| one.head.kind == FrameKind::Records).count();
        records == 40_000
    });
    drop((reading, asked));
    for one in [first, second] {
        one.join().unwrap().unwrap();
    }
    server.join().unwrap();
}
