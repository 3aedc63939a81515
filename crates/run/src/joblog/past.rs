//! Reading a joblog, to resume a run.
//!
//! For `--resume` any line that begins with a number counts.  `--resume-failed` and
//! `--retry-failed` need lines of nine columns; a job has succeeded if any of its lines has exit
//! code 0 and no signal. A last line without a newline is truncated: it counts only if it is
//! complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use super::LogError;

/// Most bytes of a line: more than the arguments of a program may have (execve(2): a quarter of the
/// stack limit, 6 MiB at most by default).
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The results of earlier runs in a joblog.
#[derive(Clone, Debug, Default)]
pub struct EarlierResults {
    run: BTreeSet<u64>,
    succeeded: BTreeSet<u64>,
    failed: BTreeMap<u64, Vec<u8>>,
    /// The first line that is invalid.
    invalid_line: Option<u64>,
}

impl EarlierResults {
    /// `--resume`: whether this job was run, however it ended.
    pub fn was_run(&self, seq: u64) -> bool {
        self.run.contains(&seq)
    }

    /// `--resume-failed`: whether this job has succeeded.
    pub fn succeeded(&self, seq: u64) -> bool {
        self.succeeded.contains(&seq)
    }

    /// `--retry-failed`: the jobs that were run and never succeeded, by number, with the latest
    /// command line.
    pub fn into_failed(mut self) -> Vec<(u64, Vec<u8>)> {
        self.failed.retain(|seq, _| !self.succeeded.contains(seq));
        self.failed.into_iter().collect()
    }

    /// Returns an error if a line was invalid: `--resume-failed` and `--retry-failed` would repeat
    /// jobs that have succeeded.
    pub fn strict(self, path: &Path) -> Result<Self, LogError> {
        match self.invalid_line {
            Some(line) => Err(LogError::Line { path: path.into(), line }),
            None => Ok(self),
        }
    }

    fn add(&mut self, text: &[u8], number: u64) {
        let complete = text.ends_with(b"\n");
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let seq = std::str::from_utf8(&text[..digits]).ok().and_then(|digits| digits.parse().ok());
        let columns: Vec<&[u8]> = text.splitn(9, |byte| *byte == b'\t').collect();
        let whole = columns.len() == 9 && columns[0].len() == digits;
        let Some(seq) = seq else {
            // The header, or an empty line.
            if number > 1 && !text.is_empty() && !text.starts_with(b"Seq\t") {
                self.invalid_line.get_or_insert(number);
            }
            return;
        };
        if !whole {
            if complete {
                self.run.insert(seq);
                self.invalid_line.get_or_insert(number);
            }
            return;
        }
        self.run.insert(seq);
        if columns[6] == b"0" && columns[7] == b"0" {
            self.succeeded.insert(seq);
        } else {
            let mut command = columns[8].to_vec();
            command.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'\n');
            self.failed.insert(seq, command);
        }
    }
}

/// Reads a joblog.  A file that does not exist counts as empty.
///
/// # Errors
///
/// If the joblog cannot be read, or has a line that is too long.
pub fn read(path: &Path) -> Result<EarlierResults, LogError> {
    match File::open(path) {
        Ok(file) => read_from(BufReader::new(file), path),
        Err(none) if none.kind() == ErrorKind::NotFound => Ok(EarlierResults::default()),
        Err(error) => Err(LogError::Io { verb: "open", path: path.into(), error }),
    }
}

/// As [`read`], from an open file; `path` is for errors.
///
/// # Errors
///
/// As [`read`].
pub fn read_from(mut reader: impl BufRead, path: &Path) -> Result<EarlierResults, LogError> {
    let error = |error| LogError::Io { verb: "read", path: path.into(), error };
    let mut done = EarlierResults::default();
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut limited = std::io::Read::take(&mut reader, LINE_BYTES_MAX);
        if limited.read_until(b'\n', &mut text).map_err(error)? == 0 {
            break;
        }
        if text.len() as u64 == LINE_BYTES_MAX && !text.ends_with(b"\n") {
            return Err(LogError::Line { path: path.into(), line: number });
        }
        done.add(&text, number);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] =
        b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
        1\t:\t1\t1\t0\t0\t1\t0\techo old1\n\
        2\t:\t1\t1\t0\t0\t0\t0\techo old2\n\
        3\t:\t1\t1\t0\t0\t0\t9\techo old3\n\
        1\t:\t1\t1\t0\t0\t0\t0\techo again1\n\
        5\t:\t1\t1\t0\t0\t0\t0\techo ok5\n\
        5\t:\t1\t1\t0\t0\t2\t0\techo bad5\n\
        6\t:\t1\t1\t0\t0\t2\t0\techo bad6\n\
        6\t:\t1\t1\t0\t0\t-1\t15\techo bad6b\0echo\tz\n";

    fn done(text: &[u8]) -> EarlierResults {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        std::fs::write(&path, text).expect("a file");
        read(&path).expect("a joblog")
    }

    fn numbers(is: impl Fn(u64) -> bool) -> Vec<u64> {
        (0..20).filter(|seq| is(*seq)).collect()
    }

    #[test]
    fn what_was_run_and_what_did_well() {
        let done = done(LOG).strict(Path::new("log")).expect("a good one");
        assert_eq!(numbers(|seq| done.was_run(seq)), [1, 2, 3, 5, 6]);
        assert_eq!(numbers(|seq| done.succeeded(seq)), [1, 2, 5]);
        let failed = done.into_failed();
        assert_eq!(failed, [(3, b"echo old3".to_vec()), (6, b"echo bad6b\necho\tz".to_vec())]);
    }

    #[test]
    fn a_strange_line_counts_for_resume_alone() {
        let done = done(&[LOG, b"7 x\n8"].concat());
        assert_eq!(numbers(|seq| done.was_run(seq)), [1, 2, 3, 5, 6, 7]);
        let error = done.strict(Path::new("log")).expect_err("an invalid line");
        assert!(error.to_string().starts_with("line 10 of the joblog log is invalid"));
    }

    #[test]
    fn no_file_has_run_nothing() {
        let done = read(Path::new("/nowhere/at/all")).expect("nothing");
        assert!(!done.was_run(1) && done.into_failed().is_empty());
    }
}
