//! A recorder's messages: to standard error, with `-m` to a log beside the recordings, and the
//! errors of a daemon to syslog.
//!
//! The log is `host-whit-yyyymm.log` with lines like `20261121 04:35:02 W-text`, as collectl's.
//! It is opened for each message: there are few, and a new month is a new file.

use std::ffi::CString;
use std::io::Write;

use jiff::tz::TimeZone;
use recorder::{FileNames, MessageLog, Severity, local};
use sample::Moment;

/// The letter that begins a message; collectl's.
fn letter(severity: Severity) -> char {
    match severity {
        Severity::Information => 'I',
        Severity::Warning => 'W',
        Severity::Error => 'E',
    }
}

/// Where messages go.
pub(crate) struct Messages {
    /// `-m`.
    pub(crate) logged: bool,
    /// `--quiet`.
    pub(crate) quiet: bool,
    /// Whether this is a daemon, which has no standard error.
    pub(crate) daemon: bool,
    /// The names of the files beside which the log is; `None` without `-f`.
    pub(crate) names: Option<FileNames>,
    /// Local time.
    pub(crate) zone: TimeZone,
}

impl MessageLog for Messages {
    fn log(&self, now: Moment, severity: Severity, text: &str) {
        let shown = match severity {
            Severity::Information => self.logged,
            Severity::Warning => self.logged || !self.quiet,
            Severity::Error => true,
        };
        if shown && !self.daemon {
            crate::stderr::message(text);
        }
        if self.logged
            && let Some(names) = &self.names
        {
            let at = local(now, &self.zone);
            let text = layout::text::escape_message(text);
            let line = format!("{} {}-{text}\n", at.strftime("%Y%m%d %H:%M:%S"), letter(severity));
            let log = std::fs::OpenOptions::new().append(true).create(true).open(names.log(&at));
            let written = log.and_then(|mut log| log.write_all(line.as_bytes()));
            if written.is_ok() && severity != Severity::Error {
                return;
            }
        }
        if self.daemon && severity == Severity::Error {
            to_system_log(text);
        }
    }
}

fn to_system_log(text: &str) {
    let Ok(text) = CString::new(format!("whit: {text}")) else { return };
    // SAFETY: both strings end in NUL and live through the call, and the format takes one string.
    unsafe { libc::syslog(libc::LOG_USER | libc::LOG_ERR, c"%s".as_ptr(), text.as_ptr()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_log_is_collectls_but_for_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let messages = Messages {
            logged: true,
            quiet: true,
            daemon: true,
            names: Some(FileNames::new(directory.path(), "h")),
            zone: TimeZone::UTC,
        };
        let now = Moment { monotonic_ns: 0, realtime_ns: 1_795_235_702_000_000_000 };
        messages.log(now, Severity::Information, "Logs rolled");
        messages.log(now, Severity::Warning, "late");
        let log = directory.path().join(Path::new("h-whit-202611.log"));
        let text = std::fs::read_to_string(log).unwrap();
        assert_eq!(text, "20261121 04:35:02 I-Logs rolled\n20261121 04:35:02 W-late\n");
    }
}
