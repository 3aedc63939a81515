//! A device in a round: what is wanted of it, in which requests, and what came.
//!
//! Who has not answered yet, and who is asked for more than it ever answered, is sent a request once.
//! If nothing comes, a small request has the other tries: so it shows in the time of one request
//! whether the request was too large or the device is away.  A device that is away gets one small
//! request in a round, which the round does not wait for longer than a tenth of its interval, and
//! rests between them for 1, 2, 4 … 30 seconds.

mod answers;
mod bulk;
mod restarts;
mod tables;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use snmp::{
    Asked, DeviceHandle, ErrorStatus, KernelSocket, Oid, Pdu, RequestError, SnmpSession, SnmpValue,
};

use super::counters::{Count, UpTime};
use super::interfaces::{ENTRIES_MAX, Interfaces, TABLES, check_oid, is_same, table_of};
use super::limit::{OBJECTS_FIRST, OBJECTS_MAX, RequestLimit};
use crate::config::Global;
use crate::device::{Device, SnmpVersion};
use crate::target::{ObjectMethod, SnmpQuery, Variable, VariableSource};
use answers::{KeptValue, text};
use bulk::BulkPlan;

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
    /// Its value if it counts; in the objects of the round before, the latest that is known.
    count: Option<Count>,
    /// Whether it shows that the interface is still the one selected.
    is_checked: Option<bool>,
    /// Whether it is a counter that has begun anew since the round before.
    is_anew: bool,
}

impl WantedObject {
    fn new(oid: Oid) -> Self {
        Self { oid, value: KeptValue::Missing, count: None, is_checked: None, is_anew: false }
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
}

/// A request on its way.
#[derive(Debug)]
enum Sent {
    Objects(Vec<usize>),
    /// Of the plan.
    Bulk(usize),
    Walk(usize),
}

/// Whether a device is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    /// It has not answered yet.
    Unknown,
    Known,
    /// It did not answer lately.
    Away,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Tables,
    Objects,
    Checked,
    Counters,
}

/// A device and what is known of it.
#[derive(Debug)]
pub(super) struct AskedDevice {
    handle: DeviceHandle,
    text: String,
    is_first_version: bool,
    tries: u32,
    max_repetitions: u16,
    limit: RequestLimit,
    /// Of the answers to GETBULK.
    bulk_limit: RequestLimit,
    plan: BulkPlan,
    /// Objects that requests were too large for; they go into new ones.
    again: Vec<usize>,
    contact: Contact,
    /// Rounds in a row in which it was asked and did not answer.
    silent_rounds: u32,
    /// Until when it is not asked, in ns.
    rest_ns: u64,
    is_resting: bool,
    /// The small request on its way, perhaps from an earlier round.
    probe: Option<u64>,
    /// Whether there was one in this round.
    has_probed: bool,
    /// Requests without an answer that wait for the one to the small request.
    unanswered: Vec<Sent>,
    /// Requests without an answer, one after the other.
    silent_count: u32,
    /// When the round began, in ns, and the interval of rounds in seconds.
    begun_ns: u64,
    interval_s: u32,
    /// Whether each object has a request of its own (`SingleRequest`).
    is_single: bool,
    /// Whether anything was answered in this round.
    is_answering: bool,
    /// When the latest answer of this round came, in seconds since 1970.
    answered_s: Option<i64>,
    interfaces: Interfaces,
    /// When their tables were walked, in ns, and whether one that is wanted was not there.
    walked_ns: Option<u64>,
    has_missing: bool,
    stage: Stage,
    wanted: Vec<WantedQuery>,
    objects: Vec<WantedObject>,
    /// The objects of the latest round that was answered.
    previous: Vec<WantedObject>,
    /// `sysUpTime`: the object, its value in this round, and in the latest before.
    uptime_place: Option<usize>,
    uptime: Option<UpTime>,
    uptime_before: Option<UpTime>,
    /// Counters that went back, with the object that says whether they began anew.
    suspects: Vec<(usize, usize)>,
    has_no_discontinuities: bool,
    by_oid: HashMap<Oid, usize>,
    walks: Vec<Walk>,
    to_send: VecDeque<Sent>,
    sent: HashMap<u64, Sent>,
    token: u64,
    error: Option<String>,
}

