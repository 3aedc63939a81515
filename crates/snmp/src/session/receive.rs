//! What comes from the network: which request it is for, whether it may be believed, and what then.

use std::net::SocketAddr;

use super::engine::{Engine, UsmReport};
use super::table::{Pending, RequestState};
use super::{Completion, Refusal, RequestError, Security, SessionState};
use crate::ber::DecodeError;
use crate::message::{CommunityHead, CommunityMessage, Version, peek_version};
use crate::pdu::{Pdu, PduKind};
use crate::usm::{V3Flags, V3Message};

/// How often a request is sent again because a report says that the engine or its clock is another.
const REPORTS_MAX: u32 = 3;

impl SessionState {
    pub(super) fn on_datagram(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        bytes: &mut [u8],
        ended: &mut dyn FnMut(Completion<'_>),
    ) {
        self.counts.received += 1;
        self.counts.bytes += bytes.len() as u64;
        let result = match peek_version(bytes) {
            Ok(Version::V3) => self.on_user_message(now_ns, from, bytes, ended),
            Ok(_) => self.on_community_message(now_ns, from, bytes, ended),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.counts.malformed += 1;
            self.refuse_from(from, Refusal::Malformed(error));
        }
    }

    /// A message of version 1 or 2c.
    fn on_community_message(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        bytes: &[u8],
        ended: &mut dyn FnMut(Completion<'_>),
    ) -> Result<(), DecodeError> {
        let message = CommunityMessage::decode(bytes)?;
        let Some(place) = self.find(message.pdu.head.request_id, from) else { return Ok(()) };
        let device = &self.devices[self.table.get(place).device as usize];
        let is_same = match &device.settings.security {
            Security::Community { version, community } => {
                message.head == CommunityHead { version: *version, community }
            }
            Security::User(_) => false,
        };
        if !is_same {
            self.refuse(place, Refusal::Community);
        } else if message.pdu.head.kind != PduKind::Response {
            self.refuse(place, Refusal::Kind(message.pdu.head.kind));
        } else {
            self.answer(place, now_ns, message.pdu, ended);
        }
        Ok(())
    }

    /// A message of version 3.
    fn on_user_message(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        bytes: &mut [u8],
        ended: &mut dyn FnMut(Completion<'_>),
    ) -> Result<(), DecodeError> {
        let message = V3Message::decode(bytes)?;
        let Some(place) = self.find(message.message_id, from) else { return Ok(()) };
        let device = &mut self.devices[self.table.get(place).device as usize];
        let Security::User(user) = &device.settings.security else {
            self.refuse(place, Refusal::Community);
            return Ok(());
        };
        let engine = &mut device.engine;
        if !message.flags.is_authenticated {
            return self.on_plain_message(place, now_ns, &message, bytes, ended);
        }
        if message.engine_id(bytes) != engine.id || message.user(bytes) != user.name() {
            self.refuse(place, Refusal::User);
            return Ok(());
        }
        if !message.is_authentic(bytes, &engine.keys) {
            self.refuse(place, Refusal::Digest);
            return Ok(());
        }
        let flags = V3Flags { is_reportable: message.flags.is_reportable, ..user.flags() };
        let is_in_time = engine.is_in_time(&message, now_ns);
        let scoped = message.open(bytes, &engine.keys)?;
        if scoped.pdu.head.kind == PduKind::Report {
            // Its clock is right, and was signed: it may also be set back.
            engine.set_clock(&message, now_ns, true);
            let report = UsmReport::of(scoped.pdu.varbinds.into_iter().next().map(|one| one.oid));
            self.on_report(place, now_ns, report, ended);
        } else if message.flags != flags {
            self.refuse(place, Refusal::User);
        } else if !is_in_time {
            self.refuse(place, Refusal::Old);
        } else {
            self.answer_of_user(place, now_ns, scoped.pdu, ended);
        }
        Ok(())
    }

    /// A message of version 3 that nobody vouches for: an answer to a user without a key, or a
    /// report.
    fn on_plain_message(
        &mut self,
        place: u32,
        now_ns: u64,
        message: &V3Message,
        bytes: &mut [u8],
        ended: &mut dyn FnMut(Completion<'_>),
    ) -> Result<(), DecodeError> {
        let device = &mut self.devices[self.table.get(place).device as usize];
        let Security::User(user) = &device.settings.security else { return Ok(()) };
        let engine_id = message.engine_id(bytes).first_chunk::<5>().is_some();
        if engine_id && message.engine_id(bytes) != device.engine.id {
            // Known for the first time, or the device has become another.
            let id = message.engine_id(bytes);
            let is_first = !device.engine.is_known();
            let is_report = is_first || is_unknown_engine(message, &mut bytes.to_vec());
            if is_report {
                device.engine = Engine::new(id, self.keys.keys(user, id));
                device.engine.set_clock(message, now_ns, false);
                self.on_report(place, now_ns, UsmReport::UnknownEngine, ended);
                return Ok(());
            }
            self.refuse(place, Refusal::User);
            return Ok(());
        }
        let is_protected = user.flags().is_authenticated;
        let is_user = message.user(bytes) == user.name();
        let scoped = message.open(bytes, &device.engine.keys)?;
        if scoped.pdu.head.kind == PduKind::Report {
            let report = UsmReport::of(scoped.pdu.varbinds.into_iter().next().map(|one| one.oid));
            self.on_report(place, now_ns, report, ended);
        } else if is_protected || !is_user {
            self.refuse(place, Refusal::User);
        } else {
            self.answer_of_user(place, now_ns, scoped.pdu, ended);
        }
        Ok(())
    }

    /// What the device says about a message: it is sent again if that can help.
    fn on_report(
        &mut self,
        place: u32,
        now_ns: u64,
        report: UsmReport,
        ended: &mut dyn FnMut(Completion<'_>),
    ) {
        let uses = self.table.uses(place);
        let pending = self.table.get_mut(place);
        let can_help = matches!(report, UsmReport::UnknownEngine | UsmReport::NotInTimeWindow);
        if !can_help || pending.reports >= REPORTS_MAX {
            self.end(place, Err(RequestError::Report(report)), ended);
            return;
        }
        let (device, sent_ns) = (pending.device, pending.sent_ns);
        let is_first = pending.tries == 1;
        pending.reports += 1;
        // The device is there, so the tries begin again.
        pending.tries = 0;
        pending.deadline_ns = u64::MAX;
        self.again.push_back((place, uses));
        if is_first {
            self.devices[device as usize].measure(now_ns.saturating_sub(sent_ns));
        }
    }

    /// An answer whose protection was checked.
    fn answer_of_user(
        &mut self,
        place: u32,
        now_ns: u64,
        pdu: Pdu<'_>,
        ended: &mut dyn FnMut(Completion<'_>),
    ) {
        if pdu.head.kind != PduKind::Response {
            self.refuse(place, Refusal::Kind(pdu.head.kind));
        } else if pdu.head.request_id != self.table.get(place).id {
            self.refuse(place, Refusal::User);
        } else {
            self.answer(place, now_ns, pdu, ended);
        }
    }

    fn refuse(&mut self, place: u32, refusal: Refusal) {
        self.counts.wrong_head += 1;
        let device = self.table.get(place).device;
        self.devices[device as usize].refusal = Some(refusal);
    }

    /// The request that waits for an answer with this id from this address.
    fn find(&mut self, id: i32, from: SocketAddr) -> Option<u32> {
        let place = match self.table.find(id) {
            RequestState::Waiting(place) if self.table.get(place).tries > 0 => place,
            RequestState::Past => {
                self.counts.past += 1;
                return None;
            }
            RequestState::Never | RequestState::Waiting(_) => {
                self.counts.unknown += 1;
                return None;
            }
        };
        let device = &mut self.devices[self.table.get(place).device as usize];
        if !device.settings.is_source(from) {
            self.counts.wrong_address += 1;
            device.refusal = Some(Refusal::Address(from));
            return None;
        }
        Some(place)
    }

    /// Ends a request with its answer.
    fn answer(
        &mut self,
        place: u32,
        now_ns: u64,
        pdu: Pdu<'_>,
        ended: &mut dyn FnMut(Completion<'_>),
    ) {
        let Pending { tries, sent_ns, device, .. } = *self.table.get(place);
        // It is not known which of several tries was answered (Karn's rule).
        if tries == 1 {
            self.devices[device as usize].measure(now_ns.saturating_sub(sent_ns));
        }
        self.counts.answered += 1;
        self.end(place, Ok(pdu), ended);
    }

    fn refuse_from(&mut self, from: SocketAddr, refusal: Refusal) {
        if let Some(&index) = self.by_address.get(&from) {
            self.devices[index as usize].refusal = Some(refusal);
        }
    }
}

/// Whether a message is the report that the engine id of the request is not that of the device.
fn is_unknown_engine(message: &V3Message, bytes: &mut [u8]) -> bool {
    let scoped = message.open(bytes, &crate::usm::EngineKeys::default());
    scoped.is_ok_and(|scoped| {
        let mut varbinds = scoped.pdu.varbinds;
        scoped.pdu.head.kind == PduKind::Report
            && UsmReport::of(varbinds.next().map(|one| one.oid)) == UsmReport::UnknownEngine
    })
}
