//! Command line, executable, control group and user of each process, read once per program.
//!
//! Each reading waits at most [`WAIT`] for answers; later answers are taken at the next reading
//! and counted as late.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use procfs::passwd::Users;
use procfs::pid::{cgroup_path, join_arguments};
use procfs::pid_facts::{FactReader, Facts, LINE_BYTES_MAX, Question};
use procfs::{Host, SystemClock};
use sample::{Clock as _, RowMut, Table};

use super::fields::*;
use super::task_table::{KnownTask, NO_ROW, TaskTable};
use crate::process_counters::ProcessCounters;
use crate::process_options::ProcessOptions;

/// How long a reading waits for answers.
const WAIT: Duration = Duration::from_millis(20);

/// How long the first reading waits, when no facts are known.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// Questions per reading: 512 take the other thread about 8 ms.
const QUESTIONS_MAX: usize = 512;

/// Questions of the first reading.
const FIRST_QUESTIONS_MAX: usize = 16_384;

/// Time without an answer after which the other thread counts as blocked.
const STUCK_NS: u64 = 1_000_000_000;

/// Asks for facts and takes the answers.
#[derive(Default)]
pub(super) struct FactRequests {
    reader: FactReader,
    users: Arc<Mutex<Users>>,
    /// The generation of that list.
    generation: u64,
    wanted: Vec<usize>,
    /// The latest time at which there was an answer, or nothing to wait for.
    progress_ns: u64,
    has_asked: bool,
}

impl FactRequests {
    /// Facts with user names from `users`.
    pub(super) fn new(users: Arc<Mutex<Users>>) -> Self {
        FactRequests { users, ..FactRequests::default() }
    }

    /// Facts that include the ids of control groups, for readers that do not know them.
    pub(super) fn with_group_ids(users: Arc<Mutex<Users>>) -> Self {
        FactRequests { reader: FactReader::with_group_ids(), ..FactRequests::new(users) }
    }

    /// Begins a reading: takes the answers that arrived meanwhile.
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
        while let Some((question, facts)) = self.reader.next_answer(Duration::ZERO) {
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

    /// Updates the user's name.
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

    /// Marks a process whose facts are needed, unless they are known or were requested.
    #[inline]
    pub(super) fn request(&mut self, known: &KnownTask, slot: usize) {
        if known.facts_of != known.exec {
            self.wanted.push(slot);
        }
    }

    /// Requests the needed facts and waits for at most [`WAIT`]; fills the rows whose facts arrived.
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
        // Waiting uses this machine's clock, whatever clock the samples use.
        let now = || Duration::from_nanos(SystemClock.now().monotonic_ns);
        let deadline = now() + wait;
        while self.reader.open() > 0 {
            let left = deadline.saturating_sub(now());
            if left.is_zero() {
                break;
            }
            let Some((question, facts)) = self.reader.next_answer(left) else { break };
            self.progress_ns = host.now_ns();
            if let Some(slot) = put(question, facts, task_table) {
                fill(task_table.at(slot), table);
            }
        }
        let late = self.reader.open().saturating_sub(earlier);
        counters.facts_late.add(late as u64);
    }
}

/// Stores an answer for its process, if that still exists.
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

/// Facts of a host that is not this machine: plain files, which cannot block.
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
    // In a collectl recording it may come later.
    if command_line.is_some() || host.root().is_some() {
        known.facts_of = known.exec;
    }
    known.facts_are_known = command_line.is_some();
    known.facts = Facts { command_line, executable, cgroup, cgroup_id: None };
    fill(known, table);
}

impl KnownTask {
    /// Stores the known facts in the row.
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