impl AskedDevice {
    pub(super) fn new(handle: DeviceHandle, device: &Device, tries: u32) -> Self {
        Self {
            handle,
            text: device.text.clone(),
            is_first_version: device.version == SnmpVersion::V1,
            tries,
            max_repetitions: device
                .options
                .max_repetitions
                .and_then(|count| u16::try_from(count).ok())
                .filter(|count| *count > 0)
                .unwrap_or(REPETITIONS),
            limit: RequestLimit::new(OBJECTS_FIRST),
            bulk_limit: RequestLimit::new(OBJECTS_MAX),
            plan: BulkPlan::default(),
            again: Vec::new(),
            contact: Contact::Unknown,
            silent_rounds: 0,
            rest_ns: 0,
            is_resting: false,
            probe: None,
            has_probed: false,
            unanswered: Vec::new(),
            silent_count: 0,
            begun_ns: 0,
            interval_s: 0,
            is_single: false,
            is_answering: false,
            answered_s: None,
            interfaces: Interfaces::default(),
            walked_ns: None,
            has_missing: false,
            stage: Stage::Tables,
            wanted: Vec::new(),
            objects: Vec::new(),
            previous: Vec::new(),
            uptime_place: None,
            uptime: None,
            uptime_before: None,
            suspects: Vec::new(),
            has_no_discontinuities: false,
            by_oid: HashMap::new(),
            walks: Vec::new(),
            to_send: VecDeque::new(),
            sent: HashMap::new(),
            token: 0,
            error: None,
        }
    }

    pub(super) fn handle(&self) -> DeviceHandle {
        self.handle
    }

    /// Whether it is away and its round is over, but for a small request that may be answered in the
    /// next one.
    pub(super) fn is_only_probed(&self) -> bool {
        self.contact == Contact::Away && self.probe.is_some()
    }

    /// Forgets the round before, but not what was learned.
    pub(super) fn begin(&mut self, begun_ns: u64, global: &Global) {
        (self.begun_ns, self.interval_s) = (begun_ns, global.interval_s);
        self.is_single = global.is_single_request;
        self.stage = Stage::Tables;
        self.wanted.clear();
        self.remember();
        self.by_oid.clear();
        self.walks.clear();
        self.to_send.clear();
        self.sent.clear();
        self.unanswered.clear();
        self.again.clear();
        self.has_probed = self.probe.is_some();
        self.is_resting =
            self.contact == Contact::Away && self.probe.is_none() && begun_ns < self.rest_ns;
        self.silent_count = 0;
        self.is_answering = false;
        self.limit.begin();
        self.bulk_limit.begin();
        self.plan.begin();
        self.answered_s = None;
        self.error = None;
    }

    /// Adds a query.
    pub(super) fn want(&mut self, number: usize, query: &Arc<SnmpQuery>, has_names: bool) {
        let places = [ValuePlace::Missing(""), ValuePlace::Missing("")];
        let mut extras = [None, None];
        if has_names {
            extras = [3, 5].map(|n| self.object(Oid::new(&[1, 3, 6, 1, 2, 1, 1, n, 0]).ok()));
            self.uptime_place = extras[0];
        }
        let query = Arc::clone(query);
        self.wanted.push(WantedQuery { number, query, places, extras, checks: Vec::new() });
    }

    /// The place of an object, which is asked once.
    fn object(&mut self, oid: Option<Oid>) -> Option<usize> {
        let oid = oid?;
        // There is an index while objects are gathered, and none for the few that come later.
        let is_indexed = self.by_oid.len() == self.objects.len();
        let known = match is_indexed {
            true => self.by_oid.get(&oid).copied(),
            false => self.objects.iter().position(|one| one.oid == oid),
        };
        known.or_else(|| {
            let place = self.objects.len();
            if is_indexed {
                self.by_oid.insert(oid.clone(), place);
            }
            self.objects.push(WantedObject::new(oid));
            Some(place)
        })
    }

