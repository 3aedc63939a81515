//! `whit log` from another machine: over TLS, and what a new user meets when something is wrong.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::log_common::{command, end, folder, text, whit, write};
use testkit::{Authority, Running};

/// Starts a central server on a port of its own: `PORT` in its words.  Gives the port.
fn serve(here: &Path, words: &str) -> (Running, u16) {
    let mut server = Running::start(command(here, words).stderr(Stdio::piped()));
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(' ').next().and_then(|port| port.parse().ok());
    let port = port.unwrap_or_else(|| panic!("{line}"));
    // Whatever else it says is read, so that it never waits.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::stderr()));
    (server, port)
}

pub(crate) const CLIENT: &str = "--tls-ca ours.pem --tls-cert client.pem --tls-key client.key";

pub(crate) fn certificates(here: &Path) {
    let ours = Authority::new(here, "ours");
    let _files = ours.sign("server", &["127.0.0.1"], false);
    let _files = ours.sign("client", &[], false);
    let _files = Authority::new(here, "others").sign("stranger", &[], false);
    std::fs::write(here.join("secret"), "one").unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(here.join("secret"), mode).unwrap();
}

/// Starts a central server that takes clients with a certificate and the secret, and gives its port.
pub(crate) fn central_over_tls(here: &Path) -> (Running, u16) {
    serve(
        here,
        "central --store store --listen tls:127.0.0.1:0 --tls-cert server.pem \
         --tls-key server.key --tls-client-ca ours.pem --secret-file secret",
    )
}

#[test]
fn everything_goes_over_tls() {
    let folder = folder();
    let here = folder.path();
    certificates(here);
    let (central, port) = central_over_tls(here);
    write(&here.join("rings"));
    let to = format!("--central tls:127.0.0.1:{port} --secret-file secret");
    let sent = whit(here, &format!("proxy --directory rings --spool spool --once {to} {CLIENT}"));
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(text(&whit(here, "query store --count")).trim(), "5");
    assert!(text(&whit(here, &format!("stats {to} {CLIENT}"))).contains("  duplicates\n"));
    assert!(text(&whit(here, &format!("stats {to} --json {CLIENT}"))).contains("\"duplicates\":0"));
    let set = text(&whit(here, &format!("level * DEBUG {to} {CLIENT}")));
    assert_eq!(set, "0 loggers set, by 0 proxies\n");
    // The same from here and from afar.
    for options in [
        "--utc",
        "--format json",
        "--pair Antenna=a.*",
        "--level ERROR",
        "--logger a.* --text 2",
        "--regex [01]$",
        "--word Trouble --word 1",
    ] {
        for words in ["query --count", "query", "query --limit 2", "tail --no-follow --lines 3"] {
            let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
            let here_is = whit(here, format!("{verb} store {rest} {options}").trim());
            let far = whit(here, format!("{verb} {rest} {options} {to} {CLIENT}").trim());
            assert_eq!(text(&far), text(&here_is), "{words} {options}");
            assert_eq!(far.status.code(), here_is.status.code(), "{words} {options}");
        }
    }
    let refused = |words: String| {
        let done = whit(here, &words);
        assert!(!done.status.success(), "{words}");
        String::from_utf8(done.stderr).unwrap()
    };
    let said = refused(format!("stats {to} --tls-ca ours.pem"));
    assert!(said.contains("asks for a certificate, and we have none"), "{said}");
    let said = refused(format!("stats {to} --tls-ca others.pem"));
    assert!(said.contains("not signed by an authority (CA) that we trust"), "{said}");
    let said = refused(format!("level * DEBUG {to}"));
    assert!(said.contains("needs --tls-ca"), "{said}");
    let said = refused(format!("stats --central 127.0.0.1:{port} --tls-ca ours.pem"));
    assert!(said.contains("is not encrypted"), "{said}");
    let said = refused(format!("stats {to} --tls-cert client.pem"));
    assert!(said.contains("--tls-key"), "{said}");
    let said = refused(format!("query store {to} {CLIENT}"));
    assert!(said.contains("cannot be used with"), "{said}");
    let said = refused(format!("query --central tls:127.0.0.1:{port} {CLIENT}"));
    assert!(said.contains("the server wants a secret"), "{said}");
    let said = refused("central --store other --listen tls:127.0.0.1:0".to_owned());
    assert!(said.contains("needs --tls-cert and --tls-key"), "{said}");
    end(central);
}

#[test]
fn a_network_needs_a_secret_or_a_word() {
    let folder = folder();
    let here = folder.path();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = whit(here, &format!("central --store store --listen {address}"));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && said.contains("--secret-file"), "{said}");
        assert!(said.contains("--insecure"), "{said}");
    }
    let (central, port) = serve(here, "central --store store --listen 0.0.0.0:0 --insecure");
    let to = format!("--central 127.0.0.1:{port}");
    assert!(whit(here, &format!("stats {to}")).status.success());
    let level = whit(here, &format!("level * OFF {to}"));
    let said = String::from_utf8(level.stderr).unwrap();
    assert!(!level.status.success() && said.contains("only with a secret"), "{said}");
    end(central);
    certificates(here);
    let (central, port) =
        serve(here, "central --store store --listen 0.0.0.0:0 --secret-file secret");
    let to = format!("--central 127.0.0.1:{port} --secret-file secret");
    assert_eq!(text(&whit(here, &format!("level * OFF {to}"))), "0 loggers set, by 0 proxies\n");
    end(central);
}
