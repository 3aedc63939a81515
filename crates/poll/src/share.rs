//! Devices shared among several pollers, without two that write a file at once.
//!
//! All pollers have the same configurations, and each asks the devices that are its own.  Who is there
//! and who has which devices is a table in a key-value bucket of NATS JetStream (`table.rs`), the only
//! coordinator.  Each poller writes its beat there, [`BEATS`] times in a lease; one that is silent for its
//! lease is taken out, and its devices alone move to the others, which ask them in their next round.  A
//! lease is half the interval, so that at most one round of a device is missing.  A poller that cannot
//! reach the bucket stops asking and writing before its lease is over.  Why that suffices is in
//! `lease.rs`.
//!
//! Devices are given to another poller between rounds only: a [`Turn`] says what a round asks and writes, and
//! is looked at again before each file is written.  What is shared is targets: a target is of its first
//! device, or by its name if it has none.  A target over several devices is written by one poller,
//! which asks all of them.
//!
//! It costs a read and a write of some 1.3 KB for each beat and each poller, in a thread of its own.

mod account;
mod lease;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nats::{Bucket, BucketAddress, NatsAccess, PutResult};
use service_account::POLLERS_ENDING;

use crate::clock::{boot_ns, realtime_s};
use crate::config::Config;
use crate::target::{Arithmetic, PollTarget, RouterObject};
use account::PollersAccount;
use lease::{LOST, Lease, Proposal, Waits};
#[doc(hidden)]
pub use table::fuzz_table;
use table::{Member, NAME_BYTES_MAX, Table, hash, slot_of};

/// The key of the table in the bucket.
const KEY: &str = "pollers";

/// Beats in a lease.
const BEATS: u64 = 5;

/// The shortest lease, in ms: a busy machine may be late by a second.
const LEASE_MS_MIN: u64 = 2_000;

/// How often a write is tried again at once, since another poller wrote before: all of 62 may.
const TRIES: usize = 100;

/// Who shares, and where.
#[derive(Clone)]
pub struct ShareSettings {
    /// The bucket, which all pollers name; it is made if it is not there.
    pub bucket: BucketAddress,
    /// What it takes to get into its server.
    pub access: NatsAccess,
    /// The name of this poller: another one for each.
    pub name: String,
    /// The file in which it keeps what it knows of the others, if any.
    pub account: Option<PathBuf>,
}

/// The file for what a poller knows of the others, beside recordings whose names begin with `stem`.
#[must_use]
pub fn account_beside((folder, stem): (&Path, &str)) -> PathBuf {
    folder.join(format!("{stem}{POLLERS_ENDING}"))
}

/// A name that no poller can have.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no name of a poller: write up to {NAME_BYTES_MAX} letters, digits, `.`, `-` and `_`"
)]
pub struct PollerNameError(String);

/// Takes a message.
pub type SayShare = Box<dyn Fn(&str) + Send>;

/// This poller among the others.  Dropping it leaves them its devices.
pub struct Share {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// How many targets this poller had in the latest round of each configuration, of how many.
    counts: BTreeMap<usize, [usize; 2]>,
    /// What was said of them.
    told: String,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<ShareState>,
    woken: Condvar,
}

#[derive(Debug)]
struct ShareState {
    lease: Lease,
    /// Whether a round is made: slots are given away between rounds only.
    in_round: bool,
    is_ending: bool,
    /// The pollers of the newest table.
    members: Vec<String>,
    /// The devices of all configurations, or targets without one, and their slots.
    devices: Arc<[(String, usize)]>,
}

/// What a round may ask and write.
#[derive(Clone, Debug)]
pub struct Turn {
    shared: Arc<Shared>,
    session: u64,
    targets: Vec<bool>,
    queries: Vec<bool>,
}

impl Turn {
    /// Whether a target, by its number, is one of this poller's.
    pub(crate) fn has_target(&self, number: usize) -> bool {
        self.targets.get(number).is_some_and(|is_mine| *is_mine)
    }

    /// Whether a query, by its number, is asked.
    pub(crate) fn has_query(&self, number: usize) -> bool {
        self.queries.get(number).is_some_and(|is_mine| *is_mine)
    }

