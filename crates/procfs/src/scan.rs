//! Fast parsers for the few forms of kernel text: numbers, words, lines, `key value` lists.

use memchr::{memchr, memmem};

/// The number at the start of `text` (leading blanks skipped), `None` if there is none or it
/// does not fit.
#[inline]
pub fn number(text: &[u8]) -> Option<u64> {
    take_number(&mut &*text)
}

/// Takes a number off the front of `text`: skips blanks, reads digits, leaves the rest.
#[inline(always)]
pub fn take_number(text: &mut &[u8]) -> Option<u64> {
    let rest = skip_blanks(text);
    // On an idle machine most numbers are a single `0`.
    if let &[digit @ b'0'..=b'9', after, ..] = rest
        && !after.is_ascii_digit()
    {
        *text = &rest[1..];
        return Some(u64::from(digit - b'0'));
    }
    let Some(&eight) = rest.first_chunk::<8>() else {
        let first = rest.first().is_some_and(u8::is_ascii_digit);
        return if first { take_digits(text, rest, 0) } else { None };
    };
    let (value, count) = leading_digits(eight);
    if count == 8 {
        return take_long(text, &rest[8..], value);
    }
    *text = &rest[count..];
    (count > 0).then_some(value)
}

/// `text` without leading blanks and tabs; skips eight at a time, since `meminfo` has ten before
/// each number.
#[inline]
fn skip_blanks(mut text: &[u8]) -> &[u8] {
    const BLANKS: u64 = u64::from_ne_bytes([b' '; 8]);
    // Usually there is one blank.
    if let &[b' ', after @ ..] = &text
        && !matches!(after.first(), Some(b' ' | b'\t'))
    {
        return after;
    }
    while let Some(&eight) = text.first_chunk::<8>() {
        let others = u64::from_le_bytes(eight) ^ BLANKS;
        if others != 0 {
            text = &text[(others.trailing_zeros() / 8) as usize..];
            break;
        }
        text = &text[8..];
    }
    while let [b' ' | b'\t', after @ ..] = text {
        text = after;
    }
    text
}

/// The rest of a number whose first eight digits were parsed.
#[inline(never)]
fn take_long<'a>(text: &mut &'a [u8], rest: &'a [u8], value: u64) -> Option<u64> {
    const POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
    let Some(&eight) = rest.first_chunk::<8>() else { return take_digits(text, rest, value) };
    let (more, count) = leading_digits(eight);
    match POWERS.get(count) {
        Some(power) => {
            *text = &rest[count..];
            Some(value * power + more)
        }
        None => take_digits(text, &rest[8..], value * 100_000_000 + more),
    }
}

/// The remaining digits, one by one; `None` if the number does not fit.
#[inline(never)]
fn take_digits<'a>(text: &mut &'a [u8], mut rest: &'a [u8], mut value: u64) -> Option<u64> {
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        rest = after;
    }
    *text = rest;
    Some(value)
}

/// The leading digits of eight bytes as a number, and their count.  Without a branch on the length:
/// lengths vary from number to number, and a mispredicted branch costs as much as the conversion.
#[inline]
fn leading_digits(eight: [u8; 8]) -> (u64, usize) {
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    const TO_HIGH_BIT: u64 = 0x7676_7676_7676_7676;
    // A byte of `digits` is below 10 if it was a digit.
    let digits = u64::from_le_bytes(eight) ^ ZEROS;
    let others = (((digits & !HIGH_BITS) + TO_HIGH_BIT) | digits) & HIGH_BITS;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // Shift the digits to the end, zeros before them; then combine pairs, fours and eights.
    let digits = digits << (64 - 8 * count);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, count)
}

/// Like [`take_number`], with an optional sign (`TcpMaxConn -1`, temperatures).
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

/// `1.25` as 125.  A point and two digits must follow the integer, as in load averages and
/// pressures.
pub fn hundredths(mut text: &[u8]) -> Option<u64> {
    let whole = take_number(&mut text)?;
    let [b'.', tens @ b'0'..=b'9', ones @ b'0'..=b'9', ..] = text else { return None };
    whole.checked_mul(100)?.checked_add(u64::from(tens - b'0') * 10 + u64::from(ones - b'0'))
}

