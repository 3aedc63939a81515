//! `pidstat`: what each process uses.

use std::fmt::Write as _;

use crate::SysstatError;
use crate::columns::{Column, column, decimals};
use crate::format::{Style, Unit, percent};
use crate::machine::banner;
use crate::report::{Asked, Facts, Recording, Report};
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, unknown};

pub(crate) const USAGE: &str = "\
Usage: pidstat [options] [interval [count]]
  -u  CPU time (the default)   -r  page faults and memory   -d  input and output
  -w  context switches         -v  threads                  -R  priority and policy
  -p PID,... | SELF | ALL      these processes, also idle ones
  -C PATTERN                   whose name matches: a regular expression without brackets and braces
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
    columns: &'static [Column],
    activity: &'static [&'static str],
}

static TABLES: &[Table] = &[
    Table {
        option: "u",
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
        option: "r",
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
        option: "d",
        columns: &[
            column!("kB_rd/s", 10, Kibibytes, |rows| kib(rows, "read_bytes")),
            column!("kB_wr/s", 10, Kibibytes, |rows| kib(rows, "write_bytes")),
            column!("kB_ccwr/s", 10, Kibibytes, |rows| kib(rows, "cancelled_write_bytes")),
            // The kernel's count of waiting for blocks is not recorded.
            column!("iodelay", 8, Whole, |_| None),
        ],
        activity: &["read_bytes", "write_bytes", "cancelled_write_bytes"],
    },
    Table {
        option: "w",
        columns: &[
            column!("cswch/s", 10, Plain, |rows| first(rows, "voluntary_switches")),
            column!("nvcswch/s", 10, Plain, |rows| first(rows, "involuntary_switches")),
        ],
        activity: &["voluntary_switches", "involuntary_switches"],
    },
    Table {
        option: "R",
        columns: &[
            column!("prio", 5, Whole, |rows| level(rows, "realtime_priority")),
            column!("policy", 7, Whole, |rows| level(rows, "policy")),
        ],
        activity: &["user_time", "system_time"],
    },
    Table {
        option: "v",
        columns: &[
            column!("threads", 8, Whole, |rows| level(rows, "threads")),
            // Open files are not recorded: counting them takes a call for each process.
            column!("fd-nr", 8, Whole, |_| None),
        ],
        activity: &["user_time", "system_time"],
    },
];

/// Options of the program that are refused, and why.
static REFUSED: &[(&str, &str)] = &[
    ("e", "whit trace and whit run start programs"),
    ("H", "times are times of day"),
    ("s", "the kernel's stack sizes are not recorded"),
    ("t", "whit top -H and whit record -sZ with threads show them"),
    ("T", "children are shown when they have ended, by whit play -sZ"),
];

struct Pidstat {
    tables: Vec<&'static Table>,
    pids: Option<Vec<String>>,
    command: Option<regex::Regex>,
    text: Option<String>,
    by_name: bool,
    user: Option<String>,
    with_arguments: bool,
    one_line: bool,
    of_all_cpus: bool,
    has_averages: bool,
    style: Style,
    seen: Vec<String>,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<Asked, SysstatError> {
    let mut pidstat = Pidstat {
        tables: Vec::new(),
        pids: None,
        command: None,
        text: None,
        by_name: false,
        user: None,
        with_arguments: false,
        one_line: false,
        of_all_cpus: false,
        has_averages: false,
        style: Style::default(),
        seen: Vec::new(),
    };
    let (mut pace, mut recording) = (Pace::default(), Recording::Host);
    let mut words = Words::new(words);
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Plain(word) => {
                pace.take(&word)?;
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "p" => pidstat.pids = pids(&words.value("-p")?)?,
            "C" => {
                let text = words.value("-C")?;
                let pattern = regex::RegexBuilder::new(&text).size_limit(1 << 20).build();
                let refuse = |_| SysstatError::Usage(format!("not a pattern: {text}"));
                pidstat.command = Some(pattern.map_err(refuse)?);
            }
            "G" => pidstat.text = Some(words.value("-G")?),
            "U" => {
                pidstat.by_name = true;
                let is_name =
                    |word: &str| !word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                pidstat.user = words.value_if(is_name);
            }
            "l" => pidstat.with_arguments = true,
            "h" => pidstat.one_line = true,
            "I" => pidstat.of_all_cpus = true,
            "dec" => pidstat.style.decimals = decimals(&words.value("--dec")?)?,
            "human" => pidstat.style.is_human = true,
            "recording" => recording = Recording::File(words.value("--recording")?.into()),
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => match (
                TABLES.iter().find(|table| table.option == option),
                REFUSED.iter().find(|(name, _)| *name == option),
            ) {
                (Some(table), _) => pidstat.tables.push(table),
                (None, Some((name, why))) => {
                    return Err(SysstatError::Refused(format!("-{name}"), why));
                }
                (None, None) => return Err(unknown(&option)),
            },
        }
    }
    if pidstat.tables.is_empty() {
        pidstat.tables.push(&TABLES[0]);
    }
    pidstat.tables.sort_by_key(|table| TABLES.iter().position(|each| each.option == table.option));
    pidstat.tables.dedup_by_key(|table| table.option);
    let is_host = recording == Recording::Host;
    pidstat.has_averages = (pace.interval.is_some() || !is_host) && !pidstat.one_line;
    let mut asked = Asked::new(Box::new(pidstat), pace);
    asked.since_boot = pace.interval.is_none();
    asked.recording = recording;
    Ok(asked)
}

