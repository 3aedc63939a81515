//! What a sender hands over: everything, whatever happens on the way.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use promql::{QueryBudget, QueryLimits, SeriesStorage as _, is_stale, selector};
use send::{EngineAddress, SendError, SendEvent, SendSettings, Sender};
use serve::RecordingStorage;
use testkit::{Prometheus, VictoriaMetrics};

use crate::proxy::{Fate, Proxy};
use crate::receiver::receive;
use crate::recorded::{FILES, SAMPLES, STARTED_S, record};

/// By the labels, the points: time in milliseconds, and the bits of the value.
pub(crate) type Points = BTreeMap<String, Vec<(i64, u64)>>;

fn sender(folder: &Path, address: SocketAddr, settings: &SendSettings) -> Sender {
    sender_to(folder, &format!("remote-write=http://{address}"), settings)
}

pub(crate) fn sender_to(folder: &Path, to: &str, settings: &SendSettings) -> Sender {
    let to = EngineAddress::parse(to).unwrap();
    // A program that another test starts has this one's descriptors, and so its locks, until its execve.
    testkit::wait_for("the lock", || match Sender::new(folder, "test", &to, settings.clone()) {
        Err(SendError::Busy { .. }) => None,
        opened => Some(opened.unwrap()),
    })
}

pub(crate) fn few_points() -> SendSettings {
    SendSettings { points_max: 2000, ..SendSettings::default() }
}

/// What the recordings have.
pub(crate) fn recorded(folder: &Path) -> Points {
    let (storage, _) = RecordingStorage::open(&[folder.to_owned()]).unwrap();
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let all = selector("{instance=\"vm\"}").unwrap();
    let found = storage.select(&all, 0, i64::MAX / 2_000_000, &budget).unwrap();
    let mut points = Points::new();
    for series in found {
        let values = series.samples.iter().filter(|point| !is_stale(point.value));
        let values = values.map(|point| (point.time_ms, point.value.to_bits()));
        let labels: BTreeMap<&str, &str> = series.labels.iter().collect();
        points.insert(format!("{labels:?}"), values.collect());
    }
    points
}

/// What Prometheus has.
fn held(address: SocketAddr) -> Points {
    let end = (STARTED_S + FILES * SAMPLES + 100).to_string();
    let window = format!("{{instance=\"vm\"}}[{}s]", FILES * SAMPLES + 200);
    let answer =
        testkit::http(address, "POST", "/api/v1/query", &[("query", &window), ("time", &end)]);
    let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let mut points = Points::new();
    for series in answer["data"]["result"].as_array().unwrap() {
        let values = series["values"].as_array().unwrap().iter().map(|point| {
            let time_ms = (point[0].as_f64().unwrap() * 1000.0).round() as i64;
            (time_ms, point[1].as_str().unwrap().parse::<f64>().unwrap().to_bits())
        });
        points.insert(labels_of(&series["metric"]), values.collect());
    }
    points
}

fn assert_same(recorded: &Points, held: &Points) {
    let of = |points: &Points| points.values().map(Vec::len).sum::<usize>();
    assert!(of(recorded) > 10_000, "{}", of(recorded));
    for (labels, points) in recorded {
        let empty = Vec::new();
        let other = held.get(labels).unwrap_or(&empty);
        let missing = points.iter().find(|point| !other.contains(point));
        assert_eq!(missing, None, "{labels}: {} of {}", other.len(), points.len());
    }
    assert_eq!(of(recorded), of(held));
}

#[test]
fn everything_arrives_through_faults_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let _writer =
        record(folder.path(), Path::new("/"), &["cpu", "memory", "disk", "network"], |_| ());
    let Some(prometheus) = Prometheus::receiving() else { return };
    let proxy = Proxy::start(prometheus.address(), testkit::seed(25), 7);
    let mut ends = 0;
    let mut random = testkit::Random::from_seed(testkit::seed(26));
    loop {
        // Ended at a random moment, and gone on by another process.
        let mut pauses = random.below(12);
        let mut is_ended = false;
        let mut sender = sender(folder.path(), proxy.address, &few_points());
        let mut pause = |_: Duration| {
            is_ended = pauses == 0;
            pauses = pauses.saturating_sub(1);
            !is_ended
        };
        sender.run(&mut pause, &mut |_| ()).unwrap();
        if !is_ended {
            let cursor = sender.cursor();
            assert_eq!(cursor.samples_refused, 0);
            assert_eq!(cursor.samples_sent + cursor.samples_known, (FILES * SAMPLES) as u64);
            assert!(cursor.samples_known > 0, "no acknowledgement was lost");
            break;
        }
        ends += 1;
    }
    assert!(ends > 2, "{ends} ends in {} requests", proxy.requests());
    assert_same(&recorded(folder.path()), &held(prometheus.address()));
}