/// Takes a word off the front of `text`: skips blanks, returns the bytes up to the next blank or
/// the end; empty if nothing is left.
#[inline]
pub fn take_word<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let first = text.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    let rest = &text[first..];
    let end = rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\n')).unwrap_or(rest.len());
    *text = &rest[end..];
    &rest[..end]
}

/// The lines of `text`, without their newlines; the last line may lack one.
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
/// without parsing the other lines.
///
/// Remembers the offset of each key.  In a file with fixed widths offsets never change; otherwise
/// a number that gains a digit moves all later lines by the same distance, so the shift of the
/// previous key is tried first, and only if that fails the file is searched.  A key that the file
/// does not have is searched for again only when a line may have been added (see
/// `may_have_more`).  Costs about 15 ns for each key that the file has.
#[derive(Debug)]
pub struct KeyIndex {
    keys: &'static [&'static [u8]],
    /// The offset of each key; [`ABSENT`] for one that the file does not have.
    offsets: Vec<usize>,
    /// The bytes after each key, and their number: most numbers are the same as a second before,
    /// and comparing costs a third of parsing.
    behind: Vec<([u8; BEHIND_BYTES], u64)>,
    /// The length of the text at the last scan.
    text_bytes: usize,
    /// The shortest possible line of an absent key; `usize::MAX` if no key is absent.
    line_bytes_min: usize,
    /// Scans since the last search for absent keys.
    scans: u32,
}

/// Bytes after a key that are compared: blanks, a number, and the byte that ends it.
const BEHIND_BYTES: usize = 16;

/// Absent keys are searched for at least once in this many scans.
const SCANS_MAX: u32 = 64;

/// The offset of an absent key.
const ABSENT: usize = usize::MAX;

