//! Numbers that look random and are the same for the same seed, so that a failure can print its seed.

/// A generator of numbers: a linear congruence of 64 bits, of which the upper 31 are given.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Random(seed)
    }

    fn step(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// The next number, below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.step() >> 33) % limit
    }

    /// The next number of 64 bits.
    pub fn bits(&mut self) -> u64 {
        // The lower half of a linear congruence has short periods.
        self.step() & !0xffff_ffff | self.step() >> 32
    }

    /// The next place in a list of so many entries, 0 in an empty one.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length.max(1) as u64) as usize
    }

    /// True in so many cases of a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several values.
    ///
    /// # Panics
    /// If there are none.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// A text with a typo or two: a character too many, missing, doubled, another, or two exchanged.
    /// `others` are the characters, one each, that may be put in.
    ///
    /// # Panics
    /// If there are no others, or an empty one.
    pub fn mistyped(&mut self, text: &str, others: &[&str]) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..1 + self.below(2) {
            let at = self.index(letters.len());
            if at + 1 >= letters.len() {
                continue;
            }
            let other = self.one_of(others).chars().next().expect("a character");
            match self.below(5) {
                0 => drop(letters.remove(at)),
                1 => letters.insert(at, other),
                2 => letters.insert(at, letters[at]),
                3 => letters[at] = other,
                _ => letters.swap(at, at + 1),
            }
        }
        letters.into_iter().collect()
    }
}
