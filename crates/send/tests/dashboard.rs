//! The dashboard for Grafana: each of its queries is answered by whit and by an engine that has what was
//! sent, and equally.

use std::path::Path;

use promql::{QueryContext, QueryLimits, QueryValue};
use send::{SendSettings, SourceChoice};
use serve::RecordingStorage;
use testkit::{Prometheus, compare_answers, http};

use crate::deliveries::{few_points, sender_to};
use crate::recorded::{STARTED_S, record_files};

/// The queries of the dashboard, with a host in the place of its variable.
fn queries(host: &str) -> Vec<String> {
    let dashboard: serde_json::Value =
        serde_json::from_str(&metric_names::grafana_dashboard()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let text = |target: &serde_json::Value| target["expr"].as_str().unwrap().to_owned();
    let queries = targets.map(text);
    queries.map(|one| one.replace("$host", host).replace("$__rate_interval", "20s")).collect()
}

#[test]
fn every_query_is_answered_by_whit_and_by_prometheus() {
    let [folder, live] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let tree = testkit::FakeHost::new().unwrap();
    let machine = testkit::trees::find("vm2").unwrap();
    machine.write(tree.root(), 0).unwrap();
    let sources = ["cpu", "cpu_core", "disk", "memory", "network", "socket"];
    let next = |number: i64| {
        if number == 40 {
            machine.write(tree.root(), 1).unwrap();
        }
    };
    record_files(folder.path(), tree.root(), &sources, (1, 60), next).close().unwrap();
    // The tree has no file systems that can be asked.
    record_files(live.path(), Path::new("/"), &["filesystem"], (1, 60), |_| ()).close().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let to = format!("remote-write=http://{}", prometheus.address());
    for folder in [&folder, &live] {
        let settings = SendSettings { selection: SourceChoice::default(), ..few_points() };
        let sent = sender_to(folder.path(), &to, &settings).run(&mut |_| true, &mut |_| ());
        assert!(sent.unwrap());
    }
    let folders = [&folder, &live].map(|folder| folder.path().to_owned());
    let (storage, _) = RecordingStorage::open(&folders).unwrap();
    let limits = QueryLimits::default();
    let context = QueryContext { storage: &storage, limits, control: &|| None };
    let time_s = STARTED_S + 45;
    let queries = queries("vm");
    assert!(queries.len() > 20, "{}", queries.len());
    for query in queries {
        let answer: QueryValue = promql::instant(&query, time_s * 1000, &context).unwrap();
        let mut ours = "{\"status\":\"success\",\"data\":".to_owned();
        let mut writer = promql::AnswerWriter::new(answer);
        while writer.write_next(&mut ours).unwrap() {}
        ours.push('}');
        assert!(ours.contains("\"value\""), "{query}: {ours}");
        let asked = [("query", query.as_str()), ("time", &time_s.to_string())];
        let theirs = http(prometheus.address(), "POST", "/api/v1/query", &asked).body;
        assert_eq!(compare_answers(&theirs, &ours), Ok(()), "{query}");
    }
}
