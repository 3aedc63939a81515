//! Lines compared with those of `strace`: the calls' numbers, the classes, and whole programs.
//!
//! Debian's strace 6.1 is the specification.  Where it is missing, or Perl, the tests say so and pass.
//! What differs on purpose is listed where it is compared, each with its reason.

#![allow(clippy::unwrap_used, reason = "tests")]

mod calls;
mod captures;
mod programs;

use std::path::Path;
use std::process::{Command, Stdio};

/// Where the programs of the test stand.
fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strace").join(name).display().to_string()
}

/// Whether `strace` and these programs are there, and `strace` may do its work.
fn ready(programs: &[&str]) -> bool {
    let runs = |program: &str, argument: &str| {
        let status = Command::new(program)
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    let version = Command::new("strace").arg("-V").output();
    let is_known = version.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).starts_with("strace -- version 6.1\n")
    });
    if !is_known {
        testkit::skip("strace 6.1", "not installed, and others write other lines");
        return false;
    }
    for program in programs {
        if !runs(program, if *program == "perl" { "-v" } else { "--version" }) {
            testkit::skip(program, "not installed");
            return false;
        }
    }
    let traced = Command::new("strace").args(["-qqq", "-e", "trace=none", "true"]).output();
    let traced = traced.unwrap();
    if !traced.status.success() {
        testkit::skip_refused("strace", &String::from_utf8_lossy(&traced.stderr));
        return false;
    }
    true
}
