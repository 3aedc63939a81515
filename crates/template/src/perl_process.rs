//! One Perl process that runs the expressions which are beyond our own language.
//!
//! It is started with the first of them, and ends when the last template is dropped.  Each run is a
//! request and an answer over two pipes; a request of a few values takes some 20 µs.
//!
//! Variables keep their values, so an expression must run once for each job and value, however often
//! the job's command line is rendered: the answers of the latest job are kept.

use std::collections::HashMap;
use std::io::{self, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The program that answers.
const DRIVER: &str = include_str!("perl_process/driver.pl");

/// Most bytes of answers that are kept of a job: far above what one command line holds.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// A process that all clones share.
#[derive(Clone, Debug, Default)]
pub struct PerlProcess(Arc<Mutex<Option<RunningPerl>>>);

#[derive(Debug)]
struct RunningPerl {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    kept: LatestAnswers,
}

/// The answers of the latest job.
#[derive(Debug, Default)]
struct LatestAnswers {
    seq: Vec<u8>,
    /// By the code, the slot where it counts, and the values.
    answers: HashMap<Vec<Vec<u8>>, PerlResult>,
    bytes: usize,
}

/// What an expression is run on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerlJob<'a> {
    /// The value.
    pub(crate) value: &'a [u8],
    /// The job's number.
    pub(crate) seq: u64,
    /// The slot of the job; 0 if the expression does not name it.
    pub(crate) slot: u32,
    /// The number of slots.
    pub(crate) slots: u32,
    /// The number of jobs, if it is known.
    pub(crate) total: Option<u64>,
    /// Seconds since 1970 in local time.
    pub(crate) local_time_s: i64,
}

/// What an expression has made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Runs an expression on a value of a job, or gives what it made of it before.  `values` are the
    /// job's values; none if the expression does not name them.
    pub(crate) fn run(
        &self,
        code: &[u8],
        job: PerlJob<'_>,
        values: &[&[u8]],
        bytes_max: usize,
    ) -> Result<PerlResult, PerlProcessError> {
        let number = |number: u64| number.to_string().into_bytes();
        let (seq, slot) = (number(job.seq), number(u64::from(job.slot)));
        let mut key = vec![code.to_vec(), slot.clone(), job.value.to_vec()];
        key.extend(values.iter().map(|value| value.to_vec()));
        if let Some(answer) = self.running().as_ref().and_then(|one| one.kept.find(&seq, &key)) {
            return Ok(answer);
        }
        let (slots, total) = (number(u64::from(job.slots)), job.total.map(number));
        let time = job.local_time_s.to_string();
        let numbers = [&*seq, &*slot, &*slots, total.as_deref().unwrap_or_default()];
        let mut fields: Vec<&[u8]> = vec![b"run", code, job.value];
        fields.extend(numbers);
        fields.push(time.as_bytes());
        fields.extend(values);
        let answer = self.ask(&fields, bytes_max)?;
        if let Some(running) = &mut *self.running() {
            running.kept.keep(seq, key, &answer);
        }
        Ok(answer)
    }

    fn running(&self) -> MutexGuard<'_, Option<RunningPerl>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, fields: &[&[u8]], bytes_max: usize) -> Result<PerlResult, PerlProcessError> {
        let mut running = self.running();
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(RunningPerl::start()?),
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

impl LatestAnswers {
    fn find(&self, seq: &[u8], key: &[Vec<u8>]) -> Option<PerlResult> {
        if self.seq == seq { self.answers.get(key).cloned() } else { None }
    }

    fn keep(&mut self, seq: Vec<u8>, key: Vec<Vec<u8>>, answer: &PerlResult) {
        if self.seq != seq {
            *self = LatestAnswers { seq, ..LatestAnswers::default() };
        }
        self.bytes += answer.text.len() + key.iter().map(Vec::len).sum::<usize>();
        if self.bytes <= KEPT_BYTES_MAX {
            self.answers.insert(key, answer.clone());
        }
    }
}

impl RunningPerl {
    fn start() -> Result<Self, PerlProcessError> {
        let mut command = Command::new("perl");
        command.args(["-e", DRIVER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => PerlProcessError::Missing,
            _ => PerlProcessError::Failed(format!("needs Perl, which cannot be started: {error}")),
        })?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or(PerlProcessError::Missing)?;
        let answers = BufReader::new(answers);
        Ok(RunningPerl { child, requests, answers, kept: LatestAnswers::default() })
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

impl Drop for RunningPerl {
    fn drop(&mut self) {
        // It ends at the end of its requests.  Who waits for all processes may have waited for it.
        self.requests = None;
        let _ = self.child.wait();
    }
}
