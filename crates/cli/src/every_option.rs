//! Every option of every verb, by clap's own table, which is what the parser, the help and the
//! reference are made of: it has a help text, stands in the reference, and some test gives it.

use std::path::Path;

use clap::CommandFactory as _;

/// Options that no test gives by their long names, and why.  The list may only get shorter.
const NOT_TRIED: &[(&str, &str)] = &[
    ("run --memsuspend", "suspends jobs when memory is short, which a test should not bring about"),
    ("trace --summary-wall-clock", "changes times, and only where the kernel counts"),
    ("record --case", "`cargo xtask smoke` runs the benchmarks, by --quick"),
    ("record --long", "a benchmark"),
    ("record --quick", "`cargo xtask smoke` runs it"),
    ("record --rounds", "a benchmark"),
    ("record --samples", "a benchmark"),
    ("record --save", "a benchmark"),
    ("record --slow-samples", "a benchmark"),
    ("processes --long", "a benchmark"),
    ("processes --quick", "`cargo xtask smoke` runs it"),
    ("processes --rounds", "a benchmark"),
    ("processes --samples", "a benchmark"),
    ("processes --save", "a benchmark"),
    ("processes --sleepers", "a benchmark"),
    ("trace --quick", "`cargo xtask smoke` runs it"),
    ("trace --rounds", "a benchmark"),
    ("trace --save", "a benchmark"),
    ("spawn --at-once", "a benchmark"),
    ("spawn --no-rival", "a benchmark"),
    ("spawn --pipe-bytes", "a benchmark"),
    ("spawn --quick", "`cargo xtask smoke` runs it"),
    ("spawn --rounds", "a benchmark"),
    ("spawn --save", "a benchmark"),
];

/// The visible options of a command and of those below it: `verb --name`, and the help.
fn options(command: &clap::Command, found: &mut Vec<(String, String)>) {
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        if let Some(long) = option.get_long().filter(|long| !["help", "version"].contains(long)) {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            found.push((format!("{} --{long}", command.get_name()), help));
        }
    }
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        options(verb, found);
    }
}

fn all_options() -> Vec<(String, String)> {
    let mut found = Vec::new();
    options(&crate::Arguments::command(), &mut found);
    assert!(found.len() > 300, "{}", found.len());
    found
}

/// The name of an option: `--name` of `verb --name`.
fn name(option: &str) -> &str {
    option.split_once(' ').map_or("", |(_, name)| name)
}

/// Whether a text has an option, and not merely one whose name begins so.
fn has(text: &str, option: &str) -> bool {
    text.match_indices(option).any(|(at, _)| {
        let next = text[at + option.len()..].chars().next();
        !next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '-')
    })
}

/// All that tests are: files under `tests`, and the parts of others that are compiled for tests.
fn tests(folder: &Path, is_test: bool, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, is_test || path.ends_with("tests"), text);
            continue;
        }
        // What names an option here exercises nothing.
        let is_this = path.ends_with("every_option.rs");
        let Ok(content) = std::fs::read_to_string(&path) else { continue };
        if is_test || path.ends_with("tests.rs") {
            text.push_str(&content);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_this {
            let from = content.find("#[cfg(test)]").unwrap_or(content.len());
            text.push_str(&content[from..]);
        }
        text.push('\n');
    }
}

#[test]
fn every_option_has_a_help_text_and_stands_in_the_reference() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let reference = std::fs::read_to_string(root.join("docs/reference/commands.md")).unwrap();
    for (option, help) in all_options() {
        assert!(!help.trim().is_empty(), "whit {option} has no help");
        assert!(has(&reference, name(&option)), "whit {option} is not in docs/reference");
    }
}

#[test]
fn every_option_is_given_in_some_test() {
    let mut text = String::new();
    tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), false, &mut text);
    let mut untried = Vec::new();
    for (option, _) in all_options() {
        let is_listed = NOT_TRIED.iter().any(|(listed, _)| *listed == option);
        if !is_listed && !has(&text, name(&option)) {
            untried.push(option);
        }
    }
    assert!(untried.is_empty(), "no test gives {untried:?}: add one, see tests/options.rs");
    for (listed, _) in NOT_TRIED {
        let is_there = all_options().iter().any(|(option, _)| option == listed);
        assert!(is_there, "{listed} is no option: take it off the list");
    }
}
