//! A device in a round: what is wanted of it, in which requests, and what came.
//!
//! A device that has not answered yet, or is asked for more than it ever answered, is sent a request
//! once.
//! If nothing comes, a small request has the other tries: so it shows in the time of one request
//! whether the request was too large or the device is away.  A device that is away gets one small
//! request in a round, which the round does not wait for longer than a tenth of its interval, and
//! rests between them for 1, 2, 4 … 30 seconds.

mod answers;
mod bulk;
mod parts;
mod restarts;
mod tables;

use std::ops::Range;
use std::sync::Arc;

use snmp::{
    DeviceHandle, ErrorStatus, KernelSocket, Oid, Pdu, RequestError, RequestKind, SnmpSession,
    SnmpValue,
};

use super::counters::{Count, UpTime};
use super::interfaces::{ENTRIES_MAX, TABLES, check_oid, is_same, table_of};
use crate::config::Global;
use crate::device::Device;
use crate::target::{ObjectMethod, SnmpQuery, Variable, VariableSource};
use answers::{KeptValue, text};
use parts::{
    Batching, Contact, DeviceRound, DeviceSettings, InterfaceTables, Objects, Reachability,
    Requests, Restarts, Stage,
};

/// Bytes of the objects of a request: its answer should fit a datagram that is not cut in pieces.
const REQUEST_BYTES: usize = 900;

/// Objects that a request of a walk asks for, unless `SnmpOptions` says otherwise.
const REPETITIONS: u16 = 25;

/// Requests on their way to a device at once.
const IN_FLIGHT_MAX: usize = 2;

/// Requests without an answer, one after the other, until the others of the round are given up.
const SILENT_MAX: u32 = 4;

/// The longest rest of a device that is away, in seconds, and its factor of two.
const REST_S_MAX: u64 = 30;
const REST_DOUBLINGS_MAX: u32 = 5;

/// The longest walk, in ns: a device can send rows for ever.
const WALK_NS_MAX: u64 = 60_000_000_000;

/// How much earlier than its rest says a device is asked again, in ns: rounds are not exact.
const REST_SLACK_NS: u64 = 100_000_000;

/// An object that is wanted.
#[derive(Debug)]
struct WantedObject {
    oid: Oid,
    value: KeptValue,
    /// The count, if the value is one; in the objects of the round before, the latest that is known.
    count: Option<Count>,
    /// Whether the value shows that the interface is still the one selected.
    is_checked: Option<bool>,
    /// Whether the object is a counter that was reset since the round before.
    was_reset: bool,
    /// When its answer came, in µs since the round began.
    after_us: u32,
}

impl WantedObject {
    fn new(oid: Oid) -> Self {
        Self {
            oid,
            value: KeptValue::Missing,
            count: None,
            is_checked: None,
            was_reset: false,
            after_us: 0,
        }
    }
}

/// What a query gets its values from.
#[derive(Debug)]
enum ValuePlace {
    Constant(u8),
    Object(usize),
    Walk { walk: usize, method: ObjectMethod },
    Missing(&'static str),
}

#[derive(Debug)]
struct WantedQuery {
    number: usize,
    query: Arc<SnmpQuery>,
    places: [ValuePlace; 2],
    extras: [Option<usize>; 2],
    checks: Vec<(usize, usize, u32)>,
}

/// A walk below an object.
#[derive(Debug)]
struct Walk {
    root: Oid,
    last: Oid,
    values: Vec<Vec<u8>>,
    /// The table of interfaces that it fills.
    table: Option<usize>,
    /// Only the object that follows.
    is_next: bool,
    is_over: bool,
    /// When its latest answer came, in µs since the round began.
    after_us: u32,
}

/// A request on its way.
#[derive(Debug)]
enum PendingRequest {
    Objects(Vec<usize>),
    /// A request of the plan.
    Bulk(usize),
    Walk(usize),
}

/// A device and what is known of it.
#[derive(Debug)]
pub(super) struct AskedDevice {
    settings: DeviceSettings,
    reach: Reachability,
    batching: Batching,
    requests: Requests,
    round: DeviceRound,
    tables: InterfaceTables,
    restarts: Restarts,
    objects: Objects,
    queries: Vec<WantedQuery>,
    walks: Vec<Walk>,
}

impl AskedDevice {
    pub(super) fn new(handle: DeviceHandle, device: &Device, tries: u32) -> Self {
        Self {
            settings: DeviceSettings::new(handle, device, tries),
            reach: Reachability::default(),
            batching: Batching::default(),
            requests: Requests::default(),
            round: DeviceRound::default(),
            tables: InterfaceTables::default(),
            restarts: Restarts::default(),
            objects: Objects::default(),
            queries: Vec::new(),
            walks: Vec::new(),
        }
    }

