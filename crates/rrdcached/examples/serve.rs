//! A daemon with few options, for measurements and tries: `serve SOCKET BASE JOURNAL|- [OPTION…]`.
//!
//! Options: `-B`, `-R`, `-O`, `-w SECONDS`, `-f SECONDS`, `--ack none|os|disk`, `--mem BYTES`.
#![allow(clippy::print_stderr, reason = "a program")]

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use connection::ListeningSocket;
use rrd::header::Time;
use rrdcached::protocol::Permissions;
use rrdcached::{
    Acknowledge, CachingDaemon, DaemonSettings, DaemonWorld, Limits, Listener, PathRules, Server,
};

struct LocalMachine;

impl DaemonWorld for LocalMachine {
    fn now(&self) -> Time {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time { seconds: now.as_secs() as i64, microseconds: i64::from(now.subsec_micros()) }
    }

    fn log(&self, _: bool, text: &str) {
        eprintln!("{text}");
    }

    fn boot(&self) -> String {
        String::new()
    }

    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [socket, base, journal, options @ ..] = words.as_slice() else {
        return Err("usage: serve SOCKET BASE JOURNAL|- [OPTION...]".into());
    };
    let has = |name: &str| options.iter().any(|option| option == name);
    let value = |name: &str| {
        let place = options.iter().position(|option| option == name)?;
        options.get(place + 1).map(String::as_str)
    };
    let number = |name: &str, default: i64| value(name).map_or(Ok(default), str::parse::<i64>);
    let limits = Limits::default();
    let memory = number("--mem", i64::try_from(limits.memory_bytes)?)?;
    let settings = DaemonSettings {
        paths: PathRules::new(Path::new(base), has("-B"), has("-R"))?,
        write_seconds: number("-w", 300)?,
        crowded_write_seconds: number("-w", 300)?,
        delay_seconds: 0,
        scan_seconds: number("-f", 3600)?,
        writers: 4,
        journal: (journal != "-").then(|| PathBuf::from(journal)),
        keeps_files: has("-O"),
        limits: Limits { memory_bytes: u64::try_from(memory)?, ..limits },
    };
    let acknowledge = match value("--ack") {
        Some("none") => Acknowledge::None,
        Some("disk") => Acknowledge::Disk,
        _ => Acknowledge::Os,
    };
    let _ = std::fs::remove_file(socket);
    let listener = Listener {
        socket: ListeningSocket::Unix(UnixListener::bind(socket)?, None),
        permissions: Permissions::ALL,
        acknowledge,
        tls: None,
    };
    let daemon = CachingDaemon::new(settings, Box::new(LocalMachine))?;
    let _server = Server::start(daemon, vec![listener], Vec::new())?;
    loop {
        std::thread::park();
    }
}
