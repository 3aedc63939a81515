//! Round-robin databases: files, dumps, readings and definitions of others.
//!
//! Files are written to memory (`/dev/shm`) and opened as any file is.

use std::path::{Path, PathBuf};

use rrd::command::{self, CommandEnvironment};
use rrd::header::Time;
use rrd::image::Image;
use rrd::repair::{self, repair_bytes};
use rrd::update::Moments;
use rrd::{check, restore, restructure, tune};

/// Later than the updates of the seeds.
const NOW: i64 = 1_700_000_000;

/// Seconds, and UTC.
struct Plain;

impl Moments for Plain {
    fn now(&self) -> Time {
        Time::of_seconds(NOW)
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        words.parse().map_err(|_| format!("no number: {words}"))
    }
}

impl CommandEnvironment for Plain {
    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }

    fn period(&self, start: &str, end: &str) -> Result<(i64, i64), String> {
        Ok((self.parse(start)?, self.parse(end)?))
    }
}

/// A file that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(bytes: &[u8]) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let thread = format!("{:?}", std::thread::current().id());
        let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
        let path = folder.join(format!("whit-fuzz-{}-{thread}.rrd", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    /// Runs a command on the file; whether it was done.
    fn run(&self, line: &str) -> bool {
        let name = self.0.display().to_string();
        let words: Vec<String> = line.split(' ').map(|word| word.replace("FILE", &name)).collect();
        self.run_words(&words)
    }

    fn run_words(&self, words: &[String]) -> bool {
        let mut out = Vec::new();
        command::run(&words[0], &words[1..], &Plain, &mut out).unwrap().is_ok()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Everything that reads a file, and an update.
fn use_file(file: &Scratch) {
    for line in [
        "info FILE",
        "dump FILE",
        "lastupdate FILE",
        "first FILE --rraindex 1",
        "check FILE",
        "fetch FILE AVERAGE -s 1000000000 -e 1000000600",
        "fetch FILE LAST -r 60 -s 1000000000 -e 1000000600",
        "tune FILE -h a:500 -i a:1 -b a",
        "update FILE 1000001000:1 1000001100:1:2 1000001300:1:2:3",
        "updatev FILE 1700000000:1:2",
        "dump FILE",
    ] {
        file.run(line);
    }
}

/// The bytes are a file.
pub fn rrd_file(bytes: &[u8]) {
    use_file(&Scratch::new(bytes));
}

/// The bytes are a damaged file: what is mended is sound.
pub fn rrd_repair(bytes: &[u8]) {
    let options = repair::Options {
        now: NOW,
        step_seconds: Some(10),
        bytes_max: 1 << 22,
        locking: rrd::Locking::None,
    };
    let Ok(repaired) = repair_bytes(bytes.to_vec(), NOW - 5, &options) else { return };
    let file = Scratch::new(&repaired.image.to_bytes());
    let findings = check::check(&file.0, NOW).unwrap();
    assert!(findings.is_empty(), "{findings:?}: {:?}", repaired.changes);
    let again = repair_bytes(repaired.image.to_bytes(), NOW - 5, &options).unwrap();
    assert!(again.changes.is_empty(), "{:?}: {:?}", again.changes, repaired.changes);
    use_file(&file);
}

/// The bytes are a dump.
pub fn rrd_restore(bytes: &[u8]) {
    let Some((choice, text)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    if let Ok(image) = restore::restore(&text, choice & 1 != 0) {
        use_file(&Scratch::new(&image.to_bytes()));
    }
}

/// A byte that chooses a file; then lines: an update each, of readings between blanks.
pub fn rrd_update(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let files = files();
    let file = Scratch::new(&files[usize::from(*choice) % files.len()].to_bytes());
    for line in rest.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let mut words = vec!["updatev".to_owned(), file.0.display().to_string()];
        words.extend(line.split(' ').map(str::to_owned));
        file.run_words(&words);
    }
    use_file(&file);
}

/// Lines: definitions of `create` up to an empty one, then words of `tune`.
pub fn rrd_words(bytes: &[u8]) {
    /// Longer numbers may ask for more memory than there is.
    const DIGITS_MAX: usize = 4;
    let text = String::from_utf8_lossy(bytes);
    let mut digits = text.split(|byte: char| !byte.is_ascii_digit());
    let is_suffixed = text.split(':').any(|word| {
        word.starts_with(|first: char| first.is_ascii_digit())
            && word.ends_with(|last: char| "smhdwMy".contains(last))
    });
    if digits.any(|digits| digits.len() > DIGITS_MAX) || is_suffixed {
        return;
    }
    let (definitions, words) = text.split_once("\n\n").unwrap_or((&text, ""));
    let definitions: Vec<&str> = definitions.split('\n').collect();
    let options = rrd::create::Options { start: Some(1_000_000_000), ..Default::default() };
    let Ok(mut image) = rrd::create::image(Path::new("f"), &options, &definitions, NOW) else {
        return;
    };
    let words: Vec<String> = words.split('\n').map(str::to_owned).collect();
    let before: Image = image.clone();
    if restructure::restructure(&mut image, &words, b"f").is_err() {
        image = before;
    }
    for word in &words {
        if let Some((letter, value)) = word.split_once('=') {
            let letter = letter.chars().next().unwrap_or('h');
            let _ = tune::change(&mut image, letter, value);
        }
    }
    use_file(&Scratch::new(&image.to_bytes()));
}

const DEFINITIONS: [&str; 4] = [
    "DS:a:GAUGE:600:U:U\nDS:b:COUNTER:600:0:U\nRRA:AVERAGE:0.5:1:12\nRRA:MAX:0.5:3:4\n\n\
     DEL:b\nDS:x:DERIVE:100:U:U\nRRA:MIN:0.2:2:9\nRRA#0:+3\nDELRRA:1\nr=a:q\nw=5",
    "DS:a:DCOUNTER:600:U:1e6\nDS:c:COMPUTE:a,2,*,UN,7,a,IF\nRRA:LAST:0.5:2:5\n\nDEL:a\nh=a:9",
    "DS:a:ABSOLUTE:60:U:U\nRRA:HWPREDICT:20:0.1:0.0035:5\n\nRRA:MHWPREDICT:9:0.1:0.1:3\nb=a\np=3",
    "DS:a:DDERIVE:60:U:U\nRRA:AVERAGE:0:1:3\nRRA:SEASONAL:5:0.1:1:smoothing-window=0.2\n\nf=3\ns=.3",
];

/// Files of each kind, with some readings.
fn files() -> Vec<Image> {
    let made = |text: &&str| {
        let definitions = text.split("\n\n").next().unwrap_or_default();
        let definitions: Vec<&str> = definitions.split('\n').collect();
        let options = rrd::create::Options {
            start: Some(1_000_000_000),
            step_seconds: Some(10),
            ..Default::default()
        };
        rrd::create::image(Path::new("f"), &options, &definitions, NOW).ok()
    };
    DEFINITIONS.iter().filter_map(made).collect()
}

/// The same, updated.
fn updated() -> Vec<Vec<u8>> {
    let update = |image: Image| {
        let file = Scratch::new(&image.to_bytes());
        let given = image.header.sources.iter();
        let given = given.filter(|one| one.kind != rrd::header::SourceKind::Compute).count();
        for step in 1..40 {
            let readings = format!(":{}", step * step).repeat(given);
            file.run(&format!("update FILE {}{readings}", 1_000_000_000 + step * 9));
        }
        std::fs::read(&file.0).unwrap()
    };
    files().into_iter().map(update).collect()
}

/// What the targets begin with.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "rrd_file" | "rrd_repair" => updated(),
        "rrd_restore" => {
            let dump = |bytes: Vec<u8>| {
                let file = Scratch::new(&bytes);
                let mut out = vec![0];
                let words = [file.0.display().to_string()];
                command::run("dump", &words, &Plain, &mut out).unwrap().unwrap();
                out
            };
            updated().into_iter().map(dump).collect()
        }
        "rrd_update" => {
            let lines = [
                "1000000010:1:2 1000000020:U:3\n1000000025.5:12345678901234567890:-7",
                "N:1\n-10:2 -5:1e300:inf\n1000000100:nan:0x10",
                "-t a 1000000030:5\n-s 1000000030:5 1000000040@1:2\n--template a:b 1000000050:1:2",
            ];
            let with = |choice: u8| lines.map(|line| [&[choice], line.as_bytes()].concat());
            (0..4).flat_map(with).collect()
        }
        "rrd_words" => DEFINITIONS.iter().map(|text| text.as_bytes().to_vec()).collect(),
        _ => Vec::new(),
    }
}
