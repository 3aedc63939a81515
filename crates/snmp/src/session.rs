//! A session: requests to many devices by a few sockets, without a thread and without waiting.
//!
//! The caller submits requests, calls [`SnmpSession::poll`] whenever a socket is readable or the
//! time that it returned has come, and gets each answer, or why there is none, once.  Time comes
//! with each call, in ns of a clock that never steps.
//!
//! A device has at most a few requests on the way; further ones wait their turn.  A request that is
//! not answered is sent again, after a wait that follows the round trips of its device (RFC 6298)
//! and is never longer than configured; it fails when all configured waits are over, so a short
//! round trip does not make a device dead sooner.  As many answers are awaited at once as fit the
//! receive buffer; a request that is not answered within [`EXPECTED_NS`] no longer counts for that,
//! so dead devices delay no others.
//!
//! Once warm, a request that is sent and answered allocates nothing.

mod device;
mod engine;
mod outcome;
mod receive;
mod table;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use crate::ber::{EncodeError, MESSAGE_BYTES_MAX};
use crate::message::CommunityHead;
use crate::oid::OidRef;
use crate::pdu::{self, Pdu, PduHead, PduKind};
use crate::socket::{DatagramSocket, OutgoingDatagram};
use crate::usm::{KeyCache, ScopedHead, V3Flags};

use device::Device;
pub use device::{DeviceSettings, Security};
pub use engine::UsmReport;
pub use outcome::{Completion, Refusal, RequestError, RequestKind, SessionCounts, SubmitError};
use table::RequestTable;

/// How long room in the receive buffer is kept for an answer, in ns: longer than the round trip of
/// most networks.
const EXPECTED_NS: u64 = 100_000_000;

/// Ends of tries that are kept although nobody waits for them any more, at least.
const DEADLINES_KEPT: usize = 64;

/// Most datagrams of a batch.
const BATCH: usize = 64;

/// Bytes of the requests of a batch.
const ARENA_BYTES: usize = 4 * MESSAGE_BYTES_MAX;

/// Batches that are received from a socket before anything else is done.
const RECEIVES_MAX: usize = 32;

/// A device of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceHandle(u32);

impl DeviceHandle {
    /// A number, from 0, by which the caller may keep its own things of the device.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// When to call [`SnmpSession::poll`] again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPoll {
    /// At once: something was done and more may be here.
    Now,
    /// When a socket is readable, at the latest at this time, in ns.
    At(u64),
    /// When a socket is readable, or a request was submitted.
    Idle,
}

/// Requests to many devices.
#[derive(Debug)]
pub struct SnmpSession<S> {
    sockets: Vec<S>,
    state: SessionState,
    /// Requests of a batch, from the end to the beginning.
    arena: Vec<u8>,
    batch: Vec<OutgoingDatagram>,
    batch_places: Vec<u32>,
}

/// All but the sockets.
#[derive(Debug)]
struct SessionState {
    devices: Vec<Device>,
    by_address: HashMap<SocketAddr, u32>,
    table: RequestTable,
    /// Devices with room and something to send.
    ready: VecDeque<u32>,
    /// Requests to be sent before others: place, uses.
    again: VecDeque<(u32, u32)>,
    /// Ends of tries: time, place, uses.
    deadlines: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Requests that room is kept for, in the order in which they were sent: time, place, uses.
    expected: VecDeque<(u64, u32, u32)>,
    /// How many room is kept for, and most of them.
    expected_count: usize,
    window: usize,
    counts: SessionCounts,
    keys: KeyCache,
    /// Counts messages that are encrypted.
    salt: u64,
}

