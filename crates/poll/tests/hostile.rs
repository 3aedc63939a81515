//! Devices that answer nonsense: the round ends in time, their values are right or unknown, and all
//! others have theirs.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{ask, device, is_full, now_ns, query, start};
use poll::ask::MergingAsker;
use poll::{Config, InterfaceSelector, SnmpVersion};
use snmp::{CommunityMessage, ErrorStatus, Oid, PduHead, PduKind, SnmpValue, Varbind};
use testkit::Random;

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Nonsense {
    TenThousandVarbinds,
    OthersObjects,
    Reversed,
    TooFew,
    Truncated,
    Flipped,
    Twice,
    SameForEver,
    Backwards,
    LongIdentifiers,
    LongText,
    Error(i32, i32),
    OtherKind,
    OtherCommunity,
    /// Every value whose object ends with 7 has a type that SNMP has not.
    UnknownType,
}

use Nonsense::*;

const ALL: [Nonsense; 19] = [
    TenThousandVarbinds,
    OthersObjects,
    Reversed,
    TooFew,
    Truncated,
    Flipped,
    Twice,
    SameForEver,
    Backwards,
    LongIdentifiers,
    LongText,
    Error(1, 0),
    Error(2, 1),
    Error(5, 0),
    Error(5, 1),
    Error(5, -7),
    Error(99, 1_000_000),
    OtherKind,
    OtherCommunity,
];

/// The value of an object: its last number.
fn value(oid: &Oid) -> SnmpValue<'static> {
    SnmpValue::Counter32(oid.as_ref().sub_identifiers().last().unwrap_or(0))
}

fn next(oid: &Oid) -> Oid {
    oid.child(&[1]).unwrap_or_else(|_| oid.clone())
}

/// Answers a request; the datagrams.
fn answers(nonsense: Nonsense, bytes: &[u8], random: &mut Random) -> Vec<Vec<u8>> {
    let Ok(request) = CommunityMessage::decode(bytes) else { return Vec::new() };
    let mut head = PduHead {
        kind: PduKind::Response,
        error_status: ErrorStatus::NO_ERROR,
        error_index: 0,
        ..request.pdu.head
    };
    let mut community = request.head;
    let is_get = request.pdu.head.kind == PduKind::Get;
    let asked: Vec<Oid> = request.pdu.varbinds.map(|one| one.oid.to_oid()).collect();
    let mut oids: Vec<Oid> =
        asked.iter().map(|oid| if is_get { oid.clone() } else { next(oid) }).collect();
    let text = vec![b'7'; 60_000];
    let mut long = None;
    match nonsense {
        TenThousandVarbinds => {
            let short = Oid::new(&[1, 3]).unwrap();
            oids = std::iter::repeat_n(short, 8_000).collect();
        }
        OthersObjects => oids = oids.iter().map(next).collect(),
        Reversed => oids.reverse(),
        TooFew => oids.truncate(1),
        SameForEver => oids = asked.clone(),
        Backwards => oids = vec![Oid::new(&[1, 3, 6]).unwrap(); oids.len()],
        LongIdentifiers => {
            let numbers: Vec<u32> = (0..100).map(|at| u32::MAX - at).collect();
            let begin = Oid::new(&[1, 3, 6, 1, 2, 1]).unwrap();
            oids = vec![begin.child(&numbers).unwrap(); oids.len()];
        }
        LongText => {
            oids.truncate(1);
            long = Some(SnmpValue::OctetString(&text));
        }
        Error(status, index) => {
            (head.error_status, head.error_index) = (ErrorStatus(status), index);
        }
        OtherKind => head.kind = PduKind::GetNext,
        OtherCommunity => community.community = b"private",
        Truncated | Flipped | Twice | UnknownType => {}
    }
    let value = |oid: &Oid| match value(oid) {
        SnmpValue::Counter32(7) if nonsense == UnknownType => SnmpValue::Unreadable(0xc0, &[7]),
        value => long.unwrap_or(value),
    };
    let varbinds: Vec<Varbind<'_>> =
        oids.iter().map(|oid| Varbind { oid: oid.as_ref(), value: value(oid) }).collect();
    let mut buffer = vec![0; 65_507];
    let Ok(start) = community.encode(&mut buffer, &head, varbinds.into_iter()) else {
        return Vec::new();
    };
    let mut answer = buffer.split_off(start);
    let mut all = Vec::new();
    match nonsense {
        Truncated => answer.truncate(random.below(answer.len() as u64) as usize),
        Flipped => {
            let at = random.below(answer.len() as u64) as usize;
            answer[at] ^= 1 << random.below(8);
        }
        Twice => all.push(answer.clone()),
        _ => {}
    }
    all.push(answer);
    all
}

