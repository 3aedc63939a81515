//! Recordings of every version ever released stay readable: `testdata/recordings/version-N-*.whit`
//! beside what each must say.  These files are never written again; a new version adds its own, of which
//! `WHIT_BLESS=1` writes what it says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use recording::{ReadOutcome, Reader};
use sample::{Kind, Snapshot, State};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings")
}

/// Everything that a recording says, as text.
fn dump(path: &Path) -> String {
    let mut reader = Reader::open(path, &[]).unwrap();
    let mut out = String::new();
    for (key, value) in reader.meta().entries() {
        writeln!(out, "meta {key}={value}").unwrap();
    }
    for schema in reader.schemas() {
        let (name, letters, cadence) = (&schema.name, &schema.letters, schema.cadence);
        writeln!(out, "source {name} {letters} {cadence:?} {:?} {}", schema.instance, schema.about)
            .unwrap();
        for field in schema.fields.iter() {
            let (name, unit, kind) = (&field.name, field.unit, field.kind);
            writeln!(out, "  {name} {unit:?} {kind:?} {}", field.help).unwrap();
        }
    }
    let defs = reader.defs();
    let mut snapshot = Snapshot::new(&defs);
    let end = loop {
        match reader.next(&mut snapshot).unwrap() {
            ReadOutcome::Sample => dump_sample(&snapshot, &defs, &mut out),
            end => break end,
        }
        for (path, text) in reader.texts() {
            let (path, text) = (String::from_utf8_lossy(path), String::from_utf8_lossy(text));
            writeln!(out, "  text {path} {text:?}").unwrap();
        }
    };
    writeln!(out, "{end:?} whole {}", reader.damage().is_none()).unwrap();
    out
}

fn dump_sample(snapshot: &Snapshot, defs: &[std::sync::Arc<sample::SourceDef>], out: &mut String) {
    let (monotonic, realtime) = (snapshot.monotonic_ns, snapshot.realtime_ns);
    let restart = if snapshot.restart { " restart" } else { "" };
    writeln!(out, "tick {monotonic} {realtime}{restart}").unwrap();
    if !snapshot.gap.is_none() {
        writeln!(out, "  {:?}", snapshot.gap).unwrap();
    }
    for (index, def) in defs.iter().enumerate().filter(|(index, _)| snapshot.fresh[*index]) {
        let sample = &snapshot.samples[index];
        let (monotonic, realtime) = (sample.monotonic_ns, sample.realtime_ns);
        writeln!(
            out,
            "  {} {:?} {monotonic} {realtime} {}",
            def.name, sample.state, sample.cost_ns
        )
        .unwrap();
        let rows = if sample.state == State::Ok { sample.table.rows() } else { 0 };
        for row in 0..rows {
            write!(out, "    {:?}:", String::from_utf8_lossy(sample.table.name(row))).unwrap();
            for (field, about) in def.fields.iter().enumerate() {
                match (sample.table.get(row, field), about.kind) {
                    (None, _) => write!(out, " -"),
                    (Some(_), Kind::Text) => {
                        let text = sample.table.text(row, field).unwrap_or_default();
                        write!(out, " {:?}", String::from_utf8_lossy(text))
                    }
                    (Some(value), _) => write!(out, " {value}"),
                }
                .unwrap();
            }
            out.push('\n');
        }
    }
}

#[test]
fn every_version_is_read() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("version-") && name.ends_with(".whit") {
            let said = dump(&path);
            let beside = path.with_extension("txt");
            if !beside.exists() && std::env::var_os("WHIT_BLESS").is_some() {
                std::fs::write(&beside, &said).unwrap();
            }
            let expected = std::fs::read_to_string(beside).unwrap();
            let line = expected.lines().zip(said.lines()).position(|(a, b)| a != b);
            assert!(said == expected, "{name} reads otherwise from line {line:?} on");
            seen += 1;
        }
    }
    assert!(seen >= 4, "the files are gone");
}
