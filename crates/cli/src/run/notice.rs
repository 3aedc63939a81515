//! What a run tells on standard error: command lines, warnings, how far it is.

use std::io::Write as _;

use run::engine::Observer;

/// Tells in plain lines.
#[derive(Debug, Default)]
pub(crate) struct Notices;

impl Observer for Notices {
    fn tell(&mut self, text: &[u8]) {
        let mut line = b"whit run: ".to_vec();
        line.extend_from_slice(text);
        self.show(&line);
    }

    fn show(&mut self, command: &[u8]) {
        let mut line = command.to_vec();
        line.push(b'\n');
        // Nobody is left to be told that this could not be told.
        let _ = std::io::stderr().lock().write_all(&line);
    }
}
