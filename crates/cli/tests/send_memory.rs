//! What `whit send` needs at most while it hands over what has gathered, by each protocol that a server in the
//! test can speak: little more than for a few samples.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{Running, wait_for, wait_until};

use crate::send_day::{peak_kib, recorded};
use crate::whit;

#[allow(dead_code, reason = "other tests ask a request for its head")]
#[path = "../../send/tests/receiver.rs"]
mod receiver;
/// The most that a sender needs over one of a few samples.
const MOST_KIB: u64 = 12 << 10;

/// Samples, and lines of a log.
const SAMPLES: i64 = 3600;
const LINES: usize = 50_000;

/// The most memory of a sender until the folder has nothing that waits.
fn of_a_sender(to: &str, folder: &Path, count: u64) -> u64 {
    let mut send: Command = whit();
    send.args(["send", "--follow", "--name", "engine", "--to", to]).arg(folder);
    let sender = Running::start(send.stderr(Stdio::null()));
    wait_for("all is sent", || {
        let status = ::send::status(folder).ok()?.into_iter().next()?;
        (status.cursor.points_sent >= count && status.samples_waiting == 0).then_some(())
    });
    let peak = peak_kib(&sender);
    sender.kill();
    for name in [".send-engine.json", ".send-engine.lock"] {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    peak
}

/// A server that reads what comes, as Graphite does.
fn sink() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that was killed is no error.
            let _ = std::io::copy(&mut stream.unwrap(), &mut std::io::sink());
        }
    });
    address
}

/// Any engine that is spoken to by HTTP: ClickHouse has nothing yet, and remote write 2.0 is known behind
/// the path of another one.
fn engine() -> SocketAddr {
    receiver::receive(|request| {
        let is_old = request.head.starts_with("post /old");
        let written = match request.head.contains("version: 2.0.0\r\n") && !is_old {
            true => "\r\nX-Prometheus-Remote-Write-Samples-Written: 1000000",
            false => "",
        };
        let is_asked = request.body.starts_with(b"SELECT");
        (format!("200 OK{written}"), if is_asked { b"0\n".to_vec() } else { Vec::new() })
    })
}

/// A store with records, as the proxy takes them from a file.
fn log(folder: &Path) {
    let (text, socket) = (folder.join("text"), folder.join("socket"));
    let lines =
        (0..LINES).map(|number| format!("request {number} took {} us\n", number * 7 % 9973));
    std::fs::write(&text, lines.collect::<String>()).unwrap();
    let mut central = whit();
    central.args(["log", "central", "--ack", "os", "-l"]).arg(&socket);
    let mut central = Running::start(central.arg("--store").arg(folder.join("store")));
    wait_until("it listens", || socket.exists());
    let mut proxy = whit();
    proxy.args(["log", "proxy", "--once", "-i", &format!("file:{}", text.display()), "-c"]);
    proxy.arg(&socket).arg("--spool").arg(folder.join("spool"));
    assert!(proxy.status().unwrap().success());
    central.signal(libc::SIGTERM);
    assert!(central.ended().success());
}

#[test]
#[allow(clippy::print_stderr, reason = "memory is told")]
fn what_waits_is_sent_in_the_memory_of_a_few_samples_and_a_little() {
    let folder = tempfile::tempdir().unwrap();
    let [recordings, few] = ["recordings", "few"].map(|name| folder.path().join(name));
    for (path, samples) in [(&recordings, SAMPLES), (&few, 3)] {
        std::fs::create_dir(path).unwrap();
        let sources = ["cpu", "disk", "memory", "network", "process"];
        let writer = recorded::record_files(path, Path::new("/"), &sources, (1, samples), |_| ());
        writer.close().unwrap();
    }
    log(folder.path());
    let (http, plain) = (engine(), sink());
    let least = of_a_sender(&format!("remote-write=http://{http}"), &few, 3);
    let check = |to: String, folder: &Path, count: usize| {
        let peak = of_a_sender(&to, folder, count as u64);
        eprintln!("{to}: {peak} KiB, {least} KiB for a few samples");
        assert!(peak < least + MOST_KIB, "{to}: {peak} KiB, {least} KiB for a few samples");
    };
    for (kind, path) in [
        ("remote-write", "/api/v1/write"),
        ("remote-write", "/old/api/v1/write"),
        ("otlp", ""),
        ("influx", "/write?db=whit"),
        ("clickhouse", ""),
    ] {
        check(format!("{kind}=http://{http}{path}"), &recordings, SAMPLES as usize);
    }
    check(format!("graphite={plain}"), &recordings, SAMPLES as usize);
    for kind in ["otlp", "loki", "journal", "clickhouse"] {
        check(format!("{kind}=http://{http}"), &folder.path().join("store"), LINES);
    }
}
