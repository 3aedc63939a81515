//! Interfaces that get other numbers while they are polled, beside mrtg: by name, description,
//! address, Ethernet address and type, with counters of 32 and of 64 bits, by a daemon and by a
//! program that is started for each round.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::set_clock::{alone, now_ns, pass};
use poll::ask::MergingAsker;
use poll::round::{RoundSettings, Rounds};
use poll::{Config, LoadEnvironment};
use snmp::Oid;
use snmp_simulator::{Agent, AgentDevice, AgentThread, Mib, MibObject, MibValue};
use testkit::is_installed;

/// An interface: what it is, its number, its description.
type Interface = (u32, u32, &'static str);

/// A device with these interfaces; counters stand still and are of one interface only.
fn mib(interfaces: &[Interface]) -> Arc<Mib> {
    let mut objects = Vec::new();
    let mut add = |numbers: &[u32], value: MibValue| {
        objects.push(MibObject { oid: Oid::new(numbers).unwrap(), value });
    };
    let octets = |text: &str| MibValue::Octets(text.as_bytes().to_vec());
    add(&[1, 3, 6, 1, 2, 1, 1, 1, 0], octets("a switch"));
    add(&[1, 3, 6, 1, 2, 1, 1, 3, 0], MibValue::UpTime);
    add(&[1, 3, 6, 1, 2, 1, 1, 5, 0], octets("switch"));
    for &(what, index, description) in interfaces {
        let number = i64::from(index);
        let mut cell = |column: u32, value| add(&[1, 3, 6, 1, 2, 1, 2, 2, 1, column, index], value);
        cell(1, MibValue::Integer(number));
        cell(2, octets(description));
        cell(3, MibValue::Integer(i64::from(100 + what)));
        cell(6, MibValue::Octets(vec![2, 0, 0, 0, 0xab, what as u8]));
        cell(10, MibValue::Counter32(0.0, 1_000 + what));
        cell(16, MibValue::Counter32(0.0, 2_000 + what));
        let mut cell =
            |column: u32, value| add(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, column, index], value);
        cell(1, octets(&format!("port {what} ")));
        cell(6, MibValue::Counter64(0.0, (1 << 40) + u64::from(what)));
        cell(10, MibValue::Counter64(0.0, (1 << 41) + u64::from(what)));
        let mut cell = |column: u32, value| {
            add(&[1, 3, 6, 1, 2, 1, 4, 20, 1, column, 10, 0, 0, what], value);
        };
        cell(1, MibValue::Address([10, 0, 0, what as u8].into()));
        cell(2, MibValue::Integer(number));
    }
    Arc::new(Mib::new(objects))
}

const ROUNDS: [&[Interface]; 5] = [
    &[(1, 1, "one"), (2, 2, "two"), (3, 3, "three"), (4, 4, "four"), (5, 5, "five")],
    // All have moved, two have exchanged their places.
    &[(1, 12, "one"), (2, 11, "two"), (3, 5, "three"), (4, 4, "four"), (5, 3, "five")],
    // Two are away, another has the number of one of them.
    &[(1, 12, "one"), (2, 5, "two"), (4, 4, "four"), (6, 11, "six")],
    // Two have the same description.
    &[(1, 1, "one"), (2, 2, "four"), (3, 3, "three"), (4, 4, "four"), (5, 5, "five")],
    &[(1, 1, "one"), (2, 2, "two"), (3, 3, "three"), (4, 4, "four"), (5, 5, "five")],
];

fn config(folder: &Path, agent: &AgentThread) -> String {
    let address = agent.address(0);
    let mut text = format!("WorkDir: {}\nMaxBytes[_]: 1000000\nTitle[_]: A\n", folder.display());
    let selectors: [(&str, &[&str]); 6] = [
        ("descr", &["\\one", "\\two", "\\three", "\\four", "\\five"]),
        ("name", &["#port\\ 1", "#port\\ 2", "#port\\ 3", "#port\\ 4", "#port\\ 5"]),
        ("ip", &["/10.0.0.1", "/10.0.0.2", "/10.0.0.3"]),
        ("mac", &["!02-00-00-00-ab-01", "!02-00-00-00-ab-02"]),
        ("type", &["%101", "%102"]),
        ("number", &["1", "4"]),
    ];
    for (kind, list) in selectors {
        for (number, selector) in list.iter().enumerate() {
            // Version 1 has 32 bits, version 2 has 64, unless it is told otherwise.
            for (width, version) in [("old", 1), ("wide", 2), ("narrow", 2)] {
                if width == "narrow" && kind != "name" {
                    continue;
                }
                let name = format!("{kind}_{number}_{width}");
                // Another device to whit and mrtg, which ask each once.
                let tries = if width == "narrow" { 3 } else { 2 };
                let place =
                    format!("public@{}:{}:2:{tries}::{version}", address.ip(), address.port());
                text.push_str(&format!("Target[{name}]: {selector}:{place}\n"));
                if width == "narrow" {
                    text.push_str(&format!("noHC[{name}]: yes\n"));
                }
            }
        }
    }
    text
}

