//! A crate opens with what it is, what it may use and where to begin reading.

use super::Complaints;
use super::tree::Tree;

/// What must be said, and the words that say it.
const SAYS: [(&[&str], &str); 2] = [
    (&["Uses ", "Uses:", "May use"], "which crates of ours it uses (`Uses …`, `May use …`)"),
    (&["Begin with ", "Begin reading "], "where to begin reading (`Begin with …`)"),
];

/// Crates whose heads are not written yet.  The list may only get shorter.
const NOT_YET: &[&str] = &[];

/// Fewest lines of a head: it says more than a name.
const LINES_MIN: usize = 4;

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for name in tree.crates().into_iter().filter(|name| !NOT_YET.contains(name)) {
        let roots = ["lib", "main"].map(|root| format!("crates/{name}/src/{root}.rs"));
        for root in roots {
            if let Some(text) = tree.text(&root) {
                check_file(&root, text, complaints);
            }
        }
    }
}

fn check_file(file: &str, text: &str, complaints: &mut Complaints) {
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    if head.len() < LINES_MIN {
        complaints.push(format!("{file}: its head says too little: what is this crate?"));
    }
    let text = head.join(" ");
    for (words, what) in SAYS {
        if !words.iter().any(|word| text.contains(word)) {
            complaints.push(format!("{file}: its head does not say {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_without_its_lines_is_found() {
        let mut complaints = Vec::new();
        check_file(
            "lib.rs",
            "//! A.\n//!\n//! Uses nothing.\n//! Begin with b.rs.\n",
            &mut complaints,
        );
        assert!(complaints.is_empty(), "{complaints:?}");
        check_file("lib.rs", "//! A.\nuse b;\n//! Uses: c.\n", &mut complaints);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
    }
}
