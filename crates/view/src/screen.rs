//! A terminal that is painted over, line by line, so that it does not flicker.

/// Moves the cursor to the upper left corner.
pub(crate) const CURSOR_HOME: &[u8] = b"\x1b[H";
/// Clears from the cursor to the end of the line.
pub(crate) const CLEAR_RIGHT: &[u8] = b"\x1b[K";
/// Clears from the cursor to the end of the screen.
pub(crate) const CLEAR_BELOW: &[u8] = b"\x1b[J";

/// Appends lines that overwrite what stands there, and clears what stood below.
pub(crate) fn push_over(out: &mut Vec<u8>, text: &[u8]) {
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let end = line.strip_suffix(b"\n");
        out.extend_from_slice(end.unwrap_or(line));
        out.extend_from_slice(CLEAR_RIGHT);
        if end.is_some() {
            out.push(b'\n');
        }
    }
    out.extend_from_slice(CLEAR_BELOW);
}
