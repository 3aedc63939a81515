//! `whit poll -f`, `-A` and formats: rounds of simulated devices, recorded and played, and sent.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::Value;
use snmp_simulator::{Agent, AgentDevice, AgentThread, Mib};

fn now_ns() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Two devices of three interfaces, of which the second is dead, and a program; polled each second.
struct Site {
    folder: tempfile::TempDir,
    agent: AgentThread,
}

impl Site {
    fn new() -> Self {
        let mut agent = Agent::bind(0).expect("a port");
        let mib = Arc::new(Mib::with_interfaces("switch", 3));
        for index in 0..2 {
            let mut device = AgentDevice::new(Arc::clone(&mib));
            device.faults.is_dead = index == 1;
            agent.add(Agent::address(index), device);
        }
        let agent = AgentThread::start(agent, now_ns).expect("a thread");
        let site = Site { folder: tempfile::tempdir().expect("a folder"), agent };
        std::fs::create_dir(site.path("data")).expect("made");
        site.write_config("");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The name of a device as a source.
    fn source(&self, index: u32) -> String {
        format!("device_{}", self.agent.address(index).ip().to_string().replace('.', "_"))
    }

    /// Polled each second.
    fn write_config(&self, more: &str) {
        self.write_config_of("0:01", more);
    }

    fn write_config_of(&self, interval: &str, more: &str) {
        let mut text = format!(
            "WorkDir: {}\nLogFormat: rrdtool\nInterval: {interval}\nMaxBytes[_]: 12500000\n\
             Title[_]: A title\nOptions[load]: gauge\nTarget[load]: `echo 0.25; echo UNKNOWN`\n",
            self.path("data").display()
        );
        for device in 0..2 {
            for interface in 1..=3 {
                let address = self.agent.address(device);
                text.push_str(&format!(
                    "Target[d{device}.{interface}]: {interface}:public@{address}:0.2:1:1:2\n"
                ));
            }
        }
        // Renamed, so that a daemon never reads half a file.
        std::fs::write(self.path("new"), text + more).expect("written");
        std::fs::rename(self.path("new"), self.path("a.cfg")).expect("renamed");
    }

    fn poll(&self, words: &[&str]) -> Command {
        let mut command = crate::whit();
        command.arg("poll").args(words).arg(self.path("a.cfg"));
        command
    }

    /// Makes rounds; 91 says that the dead device is unknown.
    fn rounds(&self, words: &[&str]) -> Output {
        let output = self.poll(words).output().expect("whit runs");
        assert_eq!(output.status.code(), Some(91), "{}", text(&output.stderr));
        output
    }

    /// Rounds recorded below `name`; the readings that were logged, by target.
    fn record(&self, name: &str, count: u32) -> Vec<(String, [Option<u64>; 2])> {
        let options = [&format!("--count={count}"), "--debug=log", "--sync=0", "--filename"];
        let folder = format!("{}/", self.path(name).display());
        let output = self.rounds(&[options.as_slice(), &[&folder]].concat());
        let said = text(&output.stderr);
        let lines = said.lines().filter_map(|line| line.split_once("--log: "));
        let reading = |(_, line): (&str, &str)| {
            let (target, values) = line.split_once(' ')?;
            let mut values = values.split(':').skip(1).map(|value| value.parse().ok());
            Some((target.to_owned(), [values.next()?, values.next()?]))
        };
        lines.filter_map(reading).collect()
    }

    fn play(&self, name: &str, words: &[&str]) -> Output {
        let mut command = crate::whit();
        command.arg("play").arg(self.path(name)).args(words).output().expect("whit runs")
    }

    fn played(&self, name: &str, words: &[&str]) -> String {
        let output = self.play(name, words);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

/// Takes what one connection sends.
fn receiver() -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let taken = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        listener.accept().expect("a client").0.read_to_end(&mut bytes).expect("bytes");
        text(&bytes)
    });
    (address, taken)
}

