//! `--color` and `--color-failed`: the lines of each job on a background of its own.
//!
//! The sequences are those of terminals with 256 colors (xterm): background, foreground, and
//! clearing to the end of the line so that the background extends to it.  The colors are our own
//! choice.

use crate::job::JobResult;

/// A background, and a foreground that is readable on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color {
    ground: u8,
    letters: u8,
}

/// Black, and white, among the 256.
const BLACK: u8 = 16;
const WHITE: u8 = 231;

/// The color of failed jobs: red.
const FAILED: Color = Color { ground: 196, letters: WHITE };

/// A step that visits all 216 colors of the cube, with consecutive colors far apart.
const STEP: u64 = 85;

impl Color {
    /// The color of a job by its number.
    fn of_number(seq: u64) -> Color {
        let at = (seq % 216 * STEP % 216) as u8;
        let (red, green, blue) = (u16::from(at / 36), u16::from(at / 6 % 6), u16::from(at % 6));
        // The weights of red, green and blue in brightness, in tenths; each has six levels.
        let light = 2 * red + 7 * green + blue;
        Color { ground: 16 + at, letters: if light >= 25 { BLACK } else { WHITE } }
    }

    pub(super) fn push_begin(self, out: &mut Vec<u8>) {
        let Color { ground, letters } = self;
        out.extend_from_slice(
            format!("\u{1b}[48;5;{ground:03};38;5;{letters:03}m\u{1b}[K").as_bytes(),
        );
    }

    pub(super) fn push_end(out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[m");
    }
}

/// Which jobs are colored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Colors {
    pub(super) all: bool,
    pub(super) failed: bool,
}

impl Colors {
    /// The color of a job that has ended.
    pub(super) fn of(self, finished: &JobResult) -> Option<Color> {
        if self.failed && !finished.outcome.is_success() {
            return Some(FAILED);
        }
        self.of_running(finished.seq)
    }

    /// The color of a job that runs.
    pub(super) fn of_running(self, seq: u64) -> Option<Color> {
        self.all.then(|| Color::of_number(seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_colors_are_used_and_neighbours_differ() {
        let mut grounds: Vec<u8> = (1..=216).map(|seq| Color::of_number(seq).ground).collect();
        assert!(grounds.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 36));
        grounds.sort_unstable();
        grounds.dedup();
        assert_eq!(grounds.len(), 216);
        assert_eq!(Color::of_number(u64::MAX).letters, Color::of_number(u64::MAX % 216).letters);
    }
}
