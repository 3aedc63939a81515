//! Options that a user has set for all runs: files, `$PARALLEL` and profiles.
//!
//! They are put before those of the command line, so that the latter win: `/etc/parallel/config`,
//! `~/.parallel/config` (or below `$PARALLEL_HOME`), `$PARALLEL`, and the files that `-J` names.  With a
//! profile the two config files are ignored, with `--plain` all of them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The command line of `whit run` with configured options before its own, all by their full names;
/// any other command line unchanged.
///
/// # Errors
///
/// A profile that cannot be read.
pub(crate) fn configured(words: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    if words.get(1).is_none_or(|verb| verb != "run") {
        return Ok(words);
    }
    let asked = EarlyOptions::of(&words[2..]);
    let mut line = words[..2].to_vec();
    if !asked.plain {
        let home = home();
        if asked.profiles.is_empty() {
            let files = [
                Some(PathBuf::from("/etc/parallel/config")),
                home.as_ref().map(|home| home.join("config")),
            ];
            for file in files.into_iter().flatten() {
                // A missing file has no options.
                if let Ok(text) = std::fs::read(&file) {
                    line.extend(options(&text));
                }
            }
        }
        for name in &asked.profiles {
            let path = profile(name, home.as_deref());
            let text = std::fs::read(&path)
                .with_context(|| format!("cannot read the profile {}", path.display()))?;
            line.extend(options(&text));
        }
        if let Some(text) = std::env::var_os("PARALLEL") {
            line.extend(options(text.as_bytes()));
        }
    }
    line.extend_from_slice(&words[2..]);
    let given = line.split_off(2);
    line.extend(run::parallel_options::in_full(given));
    Ok(line)
}

/// The directory of the user's files.
pub(crate) fn home() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("PARALLEL_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".parallel")))
}

/// A profile's file: a path as it is, a name in the user's folder.
fn profile(name: &OsStr, home: Option<&Path>) -> PathBuf {
    let is_path = name.as_bytes().contains(&b'/');
    match home {
        Some(home) if !is_path => home.join(name),
        _ => PathBuf::from(name),
    }
}

/// Options that must be known before a command line is parsed.
#[derive(Debug, Default, PartialEq)]
struct EarlyOptions {
    plain: bool,
    profiles: Vec<OsString>,
}

impl EarlyOptions {
    /// Finds them among the options, up to the first word that is not one.
    fn of(words: &[OsString]) -> Self {
        let mut asked = EarlyOptions::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_bytes() {
                b"--plain" => asked.plain = true,
                b"-J" | b"--profile" => asked.profiles.extend(words.next().cloned()),
                b"--" => break,
                text => {
                    let named = text
                        .strip_prefix(b"--profile=")
                        .or_else(|| text.strip_prefix(b"-J").filter(|_| !text.starts_with(b"--")));
                    if let Some(name) = named {
                        asked.profiles.push(OsString::from_vec(name.to_vec()));
                    } else if !text.starts_with(b"-") {
                        // It may be the value of the option before: whatever follows might be a
                        // command, in which a -J is not ours; one that follows all the same stands
                        // where the user can move it.
                        break;
                    }
                }
            }
        }
        asked
    }
}

/// The options in a text: words as a shell would split them, without comment lines.
fn options(text: &[u8]) -> Vec<OsString> {
    let lines = text.split(|&byte| byte == b'\n');
    lines
        .filter(|line| !line.trim_ascii_start().starts_with(b"#"))
        .flat_map(words)
        .map(OsString::from_vec)
        .collect()
}

/// The words of a line, with quotes and backslashes as a shell reads them.
fn words(line: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = line.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b' ' | b'\t') => words.extend(word.take()),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (Some(open), _) if byte == open => quote = None,
            (None | Some(b'"'), b'\\') => word.get_or_insert_default().extend(bytes.next()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_a_shell_cuts_them() {
        let cut = |text: &str| {
            let words = options(text.as_bytes());
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(cut("-j 4 --tag"), ["-j", "4", "--tag"]);
        assert_eq!(cut("# no\n --rpl '{a} s/ /_/'\n-k"), ["--rpl", "{a} s/ /_/", "-k"]);
        assert_eq!(cut(r#"--tagstring "a \"b\"" c\ d ''"#), ["--tagstring", "a \"b\"", "c d", ""]);
        assert!(cut(" \t\n").is_empty());
    }

    #[test]
    fn profiles_are_found_before_the_command() {
        let of =
            |text: &str| EarlyOptions::of(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("-k -J a -Jb --profile=c echo -J d").profiles, ["a", "b", "c"]);
        assert!(of("-k --plain echo").plain && !of("echo --plain").plain);
    }
}
