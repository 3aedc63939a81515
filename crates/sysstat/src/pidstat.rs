//! `pidstat`: what each process uses.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::SysstatError;
use crate::columns::{Column, column, decimals};
use crate::format::{Style, Unit, percent};
use crate::machine::banner;
use crate::pidstat_stack::{Stacks, processes_of};
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, unknown};

pub(crate) const USAGE: &str = "\
Usage: pidstat [options] [interval [count]]
  -u  CPU time (the default)   -r  page faults and memory   -d  input and output
  -w  context switches         -v  threads                  -R  priority and policy
  -s  stack (of this host)     -t  each thread, too         -H  times in seconds since 1970
  -T TASK | CHILD | ALL        processes; they and the children for which they have waited; both
  -p PID,... | SELF | ALL      these processes, also idle ones
  -C PATTERN                   whose name matches: a regular expression without brackets and braces
  -e PROGRAM ARGUMENTS         start a program, and report it until it ends
  -G NAME                      whose name has this text
  -U [USER]                    users by name; only this user's
  -l  with arguments           -h  all columns in one line, without averages
  -I  CPU time as a share of all CPUs
  --dec=0|1|2                  digits after the point
  --human                      sizes with units
  --recording FILE             of a recording, or a folder of them, in place of this host
";

/// Ticks of CPU time a second, as the kernel shows them (`USER_HZ`).
const TICKS: f64 = 100.0;

