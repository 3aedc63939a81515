//! Pages: those that every newcomer looks for are there, each has one title, links lead to files, and
//! the list of pages is whole.

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

/// The page that lists the others.
const LIST: &str = "docs/README.md";

/// Most words of README.md: what it is, how to start, ten commands, one table.  More has a page.
const README_WORDS_MAX: usize = 700;

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for page in PAGES.iter().filter(|page| tree.text(page).is_none()) {
        complaints.push(format!("{page}: missing"));
    }
    for (file, text) in tree.ending(".md") {
        let titles = titles(text);
        if titles != 1 {
            complaints.push(format!("{file}: {titles} titles (`# `), want exactly one"));
        }
        for link in dead_links(tree, file, text) {
            complaints.push(format!("{file}: there is no {link}"));
        }
    }
    let words = tree.text("README.md").map_or(0, |text| text.split_whitespace().count());
    if words > README_WORDS_MAX {
        complaints.push(format!("README.md: {words} words, want {README_WORDS_MAX} at most"));
    }
    let listed: Vec<String> = tree.text(LIST).map_or_else(Vec::new, |text| links(LIST, text));
    let pages = tree.ending(".md").map(|(file, _)| file);
    for page in pages.filter(|page| page.starts_with("docs/") && *page != LIST) {
        if !listed.iter().any(|link| link == page) {
            complaints.push(format!("{page}: {LIST} does not list it"));
        }
    }
}

/// Links of a page to files, as paths below the root.
fn links(page: &str, text: &str) -> Vec<String> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = ends.map(|(link, _)| link.split('#').next().unwrap_or_default());
    let files = files.filter(|link| !link.is_empty() && !link.contains([':', ' ']));
    files.map(|link| resolved(folder, link)).collect()
}

/// A path below the root, of a link in a folder.
fn resolved(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn dead_links(tree: &Tree, page: &str, text: &str) -> Vec<String> {
    let is_there = |link: &String| {
        let below = format!("{link}/");
        tree.files.iter().any(|file| file.path == *link || file.path.starts_with(&below))
    };
    links(page, text).into_iter().filter(|link| !is_there(link)).collect()
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

    #[test]
    fn dead_links_and_pages_that_are_not_listed_are_found() {
        let text = "# A\n[b](docs/b.md#part), [web](https://x), `f](x y)` and [c](../c.md)\n";
        let page = "# B\n[a](../README.md)\n";
        let tree = Tree::of(&[("README.md", text), ("docs/b.md", page), (LIST, "# L\n")]);
        let mut complaints = Vec::new();
        check(&tree, &mut complaints);
        let found = |what: &str| complaints.iter().filter(|line| line.contains(what)).count();
        assert_eq!(found("there is no"), 1, "{complaints:?}");
        assert_eq!(found("there is no c.md"), 1, "{complaints:?}");
        assert_eq!(found("docs/b.md: docs/README.md does not list it"), 1, "{complaints:?}");
    }
}
