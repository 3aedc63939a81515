//! `cargo xtask miri`: unit tests in an interpreter that sees every access beyond a bound, every
//! use of what is gone and every misread bit pattern (<https://github.com/rust-lang/miri>).
//!
//! Not a part of `ci`: it needs the nightly toolchain
//! (`rustup +nightly component add miri rust-src`) and is some thousand times slower than the
//! machine, so it takes about ten minutes.  What it cannot run is named below, with the reason.

#![allow(clippy::print_stdout, reason = "this program talks to people")]

use std::process::Command;

use anyhow::bail;

use crate::{finish, root, target};

/// A crate, and the tests of its library (words of their paths) that are left out.
struct Chosen {
    name: &'static str,
    skipped: &'static [Skip],
}

struct Skip {
    word: &'static str,
    why: &'static str,
}

const fn skip(word: &'static str, why: &'static str) -> Skip {
    Skip { word, why }
}

const CHOSEN: &[Chosen] = &[
    Chosen { name: "sample", skipped: &[] },
    Chosen {
        name: "procfs",
        skipped: &[
            skip("host::", "system calls that Miri does not know (openat, sysinfo)"),
            skip("usage::", "getrusage is not known to Miri"),
            skip("the_running_kernel", "reads /proc, which is not the interpreter's"),
        ],
    },
    Chosen {
        name: "recording",
        skipped: &[
            skip("lock::", "fcntl with F_OFD_SETLK is not known to Miri"),
            skip("any_", "hundreds of random cases each: minutes"),
            skip("lines::tests::", "megabytes of text, packed and unpacked: minutes"),
        ],
    },
    Chosen { name: "view", skipped: &[] },
    // The writer maps files twice and forks, which Miri does not know; tests of it are programs.
    Chosen { name: "logring", skipped: &[] },
];

/// Runs them all.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut version = nightly(&["miri", "--version"]);
    if !version.output().is_ok_and(|output| output.status.success()) {
        bail!("Miri is not installed: rustup +nightly component add miri rust-src");
    }
    for chosen in CHOSEN {
        for Skip { word, why } in chosen.skipped {
            println!("miri: {} without {word}: {why}", chosen.name);
        }
        let mut test = nightly(&["miri", "test", "-p", chosen.name, "--lib", "--"]);
        for Skip { word, .. } in chosen.skipped {
            test.args(["--skip", word]);
        }
        // Tests read testdata and make temporary files.  Logarithms, which Miri makes inexact at
        // random, decide a digit that collectl prints.
        test.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-deterministic-floats");
        test.env("CARGO_TARGET_DIR", target().join("miri"));
        finish(test)?;
    }
    Ok(())
}

/// Cargo of the nightly toolchain; what cargo tells a program that it runs names another.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").args(arguments).current_dir(root());
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}
