//! Input and packing against the installed `parallel`: what it prints with `--dry-run` is what our
//! records, put into the same template, must give.  Each start of it takes tenths of a second: a
//! few lines of commands are tried at each run, and any number of random ones on demand
//! (`cargo test -p run --test all -- --ignored input`; `SEED` and `COUNT` may be set).  Where it is not
//! installed, these tests say so and pass.

use std::io::Write as _;

use run::input::{
    Columns, InputOptions, InputSource, Packer, Separators, Trim, ValueNames, delimiter, file,
    open, split,
};
use template::Record;
use template::quote::Shell;
use template::{Context, Packing, Syntax, Template, Values};
use testkit::Random;

use testkit::parallel;

type Bytes = Vec<u8>;

/// What a command line asks for: the options of the real one that concern input.
struct Asked {
    options: InputOptions,
    packing: Packing,
    records_max: u64,
    spread: bool,
    slots: u32,
    limit: usize,
    words: Vec<Bytes>,
    sources: Vec<(InputSource, run::input::Linked)>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[allow(clippy::unwrap_used)]
fn parse(arguments: &[Bytes]) -> Asked {
    let mut asked = Asked {
        options: InputOptions::default(),
        packing: Packing::One,
        records_max: 1,
        spread: false,
        slots: 2,
        limit: usize::MAX,
        words: Vec::new(),
        sources: Vec::new(),
    };
    let mut csv = false;
    let mut left = arguments.iter().peekable();
    let (mut count, mut shared) = (None, Packing::One);
    while let Some(option) = left.next_if(|word| word.starts_with(b"-")) {
        let option = text(option);
        match option.as_str() {
            "--link" => asked.options.link = true,
            "-r" => asked.options.no_run_if_empty = true,
            "--skip-first-line" => asked.options.skip_first_line = true,
            "-0" => asked.options.delimiter = vec![0],
            "--csv" => csv = true,
            "-X" => (asked.packing, asked.records_max) = (Packing::Repeat, u64::MAX),
            "-m" => (asked.packing, asked.records_max) = (Packing::Join, u64::MAX),
            "--xargs" => (asked.packing, asked.records_max) = (Packing::Join, u64::MAX),
            _ => {
                let value = left.next().unwrap();
                let number = text(value).parse::<u64>();
                match option.as_str() {
                    "-d" => asked.options.delimiter = delimiter(value).unwrap(),
                    "--colsep" => asked.options.columns = Columns::Separator(value.clone()),
                    "--header" if value == b"0" => asked.options.header = ValueNames::FileNames,
                    "--header" => asked.options.header = ValueNames::First,
                    "-E" => asked.options.end_of_file = Some(value.clone()),
                    "-a" => asked.sources.push((file(value.clone()), run::input::Linked::No)),
                    "-j" => asked.slots = u32::try_from(number.unwrap()).unwrap(),
                    "-s" => asked.limit = usize::try_from(number.unwrap()).unwrap(),
                    "-n" => (count, shared) = (Some(number.unwrap()), Packing::Join),
                    "-N" => (count, shared) = (Some(number.unwrap()), Packing::Repeat),
                    "-L" => {
                        (count, shared) = (Some(number.unwrap()), Packing::Repeat);
                        asked.options.continued = true;
                    }
                    "--trim" => {
                        asked.options.trim = Some(match value.as_slice() {
                            b"l" => Trim::Left,
                            b"r" => Trim::Right,
                            b"n" => Trim::None,
                            _ => Trim::Both,
                        });
                    }
                    other => panic!("{other} is unknown to the test"),
                }
            }
        }
    }
    if csv {
        asked.options.columns = match asked.options.columns {
            Columns::Separator(separator) => Columns::Csv(separator),
            _ => Columns::Csv(b",".to_vec()),
        };
    }
    let filling = asked.packing != Packing::One;
    let xargs = arguments.iter().any(|word| word == b"--xargs");
    asked.spread = filling && asked.slots > 1 && !xargs;
    if let Some(count) = count {
        asked.records_max = count;
        if asked.packing == Packing::One {
            asked.packing = shared;
        }
    }
    let (words, sources) = split(left.cloned().collect(), &Separators::default());
    asked.words = words;
    asked.sources.extend(sources);
    asked
}

/// The commands that ours gives, a line each; what an error leaves of them.
fn ours(arguments: &[Bytes], input: &[u8]) -> Bytes {
    let asked = parse(arguments);
    let stdin = Box::new(std::io::Cursor::new(input.to_vec()));
    let input = open(asked.sources, &asked.options, stdin).expect("sources open");
    let syntax = Syntax { names: input.names().to_vec(), ..Syntax::default() };
    let mut template = Template::parse(&asked.words, &syntax).expect("the template is understood");
    if !template.has_values() {
        template.append_value();
    }
    let packing = run::input::RecordPacking {
        records_max: asked.records_max,
        spread: asked.spread.then_some(asked.slots),
        exact: false,
    };
    let mut packer = Packer::new(input, packing);
    let measure = template.measure(&[], asked.packing, Shell::Bourne);
    let mut out = Vec::new();
    let mut seq = 0;
    loop {
        seq += 1;
        let values = Values::Quoted(Shell::Bourne);
        let fits = |seq, records: &[Record]| {
            let context = context(seq, asked.packing, records);
            measure.length(&context, records).is_ok_and(|length| length < asked.limit)
        };
        let Ok(Some(records)) = packer.next(fits) else { return out };
        let context = context(seq, asked.packing, &records);
        template.render(&context, values, &mut out).expect("the template renders");
        out.push(b'\n');
    }
}

fn context(seq: u64, packing: Packing, records: &[Record]) -> Context<'_> {
    Context { seq, slot: 1, slots: 1, total: None, records, packing, local_time_s: 0 }
}

