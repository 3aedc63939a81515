//! OTLP: what a collector gets, decoded by the numbers of the protocol's fields alone.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use send::SendEvent;
use testkit::Random;

use crate::deliveries::{Points, few_points, recorded, sender_to};
use crate::receiver::{Received, receive};
use crate::recorded::{FILES, SAMPLES, STARTED_S, record};

/// A point as it arrived.
#[derive(Debug)]
struct Arrived {
    labels: BTreeMap<String, String>,
    time_ms: i64,
    start_ms: Option<i64>,
    /// `None` if there is none, and it says so.
    value: Option<f64>,
    is_counter: bool,
}

/// A field of a message.
pub(crate) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Wire::Number(number) => *number,
            Wire::Bytes(_) => panic!("a number is wanted"),
        }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        match self {
            Wire::Bytes(bytes) => bytes,
            Wire::Number(_) => panic!("bytes are wanted"),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

/// The fields of a message, each with its number.
pub(crate) fn fields(mut rest: &[u8]) -> Vec<(u64, Wire<'_>)> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let key = prost::encoding::decode_varint(&mut rest).unwrap();
        let wire = match key & 7 {
            0 => Wire::Number(prost::encoding::decode_varint(&mut rest).unwrap()),
            1 => {
                let (number, behind) = rest.split_first_chunk().unwrap();
                rest = behind;
                Wire::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = prost::encoding::decode_varint(&mut rest).unwrap();
                let (bytes, behind) = rest.split_at(length as usize);
                rest = behind;
                Wire::Bytes(bytes)
            }
            kind => panic!("wire type {kind}"),
        };
        found.push((key >> 3, wire));
    }
    found
}

/// `KeyValue` with a text.
fn attribute(bytes: &[u8]) -> (String, String) {
    let [(1, key), (2, value)] = &fields(bytes)[..] else { panic!("{bytes:?}") };
    let [(1, text)] = &fields(value.bytes())[..] else { panic!("{bytes:?}") };
    (key.text(), text.text())
}

/// `ExportMetricsServiceRequest`.
fn arrived(message: &[u8]) -> Vec<Arrived> {
    let mut points = Vec::new();
    for (tag, of_host) in fields(message) {
        assert_eq!(tag, 1);
        let [(1, resource), (2, scope_metrics)] = &fields(of_host.bytes())[..] else {
            panic!("{message:?}")
        };
        let resource: BTreeMap<String, String> =
            fields(resource.bytes()).iter().map(|(_, one)| attribute(one.bytes())).collect();
        assert_eq!(resource["host.name"], resource["service.instance.id"]);
        let of_resource = BTreeMap::from([
            ("instance".to_owned(), resource["host.name"].clone()),
            ("job".to_owned(), resource["service.name"].clone()),
        ]);
        for (tag, one) in fields(scope_metrics.bytes()) {
            match tag {
                1 => assert_eq!(fields(one.bytes())[0].1.text(), "whit"),
                2 => metric(one.bytes(), &of_resource, &mut points),
                tag => panic!("field {tag}"),
            }
        }
    }
    points
}

/// `Metric`.
fn metric(bytes: &[u8], of_resource: &BTreeMap<String, String>, points: &mut Vec<Arrived>) {
    let [(1, name), (kind, data)] = &fields(bytes)[..] else { panic!("{bytes:?}") };
    let is_counter = *kind == 7;
    assert!(is_counter || *kind == 5, "field {kind}");
    let mut facts = Vec::new();
    for (tag, one) in fields(data.bytes()) {
        match tag {
            1 => {
                let mut labels = of_resource.clone();
                labels.insert("__name__".to_owned(), name.text());
                points.push(number_data_point(one.bytes(), labels, is_counter));
            }
            tag => facts.push((tag, one.number())),
        }
    }
    // Cumulative and monotonic.
    assert_eq!(facts, if is_counter { vec![(2, 2), (3, 1)] } else { vec![] });
}

/// `NumberDataPoint`.
fn number_data_point(bytes: &[u8], labels: BTreeMap<String, String>, is_counter: bool) -> Arrived {
    let mut point = Arrived { labels, time_ms: 0, start_ms: None, value: None, is_counter };
    let mut has_none = false;
    for (tag, field) in fields(bytes) {
        match tag {
            2 => point.start_ms = Some((field.number() / 1_000_000) as i64),
            3 => point.time_ms = (field.number() / 1_000_000) as i64,
            4 => point.value = Some(f64::from_bits(field.number())),
            7 => point.labels.extend([attribute(field.bytes())]),
            8 => has_none = field.number() == 1,
            tag => panic!("field {tag}"),
        }
    }
    assert_eq!(point.value.is_none(), has_none, "{point:?}");
    point
}

