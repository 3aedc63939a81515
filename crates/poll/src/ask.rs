//! Asks devices well: what all targets want of a device goes into as few requests as it accepts, and
//! all devices are asked at once.
//!
//! How many objects a device takes in a request is learned: it grows while answers are full, is
//! halved after `tooBig` or silence, and kept from round to round.  An object that is wanted twice
//! is asked once; columns of which all rows are wanted are asked for by GETBULK.  A device that does
//! not answer costs the waits that are configured for one request once, then one small request in a
//! round until it answers.  Interfaces that are selected by a text are walked once; each answer is checked against it,
//! and the tables are walked again if another interface has the number now.  Counters are compared
//! with the round before, so that one that was reset is noticed.

mod cache;
mod counters;
mod device;
mod interfaces;
mod limit;
mod settings;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use snmp::{KernelSocket, NextPoll, SnmpSession};

use crate::config::Config;
use crate::device::Device;
use crate::notices::{Notices, QueryNames};
use crate::reading::QueryAnswer;
use crate::round::Asker;
use crate::share::Turn;
use crate::target::Query;

pub use cache::{InterfaceCache, InterfaceCacheFile};
use device::AskedDevice;

/// Receive buffer, in bytes: answers of a thousand devices at once.
const RECEIVE_BYTES: usize = 16 << 20;

/// The part of an interval that a round waits for devices that were away before.
const PATIENCE_SHARE: u64 = 10;

/// Asks devices with as few requests as they accept.
#[derive(Debug)]
pub struct MergingAsker {
    seed: u64,
    now_ns: fn() -> u64,
    open: Option<OpenSession>,
    cache: InterfaceCache,
    turn: Option<Turn>,
}

/// The session of a configuration's devices.
#[derive(Debug)]
struct OpenSession {
    session: SnmpSession<KernelSocket>,
    sockets: HashMap<SocketAddr, usize>,
    /// What the devices below were made from.
    config: Vec<Device>,
    devices: Vec<Result<AskedDevice, Arc<str>>>,
}

impl MergingAsker {
    /// An asker.  `seed` is any number that others do not know; `now_ns` is a clock that never
    /// steps, in ns.
    pub fn new(seed: u64, now_ns: fn() -> u64) -> Self {
        MergingAsker { seed, now_ns, open: None, cache: InterfaceCache::default(), turn: None }
    }

    /// Has it ask in the next rounds what a turn has, or everything.
    pub fn set_turn(&mut self, turn: Option<Turn>) {
        self.turn = turn;
    }

    /// Gives it the interfaces that an earlier run found: their tables are not walked again unless
    /// one has moved or is not there.
    pub fn set_interfaces(&mut self, cache: InterfaceCache) {
        self.cache = cache;
    }

    /// The interfaces that are known now, of all devices that were ever asked for them.
    pub fn interfaces(&mut self) -> &InterfaceCache {
        self.keep_interfaces();
        &self.cache
    }

    fn keep_interfaces(&mut self) {
        for (device, asked) in
            self.open.iter().flat_map(|open| open.config.iter().zip(&open.devices))
        {
            if let Ok(asked) = asked
                && asked.has_interfaces()
            {
                self.cache.set(&device.cache_name(), asked.interfaces());
            }
        }
    }

    /// What was sent and received since the configuration was loaded.
    pub fn counts(&self) -> Option<snmp::SessionCounts> {
        self.open.as_ref().map(|open| open.session.counts())
    }
}

impl Asker for MergingAsker {
    fn ask(
        &mut self,
        config: &Config,
        wall_ns: &dyn Fn() -> i64,
        say: &mut dyn FnMut(String),
    ) -> Vec<QueryAnswer> {
        let empty = QueryAnswer { time_ns: wall_ns(), ..QueryAnswer::default() };
        let mut answers = vec![empty; config.queries.len()];
        if let Err(error) = self.try_ask(config, wall_ns, say, &mut answers) {
            let why: Arc<str> = format!("cannot ask devices: {error}").into();
            answers.iter_mut().for_each(|answer| answer.fails(why.clone()));
            say(why.to_string());
        }
        answers
    }
}