/// Tries one command line; `false` when there is nothing to compare with.
#[track_caller]
fn same(arguments: &[Bytes], input: &[u8]) -> bool {
    let words = [b"--dry-run".as_slice()].into_iter().chain(arguments.iter().map(Vec::as_slice));
    let Some(theirs) = parallel("/bin/sh", words, input) else { return false };
    if !theirs.status.success() {
        // Some links of nothing end it with an error of its own language.
        return true;
    }
    let theirs = theirs.stdout;
    let ours = ours(arguments, input);
    assert!(
        ours == theirs,
        "{:?} with {:?}\nours:\n{}\ntheirs:\n{}",
        arguments.iter().map(|argument| text(argument)).collect::<Vec<_>>(),
        text(input),
        text(&ours),
        text(&theirs)
    );
    true
}

/// Tries command lines written with blanks between the words; `_` in a word stands for a blank,
/// `^` for nothing.
fn all_same(lines: &[&str], input: &str) {
    for line in lines {
        let word = |word: &str| word.replace('_', " ").replace('^', "").replace("\\n", "\n").into();
        let arguments: Vec<Bytes> = line.split_whitespace().map(word).collect();
        if !same(&arguments, input.as_bytes()) {
            return;
        }
    }
}

#[test]
fn products_and_links() {
    all_same(
        &[
            "echo_{1}-{2}-{3} ::: a b c :::+ 1 2 :::+ 3 4 5 6 ::: x y :::+ z ^ w",
            "--link echo_{1}-{2}-{3} ::: a b c ::: x y ::: 1 2 3 4 5 6 7",
            "-r echo_{1}-{2} ::: a ^ _ b :::+ 1 2 3 4",
            "-E x echo_{1}-{2}-{3} ::: a b ::: 1 x 2 :::: -",
            "-d , echo_{1}-{2}-{3} ::: a,b c :::: /dev/null",
        ],
        "l1\nl2\nx\nl3\nl4",
    );
}

#[test]
fn columns_and_headers() {
    all_same(
        &[
            "--colsep , echo_{1}-{2}-{3}-{4}-{-1} :::: - ::: p,q r",
            "--header : --colsep , echo_{a}-{b}-{2}-{q}-{4} :::: - ::: q 5 6,7",
            "--colsep b+|(,) --trim n echo_{1}-{2}-{3}-{4}-{5} :::: -",
            "--header : echo_{k}-{v} ::: k 1 2 ::: v 3 4",
            "--link --colsep - echo_{1}-{2}-{3}-{4} ::: A-B C-D ::: e-f g-h 1",
        ],
        "a,b\n 1 ,, 2\n\nx\n,,\nabba,c\n",
    );
}

#[test]
fn packing_of_several_records() {
    all_same(
        &[
            "-j 1 -N 2 echo_{1}-{2}-{}_a{}b ::: 1 2 3 4 5",
            "-j 2 -N 4 -X echo_a{}b ::: 1 2 3 4 5 6 7 8",
            "-j 4 -s 20 -m echo_{} ::: 1 2 3 4 5 6 7 8 9 10 11 12",
            "-j 2 -s 30 --xargs echo_x{}y_{} ::: 1 22 333 4444 55555 666 77 8",
            "-j 2 -L 2 echo_{} ::: 1_ 2 ^ 3_ _ 4 5 ^ ^ 6_",
            "-j 3 -N 0 echo ::: 1 2 3",
        ],
        "",
    );
}

fn value(random: &mut Random) -> String {
    let pieces = ["a", "b", "c", " ", ",", "x y", "-", "'", "1", "2", "3", "é", "."];
    (0..random.below(4)).map(|_| random.one_of(&pieces)).collect()
}

