//! What Grafana's Prometheus source asks, by GET and by POST: as Prometheus answers it, byte for byte.

use serde_json::Value;
use testkit::{Prometheus, http, http_raw};

use crate::common::{START_S, address, open_metrics, server};

/// What is asked: path and parameters; `*` marks the paths that take forms too.
type Asked<'a> = (&'a str, &'a [(&'a str, &'a str)]);

const START: &str = "1700000000";
const END: &str = "1700000600";

const ASKED: &[Asked<'_>] = &[
    // The check of a source.
    ("*/api/v1/query", &[("query", "1+1"), ("time", "4")]),
    ("*/api/v1/query", &[("query", "1+1"), ("time", "1700000000.5")]),
    // Panels.
    ("*/api/v1/query", &[("query", "load1"), ("time", "1700000300.123")]),
    ("*/api/v1/query", &[("query", "load1"), ("time", "2023-11-14T22:15:00.5Z")]),
    ("*/api/v1/query", &[("query", "load1[30s]"), ("time", END)]),
    ("*/api/v1/query", &[("query", "\"a<b>\""), ("time", END)]),
    ("*/api/v1/query", &[("query", "nothing"), ("time", END)]),
    ("*/api/v1/query", &[("query", "load1 / 0"), ("time", START)]),
    (
        "*/api/v1/query_range",
        &[("query", "rate(reads_total[1m])"), ("start", START), ("end", END), ("step", "15")],
    ),
    (
        "*/api/v1/query_range",
        &[("query", "sum by (job) (load1)"), ("start", START), ("end", END), ("step", "1m")],
    ),
    (
        "*/api/v1/query_range",
        &[("query", "load1"), ("start", "1700000000.25"), ("end", END), ("step", "97.5")],
    ),
    ("*/api/v1/query_range", &[("query", "7"), ("start", START), ("end", END), ("step", "5m")]),
    // The editor and variables.
    ("*/api/v1/labels", &[("start", START), ("end", END)]),
    ("*/api/v1/labels", &[]),
    ("*/api/v1/labels", &[("match[]", "load1"), ("match[]", "{job=~\"x.*\"}")]),
    ("/api/v1/label/job/values", &[("start", START), ("end", END)]),
    ("/api/v1/label/__name__/values", &[]),
    ("/api/v1/label/instance/values", &[("match[]", "load1{job=\"whit\"}")]),
    ("/api/v1/label/missing/values", &[]),
    ("*/api/v1/series", &[("match[]", "load1"), ("start", START), ("end", END)]),
    ("*/api/v1/series", &[("match[]", "{job!=\"\"}"), ("start", START), ("end", END)]),
    ("*/api/v1/series", &[("match[]", "nothing")]),
    ("*/api/v1/query_exemplars", &[("query", "load1"), ("start", START), ("end", END)]),
    // What a person mistypes.
    ("*/api/v1/query", &[("query", "load1{"), ("time", END)]),
    ("*/api/v1/query", &[("query", "")]),
    ("*/api/v1/query", &[("query", "load1"), ("time", "now")]),
    ("*/api/v1/query", &[("query", "load1"), ("timeout", "x")]),
    ("*/api/v1/query", &[("query", "load1 + on() load1"), ("time", END)]),
    ("*/api/v1/query_range", &[("query", "load1")]),
    ("*/api/v1/query_range", &[("query", "load1"), ("start", END), ("end", START), ("step", "1")]),
    ("*/api/v1/query_range", &[("query", "load1"), ("start", START), ("end", END), ("step", "0")]),
    (
        "*/api/v1/query_range",
        &[("query", "load1"), ("start", START), ("end", END), ("step", "0.01")],
    ),
    ("*/api/v1/query_range", &[("query", "load1"), ("start", START), ("end", END), ("step", "-1")]),
    (
        "*/api/v1/query_range",
        &[("query", "load1[1m]"), ("start", START), ("end", END), ("step", "5")],
    ),
    ("*/api/v1/series", &[]),
    ("*/api/v1/series", &[("match[]", "sum(load1)")]),
    ("*/api/v1/labels", &[("match[]", "{}")]),
];