fn first(rows: &[Row<'_>], field: &str) -> Option<f64> {
    rows.first()?.rate(field)
}

fn level(rows: &[Row<'_>], field: &str) -> Option<f64> {
    rows.first()?.level(field)
}

fn cpu_percent(rows: &[Row<'_>], fields: &[&str]) -> Option<f64> {
    rows.first()?.rates(fields).map(|ticks| percent(ticks, TICKS))
}

fn kib(rows: &[Row<'_>], field: &str) -> Option<f64> {
    first(rows, field).map(|bytes| bytes / 1024.0)
}

/// One table: its option, its columns, and the counters that make a process active.
struct Table {
    option: &'static str,
    /// Whether it is of a process and of the children for which it has waited.
    is_of_children: bool,
    columns: &'static [Column],
    activity: &'static [&'static str],
}

/// Ticks of a process and its children, in milliseconds.
fn milliseconds(rows: &[Row<'_>], fields: &[&str]) -> Option<f64> {
    rows.first()?.changes(fields).map(|ticks| ticks * 1000.0 / TICKS)
}

const ALL_USER_TIME: [&str; 2] = ["user_time", "child_user_time"];
const ALL_SYSTEM_TIME: [&str; 2] = ["system_time", "child_system_time"];
const ALL_MINOR_FAULTS: [&str; 2] = ["minor_faults", "child_minor_faults"];
const ALL_MAJOR_FAULTS: [&str; 2] = ["major_faults", "child_major_faults"];

static TABLES: &[Table] = &[
    Table {
        option: "u",
        is_of_children: false,
        columns: &[
            column!("%usr", 8, Percent, |rows| cpu_percent(rows, &["user_time"])),
            column!("%system", 8, Percent, |rows| cpu_percent(rows, &["system_time"])),
            // The time of guests is within %usr: it is not recorded by itself.
            column!("%guest", 8, Percent, |_| None),
            column!("%wait", 8, Percent, |rows| Some(first(rows, "run_delay")? / 1e7)),
            column!("%CPU", 8, Percent, |rows| cpu_percent(rows, &["user_time", "system_time"])),
            column!("CPU", 6, Whole, |rows| level(rows, "processor")),
        ],
        activity: &["user_time", "system_time"],
    },
    Table {
        option: "u",
        is_of_children: true,
        columns: &[
            column!("usr-ms", 10, Whole, |rows| milliseconds(rows, &ALL_USER_TIME)),
            column!("system-ms", 10, Whole, |rows| milliseconds(rows, &ALL_SYSTEM_TIME)),
            column!("guest-ms", 10, Whole, |_| None),
        ],
        activity: &["user_time", "system_time", "child_user_time", "child_system_time"],
    },
    Table {
        option: "r",
        is_of_children: false,
        columns: &[
            column!("minflt/s", 10, Plain, |rows| first(rows, "minor_faults")),
            column!("majflt/s", 10, Plain, |rows| first(rows, "major_faults")),
            column!("VSZ", 8, WholeKibibytes, |rows| level(rows, "virtual")),
            column!("RSS", 8, WholeKibibytes, |rows| level(rows, "resident")),
            column!("%MEM", 7, Percent, |rows| {
                let total = rows.get(1)?.level("total")?;
                Some(percent(level(rows, "resident")?, total))
            }),
        ],
        activity: &["minor_faults", "major_faults"],
    },
    Table {
        option: "r",
        is_of_children: true,
        columns: &[
            column!("minflt-nr", 10, Whole, |rows| rows.first()?.changes(&ALL_MINOR_FAULTS)),
            column!("majflt-nr", 10, Whole, |rows| rows.first()?.changes(&ALL_MAJOR_FAULTS)),
        ],
        activity: &["minor_faults", "major_faults", "child_minor_faults", "child_major_faults"],
    },
    Table {
        option: "s",
        is_of_children: false,
        columns: &[
            column!("StkSize", 8, WholeKibibytes, |_| None),
            column!("StkRef", 8, WholeKibibytes, |_| None),
        ],
        activity: &[],
    },
    Table {
        option: "d",
        is_of_children: false,
        columns: &[
            column!("kB_rd/s", 10, KibibytesOfBytes, |rows| kib(rows, "read_bytes")),
            column!("kB_wr/s", 10, KibibytesOfBytes, |rows| kib(rows, "write_bytes")),
            column!("kB_ccwr/s", 10, KibibytesOfBytes, |rows| kib(rows, "cancelled_write_bytes")),
            // The kernel's count of waiting for blocks is not recorded.
            column!("iodelay", 8, Whole, |_| None),
        ],
        activity: &["read_bytes", "write_bytes", "cancelled_write_bytes"],
    },
    Table {
        option: "w",
        is_of_children: false,
        columns: &[
            column!("cswch/s", 10, Plain, |rows| first(rows, "voluntary_switches")),
            column!("nvcswch/s", 10, Plain, |rows| first(rows, "involuntary_switches")),
        ],
        activity: &["voluntary_switches", "involuntary_switches"],
    },
    Table {
        option: "v",
        is_of_children: false,
        columns: &[
            column!("threads", 8, Whole, |rows| level(rows, "threads")),
            // Open files are not recorded: counting them takes a call for each process.
            column!("fd-nr", 8, Whole, |_| None),
        ],
        activity: &["user_time", "system_time"],
    },
    Table {
        option: "R",
        is_of_children: false,
        columns: &[
            column!("prio", 5, Whole, |rows| level(rows, "realtime_priority")),
            column!("policy", 7, Whole, |rows| level(rows, "policy")),
        ],
        activity: &["user_time", "system_time"],
    },
];

struct Pidstat {
    tables: Vec<&'static Table>,
    /// Whether tables of tasks, and of them and their children, are asked for.
    kinds: [bool; 2],
    /// Whether one process in these tables has its heading once.
    has_one_heading: bool,
    pids: Option<Vec<String>>,
    command: Option<regex::Regex>,
    process: Option<regex::Regex>,
    by_name: bool,
    user: Option<String>,
    with_arguments: bool,
    one_line: bool,
    of_all_cpus: bool,
    has_averages: bool,
    style: Style,
    seen: HashSet<String>,
    has_threads: bool,
    /// Times in seconds since 1970.
    is_epoch: bool,
    /// Intervals shown.
    intervals: u32,
    /// The stacks, if `-s` asks for them.
    stacks: Option<Stacks>,
    is_since_boot: bool,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut pidstat = Pidstat {
        tables: Vec::new(),
        kinds: [true, false],
        has_one_heading: false,
        pids: None,
        command: None,
        process: None,
        by_name: false,
        user: None,
        with_arguments: false,
        one_line: false,
        of_all_cpus: false,
        has_averages: false,
        style: Style::default(),
        seen: HashSet::new(),
        has_threads: false,
        is_epoch: false,
        intervals: 0,
        stacks: None,
        is_since_boot: false,
    };
    let (mut pace, mut recording, mut program) = (Pace::default(), Recording::Host, None);
    let (mut words, mut chosen, mut kinds) = (Words::new(words), Vec::new(), Vec::new());
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Plain(word) => {
                pace.read_word(&word)?;
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "T" => kinds.push(kinds_of(&words.value("-T")?)?),
            "recording" => recording = Recording::File(words.value("--recording")?.into()),
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ if pidstat.read_option(&option, &mut words)? => {}
            _ if TABLES.iter().any(|table| table.option == option) => chosen.push(option),
            "e" => program = Some(words.rest("-e")?),
            _ => return Err(unknown(&option)),
        }
    }
    (pidstat.kinds, pidstat.has_one_heading) = headings(&kinds, chosen.len());
    let kinds = pidstat.kinds;
    if chosen.is_empty() {
        chosen.push("u".to_owned());
    }
    let is_wanted = |table: &&Table| {
        kinds[usize::from(table.is_of_children)]
            && chosen.iter().any(|option| option == table.option)
    };
    pidstat.tables = TABLES.iter().filter(is_wanted).collect();
    if pidstat.tables.is_empty() {
        let text = "only -u and -r have children (-T CHILD)".to_owned();
        return Err(SysstatError::NotThere(text));
    }
    if pidstat.tables.iter().any(|table| table.option == "s") {
        pidstat.stacks = Some(Stacks::default());
    }
    pidstat.is_since_boot = pace.interval.is_none();
    let is_host = recording == Recording::Host;
    pidstat.has_averages = (pace.interval.is_some() || !is_host) && !pidstat.one_line;
    let mut asked = ReportRequest::new(Box::new(pidstat), pace);
    asked.since_boot = pace.interval.is_none();
    if program.is_some() && pace.interval.is_none() {
        return Err(SysstatError::Usage("-e needs an interval before it".to_owned()));
    }
    if program.is_some() && recording != Recording::Host {
        return Err(SysstatError::Usage("-e and --recording: give one of them".to_owned()));
    }
    (asked.recording, asked.program) = (recording, program);
    Ok(asked)
}

/// Whether `-T` asks for tasks, and for their children.
fn kinds_of(text: &str) -> Result<[bool; 2], SysstatError> {
    match text {
        "TASK" => Ok([true, false]),
        "CHILD" => Ok([false, true]),
        "ALL" => Ok([true, true]),
        _ => Err(SysstatError::Usage(format!("-T takes TASK, CHILD or ALL, not {text}"))),
    }
}

/// What several `-T` ask for together, and whether one process has its heading once.  The program repeats
/// it from two tables on, and counts those that options name, each time that they do, for both kinds, and
/// `-T ALL` beside another `-T`.
fn headings(asked: &[[bool; 2]], named: usize) -> ([bool; 2], bool) {
    let kinds = match asked {
        [] => [true, false],
        _ => [0, 1].map(|kind| asked.iter().any(|wanted| wanted[kind])),
    };
    let are_both = kinds == [true, true];
    let has_all_beside = asked.len() > 1 && asked.contains(&[true, true]);
    (kinds, named <= usize::from(!are_both) && !has_all_beside)
}

/// A pattern of names, as those of egrep.
fn pattern(text: &str) -> Result<regex::Regex, SysstatError> {
    let pattern = regex::RegexBuilder::new(text).size_limit(1 << 20).build();
    pattern.map_err(|_| SysstatError::Usage(format!("not a pattern: {text}")))
}

/// The processes of `-p`; nothing for those that are active.
fn pids(text: &str) -> Result<Option<Vec<String>>, SysstatError> {
    let one = |word: &str| match word {
        "SELF" => Ok(std::process::id().to_string()),
        word if word.parse::<u32>().is_ok_and(|number| number > 0) => Ok(word.to_owned()),
        _ => Err(SysstatError::Usage(format!("not a list of processes: {text}"))),
    };
    match text {
        "ALL" => Ok(Some(Vec::new())),
        _ => text.split(',').map(one).collect::<Result<_, _>>().map(Some),
    }
}

/// A task of a table: a process, its first thread alone, or another thread.
struct Task<'a> {
    row: Row<'a>,
    /// The number of its process, and its own.
    process: String,
    thread: String,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Process,
    /// What these other threads have done is not its own.
    FirstThread(Vec<Row<'a>>),
    /// Another one, of this process.
    Thread(Row<'a>),
}

impl Task<'_> {
    /// Distinguishes it from other tasks of the tables that stand together.
    fn key(&self, tables: &[&Table]) -> String {
        let first = matches!(self.kind, Kind::FirstThread(_));
        let which = tables.first().map_or(("", true), |one| (one.option, one.is_of_children));
        format!("{} {} {} {}", which.0, u8::from(which.1), u8::from(first), self.row.name())
    }

    fn others(&self) -> &[Row<'_>] {
        match &self.kind {
            Kind::FirstThread(others) => others,
            Kind::Process | Kind::Thread(_) => &[],
        }
    }

    fn has_done(&self, activity: &[&str]) -> bool {
        let of_others: f64 = self.others().iter().filter_map(|row| row.changes(activity)).sum();
        self.row.changes(activity) > Some(of_others)
    }

    fn value(&self, column: &Column, memory: Option<Row<'_>>) -> Option<f64> {
        let value_of = |row: Row<'_>| {
            let rows: Vec<Row<'_>> = [row].into_iter().chain(memory).collect();
            (column.value)(&rows)
        };
        let value = match (value_of(self.row), &self.kind) {
            // Memory is that of the process.
            (None, Kind::Thread(process)) if !column.is_counted() => value_of(*process)?,
            (value, _) => value?,
        };
        if !column.is_counted() {
            return Some(value);
        }
        let of_others: f64 = self.others().iter().filter_map(|row| value_of(*row)).sum();
        Some((value - of_others).max(0.0))
    }
}

impl Column {
    /// Whether the threads of a process add up to its value.
    fn is_counted(&self) -> bool {
        match self.unit {
            Unit::Percent => self.title != "%MEM",
            Unit::Plain | Unit::KibibytesOfBytes => true,
            _ => self.title.ends_with("-ms") || self.title.ends_with("-nr"),
        }
    }
}

/// The tasks of a span: processes, each with its threads behind it if they are wanted.
fn tasks<'a>(span: &Span<'a>, has_threads: bool) -> Vec<Task<'a>> {
    let mut threads: HashMap<String, Vec<(String, Row<'a>)>> = HashMap::new();
    let mut processes = Vec::new();
    for row in span.rows("process") {
        let own = row.labels().map_or_else(|| row.name(), |(own, _)| own);
        match row.count("tgid").map(|process| process.to_string()) {
            Some(process) if process != own => {
                threads.entry(process).or_default().push((own, row));
            }
            _ => processes.push((own, row)),
        }
    }
    let mut tasks = Vec::new();
    for (own, row) in processes {
        let task = |thread: &str, row, kind| {
            let (process, thread) = (own.clone(), thread.to_owned());
            Task { row, process, thread, kind }
        };
        tasks.push(task(&own, row, Kind::Process));
        if has_threads {
            let others = threads.remove(&own).unwrap_or_default();
            let rows = others.iter().map(|(_, row)| *row).collect();
            let mut all = vec![task(&own, row, Kind::FirstThread(rows))];
            all.extend(others.iter().map(|(own, other)| task(own, *other, Kind::Thread(row))));
            // After numbers have begun again from below, the first thread may be in between.
            all.sort_by_key(|task| task.thread.parse::<u64>().ok());
            tasks.extend(all);
        }
    }
    tasks
}

impl Pidstat {
    /// Takes an option, if it is one of which processes are shown and how.
    fn read_option(&mut self, option: &str, words: &mut Words<'_>) -> Result<bool, SysstatError> {
        match option {
            "p" => self.pids = pids(&words.value("-p")?)?,
            "C" => self.command = Some(pattern(&words.value("-C")?)?),
            "G" => self.process = Some(pattern(&words.value("-G")?)?),
            "U" => {
                self.by_name = true;
                let is_name =
                    |word: &str| !word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                self.user = words.value_if(is_name);
            }
            "l" => self.with_arguments = true,
            "h" => self.one_line = true,
            "I" => self.of_all_cpus = true,
            "t" => self.has_threads = true,
            "H" => self.is_epoch = true,
            "dec" => self.style.decimals = decimals(&words.value("--dec")?)?,
            "human" => self.style.is_human = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn shows(&self, task: &Task<'_>, tables: &[&Table]) -> bool {
        let command = task.row.text("command");
        let patterns = [&self.command, &self.process];
        let is_named = patterns.into_iter().flatten().all(|pattern| pattern.is_match(&command))
            && self.user.as_ref().is_none_or(|user| task.row.text("user") == *user);
        is_named
            && match &self.pids {
                Some(pids) => pids.is_empty() || pids.contains(&task.process),
                None => tables.iter().any(|table| {
                    let has_moved = self.stacks.as_ref().filter(|_| table.option == "s");
                    has_moved.map_or_else(
                        || task.has_done(table.activity),
                        |stacks| stacks.has_changed(&task.process),
                    )
                }),
            }
    }

    /// The tables that stand together: with `-h` those of tasks, and those of children, if there are
    /// any or not.
    fn groups(&self) -> Vec<Vec<&'static Table>> {
        if !self.one_line {
            return self.tables.iter().map(|table| vec![*table]).collect();
        }
        let of = |is_of_children| {
            let tables = self.tables.iter().copied();
            tables.filter(|table| table.is_of_children == is_of_children).collect::<Vec<_>>()
        };
        let both = [of(false), of(true)].into_iter().zip(self.kinds);
        both.filter(|(_, is_wanted)| *is_wanted).map(|(tables, _)| tables).collect()
    }

    fn show(&mut self, facts: &Facts<'_>, span: &Span<'_>, times: [&str; 2], out: &mut String) {
        let is_average = times[0] == "Average:";
        let tasks = tasks(span, self.has_threads);
        let has_heading = self.has_heading(is_average);
        for tables in self.groups() {
            if has_heading {
                self.heading(&tables, times[0], out);
            }
            for task in &tasks {
                let key = task.key(&tables);
                let is_shown = match is_average {
                    true => self.seen.contains(&key),
                    false => self.shows(task, &tables),
                };
                if is_shown {
                    if !is_average {
                        self.seen.insert(key);
                    }
                    self.line(facts, task, &tables, (span, times[1]), out);
                }
            }
        }
    }

    /// One process may have its heading once.
    fn has_heading(&self, is_average: bool) -> bool {
        let is_one = self.pids.as_ref().is_some_and(|pids| pids.len() == 1);
        !(is_one && self.has_one_heading && (is_average || !self.seen.is_empty()))
    }

    fn line(
        &self,
        facts: &Facts<'_>,
        task: &Task<'_>,
        tables: &[&Table],
        (span, time): (&Span<'_>, &str),
        out: &mut String,
    ) {
        let row = task.row;
        let _ = write!(out, "{time:<11}");
        match self.by_name {
            true => _ = write!(out, " {:>8}", row.text("user")),
            false => _ = write!(out, " {:>5.0}", row.level("uid").unwrap_or(0.0)),
        }
        let is_process = matches!(task.kind, Kind::Process);
        let _ = match (self.has_threads, is_process) {
            (false, _) => write!(out, " {:>9}", task.process),
            (true, true) => write!(out, " {:>9} {:>9}", task.process, "-"),
            (true, false) => write!(out, " {:>9} {:>9}", "-", task.thread),
        };
        let memory = span.row("memory");
        for column in tables.iter().flat_map(|table| table.columns) {
            let value = match self
                .stacks
                .as_ref()
                .and_then(|all| all.value(&task.process, column.title, time == "Average:"))
            {
                None => task.value(column, memory),
                stack => stack,
            };
            self.cell(facts, column, value, time == "Average:", out);
        }
        // Threads have the name alone.
        let command = match (self.with_arguments && is_process, row.text("command_line")) {
            (true, line) if !line.is_empty() => line,
            _ => row.text("command"),
        };
        let mark = if is_process { "" } else { "|__" };
        let _ = writeln!(out, "  {mark}{command}");
    }

    fn cell(
        &self,
        facts: &Facts<'_>,
        column: &Column,
        mut value: Option<f64>,
        is_average: bool,
        out: &mut String,
    ) {
        // Sums of a process and its children are those of an interval, on average, too.
        if is_average && column.unit == Unit::Whole && column.is_counted() {
            value = value.map(|sum| sum / f64::from(self.intervals.max(1)));
        }
        if column.title == "%CPU" && self.of_all_cpus {
            value = value.map(|share| share / facts.meta.cpus() as f64);
        }
        // A process runs on several CPUs in several intervals.
        let value = value.filter(|_| column.title != "CPU" || !is_average);
        match (column.title, value) {
            ("policy", Some(policy)) => {
                let names = ["NORMAL", "FIFO", "RR", "BATCH", "ISO", "IDLE", "DEADLN", "EXT"];
                let name = names.get(policy as usize).unwrap_or(&"?");
                let _ = write!(out, " {name:>6}");
            }
            _ => self.style.put(out, column.width, value, column.unit),
        }
    }

    fn heading(&self, tables: &[&Table], time: &str, out: &mut String) {
        match self.one_line {
            true => out.push_str("\n# Time     "),
            false => _ = write!(out, "\n{time:<11}"),
        }
        let (user, width) = if self.by_name { ("USER", 9) } else { ("UID", 6) };
        let _ = write!(out, "{user:>width$}");
        match self.has_threads {
            true => _ = write!(out, "{:>10}{:>10}", "TGID", "TID"),
            false => _ = write!(out, "{:>10}", "PID"),
        }
        for column in tables.iter().flat_map(|table| table.columns) {
            let _ = write!(out, "{:>width$}", column.title, width = column.width);
        }
        out.push_str("  Command\n");
    }
}

impl Report for Pidstat {
    fn sources(&self) -> Vec<&'static str> {
        match self.tables.iter().any(|table| table.option == "r") {
            true => vec!["process", "memory"],
            false => vec!["process"],
        }
    }

    fn begin(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        out.push_str(banner(facts.meta, &facts.clock.date(now_ns)).trim_end_matches('\n'));
        out.push('\n');
        if let (Some(stacks), Some(root), false) =
            (&mut self.stacks, facts.root, self.is_since_boot)
        {
            stacks.read(root, &processes_of(root), false);
        }
    }

    fn started(&mut self, process: u32) {
        self.pids = Some(vec![process.to_string()]);
    }

    fn named_processes(&self) -> Vec<i32> {
        let pids = self.pids.iter().flatten();
        pids.filter_map(|pid| pid.parse().ok()).collect()
    }

    fn threads(&self) -> bool {
        self.has_threads
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        if !span.has("process") {
            return Err(SysstatError::unread("the processes"));
        }
        let time = |at_ns: i64| match self.is_epoch {
            true => at_ns.div_euclid(1_000_000_000).to_string(),
            false => facts.clock.time(at_ns),
        };
        let times = [time(span.began_ns), time(span.ended_ns)];
        self.intervals += 1;
        if let (Some(stacks), Some(root)) = (&mut self.stacks, facts.root) {
            let processes = tasks(span, false).into_iter().map(|task| task.process);
            stacks.read(root, &processes.collect::<Vec<_>>(), true);
        }
        self.show(facts, span, [&times[0], &times[1]], out);
        Ok(())
    }

    fn averages(&mut self, facts: &Facts<'_>, span: &Span<'_>, out: &mut String) {
        if self.has_averages {
            self.show(facts, span, ["Average:", "Average:"], out);
        }
    }
}
