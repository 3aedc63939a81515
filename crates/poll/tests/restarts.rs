//! Counters that begin anew: a restarted device, a restarted agent whose counters go on, a line card
//! that was changed; with databases and with log files, by a daemon and by a program that is started
//! for each round.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::sync::Arc;

use crate::common::set_clock::{alone, now_ns, pass};
use poll::ask::MergingAsker;
use poll::log_file::LogFiles;
use poll::round::{RoundReport, RoundSettings, Rounds};
use poll::{Config, LoadEnvironment};
use rrd::fetch::{FetchRequest, fetch};
use rrd::header::ConsolidationFunction;
use snmp::Oid;
use snmp_simulator::{Agent, AgentDevice, AgentThread, Mib, MibObject, MibValue};

/// When rounds begin: a multiple of every step.
const BEGIN_S: i64 = 1_699_920_000;
const STEP_S: u64 = 300;

/// A device, its configuration and what is kept from round to round.
struct Site {
    agent: AgentThread,
    folder: tempfile::TempDir,
    config: Config,
    asker: MergingAsker,
    rounds: Rounds,
    /// Whether nothing is kept from round to round.
    is_cron: bool,
    round: i64,
    said: Vec<String>,
}

fn rounds() -> Rounds {
    Rounds::new(RoundSettings {
        environment: Vec::new(),
        config_name: "a.cfg".into(),
        is_log_only: true,
        time_zone: jiff::tz::TimeZone::UTC,
        own_name: "box".into(),
    })
}

impl Site {
    fn new(lines: &str, version: &str, is_cron: bool) -> Self {
        let mut agent = Agent::bind(0).unwrap();
        let mut device = AgentDevice::new(Arc::new(Mib::with_interfaces("switch", 4)));
        device.started_ns = now_ns();
        agent.add(Agent::address(0), device);
        let agent = AgentThread::start(agent, now_ns).unwrap();
        // An hour of counting, so that a restart takes counters back.
        pass(3_600_000_000_000);
        let folder = tempfile::tempdir().unwrap();
        let address = agent.address(0);
        let place = format!("public@{}:{}::::{version}", address.ip(), address.port());
        let text = format!(
            "WorkDir: {}\n{lines}\nMaxBytes[_]: 125000000\nTitle[_]: A title\n\
             Target[one]: 1:{place}\nTarget[sum]: 2:{place} + 3:{place}\n\
             Options[level]: gauge\nMaxBytes[level]: 999999999999\nTarget[level]: 4:{place}\n",
            folder.path().display()
        );
        let path = folder.path().join("a.cfg");
        std::fs::write(&path, text).unwrap();
        let loading = Config::load(&path, &LoadEnvironment::default());
        let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
        let (asker, rounds) = (MergingAsker::new(1, now_ns), rounds());
        Site { agent, folder, config, asker, rounds, is_cron, round: 0, said: Vec::new() }
    }

    /// A round an interval after the one before.
    fn round(&mut self) -> RoundReport {
        pass(STEP_S * 1_000_000_000);
        self.round_now()
    }

    fn round_now(&mut self) -> RoundReport {
        if self.is_cron {
            (self.asker, self.rounds) = (MergingAsker::new(1, now_ns), rounds());
        }
        self.round += 1;
        let now_s = BEGIN_S + self.round * STEP_S as i64;
        let said = &mut self.said;
        self.rounds.round(&self.config, &mut self.asker, &|| now_s * 1_000_000_000, &mut |line| {
            said.push(line);
        })
    }

    /// A restart 100 s before the next round.
    fn round_after_restart(&mut self, restart: impl FnOnce(&mut AgentDevice, u64)) -> RoundReport {
        pass((STEP_S - 100) * 1_000_000_000);
        self.agent.with(|agent, now| restart(agent.device_mut(Agent::address(0)).unwrap(), now));
        pass(100_000_000_000);
        self.round_now()
    }

