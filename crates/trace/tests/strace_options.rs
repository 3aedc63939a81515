//! The table of strace's options beside the help of the installed program.

use std::collections::BTreeSet;
use std::process::Command;

use trace::strace_options::strace_option;

/// All options that the help names: at the beginnings of its lines, and behind commas there; and the
/// words of `-e`, as long names.
fn named_in(help: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut names = BTreeSet::new();
    for line in help.lines().filter(|line| line.starts_with("  ")) {
        let options = line.trim_start().split("  ").next().unwrap_or_default();
        for word in options.split([' ', ',']).filter(|word| word.starts_with('-')) {
            let name = word.split(|letter| !is_name(letter)).next().unwrap_or_default();
            let letters = name.trim_start_matches('-');
            match name.len() - letters.len() {
                // -ff is -f twice.
                1 => names.extend(letters.chars().next().map(|letter| format!("-{letter}"))),
                2 if !letters.is_empty() => drop(names.insert(name.to_owned())),
                _ => {}
            }
        }
    }
    let (_, words) = help.split_once("options:").unwrap_or_default();
    let words = words.split("\n\n").next().unwrap_or_default();
    names.extend(words.split(',').map(|word| format!("--{}", word.trim())));
    names
}

#[test]
fn every_option_of_the_installed_program_is_in_the_table() {
    if !testkit::is_installed("strace 6.1", "strace") {
        return;
    }
    let help = Command::new("strace").arg("--help").output().unwrap();
    let names = named_in(&String::from_utf8_lossy(&help.stdout));
    assert!(names.len() > 70, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| strace_option(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
