//! A period of recordings as one picture.

use std::path::Path;

use archive::Recordings;
use calendar::UTC;
use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot, SourceDef, State};
use serve::{PageReportError, PictureFormat, draw_period};

const HOST: &str = "<script>x</script>:\\";
const SECOND_NS: i64 = 1_000_000_000;
const STARTED_S: i64 = 1_790_000_000;

/// Records a minute of disks: one of a hostile name, and so many others.
fn record(folder: &Path, others: usize) -> Recordings {
    let known = source::definitions();
    let defs = ["disk", "memory"].map(|name| known.iter().find(|def| def.name == name).unwrap());
    let defs = defs.map(Clone::clone);
    let mut meta = Meta::new();
    meta.set("host", HOST);
    meta.set("interval_ns", SECOND_NS.to_string());
    meta.set("started_ns", (STARTED_S * SECOND_NS).to_string());
    let path = folder.join("a.whit");
    let mut writer = Writer::create(&path, &meta, &defs, WriterOptions::default()).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    for second in 0..60_u64 {
        snapshot.monotonic_ns = 1 + second * SECOND_NS.unsigned_abs();
        snapshot.realtime_ns = (STARTED_S + second.cast_signed()) * SECOND_NS;
        snapshot.fresh.fill(true);
        for (def, sample) in defs.iter().zip(&mut snapshot.samples) {
            sample.state = State::Ok;
            (sample.monotonic_ns, sample.realtime_ns) =
                (snapshot.monotonic_ns, snapshot.realtime_ns);
            sample.table.begin();
            let mut set = |name: &[u8], field: &str, value: u64| {
                sample.table.row(name).set(def.field(field).unwrap(), value);
            };
            if def.name == "memory" {
                set(b"", "free", 1000);
                continue;
            }
            set(b"\"/><script>\x1b\xff\n", "read_sectors", second * 1000);
            for disk in 0..others {
                set(format!("sd{disk}").as_bytes(), "read_sectors", second * disk as u64);
            }
        }
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
    Recordings::open(&[path], &"2026-11-26T00:00[UTC]".parse().unwrap()).unwrap()
}

fn draw(
    recordings: &Recordings,
    sources: &[&str],
    (from_s, thru_s): (i64, i64),
    format: PictureFormat,
) -> Result<Vec<u8>, PageReportError> {
    let period = (HOST, ((STARTED_S + from_s) * SECOND_NS, (STARTED_S + thru_s) * SECOND_NS));
    let asks = |def: &SourceDef| sources.contains(&&*def.name);
    draw_period(recordings, period, &asks, &UTC, format)
}

/// The height of an SVG.
fn height(svg: &str) -> f64 {
    let (_, rest) = svg.split_once(" height=\"").unwrap();
    rest.split("pt").next().unwrap().parse().unwrap()
}

#[test]
fn the_charts_of_a_period_are_one_picture_and_names_are_no_markup() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = record(folder.path(), 20);
    let svg = |sources: &[&str]| {
        let svg = draw(&recordings, sources, (0, 60), PictureFormat::Svg).unwrap();
        String::from_utf8(svg).unwrap()
    };
    let (memory, disk, both) = (svg(&["memory"]), svg(&["disk"]), svg(&["disk", "memory"]));
    for picture in [&memory, &disk, &both] {
        assert_eq!(picture.matches("<svg ").count(), 1);
        assert!(!picture.contains("<script") && !picture.contains('\u{1b}'), "{picture}");
    }
    assert!((height(&both) - height(&memory) - height(&disk)).abs() < 0.01);
    let png = draw(&recordings, &["disk"], (0, 60), PictureFormat::Png).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    // A part of a second is a picture, too.
    draw(&recordings, &["disk"], (30, 31), PictureFormat::Svg).unwrap();
    let none = draw(&recordings, &["cpu"], (0, 60), PictureFormat::Svg).unwrap_err().to_string();
    assert!(none.contains("others: disk") || none.contains("others: memory"), "{none}");
    let none = draw(&recordings, &["disk"], (100, 200), PictureFormat::Svg).unwrap_err();
    assert!(matches!(none, PageReportError::Empty), "{none}");
}
