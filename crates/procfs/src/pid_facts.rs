//! Command line, executable and control group of a process, read in a separate thread.
//!
//! The kernel copies `/proc/PID/cmdline` from the memory of the process, under its `mmap_lock`,
//! which can be held for any time.  So a separate thread reads it, and the recorder waits only for
//! as long as it chooses.  A thread that blocks is abandoned and another one takes its work; if
//! the abandoned thread answers later, its answer is used.
//!
//! Costs about 15 µs a process: a directory and four files opened, read and closed.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};

use crate::mountinfo::unified_hierarchy;
use crate::pid::{cgroup_path, join_arguments, parse_stat, unified_path};

/// Bytes kept of a command line, and of the path of a control group.
pub const LINE_BYTES_MAX: usize = 4096;

/// Abandoned threads, each blocked on the memory lock of a process.
const STUCK_MAX: usize = 8;

/// Facts that rarely change while a process runs the same program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Program and arguments, separated by blanks; empty for a kernel thread.  `None` without
    /// permission to read it.
    pub command_line: Option<Vec<u8>>,
    /// Path of the executable; `None` for a kernel thread or without permission to read it.
    pub executable: Option<Vec<u8>>,
    /// See [`cgroup_path`].
    pub cgroup: Option<Vec<u8>>,
    /// Id of the control group in the unified hierarchy, the inode of its directory, if the reader
    /// looks ids up.  `None` if the group is gone or the hierarchy is not mounted.
    pub cgroup_id: Option<u64>,
}

/// Identifies a process by its id and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The process id.
    pub pid: i32,
    /// The start time in clock ticks since boot.
    pub start: u64,
    /// A value that the answer repeats: which of the programs of the process the caller means.
    pub program: u64,
    /// A value that the answer repeats, for the caller's use.
    pub tag: usize,
}

/// Reads facts in a separate thread, which the first question starts.
#[derive(Default)]
pub struct FactReader {
    line: Option<Line>,
    /// Unanswered questions, oldest first.
    open: VecDeque<Question>,
    /// Channels on which abandoned threads may still answer.
    abandoned: Vec<Receiver<Answer>>,
    /// Whether to look up the ids of control groups too, about 2 µs a process.
    group_ids: bool,
}

struct Line {
    questions: Sender<Question>,
    answers: Receiver<Answer>,
    /// Makes the thread exit as soon as it no longer blocks.
    is_abandoned: Arc<AtomicBool>,
}

type Answer = (Question, Option<Facts>);

impl FactReader {
    /// A reader that also looks up the ids of control groups.
    pub fn with_group_ids() -> Self {
        FactReader { group_ids: true, ..FactReader::default() }
    }

    /// Queues a question; false if no thread can take it because too many are blocked.
    pub fn ask(&mut self, question: Question) -> bool {
        if self.line.is_none() {
            self.line = (self.abandoned.len() < STUCK_MAX).then(|| begin(self.group_ids)).flatten();
        }
        let Some(line) = &self.line else { return false };
        let asked = line.questions.send(question).is_ok();
        if asked {
            self.open.push_back(question);
        }
        asked
    }

    /// The number of unanswered questions.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Waits for the next answer for at most `wait`; `None` if there is none.  An answer without
    /// facts means that the process is gone.
    pub fn next_answer(&mut self, wait: Duration) -> Option<(Question, Option<Facts>)> {
        if let Some(answer) = self.take_abandoned() {
            return Some(answer);
        }
        if self.open.is_empty() {
            return None;
        }
        let line = self.line.as_ref()?;
        let answer = if wait.is_zero() {
            line.answers.try_recv().ok()?
        } else {
            line.answers.recv_timeout(wait).ok()?
        };
        self.open.pop_front();
        Some(answer)
    }

    /// An answer of an abandoned thread, which exits after it.
    fn take_abandoned(&mut self) -> Option<Answer> {
        for index in 0..self.abandoned.len() {
            let answer = match self.abandoned[index].try_recv() {
                Err(TryRecvError::Empty) => continue,
                Err(TryRecvError::Disconnected) => None,
                Ok(answer) => Some(answer),
            };
            self.abandoned.swap_remove(index);
            return answer;
        }
        None
    }

    /// Abandons the current thread, which blocks on the oldest question, and gives all other
    /// questions to a new thread.
    pub fn give_up_first(&mut self) {
        if let Some(line) = self.line.take() {
            line.is_abandoned.store(true, Ordering::Relaxed);
            self.abandoned.push(line.answers);
        }
        let mut open = std::mem::take(&mut self.open);
        open.pop_front();
        for question in open {
            self.ask(question);
        }
    }
}

/// Starts a thread with all signals blocked, so that the kernel delivers them to the recorder's
/// main thread.
fn begin(group_ids: bool) -> Option<Line> {
    let (questions, asked) = channel::<Question>();
    let (answer, answers) = channel();
    let is_abandoned = Arc::new(AtomicBool::new(false));
    let left = is_abandoned.clone();
    let work = move || {
        let hierarchy = if group_ids { unified_hierarchy() } else { None };
        for question in asked {
            let facts = read_facts(question.pid, question.start, hierarchy.as_deref());
            if answer.send((question, facts)).is_err() || left.load(Ordering::Relaxed) {
                return;
            }
        }
    };
    let builder = std::thread::Builder::new().name("facts".into()).stack_size(128 * 1024);
    without_signals(|| builder.spawn(work)).ok()?;
    Some(Line { questions, answers, is_abandoned })
}

