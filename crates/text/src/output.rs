//! What numbers are appended to: bytes, or a text.

use std::fmt::Arguments;

/// Takes ASCII text at its end.
pub trait TextOutput {
    /// Appends text, of which every byte is ASCII.
    fn push_ascii(&mut self, text: &[u8]);

    /// Appends what `format_args!` describes, without an allocation of its own.
    fn push_formatted(&mut self, text: Arguments<'_>);
}

impl TextOutput for Vec<u8> {
    #[inline]
    fn push_ascii(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }

    fn push_formatted(&mut self, text: Arguments<'_>) {
        // Writing to memory cannot fail.
        let _ = std::io::Write::write_fmt(self, text);
    }
}

impl TextOutput for String {
    #[inline]
    fn push_ascii(&mut self, text: &[u8]) {
        self.push_str(std::str::from_utf8(text).unwrap_or_default());
    }

    fn push_formatted(&mut self, text: Arguments<'_>) {
        // Writing to memory cannot fail.
        let _ = std::fmt::Write::write_fmt(self, text);
    }
}
