//! The Go client (`clients/go`): the conformance list, and programs that are killed as it says; zap's records.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Running, central, drain, folders, proxy, pump_to_end};
use crate::conformance::{ScopeIs, clients, conform, held};

/// The program that writes the list; `None` without Go.
fn compiled() -> Option<PathBuf> {
    if !testkit::is_installed("the Go client", "go") {
        return None;
    }
    let to = output("conformance-go");
    let said = go(&clients().join("conformance/go"))
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&to)
        .arg(".")
        .output()
        .unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Some(to)
}

fn output(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(format!("{name}-{}", std::process::id()))
}

/// The compiler, which fetches nothing.
fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    command.env("GOPROXY", "off").current_dir(folder);
    command
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

/// What the program beside the core for zap logs, in the order of time.
#[test]
fn records_of_zap_have_their_fields() {
    let what = "zap";
    if !testkit::is_installed(what, "go") {
        return;
    }
    let (folder, program) = (clients().join("go/zapcore"), output("zap"));
    let known = go(&folder).args(["list", "-deps", "./example"]).output().unwrap();
    if !known.status.success() {
        testkit::skip(what, "not among the modules that Go has fetched");
        return;
    }
    let mut build = go(&folder);
    build.args(["build", "-trimpath", "-buildvcs=false", "-o"]).arg(&program).arg("./example");
    let said = build.output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut command = Command::new(&program);
    let mut writer = Running::start(command.env("WHIT_LOG_DIRECTORY", &folders.rings));
    pump_to_end(&mut proxy, &mut writer);
    assert!(writer.wait().unwrap().success());
    drain(&mut proxy, &folders.rings);
    central.stop();
    let of = r#""logger":"CONTROL/PM01","message":"#;
    let context = r#","context":{"Antenna":"DV01"}"#;
    let expected = [
        format!(
            r#""level":"INFO",{of}"numbers"{context},"data":{{"i":-3,"u":9223372036854775808,"f":2.0,"g":0.5,"b":true,"d":"1s"}}}}"#
        ),
        format!(
            r#""level":"WARNING",{of}"texts"{context},"data":{{"t":"ü","s":"mount 7","p":"[its text cannot be made: PANIC=no name]","raw":"AQI=","all":"[x y]"}}}}"#
        ),
        format!(
            r#""level":"ERROR",{of}"groups"{context},"data":{{"unit":"7","disk.at":1,"disk.size.bytes":2,"exception.type":"*errors.errorString","disk.error":"full"}}}}"#
        ),
        format!(r#""level":"DEBUG","logger":"other","message":"plain"{context}}}"#),
        format!(r#""level":"INFO","logger":"other","message":"named"{context},"data":{{"n":1}}}}"#),
        format!(r#""level":"CRITICAL",{of}"no panic yet"{context}}}"#),
        format!(r#""level":"CRITICAL",{of}"panic"{context}}}"#),
    ];
    assert_eq!(held(&folders.store), expected);
}