    /// Whether the lease holds still: otherwise another poller may write the files soon.
    pub(crate) fn is_held(&self) -> bool {
        let state = self.shared.lock();
        state.lease.session() == self.session && state.lease.is_held(boot_ns())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ShareState> {
        // Nothing that holds it can leave a half-made state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShareSettings {
    /// Checks a name.
    ///
    /// # Errors
    /// If it is empty, too long, or has other characters than a host name and `_`.
    pub fn check_name(name: &str) -> Result<(), PollerNameError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ['.', '-', '_'].contains(&c);
        match !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain) {
            true => Ok(()),
            false => Err(PollerNameError(name.to_owned())),
        }
    }
}

impl Share {
    /// Joins the others, and keeps the lease until it is dropped.  If the bucket cannot be reached, which
    /// is said, it is tried again.
    ///
    /// # Errors
    /// If the name is none, or there is no thread.
    pub fn join(settings: ShareSettings, configs: &[&Config], say: SayShare) -> io::Result<Self> {
        ShareSettings::check_name(&settings.name).map_err(io::Error::other)?;
        let session = u64::from_le_bytes(connection::random::<8>()?);
        let state = ShareState {
            lease: Lease::new(&settings.name, session),
            in_round: false,
            is_ending: false,
            members: Vec::new(),
            devices: Arc::default(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), woken: Condvar::new() });
        let counts = BTreeMap::new();
        let mut share = Share { shared: shared.clone(), thread: None, counts, told: String::new() };
        share.configure(configs);
        let lease = Duration::from_millis(shared.lock().lease.lease_ms());
        // An answer that comes later is of no use.
        let timeout = settings.access.timeout.min(lease / 4);
        let bucket = Bucket::new(&settings.bucket, NatsAccess { timeout, ..settings.access });
        let place = settings.bucket.to_string();
        let account =
            settings.account.map(|path| PollersAccount::open(path, &settings.name, &place));
        let mut beats = Beats {
            shared,
            bucket,
            place,
            account,
            say,
            is_away: false,
            waits: None,
            strangers: Vec::new(),
        };
        // The first round is to have its devices.
        beats.beat();
        let thread = std::thread::Builder::new().name("share".into()).spawn(move || beats.run())?;
        share.thread = Some(thread);
        Ok(share)
    }

    /// Takes configurations that have changed.
    pub fn configure(&self, configs: &[&Config]) {
        let interval_s = configs.iter().map(|config| config.global.interval_s).min().unwrap_or(0);
        let lease_ms = (u64::from(interval_s) * 1_000 / 2).max(LEASE_MS_MIN);
        let of_target = |one: &PollTarget, config| {
            hash(format!("{}\n{}", one.name, key(one, config)).as_bytes())
        };
        let targets = configs
            .iter()
            .flat_map(|config| config.targets.iter().map(move |target| of_target(target, config)));
        let targets = targets.fold(0, u64::wrapping_add);
        let of_config = |config: &Config| -> Vec<String> {
            config.targets.iter().map(|target| key(target, config)).collect()
        };
        let devices: BTreeSet<String> =
            configs.iter().flat_map(|config| of_config(config)).collect();
        let slots = devices.into_iter().map(|device| {
            let slot = slot_of(&device);
            (device, slot)
        });
        let mut state = self.shared.lock();
        state.devices = slots.collect();
        state.lease.configure(lease_ms, targets);
    }

    /// Begins a round of a configuration, by its number: what may be asked and written.  Nothing is given
    /// away until it has ended.
    #[must_use]
    pub fn begin(&mut self, number: usize, config: &Config, say: &dyn Fn(&str)) -> Turn {
        let (session, members, mine) = {
            let mut state = self.shared.lock();
            state.in_round = true;
            let is_held = state.lease.is_held(boot_ns());
            let mine = state.lease.mine().iter().map(|mine| *mine && is_held);
            (state.lease.session(), state.members.clone(), mine.collect::<Vec<bool>>())
        };
        let is_mine = |target: &PollTarget| mine[slot_of(&key(target, config))];
        let targets: Vec<bool> = config.targets.iter().map(is_mine).collect();
        let mut queries = vec![false; config.queries.len()];
        for (target, _) in config.targets.iter().zip(&targets).filter(|(_, is_mine)| **is_mine) {
            for query in queries_of(target) {
                queries[query] = true;
            }
        }
        let count = targets.iter().filter(|is_mine| **is_mine).count();
        self.counts.insert(number, [count, targets.len()]);
        self.tell(&members, say);
        Turn { shared: self.shared.clone(), session, targets, queries }
    }

    /// Ends a round.
    pub fn end(&self) {
        let mut state = self.shared.lock();
        state.in_round = false;
        if state.lease.has_to_give() {
            self.shared.woken.notify_all();
        }
    }

    /// Says how many targets this poller has, if that has changed.
    fn tell(&mut self, members: &[String], say: &dyn Fn(&str)) {
        let [count, all] = [0, 1].map(|at| self.counts.values().map(|one| one[at]).sum::<usize>());
        let text =
            format!("{count} of {all} targets are polled here; pollers: {}", members.join(", "));
        if text != self.told {
            say(&text);
            self.told = text;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shared.lock().is_ending = true;
        self.shared.woken.notify_all();
        // A panic of the thread was printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share").field("told", &self.told).finish_non_exhaustive()
    }
}