/// The processes of `-p`; nothing for those that are active.
fn pids(text: &str) -> Result<Option<Vec<String>>, SysstatError> {
    let one = |word: &str| match word {
        "SELF" => Ok(std::process::id().to_string()),
        word if word.parse::<u32>().is_ok() => Ok(word.to_owned()),
        _ => Err(SysstatError::Usage(format!("not a list of processes: {text}"))),
    };
    match text {
        "ALL" => Ok(Some(Vec::new())),
        _ => text.split(',').map(one).collect::<Result<_, _>>().map(Some),
    }
}

impl Pidstat {
    fn shows(&self, row: &Row<'_>, pid: &str, tables: &[&Table]) -> bool {
        let command = row.text("command");
        let is_named = self.command.as_ref().is_none_or(|pattern| pattern.is_match(&command))
            && self.text.as_ref().is_none_or(|text| command.contains(text.as_str()))
            && self.user.as_ref().is_none_or(|user| row.text("user") == *user);
        is_named
            && match &self.pids {
                Some(pids) => pids.is_empty() || pids.iter().any(|own| own == pid),
                None => tables.iter().any(|table| row.changes(table.activity) > Some(0.0)),
            }
    }

    fn show(&mut self, facts: &Facts<'_>, span: &Span<'_>, times: [&str; 2], out: &mut String) {
        let groups: Vec<Vec<&'static Table>> = match self.one_line {
            true => vec![self.tables.clone()],
            false => self.tables.iter().map(|table| vec![*table]).collect(),
        };
        let is_average = times[0] == "Average:";
        for tables in groups {
            if self.has_heading(is_average) {
                self.heading(&tables, times[0], out);
            }
            let memory = span.row("memory");
            for row in span.rows("process") {
                let pid = row.labels().map_or_else(|| row.name(), |(pid, _)| pid);
                let key = format!("{} {}", tables[0].option, row.name());
                let is_shown = match is_average {
                    true => self.seen.contains(&key),
                    false => self.shows(&row, &pid, &tables),
                };
                if !is_shown {
                    continue;
                }
                if !is_average && !self.seen.contains(&key) {
                    self.seen.push(key);
                }
                let _ = write!(out, "{:<11}", times[1]);
                match self.by_name {
                    true => _ = write!(out, " {:>8}", row.text("user")),
                    false => _ = write!(out, " {:>5.0}", row.level("uid").unwrap_or(0.0)),
                }
                let _ = write!(out, " {pid:>9}");
                let command = match (self.with_arguments, row.text("command_line")) {
                    (true, line) if !line.is_empty() => line,
                    _ => row.text("command"),
                };
                let rows: Vec<Row<'_>> = [row].into_iter().chain(memory).collect();
                for column in tables.iter().flat_map(|table| table.columns) {
                    self.cell(facts, column, &rows, is_average, out);
                }
                let _ = writeln!(out, "  {command}");
            }
        }
    }

    /// One process in one table has its heading once.
    fn has_heading(&self, is_average: bool) -> bool {
        let is_one = self.pids.as_ref().is_some_and(|pids| pids.len() == 1);
        !(is_one && self.tables.len() == 1 && (is_average || !self.seen.is_empty()))
    }

    fn cell(
        &self,
        facts: &Facts<'_>,
        column: &Column,
        rows: &[Row<'_>],
        is_average: bool,
        out: &mut String,
    ) {
        let mut value = (column.value)(rows);
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
        let _ = write!(out, "{user:>width$}{:>10}", "PID");
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
        let times = [facts.clock.time(span.began_ns), facts.clock.time(span.ended_ns)];
        self.show(facts, span, [&times[0], &times[1]], out);
        Ok(())
    }

    fn averages(&mut self, facts: &Facts<'_>, span: &Span<'_>, out: &mut String) {
        if self.has_averages {
            self.show(facts, span, ["Average:", "Average:"], out);
        }
    }
}
