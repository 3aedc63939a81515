//! The page's interface, over recordings of made-up samples: what it says is what was recorded.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use base64ct::{Base64, Encoding as _};
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot, SourceDef, State, Table};
use serde_json::{Value, json};
use serve::{OtherHost, Page, QueryServer, RecordedPages, RecordingStorage, ServeSettings};
use testkit::{PATIENCE, Random, http};

use crate::common::{listeners, patient};

const SECOND_NS: u64 = 1_000_000_000;

/// When the recording begins: at a full hour.
const STARTED_S: u64 = 1_790_002_800;

/// Samples of the recording, and bursts in it.
const SAMPLES: usize = 1200;
const BURSTS: usize = 20;

/// CPU time of a child of a burst.
const CHILD_NS: u64 = 50_000_000;

const SOURCES: &[&str] = &["cpu", "disk", "memory", "pressure", "process", "exit"];

fn defs() -> Vec<Arc<SourceDef>> {
    source::definitions().into_iter().filter(|def| SOURCES.contains(&&*def.name)).collect()
}

/// A machine of two CPUs whose samples are made up.
struct Machine {
    defs: Vec<Arc<SourceDef>>,
    random: Random,
    /// User and idle time in ticks.
    cpu: [u64; 2],
    /// CPU time of each process that lives on, in nanoseconds.
    used: Vec<u64>,
    read_sectors: u64,
    stalled_us: u64,
    next_pid: u64,
}

impl Machine {
    fn new() -> Self {
        Machine {
            defs: defs(),
            random: Random::from_seed(testkit::seed(2400)),
            cpu: [1000, 100_000],
            used: vec![0; 40],
            read_sectors: 0,
            stalled_us: 0,
            next_pid: 5000,
        }
    }

    /// The sample of a second; so many children of one command lived and ended before it.
    fn sample(&mut self, second: usize, children: u64, snapshot: &mut Snapshot) {
        let at_ns = second as u64 * SECOND_NS;
        snapshot.realtime_ns = (STARTED_S * SECOND_NS + at_ns).cast_signed() + 300_000_000;
        snapshot.monotonic_ns = 1000 * SECOND_NS + at_ns;
        for used in &mut self.used[..5] {
            *used += 20_000_000 + self.random.below(20_000_000);
        }
        let busy_ticks = 20 + self.random.below(10) + children * CHILD_NS / 10_000_000;
        self.cpu[0] += busy_ticks;
        self.cpu[1] += 200 - busy_ticks;
        self.read_sectors += 2048;
        self.stalled_us += 10_000;
        for index in 0..self.defs.len() {
            let def = self.defs[index].clone();
            let sample = &mut snapshot.samples[index];
            (sample.state, snapshot.fresh[index]) = (State::Ok, true);
            (sample.realtime_ns, sample.monotonic_ns) =
                (snapshot.realtime_ns, snapshot.monotonic_ns);
            sample.table.begin();
            let table = &mut sample.table;
            match &*def.name {
                "cpu" => {
                    let [user, idle] = self.cpu;
                    row(&def, table, b"", &[("user", user), ("idle", idle), ("system", 77)]);
                }
                "disk" => {
                    let values = [("read_sectors", self.read_sectors), ("write_sectors", 8)];
                    row(&def, table, b"sda", &values);
                }
                "memory" => {
                    let values =
                        [("total", 4000), ("free", 1000), ("buffers", 200), ("cached", 700)];
                    row(&def, table, b"", &values);
                    row(&def, table, b"", &[("slab", 100), ("swap_total", 0), ("swap_free", 0)]);
                }
                "pressure" => row(&def, table, b"io", &[("some_total", self.stalled_us)]),
                "process" => self.processes(&def, table),
                "exit" => self.ended(&def, table, children, 1000 * SECOND_NS + at_ns),
                other => panic!("{other}"),
            }
        }
    }

    fn processes(&self, def: &SourceDef, table: &mut Table) {
        for (index, used) in self.used.iter().enumerate() {
            let pid = 100 + index as u64;
            let name = format!("{pid}\u{1f}{index}");
            let values = [("run_time", *used), ("tgid", pid), ("parent", 1), ("resident", 10)];
            row(def, table, name.as_bytes(), &values);
            let command = if index < 5 { "noise" } else { "sleep" };
            let last = table.rows() - 1;
            let mut row = table.row_mut(last);
            row.set_text(def.field("command").unwrap(), command.as_bytes());
        }
    }