#[test]
fn grafanas_calls_are_answered_as_by_prometheus() {
    let ours = server();
    let Some(theirs) = Prometheus::start(&open_metrics()) else { return };
    let (mut differences, mut same) = (Vec::new(), 0);
    for (path, parameters) in ASKED {
        let methods = if path.starts_with('*') { &["GET", "POST"][..] } else { &["GET"] };
        for method in methods {
            let path = path.trim_start_matches('*');
            let [theirs, ours] = [theirs.address(), address(&ours)]
                .map(|address| http(address, method, path, parameters));
            let kind = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
            let is_same = match theirs.status {
                // Their list of elements has no order.
                200 => sorted(kind(&theirs.body)) == sorted(kind(&ours.body)),
                _ => kind(&theirs.body)["errorType"] == kind(&ours.body)["errorType"],
            };
            same += usize::from(theirs.body == ours.body);
            let [head, our_head] = [&theirs, &ours].map(|answer| content_type(&answer.head));
            if !is_same || theirs.status != ours.status || head != our_head {
                differences.push(format!("{method} {path} {parameters:?}: {theirs:#?} {ours:#?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} {differences:#?}", differences.len());
    assert!(same > 40, "{same} are equal to the last byte");
}

fn sorted(mut body: Value) -> Value {
    for list in ["/data", "/data/result"] {
        if let Some(Value::Array(list)) = body.pointer_mut(list) {
            list.sort_by_key(Value::to_string);
        }
    }
    body
}

fn content_type(head: &str) -> Option<String> {
    let lines = head.lines().map(str::to_ascii_lowercase);
    lines.filter_map(|line| line.strip_prefix("content-type: ").map(str::to_owned)).next()
}

#[test]
fn what_is_known_of_metrics_and_of_the_server() {
    let server = server();
    let ask = |path: &str, parameters: &[(&str, &str)]| -> Value {
        let answer = http(address(&server), "GET", path, parameters);
        assert_eq!(answer.status, 200, "{path}");
        serde_json::from_str(&answer.body).unwrap()
    };
    let all = ask("/api/v1/metadata", &[]);
    assert_eq!(all["data"]["load1"][0]["type"], "gauge");
    assert_eq!(all["data"]["reads_total"][0]["help"], "Reads.");
    let one = ask("/api/v1/metadata", &[("metric", "load1"), ("limit", "5")]);
    assert_eq!(one["data"].as_object().unwrap().len(), 1);
    assert_eq!(ask("/api/v1/metadata", &[("limit", "1")])["data"].as_object().unwrap().len(), 1);
    let build = ask("/api/v1/status/buildinfo", &[]);
    assert!(build["data"]["version"].as_str().unwrap().starts_with("2."), "{build}");
    let now = ask("/api/v1/query", &[("query", "time()")]);
    let time = now["data"]["result"][0].as_f64().unwrap();
    assert!(time > START_S as f64, "{now}");
    let limited = ask("/api/v1/label/instance/values", &[("limit", "2")]);
    assert_eq!(limited["data"].as_array().unwrap().len(), 2);
    let asked = [("match[]", "load1"), ("start", START), ("end", END), ("limit", "2")];
    assert_eq!(ask("/api/v1/series", &asked)["data"].as_array().unwrap().len(), 2);
    let limited = ask("/api/v1/labels", &[("limit", "1")]);
    assert_eq!(limited["data"].as_array().unwrap().len(), 1);
    let exemplars = ask("/api/v1/query_exemplars", &[("query", "load1")]);
    assert_eq!(exemplars["data"], Value::Array(Vec::new()));
    assert_eq!(http(address(&server), "GET", "/-/healthy", &[]).status, 200);
}

#[test]
fn other_paths_methods_and_hosts_are_refused() {
    let server = server();
    let ask = |request: &str| http_raw(address(&server), request.as_bytes()).unwrap();
    for path in [
        "/",
        "/api",
        "/api/v1/",
        "/api/v1/label//x",
        "/api/v1/../../etc/passwd",
        "//",
        "/api/v1/write",
    ] {
        assert_eq!(ask(&format!("GET {path} HTTP/1.0\r\n\r\n")).status, 404, "{path}");
    }
    let deleted = ask("DELETE /api/v1/series HTTP/1.0\r\n\r\n");
    assert_eq!(deleted.status, 405);
    assert!(deleted.head.contains("GET, POST"), "{}", deleted.head);
    assert_eq!(ask("POST /api/v1/metadata HTTP/1.0\r\nContent-Length: 0\r\n\r\n").status, 405);
    for (host, status) in [
        ("localhost:9797", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:9797", 200),
        ("evil.example", 403),
        ("evil.example:9797", 403),
        ("localhost.evil.example", 403),
    ] {
        let request = format!("GET /-/ready HTTP/1.0\r\nHost: {host}\r\n\r\n");
        assert_eq!(ask(&request).status, status, "{host}");
    }
}
