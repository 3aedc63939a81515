//! Why records are missing: in frames of kind `Lost`, and in chunks of the store.

use crate::bytes::u32_at;

/// Why records are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum GapReason {
    /// They never came, and later ones did.
    Missing = 1,
    /// A spool segment was damaged.
    Spool = 2,
    /// A ring was damaged.
    Ring = 3,
    /// A frame had the right checksum and no sound records.
    Malformed = 4,
    /// They were in a part of the store that was damaged.
    Store = 5,
    /// The writer overwrote its oldest records, as it was told to.
    Overwritten = 6,
    /// The writer dropped them without room in its ring, and could not say so itself any more.
    Dropped = 7,
    /// The proxy left them out: they were made for local outputs alone.  The range says how many.
    LeftOut = 8,
    /// Another store has them: the proxy went on with this one.
    AnotherStore = 9,
}

impl GapReason {
    /// The reason of a number; one that is not known is only `Missing`.
    #[must_use]
    pub fn of(number: u32) -> Self {
        match number {
            2 => GapReason::Spool,
            3 => GapReason::Ring,
            4 => GapReason::Malformed,
            5 => GapReason::Store,
            6 => GapReason::Overwritten,
            7 => GapReason::Dropped,
            8 => GapReason::LeftOut,
            9 => GapReason::AnotherStore,
            _ => GapReason::Missing,
        }
    }

    /// Whether they were given up as somebody was told to: nothing failed.
    #[must_use]
    pub fn is_policy(self) -> bool {
        use GapReason::{AnotherStore, Dropped, LeftOut, Overwritten};
        matches!(self, Overwritten | Dropped | LeftOut | AnotherStore)
    }

    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            GapReason::Missing => "never arrived",
            GapReason::Spool => "a spool segment was damaged",
            GapReason::Ring => "a ring was damaged",
            GapReason::Malformed => "a frame held no sound records",
            GapReason::Store => "a segment of the store was damaged",
            GapReason::Overwritten => "overwritten in the ring, by its policy",
            GapReason::Dropped => "dropped without room in the ring, by its policy",
            GapReason::LeftOut => "left out: for local outputs alone",
            GapReason::AnotherStore => "another store has them",
        }
    }

    /// The reason in a frame of kind `Lost`: the first number of its body.
    #[must_use]
    pub fn of_body(body: &[u8]) -> Self {
        Self::of(u32_at(body, 0))
    }
}
