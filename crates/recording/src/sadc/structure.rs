//! C structures of old files: where each number is, as the compiler laid it out.
//!
//! Data for [`super::old`]; a look-up goes through the runs of the structure, of which none has more
//! than six.

/// How a structure is laid out.
#[derive(Debug)]
pub(super) struct Structure {
    runs: &'static [Run],
    /// To what the bytes behind the numbers are aligned.
    rest_align: usize,
}

/// Numbers of one kind, one after the other.
#[derive(Debug)]
pub(super) struct Run {
    /// To what the first one is aligned, and how far they are apart.
    pub(super) align: usize,
    pub(super) stride: usize,
    /// The bytes of each; 0 for those of a word.
    pub(super) bytes: usize,
    /// Their places in files of today: the kind, and the place of each of this kind.
    pub(super) kind: usize,
    pub(super) places: &'static [usize],
}

/// Numbers of 64 bits, 16 bytes apart.
pub(super) const fn long(places: &'static [usize]) -> Run {
    Run { align: 16, stride: 16, bytes: 8, kind: 0, places }
}

/// Words, 8 bytes apart; the first aligned to `align`.
pub(super) const fn words(align: usize, kind: usize, places: &'static [usize]) -> Run {
    Run { align, stride: 8, bytes: 0, kind, places }
}

/// Numbers of 32 bits without gaps; the first aligned to `align`.
pub(super) const fn short(align: usize, kind: usize, places: &'static [usize]) -> Run {
    Run { align, stride: 4, bytes: 4, kind, places }
}

/// A structure of these numbers.
pub(super) const fn of(runs: &'static [Run], rest_align: usize) -> Structure {
    Structure { runs, rest_align }
}

impl Structure {
    /// Where the number of this kind and place is, and its bytes.
    pub(super) fn find(&self, kind: usize, place: usize, word: usize) -> Option<(usize, usize)> {
        let mut found = None;
        self.walk(word, |run, at, own, bytes| {
            if (run.kind, own) == (kind, place) {
                found = Some((at, bytes));
            }
        });
        found
    }

    /// Where the bytes behind the numbers begin.
    pub(super) fn rest(&self, word: usize) -> usize {
        self.walk(word, |_, _, _, _| {}).next_multiple_of(self.rest_align)
    }

    /// Goes through the numbers; returns where the last one ends.
    fn walk(&self, word: usize, mut each: impl FnMut(&Run, usize, usize, usize)) -> usize {
        let mut at = 0_usize;
        for run in self.runs {
            let bytes = if run.bytes == 0 { word } else { run.bytes };
            let first = at.next_multiple_of(run.align);
            for (number, place) in run.places.iter().enumerate() {
                at = first + number * run.stride;
                each(run, at, *place, bytes);
                at += bytes;
            }
        }
        at
    }
}
