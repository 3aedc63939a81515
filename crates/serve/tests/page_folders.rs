//! What the page shows beside recordings: databases as the real `rrdtool` has them, devices, their
//! pages, and the history of a machine; and nothing outside their folders.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use recording::{Writer, WriterOptions};
use sample::{Field, Meta, Snapshot, SourceDef, State, Unit};
use serde_json::Value;
use serve::{Page, QueryServer, RecordedPages, RecordingStorage, ServeSettings};
use service_account::{
    DeviceOwner, PolledTarget, SharedPollers, TARGETS_ENDING, TargetFailure, write_targets,
};
use testkit::http;

use crate::common::{listeners, patient};

const STARTED_S: i64 = 1_790_002_800;
const HOSTILE: &str = "<b>x: y\\.rrd";

/// A recording of a poller: rounds of a minute in which `eth0` counts by 60 and by 120.
fn record(folder: &Path) {
    let counter = |name: &'static str| Field::counter(name, Unit::Count, "A counter");
    let defs = [Arc::new(SourceDef {
        name: "device_10_0_0_1".into(),
        about: SourceDef::about_device("10.0.0.1").into(),
        fields: vec![
            counter("eth0_in"),
            counter("eth0_out"),
            Field::gauge("load_in", Unit::Hundredths, "A gauge"),
            Field::gauge("load_out", Unit::Hundredths, "A gauge"),
        ]
        .into(),
        ..SourceDef::EMPTY
    })];
    let mut meta = Meta::new();
    meta.set("host", "poller");
    meta.set("interval_ns", "60000000000");
    meta.set("started_ns", (STARTED_S * 1_000_000_000).to_string());
    let path = folder.join("poller.whit");
    let mut writer = Writer::create(&path, &meta, &defs, WriterOptions::default()).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    for round in 0..20_u64 {
        snapshot.monotonic_ns = 1 + 60_000_000_000 * round;
        snapshot.realtime_ns = (STARTED_S + 60 * round.cast_signed()) * 1_000_000_000;
        snapshot.fresh.fill(true);
        let sample = &mut snapshot.samples[0];
        sample.monotonic_ns = snapshot.monotonic_ns;
        sample.realtime_ns = snapshot.realtime_ns;
        sample.state = State::Ok;
        sample.table.begin();
        let mut row = sample.table.row(b"");
        for field in 0..4 {
            row.set(field, 60 * round * (field as u64 + 1));
        }
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
}

fn rrdtool(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("rrdtool").current_dir(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A day of a database with means of a minute and of ten minutes, and with what was least and most.
fn fill(folder: &Path, name: &str, sources: [&str; 2]) {
    let [one, two] = sources.map(|source| format!("DS:{source}:GAUGE:120:U:100"));
    let start = (STARTED_S - 86_400).to_string();
    rrdtool(
        folder,
        &[
            "create",
            name,
            "--start",
            &start,
            "--step",
            "60",
            &one,
            &two,
            "RRA:AVERAGE:0.5:1:600",
            "RRA:AVERAGE:0.5:10:300",
            "RRA:MIN:0.5:10:300",
            "RRA:MAX:0.5:10:300",
        ],
    );
    let reading = |minute: i64| {
        format!("{}:{}:{}", STARTED_S - 86_400 + 60 * minute, minute % 50, minute % 37)
    };
    let readings: Vec<String> = (1..=1440).map(reading).collect();
    let mut words = vec!["update", name];
    words.extend(readings.iter().map(String::as_str));
    rrdtool(folder, &words);
}

fn serve(recordings: &Path, databases: &Path, pages: &Path) -> QueryServer {
    let (storage, left_out) = RecordingStorage::open(&[recordings.to_owned()]).unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let settings = ServeSettings { http: patient(), ..ServeSettings::default() };
    let storage = Arc::new(storage);
    let newest = Arc::new(RecordedPages::new(storage.clone()));
    let page = Page::new(storage)
        .with_databases(vec![databases.to_owned()], None)
        .with_device_pages(pages.to_owned());
    QueryServer::start_with_page(listeners(), settings, page, newest).unwrap()
}

/// Folders of recordings, databases and pages, and a secret beside them.
struct Folders {
    all: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        for name in ["recordings", "databases", "databases/sub", "pages"] {
            fs::create_dir(all.path().join(name)).unwrap();
        }
        fs::write(all.path().join("secret.rrd"), "secret").unwrap();
        fs::write(all.path().join("secret.html"), "secret").unwrap();
        Folders { all }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.all.path().join(name)
    }

    fn serve(&self) -> QueryServer {
        record(&self.path("recordings"));
        serve(&self.path("recordings"), &self.path("databases"), &self.path("pages"))
    }
}

fn body(address: SocketAddr, question: &str, parameters: &[(&str, &str)]) -> String {
    let answer = http(address, "GET", &format!("/api/whit/v1/{question}"), parameters);
    assert_eq!(answer.status, 200, "{question} {parameters:?}: {}", answer.body);
    assert!(answer.head.to_ascii_lowercase().contains("nosniff"), "{}", answer.head);
    answer.body
}

fn ask(address: SocketAddr, question: &str, parameters: &[(&str, &str)]) -> Value {
    serde_json::from_str(&body(address, question, parameters)).unwrap()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// What `rrdtool fetch` says: when each row ends, and its values.
fn fetched(folder: &Path, arguments: &[&str]) -> Vec<(i64, Vec<Option<f64>>)> {
    let text = rrdtool(folder, arguments);
    let row = |line: &str| {
        let (time, values) = line.split_once(": ")?;
        let value = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite());
        Some((time.parse().ok()?, values.split_whitespace().map(value).collect()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn data_of_a_database_are_those_of_rrdtool() {
    let folders = Folders::new();
    let databases = folders.path("databases");
    fill(&databases, "a.rrd", ["in", "out"]);
    let server = folders.serve();
    let address = server.address().unwrap();
    for (points, step) in [("600", "1"), ("100", "600")] {
        let (from, thru) = (STARTED_S - 30_000, STARTED_S - 600);
        let period = [from, thru].map(|time| (time * 1000).to_string());
        let data = ask(
            address,
            "databases/data",
            &[("path", "a.rrd"), ("from", &period[0]), ("thru", &period[1]), ("points", points)],
        );
        let step_ms = data["step_ms"].as_i64().unwrap();
        let from_ms = data["from_ms"].as_i64().unwrap();
        for (name, function) in [("mean", "AVERAGE"), ("min", "MIN"), ("max", "MAX")] {
            // A row of one reading is its own least and most.
            let function = if step_ms == 60_000 { "AVERAGE" } else { function };
            let (start, end) = (from.to_string(), (thru - 1).to_string());
            let theirs = fetched(
                &databases,
                &[
                    "fetch",
                    "a.rrd",
                    function,
                    "--start",
                    &start,
                    "--end",
                    &end,
                    "--resolution",
                    step,
                ],
            );
            assert!(theirs.len() > 40, "{}", theirs.len());
            for (place, series) in list(&data, "series").iter().enumerate() {
                let ours = list(series, name);
                assert_eq!(ours.len(), theirs.len(), "{name} {points}");
                for (row, (end_s, values)) in theirs.iter().enumerate() {
                    assert_eq!(from_ms + step_ms * (row as i64 + 1), end_s * 1000);
                    let ours = ours[row].as_f64();
                    let is_same = match (ours, values[place]) {
                        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-8 * theirs.abs(),
                        (ours, theirs) => ours == theirs,
                    };
                    assert!(is_same, "{name} {row}: {ours:?} {:?}", values[place]);
                }
            }
        }
    }
    let csv =
        body(address, "databases/data", &[("path", "a.rrd"), ("source", "out"), ("format", "csv")]);
    assert!(csv.starts_with("time_ms,source,mean,min,max\n"), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.contains(",out,")), "{csv}");
    let facts = ask(address, "databases/file", &[("path", "a.rrd")]);
    let info = rrdtool(&databases, &["info", "a.rrd"]);
    assert!(
        info.contains(&format!("last_update = {}\n", facts["updated_ms"].as_i64().unwrap() / 1000))
    );
    let archives: Vec<String> =
        list(&facts, "archives").iter().map(|one| one["rows"].to_string()).collect();
    assert_eq!(archives, ["600", "300", "300", "300"]);
    assert_eq!(
        (&facts["sources"][0]["heartbeat_s"], &facts["sources"][0]["max"]),
        (&120.into(), &100.into())
    );
    assert_eq!(facts["sources"][0]["min"], Value::Null, "no limit is not 0");
}

#[test]
fn rows_that_are_too_many_become_as_many_as_points_ask() {
    let folders = Folders::new();
    let databases = folders.path("databases");
    let (first_s, count) = (STARTED_S - 60_000, 900);
    let source = |name: &str| format!("DS:{name}:GAUGE:120:U:U");
    let start = first_s.to_string();
    let create = ["create", "fine.rrd", "--start", &start, "--step", "60"];
    rrdtool(
        &databases,
        &[&create[..], &[&source("in"), &source("out"), "RRA:AVERAGE:0.5:1:150000"]].concat(),
    );
    let reading =
        |minute: i64| format!("{}:{}:{}", first_s + 60 * minute, minute * 7 % 101, minute % 13);
    let readings: Vec<String> = (1..=count).map(reading).collect();
    let words = ["update", "fine.rrd"].into_iter().chain(readings.iter().map(String::as_str));
    rrdtool(&databases, &words.collect::<Vec<_>>());
    let server = folders.serve();
    let address = server.address().unwrap();
    // 280,000 values; steps of 35 rows.  The period begins and ends within a step.
    let thru_s = first_s + 50_000;
    let from_s = thru_s - 8_400_000;
    let [from, thru] = [from_s, thru_s].map(|seconds| (seconds * 1000).to_string());
    let asked = [("path", "fine.rrd"), ("from", &from), ("thru", &thru), ("points", "4096")];
    let data = ask(address, "databases/data", &asked);
    assert_eq!(data["step_ms"], 2_100_000);
    let [start, end] = [from_s, thru_s - 1].map(|seconds| seconds.to_string());
    let definition = |name: &str, function: &str, source: &str| {
        [format!("DEF:{name}=fine.rrd:{source}:AVERAGE:reduce={function}"), format!("XPORT:{name}")]
    };
    let columns = [("mean", "AVERAGE"), ("min", "MIN"), ("max", "MAX")];
    for (place, source) in ["in", "out"].into_iter().enumerate() {
        let words = columns.map(|(name, function)| definition(name, function, source)).concat();
        let options = [
            "xport",
            "--json",
            "--start",
            &start,
            "--end",
            &end,
            "--step",
            "2100",
            "--maxrows",
            "5000",
        ];
        let words = options.into_iter().chain(words.iter().map(String::as_str));
        let theirs = rrdtool(&databases, &words.collect::<Vec<_>>());
        let theirs: Value = serde_json::from_str(&theirs).unwrap();
        for (column, (name, _)) in columns.into_iter().enumerate() {
            let theirs = list(&theirs, "data").iter().map(|row| row[column].as_f64());
            let theirs: Vec<f64> = theirs.flatten().collect();
            let ours = list(&list(&data, "series")[place], name).iter().map(Value::as_f64);
            let ours: Vec<f64> = ours.flatten().collect();
            assert!(ours.len() > 15, "{data}");
            assert_eq!(ours.len(), theirs.len(), "{source} {name}");
            let is_near = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-7 * other.abs();
            assert!(ours.iter().zip(&theirs).all(is_near), "{source} {name}: {ours:?} {theirs:?}");
        }
    }
    let csv = body(address, "databases/data", &[&asked[..], &[("format", "csv")]].concat());
    assert_eq!(
        csv.lines().count(),
        1 + list(&data, "series").iter().fold(0, |sum, series| {
            sum + list(series, "mean").iter().filter(|value| !value.is_null()).count()
        })
    );
}

#[test]
fn a_database_is_a_picture_by_its_definition_or_of_its_sources() {
    let folders = Folders::new();
    let databases = folders.path("databases");
    fill(&databases, HOSTILE, ["in", "out"]);
    fill(&databases, "sub/b.rrd", ["x", "y"]);
    let server = folders.serve();
    let address = server.address().unwrap();
    let picture = |parameters: &[(&str, &str)]| body(address, "databases/graph", parameters);
    let svg = picture(&[("path", HOSTILE), ("source", "in")]);
    assert!(svg.contains("<svg") && !svg.contains("<b>"), "{svg}");
    let answer = http(
        address,
        "GET",
        "/api/whit/v1/databases/graph",
        &[("path", "sub/b.rrd"), ("format", "png"), ("theme", "dark"), ("width", "300")],
    );
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.to_ascii_lowercase().contains("content-type: image/png"),
        "{}",
        answer.head
    );
    // A definition names databases from where it is, and none outside the folder.
    let definition = |text: &str| fs::write(databases.join("sub/b.graph"), text).unwrap();
    let of_b = [("path", "sub/b.rrd")];
    definition("# y alone\nDEF:v=b.rrd:y:AVERAGE \\\n 'LINE1:v#123456:the \"y\"'");
    assert!(picture(&of_b) != picture(&[("path", "sub/b.rrd"), ("definition", "none")]));
    assert_eq!(ask(address, "databases/file", &of_b)["has_definition"], true);
    let refused = |text: &str, why: &str| {
        definition(text);
        let answer = http(address, "GET", "/api/whit/v1/databases/graph", &of_b);
        assert_eq!(answer.status, 422, "{text}: {}", answer.body);
        assert!(answer.body.contains(why), "{text}: {}", answer.body);
    };
    refused("DEF:v=../../secret.rrd:y:AVERAGE LINE:v#123456", "outside the folder");
    refused("DEF:v=b.rrd:y:AVERAGE:daemon=unix\\:/nothing LINE:v#123456", "daemon");
    refused("DEF:v=b.rrd:z:AVERAGE LINE:v#123456", "No DS called 'z'");
    refused("'LINE", "argument");
    refused("COMMENT:x --only", "option");
}

#[test]
fn nothing_outside_the_folder_of_databases_is_opened() {
    let folders = Folders::new();
    let databases = folders.path("databases");
    fill(&databases, "good.rrd", ["in", "out"]);
    fs::write(databases.join("bad.rrd"), "RRD\0").unwrap();
    fs::write(databases.join("other.txt"), "secret").unwrap();
    let link =
        |to: &Path, name: &str| std::os::unix::fs::symlink(to, databases.join(name)).unwrap();
    link(&folders.path("secret.rrd"), "link.rrd");
    link(Path::new("/"), "root");
    link(Path::new("good.rrd"), "same.rrd");
    let fifo = databases.join("fifo.rrd");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let server = folders.serve();
    let address = server.address().unwrap();
    let outside = folders.path("secret.rrd");
    for path in [
        "../secret.rrd",
        "sub/../../secret.rrd",
        "link.rrd",
        "root/etc/passwd.rrd",
        outside.to_str().unwrap(),
        "other.txt",
        "",
        "fifo.rrd",
        "missing.rrd",
        "sub",
        "good.rrd/x.rrd",
    ] {
        for question in ["databases/file", "databases/data", "databases/graph"] {
            let question = format!("/api/whit/v1/{question}");
            let answer = http(address, "GET", &question, &[("path", path)]);
            assert_eq!(answer.status, 400, "{path}: {}", answer.body);
            assert!(!answer.body.contains("/proc/"), "{}", answer.body);
        }
    }
    let answer = http(address, "GET", "/api/whit/v1/databases/file", &[("path", "bad.rrd")]);
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert!(answer.body.contains("bad.rrd") && !answer.body.contains("/proc/"), "{}", answer.body);
    assert_eq!(ask(address, "databases/file", &[("path", "same.rrd")])["step_s"], 60);
    let found = ask(address, "databases", &[]);
    let line = |name: &str| list(&found, "databases").iter().find(|line| line["path"] == name);
    assert_eq!(line("good.rrd").unwrap()["error"], Value::Null);
    assert!(line("bad.rrd").unwrap()["error"].is_string());
    assert!(line("link.rrd").is_none() && line("other.txt").is_none(), "{found}");
    let some = ask(address, "databases", &[("filter", "RRD go"), ("count", "1")]);
    assert_eq!((list(&some, "databases").len(), &some["found"]), (1, &1.into()), "{some}");
    let all = found["found"].as_u64().unwrap() as usize;
    let rest = ask(address, "databases", &[("skip", &(all - 1).to_string())]);
    assert_eq!(list(&rest, "databases").len(), 1);
}

#[test]
fn targets_of_devices_have_their_values_and_curves() {
    let folders = Folders::new();
    fs::write(folders.path("pages/eth0.html"), "<h1>eth0</h1>").unwrap();
    let server = folders.serve();
    let address = server.address().unwrap();
    assert_eq!(list(&ask(address, "sections", &[]), "sections"), ["databases", "devices"]);
    let period = [0, 1200].map(|second| ((STARTED_S + second) * 1000).to_string());
    let times = [("from", period[0].as_str()), ("thru", period[1].as_str())];
    let found = ask(address, "devices", &times);
    let [eth0, load] = list(&found, "targets") else { panic!("{found}") };
    assert_eq!((&eth0["device"], &eth0["target"]), (&"10.0.0.1".into(), &"eth0".into()));
    for (name, value) in [("in_last", 1.0), ("in_mean", 1.0), ("out_max", 2.0)] {
        assert_eq!(eth0[name].as_f64(), Some(value), "{name} {eth0}");
    }
    assert_eq!((&eth0["unit"], &eth0["page"]), (&"count/s".into(), &"eth0.html".into()));
    assert_eq!(eth0["is_current"], true);
    // 19 rounds of 180 hundredths.
    assert_eq!(load["in_last"].as_f64(), Some(34.2), "{load}");
    assert_eq!((&load["unit"], &load["page"]), (&"count".into(), &Value::Null));
    let mut of_eth0 = vec![("host", "10.0.0.1"), ("target", "eth0"), ("points", "600")];
    of_eth0.extend(times);
    let curve = ask(address, "devices/target", &of_eth0);
    assert_eq!(curve["step_ms"], 60_000, "no step is shorter than a round");
    let out = &list(&curve, "series")[1];
    let known: Vec<f64> = list(out, "mean").iter().filter_map(Value::as_f64).collect();
    assert_eq!(known, [2.0; 19], "{curve}");
    assert_eq!((&eth0["title"], &eth0["failure"]), (&Value::Null, &Value::Null));
    of_eth0[1].1 = "eth1";
    let answer = http(address, "GET", "/api/whit/v1/devices/target", &of_eth0);
    assert_eq!(answer.status, 400, "{}", answer.body);
}

#[test]
fn what_a_poller_knows_of_its_targets_is_shown() {
    let folders = Folders::new();
    let target = |name: &str, failure| PolledTarget {
        device: "10.0.0.1".into(),
        target: name.into(),
        title: "</script>\u{202e}up\u{1b}link".into(),
        limits: [Some(125e6), None],
        failure,
    };
    let failure =
        TargetFailure { why: "no \u{7}answer".into(), since_ms: 5, at_ms: 9, is_over: false };
    let over = TargetFailure { is_over: true, ..failure.clone() };
    let known = [target("eth0", Some(over)), target("eth9", Some(failure)), target("load", None)];
    let other = PolledTarget { device: "other".into(), ..known[1].clone() };
    let path = |name: &str| folders.path("recordings").join(format!("{name}{TARGETS_ENDING}"));
    write_targets(&path("poller"), known.iter().chain([&other])).unwrap();
    fs::write(path("broken"), "{\n\0").unwrap();
    let server = folders.serve();
    let address = server.address().unwrap();
    let times = [STARTED_S, STARTED_S + 1200].map(|second| (second * 1000).to_string());
    let times = [("from", times[0].as_str()), ("thru", times[1].as_str())];
    let found = ask(address, "devices", &times);
    let [eth0, eth9, load] = list(&found, "targets") else { panic!("{found}") };
    let title = eth0["title"].as_str().unwrap();
    assert!(title.starts_with("</script>") && !title.contains(['\u{202e}', '\u{1b}']), "{title}");
    assert_eq!((&eth0["in_limit"], &eth0["out_limit"]), (&125_000_000.into(), &Value::Null));
    let why = eth0["failure"].as_str().unwrap();
    assert!(why.starts_with("no ") && !why.contains('\u{7}'), "{why}");
    assert_eq!((&eth0["failure_ms"], &eth0["failing_since_ms"]), (&9.into(), &Value::Null));
    // It has never answered: it is in no recording.
    assert_eq!((&eth9["target"], &eth9["newest_ms"]), (&"eth9".into(), &Value::Null));
    assert_eq!((&eth9["failing_since_ms"], &eth9["is_current"]), (&5.into(), &false.into()));
    assert_eq!((&load["failure"], &load["is_current"]), (&Value::Null, &true.into()));
    let csv = body(address, "devices", &[times[0], times[1], ("format", "csv")]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].ends_with(",title,in_limit,out_limit,failure,failure_ms,failing_since_ms"));
    assert!(lines.len() == 4 && lines[2].ends_with(",9,5"), "{csv}");
}

#[test]
fn pollers_that_share_devices_are_on_the_page_of_metrics() {
    let folders = Folders::new();
    let owner = |poller: &str, from: Option<&str>, since_s| DeviceOwner {
        poller: poller.into(),
        since_s,
        from: from.map(Into::into),
    };
    let mut known = SharedPollers {
        poller: "east".into(),
        place: "the bucket b of h:1".into(),
        at_s: 95,
        unusable: None,
        there: [("east".into(), 40)].into(),
        silent: [("south".into(), 69)].into(),
        devices: [
            ("r1:161".into(), owner("east", Some("south"), 70)),
            ("r2\"\n\u{1b}".into(), owner("east", None, 41)),
        ]
        .into(),
    };
    let path = folders.path("recordings").join("poller.pollers.json");
    known.write(&path).unwrap();
    let server = folders.serve();
    let address = server.address().unwrap();
    let answer = http(address, "GET", "/metrics", &[]);
    for line in [
        "whit_poll_share_up{poller=\"east\"} 1\n",
        "whit_poll_share_used_timestamp_seconds{poller=\"east\"} 95\n",
        "whit_poll_share_devices{poller=\"east\",seen_by=\"east\"} 2\n",
        "whit_poll_share_devices{poller=\"south\",seen_by=\"east\"} 0\n",
        "whit_poll_share_poller_since_timestamp_seconds{poller=\"east\",seen_by=\"east\"} 40\n",
        "whit_poll_share_silent_since_timestamp_seconds{poller=\"south\",seen_by=\"east\"} 69\n",
        "whit_poll_share_device_since_timestamp_seconds{device=\"r1:161\",poller=\"east\",from=\"south\",seen_by=\"east\"} 70\n",
        "{device=\"r2\\\"\\\\x0a\\\\x1b\",poller=\"east\",seen_by=\"east\"} 41\n",
    ] {
        assert!(answer.body.contains(line), "{line}{}", answer.body);
    }
    // A page is kept until what it was made of changes; its end stays the end.
    known.unusable = Some((96, "no answer".into()));
    known.write(&path).unwrap();
    for (form, end) in [("text/plain", "\n"), ("application/openmetrics-text", "\n# EOF\n")] {
        let request = format!("GET /metrics HTTP/1.0\r\nHost: localhost\r\nAccept: {form}\r\n\r\n");
        let answer = testkit::http_raw(address, request.as_bytes()).unwrap();
        assert!(answer.body.contains("whit_poll_share_up{poller=\"east\"} 0\n"), "{}", answer.body);
        assert!(
            answer.body.ends_with(end) && answer.body.matches("# EOF").count() == end.len() / 7
        );
    }
}

#[test]
fn pages_of_devices_are_served_and_nothing_else_of_their_folder() {
    let folders = Folders::new();
    let pages = folders.path("pages");
    for name in
        ["eth0.html", "eth0-day.png", "eth0.log", "mrtg.cfg", "eth0.rrd", "x.svg", "a+b.html"]
    {
        fs::write(pages.join(name), "<script>x</script>").unwrap();
    }
    std::os::unix::fs::symlink(folders.path("secret.html"), pages.join("link.html")).unwrap();
    let server = folders.serve();
    let address = server.address().unwrap();
    for (path, kind) in
        [("eth0.html", "text/html"), ("eth0-day.png", "image/png"), ("a+b.html", "text/html")]
    {
        let answer = http(address, "GET", &format!("/mrtg/{path}"), &[]);
        assert_eq!(answer.status, 200, "{path}");
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains(&format!("content-type: {kind}")), "{head}");
        assert!(head.contains("default-src 'none'") && !head.contains("script-src"), "{head}");
    }
    for path in [
        "",
        "eth0.log",
        "mrtg.cfg",
        "eth0.rrd",
        "x.svg",
        "link.html",
        "../secret.html",
        "%2e%2e/secret.html",
        "..%2fsecret.html",
        "%2fetc/passwd.html",
        "eth0.html%00",
        "%ff.html",
        "missing.html",
    ] {
        let answer = http(address, "GET", &format!("/mrtg/{path}"), &[]);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("secret"), "{path}");
    }
    assert_eq!(http(address, "GET", "/mrtg", &[]).status, 308);
    assert_eq!(http(address, "POST", "/mrtg/eth0.html", &[]).status, 405);
}

#[test]
fn steps_that_no_recording_answers_are_those_of_the_history() {
    let folders = Folders::new();
    let recordings = folders.path("recordings");
    fs::create_dir(recordings.join("history")).unwrap();
    fill(&recordings, "history/cpu.rrd", ["user", "idle"]);
    let server = folders.serve();
    let address = server.address().unwrap();
    let hosts = ask(address, "hosts", &[]);
    let host = list(&hosts, "hosts").iter().find(|host| host["host"] == "poller").unwrap();
    let history = &host["history"];
    assert_eq!(host["from_ms"], history["from_ms"], "{host}");
    assert!(history["thru_ms"].as_i64().unwrap() <= STARTED_S * 1000, "{host}");
    let period = [-3600, -60].map(|second: i64| ((STARTED_S + second) * 1000).to_string());
    let chart = ask(
        address,
        "chart",
        &[
            ("host", "poller"),
            ("id", "cpu"),
            ("from", &period[0]),
            ("thru", &period[1]),
            ("points", "4000"),
        ],
    );
    assert_eq!((&chart["step_ms"], &chart["history_step_ms"]), (&1000.into(), &60_000.into()));
    assert!(list(&chart, "origin").iter().all(|origin| origin == "history"), "{chart}");
    let user = list(&chart, "series").iter().find(|series| series["id"] == "user").unwrap();
    // A row is shown for its whole time: minute 1381 of the day has the reading of its end.
    let share = |minute: i64| 100.0 * (minute % 50) as f64 / ((minute % 50) + (minute % 37)) as f64;
    for second in [0_usize, 59, 60, 3000] {
        let minute = 1381 + second as i64 / 60;
        let mean = list(user, "mean")[second].as_f64().unwrap();
        assert!((mean - share(minute)).abs() < 1e-6, "{second}: {mean} {}", share(minute));
    }
    // A period within a row has that row.
    let within = [-1_785, -1_765].map(|second: i64| ((STARTED_S + second) * 1000).to_string());
    let zoomed = [("host", "poller"), ("id", "cpu"), ("from", &*within[0]), ("thru", &*within[1])];
    let zoomed = ask(address, "chart", &zoomed);
    assert!(list(&zoomed, "origin").iter().all(|origin| origin == "history"), "{zoomed}");
    let user = list(&zoomed, "series").iter().find(|series| series["id"] == "user").unwrap();
    let mean = list(user, "mean");
    assert!(mean.len() >= 20, "{zoomed}");
    assert!(mean.iter().all(|one| (one.as_f64().unwrap() - share(1411)).abs() < 1e-6), "{zoomed}");
    // Between the last row and the first sample nothing is made up.
    let ruler = ask(address, "ruler", &[("host", "poller"), ("points", "100")]);
    assert!(ruler["from_ms"].as_i64().unwrap() <= history["from_ms"].as_i64().unwrap(), "{ruler}");
    assert!(list(&ruler, "mean").iter().any(Value::is_number), "{ruler}");
}