impl<S: DatagramSocket> SnmpSession<S> {
    /// A session that awaits at most `window` answers at once ([`crate::KernelSocket::window`]).
    /// `seed` is any number that others do not know; request ids begin with it.
    #[must_use]
    pub fn new(window: usize, seed: u64) -> Self {
        let state = SessionState {
            devices: Vec::new(),
            by_address: HashMap::new(),
            table: RequestTable::new(seed),
            ready: VecDeque::new(),
            again: VecDeque::new(),
            deadlines: BinaryHeap::new(),
            expected: VecDeque::new(),
            expected_count: 0,
            window: window.max(1),
            counts: SessionCounts::default(),
            keys: KeyCache::default(),
            salt: seed.rotate_left(17),
        };
        let arena = vec![0; ARENA_BYTES];
        Self { sockets: Vec::new(), state, arena, batch: Vec::new(), batch_places: Vec::new() }
    }

    /// Adds a socket, and gives its number for [`DeviceSettings::socket`].
    pub fn add_socket(&mut self, socket: S) -> usize {
        self.sockets.push(socket);
        self.sockets.len() - 1
    }

    /// The sockets, to wait for them.
    #[must_use]
    pub fn sockets(&self) -> &[S] {
        &self.sockets
    }

    /// Adds a device.
    ///
    /// # Panics
    /// If its socket was not added.
    pub fn add_device(&mut self, settings: DeviceSettings) -> DeviceHandle {
        assert!(settings.socket < self.sockets.len(), "the socket of a device was not added");
        let index = self.state.devices.len() as u32;
        self.state.by_address.insert(settings.address, index);
        self.state.devices.push(Device::new(settings));
        DeviceHandle(index)
    }

    /// Removes a device.  Its requests end with [`RequestError::Removed`] at their next time.
    pub fn remove_device(&mut self, device: DeviceHandle) {
        let Some(removed) = self.state.devices.get_mut(device.index()) else { return };
        removed.is_removed = true;
        let address = removed.settings.address;
        if self.state.by_address.get(&address) == Some(&device.0) {
            self.state.by_address.remove(&address);
        }
    }

    /// How a device is asked; a change holds from the next request on.
    ///
    /// # Panics
    /// If the device is of another session.
    pub fn settings_mut(&mut self, device: DeviceHandle) -> &mut DeviceSettings {
        &mut self.state.devices[device.index()].settings
    }

    /// The smoothed round trip of a device, in ns; `None` before its first answer.
    #[must_use]
    pub fn round_trip_ns(&self, device: DeviceHandle) -> Option<u64> {
        self.state.devices.get(device.index())?.smoothed_ns()
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> SessionCounts {
        self.state.counts
    }

    /// Requests that have not ended.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.state.table.len()
    }

