//! `sadf`: the tables of `sar` for programs, fields between tabs or semicolons.
//!
//! `-p` writes a line for each number, `-d` a line for each instance with a heading before each table.
//! The columns are those of `sar`: [`crate::activities`].

use std::fmt::Write as _;

use crate::SysstatError;
use crate::activities::Activity;
use crate::format::Style;
use crate::report::{Asked, Facts, Recording, Report};
use crate::sar::{Options, Shown, columns, sources};
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, unknown};

pub(crate) const USAGE: &str = "\
Usage: sadf [options] [interval [count]] [recording] [-- options of sar]
  -p  a line for each number (the default)   -d  a line for each instance
  -t, -T  times of the recorded machine      -U  seconds since 1970
  -P LIST | ALL                 these CPUs
  --dev= --fs= --iface= --int=  only these, with commas between
  -s [TIME] -e [TIME]           from and until
Without a recording, what the service has recorded is shown.
";

/// How the fields of a line are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `-p`.
    Lines,
    /// `-d`.
    Database,
}

/// How times are written.
#[derive(Clone, Copy)]
enum Stamp {
    Utc,
    Local,
    Epoch,
}

struct Sadf {
    form: Form,
    stamp: Stamp,
    options: Options,
    /// What is written of each activity, since each is shown as a whole.
    tables: Vec<String>,
}