    /// Sends what is next; goes to the next stage when nothing is on its way.
    pub(super) fn go_on(
        &mut self,
        session: &mut SnmpSession<KernelSocket>,
        say: &mut dyn FnMut(String),
    ) {
        if self.is_resting {
            return;
        }
        let is_asked_once = self.contact == Contact::Away || self.tries < 2;
        let is_probed = self.contact == Contact::Away
            || !self.unanswered.is_empty()
            || self.contact == Contact::Unknown && self.tries < 2;
        if is_probed && !self.has_probed {
            self.send_probe(session, if is_asked_once { 0..1 } else { 1..u32::MAX }, say);
        }
        if self.contact == Contact::Away || !self.unanswered.is_empty() {
            return;
        }
        loop {
            let again = std::mem::take(&mut self.again);
            self.put_into_requests(&again);
            while self.sent.len() < IN_FLIGHT_MAX
                && let Some(sent) = self.to_send.pop_front()
            {
                self.send(session, sent, say);
            }
            if !self.sent.is_empty() || self.error.is_some() && !self.is_answering {
                return;
            }
            match self.stage {
                Stage::Tables => {
                    if self.needs_walk() {
                        self.walk_tables();
                    } else {
                        self.stage = Stage::Objects;
                        self.resolve();
                        self.ask_objects();
                    }
                }
                Stage::Objects if self.has_changed() => {
                    self.stage = Stage::Checked;
                    self.walk_tables();
                }
                Stage::Checked
                    if self.has_changed() && self.walks.iter().any(|walk| walk.table.is_some()) =>
                {
                    self.objects.iter_mut().for_each(|one| one.is_checked = None);
                    self.walks.clear();
                    self.resolve();
                    self.ask_objects();
                }
                Stage::Objects | Stage::Checked => {
                    self.stage = Stage::Counters;
                    self.compare_counters();
                    if self.to_send.is_empty() {
                        return;
                    }
                }
                Stage::Counters => return,
            }
        }
    }

    fn walk_tables(&mut self) {
        self.interfaces.begin_walk();
        self.walked_ns = Some(self.begun_ns);
        self.walks.clear();
        for (table, root) in TABLES.iter().enumerate() {
            let mut selectors = self.wanted.iter().flat_map(|one| one.query.variables.iter());
            let is_needed = selectors.any(|one| table_of(&one.interface) == Some(table));
            if let Some(root) = Oid::new(root).ok().filter(|_| is_needed) {
                self.add_walk(root, Some(table), false);
            }
        }
    }

    fn add_walk(&mut self, root: Oid, table: Option<usize>, is_next: bool) -> usize {
        let last = root.clone();
        let walk = Walk { root, last, values: Vec::new(), table, is_next, is_over: false };
        self.walks.push(walk);
        self.to_send.push_back(Sent::Walk(self.walks.len() - 1));
        self.walks.len() - 1
    }

    /// Whether an interface is no longer the one that was selected.
    fn has_changed(&self) -> bool {
        self.objects.iter().any(|one| one.is_checked == Some(false))
    }

    /// Finds the objects of all queries.
    fn resolve(&mut self) {
        let mut wanted = std::mem::take(&mut self.wanted);
        self.has_missing = false;
        for one in &mut wanted {
            one.checks.clear();
            for (place, variable) in one.query.variables.iter().enumerate() {
                let number = self.interfaces.find(&variable.interface);
                self.has_missing |= number.is_err();
                if let Ok(Some(number)) = number
                    && let Some(check) = self.object(check_oid(&variable.interface, number))
                {
                    one.checks.push((check, place, number));
                }
                one.places[place] = self.place(variable, number);
            }
        }
        self.wanted = wanted;
        self.objects.shrink_to_fit();
        self.by_oid = HashMap::new();
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
                self.object(Some(oid)).map_or(ValuePlace::Missing(""), ValuePlace::Object)
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
        let open = (0..self.objects.len()).filter(|place| self.objects[*place].value.is_none());
        let open: Vec<usize> = open.collect();
        let is_get = self.is_first_version || self.is_single || self.plan.is_off();
        if is_get || open.len() < self.objects.len() {
            return self.put_into_requests(&open);
        }
        let is_same = self.objects.len() <= self.previous.len()
            && self.objects.iter().zip(&self.previous).all(|(one, other)| one.oid == other.oid);
        self.plan.make(&self.objects, self.bulk_limit.most(), REQUEST_BYTES, is_same);
        self.to_send.extend((0..self.plan.chunks.len()).map(Sent::Bulk));
        let rest = std::mem::take(&mut self.plan.rest);
        self.put_into_requests(&rest);
        self.plan.rest = rest;
    }

