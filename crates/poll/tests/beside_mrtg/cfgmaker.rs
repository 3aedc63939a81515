//! What cfgmaker writes of a real agent is accepted and polled, with the values that MRTG reads.

use std::process::Command;

use testkit::Snmpd;

use crate::beside_mrtg::rounds::{pass_lines, write_values};
use crate::beside_mrtg::site::{BEGIN_S, Site};

#[test]
fn configurations_of_cfgmaker_are_polled() {
    let Some(mut site) = Site::new() else { return };
    let lines = format!("sysName box.example.org\nsysLocation a room\n{}", pass_lines(&site));
    let Some(agent) = Snmpd::start(&lines) else { return };
    write_values(site.path("").as_path(), [11, 22, 33 << 32, 44 << 32]);
    let host = format!("public@{}", agent.address());
    // The loopback's counters are ours; it is commented out unless a filter wants it.
    let all: [&[&str]; 6] = [
        &["--if-filter=1", "--global=Options[_]: growright, bits"],
        &["--if-filter=1", "--ifref=name", "--ifdesc=name,descr", "--global=LogFormat: rrdtool"],
        &[
            "--if-filter=$default_iftype || $if_type == 24",
            "--ifref=descr",
            "--zero-speed=100000000",
        ],
        &["--ifref=ip", "--if-filter=$if_type == 24", "--global=NoMib2: yes", "--zero-speed=1000"],
        &["--no-down", "--show-op-down", "--ifref=nr", "--if-filter=1", "--subdirs=HOSTNAME"],
        &["--snmp-options=:::::2", "--if-filter=1", "--global=Interval: 10"],
    ];
    for options in all {
        let version = if options[0].starts_with("--snmp") { "" } else { ":::::2" };
        let device = match version {
            "" => host.clone(),
            _ => format!("{host}::::2"),
        };
        let output = Command::new("cfgmaker")
            .args(options)
            .args(["--zero-speed=10000000", "--noreversedns"])
            .arg(&device)
            .env("LANG", "C")
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{options:?}: {said}");
        // Debian's has a folder of the machine in it.
        let text = text.replace("\nWorkDir:", "\n# WorkDir:");
        assert!(text.contains("\nTarget["), "{options:?}: {text}\n{said}");
        for side in ["mrtg", "whit"] {
            std::fs::remove_dir_all(site.path(side).join("data")).unwrap();
            std::fs::create_dir(site.path(side).join("data")).unwrap();
        }
        site.configure(&text);
        let mut said = String::new();
        for round in 0..2 {
            let time_s = BEGIN_S + 600 * round;
            let (theirs, code) = site.mrtg(time_s);
            let (ours, report) = site.whit(time_s);
            said.push_str(&theirs);
            let is_known = (report.known_count > 0, report.unknown_count > 0);
            let expected = match code {
                0 => (true, false),
                91 => (true, true),
                _ => (false, true),
            };
            assert_eq!(is_known, expected, "{options:?}: {theirs} {ours:?} {text}");
        }
        let config = site.config();
        let of_loopback = |target: &&poll::PollTarget| {
            ["_1", "_lo", "_127.0.0.1"].iter().any(|end| target.name.ends_with(end))
        };
        let found: Vec<_> = config.targets.iter().filter(of_loopback).collect();
        assert!(!found.is_empty(), "{options:?}: {text}");
        let extension = match config.global.log_format {
            poll::LogFormat::Rrdtool => "rrd",
            poll::LogFormat::Rateup => "log",
        };
        for target in found {
            let name = format!("{}{}.{extension}", target.directory, target.name);
            site.assert_same(&name, &format!("{options:?}: {said}"));
        }
    }
}
