//! Remote write 2.0: what a receiver gets, decoded by the numbers of the protocol's fields alone, and the
//! way back to 1.0.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use promql::is_stale;
use send::SendEvent;

use crate::deliveries::{Points, few_points, recorded, sender_to};
use crate::otlp::{Wire, fields};
use crate::proxy::Proxy;
use crate::receiver::{Received, receive};
use crate::recorded::{FILES, SAMPLES, STARTED_S, record};

/// A series of a request: its labels, its points, and what it is about.
#[derive(Default)]
pub(crate) struct Series {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) points: Vec<(i64, f64)>,
    help: String,
    unit: String,
}

/// The series of `io.prometheus.write.v2.Request`, checked as strictly as the specification says.
pub(crate) fn written(request: &Received) -> Vec<Series> {
    request.assert_has(&[
        "content-type: application/x-protobuf;proto=io.prometheus.write.v2.request\r\n",
        "content-encoding: snappy\r\n",
        "x-prometheus-remote-write-version: 2.0.0\r\n",
        "user-agent: whit/",
    ]);
    let message = snap::raw::Decoder::new().decompress_vec(&request.body).unwrap();
    let all = fields(&message);
    let of_tag =
        |wanted: u64| all.iter().filter(move |(tag, _)| *tag == wanted).map(|(_, one)| one);
    let symbols: Vec<String> = of_tag(4).map(Wire::text).collect();
    let series: Vec<&Wire<'_>> = of_tag(5).collect();
    assert_eq!(symbols.len() + series.len(), all.len(), "other fields");
    assert_eq!(symbols[0], "", "the first symbol is empty");
    assert_eq!(symbols.iter().collect::<BTreeSet<_>>().len(), symbols.len(), "a symbol twice");
    series.into_iter().map(|one| series_of(&fields(one.bytes()), &symbols)).collect()
}

