//! A device: what it answers to a PDU, and what is wrong with it.

use std::sync::Arc;

use snmp::{ErrorStatus, PduHead, PduKind, SnmpValue, UsmUser, Varbind, Varbinds, Version};

use crate::mib::{Mib, MibObject};

/// The faults of a device; by default it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFaults {
    /// The device answers nothing.
    pub is_dead: bool,
    /// Requests in a thousand that get lost.
    pub lost_permille: u32,
    /// So many of the next requests get lost.
    pub lost_next: u32,
    /// Each answer takes this long, in ns.
    pub delay_ns: u64,
    /// A request with more varbinds is `tooBig`; an answer to GETBULK leaves them out.
    pub varbinds_max: usize,
    /// A request with more varbinds, or a GETBULK whose answer would have more, is not answered.
    pub silent_above: usize,
    /// GETBULK is answered with `genErr`.
    pub is_without_bulk: bool,
    /// A longer answer, in bytes, is `tooBig`; an answer to GETBULK is shortened.
    pub answer_bytes_max: usize,
    /// Answers in a thousand that have a wrong request id.
    pub wrong_id_permille: u32,
    /// Answers in a thousand that come from the next address.
    pub wrong_source_permille: u32,
    /// Answers in a thousand that are no message.
    pub garbage_permille: u32,
}

impl Default for AgentFaults {
    fn default() -> Self {
        Self {
            is_dead: false,
            lost_permille: 0,
            lost_next: 0,
            delay_ns: 0,
            varbinds_max: usize::MAX,
            silent_above: usize::MAX,
            is_without_bulk: false,
            answer_bytes_max: 65_000,
            wrong_id_permille: 0,
            wrong_source_permille: 0,
            garbage_permille: 0,
        }
    }
}

/// A simulated device.
#[derive(Clone, Debug)]
pub struct AgentDevice {
    /// The objects of the device.
    pub mib: Arc<Mib>,
    /// The community for versions 1 and 2c.
    pub community: Vec<u8>,
    /// The users for version 3.
    pub users: Vec<UsmUser>,
    /// The faults of the device.
    pub faults: AgentFaults,
    /// The device was started at this time of the agent's clock, in ns: its counters begin there.
    pub started_ns: u64,
    /// The device was started so often.
    pub boots: i32,
}

impl AgentDevice {
    /// Makes a device without faults, with the community `public`.
    #[must_use]
    pub fn new(mib: Arc<Mib>) -> Self {
        Self {
            mib,
            community: b"public".to_vec(),
            users: Vec::new(),
            faults: AgentFaults::default(),
            started_ns: 0,
            boots: 1,
        }
    }

    /// Restarts the device: its counters and its time since the start are reset.
    pub fn restart(&mut self, now_ns: u64) {
        self.started_ns = now_ns;
        self.boots += 1;
    }

