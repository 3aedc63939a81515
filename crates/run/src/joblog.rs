//! The joblog: which job ran when, for how long and with what result; and resuming from it.
//!
//! [`Format::Columns`] is the format of GNU parallel since 2011, which scripts read: nine columns
//! separated by TAB, the run time padded to ten characters, a newline in a command written as NUL.
//! [`Format::Json`] has everything that is known of a job.  Each line is one write(2) at the end of
//! the file, so that a runner that is killed loses no line that it has written.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::job::JobResult;
use crate::loss::Loss;

mod json;
mod past;

pub use past::{EarlierResults, read, read_from};

/// The format of a [`Log`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Nine columns separated by TAB, with a header: the joblog of GNU parallel.
    Columns,
    /// A JSON object with all of [`JobResult`] and the resource usage.
    Json,
}

impl Format {
    fn header(self) -> &'static [u8] {
        match self {
            Format::Columns => {
                b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
            }
            Format::Json => b"",
        }
    }
}

/// Why a joblog could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It could not be opened, read or written.
    #[error("cannot {verb} the joblog {}: {error}", path.display())]
    Io {
        /// What was tried: open, read, write.
        verb: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why it failed.
        error: io::Error,
    },
    /// A line is not in the format of a joblog.
    #[error(
        "line {line} of the joblog {} is invalid: correct it or choose another file",
        path.display()
    )]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
    },
}

/// A joblog being written.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    line: Vec<u8>,
    format: Format,
    loss: Loss<LogError>,
}

impl Log {
    /// Opens a file: a new one with a header (if the format has one), or, with `append`, an
    /// existing one.
    pub fn create(path: &Path, format: Format, append: bool) -> Result<Self, LogError> {
        let error = |error| LogError::Io { verb: "open", path: path.into(), error };
        let mut options = OpenOptions::new();
        options.create(true).read(append).append(true);
        let mut file = options.open(path).map_err(error)?;
        let mut line = Vec::new();
        if append {
            // An incomplete line of a runner that was killed must not become the beginning of ours.
            // Pipes and terminals cannot be checked.
            if file.seek(SeekFrom::End(-1)).is_ok() {
                let mut last = [0];
                if file.read(&mut last).is_ok_and(|count| count == 1) && last[0] != b'\n' {
                    line.push(b'\n');
                }
            }
        } else {
            let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
            if regular {
                file.set_len(0).map_err(error)?;
            }
            line.extend_from_slice(format.header());
        }
        let mut log = Log { file, path: path.into(), line, format, loss: Loss::None };
        log.write_line()?;
        Ok(log)
    }

    /// Writes to an open descriptor (`--joblog -`), starting with the header.
    pub fn on(file: OwnedFd, format: Format) -> Result<Self, LogError> {
        let line = format.header().to_vec();
        let mut log = Log { file: file.into(), path: "-".into(), line, format, loss: Loss::None };
        log.write_line()?;
        Ok(log)
    }

    /// Adds a job.
    ///
    /// # Errors
    /// If the reader is gone.  Any other failure is kept for [`Log::take_loss`]: the jobs go on.
    pub fn write(&mut self, finished: &JobResult) -> Result<(), LogError> {
        match self.format {
            Format::Columns => push_columns(finished, &mut self.line),
            Format::Json => json::push(finished, &mut self.line),
        }
        self.write_line()
    }

    fn write_line(&mut self) -> Result<(), LogError> {
        let written = self.file.write_all(&self.line);
        self.line.clear();
        let Err(error) = written else { return Ok(()) };
        let is_reader_gone = error.kind() == io::ErrorKind::BrokenPipe;
        let error = LogError::Io { verb: "write", path: self.path.clone(), error };
        if is_reader_gone {
            return Err(error);
        }
        self.loss.note(error);
        Ok(())
    }

    /// The first failure to write, once.
    pub fn take_loss(&mut self) -> Option<LogError> {
        self.loss.take()
    }
}

fn push_columns(finished: &JobResult, line: &mut Vec<u8>) {
    push_number(finished.seq, line);
    line.push(b'\t');
    line.extend_from_slice(finished.host.as_bytes());
    line.push(b'\t');
    push_seconds(finished.start_ns, 0, line);
    line.push(b'\t');
    push_seconds(finished.wall_ns, 10, line);
    for number in [finished.send_bytes, finished.receive_bytes] {
        line.push(b'\t');
        push_number(number, line);
    }
    for number in [finished.outcome.exit_value(), finished.outcome.signal()] {
        line.push(b'\t');
        if number < 0 {
            line.push(b'-');
        }
        push_number(u64::from(number.unsigned_abs()), line);
    }
    line.push(b'\t');
    let begin = line.len();
    line.extend_from_slice(&finished.command);
    for byte in &mut line[begin..] {
        if *byte == b'\n' {
            *byte = 0;
        }
    }
    line.push(b'\n');
}