/// What decides who polls a target: its first device, or its name.
fn key(target: &PollTarget, config: &Config) -> String {
    let values = target.expression.as_ref().map(Arithmetic::values).unwrap_or_default();
    let mut devices = values.into_iter().filter_map(|query| config.queries.get(query)?.device());
    match devices.next().and_then(|device| config.devices.get(device)) {
        Some(device) => format!("{}:{}", device.host.to_lowercase(), device.port),
        None => format!("target {}", target.name),
    }
}

/// The queries of a target.
fn queries_of(target: &PollTarget) -> impl Iterator<Item = usize> {
    let values = target.expression.as_ref().map(Arithmetic::values).unwrap_or_default();
    let of_object = |object: &Option<RouterObject>| object.as_ref().and_then(|one| one.query);
    let objects = [&target.router_uptime, &target.router_name].map(of_object);
    values.into_iter().chain(objects.into_iter().flatten())
}

/// The thread that keeps the lease.
struct Beats {
    shared: Arc<Shared>,
    bucket: Bucket,
    /// The bucket, for messages.
    place: String,
    account: Option<PollersAccount>,
    say: SayShare,
    is_away: bool,
    waits: Option<Waits>,
    /// Pollers with other targets.
    strangers: Vec<String>,
}

impl Beats {
    fn run(mut self) {
        loop {
            let state = self.shared.lock();
            let pause = Duration::from_millis(state.lease.lease_ms() / BEATS);
            // What cannot be written is tried at the next beat.
            let is_away = self.is_away;
            let is_idle = |state: &mut ShareState| {
                !state.is_ending && (is_away || state.in_round || !state.lease.has_to_give())
            };
            let waited = self.shared.woken.wait_timeout_while(state, pause, is_idle);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let is_ending = state.is_ending;
            drop(state);
            if is_ending {
                // If it cannot be said, the others wait for the lease.
                let _ = self.end();
                self.account.iter().for_each(PollersAccount::remove);
                return;
            }
            self.beat();
        }
    }

    /// Writes a beat, or says why not.
    fn beat(&mut self) {
        match self.try_beat() {
            Ok(()) if self.is_away => {
                self.is_away = false;
                (self.say)(&format!("{} is there again", self.place));
            }
            Ok(()) => {}
            Err(error) => {
                self.shared.lock().lease.lose_contact();
                if let Some(account) = &mut self.account {
                    account.unusable(&error.to_string(), realtime_s());
                }
                if !self.is_away {
                    self.is_away = true;
                    let place = &self.place;
                    (self.say)(&format!(
                        "WARNING: {place} cannot be used: {error}: this poller stops before its lease is over, and goes on when the bucket is there"
                    ));
                }
            }
        }
        let failed = self.account.as_mut().and_then(|account| account.save(realtime_s()));
        failed.iter().for_each(|text| (self.say)(text));
    }

