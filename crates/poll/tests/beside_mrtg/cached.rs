//! Rounds through rrdcached: both sides have a daemon of their own.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::Running;

use crate::beside_mrtg::site::{BEGIN_S, Site};

/// Starts rrdcached in a folder, on the socket `socket` and a port of the loopback.
pub(crate) fn start(folder: &Path) -> Option<(Running, u16)> {
    if !testkit::is_installed("rrdcached", "rrdcached") {
        return None;
    }
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("rrdcached");
    command.arg("-g").args(["-w", "3600", "-f", "7200", "-l"]).arg(folder.join("socket"));
    command.arg("-l").arg(format!("127.0.0.1:{port}")).arg("-b").arg(folder.join("data"));
    command.arg("-p").arg(folder.join("pid")).stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = Running::start(&mut command);
    testkit::connect(&folder.join("socket"));
    testkit::wait_for("rrdcached's port", || TcpStream::connect(("127.0.0.1", port)).ok());
    Some((daemon, port))
}

fn config(address: &str) -> String {
    let mut text = format!("LogFormat: rrdtool\n{address}\n");
    for (name, options) in [("a", "growright"), ("b", "gauge"), ("c", "derive, bits")] {
        text.push_str(&format!(
            "Target[{name}]: `cat FOLDER/value FOLDER/value`\nTitle[{name}]: x\n\
             MaxBytes[{name}]: 1000000\nOptions[{name}]: {options}\nDirectory[{name}]: sub\n"
        ));
    }
    text
}

/// Has the daemon of a folder write what it has of databases.
pub(crate) fn flush(folder: &Path, names: &[String]) {
    let mut command = Command::new("rrdtool");
    command.arg("flushcached").arg("--daemon").arg(folder.join("socket"));
    command.args(names.iter().map(|name| folder.join("data").join(name)));
    assert!(command.status().unwrap().success());
}

#[test]
fn updates_through_a_daemon_are_those_of_mrtg() {
    let Some(mut site) = Site::new() else { return };
    for kind in ["local", "environment", "network"] {
        for side in ["mrtg", "whit"] {
            let _ = std::fs::remove_dir_all(site.path(side));
            std::fs::create_dir_all(site.path(side).join("data/sub")).unwrap();
        }
        let daemons = ["mrtg", "whit"].map(|side| start(&site.path(side)));
        let [Some((_mrtg, their_port)), Some((_whit, port))] = daemons else { return };
        site.environment.rrdcached_address = None;
        match kind {
            "local" => site.configure(&config("RRDCached: unix:FOLDER/socket")),
            "environment" => {
                let socket = site.path("whit/socket").display().to_string();
                site.environment.rrdcached_address = Some(format!("unix:{socket}"));
                site.configure(&config(""));
            }
            _ => {
                let of = |port: u16| config(&format!("RRDCached: 127.0.0.1:{port}"));
                site.configure_each(&of(their_port), &of(port));
            }
        }
        for round in 0..4 {
            for side in ["mrtg", "whit"] {
                let value = 1_000_000 * round * round;
                std::fs::write(site.path(side).join("value"), format!("{value}\n")).unwrap();
            }
            let time_s = BEGIN_S + 300 * round;
            let (theirs, code) = site.mrtg(time_s);
            let (ours, report) = site.whit(time_s);
            assert_eq!((code, report.unknown_count), (0, 0), "{kind}: {theirs} {ours:?}");
        }
        for side in ["mrtg", "whit"] {
            flush(&site.path(side), &["a", "b", "c"].map(|name| format!("sub/{name}.rrd")));
        }
        for name in ["a", "b", "c"] {
            let text = site.data("whit", &format!("sub/{name}.rrd"));
            assert!(text.contains("<last_ds>9000000</last_ds>"), "{kind}: {text}");
            site.assert_same(&format!("sub/{name}.rrd"), kind);
        }
    }
}
