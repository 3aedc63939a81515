//! The account of a service's parts, as people read it.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use service_account::{
    ACCOUNT_FILE, PartAccount, PartPhase, ServiceAccount, SharedPollers, pollers_beside,
};
use text::escape::escape;

use crate::places::ServicePlaces;
use crate::process::EXECUTES;

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
    Gone(u32),
}

/// How a service is: its account, and the alerts that fire.
pub struct ServiceStatus {
    account: ServiceAccount,
    /// Why they cannot be read, if so.
    alerts: Result<Vec<Value>, String>,
}

impl ServiceStatus {
    /// Reads the status of the first service that runs at one of the places.
    ///
    /// # Errors
    /// If no service runs there, or its account cannot be read: of the first place.
    pub fn find(all: &[ServicePlaces]) -> Result<Self, StatusError> {
        let mut refused = None;
        for places in all {
            match running(&places.runtime) {
                Ok(account) => return Ok(ServiceStatus::of(account)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| StatusError::None(PathBuf::from(ACCOUNT_FILE))))
    }

    fn of(account: ServiceAccount) -> Self {
        let firing = |folder: &PathBuf| {
            let path = folder.join(alert::STATE_FILE);
            let failed = |error| format!("cannot read {}: {error}", path.display());
            alert::firing_alerts(folder).map_err(failed)
        };
        let alerts = account.alerts.as_ref().map_or_else(|| Ok(Vec::new()), firing);
        ServiceStatus { account, alerts }
    }

    /// The status in lines for people; `now_s` are seconds since 1970.
    #[must_use]
    pub fn text(&self, now_s: i64) -> String {
        let mut lines = head(&self.account, now_s);
        match &self.alerts {
            Ok(firing) => {
                for one in firing {
                    let since = one["from_ms"].as_i64().map(|ms| ms.div_euclid(1000));
                    let _ = writeln!(
                        lines,
                        "fires          {}, since {}",
                        alert::firing_text(one),
                        ago(since, now_s)
                    );
                }
            }
            Err(error) => drop(writeln!(lines, "alerts         {error}")),
        }
        for part in &self.account.parts {
            lines += &part_line(part, now_s);
            lines += &sent(&self.account, &part.name);
            if part.name == "poll" {
                let pollers = pollers_beside(&self.folder());
                pollers.iter().for_each(|one| lines += &pollers_lines(one, now_s));
            }
        }
        lines
    }

    /// The folder of recordings.
    fn folder(&self) -> PathBuf {
        self.account.recordings.clone().unwrap_or_default()
    }

    /// The status for programs: the account, `alerts`, `engines`, with what each has, and `pollers` that share
    /// devices.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = self.account.json();
        match &self.alerts {
            Ok(firing) => value["alerts"] = json!(firing),
            Err(error) => value["alerts_error"] = json!(error),
        }
        let folder = self.folder();
        let pollers = pollers_beside(&folder);
        value["pollers"] = pollers.iter().map(SharedPollers::json).collect::<Value>();
        match send::status(&folder) {
            Ok(all) => {
                value["engines"] = all.iter().map(send::EngineStatus::json).collect::<Value>();
            }
            Err(error) => {
                value["engines_error"] = json!(text::error_text::with_causes(&error));
            }
        }
        value
    }
}

/// The account of the service whose state is in a folder.
///
/// # Errors
/// If no service runs there, or its account cannot be read.
pub(crate) fn running(runtime: &Path) -> Result<ServiceAccount, StatusError> {
    let path = runtime.join(ACCOUNT_FILE);
    let account = ServiceAccount::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StatusError::None(path.clone()),
        _ => StatusError::Unreadable { path: path.clone(), error },
    })?;
    let pid = account.pid.unwrap_or(0);
    if !Path::new(&format!("/proc/{pid}")).exists() {
        return Err(StatusError::Gone(pid));
    }
    Ok(account)
}

