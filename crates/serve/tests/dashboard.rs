//! Queries as dashboards ask them: those that whit answers, and why not the others.

use std::path::Path;

use promql::{QueryBudget, QueryContext, QueryLimits, QueryValue, SeriesStorage as _, selector};
use serve::RecordingStorage;

use crate::recorded::{STARTED_S, record};

const QUERIES: &str = include_str!("../../../testdata/dashboards/node-exporter.txt");

/// What the dashboard's variables stand for.
const VARIABLES: &[(&str, &str)] = &[
    ("$node", "vm"),
    ("$job", "whit"),
    ("$__rate_interval", "1m"),
    ("$diskdevices", "[a-z]+|nvme[0-9]+n[0-9]+|mmcblk[0-9]+"),
];

fn count(answer: &QueryValue) -> usize {
    let mut text = String::new();
    let mut writer = promql::AnswerWriter::new(answer.clone());
    while writer.write_next(&mut text).unwrap() {}
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    answer["result"].as_array().unwrap().len()
}

#[test]
fn the_queries_of_node_exporter_full_are_answered_or_the_reason_is_known() {
    let [folder, live] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [tree, other] = [(); 2].map(|()| testkit::FakeHost::new().unwrap());
    let machine = testkit::trees::find("vm2").unwrap();
    machine.write(tree.root(), 0).unwrap();
    let of_another = testkit::trees::find("guest-6.1").unwrap();
    of_another.write(other.root(), 0).unwrap();
    std::fs::copy(other.path("/proc/schedstat"), tree.path("/proc/schedstat")).unwrap();
    let sources = [
        "cpu",
        "cpu_core",
        "disk",
        "inode",
        "memory",
        "network",
        "schedstat",
        "socket",
        "softirq",
        "tcp",
        "vmstat",
    ];
    let _writer = record(folder.path(), tree.root(), &sources, |number| {
        if number == 100 {
            machine.write(tree.root(), 1).unwrap();
        }
    });
    // The tree has none of these.
    let sources = ["filesystem", "process", "process_total"];
    let _of_this = record(live.path(), Path::new("/"), &sources, |_| ());
    let folders = [&folder, &live].map(|folder| folder.path().to_owned());
    let (storage, _) = RecordingStorage::open(&folders).unwrap();
    let context =
        QueryContext { storage: &storage, limits: QueryLimits::default(), control: &|| None };
    let (mut answered, mut wrong) = (0, Vec::new());
    let lines: Vec<&str> = QUERIES.lines().filter(|line| !line.starts_with('#')).collect();
    for line in &lines {
        let (query, reason) = line.split_once("  # ").unwrap_or((line, ""));
        let asked = VARIABLES
            .iter()
            .fold(query.to_owned(), |query, (variable, value)| query.replace(variable, value));
        let answer = promql::instant(&asked, (STARTED_S + 120) * 1000, &context);
        let is_answered = answer.as_ref().is_ok_and(|answer| count(answer) > 0);
        answered += usize::from(is_answered);
        if is_answered != reason.is_empty() {
            wrong
                .push(format!("{line}: {}", answer.err().map_or(String::new(), |e| e.to_string())));
        }
    }
    // By this a dashboard finds its machines.
    let budget = QueryBudget::new(QueryLimits::default(), &|| None);
    let machines =
        selector("node_uname_info{job=\"whit\",nodename=\"vm\",release=~\"6.*\"}").unwrap();
    let found = storage.series(&machines, 0, i64::MAX / 2_000_000, &budget).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(["instance", "release"].map(|label| found[0].get(label)), ["vm", "6.1.0"]);
    assert!(wrong.is_empty(), "{answered} of {}: {wrong:#?}", lines.len());
}
