//! How output is shown and written down.

use super::Line;

impl Line<'_> {
    /// How output is shown.
    pub(super) fn output(&mut self) {
        match self.random.index(14) {
            0 => self.option("--tag"),
            1 => {
                let text = self.replacement();
                self.options.extend(["--tagstring".to_owned(), format!("<{text}>")]);
            }
            2 => self.option("--dry-run"),
            3 => self.option("-v"),
            4 if self.serial => self.option("-u"),
            5 if self.serial => self.option("--lb"),
            6 => self.option("--group"),
            7 => self.option("-t"),
            _ => {}
        }
        match self.random.index(10) {
            0..=2 => self.option("--joblog joblog"),
            3 if self.serial => self.option("--joblog -"),
            _ => {}
        }
    }
}
