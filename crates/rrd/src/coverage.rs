//! Which seconds of a row are covered by other rows, as RRDtool counts them.
//!
//! It takes any single second for a part of every period that is not shorter: such a second is
//! lost if the first part is covered, and may cut a part where it does not lie.  The same rows then
//! give the same values.

/// First and last second of a part, and whether it is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    start: i64,
    end: i64,
    is_covered: bool,
}

impl Part {
    fn new(start: i64, end: i64, is_covered: bool) -> Self {
        Self { start, end, is_covered }
    }
}

/// A row in parts that are covered and parts that are not.
#[derive(Debug)]
pub(crate) struct Coverage {
    parts: Vec<Part>,
    /// Seconds that are covered.
    pub(crate) total: i64,
}

/// Seconds that two periods share, without the last one.
fn shared(one: (i64, i64), other: (i64, i64)) -> i64 {
    let is_apart = one.0 > other.1 || other.0 > one.1;
    match one.0 >= one.1 || other.0 >= other.1 || is_apart {
        true => 0,
        false => one.1.min(other.1) - one.0.max(other.0),
    }
}

fn is_within(inner: (i64, i64), outer: (i64, i64)) -> bool {
    let length = inner.1 - inner.0;
    length <= outer.1 - outer.0 && shared(inner, outer) == length
}

impl Coverage {
    /// A row of which nothing is covered, by its first and last second.
    pub(crate) fn of(start: i64, end: i64) -> Self {
        Self { parts: vec![Part::new(start, end, false)], total: 0 }
    }

    /// Covers a period; the number of its seconds that were not covered before.
    pub(crate) fn add(&mut self, start: i64, end: i64) -> i64 {
        let (Some(first), Some(last)) = (self.parts.first(), self.parts.last()) else { return 0 };
        let (begin, finish) = (first.start, last.end);
        let (start, end) = (start.max(begin), end.min(finish));
        if end < begin || start > finish {
            return 0;
        }
        let newly = self.cover(start, end);
        self.parts.dedup_by(|next, part| {
            let is_same = next.is_covered == part.is_covered;
            if is_same {
                part.end = next.end;
            }
            is_same
        });
        self.total += newly;
        newly
    }

    fn cover(&mut self, mut start: i64, end: i64) -> i64 {
        let mut newly = 0;
        let mut index = 0;
        while let Some(part) = self.parts.get(index).copied() {
            if is_within((start, end), (part.start, part.end)) {
                if !part.is_covered {
                    self.cut(index, start, end);
                    newly += end - start + 1;
                }
                return newly;
            }
            let mut is_covered = part.is_covered;
            if is_within((part.start, part.end), (start, end)) && !is_covered {
                is_covered = true;
                self.parts[index].is_covered = true;
                newly += part.end - part.start + 1;
            }
            if (part.start..=part.end).contains(&start) {
                if !is_covered && part.start == start {
                    self.parts[index].is_covered = true;
                } else if !is_covered {
                    self.parts[index].end = start - 1;
                    self.parts.insert(index + 1, Part::new(start, part.end, true));
                    newly += part.end - start + 1;
                }
                start = part.end + 1;
            }
            index += 1;
        }
        newly
    }

    /// Covers a piece of a part.
    fn cut(&mut self, index: usize, start: i64, end: i64) {
        let part = self.parts[index];
        let before = Part::new(part.start, start - 1, false);
        let piece = Part::new(start, end, true);
        let behind = Part::new(end + 1, part.end, false);
        let pieces: &[Part] = match (part.start == start, part.end == end) {
            (true, true) => &[piece],
            (true, false) => &[piece, behind],
            (false, true) => &[before, piece],
            (false, false) => &[before, piece, behind],
        };
        self.parts.splice(index..=index, pieces.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_count_once() {
        let mut row = Coverage::of(1, 30);
        assert_eq!(row.add(-10, 10), 10);
        assert_eq!(row.add(6, 15), 5);
        assert_eq!(row.add(20, 40), 11);
        assert_eq!(row.add(1, 30), 4);
        assert_eq!(row.total, 30);
    }

    #[test]
    fn a_single_second_behind_what_is_covered_is_lost() {
        let mut row = Coverage::of(198, 206);
        assert_eq!(row.add(196, 200), 3);
        assert_eq!(row.add(201, 205), 5);
        assert_eq!(row.add(206, 210), 0);
        assert_eq!(Coverage::of(206, 206).add(206, 210), 1);
    }
}
