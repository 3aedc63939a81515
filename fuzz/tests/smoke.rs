//! Runs every target on its seeds and on mutations of them, for a moment each.  No engine, no
//! nightly compiler: this keeps targets from rotting and catches what is easy to catch.
//!
//! Set `WHIT_FUZZ_MS` to run each longer, `WHIT_FUZZ_ONLY` to run the targets whose names begin with
//! it.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use recording::{Compression, Storage, Writer, WriterOptions};
use sample::{Meta, Snapshot, State};
use testkit::Random;
use whit_fuzz::parsers::PARSERS;
use whit_fuzz::{DEFS, TARGETS};

/// A few small changes: bytes, bits, pieces taken out, doubled or moved.
fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.index(bytes.len());
        let length = random.index(12).min(bytes.len() - at);
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.one_of(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let piece = bytes[at..at + length].to_vec();
                let to = random.index(bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            4 => bytes.insert(at, random.bits() as u8),
            _ => bytes.truncate(bytes.len() - random.index(bytes.len() / 4)),
        }
    }
    bytes
}

/// Seeds from the files of a target, and those that are made here.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut seeds: Vec<_> = files.map(|file| std::fs::read(file.path()).unwrap()).collect();
    seeds.push(Vec::new());
    match name {
        "recording_reader" => {
            seeds.extend([Compression::FramesOnly, Compression::Zstd(1)].map(recorded));
        }
        "recording_columns" => seeds.push(body(&recorded(Compression::None))),
        "recording_frames" => seeds.push(frames(&recorded(Compression::FramesOnly))),
        "proc_stat" => seeds.extend(std::fs::read("/proc/stat")),
        "procfs" => seeds.extend(kernel_texts()),
        "atop" => {
            seeds.push(include_bytes!("../../testdata/atop/atop_20261127").to_vec());
        }
        "sadc" => {
            seeds.push(include_bytes!("../../testdata/sysstat/sa20261126").to_vec());
            seeds.push(include_bytes!("../../testdata/sysstat/sa-10.1.5").to_vec());
            seeds.push(include_bytes!("../../testdata/sysstat/sa-11.2.0").to_vec());
        }
        "collectl_plain" => seeds.extend(collectls()),
        "collectl_gzip" => seeds.extend(collectls().iter().map(|file| unpacked(file))),
        "sources" => seeds.extend(whit_fuzz::machines::seeds()),
        "snmp_message" => seeds.extend(whit_fuzz::network::seeds()),
        "hosts_stream" | "log_recordings" | "poll_table" | "send_answer" | "send_json"
        | "send_nats" | "top_columns" => {
            seeds.extend(whit_fuzz::engines::seeds(
                name,
                &frames(&recorded(Compression::FramesOnly)),
            ));
        }
        "log_view_keys" => seeds.extend(
            [
                "PP/lost\nNnS\t\t\nx?\x1b",
                "\x50\x18tdisk\nskept\nxf\nfd",
                "\u{c8}0oCONTROL/*\nhoak\np7\nlaa2026-01-02\n",
                "\x3c\x0cc \x1bF\x0ce/tmp/none\nt/(/\n",
            ]
            .map(|text| text.chars().map(|c| c as u8).collect()),
        ),
        name if name.starts_with("log_") => seeds.extend(whit_fuzz::logs::seeds(name)),
        "snmp_session" => seeds.extend(whit_fuzz::network::session_seeds()),
        name if name.starts_with("rrd_") => seeds.extend(whit_fuzz::rrd::seeds(name)),
        name => seeds.extend(whit_fuzz::jobs::seeds(name)),
    }
    seeds
}

/// collectl's recordings of the test data, most of them compressed.
fn collectls() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/recordings");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".raw"));
    paths.sort();
    let mut files: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    // The beginning of the text, too: short inputs run by the thousand.
    for index in 0..files.len() {
        let mut text = unpacked(&files[index]);
        text.truncate(40_000);
        files.push(text);
    }
    files
}

/// The text of a recording.
fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if file.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut text).unwrap();
        return text;
    }
    file.to_vec()
}

/// The file of each parser, from every machine that has it and from this one.
fn kernel_texts() -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for tree in testkit::trees::ALL {
        let host = testkit::FakeHost::new().unwrap();
        tree.write(host.root(), 0).unwrap();
        for (index, parser) in PARSERS.iter().enumerate() {
            for path in [host.path(parser.example), parser.example.into()] {
                let text = std::fs::read(path).unwrap_or_default();
                texts.push([&[index as u8], text.as_slice()].concat());
            }
        }
    }
    texts.retain(|text| text.len() > 1);
    texts.sort();
    texts.dedup();
    texts
}