#[test]
fn recorded_rounds_are_played_in_every_format() {
    let site = Site::new();
    let readings = site.record("rec", 3);
    let (alive, dead) = (site.source(0), site.source(1));
    let of = |target: &str| -> Vec<[Option<u64>; 2]> {
        readings.iter().filter(|(name, _)| name == target).map(|(_, values)| *values).collect()
    };
    let served = of("d0.2");
    assert_eq!(served.len(), 3, "{readings:?}");
    assert!(served.iter().flatten().all(Option::is_some), "{served:?}");
    assert!(of("d1.2").iter().flatten().all(Option::is_none), "{readings:?}");

    // The counters themselves, as they were served.
    let metrics = site.played("rec", &["--openmetrics"]);
    for (direction, field) in ["in", "out"].iter().enumerate() {
        let begin = format!("whit_{alive}_d0_2_{field}_total{{");
        let values: Vec<&str> = metrics
            .lines()
            .filter(|line| line.starts_with(&begin))
            .filter_map(|line| line.split(' ').nth(1))
            .collect();
        let expected: Vec<String> = served
            .iter()
            .skip(3 - values.len())
            .filter_map(|values| Some(values[direction]?.to_string()))
            .collect();
        assert!(values.len() >= 2 && values == expected, "{values:?} {served:?}");
    }
    assert!(metrics.contains("} 0.25 ") && !metrics.contains(&dead), "{metrics}");

    // Their changes from round to round; a silent device and an unknown value have none.
    let changes = json(&site.played("rec", &["--json", "-on"]));
    assert_eq!(changes.len(), 2);
    for (number, change) in changes.iter().enumerate() {
        let sources = &change["sources"];
        let expected = served[number + 1][0].zip(served[number][0]).map(|(new, old)| new - old);
        assert_eq!(sources[&alive]["d0_2_in"].as_f64(), expected.map(|change| change as f64));
        assert_eq!(sources[&dead], serde_json::json!({}));
        assert_eq!(sources["poll"], serde_json::json!({ "load_in": 0.25 }));
    }
    let table = site.played("rec", &["--csv", "--fields", &format!("{alive}.d0_2_in,load_out")]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], format!("time,host,{alive}.d0_2_in,poll.load_out"));
    assert!(lines.len() == 3 && lines[1].ends_with(','), "{table}");

    // Lines for people, of chosen devices; two at most in a line of the first fields.
    let lines = site.played("rec", &["-s", "poll"]);
    let last = lines.lines().last().expect("a line");
    assert_eq!(last.split_whitespace().collect::<Vec<_>>(), ["0.25", "-"], "{lines}");
    let dead_alone = json(&site.played("rec", &["--json", "-s", &dead]));
    assert_eq!(dead_alone[0]["sources"], serde_json::json!({ &dead: {} }));
    let devices = json(&site.played("rec", &["--json", "-s", "device_*"]));
    assert_eq!(devices[0]["sources"].as_object().map(serde_json::Map::len), Some(2));
    let sum = site.played("rec", &["--csv", "-s", &format!("-{dead},poll")]);
    assert!(sum.contains(&alive) && !sum.contains(&dead) && !sum.contains("poll"), "{sum}");

    // Periods, and names that nobody recorded.
    assert_eq!(site.play("rec", &["--json", "--from", "20200101:00:00-00:01"]).stdout, b"");
    let unknown = text(&site.play("rec", &["-s", "route"]).stderr);
    assert!(unknown.contains("no source 'route'") && unknown.contains(&alive), "{unknown}");
    let other = text(&site.play("rec", &["-s", "cpu,disk"]).stderr);
    assert!(other.contains("is recorded"), "{other}");
}

#[test]
fn why_a_target_cannot_be_read_is_kept_beside_the_recordings() {
    let site = Site::new();
    let (alive, dead) = (site.agent.address(0).ip(), site.agent.address(1).ip());
    site.write_config(&format!(
        "MaxBytes2[d0.1]: 7\nTarget[d0.x]: 99:public@{}:0.2:1:1:2\n",
        site.agent.address(0)
    ));
    let folder = site.path("rec");
    std::fs::create_dir(&folder).expect("made");
    // Twice, as cron does: what was known is kept.
    let mut since = Vec::new();
    for _ in 0..2 {
        site.rounds(&["-f", &format!("{}/", folder.display())]);
        let found = service_account::targets_beside(&folder);
        let of = |device: &str, name: &str| {
            let mut all = found.iter();
            all.find(|one| one.device.starts_with(device) && one.target == name)
                .unwrap_or_else(|| panic!("{device} {name}: {found:?}"))
        };
        let (alive, dead) = (alive.to_string(), dead.to_string());
        assert_eq!(found.len(), 7, "a program is of no device: {found:?}");
        let one = of(&alive, "d0_1");
        assert_eq!((&*one.title, one.limits), ("A title", [Some(12_500_000.0), Some(7.0)]));
        assert_eq!(one.failure, None);
        let why = |device: &str, name: &str| of(device, name).failure.clone().expect("a failure");
        assert!(why(&dead, "d1_2").why.contains("no answer"), "{found:?}");
        assert!(why(&alive, "d0_x").why.contains("does not have the object"), "{found:?}");
        assert!(found.iter().filter_map(|one| one.failure.as_ref()).all(|one| !one.is_over));
        since.push(why(&dead, "d1_2").since_ms);
    }
    assert_eq!(since[0], since[1]);
}

#[test]
fn single_rounds_are_joined_and_old_recordings_deleted() {
    let site = Site::new();
    let folder = format!("{}/", site.path("rec").display());
    std::fs::create_dir(&folder).expect("made");
    // As cron does.  However busy the machine is, the second round comes within one and a half
    // intervals, so that it continues the first.
    site.write_config_of("5", "");
    for _ in 0..2 {
        site.rounds(&["-f", &folder]);
    }
    let recordings = || {
        let entries = std::fs::read_dir(&folder).expect("a folder").flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension() == Some("whit".as_ref())).collect::<Vec<_>>()
    };
    let made = recordings();
    assert_eq!(made.len(), 2);
    let frames = json(&site.played("rec", &["--json"]));
    assert_eq!(frames.len(), 1, "{frames:?}");
    let name = made[0].file_name().expect("a name").to_string_lossy().into_owned();
    let host = &name[..name.len() - "-20261122-000000.whit".len()];
    let old = Path::new(&folder).join(format!("{host}-20200101-000000.whit"));
    let make_old = || {
        std::fs::copy(&made[0], &old).expect("copied");
        let touched = Command::new("touch").args(["-d", "2020-01-01"]).arg(&old).status();
        assert!(touched.expect("touch runs").success());
    };
    make_old();
    site.rounds(&["-f", &folder, "--rolllogs=00:00,7"]);
    assert!(!old.exists(), "{:?}", recordings());
    make_old();
    site.rounds(&["-f", &folder, "--keep=30d", "--sync=0"]);
    assert!(!old.exists(), "{:?}", recordings());
    assert_eq!(recordings().len(), 4);
}

