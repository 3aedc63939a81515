//! Messages of all kinds are read as they were written, and bytes that are none are refused.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::net::Ipv4Addr;

use proptest::prelude::*;
use snmp::{
    CommunityHead, CommunityMessage, DecodeCause, EncodeError, ErrorStatus, Oid, PduHead, PduKind,
    SnmpValue, Varbind, Version, peek_version,
};
use testkit::allocations_of;

/// A value that owns its bytes.
#[derive(Clone, Debug)]
enum Owned {
    Plain(SnmpValue<'static>),
    Octets(Vec<u8>),
    Opaque(Vec<u8>),
    Oid(Oid),
}

impl Owned {
    fn value(&self) -> SnmpValue<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Octets(bytes) => SnmpValue::OctetString(bytes),
            Self::Opaque(bytes) => SnmpValue::Opaque(bytes),
            Self::Oid(oid) => SnmpValue::ObjectIdentifier(oid.as_ref()),
        }
    }
}

fn any_oid() -> impl Strategy<Value = Oid> {
    let number = prop_oneof![0_u32..300, any::<u32>()];
    let rest = prop::collection::vec(number, 0..126);
    (0_u32..3, 0_u32..40, rest).prop_map(|(first, second, rest)| {
        let numbers: Vec<u32> = [first, second].into_iter().chain(rest).collect();
        Oid::new(&numbers).unwrap()
    })
}

fn any_value() -> impl Strategy<Value = Owned> {
    let plain = prop_oneof![
        any::<i64>().prop_map(SnmpValue::Integer),
        any::<i32>().prop_map(|number| SnmpValue::Integer(number.into())),
        any::<[u8; 4]>().prop_map(|bytes| SnmpValue::IpAddress(Ipv4Addr::from(bytes))),
        any::<u32>().prop_map(SnmpValue::Counter32),
        any::<u32>().prop_map(SnmpValue::Gauge32),
        any::<u32>().prop_map(SnmpValue::TimeTicks),
        any::<u64>().prop_map(SnmpValue::Counter64),
        any::<f32>().prop_map(SnmpValue::Float),
        any::<f64>().prop_map(SnmpValue::Double),
        any::<i64>().prop_map(SnmpValue::Integer64),
        any::<u64>().prop_map(SnmpValue::Unsigned64),
        Just(SnmpValue::Null),
        Just(SnmpValue::NoSuchObject),
        Just(SnmpValue::NoSuchInstance),
        Just(SnmpValue::EndOfMibView),
    ];
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        8 => plain.prop_map(Owned::Plain),
        2 => bytes().prop_map(Owned::Octets),
        1 => bytes().prop_filter("a number", |bytes| bytes.first() != Some(&0x9f)).prop_map(Owned::Opaque),
        1 => any_oid().prop_map(Owned::Oid),
    ]
}