    pub(super) fn handle(&self) -> DeviceHandle {
        self.settings.handle
    }

    /// Whether the device is away and its round is over, but for a small request that may be answered in the
    /// next one.
    pub(super) fn is_only_probed(&self) -> bool {
        self.reach.contact == Contact::Away && self.reach.probe.is_some()
    }

    /// Forgets the round before, but not what was learned.
    pub(super) fn begin(&mut self, (begun_ns, begun_wall_ns): (u64, i64), global: &Global) {
        self.round = DeviceRound::new(begun_ns, begun_wall_ns, global);
        self.objects.begin(self.reach.is_answering);
        self.restarts.begin();
        self.reach.begin(begun_ns);
        self.batching.begin();
        self.requests.to_send.clear();
        self.requests.sent.clear();
        self.queries.clear();
        self.walks.clear();
    }

    /// Adds a query.
    pub(super) fn add_query(&mut self, number: usize, query: &Arc<SnmpQuery>, has_names: bool) {
        let places = [ValuePlace::Missing(""), ValuePlace::Missing("")];
        let mut extras = [None, None];
        if has_names {
            extras =
                [3, 5].map(|n| self.objects.place(Oid::new(&[1, 3, 6, 1, 2, 1, 1, n, 0]).ok()));
            self.restarts.uptime_place = extras[0];
        }
        let query = Arc::clone(query);
        self.queries.push(WantedQuery { number, query, places, extras, checks: Vec::new() });
    }

    /// Whether something is wanted of it in this round.
    pub(super) fn is_asked(&self) -> bool {
        !self.queries.is_empty()
    }

    /// Sends what is next; goes to the next stage when nothing is on its way.
    pub(super) fn advance(&mut self, session: &mut SnmpSession<KernelSocket>) {
        if self.reach.is_resting {
            return;
        }
        let is_asked_once = self.reach.contact == Contact::Away || self.settings.tries < 2;
        let is_probed = self.reach.contact == Contact::Away
            || !self.reach.unanswered.is_empty()
            || self.reach.contact == Contact::Unknown && self.settings.tries < 2;
        if is_probed && !self.reach.has_probed {
            self.send_probe(session, if is_asked_once { 0..1 } else { 1..u32::MAX });
        }
        if self.reach.contact == Contact::Away || !self.reach.unanswered.is_empty() {
            return;
        }
        loop {
            let again = std::mem::take(&mut self.batching.again);
            self.put_into_requests(&again);
            while self.requests.sent.len() < IN_FLIGHT_MAX
                && let Some(sent) = self.requests.to_send.pop_front()
            {
                self.send(session, sent);
            }
            if !self.requests.sent.is_empty()
                || self.round.error.is_some() && !self.reach.is_answering
            {
                return;
            }
            match self.round.stage {
                Stage::Tables => {
                    if self.needs_walk() {
                        self.walk_tables();
                    } else {
                        self.round.stage = Stage::Objects;
                        self.resolve();
                        self.ask_objects();
                    }
                }
                Stage::Objects if self.has_changed() => {
                    self.round.stage = Stage::Checked;
                    self.walk_tables();
                }
                Stage::Checked
                    if self.has_changed() && self.walks.iter().any(|walk| walk.table.is_some()) =>
                {
                    self.objects.list.iter_mut().for_each(|one| one.is_checked = None);
                    self.walks.clear();
                    self.resolve();
                    self.ask_objects();
                }
                Stage::Objects | Stage::Checked => {
                    self.round.stage = Stage::Counters;
                    self.compare_counters();
                    if self.requests.to_send.is_empty() {
                        return;
                    }
                }
                Stage::Counters => return,
            }
        }
    }

