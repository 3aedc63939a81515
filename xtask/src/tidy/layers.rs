//! Layers: a crate uses only crates of the layers below its own, and none of its own layer.

use serde_json::Value;

use super::Complaints;

/// The layers, lowest first.  Some of these crates do not exist yet.
const LAYERS: &[&[&str]] = &[
    &[
        "sample",
        "text",
        "calendar",
        "connection",
        "segments",
        "perl",
        "varint",
        "whole_file",
        "heap",
    ],
    &[
        "procfs",
        "layout",
        "template",
        "spawn",
        "bpf",
        "rpn",
        "time_words",
        "rrdclient",
        "logring",
        "promql",
        "http_client",
        "http_server",
        "nats",
        "service_account",
        "terminal",
    ],
    &[
        "source",
        "recording",
        "rrd",
        "view",
        "sink",
        "snmp",
        "log_format",
        "log_protocol",
        "otlp_messages",
    ],
    &[
        "recorder",
        "feed",
        "graph",
        "log_proxy",
        "log_store",
        "logger",
        "run",
        "trace",
        "snmp_simulator",
    ],
    &["archive", "many_hosts"],
    &["metric_names", "alert"],
    &["send"],
    &[
        "serve",
        "poll",
        "rrdcached",
        "rrdtool",
        "sysstat",
        "completion",
        "top",
        "log_view",
        "doctor",
        "bench",
        "log_central",
        "watch",
    ],
    &["cli", "librrd"],
];

/// `testkit` is a dev-dependency of other crates and may use these.
const TESTKIT: (&str, &[&str]) = ("testkit", &["sample"]);

/// `xtask` uses no crate of whit, `whit-fuzz` may use any; no crate uses either of them.
const OUTSIDE: [&str; 2] = ["xtask", "whit-fuzz"];

pub(super) fn check(metadata: &Value, complaints: &mut Complaints) {
    let members = metadata["workspace_members"].as_array();
    let is_ours = |package: &&Value| members.is_some_and(|ids| ids.contains(&package["id"]));
    let packages = metadata["packages"].as_array().into_iter().flatten().filter(is_ours);
    let packages: Vec<(&str, Vec<&str>)> = packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().into_iter().flatten();
            let used = dependencies.filter(|one| one["kind"] != "dev" && !one["path"].is_null());
            let used = used.filter_map(|one| one["name"].as_str());
            (package["name"].as_str().unwrap_or_default(), used.collect())
        })
        .collect();
    check_packages(&packages, complaints);
}

fn check_packages(packages: &[(&str, Vec<&str>)], complaints: &mut Complaints) {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    for (name, used) in packages {
        let own = layer(name);
        if OUTSIDE.contains(name) {
            continue;
        }
        if own.is_none() && *name != TESTKIT.0 {
            complaints.push(format!("crate {name}: give it a layer in xtask/src/tidy/layers.rs"));
            continue;
        }
        for other in used {
            let may = match (own, layer(other)) {
                (Some(own), Some(other)) => other < own,
                _ => *name == TESTKIT.0 && TESTKIT.1.contains(other),
            };
            if !may {
                let why = match layer(other) == own {
                    true if own.is_some() => "they are on one layer",
                    _ => "it is not on a layer below",
                };
                complaints.push(format!("crate {name} may not use {other}: {why}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_below_is_refused() {
        let packages = [
            ("source", vec!["sample", "procfs"]),
            ("view", vec!["source"]),
            ("procfs", vec!["run"]),
            ("cli", vec!["testkit"]),
            ("testkit", vec!["sample"]),
            ("new", vec![]),
        ];
        let mut complaints = Vec::new();
        check_packages(&packages, &mut complaints);
        assert_eq!(
            complaints,
            [
                "crate view may not use source: they are on one layer",
                "crate procfs may not use run: it is not on a layer below",
                "crate cli may not use testkit: it is not on a layer below",
                "crate new: give it a layer in xtask/src/tidy/layers.rs",
            ]
        );
    }
}
