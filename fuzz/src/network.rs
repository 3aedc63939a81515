//! What devices send: datagrams of SNMP, to a decoder and to a session that waits for answers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::LazyLock;

use snmp::{
    AuthenticationProtocol, CommunityMessage, DatagramSocket, DeviceSettings, EngineKeys, KeyCache,
    KeyExtension, MESSAGE_BYTES_MAX, Oid, OutgoingDatagram, PrivacyProtocol, RequestKind, Security,
    SnmpSession, UsmSecret, UsmUser, V3Message, Version,
};

/// The engine of messages of version 3.
const ENGINE: &[u8] = b"\x80\x00\x1f\x88engine";

fn user(protocol: PrivacyProtocol) -> UsmUser {
    let key = |byte: u8, length| UsmSecret::LocalizedKey(vec![byte; length]);
    let length = match protocol {
        PrivacyProtocol::Des | PrivacyProtocol::Aes128 => 16,
        _ => 32,
    };
    let user = UsmUser::new(b"me").expect("a short name");
    let user = user.with_authentication(AuthenticationProtocol::Sha256, key(1, 32)).expect("a key");
    user.with_privacy(protocol, KeyExtension::Blumenthal, key(2, length)).expect("a key")
}

/// The keys of each kind of privacy.
static KEYS: LazyLock<Vec<EngineKeys>> = LazyLock::new(|| {
    let all = [
        PrivacyProtocol::Des,
        PrivacyProtocol::TripleDes,
        PrivacyProtocol::Aes128,
        PrivacyProtocol::Aes256,
    ];
    all.map(|protocol| KeyCache::default().keys(&user(protocol), ENGINE)).to_vec()
});

/// A datagram.  Version 3 is opened without keys and with each kind of key, whether it is authentic or not; of versions 1 and 2c, what could be read is written again, and read as the same.
pub fn snmp_message(bytes: &[u8]) {
    if let Ok(message) = V3Message::decode(bytes) {
        let keys = EngineKeys::default();
        assert!(!message.is_authentic(bytes, &keys));
        let _ = message.open(&mut bytes.to_vec(), &keys);
        for keys in KEYS.iter() {
            let _ = message.is_authentic(bytes, keys);
            let _ = message.open(&mut bytes.to_vec(), keys);
        }
        return;
    }
    let Ok(message) = CommunityMessage::decode(bytes) else { return };
    let mut buffer = vec![0; 2 * MESSAGE_BYTES_MAX];
    let varbinds: Vec<_> = message.pdu.varbinds.collect();
    let written = message.head.encode(&mut buffer, &message.pdu.head, varbinds.iter().copied());
    let Ok(start) = written else { panic!("a message that was read does not fit") };
    let again = CommunityMessage::decode(&buffer[start..]).expect("a message that was written");
    assert_eq!(again.head, message.head);
    assert_eq!(again.pdu.head, message.pdu.head);
    let show = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let again: Vec<_> = again.pdu.varbinds.collect();
    // As texts: no number that is none equals itself.
    assert_eq!(show(&again), show(&varbinds));
}

