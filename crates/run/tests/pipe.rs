//! Blocks of a stream and parts of a file against those of the installed `parallel`: each job
//! writes what it got and a mark behind it.  A few are tried at each run, and any number of random
//! ones on demand (`cargo test -p run --test all -- --ignored pipe`; `SEED` and `COUNT` may be set).
//! Where it is not installed, these tests say so and pass.

use std::io::Write as _;

use run::pipe::{BlockSize, Cutter, PipeHeader, PipeOptions, parts, unescape};
use testkit::Random;

use testkit::parallel;

/// What ends each job's input in what is compared; no text of these tests holds it.
const MARK: u8 = 1;

/// What the jobs of `parallel` got, or `None` where there is none.
fn theirs(options: &[String], text: &[u8]) -> Option<Vec<u8>> {
    let words = options.iter().map(String::as_str).chain([r"cat; printf '\001'"]);
    let output = parallel("/bin/sh", ["-j2"].into_iter().chain(words), text)?;
    Some(output.stdout)
}

fn parse(words: &[String]) -> PipeOptions {
    let mut options = PipeOptions::default();
    let mut left = words.iter();
    while let Some(word) = left.next() {
        let mut value = || left.next().expect("an option has its value");
        match word.as_str() {
            "--pipe" | "--pipe-part" => {}
            "-a" => _ = value(),
            "--block" => {
                let number: i64 = value().parse().expect("a block is a number");
                options.block = Some(match u64::try_from(number) {
                    Ok(bytes) => BlockSize::Bytes(bytes),
                    Err(_) => BlockSize::PerSlot(number.unsigned_abs() as u32),
                });
            }
            "--recstart" => options.record_start = Some(value().clone().into_bytes()),
            "--recend" => options.record_end = Some(value().clone().into_bytes()),
            "--regexp" => options.regexp = true,
            "--rrs" => options.remove_separators = true,
            "--csv" => options.csv = true,
            "-r" => options.drop_blank_lines = true,
            "-N" => options.records_max = value().parse().ok(),
            "-L" => options.record_lines = value().parse().ok(),
            "--header" => {
                options.header = match value().as_str() {
                    ":" => PipeHeader::Lines(1),
                    number => PipeHeader::Lines(number.parse().expect("a header is a number")),
                };
            }
            other => panic!("{other} is unknown to the test"),
        }
    }
    if !options.regexp {
        for text in [&mut options.record_start, &mut options.record_end].into_iter().flatten() {
            *text = unescape(text);
        }
    }
    options
}

fn stream(words: &[String], mut text: &[u8]) -> Vec<u8> {
    let mut cutter = Cutter::new(&parse(words)).expect("the options are understood");
    let mut out = Vec::new();
    while let Some(block) = cutter.read_block(&mut text).expect("the text can be cut") {
        out.extend_from_slice(cutter.header());
        out.extend_from_slice(&block.bytes);
        out.push(MARK);
        cutter.recycle(block.bytes);
    }
    out
}

fn file(words: &[String], text: &[u8], file: &std::fs::File) -> Vec<u8> {
    let parts = parts(file, &parse(words), 2, file.metadata().expect("its size").len())
        .expect("the file can be cut");
    let mut out = Vec::new();
    for range in parts.ranges {
        out.extend_from_slice(&parts.header);
        out.extend_from_slice(&text[range.start as usize..range.end as usize]);
        out.push(MARK);
    }
    out
}

/// Tries one command line; `false` when there is nothing to compare with.
#[track_caller]
fn same(words: &[String], text: &[u8]) -> bool {
    let (theirs, ours) = if words[0] == "--pipe-part" {
        let mut on_disk = tempfile::NamedTempFile::new().expect("a file can be made");
        on_disk.write_all(text).expect("it can be written");
        let mut words = words.to_vec();
        words.extend(["-a".to_owned(), on_disk.path().display().to_string()]);
        (theirs(&words, b""), file(&words, text, on_disk.as_file()))
    } else {
        (theirs(words, text), stream(words, text))
    };
    let Some(theirs) = theirs else { return false };
    let show =
        |text: &[u8]| String::from_utf8_lossy(text).replace('\u{1}', "|").replace('\n', "\\n");
    assert!(
        ours == theirs,
        "{words:?} with {:?}\nours:   {}\ntheirs: {}",
        String::from_utf8_lossy(text),
        show(&ours),
        show(&theirs)
    );
    true
}

fn all_same(lines: &[&str], text: &str) {
    for line in lines {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if !same(&words, text.as_bytes()) {
            return;
        }
    }
}

#[test]
fn streams() {
    let text = "head\n>a;1\n>bb;22\n>>ccc;333\n;\n\n>dddd;4444\n>e;5";
    all_same(
        &[
            "--pipe --block 9",
            r"--pipe --block 7 --recstart > --recend \n --rrs",
            "--pipe --header : -N 2 --recend ;",
            "--pipe --block 12 --regexp --recend [0-9]+",
            "--pipe --block 15 -L 2",
        ],
        text,
    );
}

#[test]
fn parts_of_files() {
    let text = "head\n>a;1\n>bb;22\n>>ccc;333\n;\n\n>dddd;4444\n>e;5";
    all_same(
        &[
            "--pipe-part",
            "--pipe-part --block -2 --header :",
            r"--pipe-part --block 7 --recstart > --recend \n",
        ],
        text,
    );
}

