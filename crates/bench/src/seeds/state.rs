//! What a run has measured, in a file, so that another run goes on from there.
//!
//! A line of JSON each: first what the run is (machine, kernel, size), then every part that is
//! complete, with its rows.  A part is written by one `write`; a line that was cut off by the end of
//! a run is removed, and its part is measured again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::row::SeedRow;
use crate::error::{Context, Result, ensure};

/// Longest file that is read: a whole run makes about 100 kB.
const BYTES_MAX: u64 = 64 << 20;

/// A part that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeasuredPart {
    pub(crate) rows: Vec<SeedRow>,
    /// Elapsed time of the part, and CPU time of everything that ran for it.
    pub(crate) took_s: f64,
    pub(crate) cpu_s: f64,
}

impl MeasuredPart {
    fn from_json(value: &Value) -> Option<Self> {
        let rows = value["rows"].as_array()?.iter().map(SeedRow::from_json);
        Some(MeasuredPart {
            rows: rows.collect::<Option<_>>()?,
            took_s: value["took_s"].as_f64()?,
            cpu_s: value["cpu_s"].as_f64()?,
        })
    }
}

/// The parts that were measured, by name, and the file that keeps them if there is one.
#[derive(Debug, Default)]
pub(crate) struct MeasuredParts {
    done: HashMap<String, MeasuredPart>,
    file: Option<File>,
}

impl MeasuredParts {
    /// Opens the file, or makes it for a run that is described by `head`.
    ///
    /// # Errors
    /// If it cannot be read or written, is none of these files, or is of another run.
    pub(crate) fn open(path: &Path, head: &Value) -> Result<Self> {
        let name = path.display().to_string();
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .with_context(|| format!("--resume: cannot open {name}"))?;
        let mut text = String::new();
        (&mut file).take(BYTES_MAX).read_to_string(&mut text).with_context(|| name.clone())?;
        ensure!((text.len() as u64) < BYTES_MAX, "{name} is no file of `whit bench seeds`");
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        match lines.next().map(serde_json::from_str::<Value>) {
            // A first line that was cut off is the whole file, too.
            None if text.is_empty() || text.starts_with('{') => {}
            Some(Ok(value)) if value == *head => {}
            Some(Ok(value)) if value.get("run").is_some() => ensure!(
                false,
                "{name} is of another run, {value}, and this is {head}: name another file"
            ),
            _ => ensure!(false, "{name} is no file of `whit bench seeds`: name another file"),
        }
        let mut state = MeasuredParts::default();
        for (number, line) in (2..).zip(lines) {
            let value: Option<Value> = serde_json::from_str(line).ok();
            let part = value.as_ref().and_then(|value| value["part"].as_str());
            let done = value.as_ref().and_then(MeasuredPart::from_json);
            let (part, done) =
                part.zip(done).with_context(|| format!("{name}, line {number}: no part"))?;
            state.done.insert(part.to_owned(), done);
        }
        file.set_len(whole as u64)?;
        file.seek(std::io::SeekFrom::End(0))?;
        if whole == 0 {
            file.write_all(format!("{head}\n").as_bytes())?;
        }
        state.file = Some(file);
        Ok(state)
    }

    /// A part that was measured.
    pub(crate) fn find(&self, part: &str) -> Option<&MeasuredPart> {
        self.done.get(part)
    }

    /// Keeps a part.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn keep(&mut self, part: &str, done: MeasuredPart) -> Result<()> {
        if let Some(file) = &mut self.file {
            let rows: Vec<Value> = done.rows.iter().map(SeedRow::to_json).collect();
            let line = json!({
                "part": part, "took_s": done.took_s, "cpu_s": done.cpu_s, "rows": rows,
            });
            file.write_all(format!("{line}\n").as_bytes()).context("--resume")?;
        }
        self.done.insert(part.to_owned(), done);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::row::tests::full;

    #[test]
    fn what_was_measured_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let head = json!({ "run": "seeds", "rounds": 3 });
        let done = MeasuredPart { rows: vec![full()], took_s: 1.5, cpu_s: 0.25 };
        let mut state = MeasuredParts::open(&path, &head).unwrap();
        assert_eq!(state.find("one"), None);
        state.keep("one", done.clone()).unwrap();
        state.keep("two", done.clone()).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        assert_eq!(MeasuredParts::open(&path, &head).unwrap().find("two"), Some(&done));

        // A run that was killed has written a part of a line, at whatever byte.
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        for cut in [1, lines[0].len() - 1, lines[0].len() + 1, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let state = MeasuredParts::open(&path, &head).unwrap();
            assert_eq!(state.find("one").is_some(), cut == whole.len() - 1, "{cut}");
            assert_eq!(state.find("two"), None);
            let kept = std::fs::read_to_string(&path).unwrap();
            assert!(whole.starts_with(&kept) && kept.ends_with('\n'), "{kept}");
        }
    }

    #[test]
    fn other_files_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let head = json!({ "run": "seeds", "rounds": 3 });
        for (text, said) in [
            ("root:x:0:0\n", "is no file of"),
            ("no line", "is no file of"),
            ("{\"run\":\"seeds\",\"rounds\":5}\n", "is of another run"),
            ("{\"run\":\"seeds\",\"rounds\":3}\n{\"part\":7}\n", "line 2: no part"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = MeasuredParts::open(&path, &head).unwrap_err().line();
            assert!(error.contains(said), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
