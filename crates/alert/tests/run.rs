//! A running book: one receiver is dead, another gets its messages, also after a restart.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alert::{AlertDeliverer, AlertReceiver, AlertRule, AlertRun, AlertRunSettings};
use promql::MemoryStorage;

use super::{rule, storage};

fn start(folder: &std::path::Path, rule: &AlertRule, storage: MemoryStorage) -> AlertRun {
    let settings = AlertRunSettings {
        rules: vec![rule.clone()],
        interval: Duration::from_millis(20),
        folder: folder.to_owned(),
        logs: None,
        parts: None,
        host: "h".to_owned(),
        page: String::new(),
        zone: calendar::CivilZone::utc(),
        deliverer: AlertDeliverer { time: testkit::PATIENCE, ..AlertDeliverer::default() },
    };
    AlertRun::start(settings, Arc::new(storage), || None, |_| {}).unwrap()
}

#[test]
fn a_dead_receiver_delays_no_other_and_a_restart_tells_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let now = i64::try_from(now).unwrap();
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (program, out) = (folder.path().join("tell"), folder.path().join("out"));
    let text = format!("#!/bin/sh\necho $WHIT_ALERT_STATE >> '{}'\n", out.display());
    testkit::write_program(&program, text).unwrap();
    let mut rule = rule(&format!("webhook:http://{}/", silent.local_addr().unwrap()));
    rule.to.push(AlertReceiver::parse(&format!("command:{}", program.display())).unwrap());
    let said = || std::fs::read_to_string(&out).unwrap_or_default();
    let value = || {
        let text = std::fs::read_to_string(folder.path().join(alert::STATE_FILE)).ok()?;
        serde_json::from_str::<serde_json::Value>(&text).ok()
    };
    let run = start(folder.path(), &rule, storage(&[(now, 9.0)]));
    testkit::wait_until("the message", || said() == "begins\n");
    testkit::wait_until("its note", || value().is_some_and(|value| value["delivered"] == 1));
    run.end();
    assert_eq!(value().unwrap()["waiting"].as_array().unwrap().len(), 1);
    let stepped = value().unwrap()["at_ms"].clone();
    let run = start(folder.path(), &rule, storage(&[(now, 9.0)]));
    testkit::wait_until("a step", || value().is_some_and(|value| value["at_ms"] != stepped));
    run.end();
    assert_eq!(said(), "begins\n");
    // What it was not told waits for it.
    assert_eq!(value().unwrap()["waiting"].as_array().unwrap().len(), 1);
}
