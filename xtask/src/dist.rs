//! What a distribution needs: the two programs, man pages, shell completions, the systemd units,
//! RRDtool's C library, and a Debian package.
//!
//! Writes to `target/dist`.  The package is made by cargo-deb, which is installed from the crate
//! registry when it is missing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::{finish, root, run as call, target};

/// Makes everything.
pub(crate) fn run() -> anyhow::Result<()> {
    let dist = target().join("dist");
    std::fs::create_dir_all(&dist)?;
    call("cargo", &["build", "--release", "-p", "cli"])?;
    let whit = target().join("release/whit");
    for what in ["man", "completions"] {
        let mut generate = Command::new(&whit);
        generate.args(["generate", what, "--to"]).arg(dist.join(what));
        finish(generate)?;
    }
    let configuration = std::fs::File::create(dist.join("whit.toml"))?;
    let mut installed = Command::new(&whit);
    installed.args(["config", "--installed"]).stdout(configuration);
    finish(installed)?;
    for name in [
        "whit.service",
        "whit.socket",
        "whit-record.service",
        "whit-log.conf",
        "grafana-dashboard.json",
    ] {
        std::fs::copy(root().join("dist").join(name), dist.join(name))?;
    }
    for name in ["whit", "whit-bench"] {
        std::fs::copy(whit.with_file_name(name), dist.join(name))?;
    }
    library(&dist.join("librrd"))?;
    if !has_cargo_deb() {
        call("cargo", &["install", "--locked", "cargo-deb"])?;
    }
    let output = dist.to_string_lossy().into_owned();
    call("cargo", &["deb", "-p", "cli", "--no-build", "--output", &output])
}

/// The C library with its headers: the library alone, so that all of it is optimised as one.
fn library(to: &Path) -> anyhow::Result<()> {
    call(
        "cargo",
        &["rustc", "--profile", "library", "-p", "librrd", "--lib", "--crate-type", "cdylib"],
    )?;
    std::fs::create_dir_all(to)?;
    std::fs::copy(target().join("library/librrd_c.so"), to.join("librrd.so.8"))?;
    for file in ["include/rrd.h", "include/rrd_client.h", "librrd.pc"] {
        let source = root().join("clients/librrd").join(file);
        let name = source.file_name().context("a file has a name")?;
        std::fs::copy(&source, to.join(name))?;
    }
    Ok(())
}

fn has_cargo_deb() -> bool {
    let mut ask = crate::cargo(&["deb", "--version"]);
    ask.stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}