    fn walk_tables(&mut self) {
        self.tables.interfaces.begin_walk();
        self.tables.walked_ns = Some(self.round.begun_ns);
        self.walks.clear();
        for (table, root) in TABLES.iter().enumerate() {
            let mut selectors = self.queries.iter().flat_map(|one| one.query.variables.iter());
            let is_needed = selectors.any(|one| table_of(&one.interface) == Some(table));
            if let Some(root) = Oid::new(root).ok().filter(|_| is_needed) {
                self.add_walk(root, Some(table), false);
            }
        }
    }

    fn add_walk(&mut self, root: Oid, table: Option<usize>, is_next: bool) -> usize {
        let last = root.clone();
        let walk =
            Walk { root, last, values: Vec::new(), table, is_next, is_over: false, after_us: 0 };
        self.walks.push(walk);
        self.requests.to_send.push_back(PendingRequest::Walk(self.walks.len() - 1));
        self.walks.len() - 1
    }

    /// Whether an interface is no longer the one that was selected.
    fn has_changed(&self) -> bool {
        self.objects.list.iter().any(|one| one.is_checked == Some(false))
    }

    /// Finds the objects of all queries.
    fn resolve(&mut self) {
        let mut queries = std::mem::take(&mut self.queries);
        self.tables.has_missing = false;
        for one in &mut queries {
            one.checks.clear();
            for (place, variable) in one.query.variables.iter().enumerate() {
                let number = self.tables.interfaces.find(&variable.interface);
                self.tables.has_missing |= number.is_err();
                if let Ok(Some(number)) = number
                    && let Some(check) = self.objects.place(check_oid(&variable.interface, number))
                {
                    one.checks.push((check, place, number));
                }
                one.places[place] = self.place(variable, number);
            }
        }
        self.queries = queries;
        self.objects.end_gathering();
    }

    fn place(
        &mut self,
        variable: &Variable,
        number: Result<Option<u32>, &'static str>,
    ) -> ValuePlace {
        let VariableSource::Object { id, method, .. } = &variable.source else {
            let VariableSource::Constant(value) = variable.source else {
                return ValuePlace::Missing("unknown object");
            };
            return ValuePlace::Constant(value);
        };
        let number = match number {
            Ok(number) => number,
            Err(why) => return ValuePlace::Missing(why),
        };
        let mut numbers = id.to_vec();
        match (method, number) {
            (ObjectMethod::IndexAt(at), Some(number)) => {
                numbers.insert((*at).min(id.len()), number);
            }
            (_, Some(number)) => numbers.push(number),
            (_, None) => {}
        }
        let Ok(oid) = Oid::new(&numbers) else { return ValuePlace::Missing("unknown object") };
        match method {
            ObjectMethod::Get | ObjectMethod::IndexAt(_) => {
                self.objects.place(Some(oid)).map_or(ValuePlace::Missing(""), ValuePlace::Object)
            }
            method => {
                let is_next = *method == ObjectMethod::Next;
                let known = self.walks.iter().position(|one| {
                    one.table.is_none() && one.root == oid && one.is_next == is_next
                });
                let walk = known.unwrap_or_else(|| self.add_walk(oid, None, is_next));
                ValuePlace::Walk { walk, method: *method }
            }
        }
    }

    /// Puts the objects that have no value yet into requests.
    fn ask_objects(&mut self) {
        let open =
            (0..self.objects.list.len()).filter(|place| self.objects.list[*place].value.is_none());
        let open: Vec<usize> = open.collect();
        let is_get =
            self.settings.is_first_version || self.round.is_single || self.batching.plan.is_off();
        if is_get || open.len() < self.objects.list.len() {
            return self.put_into_requests(&open);
        }
        let is_same = self.objects.are_same();
        self.batching.plan.make(
            &self.objects.list,
            self.batching.bulk_limit.most(),
            REQUEST_BYTES,
            is_same,
        );
        self.requests
            .to_send
            .extend((0..self.batching.plan.chunks.len()).map(PendingRequest::Bulk));
        let rest = std::mem::take(&mut self.batching.plan.rest);
        self.put_into_requests(&rest);
        self.batching.plan.rest = rest;
    }

    /// Makes requests.
    fn put_into_requests(&mut self, places: &[usize]) {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for &place in places {
            let most = if self.round.is_single { 1 } else { self.batching.limit.most() };
            let more = self.objects.list[place].oid.as_bytes().len() + 6;
            if part.len() >= most || bytes + more > REQUEST_BYTES {
                self.batching.limit.note(part.len());
                self.requests.to_send.push_back(PendingRequest::Objects(std::mem::take(&mut part)));
                bytes = 0;
            }
            part.push(place);
            bytes += more;
        }
        if !part.is_empty() {
            self.requests.to_send.push_back(PendingRequest::Objects(part));
        }
    }

