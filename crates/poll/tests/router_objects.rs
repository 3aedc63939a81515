//! `RouterUptime` and `RouterName` beside mrtg: what the pages say of two real agents.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::path::Path;
use std::process::Command;

use crate::common::now_ns;
use poll::ask::MergingAsker;
use poll::round::{RoundSettings, Rounds};
use poll::{Config, LoadEnvironment};
use testkit::{Snmpd, is_installed};

const UPTIME: &str = "1.3.6.1.2.1.1.3.0";
const CONTACT: &str = "1.3.6.1.2.1.1.4.0";
const LOCATION: &str = "1.3.6.1.2.1.1.6.0";

fn text(folder: &Path, one: &str, other: &str) -> String {
    let counter = "1.3.6.1.2.1.11.1.0&1.3.6.1.2.1.11.2.0";
    let (first, both) =
        (format!("{counter}:{one}"), format!("{counter}:{one} + {counter}:{other}"));
    let targets = [
        ("plain", &first, String::new()),
        ("uptime_there", &first, format!("RouterUptime[uptime_there]: {UPTIME}:{other}")),
        ("uptime_object", &first, format!("RouterUptime[uptime_object]: {LOCATION}")),
        ("uptime_name", &first, "RouterUptime[uptime_name]: sysLocation".to_owned()),
        ("name_object", &first, format!("RouterName[name_object]: {CONTACT}")),
        ("name_there", &first, format!("RouterName[name_there]: {LOCATION}:{other}")),
        ("missing", &first, "RouterUptime[missing]: 1.3.6.1.2.1.1.77.0".to_owned()),
        ("no_name", &first, "RouterName[no_name]: 1.3.6.1.2.1.1.77.0".to_owned()),
        (
            "both",
            &both,
            format!("RouterUptime[both]: {UPTIME}:{other}\nRouterName[both]: {CONTACT}"),
        ),
        ("both_named", &both, format!("RouterName[both_named]: {CONTACT}:{other}")),
        ("both_plain", &both, String::new()),
        ("hidden", &first, format!("RouterUptime[hidden]: {UPTIME}\nOptions[hidden]: noinfo")),
    ];
    let mut text = format!("WorkDir: {}\nMaxBytes[_]: 1000\nTitle[_]: A title\n", folder.display());
    for (name, target, lines) in targets {
        text.push_str(&format!("Target[{name}]: {target}\n{lines}\n"));
    }
    text
}

/// The sentence of a page, with 0 for each digit of a time.
fn sentence(folder: &Path, name: &str) -> String {
    let page = std::fs::read_to_string(folder.join(format!("{name}.html"))).unwrap();
    let begin = page.find("The statistics were last updated").unwrap();
    let rest = &page[begin..];
    let rest = &rest[rest.find("</strong>").unwrap()..rest.find("</p>").unwrap()];
    let digits = rest.replace(|c: char| c.is_ascii_digit(), "0");
    digits.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_say_what_mrtg_says() {
    if !is_installed("mrtg", "mrtg") {
        return;
    }
    let of = |name: &str| {
        Snmpd::start(&format!("sysName {name}\nsysContact who of {name}\nsysLocation at {name}"))
    };
    let (Some(one), Some(other)) = (of("alpha"), of("beta")) else { return };
    let place =
        |agent: &Snmpd| format!("public@{}:{}::::2", agent.address().ip(), agent.address().port());
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let configs = folders.each_ref().map(|folder| {
        let path = folder.path().join("a.cfg");
        std::fs::write(&path, text(folder.path(), &place(&one), &place(&other))).unwrap();
        path
    });
    let loading = Config::load(&configs[0], &LoadEnvironment::default());
    let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
    let mut rounds = Rounds::new(RoundSettings {
        environment: Vec::new(),
        config_name: "a.cfg".into(),
        is_log_only: false,
        time_zone: jiff::tz::TimeZone::UTC,
        own_name: "box".into(),
    });
    let mut asker = MergingAsker::new(7, now_ns);
    let mut said = Vec::new();
    rounds.round(&config, &mut asker, &|| 1_700_000_000_000_000_000, &mut |line| said.push(line));
    // One request to each device for all of it.
    assert!(asker.counts().unwrap().requests <= 3, "{:?}", asker.counts());
    let mut command = Command::new("mrtg");
    command.arg(&configs[1]).env("LANG", "C").env("LC_ALL", "C").env("TZ", "UTC");
    let output = command.output().unwrap();
    let theirs = String::from_utf8_lossy(&output.stderr);
    for target in &config.targets {
        let sentences = folders.each_ref().map(|folder| sentence(folder.path(), &target.name));
        println!("{}: {}", target.name, sentences[1]);
        assert_eq!(sentences[0], sentences[1], "{}: {said:?} {theirs}", target.name);
    }
}

#[test]
fn an_object_without_a_device_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cfg");
    let text = format!(
        "WorkDir: {}\nMaxBytes[_]: 1\nTitle[_]: A\nTarget[a]: 1:public@10.0.0.1 + 1:public@10.0.0.2\n\
         RouterUptime[a]: {UPTIME}\nTarget[b]: 1:public@10.0.0.1\nRouterName[b]: noSuchName\n\
         Target[c]: 1:public@10.0.0.1\nRouterUptime[c]: {UPTIME}:nowhere\n",
        folder.path().display()
    );
    std::fs::write(&path, text).unwrap();
    let loading = Config::load(&path, &LoadEnvironment::default());
    let said: Vec<String> = loading.problems.iter().map(ToString::to_string).collect();
    for part in ["not of one device", "no object noSuchName", "names no community@host"] {
        assert!(said.iter().any(|line| line.contains(part)), "{part}: {said:?}");
    }
    assert!(loading.config.is_some(), "{said:?}");
}