/// The counters of the first line of each log file.
fn counters(folder: &Path, config: &Config) -> Vec<(String, String)> {
    let line = |name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.log"))).ok();
        let first = text.as_ref().and_then(|text| text.lines().next());
        let words = first.and_then(|line| line.split_once(' '));
        words.map_or("no file".to_owned(), |(_, counters)| counters.to_owned())
    };
    config.targets.iter().map(|target| (target.name.clone(), line(&target.name))).collect()
}

/// The counters of the interface that a target selects.
fn expected(target: &str) -> String {
    let mut words = target.split('_');
    let what: u64 = words.nth(1).unwrap().parse::<u64>().unwrap() + 1;
    match words.next() {
        Some("wide") => format!("{} {}", (1 << 40) + what, (1_u64 << 41) + what),
        _ => format!("{} {}", 1_000 + what, 2_000 + what),
    }
}

fn wall_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

#[test]
fn interfaces_are_followed_as_by_mrtg() {
    if !is_installed("mrtg", "mrtg") {
        return;
    }
    let _alone = alone();
    let mut agent = Agent::bind(0).unwrap();
    agent.add(Agent::address(0), AgentDevice::new(mib(ROUNDS[0])));
    let agent = AgentThread::start(agent, now_ns).unwrap();
    // mrtg's, a daemon's, that of a program for each round.
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let paths = folders.each_ref().map(|folder| {
        let path = folder.path().join("mrtg.cfg");
        std::fs::write(&path, config(folder.path(), &agent)).unwrap();
        path
    });
    let rounds = || {
        Rounds::new(RoundSettings {
            environment: Vec::new(),
            config_name: "mrtg.cfg".into(),
            is_log_only: true,
            time_zone: jiff::tz::TimeZone::UTC,
            own_name: "box".into(),
        })
    };
    let configs: Vec<Config> = paths[1..]
        .iter()
        .map(|path| {
            let loading = Config::load(path, &LoadEnvironment::default());
            loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems))
        })
        .collect();
    let mut kept = (MergingAsker::new(1, now_ns), rounds());
    let (mut compared, mut lost) = (0, Vec::new());
    for (number, interfaces) in ROUNDS.into_iter().enumerate() {
        agent.with(|agent, _| {
            agent.device_mut(Agent::address(0)).unwrap().mib = mib(interfaces);
        });
        let mut command = Command::new("mrtg");
        command.arg("--log-only").arg(&paths[0]).env("LANG", "C").env("LC_ALL", "C");
        command.output().unwrap();
        let mut said = Vec::new();
        kept.1.round(&configs[0], &mut kept.0, &wall_ns, &mut |line| said.push(line));
        let mut asker = MergingAsker::new(number as u64, now_ns);
        rounds().round(&configs[1], &mut asker, &wall_ns, &mut |_| {});
        let theirs = counters(folders[0].path(), &configs[0]);
        for (folder, config) in folders[1..].iter().zip(&configs) {
            for (ours, theirs) in counters(folder.path(), config).iter().zip(&theirs) {
                let is_known = !theirs.1.contains("-1");
                compared += usize::from(ours == theirs && is_known);
                if ours != theirs {
                    // mrtg loses the target that shows it that interfaces have moved.
                    lost.push(ours.0.clone());
                    assert_eq!(ours.1, expected(&ours.0), "round {number}: {theirs:?} {said:?}");
                    assert!(!is_known, "round {number}: {ours:?} {theirs:?} {said:?}");
                }
            }
        }
        // A new look at the interfaces of which one was not found is taken once a minute.
        pass(61_000_000_000);
        // Both write a second once only.
        std::thread::sleep(Duration::from_millis(1_050));
    }
    println!("{compared} pairs of counters, mrtg loses {lost:?}");
    assert!(compared > 200, "{compared} {lost:?}");
}
