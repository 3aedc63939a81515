//! What a distribution needs: the two programs, man pages, shell completions, the systemd units,
//! RRDtool's C library, the C client of log rings, and three Debian packages.
//!
//! Writes to `target/dist`.  The packages are made by cargo-deb, which is installed from the crate
//! registry when it is missing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::{finish, root, run as call, target};

/// Packages beside the one of the programs: variants of cargo-deb in `crates/cli/Cargo.toml`.
const VARIANTS: [&str; 2] = ["librrd", "dev"];

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
    copy_files(&root().join("dist"), &dist)?;
    for name in ["whit", "whit-bench"] {
        std::fs::copy(whit.with_file_name(name), dist.join(name))?;
    }
    library(&dist.join("librrd"))?;
    client(&dist.join("c"))?;
    if !has_cargo_deb() {
        call("cargo", &["install", "--locked", "cargo-deb"])?;
    }
    let output = dist.to_string_lossy().into_owned();
    let package = ["deb", "-p", "cli", "--no-build", "--output", &output];
    call("cargo", &package)?;
    VARIANTS
        .iter()
        .try_for_each(|name| call("cargo", &[&package[..], &["--variant", name]].concat()))
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

/// The C client as a static library, and its file for pkg-config.
fn client(to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    let source = root().join("clients/c");
    let (object, archive) = (to.join("whit_log.o"), to.join("libwhit_log.a"));
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-O2", "-fPIC", "-c", "-I"]).arg(source.join("include"));
    compile.arg(source.join("src/whit_log.c")).arg("-o").arg(&object);
    finish(compile)?;
    let _ = std::fs::remove_file(&archive);
    let mut collect = Command::new("ar");
    collect.arg("rcs").arg(&archive).arg(&object);
    finish(collect)?;
    let template = std::fs::read_to_string(source.join("whit_log.pc.in"))?;
    let values = [
        ("@CMAKE_INSTALL_PREFIX@", "/usr"),
        ("@CMAKE_INSTALL_LIBDIR@", "lib"),
        ("@CMAKE_INSTALL_INCLUDEDIR@", "include"),
        ("@PROJECT_VERSION@", "1.0.0"),
    ];
    let filled = values.iter().fold(template, |text, (name, value)| text.replace(name, value));
    std::fs::write(to.join("whit_log.pc"), filled)?;
    Ok(())
}

/// Copies the files of a folder.
fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let path = file?.path();
        std::fs::copy(&path, to.join(path.file_name().context("a file has a name")?))?;
    }
    Ok(())
}

fn has_cargo_deb() -> bool {
    let mut ask = crate::cargo(&["deb", "--version"]);
    ask.stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}