/// What VictoriaMetrics has.
fn held_by_victoria(victoria: &VictoriaMetrics) -> BTreeMap<String, Vec<(i64, f64)>> {
    victoria.flush();
    let exported = testkit::http(
        victoria.address(),
        "POST",
        "/api/v1/export",
        &[("match[]", "{instance=\"vm\"}"), ("reduce_mem_usage", "1")],
    );
    let mut held = BTreeMap::new();
    for line in exported.body.lines() {
        let series: serde_json::Value = serde_json::from_str(line).unwrap();
        let list = |name: &str| series[name].as_array().unwrap().clone();
        let points = list("timestamps").into_iter().zip(list("values"));
        // A stale mark is null.
        let points = points.filter(|(_, value)| !value.is_null());
        let points: Vec<(i64, f64)> =
            points.map(|(time, value)| (time.as_i64().unwrap(), value.as_f64().unwrap())).collect();
        held.entry(labels_of(&series["metric"])).or_insert_with(Vec::new).extend(points);
    }
    held
}

/// Sends a folder to VictoriaMetrics in some way and compares what it has, whose times are multiples of
/// `step_ms`.
fn victoria_has_everything(way: impl Fn(&VictoriaMetrics) -> String, step_ms: i64) {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu", "memory", "disk"], |_| ());
    let Some(victoria) = VictoriaMetrics::start() else { return };
    let mut sender = sender_to(folder.path(), &way(&victoria), &few_points());
    assert!(sender.run(&mut |_| true, &mut |event| panic!("{event:?}")).unwrap());
    assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
    let recorded = recorded(folder.path());
    let mut held = held_by_victoria(&victoria);
    assert_eq!(recorded.keys().collect::<Vec<_>>(), held.keys().collect::<Vec<_>>());
    for (labels, points) in recorded {
        let held = &mut held.get_mut(&labels).unwrap();
        held.sort_by_key(|(time, _)| *time);
        assert_eq!(points.len(), held.len(), "{labels}");
        for ((time, value), (other_time, other)) in points.iter().zip(held.iter()) {
            // It keeps 15 digits.
            let value = f64::from_bits(*value);
            assert_eq!(time.div_euclid(step_ms) * step_ms, *other_time, "{labels}");
            assert!((value - other).abs() <= value.abs() * 1e-14, "{labels}: {value} {other}");
        }
    }
}

#[test]
fn victoria_metrics_has_everything_too() {
    victoria_has_everything(|victoria| format!("remote-write=http://{}", victoria.address()), 1);
}

#[test]
fn victoria_metrics_has_everything_by_lines_of_influx() {
    victoria_has_everything(|victoria| format!("influx=http://{}", victoria.address()), 1);
}

#[test]
fn victoria_metrics_has_everything_by_lines_of_graphite() {
    victoria_has_everything(|victoria| format!("graphite={}", victoria.graphite()), 1000);
}

/// The labels of a series, as a key.
fn labels_of(metric: &serde_json::Value) -> String {
    let labels: BTreeMap<&str, &str> = metric
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    format!("{labels:?}")
}

