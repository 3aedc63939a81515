//! Every source file opens with what it is, leaves no note behind, and below `cli` neither prints,
//! exits nor reads the environment.

use super::Complaints;
use super::rust;
use super::tree::Tree;

/// What must not stand in the code below `cli`.
const BANNED_BELOW_CLI: &[(&str, &str)] = &[
    ("std::env::", "only cli reads the environment: hand the value in"),
    ("process::exit(", "only cli exits: return an error"),
    ("println!(", "only cli prints: write to the `Write` you are given"),
    ("eprint!(", "only cli prints: write to the `Write` you are given"),
    (" print!(", "only cli prints: write to the `Write` you are given"),
];

/// Programs of others log through these crates: no `cli` is there that could hand in where and how.
const READS_ENVIRONMENT: [&str; 2] =
    ["crates/logring/src/folder.rs", "crates/logger/src/config.rs"];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for (file, text) in tree.ending(".rs") {
        check_file(file, text, complaints);
    }
}

/// Whether a file is code of a library: no test, no example, no build script, nothing that only tests
/// use.
pub(super) fn is_below_cli(file: &str) -> bool {
    file.starts_with("crates/")
        && !file.starts_with("crates/cli/")
        && !file.starts_with("crates/testkit/")
        && !file.contains("/tests/")
        && !file.ends_with("/tests.rs")
        && !file.ends_with("/build.rs")
        && !file.contains("/examples/")
}

fn check_file(file: &str, text: &str, complaints: &mut Complaints) {
    if !text.starts_with("//!") {
        complaints.push(format!("{file}: must open with a `//!` head: what it is, what it costs"));
    }
    let marks = [["FIX", "ME"].concat(), ["TO", "DO"].concat()];
    for (number, line) in text.lines().enumerate() {
        for mark in marks.iter().filter(|mark| line.contains(*mark)) {
            complaints.push(format!("{file}:{}: `{mark}` left behind", number + 1));
        }
    }
    if !is_below_cli(file) {
        return;
    }
    let code = rust::code(text);
    let is_banned = |word: &str, line: &str| {
        line.contains(word) && (!READS_ENVIRONMENT.contains(&file) || word != "std::env::")
    };
    for (number, line) in rust::without_tests(&code).lines().enumerate() {
        for (word, instead) in BANNED_BELOW_CLI.iter().filter(|(word, _)| is_banned(word, line)) {
            complaints.push(format!("{file}:{}: `{word}`: {instead}", number + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_banned_is_found() {
        let complaints_of = |file: &str, text: &str| {
            let mut complaints = Vec::new();
            check_file(file, text, &mut complaints);
            complaints.len()
        };
        let print = "println";
        let text =
            format!("fn f() {{ {print}!(\"a\") }}\n#[cfg(test)]\nmod tests {{ std::env::x }}\n");
        assert_eq!(complaints_of("crates/x/src/a.rs", &text), 2, "no head, and it prints");
        assert_eq!(complaints_of("crates/cli/src/a.rs", &format!("//! A.\n{text}")), 0);
        assert_eq!(complaints_of("crates/x/build.rs", &format!("//! A.\n{text}")), 0);
        let mark = ["TO", "DO"].concat();
        assert_eq!(complaints_of("xtask/src/a.rs", &format!("//! A.\n// {mark}: b\n")), 1);
    }
}
