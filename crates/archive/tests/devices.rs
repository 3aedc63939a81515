//! Devices that were polled are hosts: their targets have ranges and stored values.

use std::path::Path;
use std::sync::Arc;

use archive::{RangeQuery, Recordings, Select, StepValue, StoredRow, StoredValue, VisitStored};
use recording::{Writer, WriterOptions};
use sample::{Field, Meta, Snapshot, SourceDef, State, Unit};

const STARTED_NS: i64 = 1_790_002_800_000_000_000;

/// A source as a poller defines it.
fn of_device(name: &'static str, device: &str, fields: Vec<Field>) -> Arc<SourceDef> {
    Arc::new(SourceDef {
        name: name.into(),
        about: SourceDef::about_device(device).into(),
        fields: fields.into(),
        ..SourceDef::EMPTY
    })
}

/// A recording of rounds of a minute, in which counters grow by 60 times their place from 1.
fn record(folder: &Path) {
    let counter = |name: &'static str| Field::counter(name, Unit::Count, "A counter");
    let defs = [
        of_device(
            "device_10_0_0_1",
            "10.0.0.1",
            vec![
                counter("eth0_in"),
                counter("eth0_out"),
                Field::gauge("load_in", Unit::Hundredths, "A gauge"),
                Field::gauge("load_out", Unit::Count, "A gauge"),
            ],
        ),
        of_device("poll", "no device", vec![counter("a_in"), counter("a_out")]),
    ];
    let mut meta = Meta::new();
    meta.set("host", "poller");
    meta.set("interval_ns", "60000000000");
    meta.set("started_ns", STARTED_NS.to_string());
    let path = folder.join("poller.whit");
    let mut writer = Writer::create(&path, &meta, &defs, WriterOptions::default()).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    for round in 0..20 {
        let passed_ns = 60_000_000_000 * round;
        snapshot.monotonic_ns = 1 + passed_ns;
        snapshot.realtime_ns = STARTED_NS + passed_ns.cast_signed();
        snapshot.fresh.fill(true);
        for (sample, def) in snapshot.samples.iter_mut().zip(&defs) {
            sample.monotonic_ns = snapshot.monotonic_ns;
            sample.realtime_ns = snapshot.realtime_ns;
            sample.state = State::Ok;
            sample.table.begin();
            let mut row = sample.table.row(b"");
            for field in 0..def.fields.len() {
                row.set(field, 60 * round * (field as u64 + 1));
            }
        }
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
}

/// The values of the rows of each target, by its name.
#[derive(Default)]
struct Rows(Vec<(String, Vec<Option<u64>>)>);

impl VisitStored for Rows {
    fn wants(&mut self, name: &[u8]) -> bool {
        name != b"unwanted"
    }

    fn row(&mut self, row: &StoredRow<'_>) -> Result<(), archive::Error> {
        assert_eq!(row.def.name, "target");
        let number = |value: &StoredValue<'_>| match value {
            StoredValue::Number(number) => Some(*number),
            _ => None,
        };
        let values = row.values.unwrap_or_default().iter().map(number).collect();
        self.0.push((String::from_utf8_lossy(row.name).into_owned(), values));
        Ok(())
    }
}

#[test]
fn a_device_is_a_host_and_its_targets_are_instances() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let open = || Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
    let recordings = open();
    assert_eq!(recordings.hosts(), ["poller", "10.0.0.1", "no device"]);
    let names = |host: &str| -> Vec<String> {
        recordings.sources(host).iter().map(|def| def.name.to_string()).collect()
    };
    assert_eq!(names("10.0.0.1"), ["target"]);
    assert_eq!(names("poller"), ["device_10_0_0_1", "poll"]);
    assert_eq!(recordings.spans("10.0.0.1"), recordings.spans("poller"));
    assert_eq!(recordings.gaps("10.0.0.1", i64::MIN, i64::MAX).unwrap(), []);
    let query = RangeQuery {
        host: "10.0.0.1".to_owned(),
        source: "target".to_owned(),
        fields: ["out", "in", "in_value", "out_level"].map(str::to_owned).to_vec(),
        instances: Vec::new(),
        from_ns: STARTED_NS,
        thru_ns: STARTED_NS + 1_200_000_000_000,
        step_ns: 300_000_000_000,
    };
    for _ in 0..2 {
        let answer = open().range(&query).unwrap();
        let found: Vec<(&[u8], usize, Vec<f64>)> = answer
            .series
            .iter()
            .map(|series| {
                let means = series.values.iter().map(StepValue::mean);
                (&*series.instance, series.field, means.collect())
            })
            .collect();
        let gauge = |factor: f64| [120.0, 420.0, 720.0, 1020.0].map(|mean| mean * factor).to_vec();
        assert_eq!(
            found,
            [
                (&b"eth0"[..], 0, vec![2.0; 4]),
                (b"eth0", 1, vec![1.0; 4]),
                (b"load", 2, gauge(3.0)),
                (b"load", 3, gauge(4.0)),
            ]
        );
        assert_eq!(recordings.origins(&answer).len(), 4);
        assert!(recordings.write_side_files().is_empty());
    }
    let wanted = RangeQuery { instances: vec![b"load".to_vec()], ..query.clone() };
    assert_eq!(recordings.range(&wanted).unwrap().series.len(), 2);
    let unknown = RangeQuery { fields: vec!["octets".to_owned()], ..query };
    assert!(recordings.range(&unknown).unwrap_err().to_string().contains("has no field octets"));
    let select = Select {
        host: "10.0.0.1",
        source: "target",
        fields: &["in", "in_value"],
        from_ns: STARTED_NS,
        thru_ns: STARTED_NS + 60_000_000_001,
    };
    let mut rows = Rows::default();
    recordings.stored(&select, &mut rows).unwrap();
    let row = |name: &str, values: [Option<u64>; 2]| (name.to_owned(), values.to_vec());
    assert_eq!(
        rows.0,
        [
            row("eth0", [Some(0), None]),
            row("load", [None, Some(0)]),
            row("eth0", [Some(60), None]),
            row("load", [None, Some(180)]),
        ]
    );
    let error = recordings.scan(&select, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("ask for ranges"), "{error}");
}
