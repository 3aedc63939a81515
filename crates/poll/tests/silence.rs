//! Devices that do not answer: what they cost a round, how they rest, and that nobody else waits.
//!
//! Bounds are wide, as the machine may be busy, and a check that was disturbed is made again.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::common::{ask, device, is_full, now_ns, pass, query, start};
use poll::ask::MergingAsker;
use poll::{Config, InterfaceSelector, SnmpVersion};
use snmp_simulator::{Agent, AgentThread};

/// One test at a time: they share the clock and measure time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A round and how long it took.
fn timed(asker: &mut MergingAsker, config: &Config) -> (usize, Duration, Vec<String>) {
    let begun = Instant::now();
    let (answers, said) = ask(asker, config);
    (answers.iter().filter(|one| is_full(one)).count(), begun.elapsed(), said)
}

fn is_between(time: Duration, from: f64, to: f64) -> bool {
    (from..to).contains(&time.as_secs_f64())
}

#[test]
fn a_dead_device_costs_its_configured_waits_once() {
    let _alone = alone();
    testkit::undisturbed(dead_devices);
}

fn dead_devices() {
    for interfaces in [1, 20, 300] {
        let agent = start(2, interfaces, |_, device| device.faults.is_dead = true);
        let config = config(&agent, 2, interfaces, 300);
        let mut asker = MergingAsker::new(5, now_ns);
        let (known, time, said) = timed(&mut asker, &config);
        assert!(is_between(time, 0.95, 1.7), "{interfaces}: {time:?}");
        assert_eq!((known, said.len()), (0, 2), "{said:?}");
        assert!(said.iter().all(|line| line.contains("no answer to 5 requests")), "{said:?}");
        // From then on a try in each round.
        pass(300_000_000_000);
        let sent = asker.counts().unwrap().sent;
        let (_, time, said) = timed(&mut asker, &config);
        assert!(is_between(time, 0.19, 0.7), "{interfaces}: {time:?}");
        assert_eq!((asker.counts().unwrap().sent - sent, said.len()), (2, 2), "{said:?}");
        // It is all there when it answers again.
        (0..2).for_each(|index| set_dead(&agent, index, false));
        pass(300_000_000_000);
        let (known, _, said) = timed(&mut asker, &config);
        assert_eq!(known, 2 * interfaces as usize, "{said:?}");
        // And goes away again, with many requests waiting.
        set_dead(&agent, 0, true);
        pass(300_000_000_000);
        let (known, time, said) = timed(&mut asker, &config);
        assert_eq!(known, interfaces as usize, "{said:?}");
        assert!(is_between(time, 0.95, 1.7), "{interfaces}: {time:?}");
    }
}

#[test]
fn a_silent_device_rests_and_short_rounds_do_not_wait_for_it() {
    let _alone = alone();
    testkit::undisturbed(silent_devices);
}

fn silent_devices() {
    let agent = start(10, 4, |_, _| {});
    let config = config(&agent, 10, 4, 1);
    let mut asker = MergingAsker::new(5, now_ns);
    assert_eq!(timed(&mut asker, &config).0, 40);
    (0..4).for_each(|index| set_dead(&agent, index, true));
    pass(1_000_000_000);
    let (known, time, _) = timed(&mut asker, &config);
    assert_eq!(known, 24);
    assert!(is_between(time, 0.95, 1.7), "{time:?}");
    let mut asked_in = Vec::new();
    let mut longest = Duration::ZERO;
    for round in 1..=64 {
        pass(1_000_000_000);
        let sent = asker.counts().unwrap().sent;
        let (known, time, _) = timed(&mut asker, &config);
        assert_eq!(known, 24);
        longest = longest.max(time);
        // Six devices answer; more than their requests went to those that rest.
        if asker.counts().unwrap().sent - sent > 8 {
            asked_in.push(round);
        }
    }
    // A tenth of the interval, not the 0.2 s of a try.
    assert!(longest < Duration::from_millis(180), "{longest:?}");
    // After 1, 2, 4 … 30 s: what is not answered in its round counts in the next.
    assert!((4..=9).contains(&asked_in.len()), "{asked_in:?}");
    let pairs = asked_in.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(pairs.clone().max().unwrap() <= 33, "{asked_in:?}");
    (0..4).for_each(|index| set_dead(&agent, index, false));
    pass(30_000_000_000);
    // Perhaps a request of the round before is still on its way.
    timed(&mut asker, &config);
    pass(30_000_000_000);
    assert_eq!(timed(&mut asker, &config).0, 40);
}

#[test]
fn a_slow_device_is_there_in_the_round_after_it_was_away() {
    let _alone = alone();
    testkit::undisturbed(a_slow_device);
}

fn a_slow_device() {
    let agent = start(2, 4, |index, device| device.faults.is_dead = index == 0);
    let config = config(&agent, 2, 4, 1);
    let mut asker = MergingAsker::new(5, now_ns);
    assert_eq!(timed(&mut asker, &config).0, 4);
    // It answers later than a round waits.
    agent.with(|agent, _| {
        let faults = &mut agent.device_mut(Agent::address(0)).unwrap().faults;
        (faults.is_dead, faults.delay_ns) = (false, 150_000_000);
    });
    pass(1_000_000_000);
    let (known, time, _) = timed(&mut asker, &config);
    assert_eq!(known, 4);
    assert!(time < Duration::from_millis(145), "{time:?}");
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(timed(&mut asker, &config).0, 8);
}

#[test]
fn a_device_that_is_silent_to_large_requests_is_not_taken_for_dead() {
    let _alone = alone();
    testkit::undisturbed(a_device_of_small_answers);
}

fn a_device_of_small_answers() {
    let agent = start(2, 30, |_, device| device.faults.silent_above = 9);
    let config = config(&agent, 2, 30, 300);
    let mut asker = MergingAsker::new(5, now_ns);
    for round in 0..4 {
        let (known, time, said) = timed(&mut asker, &config);
        assert_eq!(known, 60, "{round}: {said:?}");
        assert!(round == 0 || time < Duration::from_millis(900), "{round}: {time:?}");
        pass(300_000_000_000);
    }
}