    /// The answer to a request; `None` if it answers nothing.
    pub(crate) fn answer<'a>(
        &'a self,
        version: Version,
        head: &PduHead,
        asked: Varbinds<'a>,
        now_ns: u64,
    ) -> Option<(PduHead, Vec<Varbind<'a>>)> {
        let response = PduHead {
            kind: PduKind::Response,
            error_status: ErrorStatus::NO_ERROR,
            error_index: 0,
            ..*head
        };
        if asked.len() > self.faults.silent_above {
            return None;
        }
        let too_big = |asked: Varbinds<'a>| {
            let same = if version == Version::V1 { asked.collect() } else { Vec::new() };
            Some((PduHead { error_status: ErrorStatus::TOO_BIG, ..response }, same))
        };
        if asked.len() > self.faults.varbinds_max {
            return too_big(asked);
        }
        let up_ns = now_ns.saturating_sub(self.started_ns);
        let is_first = version == Version::V1;
        let mut varbinds = Vec::with_capacity(asked.len());
        match head.kind {
            PduKind::Get => {
                varbinds.extend(asked.map(|one| self.get(one, up_ns, is_first)));
            }
            PduKind::GetNext => {
                varbinds.extend(asked.map(|one| self.next(one, up_ns, is_first)));
            }
            PduKind::GetBulk if self.faults.is_without_bulk => {
                let error_status = ErrorStatus::GENERAL_ERROR;
                return Some((PduHead { error_status, ..response }, asked.collect()));
            }
            PduKind::GetBulk if !is_first => {
                self.bulk(head, asked, up_ns, &mut varbinds);
                if varbinds.len() > self.faults.silent_above {
                    return None;
                }
                varbinds.truncate(self.faults.varbinds_max);
            }
            _ => return None,
        }
        // Version 1 has no exceptions: the first is an error of the whole.
        let missing = varbinds.iter().position(|one| one.value.is_exception());
        if let Some(place) = missing.filter(|_| is_first) {
            let error_index = place as i32 + 1;
            let error_status = ErrorStatus::NO_SUCH_NAME;
            return Some((PduHead { error_status, error_index, ..response }, asked.collect()));
        }
        if bytes_of(&varbinds) > self.faults.answer_bytes_max {
            return too_big(asked);
        }
        Some((response, varbinds))
    }

    fn get<'a>(&'a self, one: Varbind<'a>, up_ns: u64, is_first: bool) -> Varbind<'a> {
        let value = match self.mib.find(one.oid) {
            Some(object) => value(object, up_ns, is_first).unwrap_or(SnmpValue::NoSuchObject),
            None => {
                // An instance is missing if the object has others: below the same column.
                let column = self.mib.after(one.oid).first().is_some_and(|next| {
                    let next = next.oid.as_bytes();
                    let shared = next.iter().zip(one.oid.as_bytes()).take_while(|(a, b)| a == b);
                    shared.count() + 1 >= one.oid.as_bytes().len()
                });
                if column { SnmpValue::NoSuchInstance } else { SnmpValue::NoSuchObject }
            }
        };
        Varbind { value, ..one }
    }

    fn next<'a>(&'a self, one: Varbind<'a>, up_ns: u64, is_first: bool) -> Varbind<'a> {
        let found = self.mib.after(one.oid).iter().find_map(|object| {
            let value = value(object, up_ns, is_first)?;
            Some(Varbind { oid: object.oid.as_ref(), value })
        });
        found.unwrap_or(Varbind { value: SnmpValue::EndOfMibView, ..one })
    }

    fn bulk<'a>(
        &'a self,
        head: &PduHead,
        mut asked: Varbinds<'a>,
        up_ns: u64,
        varbinds: &mut Vec<Varbind<'a>>,
    ) {
        let non_repeaters = usize::try_from(head.error_status.0).unwrap_or_default();
        let repetitions = usize::try_from(head.error_index).unwrap_or_default();
        for one in asked.by_ref().take(non_repeaters) {
            varbinds.push(self.next(one, up_ns, false));
        }
        let mut last: Vec<Varbind<'a>> = asked.collect();
        let mut bytes = bytes_of(varbinds);
        for _ in 0..repetitions {
            if last.is_empty() || last.iter().all(|one| one.value == SnmpValue::EndOfMibView) {
                break;
            }
            for one in &mut last {
                *one = self.next(Varbind::asked(one.oid), up_ns, false);
                bytes += bytes_of(std::slice::from_ref(one));
                if bytes > self.faults.answer_bytes_max {
                    return;
                }
                varbinds.push(*one);
            }
        }
    }
}

/// The value of an object; version 1 has no 64-bit counters.
fn value(object: &MibObject, up_ns: u64, is_first: bool) -> Option<SnmpValue<'_>> {
    let value = object.value.at(up_ns);
    (!is_first || !matches!(value, SnmpValue::Counter64(_))).then_some(value)
}

/// About the bytes of an answer.
fn bytes_of(varbinds: &[Varbind<'_>]) -> usize {
    let bytes = varbinds.iter().map(|one| {
        let value = match one.value {
            SnmpValue::OctetString(bytes) | SnmpValue::Opaque(bytes) => bytes.len() + 4,
            SnmpValue::ObjectIdentifier(oid) => oid.as_bytes().len() + 2,
            _ => 8,
        };
        one.oid.as_bytes().len() + value + 6
    });
    bytes.sum()
}
