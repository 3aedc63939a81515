//! Generated files: the reference of sources and commands, made by the binary from its own tables.
//!
//! `whit generate` (a hidden verb) writes them; this compares or replaces what is checked in.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::{costs, finish, root, target};

/// What is made beside the pages: it stands with the files that are installed.
const INSTALLED: &str = "grafana-dashboard.json";

/// Rewrites the tables of costs, and `docs/reference` and the dashboard in `dist` by this `whit`, or
/// with `check` fails if that would change anything.
pub(crate) fn run(whit: &Path, check: bool) -> anyhow::Result<()> {
    costs::run(&root(), check)?;
    let kept = root().join("docs/reference");
    let made = target().join("generated/reference");
    let _ = std::fs::remove_dir_all(&made);
    std::fs::create_dir_all(&made)?;
    let mut generate = Command::new(whit);
    generate.args(["generate", "reference", "--to"]).arg(&made);
    finish(generate)?;
    let (mut old, new) = (files(&kept)?, files(&made)?);
    let installed = root().join("dist").join(INSTALLED);
    old.extend(std::fs::read(&installed).ok().map(|text| (INSTALLED.to_owned(), text)));
    if old == new {
        return Ok(());
    }
    if check {
        let stale = new.iter().filter(|(name, text)| old.get(*name) != Some(*text));
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        let names: Vec<&String> = stale.map(|(name, _)| name).chain(gone).collect();
        bail!(
            "docs/reference or dist is not up to date ({names:?}): run `cargo xtask gen` and commit"
        );
    }
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::create_dir_all(&kept)?;
    for (name, text) in new {
        let path = if name == INSTALLED { installed.clone() } else { kept.join(&name) };
        std::fs::write(path, text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

fn files(directory: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut out = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(out) };
    for entry in entries {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            out.insert(name, std::fs::read(&path)?);
        }
    }
    Ok(out)
}
