//! The account of the service: how it and each of its parts are, in a file that the service writes when
//! something changes, and that alerts, the page and `whit watch --status` read.  `targets.rs` is the
//! account of a poller: its targets, and why one could not be read, `pollers.rs` of those it shares devices
//! with; `writing.rs` is what a part says of data that it cannot write.
//!
//! The file is one object of JSON; its keys are in this file alone.  A reader takes at most
//! [`ACCOUNT_BYTES_MAX`] bytes and [`PARTS_MAX`] parts of it, and leaves out what is not as it should be:
//! the service of another version may have written it.  Uses no crate of whit.  Begin with [`ServiceAccount`].

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

mod pollers;
mod targets;
mod writing;

pub use pollers::{
    DeviceOwner, POLLERS_ENDING, SharedPollers, pollers_beside, pollers_files, read_pollers,
};
pub use targets::{
    PolledTarget, TARGETS_ENDING, TargetFailure, read_targets, targets_beside, write_targets,
};
pub use writing::{NOT_WRITTEN, WRITTEN_AGAIN, WritingNews};

/// The name of the file in the folder of the service's state.
pub const ACCOUNT_FILE: &str = "parts.json";
/// Most bytes of an account: the parts that it may have, each with two of the longest lines that a part
/// may say, fill it.
pub const ACCOUNT_BYTES_MAX: u64 = 1 << 20;
/// Most parts of an account: a service has seven, and one for each engine that it sends to.
pub const PARTS_MAX: usize = 128;
/// Most processes of a part that are known.
const RUNS_MAX: usize = 64;

/// A process: its id, and when it started, in ticks since boot.
pub type ServiceRun = (u32, u64);

/// Something that went wrong: when, in seconds since 1970, and what.
pub type AccountFault = (i64, String);

/// How a service is.  Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAccount {
    /// The id of the process.
    pub pid: Option<u32>,
    /// When it was started.
    pub started_s: Option<i64>,
    /// The file of its configuration; none for the defaults.
    pub configuration: Option<String>,
    /// The configuration that was refused last, if the one in force is older.
    pub refused: Option<AccountFault>,
    /// The folder of its data.
    pub folder: Option<String>,
    /// The folder of its recordings.
    pub recordings: Option<PathBuf>,
    /// The folder of its store of log records.
    pub log_store: Option<PathBuf>,
    /// The folder of the states of its alerts; none if they are off.
    pub alerts: Option<PathBuf>,
    /// Since when its disk has too little room.
    pub full_since_s: Option<i64>,
    /// The process of the service itself, in the form that parts have.
    pub runs: Vec<ServiceRun>,
    /// The parts of the service.
    pub parts: Vec<PartAccount>,
}

/// What a part does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartPhase {
    /// It does not run, and starts as soon as nothing is in the way.
    #[default]
    Waits,
    /// The process of the part runs.
    Runs,
    /// It has failed and starts again.
    Pauses,
}

impl PartPhase {
    /// The word for the phase in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PartPhase::Waits => "waits",
            PartPhase::Runs => "runs",
            PartPhase::Pauses => "pauses",
        }
    }
}

/// How a part is.  Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartAccount {
    /// The name of the part.
    pub name: String,
    /// What it does.
    pub phase: PartPhase,
    /// When it began to do this.
    pub since_s: Option<i64>,
    /// The process id, if it runs.
    pub pid: Option<u32>,
    /// Why it waits.
    pub why: Option<String>,
    /// The latest line that it said, if that tells how it is.
    pub says: Option<String>,
    /// How often it has failed since the service began.
    pub failed: u64,
    /// Since when it is not well.
    pub failing_since_s: Option<i64>,
    /// When it starts again.
    pub next_s: Option<i64>,
    /// The latest processes of the part, the newest one last.
    pub runs: Vec<ServiceRun>,
    /// The latest failure of the part.
    pub last_error: Option<AccountFault>,
    /// Since when, and why, it cannot write what it should; none if it can.
    pub unwritten: Option<AccountFault>,
    /// Why its process executes the program and shares no memory with the service; none if it was forked.
    pub executed: Option<String>,
}