    /// Whether a request asks for more than was ever answered.
    fn is_new(&self, sent: &PendingRequest) -> bool {
        match sent {
            PendingRequest::Objects(places) => self.batching.limit.is_new(places.len()),
            PendingRequest::Bulk(chunk) => {
                self.batching.bulk_limit.is_new(self.batching.plan.chunks[*chunk].asked())
            }
            PendingRequest::Walk(_) => false,
        }
    }

    /// Which of the configured tries a request has.
    fn tries_of(&self, sent: &PendingRequest) -> Range<u32> {
        let is_new = self.is_new(sent);
        match self.reach.is_answering {
            false if is_new || self.reach.contact == Contact::Unknown => 0..1,
            true if is_new => 0..2,
            _ => 0..u32::MAX,
        }
    }

    fn send(&mut self, session: &mut SnmpSession<KernelSocket>, sent: PendingRequest) {
        self.requests.token += 1;
        let (handle, token, tries) =
            (self.settings.handle, self.requests.token, self.tries_of(&sent));
        let result = match &sent {
            PendingRequest::Objects(places) => {
                let oids = places.iter().map(|place| self.objects.list[*place].oid.as_ref());
                session.submit_tries(handle, RequestKind::Get, oids, token, tries)
            }
            PendingRequest::Bulk(chunk) => {
                let chunk = &self.batching.plan.chunks[*chunk];
                let max_repetitions = chunk.repetitions;
                let non_repeaters = u16::try_from(chunk.scalars).unwrap_or(0);
                let asked = RequestKind::GetBulk { non_repeaters, max_repetitions };
                let oids = chunk.begin.iter().map(Oid::as_ref);
                session.submit_tries(handle, asked, oids, token, tries)
            }
            PendingRequest::Walk(walk) => {
                let max_repetitions = self.settings.max_repetitions;
                let asked = match self.settings.is_first_version || self.walks[*walk].is_next {
                    true => RequestKind::GetNext,
                    false => RequestKind::GetBulk { non_repeaters: 0, max_repetitions },
                };
                let last = std::iter::once(self.walks[*walk].last.as_ref());
                session.submit_tries(handle, asked, last, token, tries)
            }
        };
        match result {
            Ok(()) => drop(self.requests.sent.insert(token, sent)),
            Err(error) => drop(self.round.error.get_or_insert_with(|| error.to_string())),
        }
    }

    /// Sends a request that every device can answer.
    fn send_probe(&mut self, session: &mut SnmpSession<KernelSocket>, tries: Range<u32>) {
        self.reach.has_probed = true;
        self.requests.token += 1;
        let system = Oid::new(&[1, 3, 6, 1, 2, 1, 1, 3, 0]).ok();
        let oid = self.objects.list.first().map(|one| one.oid.as_ref());
        let oid = oid.or(system.as_ref().map(Oid::as_ref));
        match session.submit_tries(
            self.settings.handle,
            RequestKind::Get,
            oid.into_iter(),
            self.requests.token,
            tries,
        ) {
            Ok(()) => self.reach.probe = Some(self.requests.token),
            Err(error) => drop(self.round.error.get_or_insert_with(|| error.to_string())),
        }
    }

    /// Takes the end of a request.  An answer came at `now_ns`, and by the clock on the wall at
    /// `wall_ns`: each value has the time of its own answer, not that of other requests.
    pub(super) fn end_request(
        &mut self,
        token: u64,
        result: Result<Pdu<'_>, RequestError>,
        (now_ns, wall_ns): (u64, i64),
    ) {
        self.round.set_now(wall_ns);
        if self.reach.probe == Some(token) {
            self.reach.probe = None;
            return self.take_probe(result.map(|_| ()));
        }
        let Some(sent) = self.requests.sent.remove(&token) else { return };
        if result.is_ok() {
            self.reach.note_answer(wall_ns);
        }
        match (sent, result) {
            (PendingRequest::Objects(places), Ok(pdu)) => self.take_objects(&places, &pdu, now_ns),
            (PendingRequest::Bulk(chunk), Ok(pdu)) => self.take_bulk(chunk, &pdu, now_ns),
            (PendingRequest::Walk(walk), Ok(pdu)) => self.take_walk(walk, &pdu, now_ns),
            (sent, Err(error @ RequestError::Timeout { .. })) => self.take_silence(sent, error),
            (sent, Err(error)) => self.fail(&sent, error),
        }
    }