#[test]
fn rounds_are_sent_in_every_format() {
    let site = Site::new();
    let alive = site.source(0);
    let (address, taken) = receiver();
    site.rounds(&["--count=3", "--address", &address, "--json"]);
    // As of whit record, each line begins with the name of the host.
    let lines = taken.join().expect("text");
    let objects = lines.lines().map(|line| line.split_once(' ').expect("a host").1);
    let objects = json(&objects.collect::<Vec<_>>().join("\n"));
    assert_eq!(objects.len(), 2);
    assert!(objects[1]["sources"][&alive]["d0_3_in"].as_f64().is_some_and(|rate| rate > 0.0));
    let (address, taken) = receiver();
    site.rounds(&["-c2", "--address", &address]);
    let lines = taken.join().expect("text");
    assert!(lines.contains("d0_1_in") && lines.lines().count() == 3, "{lines}");
    let (address, taken) = receiver();
    site.rounds(&["-c2", &format!("--export=graphite,{address}")]);
    let lines = taken.join().expect("text");
    assert!(lines.contains(&format!(".{alive}.d0_3_in ")), "{lines}");
    assert!(lines.contains(".poll.load_in 0.25 ") && !lines.contains("load_out"), "{lines}");
    let csv = site.rounds(&["-c2", "--csv", "--fields", "load_in"]);
    assert!(text(&csv.stdout).starts_with("time,host,poll.load_in\n"), "{csv:?}");
    let metrics = site.rounds(&["-c2", "--openmetrics"]);
    assert_eq!(text(&metrics.stdout).matches("# EOF\n").count(), 2);
    let values = |entry: &&&view::ViewEntry| entry.class == view::ViewClass::Values;
    for entry in view::ALL.iter().filter(values) {
        let shown = text(&site.rounds(&["-c2", &format!("--{}", entry.name)]).stdout);
        assert!(shown.contains("load_in"), "{}: {shown}", entry.name);
    }
    let databases = format!("--export=rrd,{}", site.path("rrd").display());
    site.rounds(&["-c2", &databases]);
    assert!(site.path(&format!("rrd/{alive}.rrd")).exists());

    for (words, part) in [
        (["--json", "--check"].as_slice(), ""),
        (&["--json"], "rates take two rounds"),
        (&["--json", "--daemon"], "a daemon has no screen"),
        (&["-c2", "--export=proctree"], "shows this machine"),
        (&["-c2", "-A", "127.0.0.1:x"], "is not a port number"),
        (&["-c2", "-f", "x/", "-r", "25:00"], "-r 25:00"),
        (&["-c2", "--json", "--fields", "nope"], "no source or field 'nope'"),
    ] {
        let output = site.poll(words).output().expect("whit runs");
        assert_eq!(output.status.success(), part.is_empty(), "{words:?}");
        assert!(text(&output.stderr).contains(part), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_daemon_begins_another_recording_when_targets_change() {
    let site = Site::new();
    let folder = format!("{}/", site.path("rec").display());
    let pid_file = site.path("pid");
    let options = [
        format!("--pid-file={}", pid_file.display()),
        format!("--logging={}", site.path("log").display()),
    ];
    let output = site
        .poll(&["--daemon", "-f", &folder, &options[0], &options[1]])
        .output()
        .expect("whit runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let is_recording =
        |entry: &std::fs::DirEntry| entry.path().extension() == Some("whit".as_ref());
    let count = || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        entries.filter(is_recording).count()
    };
    let frames = || text(&site.play("rec", &["--json"]).stdout);
    testkit::wait_until("an interval", || !frames().is_empty());
    site.write_config("Target[new]: `echo 1; echo 2`\n");
    testkit::wait_until("another recording", || count() == 2);
    testkit::wait_until("the new target", || frames().contains("new_in"));
    let pid = std::fs::read_to_string(&pid_file).expect("a pid file").trim().to_owned();
    assert!(Command::new("kill").arg(&pid).status().expect("kill runs").success());
    testkit::wait_until("the end", || !Path::new("/proc").join(&pid).exists());
    let header = site.played("rec", &["--showheader"]);
    assert_eq!(header.matches("# subsystems: ,poll,device_").count(), 2, "{header}");
    let log = std::fs::read_to_string(site.path("log")).unwrap_or_default();
    assert!(!log.contains("ERROR"), "{log}");
}