    fn ended(&mut self, def: &SourceDef, table: &mut Table, children: u64, end_ns: u64) {
        for _ in 0..children {
            self.next_pid += 1;
            let name = format!("{}\u{1f}{}", self.next_pid, self.next_pid);
            let values = [
                ("run_time", CHILD_NS),
                ("lifetime", CHILD_NS),
                ("end_time", end_ns - 1),
                ("exit_code", 0),
                ("parent", 99),
            ];
            row(def, table, name.as_bytes(), &values);
            let last = table.rows() - 1;
            let mut row = table.row_mut(last);
            row.set_text(def.field("command").unwrap(), b"<b>burst</b>");
        }
    }
}

/// Sets fields of the latest row of that name, or of a new one.
fn row(def: &SourceDef, table: &mut Table, name: &[u8], values: &[(&str, u64)]) {
    let known = (0..table.rows()).find(|&row| table.name(row) == name);
    let index = known.unwrap_or_else(|| {
        let _ = table.row(name);
        table.rows() - 1
    });
    let mut row = table.row_mut(index);
    for (field, value) in values {
        row.set(def.field(field).unwrap(), *value);
    }
}

fn writer(folder: &Path, defs: &[Arc<SourceDef>]) -> Writer {
    let mut meta = Meta::new();
    for (key, value) in [
        ("origin", "whit".to_owned()),
        ("host", "vm".to_owned()),
        ("boot_id", "one".to_owned()),
        ("cpus", "2".to_owned()),
        ("boot_ns", ((STARTED_S - 1000) * SECOND_NS).to_string()),
        ("interval_ns", SECOND_NS.to_string()),
        ("interval2_ns", SECOND_NS.to_string()),
        ("started_ns", (STARTED_S * SECOND_NS).to_string()),
    ] {
        meta.set(key, value);
    }
    let options = WriterOptions { block_samples: 100, ..WriterOptions::default() };
    Writer::create(&folder.join("vm.whit"), &meta, defs, options).unwrap()
}

