//! Warnings and command lines as plain lines.

use std::io::Write;

use crate::engine::Observer;

/// Writes warnings after the name of the program, and command lines without change.
pub struct Notices {
    out: Box<dyn Write>,
}

impl Notices {
    /// Notices to `out`.
    pub fn new(out: Box<dyn Write>) -> Self {
        Notices { out }
    }
}

impl Observer for Notices {
    fn warn(&mut self, text: &[u8]) {
        self.show_command(&[b"whit run: ", text].concat());
    }

    fn show_command(&mut self, command: &[u8]) {
        // One write for the whole line.  An error of standard error can be reported nowhere.
        let _ = self.out.write_all(&[command, b"\n"].concat());
    }
}