    /// The rates of the rounds of a target's first source, `None` for unknown.
    fn rates(&self, name: &str) -> Vec<Option<f64>> {
        let path = self.folder.path().join(format!("{name}.rrd"));
        let end = BEGIN_S + self.round * STEP_S as i64;
        let function = ConsolidationFunction::Average;
        let request = FetchRequest { function, start: BEGIN_S, end, step_seconds: STEP_S };
        let found = fetch(&path, &request).unwrap();
        let rows = found.cells.chunks(2).take(self.round as usize);
        rows.map(|row| Some(row[0]).filter(|rate| !rate.is_nan())).collect()
    }

    /// The rates of a log file, oldest first.
    fn logged(&self, name: &str) -> Vec<f64> {
        let mut files = LogFiles::new();
        let history = files.read(&self.folder.path().join(format!("{name}.log"))).unwrap();
        let mut rates: Vec<f64> = history.lines().iter().map(|line| line.input).collect();
        rates.truncate(self.round as usize);
        rates.reverse();
        rates
    }
}

fn change(device: &mut AgentDevice, change: impl Fn(&[u32], &MibValue) -> MibValue) {
    let objects = device.mib.objects().iter().map(|one| {
        let numbers: Vec<u32> = one.oid.as_ref().sub_identifiers().collect();
        MibObject { oid: one.oid.clone(), value: change(&numbers, &one.value) }
    });
    device.mib = Arc::new(Mib::new(objects.collect()));
}

fn is_about(rate: Option<f64>, expected: f64) -> bool {
    rate.is_some_and(|rate| (rate / expected - 1.0).abs() < 0.05)
}

#[test]
fn a_restarted_device_costs_a_step_and_makes_no_spike() {
    let _alone = alone();
    for (is_cron, version) in [(false, "1"), (true, "1"), (false, "2"), (true, "2")] {
        let mut site = Site::new("LogFormat: rrdtool", version, is_cron);
        (0..3).for_each(|_| drop(site.round()));
        assert_eq!(site.said, [""; 0]);
        let report = site.round_after_restart(AgentDevice::restart);
        assert_eq!(report.reset_count, 2, "{:?}", site.said);
        assert!(site.said.iter().all(|line| line.contains("started again")), "{:?}", site.said);
        assert!(!site.said.is_empty());
        assert_eq!((0..2).map(|_| site.round().reset_count).sum::<usize>(), 0);
        for (name, expected) in [("one", 2_000.0), ("sum", 3_000.0 + 4_000.0)] {
            let rates = site.rates(name);
            println!("{is_cron} {version} {name} {rates:?}");
            assert!([1, 2, 4, 5].iter().all(|at| is_about(rates[*at], expected)), "{rates:?}");
            // The first round has nothing to be compared with, the fourth saw the restart.
            assert_eq!([rates[0], rates[3]], [None, None], "{rates:?}");
        }
        // A level is what it is.
        assert!(site.rates("level")[1..].iter().all(Option::is_some));
    }
}

#[test]
fn a_restart_in_a_log_file_is_the_last_rate_again() {
    let _alone = alone();
    for is_cron in [false, true] {
        let mut site = Site::new("", "1", is_cron);
        (0..3).for_each(|_| drop(site.round()));
        let report = site.round_after_restart(AgentDevice::restart);
        assert_eq!(report.reset_count, 2, "{:?}", site.said);
        (0..2).for_each(|_| drop(site.round()));
        let rates = site.logged("one");
        println!("{rates:?}");
        // As one that has wrapped it would be 2^32 / 300, 14 MB/s.
        assert!(rates[1..].iter().all(|rate| is_about(Some(*rate), 2_000.0)), "{rates:?}");
    }
}

#[test]
fn a_restarted_agent_whose_counters_go_on_loses_nothing() {
    let _alone = alone();
    for is_cron in [false, true] {
        let mut site = Site::new("LogFormat: rrdtool", "2", is_cron);
        (0..3).for_each(|_| drop(site.round()));
        let report = site.round_after_restart(|device, _| {
            change(device, |numbers, value| match numbers {
                [1, 3, 6, 1, 2, 1, 1, 3, 0] => MibValue::TimeTicks(10_000),
                _ => value.clone(),
            });
        });
        assert_eq!(report.reset_count, 0, "{:?}", site.said);
        let is_said = site.said.iter().any(|line| line.contains("its counters go on"));
        assert_eq!(is_said, !is_cron, "{:?}", site.said);
        let rates = site.rates("one");
        assert!(rates[1..].iter().all(|rate| is_about(*rate, 2_000.0)), "{rates:?}");
    }
}