/// Runs `begin` with all signals blocked; a thread that it starts inherits the mask.
fn without_signals<T>(begin: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are on the stack, `sigfillset` makes one whole before it is read, and
    // `pthread_sigmask` writes the other before it is used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let begun = begin();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        begun
    }
}

/// Reads the facts of a process of this machine; `None` if it is gone.  Blocks while the memory of
/// the process is locked.  With `hierarchy`, the mount point of the unified hierarchy, looks up
/// the id of the control group.
pub fn read_facts(pid: i32, start: u64, hierarchy: Option<&Path>) -> Option<Facts> {
    let path = format!("/proc/{pid}");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    // The open directory refers to this process, even if its id is reused.
    let directory = openat(CWD, path, flags, Mode::empty()).ok()?;
    let stat = read_below(&directory, "stat")?;
    if parse_stat(&stat)?.field(22) != Some(start) {
        return None;
    }
    let mut command_line = read_below(&directory, "cmdline");
    if let Some(line) = &mut command_line {
        join_arguments(line);
    }
    let executable =
        readlinkat(&directory, "exe", Vec::new()).ok().map(std::ffi::CString::into_bytes);
    let cgroup = read_below(&directory, "cgroup");
    let cgroup_id = cgroup.as_deref().zip(hierarchy).and_then(|(text, root)| group_id(text, root));
    let cgroup = cgroup.as_deref().and_then(cgroup_path).map(<[u8]>::to_vec);
    Some(Facts { command_line, executable, cgroup, cgroup_id })
}

/// The id of a process's control group, from the text of its `cgroup` file.
fn group_id(text: &[u8], hierarchy: &Path) -> Option<u64> {
    let path = unified_path(text)?;
    // A cgroup outside the namespace that is mounted here.
    if path.starts_with(b"/..") {
        return None;
    }
    let path = hierarchy.join(OsStr::from_bytes(path.strip_prefix(b"/")?));
    rustix::fs::stat(path).ok().map(|status| status.st_ino)
}

/// The first [`LINE_BYTES_MAX`] bytes of a file.
fn read_below(directory: &OwnedFd, name: &str) -> Option<Vec<u8>> {
    let file = openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = vec![0; LINE_BYTES_MAX];
    let count = rustix::io::pread(&file, text.as_mut_slice(), 0).ok()?;
    text.truncate(count);
    text.shrink_to_fit();
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Question {
        let text = std::fs::read("/proc/self/stat").unwrap();
        let start = parse_stat(&text).unwrap().field(22).unwrap();
        Question { pid: std::process::id().cast_signed(), start, program: 0, tag: 7 }
    }

    #[test]
    fn own_facts_are_told_and_those_of_another_start_are_not() {
        let mut reader = FactReader::default();
        assert!(reader.next_answer(Duration::ZERO).is_none());
        assert!(reader.ask(own()));
        assert!(reader.ask(Question { start: 1, ..own() }));
        let (question, facts) = reader.next_answer(Duration::from_secs(20)).unwrap();
        assert_eq!(question, own());
        let facts = facts.unwrap();
        let executable = std::fs::read_link("/proc/self/exe").unwrap();
        assert_eq!(facts.executable.unwrap(), executable.to_str().unwrap().as_bytes());
        let arguments = std::env::args().collect::<Vec<_>>().join(" ");
        assert_eq!(facts.command_line.unwrap(), arguments.as_bytes());
        assert_eq!(reader.next_answer(Duration::from_secs(20)).unwrap().1, None);
        assert_eq!(reader.open(), 0);
    }

    #[test]
    fn a_thread_abandoned_answers_when_it_comes_back() {
        let mut reader = FactReader::default();
        for tag in 0..3 {
            reader.ask(Question { tag, ..own() });
        }
        reader.give_up_first();
        let mut tags = [(); 3].map(|()| {
            loop {
                if let Some((question, facts)) = reader.next_answer(Duration::from_millis(10)) {
                    assert!(facts.is_some());
                    break question.tag;
                }
            }
        });
        tags.sort_unstable();
        assert_eq!(tags, [0, 1, 2]);
        assert_eq!((reader.open(), reader.abandoned.len()), (0, 0));
        // The maximum number of threads, all blocked.
        reader.give_up_first();
        reader.abandoned.clear();
        let (stuck, answers): (Vec<Sender<Answer>>, Vec<_>) =
            (0..STUCK_MAX).map(|_| channel()).unzip();
        reader.abandoned = answers;
        assert!(!reader.ask(own()));
        // One of them answers.
        stuck[3].send((Question { tag: 9, ..own() }, None)).unwrap();
        assert_eq!(reader.next_answer(Duration::ZERO).unwrap().0.tag, 9);
        assert!(reader.ask(own()));
        assert_eq!(reader.next_answer(Duration::from_secs(20)).unwrap().0, own());
    }
}
