//! How many objects a device takes in a request: learned from what it answers, kept from round to
//! round.
//!
//! It grows while answers are full, and is halved after `tooBig` or silence.  What was too many is
//! tried again after some rounds, for it may have been a lost packet; each time that it is too many,
//! twice as many rounds pass until the next.

/// Objects of a first request of GET, and of the largest one.
pub(super) const OBJECTS_FIRST: usize = 25;
pub(super) const OBJECTS_MAX: usize = 100;

/// Rounds until a size that was too many is tried again, and the most such rounds.
const ROUNDS_FIRST: u32 = 8;
const ROUNDS_MAX: u32 = 256;

/// What is known of a device's requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestLimit {
    first: usize,
    limit: usize,
    /// The most objects that an answer had.
    proven: usize,
    /// The fewest objects that were too many.
    refused: usize,
    /// Rounds until `refused` is tried again, and how many these were at first.
    rounds_left: u32,
    rounds: u32,
    /// Whether a request of this round asks for more than was ever answered.
    is_probed: bool,
}

impl RequestLimit {
    /// Begins with so many.
    pub(super) fn new(first: usize) -> Self {
        Self {
            first,
            limit: first,
            proven: 0,
            refused: OBJECTS_MAX + 1,
            rounds_left: ROUNDS_FIRST,
            rounds: ROUNDS_FIRST,
            is_probed: false,
        }
    }

    /// Begins a round.
    pub(super) fn begin(&mut self) {
        self.is_probed = false;
        if self.refused > OBJECTS_MAX {
            return;
        }
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if self.rounds_left == 0 {
            self.rounds = (self.rounds * 2).min(ROUNDS_MAX);
            self.rounds_left = self.rounds;
            self.refused = OBJECTS_MAX + 1;
            self.limit = self.larger();
        }
    }

    /// Resets the limit: the device was away and may be another.
    pub(super) fn reset(&mut self) {
        (self.proven, self.limit) = (0, self.first);
        self.refused = OBJECTS_MAX + 1;
    }

    /// Whether so many objects are more than were ever answered.
    pub(super) fn is_new(&self, count: usize) -> bool {
        count > self.proven.max(1)
    }

    /// The most objects of the next request.  Only one of a round has more than were ever answered:
    /// if that is too many, the others have been answered.  An answer to a few left-over objects
    /// says little of what a device accepts, so far smaller sizes are not taken for known.
    pub(super) fn most(&self) -> usize {
        let is_known = self.is_probed && self.proven * 2 > self.limit;
        if is_known { self.limit.min(self.proven) } else { self.limit }
    }

    /// A request of so many objects is made.
    pub(super) fn note(&mut self, count: usize) {
        self.is_probed |= self.proven > 0 && count > self.proven;
    }

    /// So many were answered.
    pub(super) fn answered(&mut self, count: usize) {
        self.proven = self.proven.max(count);
        if count >= self.limit {
            self.limit = self.larger();
        }
    }

    /// So many were too many: half is asked for next, or what was answered once.
    pub(super) fn too_many(&mut self, count: usize) {
        self.refused = self.refused.min(count);
        self.proven = self.proven.min(count.saturating_sub(1));
        self.limit = (count / 2).max(self.proven).max(1);
    }

    /// So many were too many, and the device made fewer of them.
    pub(super) fn shortened(&mut self, count: usize, came: usize) {
        self.refused = self.refused.min(count);
        (self.proven, self.limit) = (came, came);
    }

    /// The next size: by a quarter more, or half the way to what was too many.
    fn larger(&self) -> usize {
        (self.limit + self.limit / 4 + 1).min((self.limit + self.refused) / 2)
    }
}