impl KeyIndex {
    /// An index of these keys, preferably in the order of the file.  Each key includes the byte
    /// that ends it (`MemFree:`, `pgpgin `), so that no key is a prefix of another.
    pub fn new(keys: &'static [&'static [u8]]) -> Self {
        // Initially the bytes and the number of a 0, so that the pair is consistent.
        let behind = vec![(*b"0\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 0); keys.len()];
        KeyIndex {
            keys,
            offsets: vec![0; keys.len()],
            behind,
            text_bytes: 0,
            line_bytes_min: 0,
            scans: 0,
        }
    }

    /// Calls `found` with the index and the value of each key that the text has.
    #[inline]
    pub fn scan(&mut self, text: &[u8], mut found: impl FnMut(usize, u64)) {
        let mut look_again = self.may_have_more(text.len());
        let mut step: isize = 0;
        for index in 0..self.keys.len() {
            let held = self.offsets[index];
            if held == ABSENT && !look_again {
                continue;
            }
            let guess = if held == ABSENT { ABSENT } else { held.wrapping_add_signed(step) };
            if self.find_key(text, index, guess, &mut found) {
                if held != ABSENT {
                    step = self.offsets[index].cast_signed() - held.cast_signed();
                }
            } else if !look_again {
                // A key is gone, so another one may have replaced its line.
                look_again = true;
                for earlier in 0..index {
                    if self.offsets[earlier] == ABSENT {
                        self.find_key(text, earlier, ABSENT, &mut found);
                    }
                }
            }
        }
        if look_again {
            let absent = self.keys.iter().zip(&self.offsets).filter(|&(_, &at)| at == ABSENT);
            // A key, a digit and a newline.
            self.line_bytes_min = absent.map(|(key, _)| key.len() + 2).min().unwrap_or(usize::MAX);
        }
    }

    /// Whether an absent key may have appeared.  Its line makes the text longer at once; growing
    /// numbers add a digit at a time.  If another line disappeared at the same time, the key is
    /// found within [`SCANS_MAX`] scans.  (Counting lines instead took a tenth of a scan.)
    fn may_have_more(&mut self, text_bytes: usize) -> bool {
        let grown = text_bytes.saturating_sub(self.text_bytes);
        self.text_bytes = text_bytes;
        self.scans += 1;
        let look = grown >= self.line_bytes_min || self.scans == SCANS_MAX;
        if look {
            self.scans = 0;
        }
        look
    }

    /// Finds one key, remembers its offset and reports its value; false if the key is absent.
    #[inline]
    fn find_key(
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
        let rest = &text[at + key.len()..];
        let head = rest.first_chunk::<BEHIND_BYTES>();
        if let Some(head) = head
            && let Some((held, value)) = self.behind.get(index)
            && held == head
        {
            found(index, *value);
            return true;
        }
        let mut after = rest;
        if let Some(value) = take_number(&mut after) {
            found(index, value);
            // Only if the number ends within the compared bytes.
            if let Some(head) = head
                && rest.len() - after.len() < BEHIND_BYTES
            {
                self.behind[index] = (*head, value);
            }
        }
        true
    }
}

/// Whether a line begins with `key` at `at`.
#[inline]
fn stands_at(text: &[u8], at: usize, key: &[u8]) -> bool {
    let begins_line = at == 0 || text.get(at - 1) == Some(&b'\n');
    begins_line
        && text.get(at..).and_then(|rest| rest.get(..key.len())).is_some_and(|t| same(t, key))
}

/// Whether two texts of the same length are equal.  Keys are short, and a call of `memcmp` costs
/// more than comparing them here.
#[inline]
fn same(left: &[u8], right: &[u8]) -> bool {
    /// Compares the first and the last `N` bytes, which cover a text of up to `2 * N` bytes.
    #[inline]
    fn ends<const N: usize>(text: &[u8]) -> Option<([u8; N], [u8; N])> {
        Some((*text.first_chunk()?, *text.last_chunk()?))
    }
    match right.len() {
        4..8 => ends::<4>(left) == ends::<4>(right),
        8..=16 => ends::<8>(left) == ends::<8>(right),
        17..=32 => ends::<16>(left) == ends::<16>(right),
        _ => left == right,
    }
}

/// The first line that begins with `key`: first near `guess`, since a number that gained a digit
/// moves it little, then anywhere.
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
    fn blanks_and_tabs_of_any_number() {
        for blanks in 0..20 {
            let text = format!("{}\t{}5", " ".repeat(blanks), " ".repeat(blanks));
            assert_eq!(number(text.as_bytes()), Some(5), "{text:?}");
            assert_eq!(number(&text.as_bytes()[..text.len() - 1]), None);
        }
    }

    #[test]
    fn every_length_with_and_without_something_behind() {
        for behind in ["", " ", "\n", ":123456789", "/1", "x0000000"] {
            let mut value: u64 = 0;
            for length in 1..=20 {
                // 1, 12, …, 12345678901234567890.
                value = value * 10 + length % 10;
                let text = format!(" \t{value}{behind}");
                let mut rest = text.as_bytes();
                assert_eq!(take_number(&mut rest), Some(value), "{text:?}");
                assert_eq!(rest, behind.as_bytes(), "{text:?}");
                let zeros = format!("00000000{value}{behind}");
                assert_eq!(number(zeros.as_bytes()), Some(value), "{zeros:?}");
            }
            let mut rest = behind.as_bytes();
            assert_eq!(take_number(&mut rest), None);
        }
        let mut rest = &b"99999999999999999999 1"[..];
        assert_eq!(take_number(&mut rest), None);
        for byte in [b'/', b':', 0, 0x80, 0xb0, 0xff, b'0' | 0x80] {
            let text = [b'1', b'2', byte, b'4', b'5', b'6', b'7', b'8', b'9'];
            assert_eq!(number(&text), Some(12), "{byte}");
        }
    }

    #[test]
    fn a_number_longer_than_what_is_compared_is_read_each_time() {
        let mut index = KeyIndex::new(&[b"a ", b"b "]);
        let mut read = |text: &str| {
            let mut out = Vec::new();
            index.scan(text.as_bytes(), |key, value| out.push((key, value)));
            out
        };
        let text = "a 1234567890123456\nb              7\nc 1234567890\n";
        let grown = "a 12345678901234567\nb              71\nc 1234567890\n";
        for _ in 0..2 {
            assert_eq!(read(text), [(0, 1_234_567_890_123_456), (1, 7)]);
            assert_eq!(read(grown), [(0, 12_345_678_901_234_567), (1, 71)]);
        }
    }

    #[test]
    fn a_key_without_a_number_has_none() {
        let mut index = KeyIndex::new(&[b"a "]);
        let mut out = Vec::new();
        index
            .scan(b"a \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\n", |key, value| out.push((key, value)));
        assert_eq!(out, []);
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