/// Records the bursts, at random seconds that are apart by three of the ruler's steps, since of
/// neighbours it marks the largest alone; returns these.
pub(crate) fn record_bursts(folder: &Path) -> Vec<usize> {
    let mut machine = Machine::new();
    let width = SAMPLES / BURSTS;
    let mut bursts = Vec::new();
    for burst in 0..BURSTS {
        let within = 15 + machine.random.below(width as u64 - 30) as usize;
        bursts.push(burst * width + within);
    }
    let mut snapshot = Snapshot::new(&machine.defs);
    let mut writer = writer(folder, &machine.defs);
    for second in 0..SAMPLES {
        let children = if bursts.contains(&second) { 24 } else { 0 };
        machine.sample(second, children, &mut snapshot);
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
    bursts
}

fn serve(folder: &Path) -> QueryServer {
    serve_with(folder, Vec::new())
}

pub(crate) fn serve_with(folder: &Path, hosts: Vec<OtherHost>) -> QueryServer {
    let (storage, left_out) = RecordingStorage::open(&[folder.to_owned()]).unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let settings = ServeSettings { http: patient(), ..ServeSettings::default() };
    let storage = Arc::new(storage);
    let newest = Arc::new(RecordedPages::new(storage.clone()));
    let account = folder.join("parts.json");
    std::fs::write(&account, account_of_parts().to_string()).unwrap();
    let page = Page::new(storage).with_parts(account);
    let page = page.with_hosts(hosts).unwrap();
    QueryServer::start_with_page(listeners(), settings, page, newest).unwrap()
}

/// The account of a service whose parts are recorded processes: one that has failed, one that runs in
/// its second process, and one that was never recorded.
fn account_of_parts() -> Value {
    let own = [(std::process::id(), 0)];
    serde_json::json!({
        "pid": 100, "started": STARTED_S, "runs": [[100, 0]], "folder": "/d", "full_since": STARTED_S + 9,
        "parts": [
            { "name": "<b>", "state": "pauses", "since": STARTED_S + 20, "failing_since": STARTED_S + 5,
              "next": STARTED_S + 24, "failed": 3, "runs": own, "pid": null, "why": null,
              "last_error": { "at": STARTED_S + 20, "text": "a\u{1b}[31m" } },
            { "name": "record", "state": "runs", "since": STARTED_S, "failed": 0, "pid": 102,
              "runs": [[101, 1], [102, 2]], "why": null, "last_error": null,
              "unwritten": { "at": STARTED_S + 7, "text": "no \u{1b}space" } },
        ],
    })
}

#[test]
fn parts_of_a_service_are_told_with_what_they_cost() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let parts = ask(address, "parts", &[]);
    assert_eq!(parts["full_since_ms"].to_string(), ms(9));
    let [service, failed, record] = list(&parts, "parts") else { panic!("{parts}") };
    assert_eq!((&service["name"], &service["state"]), (&"service".into(), &"runs".into()));
    assert_eq!((&record["name"], &record["pid"]), (&"record".into(), &102.into()));
    assert_eq!(record["unwritten_since_ms"].to_string(), ms(7));
    assert_eq!(
        (&record["unwritten"], &failed["unwritten"]),
        (&"no \\x1bspace".into(), &Value::Null)
    );
    let times =
        ["failing_since_ms", "next_ms", "last_error_ms"].map(|name| failed[name].to_string());
    assert_eq!(times, [5, 24, 20].map(ms));
    assert_eq!(failed["last_error"], "a\\x1b[31m");
    // Its id is of another process now, which started at another time.
    assert_eq!((&failed["rss_bytes"], &failed["cpu_seconds"]), (&Value::Null, &Value::Null));
    let table = text(address, "parts", &[("format", "csv")]);
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table.starts_with("name,state,since_ms,") && table.contains("\n<b>,pauses,"),
        "{table}"
    );

    let period = [("from", ms(100)), ("thru", ms(400))];
    let period: Vec<(&str, &str)> = period.iter().map(|(name, at)| (*name, &**at)).collect();
    let curves = ask(address, "parts/curves", &period);
    let [cpu, memory, threads, written] = list(&curves, "charts") else { panic!("{curves}") };
    let means = |chart: &Value, at: usize| -> Vec<f64> {
        let means = list(&chart["series"][at], "mean").iter();
        means.filter_map(Value::as_f64).collect()
    };
    let names: Vec<&str> =
        list(cpu, "series").iter().map(|series| series["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["service", "record"]);
    for at in 0..2 {
        let values = means(cpu, at);
        assert!(values.len() >= 299, "{values:?}");
        assert!(values.iter().all(|value| (2.0..4.0).contains(value)), "{values:?}");
    }
    assert!(means(memory, 1).iter().all(|bytes| *bytes == 10_240.0), "{memory}");
    // What is not recorded has no curve.
    assert!(list(threads, "series").is_empty() && list(written, "series").is_empty(), "{curves}");
    let asked = [&period[..], &[("what", "memory"), ("format", "csv")]].concat();
    let table = text(address, "parts/curves", &asked);
    assert!(table.starts_with("time_ms,chart,part,mean,min,max,unit\n"), "{table}");
    assert!(table.contains(",memory,record,10240,10240,10240,bytes\n"), "{table}");
    assert_eq!(http(address, "GET", "/api/whit/v1/parts/curves", &[("what", "x")]).status, 400);
    std::fs::write(folder.path().join("parts.json"), "[1").unwrap();
    let broken = http(address, "GET", "/api/whit/v1/parts", &[]);
    assert!(broken.status >= 400 && broken.body.contains("parts.json"), "{}", broken.body);
}

pub(crate) fn text(address: SocketAddr, question: &str, parameters: &[(&str, &str)]) -> String {
    let answer = http(address, "GET", &format!("/api/whit/v1/{question}"), parameters);
    assert_eq!(answer.status, 200, "{question} {parameters:?}: {}", answer.body);
    assert!(answer.head.to_ascii_lowercase().contains("nosniff"), "{}", answer.head);
    answer.body
}

pub(crate) fn ask(address: SocketAddr, question: &str, parameters: &[(&str, &str)]) -> Value {
    serde_json::from_str(&text(address, question, parameters)).unwrap()
}

pub(crate) fn ms(second: usize) -> String {
    ((STARTED_S + second as u64) * 1000).to_string()
}

pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn every_burst_is_a_spike_and_its_command_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let bursts = record_bursts(folder.path());
    let server = serve(folder.path());
    let address = server.address().unwrap();
    // The steps of the ruler are longer than the bursts.
    for points in ["200", "3000"] {
        let ruler = ask(address, "ruler", &[("points", points)]);
        let spikes: Vec<&Value> =
            list(&ruler, "spikes").iter().filter(|spike| spike["chart"] == "cpu").collect();
        let times: Vec<String> = spikes.iter().map(|spike| spike["at_ms"].to_string()).collect();
        let expected: Vec<String> = bursts.iter().map(|second| ms(*second)).collect();
        assert_eq!(times, expected, "{points}");
        for spike in spikes {
            let at = spike["at_ms"].to_string();
            let moment = ask(address, "moment", &[("at", &at)]);
            let mut by_command = std::collections::BTreeMap::<&str, f64>::new();
            for process in list(&moment, "processes") {
                let command = process["command"].as_str().unwrap();
                *by_command.entry(command).or_default() += process["cpu_percent"].as_f64().unwrap();
            }
            let total: f64 = by_command.values().sum();
            // 24 children of 50 ms in a second.
            assert!((by_command["<b>burst</b>"] - 120.0).abs() < 1e-6, "{by_command:?}");
            assert!(by_command["noise"] < 30.0 && total > 120.0, "{by_command:?}");
            let explained = ask(address, "explain", &[("at", &at)]);
            assert_eq!(explained["heaviest"][0]["name"], "<b>burst</b>", "{explained}");
            assert_eq!(explained["heaviest"][0]["ended"], 24);
            assert_eq!(explained["processes"][0]["name"], "<b>burst</b>");
            assert_eq!(explained["rows"][0]["source"], "cpu", "{explained}");
        }
    }
}

