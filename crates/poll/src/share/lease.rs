//! What a poller may do: its lease, and what it writes to the table next.  No input and output, and no
//! clock: times are given, in ns of any clock of this machine that does not step.
//!
//! **Why no slot has two owners at once.**
//!
//! 1. The table has one value at any time, and each write is made from the newest one: the bucket takes it
//!    only if nobody wrote meanwhile.  So there is one order of all tables, and one owner of a slot in each.
//! 2. A slot leaves its owner in two ways: the owner gives it away, or another poller takes the owner out
//!    of the table since it is silent.
//! 3. An owner stops using a slot *before* it sends the table that gives it away, and takes one into use
//!    only after its own write of a table that has it was acknowledged.
//! 4. A silent owner has stopped before.  Let it have sent its last beat at `t`.  It uses its slots until
//!    `t + ¾ lease` by its clock and no longer.  Others take it out when they have seen that beat stand
//!    still for a whole lease by their own clock; they saw it after it was written, which was after `t`; and
//!    that their write succeeds proves that no later beat was written.  The clocks need not agree: each
//!    measures a duration.  The fourth that is left is for clocks that run at different speeds, and for a
//!    write to a file that was begun in time and takes long.
//!
//! If the table is not there, or is older than one that was seen, nobody knows who had which slot.  The new
//! table begins with a poller that never beats and has all slots ([`LOST`]): they are free when its
//! lease is over, and by then who used them has seen the new table or lost its lease.
//!
//! What is trusted: the bucket does not lose a write that it has acknowledged.

use std::collections::HashMap;

use super::table::{Member, SLOTS, Table, mixed};

/// The name of the poller that has the slots of a table that was lost.
pub(super) const LOST: &str = "(a table before this one)";

/// The part of its lease, in quarters, for which a poller uses its slots.
const USED_QUARTERS: u64 = 3;

/// A poller among the others.
#[derive(Debug)]
pub(super) struct Lease {
    name: String,
    session: u64,
    lease_ms: u64,
    targets: u64,
    /// Whether a table with this session was written.
    is_member: bool,
    /// The newest table that was seen.
    revision: u64,
    /// The slots that may be used, until then.
    mine: Vec<bool>,
    until_ns: u64,
    /// The beat of each session, and since when it stands there.
    seen: HashMap<u64, (u64, u64)>,
    /// Whether a slot of this poller belongs to another.
    has_to_give: bool,
}

/// A table to be written.
#[derive(Debug)]
pub(super) struct Proposal {
    pub(super) table: Table,
    /// The revision that it replaces.
    pub(super) revision: u64,
    /// Pollers that are taken out since they are silent.
    pub(super) silent: Vec<String>,
    session: u64,
    lease_ms: u64,
}

impl Proposal {
    /// Whether a member of the table is who wrote it.
    pub(super) fn is_of(&self, member: &Member) -> bool {
        member.session == self.session
    }
}

/// Why there is nothing to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Another session has the name of this one, and is not silent yet.
    NameIsTaken,
    /// There are too many pollers.
    IsFull,
}

impl Lease {
    /// A poller that has nothing yet.  `session` is a random number.
    pub(super) fn new(name: &str, session: u64) -> Self {
        Lease {
            name: name.to_owned(),
            session,
            lease_ms: 1,
            targets: 0,
            is_member: false,
            revision: 0,
            mine: vec![false; SLOTS],
            until_ns: 0,
            seen: HashMap::new(),
            has_to_give: false,
        }
    }

    /// Sets how long it may be silent, from its next beat on, and the hash of its targets.
    pub(super) fn configure(&mut self, lease_ms: u64, targets: u64) {
        (self.lease_ms, self.targets) = (lease_ms, targets);
    }

    /// How long it may be silent, in ms.
    pub(super) fn lease_ms(&self) -> u64 {
        self.lease_ms
    }

    /// The session: another one has other slots.
    pub(super) fn session(&self) -> u64 {
        self.session
    }

    /// Whether its slots may be used.
    pub(super) fn is_held(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns
    }

    /// The slots that may be used while the lease is held.
    pub(super) fn mine(&self) -> &[bool] {
        &self.mine
    }

    /// Whether a slot of this poller belongs to another.
    pub(super) fn has_to_give(&self) -> bool {
        self.has_to_give
    }

    /// The bucket cannot be reached: who is silent meanwhile is not known.
    pub(super) fn lose_contact(&mut self) {
        self.seen.clear();
    }