    /// Makes requests.
    fn put_into_requests(&mut self, places: &[usize]) {
        let (mut part, mut bytes) = (Vec::new(), 0);
        for &place in places {
            let most = if self.is_single { 1 } else { self.limit.most() };
            let more = self.objects[place].oid.as_bytes().len() + 6;
            if part.len() >= most || bytes + more > REQUEST_BYTES {
                self.limit.note(part.len());
                self.to_send.push_back(Sent::Objects(std::mem::take(&mut part)));
                bytes = 0;
            }
            part.push(place);
            bytes += more;
        }
        if !part.is_empty() {
            self.to_send.push_back(Sent::Objects(part));
        }
    }

    /// Whether a request asks for more than was ever answered.
    fn is_new(&self, sent: &Sent) -> bool {
        match sent {
            Sent::Objects(places) => self.limit.is_new(places.len()),
            Sent::Bulk(chunk) => self.bulk_limit.is_new(self.plan.chunks[*chunk].asked()),
            Sent::Walk(_) => false,
        }
    }

    /// Which of the configured tries a request has.
    fn tries_of(&self, sent: &Sent) -> Range<u32> {
        let is_new = self.is_new(sent);
        match self.is_answering {
            false if is_new || self.contact == Contact::Unknown => 0..1,
            true if is_new => 0..2,
            _ => 0..u32::MAX,
        }
    }

    fn send(
        &mut self,
        session: &mut SnmpSession<KernelSocket>,
        sent: Sent,
        say: &mut dyn FnMut(String),
    ) {
        self.token += 1;
        let (handle, token, tries) = (self.handle, self.token, self.tries_of(&sent));
        let result = match &sent {
            Sent::Objects(places) => {
                let oids = places.iter().map(|place| self.objects[*place].oid.as_ref());
                session.submit_tries(handle, Asked::Get, oids, token, tries)
            }
            Sent::Bulk(chunk) => {
                let chunk = &self.plan.chunks[*chunk];
                let max_repetitions = chunk.repetitions;
                let non_repeaters = u16::try_from(chunk.scalars).unwrap_or(0);
                let asked = Asked::GetBulk { non_repeaters, max_repetitions };
                let oids = chunk.begin.iter().map(Oid::as_ref);
                session.submit_tries(handle, asked, oids, token, tries)
            }
            Sent::Walk(walk) => {
                let max_repetitions = self.max_repetitions;
                let asked = match self.is_first_version || self.walks[*walk].is_next {
                    true => Asked::GetNext,
                    false => Asked::GetBulk { non_repeaters: 0, max_repetitions },
                };
                let last = std::iter::once(self.walks[*walk].last.as_ref());
                session.submit_tries(handle, asked, last, token, tries)
            }
        };
        match result {
            Ok(()) => drop(self.sent.insert(token, sent)),
            Err(error) => say(format!("{}: {error}", self.text)),
        }
    }

    /// Sends a request that every device can answer.
    fn send_probe(
        &mut self,
        session: &mut SnmpSession<KernelSocket>,
        tries: Range<u32>,
        say: &mut dyn FnMut(String),
    ) {
        self.has_probed = true;
        self.token += 1;
        let system = Oid::new(&[1, 3, 6, 1, 2, 1, 1, 3, 0]).ok();
        let oid = self.objects.first().map(|one| one.oid.as_ref());
        let oid = oid.or(system.as_ref().map(Oid::as_ref));
        match session.submit_tries(self.handle, Asked::Get, oid.into_iter(), self.token, tries) {
            Ok(()) => self.probe = Some(self.token),
            Err(error) => say(format!("{}: {error}", self.text)),
        }
    }

