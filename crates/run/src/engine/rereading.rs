//! `--sshloginfile` read again when it has changed: hosts are added and removed while jobs run.
//!
//! The files are checked when jobs end, at most once a second, and each second while no job runs
//! and jobs wait for a host.  A thread reads them, as it may have to ask hosts.

use std::time::Duration;

use super::*;

/// Time between two checks.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// Reads the login files again.
pub trait Logins: std::fmt::Debug {
    /// Checks whether a file has changed, and has it read in that case; the engine is woken when
    /// that is done.
    fn look(&mut self);

    /// All hosts and their numbers of slots, once after each change.
    fn take_hosts(&mut self) -> Option<Vec<(JobHost, u32)>>;
}

/// When to check the login files next.
#[derive(Debug)]
pub struct Rereading {
    logins: Box<dyn Logins>,
    /// When they were last checked.
    looked: Option<Instant>,
    /// A job has ended since.
    has_ended: bool,
}

impl Rereading {
    /// Checks at most once a second.
    pub fn new(logins: Box<dyn Logins>) -> Self {
        Rereading { logins, looked: None, has_ended: false }
    }

    /// A job has ended.
    pub(super) fn job_ended(&mut self) {
        self.has_ended = true;
    }
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// Checks whether hosts were added or removed; returns when to check again, if nothing else wakes
    /// the engine.
    pub(super) fn reread_hosts(&mut self) -> Option<Instant> {
        let now = self.os.now();
        let waits = self.running == 0 && !(self.has_ended && self.again.is_empty());
        let remote = self.options.remote.as_mut()?;
        let rereading = remote.rereading.as_mut()?;
        let again = *rereading.looked.get_or_insert(now) + CHECK_PERIOD;
        if again <= now && (rereading.has_ended || waits) {
            rereading.logins.look();
            (rereading.looked, rereading.has_ended) = (Some(now), false);
        }
        if let Some(hosts) = rereading.logins.take_hosts() {
            remote.replace(hosts);
            self.schedule.set_slots(remote.hosts.slots());
        }
        let looked = self.options.remote.as_ref()?.rereading.as_ref()?.looked?;
        waits.then_some(looked + CHECK_PERIOD)
    }
}

impl Remote {
    /// Uses these hosts from now on.  Jobs on removed hosts run to their end.
    fn replace(&mut self, hosts: Vec<(JobHost, u32)>) {
        for (at, known) in self.job_hosts.iter().enumerate() {
            let stays = hosts.iter().any(|(host, _)| host.login.name == known.login.name);
            self.hosts.set_open(at, stays || known.is_added);
        }
        for (host, limit) in hosts {
            let same = |known: &JobHost| known.login.name == host.login.name;
            match self.job_hosts.iter().position(same) {
                Some(at) => {
                    self.hosts.set_limit(at, limit);
                    self.job_hosts[at] = host;
                }
                None => {
                    self.job_hosts.push(host);
                    self.hosts.add(limit);
                }
            }
        }
    }
}