#[test]
fn a_process_whose_end_is_told_late_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new();
    let mut snapshot = Snapshot::new(&machine.defs);
    let mut writer = writer(folder.path(), &machine.defs);
    let defs = machine.defs.clone();
    let place = |name: &str| defs.iter().position(|def| def.name == name).unwrap();
    for second in 0..8 {
        machine.sample(second, 0, &mut snapshot);
        let start = 100 * (1000 + 3);
        let mut add = |source: &str, values: &[(&str, u64)]| {
            let table = &mut snapshot.samples[place(source)].table;
            let name = format!("9000\u{1f}{start}");
            row(&defs[place(source)], table, name.as_bytes(), values);
        };
        // It ends between the readings of seconds 4 and 5, and that is told with second 6.
        match second {
            4 => add("process", &[("run_time", 30_000_000), ("tgid", 9000), ("start_time", start)]),
            6 => add(
                "exit",
                &[
                    ("run_time", 50_000_000),
                    ("start_time", start),
                    ("end_time", 1004 * SECOND_NS + 900_000_000),
                    ("parent", 1),
                ],
            ),
            _ => {}
        }
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let used = |second: usize| {
        let moment = ask(address, "moment", &[("at", &ms(second))]);
        let processes = list(&moment, "processes").iter();
        let mut found = processes.filter(|process| process["pid"] == 9000);
        let percent = found.next().map(|process| process["cpu_percent"].as_f64().unwrap());
        assert!(found.next().is_none(), "{moment}");
        percent.map(|percent| percent.round() as u64)
    };
    let all: Vec<Option<u64>> = (3..8).map(used).collect();
    assert_eq!(all, [None, Some(3), None, Some(2), None]);
}

