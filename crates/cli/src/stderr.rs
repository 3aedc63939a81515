//! Messages on standard error, and text on standard output.
//!
//! `eprintln!` and `print!` panic when nobody reads or the disk is full.  A message that cannot be
//! written is lost instead: the work it is about goes on.  Control characters, which may come from
//! the name of a file, are escaped.

use std::fmt::Display;
use std::io::Write;

/// Writes `whit: TEXT` and the end of the line to standard error, with one write.
pub(crate) fn message(text: impl Display) {
    line(format_args!("whit: {text}"));
}

/// Writes a line to standard error, with one write.
pub(crate) fn line(text: impl Display) {
    let mut line = layout::text::escape_message(&text.to_string());
    line.push('\n');
    // Nowhere is left where this error could be reported.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Writes text to standard output.
///
/// # Errors
/// If it cannot be written; a closed pipe is one of these errors.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Whether the reader of our output closed it, which is no error.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
