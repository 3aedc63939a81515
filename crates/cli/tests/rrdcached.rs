//! `whit rrdcached` as it is started: options, sockets, signals, and rrdtool as its client.

#![allow(clippy::unwrap_used, reason = "what fails in a test ends it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{Running, wait_for};

use crate::{WHIT, whit};

/// A daemon in the foreground.
struct Daemon(Running);

impl Daemon {
    fn start(folder: &Path, options: &str) -> Self {
        let mut command = whit();
        command.arg("rrdcached").arg("-g").args(options.split_whitespace()).current_dir(folder);
        Self(Running::start(command.stderr(Stdio::piped())))
    }

    /// Ends it by a signal; what it logged.
    fn end(mut self, signal: &str) -> String {
        signal_to(self.0.id(), signal);
        assert!(self.0.ended().success());
        let mut text = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

fn signal_to(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Sends a line to a socket file; the first line of the answer.
fn ask(socket: &Path, line: &str) -> String {
    let mut stream = testkit::connect(socket);
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn make(folder: &Path, name: &str) {
    let words = ["-b", "1600000000", "-s", "1", "DS:x:GAUGE:9000:U:U", "RRA:LAST:0:1:100"];
    let done = whit().args(["rrd", "create", name]).args(words).current_dir(folder).status();
    assert!(done.unwrap().success());
}

fn last_update(folder: &Path, name: &str) -> String {
    let done = whit().args(["rrd", "last", name]).current_dir(folder).output().unwrap();
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

#[test]
fn each_socket_has_its_own_commands_mode_and_acknowledgement() {
    let (_held, path) = folder();
    let group = rustix::process::getegid().as_raw();
    let options = format!(
        "-b base -j journal --ack disk -l unix:all -P FLUSH,PENDING -s {group} -l {0}/few \
         -m 600 --ack none -l unix:{0}/own -l [127.0.0.1]:0",
        path.display()
    );
    let daemon = Daemon::start(&path, &options);
    assert_eq!(ask(&path.join("all"), "PING"), "0 PONG\n");
    assert_eq!(ask(&path.join("few"), "PING"), "-1 Permission denied.\n");
    assert_eq!(ask(&path.join("few"), "PENDING x.rrd"), "0 updates pending\n");
    let mode =
        |name: &str| std::fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("few"), mode("own")), (0o760, 0o600));
    daemon.end("TERM");
    assert!(!path.join("all").exists(), "the socket file stays");
}

#[test]
fn updates_are_written_when_they_are_due_or_at_the_end() {
    let (_held, path) = folder();
    std::fs::create_dir(path.join("base")).unwrap();
    make(&path, "base/a.rrd");
    let socket = path.join("s");
    let update = |time: u64| {
        let answer = ask(&socket, &format!("UPDATE a.rrd {time}:1"));
        assert_eq!(answer, "0 errors, enqueued 1 value(s).\n");
    };
    // -w: readings that are older than a second are written with the next one.
    let daemon = Daemon::start(&path, "-b base -l unix:s -w 1 -z 0 -f 2 -t 1 -a 10 -j journal");
    update(1_600_000_001);
    wait_for("the update", || (last_update(&path, "base/a.rrd") == "1600000001").then_some(()));
    update(1_600_000_002);
    daemon.end("USR2");
    // -F: everything is written at the end, also with a journal.
    let daemon = Daemon::start(&path, "-b base -l unix:s -j journal -F --mem 10 --clients 3");
    update(1_600_000_003);
    daemon.end("INT");
    assert_eq!(last_update(&path, "base/a.rrd"), "1600000003");
    // Without -F the journal keeps it.  Without -w it waits for an hour there …
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let recent = now.as_secs() - 1_000;
    let daemon = Daemon::start(&path, "-b base -l unix:s -j journal");
    update(recent);
    daemon.end("TERM");
    assert_eq!(last_update(&path, "base/a.rrd"), "1600000003");
    let daemon = Daemon::start(&path, "-b base -l unix:s -j journal");
    assert_eq!(ask(&socket, "PENDING a.rrd"), "1 updates pending\n");
    daemon.end("TERM");
    // … and is written by the next daemon whose -w is over.
    let daemon = Daemon::start(&path, "-b base -l unix:s -j journal -w 1200");
    assert_eq!(ask(&socket, "PENDING a.rrd"), "1 updates pending\n");
    daemon.end("TERM");
    let daemon = Daemon::start(&path, "-b base -l unix:s -j journal -w 300");
    wait_for("the write", || {
        (last_update(&path, "base/a.rrd") == recent.to_string()).then_some(())
    });
    update(recent + 1);
    daemon.end("USR1");
    assert_eq!(last_update(&path, "base/a.rrd"), (recent + 1).to_string());
}

#[test]
fn files_are_made_within_the_base_folder_only() {
    let (_held, path) = folder();
    let definitions = "DS:x:GAUGE:9000:U:U RRA:LAST:0:1:100";
    let daemon = Daemon::start(&path, "-b base -B -R -O -l unix:s");
    let create = |name: &str| ask(&path.join("s"), &format!("CREATE {name} {definitions}"));
    assert_eq!(create("sub/a.rrd"), "0 RRD created OK\n");
    assert!(create("sub/a.rrd").ends_with("File exists\n"));
    assert!(create(&format!("{}/b.rrd", path.display())).ends_with("Permission denied\n"));
    drop(daemon);
}

#[test]
fn a_daemon_leaves_writes_its_pid_and_logs() {
    let (_held, path) = folder();
    make(&path, "a.rrd");
    let own = rustix::process::geteuid();
    let mut command = whit();
    command.args(["rrdcached", "-b", ".", "-l", "unix:s", "-p", "pid", "-o", "log"]);
    command.args(["-V", "LOG_INFO"]);
    if own.is_root() {
        command.args(["-U", "root", "-G", "root"]);
    }
    let done = command.current_dir(&path).status().unwrap();
    assert!(done.success());
    let pid: u32 = std::fs::read_to_string(path.join("pid")).unwrap().trim().parse().unwrap();
    assert_eq!(
        ask(&path.join("s"), "UPDATE a.rrd 1600000001:1"),
        "0 errors, enqueued 1 value(s).\n"
    );
    std::fs::remove_file(path.join("a.rrd")).unwrap();
    assert!(ask(&path.join("s"), "FLUSH a.rrd").starts_with("-1 "));
    let log = std::fs::read_to_string(path.join("log")).unwrap();
    assert!(log.contains("1 readings are kept"), "{log}");
    // A second one finds the first.
    let second = whit()
        .args(["rrdcached", "-b", ".", "-l", "unix:t", "-p", "pid"])
        .current_dir(&path)
        .output()
        .unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("already running"));
    signal_to(pid, "TERM");
    wait_for("the end of the pid file", || (!path.join("pid").exists()).then_some(()));
}

#[test]
fn all_interfaces_are_opened_by_port() {
    let (_held, path) = folder();
    let daemon = Daemon::start(&path, "-b base -P PING -L");
    let mut stream = wait_for("it listens", || TcpStream::connect(("127.0.0.1", 42217)).ok());
    stream.write_all(b"PING\nSTATS\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "0 PONG");
    assert_eq!(lines.next().unwrap().unwrap(), "-1 Permission denied.");
    drop(daemon);
}

/// The addresses that a process listens at by TCP, from `/proc`: their bytes in hexadecimal.
fn listening(pid: u32) -> Vec<String> {
    const LISTEN: &str = "0A";
    let sockets = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let sockets = sockets.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let own: Vec<String> = sockets.map(|link| link.display().to_string()).collect();
    let mut addresses = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if words[3] == LISTEN && own.contains(&format!("socket:[{}]", words[9])) {
                addresses.push(words[1].split(':').next().unwrap().to_owned());
            }
        }
    }
    addresses.sort();
    addresses
}

/// Each address is opened as by rrdcached: all addresses of a name, of both families.
#[test]
fn addresses_are_opened_as_by_rrdcached() {
    if !testkit::is_installed("rrdcached", "rrdcached") {
        return;
    }
    for address in
        ["localhost:0", "[localhost]:0", "*:0", "[*]:0", ":0", "[]:0", "127.0.0.1:0", "[::1]:0"]
    {
        let opened = [WHIT, "rrdcached"].map(|program| {
            let (_held, path) = folder();
            let mut command = Command::new(program);
            command.args((program == WHIT).then_some("rrdcached")).arg("-g").arg("-b").arg(&path);
            // Sockets are opened in this order: when there is the file, there is the port.
            command.arg("-p").arg(path.join("pid")).args(["-l", address, "-l"]).arg(path.join("s"));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let daemon = Running::start(&mut command);
            testkit::connect(&path.join("s"));
            listening(daemon.id())
        });
        assert_eq!(opened[0], opened[1], "{address}");
        // A machine may have no IPv6.
        assert!(!opened[0].is_empty() || address == "[::1]:0", "{address}");
    }
}

/// Sockets that are open already, as systemd gives them: two files, in this order.
const ACTIVATE: &str = r#"
import fcntl, os, socket, sys
opened = []
for number, name in enumerate(["given", "other"]):
    one = socket.socket(socket.AF_UNIX)
    one.bind(os.path.join(os.getcwd(), name))
    one.listen()
    opened.append(fcntl.fcntl(one.detach(), fcntl.F_DUPFD, 10))
for number, descriptor in enumerate(opened):
    os.dup2(descriptor, 3 + number)
os.environ["LISTEN_FDS"] = "2"
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn sockets_of_systemd_have_the_rights_of_their_address() {
    if !testkit::is_installed("python3", "python3") {
        return;
    }
    let (_held, path) = folder();
    let given = path.join("given").display().to_string();
    let mut command = Command::new("python3");
    command.args(["-c", ACTIVATE, WHIT, "rrdcached", "-g", "-b", "base"]);
    command.args(["-P", "PING", "-l", &given, "-P", "STATS"]);
    let daemon = Daemon(Running::start(command.current_dir(&path).stderr(Stdio::piped())));
    assert_eq!(ask(&path.join("given"), "PING"), "0 PONG\n");
    assert_eq!(ask(&path.join("given"), "STATS"), "-1 Permission denied.\n");
    assert_eq!(ask(&path.join("other"), "PING"), "-1 Permission denied.\n");
    assert_eq!(ask(&path.join("other"), "STATS"), "9 Statistics follow\n");
    daemon.end("TERM");
    assert!(path.join("given").exists(), "the socket file is systemd's");
}

#[test]
fn counters_are_served_over_http() {
    let (_held, path) = folder();
    let socket = path.join("m").display().to_string();
    let daemon = Daemon::start(&path, &format!("-b base -l unix:s --metrics {socket}"));
    ask(&path.join("s"), "UPDATE x.rrd 1:1");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\nrrdcached_updates_received_total 1\n"), "{answer}");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
    daemon.end("TERM");
}

#[test]
fn rrdtool_is_a_client() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let (_held, path) = folder();
    let daemon = Daemon::start(&path, "-b base -j journal -l unix:s");
    let socket = path.join("s");
    ask(&socket, "PING");
    let rrdtool = |words: &str| {
        let mut command = Command::new("rrdtool");
        command
            .args(words.split(' '))
            .env("RRDCACHED_ADDRESS", format!("unix:{}", socket.display()));
        let done = command.env("TZ", "UTC").current_dir(path.join("base")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        assert!(done.status.success(), "{words}: {}", text(done.stderr));
        text(done.stdout)
    };
    rrdtool("create a.rrd -b 1600000000 -s 60 DS:x:GAUGE:600:U:U RRA:AVERAGE:0.5:1:100");
    rrdtool("update a.rrd 1600000060:1 1600000120:2");
    rrdtool("update a.rrd 1600000180:3");
    assert!(ask(&socket, "PENDING a.rrd").starts_with("3 updates pending"));
    assert_eq!(rrdtool("last a.rrd"), "1600000140\n");
    let fetched = rrdtool("fetch a.rrd AVERAGE -s 1600000060 -e 1600000140");
    assert!(fetched.contains("1600000140: 2.3333333333e+00"), "{fetched}");
    assert!(rrdtool("info a.rrd").contains("last_update = 1600000180"));
    assert_eq!(rrdtool("first a.rrd"), "1599994200\n");
    assert_eq!(rrdtool("list /"), "a.rrd\n");
    rrdtool("flushcached a.rrd");
    assert_eq!(last_update(&path, "base/a.rrd"), "1600000180");
    drop(daemon);
}
