//! What a distribution needs: the release binary, man pages, shell completions, the systemd unit,
//! and a Debian package.
//!
//! Writes to `target/dist`.  The package is made by cargo-deb, which is installed from the crate
//! registry when it is missing.

use std::process::{Command, Stdio};

use crate::{finish, root, run as call};

/// Makes everything.
pub(crate) fn run() -> anyhow::Result<()> {
    let dist = root().join("target/dist");
    std::fs::create_dir_all(&dist)?;
    call("cargo", &["build", "--release", "-p", "cli"])?;
    let whit = root().join("target/release/whit");
    for what in ["man", "completions"] {
        let mut generate = Command::new(&whit);
        generate.args(["generate", what, "--to"]).arg(dist.join(what));
        finish(generate)?;
    }
    std::fs::copy(root().join("dist/whit.service"), dist.join("whit.service"))?;
    std::fs::copy(&whit, dist.join("whit"))?;
    if !has_cargo_deb() {
        call("cargo", &["install", "--locked", "cargo-deb"])?;
    }
    let output = dist.to_string_lossy().into_owned();
    call("cargo", &["deb", "-p", "cli", "--no-build", "--output", &output])
}

fn has_cargo_deb() -> bool {
    let mut ask = crate::cargo(&["deb", "--version"]);
    ask.stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}
