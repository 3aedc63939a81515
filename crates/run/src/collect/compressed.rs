//! Temporary files that other programs compress (`--compress`).
//!
//! A job writes to the pipe of a compressor, which writes to an unnamed file.  When the job has ended,
//! the compressor gets the end of its input and is waited for; when the output is to be written, a
//! decompressor reads the file.  Both are shell commands, each in a process group of its own, so that
//! the terminal's signals do not end them before the job.
//!
//! Cost: two processes for each of the two outputs of a job.  What a job leaves behind with its output
//! open is waited for.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::fs::SeekFrom;
use rustix::pipe::PipeFlags;

use super::CollectError;
use super::sink::GeneratedBytes;
use super::temporary::Temporary;

/// The shell commands by which temporary files are written and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionCommands {
    /// Compresses its standard input.
    pub compress: OsString,
    /// Decompresses its standard input.
    pub decompress: OsString,
}

/// A compressor at work, and what it writes to.
#[derive(Debug)]
pub(super) struct Compressor {
    process: Process,
    /// What the job writes to.
    writer: OwnedFd,
    file: Temporary,
}

/// The compressed output of a job.
#[derive(Debug)]
pub(super) struct Compressed {
    file: Temporary,
    decompress: OsString,
    /// How long the output is, once it was read.
    length: Cell<u64>,
}

/// A shell command.  One that nobody waits for ends when the pipe to or from it is closed, and the engine
/// takes its exit as that of a process that is none of its jobs.
#[derive(Debug)]
struct Process {
    command: OsString,
    child: Child,
}

impl Process {
    fn start(command: &OsStr, input: OwnedFd, output: Stdio) -> Result<Self, CollectError> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).stdin(input).stdout(output).process_group(0);
        spawn::unblock_in(&mut shell);
        let failed = |error| CollectError::Io { what: "start /bin/sh".to_owned(), error };
        let child = shell.spawn().map_err(failed)?;
        Ok(Process { command: command.to_owned(), child })
    }

    /// Waits for it; an error if it failed.
    fn wait(&mut self) -> Result<(), CollectError> {
        let ended = self.child.wait();
        if ended.as_ref().is_ok_and(ExitStatus::success) {
            return Ok(());
        }
        // One that ended before its input did was already waited for, as a process of nobody.
        let why = ended.map_or("it ended too early".to_owned(), |status| status.to_string());
        Err(CollectError::Compression { command: self.command.display().to_string(), why })
    }
}

impl Compressor {
    /// Starts a compressor that writes to a file in `folder`.
    pub(super) fn start(
        compression: &CompressionCommands,
        folder: &Path,
    ) -> Result<Self, CollectError> {
        let failed = |error: rustix::io::Errno| CollectError::Io {
            what: "make a pipe".to_owned(),
            error: error.into(),
        };
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        let file = Temporary::for_job(folder)?;
        let output = file.as_fd().try_clone_to_owned();
        let output =
            output.map_err(|error| CollectError::Io { what: "open a file again".into(), error })?;
        let process = Process::start(&compression.compress, reader, output.into())?;
        Ok(Compressor { process, writer, file })
    }

    /// What the job writes to.
    pub(super) fn writing(&self) -> RawFd {
        self.writer.as_raw_fd()
    }

    /// The job has ended: waits until all is compressed.
    pub(super) fn finish(
        self,
        compression: &CompressionCommands,
    ) -> Result<Compressed, CollectError> {
        let Compressor { mut process, writer, file } = self;
        drop(writer);
        process.wait()?;
        let decompress = compression.decompress.clone();
        Ok(Compressed { file, decompress, length: Cell::new(0) })
    }
}

impl GeneratedBytes for Compressed {
    fn length(&self) -> u64 {
        self.length.get()
    }

    fn each_chunk(
        &self,
        buffer: &mut [u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), CollectError>,
    ) -> Result<(), CollectError> {
        let failed = |error| CollectError::Io { what: "read a temporary file".to_owned(), error };
        rustix::fs::seek(&self.file, SeekFrom::Start(0)).map_err(|error| failed(error.into()))?;
        let input = self.file.as_fd().try_clone_to_owned().map_err(failed)?;
        let mut process = Process::start(&self.decompress, input, Stdio::piped())?;
        let mut length = 0_u64;
        if let Some(mut output) = process.child.stdout.take() {
            loop {
                let count = match output.read(buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(failed(error)),
                };
                take(&buffer[..count])?;
                length += count as u64;
            }
        }
        self.length.set(length);
        process.wait()
    }
}
