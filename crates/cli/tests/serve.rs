//! `whit serve`: what a recorder has just written, asked by Prometheus's interface.

use std::fs::File;
use std::net::SocketAddr;

use testkit::{Running, http, wait_for};

use crate::history_common::{run, whit};

#[test]
fn recordings_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-scmdC", "-i0.05", "-c4", "-f"]).arg(&recorded));
    let said = folder.path().join("said");
    let mut command = whit();
    command.args(["serve", "--listen", "127.0.0.1:0"]).arg(&recorded);
    let mut server = Running::start(command.stderr(File::create(&said).unwrap()));
    let address: SocketAddr = wait_for("the server", || {
        let said = std::fs::read_to_string(&said).unwrap();
        said.split("http://").nth(1)?.strip_suffix('\n')?.parse().ok()
    });
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