/// Messages that reach every type.
pub fn seeds() -> Vec<Vec<u8>> {
    use snmp::{
        CommunityHead, ErrorStatus, Oid, PduHead, PduKind, ScopedHead, SnmpValue, V3Flags, V3Head,
        Varbind, Version,
    };
    let oid: Oid = "1.3.6.1.2.1.2.2.1.10.300".parse().expect("an object identifier");
    let values = [
        SnmpValue::Null,
        SnmpValue::Integer(-300),
        SnmpValue::OctetString(b"eth0"),
        SnmpValue::ObjectIdentifier(oid.as_ref()),
        SnmpValue::IpAddress([192, 0, 2, 1].into()),
        SnmpValue::Counter32(u32::MAX),
        SnmpValue::Gauge32(9),
        SnmpValue::TimeTicks(1 << 31),
        SnmpValue::Opaque(b"any"),
        SnmpValue::Counter64(u64::MAX),
        SnmpValue::Float(0.25),
        SnmpValue::Double(0.25),
        SnmpValue::Integer64(-9),
        SnmpValue::Unsigned64(u64::MAX),
        SnmpValue::NoSuchObject,
        SnmpValue::EndOfMibView,
    ];
    let varbinds = values.map(|value| Varbind { oid: oid.as_ref(), value });
    let versions = [Version::V1, Version::V2c];
    let write = |version, varbinds: &[Varbind<'_>]| {
        let head = CommunityHead { version, community: b"public" };
        let pdu = PduHead {
            kind: PduKind::Response,
            request_id: 77_777,
            error_status: ErrorStatus::TOO_BIG,
            error_index: 1,
        };
        let mut buffer = vec![0; 1_000];
        let start = head.encode(&mut buffer, &pdu, varbinds.iter().copied()).expect("it fits");
        buffer.split_off(start)
    };
    let mut seeds: Vec<_> = versions
        .into_iter()
        .flat_map(|version| [write(version, &varbinds), write(version, &varbinds[..1])])
        .collect();
    let mut head = V3Head {
        message_id: 7,
        flags: V3Flags { is_reportable: true, ..V3Flags::default() },
        engine_id: ENGINE,
        engine_boots: 1,
        engine_time: 300,
        user: b"me",
    };
    let scope = ScopedHead { context_engine_id: head.engine_id, context_name: b"" };
    let pdu = PduHead::request(PduKind::Get, 7);
    let mut add = |head: &V3Head<'_>, keys: &EngineKeys| {
        let mut buffer = vec![0; 1_000];
        let varbinds = varbinds.iter().copied();
        let start = head.encode(&mut buffer, keys, 1, &scope, &pdu, varbinds);
        seeds.push(buffer.split_off(start.expect("it fits")));
    };
    add(&head, &EngineKeys::default());
    (head.flags.is_authenticated, head.flags.is_private) = (true, true);
    KEYS.iter().for_each(|keys| add(&head, keys));
    seeds
}

/// Sends nothing anywhere; what is received is put in.
#[derive(Default)]
struct FuzzSocket {
    sent: Vec<(SocketAddr, Vec<u8>)>,
    here: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl DatagramSocket for FuzzSocket {
    fn send(&mut self, buffer: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
        let sent = datagrams.iter().map(|one| (one.to, buffer[one.range.clone()].to_vec()));
        self.sent.extend(sent);
        Ok(datagrams.len())
    }

    fn receive(&mut self, take: &mut dyn FnMut(SocketAddr, &mut [u8])) -> io::Result<usize> {
        let Some((from, mut bytes)) = self.here.pop_front() else { return Ok(0) };
        take(from, &mut bytes);
        Ok(1)
    }
}

/// Runs a session of a device of each version, with an answer from each; how often requests ended.
fn session(answers: &mut dyn FnMut(SocketAddr, &[u8]) -> Vec<u8>) -> usize {
    let mut session = SnmpSession::new(64, 1);
    let socket = session.add_socket(SharedSocket::default());
    let shared = session.sockets()[socket].clone();
    let community = |version| Security::Community { version, community: b"public".to_vec() };
    let all = [
        community(Version::V1),
        community(Version::V2c),
        Security::User(user(PrivacyProtocol::Aes128)),
    ];
    let oid: Oid = "1.3.6.1.2.1.2.2.1.10".parse().expect("an object identifier");
    for (index, security) in all.into_iter().enumerate() {
        let address = SocketAddr::from(([10, 0, 0, index as u8], 161));
        let settings = DeviceSettings { tries: 2, ..DeviceSettings::new(address, security) };
        let device = session.add_device(settings);
        let bulk = RequestKind::GetBulk { non_repeaters: 0, max_repetitions: 9 };
        for asked in [RequestKind::Get, bulk] {
            let oids = std::iter::once(oid.as_ref());
            session.submit(device, asked, oids, 0).expect("there is room");
        }
    }
    let (mut ended, mut now_ns) = (0, 1_000_000_000);
    // Both tries of all requests take 4 s.
    for _ in 0..200 {
        session.poll(now_ns, &mut |_| ended += 1).expect("the socket does not fail");
        let mut socket = shared.0.borrow_mut();
        for (to, bytes) in std::mem::take(&mut socket.sent) {
            let answer = answers(to, &bytes);
            socket.here.push_back((to, answer));
        }
        now_ns += 50_000_000;
    }
    assert_eq!(session.pending(), 0, "a request does not end");
    ended
}

/// A socket that the session and the one who answers have.
#[derive(Clone, Default)]
struct SharedSocket(std::rc::Rc<std::cell::RefCell<FuzzSocket>>);

impl DatagramSocket for SharedSocket {
    fn send(&mut self, buffer: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
        self.0.borrow_mut().send(buffer, datagrams)
    }

