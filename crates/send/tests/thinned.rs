//! What is sent in fewer series or points than are recorded: processes by group, and steps.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use feed::recordings_in;
use promql::is_stale;
use recording::{ReadOutcome, Reader};
use sample::Snapshot;
use send::{ProcessChoice, SendSettings, SourceChoice, StepChoice};
use view::GroupSums;

use crate::deliveries::{few_points, recorded, sender_to};
use crate::receiver::receive;
use crate::recorded::{FILES, SAMPLES, STARTED_S, record};
use crate::remote_write::written;

/// By its labels, the points of a series: time in milliseconds and value.
type Held = BTreeMap<BTreeMap<String, String>, Vec<(i64, f64)>>;

/// Sends a folder, ended after every `pauses`th request, and gives what the engine got.
fn sent(folder: &Path, settings: &SendSettings, requests: usize) -> Held {
    let held = Arc::new(Mutex::new((0, Held::new())));
    let inner = held.clone();
    let address = receive(move |request| {
        let mut held = inner.lock().unwrap();
        held.0 += 1;
        // The sender is ended while it waits after this.
        if held.0 > requests {
            held.0 = 0;
            return ("503 Service Unavailable".into(), Vec::new());
        }
        let series = written(&request);
        let count: usize = series.iter().map(|one| one.points.len()).sum();
        for one in series {
            held.1.entry(one.labels).or_default().extend(one.points);
        }
        (format!("204 No Content\r\nX-Prometheus-Remote-Write-Samples-Written: {count}"), vec![])
    });
    loop {
        let mut sender = sender_to(folder, &format!("remote-write=http://{address}"), settings);
        let mut pauses = 0;
        let mut pause = |time: std::time::Duration| {
            pauses += usize::from(!time.is_zero());
            pauses == 0
        };
        if sender.run(&mut pause, &mut |_| ()).unwrap() {
            assert_eq!(sender.cursor().samples_sent, (FILES * SAMPLES) as u64);
            assert_eq!(sender.cursor().samples_refused + sender.cursor().samples_known, 0);
            break;
        }
    }
    std::mem::take(&mut held.lock().unwrap().1)
}

/// A command for each process id, so that there are more groups than are asked for.
fn processes(root: &Path, number: i64) {
    for pid in 1..=8_i64 {
        let folder = root.join(format!("proc/{pid}"));
        // The last one ends in the middle.
        if pid == 8 && number % SAMPLES > 100 {
            let _ = std::fs::remove_dir_all(&folder);
            continue;
        }
        std::fs::create_dir_all(&folder).unwrap();
        let (user, system) = (number * pid, number);
        let stat = format!(
            "{pid} (work{}) S 0 {pid} {pid} 0 -1 0 {number} 0 0 0 {user} {system} 0 0 20 0 1 0 {pid} \
             4096000 {} 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            pid / 2,
            100 * pid + number % 7
        );
        std::fs::write(folder.join("stat"), stat).unwrap();
    }
}

/// Sums as whit play --by makes them: by time in milliseconds, group and value.
fn summed(folder: &Path) -> Vec<(i64, Vec<view::GroupLine>)> {
    let mut found = Vec::new();
    for path in recordings_in(folder).unwrap() {
        let mut reader = Reader::open(&path, &source::definitions()).unwrap();
        let (defs, meta) = (reader.defs(), reader.meta().clone());
        let layouts = layout::LayoutLookup(source::layouts_of);
        let mut sums = GroupSums::new("command", layouts, &defs).unwrap().unwrap();
        let mut snapshot = Snapshot::new(&defs);
        while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
            let time_ms = snapshot.realtime_ns / 1_000_000;
            found.extend(sums.add(&mut snapshot, &meta).map(|lines| (time_ms, lines)));
        }
    }
    found
}

fn choice(processes: &str) -> SourceChoice {
    SourceChoice {
        processes: Some(ProcessChoice::parse(processes).unwrap()),
        ..SourceChoice::new(vec!["memory".into()]).unwrap()
    }
}

