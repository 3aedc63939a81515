//! Words and commands as one line for a shell.

use template::quote::{Shell, quote};

/// Makes one line of commands for a POSIX shell, which any shell with Bourne quoting can run.
pub(super) fn for_any_shell(commands: &[u8]) -> Vec<u8> {
    let mut text = b"exec sh -c ".to_vec();
    quote(Shell::Bourne, commands, &mut text);
    text
}

/// Quotes words for a POSIX shell.
pub(super) fn join_words(words: &[Vec<u8>]) -> Vec<u8> {
    let mut line = Vec::new();
    for word in words {
        if !line.is_empty() {
            line.push(b' ');
        }
        quote(Shell::Bourne, word, &mut line);
    }
    line
}