fn text(random: &mut Random) -> String {
    let pieces = ["a", "bc", ";", ";;", ">", "\n", "\n", "1", "23", "END", " ", "x\n"];
    (0..random.below(60)).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect()
}

fn words(random: &mut Random) -> Vec<String> {
    let mut words = Vec::new();
    let part = random.below(3) == 0;
    words.push(if part { "--pipe-part" } else { "--pipe" }.to_owned());
    let separators = [
        vec![],
        vec!["--recend", ";"],
        vec!["--recend", "END"],
        vec!["--recstart", ">"],
        vec!["--recstart", ">", "--recend", "\\n"],
        vec!["--recend", ";;"],
        vec!["--recend", ""],
        vec!["--regexp", "--recend", "[0-9]+"],
        vec!["--regexp", "--recstart", "[a-c]"],
    ];
    let of_parts = if part { 7 } else { separators.len() };
    let separator = &separators[random.below(of_parts as u64) as usize];
    words.extend(separator.iter().map(|word| (*word).to_owned()));
    let anywhere = separator.last() == Some(&"");
    let block = if part && random.below(3) == 0 {
        format!("-{}", random.below(4) + 1)
    } else {
        (random.below(30) + 1).to_string()
    };
    words.extend(["--block".to_owned(), block]);
    if random.below(4) == 0 {
        words.extend(["--header".to_owned(), ":".to_owned()]);
    }
    if part {
        return words;
    }
    if random.below(4) == 0 {
        words.push("--rrs".to_owned());
    }
    // What it counts with a pattern depends on where its block ends.
    let pattern = separator.first() == Some(&"--regexp");
    match random.below(6) {
        0 if !anywhere && !pattern => {
            words.extend(["-N".to_owned(), (random.below(3) + 1).to_string()]);
        }
        1 if !anywhere => words.extend(["-L".to_owned(), (random.below(3) + 1).to_string()]),
        _ => {}
    }
    words
}

#[test]
#[ignore = "takes half a second a line of the other program"]
#[allow(clippy::print_stderr)]
fn random_command_lines() {
    let seed = testkit::seed(1);
    let count = testkit::setting("COUNT", 20);
    for seed in seed..seed + count {
        eprintln!("seed {seed}");
        let mut random = Random::from_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let words = words(&mut random);
        let mut text = text(&mut random);
        if words.iter().any(|word| word == "-N") {
            // Counting records, it does not count an empty one at the beginning of a block.
            for end in ["\n", ";", "END"] {
                text = text.replace(end, &format!("_{end}"));
            }
        }
        if !same(&words, text.as_bytes()) {
            return;
        }
    }
}

/// How fast a stream is cut, without anybody reading what is cut.
#[test]
#[ignore = "measures, in a release build"]
#[allow(clippy::print_stderr)]
fn measure_cutting() {
    /// Gives the same text again and again, as much as a pipe holds at a time.
    struct Again<'a>(&'a [u8], usize, u64);
    impl std::io::Read for Again<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let rest = &self.0[self.1..];
            let count = rest.len().min(into.len()).min(65_536).min(self.2 as usize);
            into[..count].copy_from_slice(&rest[..count]);
            self.1 = (self.1 + count) % self.0.len();
            self.2 -= count as u64;
            Ok(count)
        }
    }
    let mut text = Vec::new();
    for number in 0..200_000 {
        writeln!(text, "{number},\"some text\",{}", number * 7).expect("memory can be written");
    }
    let bytes: u64 = 2 << 30;
    let word = |text: &str| Some(text.as_bytes().to_vec());
    for (name, options, bytes) in [
        ("lines, 1 MiB", PipeOptions::default(), bytes),
        ("bare copy", PipeOptions { record_end: word(""), ..PipeOptions::default() }, bytes),
        (
            "lines, 64 KiB",
            PipeOptions { block: Some(BlockSize::Bytes(65_536)), ..PipeOptions::default() },
            bytes,
        ),
        ("csv, 1 MiB", PipeOptions { csv: true, ..PipeOptions::default() }, bytes),
        (
            "end and start",
            PipeOptions {
                record_start: word("1"),
                record_end: word("\n"),
                ..PipeOptions::default()
            },
            bytes,
        ),
        (
            "pattern, 1 MiB",
            PipeOptions { record_end: word("7\n"), regexp: true, ..PipeOptions::default() },
            bytes,
        ),
        (
            "1000 lines a block",
            PipeOptions { records_max: Some(1000), ..PipeOptions::default() },
            bytes / 4,
        ),
        (
            "1 line a block",
            PipeOptions { records_max: Some(1), ..PipeOptions::default() },
            bytes / 16,
        ),
        (
            "records of 4 lines",
            PipeOptions { record_lines: Some(4), ..PipeOptions::default() },
            bytes / 4,
        ),
        (
            "separators removed",
            PipeOptions { remove_separators: true, ..PipeOptions::default() },
            bytes / 4,
        ),
    ] {
        let mut cutter = Cutter::new(&options).expect("the options are understood");
        let mut stream = Again(&text, 0, bytes);
        let start = std::time::Instant::now();
        let mut blocks = 0_u64;
        while let Some(block) = cutter.read_block(&mut stream).expect("the text can be cut") {
            blocks += 1;
            cutter.recycle(block.bytes);
        }
        let seconds = start.elapsed().as_secs_f64();
        let speed = bytes as f64 / seconds / 1e9;
        eprintln!("{name}: {speed:.2} GB/s, {:.0} blocks/s", blocks as f64 / seconds);
    }
}
