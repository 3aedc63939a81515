//! The heaviest of a period, as a table for people, as CSV, or as JSON lines.  Numbers are in base
//! units.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use layout::{Options, text};
use serde_json::json;

use crate::TableForm;
use crate::compare::short;
use crate::fields::time_text;
use crate::time::LocalTime;

/// A table of the heaviest.
#[derive(Clone, Debug)]
pub struct RankingTable {
    /// The machine.
    pub host: String,
    /// What is ranked.
    pub what: String,
    /// What the names are: `command`, `pid`.
    pub by: String,
    /// The start and the end of the period, as it is shown.
    pub period_ns: (i64, i64),
    /// The zone of the times for people.
    pub zone: TimeZone,
    /// The base unit; empty for numbers of things.
    pub unit: &'static str,
    /// Whether values are totals, with a rate a second beside them; else they are means.
    pub has_totals: bool,
    /// Whether processes are ranked.
    pub is_of_processes: bool,
    /// Whether it is known how many ended.
    pub has_ends: bool,
    /// How many have any of it.
    pub known: usize,
    /// The lines.
    pub lines: Vec<RankingLine>,
}

/// A line of the table; texts are escaped.
#[derive(Clone, Debug)]
pub struct RankingLine {
    /// The name; `None` for those that have none.
    pub name: Option<String>,
    /// The command of a process.
    pub command: Option<String>,
    /// Whether the next three say nothing: they are shown as missing.
    pub is_unknown: bool,
    /// The total or the mean.
    pub value: f64,
    /// The rate a second, or the mean.
    pub mean: f64,
    /// The part of all.
    pub share: f64,
    /// How many instances it has.
    pub instances: usize,
    /// How many of that name ended.
    pub ended: usize,
}

impl RankingLine {
    /// Value, mean and share; `None` where they are not known.
    fn numbers(&self) -> [Option<f64>; 3] {
        [self.value, self.mean, self.share].map(|number| (!self.is_unknown).then_some(number))
    }
}

/// Writes a table; `is_first`: none was written before it.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_ranking(
    table: &RankingTable,
    form: TableForm,
    is_first: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    match form {
        TableForm::Text => write_text(table, is_first, out),
        TableForm::Csv => write_csv(table, is_first, out),
        TableForm::Json => write_json(table, out),
    }
}

fn write_text(table: &RankingTable, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
    let time = |at_ns: i64| {
        let mut time = Vec::new();
        let local = LocalTime::new(at_ns, &table.zone);
        local.push_day_and_clock(&Options::default(), b" ", &mut time);
        String::from_utf8_lossy(&time).into_owned()
    };
    let [from, thru] = [time(table.period_ns.0), time(table.period_ns.1)];
    let (host, what) = (&table.host, &table.what);
    let start = if is_first { "" } else { "\n" };
    let unit = if table.unit.is_empty() { String::new() } else { format!(", {}", table.unit) };
    writeln!(out, "{start}# {host}, {from} to {thru}: {what}{unit}")?;
    let only = |is_shown: bool, text: String| if is_shown { text } else { String::new() };
    let columns = |out: &mut dyn Write, cells: [String; 6]| {
        let [value, mean, share, instances, ended, name] = cells;
        let ended = only(table.has_ends, format!(" {ended:>7}"));
        let mean = only(table.has_totals, format!(" {mean:>10}"));
        writeln!(out, "{value:>10}{mean} {share:>7} {instances:>9}{ended}  {name}")
    };
    let value = if table.has_totals { "total" } else { "mean" };
    let instances = if table.is_of_processes { "processes" } else { "instances" };
    let headings = [value, "a second", "share", instances, "ended", &table.by];
    columns(out, headings.map(str::to_owned))?;
    for line in &table.lines {
        let name = line.name.as_deref().unwrap_or("-");
        let command = line.command.as_ref().map(|command| format!(" {command}"));
        let known = |text: String| if line.is_unknown { "-".to_owned() } else { text };
        columns(
            out,
            [
                known(short(line.value)),
                known(short(line.mean)),
                known(format!("{:.1}%", line.share * 100.0)),
                line.instances.to_string(),
                line.ended.to_string(),
                format!("{name}{}", command.unwrap_or_default()),
            ],
        )?;
    }
    match table.known.saturating_sub(table.lines.len()) {
        0 => Ok(()),
        more => writeln!(out, "# {more} more have any"),
    }
}

fn write_csv(table: &RankingTable, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
    if is_first {
        writeln!(out, "from,thru,host,what,by,name,command,value,mean,share,instances,ended")?;
    }
    let [from, thru] = [table.period_ns.0, table.period_ns.1].map(time_text);
    for line in &table.lines {
        let mut text = Vec::new();
        let name = line.name.as_deref().unwrap_or_default();
        let command = line.command.as_deref().unwrap_or_default();
        for part in [&*from, &thru, &table.host, &table.what, &table.by, name, command] {
            text::push_csv_field(&mut text, part.as_bytes());
            text.push(b',');
        }
        let ended = if table.has_ends { line.ended.to_string() } else { String::new() };
        for number in line.numbers() {
            number.map_or(Ok(()), |number| write!(text, "{number}"))?;
            text.push(b',');
        }
        writeln!(text, "{},{ended}", line.instances)?;
        out.write_all(&text)?;
    }
    Ok(())
}

fn write_json(table: &RankingTable, out: &mut dyn Write) -> io::Result<()> {
    let [from, thru] = [table.period_ns.0, table.period_ns.1].map(time_text);
    for line in &table.lines {
        let [value, mean, share] = line.numbers();
        let mut object = json!({
            "from": from,
            "thru": thru,
            "host": table.host,
            "what": table.what,
            "by": table.by,
            "value": value,
            "mean": mean,
            "share": share,
            "instances": line.instances,
        });
        for (key, text) in [("name", &line.name), ("command", &line.command)] {
            if let Some(text) = text {
                object[key] = json!(text);
            }
        }
        if table.has_ends {
            object["ended"] = json!(line.ended);
        }
        writeln!(out, "{}", text::visible_json(object.to_string()))?;
    }
    Ok(())
}
