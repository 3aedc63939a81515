//! A day of samples handed over at once by `whit send`, through faults, kills and with a dead engine beside:
//! the living one has all of it, and memory does not depend on how much waits.  A short run sends a tenth.

use std::path::Path;

use ::send::EngineStatus;
use testkit::{ClosedPort, Random, Running, VictoriaMetrics, wait_until};

use crate::whit;

#[path = "../../send/tests/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "other tests record as much as its constants say")]
#[path = "../../serve/tests/recorded.rs"]
pub(crate) mod recorded;

/// Samples of a recording: an hour.
const SAMPLES: i64 = 3600;

/// What the engine at a port has.
fn status(folder: &Path, port: u16) -> Option<EngineStatus> {
    let mut all = ::send::status(folder).ok()?.into_iter();
    all.find(|one| one.cursor.address.ends_with(&format!(":{port}")))
}

fn has_all(folder: &Path, port: u16) -> bool {
    let status = status(folder, port);
    status.is_some_and(|one| one.cursor.points_sent > 0 && one.samples_waiting == 0)
}

/// The most memory that a process had, in KiB.
pub(crate) fn peak_kib(sender: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", sender.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn start(folder: &Path, ports: &[u16]) -> Running {
    let mut send = whit();
    send.args(["send", "--follow"]).stderr(std::process::Stdio::null());
    let to = ports.iter().map(|port| format!("--to=remote-write=http://127.0.0.1:{port}"));
    Running::start(send.args(to).arg(folder))
}

#[test]
#[allow(clippy::print_stderr, reason = "memory is told")]
fn a_day_arrives_through_faults_and_kills_in_the_memory_of_an_hour() {
    let [day, hour] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    // It takes what comes again after a lost answer, and has it twice.
    let Some(victoria) = VictoriaMetrics::start() else { return };
    let Some(other) = VictoriaMetrics::start() else { return };
    let files = i64::try_from(testkit::share(24)).unwrap();
    let root = Path::new("/");
    let _writer = recorded::record_files(day.path(), root, &["cpu"], (files, SAMPLES), |_| ());
    std::fs::copy(day.path().join("vm-0.whit"), hour.path().join("vm-0.whit")).unwrap();
    let sender = start(hour.path(), &[other.address().port()]);
    wait_until("an hour is sent", || has_all(hour.path(), other.address().port()));
    let of_an_hour = peak_kib(&sender);
    sender.kill();

    let proxy = proxy::Proxy::start(victoria.address(), testkit::seed(259), 3);
    let (up, down) = (proxy.address.port(), ClosedPort::bind().unwrap());
    let mut random = Random::from_seed(testkit::seed(260));
    let mut peak = 0;
    for _ in 0..testkit::share(20) {
        let sender = start(day.path(), &[up, down.port()]);
        let until = proxy.requests() + random.below(6);
        wait_until("some requests", || proxy.requests() > until || has_all(day.path(), up));
        peak = peak.max(peak_kib(&sender));
        sender.kill();
    }
    let mut sender = start(day.path(), &[up, down.port()]);
    wait_until("a day is sent", || has_all(day.path(), up));
    peak = peak.max(peak_kib(&sender));
    sender.signal(libc::SIGTERM);
    sender.ended();
    eprintln!("VmHWM: {of_an_hour} KiB with an hour, {peak} KiB with {files}");
    assert!(peak < of_an_hour + (8 << 10), "{peak} KiB, and {of_an_hour} KiB with an hour");

    let status = |port| status(day.path(), port).unwrap();
    let cursor = status(up).cursor;
    assert_eq!(cursor.samples_sent, (files * SAMPLES) as u64);
    let lost = (cursor.samples_refused, cursor.samples_deleted, cursor.samples_unreadable);
    assert_eq!(lost, (0, 0, 0));
    let dead = status(down.port());
    assert_eq!((dead.cursor.samples_sent, dead.samples_waiting), (0, (files * SAMPLES) as u64));
    // The engine is asked for every point.
    victoria.flush();
    let mut verify = whit();
    verify.args(["send", "--verify", "--json", "--name", &status(up).name]);
    verify.arg(format!("--to=remote-write=http://{}", victoria.address())).arg(day.path());
    let said = verify.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert!(report["points"].as_i64() > Some(files * SAMPLES), "{report}");
    assert_eq!((&report["missing"], &report["different"]), (&0.into(), &0.into()), "{report}");
}
