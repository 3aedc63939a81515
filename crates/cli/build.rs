//! Tells the linker to pack the list of addresses that the loader mends at start.
//!
//! A program that may be loaded anywhere carries such a list, and reading it makes it resident:
//! 450 KiB here.  Packed (`DT_RELR`) it is a bitmap of a few KiB.  GNU's C library understands it
//! from 2.36 on and older ones refuse the program, so the one of this machine is asked; for any
//! other target nothing changes.

use std::process::Command;

/// The first version of GNU's C library that reads the packed form.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let here = variable("HOST") == variable("TARGET");
    if here && variable("CARGO_CFG_TARGET_ENV") == "gnu" && c_library() >= Some(READS_PACKED) {
        // Linkers that do not know the word say so and go on.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library: `getconf` says `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
