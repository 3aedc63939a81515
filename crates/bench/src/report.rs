//! The result of a benchmark: its tables as text, as JSON and in Markdown, and all turns; and how a
//! run is stored, in `bench/runs/<date>-<machine>/`.

use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contest::{Case, Contest, Measurement};
use crate::error::{Context, Result};
use crate::programs::Programs;
use crate::table::{Grid, Table};

/// The machine on which the numbers depend.
pub(crate) fn machine(programs: &Programs) -> Value {
    let uname = rustix::system::uname();
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (cpuinfo, meminfo) = (text("/proc/cpuinfo"), text("/proc/meminfo"));
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let versions: Vec<Value> = programs
        .versions()
        .into_iter()
        .map(|(name, version)| json!({ "program": name, "version": version }))
        .collect();
    json!({
        "name": uname.nodename().to_string_lossy(),
        "kernel": uname.release().to_string_lossy(),
        "architecture": uname.machine().to_string_lossy(),
        "cpu": after(&cpuinfo, "model name"),
        "cpus": cpus,
        "memory": after(&meminfo, "MemTotal"),
        "load_before": text("/proc/loadavg").trim_end(),
        "versions": versions,
    })
}

/// Adds the version of a program to the description of the machine.
pub(crate) fn add_version(machine: &mut Value, program: &str, version: &str) {
    if let Some(versions) = machine["versions"].as_array_mut() {
        versions.push(json!({ "program": program, "version": version }));
    }
}

/// Adds a line of CSV (RFC 4180) to `raw.csv`: a field has quotation marks where it needs them.
pub(crate) fn put_csv_line(out: &mut String, fields: &[&dyn Display]) {
    let mut line = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            line.push(b',');
        }
        text::escape::push_csv_field(&mut line, field.to_string().as_bytes());
    }
    line.push(b'\n');
    out.push_str(&String::from_utf8_lossy(&line));
}

/// A case and one of its contestants: a row of a table.
pub(crate) type Row<'r, C, T> = (&'r Case<C, T>, &'r Contest<T>);

/// The result of a benchmark: it grows by sections, each of which is text and a member of the JSON.
#[derive(Debug)]
pub struct Report {
    /// The tables, for people.
    pub summary: String,
    /// The numbers of the tables as one object.
    pub json: Value,
    /// The tables in Markdown.
    markdown: String,
    /// The end of the folder's name.
    kind: &'static str,
    machine: Value,
    /// Every turn as a line; empty for benchmarks without turns.
    raw: String,
    /// The report as one page, of benchmarks that make it.
    pub page: Option<String>,
}

impl Report {
    /// A report without sections.
    pub(crate) fn new(kind: &'static str, machine: Value) -> Self {
        let json = json!({ "machine": machine });
        let (summary, markdown, raw) = Default::default();
        Report { summary, json, markdown, kind, machine, raw, page: None }
    }

    /// Adds a member to the JSON.
    pub(crate) fn keep(&mut self, key: &str, value: impl Into<Value>) {
        self.json[key] = value.into();
    }

