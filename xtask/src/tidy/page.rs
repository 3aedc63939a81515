//! The built files of the page are those of its sources: nobody has changed one of the two alone.

use super::Complaints;
use super::tree::Tree;
use crate::page::{CHECKSUM, FILES, SOURCES, Sums};

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let texts =
        tree.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)));
    let sums = Sums::of(texts.map(|(path, text)| (path, text.as_bytes())));
    let path = format!("{FILES}{CHECKSUM}");
    if tree.text(&path) != Some(sums.to_string().as_str()) {
        complaints.push(format!(
            "{path}: {SOURCES} or the built files have changed: run `cargo xtask page` (needs npm)"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_was_not_built_is_found() {
        let tree = |source: &str, test: &str, checksum: &str| {
            Tree::of(&[
                ("crates/serve/page_files/checksum", checksum),
                ("crates/serve/page_files/index.html", "<p>"),
                ("page/source/main.ts", source),
                ("page/tests/main.ts", test),
            ])
        };
        let complaints = |tree: &Tree| {
            let mut complaints = Vec::new();
            check(tree, &mut complaints);
            complaints.len()
        };
        let files = [("crates/serve/page_files/index.html", "<p>"), ("page/source/main.ts", "1")];
        let sums = Sums::of(files.map(|(path, text)| (path, text.as_bytes()))).to_string();
        assert_eq!(complaints(&tree("1", "2", &sums)), 0);
        assert_eq!(complaints(&tree("1", "3", &sums)), 0, "a test is no part of the page");
        assert_eq!(complaints(&tree("2", "2", &sums)), 1);
    }
}
