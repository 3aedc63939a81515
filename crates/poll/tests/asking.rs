//! Asking many simulated devices and net-snmp's agent: few requests, right values, faults.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::sync::Arc;
use std::time::Instant;

use crate::common::{IN, ask, device, is_full, now_ns, query, start};
use poll::ask::MergingAsker;
use poll::round::Asker as _;
use poll::{
    Config, Device, InterfaceSelector, ObjectMethod, Query, SnmpOptions, SnmpQuery, SnmpVersion,
    Variable, VariableSource,
};
use snmp_simulator::{Agent, Mib, MibObject, MibValue};
use testkit::Snmpd;

/// How many devices a line is about.
fn devices(line: &str) -> usize {
    let (names, _) = line.rsplit_once(": ").unwrap_or_default();
    let (named, more) = names.split_once(" and ").unwrap_or((names, "0 more"));
    let more: usize = more.trim_end_matches(" more").parse().unwrap();
    named.split(", ").count() + more
}

#[test]
fn devices_with_faults_are_asked_as_they_accept() {
    let agent = start(50, 30, |index, device| match index % 5 {
        0 => device.faults.varbinds_max = 7,
        1 => device.faults.silent_above = 9,
        2 => device.faults.lost_permille = 100,
        3 => device.faults.is_dead = true,
        _ => {}
    });
    let mut config = Config::default();
    for index in 0..50 {
        let version = if index % 2 == 0 { SnmpVersion::V1 } else { SnmpVersion::V2c };
        config.devices.push(device(agent.address(index), version));
        for interface in 1..=30 {
            config.queries.push(query(index as usize, &InterfaceSelector::Number(interface)));
        }
    }
    let mut asker = MergingAsker::new(3, now_ns);
    for round in 0..3 {
        let before = asker.counts().map_or(0, |counts| counts.requests);
        let (answers, said) = ask(&mut asker, &config);
        for (number, answer) in answers.iter().enumerate() {
            match number / 30 % 5 {
                3 => assert_eq!(answer.values, [None, None]),
                2 => {}
                _ => assert!(is_full(answer), "{round} {number}: {answer:?} {said:?}"),
            }
        }
        // They may rest in the next rounds.
        let dead: usize =
            said.iter().filter(|line| line.contains("no answer")).map(|line| devices(line)).sum();
        let expected = if round == 0 { 10..15 } else { 0..15 };
        assert!(expected.contains(&dead), "{said:?}");
        let requests = asker.counts().unwrap().requests - before;
        println!("round {round}: {requests} requests");
        // One object at a time would be 2,480 requests.
        assert!(requests < if round == 0 { 600 } else { 320 }, "{requests}");
    }
}

#[test]
fn single_requests_have_one_object() {
    // Such an agent answers no other.
    let agent = start(2, 12, |_, device| device.faults.silent_above = 1);
    let mut config = Config::default();
    config.global.is_single_request = true;
    for (index, version) in [(0, SnmpVersion::V1), (1, SnmpVersion::V2c)] {
        // Nothing is asked twice, however slow this machine is.
        let patient = device(agent.address(index), version);
        config.devices.push(Device { timeout_s: 20.0, ..patient });
        for interface in 1..=12 {
            config.queries.push(query(index as usize, &InterfaceSelector::Number(interface)));
        }
    }
    let mut asker = MergingAsker::new(3, now_ns);
    let mut before = 0;
    for round in 0..2 {
        let (answers, said) = ask(&mut asker, &config);
        assert!(answers.iter().all(is_full), "{round}: {answers:?} {said:?}");
        let counts = agent.with(|agent, _| agent.counts());
        // In and out of 12 interfaces, uptime and name, of 2 devices.
        assert_eq!(counts.requests - before, 2 * (2 * 12 + 2), "{round}");
        assert_eq!(counts.varbinds, counts.requests, "{round}");
        before = counts.requests;
    }
}

