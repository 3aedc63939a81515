//! What shells and `man` know of the command line: values that a shell completes (fields, sources, disks
//! and interfaces, hosts, loggers, system calls), the scripts for that, and man pages.
//!
//! The scripts that `whit generate completions` writes know verbs and options.  For a value they start
//! whit with the command line up to the cursor ([`scripts`]); [`candidates`] says what may stand there, from
//! the recordings or the store of logs that the line names, else from this machine.  That is a start of
//! whit, the head and one sample of a few recordings, or the tables of a store: some 5 to 20 ms.
//!
//! What is found in files may be hostile, and the shell puts it into a command line.  So names with
//! anything but letters, digits and `._-:/@%+=,[]*` are left out ([`is_harmless`]).
//!
//! Uses `source` and `view` for names, `feed` to read recordings, `log_store`, `bpf` for system calls, and
//! clap's description of the command line.  Prints nothing, reads no environment.  Begin with
//! [`candidates`], then `argument.rs`.
#![forbid(unsafe_code)]

mod argument;
pub mod examples;
mod fields;
mod hosts;
mod instances;
mod line;
mod logs;
pub mod man;
pub mod scripts;
mod values;

use std::path::PathBuf;

use clap::Command;

/// Most candidates: more are no help to a person.
const CANDIDATES_MAX: usize = 2000;

/// Where names are found that the command line does not say.
#[derive(Default)]
pub struct NameSources<'a> {
    /// The folder of the service's recordings.
    pub recordings: Option<PathBuf>,
    /// The folder of the service's store of log records.
    pub log_store: Option<PathBuf>,
    /// The home folder, which has ssh's files.
    pub home: Option<PathBuf>,
    /// Whether the person has waited long enough; `None` never.
    pub has_ended: Option<&'a dyn Fn() -> bool>,
}

impl NameSources<'_> {
    fn has_ended(&self) -> bool {
        self.has_ended.is_some_and(|has_ended| has_ended())
    }
}

/// What may stand at the end of a command line, in place of its last word; nothing if that is no value
/// that whit knows, so that the shell's own completion goes on.
///
/// A candidate that is whole ends with a space; the others are of lists, which may go on.  `breaks` are
/// characters at which the shell, too, begins a word (bash's `COMP_WORDBREAKS`): what stands before the
/// last one of the word is left out.
#[must_use]
pub fn candidates(
    command: &Command,
    line: &str,
    breaks: &str,
    places: &NameSources<'_>,
) -> Vec<String> {
    let words = line::words(line);
    let Some((last, before)) = words.split_last() else { return Vec::new() };
    let Some(asked) = argument::at_the_end(command, before, &last.text) else { return Vec::new() };
    let mut found = values::of(&asked, places);
    found.retain(|candidate| candidate.starts_with(asked.value) && is_harmless(candidate));
    found.sort_unstable();
    found.dedup();
    found.truncate(CANDIDATES_MAX);
    let option = &last.text[..last.text.len() - asked.value.len()];
    let kept = if last.is_quoted { 0 } else { after_break(&last.text, breaks) };
    // A list may go on.
    let end = if asked.verb.starts_with("log ") { " " } else { "" };
    found.iter().map(|candidate| format!("{option}{candidate}{end}")[kept..].to_owned()).collect()
}

/// Where the shell's own last word begins.
fn after_break(word: &str, breaks: &str) -> usize {
    let broken = word.char_indices().rev().find(|(_, letter)| breaks.contains(*letter));
    broken.map_or(0, |(at, letter)| at + letter.len_utf8())
}

/// Whether a name can go into a command line: nothing in it means anything to a shell but brackets and
/// stars, which the scripts quote, and nothing to a terminal.
#[must_use]
pub fn is_harmless(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-:/@%+=,[]*".contains(letter);
    !name.is_empty() && name.chars().all(is_plain)
}

/// The words of a list that may take the place of its last one, each with what stands before it.
fn in_list<'n>(value: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let before = value.rfind(',').map_or("", |comma| &value[..=comma]);
    names.into_iter().map(|name| format!("{before}{name}")).collect()
}