#[test]
fn processes_are_sent_as_sums_in_a_bounded_number_of_series() {
    let [folder, root] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let kernel = root.path().join("proc");
    std::fs::create_dir_all(&kernel).unwrap();
    std::fs::write(kernel.join("meminfo"), "MemTotal: 1000 kB\nMemFree: 10 kB\n").unwrap();
    let next = |number| processes(root.path(), number);
    let writer = record(folder.path(), root.path(), &["memory", "process"], next);
    writer.close().unwrap();
    let settings = SendSettings { selection: choice("command:3"), points_max: 500, ..few_points() };
    let held = sent(folder.path(), &settings, 3);
    let of = |metric: &str, group: Option<&str>| -> Vec<(i64, f64)> {
        let is_it = |labels: &BTreeMap<String, String>| {
            labels["__name__"] == metric && labels.get("command").map(String::as_str) == group
        };
        let found = held.iter().filter(|(labels, _)| is_it(labels)).map(|(_, points)| points);
        found.flatten().copied().filter(|(_, value)| !is_stale(*value)).collect()
    };
    // There are five commands: three have names, the others are summed.
    let groups: Vec<&str> =
        held.keys().filter_map(|labels| Some(labels.get("command")?.as_str())).collect();
    let distinct: std::collections::BTreeSet<&str> = groups.iter().copied().collect();
    assert_eq!(distinct.len(), 4, "{distinct:?}");
    assert!(distinct.contains("other"), "{distinct:?}");
    let expected = summed(folder.path());
    assert_eq!(expected.len() as i64, FILES * (SAMPLES - 1));
    let (cpu, resident) = (
        "whit_process_by_command_cpu_seconds_per_second",
        "whit_process_by_command_resident_bytes",
    );
    for (metric, at) in [(cpu, 3), (resident, 8), ("whit_process_by_command_processes", 0)] {
        for group in &distinct {
            let wanted = expected.iter().filter_map(|(time_ms, lines)| {
                let is_it = |line: &&view::GroupLine| {
                    let name = String::from_utf8(line.name.clone().unwrap()).unwrap();
                    name == **group || (*group == "other" && !distinct.contains(name.as_str()))
                };
                let values: Vec<f64> =
                    lines.iter().filter(is_it).filter_map(|line| line.values[at]).collect();
                (!values.is_empty()).then(|| (*time_ms, values.iter().sum::<f64>()))
            });
            assert_eq!(of(metric, Some(group)), wanted.collect::<Vec<_>>(), "{metric} {group}");
        }
    }
    let folded = of("whit_process_by_command_folded", None);
    assert_eq!(folded.len(), expected.len());
    assert!(folded.iter().all(|(_, value)| (1.0..=2.0).contains(value)), "{folded:?}");
    for wrong in ["pid", "command:0", "command:x", "user:100000"] {
        let said = ProcessChoice::parse(wrong).unwrap_err().to_string();
        assert!(said.starts_with(&format!("--processes-by {wrong}: ")), "{said}");
    }
}

#[test]
fn a_step_has_a_mean_and_the_last_value_of_a_counter() {
    let folder = tempfile::tempdir().unwrap();
    let writer = record(folder.path(), Path::new("/"), &["cpu", "memory"], |_| ());
    writer.close().unwrap();
    let step = StepChoice::new(Some(60_000_000_000), true).unwrap();
    let selection = SourceChoice { step, ..SourceChoice::default() };
    let held = sent(folder.path(), &SendSettings { selection, ..few_points() }, 2);
    let recorded = recorded(folder.path());
    let mut counts = [0; 2];
    for (labels, points) in &held {
        let name = &labels["__name__"];
        let (base, of) = match (name.strip_suffix("_min"), name.strip_suffix("_max")) {
            (Some(base), _) => (base, 1),
            (_, Some(base)) => (base, 2),
            _ => (name.as_str(), 0),
        };
        let mut of_base = labels.clone();
        of_base.insert("__name__".into(), base.into());
        let all = &recorded[&format!("{of_base:?}")];
        let is_last = name.ends_with("_total") || base.ends_with("_info") || is_fact(base);
        for (time_ms, value) in points {
            // A recording ends a step.
            let of_file = |ms: i64| (ms / 1000 - STARTED_S - 1) / SAMPLES;
            let is_in =
                |ms: i64| ms / 60_000 == time_ms / 60_000 && of_file(ms) == of_file(*time_ms);
            let values: Vec<f64> = all
                .iter()
                .filter(|(ms, _)| is_in(*ms))
                .map(|(_, bits)| f64::from_bits(*bits))
                .collect();
            let wanted = match of {
                1 => values.iter().copied().fold(f64::INFINITY, f64::min),
                2 => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                _ if is_last => *values.last().unwrap(),
                _ => values.iter().sum::<f64>() / values.len() as f64,
            };
            assert!((wanted - value).abs() <= wanted.abs() * 1e-12, "{labels:?} {wanted} {value}");
        }
        counts[usize::from(is_last)] += 1;
        let steps: std::collections::BTreeSet<(i64, i64)> = all
            .iter()
            .map(|(ms, _)| (ms / 60_000, (ms / 1000 - STARTED_S - 1) / SAMPLES))
            .collect();
        assert_eq!(points.len(), steps.len(), "{labels:?}");
    }
    assert!(counts.iter().all(|count| *count > 3), "{counts:?}");
}

/// Names of counters that do not end in `_total`, and of facts.
fn is_fact(name: &str) -> bool {
    name.starts_with("node_vmstat_")
        || ["node_boot_time_seconds", "node_time_seconds"].contains(&name)
}