fn push_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut begin = digits.len();
    loop {
        begin -= 1;
        digits[begin] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[begin..]);
}

/// Appends a time in seconds with three decimals, rounded, padded with blanks on the left.
pub(crate) fn push_seconds(time_ns: u64, width: usize, out: &mut Vec<u8>) {
    let time_ms = time_ns / 1_000_000 + u64::from(time_ns % 1_000_000 >= 500_000);
    let begin = out.len();
    push_number(time_ms / 1000, out);
    let thousandths = (time_ms % 1000) as u16;
    let digit = |number: u16| b'0' + (number % 10) as u8;
    out.push(b'.');
    out.extend_from_slice(&[digit(thousandths / 100), digit(thousandths / 10), digit(thousandths)]);
    let length = out.len() - begin;
    if length < width {
        out.resize(begin + width, b' ');
        out[begin..].rotate_right(width - length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Outcome;

    pub(super) fn job(seq: u64, outcome: Outcome, command: &[u8]) -> JobResult {
        JobResult {
            seq,
            slot: 1,
            host: ":".into(),
            start_ns: 1_795_235_723_505_000_000,
            wall_ns: 4_000_000,
            send_bytes: 0,
            receive_bytes: 2,
            outcome,
            attempt: 1,
            command: command.to_vec(),
            records: Vec::new(),
            usage: None,
        }
    }

    fn line(finished: &JobResult) -> String {
        let mut out = Vec::new();
        push_columns(finished, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_line_has_nine_columns() {
        assert_eq!(
            line(&job(1, Outcome::Exited(0), b"echo 0; exit 0")),
            "1\t:\t1795235723.505\t     0.004\t0\t2\t0\t0\techo 0; exit 0\n"
        );
        let late = JobResult { wall_ns: 1_458_000_000, ..job(2, Outcome::Killed(15), b"sleep 3") };
        assert_eq!(line(&late), "2\t:\t1795235723.505\t     1.458\t0\t2\t-1\t15\tsleep 3\n");
        assert!(line(&job(3, Outcome::Signalled(9), b"x")).ends_with("\t0\t9\tx\n"));
        assert!(line(&job(3, Outcome::Skipped, b"x")).ends_with("\t-2\t0\tx\n"));
        assert!(line(&job(4, Outcome::Exited(1), b"a\nb\tc")).ends_with("\t1\t0\ta\0b\tc\n"));
    }

    #[test]
    fn seconds_are_rounded_and_padded() {
        for (time_ns, width, text) in [
            (0, 0, "0.000"),
            (499_999, 0, "0.000"),
            (500_000, 0, "0.001"),
            (999_500_000, 10, "     1.000"),
            (123_456_789_012_345_678, 10, "123456789.012"),
            (u64::MAX, 0, "18446744073.710"),
        ] {
            let mut out = Vec::new();
            push_seconds(time_ns, width, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn a_log_begins_with_a_header_and_is_added_to_without_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let header = std::str::from_utf8(Format::Columns.header()).expect("text");
        let one = line(&job(1, Outcome::Exited(0), b"a"));
        let mut log = Log::create(&path, Format::Columns, false).expect("a log");
        log.write(&job(1, Outcome::Exited(0), b"a")).expect("a line");
        assert_eq!(std::fs::read_to_string(&path).expect("text"), format!("{header}{one}"));
        let mut log = Log::create(&path, Format::Columns, true).expect("a log");
        log.write(&job(1, Outcome::Exited(0), b"a")).expect("a line");
        assert_eq!(std::fs::read_to_string(&path).expect("text"), format!("{header}{one}{one}"));
        Log::create(&path, Format::Columns, false).expect("a log");
        assert_eq!(std::fs::read_to_string(&path).expect("text"), header);
        // A truncated line stays a line of its own.
        std::fs::write(&path, "8\t:\t1").expect("a file");
        let mut log = Log::create(&path, Format::Columns, true).expect("a log");
        log.write(&job(1, Outcome::Exited(0), b"a")).expect("a line");
        assert_eq!(std::fs::read_to_string(&path).expect("text"), format!("8\t:\t1\n{one}"));
    }

    #[test]
    fn a_log_that_cannot_be_written_says_which() {
        let error = Log::create(Path::new("/nowhere/at/all"), Format::Json, false).expect_err("no");
        assert!(error.to_string().contains("open the joblog /nowhere/at/all: No such file"));
        // The jobs run nevertheless, and it is told once.
        let mut log = Log::create(Path::new("/dev/full"), Format::Columns, false).expect("a log");
        log.write(&job(1, Outcome::Exited(0), b"a")).expect("the jobs go on");
        let error = log.take_loss().expect("a loss");
        assert!(error.to_string().contains("write the joblog /dev/full: No space left"));
        log.write(&job(2, Outcome::Exited(0), b"b")).expect("the jobs go on");
        assert!(log.take_loss().is_none());
    }
}
