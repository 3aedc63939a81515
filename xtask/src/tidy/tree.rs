//! The files that git tracks or would, with their text.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::root;

/// One file.
pub(super) struct File {
    /// Below the root.
    pub(super) path: String,
    /// `None` if it is not text.
    pub(super) text: Option<String>,
}

/// All files.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

impl Tree {
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut files = Vec::new();
        for path in paths()? {
            let full = root().join(&path);
            let bytes = match full.is_symlink() {
                true => Vec::new(),
                false => std::fs::read(&full).with_context(|| format!("reading {path}"))?,
            };
            let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            files.push(File { path, text });
        }
        Ok(Tree { files })
    }

    /// A tree for a test.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: Some((*text).to_owned()),
        };
        Tree { files: files.iter().map(file).collect() }
    }

    /// Text files whose names end so, with their text.
    pub(super) fn ending(&self, ending: &'static str) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter().filter(move |file| file.path.ends_with(ending));
        files.filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path)?.text.as_deref()
    }

    /// The folders in `crates/`.
    pub(super) fn crates(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.files.iter().filter_map(|file| crate_of(&file.path)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The crate that a file belongs to.
pub(super) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name)
}

/// The files that git tracks or would; in a tree without git all but what is built.
pub(crate) fn paths() -> anyhow::Result<Vec<String>> {
    if !root().join(".git").exists() {
        let mut files = Vec::new();
        walk(&root(), &mut files)?;
        files.sort();
        return Ok(files);
    }
    let text = git(&["ls-files", "--cached", "--others", "--exclude-standard"])?;
    let here = |file: &&str| root().join(file).symlink_metadata().is_ok();
    Ok(text.lines().filter(here).map(str::to_owned).collect())
}

/// What a git command prints.
pub(super) fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    // The tree may belong to somebody else, as in a container; its own code runs already.
    command.args(["-c", "safe.directory=*"]).args(arguments).current_dir(root());
    let output = command.output().context("cannot start git")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn walk(folder: &Path, files: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let built = ["target", "corpus", "artifacts", "node_modules", "test-results"];
        let is_built = built.iter().any(|name| entry.file_name() == *name);
        match entry.file_type()? {
            kind if kind.is_dir() && !is_built => walk(&entry.path(), files)?,
            kind if kind.is_file() => {
                let path = entry.path();
                files.push(path.strip_prefix(root())?.to_string_lossy().into_owned());
            }
            _ => {}
        }
    }
    Ok(())
}
