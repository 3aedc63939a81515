//! Files of other machines, built byte by byte from the layouts, become this machine's; files with
//! another step are what `rrdtool create --source` makes of them.

use std::path::Path;

use rrd::header::{ConsolidationFunction, RrdHeader, SourceKind};
use rrd::image::Image;
use rrd::{FileLayout, LAYOUTS, X86_64};

use crate::oracle::{Random, Theirs, assert_same_text, filled, name, ours, words};

/// Writes the structures of RRDtool as a compiler of another machine lays them out.  It shares no
/// code with the crate: alignment is counted while fields are written.
struct Writer {
    bytes: Vec<u8>,
    layout: FileLayout,
}

impl Writer {
    fn align(&mut self, to: usize) {
        while !self.bytes.len().is_multiple_of(to) {
            self.bytes.push(0);
        }
    }

    fn number(&mut self, value: u64, bytes: usize, alignment: usize) {
        self.align(alignment);
        match self.layout.big_endian {
            true => self.bytes.extend_from_slice(&value.to_be_bytes()[8 - bytes..]),
            false => self.bytes.extend_from_slice(&value.to_le_bytes()[..bytes]),
        }
    }

    fn long(&mut self, value: u64) {
        self.number(value, self.layout.long_bytes, self.layout.long_bytes);
    }

    fn double(&mut self, bits: u64) {
        self.number(bits, 8, self.layout.double_alignment);
    }

    fn name(&mut self, text: &str, length: usize) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(length, 0);
        self.bytes.extend_from_slice(&bytes);
    }

    /// Ten unions of a double and an `unsigned long`.
    fn unions(&mut self, values: &[u64; 10], is_count: impl Fn(usize) -> bool) {
        self.align(self.layout.double_alignment.max(self.layout.long_bytes));
        for (index, value) in values.iter().enumerate() {
            if is_count(index) {
                self.long(*value);
                self.align(4);
                let short = 8 - self.layout.long_bytes;
                self.bytes.extend_from_slice(&vec![0; short]);
            } else {
                self.double(*value);
            }
        }
    }

    /// Structures end on their alignment.
    fn end(&mut self) {
        self.align(self.layout.double_alignment.max(self.layout.long_bytes));
    }
}

fn bytes_of(image: &Image, layout: FileLayout, version: u8) -> Vec<u8> {
    let header: &RrdHeader = &image.header;
    let mut out = Writer { bytes: Vec::new(), layout };
    out.name("RRD", 4);
    out.name(&format!("{version:04}"), 5);
    out.double(8.642135E130f64.to_bits());
    out.long(header.sources.len() as u64);
    out.long(header.archives.len() as u64);
    out.long(header.step_seconds);
    out.unions(&[0; 10], |_| false);
    out.end();
    for source in &header.sources {
        out.name(&source.name, 20);
        out.name(source.kind.name(), 20);
        if source.kind == SourceKind::Compute {
            // A byte, a byte of padding, 16 bits: twenty times.
            for node in source.values.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]) {
                let [operator, padding, low, high] = node.to_le_bytes();
                let number = if layout.big_endian { [high, low] } else { [low, high] };
                out.bytes.extend_from_slice(&[operator, padding]);
                out.bytes.extend_from_slice(&number);
            }
        } else {
            out.unions(&source.values, |index| index == 0);
        }
    }
    for archive in &header.archives {
        use ConsolidationFunction as Function;
        out.name(archive.function.name(), 20);
        out.long(archive.rows);
        out.long(archive.steps_per_row);
        out.unions(&archive.values, |index| match archive.function {
            Function::HwPredict | Function::MhwPredict | Function::DevPredict => index == 3,
            Function::Seasonal | Function::DevSeasonal => index == 3 || index == 4,
            Function::Failures => (3..=5).contains(&index),
            _ => false,
        });
        out.end();
    }
    let time_alignment = if layout.time_bytes == 8 { layout.double_alignment } else { 4 };
    out.number(header.last_update.seconds as u64, layout.time_bytes, time_alignment);
    if version >= 3 {
        out.long(header.last_update.microseconds as u64);
        let live = time_alignment.max(layout.long_bytes);
        // The structure's own size is rounded, from where it began.
        let length = (layout.time_bytes + layout.long_bytes).next_multiple_of(live);
        let padding = length - layout.time_bytes - layout.long_bytes;
        out.bytes.extend_from_slice(&vec![0; padding]);
    }
    let mut rest = Writer { bytes: Vec::new(), layout };
    for primary in &header.primary {
        rest.bytes.extend_from_slice(&primary.reading);
        rest.unions(&primary.values, |index| index == 0);
    }
    for (index, values) in header.consolidation.iter().enumerate() {
        let function = header.archives[index / header.sources.len()].function;
        if function == ConsolidationFunction::Failures {
            let bytes: Vec<u8> = values.iter().flat_map(|word| word.to_le_bytes()).collect();
            rest.bytes.extend_from_slice(&bytes[..64]);
            rest.double(values[8]);
            rest.double(values[9]);
        } else {
            rest.unions(values, |index| matches!(index, 1 | 6 | 7));
        }
    }
    for row in &header.current_row {
        rest.long(*row);
    }
    for cell in image.cells.iter().flatten() {
        rest.number(cell.to_bits(), 8, 4);
    }
    out.bytes.extend(rest.bytes);
    out.bytes
}