#[test]
fn a_moment_has_the_processes_of_its_second_and_all_tables() {
    let folder = tempfile::tempdir().unwrap();
    let bursts = record_bursts(folder.path());
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let second = bursts[3];
    let moment = ask(address, "moment", &[("at", &ms(second))]);
    let at_ms: u64 = ms(second).parse::<u64>().unwrap() + 300;
    assert_eq!(moment["at_ms"], at_ms);
    assert_eq!(moment["before_ms"], at_ms - 1000);
    let processes = list(&moment, "processes");
    let ended: Vec<&Value> = processes.iter().filter(|process| process["ended"] == true).collect();
    assert_eq!((processes.len(), ended.len()), (64, 24));
    assert_eq!(ended[0]["lived_ms"], 50);
    assert_eq!(ended[0]["exit"], 0);
    assert_eq!(ended[0]["parent"], 99);
    // The clock of ends counts from boot.
    assert_eq!(ended[0]["ended_ms"], at_ms - 300 - 1);
    let noise = processes.iter().find(|process| process["command"] == "noise").unwrap();
    assert_eq!((&noise["ended"], &noise["rss_bytes"]), (&Value::Bool(false), &10_240.into()));
    let disk = list(&moment, "tables").iter().find(|table| table["name"] == "disk").unwrap();
    let column =
        |id: &str| list(disk, "columns").iter().position(|column| column["id"] == id).unwrap();
    assert_eq!(disk["rows"][0][column("disk")], "sda");
    assert_eq!(disk["rows"][0][column("read_sectors")], 1_048_576);
    assert_eq!(disk["rows"][0][column("reads")], Value::Null, "missing is not 0");
    // Between two bursts nothing ended.
    let quiet = ask(address, "moment", &[("at", &ms(bursts[3] + 1))]);
    assert!(list(&quiet, "processes").iter().all(|process| process["ended"] == false));
    let csv =
        text(address, "moment", &[("at", &ms(second)), ("table", "processes"), ("format", "csv")]);
    assert_eq!(csv.lines().count(), 65);
    assert!(csv.starts_with("pid,parent,started_ms,command,"), "{csv}");
    assert!(!csv.contains("received_bytes_s"), "{csv}");
}

#[test]
fn a_moment_has_the_network_of_processes_where_it_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new();
    let net = source::definitions().into_iter().find(|def| def.name == "process_net").unwrap();
    let defs: Vec<_> = machine.defs.iter().cloned().chain([net.clone()]).collect();
    let mut snapshot = Snapshot::new(&defs);
    let mut writer = writer(folder.path(), &defs);
    for second in 0..2 {
        // A child lives and ends before the second one.
        machine.sample(second, second as u64, &mut snapshot);
        let (realtime_ns, monotonic_ns) = (snapshot.realtime_ns, snapshot.monotonic_ns);
        let sample = snapshot.samples.last_mut().unwrap();
        (sample.state, sample.realtime_ns, sample.monotonic_ns) =
            (State::Ok, realtime_ns, monotonic_ns);
        sample.table.begin();
        for name in ["0\u{1f}0", "100\u{1f}0", "5001\u{1f}5001"].iter().take(second + 2) {
            let fields = ["tcp_rx", "udp_rx", "other_rx", "tcp_tx", "udp_tx", "other_tx"];
            for (field, value) in fields.into_iter().zip([1000, 200, 30, 4, 0, 0]) {
                let value = value * second as u64;
                let field = format!("{field}_bytes");
                row(&net, &mut sample.table, name.as_bytes(), &[(&*field, value)]);
            }
        }
        *snapshot.fresh.last_mut().unwrap() = true;
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
    let server = serve(folder.path());
    let at = ms(1);
    let parameters = [("at", &*at), ("table", "processes"), ("format", "csv")];
    let address = server.address().unwrap();
    let moment = ask(address, "moment", &parameters[..1]);
    let of = |pid: u64| {
        let process = list(&moment, "processes").iter().find(|one| one["pid"] == pid).unwrap();
        ["ended", "received_bytes_s", "sent_bytes_s"].map(|name| process.get(name).unwrap())
    };
    assert_eq!(of(100), [&json!(false), &json!(1230), &json!(4)]);
    assert_eq!(of(5001), [&json!(true), &json!(1230), &json!(4)]);
    assert_eq!(of(101), [&json!(false), &Value::Null, &Value::Null], "missing is not 0");
    let csv = text(address, "moment", &parameters);
    assert!(csv.lines().next().unwrap().ends_with(",received_bytes_s,sent_bytes_s"), "{csv}");
}

