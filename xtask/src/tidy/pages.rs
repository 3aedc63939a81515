//! Pages: those that every newcomer looks for are there, and each has one title.

use super::Complaints;
use super::tree::Tree;

/// The pages that must be there.
const PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "STYLE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs/adding-a-source.md",
    "docs/adding-a-view.md",
    "docs/format-recording.md",
    "docs/glossary.md",
    "docs/differences-collectl.md",
];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for page in PAGES.iter().filter(|page| tree.text(page).is_none()) {
        complaints.push(format!("{page}: missing"));
    }
    for (file, text) in tree.ending(".md") {
        let titles = titles(text);
        if titles != 1 {
            complaints.push(format!("{file}: {titles} titles (`# `), want exactly one"));
        }
    }
}

fn titles(text: &str) -> usize {
    let mut fenced = false;
    let mut titles = 0;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        titles += usize::from(!fenced && line.starts_with("# "));
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_counted_outside_of_code() {
        assert_eq!(titles("# A\n```sh\n# no title\n```\n## B\n"), 1);
        assert_eq!(titles("# A\n# B\n"), 2);
    }

    #[test]
    fn a_missing_page_is_found() {
        let mut complaints = Vec::new();
        check(&Tree::of(&[("README.md", "# A\n# B\n")]), &mut complaints);
        assert_eq!(complaints.len(), PAGES.len(), "{complaints:?}");
    }
}
