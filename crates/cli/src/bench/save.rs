//! Keeps a run: `bench/runs/<date>-<machine>/` with the command, the machine, the versions, the
//! tables and every single turn.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use testkit::bench::Series;

use super::programs::Programs;

/// What the numbers depend on.
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

/// All turns of one contestant, and where they belong.
pub(crate) struct Turns<'a> {
    /// The table.
    pub(crate) table: &'static str,
    /// The case in it.
    pub(crate) case: &'a str,
    /// Whose turns, and what each cost.
    pub(crate) series: Cow<'a, Series>,
}

/// Writes the folder, whose name ends in `kind`; gives its path.
pub(crate) fn save(
    base: &Path,
    kind: &str,
    command: &str,
    machine: &Value,
    summary: &str,
    turns: &[Turns<'_>],
) -> anyhow::Result<PathBuf> {
    let now = jiff::Zoned::now();
    let name = machine["name"].as_str().unwrap_or("machine");
    // A host's name may hold what a folder's should not.
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "_");
    let folder = base.join(format!("{}-{name}{kind}", now.strftime("%Y-%m-%d")));
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("--save: cannot make {}", folder.display()))?;
    for (name, text) in [
        ("README.md", readme(command, machine, &now, !turns.is_empty())),
        ("raw.csv", raw(turns)),
        ("summary.txt", summary.to_owned()),
    ] {
        if name == "raw.csv" && turns.is_empty() {
            continue;
        }
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(folder)
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
        true => "\n`summary.txt` holds the tables, `raw.csv` every turn of everybody.\n",
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