    fn try_beat(&mut self) -> io::Result<()> {
        for _ in 0..TRIES {
            let (found, revision) = self.read()?;
            let before = found.clone();
            let proposed = {
                let mut state = self.shared.lock();
                let may_give = !state.in_round;
                state.lease.propose((found, revision), boot_ns(), may_give)
            };
            let proposal = match proposed {
                Ok(proposal) => proposal,
                Err(waits) => {
                    self.wait_for(waits);
                    return Ok(());
                }
            };
            let sent_ns = boot_ns();
            let text = proposal.table.text();
            if let PutResult::Done(revision) = self.bucket.put(KEY, &text, proposal.revision)? {
                self.written(before.as_ref(), &proposal, revision, sent_ns);
                return Ok(());
            }
        }
        Err(io::Error::other(format!("other pollers wrote before this one {TRIES} times")))
    }

    /// The table, if there is one, and its revision.
    fn read(&mut self) -> io::Result<(Option<Table>, u64)> {
        let Some(entry) = self.bucket.get(KEY)? else { return Ok((None, 0)) };
        if entry.value.is_empty() {
            return Ok((None, entry.revision));
        }
        let wrong = || {
            let why = format!("its key `{KEY}` is no table of pollers of this version: delete it");
            io::Error::new(io::ErrorKind::InvalidData, why)
        };
        Ok((Some(Table::parse(&entry.value).ok_or_else(wrong)?), entry.revision))
    }

    /// Says once why this poller is not among the others.
    fn wait_for(&mut self, waits: Waits) {
        if self.waits.replace(waits) == Some(waits) {
            return;
        }
        (self.say)(match waits {
            Waits::NameIsTaken => {
                "WARNING: another poller has the name of this one, or it has just ended: this one waits until the lease of that is over; give each a name by --poller"
            }
            Waits::IsFull => "WARNING: there are too many pollers for this one: 62 at most",
        });
    }

    /// A table was written: says who has come and who has gone since the one before.
    fn written(
        &mut self,
        before: Option<&Table>,
        proposal: &Proposal,
        revision: u64,
        sent_ns: u64,
    ) {
        self.waits = None;
        let names = |all: &[Member]| -> Vec<String> {
            let known = all.iter().filter(|one| one.name != LOST);
            known.map(|one| one.name.clone()).collect()
        };
        let members = names(&proposal.table.members);
        let (was, devices) = {
            let mut state = self.shared.lock();
            state.lease.written(proposal, revision, sent_ns);
            (std::mem::replace(&mut state.members, members.clone()), state.devices.clone())
        };
        if let Some(account) = &mut self.account {
            account.seen(&proposal.table, &devices, realtime_s());
        }
        let Some(own) = proposal.table.members.iter().find(|one| proposal.is_of(one)) else {
            return;
        };
        let (mut said, own_name) = (Vec::new(), &own.name);
        if before.is_none() {
            said.push("there is no table of pollers: nothing is polled until the lease of those of before is over".to_owned());
        }
        for name in proposal.silent.iter().filter(|name| *name != LOST) {
            said.push(format!(
                "WARNING: the poller {name} is silent: the others take its devices over"
            ));
        }
        let is_new = |name: &&String| *name != own_name && !was.contains(name);
        said.extend(
            members.iter().filter(is_new).map(|name| format!("the poller {name} is there")),
        );
        let is_gone = |name: &&String| !members.contains(name) && !proposal.silent.contains(name);
        said.extend(was.iter().filter(is_gone).map(|name| format!("the poller {name} has gone")));
        let others = proposal.table.members.iter();
        let strangers = others.filter(|one| one.name != LOST && one.targets != own.targets);
        let strangers: Vec<String> = strangers.map(|one| one.name.clone()).collect();
        if strangers != self.strangers && !strangers.is_empty() {
            said.push(format!(
                "WARNING: other targets than here: {}: all pollers of a bucket need the same configurations",
                strangers.join(", ")
            ));
        }
        self.strangers = strangers;
        said.iter().for_each(|text| (self.say)(text));
    }

    /// Leaves the slots to the others.
    fn end(&mut self) -> io::Result<()> {
        for _ in 0..TRIES {
            let (Some(table), revision) = self.read()? else { return Ok(()) };
            let proposal = self.shared.lock().lease.propose_end(table, revision);
            let Some(proposal) = proposal else { return Ok(()) };
            if let PutResult::Done(_) =
                self.bucket.put(KEY, &proposal.table.text(), proposal.revision)?
            {
                return Ok(());
            }
        }
        Ok(())
    }
}