    /// Takes the end of the small request.
    fn take_probe(&mut self, result: Result<(), RequestError>) {
        match result {
            Ok(()) => {
                self.reach.note_answer(self.round.now_wall_ns());
                for sent in std::mem::take(&mut self.reach.unanswered) {
                    match sent {
                        PendingRequest::Objects(places) if places.len() > 1 => {
                            self.batching.limit.too_many(places.len());
                            self.batching.again.extend(places);
                        }
                        PendingRequest::Bulk(chunk) => self.ask_by_get(chunk),
                        sent => self.requests.to_send.push_back(sent),
                    }
                }
            }
            Err(_) if self.reach.is_answering => {}
            Err(error @ RequestError::Timeout { .. }) => self.give_up(error),
            Err(error) => drop(self.round.error.get_or_insert_with(|| error.to_string())),
        }
    }

    /// Without an answer to a request.
    fn take_silence(&mut self, sent: PendingRequest, error: RequestError) {
        if !self.reach.is_answering {
            match self.reach.contact {
                Contact::Away => {}
                Contact::Known if !self.is_new(&sent) => self.give_up(error),
                // Perhaps it was too much: a small request shows it.
                Contact::Unknown | Contact::Known => self.reach.unanswered.push(sent),
            }
            return;
        }
        match sent {
            PendingRequest::Objects(places) if self.batching.limit.is_new(places.len()) => {
                self.batching.limit.too_many(places.len());
                self.batching.again.extend(places);
            }
            PendingRequest::Bulk(chunk) => self.ask_by_get(chunk),
            sent => {
                self.reach.silent_count += 1;
                self.fail(&sent, error);
                if self.reach.silent_count >= SILENT_MAX {
                    self.requests.to_send.clear();
                    self.batching.again.clear();
                }
            }
        }
    }

    /// Without an answer to GETBULK.
    fn ask_by_get(&mut self, chunk: usize) {
        let chunk = &self.batching.plan.chunks[chunk];
        self.batching.bulk_limit.too_many(chunk.asked());
        self.batching.again.extend(&chunk.places);
        self.batching.plan.fail();
    }

    /// The device is away: nothing else is asked in this round.
    fn give_up(&mut self, error: RequestError) {
        self.reach.contact = Contact::Away;
        let doublings = self.reach.silent_rounds.min(REST_DOUBLINGS_MAX);
        let rest_s = (1 << doublings).min(REST_S_MAX);
        self.reach.silent_rounds = self.reach.silent_rounds.saturating_add(1);
        self.reach.rest_ns =
            self.round.begun_ns.saturating_add(rest_s * 1_000_000_000 - REST_SLACK_NS);
        self.round.error = Some(error.to_string());
        self.round.rest_s = Some(rest_s).filter(|rest_s| *rest_s > self.round.interval_s.into());
        self.tables.interfaces.is_walked &=
            self.walks.iter().all(|walk| walk.table.is_none() || walk.is_over);
        self.batching.reset();
        self.reach.unanswered.clear();
        self.requests.to_send.clear();
    }

    /// Without an answer to a request that cannot be made smaller.
    fn fail(&mut self, sent: &PendingRequest, error: RequestError) {
        self.round.error.get_or_insert_with(|| error.to_string());
        if let PendingRequest::Walk(walk) = sent {
            self.walks[*walk].is_over = true;
            self.walks[*walk].values.clear();
            self.tables.interfaces.is_walked &= self.walks[*walk].table.is_none();
        }
        if !self.reach.is_answering {
            self.requests.to_send.clear();
            self.batching.again.clear();
        }
    }

