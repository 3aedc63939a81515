//! The journal of another machine, by the real `systemd-journal-remote`, and read by `journalctl`.

use std::process::Command;

use serde_json::Value;
use testkit::JournalRemote;

use crate::logs::{Programs, sender, stored};
use crate::proxy::{Fate, Proxy};

/// The entries of a journal, as JSON.
fn entries(journal: &JournalRemote) -> Vec<Value> {
    let mut show = Command::new("journalctl");
    show.args(["--output=json", "--all", "--no-pager", "--file"]).arg(journal.file());
    let shown = show.output().unwrap();
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_journal_has_every_record() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 8);
    let Some(journal) = JournalRemote::start() else { return };
    // Some requests do not arrive.
    let proxy = Proxy::with(journal.address(), |number| match number {
        0 => Fate::Answered("503 Service Unavailable"),
        2 => Fate::Lost,
        _ => Fate::Arrives,
    });
    let to = format!("journal=http://{}", proxy.address);
    assert!(sender(folder.path(), &to).run(&mut |_| true, &mut |_| ()).unwrap());
    let (stored, entries) = (stored(folder.path()), entries(&journal));
    assert!(stored.len() > 100, "{}", stored.len());
    assert_eq!(stored.len(), entries.len());
    for (line, entry) in stored.iter().zip(&entries) {
        let record: Value = serde_json::from_str(line).unwrap();
        for (name, field) in [
            ("message", "MESSAGE"),
            ("host", "_HOSTNAME"),
            ("process", "SYSLOG_IDENTIFIER"),
            ("logger", "WHIT_LOGGER"),
            ("level", "WHIT_LEVEL"),
            ("file", "CODE_FILE"),
        ] {
            assert_eq!(record[name], entry[field], "{line}: {entry}");
        }
        for (name, field) in [("pid", "_PID"), ("sequence", "WHIT_SEQUENCE")] {
            assert_eq!(record[name].to_string(), entry[field].as_str().unwrap(), "{line}");
        }
        let time_ns: u64 = entry["WHIT_TIME_NANOSECONDS"].as_str().unwrap().parse().unwrap();
        let nanoseconds = format!(".{:09}Z", time_ns % 1_000_000_000);
        assert!(record["time"].as_str().unwrap().ends_with(&nanoseconds), "{line}: {entry}");
    }
}
