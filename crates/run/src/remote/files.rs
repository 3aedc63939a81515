//! `--transferfile`, `--return`, `--cleanup`: files sent and fetched by `tar` through the login.
//!
//! Where a path leads: with `/./` in it, the part after it is relative to the working directory
//! there and the part before it is the directory here; an absolute path is the same there; any
//! other is relative to the working directory on both sides.
//!
//! Owners are not kept (`-o`); modes and times are.  A line fails if either side of it fails.

use thiserror::Error;

use super::shell_line::{for_any_shell, join_words};
use template::quote::{Shell, quote};

/// Why a path cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PathError {
    /// It has no name, or leads out of its directory.
    #[error("'{0}' cannot be sent or brought back: write a path without .., or an absolute one")]
    Outside(String),
}

/// A path on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath {
    /// The directory here that the name is relative to.
    pub base: Vec<u8>,
    /// The name below it, beginning with `./` so that no program takes it for an option.
    pub name: Vec<u8>,
    /// Whether it is below `/` there, and not below the working directory.
    pub absolute: bool,
}

impl FilePath {
    /// Parses a path.
    ///
    /// # Errors
    /// If it has no name, or leads out of its directory.
    pub fn parse(text: &[u8]) -> Result<Self, PathError> {
        let cut = text.windows(3).position(|part| part == b"/./");
        let (base, name, absolute) = match cut {
            Some(0) => (&b"/"[..], &text[3..], false),
            Some(at) => (&text[..at], &text[at + 3..], false),
            None if text.starts_with(b"/") => (&b"/"[..], text, true),
            None => (&b"."[..], text, false),
        };
        let parts: Vec<&[u8]> = name
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty() && *part != b".")
            .collect();
        if parts.is_empty() || parts.contains(&&b".."[..]) {
            return Err(PathError::Outside(String::from_utf8_lossy(text).into_owned()));
        }
        let name = [b"./", parts.join(&b'/').as_slice()].concat();
        let base = if base.starts_with(b"-") { [b"./", base].concat() } else { base.to_vec() };
        Ok(FilePath { base, name, absolute })
    }

    /// The directory there that the name is relative to.
    fn root<'a>(&self, workdir: &'a [u8]) -> &'a [u8] {
        if self.absolute { b"/" } else { workdir }
    }
}

/// Appends a line for a shell here that sends files, in groups that share directories.
pub(super) fn send(login: &[Vec<u8>], workdir: &[u8], paths: &[FilePath], out: &mut Vec<u8>) {
    for group in groups(paths) {
        let root = group[0].root(workdir);
        let mut pack = b"tar -cf - -C ".to_vec();
        quote(Shell::Bourne, &group[0].base, &mut pack);
        names(group, &mut pack);
        let mut unpack = enter(root);
        unpack.extend_from_slice(b" && tar -xof -");
        piped(&pack, &over_there(login, &unpack), out);
        out.extend_from_slice(b" && ");
    }
    out.extend_from_slice(b":");
}

/// Appends a line for a shell here that fetches files.
pub(super) fn bring(login: &[Vec<u8>], workdir: &[u8], paths: &[FilePath], out: &mut Vec<u8>) {
    for group in groups(paths) {
        let mut pack = enter(group[0].root(workdir));
        pack.extend_from_slice(b" && tar -cf -");
        names(group, &mut pack);
        let mut base = Vec::new();
        quote(Shell::Bourne, &group[0].base, &mut base);
        let unpack =
            [b"{ mkdir -p ", base.as_slice(), b" && tar -xof - -C ", &base, b"; }"].concat();
        let mut there = over_there(login, &pack);
        there.extend_from_slice(b" </dev/null");
        piped(&there, &unpack, out);
        out.extend_from_slice(b" && ");
    }
    out.extend_from_slice(b":");
}

/// Commands for a shell there that remove files, and directories that become empty.
pub(super) fn remove(workdir: &[u8], paths: &[FilePath]) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.extend_from_slice(b"(cd ");
        quote(Shell::Bourne, path.root(workdir), &mut text);
        text.extend_from_slice(b" && rm -rf ");
        quote(Shell::Bourne, &path.name, &mut text);
        if let Some(at) = memchr::memrchr(b'/', &path.name).filter(|at| *at > 1) {
            // Without `./`, so that the working directory itself stays.
            text.extend_from_slice(b" && rmdir -p -- ");
            quote(Shell::Bourne, &path.name[2..at], &mut text);
        }
        text.extend_from_slice(b") 2>/dev/null; ");
    }
    text
}

/// Groups of neighbours that share their directories on both sides.
fn groups(paths: &[FilePath]) -> impl Iterator<Item = &[FilePath]> {
    paths.chunk_by(|one, next| one.base == next.base && one.absolute == next.absolute)
}

/// Makes a directory and changes to it.
pub(super) fn enter(folder: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::new();
    quote(Shell::Bourne, folder, &mut quoted);
    [b"mkdir -p -- ", quoted.as_slice(), b" && cd -- ", &quoted].concat()
}

/// The names of paths as words.
fn names(paths: &[FilePath], out: &mut Vec<u8>) {
    for path in paths {
        out.push(b' ');
        quote(Shell::Bourne, &path.name, out);
    }
}

/// A command there as a line for a shell here.
fn over_there(login: &[Vec<u8>], command: &[u8]) -> Vec<u8> {
    let mut words = login.to_vec();
    words.push(for_any_shell(command));
    join_words(&words)
}

/// `left | right` that fails if either does.  POSIX has no pipefail: the status of the left side
/// comes through descriptor 3, which neither side keeps open (a master connection of ssh would do
/// so for ever).  Output of the right side is not output of the job, so it goes to stderr.
fn piped(left: &[u8], right: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"left=$( { { { ");
    out.extend_from_slice(left);
    out.extend_from_slice(b"; } 3>&-; echo $? >&3; } | { ");
    out.extend_from_slice(right);
    out.extend_from_slice(b"; } >&2 3>&-; } 3>&1 ) && [ \"$left\" = 0 ]");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_where_rsync_would() {
        let parts = |text: &str| {
            let path = FilePath::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            (text(&path.base), text(&path.name), path.absolute)
        };
        let is = |base: &str, name: &str, absolute| (base.to_owned(), name.to_owned(), absolute);
        assert_eq!(parts("foo/bar"), is(".", "./foo/bar", false));
        assert_eq!(parts("./foo//bar/"), is(".", "./foo/bar", false));
        assert_eq!(parts("/tmp/foo"), is("/", "./tmp/foo", true));
        assert_eq!(parts("/tmp/./foo/bar"), is("/tmp", "./foo/bar", false));
        assert_eq!(parts("tmp/./foo"), is("tmp", "./foo", false));
        assert_eq!(parts("/./foo"), is("/", "./foo", false));
        assert_eq!(parts("-rf"), is(".", "./-rf", false));
        assert_eq!(parts("-x/./y"), is("./-x", "./y", false));
        assert_eq!(parts("../a/./b"), is("../a", "./b", false));
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for text in ["", "/", ".", "..", "../a", "a/../../b", "/tmp/./", "/tmp/..", "a/./.."] {
            let error = FilePath::parse(text.as_bytes());
            assert_eq!(error, Err(PathError::Outside(text.to_owned())), "{text}");
        }
    }
}
