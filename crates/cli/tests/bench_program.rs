//! `whit bench` is a program of its own: found beside whit or in `libexec`, missed by name.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

fn run(whit: &Path, words: &[&str]) -> Output {
    Command::new(whit).arg("bench").args(words).output().unwrap()
}

#[test]
fn the_program_of_benchmarks_is_found_or_named() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let whit = bin.join("whit");
    std::fs::hard_link(env!("CARGO_BIN_EXE_whit"), &whit).unwrap();

    let missing = run(&whit, &["record", "--quick", "--case", "-sc"]);
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(2), "{said}");
    assert!(said.contains("whit-bench") && said.contains(bin.to_str().unwrap()), "{said}");
    assert!(run(&whit, &["--help"]).status.success(), "the help needs no other program");
    assert!(!run(&whit, &["record", "--rounds", "no"]).status.success(), "nor do errors");

    for place in ["bin", "libexec"] {
        let there = folder.path().join(place).join("whit-bench");
        std::fs::create_dir_all(there.parent().unwrap()).unwrap();
        symlink(env!("CARGO_BIN_EXE_whit-bench"), &there).unwrap();
        let found = run(&whit, &["rrd", "--quick", "--case", "create", "--json"]);
        assert!(found.status.success(), "{place}: {}", String::from_utf8_lossy(&found.stderr));
        assert!(found.stdout.starts_with(b"{"), "{place}");
        std::fs::remove_file(there).unwrap();
    }
}
