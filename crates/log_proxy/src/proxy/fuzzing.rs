//! A proxy without the pauses of its house-keeping: for fuzz targets.

use super::Proxy;

impl Proxy {
    /// Reads whatever the folders hold to its end, as if seconds passed between the rounds.
    pub(crate) fn run_to_end(&mut self, rounds: usize) {
        self.scanned = None;
        self.round();
        for _ in 0..rounds {
            self.keep_house();
            self.read_rings();
            self.tell();
        }
        self.take_messages();
    }
}