#[test]
fn what_an_engine_lacks_or_has_twice_is_told() {
    let [whole, part] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let _writer = record(whole.path(), Path::new("/"), &["cpu", "memory"], |_| ());
    std::fs::copy(whole.path().join("vm-0.whit"), part.path().join("vm-0.whit")).unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let Some(victoria) = VictoriaMetrics::start() else { return };
    let [one, other] = [prometheus.address(), victoria.address()]
        .map(|address| format!("remote-write=http://{address}"));
    let send = |folder: &Path, to: &str| {
        let mut sender = sender_to(folder, to, &few_points());
        assert!(sender.run(&mut |_| true, &mut |_| ()).unwrap());
    };
    let verify = |folder: &Path, to: &str| {
        let to = EngineAddress::parse(to).unwrap();
        send::verify(folder, "test", &to, &few_points())
    };
    let nothing = verify(whole.path(), &one).unwrap_err().to_string();
    assert!(nothing.contains("nothing was sent from here under the name test"), "{nothing}");
    send(whole.path(), &one);
    let report = verify(whole.path(), &one).unwrap();
    let points = recorded(whole.path()).values().map(|points| points.len() as u64).sum::<u64>();
    assert!(report.is_whole() && report.points == points, "{}", report.text("test"));
    // The other one has the first recording alone, and that twice.
    for _ in 0..2 {
        send(part.path(), &other);
        std::fs::rename(part.path().join(".send-test.json"), part.path().join("sent")).unwrap();
    }
    victoria.flush();
    let report = verify(whole.path(), &other).unwrap();
    let of_first = points / FILES as u64;
    assert_eq!(
        (report.points, report.missing, report.different, report.doubled),
        (points, points - of_first, 0, of_first),
        "{}",
        report.text("test")
    );
    // Machines with many CPUs have more series than are listed; the first one is one of all.
    let (_, first) = report.series.first_key_value().unwrap();
    assert_eq!(first.missing as i64, (FILES - 1) * SAMPLES);
    let seconds = (first.first_ms / 1000, first.last_ms / 1000);
    assert_eq!(seconds, (STARTED_S + 1, STARTED_S + FILES * SAMPLES));
    assert_eq!(report.json("x")["missing"], points - of_first);
    assert_eq!(verify(whole.path(), &other).unwrap(), report, "the same series are listed");
    // Whoever cannot be asked says so.
    let refused = verify(whole.path(), "graphite=h").unwrap_err().to_string();
    assert!(refused.contains("graphite answers no questions"), "{refused}");
    let refused = verify(whole.path(), "remote-write=http://h/elsewhere").unwrap_err().to_string();
    assert!(refused.contains("/elsewhere: its path does not end in"), "{refused}");
}

#[test]
fn a_sender_that_follows_sends_what_is_recorded_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let settings = SendSettings { follows: true, ..few_points() };
    let mut sender = sender(folder.path(), prometheus.address(), &settings);
    // Nothing is there at first; recordings come, two are closed and one is not.
    let mut writer = None;
    let mut looks = 0;
    let mut pause = |wait: Duration| {
        // Samples are gathered for 2 s at most.
        assert!(wait <= Duration::from_secs(2), "{wait:?}");
        if wait.is_zero() {
            return true;
        }
        looks += 1;
        if looks == 2 {
            writer = Some(record(folder.path(), Path::new("/"), &["cpu", "memory"], |_| ()));
        }
        looks < 5
    };
    sender.run(&mut pause, &mut |_| ()).unwrap();
    assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
    let done: Vec<bool> = sender.cursor().recordings.values().map(|one| one.is_done).collect();
    assert_eq!(done.iter().filter(|is_done| **is_done).count(), 2, "{done:?}");
    let status = send::status(folder.path()).unwrap();
    assert_eq!((status.len(), status[0].samples_waiting), (1, 0), "{status:?}");
    assert_same(&recorded(folder.path()), &held(prometheus.address()));
}

#[test]
fn an_engine_that_has_a_batch_already_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let writer = record(folder.path(), Path::new("/"), &["cpu", "memory"], |_| ());
    writer.close().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let to_proxy = |proxy: &Proxy| sender(folder.path(), proxy.address, &few_points());
    let first = Proxy::with(prometheus.address(), |_| Fate::Arrives);
    assert!(to_proxy(&first).run(&mut |_| true, &mut |_| ()).unwrap());
    // The acknowledgements are lost: the cursor is at the beginning.
    std::fs::remove_file(folder.path().join(".send-test.json")).unwrap();
    let second = Proxy::with(prometheus.address(), |_| Fate::Arrives);
    let mut sender = to_proxy(&second);
    let tell = &mut |event| panic!("{event:?}");
    assert!(sender.run(&mut |_| true, tell).unwrap());
    let cursor = sender.cursor();
    assert_eq!(cursor.samples_known + cursor.samples_sent, (FILES * SAMPLES) as u64);
    assert!(cursor.samples_known > 0 && cursor.samples_refused == 0, "{cursor:?}");
    // Each batch is refused, and then the engine is asked; one may end in a sample that is equal.
    assert!(
        second.requests() <= 2 * first.requests() + 4,
        "{} requests, and {} before",
        second.requests(),
        first.requests()
    );
    assert_same(&recorded(folder.path()), &held(prometheus.address()));
}