/// A device of nonsense, in a thread of its own until it is dropped.
struct Hostile {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hostile {
    fn start(nonsense: Nonsense) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut random = Random::from_seed(7);
            let mut buffer = vec![0; 65_536];
            while !over.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                for answer in answers(nonsense, &buffer[..length], &mut random) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Hostile { address, is_over, thread: Some(thread) }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_round_goes_on_beside_devices_that_answer_nonsense() {
    let hostile = ALL.map(Hostile::start);
    let agent = start(4, 40, |_, _| {});
    let mut config = Config::default();
    config.global.interval_s = 300;
    let mut places = Vec::new();
    for (number, one) in hostile.iter().enumerate() {
        for (version, by_description) in [
            (SnmpVersion::V1, false),
            (SnmpVersion::V2c, false),
            (SnmpVersion::V1, true),
            (SnmpVersion::V2c, true),
        ] {
            let mut asked = device(one.address, version);
            asked.timeout_s = 0.1;
            asked.text = format!("{:?} {version:?} {by_description}", ALL[number]);
            config.devices.push(asked);
            for interface in 1..=30 {
                let selector = match by_description {
                    true => InterfaceSelector::Description(format!("eth{interface}")),
                    false => InterfaceSelector::Number(interface),
                };
                config.queries.push(query(config.devices.len() - 1, &selector));
                places.push(Some((ALL[number], interface)));
            }
        }
    }
    for index in 0..4 {
        let mut good = device(agent.address(index), SnmpVersion::V2c);
        // However busy the machine is.
        good.timeout_s = 100.0;
        config.devices.push(good);
        for interface in 1..=40 {
            let selector = InterfaceSelector::Name(format!("port{interface}"));
            config.queries.push(query(config.devices.len() - 1, &selector));
            places.push(None);
        }
    }
    let mut asker = MergingAsker::new(1, now_ns);
    for round in 0..3 {
        // However long it takes, it ends.
        let (answers, said) = ask(&mut asker, &config);
        println!("round {round}: {} lines", said.len());
        for (place, answer) in places.iter().zip(&answers) {
            match place {
                None => assert!(is_full(answer), "{answer:?}"),
                // A bit of a value may be another one: nothing shows that without version 3.  A text
                // of digits is a value.
                Some((Flipped | LongText, _)) => {}
                Some((nonsense, interface)) => {
                    let expected = Some(interface.to_string().into_bytes());
                    let is_right = |value: &Option<Vec<u8>>| value.is_none() || *value == expected;
                    assert!(answer.values.iter().all(is_right), "{nonsense:?} {interface}");
                }
            }
        }
        // Each that answers nothing of use is named.  A line names all devices of one reason: a
        // flipped bit may have made another community too.
        for nonsense in ["OtherKind", "OtherCommunity"] {
            let is_named = said.iter().any(|line| line.contains(nonsense));
            assert!(round > 0 || is_named, "{nonsense}: {said:#?}");
        }
    }
}

#[test]
fn a_value_of_no_type_costs_no_other_value() {
    let hostile = Hostile::start(UnknownType);
    let mut config = Config::default();
    config.global.interval_s = 300;
    for version in [SnmpVersion::V1, SnmpVersion::V2c] {
        let mut asked = device(hostile.address, version);
        // However busy the machine is.
        asked.timeout_s = 100.0;
        config.devices.push(asked);
        for interface in 1..=30 {
            let selector = InterfaceSelector::Number(interface);
            config.queries.push(query(config.devices.len() - 1, &selector));
        }
    }
    let mut asker = MergingAsker::new(1, now_ns);
    let (answers, _) = ask(&mut asker, &config);
    let counts = asker.counts().unwrap();
    assert_eq!(counts.repeated, 0, "nothing is asked again: {counts:?}");
    for (answer, interface) in answers.iter().zip((1..=30_u32).cycle()) {
        let expected = match interface {
            7 => "#<unprintable BER type 0xc0>".to_owned(),
            _ => interface.to_string(),
        };
        assert_eq!(answer.values, [Some(expected.clone().into()), Some(expected.into())]);
    }
}
