//! Hosts that come and go while jobs run: `--sshloginfile` read again when it has changed.
//!
//! It is looked at when jobs end, at most once a second, and each second while nothing runs and
//! jobs wait for a host.  Whoever reads it does so in a thread, as it may have to ask hosts.

use std::time::Duration;

use super::*;

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Whoever knows whether there are other hosts now.
pub trait Logins: std::fmt::Debug {
    /// Looks whether something has changed, and has it read then; the engine is woken when that
    /// is done.
    fn look(&mut self);

    /// All hosts and how many jobs each gets, once after each change.
    fn take(&mut self) -> Option<Vec<(Reached, u32)>>;
}

/// When to look next.
#[derive(Debug)]
pub struct Rereading {
    logins: Box<dyn Logins>,
    /// When it was looked last.
    looked: Option<Instant>,
    /// A job has ended since.
    has_ended: bool,
}

impl Rereading {
    /// Looks once a second at most.
    pub fn new(logins: Box<dyn Logins>) -> Self {
        Rereading { logins, looked: None, has_ended: false }
    }

    /// A job has ended.
    pub(super) fn job_ended(&mut self) {
        self.has_ended = true;
    }
}

impl<W: World> Engine<'_, W> {
    /// Looks whether hosts have come or gone; says when to look again, if nothing else wakes us.
    pub(super) fn reread_hosts(&mut self) -> Option<Instant> {
        let now = self.world.now();
        let waits = self.running == 0 && !(self.has_ended && self.again.is_empty());
        let remote = self.plan.remote.as_mut()?;
        let rereading = remote.rereading.as_mut()?;
        let again = *rereading.looked.get_or_insert(now) + LOOK_AGAIN;
        if again <= now && (rereading.has_ended || waits) {
            rereading.logins.look();
            (rereading.looked, rereading.has_ended) = (Some(now), false);
        }
        if let Some(hosts) = rereading.logins.take() {
            remote.replace(hosts);
            self.schedule.set_slots(remote.hosts.slots());
        }
        let looked = self.plan.remote.as_ref()?.rereading.as_ref()?.looked?;
        waits.then_some(looked + LOOK_AGAIN)
    }
}

impl Remote {
    /// Uses these hosts from now on.  Jobs on hosts that are gone run to their end.
    fn replace(&mut self, hosts: Vec<(Reached, u32)>) {
        for (at, place) in self.places.iter().enumerate() {
            let stays = hosts.iter().any(|(host, _)| host.login.name == place.login.name);
            self.hosts.set_open(at, stays || place.is_newcomer);
        }
        for (host, limit) in hosts {
            let same = |place: &Reached| place.login.name == host.login.name;
            match self.places.iter().position(same) {
                Some(at) => {
                    self.hosts.set_limit(at, limit);
                    self.places[at] = host;
                }
                None => {
                    self.places.push(host);
                    self.hosts.add(limit);
                }
            }
        }
    }
}