/// How the service itself is.
fn head(account: &ServiceAccount, now_s: i64) -> String {
    let file = account.configuration.as_deref().unwrap_or("none: the defaults");
    // Writing to a string cannot fail.
    let mut lines = format!(
        "service        process {}, since {}; configuration: {file}\n",
        account.pid.unwrap_or(0),
        ago(account.started_s, now_s)
    );
    let _ = writeln!(lines, "data           {}", account.folder.as_deref().unwrap_or_default());
    if account.full_since_s.is_some() {
        let since = ago(account.full_since_s, now_s);
        let _ = writeln!(lines, "disk           nearly full since {since}: nothing new is written");
    }
    if let Some((at_s, refused)) = &account.refused {
        let at = ago(Some(*at_s), now_s);
        let _ = writeln!(lines, "configuration  refused {at} ago, the old one is in force:");
        for line in refused.lines() {
            let _ = writeln!(lines, "               {line}");
        }
    }
    lines
}

fn part_line(part: &PartAccount, now_s: i64) -> String {
    let since = ago(part.since_s, now_s);
    let state = match part.phase {
        PartPhase::Runs => format!("runs since {since}, process {}", part.pid.unwrap_or(0)),
        PartPhase::Pauses => {
            let next = part.next_s.map(|next_s| format!(" in {}", span(next_s - now_s)));
            format!("failed {since} ago, starts again{}", next.unwrap_or_default())
        }
        PartPhase::Waits => {
            format!("waits since {since}: {}", part.why.as_deref().unwrap_or_default())
        }
    };
    let mut line = format!("{:<14} {state}", part.name);
    if let Some((at_s, error)) = &part.last_error {
        let at = ago(Some(*at_s), now_s);
        let _ = write!(line, "; failed {} times, last {at} ago: {error}", part.failed);
    }
    if let Some((at_s, why)) = &part.unwritten {
        let _ = write!(line, "; not written since {}: {why}", ago(Some(*at_s), now_s));
    }
    if let Some(why) = &part.executed {
        let _ = write!(line, "; {EXECUTES}{why}");
    }
    if let Some(says) = &part.says {
        let _ = write!(line, "; says: {says}");
    }
    line.push('\n');
    line
}

/// The pollers that share devices: how many each has, since when, from whom, and who is silent.
fn pollers_lines(known: &SharedPollers, now_s: i64) -> String {
    let shown = |text: &str| escape(text.as_bytes());
    let at = ago(Some(known.at_s), now_s);
    let mut all = vec![format!("shares devices by {}, as of {at} ago:", shown(&known.place))];
    if let Some((at_s, why)) = &known.unusable {
        all.push(format!("cannot use it since {}: {}", ago(Some(*at_s), now_s), shown(why)));
    }
    for (name, count) in known.counts() {
        let here = if name == known.poller { " (here)" } else { "" };
        let state = match (known.silent.get(name), known.there.get(name)) {
            (Some(since_s), _) => format!(", silent since {}", ago(Some(*since_s), now_s)),
            (None, Some(since_s)) => format!(", since {}", ago(Some(*since_s), now_s)),
            (None, None) => String::new(),
        };
        let mut line = format!("{}{here}: {count} devices{state}", shown(name));
        for (from, (count, since_s)) in known.taken_over(name) {
            let since = ago(Some(since_s), now_s);
            let _ = write!(line, "; {count} taken over from {}, since {since}", shown(from));
        }
        all.push(line);
    }
    all.iter().map(|line| format!("               {line}\n")).collect()
}

