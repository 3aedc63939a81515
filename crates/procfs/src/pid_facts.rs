//! What a process was called with, read beside whoever waits for it.
//!
//! `/proc/PID/cmdline` is taken out of the process's own memory, under a lock that the process may
//! hold for as long as it likes; so a thread of its own reads it, and the recorder waits only as
//! long as it wants to.  A thread that does not come back is left behind and another takes over;
//! its answer is taken when it comes after all.
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

/// Threads left behind, each waiting for a process that does not let go of its memory.
const STUCK_MAX: usize = 8;

/// What does not change as long as a process runs the same program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Program and arguments, blanks between them; empty for a thread of the kernel.  `None` if it
    /// may not be read.
    pub command_line: Option<Vec<u8>>,
    /// The program's file; `None` for a thread of the kernel or if it may not be read.
    pub executable: Option<Vec<u8>>,
    /// See [`cgroup_path`].
    pub cgroup: Option<Vec<u8>>,
    /// Id of the control group in the unified hierarchy, if it was asked for: the inode of the
    /// group's directory.  `None` if the group is gone or the hierarchy is not mounted.
    pub cgroup_id: Option<u64>,
}

/// A process, by its number and the tick it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its number.
    pub pid: i32,
    /// Ticks since boot.
    pub start: u64,
    /// Which of its programs the asker means, likewise handed back.
    pub program: u64,
    /// Whatever the asker wants to have back with the answer.
    pub tag: usize,
}

/// Reads facts in a thread of its own, which is begun by the first question.
#[derive(Default)]
pub struct FactReader {
    line: Option<Line>,
    /// Questions that have no answer yet, in the order in which they were asked.
    open: VecDeque<Question>,
    /// Where threads that were left behind will answer.
    left_behind: Vec<Receiver<Answer>>,
    /// Whether to look the ids of control groups up too, some 2 µs a process.
    group_ids: bool,
}

struct Line {
    questions: Sender<Question>,
    answers: Receiver<Answer>,
    /// Tells the thread to end when it comes back.
    is_left: Arc<AtomicBool>,
}

type Answer = (Question, Option<Facts>);

impl FactReader {
    /// One that looks up the ids of control groups too.
    pub fn with_group_ids() -> Self {
        FactReader { group_ids: true, ..FactReader::default() }
    }

    /// Asks; false if it cannot be asked because too many threads are stuck.
    pub fn ask(&mut self, question: Question) -> bool {
        if self.line.is_none() {
            self.line =
                (self.left_behind.len() < STUCK_MAX).then(|| begin(self.group_ids)).flatten();
        }
        let Some(line) = &self.line else { return false };
        let asked = line.questions.send(question).is_ok();
        if asked {
            self.open.push_back(question);
        }
        asked
    }

    /// Questions without an answer.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// The next answer, waiting for it no longer than so; `None` if there is none.  An answer
    /// without facts tells that the process is gone.
    pub fn take(&mut self, wait: Duration) -> Option<(Question, Option<Facts>)> {
        if let Some(answer) = self.take_left() {
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

    /// An answer of a thread that was left behind, which ends with it.
    fn take_left(&mut self) -> Option<Answer> {
        for index in 0..self.left_behind.len() {
            let answer = match self.left_behind[index].try_recv() {
                Err(TryRecvError::Empty) => continue,
                Err(TryRecvError::Disconnected) => None,
                Ok(answer) => Some(answer),
            };
            self.left_behind.swap_remove(index);
            return answer;
        }
        None
    }

    /// Leaves behind a thread that does not answer, and asks another one all but the question that
    /// this one is busy with.
    pub fn give_up_first(&mut self) {
        if let Some(line) = self.line.take() {
            line.is_left.store(true, Ordering::Relaxed);
            self.left_behind.push(line.answers);
        }
        let mut open = std::mem::take(&mut self.open);
        open.pop_front();
        for question in open {
            self.ask(question);
        }
    }
}

/// Begins a thread that takes no signal, so that those of the recorder reach who waits for them.
fn begin(group_ids: bool) -> Option<Line> {
    let (questions, asked) = channel::<Question>();
    let (answer, answers) = channel();
    let is_left = Arc::new(AtomicBool::new(false));
    let left = is_left.clone();
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
    Some(Line { questions, answers, is_left })
}

/// Runs `begin` with all signals held back, which a thread begun in it inherits.
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

/// Reads the facts of a process of this machine, now; `None` if it is gone.  May wait for as long
/// as the process holds its memory's lock.  The control group's id is looked up in `hierarchy`.
pub fn read_facts(pid: i32, start: u64, hierarchy: Option<&Path>) -> Option<Facts> {
    let path = format!("/proc/{pid}");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    // A directory that is open stays that of this process, whoever gets its number.
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

/// The id of a process's control group, by the text of its `cgroup`.
fn group_id(text: &[u8], hierarchy: &Path) -> Option<u64> {
    let path = unified_path(text)?;
    // A group of another namespace of groups stands above what is mounted here.
    if path.starts_with(b"/..") {
        return None;
    }
    let path = hierarchy.join(OsStr::from_bytes(path.strip_prefix(b"/")?));
    rustix::fs::stat(path).ok().map(|status| status.st_ino)
}

/// The first bytes of a file.
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
        assert!(reader.take(Duration::ZERO).is_none());
        assert!(reader.ask(own()));
        assert!(reader.ask(Question { start: 1, ..own() }));
        let (question, facts) = reader.take(Duration::from_secs(20)).unwrap();
        assert_eq!(question, own());
        let facts = facts.unwrap();
        let executable = std::fs::read_link("/proc/self/exe").unwrap();
        assert_eq!(facts.executable.unwrap(), executable.to_str().unwrap().as_bytes());
        let arguments = std::env::args().collect::<Vec<_>>().join(" ");
        assert_eq!(facts.command_line.unwrap(), arguments.as_bytes());
        assert_eq!(reader.take(Duration::from_secs(20)).unwrap().1, None);
        assert_eq!(reader.open(), 0);
    }

    #[test]
    fn a_thread_left_behind_answers_when_it_comes_back() {
        let mut reader = FactReader::default();
        for tag in 0..3 {
            reader.ask(Question { tag, ..own() });
        }
        reader.give_up_first();
        let mut tags = [(); 3].map(|()| {
            loop {
                if let Some((question, facts)) = reader.take(Duration::from_millis(10)) {
                    assert!(facts.is_some());
                    break question.tag;
                }
            }
        });
        tags.sort_unstable();
        assert_eq!(tags, [0, 1, 2]);
        assert_eq!((reader.open(), reader.left_behind.len()), (0, 0));
        // As many as may be, and none of them comes back.
        reader.give_up_first();
        reader.left_behind.clear();
        let (stuck, answers): (Vec<Sender<Answer>>, Vec<_>) =
            (0..STUCK_MAX).map(|_| channel()).unzip();
        reader.left_behind = answers;
        assert!(!reader.ask(own()));
        // One does.
        stuck[3].send((Question { tag: 9, ..own() }, None)).unwrap();
        assert_eq!(reader.take(Duration::ZERO).unwrap().0.tag, 9);
        assert!(reader.ask(own()));
        assert_eq!(reader.take(Duration::from_secs(20)).unwrap().0, own());
    }
}
