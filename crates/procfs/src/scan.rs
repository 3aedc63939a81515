//! The few ways in which kernel text is laid out, and the fast way through each.

use memchr::{memchr, memchr_iter, memmem};

/// The number at the start of `text` (leading blanks skipped), `None` if there is none or it
/// does not fit.
#[inline]
pub fn number(text: &[u8]) -> Option<u64> {
    take_number(&mut &*text)
}

/// Takes a number off the front of `text`: skips blanks, reads digits, leaves the rest.
#[inline]
pub fn take_number(text: &mut &[u8]) -> Option<u64> {
    let mut at = 0;
    while at < text.len() && (text[at] == b' ' || text[at] == b'\t') {
        at += 1;
    }
    let first = at;
    let mut value: u64 = 0;
    while at < text.len() {
        let digit = text[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Nineteen digits always fit; only the twentieth needs the checks.
        value = if at - first < 19 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        at += 1;
    }
    *text = &text[at..];
    (at > first).then_some(value)
}

/// As [`take_number`], with a sign; for the few signed values (`TcpMaxConn -1`, temperatures).
pub fn take_signed(text: &mut &[u8]) -> Option<i64> {
    while let [b' ' | b'\t', rest @ ..] = *text {
        *text = rest;
    }
    let negative = text.first() == Some(&b'-');
    if negative {
        *text = &text[1..];
    }
    let size = i64::try_from(take_number(text)?).ok()?;
    Some(if negative { -size } else { size })
}

/// `1.25` as 125; a point and two digits must follow the whole number, as load averages and
/// pressures have it.
pub fn hundredths(mut text: &[u8]) -> Option<u64> {
    let whole = take_number(&mut text)?;
    let [b'.', tens @ b'0'..=b'9', ones @ b'0'..=b'9', ..] = text else { return None };
    whole.checked_mul(100)?.checked_add(u64::from(tens - b'0') * 10 + u64::from(ones - b'0'))
}

/// Takes a word off the front of `text`: skips blanks, gives the bytes up to the next blank or
/// the end; empty when nothing is left.
#[inline]
pub fn take_word<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let first = text.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    let rest = &text[first..];
    let end = rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\n')).unwrap_or(rest.len());
    *text = &rest[end..];
    &rest[..end]
}

/// The lines of `text`, without their ends; a last line without an end counts too.
#[inline]
pub fn lines(text: &[u8]) -> Lines<'_> {
    Lines { rest: text }
}

/// See [`lines`].
pub struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Some(line)
    }
}

/// Finds a fixed set of `key value` lines in a file that keeps its order (`meminfo`, `vmstat`),
/// without looking at the others.
///
/// Remembers where each key stood.  A file with fixed widths never moves; in one without, a number
/// that grows a digit moves all that follows by the same step, so the step of the key before is
/// tried first and a search begins only when that fails.  A key that the file does not have is
/// looked for again only when the file has changed its lines: counting them costs far less than
/// searching a whole file for each of many absent keys.  Measured on a `vmstat` of 190 lines: the
/// walk over every line costs about 1 µs, this about 0.2 µs.
#[derive(Debug)]
pub struct KeyIndex {
    keys: &'static [&'static [u8]],
    /// Where each key stood; [`ABSENT`] for one that the file does not have.
    offsets: Vec<usize>,
    /// Lines of the file when the absent keys were last looked for.
    lines: usize,
}

/// The offset of a key that is not there.
const ABSENT: usize = usize::MAX;

