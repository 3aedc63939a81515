//! The result of a benchmark: its tables as text and as JSON, and all turns; and how a run is
//! stored, in `bench/runs/<date>-<machine>/`.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::measure::Series;
use serde_json::{Value, json};

use crate::programs::Programs;

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

/// All turns of one contestant, and their table.
pub(crate) struct Turns<'a> {
    /// The table.
    pub(crate) table: &'static str,
    /// The case in it.
    pub(crate) case: &'a str,
    /// The contestant's name, and the cost of each turn.
    pub(crate) series: Cow<'a, Series>,
}

/// The result of a benchmark.
#[derive(Debug)]
pub struct Report {
    /// The tables, for people.
    pub summary: String,
    /// The same numbers as one object.
    pub json: Value,
    /// The end of the folder's name.
    kind: &'static str,
    machine: Value,
    /// Every turn as a line; empty for benchmarks without turns.
    raw: String,
}

impl Report {
    pub(crate) fn new(
        kind: &'static str,
        machine: Value,
        summary: String,
        json: Value,
        turns: &[Turns<'_>],
    ) -> Self {
        let raw = if turns.is_empty() { String::new() } else { raw(turns) };
        Report { summary, json, kind, machine, raw }
    }

    /// With these lines as its turns.
    pub(crate) fn with_raw(mut self, raw: String) -> Self {
        self.raw = raw;
        self
    }

    /// Stores it below `base`, with the command line that produced it; returns the folder.
    ///
    /// # Errors
    /// Those of creating the folder and writing its files.
    pub fn save(&self, base: &Path, command: &str) -> Result<PathBuf> {
        let now = jiff::Zoned::now();
        let name = self.machine["name"].as_str().unwrap_or("machine");
        // A host's name may contain characters that a folder's should not.
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "_");
        let folder = base.join(format!("{}-{name}{}", now.strftime("%Y-%m-%d"), self.kind));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("--save: cannot make {}", folder.display()))?;
        for (name, text) in [
            ("README.md", &readme(command, &self.machine, &now, !self.raw.is_empty())),
            ("raw.csv", &self.raw),
            ("summary.txt", &self.summary),
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

/// A number, or `-` if there is none.
pub(crate) fn optional(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}
fn readme(command: &str, machine: &Value, now: &jiff::Zoned, has_turns: bool) -> String {
    let word = |key: &str| machine[key].as_str().unwrap_or("unknown").to_owned();
    let mut text = format!("# {} on {}\n\n", now.strftime("%Y-%m-%d %H:%M"), word("name"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "```\n{command}\n```\n");
    let _ = writeln!(text, "| | |\n|---|---|");
    let _ = writeln!(text, "| CPU | {} × {} |", machine["cpus"], word("cpu"));
    let _ = writeln!(text, "| memory | {} |", word("memory"));
    let _ = writeln!(text, "| kernel | {} ({}) |", word("kernel"), word("architecture"));
    let _ = writeln!(text, "| load before | {} |", word("load_before"));
    for version in machine["versions"].as_array().into_iter().flatten() {
        let part = |key: &str| version[key].as_str().unwrap_or("unknown");
        let _ = writeln!(text, "| {} | {} |", part("program"), part("version"));
    }
    text.push_str(match has_turns {
        true => "\n`summary.txt` holds the tables, `raw.csv` all turns.\n",
        false => "\n`summary.txt` holds the numbers.\n",
    });
    text
}

fn raw(turns: &[Turns<'_>]) -> String {
    let mut text = "table,case,who,round,wall_us,user_us,system_us,resident_kib_max\n".to_owned();
    for Turns { table, case, series } in turns {
        for (round, one) in series.turns.iter().enumerate() {
            let _ = writeln!(
                text,
                "{table},\"{case}\",\"{}\",{},{},{},{},{}",
                series.name,
                round + 1,
                one.wall_us,
                one.user_us,
                one.system_us,
                one.resident_kib_max
            );
        }
    }
    text
}
