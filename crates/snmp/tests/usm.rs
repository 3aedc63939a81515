//! Version 3 against net-snmp's agent: every protocol, wrong users and passwords, clocks that differ;
//! and messages that are changed on the way.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::time::{Duration, Instant};

use snmp::{
    AuthenticationProtocol, DeviceHandle, DeviceSettings, EngineKeys, KernelSocket, KeyCache,
    KeyExtension, NextPoll, Oid, PduHead, PduKind, PrivacyProtocol, RequestError, RequestKind,
    ScopedHead, Security, SnmpSession, SnmpValue, UsmReport, UsmSecret, UsmUser, V3Flags, V3Head,
    V3Message, Varbind, any_local_address,
};
use testkit::{Snmpd, allocations_of};

const PASSWORDS: [&str; 2] = ["authentication word", "privacy word"];

fn secret(text: &str) -> UsmSecret {
    UsmSecret::Password(text.as_bytes().to_vec())
}

fn user(
    name: &str,
    authentication: Option<AuthenticationProtocol>,
    privacy: Option<(PrivacyProtocol, KeyExtension)>,
) -> UsmUser {
    let mut user = UsmUser::new(name.as_bytes()).unwrap();
    if let Some(protocol) = authentication {
        user = user.with_authentication(protocol, secret(PASSWORDS[0])).unwrap();
    }
    if let Some((protocol, extension)) = privacy {
        user = user.with_privacy(protocol, extension, secret(PASSWORDS[1])).unwrap();
    }
    user
}

const AUTHENTICATIONS: [(AuthenticationProtocol, &str); 6] = [
    (AuthenticationProtocol::Md5, "MD5"),
    (AuthenticationProtocol::Sha1, "SHA"),
    (AuthenticationProtocol::Sha224, "SHA-224"),
    (AuthenticationProtocol::Sha256, "SHA-256"),
    (AuthenticationProtocol::Sha384, "SHA-384"),
    (AuthenticationProtocol::Sha512, "SHA-512"),
];

/// Those that Debian's agent has.
const PRIVACIES: [(PrivacyProtocol, KeyExtension, &str); 5] = [
    (PrivacyProtocol::Des, KeyExtension::Blumenthal, "DES"),
    (PrivacyProtocol::Aes128, KeyExtension::Blumenthal, "AES"),
    (PrivacyProtocol::Aes192, KeyExtension::Blumenthal, "AES-192"),
    (PrivacyProtocol::Aes256, KeyExtension::Blumenthal, "AES-256"),
    (PrivacyProtocol::Aes256, KeyExtension::Reeder, "AES-256-C"),
];

/// An agent with a user for each pair of protocols, named after them.
fn agent() -> Option<Snmpd> {
    let mut lines = "createUser plain\nrouser plain noauth\nsysName the name\n".to_owned();
    for (_, one) in AUTHENTICATIONS {
        let password = format!("createUser {one} {one} \"{}\"", PASSWORDS[0]);
        lines += &format!("{password}\nrouser {one} auth\n");
        for (_, _, other) in PRIVACIES {
            let name = format!("{one}.{other}");
            lines += &format!(
                "createUser {name} {one} \"{}\" {other} \"{}\"\nrouser {name} priv\n",
                PASSWORDS[0], PASSWORDS[1]
            );
        }
    }
    Snmpd::start(&lines)
}

struct Bench {
    session: SnmpSession<KernelSocket>,
    agent: Snmpd,
    begun: Instant,
    /// How far the session's clock is ahead, in s.
    ahead_s: u64,
    name: Oid,
}

impl Bench {
    fn new() -> Option<Self> {
        let agent = agent()?;
        let socket = KernelSocket::bind(any_local_address(false), 1 << 20).unwrap();
        let mut session = SnmpSession::new(socket.window(), 4);
        session.add_socket(socket);
        let name = "1.3.6.1.2.1.1.5.0".parse().unwrap();
        Some(Self { session, agent, begun: Instant::now(), ahead_s: 0, name })
    }