#[test]
fn charts_have_the_values_that_were_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let bursts = record_bursts(folder.path());
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let hosts = ask(address, "hosts", &[]);
    assert_eq!(hosts["hosts"][0]["host"], "vm");
    assert_eq!(hosts["hosts"][0]["is_live"], false);
    assert_eq!(hosts["hosts"][0]["boot_ms"], (STARTED_S - 1000) * 1000);
    let charts = ask(address, "charts", &[]);
    let ids: Vec<&str> =
        list(&charts, "charts").iter().map(|chart| chart["id"].as_str().unwrap()).collect();
    assert!(ids.starts_with(&["cpu", "load", "memory"]), "{ids:?}");
    assert!(!ids.contains(&"network"), "{ids:?}");
    let (from, thru) = (ms(0), ms(SAMPLES));
    let period = [("from", from.as_str()), ("thru", thru.as_str())];
    let chart = |id: &'static str, points: &'static str| {
        let mut parameters = vec![("id", id), ("points", points)];
        parameters.extend(period);
        ask(address, "chart", &parameters)
    };
    // Sample by sample, and in steps.
    let each = chart("cpu", "2000");
    assert_eq!(
        (&each["step_ms"], &each["from_ms"]),
        (&1000.into(), &from.parse::<u64>().unwrap().into())
    );
    let user = &list(&each, "series")[0];
    assert_eq!(user["id"], "user");
    let means = list(user, "mean");
    assert_eq!(means.len(), SAMPLES);
    assert_eq!(means[0], Value::Null, "the first reading has no rate");
    let largest = |from: usize, thru: usize| {
        means[from..thru].iter().filter_map(Value::as_f64).fold(0.0, f64::max)
    };
    for burst in &bursts {
        assert!(means[*burst].as_f64().unwrap() >= 70.0, "{burst}");
    }
    let minutes = chart("cpu", "20");
    assert_eq!(minutes["step_ms"], 60_000);
    let maxima = list(&list(&minutes, "series")[0], "max");
    for (minute, max) in maxima.iter().enumerate() {
        let expected = largest(minute * 60, minute * 60 + 60);
        assert!((max.as_f64().unwrap() - expected).abs() < 0.2, "{minute}: {max} {expected}");
    }
    assert_eq!(minutes["readings"][3], 60);
    assert_eq!(minutes["origin"][3], "recording");
    let memory = chart("memory", "20");
    assert_eq!(list(&memory, "series")[0]["mean"][3], 2000 * 1024);
    let disk = chart("disk", "20");
    assert_eq!(list(&disk, "series")[0]["instance"], "sda");
    assert_eq!(list(&disk, "series")[0]["mean"][3], 1_048_576);
    let pressure = chart("pressure", "20");
    let io = list(&pressure, "series").iter().find(|series| series["id"] == "io").unwrap();
    assert_eq!(io["mean"][3], 1);
    let memory = list(&pressure, "series").iter().find(|series| series["id"] == "memory").unwrap();
    assert_eq!(memory["mean"][3], Value::Null, "it was not recorded");
    // A time without recordings has no values.
    let later = [("id", "cpu"), ("from", "1"), ("thru", "100000"), ("points", "10")];
    let empty = ask(address, "chart", &later);
    assert!(list(&empty, "origin").iter().all(Value::is_null));
    let csv = text(
        address,
        "chart",
        &[("id", "disk"), ("points", "20"), ("format", "csv"), period[0], period[1]],
    );
    assert_eq!(csv.lines().count(), 1 + 2 * 20, "{csv}");
    let heaviest = ask(address, "heaviest", &[period[0], period[1], ("what", "cpu")]);
    assert_eq!(heaviest["rows"][0]["name"], "noise");
    assert_eq!(heaviest["rows"][1]["name"], "<b>burst</b>");
    assert_eq!(heaviest["rows"][1]["ended"], 24 * BURSTS);
    let share = |row: usize| heaviest["rows"][row]["share"].as_f64().unwrap();
    assert!((share(0) + share(1) - 1.0).abs() < 1e-6, "{heaviest}");
}

/// The answers of a report, each with what it was asked for.
fn answers_of(report: &str) -> Vec<(Value, String)> {
    let between = |begin: &str| {
        let (_, rest) = report.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
        rest.split_once("</script>").unwrap().0
    };
    let about: Value = serde_json::from_str(between("id=\"report\">")).unwrap();
    let heads = about["answers"].as_array().unwrap().clone();
    let unpacked = heads.into_iter().enumerate().map(|(number, head)| {
        let packed = Base64::decode_vec(between(&format!("id=\"answer-{number}\">"))).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        (head, text)
    });
    unpacked.collect()
}

