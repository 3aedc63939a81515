//! Tells the linker to pack the list of relocations that the loader applies at start.
//!
//! A position-independent program carries such a list, and reading it makes it resident: 450 KiB
//! here.  Packed (`DT_RELR`) it is a bitmap of a few KiB.  glibc supports that since 2.36, and
//! older versions refuse the program.  So the list is packed only for this machine, if its glibc is
//! new enough.

use std::process::Command;

/// The first version of glibc that supports it.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let here = variable("HOST") == variable("TARGET");
    if here && variable("CARGO_CFG_TARGET_ENV") == "gnu" && c_library() >= Some(READS_PACKED) {
        // Linkers that do not know the word print a warning and continue.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library: `getconf` says `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let output = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = output.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