    /// Takes the end of a request.
    pub(super) fn take(
        &mut self,
        token: u64,
        result: Result<Pdu<'_>, RequestError>,
        (now_ns, now_s): (u64, &dyn Fn() -> i64),
    ) {
        if self.probe == Some(token) {
            self.probe = None;
            return self.take_probe(result.map(|_| ()), now_s);
        }
        let Some(sent) = self.sent.remove(&token) else { return };
        if result.is_ok() {
            self.note_answer(now_s);
        }
        match (sent, result) {
            (Sent::Objects(places), Ok(pdu)) => self.take_objects(&places, &pdu, now_ns),
            (Sent::Bulk(chunk), Ok(pdu)) => self.take_bulk(chunk, &pdu, now_ns),
            (Sent::Walk(walk), Ok(pdu)) => self.take_walk(walk, &pdu, now_ns),
            (sent, Err(error @ RequestError::Timeout { .. })) => self.take_silence(sent, error),
            (sent, Err(error)) => self.fail(&sent, error),
        }
    }

    /// The device has answered something.
    fn note_answer(&mut self, now_s: &dyn Fn() -> i64) {
        self.contact = Contact::Known;
        self.is_answering = true;
        self.is_resting = false;
        (self.silent_count, self.silent_rounds) = (0, 0);
        self.answered_s = Some(now_s());
    }

    /// Takes the end of the small request.
    fn take_probe(&mut self, result: Result<(), RequestError>, now_s: &dyn Fn() -> i64) {
        match result {
            Ok(()) => {
                self.note_answer(now_s);
                for sent in std::mem::take(&mut self.unanswered) {
                    match sent {
                        Sent::Objects(places) if places.len() > 1 => {
                            self.limit.too_many(places.len());
                            self.again.extend(places);
                        }
                        Sent::Bulk(chunk) => self.ask_by_get(chunk),
                        sent => self.to_send.push_back(sent),
                    }
                }
            }
            Err(_) if self.is_answering => {}
            Err(error @ RequestError::Timeout { .. }) => self.give_up(error),
            Err(error) => drop(self.error.get_or_insert_with(|| error.to_string())),
        }
    }

    /// Without an answer to a request.
    fn take_silence(&mut self, sent: Sent, error: RequestError) {
        if !self.is_answering {
            match self.contact {
                Contact::Away => {}
                Contact::Known if !self.is_new(&sent) => self.give_up(error),
                // Perhaps it was too much: a small request shows it.
                Contact::Unknown | Contact::Known => self.unanswered.push(sent),
            }
            return;
        }
        match sent {
            Sent::Objects(places) if self.limit.is_new(places.len()) => {
                self.limit.too_many(places.len());
                self.again.extend(places);
            }
            Sent::Bulk(chunk) => self.ask_by_get(chunk),
            sent => {
                self.silent_count += 1;
                self.fail(&sent, error);
                if self.silent_count >= SILENT_MAX {
                    self.to_send.clear();
                    self.again.clear();
                }
            }
        }
    }

    /// Without an answer to GETBULK.
    fn ask_by_get(&mut self, chunk: usize) {
        let chunk = &self.plan.chunks[chunk];
        self.bulk_limit.too_many(chunk.asked());
        self.again.extend(&chunk.places);
        self.plan.fail();
    }

    /// The device is away: nothing else is asked in this round.
    fn give_up(&mut self, error: RequestError) {
        self.contact = Contact::Away;
        let doublings = self.silent_rounds.min(REST_DOUBLINGS_MAX);
        let rest_s = (1 << doublings).min(REST_S_MAX);
        self.silent_rounds = self.silent_rounds.saturating_add(1);
        self.rest_ns = self.begun_ns.saturating_add(rest_s * 1_000_000_000 - REST_SLACK_NS);
        self.error = Some(match rest_s > u64::from(self.interval_s) {
            true => format!("{error}; it is asked again after {rest_s} s"),
            false => error.to_string(),
        });
        self.interfaces.is_walked &=
            self.walks.iter().all(|walk| walk.table.is_none() || walk.is_over);
        self.limit.reset();
        self.bulk_limit.reset();
        self.plan.forget();
        self.unanswered.clear();
        self.to_send.clear();
        self.again.clear();
    }