#[test]
fn an_interface_says_whether_its_counter_has_wrapped() {
    let _alone = alone();
    let discontinuity: Oid = "1.3.6.1.2.1.31.1.1.1.19.1".parse().unwrap();
    // Whether the interface says when its counters began anew, and whether that was just now.
    for (is_said, was_reset) in [(false, false), (true, false), (true, true)] {
        let mut site = Site::new("LogFormat: rrdtool", "1", false);
        (0..3).for_each(|_| drop(site.round()));
        let before = site.asker.counts().unwrap().requests;
        let report = site.round_after_restart(|device, now_ns| {
            let up = now_ns - device.started_ns;
            change(device, |numbers, value| match numbers {
                // Counts on from a small number.
                [.., 2, 2, 1, 10, 1] => {
                    MibValue::Counter32(2_000.0, 0_u32.wrapping_sub((up / 500_000) as u32))
                }
                _ => value.clone(),
            });
            let mut objects = device.mib.objects().to_vec();
            let at = if was_reset { (up / 10_000_000) as u32 } else { 4_711 };
            let oid = discontinuity.clone();
            objects.extend(is_said.then_some(MibObject { oid, value: MibValue::TimeTicks(at) }));
            device.mib = Arc::new(Mib::new(objects));
        });
        assert_eq!(report.reset_count, usize::from(was_reset), "{:?}", site.said);
        assert_eq!(site.asker.counts().unwrap().requests, before + 2);
        site.round();
        assert_eq!(site.asker.counts().unwrap().requests, before + 3);
        let rates = site.rates("one");
        println!("{rates:?} {:?}", site.said);
        assert_eq!(rates[3].is_none(), was_reset, "{rates:?}");
        assert!(is_about(rates[4], 2_000.0), "{rates:?}");
    }
}

#[test]
fn a_counter_of_64_bits_that_goes_back_has_begun_anew() {
    let _alone = alone();
    let mut site = Site::new("LogFormat: rrdtool", "2", false);
    (0..3).for_each(|_| drop(site.round()));
    let report = site.round_after_restart(|device, now_ns| {
        let up = now_ns - device.started_ns;
        change(device, |numbers, value| match numbers {
            [.., 31, 1, 1, 1, 6, 1] => {
                MibValue::Counter64(2_000.0, 0_u64.wrapping_sub(up / 500_000))
            }
            _ => value.clone(),
        });
    });
    assert_eq!(report.reset_count, 1, "{:?}", site.said);
    site.round();
    let rates = site.rates("one");
    assert!(rates[3].is_none() && is_about(rates[4], 2_000.0), "{rates:?}");
}

#[test]
fn a_restart_that_takes_rounds_is_noticed_after_them() {
    let _alone = alone();
    let mut site =
        Site::new("LogFormat: rrdtool\nSnmpOptions: timeout => 0.05, retries => 1", "2", false);
    (0..3).for_each(|_| drop(site.round()));
    let dead = |is_dead: bool| {
        move |agent: &mut Agent, _: u64| {
            agent.device_mut(Agent::address(0)).unwrap().faults.is_dead = is_dead;
        }
    };
    site.agent.with(dead(true));
    (0..2).for_each(|_| drop(site.round()));
    site.agent.with(dead(false));
    let report = site.round_after_restart(AgentDevice::restart);
    assert_eq!(report.reset_count, 2, "{:?}", site.said);
    site.round();
    let rates = site.rates("one");
    assert!(rates[3..6].iter().all(Option::is_none), "{rates:?}");
    assert!(is_about(rates[6], 2_000.0), "{rates:?}");
}