    fn receive(&mut self, take: &mut dyn FnMut(SocketAddr, &mut [u8])) -> io::Result<usize> {
        self.0.borrow_mut().receive(take)
    }
}

/// Answers of devices to a session: each request is answered with a part of the input, of which the first bytes say how long it is.  All requests end, each once.
pub fn snmp_session(bytes: &[u8]) {
    let mut rest = bytes;
    let ended = session(&mut |_, _| {
        let Some((head, after)) = rest.split_first_chunk::<2>() else { return Vec::new() };
        let length = usize::from(u16::from_le_bytes(*head)).min(after.len());
        let (answer, after) = after.split_at(length);
        rest = after;
        answer.to_vec()
    });
    assert_eq!(ended, 6, "each request ends once");
}

/// Inputs that answer what a session sends, since its requests are the same each time.
pub fn session_seeds() -> Vec<Vec<u8>> {
    let mut seed = Vec::new();
    session(&mut |_, request| {
        let answer = answer(request).unwrap_or_default();
        seed.extend((answer.len() as u16).to_le_bytes());
        seed.extend(&answer);
        answer
    });
    vec![seed]
}

/// A right answer to a request of version 1 or 2c, a report to one of version 3.
fn answer(request: &[u8]) -> Option<Vec<u8>> {
    use snmp::{PduHead, PduKind, ScopedHead, SnmpValue, V3Flags, V3Head, Varbind};
    let mut buffer = vec![0; 2_000];
    if let Ok(message) = CommunityMessage::decode(request) {
        let head = PduHead { kind: PduKind::Response, ..message.pdu.head };
        let value = SnmpValue::Counter32(7);
        let varbinds: Vec<_> = message.pdu.varbinds.map(|one| Varbind { value, ..one }).collect();
        let start = message.head.encode(&mut buffer, &head, varbinds.into_iter()).ok()?;
        return Some(buffer.split_off(start));
    }
    let message = V3Message::decode(request).ok()?;
    let head = V3Head {
        message_id: message.message_id,
        flags: V3Flags::default(),
        engine_id: ENGINE,
        engine_boots: 1,
        engine_time: 300,
        user: b"",
    };
    let scope = ScopedHead { context_engine_id: ENGINE, context_name: b"" };
    let pdu = PduHead::request(PduKind::Report, message.message_id);
    // usmStatsUnknownEngineIDs
    let oid: Oid = "1.3.6.1.6.3.15.1.1.4.0".parse().ok()?;
    let varbind = Varbind { oid: oid.as_ref(), value: SnmpValue::Counter32(1) };
    let keys = EngineKeys::default();
    let start = head.encode(&mut buffer, &keys, 1, &scope, &pdu, std::iter::once(varbind)).ok()?;
    Some(buffer.split_off(start))
}
