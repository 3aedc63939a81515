//! The parts of a device's state, one job each.

use std::collections::{HashMap, VecDeque};

use snmp::{DeviceHandle, Oid};

use super::bulk::BulkPlan;
use super::{PendingRequest, REPETITIONS, WantedObject};
use crate::ask::counters::UpTime;
use crate::ask::interfaces::Interfaces;
use crate::ask::limit::{OBJECTS_FIRST, OBJECTS_MAX, RequestLimit};
use crate::config::Global;
use crate::device::{Device, SnmpVersion};

/// What the configuration says of a device.
#[derive(Debug)]
pub(super) struct DeviceSettings {
    pub(super) handle: DeviceHandle,
    /// The device as the configuration writes it, for messages.
    pub(super) text: String,
    pub(super) is_first_version: bool,
    /// How often a request is sent.
    pub(super) tries: u32,
    /// Rows that a request of a walk asks for.
    pub(super) max_repetitions: u16,
}

impl DeviceSettings {
    pub(super) fn new(handle: DeviceHandle, device: &Device, tries: u32) -> Self {
        let repetitions = device.options.max_repetitions;
        let repetitions = repetitions.and_then(|count| u16::try_from(count).ok());
        DeviceSettings {
            handle,
            text: device.text.clone(),
            is_first_version: device.version == SnmpVersion::V1,
            tries,
            max_repetitions: repetitions.filter(|count| *count > 0).unwrap_or(REPETITIONS),
        }
    }
}

/// Whether a device is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Contact {
    /// The device has not answered yet.
    #[default]
    Unknown,
    /// The device has answered.
    Known,
    /// The device did not answer lately.
    Away,
}

/// Answers and silence of a device, and the small requests that tell one from the other.
#[derive(Debug, Default)]
pub(super) struct Reachability {
    pub(super) contact: Contact,
    /// Rounds in a row in which the device was asked and did not answer.
    pub(super) silent_rounds: u32,
    /// Until when the device is not asked, in ns.
    pub(super) rest_ns: u64,
    pub(super) is_resting: bool,
    /// The small request on its way, perhaps from an earlier round.
    pub(super) probe: Option<u64>,
    /// Whether there was a small request in this round.
    pub(super) has_probed: bool,
    /// Requests without an answer that wait for the one to the small request.
    pub(super) unanswered: Vec<PendingRequest>,
    /// Requests without an answer, one after the other.
    pub(super) silent_count: u32,
    /// Whether anything was answered in this round.
    pub(super) is_answering: bool,
    /// When the latest answer of this round came, in ns since 1970.
    pub(super) answered_ns: Option<i64>,
}

impl Reachability {
    /// Forgets the round before, but not that the device is away.
    pub(super) fn begin(&mut self, begun_ns: u64) {
        let is_away = self.contact == Contact::Away;
        self.is_resting = is_away && self.probe.is_none() && begun_ns < self.rest_ns;
        self.has_probed = self.probe.is_some();
        self.unanswered.clear();
        (self.silent_count, self.is_answering, self.answered_ns) = (0, false, None);
    }

    /// The device has answered something.
    pub(super) fn note_answer(&mut self, wall_ns: i64) {
        self.contact = Contact::Known;
        (self.is_answering, self.is_resting) = (true, false);
        (self.silent_count, self.silent_rounds) = (0, 0);
        self.answered_ns = Some(wall_ns);
    }
}

/// How objects are put into requests, as far as it was learned.
#[derive(Debug)]
pub(super) struct Batching {
    /// Objects in a request of GET.
    pub(super) limit: RequestLimit,
    /// Objects in an answer to GETBULK.
    pub(super) bulk_limit: RequestLimit,
    pub(super) plan: BulkPlan,
    /// Objects that requests were too large for; they go into new ones.
    pub(super) again: Vec<usize>,
}

impl Default for Batching {
    fn default() -> Self {
        Batching {
            limit: RequestLimit::new(OBJECTS_FIRST),
            bulk_limit: RequestLimit::new(OBJECTS_MAX),
            plan: BulkPlan::default(),
            again: Vec::new(),
        }
    }
}

impl Batching {
    /// Begins a round.
    pub(super) fn begin(&mut self) {
        self.again.clear();
        self.limit.begin();
        self.bulk_limit.begin();
        self.plan.begin();
    }

    /// Forgets what was learned: the device was away and may be another.
    pub(super) fn reset(&mut self) {
        self.again.clear();
        self.limit.reset();
        self.bulk_limit.reset();
        self.plan.forget();
    }
}

/// Requests of a round: those to be sent, and those on their way.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) to_send: VecDeque<PendingRequest>,
    pub(super) sent: HashMap<u64, PendingRequest>,
    /// The token of the latest request.
    pub(super) token: u64,
}

/// What a round does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Tables,
    Objects,
    Checked,
    Counters,
}

