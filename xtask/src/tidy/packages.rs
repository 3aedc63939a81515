//! What `deny.toml` says of packages, for machines without `cargo deny`: licences, where packages
//! come from, and two versions of one.
//!
//! Reads the lists out of `deny.toml`, so the rules stand in one place.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde_json::Value;

use super::Complaints;
use super::tree::Tree;

/// Packages of others in Cargo.lock.  Raise it only in a commit that says why.  265 since whit asks
/// other servers by HTTP (hyper as a client).
const PACKAGES_MAX: usize = 265;

/// Where packages may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// All packages, ours and others'.
pub(crate) fn metadata() -> anyhow::Result<Value> {
    let output = crate::cargo(&["metadata", "--format-version", "1", "--locked"]).output();
    let output = output.context("cannot start cargo metadata")?;
    anyhow::ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(super) fn check(tree: &Tree, metadata: &Value, complaints: &mut Complaints) {
    let Some(deny) = tree.text("deny.toml") else {
        complaints.push("deny.toml: missing".to_owned());
        return;
    };
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    check_packages(packages, &list(deny, "allow"), &list(deny, "skip"), complaints);
    let foreign = packages.iter().filter(|package| !package["source"].is_null()).count();
    if foreign > PACKAGES_MAX {
        complaints
            .push(format!("Cargo.lock: {foreign} packages of others, at most {PACKAGES_MAX}"));
    }
}

/// The texts of a list in `deny.toml`: `key = [ "a", "b" ]`, over several lines or in one.
fn list(deny: &str, key: &str) -> Vec<String> {
    let start = deny.lines().position(|line| line.starts_with(&format!("{key} = [")));
    let Some(start) = start else { return Vec::new() };
    let mut texts = Vec::new();
    for line in deny.lines().skip(start) {
        let line = line.split('#').next().unwrap_or_default();
        texts.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        if line.trim_end().ends_with(']') {
            break;
        }
    }
    texts
}

fn check_packages(
    packages: &[Value],
    licences: &[String],
    doubled: &[String],
    complaints: &mut Complaints,
) {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        versions.entry(name).or_default().insert(version);
        if !package["source"].is_null() && text("source") != REGISTRY {
            complaints.push(format!("package {name}: comes from {}", text("source")));
        }
        if !may_be_used(text("license"), licences) {
            complaints.push(format!("package {name}: licence {}: see deny.toml", text("license")));
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        if !doubled.iter().any(|one| one.split('@').next() == Some(name)) {
            complaints.push(format!("package {name}: in versions {versions:?}: see deny.toml"));
        }
    }
}

/// Whether a licence expression of SPDX can be met by licences that are allowed.
fn may_be_used(expression: &str, licences: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = any(&words, &mut at, licences);
    met && at == words.len()
}

fn any(words: &[&str], at: &mut usize, licences: &[String]) -> bool {
    let mut met = all(words, at, licences);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at, licences);
    }
    met
}

fn all(words: &[&str], at: &mut usize, licences: &[String]) -> bool {
    let mut met = one(words, at, licences);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, licences);
    }
    met
}

fn one(words: &[&str], at: &mut usize, licences: &[String]) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let met = any(words, at, licences);
        *at += 1;
        return met;
    }
    let mut name = (*word).to_owned();
    if let (Some(&"WITH"), Some(exception)) = (words.get(*at), words.get(*at + 1)) {
        name = format!("{name} WITH {exception}");
        *at += 2;
    }
    licences.contains(&name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn licences_are_read_as_expressions() {
        let licences = ["MIT", "Unicode-3.0"].map(str::to_owned);
        let may = |expression| may_be_used(expression, &licences);
        assert!(may("MIT") && may("Apache-2.0 OR MIT") && may("MIT/Apache-2.0"));
        assert!(may("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!may("GPL-3.0") && !may("MIT AND GPL-3.0") && !may(""));
        assert!(!may("Apache-2.0 WITH LLVM-exception"));
    }

    #[test]
    fn lists_are_read() {
        let deny =
            "[licenses]\nallow = [\n    \"MIT\", # short\n    \"Zlib\",\n]\nskip = [\"syn@2\"]\n";
        assert_eq!(list(deny, "allow"), ["MIT", "Zlib"]);
        assert_eq!(list(deny, "skip"), ["syn@2"]);
        assert!(list(deny, "deny").is_empty());
    }

    #[test]
    fn what_deny_toml_refuses_is_found() {
        let package = |name: &str, version: &str, source: Option<&str>| json!({ "name": name, "version": version, "source": source, "license": "MIT" });
        let packages = [
            package("ours", "1", None),
            package("a", "1", Some(REGISTRY)),
            package("a", "2", Some(REGISTRY)),
            package("b", "1", Some("git+https://example.org/b")),
        ];
        let mut complaints = Vec::new();
        check_packages(&packages, &["MIT".to_owned()], &[], &mut complaints);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        check_packages(&packages[..3], &["MIT".to_owned()], &["a@1".to_owned()], &mut complaints);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }
}
