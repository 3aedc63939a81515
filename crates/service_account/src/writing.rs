//! What a part says of data that it cannot write: a line of its standard error with a fixed beginning,
//! which the service knows and keeps in its account.
//!
//! A line, and not a file, since the disk that is full may be the only one; and the same line is for
//! people who run the part alone.

/// Begins what a part says when it cannot write what it should; the reason follows.  A poller writes the
/// time in front of it.
pub const NOT_WRITTEN: &str = "not written: ";
/// Stands in the line of a part that writes again.
pub const WRITTEN_AGAIN: &str = "written again";

/// What a line says of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritingNews<'a> {
    /// From now on nothing is written, for this reason.
    Fails(&'a str),
    /// It writes again.
    Again,
}

impl<'a> WritingNews<'a> {
    /// The news of a line; none if it is about something else.
    #[must_use]
    pub fn of(line: &'a str) -> Option<Self> {
        match line.split_once(NOT_WRITTEN) {
            Some((_, why)) => Some(WritingNews::Fails(why)),
            None => line.contains(WRITTEN_AGAIN).then_some(WritingNews::Again),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_that_nothing_is_written_and_that_it_is_again() {
        let said = ["not written: a: full", "2026 ERROR: not written: a: full", "written again: a"];
        let fails = Some(WritingNews::Fails("a: full"));
        assert_eq!(said.map(WritingNews::of), [fails, fails, Some(WritingNews::Again)]);
        assert_eq!(WritingNews::of("cannot read a: full"), None);
    }
}