impl KeyIndex {
    /// An index of these keys, which are best given in the order of the file.  Each key includes
    /// what follows it (`MemFree:`, `pgpgin `), so that no key is the start of another.
    pub fn new(keys: &'static [&'static [u8]]) -> Self {
        KeyIndex { keys, offsets: vec![0; keys.len()], lines: 0 }
    }

    /// Calls `found` with the index of each key that the text has, and its number.
    #[inline]
    pub fn scan(&mut self, text: &[u8], mut found: impl FnMut(usize, u64)) {
        let lines = memchr_iter(b'\n', text).count();
        let mut look_again = lines != self.lines;
        self.lines = lines;
        let mut step: isize = 0;
        for index in 0..self.keys.len() {
            let held = self.offsets[index];
            if held == ABSENT && !look_again {
                continue;
            }
            let guess = if held == ABSENT { ABSENT } else { held.wrapping_add_signed(step) };
            if self.take(text, index, guess, &mut found) {
                if held != ABSENT {
                    step = self.offsets[index].cast_signed() - held.cast_signed();
                }
            } else if !look_again {
                // As many lines and one key less: another key may have come in its place.
                look_again = true;
                for earlier in 0..index {
                    if self.offsets[earlier] == ABSENT {
                        self.take(text, earlier, ABSENT, &mut found);
                    }
                }
            }
        }
    }

    /// Finds one key, remembers where, and hands out its number; false when it is not there.
    #[inline]
    fn take(
        &mut self,
        text: &[u8],
        index: usize,
        guess: usize,
        found: &mut impl FnMut(usize, u64),
    ) -> bool {
        let key = self.keys[index];
        let at = if stands_at(text, guess, key) { Some(guess) } else { search(text, guess, key) };
        self.offsets[index] = at.unwrap_or(ABSENT);
        let Some(at) = at else { return false };
        if let Some(value) = number(&text[at + key.len()..]) {
            found(index, value);
        }
        true
    }
}

/// Whether a line begins with `key` at `at`.
#[inline]
fn stands_at(text: &[u8], at: usize, key: &[u8]) -> bool {
    let begins_line = at == 0 || text.get(at - 1) == Some(&b'\n');
    begins_line && text.get(at..).is_some_and(|rest| rest.starts_with(key))
}

/// The first line that begins with `key`: near `guess`, where a number that grew by a digit has
/// moved it, or else anywhere.
fn search(text: &[u8], guess: usize, key: &[u8]) -> Option<usize> {
    const NEAR_BYTES: usize = 8;
    if guess < text.len() {
        let (from, to) = (guess.saturating_sub(NEAR_BYTES), guess + NEAR_BYTES);
        let near = (from..=to).find(|&at| stands_at(text, at, key));
        if near.is_some() {
            return near;
        }
    }
    memmem::find_iter(text, key).find(|&at| stands_at(text, at, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_fit_and_numbers_that_do_not() {
        let check = |text: &str, value| assert_eq!(number(text.as_bytes()), value, "{text:?}");
        check("0", Some(0));
        check("  42 kB", Some(42));
        check("18446744073709551615", Some(u64::MAX));
        check("18446744073709551616", None);
        check("99999999999999999999999", None);
        check("", None);
        check(" -1", None);
        assert_eq!(take_signed(&mut &b" -1 2"[..]), Some(-1));
    }

    #[test]
    fn keys_are_found_again_after_they_moved() {
        let mut index = KeyIndex::new(&[b"a ", b"c ", b"d "]);
        let mut read = |text: &str| {
            let mut out = Vec::new();
            index.scan(text.as_bytes(), |key, value| out.push((key, value)));
            out
        };
        assert_eq!(read("a 1\nb 2\nc 3\nd 4\n"), [(0, 1), (1, 3), (2, 4)]);
        assert_eq!(read("a 1\nb 222\nc 3\nd 4\n"), [(0, 1), (1, 3), (2, 4)]);
        assert_eq!(read("d 4\nba 9\na 1"), [(0, 1), (2, 4)]);
        assert_eq!(read(""), []);
        assert_eq!(read("a 1\n"), [(0, 1)]);
        assert_eq!(read("c 1\n"), [(1, 1)], "one key lost");
        assert_eq!(read("a 2\n"), [(0, 2)], "and back, with as many lines as before");
        assert_eq!(read("a 2\nc x\nd 99999999999999999999\n"), [(0, 2)]);
    }
}
