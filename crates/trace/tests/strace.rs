//! Lines compared with those of `strace`: the calls' numbers, the classes, and whole programs.
//!
//! Debian's strace 6.1 is the specification.  Where it is missing, or Perl, the tests say so and pass.
//! What differs on purpose is listed where it is compared, each with its reason.

#![allow(clippy::unwrap_used, reason = "tests")]

mod calls;
mod captures;
mod programs;

use std::path::Path;
use std::process::Command;

/// Where the programs of the test stand.
fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strace").join(name).display().to_string()
}

/// Whether `strace` and these programs are there, and `strace` may do its work.
fn ready(programs: &[&str]) -> bool {
    if !testkit::is_installed("strace 6.1", "strace") {
        return false;
    }
    let output = Command::new("strace").arg("-V").output().unwrap();
    let version = String::from_utf8_lossy(&output.stdout);
    let version = version.lines().next().unwrap().strip_prefix("strace -- version ").unwrap();
    if version != "6.1" {
        testkit::skip("strace 6.1", &format!("{version} is installed, and writes other lines"));
        return false;
    }
    if !programs.iter().all(|program| testkit::is_installed(program, program)) {
        return false;
    }
    let traced = Command::new("strace").args(["-qqq", "-e", "trace=none", "true"]).output();
    let traced = traced.unwrap();
    if !traced.status.success() {
        testkit::skip_refused("strace", &String::from_utf8_lossy(&traced.stderr));
        return false;
    }
    true
}