#[test]
fn a_report_answers_as_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let bursts = record_bursts(folder.path());
    let storage = RecordingStorage::open(&[folder.path().to_owned()]).unwrap().0;
    let from_ns = (STARTED_S * SECOND_NS).cast_signed() + 60 * SECOND_NS.cast_signed();
    let period = (from_ns, from_ns + 1000 * SECOND_NS.cast_signed());
    let mut file = Vec::new();
    let recordings = storage.recordings().unwrap();
    let made = serve::write_report(&recordings, &[("vm", period)], &mut file).unwrap();
    let report = String::from_utf8(file).unwrap();
    assert!(report.contains("default-src 'none'"));
    assert_eq!((made.step_ns, made.is_coarse), (SECOND_NS.cast_signed(), false));
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let answers = answers_of(&report);
    let number = |head: &Value, name: &str| head[name].as_i64().unwrap().to_string();
    let mut moments = Vec::new();
    for (head, text) in &answers {
        let name = head["name"].as_str().unwrap();
        match name {
            "moment" | "explain" => {
                moments
                    .push((head["from_ms"].as_i64().unwrap(), head["thru_ms"].as_i64().unwrap()));
                let at = number(head, "at_ms");
                let parameters = [("at", &*at), ("count", "60")];
                let count = if name == "moment" { 1 } else { 2 };
                let server_says = ask(address, name, &parameters[..count]);
                let report_says: Value = serde_json::from_str(text).unwrap();
                assert_eq!(report_says["processes"], server_says["processes"], "{head}");
            }
            "ruler" => {
                let (from, thru) = (number(head, "from_ms"), number(head, "thru_ms"));
                let parameters = [("from", &*from), ("thru", &*thru), ("points", "1000")];
                assert_eq!(
                    serde_json::from_str::<Value>(text).unwrap(),
                    ask(address, name, &parameters)
                );
            }
            "hosts" => {
                let said: Value = serde_json::from_str(text).unwrap();
                let host = &said["hosts"][0];
                assert_eq!(host["from_ms"], from_ns / 1_000_000);
                assert_eq!(
                    (&host["is_live"], host["spans"].as_array().unwrap().len()),
                    (&Value::Bool(false), 1)
                );
            }
            _ => {}
        }
    }
    // Each burst of the period has its moment, and the period a chart in single samples.
    for burst in bursts.iter().filter(|burst| (70..1050).contains(*burst)) {
        let at_ms: i64 = ms(*burst).parse().unwrap();
        let has = moments.iter().any(|(from_ms, thru_ms)| (from_ms..=thru_ms).contains(&&at_ms));
        assert!(has, "{burst}");
    }
    let steps = |head: &Value| (head["name"] == "chart").then(|| head["step_ms"].as_i64().unwrap());
    assert!(answers.iter().any(|(head, _)| steps(head) == Some(1000)));
    let nothing = serve::write_report(&recordings, &[("vm", (0, 1))], &mut Vec::new());
    assert!(matches!(nothing, Err(serve::PageReportError::Empty)));
}

#[test]
fn the_page_and_the_parts_are_served() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let page = http(address, "GET", "/", &[]);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<html"), "{}", page.body);
    let head = page.head.to_ascii_lowercase();
    for line in
        ["content-security-policy: default-src 'self'", "cache-control: no-cache", "nosniff"]
    {
        assert!(head.contains(line), "{head}");
    }
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let again = format!("GET / HTTP/1.0\r\nIf-None-Match: {tag}\r\n\r\n");
    let again = testkit::http_raw(address, again.as_bytes()).unwrap();
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let packed = b"GET / HTTP/1.0\r\nAccept-Encoding: br, gzip\r\n\r\n";
    let packed = testkit::http_raw(address, packed).unwrap();
    assert!(packed.head.to_ascii_lowercase().contains("content-encoding: gzip"));
    assert_eq!(ask(address, "sections", &[])["sections"], serde_json::json!(["parts"]));
    assert_eq!(http(address, "GET", "/api/whit/v1/parts/none", &[]).status, 400);
    for path in ["/assets/../Cargo.toml", "/assets/none", "/api/whit/v1/none", "/checksum"] {
        assert_eq!(http(address, "GET", path, &[]).status, 404, "{path}");
    }
    assert_eq!(http(address, "POST", "/api/whit/v1/hosts", &[]).status, 405);
    // Prometheus's interface is there, too.
    assert_eq!(http(address, "GET", "/api/v1/query", &[("query", "1")]).status, 200);
}

