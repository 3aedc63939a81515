//! Fake jobs: they write to the descriptors that the collector hands out, as a job would.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use run::collect::{CollectError, Collector, JobText, Mode, OutputOptions, Streams};
use run::{JobResult, Outcome};
use template::Record;

/// A collector that writes to two files, and the folder of its temporary ones.
pub(crate) struct Bench {
    pub(crate) collector: Collector,
    pub(crate) folder: tempfile::TempDir,
    outputs: [File; 2],
    written: Vec<(u64, u64)>,
}

/// Options whose temporary files are made in `folder`.
pub(crate) fn options(mode: Mode, keep_order: bool, folder: &Path) -> OutputOptions {
    OutputOptions { mode, keep_order, directory: folder.into(), ..OutputOptions::default() }
}

impl Bench {
    pub(crate) fn new(mode: Mode, keep_order: bool) -> Self {
        Self::with(|folder| options(mode, keep_order, folder))
    }

    pub(crate) fn with(options: impl FnOnce(&Path) -> OutputOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let outputs =
            [tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file")];
        let copy = |file: &File| OwnedFd::from(file.try_clone().expect("a descriptor"));
        let (stdout, stderr) = (copy(&outputs[0]), copy(&outputs[1]));
        let collector =
            Collector::new(options(folder.path()), stdout, stderr).expect("a collector");
        Bench { collector, folder, outputs, written: Vec::new() }
    }

    pub(crate) fn open(&mut self, slot: u32, seq: u64, tag: Option<&str>) -> Streams {
        let text = JobText { tag: tag.map(str::as_bytes), ..JobText::default() };
        self.collector.open(slot, seq, &text).expect("streams")
    }

    pub(crate) fn close(&mut self, slot: u32, seq: u64) {
        self.collector.close(finished(slot, seq), false).expect("written");
        self.drain();
    }

    /// Takes the jobs whose turn it is, as the engine does after each end.
    pub(crate) fn drain(&mut self) {
        while let Some(finished) = self.collector.next_written().expect("written") {
            self.written.push((finished.seq, finished.receive_bytes));
        }
    }

    /// What came to our standard output.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.stdout_bytes()).expect("text")
    }

    /// What came to our standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.stderr_bytes()).expect("text")
    }

    /// What came to our standard output.
    pub(crate) fn stdout_bytes(&self) -> Vec<u8> {
        bytes(&self.outputs[0])
    }

    /// What came to our standard error.
    pub(crate) fn stderr_bytes(&self) -> Vec<u8> {
        bytes(&self.outputs[1])
    }

    /// Numbers and received bytes of the jobs whose lines of the joblog are due.
    pub(crate) fn written(&mut self) -> Vec<(u64, u64)> {
        self.drain();
        std::mem::take(&mut self.written)
    }
}

fn bytes(file: &File) -> Vec<u8> {
    let mut copy = file.try_clone().expect("a descriptor");
    let end = copy.stream_position().expect("a position");
    copy.rewind().expect("a beginning");
    let mut bytes = Vec::new();
    copy.read_to_end(&mut bytes).expect("text");
    copy.seek(SeekFrom::Start(end)).expect("an end");
    bytes
}

/// A job that ended well.
pub(crate) fn finished(slot: u32, seq: u64) -> JobResult {
    JobResult {
        seq,
        slot,
        host: ":".into(),
        start_ns: 1_795_235_723_505_000_000,
        wall_ns: 4_000_000,
        send_bytes: 0,
        receive_bytes: 0,
        outcome: Outcome::Exited(0),
        attempt: 1,
        command: format!("echo {seq}").into_bytes(),
        records: vec![Record::of(seq.to_string())],
        usage: None,
    }
}

/// Writes as a job does; panics where a job would die.
pub(crate) fn write(descriptor: impl Into<Option<RawFd>>, bytes: impl AsRef<[u8]>) {
    let file = borrowed(descriptor).try_clone_to_owned().expect("a descriptor");
    File::from(file).write_all(bytes.as_ref()).expect("written");
}

/// A descriptor that the collector keeps open.
pub(crate) fn borrowed<'a>(descriptor: impl Into<Option<RawFd>>) -> BorrowedFd<'a> {
    let descriptor: Option<RawFd> = descriptor.into();
    let descriptor = descriptor.expect("a descriptor of its own");
    // SAFETY: the collector keeps what it hands out open until the job is closed, and the tests
    // write before that.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// A pipe's two ends.
pub(crate) fn pipe() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe")
}

/// Opens a device to write to.
pub(crate) fn device(path: &str) -> OwnedFd {
    File::options().write(true).open(path).expect("a device").into()
}

/// A collector that writes to these two.
pub(crate) fn collector(options: OutputOptions, stdout: OwnedFd, stderr: impl AsFd) -> Collector {
    let stderr = stderr.as_fd().try_clone_to_owned().expect("a descriptor");
    Collector::new(options, stdout, stderr).expect("a collector")
}

/// The error of closing a job that wrote this.
pub(crate) fn close_error(collector: &mut Collector, output: &[u8]) -> CollectError {
    let streams = collector.open(1, 1, &JobText::default()).expect("streams");
    write(streams.stdout, output);
    collector.close(finished(1, 1), false).expect_err("an error")
}