proptest! {
    #[test]
    fn a_message_is_read_as_it_was_written(
        community in prop::collection::vec(any::<u8>(), 0..40),
        numbers in any::<[i32; 3]>(),
        kind in 0_usize..8,
        is_first in any::<bool>(),
        pairs in prop::collection::vec((any_oid(), any_value()), 0..30),
    ) {
        let kind = [
            PduKind::Get, PduKind::GetNext, PduKind::Response, PduKind::Set, PduKind::GetBulk,
            PduKind::Inform, PduKind::Trap, PduKind::Report,
        ][kind];
        let version = if is_first { Version::V1 } else { Version::V2c };
        let [request_id, status, error_index] = numbers;
        let pdu = PduHead { kind, request_id, error_status: ErrorStatus(status), error_index };
        let head = CommunityHead { version, community: &community };
        let varbinds = || pairs.iter().map(|(oid, value)| Varbind { oid: oid.as_ref(), value: value.value() });
        let mut buffer = vec![0; 65_535];
        let (start, allocations) = allocations_of(|| head.encode(&mut buffer, &pdu, varbinds()).unwrap());
        prop_assert_eq!(allocations.count, 0);
        let bytes = &buffer[start..];
        prop_assert_eq!(peek_version(bytes), Ok(version));
        let (same, allocations) = allocations_of(|| {
            let read = CommunityMessage::decode(bytes).unwrap();
            read.head == head && read.pdu.head == pdu && read.pdu.varbinds.eq(varbinds())
        });
        prop_assert!(same);
        prop_assert_eq!(allocations.count, 0);
        // Too small a buffer is noticed wherever it ends; less than the whole is no message.
        let length = bytes.len();
        for short in [0, 1, length / 2, length - 1] {
            let mut small = vec![0; short];
            prop_assert_eq!(head.encode(&mut small, &pdu, varbinds()), Err(EncodeError::Full(short)));
            prop_assert!(CommunityMessage::decode(&bytes[..short]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = CommunityMessage::decode(&bytes);
    }
}

/// `GET sysUpTime.0` as it stands in books.
const REQUEST: &[u8] =
    b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x01\x02\x01\x00\x02\x01\
    \x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";

#[test]
fn a_request_is_these_bytes() {
    let up_time: Oid = "1.3.6.1.2.1.1.3.0".parse().unwrap();
    let head = CommunityHead { version: Version::V2c, community: b"public" };
    let mut buffer = [0; 64];
    let pdu = PduHead::request(PduKind::Get, 1);
    let start = head.encode(&mut buffer, &pdu, [Varbind::asked(up_time.as_ref())].into_iter());
    assert_eq!(&buffer[start.unwrap()..], REQUEST);
}

#[test]
fn each_change_of_a_byte_is_refused_or_read() {
    let mut refused = 0;
    for at in 0..REQUEST.len() {
        for byte in 0..=255 {
            let mut bytes = REQUEST.to_vec();
            bytes[at] = byte;
            match CommunityMessage::decode(&bytes) {
                Ok(read) => assert!(read.pdu.varbinds.count() <= 1),
                Err(error) => {
                    assert!(error.at <= bytes.len(), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 4_000, "{refused}");
}

#[test]
fn what_follows_or_lies_too_deep_is_refused() {
    let cause = |bytes: &[u8]| CommunityMessage::decode(bytes).unwrap_err();
    let trailing = [REQUEST, b"\0"].concat();
    assert_eq!(cause(&trailing).cause, DecodeCause::Trailing(1));
    assert_eq!(cause(&trailing).to_string(), "byte 40: 1 bytes after the end");
    let mut nested = vec![0x30; 60_000];
    nested.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = 0x80);
    assert_eq!(cause(&nested).cause, DecodeCause::Indefinite);
    let nested = [0x30, 0x82, 0xea, 0x5c].repeat(15_000);
    assert!(CommunityMessage::decode(&nested).is_err());
    let mut third = REQUEST.to_vec();
    third[4] = 3;
    assert_eq!(peek_version(&third), Ok(Version::V3));
    assert_eq!(cause(&third).cause, DecodeCause::UnknownVersion(3));
    third[4] = 2;
    assert_eq!(cause(&third).cause, DecodeCause::UnknownVersion(2));
    let mut trap = REQUEST.to_vec();
    trap[13] = 0xa4;
    assert_eq!(cause(&trap).cause, DecodeCause::UnknownPdu(0xa4));
}

#[test]
fn ten_thousand_varbinds_are_read() {
    let oid = Oid::default();
    let head = CommunityHead { version: Version::V2c, community: b"" };
    let mut buffer = vec![0; snmp::MESSAGE_BYTES_MAX];
    let varbinds = (0..10_000).map(|_| Varbind::asked(oid.as_ref()));
    let start = head.encode(&mut buffer, &PduHead::request(PduKind::Get, 1), varbinds).unwrap();
    let read = CommunityMessage::decode(&buffer[start..]).unwrap();
    assert_eq!(read.pdu.varbinds.len(), 10_000);
    assert_eq!(read.pdu.varbinds.count(), 10_000);
}
