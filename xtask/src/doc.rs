//! The documentation of the workspace: links that lead nowhere and other faults that rustdoc finds.
//!
//! `cargo doc` first checks every package once more, because it does not use what a build made.  Here
//! rustdoc gets the libraries that the build of the tests made, and only checks (`--check`, which is
//! unstable: `RUSTC_BOOTSTRAP` permits it): less than half of the processor time.  `cargo doc` writes
//! the pages.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::tidy::packages;
use crate::unchanged::Unchanged;
use crate::{cpu, root, target, tool};

/// Checks every library and program of the workspace.
///
/// # Errors
/// If rustdoc finds a fault, or a library is missing in what was built.
pub(crate) fn run(artifacts: &[Value], unchanged: &Unchanged) -> anyhow::Result<()> {
    let metadata = packages::metadata()?;
    let libraries = libraries(artifacts);
    let mut faulty = Vec::new();
    let (mut count, mut left_out) = (0, 0);
    for artifact in artifacts.iter().filter(|artifact| is_documented(artifact)) {
        let name = text(&artifact["target"]["name"]);
        count += 1;
        let package = package(&metadata, text(&artifact["package_id"]))?;
        let folder = Path::new(text(&package["manifest_path"])).parent();
        let folder = folder.context("a manifest is in a folder")?;
        let mut rustdoc = rustdoc(artifact, package, folder);
        if let Some(folder) = script_output(artifacts, text(&artifact["package_id"])) {
            rustdoc.env("OUT_DIR", folder);
        }
        let mut used = Vec::new();
        for (dependency, id) in dependencies(&metadata, text(&artifact["package_id"])) {
            // A dependency of tests alone, or of the build script, is not among the libraries.
            if let Some(path) = libraries.get(id) {
                rustdoc.arg("--extern").arg(format!("{dependency}={path}"));
                used.push(Path::new(*path));
            }
        }
        // A library that is built anew has all above it built anew.
        let code = folder.strip_prefix(root()).unwrap_or(folder).join("");
        let stamp = unchanged.stamp(&used, &[&code.to_string_lossy()]);
        let check = format!("doc {} {name}", text(&artifact["target"]["kind"][0]));
        if unchanged.has_passed(&check, &stamp) {
            left_out += 1;
            continue;
        }
        rustdoc.arg(text(&artifact["target"]["src_path"]));
        let mut child = rustdoc.spawn().context("cannot start rustdoc")?;
        let (status, cpu_seconds) = cpu::wait(&mut child)?;
        cpu::add(cpu_seconds);
        if status.success() {
            unchanged.keep(&check, &stamp)?;
        } else {
            faulty.push(name);
        }
    }
    ensure!(count > 0, "nothing was built");
    if !faulty.is_empty() {
        bail!("faults in the documentation of {}", faulty.join(", "));
    }
    println!("doc: {count} crates, {left_out} of them unchanged since they passed");
    Ok(())
}

/// The command that checks a library or program, without the libraries that it uses.
fn rustdoc(artifact: &Value, package: &Value, folder: &Path) -> Command {
    let mut rustdoc = Command::new(tool("rustdoc"));
    rustdoc.current_dir(root()).env("RUSTC_BOOTSTRAP", "1");
    rustdoc.env("CARGO_PKG_VERSION", text(&package["version"])).env("CARGO_MANIFEST_DIR", folder);
    rustdoc.args(["-Zunstable-options", "--check", "--document-private-items"]);
    // Private items are documented too, so links to them lead somewhere.
    rustdoc.args(["-Dwarnings", "-Arustdoc::private_intra_doc_links"]);
    rustdoc.args(["--edition", text(&artifact["target"]["edition"])]);
    rustdoc.args(["--crate-name", &text(&artifact["target"]["name"]).replace('-', "_")]);
    rustdoc.args(["--crate-type", text(&artifact["target"]["crate_types"][0])]);
    for feature in artifact["features"].as_array().into_iter().flatten() {
        rustdoc.arg("--cfg").arg(format!("feature=\"{}\"", text(feature)));
    }
    rustdoc.arg("-L").arg(format!("dependency={}", target().join("debug/deps").display()));
    rustdoc
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether a build's message is about a library or program of the workspace.
fn is_documented(artifact: &Value) -> bool {
    let is_ours = text(&artifact["package_id"]).starts_with("path+file:");
    let mut kinds = artifact["target"]["kind"].as_array().into_iter().flatten().map(text);
    let is_doc = artifact["target"]["doc"] == true;
    is_ours && is_doc && kinds.any(|kind| kind.ends_with("lib") || kind == "bin")
}

/// The file of each library by the id of its package.  What build scripts and macros use is built
/// apart, and may have other features: `profile.dev.build-override` gives it no checks of overflow.
fn libraries(artifacts: &[Value]) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    for artifact in artifacts {
        let is_macro = artifact["target"]["kind"][0] == "proc-macro";
        let is_host = artifact["profile"]["overflow_checks"] == false;
        let files = artifact["filenames"].as_array().into_iter().flatten().map(text);
        let mut files =
            files.filter(|name| name.ends_with(".rlib") || is_macro && name.ends_with(".so"));
        if let Some(file) = files.next().filter(|_| is_macro || !is_host) {
            found.insert(text(&artifact["package_id"]), file);
        }
    }
    found
}

/// The folder that a package's build script has written into.
fn script_output<'a>(artifacts: &'a [Value], id: &str) -> Option<&'a str> {
    let is_its_script = |one: &&Value| one["out_dir"].is_string() && one["package_id"] == id;
    artifacts.iter().find(is_its_script).map(|one| text(&one["out_dir"]))
}

/// The package with this id.
fn package<'a>(metadata: &'a Value, id: &str) -> anyhow::Result<&'a Value> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    packages.find(|package| package["id"] == id).with_context(|| format!("no package {id}"))
}

/// The names, as in the code, and the ids of the packages that a package uses.
fn dependencies<'a>(metadata: &'a Value, id: &str) -> Vec<(&'a str, &'a str)> {
    let mut nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let node = nodes.find(|node| node["id"] == id);
    let uses = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
    uses.map(|one| (text(&one["name"]), text(&one["pkg"]))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn libraries_of_the_target_and_macros_are_taken() {
        let library = |id: &str, is_checked: bool, file: &str| {
            json!({"package_id": id, "target": {"kind": ["lib"]}, "filenames": [file],
                "profile": {"overflow_checks": is_checked}})
        };
        let macros = json!({"package_id": "m", "target": {"kind": ["proc-macro"]},
            "filenames": ["m.so"], "profile": {"overflow_checks": false}});
        let all = [
            library("a", true, "a.rlib"),
            library("a", false, "host.rlib"),
            library("b", false, "b.rlib"),
            macros,
        ];
        let found = libraries(&all);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("a", "a.rlib"), ("m", "m.so")]);
    }
}
