//! Devices that do not answer: what they cost a round, how they rest, and that nobody else waits.
//!
//! What a round costs is counted in datagrams, or compared with another round of the same test.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::time::{Duration, Instant};

use crate::common::set_clock::{alone, now_ns, pass};
use crate::common::{ask, device, is_full, query};
use poll::ask::MergingAsker;
use poll::{Config, InterfaceSelector, SnmpVersion};
use snmp_simulator::{Agent, AgentDevice, AgentThread};

fn start(count: u32, interfaces: u32, change: impl Fn(u32, &mut AgentDevice)) -> AgentThread {
    AgentThread::start_switches(count, interfaces, now_ns, change).unwrap()
}

fn config(agent: &AgentThread, devices: u32, interfaces: u32, interval_s: u32) -> Config {
    let mut config = Config::default();
    config.global.interval_s = interval_s;
    for index in 0..devices {
        let version = if index % 2 == 0 { SnmpVersion::V1 } else { SnmpVersion::V2c };
        let mut device = device(agent.address(index), version);
        // Five tries of 0.2 s: a second.
        (device.timeout_s, device.retries) = (0.2, 5);
        config.devices.push(device);
        for interface in 1..=interfaces {
            config.queries.push(query(index as usize, &InterfaceSelector::Number(interface)));
        }
    }
    config
}

fn set_dead(agent: &AgentThread, index: u32, is_dead: bool) {
    agent.with(|agent, _| {
        agent.device_mut(Agent::address(index)).unwrap().faults.is_dead = is_dead;
    });
}

/// A round: full answers, what it sent and was not answered, how long it took, and what it said.
struct Round {
    known: usize,
    sent: u64,
    timeouts: u64,
    time: Duration,
    said: Vec<String>,
}

fn round(asker: &mut MergingAsker, config: &Config) -> Round {
    let counts = |asker: &MergingAsker| asker.counts().unwrap_or_default();
    let (begun, before) = (Instant::now(), counts(asker));
    let (answers, said) = ask(asker, config);
    let (time, after) = (begun.elapsed(), counts(asker));
    Round {
        known: answers.iter().filter(|one| is_full(one)).count(),
        sent: after.sent - before.sent,
        timeouts: after.timeouts - before.timeouts,
        time,
        said,
    }
}

#[test]
fn a_dead_device_costs_its_configured_waits_once() {
    let _alone = alone();
    for interfaces in [1, 20, 300] {
        let agent = start(2, interfaces, |_, device| device.faults.is_dead = true);
        let config = config(&agent, 2, interfaces, 300);
        let mut asker = MergingAsker::new(5, now_ns);
        let first = round(&mut asker, &config);
        assert_eq!((first.known, first.said.len()), (0, 1), "{:?}", first.said);
        // Five tries of each device, however many objects are asked for; one may be on its way when
        // another ends.
        assert!((10..=12).contains(&first.sent), "{interfaces}: {} sent", first.sent);
        assert!(first.time > Duration::from_millis(950), "{interfaces}: {:?}", first.time);
        let is_named = |line: &String| line.contains("no answer to 5 requests");
        assert!(first.said.iter().all(is_named), "{:?}", first.said);
        // From then on a try in each round.
        pass(300_000_000_000);
        let second = round(&mut asker, &config);
        assert_eq!((second.sent, second.said.len()), (2, 1), "{:?}", second.said);
        // It is all there when it answers again.
        (0..2).for_each(|index| set_dead(&agent, index, false));
        pass(300_000_000_000);
        let alive = round(&mut asker, &config);
        assert_eq!(alive.known, 2 * interfaces as usize, "{:?}", alive.said);
        // And goes away again, with many requests waiting: they wait at the same time.
        set_dead(&agent, 0, true);
        pass(300_000_000_000);
        let away = round(&mut asker, &config);
        assert_eq!(away.known, interfaces as usize, "{:?}", away.said);
        assert!(away.time < 2 * first.time, "{interfaces}: {:?} {:?}", away.time, first.time);
    }
}

#[test]
fn a_silent_device_rests_and_short_rounds_do_not_wait_for_it() {
    let _alone = alone();
    let agent = start(10, 4, |_, _| {});
    let config = config(&agent, 10, 4, 1);
    let mut asker = MergingAsker::new(5, now_ns);
    assert_eq!(round(&mut asker, &config).known, 40);
    (0..4).for_each(|index| set_dead(&agent, index, true));
    pass(1_000_000_000);
    let first = round(&mut asker, &config);
    assert_eq!(first.known, 24);
    let (mut asked_in, mut waited_in) = (Vec::new(), Vec::new());
    for number in 1..=64 {
        pass(1_000_000_000);
        let round = round(&mut asker, &config);
        assert_eq!(round.known, 24);
        // Six devices answer; more than their requests went to those that rest.
        if round.sent > 8 {
            asked_in.push(number);
            // A round that waits for the 0.2 s of a try, and not a tenth of the interval, sees it
            // end.
            if round.timeouts > 0 {
                waited_in.push(number);
            }
        }
    }
    assert!(2 * waited_in.len() < asked_in.len(), "{waited_in:?} of {asked_in:?}");
    // After 1, 2, 4 … 30 s: what is not answered in its round counts in the next.
    assert!((4..=9).contains(&asked_in.len()), "{asked_in:?}");
    let pairs = asked_in.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(pairs.clone().max().unwrap() <= 33, "{asked_in:?}");
    (0..4).for_each(|index| set_dead(&agent, index, false));
    pass(30_000_000_000);
    // Perhaps a request of the round before is still on its way.
    round(&mut asker, &config);
    pass(30_000_000_000);
    assert_eq!(round(&mut asker, &config).known, 40);
}

#[test]
fn a_slow_device_is_there_in_the_round_after_it_was_away() {
    let _alone = alone();
    let agent = start(2, 4, |index, device| device.faults.is_dead = index == 0);
    let mut config = config(&agent, 2, 4, 1);
    // One try, in which a round of a second does not wait for long.
    for device in &mut config.devices {
        (device.timeout_s, device.retries) = (4.0, 1);
    }
    let mut asker = MergingAsker::new(5, now_ns);
    assert_eq!(round(&mut asker, &config).known, 4);
    // It answers later than a round waits, and before the try ends.
    agent.with(|agent, _| {
        let faults = &mut agent.device_mut(Agent::address(0)).unwrap().faults;
        (faults.is_dead, faults.delay_ns) = (false, 2_000_000_000);
    });
    pass(1_000_000_000);
    let without = round(&mut asker, &config);
    assert_eq!((without.known, without.timeouts), (4, 0));
    pass(2_000_000_000);
    // Time for its answer to come.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(round(&mut asker, &config).known, 8);
}

#[test]
fn a_device_that_is_silent_to_large_requests_is_not_taken_for_dead() {
    let _alone = alone();
    let agent = start(2, 30, |_, device| device.faults.silent_above = 9);
    let config = config(&agent, 2, 30, 300);
    let mut asker = MergingAsker::new(5, now_ns);
    for number in 0..4 {
        let round = round(&mut asker, &config);
        assert_eq!(round.known, 60, "{number}: {:?}", round.said);
        // What is too large is known after the first round.
        assert!(number == 0 || round.timeouts <= 2, "{number}: {} time-outs", round.timeouts);
        pass(300_000_000_000);
    }
}