impl MergingAsker {
    fn try_ask(
        &mut self,
        config: &Config,
        wall_ns: &dyn Fn() -> i64,
        say: &mut dyn FnMut(String),
        answers: &mut [QueryAnswer],
    ) -> io::Result<()> {
        let is_same = self.open.as_ref().is_some_and(|open| open.config == config.devices);
        if !is_same {
            self.keep_interfaces();
            self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.open = Some(OpenSession::new(self.seed, config, &self.cache, say)?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let has_names = !config.global.is_without_mib2;
        let (begun_ns, interval_s) = ((self.now_ns)(), config.global.interval_s);
        let begun_wall_ns = wall_ns();
        let devices = open.devices.iter_mut().flatten();
        devices.for_each(|device| device.begin((begun_ns, begun_wall_ns), &config.global));
        let is_asked = |(number, _): &(usize, _)| {
            self.turn.as_ref().is_none_or(|turn| turn.has_query(*number))
        };
        for (number, query) in config.queries.iter().enumerate().filter(is_asked) {
            let (query, has_names) = match query {
                Query::Snmp(query) => (query, has_names),
                Query::Texts(query) => (query, false),
                Query::Program { .. } => continue,
            };
            match open.devices.get_mut(query.device) {
                Some(Ok(device)) => device.add_query(number, query, has_names),
                Some(Err(why)) => answers[number].fails(why.clone()),
                None => {}
            }
        }
        let patience_ns = u64::from(interval_s) * 1_000_000_000 / PATIENCE_SHARE;
        open.run(self.now_ns, begun_ns.saturating_add(patience_ns), wall_ns)?;
        let (names, mut notices) = (QueryNames::new(config), Notices::default());
        for device in open.devices.iter_mut().flatten() {
            device.write_answers(config, wall_ns(), answers, (&names, &mut notices), say);
        }
        notices.say(say);
        Ok(())
    }
}

impl OpenSession {
    fn new(
        seed: u64,
        config: &Config,
        cache: &InterfaceCache,
        say: &mut dyn FnMut(String),
    ) -> io::Result<Self> {
        let any = snmp::any_local_address(false);
        let socket = KernelSocket::bind(any, RECEIVE_BYTES)?;
        let mut session = SnmpSession::new(socket.window(), seed);
        let sockets = HashMap::from([(any, session.add_socket(socket))]);
        let devices = Vec::with_capacity(config.devices.len());
        let mut open = Self { session, sockets, config: config.devices.clone(), devices };
        let mut notices = Notices::default();
        for device in &config.devices {
            let added = open.add(device);
            let mut added = added.map_err(|why| {
                let shared = Arc::from(&*why);
                notices.add(|| device.text.clone(), why);
                shared
            });
            if let Ok(asked) = &mut added {
                asked.load_interfaces(cache, &device.cache_name());
            }
            open.devices.push(added);
        }
        notices.say(say);
        Ok(open)
    }

    fn add(&mut self, device: &Device) -> Result<AskedDevice, String> {
        let address = settings::address(device)?;
        let mut asked = settings::settings(device, address)?;
        let local = settings::local_address(device, address.is_ipv6())?;
        asked.socket = match self.sockets.get(&local) {
            Some(socket) => *socket,
            None => {
                let socket = KernelSocket::bind(local, RECEIVE_BYTES)
                    .map_err(|error| format!("cannot bind {local}: {error}"))?;
                let socket = self.session.add_socket(socket);
                self.sockets.insert(local, socket);
                socket
            }
        };
        let tries = asked.tries;
        let handle = self.session.add_device(asked);
        Ok(AskedDevice::new(handle, device, tries))
    }

    /// Sends what devices want until all have it, or cannot have it.  After `patience_ns` devices that
    /// were away before are not waited for: if one answers late, it is there in the next round.
    fn run(
        &mut self,
        now_ns: fn() -> u64,
        patience_ns: u64,
        wall_ns: &dyn Fn() -> i64,
    ) -> io::Result<()> {
        let mut by_handle = HashMap::new();
        for (index, device) in self.devices.iter_mut().enumerate() {
            if let Ok(device) = device {
                by_handle.insert(device.handle(), index);
                // One of another poller is left alone, also if it was away before.
                if device.is_asked() {
                    device.advance(&mut self.session);
                }
            }
        }
        let away = self.devices.iter().flatten().filter(|one| one.is_only_probed()).count();
        while self.session.pending() > 0 {
            let now = now_ns();
            let is_late = away > 0 && now >= patience_ns && self.session.pending() <= away;
            if is_late && self.is_only_probed() {
                break;
            }
            let (devices, mut touched) = (&mut self.devices, Vec::new());
            let next = self.session.poll(now, &mut |ended| {
                let index = by_handle.get(&ended.device).copied();
                if let Some(index) = index
                    && let Ok(device) = &mut devices[index]
                {
                    device.end_request(ended.token, ended.result, (now, wall_ns()));
                    touched.push(index);
                }
            })?;
            let is_touched = !touched.is_empty();
            for index in touched {
                if let Ok(device) = &mut self.devices[index] {
                    device.advance(&mut self.session);
                }
            }
            let wait_ns = match next {
                _ if is_touched => continue,
                NextPoll::Now => continue,
                NextPoll::At(at) => at.saturating_sub(now),
                NextPoll::Idle => 1_000_000_000,
            };
            let is_patient = away > 0 && now < patience_ns;
            let wait_ns = if is_patient { wait_ns.min(patience_ns - now) } else { wait_ns };
            let time = Timespec {
                tv_sec: i64::try_from(wait_ns / 1_000_000_000).unwrap_or(1),
                tv_nsec: (wait_ns % 1_000_000_000) as _,
            };
            let mut watched: Vec<PollFd<'_>> =
                self.session.sockets().iter().map(|one| PollFd::new(one, PollFlags::IN)).collect();
            // A signal ends the wait early; the loop looks again.
            let _ = poll(&mut watched, Some(&time));
        }
        Ok(())
    }
}

impl OpenSession {
    /// Whether nothing is on its way but small requests to devices that are away.
    fn is_only_probed(&self) -> bool {
        let away = self.devices.iter().flatten().filter(|one| one.is_only_probed()).count();
        away == self.session.pending()
    }
}
