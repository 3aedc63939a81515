//! A test that skips says so by `testkit::skip`, so that the ledger has it.

use super::Complaints;
use super::rust;
use super::tree::Tree;

/// Where skips are printed.
const HELPER: &str = "crates/testkit/src/skip.rs";

/// What prints.
const PRINTS: [&str; 4] = ["eprintln!(", "println!(", "eprint!(", "print!("];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for (file, text) in tree.ending(".rs") {
        if file.starts_with("crates/") && file != HELPER {
            check_file(file, text, complaints);
        }
    }
}

fn check_file(file: &str, text: &str, complaints: &mut Complaints) {
    let code = rust::code(text);
    // Both have as many lines, and texts stand only in the one.
    for (number, line) in code.lines().enumerate() {
        if !PRINTS.iter().any(|print| line.contains(print)) {
            continue;
        }
        let said: Vec<&str> = text.lines().skip(number).take(3).collect();
        let end = said.iter().position(|line| line.contains(';')).unwrap_or(2);
        if said[..=end.min(said.len() - 1)].iter().any(|line| line.to_lowercase().contains("skip"))
        {
            complaints.push(format!(
                "{file}:{}: prints a skip: call `testkit::skip`, so that it is in the ledger",
                number + 1
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_skip_is_found() {
        let mut complaints = Vec::new();
        let print = "eprintln";
        let one = format!("    {print}!(\"skipped: no such program\");\n");
        let two = format!("    {print}!(\n        \"Skip: {{}}\",\n        why\n    );\n");
        check_file("a.rs", &one, &mut complaints);
        check_file("b.rs", &two, &mut complaints);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        check_file("c.rs", "testkit::skip(\"strace\", \"not installed\");\n", &mut complaints);
        check_file("d.rs", &format!("{print}!(\"done\");\nskip(1);\n"), &mut complaints);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }
}