    /// The table that follows the newest one, which was read before `now_ns`; there may be none, and its
    /// revision is that of what is there.  Slots that it gives away,
    /// if it `may_give`, are not used from now on.
    pub(super) fn propose(
        &mut self,
        (found, revision): (Option<Table>, u64),
        now_ns: u64,
        may_give: bool,
    ) -> Result<Proposal, Waits> {
        let next_session = mixed(self.session);
        let mut session = self.session;
        // One that another poller has just begun anew is as good as one that is begun here.
        let is_new = |table: &Table| table.members.iter().any(|one| one.name == LOST);
        let found = found.filter(|table| revision >= self.revision || is_new(table));
        let mut table = match found {
            Some(table) => {
                if self.is_member && table.place(session).is_none() {
                    session = next_session;
                    self.begin_anew(session);
                }
                table
            }
            None => {
                // If this table is only late, its write fails, and nothing was lost.
                session = if self.is_member { next_session } else { session };
                let lost = self.member(!session, 0);
                Table::of_one(Member { name: LOST.to_owned(), ..lost })
            }
        };
        let silent = self.take_out_silent(&mut table, now_ns);
        silent.iter().filter(|name| *name != LOST).for_each(|name| table.note_silent(name));
        table.note_there(&self.name);
        let beat = table.place(session).map_or(0, |place| table.members[place].beat) + 1;
        let member = self.member(session, beat);
        let place = match table.place(session) {
            Some(place) => {
                table.members[place] = member;
                place
            }
            None if table.members.iter().any(|one| one.name == self.name) => {
                return Err(Waits::NameIsTaken);
            }
            None if table.add(member) => table.members.len() - 1,
            None => return Err(Waits::IsFull),
        };
        table.settle(may_give.then_some(place));
        if session == self.session {
            self.keep_only(&table, place);
        }
        Ok(Proposal { table, revision, silent, session, lease_ms: self.lease_ms })
    }

    /// The table without this poller, whose slots are not used from now on; `None` if it is in none.
    pub(super) fn propose_end(&mut self, mut table: Table, revision: u64) -> Option<Proposal> {
        self.mine.fill(false);
        self.until_ns = 0;
        table.place(self.session)?;
        table.remove(self.session);
        table.settle(None);
        let (session, lease_ms) = (self.session, self.lease_ms);
        Some(Proposal { table, revision, silent: Vec::new(), session, lease_ms })
    }

    /// A table was written, which was sent at `sent_ns` or later, and has this revision now.
    pub(super) fn written(&mut self, proposal: &Proposal, revision: u64, sent_ns: u64) {
        let Proposal { table, session, .. } = proposal;
        let Some(place) = table.place(*session) else { return };
        (self.session, self.is_member, self.revision) = (*session, true, revision);
        (0..SLOTS).for_each(|slot| self.mine[slot] = table.is_of(slot, place));
        self.has_to_give = table.has_to_give(place);
        let used_ns = proposal.lease_ms.saturating_mul(1_000_000) / 4 * USED_QUARTERS;
        self.until_ns = sent_ns.saturating_add(used_ns);
    }

    fn member(&self, session: u64, beat: u64) -> Member {
        let Lease { name, lease_ms, targets, .. } = self;
        Member { name: name.clone(), session, beat, lease_ms: *lease_ms, targets: *targets }
    }

    /// Others have taken this poller out of the table: it has nothing.
    fn begin_anew(&mut self, session: u64) {
        (self.session, self.is_member, self.until_ns) = (session, false, 0);
        self.mine.fill(false);
    }

    /// Slots that the table gives to others are not used any more.
    fn keep_only(&mut self, table: &Table, place: usize) {
        for (slot, mine) in self.mine.iter_mut().enumerate() {
            *mine &= table.is_of(slot, place);
        }
    }

    /// Takes the pollers out of a table whose beats stand still for their leases; their names.
    fn take_out_silent(&mut self, table: &mut Table, now_ns: u64) -> Vec<String> {
        self.seen.retain(|session, _| table.place(*session).is_some());
        let mut silent = Vec::new();
        for one in table.members.clone() {
            let seen = self.seen.entry(one.session).or_insert((one.beat, now_ns));
            if seen.0 != one.beat {
                *seen = (one.beat, now_ns);
            }
            let lease_ns = one.lease_ms.saturating_mul(1_000_000);
            if one.session != self.session && now_ns.saturating_sub(seen.1) >= lease_ns {
                table.remove(one.session);
                silent.push(one.name);
            }
        }
        silent
    }
}

#[cfg(test)]
mod tests;