/// A device's round.
#[derive(Debug, Default)]
pub(super) struct DeviceRound {
    /// When the round began, in ns.
    pub(super) begun_ns: u64,
    /// When the round began, in ns since 1970.
    pub(super) begun_wall_ns: i64,
    /// How long ago that is, in µs, as of the latest answer.
    pub(super) after_us: u32,
    /// The time between two rounds, in seconds.
    pub(super) interval_s: u32,
    /// Whether each object has a request of its own (`SingleRequest`).
    pub(super) is_single: bool,
    pub(super) stage: Stage,
    /// The first error, for a message.
    pub(super) error: Option<String>,
    /// How long the device rests, in seconds, if that is longer than a round.
    pub(super) rest_s: Option<u64>,
}

impl DeviceRound {
    pub(super) fn new(begun_ns: u64, begun_wall_ns: i64, global: &Global) -> Self {
        DeviceRound {
            begun_ns,
            begun_wall_ns,
            interval_s: global.interval_s,
            is_single: global.is_single_request,
            ..DeviceRound::default()
        }
    }

    /// Something has come at this time, in ns since 1970.
    pub(super) fn set_now(&mut self, wall_ns: i64) {
        let after_us = wall_ns.saturating_sub(self.begun_wall_ns) / 1_000;
        self.after_us = u32::try_from(after_us.max(0)).unwrap_or(u32::MAX);
    }

    /// The time so many µs after the round's begin, in ns since 1970.
    pub(super) fn wall_ns(&self, after_us: u32) -> i64 {
        self.begun_wall_ns.saturating_add(i64::from(after_us) * 1_000)
    }

    /// The time of the latest answer, in ns since 1970.
    pub(super) fn now_wall_ns(&self) -> i64 {
        self.wall_ns(self.after_us)
    }
}

/// The tables of a device's interfaces.
#[derive(Debug, Default)]
pub(super) struct InterfaceTables {
    pub(super) interfaces: Interfaces,
    /// When the tables were walked, in ns.
    pub(super) walked_ns: Option<u64>,
    /// Whether an interface that is wanted was in none.
    pub(super) has_missing: bool,
}

/// The objects of a round, each once, and those of the latest round that was answered.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) list: Vec<WantedObject>,
    by_oid: HashMap<Oid, usize>,
    pub(super) previous: Vec<WantedObject>,
}

impl Objects {
    /// The place of an object, which is added if it is new.
    pub(super) fn place(&mut self, oid: Option<Oid>) -> Option<usize> {
        let oid = oid?;
        // There is an index while objects are gathered, and none for the few that come later.
        let is_indexed = self.by_oid.len() == self.list.len();
        let known = match is_indexed {
            true => self.by_oid.get(&oid).copied(),
            false => self.list.iter().position(|one| one.oid == oid),
        };
        known.or_else(|| {
            let place = self.list.len();
            if is_indexed {
                self.by_oid.insert(oid.clone(), place);
            }
            self.list.push(WantedObject::new(oid));
            Some(place)
        })
    }

    /// Gives back the memory that is needed only while objects are gathered.
    pub(super) fn end_gathering(&mut self) {
        self.list.shrink_to_fit();
        self.by_oid = HashMap::new();
    }

    /// Begins a round: if the latest one was answered, its objects are kept, with the counts of the
    /// round before for those that were not answered.
    pub(super) fn begin(&mut self, was_answered: bool) {
        if was_answered {
            for (one, before) in self.list.iter_mut().zip(&self.previous) {
                if one.count.is_none() && one.oid == before.oid {
                    one.count = before.count;
                }
            }
            std::mem::swap(&mut self.list, &mut self.previous);
        }
        self.list.clear();
        self.by_oid.clear();
    }

    /// Whether they are those of the round before.
    pub(super) fn are_same(&self) -> bool {
        self.list.len() <= self.previous.len()
            && self.list.iter().zip(&self.previous).all(|(one, other)| one.oid == other.oid)
    }
}

/// What shows whether a device, or a counter, was reset since the round before.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    /// The object `sysUpTime`.
    pub(super) uptime_place: Option<usize>,
    pub(super) uptime: Option<UpTime>,
    /// The latest uptime of an earlier round.
    pub(super) uptime_before: Option<UpTime>,
    /// Counters that went back, with the object that says whether they were reset.
    pub(super) suspects: Vec<(usize, usize)>,
    pub(super) has_no_discontinuities: bool,
}

impl Restarts {
    /// Begins a round.
    pub(super) fn begin(&mut self) {
        self.suspects.clear();
        self.uptime_place = None;
        self.uptime_before = self.uptime.take().or(self.uptime_before);
    }

    /// The device's clock in the round before and in this one.
    pub(super) fn uptimes(&self) -> Option<(UpTime, UpTime)> {
        self.uptime_before.zip(self.uptime)
    }

    pub(super) fn is_restarted(&self) -> bool {
        self.uptimes().is_some_and(|(before, now)| before.is_restarted(now))
    }
}