/// Options of the program that are refused, and why.
static REFUSED: &[(&str, &str)] = &[
    ("C", "recordings have no comments"),
    ("c", "whit reads the file as it is"),
    ("g", "whit serve has graphs"),
    ("h", "each table has columns of its own; use -d"),
    ("H", "use whit play --contents"),
    ("j", "use -d, or whit play -oJ"),
    ("l", "whit send gives recordings to other programs"),
    ("O", "it belongs to -g and -l"),
    ("r", "the numbers of the kernel are given by whit play --csv"),
    ("x", "use -d, or whit play -oJ"),
];

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<Asked, SysstatError> {
    let mut options = Options::default();
    let (mut form, mut stamp) = (Form::Lines, Stamp::Utc);
    let (mut pace, mut recording) = (Pace::default(), Recording::Service);
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, of_sar) = (&words[..end], words.get(end + 1..).unwrap_or_default());
    let mut own = Words::new(own);
    while let Some(word) = own.next()? {
        let option = match word {
            Word::Plain(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => {
                pace.take(&word)?;
                continue;
            }
            Word::Plain(word) => {
                recording = Recording::File(word.into());
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "p" => form = Form::Lines,
            "d" => form = Form::Database,
            "t" | "T" => stamp = Stamp::Local,
            "U" => stamp = Stamp::Epoch,
            "P" | "dev" | "fs" | "iface" | "int" | "s" | "e" => options.take(&option, &mut own)?,
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => match REFUSED.iter().find(|(name, _)| *name == option) {
                Some((name, why)) => return Err(SysstatError::Refused(format!("-{name}"), why)),
                None => return Err(unknown(&option)),
            },
        }
    }
    let mut of_sar = Words::new(of_sar);
    while let Some(word) = of_sar.next()? {
        match word {
            Word::Option(option) => options.take(&option, &mut of_sar)?,
            Word::Plain(word) => {
                return Err(SysstatError::Usage(format!("not an option of sar: '{word}'")));
            }
        }
    }
    options.put_in_order();
    let (from, thru) = (options.from.take(), options.thru.take());
    let tables = vec![String::new(); options.activities.len()];
    let mut asked = Asked::new(Box::new(Sadf { form, stamp, options, tables }), pace);
    (asked.recording, asked.from, asked.thru) = (recording, from, thru);
    Ok(asked)
}

impl Sadf {
    fn time(&self, facts: &Facts<'_>, at_ns: i64) -> String {
        match self.stamp {
            Stamp::Utc => facts.clock.utc(at_ns),
            Stamp::Local => facts.clock.stamp(at_ns),
            Stamp::Epoch => at_ns.div_euclid(1_000_000_000).to_string(),
        }
    }

    /// The fields with which a line begins, with what ends the last one.
    fn start(&self, facts: &Facts<'_>, seconds: i64, at_ns: i64) -> String {
        let end = if self.form == Form::Lines { '\t' } else { ';' };
        let host = text::escape::escape(facts.meta.host().as_bytes());
        format!("{host}{end}{seconds}{end}{}{end}", self.time(facts, at_ns))
    }

    /// A line for each number.
    fn lines(
        start: &str,
        activity: &Activity,
        columns: &[Shown],
        (name, rows): &(String, Vec<Row<'_>>),
        out: &mut String,
    ) {
        for column in columns {
            let value = number(column, rows);
            let title = column.title();
            let _ = match activity.label {
                None => writeln!(out, "{start}-\t{title}\t{value}"),
                Some("CPU") if name != "all" => {
                    writeln!(out, "{start}cpu{name}\t{title}\t{value}")
                }
                Some("TTY") => writeln!(out, "{start}ttyS{name}\t{title}\t{value}"),
                Some("INTR") => {
                    writeln!(out, "{start}{name}\t{}\t{value}", title.to_lowercase())
                }
                Some(_) => writeln!(out, "{start}{name}\t{title}\t{value}"),
            };
        }
    }

    /// A line for each instance.
    fn rows(
        start: &str,
        activity: &Activity,
        columns: &[Shown],
        (name, rows): &(String, Vec<Row<'_>>),
        out: &mut String,
    ) {
        out.push_str(start);
        let _ = match activity.label {
            None => Ok(()),
            Some("CPU") if name == "all" => write!(out, "-1;"),
            Some(_) => write!(out, "{name};"),
        };
        let values: Vec<String> = columns.iter().map(|column| number(column, rows)).collect();
        let _ = writeln!(out, "{}", values.join(";"));
    }

    fn flush(&mut self, out: &mut String) {
        for table in &mut self.tables {
            out.push_str(table);
            table.clear();
        }
    }
}

fn number(column: &Shown, rows: &[Row<'_>]) -> String {
    let value = column.value(rows);
    value.map_or_else(String::new, |value| Style::default().text(value, column.unit()))
}

/// The heading of a table, with the names of the fields.
fn heading(activity: &Activity) -> String {
    let mut out = "# hostname;interval;timestamp".to_owned();
    if let Some(label) = activity.label {
        let _ = write!(out, ";{label}");
    }
    match activity.label {
        Some("INTR") => out.push_str(";CPU*"),
        _ => activity.columns.iter().for_each(|column| _ = write!(out, ";{}", column.title)),
    }
    out.push('\n');
    out
}

impl Report for Sadf {
    fn sources(&self) -> Vec<&'static str> {
        sources(&self.options.activities, &self.options.chosen)
    }

    fn needs_all(&self) -> bool {
        !self.options.is_all && self.options.activities.len() == 1
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        _: &mut String,
    ) -> Result<(), SysstatError> {
        let start = self.start(facts, span.whole_seconds(), span.ended_ns);
        let chosen = &self.options.chosen;
        for (activity, out) in self.options.activities.iter().zip(&mut self.tables) {
            if !activity.sources.iter().any(|source| span.has(source)) {
                continue;
            }
            if out.is_empty() && self.form == Form::Database {
                out.push_str(&heading(activity));
            }
            let columns = columns(activity, &chosen.cpus, span);
            for line in (activity.lines)(span, chosen) {
                match self.form {
                    Form::Lines => Self::lines(&start, activity, &columns, &line, out),
                    Form::Database => Self::rows(&start, activity, &columns, &line, out),
                }
            }
        }
        Ok(())
    }

    fn counts_anew(&self) -> bool {
        true
    }

    fn restart(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        self.flush(out);
        let cpus = facts.meta.cpus();
        let _ = writeln!(out, "{}LINUX-RESTART\t({cpus} CPU)", self.start(facts, -1, now_ns));
    }

    fn end(&mut self, out: &mut String) {
        self.flush(out);
    }
}
