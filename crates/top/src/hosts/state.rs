//! What is known of each host: its latest two samples, or why there are none.
//!
//! Samples are taken by the thread that gets them, so that hosts never wait for the screen, and memory is
//! bounded: a host has as many samples as a history holds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use many_hosts::HostEvent;

use super::silent_seconds;
use crate::app::Readings;
use crate::format;
use crate::machine::{MachineValues, Panel};

/// A line of the list.
#[derive(Clone, Debug)]
pub(crate) struct HostLine {
    /// The place of the host among the hosts that were named.
    pub(crate) number: usize,
    /// The name that it was given.
    pub(crate) name: String,
    pub(crate) condition: Condition,
}

/// How a host is.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// It sends: the numbers of its latest sample.
    Sends(Box<MachineValues>),
    /// It does not: why, as it is shown.
    Silent(String),
    /// The recorder of the host has failed or ended: why.
    Failed(String),
}

impl HostLine {
    /// The numbers, if it sends.
    pub(crate) fn values(&self) -> Option<&MachineValues> {
        match &self.condition {
            Condition::Sends(values) => Some(values),
            Condition::Silent(_) | Condition::Failed(_) => None,
        }
    }
}

/// A host.
struct KnownHost {
    name: String,
    /// The latest readings of the recorder that runs.
    readings: Option<(Readings, Panel)>,
    failure: Option<String>,
    /// When it last began or sent a sample, on this machine's clock.
    heard_ns: u64,
    samples: u64,
}

/// All hosts; shared by the thread that gets samples and the one that draws.
pub(crate) struct KnownHosts {
    hosts: Mutex<Vec<KnownHost>>,
    has_news: AtomicBool,
    has_ended: AtomicBool,
}

impl KnownHosts {
    /// Hosts of which nothing has come yet; `now_ns` is this machine's clock.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, now_ns: u64) -> Self {
        let hosts = names.map(|name| KnownHost {
            name: name.to_owned(),
            readings: None,
            failure: None,
            heard_ns: now_ns,
            samples: 0,
        });
        KnownHosts {
            hosts: Mutex::new(hosts.collect()),
            has_news: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KnownHost>> {
        // What a thread that panicked has left is shown.
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what has happened, `None` if nothing more will; whether the screen does not know yet that there
    /// is something new.
    pub(crate) fn apply_event(&self, event: Option<HostEvent>, now_ns: u64) -> bool {
        let mut hosts = self.lock();
        match event {
            None => self.has_ended.store(true, Ordering::Release),
            Some(HostEvent::Begun(number, meta, defs)) => {
                let host = &mut hosts[number];
                host.readings = Some((Readings::new(&defs, meta), Panel::new(&defs)));
                (host.failure, host.heard_ns) = (None, now_ns);
            }
            Some(HostEvent::Sample(number, mut snapshot)) => {
                let host = &mut hosts[number];
                if let Some((readings, _)) = &mut host.readings {
                    readings.history.push(&mut snapshot);
                }
                host.heard_ns = now_ns;
                host.samples += 1;
            }
            Some(HostEvent::Done(number)) => {
                hosts[number].fail("its recorder has ended".to_owned());
            }
            Some(HostEvent::Failed(number, why, is_tried_again)) => {
                let next = if is_tried_again { "; trying again" } else { "" };
                hosts[number].fail(format!("{why}{next}"));
            }
        }
        !self.has_news.swap(true, Ordering::AcqRel)
    }

    /// Whether something has come since the last [`lines`](Self::lines).
    pub(crate) fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Acquire)
    }

    /// Whether nothing more will come, or a host has sent so many samples after its first, which has no
    /// rates.
    pub(crate) fn has_sent(&self, count: u64) -> bool {
        let most = self.lock().iter().map(|host| host.samples).max().unwrap_or(0);
        most > count || self.has_ended.load(Ordering::Acquire)
    }

    /// The hosts as they are now, in the order in which they were named.
    pub(crate) fn lines(&self, now_ns: u64, interval_seconds: f64) -> Vec<HostLine> {
        self.has_news.store(false, Ordering::Release);
        let silent = silent_seconds(interval_seconds);
        let hosts = self.lock();
        let lines = hosts.iter().enumerate().map(|(number, host)| HostLine {
            number,
            name: host.name.clone(),
            condition: host.condition(now_ns, silent),
        });
        lines.collect()
    }
}

impl KnownHost {
    fn fail(&mut self, why: String) {
        (self.failure, self.readings) = (Some(why), None);
    }

    fn condition(&self, now_ns: u64, silent_seconds: f64) -> Condition {
        if let Some(why) = &self.failure {
            return Condition::Failed(why.clone());
        }
        let seconds = now_ns.saturating_sub(self.heard_ns) as f64 / 1e9;
        let waited = |what: &str| {
            let mut text = what.to_owned();
            match seconds as u64 {
                few @ 0..60 => text.push_str(&format!("{few} s")),
                _ => format::stretch(&mut text, Some(seconds)),
            }
            Condition::Silent(text)
        };
        match &self.readings {
            None if seconds < silent_seconds => Condition::Silent("starting".to_owned()),
            None => waited("no answer to the login for "),
            Some((readings, _)) if readings.history.ticks() == 0 && seconds < silent_seconds => {
                Condition::Silent("no sample yet".to_owned())
            }
            Some(_) if seconds >= silent_seconds => waited("silent: no sample for "),
            Some((Readings { history, meta, sources, .. }, panel)) => {
                Condition::Sends(Box::new(panel.values(history, meta, sources)))
            }
        }
    }
}

/// The numbers of all hosts that send as those of one machine: sums; shares of CPU time by the number of
/// CPUs, and the mean of pressure.
pub(crate) fn total(lines: &[HostLine]) -> MachineValues {
    let values: Vec<&MachineValues> = lines.iter().filter_map(HostLine::values).collect();
    let sum = |of: fn(&MachineValues) -> Option<f64>| {
        let known = values.iter().filter_map(|one| of(one));
        known.fold(None, |sum, part| Some(sum.unwrap_or(0.0) + part))
    };
    let mean = |of: &dyn Fn(&MachineValues) -> Option<f64>, weigh: bool| {
        let weight = |one: &MachineValues| if weigh { one.cpus.unwrap_or(1.0) } else { 1.0 };
        let known = values.iter().filter_map(|one| Some((of(one)?, weight(one))));
        let (sum, all) = known
            .fold((0.0, 0.0), |(sum, all), (share, weight)| (sum + share * weight, all + weight));
        (all > 0.0).then(|| sum / all)
    };
    MachineValues {
        cpu: std::array::from_fn(|state| mean(&|one| one.cpu[state], true)),
        load: [sum(|one| one.load[0]), sum(|one| one.load[1]), sum(|one| one.load[2])],
        cpus: sum(|one| one.cpus),
        runnable: sum(|one| one.runnable),
        blocked: sum(|one| one.blocked),
        memory_total: sum(|one| one.memory_total),
        memory_available: sum(|one| one.memory_available.or(one.memory_free)),
        swap_total: sum(|one| one.swap_total),
        swap_free: sum(|one| one.swap_free),
        pressure: std::array::from_fn(|kind| mean(&|one| one.pressure[kind], false)),
        disk_read: sum(|one| one.disk_read),
        disk_write: sum(|one| one.disk_write),
        net_in: sum(|one| one.net_in),
        net_out: sum(|one| one.net_out),
        births: sum(|one| one.births),
        ..MachineValues::default()
    }
}