/// A collector: `answer` gives the status with further headers and the body, what has a success is taken.
fn collector(
    mut answer: impl FnMut(&[Arrived]) -> (&'static str, Vec<u8>) + Send + 'static,
) -> (SocketAddr, Receiver<Vec<Arrived>>) {
    let (taken, takes) = channel();
    let address = receive(move |request| {
        let message = unpacked(&request, "/v1/metrics");
        let points = arrived(&message);
        let (status, body) = answer(&points);
        if status.starts_with("200") {
            // Nobody may want to know any more.
            let _ = taken.send(points);
        }
        (format!("{status}\r\nContent-Type: application/x-protobuf"), body)
    });
    (address, takes)
}

/// The message of a request to a path.
pub(crate) fn unpacked(request: &Received, path: &str) -> Vec<u8> {
    assert!(request.head.starts_with(&format!("post {path} http/1.1\r\n")), "{}", request.head);
    request.assert_has(&["content-type: application/x-protobuf", "content-encoding: gzip"]);
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(&request.body[..]).read_to_end(&mut message).unwrap();
    message
}

/// What was taken.
fn taken(takes: &Receiver<Vec<Arrived>>) -> Points {
    let mut points = Points::new();
    for point in takes.try_iter().flatten() {
        let Some(value) = point.value else { continue };
        let of_series = points.entry(format!("{:?}", point.labels)).or_default();
        of_series.push((point.time_ms, value.to_bits()));
    }
    points
}

#[test]
fn a_collector_gets_every_point_once_through_its_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let sources = ["cpu", "memory", "disk", "network"];
    let _writer = record(folder.path(), Path::new("/"), &sources, |_| ());
    let mut random = Random::from_seed(testkit::seed(252));
    let (counters, has) = channel();
    let (address, takes) = collector(move |points| {
        for point in points {
            // All that is counted here is counted since the machine was started.
            let start_ms = point.is_counter.then_some(STARTED_S * 1000 - 1);
            assert_eq!(point.start_ms, start_ms, "{point:?}");
            let name = &point.labels["__name__"];
            assert!(point.is_counter || !name.ends_with("_total"), "{name}");
        }
        let _ = counters.send(points.iter().any(|point| point.is_counter));
        let later = [
            "429 Too Many Requests\r\nRetry-After: 0",
            "502 Bad Gateway",
            "503 Service Unavailable\r\nRetry-After: 0",
            "504 Gateway Timeout",
        ];
        match random.below(3) {
            0 => (later[random.below(4) as usize], Vec::new()),
            _ => ("200 OK", Vec::new()),
        }
    });
    let mut waits = 0;
    let mut sender = sender_to(folder.path(), &format!("otlp=http://{address}"), &few_points());
    let mut tell = |event: SendEvent| match event {
        SendEvent::Waits { .. } => waits += 1,
        SendEvent::Note(text) => panic!("{text}"),
        SendEvent::GoesOn => {}
    };
    assert!(sender.run(&mut |_| true, &mut tell).unwrap());
    assert!(waits > 2, "{waits}");
    assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
    assert!(has.try_iter().any(|any| any));
    assert_eq!(taken(&takes), recorded(folder.path()));
}

/// `ExportMetricsServiceResponse` that rejects some points.
pub(crate) fn partly(rejected: u64, message: &str) -> Vec<u8> {
    let mut partly = vec![1 << 3];
    prost::encoding::encode_varint(rejected, &mut partly);
    prost::encoding::string::encode(2, &message.to_owned(), &mut partly);
    let mut response = Vec::new();
    prost::encoding::bytes::encode(1, &partly, &mut response);
    response
}