/// A command line: options, a command, sources.
fn command_line(random: &mut Random) -> Vec<Bytes> {
    let mut words: Vec<String> = Vec::new();
    let several = random.below(3) == 0;
    // It does not see the end of linked sources of different lengths, nor of one whose last
    // value is dropped, and spreads nothing over the slots then.
    let mut chance = |words: &mut Vec<String>, of: u64, option: &[&str]| {
        if random.below(of) == 0 {
            words.extend(option.iter().map(|word| (*word).to_owned()));
        }
    };
    if !several {
        chance(&mut words, 4, &["--link"]);
        chance(&mut words, 4, &["-r"]);
    }
    chance(&mut words, 6, &["-E", "b"]);
    chance(&mut words, 8, &["--skip-first-line"]);
    chance(&mut words, 6, &["-d", ","]);
    let trim = random.one_of(&["l", "r", "lr", "rl", "n"]);
    let column = random.one_of(&[",", "-", r"\s+", "[,-]", "b*"]);
    for option in [["--trim", trim], ["--colsep", column]] {
        if random.below(4) == 0 {
            words.extend(option.map(str::to_owned));
        }
    }
    let slots = (random.below(4) + 1).to_string();
    words.extend(["-j".to_owned(), slots]);
    let count = random.below(5).to_string();
    match (several, random.below(4)) {
        (true, 0) => words.push("-X".to_owned()),
        (true, 1) => words.push("-m".to_owned()),
        (true, 2) => words.push("--xargs".to_owned()),
        (true, _) => words.extend(["-n", "3", "-m"].map(str::to_owned)),
        (false, 0) => words.extend(["-N".to_owned(), count]),
        (false, 1) => words.extend(["-L".to_owned(), count]),
        (false, _) => {}
    }
    // With columns it counts more bytes than its commands have.
    let columns = words.iter().any(|word| word == "--colsep");
    if several && !columns && random.below(2) == 0 {
        words.extend(["-s".to_owned(), (60 + random.below(60)).to_string()]);
    }
    let commands = ["echo {}", "echo {1}:{2}", "echo {-1} {}", "echo {1} {2} {3} {4}"];
    // With several records in a job, positions alone make the other program lose jobs.
    let commands = if several { &commands[..1] } else { &commands[..] };
    words.push(random.one_of(commands).to_owned());
    for number in 0..=random.below(4) {
        let links: &[&str] = if several { &[":::"] } else { &[":::", ":::", ":::+"] };
        let separator = random.one_of(links);
        words.push(if number == 0 { ":::" } else { separator }.to_owned());
        for _ in 0..=random.below(5) {
            let value = value(random);
            words.push(value);
        }
    }
    words.into_iter().map(String::into_bytes).collect()
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
        if !same(&command_line(&mut random), b"") {
            return;
        }
    }
}

/// A million values of a stream, in records, as jobs of one and of many.
#[test]
#[ignore = "measures, in a release build"]
#[allow(clippy::print_stderr)]
fn measure_a_million_lines() {
    struct Numbers(u32, Vec<u8>);
    impl std::io::Read for Numbers {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            while self.1.len() < into.len() && self.0 < 1_000_000 {
                self.0 += 1;
                writeln!(self.1, "{}", self.0)?;
            }
            let count = self.1.len().min(into.len());
            into[..count].copy_from_slice(&self.1[..count]);
            self.1.drain(..count);
            Ok(count)
        }
    }
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned()
    };
    eprintln!("before: {}", peak());
    let tab =
        InputOptions { columns: Columns::Separator(b"5".to_vec()), ..InputOptions::default() };
    let regexp =
        InputOptions { columns: Columns::Separator(b"[56]+".to_vec()), ..InputOptions::default() };
    for (name, options, records_max) in [
        ("one line a job", InputOptions::default(), 1),
        ("columns at a byte", tab, 1),
        ("columns at a pattern", regexp, 1),
        ("a hundred lines a job", InputOptions::default(), 100),
        ("as many as 128 KiB hold", InputOptions::default(), u64::MAX),
    ] {
        let start = std::time::Instant::now();
        let input = open(Vec::new(), &options, Box::new(Numbers(0, Vec::new()))).expect("it opens");
        let packing = run::input::RecordPacking { records_max, spread: None, exact: false };
        let mut packer = Packer::new(input, packing);
        let mut seen = 0;
        let fits = |_, records: &[Record]| {
            records_max < u64::MAX
                || records.iter().map(|record| record.values[0].len() + 1).sum::<usize>() < 131_072
        };
        while let Some(records) = packer.next(fits).expect("it is read") {
            seen += records.len();
        }
        assert_eq!(seen, 1_000_000);
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{name}: {:.1} M lines/s; {}", 1.0 / seconds, peak());
    }
}
