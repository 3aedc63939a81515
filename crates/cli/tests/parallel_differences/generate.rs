//! Random command lines of GNU parallel, from the grammar that people use: sources of input,
//! replacement strings, quoting, packing, output, joblogs, halting.
//!
//! Only what has one right answer: several jobs at once only with `-k` and no halting, no times,
//! no process numbers, no names of temporary files.

mod habits;
mod input;
mod output;
mod packing;
mod pipe;
mod schedule;
mod template;

pub(super) use input::FILES;
use input::file;
pub(super) use packing::packed;
use testkit::Random;

/// A command line, and what it reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    pub(super) words: Vec<String>,
    pub(super) stdin: String,
    /// Jobs may hold other numbers of values: only the words of the output are compared.
    pub(super) by_words: bool,
}

/// What a line is built of.
struct Line<'a> {
    random: &'a mut Random,
    options: Vec<String>,
    command: Vec<String>,
    sources: Vec<String>,
    stdin: String,
    /// How many values a record has.
    width: usize,
    /// Names of a header.
    names: &'a [&'a str],
    /// One job at a time, so that everything has one order.
    serial: bool,
    plus: bool,
}

/// The command line of a seed.
pub(super) fn case(seed: u64) -> Case {
    let mut random = Random::from_seed(seed);
    let mut line = Line::new(&mut random);
    match line.random.index(22) {
        21 => line.expressions(),
        20 => line.piped(),
        0 => line.commands_as_input(),
        1..=2 => line.columns(),
        3..=4 => line.packed(),
        5 => line.failing(),
        6 => line.going_on(),
        7 => line.quoted(),
        8 => line.renamed(),
        9 => line.delimited(),
        _ => line.ordinary(),
    }
    let mut case = line.finish();
    // Drawn last: what was drawn before is as it would be without.
    match random.index(60) {
        0 => wrong(&mut random, &mut case),
        1 => {
            case = of_words(&["-j1", "cat; echo {}", ":::", "1", "2"]);
            case.stdin = file("one").to_owned();
        }
        2 => {
            let words = ["-j2", "-k", "--timeout", "0.7", "--joblog", "joblog"];
            let jobs = ["sleep {}; echo {}", ":::", "0", "9", "0.01"];
            case = of_words(&[words.as_slice(), jobs.as_slice()].concat());
        }
        3 => {
            let missing = ["nonexistent-program", "/etc/passwd", "./one", "nonexistent-program;"];
            let program = random.one_of(&missing);
            case = of_words(&["-j1", "--joblog", "joblog", program, ":::", "a b", "c"]);
        }
        4 => {
            let count = random.one_of(&["-N 0.002k", "-n 2.5", "-L 0.003k", "-N 1.5", "-l 2.5"]);
            let mut words = vec!["-j1"];
            words.extend(count.split(' '));
            words.extend(["echo", ":::", "1", "2", "3", "4", "5", "6", "7"]);
            case = of_words(&words);
        }
        5 => {
            let more = random.one_of(&["--block 20", "--header : --block 20", "-N 2", "-L 2 -N 1"]);
            let mut words = vec!["-j1", "--pipe", "--skip-first-line"];
            words.extend(more.split(' '));
            words.push("cat; echo {#}");
            case = of_words(&words);
            case.stdin = (1..=30).map(|number| format!("line {number}\n")).collect();
        }
        6 => {
            let words = ["-j1", "--joblog", "joblog", "--retries", "{}", "echo {}; false", ":::"];
            case = of_words(&[words.as_slice(), &["1", "3", "2"]].concat());
        }
        7 => {
            let job = "ls; touch x{}; ls";
            case = of_words(&["-j1", "--wd", "...", job, ":::", "1", "2"]);
        }
        8 => {
            let words =
                ["-j1", "--pipe-part", "-a", "names", "--block", "-0.002k", "cat; echo {#}"];
            case = of_words(&[words.as_slice(), &[":::", "1", "2"]].concat());
        }
        _ => {}
    }
    if random.percent(12) {
        let mut line = Line::new(&mut random);
        line.habit();
        case = line.finish();
    }
    without_chance(&mut case);
    respelled(&mut random, &mut case);
    case
}