#[test]
fn a_size_that_was_too_many_is_tried_again() {
    let agent = start(2, 20, |_, device| device.faults.varbinds_max = 7);
    let mut config = Config::default();
    for index in 0..2 {
        config.devices.push(device(agent.address(index), SnmpVersion::V2c));
        for interface in 1..=20 {
            config.queries.push(query(index as usize, &InterfaceSelector::Number(interface)));
        }
    }
    let mut asker = MergingAsker::new(3, now_ns);
    let mut requests = Vec::new();
    for round in 0..40 {
        if round == 4 {
            // One device accepts more from now on.
            agent.with(|agent, _| {
                agent.device_mut(Agent::address(0)).unwrap().faults.varbinds_max = usize::MAX;
            });
        }
        let before = asker.counts().map_or(0, |counts| counts.requests);
        let (answers, said) = ask(&mut asker, &config);
        assert!(answers.iter().all(is_full), "{round} {said:?}");
        requests.push(asker.counts().unwrap().requests - before);
    }
    println!("{requests:?}");
    // 42 objects: 6 requests of each device, then 1 of one; a try of more costs one or two.
    assert!(requests[3] <= 14, "{requests:?}");
    assert!(requests[30..].iter().all(|count| *count <= 9), "{requests:?}");
    assert!(requests[30..].contains(&7), "{requests:?}");
}

#[test]
fn a_dead_device_delays_no_answers_time() {
    let agent = start(2, 3, |index, device| device.faults.is_dead = index == 0);
    let devices = [0, 1].map(|index| device(agent.address(index), SnmpVersion::V2c));
    let queries = [0, 1].map(|index| query(index, &InterfaceSelector::Number(1)));
    let config =
        Config { devices: devices.to_vec(), queries: queries.to_vec(), ..Config::default() };
    let begun = Instant::now();
    let mut asker = MergingAsker::new(1, now_ns);
    let wall_ns = || i64::try_from(begun.elapsed().as_nanos()).unwrap();
    let answers = asker.ask(&config, &wall_ns, &mut |_| {});
    assert!(is_full(&answers[1]) && answers[0].values == [None, None], "{answers:?}");
    // The other has its time long before the two tries of 0.3 s end.
    let [dead_ms, other_ms] = [0, 1].map(|at| answers[at].time_ns / 1_000_000);
    assert!(dead_ms >= 600 && other_ms + 200 < dead_ms, "{answers:?}");
}

#[test]
fn a_repeated_request_delays_only_its_own_answers_time() {
    let agent = start(1, 2, |_, _| {});
    let devices = vec![device(agent.address(0), SnmpVersion::V2c)];
    let queries = [1, 2].map(|number| query(0, &InterfaceSelector::Number(number))).to_vec();
    let mut config = Config { devices, queries, ..Config::default() };
    config.global.is_single_request = true;
    config.global.is_without_mib2 = true;
    let mut asker = MergingAsker::new(1, now_ns);
    let wall_ns = || i64::try_from(now_ns()).unwrap();
    asker.ask(&config, &wall_ns, &mut |_| {});
    agent.with(|agent, _| {
        agent.device_mut(Agent::address(0)).unwrap().faults.lost_next = 1;
    });
    let answers = asker.ask(&config, &wall_ns, &mut |_| {});
    assert!(answers.iter().all(|one| one.values.iter().all(Option::is_some)), "{answers:?}");
    assert_eq!(asker.counts().unwrap().repeated, 1);
    // The first one's first object was asked for again after the others had come.
    assert!(answers[1].time_ns < answers[0].time_ns, "{answers:?}");
}

#[test]
fn interfaces_are_found_again_after_they_have_moved() {
    let agent = start(1, 9, |_, _| {});
    let mut config = Config::default();
    config.devices.push(device(agent.address(0), SnmpVersion::V2c));
    let selectors = [
        InterfaceSelector::Description("eth4".into()),
        InterfaceSelector::Name("port4".into()),
        InterfaceSelector::Address("10.0.0.4".into()),
        InterfaceSelector::Ethernet("02-00-00-00-00-04".into()),
        InterfaceSelector::Number(4),
    ];
    config.queries.extend(selectors.iter().map(|one| query(0, one)));
    config.queries.push(query(0, &InterfaceSelector::Description("eth99".into())));
    config.queries.push(query(0, &InterfaceSelector::Type("6".into())));
    let mut asker = MergingAsker::new(3, now_ns);
    let (answers, said) = ask(&mut asker, &config);
    assert!(answers[..5].iter().all(is_full), "{answers:?} {said:?}");
    assert_eq!(answers[5].values, [None, None]);
    assert!(said.iter().any(|line| line.contains("no such interface")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("several interfaces")), "{said:?}");
    let requests = asker.counts().unwrap().requests;
    ask(&mut asker, &config);
    assert_eq!(asker.counts().unwrap().requests, requests + 1);
    // Interface 4 is now 8, with other counters.
    agent.with(|agent, _| {
        let device = agent.device_mut(Agent::address(0)).unwrap();
        let objects = device.mib.objects().iter().map(|one| {
            let numbers: Vec<u32> = one.oid.as_ref().sub_identifiers().collect();
            let last = *numbers.last().unwrap();
            let value = match (&numbers[..numbers.len() - 1], last, &one.value) {
                (column, 8, _) if *column == IN => MibValue::Counter32(0.0, 808),
                (_, 4, MibValue::Octets(text)) if text.starts_with(b"eth") => {
                    MibValue::Octets(b"eth8".to_vec())
                }
                (_, 8, MibValue::Octets(text)) if text.starts_with(b"eth") => {
                    MibValue::Octets(b"eth4".to_vec())
                }
                _ => one.value.clone(),
            };
            MibObject { oid: one.oid.clone(), value }
        });
        device.mib = Arc::new(Mib::new(objects.collect()));
    });
    let (answers, said) = ask(&mut asker, &config);
    assert_eq!(answers[0].values[0].as_deref(), Some(&b"808"[..]), "{said:?}");
    assert_ne!(answers[4].values[0].as_deref(), Some(&b"808"[..]));
}