struct Memory(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Storage for Memory {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> std::io::Result<usize> {
        let mut file = self.0.lock().unwrap();
        let (at, end) = (offset as usize, offset as usize + bytes.len());
        let length = file.len().max(end);
        file.resize(length, 0);
        file[at..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn truncate(&mut self, length: u64) -> std::io::Result<()> {
        self.0.lock().unwrap().resize(length as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A recording of five samples, one block.
fn recorded(compression: Compression) -> Vec<u8> {
    let bytes = std::sync::Arc::default();
    let memory = Memory(std::sync::Arc::clone(&bytes));
    let options = WriterOptions { compression, ..WriterOptions::default() };
    let path = Path::new("seed");
    let mut writer =
        Writer::with_storage(Box::new(memory), path, &Meta::new(), &DEFS, options).unwrap();
    let mut snapshot = Snapshot::new(&DEFS);
    for tick in 0..5_u64 {
        snapshot.monotonic_ns = tick * 1_000;
        snapshot.fresh.fill(true);
        for (index, sample) in snapshot.samples.iter_mut().enumerate() {
            sample.state = State::Ok;
            sample.table.begin();
            for row in 0..index as u64 * 2 + 1 + tick % 2 * index as u64 {
                let mut row = sample.table.row(format!("row{row}").as_bytes());
                row.set(0, tick * 3);
                if index == 1 {
                    row.set_text(1, if tick == 3 { b"three" } else { b"other" });
                    row.set_some(2, (tick != 2).then_some(tick % 2));
                }
            }
        }
        let text = format!("cpu {tick} 1 2 3");
        let texts = std::iter::once((b"/proc/stat".as_slice(), text.as_bytes()));
        writer.append_with_texts(&snapshot, texts).unwrap();
    }
    writer.close().unwrap();
    bytes.lock().unwrap().clone()
}

/// Where the first block begins, and its body.
fn body(file: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let block = word(12);
    let start = block + word(block + 40);
    file[start..start + word(block + 44)].to_vec()
}

/// The frames of the first block as the target wants them.
fn frames(file: &[u8]) -> Vec<u8> {
    let body = body(file);
    let mut rest = body.as_slice();
    let mut out = Vec::new();
    while rest.len() > 12 {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        out.extend_from_slice(&(length as u16).to_le_bytes());
        out.extend_from_slice(&rest[12..12 + length]);
        rest = &rest[12 + length..];
    }
    out
}

#[test]
fn every_target_survives() {
    let time =
        Duration::from_millis(testkit::setting("WHIT_FUZZ_MS", testkit::share(1_000) as u64));
    let only = std::env::var("WHIT_FUZZ_ONLY").unwrap_or_default();
    for (name, target) in TARGETS.iter().filter(|(name, _)| name.starts_with(&only)) {
        let seeds = seeds(name);
        for seed in &seeds {
            target(seed);
        }
        println!("{name}: {} seeds", seeds.len());
        let start = Instant::now();
        let mut random = Random::from_seed(0x9e37_79b9_7f4a_7c15);
        let mut runs = 0_u64;
        while start.elapsed() < time {
            let seed = &seeds[random.index(seeds.len())];
            target(&mutated(seed, &mut random));
            runs += 1;
        }
        println!("{name}: {runs} inputs");
        assert!(runs > 0);
    }
}

#[test]
fn seeds_reach_the_samples() {
    use recording::fuzzing::{Part, file_around, read_through};
    assert_eq!(read_through(recorded(Compression::Zstd(1))), 5);
    let columns = body(&recorded(Compression::None));
    assert_eq!(read_through(file_around(Part::Columns, &columns, &DEFS)), 5);
    let frames = frames(&recorded(Compression::FramesOnly));
    assert_eq!(read_through(file_around(Part::Frames, &frames, &DEFS)), 5);
    let (head, sent) = recording::fuzzing::stream_around(&frames, &DEFS);
    assert_eq!(many_hosts::fuzz_stream(&[head, sent].concat(), &DEFS), 5);
    // Twice the same five, of which the server takes each once.
    let seeds = whit_fuzz::engines::seeds("log_recordings", &frames);
    let taken = seeds.iter().map(|seed| whit_fuzz::engines::samples_taken(seed));
    assert_eq!(taken.collect::<Vec<_>>(), [5, 5, 5]);
}

#[test]
fn seeds_reach_parsers_sources_and_intervals() {
    let texts = kernel_texts();
    for (index, parser) in PARSERS.iter().enumerate() {
        let here = texts.iter().any(|text| usize::from(text[0]) == index);
        let example = parser.example;
        // Sensors, adapters and zram are not on every machine that tests run on.
        assert!(here || example.starts_with("/sys"), "no text of {example}");
    }
    let played: Vec<u64> = collectls().into_iter().map(whit_fuzz::collectl::play).collect();
    assert!(played.iter().all(|&intervals| intervals >= 3), "{played:?}");
    let names = whit_fuzz::machines::names();
    for name in source::ALL.iter().copied().map(|entry| entry.name) {
        // These ask the system itself, or whit: a host in memory has nothing for them.
        let is_text = !matches!(
            name,
            "exit"
                | "filesystem"
                | "job"
                | "log"
                | "process_net"
                | "process_total"
                | "syscall"
                | "whit"
        );
        assert!(names.contains(&name) || !is_text, "no machine for the source {name}");
    }
}

/// Writes the seeds where `cargo fuzz` looks for them, if asked with `WHIT_FUZZ_SEEDS=1`.
#[test]
fn seeds_for_the_engine() {
    if std::env::var_os("WHIT_FUZZ_SEEDS").is_none() {
        return;
    }
    for (name, _) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("engine/corpus").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (index, seed) in seeds(name).iter().enumerate() {
            std::fs::write(folder.join(format!("seed{index}")), seed).unwrap();
        }
    }
}