/// A file of every kind of state, with 32-bit counts.
fn sample(folder: &Path) -> Image {
    let path = folder.join("sample");
    let line = format!(
        "create {} --start 1000000000 --step 10 DS:a:GAUGE:60:0:U DS:bb:COUNTER:60:U:U \
        DS:sum:COMPUTE:a,2,*,bb,+ RRA:AVERAGE:0.5:1:7 RRA:MIN:0.25:3:5 RRA:LAST:0:2:3 \
        RRA:HWPREDICT:12:0.1:0.0035:4",
        name(&path)
    );
    let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    assert_eq!(ours(&line), "OK\n");
    let mut random = Random::from_seed(99);
    for step in 1..60 {
        let time = 1_000_000_000 + step * 9;
        let (a, b) = (random.below(100), step * 70 + random.below(50) as i64);
        let line = format!("update {} {time}.25:{a}:{b}", name(&path));
        assert_eq!(ours(&words(&line)), "OK\n");
    }
    Image::read(&path).expect("a file")
}

#[test]
fn every_layout_and_version_becomes_this_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = sample(folder.path());
    for layout in LAYOUTS {
        for version in 1..=5 {
            let what = format!("{}, version {version}", layout.name);
            let (path, new) = (folder.path().join("old"), folder.path().join("new"));
            let _ = std::fs::remove_file(&new);
            std::fs::write(&path, bytes_of(&image, *layout, version)).expect("written");
            let line = format!("convert {} {}", name(&path), name(&new));
            assert_eq!(ours(&words(&line)), "OK\n", "{what}");
            let mut expected = image.clone();
            expected.header.version = version.max(3);
            if version < 3 {
                expected.header.last_update.microseconds = 0;
            }
            let found = std::fs::read(&new).expect("a file");
            let expected = expected.to_bytes();
            let at = expected.iter().zip(&found).position(|(a, b)| a != b);
            assert!(expected == found, "{what}: byte {at:?}");
            // In place, and only files that can be updated here are not refused.
            let check = ours(&words(&format!("check {}", name(&path))));
            assert_eq!(check.contains(": sound"), *layout == X86_64, "{what}: {check}");
            let line = format!("convert --in-place {}", name(&path));
            assert_eq!(ours(&words(&line)), "OK\n", "{what}");
            assert_eq!(std::fs::read(&path).expect("a file"), found, "{what}");
        }
    }
}

