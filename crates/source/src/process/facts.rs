//! Command line, executable, control group and user of each process: asked for once a program.
//!
//! The recorder waits [`WAIT`] for answers at each reading, and no longer: what comes later is
//! taken at the next reading, and counted as late.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use procfs::passwd::Users;
use procfs::pid::{cgroup_path, join_arguments};
use procfs::pid_facts::{FactReader, Facts, LINE_BYTES_MAX, Question};
use procfs::{Host, SystemClock};
use sample::{Clock as _, RowMut, Table};

use super::counters::ProcessCounters;
use super::fields::*;
use super::options::ProcessOptions;
use super::task_table::{KnownTask, NO_ROW, TaskTable};

/// How long a reading waits for answers.
const WAIT: Duration = Duration::from_millis(20);

/// How long the first reading waits, when nothing is known of anybody.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// Questions of a reading: 512 take some 8 ms, of the other thread.
const QUESTIONS_MAX: usize = 512;

/// Questions of the first reading.
const FIRST_QUESTIONS_MAX: usize = 16_384;

/// After so long without an answer the thread that is asked is taken for stuck.
const STUCK_NS: u64 = 1_000_000_000;

/// Asks for facts and takes the answers.
#[derive(Default)]
pub(super) struct FactRequests {
    reader: FactReader,
    users: Arc<Mutex<Users>>,
    /// The state of that list.
    generation: u64,
    wanted: Vec<usize>,
    /// When there was last an answer, or nothing to wait for.
    progress_ns: u64,
    has_asked: bool,
}

impl FactRequests {
    /// One that has its names of users from there.
    pub(super) fn new(users: Arc<Mutex<Users>>) -> Self {
        FactRequests { users, ..FactRequests::default() }
    }

    /// One that asks for the ids of control groups too, where nobody else tells them.
    pub(super) fn with_group_ids(users: Arc<Mutex<Users>>) -> Self {
        FactRequests { reader: FactReader::with_group_ids(), ..FactRequests::new(users) }
    }

    /// Begins a reading: takes what has come meanwhile.
    pub(super) fn begin(
        &mut self,
        host: &mut Host,
        options: &ProcessOptions,
        task_table: &mut TaskTable,
    ) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.refresh(host, options.passwd.as_deref());
        self.generation = users.generation();
        drop(users);
        self.wanted.clear();
        let now_ns = host.now_ns();
        while let Some((question, facts)) = self.reader.take(Duration::ZERO) {
            self.progress_ns = now_ns;
            put(question, facts, task_table);
        }
        if self.reader.open() == 0 {
            self.progress_ns = now_ns;
        } else if now_ns.saturating_sub(self.progress_ns) > STUCK_NS {
            self.reader.give_up_first();
            self.progress_ns = now_ns;
        }
    }

    /// Brings the user's name up to date.
    #[inline]
    pub(super) fn name_user(&mut self, known: &mut KnownTask) {
        if known.user_generation != self.generation {
            known.user_generation = self.generation;
            known.user.clear();
            if let Some(uid) = known.uid {
                let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
                users.name(uid, &mut known.user);
            }
        }
    }

    /// Notes that facts are wanted, unless they are there or have been asked for.
    #[inline]
    pub(super) fn want(&mut self, known: &KnownTask, slot: usize) {
        if known.facts_of != known.exec {
            self.wanted.push(slot);
        }
    }

    /// Asks for what is wanted and waits for it, but not long; fills the rows of those whose facts
    /// have come.
    pub(super) fn settle(
        &mut self,
        host: &mut Host,
        task_table: &mut TaskTable,
        counters: &ProcessCounters,
        table: &mut Table,
    ) {
        if self.wanted.is_empty() {
            return;
        }
        if !host.is_this_machine() {
            for slot in self.wanted.drain(..) {
                read_through(host, task_table.at(slot), table);
            }
            return;
        }
        let (questions_max, wait) = match self.has_asked {
            true => (QUESTIONS_MAX, WAIT),
            false => (FIRST_QUESTIONS_MAX, FIRST_WAIT),
        };
        self.has_asked = true;
        let earlier = self.reader.open();
        for slot in self.wanted.drain(..).take(questions_max) {
            let known = task_table.at(slot);
            let question =
                Question { pid: known.pid, start: known.start, program: known.exec, tag: slot };
            if self.reader.ask(question) {
                known.facts_of = known.exec;
            }
        }
        // Waiting is done by this machine's clock, whatever clock the samples have.
        let now = || Duration::from_nanos(SystemClock.now().monotonic_ns);
        let deadline = now() + wait;
        while self.reader.open() > 0 {
            let left = deadline.saturating_sub(now());
            if left.is_zero() {
                break;
            }
            let Some((question, facts)) = self.reader.take(left) else { break };
            self.progress_ns = host.now_ns();
            if let Some(slot) = put(question, facts, task_table) {
                fill(task_table.at(slot), table);
            }
        }
        let late = self.reader.open().saturating_sub(earlier);
        counters.facts_late.add(late as u64);
    }
}

/// Gives an answer to whom it belongs, if it is still there.
fn put(question: Question, facts: Option<Facts>, task_table: &mut TaskTable) -> Option<usize> {
    let known = task_table.at(question.tag);
    let is_same =
        (known.pid, known.start, known.exec) == (question.pid, question.start, question.program);
    if !is_same {
        return None;
    }
    known.facts = facts.unwrap_or_default();
    known.facts_are_known = true;
    Some(question.tag)
}

fn fill(known: &KnownTask, table: &mut Table) {
    if known.row != NO_ROW && known.row < table.rows() {
        known.texts(&mut table.row_mut(known.row));
    }
}

/// Facts of a host that is not this machine: plain files that nobody locks.
fn read_through(host: &mut Host, known: &mut KnownTask, table: &mut Table) {
    let mut read = |name: &str| {
        let mut text = host.read_once(&format!("/proc/{}/{name}", known.pid)).ok()?;
        text.truncate(LINE_BYTES_MAX);
        Some(text)
    };
    let mut command_line = read("cmdline");
    if let Some(line) = &mut command_line {
        join_arguments(line);
    }
    let cgroup = read("cgroup");
    let cgroup = cgroup.as_deref().and_then(cgroup_path).map(<[u8]>::to_vec);
    let executable = host.link(&format!("/proc/{}/exe", known.pid)).ok();
    // In another program's recording it may come later.
    if command_line.is_some() || host.root().is_some() {
        known.facts_of = known.exec;
    }
    known.facts_are_known = command_line.is_some();
    known.facts = Facts { command_line, executable, cgroup, cgroup_id: None };
    fill(known, table);
}

impl KnownTask {
    /// Puts what is known into the row.
    #[inline]
    pub(super) fn texts(&self, row: &mut RowMut<'_>) {
        if !self.user.is_empty() {
            row.set_text(USER, &self.user);
        }
        let facts = &self.facts;
        if let Some(id) = facts.cgroup_id {
            row.set(CGROUP_ID, id);
        }
        for (field, text) in [
            (COMMAND_LINE, &facts.command_line),
            (EXECUTABLE, &facts.executable),
            (CGROUP, &facts.cgroup),
        ] {
            if let Some(text) = text {
                row.set_text(field, text);
            }
        }
    }
}