    /// Without an answer to a request that cannot be made smaller.
    fn fail(&mut self, sent: &Sent, error: RequestError) {
        self.error.get_or_insert_with(|| error.to_string());
        if let Sent::Walk(walk) = sent {
            self.walks[*walk].is_over = true;
            self.walks[*walk].values.clear();
            self.interfaces.is_walked &= self.walks[*walk].table.is_none();
        }
        if !self.is_answering {
            self.to_send.clear();
            self.again.clear();
        }
    }

    /// Takes the answer to GETBULK; what it lacks is asked for by GET.
    fn take_bulk(&mut self, chunk: usize, pdu: &Pdu<'_>, now_ns: u64) {
        let mut plan = std::mem::take(&mut self.plan);
        if pdu.head.error_status == ErrorStatus::NO_ERROR {
            let mut found = Vec::new();
            plan.take(chunk, pdu, &self.objects, &mut |place, one| found.push((place, one.value)));
            // Less than was asked for, though the device has more: it does not fit an answer.
            let (asked, came) = (plan.chunks[chunk].asked(), pdu.varbinds.len());
            let has_end = pdu.varbinds.clone().any(|one| one.value.is_exception());
            match came > 0 && came < asked && !has_end {
                true => self.bulk_limit.shortened(asked, came),
                false => self.bulk_limit.answered(came),
            }
            for (place, value) in found {
                self.set(place, &value, now_ns);
            }
        } else {
            plan.fail();
        }
        let missing = plan.chunks.get(chunk).map_or(&[][..], |chunk| &chunk.places);
        let missing = missing.iter().filter(|place| self.objects[**place].value.is_none());
        self.again.extend(missing);
        self.plan = plan;
    }

    /// Takes the value of an object.
    fn set(&mut self, place: usize, value: &SnmpValue<'_>, now_ns: u64) {
        let object = &mut self.objects[place];
        (object.value, object.count) = KeptValue::of(value);
        if let Some(Count::Ticks(ticks)) = object.count
            && self.uptime_place == Some(place)
        {
            self.uptime = Some(UpTime { ticks, at_ns: now_ns });
        }
        self.check(place, value);
    }

    fn take_objects(&mut self, places: &[usize], pdu: &Pdu<'_>, now_ns: u64) {
        let status = pdu.head.error_status;
        let index = usize::try_from(pdu.head.error_index).unwrap_or_default();
        if status == ErrorStatus::TOO_BIG && places.len() > 1 {
            self.limit.too_many(places.len());
            return self.again.extend_from_slice(places);
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
        self.limit.answered(places.len());
        let mut varbinds = pdu.varbinds;
        for &place in places {
            let Some(one) = varbinds.next() else { return };
            // An answer about other objects is none.
            if one.oid == self.objects[place].oid.as_ref() {
                self.set(place, &one.value, now_ns);
            }
        }
    }

    fn check(&mut self, place: usize, value: &SnmpValue<'_>) {
        for one in &self.wanted {
            for (check, variable, number) in &one.checks {
                if *check == place {
                    let selector = &one.query.variables[*variable].interface;
                    self.objects[place].is_checked = Some(is_same(selector, *number, value));
                }
            }
        }
    }

    fn take_walk(&mut self, index: usize, pdu: &Pdu<'_>, now_ns: u64) {
        let walk = &mut self.walks[index];
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
                self.interfaces.add(table, one.oid, &one.value);
            }
        }
        if now_ns.saturating_sub(self.begun_ns) > WALK_NS_MAX && !walk.is_over {
            walk.is_over = true;
            self.error.get_or_insert_with(|| "a walk has no end".to_owned());
        }
        if !walk.is_over {
            self.to_send.push_back(Sent::Walk(index));
        }
    }
}
