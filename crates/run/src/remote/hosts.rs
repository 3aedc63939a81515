//! Chooses the host for the next job: one with room, on which the job has not failed.

use std::collections::HashMap;

/// The hosts, and how many jobs run on each.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    hosts: Vec<Host>,
    /// The hosts on which jobs have failed that are to be tried again.
    failures: HashMap<u64, Vec<usize>>,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    limit: u32,
    running: u32,
    /// Whether jobs start on it.
    open: bool,
}

impl Hosts {
    /// Hosts with these numbers of slots.
    pub fn new(limits: &[u32]) -> Self {
        let host = |limit: &u32| Host { limit: *limit, running: 0, open: true };
        Hosts { hosts: limits.iter().map(host).collect(), failures: HashMap::new() }
    }

    /// The slots of all open hosts: the limit of the schedule.
    pub fn slots(&self) -> u32 {
        let open = self.hosts.iter().filter(|host| host.open);
        open.map(|host| host.limit).fold(0, u32::saturating_add)
    }

    /// Adds a host; returns its index.
    pub fn add(&mut self, limit: u32) -> usize {
        self.hosts.push(Host { limit, running: 0, open: true });
        self.hosts.len() - 1
    }

    /// Changes the slots of a host.
    pub fn set_limit(&mut self, host: usize, limit: u32) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.limit = limit;
        }
    }

    /// Sets whether jobs start on a host.
    pub fn set_open(&mut self, host: usize, open: bool) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.open = open;
        }
    }

    /// The host for a job: the one with the smallest share of its slots in use among those that are
    /// `allowed` (by groups) and on which the job has not failed; if it has failed on all, any
    /// allowed one.  `None` while they are full.
    pub fn pick(&self, seq: u64, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let failed = self.failures.get(&seq).map_or(&[][..], Vec::as_slice);
        let may = |at: &usize| self.hosts[*at].open && allowed(*at);
        let fresh = (0..self.hosts.len()).filter(may).any(|at| !failed.contains(&at));
        let room = (0..self.hosts.len())
            .filter(may)
            .filter(|at| self.hosts[*at].running < self.hosts[*at].limit)
            .filter(|at| !fresh || !failed.contains(at));
        room.min_by_key(|at| {
            let host = self.hosts[*at];
            // Compared in integers: the share in 1/65536.
            (u64::from(host.running) << 16) / u64::from(host.limit.max(1))
        })
    }

    /// Whether a job that is to be tried again has failed on a host.
    pub fn has_failed(&self, seq: u64, host: usize) -> bool {
        self.failures.get(&seq).is_some_and(|failed| failed.contains(&host))
    }

    /// A job was started on a host.
    pub fn started(&mut self, host: usize) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.running += 1;
        }
    }

    /// A job that was assigned to a host did not start.
    pub fn not_started(&mut self, host: usize) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.running = host.running.saturating_sub(1);
        }
    }

    /// A job has ended on a host; `again`: it has failed and is to be tried again.
    pub fn ended(&mut self, host: usize, seq: u64, again: bool) {
        self.not_started(host);
        if !again {
            self.failures.remove(&seq);
            return;
        }
        let failed = self.failures.entry(seq).or_default();
        if !failed.contains(&host) {
            failed.push(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_fill_by_their_size() {
        let mut hosts = Hosts::new(&[1, 4]);
        assert_eq!(hosts.slots(), 5);
        let mut picked = Vec::new();
        while let Some(host) = hosts.pick(1, |_| true) {
            hosts.started(host);
            picked.push(host);
        }
        assert_eq!(picked, [0, 1, 1, 1, 1]);
        hosts.ended(0, 1, false);
        assert_eq!(hosts.pick(2, |_| true), Some(0));
        assert_eq!(hosts.pick(2, |host| host == 1), None);
    }

    #[test]
    fn a_job_goes_where_it_has_not_failed() {
        let mut hosts = Hosts::new(&[2, 2]);
        hosts.started(0);
        hosts.ended(0, 7, true);
        assert_eq!(hosts.pick(7, |_| true), Some(1));
        assert_eq!(hosts.pick(8, |_| true), Some(0));
        hosts.started(1);
        hosts.started(1);
        assert_eq!(hosts.pick(7, |_| true), None, "it waits for the host that it does not know");
        hosts.ended(1, 7, true);
        assert_eq!(hosts.pick(7, |_| true), Some(0), "it has failed on all");
        hosts.ended(1, 7, false);
        assert!(hosts.failures.is_empty());
    }

    #[test]
    fn a_closed_host_gets_nothing() {
        let mut hosts = Hosts::new(&[3]);
        let other = hosts.add(2);
        hosts.set_open(0, false);
        assert_eq!((hosts.slots(), hosts.pick(1, |_| true)), (2, Some(other)));
        hosts.set_open(other, false);
        assert_eq!(hosts.pick(1, |_| true), None);
        assert_eq!(Hosts::default().pick(1, |_| true), None);
    }
}
