//! Every option of every verb, by clap's own table, which is what the parser, the help and the
//! reference are made of: it has a help text, stands in the reference, and a test shows what it
//! changes.
//!
//! What it changes is shown by a case in `tests/options/*.txt`, or by a test of its own that
//! `tests/options/elsewhere.txt` names.  The switches of views need neither: tests run each of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

#[path = "../tests/options/cases.rs"]
mod cases;

/// An option that users see.
struct PublicOption {
    /// `run`, or `bench record`.
    verb: String,
    /// `--jobs`, or `-L` where there is no long name.
    name: String,
    /// All that it is called, with hyphens.
    names: Vec<String>,
    help: String,
}

impl PublicOption {
    fn of(verb: &str, argument: &clap::Arg) -> Option<Self> {
        let long = argument.get_long_and_visible_aliases().unwrap_or_default();
        let short = argument.get_short_and_visible_aliases().unwrap_or_default();
        let long = long.iter().map(|name| format!("--{name}"));
        let names: Vec<String> = long.chain(short.iter().map(|name| format!("-{name}"))).collect();
        let name = names.first()?.clone();
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        Some(PublicOption { verb: verb.to_owned(), name, names, help })
    }

    /// `run --jobs`.
    fn full_name(&self) -> String {
        format!("{} {}", self.verb, self.name)
    }

    fn is_in(&self, text: &str) -> bool {
        self.names.iter().any(|name| has_word(text, name))
    }
}

/// The options of a command and of those below it.
fn add_options(command: &clap::Command, verb: &str, options: &mut Vec<PublicOption>) {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    options.extend(
        shown
            .filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()))
            .filter_map(|argument| PublicOption::of(verb, argument)),
    );
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let verb = format!("{verb} {}", below.get_name());
        add_options(below, verb.trim_start(), options);
    }
}

fn all_options() -> Vec<PublicOption> {
    let mut options = Vec::new();
    add_options(&crate::Arguments::command(), "", &mut options);
    assert!(options.len() > 300, "{}", options.len());
    options
}

/// Whether a text has this word, and not merely one that it is a part of.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    text.match_indices(word).any(|(at, _)| {
        let next = text[at + word.len()..].chars().next();
        let last = text[..at].chars().next_back();
        !next.is_some_and(is_part) && !last.is_some_and(is_part)
    })
}

/// The rest of a command line from an option to the end of its value; `None` without the option.
fn given<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |&(at, _): &(usize, &str)| has_word(&line[at.saturating_sub(1)..], name);
    let (at, _) = line.match_indices(name).find(is_it)?;
    let value = line[at..].match_indices(' ').nth(1).map_or(line.len(), |(end, _)| at + end);
    Some(&line[at..value])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A function's doc comment and body, or nothing if there is none of this name.
fn function<'a>(text: &'a str, name: &str) -> &'a str {
    let Some(at) = text.find(&format!("fn {name}(")) else { return "" };
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..];
    let indent = line.len() - line.trim_start().len();
    let begin = text[..at].rfind("\n\n").map_or(0, |blank| blank + 2);
    let end = format!("\n{}}}\n", " ".repeat(indent));
    text[at..].find(&end).map_or("", |length| &text[begin..at + length])
}

/// The options that a test of its own exercises, `run --spawners`; each test is held to name them.
fn exercised_elsewhere(options: &[PublicOption]) -> BTreeSet<String> {
    let list = include_str!("../tests/options/elsewhere.txt");
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut exercised = BTreeSet::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [verb @ .., name, file, test] = words.as_slice() else {
            panic!("elsewhere.txt: {line}")
        };
        let full_name = format!("{} {name}", verb.join(" "));
        let option = options.iter().find(|option| option.full_name() == full_name);
        let option = option.unwrap_or_else(|| panic!("elsewhere.txt: {full_name} is no option"));
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        let body = function(&text, test);
        assert!(!body.is_empty(), "elsewhere.txt: no test {test} in {file}");
        assert!(option.is_in(body), "elsewhere.txt: {test} in {file} does not name {full_name}");
        assert!(exercised.insert(full_name), "elsewhere.txt has this twice: {line}");
    }
    exercised
}

/// Whether a case shows what an option changes.  `record` and `play` read the same options of what
/// to show by the same code: a case of one of them is enough.
fn has_case(option: &PublicOption, options: &[PublicOption]) -> bool {
    let is_same = |verb: &str| {
        let other = options.iter().find(|other| other.verb == verb && other.name == option.name);
        other.is_some_and(|other| other.help == option.help)
    };
    let shows = ["record", "play"];
    let verbs = if shows.into_iter().all(is_same) { shows } else { [option.verb.as_str(); 2] };
    cases::all().any(|case| {
        let is_of = |verb: &&str| {
            let is_traced = *verb == "trace" && case.with.contains("$TRACE ");
            is_traced || has_word(case.with, &format!("whit {verb}"))
        };
        let (with, without) = (given(case.with, &option.name), given(case.without, &option.name));
        verbs.iter().any(is_of) && with.is_some() && with != without
    })
}

/// Whether it is the switch of a view for programs.  `tests/options` shows what each of them changes
/// in `record` and `play`, and `tests/poll_record.rs` in `poll`.
fn is_of_view(option: &PublicOption) -> bool {
    let is_named = |entry: &&view::ViewEntry| option.name == format!("--{}", entry.name);
    let is_of_values = |entry: &view::ViewEntry| entry.class == view::ViewClass::Values;
    ["record", "play", "poll"].contains(&option.verb.as_str())
        && view::ALL.iter().copied().find(is_named).is_some_and(is_of_values)
}

#[test]
fn every_option_has_a_help_text_and_stands_in_the_reference() {
    let reference = std::fs::read_to_string(root().join("docs/reference/commands.md")).unwrap();
    for option in all_options() {
        let title = format!("\n## whit {}\n", option.verb);
        let at = reference.find(&title).unwrap_or_else(|| panic!("no {title}"));
        let section = &reference[at + title.len()..];
        let section = &section[..section.find("\n## ").unwrap_or(section.len())];
        let name = option.full_name();
        assert!(!option.help.trim().is_empty(), "whit {name} has no help");
        let stands = option.names.iter().all(|name| has_word(section, name));
        assert!(stands, "whit {name} is not in docs/reference: run cargo xtask gen");
    }
}

#[test]
fn every_option_is_exercised_by_a_test() {
    let options = all_options();
    let elsewhere = exercised_elsewhere(&options);
    let mut untried: Vec<String> = Vec::new();
    for option in &options {
        let name = option.full_name();
        if !is_of_view(option) && !elsewhere.contains(&name) && !has_case(option, &options) {
            untried.push(name);
        }
    }
    assert!(untried.is_empty(), "add cases to tests/options/*.txt for {untried:?}");
}