#[test]
fn a_missing_object_takes_no_other_with_it() {
    let agent = start(2, 5, |_, _| {});
    let mut config = Config::default();
    for (index, version) in [SnmpVersion::V1, SnmpVersion::V2c].into_iter().enumerate() {
        config.devices.push(device(agent.address(index as u32), version));
        for interface in [1, 77, 2, 78, 3] {
            config.queries.push(query(index, &InterfaceSelector::Number(interface)));
        }
    }
    let mut asker = MergingAsker::new(3, now_ns);
    let (answers, said) = ask(&mut asker, &config);
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(is_full(answer), number % 5 % 2 == 0, "{number} {answer:?}");
    }
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|line| line.matches("1.3.6.1.2.1.2.2.1.").count() == 4), "{said:?}");
}

#[test]
fn a_real_agent_is_asked_by_every_version_and_method() {
    let lines = "createUser me SHA-256 \"a long password\" AES \"another password\"\nrouser me priv\n\
        sysName the name";
    let Some(agent) = Snmpd::start(lines) else { return };
    let mut config = Config::default();
    let versions = [SnmpVersion::V1, SnmpVersion::V2c, SnmpVersion::V3];
    let system = |last: u32, method| {
        let id = [1, 3, 6, 1, 2, 1, 1].iter().copied().chain((last > 0).then_some(last)).collect();
        let source = VariableSource::Object { name: "".into(), id, method };
        Variable { source, interface: InterfaceSelector::None }
    };
    for (index, version) in versions.into_iter().enumerate() {
        let mut device = device(agent.address(), version);
        device.text = format!("{version:?}");
        device.options = SnmpOptions {
            user: Some("me".into()),
            authentication_protocol: Some("sha256".into()),
            authentication_password: Some("a long password".into()),
            privacy_protocol: Some("aes".into()),
            privacy_password: Some("another password".into()),
            ..SnmpOptions::default()
        };
        config.devices.push(device);
        let lo = InterfaceSelector::Description("lo".into());
        config.queries.push(query(index, &lo));
        let pairs = [
            [system(5, ObjectMethod::Next), system(0, ObjectMethod::Count)],
            [system(0, ObjectMethod::Walk(1)), system(5, ObjectMethod::Walk(0))],
        ];
        for variables in pairs {
            let text = String::new();
            let query =
                SnmpQuery { device: index, variables: variables.into(), conversion: None, text };
            config.queries.push(Query::Snmp(std::sync::Arc::new(query)));
        }
    }
    let mut asker = MergingAsker::new(3, now_ns);
    let (answers, said) = ask(&mut asker, &config);
    for one in answers.chunks(3) {
        assert_eq!(one[0].name.as_deref(), Some("the name"), "{said:?}");
        assert!(one[0].uptime.is_some());
        assert_eq!(one[1].values[0].as_deref(), Some(&b"the name"[..]));
        let count: usize =
            String::from_utf8_lossy(one[1].values[1].as_ref().unwrap()).parse().unwrap();
        assert!(count > 7, "{count}");
        assert!(one[2].values.iter().all(Option::is_some), "{answers:?}");
        assert_eq!(one[2].values[1].as_deref(), Some(&b"the name"[..]));
    }
}