    fn device(&mut self, user: UsmUser) -> DeviceHandle {
        let settings = DeviceSettings::new(self.agent.address(), Security::User(user));
        self.session.add_device(DeviceSettings { timeout_ns: 500_000_000, tries: 2, ..settings })
    }

    fn submit(&mut self, device: DeviceHandle) {
        self.session.submit(device, RequestKind::Get, [self.name.as_ref()].into_iter(), 0).unwrap();
    }

    /// Waits for all requests; the last result.
    fn run(&mut self) -> Result<(), RequestError> {
        let mut result = None;
        while self.session.pending() > 0 {
            let now = self.begun.elapsed() + Duration::from_secs(self.ahead_s);
            let next = self.session.poll(now.as_nanos() as u64, &mut |one| {
                result = Some(one.result.map(|mut pdu| {
                    let value = pdu.varbinds.next().unwrap().value;
                    assert_eq!(value, SnmpValue::OctetString(b"the name"));
                }));
            });
            if !matches!(next.unwrap(), NextPoll::Now) {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        result.unwrap()
    }

    fn ask(&mut self, user: UsmUser) -> Result<(), RequestError> {
        let device = self.device(user);
        self.submit(device);
        self.run()
    }
}

#[test]
fn users_of_every_protocol_are_answered() {
    let Some(mut bench) = Bench::new() else { return };
    assert_eq!(bench.ask(user("plain", None, None)), Ok(()));
    for (one, name) in AUTHENTICATIONS {
        assert_eq!(bench.ask(user(name, Some(one), None)), Ok(()), "{name}");
        for (other, extension, short) in PRIVACIES {
            let name = format!("{name}.{short}");
            let user = user(&name, Some(one), Some((other, extension)));
            assert_eq!(bench.ask(user), Ok(()), "{name}");
        }
    }
    let counts = bench.session.counts();
    assert_eq!((counts.timeouts, counts.wrong_head, counts.malformed), (0, 0, 0));
}

#[test]
fn refusals_of_the_agent_are_said() {
    let Some(mut bench) = Bench::new() else { return };
    let sha1 = Some(AuthenticationProtocol::Sha1);
    let aes = Some((PrivacyProtocol::Aes128, KeyExtension::Blumenthal));
    let report = |report| Err(RequestError::Report(report));
    assert_eq!(bench.ask(user("nobody", None, None)), report(UsmReport::UnknownUser));
    assert_eq!(bench.ask(user("nobody", sha1, aes)), report(UsmReport::UnknownUser));
    assert_eq!(bench.ask(user("MD5", sha1, None)), report(UsmReport::WrongDigest));
    assert_eq!(bench.ask(user("SHA", sha1, aes)), report(UsmReport::UnsupportedSecurityLevel));
    let wrong = user("SHA.AES", sha1, None)
        .with_privacy(PrivacyProtocol::Aes128, KeyExtension::Blumenthal, secret("another word"))
        .unwrap();
    // net-snmp counts what it cannot decrypt and says it, or says nothing.
    let result = bench.ask(wrong);
    let is_said = matches!(
        result,
        Err(RequestError::Report(UsmReport::Decryption) | RequestError::Timeout { .. })
    );
    assert!(is_said, "{result:?}");
    assert!(bench.ask(user("SHA.AES", sha1, aes)).is_ok());
}

#[test]
fn a_clock_that_differs_is_set_once() {
    let Some(mut bench) = Bench::new() else { return };
    let name = "SHA-256.AES";
    let both = user(
        name,
        Some(AuthenticationProtocol::Sha256),
        Some((PrivacyProtocol::Aes128, KeyExtension::Blumenthal)),
    );
    let device = bench.device(both);
    bench.submit(device);
    assert_eq!(bench.run(), Ok(()));
    // The discovery and the request.
    assert_eq!(bench.session.counts().sent, 2);
    for (ahead_s, sent) in [(100, 3), (1_000, 5), (1_000, 6), (90_000, 8)] {
        bench.ahead_s = ahead_s;
        bench.submit(device);
        assert_eq!(bench.run(), Ok(()));
        assert_eq!(bench.session.counts().sent, sent, "{ahead_s} s ahead");
    }
}

#[test]
fn nothing_is_allocated_once_keys_are_made() {
    let Some(mut bench) = Bench::new() else { return };
    let devices: Vec<_> = [("MD5.DES", AuthenticationProtocol::Md5, PrivacyProtocol::Des)]
        .into_iter()
        .chain([("SHA-512.AES-256", AuthenticationProtocol::Sha512, PrivacyProtocol::Aes256)])
        .map(|(name, one, other)| user(name, Some(one), Some((other, KeyExtension::Blumenthal))))
        .map(|user| bench.device(user))
        .collect();
    // Tables grow to what was in flight at once, which a busy machine may reach late.
    let rounds = (0..6).map(|_| {
        let (result, allocations) = allocations_of(|| {
            for device in devices.iter().cycle().take(100) {
                bench.submit(*device);
            }
            bench.run()
        });
        assert_eq!(result, Ok(()));
        allocations.count
    });
    assert_eq!(rounds.min(), Some(0));
}

/// A message of a user, and the keys that it was made with.
fn message(user: &UsmUser, salt: u64) -> (Vec<u8>, EngineKeys) {
    let engine_id = b"\x80\x00\x1f\x88engine";
    let keys = KeyCache::default().keys(user, engine_id);
    let head = V3Head {
        message_id: 77,
        flags: V3Flags { is_reportable: true, ..user.flags() },
        engine_id,
        engine_boots: 3,
        engine_time: 1_000,
        user: user.name(),
    };
    let scope = ScopedHead { context_engine_id: engine_id, context_name: b"context" };
    let oid: Oid = "1.3.6.1.2.1.2.2.1.10.300".parse().unwrap();
    let varbinds = (0..salt % 9)
        .map(|n| Varbind { oid: oid.as_ref(), value: SnmpValue::Counter64(u64::MAX >> (7 * n)) });
    let varbinds: Vec<_> = varbinds.collect();
    let pdu = PduHead::request(PduKind::Get, 77);
    let mut buffer = vec![0; 2_000];
    let start = head.encode(&mut buffer, &keys, salt, &scope, &pdu, varbinds.into_iter()).unwrap();
    (buffer.split_off(start), keys)
}

#[test]
fn every_pair_of_protocols_reads_what_it_wrote() {
    for one in AuthenticationProtocol::ALL {
        for other in PrivacyProtocol::ALL {
            for salt in 1..10 {
                let user = user("me", Some(one), Some((other, KeyExtension::Reeder)));
                let (mut bytes, keys) = message(&user, salt);
                let read = V3Message::decode(&bytes).unwrap();
                assert_eq!((read.message_id, read.engine_boots, read.engine_time), (77, 3, 1_000));
                assert_eq!((read.user(&bytes), read.engine_id(&bytes).len()), (&b"me"[..], 10));
                assert!(read.is_authentic(&bytes, &keys), "{one:?} {other:?}");
                let scoped = read.open(&mut bytes, &keys).unwrap();
                assert_eq!(scoped.head.context_name, b"context");
                assert_eq!(scoped.pdu.varbinds.count(), salt as usize % 9);
            }
        }
    }
}

#[test]
fn what_was_changed_on_the_way_is_not_authentic() {
    let pair = Some((PrivacyProtocol::Aes128, KeyExtension::Blumenthal));
    let (bytes, keys) = message(&user("me", Some(AuthenticationProtocol::Sha256), pair), 5);
    let mut read = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            if let Ok(message) = V3Message::decode(&changed) {
                read += 1;
                assert!(!message.is_authentic(&changed, &keys), "byte {at}, bit {bit}");
                let _ = message.open(&mut changed, &keys);
            }
        }
    }
    assert!(read > 1_000, "{read}");
    for length in 0..bytes.len() {
        assert!(V3Message::decode(&bytes[..length]).is_err());
    }
}
