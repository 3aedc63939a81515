//! `whit rrdcached` and its clients over TLS, as they are started: options, variables, messages.

#![allow(clippy::unwrap_used, reason = "what fails in a test ends it")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Authority, Running, wait_until};

use crate::{WHIT, whit};

/// A port that nobody uses now.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

/// A daemon that takes clients with a certificate of `ours.pem`.
fn start(path: &Path, port: u16, options: &str) -> Running {
    let mut command = whit();
    command.args(["rrdcached", "-g", "-b", "base", "-j", "journal"]);
    command.args(["-l", &format!("tls:127.0.0.1:{port}")]);
    command.args(options.split_whitespace()).current_dir(path);
    let daemon = Running::start(&mut command);
    wait_until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    daemon
}

/// Runs `whit rrd` with the files of a client; what it printed, or why it failed.
fn rrd(path: &Path, client: Option<&str>, words: &str) -> Result<String, String> {
    let mut command = whit();
    command.arg("rrd").args(words.split(' ')).current_dir(path);
    command.env("RRDCACHED_TLS_CA", "ours.pem");
    for name in ["RRDCACHED_TLS_CERT", "RRDCACHED_TLS_KEY", "RRDCACHED_ADDRESS"] {
        command.env_remove(name);
    }
    if let Some(client) = client {
        command.env("RRDCACHED_TLS_CERT", format!("{client}.pem"));
        command.env("RRDCACHED_TLS_KEY", format!("{client}.key"));
    }
    let done = command.output().unwrap();
    match done.status.success() {
        true => Ok(String::from_utf8(done.stdout).unwrap()),
        false => Err(String::from_utf8(done.stderr).unwrap()),
    }
}

#[test]
fn a_daemon_is_reached_over_tls_with_a_certificate() {
    let (_held, path) = folder();
    let ours = Authority::new(&path, "ours");
    let _files = ours.sign("server", &["127.0.0.1"], false);
    let _files = ours.sign("client", &[], false);
    let _files = Authority::new(&path, "others").sign("stranger", &[], false);
    let port = port();
    let certificates = "--tls-cert server.pem --tls-key server.key --tls-client-ca ours.pem";
    let _daemon = start(&path, port, &format!("{certificates} --clients-each 2"));
    let to = format!("--daemon tls:127.0.0.1:{port}");
    let client = Some("client");
    let made = format!("create a.rrd {to} -b 1600000000 -s 1 DS:x:GAUGE:90:U:U RRA:LAST:0:1:99");
    rrd(&path, client, &made).unwrap();
    rrd(&path, client, &format!("update {to} a.rrd 1600000001:1 1600000002:2")).unwrap();
    assert_eq!(rrd(&path, client, &format!("last a.rrd {to}")).unwrap(), "1600000002\n");
    let fetched = rrd(&path, client, &format!("fetch a.rrd LAST {to} -s 1600000000 -e 1600000002"));
    assert!(fetched.unwrap().contains("1600000002: 2.0000000000e+00"));
    let refused = rrd(&path, None, &format!("update {to} a.rrd 1600000003:1")).unwrap_err();
    let text = "Unable to connect to rrdcached: TLS: the other side asks for a certificate";
    assert!(refused.contains(text), "{refused}");
    let refused = rrd(&path, Some("stranger"), &format!("update {to} a.rrd 1600000003:1"));
    let refused = refused.unwrap_err();
    assert!(refused.contains("does not know the authority (CA)"), "{refused}");
    // --clients-each: two connections of an address at once.  One that has ended is counted a moment
    // longer, so one of ours may be refused in its place.
    let connection = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let last = || rrd(&path, client, &format!("last a.rrd {to}")).ok();
    let mut held = vec![connection()];
    testkit::wait_for("a second connection", last);
    testkit::wait_for("a refusal", || {
        held.push(connection());
        last().is_none().then_some(())
    });
    drop(held);
    testkit::wait_for("the end of the connections", last);
}

#[test]
fn addresses_and_files_that_do_not_fit_are_refused() {
    let (_held, path) = folder();
    let refused = |options: &str| {
        let mut command = whit();
        command.args(["rrdcached", "-g", "-b", "base"]).args(options.split_whitespace());
        let done = command.current_dir(&path).output().unwrap();
        assert!(!done.status.success(), "{options}");
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(refused("-l tls:127.0.0.1:0").contains("needs --tls-cert and --tls-key"));
    let text = refused("-l tls:127.0.0.1:0 --tls-cert a.pem --tls-key a.key");
    assert!(text.contains("cannot read a.pem"), "{text}");
    let text = refused("-l tls:/run/s");
    assert!(text.contains("a socket file is not encrypted"), "{text}");
    assert!(refused("--tls-cert a.pem -l s").contains("--tls-key"));
}

/// A socket that is open already, as systemd gives it, on the port of the first argument.
const ACTIVATE: &str = r#"
import os, socket, sys
one = socket.socket()
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
one.bind(("127.0.0.1", int(sys.argv[1])))
one.listen()
if one.fileno() != 3:
    os.dup2(one.fileno(), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"#;

#[test]
fn a_socket_of_systemd_is_encrypted_if_its_address_is() {
    if !testkit::is_installed("python3", "python3") {
        return;
    }
    let (_held, path) = folder();
    let ours = Authority::new(&path, "ours");
    let _files = ours.sign("server", &["127.0.0.1"], false);
    let port = port();
    let start = |listen: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", ACTIVATE, &port.to_string(), WHIT]);
        command.args(["rrdcached", "-g", "-b", "base", "-l", listen]);
        command.args(["--tls-cert", "server.pem", "--tls-key", "server.key"]);
        command.current_dir(&path).stdin(Stdio::null()).stderr(Stdio::piped());
        Running::start(&mut command)
    };
    let daemon = start(&format!("tls:127.0.0.1:{port}"));
    let words = format!("list --daemon tls:127.0.0.1:{port} /");
    wait_until("it answers", || rrd(&path, None, &words).is_ok());
    drop(daemon);
    // Nothing is served plain because of another spelling.
    let mut daemon = start("tls:localhost");
    let status = daemon.wait().unwrap();
    assert!(!status.success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut daemon.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("is named by no -l"), "{said}");
}