/// What both programs make of a file with another step and the same archives in other words.
#[test]
fn another_step_gives_what_create_with_a_source_gives() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |end: &str| folder.path().join(end);
    let mut random = Random::from_seed(testkit::seed(5));
    let mut theirs = Theirs::start();
    filled(&mut theirs, &path("old"), 10, &mut random);
    // The forecast is no part of the comparison: it begins anew here.
    let plain = "tune FILE DELRRA:9 DELRRA:8 DELRRA:7 DELRRA:6 DELRRA:5";
    assert_eq!(ours(&words(&plain.replace("FILE", &name(&path("old"))))), "OK\n");
    let cases = [
        (5, ["1:0.5:2:60", "1:0.5:8:40", "3:0.5:6:20", "2:0.1:2:30", "4:0.5:4:25"]),
        (20, ["1:0.5:1:30", "1:0.5:2:40", "3:0.5:2:15", "2:0.1:1:15", "4:0.5:1:25"]),
        (7, ["1:0.5:1:86", "1:0.5:6:39", "3:0.5:4:22", "2:0.1:1:43", "4:0.5:3:24"]),
        (300, ["1:0.5:1:2", "1:0.5:1:6", "3:0.5:1:2", "2:0.1:1:1", "4:0.5:1:2"]),
    ];
    for (step, archives) in cases {
        let (expected, found) = (path("theirs"), path("ours"));
        let _ = std::fs::remove_file(&found);
        let _ = std::fs::remove_file(&expected);
        let line = format!("convert --step {step} {} {}", name(&path("old")), name(&found));
        assert_eq!(ours(&words(&line)), "OK\n");
        let mut line = words(&format!(
            "create {} --source {} --step {step} DS:a:GAUGE:600:0:1000 DS:bb:COUNTER:600:U:U DS:c:DERIVE:600:U:U",
            name(&expected),
            name(&path("old"))
        ));
        for archive in archives {
            let (function, rest) = archive.split_once(':').expect("a function");
            let functions = ["", "AVERAGE", "MIN", "MAX", "LAST"];
            let function = functions[function.parse::<usize>().expect("a number")];
            line.push(format!("RRA:{function}:{rest}"));
        }
        assert_eq!(theirs.run(&line), "OK\n", "{line:?}");
        let rows = |path: &Path| {
            let text = theirs_dump(path);
            let lines = text.lines().filter(|line| {
                ["<row>", "<cf>", "pdp_per_row", "<step>", "<xff>"]
                    .iter()
                    .any(|tag| line.contains(tag))
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_same_text(&rows(&expected), &rows(&found), &format!("step {step}"));
        // Counters go on where they were.
        let readings = |path: &Path| -> Vec<Vec<u8>> {
            let image = Image::read(path).expect("a file");
            image.header.primary.iter().map(|one| one.reading().to_vec()).collect()
        };
        assert_eq!(readings(&path("old")), readings(&found));
        let check = ours(&words(&format!("check {}", name(&found))));
        assert!(check.contains(": sound"), "{check}");
    }
}

fn theirs_dump(path: &Path) -> String {
    ours(&words(&format!("dump {}", name(path))))
}

#[test]
fn sources_and_archives_change_with_the_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = sample(folder.path());
    let (old, new) = (folder.path().join("sample"), folder.path().join("new"));
    let line = format!(
        "convert {} {} --step 20 DEL:sum DS:n:GAUGE:60:U:U DELRRA:1 RRA:MAX:0.5:2:9",
        name(&old),
        name(&new)
    );
    assert_eq!(ours(&words(&line)), "OK\n");
    let found = Image::read(&new).expect("a file");
    let names: Vec<&str> = found.header.sources.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "bb", "n"]);
    assert_eq!(found.header.step_seconds, 20);
    assert_eq!(found.header.archives.len(), image.header.archives.len());
    assert_eq!(found.header.last_update, image.header.last_update);
    // A row of 20 s is the mean of two rows of 10 s.
    let value = |image: &Image, archive: usize, back: u64| {
        let rows = image.header.archives[archive].rows;
        let row = (image.header.current_row[archive] + rows - back) % rows;
        image.cells[archive][row as usize * image.header.sources.len()]
    };
    let newest = (found.header.newest_row(0), image.header.newest_row(0));
    let lag = u64::try_from((newest.1 - newest.0) / 10).expect("not newer");
    let mean = (value(&image, 0, lag) + value(&image, 0, lag + 1)) / 2.0;
    assert!((value(&found, 0, 0) - mean).abs() < 1e-9, "{} {mean}", value(&found, 0, 0));
}