#[test]
fn what_is_deleted_before_it_is_sent_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut told = Vec::new();
    let mut first = sender(folder.path(), nobody, &few_points());
    first.run(&mut |_| false, &mut |event| told.push(event)).unwrap();
    assert!(matches!(&told[0], SendEvent::Waits { failures: 1, .. }), "{told:?}");
    drop(first);
    std::fs::remove_file(folder.path().join("vm-0.whit")).unwrap();
    let mut second = sender(folder.path(), nobody, &few_points());
    told.clear();
    second.run(&mut |_| false, &mut |event| told.push(event)).unwrap();
    assert_eq!(second.cursor().samples_deleted, SAMPLES as u64);
    let note = SendEvent::Note(format!("{SAMPLES} samples were deleted before they were sent"));
    assert!(told.contains(&note), "{told:?}");
    // Two processes do not send to the same engine.
    let to = EngineAddress::parse("remote-write=http://127.0.0.1:1").unwrap();
    let other = Sender::new(folder.path(), "test", &to, few_points());
    assert!(other.err().unwrap().to_string().contains("another process sends from here"));
}

#[test]
fn a_sample_that_is_refused_for_good_keeps_no_other_back() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    // Whoever has the sample of one time in it is refused.
    let bad_s = STARTED_S + 100;
    let engine = refusing(bad_s);
    let mut sender = sender(folder.path(), engine, &few_points());
    let mut told = Vec::new();
    sender.run(&mut |_| true, &mut |event| told.push(event)).unwrap();
    assert_eq!(sender.cursor().samples_refused, 1, "{told:?}");
    assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES - 1) as u64);
    let listed = std::fs::read_to_string(folder.path().join(".send-test.refused")).unwrap();
    let listed: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(listed["sample"], 99);
    assert_eq!(listed["realtime_ns"].as_i64().unwrap() / 1_000_000_000, bad_s);
    assert!(listed["why"].as_str().unwrap().contains("no such \\x1b[31m"), "{listed}");
}

#[test]
fn a_sender_ends_between_two_batches() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), Path::new("/"), &["cpu"], |_| ()).close().unwrap();
    let engine = receive(|_| ("200 OK".into(), Vec::new()));
    let to = format!("otlp=http://{engine}");
    let mut sent = 0;
    for ends in 0.. {
        let mut sender = sender_to(folder.path(), &to, &few_points());
        let is_whole = sender.run(&mut |_| false, &mut |event| panic!("{event:?}")).unwrap();
        let now = sender.cursor().samples_sent;
        assert!(now > sent && now < sent + SAMPLES as u64, "{now} after {sent}");
        sent = now;
        if is_whole {
            assert!(ends > 2, "{ends} ends");
            break;
        }
    }
    assert_eq!(sent, (FILES * SAMPLES) as u64);
}

#[test]
fn samples_that_an_engine_is_past_are_listed_and_told_once() {
    let [newer, older] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    record(newer.path(), Path::new("/"), &["cpu"], |_| ()).close().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    // The samples of two files are sent, and then those of the first, which are older.
    std::fs::rename(newer.path().join("vm-0.whit"), older.path().join("vm-0.whit")).unwrap();
    let of_older = SAMPLES as u64;
    let send = |folder: &Path| {
        let mut told = Vec::new();
        let mut sender = sender(folder, prometheus.address(), &few_points());
        assert!(sender.run(&mut |_| true, &mut |event| told.push(event)).unwrap());
        (sender.cursor().clone(), told)
    };
    let (cursor, told) = send(newer.path());
    assert_eq!((cursor.samples_sent, told.len()), (2 * of_older, 0), "{told:?}");
    let (cursor, told) = send(older.path());
    let counts = (cursor.samples_sent, cursor.samples_known, cursor.samples_refused);
    assert_eq!(counts, (0, 0, of_older), "{told:?}");
    let note =
        |event: &SendEvent| matches!(event, SendEvent::Note(text) if text.contains("out of order"));
    assert!(told.len() == 1 && note(&told[0]), "{told:?}");
    let listed = std::fs::read_to_string(older.path().join(".send-test.refused")).unwrap();
    assert_eq!(listed.lines().count() as u64, of_older);
}

/// An engine that refuses requests with a point of one second.
fn refusing(bad_s: i64) -> SocketAddr {
    receive(move |request| {
        let body = snap::raw::Decoder::new().decompress_vec(&request.body).unwrap();
        match has_second(&body, bad_s) {
            true => ("400 Bad Request".into(), b"no such \x1b[31m".to_vec()),
            false => ("204 No Content".into(), Vec::new()),
        }
    })
}

/// Whether a request has a point of a second: any varint of it.
fn has_second(body: &[u8], second: i64) -> bool {
    (0..body.len()).any(|at| {
        let mut rest = &body[at..];
        let value = prost::encoding::decode_varint(&mut rest);
        value.is_ok_and(|value| value / 1000 == second as u64)
    })
}
