//! `RRDHWRRAs` and `HWThresh…`: failures of forecasts are found, and their programs run, when MRTG
//! does it.

use std::process::Command;

use crate::beside_mrtg::cached;
use crate::beside_mrtg::site::{BEGIN_S, Site, assert_lines};

/// They follow the eight archives that each database has.
const ARCHIVES: &str = "RRA:HWPREDICT:100:0.5:0.1:10:10 RRA:SEASONAL:10:0.5:9 RRA:DEVSEASONAL:10:0.5:9 \
                        RRA:DEVPREDICT:100:11 RRA:FAILURES:100:1:3:11";

fn config(more: &str) -> String {
    let mut text = format!("LogFormat: rrdtool\n{more}\n");
    for (name, bounds) in [
        ("most", "HWThreshMaxI[most]: 0\nHWThreshMaxO[most]: 0"),
        ("least", "HWThreshMinI[least]: 1\nThreshMaxI[least]: 1000"),
        ("none", "ThreshMaxO[none]: 60%"),
    ] {
        text.push_str(&format!(
            "Target[{name}]: `cat FOLDER/value; echo 7`\nTitle[{name}]: x\nOptions[{name}]: gauge\n\
             MaxBytes[{name}]: 1000000\nRRDHWRRAs[{name}]: {ARCHIVES}\n{bounds}\n"
        ));
        for kind in ["Thresh", "HWThresh"] {
            for direction in ["I", "O"] {
                text.push_str(&format!(
                    "{kind}Prog{direction}[{name}]: FOLDER/note\n\
                     {kind}ProgOK{direction}[{name}]: FOLDER/note\n"
                ));
            }
            text.push_str(&format!("{kind}Desc[{name}]: about {name}\n"));
        }
    }
    text
}

/// A program that notes its arguments and its environment.
pub(crate) fn write_note(site: &Site) {
    for side in ["mrtg", "whit"] {
        let path = site.path(side).join("note");
        let script =
            "#!/bin/sh\necho \"$@ ($THRESH_DESC, $HWTHRESH_DESC)\" >>\"$(dirname \"$0\")/notes\"\n";
        testkit::write_program(&path, script).unwrap();
        std::fs::create_dir_all(site.path(side).join("state")).unwrap();
    }
}

pub(crate) fn set(site: &Site, value: i64) {
    for side in ["mrtg", "whit"] {
        std::fs::write(site.path(side).join("value"), format!("{value}\n")).unwrap();
    }
}

/// Thirty readings of a quiet season, into both sides' databases.
fn prefill(site: &Site) {
    for side in ["mrtg", "whit"] {
        for name in ["most", "least", "none"] {
            let mut command = Command::new("rrdtool");
            command.arg("update").arg(site.path(side).join(format!("data/{name}.rrd")));
            let reading = |step: i64| format!("{}:{}:7", BEGIN_S + 300 * step, 100 + step % 10);
            command.args((1..=30).map(reading));
            assert!(command.status().unwrap().success());
        }
    }
}

#[test]
fn failures_of_forecasts_are_acted_on_as_by_mrtg() {
    let Some(mut site) = Site::new() else { return };
    write_note(&site);
    let cached = "RRDCached: unix:FOLDER/socket";
    for (theirs, more) in
        [("", ""), ("ThreshDir: FOLDER/state", "ThreshDir: FOLDER/state"), ("", cached)]
    {
        for side in ["mrtg", "whit"] {
            std::fs::remove_dir_all(site.path(side).join("data")).unwrap();
            std::fs::create_dir(site.path(side).join("data")).unwrap();
        }
        site.configure_each(&config(theirs), &config(more));
        let daemon = (more == cached).then(|| cached::start(&site.path("whit"))).flatten();
        let flush = |site: &Site| {
            if daemon.is_some() {
                let names = ["most", "least", "none"].map(|name| format!("{name}.rrd"));
                cached::flush(&site.path("whit"), &names);
            }
        };
        if more == cached && daemon.is_none() {
            continue;
        }
        for (round, value) in (0..).zip([100, 101, 5_000, 9_000, 100, 100, 100]) {
            set(&site, value);
            let time_s = BEGIN_S + 300 * if round == 0 { 0 } else { 30 + round };
            let (theirs, code) = site.mrtg(time_s);
            let (ours, report) = site.whit(time_s);
            assert_eq!((code, report.unknown_count), (0, 0), "{theirs} {ours:?}");
            if round == 0 {
                flush(&site);
                prefill(&site);
            }
            let notes = |side: &str| {
                let path = site.path(side).join("notes");
                let notes = std::fs::read_to_string(path).unwrap_or_default();
                // MRTG goes through a hash: Thresh and HWThresh come in any order.
                let mut lines: Vec<_> = notes.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(notes("mrtg"), notes("whit"), "{more}: round {round}: {theirs} {ours:?}");
        }
        flush(&site);
        let notes = std::fs::read_to_string(site.path("whit/notes")).unwrap();
        for wanted in ["most 0 1 about most", "least 1 0 about least", "least 1000 "] {
            assert!(notes.contains(wanted), "{wanted}: {notes}");
        }
        // Where a season is smoothed comes from the file's name.
        let data = |side: &str| {
            let text = site.data(side, "most.rrd");
            let lines = text.lines().filter(|line| !line.contains("seasonal_smooth_idx"));
            lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        assert_lines(&data("mrtg"), &data("whit"), more);
    }
}
