//! Columns by GETBULK: the same values as by GET, in fewer and smaller requests; holes, rows that come
//! and go, devices that shorten answers, do not know GETBULK, lose packets or answer for others.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::sync::Arc;

use crate::common::{ask, device, is_full, now_ns, query, start};
use poll::ask::MergingAsker;
use poll::{Config, InterfaceSelector, SnmpOptions, SnmpVersion};
use snmp::{
    AuthenticationProtocol, KeyExtension, PrivacyProtocol, SessionCounts, UsmSecret, UsmUser,
};
use snmp_simulator::{Agent, AgentDevice, AgentFaults, AgentThread, Mib, MibValue};
use testkit::Snmpd;

/// A configuration of interfaces of some devices.
fn config(agent: &AgentThread, versions: &[SnmpVersion], interfaces: &[u32]) -> Config {
    let mut config = Config::default();
    config.global.interval_s = 300;
    for (index, version) in versions.iter().enumerate() {
        let mut device = device(agent.address(index as u32), *version);
        let word = || Some("a long password".to_owned());
        device.options = SnmpOptions {
            user: Some("me".into()),
            authentication_protocol: Some("sha256".into()),
            authentication_password: word(),
            privacy_protocol: Some("aes".into()),
            privacy_password: word(),
            ..SnmpOptions::default()
        };
        config.devices.push(device);
        let selectors = interfaces.iter().map(|number| InterfaceSelector::Number(*number));
        config.queries.extend(selectors.map(|one| query(index, &one)));
    }
    config
}

fn user() -> UsmUser {
    let word = || UsmSecret::Password(b"a long password".to_vec());
    let user = UsmUser::new(b"me").unwrap();
    let user = user.with_authentication(AuthenticationProtocol::Sha256, word()).unwrap();
    user.with_privacy(PrivacyProtocol::Aes128, KeyExtension::Blumenthal, word()).unwrap()
}

/// A round: how many queries are full, and what was sent.
fn round(asker: &mut MergingAsker, config: &Config) -> (usize, SessionCounts) {
    let before = asker.counts().unwrap_or_default();
    let answers = ask(asker, config).0;
    let full = answers.iter().filter(|one| is_full(one)).count();
    let mut counts = asker.counts().unwrap();
    counts.requests -= before.requests;
    counts.bytes -= before.bytes;
    (full, counts)
}

/// Interfaces whose counters stand still, so that values of two rounds are the same.
fn still(device: &mut AgentDevice) {
    let objects = device.mib.objects().iter().map(|one| {
        let mut one = one.clone();
        if let MibValue::Counter32(rate, _) = &mut one.value {
            *rate = 0.0;
        }
        one
    });
    device.mib = Arc::new(Mib::new(objects.collect()));
}

#[test]
fn all_versions_get_the_same_values_and_bulk_is_smaller() {
    let agent = start(3, 98, |_, device| {
        still(device);
        device.users.push(user());
    });
    let versions = [SnmpVersion::V1, SnmpVersion::V2c, SnmpVersion::V3];
    let interfaces: Vec<u32> = (1..=98).collect();
    let mut values = Vec::new();
    let mut sent = Vec::new();
    for (index, version) in versions.into_iter().enumerate() {
        let mut config = config(&agent, &versions, &interfaces);
        config.queries.retain(|query| query.device() == Some(index));
        let mut asker = MergingAsker::new(1, now_ns);
        let all: Vec<SessionCounts> = (0..4).map(|_| round(&mut asker, &config).1).collect();
        let (answers, said) = ask(&mut asker, &config);
        assert!(answers.iter().all(is_full), "{said:?}");
        let known: Vec<_> = answers.into_iter().map(|one| one.values).collect();
        values.push(known);
        println!(
            "{version:?}: {:?}",
            all.iter().map(|one| (one.requests, one.bytes)).collect::<Vec<_>>()
        );
        sent.push(all[3]);
    }
    assert!(values[0] == values[1] && values[1] == values[2]);
    // Two objects of 98 interfaces, and two of the system.
    assert!(sent[1].requests <= sent[0].requests, "{sent:?}");
    assert!(sent[1].bytes * 100 < sent[0].bytes * 62, "{sent:?}");
}

#[test]
fn holes_are_learned_and_cost_little() {
    let agent = start(3, 60, |_, _| {});
    // A few are left out, a block of them, every second one.
    let lists: [Vec<u32>; 3] = [
        (1..=60).filter(|row| ![7, 23, 41].contains(row)).collect(),
        (1..=20).chain(45..=60).collect(),
        (1..=60).step_by(2).collect(),
    ];
    for list in lists {
        let mut asker = MergingAsker::new(1, now_ns);
        let config = config(&agent, &[SnmpVersion::V2c], &list);
        let mut requests = Vec::new();
        for _ in 0..8 {
            let (full, counts) = round(&mut asker, &config);
            assert_eq!(full, list.len());
            requests.push((counts.requests, counts.bytes));
        }
        println!("{} rows: {requests:?}", list.len());
        // By GET, of 52 objects at most, these are two or three requests.
        let get = (2 * list.len() + 2).div_ceil(50) as u64;
        assert!(requests[7].0 <= get * 5 / 4 + 4, "{requests:?}");
        // Nothing is asked twice once the holes are known.
        assert_eq!(requests[6].0, requests[7].0, "{requests:?}");
        assert!(requests[7].1 <= requests[0].1 + requests[0].1 / 20, "{requests:?}");
    }
}