    /// Adds lines to the text.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        for out in [&mut self.summary, &mut self.markdown] {
            out.push_str(text.as_ref());
            out.push('\n');
        }
    }

    /// Adds a table to the text.
    pub(crate) fn show(&mut self, grid: &Grid) {
        self.summary.push_str(&grid.text());
        let separator = if self.markdown.ends_with("\n\n") { "" } else { "\n" };
        let _ = write!(self.markdown, "{separator}{}", grid.markdown());
    }

    /// Adds rows: to the JSON as an array, and to the text below a title if there are any.
    pub(crate) fn rows<'r, R>(
        &mut self,
        key: &str,
        title: impl AsRef<str>,
        table: &Table<'_, &'r R>,
        rows: &'r [R],
    ) {
        self.keep(key, table.objects(rows));
        if !rows.is_empty() {
            self.say(title);
            self.show(&table.grid(rows));
        }
    }

    /// Adds cases to JSON and text.
    pub(crate) fn cases<'r, C, T>(
        &mut self,
        key: &str,
        table: &Table<'_, Row<'r, C, T>>,
        cases: &'r [Case<C, T>],
        title: impl Fn(&Case<C, T>) -> (Option<String>, Option<String>),
        members: impl Fn(&Case<C, T>) -> Value,
    ) {
        self.keep_cases(key, table, cases, members);
        self.show_cases(table, cases, title);
    }

    /// Adds an array of cases to the JSON.
    pub(crate) fn keep_cases<'r, C, T>(
        &mut self,
        key: &str,
        table: &Table<'_, Row<'r, C, T>>,
        cases: &'r [Case<C, T>],
        members: impl Fn(&Case<C, T>) -> Value,
    ) {
        let objects = cases.iter().map(|case| case_object(table, case, &members));
        self.keep(key, objects.collect::<Vec<_>>());
    }

    /// Adds cases to the text: groups of rows, each with a title and a conclusion.
    pub(crate) fn show_cases<'r, C, T>(
        &mut self,
        table: &Table<'_, Row<'r, C, T>>,
        cases: &'r [Case<C, T>],
        title: impl Fn(&Case<C, T>) -> (Option<String>, Option<String>),
    ) {
        let mut grid = table.empty_grid();
        for case in cases {
            let (title, conclusion) = title(case);
            let rows = case.contests.iter().map(|contest| table.cells((case, contest)));
            grid.push(title, rows, conclusion);
        }
        self.show(&grid);
    }

    /// Adds what could not be measured, and why, to what was noted before.
    pub(crate) fn notes(&mut self, notes: &[String]) {
        let mut all = self.json["notes"].as_array().cloned().unwrap_or_default();
        all.extend(notes.iter().map(|note| Value::from(note.as_str())));
        self.keep("notes", all);
        notes.iter().for_each(|note| self.say(format!("\nNote: {note}.")));
    }

    /// Adds all turns of a contestant to `raw.csv`.
    pub(crate) fn turns(&mut self, table: &str, case: &str, name: &str, turns: &[Measurement]) {
        if self.raw.is_empty() && !turns.is_empty() {
            self.raw.push_str("table,case,who,round,wall_us,user_us,system_us,resident_kib_max\n");
        }
        for (round, turn) in (1_usize..).zip(turns) {
            let Measurement { wall_us, user_us, system_us, resident_kib_max, .. } = turn;
            put_csv_line(
                &mut self.raw,
                &[&table, &case, &name, &round, wall_us, user_us, system_us, resident_kib_max],
            );
        }
    }

    /// Adds all turns of cases.
    pub(crate) fn turns_of<C, T>(&mut self, table: &str, cases: &[Case<C, T>]) {
        for case in cases {
            for contest in &case.contests {
                self.turns(table, &case.name, &contest.name, &contest.turns);
            }
        }
    }

    /// The lines of `raw.csv`.
    #[cfg(test)]
    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }

    /// Takes these lines as the turns.
    pub(crate) fn with_raw(self, raw: String) -> Self {
        Report { raw, ..self }
    }

    /// Adds a page.
    pub(crate) fn with_page(self, page: String) -> Self {
        Report { page: Some(page), ..self }
    }

    /// Stores the report below `base`, with the command line that produced it; returns the folder.
    ///
    /// # Errors
    /// If the folder cannot be made, or a file in it not be written.
    pub fn save(&self, base: &Path, command: &str) -> Result<PathBuf> {
        let now = jiff::Zoned::now();
        let name = self.machine["name"].as_str().unwrap_or("machine");
        // A host's name may contain characters that a folder's should not.
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "_");
        let folder = base.join(format!("{}-{name}{}", now.strftime("%Y-%m-%d"), self.kind));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("--save: cannot make {}", folder.display()))?;
        let tables = match self.markdown.trim_start() {
            "" => String::new(),
            tables => format!("# Tables\n\n{tables}"),
        };
        for (name, text) in [
            ("README.md", &readme(command, &self.machine, &now, !self.raw.is_empty())),
            ("raw.csv", &self.raw),
            ("summary.txt", &self.summary),
            ("tables.md", &tables),
            ("report.html", self.page.as_ref().unwrap_or(&String::new())),
        ] {
            if text.is_empty() {
                continue;
            }
            let path = folder.join(name);
            std::fs::write(&path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(folder)
    }
}

/// The object of a case: the given members, and an object for each contestant.
pub(crate) fn case_object<'r, C, T>(
    table: &Table<'_, Row<'r, C, T>>,
    case: &'r Case<C, T>,
    members: impl Fn(&Case<C, T>) -> Value,
) -> Value {
    let mut object = members(case);
    object["contestants"] = table.objects(case.contests.iter().map(|contest| (case, contest)));
    object
}

fn readme(command: &str, machine: &Value, now: &jiff::Zoned, has_turns: bool) -> String {
    let word = |key: &str| machine[key].as_str().unwrap_or("unknown").to_owned();
    let mut text = format!("# {} on {}\n\n", now.strftime("%Y-%m-%d %H:%M"), word("name"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "```\n{command}\n```\n");
    let mut facts = vec![
        ("CPU".to_owned(), format!("{} × {}", machine["cpus"], word("cpu"))),
        ("memory".to_owned(), word("memory")),
        ("kernel".to_owned(), format!("{} ({})", word("kernel"), word("architecture"))),
        ("load before".to_owned(), word("load_before")),
    ];
    for version in machine["versions"].as_array().into_iter().flatten() {
        let part = |key: &str| version[key].as_str().unwrap_or("unknown").to_owned();
        facts.push((part("program"), part("version")));
    }
    let table = Table::<&(String, String)>::new().shown("", 0, |fact| fact.0.as_str()).shown(
        "",
        0,
        |fact| fact.1.as_str(),
    );
    text.push_str(&table.grid(&facts).markdown());
    text.push_str(match has_turns {
        true => "\n`summary.txt` holds the tables, `raw.csv` all turns.\n",
        false => "\n`summary.txt` holds the numbers.\n",
    });
    text
}