#[test]
fn what_a_collector_rejects_of_a_request_is_counted_and_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    let mut is_first = true;
    let (address, takes) = collector(move |_| match std::mem::take(&mut is_first) {
        true => ("200 OK", partly(3, "too \x1b[31m old")),
        // A warning rejects nothing.
        false => ("200 OK", partly(0, "be careful")),
    });
    let mut told = Vec::new();
    let mut sender = sender_to(folder.path(), &format!("otlp=http://{address}"), &few_points());
    assert!(sender.run(&mut |_| true, &mut |event| told.push(event)).unwrap());
    let note = "3 points are rejected: 200 OK: too \\x1b[31m old";
    assert_eq!(told, [SendEvent::Note(note.to_owned())]);
    let all: usize = takes.try_iter().map(|points| points.len()).sum();
    let cursor = sender.cursor();
    assert_eq!((cursor.points_rejected, cursor.points_sent), (3, all as u64 - 3));
    assert_eq!(cursor.samples_sent, (FILES * SAMPLES) as u64);
    drop(sender);
    let status = &send::status(folder.path()).unwrap()[0];
    assert_eq!((status.samples_waiting, status.cursor.points_rejected), (0, 3));
    assert!(status.text().contains("3 points rejected"), "{}", status.text());
}

#[test]
fn a_sample_that_a_collector_refuses_keeps_no_other_back() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    // `google.rpc.Status`.
    let mut why = Vec::new();
    prost::encoding::string::encode(2, &"no such unit".to_owned(), &mut why);
    let bad_s = STARTED_S + 100;
    let (address, takes) = collector(move |points| {
        // Errors of the server that are not among those to be tried again are for good, too.
        match points.iter().any(|point| point.time_ms / 1000 == bad_s) {
            true => ("500 Internal Server Error", why.clone()),
            false => ("200 OK", Vec::new()),
        }
    });
    let mut sender = sender_to(folder.path(), &format!("otlp=http://{address}"), &few_points());
    assert!(sender.run(&mut |_| true, &mut |_| ()).unwrap());
    let cursor = sender.cursor();
    assert_eq!((cursor.samples_refused, cursor.samples_sent), (1, (FILES * SAMPLES - 1) as u64));
    let listed = std::fs::read_to_string(folder.path().join(".send-test.refused")).unwrap();
    assert!(listed.contains("500 Internal Server Error: no such unit"), "{listed}");
    let mut recorded = recorded(folder.path());
    for points in recorded.values_mut() {
        points.retain(|(time_ms, _)| time_ms / 1000 != bad_s);
    }
    assert_eq!(taken(&takes), recorded);
}

#[test]
fn a_counter_that_begins_anew_says_since_when() {
    let folder = tempfile::tempdir().unwrap();
    let host = testkit::FakeHost::new().unwrap();
    // The first interface is reset before its 50th reading, the second one comes before the 100th and
    // leaves for a while before the 150th: it goes on where it was.
    let dev = |name: &str, bytes: i64| format!("{name}: {bytes} {}\n", "1 ".repeat(15));
    let _writer = record(folder.path(), host.root(), &["network"], |number| {
        let mut text = "Inter-|   Receive\n face |bytes\n".to_owned();
        text += &dev("eth0", if number < 50 { 1000 } else { 5 } + number);
        if (100..150).contains(&number) || number >= 160 {
            text += &dev("eth1", number);
        }
        host.put("/proc/net/dev", text).unwrap();
    });
    let (address, takes) = collector(|_| ("200 OK", Vec::new()));
    let mut sender = sender_to(folder.path(), &format!("otlp=http://{address}"), &few_points());
    assert!(sender.run(&mut |_| true, &mut |_| ()).unwrap());
    let of = |points: &[Arrived], device: &str| -> BTreeMap<i64, (i64, i64)> {
        let is_own = |point: &&Arrived| {
            point.labels["__name__"] == "node_network_receive_bytes_total"
                && point.labels["device"] == device
                && point.value.is_some()
        };
        let number = |point: &Arrived| point.time_ms / 1000 - STARTED_S;
        let points = points.iter().filter(is_own);
        points.map(|one| (number(one), (one.time_ms, one.start_ms.unwrap()))).collect()
    };
    let points: Vec<Arrived> = takes.try_iter().flatten().collect();
    let [first, second] = ["eth0", "eth1"].map(|device| of(&points, device));
    assert_eq!((first.len(), second.len()), ((FILES * SAMPLES) as usize, 491));
    // All recordings of the host know it, not only that in which it happened.
    for (number, (_, start_ms)) in &first {
        let start = if *number < 50 { STARTED_S * 1000 - 1 } else { first[&49].0 };
        assert_eq!(*start_ms, start, "{number}");
    }
    for (number, (_, start_ms)) in &second {
        assert_eq!(*start_ms, first[&99].0, "{number}");
    }
}