    /// Takes the answer to GETBULK; what it lacks is asked for by GET.
    fn take_bulk(&mut self, chunk: usize, pdu: &Pdu<'_>, now_ns: u64) {
        let mut plan = std::mem::take(&mut self.batching.plan);
        if pdu.head.error_status == ErrorStatus::NO_ERROR {
            let mut found = Vec::new();
            plan.read_answer(chunk, pdu, &self.objects.list, &mut |place, one| {
                found.push((place, one.value));
            });
            // Less than was asked for, though the device has more: it does not fit an answer.
            let (asked, came) = (plan.chunks[chunk].asked(), pdu.varbinds.len());
            let has_end = pdu.varbinds.clone().any(|one| one.value.is_exception());
            match came > 0 && came < asked && !has_end {
                true => self.batching.bulk_limit.shortened(asked, came),
                false => self.batching.bulk_limit.answered(came),
            }
            for (place, value) in found {
                self.set(place, &value, now_ns);
            }
        } else {
            plan.fail();
        }
        let missing = plan.chunks.get(chunk).map_or(&[][..], |chunk| &chunk.places);
        let missing = missing.iter().filter(|place| self.objects.list[**place].value.is_none());
        self.batching.again.extend(missing);
        self.batching.plan = plan;
    }

    /// Takes the value of an object.
    fn set(&mut self, place: usize, value: &SnmpValue<'_>, now_ns: u64) {
        let object = &mut self.objects.list[place];
        (object.value, object.count) = KeptValue::of(value);
        object.after_us = self.round.after_us;
        if let Some(Count::Ticks(ticks)) = object.count
            && self.restarts.uptime_place == Some(place)
        {
            self.restarts.uptime = Some(UpTime { ticks, at_ns: now_ns });
        }
        self.check(place, value);
    }

    fn take_objects(&mut self, places: &[usize], pdu: &Pdu<'_>, now_ns: u64) {
        let status = pdu.head.error_status;
        let index = usize::try_from(pdu.head.error_index).unwrap_or_default();
        if status == ErrorStatus::TOO_BIG && places.len() > 1 {
            self.batching.limit.too_many(places.len());
            return self.batching.again.extend_from_slice(places);
        }
        if status != ErrorStatus::NO_ERROR {
            // The object that the error is about is left out, the others are asked again.
            let rest: Vec<usize> = match index.checked_sub(1).filter(|at| *at < places.len()) {
                Some(at) => [&places[..at], &places[at + 1..]].concat(),
                None if places.len() > 1 => {
                    let (one, other) = places.split_at(places.len() / 2);
                    self.put_into_requests(one);
                    other.to_vec()
                }
                None => Vec::new(),
            };
            return self.put_into_requests(&rest);
        }
        self.batching.limit.answered(places.len());
        let mut varbinds = pdu.varbinds;
        for &place in places {
            let Some(one) = varbinds.next() else { return };
            // An answer about other objects is none.
            if one.oid == self.objects.list[place].oid.as_ref() {
                self.set(place, &one.value, now_ns);
            }
        }
    }

    fn check(&mut self, place: usize, value: &SnmpValue<'_>) {
        for one in &self.queries {
            for (check, variable, number) in &one.checks {
                if *check == place {
                    let selector = &one.query.variables[*variable].interface;
                    self.objects.list[place].is_checked = Some(is_same(selector, *number, value));
                }
            }
        }
    }

    fn take_walk(&mut self, index: usize, pdu: &Pdu<'_>, now_ns: u64) {
        let walk = &mut self.walks[index];
        walk.after_us = self.round.after_us;
        walk.is_over = pdu.head.error_status != ErrorStatus::NO_ERROR || pdu.varbinds.len() == 0;
        for one in pdu.varbinds {
            let is_below = walk.is_next || one.oid.is_below(walk.root.as_ref());
            // An object that does not come later would be walked to for ever.
            let is_later = one.oid > walk.last.as_ref();
            if walk.is_over || !is_below || !is_later || one.value.is_exception() {
                walk.is_over = true;
                break;
            }
            walk.last.set(one.oid);
            walk.values.push(text(&one.value).unwrap_or_default());
            walk.is_over = walk.is_next || walk.values.len() >= ENTRIES_MAX;
            if let Some(table) = walk.table {
                self.tables.interfaces.add(table, one.oid, &one.value);
            }
        }
        if now_ns.saturating_sub(self.round.begun_ns) > WALK_NS_MAX && !walk.is_over {
            walk.is_over = true;
            self.round.error.get_or_insert_with(|| "a walk has no end".to_owned());
        }
        if !walk.is_over {
            self.requests.to_send.push_back(PendingRequest::Walk(index));
        }
    }
}