#[test]
fn rows_that_go_and_come_are_asked_by_get() {
    let agent = start(1, 40, |_, _| {});
    let list: Vec<u32> = (1..=40).collect();
    let config = config(&agent, &[SnmpVersion::V2c], &list);
    let mut asker = MergingAsker::new(1, now_ns);
    assert_eq!(round(&mut asker, &config).0, 40);
    let whole = agent.with(|agent, _| {
        let device = agent.device_mut(Agent::address(0)).unwrap();
        let whole = Arc::clone(&device.mib);
        let objects = whole.objects().iter().filter(|one| {
            let last = one.oid.as_ref().sub_identifiers().last();
            ![Some(5), Some(30)].contains(&last)
        });
        device.mib = Arc::new(Mib::new(objects.cloned().collect()));
        whole
    });
    let (answers, said) = ask(&mut asker, &config);
    let missing: Vec<usize> = (0..40).filter(|place| !is_full(&answers[*place])).collect();
    assert_eq!(missing, [4, 29], "{said:?}");
    agent.with(|agent, _| agent.device_mut(Agent::address(0)).unwrap().mib = whole);
    assert_eq!(round(&mut asker, &config).0, 40);
    let before = asker.counts().unwrap().requests;
    assert_eq!(round(&mut asker, &config).0, 40);
    assert!(asker.counts().unwrap().requests - before <= 3);
}

/// The CPU time of a process or thread, in µs.
fn cpu_us(path: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() / 1_000
}

#[test]
fn a_real_agent_gives_the_same_by_get_and_by_getbulk() {
    let Some(agent) = Snmpd::start("") else { return };
    // All interfaces that it has: `lo` at least, and as many as the namespace has.
    let count = std::fs::read_dir("/sys/class/net").unwrap().count();
    let numbers: Vec<u32> = std::fs::read_dir("/sys/class/net")
        .unwrap()
        .map(|one| std::fs::read_to_string(one.unwrap().path().join("ifindex")).unwrap())
        .map(|text| text.trim().parse().unwrap())
        .collect();
    let rounds = if count > 50 { 300 } else { 10 };
    for turn in 0..3 {
        for version in [SnmpVersion::V1, SnmpVersion::V2c] {
            let mut config = Config::default();
            config.global.interval_s = 300;
            config.devices.push(device(agent.address(), version));
            let selectors = numbers.iter().map(|number| InterfaceSelector::Number(*number));
            config.queries.extend(selectors.map(|one| query(0, &one)));
            let mut asker = MergingAsker::new(turn, now_ns);
            (0..10).for_each(|_| drop(ask(&mut asker, &config)));
            let paths = ["/proc/thread-self/schedstat".to_owned(), agent.schedstat()];
            let before = paths.each_ref().map(|path| cpu_us(path));
            let counts = asker.counts().unwrap();
            for _ in 0..rounds {
                let (answers, said) = ask(&mut asker, &config);
                let known = answers.iter().filter(|one| one.values.iter().all(Option::is_some));
                assert_eq!(known.count(), count, "{said:?}");
            }
            let [own, theirs] =
                [0, 1].map(|place| (cpu_us(&paths[place]) - before[place]) / rounds);
            let after = asker.counts().unwrap();
            println!(
                "{count} interfaces, {version:?}: {} requests, {} bytes, {own} µs, agent {theirs} µs",
                (after.requests - counts.requests) / rounds,
                (after.bytes - counts.bytes) / rounds,
            );
        }
    }
}

#[test]
fn faults_of_all_kinds_leave_right_values() {
    let all = [
        AgentFaults { varbinds_max: 7, ..AgentFaults::default() },
        AgentFaults { answer_bytes_max: 300, ..AgentFaults::default() },
        AgentFaults { silent_above: 9, ..AgentFaults::default() },
        AgentFaults { is_without_bulk: true, ..AgentFaults::default() },
        AgentFaults { delay_ns: 5_000_000, ..AgentFaults::default() },
        AgentFaults { lost_permille: 150, ..AgentFaults::default() },
        AgentFaults { wrong_id_permille: 150, ..AgentFaults::default() },
        AgentFaults { wrong_source_permille: 150, ..AgentFaults::default() },
        AgentFaults { garbage_permille: 150, ..AgentFaults::default() },
    ];
    let agent = start(9, 40, |index, device| {
        still(device);
        device.faults = all[index as usize].clone();
    });
    let list: Vec<u32> = (1..=40).collect();
    let mut config = config(&agent, &[SnmpVersion::V2c; 9], &list);
    for device in &mut config.devices {
        // Many tries, so that lost packets are not taken for dead devices.
        (device.timeout_s, device.retries) = (0.2, 6);
    }
    let mut asker = MergingAsker::new(1, now_ns);
    for number in 0..4 {
        let (answers, said) = ask(&mut asker, &config);
        for (place, answer) in answers.iter().enumerate() {
            let (fault, row) = (place / 40, place % 40 + 1);
            // The counters of the agent's interfaces.
            let expected = [7 * row, 3 * row].map(|value| Some(value.to_string().into_bytes()));
            assert_eq!(answer.values, expected, "round {number}, fault {fault}: {said:?}");
        }
    }
}