fn series_of(parts: &[(u64, Wire<'_>)], symbols: &[String]) -> Series {
    let mut names = Vec::new();
    let mut series = Series::default();
    let (mut is_counter, mut starts) = (None, Vec::new());
    for (tag, wire) in parts {
        match tag {
            1 => {
                let (mut rest, mut numbers) = (wire.bytes(), Vec::new());
                while !rest.is_empty() {
                    numbers.push(prost::encoding::decode_varint(&mut rest).unwrap() as usize);
                }
                for pair in numbers.chunks(2) {
                    let [name, value] = [&symbols[pair[0]], &symbols[pair[1]]];
                    assert!(!name.is_empty() && !value.is_empty(), "{symbols:?}");
                    names.push(name.clone());
                    series.labels.insert(name.clone(), value.clone());
                }
            }
            2 => {
                let (mut value, mut time, mut start) = (0.0, 0, 0);
                for (tag, one) in fields(wire.bytes()) {
                    match tag {
                        1 => value = f64::from_bits(one.number()),
                        2 => time = one.number() as i64,
                        3 => start = one.number() as i64,
                        tag => panic!("field {tag}"),
                    }
                }
                assert!(start <= time, "{start} {time}");
                starts.push(start);
                series.points.push((time, value));
            }
            5 => {
                for (tag, one) in fields(wire.bytes()) {
                    let text = || symbols[one.number() as usize].clone();
                    match tag {
                        1 => is_counter = Some(one.number() == 1),
                        3 => series.help = text(),
                        4 => series.unit = text(),
                        tag => panic!("field {tag}"),
                    }
                }
            }
            tag => panic!("field {tag}"),
        }
    }
    assert!(names.is_sorted() && names.len() == series.labels.len(), "{names:?}");
    assert!(series.points.is_sorted_by(|one, other| one.0 < other.0), "{names:?}");
    // All that is counted here is counted since the machine was started.
    let start = if is_counter.unwrap() { STARTED_S * 1000 - 1 } else { 0 };
    assert!(starts.iter().all(|one| *one == start), "{:?} {starts:?}", series.labels);
    let name = &series.labels["__name__"];
    assert!(is_counter.unwrap() || !name.ends_with("_total"), "{name}");
    series
}

fn count(series: &[Series]) -> usize {
    series.iter().map(|one| one.points.len()).sum()
}

fn header(written: usize) -> String {
    format!("204 No Content\r\nX-Prometheus-Remote-Write-Samples-Written: {written}")
}

#[test]
fn a_receiver_of_2_0_gets_every_point_through_faults() {
    let folder = tempfile::tempdir().unwrap();
    let sources = ["cpu", "memory", "disk", "network"];
    let _writer = record(folder.path(), Path::new("/"), &sources, |_| ());
    let held: Arc<Mutex<Points>> = Arc::default();
    let into = held.clone();
    let about: Arc<Mutex<BTreeMap<String, (String, String)>>> = Arc::default();
    let into_about = about.clone();
    let engine = receive(move |request| {
        let series = written(&request);
        let mut held = into.lock().unwrap();
        for Series { labels, points, help, unit } in &series {
            if !help.is_empty() {
                let name = labels["__name__"].clone();
                into_about.lock().unwrap().insert(name, (help.clone(), unit.clone()));
            }
            let of_series = held.entry(format!("{labels:?}")).or_default();
            for (time, value) in points.iter().filter(|(_, value)| !is_stale(*value)) {
                // What comes again is the same.
                match of_series.binary_search_by_key(time, |(time, _)| *time) {
                    Ok(place) => assert_eq!(of_series[place].1, value.to_bits()),
                    Err(place) => of_series.insert(place, (*time, value.to_bits())),
                }
            }
        }
        (header(count(&series)), Vec::new())
    });
    let proxy = Proxy::start(engine, testkit::seed(258), 3);
    let to = format!("remote-write=http://{}", proxy.address);
    let mut sender = sender_to(folder.path(), &to, &few_points());
    let mut waits = 0;
    let mut tell = |event: SendEvent| match event {
        SendEvent::Waits { .. } => waits += 1,
        SendEvent::Note(text) => panic!("{text}"),
        SendEvent::GoesOn => {}
    };
    assert!(sender.run(&mut |_| true, &mut tell).unwrap());
    assert!(waits > 3, "{waits}");
    assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
    assert_eq!(*held.lock().unwrap(), recorded(folder.path()));
    let about = about.lock().unwrap();
    let unit = |name: &str| about.get(name).map(|(_, unit)| unit.as_str());
    assert_eq!(unit("node_memory_MemTotal_bytes"), Some("bytes"), "{about:?}");
    assert_eq!(unit("whit_cpu_user_seconds_total"), Some("seconds"), "{about:?}");
    assert_eq!(unit("node_boot_time_seconds"), Some(""), "{about:?}");
}

/// Versions of the requests that a receiver got, which answers those of 2.0 with a status, and the points
/// of 1.0 that it took.
fn old(status: &'static str) -> (SocketAddr, Arc<Mutex<Vec<&'static str>>>) {
    let versions: Arc<Mutex<Vec<&str>>> = Arc::default();
    let into = versions.clone();
    let address = receive(move |request| {
        let is_new = request.head.contains("x-prometheus-remote-write-version: 2.0.0");
        into.lock().unwrap().push(if is_new { "2.0" } else { "1.0" });
        if is_new {
            return (status.into(), Vec::new());
        }
        request.assert_has(&["content-type: application/x-protobuf\r\n", "version: 0.1.0\r\n"]);
        let message = snap::raw::Decoder::new().decompress_vec(&request.body).unwrap();
        assert!(fields(&message).iter().all(|(tag, _)| *tag == 1));
        ("204 No Content".into(), Vec::new())
    });
    (address, versions)
}

#[test]
fn whoever_does_not_know_2_0_gets_1_0() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    // One says so; one finds nothing in a request that it does not know, and takes it.
    for status in ["415 Unsupported Media Type", "204 No Content"] {
        let (address, versions) = old(status);
        let to = format!("remote-write=http://{address}");
        let mut sender = sender_to(folder.path(), &to, &few_points());
        assert!(sender.run(&mut |_| true, &mut |event| panic!("{event:?}")).unwrap());
        assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
        let versions = versions.lock().unwrap();
        assert!(versions.len() > 2, "{versions:?}");
        assert!(versions[0] == "2.0" && versions[1..].iter().all(|one| *one == "1.0"));
        std::fs::remove_file(folder.path().join(".send-test.json")).unwrap();
    }
}

#[test]
fn fewer_samples_written_than_sent_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    let mut lacks = 3;
    let all = Arc::new(Mutex::new(0));
    let into = all.clone();
    let engine = receive(move |request| {
        let sent = count(&written(&request));
        *into.lock().unwrap() += sent as u64;
        (header(sent - std::mem::take(&mut lacks)), Vec::new())
    });
    let mut told = Vec::new();
    let mut sender =
        sender_to(folder.path(), &format!("remote-write=http://{engine}"), &few_points());
    assert!(sender.run(&mut |_| true, &mut |event| told.push(event)).unwrap());
    let note = "3 points are rejected: the engine has written fewer samples than it took";
    assert_eq!(told, [SendEvent::Note(note.to_owned())]);
    let cursor = sender.cursor();
    assert_eq!((cursor.points_rejected, cursor.points_sent), (3, *all.lock().unwrap() - 3));
}
