//! What a distribution needs: the two programs, man pages, shell completions, the systemd units,
//! RRDtool's C library, the C client of log rings, three Debian packages, and an archive with
//! programs that need no library of the machine they are unpacked on.
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
    for name in VARIANTS {
        call("cargo", &[&package[..], &["--variant", name]].concat())?;
    }
    archive(&dist)
}

/// Packs statically linked programs with their pages, completions, units and licences into
/// `whit-VERSION-TARGET.tar.gz`, for machines with another C library, or an older one.
///
/// The C library is glibc, of which names of users and hosts still come from files and DNS: since
/// version 2.34 both are in the library itself.
fn archive(dist: &Path) -> anyhow::Result<()> {
    let host = host_target()?;
    let mut build = crate::cargo(&["build", "--release", "-p", "cli", "--target", &host]);
    build.env("RUSTFLAGS", "-C target-feature=+crt-static");
    finish(build)?;
    let name = format!("whit-{}-{host}", env!("CARGO_PKG_VERSION"));
    let folder = dist.join(&name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    for program in ["whit", "whit-bench"] {
        let built = target().join(&host).join("release").join(program);
        std::fs::copy(built, folder.join(program))?;
    }
    needs_nothing(&folder.join("whit"))?;
    for part in ["man", "completions"] {
        copy_files(&dist.join(part), &folder.join(part))?;
    }
    copy_files(&root().join("dist"), &folder.join("units"))?;
    for file in ["README.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"] {
        std::fs::copy(root().join(file), folder.join(file))?;
    }
    std::fs::copy(dist.join("whit.toml"), folder.join("whit.toml"))?;
    let mut pack = Command::new("tar");
    pack.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf"]);
    pack.arg(dist.join(format!("{name}.tar.gz"))).arg("-C").arg(dist).arg(&name);
    finish(pack)?;
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// The target for which this machine's compiler builds.
fn host_target() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Runs a program where there is no other file: in a folder that is its whole tree.
fn needs_nothing(program: &Path) -> anyhow::Result<()> {
    let folder = target().join("alone");
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(program, folder.join("whit"))?;
    let mut alone = Command::new("unshare");
    alone.args(["--user", "--map-root-user", "chroot"]).arg(&folder).args(["/whit", "--version"]);
    finish(alone)?;
    Ok(std::fs::remove_dir_all(&folder)?)
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
