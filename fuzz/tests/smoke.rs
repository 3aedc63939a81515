//! Runs every target on its seeds and on mutations of them, for a moment each.  No engine, no
//! nightly compiler: this keeps targets from rotting and catches what is easy to catch.
//!
//! Set `WHIT_FUZZ_MS` to run longer than the usual second.

use std::path::Path;
use std::time::{Duration, Instant};

use recording::{Compression, Storage, Writer, WriterOptions};
use sample::{Meta, Snapshot, State};
use whit_fuzz::{DEFS, TARGETS};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// A few small changes: bytes, bits, pieces taken out, doubled or moved.
    fn mutate(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let length = self.below(12).min(bytes.len() - at);
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => drop(bytes.drain(at..at + length)),
                3 => {
                    let piece = bytes[at..at + length].to_vec();
                    let to = self.below(bytes.len());
                    drop(bytes.splice(to..to, piece));
                }
                4 => bytes.insert(at, self.next() as u8),
                _ => bytes.truncate(bytes.len() - self.below(bytes.len() / 4)),
            }
        }
        bytes
    }
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
        _ => {}
    }
    seeds
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
        Writer::with_storage(Box::new(memory), path, &Meta::new(), DEFS, options).unwrap();
    let mut snapshot = Snapshot::new(DEFS);
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
        let texts = [(b"/proc/stat".as_slice(), text.as_bytes())];
        writer.append_with_texts(&snapshot, &texts).unwrap();
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
    let milliseconds = std::env::var("WHIT_FUZZ_MS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_millis(milliseconds.unwrap_or(1_000));
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        for seed in &seeds {
            target(seed);
        }
        let start = Instant::now();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut runs = 0_u64;
        while start.elapsed() < time {
            let seed = &seeds[random.below(seeds.len())];
            target(&random.mutate(seed));
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
    assert_eq!(read_through(file_around(Part::Columns, &columns, DEFS)), 5);
    let frames = frames(&recorded(Compression::FramesOnly));
    assert_eq!(read_through(file_around(Part::Frames, &frames, DEFS)), 5);
}

#[test]
fn every_target_has_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let files = std::fs::read_dir(folder.join("fuzz_targets")).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    for (name, _) in TARGETS {
        let file = folder.join("fuzz_targets").join(format!("{name}.rs"));
        assert!(files.contains(&file), "fuzz_targets/{name}.rs is missing");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "Cargo.toml lacks {name}");
    }
    assert_eq!(files.len(), TARGETS.len(), "a file in fuzz_targets/ is in no list");
}
