//! The account of a service's parts, as people read it.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::keys::{RECORDINGS, STORE};
use crate::places::ServicePlaces;

/// The file of the account in the folder of the service's state.
pub(crate) const FILE: &str = "parts.json";

/// Why there is no account.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// There is no file.
    #[error("no service runs: there is no {}", .0.display())]
    None(PathBuf),
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The service has ended without removing it.
    #[error("the service with process id {0} has ended without saying so")]
    Gone(u64),
}

/// The account of the first service that runs at one of the places, in lines; `now_s` are seconds since
/// 1970.
///
/// # Errors
/// If no service runs there, or its account cannot be read: of the first place.
pub fn status_text(all: &[ServicePlaces], now_s: i64) -> Result<String, StatusError> {
    let mut refused = None;
    for places in all {
        match running(&places.runtime) {
            Ok(account) => return Ok(shown(&account, now_s)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| StatusError::None(PathBuf::from(FILE))))
}

/// The account of the service whose state is in a folder.
///
/// # Errors
/// If no service runs there, or its account cannot be read.
pub(crate) fn running(runtime: &Path) -> Result<Value, StatusError> {
    let path = runtime.join(FILE);
    let unreadable = |error| StatusError::Unreadable { path: path.clone(), error };
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StatusError::None(path));
        }
        read => read.map_err(unreadable)?,
    };
    let account: Value =
        serde_json::from_str(&text).map_err(|error| unreadable(io::Error::other(error)))?;
    let pid = account["pid"].as_u64().unwrap_or(0);
    if !Path::new(&format!("/proc/{pid}")).exists() {
        return Err(StatusError::Gone(pid));
    }
    Ok(account)
}

fn shown(account: &Value, now_s: i64) -> String {
    let ago = |value: &Value| ago(now_s - value.as_i64().unwrap_or(now_s));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let file = account["configuration"].as_str().unwrap_or("none: the defaults");
    // Writing to a string cannot fail.
    let mut lines = format!(
        "service        process {}, since {}; configuration: {file}\n",
        account["pid"],
        ago(&account["started"])
    );
    let _ = writeln!(lines, "data           {}", text(&account["folder"]));
    if !account["full_since"].is_null() {
        let since = ago(&account["full_since"]);
        let _ = writeln!(lines, "disk           nearly full since {since}: nothing new is written");
    }
    if let Some(refused) = account["refused"].as_object() {
        let at = ago(&refused["at"]);
        let _ = writeln!(lines, "configuration  refused {at} ago, the old one is in force:");
        for line in text(&refused["text"]).lines() {
            let _ = writeln!(lines, "               {line}");
        }
    }
    for part in account["parts"].as_array().into_iter().flatten() {
        let since = ago(&part["since"]);
        let state = match part["state"].as_str() {
            Some("runs") => format!("runs since {since}, process {}", part["pid"]),
            Some("pauses") => {
                format!("failed {since} ago, starts again{}", in_time(&part["next"], now_s))
            }
            _ => format!("waits since {since}: {}", text(&part["why"])),
        };
        let _ = write!(lines, "{:<14} {state}", text(&part["name"]));
        if let Some(error) = part["last_error"].as_object() {
            let (failed, at) = (&part["failed"], ago(&error["at"]));
            let _ =
                write!(lines, "; failed {failed} times, last {at} ago: {}", text(&error["text"]));
        }
        if let Some(says) = part["says"].as_str() {
            let _ = write!(lines, "; says: {says}");
        }
        lines.push('\n');
        lines += &sent(account, &text(&part["name"]));
    }
    lines
}

/// When something comes, if that is known.
fn in_time(at: &Value, now_s: i64) -> String {
    at.as_i64().map_or_else(String::new, |at| format!(" in {}", ago(at - now_s)))
}

/// What the engine has to which a part sends, and what waits for it.
fn sent(account: &Value, part: &str) -> String {
    let Some(name) = part.strip_prefix("send.") else { return String::new() };
    // Names are unique, whatever is sent.
    let text = [RECORDINGS, STORE].into_iter().find_map(|key| {
        let folder = Path::new(account[key].as_str()?);
        match send::status(folder) {
            Ok(engines) => {
                engines.iter().find(|one| one.name == name).map(send::EngineStatus::counts)
            }
            // Nothing was ever logged.
            Err(_) if !folder.exists() => None,
            Err(error) => Some(format!("{}\n", text::error_text::with_causes(&error))),
        }
    });
    let text = text.unwrap_or_else(|| "nothing is acknowledged yet\n".to_owned());
    text.lines().map(|line| format!("               {}\n", line.trim_start())).collect()
}

/// A time that has passed.
fn ago(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (1.., ..) => format!("{days} d {hours} h"),
        (_, 1.., _) => format!("{hours} h {minutes} min"),
        (.., 1..) => format!("{minutes} min"),
        _ => format!("{} s", seconds.max(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_shown_in_lines() {
        let account = serde_json::json!({
            "pid": 7, "started": 0, "configuration": null, "folder": "/d", "full_since": 40,
            "refused": { "at": 90, "text": "a:1:2: x\na:2:1: y" },
            "parts": [
                { "name": "record", "state": "waits", "since": 40, "pid": null, "why": "full",
                  "failed": 0, "last_error": null },
                { "name": "page", "state": "runs", "since": 5, "pid": 9, "why": null, "failed": 2,
                  "last_error": { "at": 4, "text": "it ended" } },
                { "name": "poll", "state": "pauses", "since": 98, "next": 106, "pid": null, "why": null,
                  "failed": 4, "last_error": null },
            ],
        });
        let wanted = "\
service        process 7, since 1 min; configuration: none: the defaults
data           /d
disk           nearly full since 1 min: nothing new is written
configuration  refused 10 s ago, the old one is in force:
               a:1:2: x
               a:2:1: y
record         waits since 1 min: full
page           runs since 1 min, process 9; failed 2 times, last 1 min ago: it ended
poll           failed 2 s ago, starts again in 6 s
";
        assert_eq!(shown(&account, 100), wanted);
        assert_eq!([ago(-1), ago(3_700), ago(90_000)], ["0 s", "1 h 1 min", "1 d 1 h"]);
    }
}
