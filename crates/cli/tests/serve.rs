//! `whit serve`: what a recorder has just written, asked by Prometheus's interface.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use testkit::{Running, http, wait_for, wait_until};

use crate::history_common::{run, whit};

/// A server of a folder, and its address.
fn serve(recorded: &Path, options: &[&str]) -> (Running, SocketAddr) {
    let said = recorded.join("said");
    let mut command = whit();
    command.arg("serve").args(options).arg(recorded);
    let server = Running::start(command.stderr(File::create(&said).unwrap()));
    let address = wait_for("the server", || {
        let said = std::fs::read_to_string(&said).unwrap();
        said.split("http://").nth(1)?.strip_suffix('\n')?.parse().ok()
    });
    (server, address)
}

#[test]
fn recordings_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-scmdC", "-i0.05", "-c4", "-f"]).arg(&recorded));
    let (mut server, address) = serve(&recorded, &["--listen", "127.0.0.1:0"]);
    let ask = |query: &str| {
        let answer = http(address, "POST", "/api/v1/query", &[("query", query)]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<serde_json::Value>(&answer.body).unwrap()
    };
    let load = ask("last_over_time(node_load1[1d])");
    assert_eq!(load["data"]["result"][0]["metric"]["job"], "whit", "{load}");
    let memory = ask("min_over_time(node_memory_MemTotal_bytes[1d]) > 1e6");
    assert_eq!(memory["data"]["result"].as_array().unwrap().len(), 1, "{memory}");
    let modes = ask("count by (mode) (last_over_time(node_cpu_seconds_total[1d]))");
    assert_eq!(modes["data"]["result"].as_array().unwrap().len(), 8, "{modes}");
    let values = ask("count_over_time(node_context_switches_total[1d]) > 3");
    assert_eq!(values["data"]["result"].as_array().unwrap().len(), 1, "{values}");
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
}

#[test]
fn side_files_are_made_unless_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    run(whit().args(["record", "-scm", "-i0.01", "-c30", "-f"]).arg(folder.path()));
    let side_files = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".whit.columns")).count()
    };
    let count = |address| {
        let asked = [("query", "count_over_time(node_load1[1d])")];
        let answer = http(address, "POST", "/api/v1/query", &asked).body;
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["data"]["result"][0]["value"][1]
            .clone()
    };
    let (mut server, address) =
        serve(folder.path(), &["--listen", "127.0.0.1:0", "--no-side-files"]);
    let without = count(address);
    // And the base of the first rates.
    assert_eq!(without, "31");
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
    assert_eq!(side_files(), 0);
    let (mut server, address) = serve(folder.path(), &["--listen", "127.0.0.1:0"]);
    wait_until("a side file", || side_files() == 1);
    assert_eq!(count(address), without);
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
}

#[test]
fn other_addresses_and_folders_without_recordings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = whit();
    let output = command.arg("serve").arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    run(whit().args(["record", "-sc", "-i0.05", "-c2", "-f"]).arg(folder.path()));
    let mut command = whit();
    let output =
        command.args(["serve", "--listen", "0.0.0.0:0"]).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("choose an address of the loopback"), "{said}");
}
