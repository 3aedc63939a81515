//! The Go client (`clients/go`): the conformance list, and programs that are killed as it says.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::conformance::{ScopeIs, clients, conform};

/// The program that writes the list; `None` without Go.
fn compiled() -> Option<PathBuf> {
    if !testkit::is_installed("the Go client", "go") {
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let to = folder.join(format!("conformance-go-{}", std::process::id()));
    let mut build = Command::new("go");
    build.args(["build", "-trimpath", "-buildvcs=false", "-o"]).arg(&to).arg(".");
    build.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    build.env("GOPROXY", "off");
    let said = build.current_dir(clients().join("conformance/go")).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Some(to)
}

#[test]
fn the_store_has_the_list_as_go_writes_it() {
    let Some(program) = compiled() else { return };
    conform("Go", ScopeIs::Context, &|list, first, folders| {
        let mut command = Command::new(&program);
        command.arg(list).arg(first.to_string()).env("WHIT_LOG_DIRECTORY", &folders.rings);
        command
    });
}
