//! Version 3 on the side of the device: which engine is meant, whether the user may ask, reports.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use snmp::{
    EncodeError, EngineKeys, KeyCache, Oid, PduHead, PduKind, ScopedHead, SnmpValue, V3Flags,
    V3Head, V3Message, Varbind, Version,
};

use crate::device::AgentDevice;

/// Keys that are made: of a user, the first of its device is 0, at the engine of an address.
#[derive(Debug, Default)]
pub(crate) struct EngineTable {
    cache: KeyCache,
    keys: HashMap<(Ipv4Addr, usize), EngineKeys>,
    salt: u64,
}

/// The engine id of an address: RFC 3411's form with an IPv4 address.
fn engine_id(address: Ipv4Addr) -> [u8; 9] {
    let [a, b, c, d] = address.octets();
    [0x80, 0, 0x1f, 0x88, 1, a, b, c, d]
}

/// What is sent back, before it is written.
enum Reply<'a> {
    Response(PduHead, Vec<Varbind<'a>>),
    /// A statistic of the security model, by its last number.
    Report(u32),
}

impl EngineTable {
    /// Answers a message into the end of `buffer`; the offset at which it begins.  `None` if nothing
    /// is answered.
    pub(crate) fn answer(
        &mut self,
        address: Ipv4Addr,
        device: &AgentDevice,
        bytes: &mut [u8],
        buffer: &mut [u8],
        now_ns: u64,
    ) -> Option<usize> {
        let message = V3Message::decode(bytes).ok()?;
        let id = engine_id(address);
        let time_s = now_ns.saturating_sub(device.started_ns) / 1_000_000_000;
        let engine_time = i32::try_from(time_s).unwrap_or(i32::MAX);
        let name = message.user(bytes).to_vec();
        let place = device.users.iter().position(|user| user.name() == name);
        let none = EngineKeys::default();
        let keys = match place {
            Some(place) => {
                let (cache, user) = (&mut self.cache, &device.users[place]);
                self.keys.entry((address, place)).or_insert_with(|| cache.keys(user, &id))
            }
            None => &none,
        };
        let report = if message.engine_id(bytes) != id {
            Some(4)
        } else {
            refusal(device, place, &message, bytes, keys, engine_time)
        };
        let flags = V3Flags { is_reportable: false, ..message.flags };
        let mut head = V3Head {
            message_id: message.message_id,
            flags,
            engine_id: &id,
            engine_boots: device.boots,
            engine_time,
            user: &name,
        };
        self.salt += 1;
        let salt = self.salt;
        let (reply, request_id, context) = match report {
            Some(number) => (Reply::Report(number), 0, Vec::new()),
            None => {
                let scoped = message.open(bytes, keys);
                let Ok(scoped) = scoped else {
                    return report_message(&mut head, buffer, &none, salt, &id, 0, 6).ok();
                };
                let context = scoped.head.context_name.to_vec();
                let asked = scoped.pdu.varbinds;
                let (pdu, varbinds) =
                    device.answer(Version::V3, &scoped.pdu.head, asked, now_ns)?;
                (Reply::Response(pdu, varbinds), scoped.pdu.head.request_id, context)
            }
        };
        let start = match reply {
            Reply::Report(number) => {
                // Only a message that is out of time is answered with a digest (RFC 3414 3.2).
                head.flags.is_private = false;
                head.flags.is_authenticated &= number == 2;
                report_message(&mut head, buffer, keys, salt, &id, request_id, number)
            }
            Reply::Response(pdu, varbinds) => {
                let scope = ScopedHead { context_engine_id: &id, context_name: &context };
                head.encode(buffer, keys, salt, &scope, &pdu, varbinds.into_iter())
            }
        };
        start.ok()
    }
}

/// What is wrong with a message for this engine: the last number of a statistic.
fn refusal(
    device: &AgentDevice,
    place: Option<usize>,
    message: &V3Message,
    bytes: &[u8],
    keys: &EngineKeys,
    engine_time: i32,
) -> Option<u32> {
    let Some(place) = place else { return Some(3) };
    let flags = device.users[place].flags();
    let is_level = flags.is_authenticated == message.flags.is_authenticated
        && flags.is_private == message.flags.is_private;
    if !is_level {
        return Some(1);
    }
    if !flags.is_authenticated {
        return None;
    }
    if !message.is_authentic(bytes, keys) {
        return Some(5);
    }
    let is_in_time =
        message.engine_boots == device.boots && message.engine_time.abs_diff(engine_time) <= 150;
    (!is_in_time).then_some(2)
}

fn report_message(
    head: &mut V3Head<'_>,
    buffer: &mut [u8],
    keys: &EngineKeys,
    salt: u64,
    id: &[u8],
    request_id: i32,
    number: u32,
) -> Result<usize, EncodeError> {
    head.flags.is_private = false;
    let oid = Oid::new(&[1, 3, 6, 1, 6, 3, 15, 1, 1, number, 0]).unwrap_or_default();
    let varbind = Varbind { oid: oid.as_ref(), value: SnmpValue::Counter32(1) };
    let pdu = PduHead { kind: PduKind::Report, ..PduHead::request(PduKind::Get, request_id) };
    let scope = ScopedHead { context_engine_id: id, context_name: b"" };
    head.encode(buffer, keys, salt, &scope, &pdu, [varbind].into_iter())
}
