//! The daemon's clock, zone and log.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use rrd::header::Time;
use rrdcached::DaemonWorld;

/// Names of levels, from the most severe; the number is syslog's.
const LEVELS: [&str; 8] = [
    "LOG_EMERG",
    "LOG_ALERT",
    "LOG_CRIT",
    "LOG_ERR",
    "LOG_WARNING",
    "LOG_NOTICE",
    "LOG_INFO",
    "LOG_DEBUG",
];
const ERROR: usize = 3;
const INFO: usize = 6;
/// syslog's number for daemons.
const FACILITY: usize = 3;
/// Where syslog listens.
const SYSLOG: &str = "/dev/log";

/// This machine.
pub(super) struct LocalMachine {
    zone: calendar::CivilZone,
    level: usize,
    log: Log,
}

enum Log {
    Screen,
    File(File),
    Syslog(UnixDatagram),
    /// Nobody takes messages.
    None,
}

impl LocalMachine {
    pub(super) fn new(
        level: &str,
        file: Option<&Path>,
        is_foreground: bool,
    ) -> anyhow::Result<Self> {
        let level = LEVELS.iter().position(|name| *name == level);
        let level = level.with_context(|| format!("-V takes {}", LEVELS.join(", ")))?;
        let log = match file {
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Log::File(file.with_context(|| format!("cannot write {}", path.display()))?)
            }
            None if is_foreground => Log::Screen,
            None => {
                let socket = UnixDatagram::unbound().and_then(|socket| {
                    socket.connect(SYSLOG)?;
                    socket.set_nonblocking(true)?;
                    Ok(socket)
                });
                socket.map_or(Log::None, Log::Syslog)
            }
        };
        let zone = calendar::CivilZone::found_by(crate::zone::local);
        Ok(Self { zone, level, log })
    }
}

impl DaemonWorld for LocalMachine {
    fn now(&self) -> Time {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time { seconds: now.as_secs() as i64, microseconds: i64::from(now.subsec_micros()) }
    }

    fn log(&self, is_error: bool, text: &str) {
        let level = if is_error { ERROR } else { INFO };
        if level > self.level {
            return;
        }
        let text = layout::text::escape_message(text);
        let pid = std::process::id();
        // Nowhere is left where an error of the log could be reported.
        let _ = match &self.log {
            Log::Screen => {
                crate::stderr::message(text);
                Ok(())
            }
            Log::File(file) => {
                let mut file = file;
                let now = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
                file.write_all(format!("{now} [{pid}] {text}\n").as_bytes())
            }
            Log::Syslog(socket) => {
                let line = format!("<{}>rrdcached[{pid}]: {text}", FACILITY * 8 + level);
                socket.send(line.as_bytes()).map(drop)
            }
            Log::None => Ok(()),
        };
    }

    fn boot(&self) -> String {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.trim().to_owned()
    }

    fn zone(&self) -> &calendar::CivilZone {
        &self.zone
    }
}