/// Without what has no one answer, or is in the list of differences.
fn without_chance(case: &mut Case) {
    // Parallel links the source before the one that is marked, if `-a` names one more.
    if case.words.iter().any(|word| word == "-a") {
        for word in &mut case.words {
            if [":::+", "::::+"].contains(&&**word) {
                word.pop();
            }
        }
    }
    let has = |text: &str| case.words.iter().any(|word| word.contains(text));
    // Jobs that are left out are shown by parallel.
    if has("skip()") {
        case.words.retain(|word| !["-v", "--dry-run"].contains(&&**word));
    }
    // With several jobs at once a tag may have the number of a later job.
    let is_serial = ["-j1", "--jobs"].iter().any(|name| case.words.iter().any(|word| word == name));
    if let Some(at) = case.words.iter().position(|word| word == "--tagstring")
        && !is_serial
        && let Some(tag) = case.words.get_mut(at + 1)
    {
        *tag = tag.replace("{#}", "{}");
    }
    let has = |text: &str| case.words.iter().any(|word| word.contains(text));
    let (is_unquoted, is_logged, is_named) = (has("uq()"), has("--joblog"), has("--header"));
    for at in 0..case.words.len() {
        // A command in the background: its output may come after the end of its job.
        if is_unquoted && case.words[at].contains('&') {
            case.words[at] = case.words[at].replace('&', ";");
        }
        // Parallel empties the joblog before it opens the input.
        if is_logged && at > 0 && case.words[at] == "missing" {
            case.words[at] = "one".to_owned();
        }
        // Parallel takes a name in a header for a pattern.
        if is_named && at > 0 && case.words[at - 1] == ":::" && case.words[at] == "*" {
            case.words[at] = "star".to_owned();
        }
    }
    // Parallel has no use for a file of `-a` beside `--pipe`.
    let at = case.words.iter().position(|word| word == "-a");
    if let Some(at) = at.filter(|_| case.words.iter().any(|word| word == "--pipe")) {
        case.words.drain(at..at + 2);
    }
}

/// Options by others of their names.
fn respelled(random: &mut Random, case: &mut Case) {
    // The comparison looks for the usual names of these.
    const KEPT: [&str; 2] = ["--jobs", "--line-buffer"];
    for word in &mut case.words {
        let option = run::parallel_options::named(word);
        let Some(option) = option.filter(|option| !KEPT.contains(&option.name())) else { continue };
        let names: Vec<&str> = option.names().filter(|name| name.starts_with("--")).collect();
        if word.starts_with("--") && random.percent(30) {
            *word = random.one_of(&names).to_owned();
        }
    }
}

fn of_words(words: &[&str]) -> Case {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Case { words, ..Case::default() }
}

/// Something that cannot be done.
fn wrong(random: &mut Random, case: &mut Case) {
    let text = random.one_of(&[
        "--halt bogus",
        "-a missing",
        "--joblog /nonexistent/x",
        "--timeout x",
        "--halt now,fail=x",
    ]);
    case.words.splice(0..0, text.split(' ').map(str::to_owned));
}

impl<'a> Line<'a> {
    fn new(random: &'a mut Random) -> Self {
        Line {
            serial: random.percent(60),
            plus: random.percent(10),
            random,
            options: Vec::new(),
            command: Vec::new(),
            sources: Vec::new(),
            stdin: String::new(),
            width: 1,
            names: &[],
        }
    }

    fn option(&mut self, text: &str) {
        self.options.extend(text.split(' ').map(str::to_owned));
    }

    fn source(&mut self, words: &[&str]) {
        self.sources.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn ordinary(&mut self) {
        self.sources();
        self.command();
        self.output();
        self.harmless();
    }

    /// Everything in the order in which people type it.
    fn finish(mut self) -> Case {
        let at_once = match (self.serial, self.random.index(4)) {
            (true, 0) => "--jobs 1",
            (true, _) => "-j1",
            (false, 0) => "-k",
            (false, 1) => "-j2 -k",
            (false, 2) => "-j 4 --keep-order",
            (false, _) => "-k -j200%",
        };
        let mut words: Vec<String> = at_once.split(' ').map(str::to_owned).collect();
        if self.plus {
            words.push("--plus".to_owned());
        }
        words.append(&mut self.options);
        words.append(&mut self.command);
        words.append(&mut self.sources);
        Case { words, stdin: self.stdin, ..Case::default() }
    }
}