impl ServiceAccount {
    /// Reads an account.
    ///
    /// # Errors
    /// If the file cannot be read, is longer than [`ACCOUNT_BYTES_MAX`], or is no object of JSON.
    pub fn read(path: &Path) -> io::Result<Self> {
        match ServiceAccount::read_once(path) {
            // The service writes into a file that a reader may still have open: it is opened anew.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                ServiceAccount::read_once(path)
            }
            read => read,
        }
    }

    fn read_once(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(path)?.take(ACCOUNT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        if bytes.len() as u64 > ACCOUNT_BYTES_MAX {
            return Err(invalid(format!("it has more than {ACCOUNT_BYTES_MAX} bytes")));
        }
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        match value.is_object() {
            true => Ok(ServiceAccount::of(&value)),
            false => Err(invalid("it is no account of a service".to_owned())),
        }
    }

    fn of(value: &Value) -> Self {
        let parts = value["parts"].as_array().into_iter().flatten();
        ServiceAccount {
            pid: pid(&value["pid"]),
            started_s: value["started"].as_i64(),
            configuration: text(&value["configuration"]),
            refused: fault(&value["refused"]),
            folder: text(&value["folder"]),
            recordings: path(&value["record.folder"]),
            log_store: path(&value["log.central.store"]),
            alerts: path(&value["alerts.folder"]),
            full_since_s: value["full_since"].as_i64(),
            runs: runs(&value["runs"]),
            parts: parts.filter_map(PartAccount::of).take(PARTS_MAX).collect(),
        }
    }

    /// The account as its file has it.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "pid": self.pid,
            "started": self.started_s,
            "configuration": self.configuration,
            "refused": self.refused.as_ref().map(fault_json),
            "folder": self.folder,
            "record.folder": self.recordings,
            "log.central.store": self.log_store,
            "alerts.folder": self.alerts,
            "full_since": self.full_since_s,
            "runs": self.runs,
            "parts": self.parts.iter().map(PartAccount::json).collect::<Vec<_>>(),
        })
    }
}

impl PartAccount {
    /// A part without a name is none.
    fn of(value: &Value) -> Option<Self> {
        let phases = [PartPhase::Runs, PartPhase::Pauses];
        let phase = phases.into_iter().find(|phase| value["state"] == phase.word());
        Some(PartAccount {
            name: text(&value["name"])?,
            phase: phase.unwrap_or_default(),
            since_s: value["since"].as_i64(),
            pid: pid(&value["pid"]),
            why: text(&value["why"]),
            says: text(&value["says"]),
            failed: value["failed"].as_u64().unwrap_or(0),
            failing_since_s: value["failing_since"].as_i64(),
            next_s: value["next"].as_i64(),
            runs: runs(&value["runs"]),
            last_error: fault(&value["last_error"]),
            unwritten: fault(&value["unwritten"]),
            executed: text(&value["executed"]),
        })
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "state": self.phase.word(),
            "since": self.since_s,
            "pid": self.pid,
            "why": self.why,
            "says": self.says,
            "failed": self.failed,
            "failing_since": self.failing_since_s,
            "next": self.next_s,
            "runs": self.runs,
            "last_error": self.last_error.as_ref().map(fault_json),
            "unwritten": self.unwritten.as_ref().map(fault_json),
            "executed": self.executed,
        })
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn path(value: &Value) -> Option<PathBuf> {
    value.as_str().map(PathBuf::from)
}

fn pid(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn fault(value: &Value) -> Option<AccountFault> {
    Some((value["at"].as_i64()?, text(&value["text"])?))
}

fn fault_json((at_s, text): &AccountFault) -> Value {
    json!({ "at": at_s, "text": text })
}

fn runs(value: &Value) -> Vec<ServiceRun> {
    let run = |run: &Value| Some((pid(&run[0])?, run[1].as_u64()?));
    value.as_array().into_iter().flatten().filter_map(run).take(RUNS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<ServiceAccount> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(ACCOUNT_FILE);
        std::fs::write(&path, text)?;
        ServiceAccount::read(&path)
    }

    #[test]
    fn an_account_is_read_as_it_was_written() {
        let part = PartAccount {
            name: "page".to_owned(),
            phase: PartPhase::Pauses,
            since_s: Some(5),
            failed: 2,
            runs: vec![(7, 8), (9, 10)],
            last_error: Some((4, "it ended".to_owned())),
            unwritten: Some((3, "full".to_owned())),
            executed: Some("another file".to_owned()),
            ..PartAccount::default()
        };
        let account = ServiceAccount {
            pid: Some(7),
            started_s: Some(1),
            refused: Some((3, "a\nb".to_owned())),
            alerts: Some("/d/alerts".into()),
            runs: vec![(7, 3)],
            parts: vec![part],
            ..ServiceAccount::default()
        };
        assert_eq!(read(&account.json().to_string()).unwrap(), account);
    }

    #[test]
    fn what_is_no_account_is_refused_and_what_is_wrong_in_one_is_left_out() {
        for text in ["", "[1", "[]", "7", "{", "{}x"] {
            assert!(read(text).is_err(), "{text}");
        }
        let long = format!("{{\"folder\":\"{}\"}}", "x".repeat(1 << 20));
        assert!(read(&long).unwrap_err().to_string().contains("more than"));
        assert_eq!(read("{\"pid\":-1,\"runs\":[[1],[2,3]],\"parts\":7}").unwrap().runs, [(2, 3)]);
        let many = vec![json!({ "name": "a", "state": 3, "pid": 1_u64 << 40 }); 1000];
        let parts = read(&json!({ "parts": many }).to_string()).unwrap().parts;
        assert_eq!(
            (parts.len(), parts[0].phase, parts[0].pid),
            (PARTS_MAX, PartPhase::Waits, None)
        );
    }
}
