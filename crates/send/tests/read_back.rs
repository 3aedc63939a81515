//! What an engine has, as a recording again.

use std::net::SocketAddr;
use std::path::Path;

use feed::recordings_in;
use recording::{ReadOutcome, Reader};
use sample::{Kind, Snapshot};
use send::{EngineAccess, SendError, SourceChoice};
use testkit::{Prometheus, VictoriaMetrics};

use crate::deliveries::{few_points, sender_to};
use crate::recorded::{STARTED_S, record_files};

const SOURCES: [&str; 5] = ["cpu", "cpu_core", "memory", "disk", "network"];

/// The period of the recordings.
const PERIOD_NS: (i64, i64) = (STARTED_S * 1_000_000_000, (STARTED_S + 200) * 1_000_000_000);

/// The cells of recordings: time in milliseconds, source, row, field, and the number or the text.
fn cells<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<(i64, String, String, String, String)> {
    let mut found = Vec::new();
    for path in paths {
        let mut reader = Reader::open(path, &source::definitions()).unwrap();
        let defs = reader.defs();
        let mut snapshot = Snapshot::new(&defs);
        while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
            for (def, sample) in defs.iter().zip(&snapshot.samples) {
                for row in 0..sample.table.rows() {
                    for (at, field) in def.fields.iter().enumerate() {
                        let value = match field.kind {
                            Kind::Text => sample
                                .table
                                .text(row, at)
                                .map(|text| String::from_utf8_lossy(text).into_owned())
                                .filter(|text| !text.is_empty()),
                            _ => sample.table.get(row, at).map(|raw| raw.to_string()),
                        };
                        let Some(value) = value else { continue };
                        let name = String::from_utf8_lossy(sample.table.name(row)).into_owned();
                        let time_ms = sample.realtime_ns / 1_000_000;
                        found.push((
                            time_ms,
                            def.name.to_string(),
                            name,
                            field.name.to_string(),
                            value,
                        ));
                    }
                }
            }
        }
    }
    found.sort();
    found
}

/// Reads an engine that lets everybody in.
fn read_back(from: &str, period_ns: (i64, i64)) -> Result<Vec<send::EngineRecording>, SendError> {
    send::read_back(from, period_ns, &EngineAccess::default())
}

fn comes_back(kind: &str, address: SocketAddr, flush: impl Fn()) {
    let folder = tempfile::tempdir().unwrap();
    record_files(folder.path(), Path::new("/"), &SOURCES, (2, 60), |_| ()).close().unwrap();
    let mut sender =
        sender_to(folder.path(), &format!("remote-write=http://{address}"), &few_points());
    assert!(sender.run(&mut |_| true, &mut |_| ()).unwrap());
    flush();
    let found = read_back(&format!("{kind}=http://{address}"), PERIOD_NS).unwrap();
    assert_eq!((found.len(), found[0].host.as_str()), (1, "vm"));
    assert_eq!(found[0].unknown, 0, "{:?}", found[0].unknown_names);
    let paths = recordings_in(folder.path()).unwrap();
    let wanted = cells(paths.iter().map(std::path::PathBuf::as_path));
    let held = cells(std::iter::once(found[0].path.as_path()));
    assert!(wanted.len() > 5_000, "{}", wanted.len());
    for (wanted, held) in wanted.iter().zip(&held) {
        // Numbers have gone through base units, with 15 digits at the least.
        let number = |text: &str| text.parse::<f64>();
        match (number(&wanted.4), number(&held.4)) {
            (Ok(one), Ok(other)) => {
                assert!((one - other).abs() <= 1e-13 * one.abs(), "{wanted:?} {held:?}");
                assert_eq!((&wanted.1, &wanted.2, &wanted.3), (&held.1, &held.2, &held.3));
                assert_eq!(wanted.0, held.0);
            }
            _ => assert_eq!(wanted, held),
        }
    }
    assert_eq!(wanted.len(), held.len());
}

#[test]
fn prometheus_gives_the_recording_back() {
    let Some(prometheus) = Prometheus::receiving() else { return };
    comes_back("prometheus", prometheus.address(), || ());
}

#[test]
fn victoria_metrics_gives_the_recording_back() {
    let Some(victoria) = VictoriaMetrics::start() else { return };
    comes_back("victoriametrics", victoria.address(), || victoria.flush());
}

#[test]
fn what_no_source_has_is_told() {
    let folder = tempfile::tempdir().unwrap();
    record_files(folder.path(), Path::new("/"), &["memory"], (2, 60), |_| ()).close().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let to = format!("remote-write=http://{}", prometheus.address());
    let step = send::StepChoice::new(Some(10_000_000_000), true).unwrap();
    let selection = SourceChoice { step, ..SourceChoice::default() };
    let settings = send::SendSettings { selection, ..few_points() };
    assert!(sender_to(folder.path(), &to, &settings).run(&mut |_| true, &mut |_| ()).unwrap());
    let from = format!("prometheus=http://{}/", prometheus.address());
    let found = read_back(&from, PERIOD_NS).unwrap();
    assert!(found[0].unknown > 10 && found[0].unknown_names.len() == 10, "{}", found[0].unknown);
    assert!(
        found[0].unknown_names.iter().all(|name| name.ends_with("_min") || name.ends_with("_max"))
    );
    // An engine that has nothing, one that is not there, and a period without a start.
    let nothing = read_back(&from, (0, 1_000_000_000)).err().unwrap();
    assert!(matches!(nothing, SendError::NothingThere(_)), "{nothing}");
    let nobody = read_back("prometheus=http://127.0.0.1:1", PERIOD_NS).err().unwrap();
    assert!(matches!(nobody, SendError::NoAnswer { .. }), "{nobody}");
    let endless = read_back(&from, (i64::MIN, 0)).err().unwrap().to_string();
    assert!(endless.contains("say from when on"), "{endless}");
}