/// What the engine has to which a part sends, and what waits for it.
fn sent(account: &ServiceAccount, part: &str) -> String {
    let Some(name) = part.strip_prefix("send.") else { return String::new() };
    // Names are unique, whatever is sent.
    let text = [&account.recordings, &account.log_store].into_iter().flatten().find_map(|folder| {
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

/// How long ago a time is; an unknown one is now.
fn ago(at_s: Option<i64>, now_s: i64) -> String {
    span(now_s - at_s.unwrap_or(now_s))
}

/// A time that has passed.
fn span(seconds: i64) -> String {
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
    use service_account::DeviceOwner;

    use super::*;

    #[test]
    fn pollers_that_share_devices_are_below_their_part() {
        let folder = tempfile::tempdir().unwrap();
        let owner = |poller: &str, from: Option<&str>| DeviceOwner {
            poller: poller.into(),
            since_s: 70,
            from: from.map(Into::into),
        };
        let known = SharedPollers {
            poller: "east".into(),
            place: "the bucket b of h:1".into(),
            at_s: 95,
            unusable: Some((96, "no\u{1b} answer".into())),
            there: [("east".into(), 40), ("west".into(), -3_500)].into(),
            silent: [("south".into(), 69)].into(),
            devices: [
                ("r1:161".into(), owner("east", Some("south"))),
                ("r2:161".into(), owner("east", None)),
                ("r3:161".into(), owner("west", None)),
            ]
            .into(),
        };
        known.write(&folder.path().join("poll-h.pollers.json")).unwrap();
        let poll = PartAccount { name: "poll".into(), since_s: Some(98), ..PartAccount::default() };
        let account = ServiceAccount {
            recordings: Some(folder.path().into()),
            parts: vec![poll],
            ..ServiceAccount::default()
        };
        let status = ServiceStatus { account, alerts: Ok(Vec::new()) };
        let wanted = "\
poll           waits since 2 s: 
               shares devices by the bucket b of h:1, as of 5 s ago:
               cannot use it since 4 s: no\\x1b answer
               east (here): 2 devices, since 1 min; 1 taken over from south, since 30 s
               south: 0 devices, silent since 31 s
               west: 1 devices, since 1 h 0 min
";
        let text = status.text(100);
        assert!(text.ends_with(wanted), "{text}");
        assert_eq!(status.json()["pollers"][0]["devices"]["r1:161"]["from"], "south");
    }

    #[test]
    fn an_account_is_shown_in_lines() {
        let part = |name: &str, phase, since_s| PartAccount {
            name: name.to_owned(),
            phase,
            since_s: Some(since_s),
            ..PartAccount::default()
        };
        let why = Some("full".to_owned());
        let last_error = Some((4, "it ended".to_owned()));
        let account = ServiceAccount {
            pid: Some(7),
            started_s: Some(0),
            folder: Some("/d".to_owned()),
            full_since_s: Some(40),
            refused: Some((90, "a:1:2: x\na:2:1: y".to_owned())),
            parts: vec![
                PartAccount { why, ..part("record", PartPhase::Waits, 40) },
                PartAccount {
                    pid: Some(9),
                    failed: 2,
                    last_error,
                    unwritten: Some((70, "no space".to_owned())),
                    executed: Some("another file".to_owned()),
                    ..part("page", PartPhase::Runs, 5)
                },
                PartAccount { next_s: Some(106), failed: 4, ..part("poll", PartPhase::Pauses, 98) },
            ],
            ..ServiceAccount::default()
        };
        let firing = json!({ "rule": "busy", "labels": "disk=a\u{1b}", "value": 2.5, "from_ms": 40_500,
                             "has_data": false });
        let mut status = ServiceStatus { account, alerts: Ok(vec![firing]) };
        let wanted = "\
service        process 7, since 1 min; configuration: none: the defaults
data           /d
disk           nearly full since 1 min: nothing new is written
configuration  refused 10 s ago, the old one is in force:
               a:1:2: x
               a:2:1: y
fires          busy: value 2.5, disk=a\\x1b, without data, since 1 min
record         waits since 1 min: full
page           runs since 1 min, process 9; failed 2 times, last 1 min ago: it ended; not written since 30 s: no space; is executed, and shares no memory: another file
poll           failed 2 s ago, starts again in 6 s
";
        assert_eq!(status.text(100), wanted);
        assert_eq!(status.json()["alerts"][0]["value"], 2.5);
        status.alerts = Err("cannot read a".to_owned());
        assert!(status.text(100).contains("\nalerts         cannot read a\nrecord "));
        assert_eq!([span(-1), span(3_700), span(90_000)], ["0 s", "1 h 1 min", "1 d 1 h"]);
    }
}
