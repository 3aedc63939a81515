//! `uptime`: how long the machine has run, and its load.

use std::fmt::Write as _;

use crate::SysstatError;
use crate::report::{Facts, Report, ReportRequest};
use crate::values::Span;
use crate::words::{Pace, Word, Words, unknown};

pub(crate) const USAGE: &str = "\
Usage: uptime [options]
  -p, --pretty  how long, in words
  -s, --since   since when
";

#[derive(Clone, Copy)]
enum Form {
    Line,
    Pretty,
    Since,
}

struct Uptime {
    form: Form,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut uptime = Uptime { form: Form::Line };
    let mut words = Words::new(words);
    while let Some(word) = words.next()? {
        match word {
            Word::Option(option) => match option.as_str() {
                "p" | "pretty" => uptime.form = Form::Pretty,
                "s" | "since" => uptime.form = Form::Since,
                "h" | "help" => return Err(SysstatError::Help(USAGE.to_owned())),
                _ => return Err(unknown(&option)),
            },
            Word::Plain(word) => {
                return Err(SysstatError::Usage(format!("takes no argument: '{word}'")));
            }
        }
    }
    let mut asked = ReportRequest::new(Box::new(uptime), Pace::default());
    asked.since_boot = true;
    Ok(asked)
}

impl Report for Uptime {
    fn sources(&self) -> Vec<&'static str> {
        vec!["cpu"]
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        let missing = || SysstatError::unread("/proc/stat");
        let row = span.row("cpu").ok_or_else(missing)?;
        let (now_ns, up) = (span.ended_ns, row.seconds as u64);
        match self.form {
            Form::Since => {
                let since_ns = now_ns - (row.seconds * 1e9) as i64;
                let _ = writeln!(out, "{}", facts.clock.stamp(since_ns));
            }
            Form::Pretty => {
                let _ = writeln!(out, "up {}", in_words(up));
            }
            Form::Line => {
                let users = facts.users.unwrap_or(0);
                let word = if users == 1 || users == 0 { "user" } else { "users" };
                let load =
                    |field| row.level(field).map_or(f64::NAN, |hundredths| hundredths / 100.0);
                let _ = writeln!(
                    out,
                    " {} up {}, {users:2} {word},  load average: {:.2}, {:.2}, {:.2}",
                    facts.clock.time(now_ns),
                    in_short(up),
                    load("load_1m"),
                    load("load_5m"),
                    load("load_15m"),
                );
            }
        }
        Ok(())
    }
}

/// Days, then hours and minutes: ` 3 days,  4:05`, ` 5 min`.
fn in_short(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let mut text = match days {
        0 => String::new(),
        1 => "1 day, ".to_owned(),
        _ => format!("{days} days, "),
    };
    match hours {
        0 => _ = write!(text, "{minutes} min"),
        _ => _ = write!(text, "{hours:2}:{minutes:02}"),
    }
    text
}

fn in_words(seconds: u64) -> String {
    let units = [
        (seconds / 31_536_000 / 10, "decade"),
        (seconds / 31_536_000 % 10, "year"),
        (seconds / 604_800 % 52, "week"),
        (seconds / 86_400 % 7, "day"),
        (seconds / 3_600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
    ];
    let said: Vec<String> = units
        .iter()
        // The program always tells the minutes.
        .filter(|(count, name)| *count > 0 || *name == "minute")
        .map(|(count, name)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    said.join(", ")
}
