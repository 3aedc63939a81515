//! Tells the linker how the program starts at little cost.
//!
//! A position-independent program carries a list of relocations, which the loader applies at start,
//! and reading it makes it resident: 450 KiB here.  Packed (`DT_RELR`) it is a bitmap of a few KiB.
//! glibc supports that since 2.36, and older versions refuse the program.  So the list is packed
//! only for this machine, if its glibc is new enough.
//!
//! The unwinder, which backtraces need, is a library of its own, `libgcc_s`, that takes 0.09 ms to
//! load.  The same code is in an archive of the compiler, so it is linked into the program where
//! that archive is installed.
//!
//! Functions with the same instructions, which generic code makes many of, are one in a release.
//!
//! `src/start.rs` says why `main` is wrapped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The first version of glibc that supports packed relocations.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bin=whit=-Wl,--wrap=main");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let here = variable("HOST") == variable("TARGET");
    if !here || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    // A linker that the user has chosen may not know the words.
    let is_own_linker = variable("CARGO_ENCODED_RUSTFLAGS").contains("link")
        || std::env::var_os("RUSTC_LINKER").is_some();
    // Of the linkers that Rust takes by itself, that for this target knows them.
    let knows = variable("TARGET") == "x86_64-unknown-linux-gnu" && !is_own_linker;
    if variable("PROFILE") == "release" && knows {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all,--ignore-data-address-equality");
    }
    if c_library() >= Some(READS_PACKED) {
        // Linkers that do not know the word print a warning and continue.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let folder = PathBuf::from(variable("OUT_DIR"));
    if link_unwinder(&folder).is_some() {
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
}

/// The version of this machine's C library: `getconf` says `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let output = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = output.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// Makes a linker script under the name of the library that takes the archive in its place.
fn link_unwinder(folder: &Path) -> Option<()> {
    let output = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let archive = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    // Without such a file the compiler answers with the bare name.
    if !archive.is_absolute() || !archive.is_file() {
        return None;
    }
    let script = format!("INPUT({})\n", archive.display());
    std::fs::write(folder.join("libgcc_s.so"), script).ok()
}