    /// Takes a request.  `token` comes back with its end.
    ///
    /// # Errors
    /// If there are too many, the request is too long, or the device was removed.
    pub fn submit<'o>(
        &mut self,
        device: DeviceHandle,
        asked: RequestKind,
        oids: impl Iterator<Item = OidRef<'o>>,
        token: u64,
    ) -> Result<(), SubmitError> {
        self.submit_tries(device, asked, oids, token, 0..u32::MAX)
    }

    /// Takes a request that has only some of the configured tries: `0..1` is sent once and waits as
    /// long as the first try, `1..u32::MAX` has all others.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn submit_tries<'o>(
        &mut self,
        device: DeviceHandle,
        asked: RequestKind,
        oids: impl Iterator<Item = OidRef<'o>>,
        token: u64,
        tries: Range<u32>,
    ) -> Result<(), SubmitError> {
        let state = &mut self.state;
        let owner = state.devices.get_mut(device.index()).ok_or(SubmitError::Removed)?;
        if owner.is_removed {
            return Err(SubmitError::Removed);
        }
        let head = match asked {
            RequestKind::Get => PduHead::request(PduKind::Get, 0),
            RequestKind::GetNext => PduHead::request(PduKind::GetNext, 0),
            RequestKind::GetBulk { non_repeaters, max_repetitions } => {
                PduHead::bulk(0, non_repeaters.into(), max_repetitions.into())
            }
        };
        let is_short = owner.settings.has_16_bit_request_ids;
        let place = state.table.add(device.0, token, head, is_short).ok_or(SubmitError::TooMany)?;
        let configured = owner.settings.tries.clamp(1, 100);
        let pending = state.table.get_mut(place);
        pending.first_try = tries.start.min(configured - 1);
        pending.tries_max = tries.end.min(configured).saturating_sub(pending.first_try).max(1);
        oids.for_each(|oid| pdu::push_asked(&mut pending.varbinds, oid));
        if pending.varbinds.len() > MESSAGE_BYTES_MAX {
            state.table.remove(place);
            return Err(SubmitError::TooLong);
        }
        owner.queue.push_back(place);
        state.counts.requests += 1;
        state.make_ready(device.0);
        Ok(())
    }

    /// Receives what is here, ends what is answered or over, sends what may be sent.
    ///
    /// # Errors
    /// If a socket as a whole fails; what concerns one request is its own error.
    pub fn poll(
        &mut self,
        now_ns: u64,
        ended: &mut dyn FnMut(Completion<'_>),
    ) -> io::Result<NextPoll> {
        let mut received = 0;
        for socket in &mut self.sockets {
            for _ in 0..RECEIVES_MAX {
                let state = &mut self.state;
                let count = socket.receive(&mut |from, bytes| {
                    state.on_datagram(now_ns, from, bytes, ended);
                })?;
                received += count;
                if count < BATCH {
                    break;
                }
            }
        }
        self.state.expire(now_ns, ended);
        let sent = self.send(now_ns, ended);
        if received > 0 || sent > 0 {
            return Ok(NextPoll::Now);
        }
        Ok(self.state.next_poll(now_ns))
    }

    /// Sends a batch; how many requests it took.
    fn send(&mut self, now_ns: u64, ended: &mut dyn FnMut(Completion<'_>)) -> usize {
        self.batch.clear();
        self.batch_places.clear();
        let mut end = self.arena.len();
        let mut socket = None;
        while self.batch.len() < BATCH {
            let Some(place) = self.state.next_to_send() else { break };
            let device = &self.state.devices[self.state.table.get(place).device as usize];
            let to = device.settings.address;
            // A batch is of one socket and fits the arena; else what is there goes first.
            if *socket.get_or_insert(device.settings.socket) != device.settings.socket {
                self.state.send_next(place);
                break;
            }
            match self.state.encode(place, now_ns, &mut self.arena[..end]) {
                Ok(start) => {
                    self.batch.push(OutgoingDatagram { range: start..end, to });
                    self.batch_places.push(place);
                    end = start;
                }
                Err(_) if end < self.arena.len() => {
                    self.state.send_next(place);
                    break;
                }
                Err(_) => self.state.end(place, Err(RequestError::TooLong), ended),
            }
        }
        let taken = self.batch.len();
        if let Some(socket) = socket {
            self.send_batch(socket, now_ns, ended);
        }
        taken
    }

    fn send_batch(&mut self, socket: usize, now_ns: u64, ended: &mut dyn FnMut(Completion<'_>)) {
        let mut done = 0;
        while done < self.batch.len() {
            match self.sockets[socket].send(&self.arena, &self.batch[done..]) {
                // The system takes no more: the rest is sent at the next call.
                Ok(0) => break,
                Ok(count) => {
                    for index in done..(done + count).min(self.batch.len()) {
                        self.state.counts.bytes += self.batch[index].range.len() as u64;
                        self.state.on_sent(self.batch_places[index], now_ns);
                    }
                    done += count;
                }
                Err(error) => {
                    let (kind, number) = (error.kind(), error.raw_os_error());
                    let error = RequestError::Send { kind, number };
                    self.state.end(self.batch_places[done], Err(error), ended);
                    done += 1;
                }
            }
        }
        for &place in self.batch_places[done.min(self.batch_places.len())..].iter().rev() {
            self.state.send_next(place);
        }
    }
}

/// Whether this is still the end of a try.
fn is_deadline(table: &RequestTable, at: u64, place: u32, uses: u32) -> bool {
    table.uses(place) == uses && table.get(place).deadline_ns == at
}

impl SessionState {
    /// Puts a device into the row of those that may send.
    fn make_ready(&mut self, index: u32) {
        let device = &mut self.devices[index as usize];
        if !device.is_ready && !device.queue.is_empty() && (device.has_room() || device.is_removed)
        {
            device.is_ready = true;
            self.ready.push_back(index);
        }
    }

    /// The next request to send: one that is sent again, or a new one if there is room.
    fn next_to_send(&mut self) -> Option<u32> {
        while let Some((place, uses)) = self.again.pop_front() {
            // Or else it was answered meanwhile.
            if self.table.uses(place) == uses {
                return Some(place);
            }
        }
        while self.expected_count < self.window {
            let index = self.ready.pop_front()?;
            let device = &mut self.devices[index as usize];
            device.is_ready = false;
            if !device.has_room() {
                continue;
            }
            let Some(place) = device.queue.pop_front() else { continue };
            device.in_flight += 1;
            self.make_ready(index);
            // Counted from here on, so that a batch is not larger than the window.
            self.expect(place);
            return Some(place);
        }
        None
    }

    /// Sends a request before all others.
    fn send_next(&mut self, place: u32) {
        self.again.push_front((place, self.table.uses(place)));
    }

    fn expect(&mut self, place: u32) {
        let pending = self.table.get_mut(place);
        if !std::mem::replace(&mut pending.has_room, true) {
            self.expected_count += 1;
        }
    }

    fn encode(&mut self, place: u32, now_ns: u64, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let pending = self.table.get(place);
        let device = &self.devices[pending.device as usize];
        let user = match &device.settings.security {
            Security::Community { version, community } => {
                let head = CommunityHead { version: *version, community };
                return head.encode_raw(buffer, &pending.head, &pending.varbinds);
            }
            Security::User(user) => user,
        };
        let engine = &device.engine;
        let is_known = engine.is_known();
        // Who does not know an engine asks it without a name, and is told in a report.
        let name = if is_known { user.name() } else { &[] };
        let mut head = engine.head(now_ns, pending.id, name);
        let flags = if is_known { user.flags() } else { V3Flags::default() };
        head.flags = V3Flags { is_reportable: true, ..flags };
        let scope = ScopedHead {
            context_engine_id: user.context_engine_id.as_deref().unwrap_or(&engine.id),
            context_name: &user.context_name,
        };
        self.salt = self.salt.wrapping_add(1);
        let varbinds = if is_known { &pending.varbinds[..] } else { &[] };
        head.encode_raw(buffer, &engine.keys, self.salt, &scope, &pending.head, varbinds)
    }

    fn on_sent(&mut self, place: u32, now_ns: u64) {
        self.expect(place);
        let uses = self.table.uses(place);
        let pending = self.table.get_mut(place);
        let device = &self.devices[pending.device as usize];
        if pending.tries == 0 {
            pending.first_sent_ns = now_ns;
        }
        if pending.tries > 0 {
            self.counts.repeated += 1;
        }
        self.counts.sent += 1;
        // The last try waits for the rest of what is configured.
        let (first, count) = (pending.first_try, pending.tries_max);
        let whole_ns = device.settings.whole_ns(first..first + count);
        let over_ns = pending.first_sent_ns.saturating_add(whole_ns);
        let wait_ns = now_ns.saturating_add(device.wait_ns(first + pending.tries));
        pending.tries += 1;
        let is_last = pending.tries >= count;
        pending.deadline_ns = if is_last { over_ns.max(now_ns) } else { wait_ns.min(over_ns) };
        pending.sent_ns = now_ns;
        let deadline_ns = pending.deadline_ns;
        // Most requests are answered long before: what is left of them goes when it is the most.
        if self.deadlines.len() >= DEADLINES_KEPT + 2 * self.table.len() {
            let table = &self.table;
            self.deadlines
                .retain(|Reverse((at, place, uses))| is_deadline(table, *at, *place, *uses));
        }
        self.deadlines.push(Reverse((deadline_ns, place, uses)));
        self.expected.push_back((now_ns, place, uses));
    }

    /// Gives up keeping room for old requests, sends again or ends those whose try is over.
    fn expire(&mut self, now_ns: u64, ended: &mut dyn FnMut(Completion<'_>)) {
        while let Some(&(sent_ns, place, uses)) = self.expected.front() {
            let is_same = self.table.uses(place) == uses;
            let is_old = sent_ns.saturating_add(EXPECTED_NS) <= now_ns;
            if is_same && !is_old {
                break;
            }
            self.expected.pop_front();
            let pending = self.table.get_mut(place);
            if is_same && pending.sent_ns == sent_ns && std::mem::take(&mut pending.has_room) {
                self.expected_count -= 1;
            }
        }
        while let Some(&Reverse((deadline_ns, place, uses))) = self.deadlines.peek() {
            if deadline_ns > now_ns {
                break;
            }
            self.deadlines.pop();
            if !is_deadline(&self.table, deadline_ns, place, uses) {
                continue;
            }
            let pending = self.table.get(place);
            let device = &self.devices[pending.device as usize];
            if device.is_removed {
                self.end(place, Err(RequestError::Removed), ended);
            } else if pending.tries >= pending.tries_max {
                let (tries, refusal) = (pending.first_try + pending.tries, device.refusal);
                self.counts.timeouts += 1;
                self.end(place, Err(RequestError::Timeout { tries, refusal }), ended);
            } else {
                self.again.push_back((place, uses));
            }
        }
        self.end_removed(ended);
    }

    /// Ends the requests of removed devices that wait their turn.
    fn end_removed(&mut self, ended: &mut dyn FnMut(Completion<'_>)) {
        while let Some(&index) = self.ready.front()
            && self.devices[index as usize].is_removed
        {
            self.ready.pop_front();
            self.devices[index as usize].is_ready = false;
            while let Some(place) = self.devices[index as usize].queue.pop_front() {
                self.devices[index as usize].in_flight += 1;
                self.end(place, Err(RequestError::Removed), ended);
            }
        }
    }

    /// Ends a request that was taken from its queue.
    fn end(
        &mut self,
        place: u32,
        result: Result<Pdu<'_>, RequestError>,
        ended: &mut dyn FnMut(Completion<'_>),
    ) {
        let pending = self.table.get_mut(place);
        if std::mem::take(&mut pending.has_room) {
            self.expected_count -= 1;
        }
        let (device, token, tries) = (pending.device, pending.token, pending.tries);
        self.table.remove(place);
        let owner = &mut self.devices[device as usize];
        owner.in_flight = owner.in_flight.saturating_sub(1);
        if result.is_ok() {
            owner.refusal = None;
        }
        self.make_ready(device);
        ended(Completion { device: DeviceHandle(device), token, tries, result });
    }

    fn next_poll(&mut self, now_ns: u64) -> NextPoll {
        while let Some(&Reverse((at, place, uses))) = self.deadlines.peek()
            && !is_deadline(&self.table, at, place, uses)
        {
            self.deadlines.pop();
        }
        let deadline = self.deadlines.peek().map(|Reverse((at, ..))| *at);
        let room = self.expected.front().map(|(sent, ..)| sent.saturating_add(EXPECTED_NS));
        let room = room.filter(|_| !self.ready.is_empty());
        // What could not be sent is tried again soon.
        let again = (!self.again.is_empty()).then_some(now_ns.saturating_add(1_000_000));
        match [deadline, room, again].into_iter().flatten().min() {
            Some(at) => NextPoll::At(at.max(now_ns)),
            None => NextPoll::Idle,
        }
    }
}
