//! The built-in strings, which are parts of a value: `{.}`, `{/}`, `{//}`, `{/.}` and those of
//! `--plus`.
//!
//! Each is the value without some of its bytes, so that nothing is copied before quoting: two
//! slices, one after the other.  The second is empty except for values with newlines, because the
//! rule for `{/}` (remove everything up to the last `/` of a *line*) keeps the lines before.

/// The part of a value that a replacement string stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// `{}`.
    Whole,
    /// `{.}`, `{..}`, `{...}`: without this many extensions, or whole if it has fewer.
    WithoutExtensions(u8),
    /// `{/}`.
    BaseName,
    /// `{/.}`, `{/..}`, `{/...}`.
    BaseNameWithoutExtensions(u8),
    /// `{//}`: dirname(1).
    Directory,
    /// `{+/}`: the part before the last `/`.
    BeforeBaseName,
    /// `{+.}`: the part after the last `.`.
    Extension,
    /// `{+..}`, `{+...}`: the last extensions, this many, or nothing if it has fewer.
    Extensions(u8),
}

/// The bytes of `value` that `cut` stands for, in two parts.
pub(crate) fn cut(cut: Cut, value: &[u8]) -> (&[u8], &[u8]) {
    match cut {
        Cut::Whole => (value, b""),
        Cut::WithoutExtensions(count) => (without_extensions(value, count), b""),
        Cut::BaseName => base_name(value),
        Cut::BaseNameWithoutExtensions(count) => match base_name(value) {
            (name, b"") => (without_extensions(name, count), b""),
            (lines, name) => extensions_of_two(lines, name, count),
        },
        Cut::Directory => (directory(value), b""),
        Cut::BeforeBaseName => match memchr::memrchr(b'/', value) {
            Some(place) => (&value[..place], b""),
            None => without_last_line(value),
        },
        Cut::Extension => match memchr::memchr(b'.', value) {
            Some(first) => without_line_before(value, last_in_line(value, b'.', first) + 1),
            None => without_last_line(value),
        },
        Cut::Extensions(count) => match extensions_start(value, count) {
            Some(start) => without_line_before(value, start + 1),
            None => without_last_line(value),
        },
    }
}

/// The offset of the last extension (its dot), if there is one: a dot and the text after it without
/// dots and slashes, which may be empty.
fn extension_start(value: &[u8]) -> Option<usize> {
    memchr::memrchr2(b'.', b'/', value).filter(|place| value[*place] == b'.')
}

/// The offset at which the last `count` extensions begin.
fn extensions_start(value: &[u8], count: u8) -> Option<usize> {
    (0..count).try_fold(value.len(), |end, _| extension_start(&value[..end]))
}

fn without_extensions(value: &[u8], count: u8) -> &[u8] {
    extensions_start(value, count).map_or(value, |start| &value[..start])
}

/// As [`without_extensions`], for two parts, of which the second has no slash: an extension may
/// begin in the first.
fn extensions_of_two<'a>(lines: &'a [u8], name: &'a [u8], count: u8) -> (&'a [u8], &'a [u8]) {
    let in_name = count.min(name.iter().filter(|byte| **byte == b'.').count().min(255) as u8);
    if in_name == count {
        return (lines, without_extensions(name, count));
    }
    match extensions_start(lines, count - in_name) {
        Some(start) => (&lines[..start], b""),
        None => (lines, name),
    }
}

/// Removes the part of a line before `end`: returns the lines before it, and the text after `end`.
fn without_line_before(value: &[u8], end: usize) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'\n', &value[..end]) {
        None => (&value[end..], b""),
        Some(place) => (&value[..=place], &value[end..]),
    }
}

/// Removes the last line, but keeps its newline: what remains of a value without such a part.
fn without_last_line(value: &[u8]) -> (&[u8], &[u8]) {
    let end = value.strip_suffix(b"\n").map_or(value.len(), <[u8]>::len);
    without_line_before(value, end)
}

/// Removes everything up to the last `/` of the first line that has one.
fn base_name(value: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'/', value) {
        Some(first) => without_line_before(value, last_in_line(value, b'/', first) + 1),
        None => (value, b""),
    }
}

/// The last offset of `byte` in the line that contains `first`.
fn last_in_line(value: &[u8], byte: u8, first: usize) -> usize {
    let end = memchr::memchr(b'\n', &value[first..]).map_or(value.len(), |end| first + end);
    memchr::memrchr(byte, &value[..end]).unwrap_or(first)
}

/// The output of dirname(1): trailing slashes do not count, `.` if there is no other slash.
fn directory(value: &[u8]) -> &[u8] {
    let trimmed = trim_slashes(value);
    if trimmed.is_empty() {
        return if value.is_empty() { b"." } else { b"/" };
    }
    match memchr::memrchr(b'/', trimmed) {
        None => b".",
        Some(place) => match trim_slashes(&trimmed[..place]) {
            b"" => b"/",
            folder => folder,
        },
    }
}

fn trim_slashes(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| *byte != b'/').map_or(0, |place| place + 1);
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(kind: Cut, value: &str) -> String {
        let (first, second) = cut(kind, value.as_bytes());
        String::from_utf8([first, second].concat()).unwrap()
    }

    #[test]
    fn names_and_extensions() {
        for (value, without, base, folder) in [
            ("a/b.c.d", "a/b.c", "b.c.d", "a"),
            ("sub.dir/bar", "sub.dir/bar", "bar", "sub.dir"),
            (".bashrc", "", ".bashrc", "."),
            ("x.", "x", "x.", "."),
            ("a//b/", "a//b/", "", "a"),
            ("/", "/", "", "/"),
            ("//x", "//x", "x", "/"),
            ("", "", "", "."),
        ] {
            assert_eq!(whole(Cut::WithoutExtensions(1), value), without, "{{.}} of {value:?}");
            assert_eq!(whole(Cut::BaseName, value), base, "{{/}} of {value:?}");
            assert_eq!(whole(Cut::Directory, value), folder, "{{//}} of {value:?}");
        }
    }

    #[test]
    fn several_extensions_all_or_none() {
        assert_eq!(whole(Cut::WithoutExtensions(2), "a.b.c"), "a");
        assert_eq!(whole(Cut::WithoutExtensions(3), "a.b.c"), "a.b.c");
        assert_eq!(whole(Cut::Extensions(2), "d.x/a.b.c.d.e"), "d.e");
        assert_eq!(whole(Cut::Extensions(3), "a.b"), "");
        assert_eq!(whole(Cut::Extension, "a.b/c"), "b/c");
        assert_eq!(whole(Cut::Extensions(2), "a.."), ".");
        assert_eq!(whole(Cut::BeforeBaseName, "a/b/c"), "a/b");
    }

    #[test]
    fn a_line_end_bounds_the_base_name() {
        assert_eq!(whole(Cut::BaseName, "a\nb/c/d\ne/f"), "a\nd\ne/f");
        assert_eq!(whole(Cut::BaseNameWithoutExtensions(1), "a.b\nc/d"), "a");
        assert_eq!(whole(Cut::BaseNameWithoutExtensions(1), "a.b\nc/d.e"), "a.b\nd");
    }
}
