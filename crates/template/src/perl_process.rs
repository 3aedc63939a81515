//! One Perl process that runs the expressions which are beyond our own language.
//!
//! It is started with the first of them, and ends when the last template is dropped.  Each run is a
//! request and an answer over two pipes; a request of a few values takes some 20 µs.

use std::io::{self, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The program that answers.
const DRIVER: &str = include_str!("perl_process/driver.pl");

/// A process that all clones share.
#[derive(Clone, Debug, Default)]
pub struct PerlProcess(Arc<Mutex<Option<Running>>>);

#[derive(Debug)]
struct Running {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What an expression has made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PerlResult {
    pub(crate) text: Vec<u8>,
    pub(crate) skip: bool,
    pub(crate) unquoted: bool,
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum PerlProcessError {
    /// There is no Perl.
    Missing,
    /// The text is longer than is allowed.
    TooLong,
    /// Perl says why, or the process has ended.
    Failed(String),
}

impl From<io::Error> for PerlProcessError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                PerlProcessError::Failed("has ended Perl".to_owned())
            }
            _ => PerlProcessError::Failed(format!("could not be sent to Perl: {error}")),
        }
    }
}

impl PerlProcess {
    /// Checks that Perl understands an expression.
    pub(crate) fn parse(&self, code: &[u8]) -> Result<(), PerlProcessError> {
        self.ask(&[b"parse", code], usize::MAX).map(drop)
    }

    /// Runs an expression.  `fields` are the value, the job's number, its slot, the number of slots,
    /// the number of jobs (empty if it is unknown), the local time in seconds, and the job's values.
    pub(crate) fn run(
        &self,
        code: &[u8],
        fields: &[&[u8]],
        bytes_max: usize,
    ) -> Result<PerlResult, PerlProcessError> {
        self.ask(&[&[b"run", code], fields].concat(), bytes_max)
    }

    fn ask(&self, fields: &[&[u8]], bytes_max: usize) -> Result<PerlResult, PerlProcessError> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(Running::start()?),
        };
        let [status, text] = running.ask(fields, bytes_max)?;
        match &*status {
            b"error" => {
                let why = String::from_utf8_lossy(&text);
                let why = why.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
                Err(PerlProcessError::Failed(format!("fails in Perl: {why}")))
            }
            _ => Ok(PerlResult {
                text,
                skip: status.starts_with(b"skip"),
                unquoted: status.ends_with(b"uq"),
            }),
        }
    }
}

impl Running {
    fn start() -> Result<Self, PerlProcessError> {
        let mut command = Command::new("perl");
        command.args(["-e", DRIVER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => PerlProcessError::Missing,
            _ => PerlProcessError::Failed(format!("needs Perl, which cannot be started: {error}")),
        })?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or(PerlProcessError::Missing)?;
        Ok(Running { child, requests, answers: BufReader::new(answers) })
    }

    /// Sends the fields of a request and reads the two of its answer.
    fn ask(
        &mut self,
        fields: &[&[u8]],
        bytes_max: usize,
    ) -> Result<[Vec<u8>; 2], PerlProcessError> {
        let length = |bytes: usize| u32::try_from(bytes).map_err(|_| PerlProcessError::TooLong);
        let mut request = length(fields.len())?.to_be_bytes().to_vec();
        for field in fields {
            request.extend(length(field.len())?.to_be_bytes());
            request.extend_from_slice(field);
        }
        let requests = self.requests.as_mut().ok_or(io::Error::from(io::ErrorKind::BrokenPipe))?;
        requests.write_all(&request)?;
        self.number()?;
        Ok([self.field(bytes_max)?, self.field(bytes_max)?])
    }

    fn number(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 4];
        self.answers.read_exact(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes) as usize)
    }

    fn field(&mut self, bytes_max: usize) -> Result<Vec<u8>, PerlProcessError> {
        let length = self.number()?;
        let mut bytes = Vec::new();
        let mut rest = (&mut self.answers).take(length as u64);
        (&mut rest).take(bytes_max as u64).read_to_end(&mut bytes)?;
        let left_out = io::copy(&mut rest, &mut io::sink())?;
        match (left_out, bytes.len() == length) {
            (0, true) => Ok(bytes),
            (0, false) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Err(PerlProcessError::TooLong),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It ends at the end of its requests.  Who waits for all processes may have waited for it.
        self.requests = None;
        let _ = self.child.wait();
    }
}