#[test]
fn whatever_is_asked_has_an_answer_or_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let server = serve(folder.path());
    let address = server.address().unwrap();
    let mut random = Random::from_seed(testkit::seed(2401));
    let period = ["from", "thru"];
    let questions: [(&str, &[&str]); 10] = [
        ("hosts", &[]),
        ("charts", &["host"]),
        ("chart", &["id", "instance", "points", "format"]),
        ("ruler", &["points"]),
        ("moment", &["at", "table", "format"]),
        ("heaviest", &["what", "by", "count", "format"]),
        ("compare", &["base_from", "base_thru", "count", "format"]),
        ("explain", &["count", "format"]),
        ("parts/curves", &["what", "points", "format"]),
        ("x/y", &[]),
    ];
    let names = [
        "host",
        "id",
        "from",
        "thru",
        "points",
        "instance",
        "format",
        "at",
        "table",
        "what",
        "by",
        "count",
        "base_from",
        "base_thru",
        "no",
        "",
    ];
    let (early, late) = (ms(10), ms(1000));
    let values = [
        "",
        "0",
        "1",
        "-1",
        "1e9",
        "9000000000000",
        "9000000000001",
        "99999999999999999999",
        "cpu",
        "disk",
        "process",
        "processes",
        "csv",
        "json",
        "vm",
        "memory",
        "write",
        "user",
        "\0<script>",
        "\\x00",
        "\u{202e}",
        "4096",
        "100000",
        &early,
        &late,
        "sda",
        "NaN",
    ];
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for _ in 0..testkit::share(1500) {
        let (question, known) = random.one_of(&questions);
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        if random.percent(50) {
            let any = |random: &mut Random| (random.one_of(&names), random.one_of(&values));
            parameters.extend((0..random.below(5)).map(|_| any(&mut random)));
        } else {
            // What makes sense, and one parameter that may not.
            let has_period = ["chart", "ruler", "heaviest", "compare", "explain"];
            if has_period.contains(&question) {
                parameters.extend(period.into_iter().zip([early.as_str(), &late]));
            }
            parameters.extend(known.iter().filter_map(|name| match *name {
                "base_from" | "at" => Some((*name, early.as_str())),
                "base_thru" => Some((*name, late.as_str())),
                "id" => Some((*name, "disk")),
                _ => None,
            }));
            if !known.is_empty() {
                parameters.push((random.one_of(known), random.one_of(&values)));
            }
        }
        let answer = http(address, "GET", &format!("/api/whit/v1/{question}"), &parameters);
        assert!(answer.status < 500, "{question} {parameters:?}: {answer:?}");
        *statuses.entry(answer.status).or_default() += 1;
        let is_json = answer.head.to_ascii_lowercase().contains("application/json");
        if is_json {
            let said: Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(said["error"].is_string(), answer.status != 200, "{answer:?}");
        }
    }
    assert!(statuses[&200] > 10 && statuses[&400] > 10, "{statuses:?}");
}

#[test]
fn a_sample_comes_when_it_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::new();
    let mut snapshot = Snapshot::new(&machine.defs);
    let mut writer = writer(folder.path(), &machine.defs);
    let mut record = |second: usize, machine: &mut Machine| {
        machine.sample(second, 0, &mut snapshot);
        writer.append(&snapshot).unwrap();
    };
    record(0, &mut machine);
    record(1, &mut machine);
    let server = serve(folder.path());
    let address = server.address().unwrap();
    assert_eq!(ask(address, "hosts", &[])["hosts"][0]["is_live"], true);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "GET /api/whit/v1/live?id=cpu&id=disk HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut next_event = || -> Value {
        let event = lines.find_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned));
        serde_json::from_str(&event.unwrap()).unwrap()
    };
    let mut second = 1;
    // The thread may begin before or after a sample: the first event is of either.
    let mut event = next_event();
    while second < 6 {
        assert_eq!(event["at_ms"], ms(second).parse::<u64>().unwrap() + 300);
        assert_eq!(event["charts"]["disk/sda"]["read"], 1_048_576);
        assert!(event["charts"]["cpu"]["user"].as_f64().unwrap() >= 10.0, "{event}");
        assert_eq!(event["heaviest"][0]["command"], "noise");
        second += 1;
        record(second, &mut machine);
        event = next_event();
    }
    // A server that ends its readers is not kept by them.
    drop(server);
    assert!(lines.all(|line| !line.unwrap_or_default().starts_with("data: ")));
}
