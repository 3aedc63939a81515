//! What a poller knows of its targets beside their values: titles, limits, and why one could not be read
//! last; in a file beside the poller's recordings, which the page reads.
//!
//! The file has an object of JSON in each line, so that a reader has one target in memory at a time.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// How the names of such files end.
pub const TARGETS_ENDING: &str = ".targets.json";
/// Most targets of a file: ten times those of the largest configurations that are known.
const TARGETS_MAX: usize = 50_000;
/// Most bytes of a file: a line of every target, each as long as it may be in practice.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Most files of a folder that are read: one for each poller.
const FILES_MAX: usize = 64;
/// Most characters of a text.
const TEXT_CHARACTERS_MAX: usize = 300;

/// A target of a poller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolledTarget {
    /// The device, as recordings name it.
    pub device: String,
    /// The target, as recordings name it.
    pub target: String,
    /// The title of the target.
    pub title: String,
    /// The largest values that it can have, in and out, in its own unit a second.
    pub limits: [Option<f64>; 2],
    /// Why it could not be read last; none if it always could.
    pub failure: Option<TargetFailure>,
}

/// Why a target could not be read.  Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetFailure {
    /// The reason, for people.
    pub why: String,
    /// When it began, for this or another reason.
    pub since_ms: i64,
    /// When it was tried last in vain.
    pub at_ms: i64,
    /// Whether it could be read since.
    pub is_over: bool,
}

/// Writes the targets of a poller to a file: whole, or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write_targets<'a>(
    path: &Path,
    targets: impl Iterator<Item = &'a PolledTarget>,
) -> io::Result<()> {
    let mut text = Vec::new();
    for one in targets.take(TARGETS_MAX) {
        writeln!(text, "{}", one.json())?;
    }
    whole_file::replace(path, text)
}

/// Reads the targets of a file, of as many as it may have.
///
/// # Errors
/// If it cannot be read.
pub fn read_targets(path: &Path) -> io::Result<Vec<PolledTarget>> {
    let lines = BufReader::new(File::open(path)?.take(FILE_BYTES_MAX)).split(b'\n');
    let mut targets = Vec::new();
    for line in lines.take(TARGETS_MAX) {
        let value = serde_json::from_slice(&line?);
        targets.extend(value.ok().as_ref().and_then(PolledTarget::of));
    }
    Ok(targets)
}

/// The targets that the pollers of a folder's recordings keep; what cannot be read is left out.
#[must_use]
pub fn targets_beside(folder: &Path) -> Vec<PolledTarget> {
    let paths = files_beside(folder, TARGETS_ENDING);
    paths.iter().flat_map(|path| read_targets(path).unwrap_or_default()).collect()
}

/// The files of pollers in a folder whose names end so, in the order of their names.
pub(crate) fn files_beside(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| {
            name.as_encoded_bytes().ends_with(ending.as_bytes()) && path.is_file()
        })
    };
    let mut paths: Vec<_> = paths.filter(is_ours).take(FILES_MAX).collect();
    paths.sort();
    paths
}

impl PolledTarget {
    fn of(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(short);
        let failure = |value: &Value| {
            let at_ms = value["at_ms"].as_i64()?;
            Some(TargetFailure {
                why: text(&value["why"])?,
                since_ms: value["since_ms"].as_i64().unwrap_or(at_ms),
                at_ms,
                is_over: value["is_over"] == true,
            })
        };
        Some(PolledTarget {
            device: value["device"].as_str()?.to_owned(),
            target: value["target"].as_str()?.to_owned(),
            title: text(&value["title"]).unwrap_or_default(),
            limits: [0, 1].map(|at| value["limits"][at].as_f64()),
            failure: failure(&value["failure"]),
        })
    }

    fn json(&self) -> Value {
        let failure = self.failure.as_ref().map(|failure| {
            json!({
                "why": short(&failure.why),
                "since_ms": failure.since_ms,
                "at_ms": failure.at_ms,
                "is_over": failure.is_over,
            })
        });
        json!({
            "device": self.device,
            "target": self.target,
            "title": short(&self.title),
            "limits": self.limits,
            "failure": failure,
        })
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("poll-h{TARGETS_ENDING}"));
        let failure =
            TargetFailure { why: "no answer".into(), since_ms: 5, at_ms: 7, is_over: true };
        let target = PolledTarget {
            device: "10.0.0.1".into(),
            target: "eth0".into(),
            title: "<b>\n\u{202e}".into(),
            limits: [Some(125e6), None],
            failure: Some(failure),
        };
        let other = PolledTarget { target: "eth1".into(), failure: None, ..target.clone() };
        write_targets(&path, [&target, &other].into_iter()).unwrap();
        assert_eq!(read_targets(&path).unwrap(), [target.clone(), other.clone()]);
        assert_eq!(targets_beside(folder.path()), [target.clone(), other]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let long = PolledTarget { title: "ä".repeat(100_000), ..target };
        write_targets(&path, std::iter::once(&long)).unwrap();
        assert_eq!(read_targets(&path).unwrap()[0].title.chars().count(), TEXT_CHARACTERS_MAX + 1);
    }

    #[test]
    fn hostile_files_are_left_out_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(format!("{name}{TARGETS_ENDING}"));
        fs::create_dir(name("a")).unwrap();
        fs::write(name("b"), b"\xff\xfe\0{[\n\n{}\n[]\n7\n{\"device\":1,\"target\":\"x\"}\n")
            .unwrap();
        let line = "{\"device\":\"d\",\"target\":\"t\",\"title\":[],\"limits\":{\"0\":1e999},\
                    \"failure\":{\"why\":\"w\",\"at_ms\":\"x\"}}";
        fs::write(name("c"), format!("{line}\n{{\"device\":\"d\",\"target\":\"u\"}}")).unwrap();
        let found = targets_beside(folder.path());
        let target = |name: &str| PolledTarget {
            device: "d".into(),
            target: name.into(),
            ..PolledTarget::default()
        };
        // A number that is too large makes its line none of JSON.
        assert_eq!(found, [target("u")]);
        assert!(targets_beside(&folder.path().join("none")).is_empty());
    }
}
