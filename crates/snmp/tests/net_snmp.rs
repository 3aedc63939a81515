//! Against net-snmp: its tools read what is written here, and what they and its agent write is read.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use snmp::{
    CommunityHead, CommunityMessage, ErrorStatus, Oid, OidRef, PduHead, PduKind, SnmpValue,
    Varbind, Version,
};
use testkit::{Random, Snmpd};

fn oid(text: &str) -> Oid {
    text.parse().unwrap()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

/// Runs a tool against a socket of ours that answers once; what the tool printed.
fn tool(
    words: &[&str],
    answer: impl FnOnce(&CommunityMessage<'_>, &mut [u8]) -> usize,
) -> (String, bool) {
    let socket = socket();
    let address = socket.local_addr().unwrap().to_string();
    let words: Vec<&str> =
        words.iter().map(|word| if *word == "HOST" { &address } else { *word }).collect();
    let mut command = Command::new(words[0]);
    // Or else a negative number would be an option.
    command.env("POSIXLY_CORRECT", "1");
    command.args(&words[1..]).env("MIBS", "").env("SNMPCONFPATH", "/nonexistent");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut buffer = [0; 65_535];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    let request = CommunityMessage::decode(&buffer[..length]).unwrap();
    let mut reply = [0; 65_000];
    let start = answer(&request, &mut reply);
    socket.send_to(&reply[start..], from).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.success())
}

/// Answers with one value for each varbind.
fn reply<'v>(
    request: &CommunityMessage<'_>,
    buffer: &mut [u8],
    varbinds: impl DoubleEndedIterator<Item = Varbind<'v>>,
) -> usize {
    let head = PduHead { kind: PduKind::Response, ..request.pdu.head };
    request.head.encode(buffer, &head, varbinds).unwrap()
}

#[test]
fn requests_of_the_tools_are_read() {
    if !testkit::is_installed("snmpget", "snmpget") {
        return;
    }
    let mut random = Random::from_seed(7);
    for round in 0..10 {
        let count = 1 + random.below(40) as usize;
        let asked: Vec<Oid> = (0..count)
            .map(|_| {
                let length = random.below(20);
                let numbers = (0..length).map(|_| {
                    let bits = 1 + random.below(31);
                    random.below(1 << bits) as u32
                });
                oid("1.3.6.1").child(&numbers.collect::<Vec<_>>()).unwrap()
            })
            .collect();
        let names: Vec<String> = asked.iter().map(|oid| format!(".{oid}")).collect();
        let version = if round % 2 == 0 { "-v1" } else { "-v2c" };
        let kind = ["snmpget", "snmpgetnext"][round / 2 % 2];
        let mut words = vec![kind, version, "-c", "a community", "-r0", "-t5", "HOST"];
        words.extend(names.iter().map(String::as_str));
        tool(&words, |request, buffer| {
            let expected = if version == "-v1" { Version::V1 } else { Version::V2c };
            assert_eq!(request.head.version, expected);
            assert_eq!(request.head.community, b"a community");
            let expected = if kind == "snmpget" { PduKind::Get } else { PduKind::GetNext };
            assert_eq!(request.pdu.head, PduHead::request(expected, request.pdu.head.request_id));
            let read: Vec<Oid> = request.pdu.varbinds.map(|one| one.oid.to_oid()).collect();
            assert_eq!(read, asked);
            assert!(request.pdu.varbinds.into_iter().all(|one| one.value == SnmpValue::Null));
            reply(request, buffer, request.pdu.varbinds.collect::<Vec<_>>().into_iter())
        });
    }
    tool(
        &["snmpbulkget", "-v2c", "-cx", "-r0", "-Cn1", "-Cr30", "HOST", ".1.3", ".1.4"],
        |request, buffer| {
            assert_eq!(request.pdu.head, PduHead::bulk(request.pdu.head.request_id, 1, 30));
            reply(request, buffer, request.pdu.varbinds.collect::<Vec<_>>().into_iter())
        },
    );
}

#[test]
fn values_of_the_tools_are_read() {
    if !testkit::is_installed("snmpset", "snmpset") {
        return;
    }
    let own = oid("1.3.6.1.4.1.8072");
    let cases: [(&str, &str, SnmpValue<'_>); 13] = [
        ("i", "-2147483648", SnmpValue::Integer(-2_147_483_648)),
        ("i", "128", SnmpValue::Integer(128)),
        ("u", "4294967295", SnmpValue::Gauge32(u32::MAX)),
        ("t", "4294967295", SnmpValue::TimeTicks(u32::MAX)),
        ("a", "192.0.2.255", SnmpValue::IpAddress(Ipv4Addr::new(192, 0, 2, 255))),
        ("s", "eth0", SnmpValue::OctetString(b"eth0")),
        ("x", "00ff80", SnmpValue::OctetString(&[0, 0xff, 0x80])),
        ("o", ".1.3.6.1.4.1.8072", SnmpValue::ObjectIdentifier(own.as_ref())),
        ("n", "", SnmpValue::Null),
        ("F", "0.25", SnmpValue::Float(0.25)),
        ("D", "-1e300", SnmpValue::Double(-1e300)),
        ("I", "-9223372036854775808", SnmpValue::Integer64(i64::MIN)),
        ("U", "18446744073709551615", SnmpValue::Unsigned64(u64::MAX)),
    ];
    for (kind, text, value) in cases {
        let (printed, done) = tool(
            &["snmpset", "-v2c", "-cx", "-r0", "HOST", ".1.3.6.1.4.1", kind, text],
            |request, buffer| {
                assert_eq!(request.pdu.head.kind, PduKind::Set);
                let read: Vec<_> = request.pdu.varbinds.map(|one| one.value).collect();
                assert_eq!(read, [value], "{kind} {text}");
                reply(request, buffer, request.pdu.varbinds.collect::<Vec<_>>().into_iter())
            },
        );
        assert!(done, "{kind} {text}: {printed}");
    }
}

#[test]
fn values_are_read_by_the_tools() {
    if !testkit::is_installed("snmpget", "snmpget") {
        return;
    }
    let own = oid("1.3.6.1.4.1.8072");
    let long = vec![b'x'; 40_000];
    let long_text = format!("STRING: \"{}\"", "x".repeat(40_000));
    let cases = [
        (SnmpValue::Integer(-129), "INTEGER: -129"),
        (SnmpValue::Integer(i32::MAX.into()), "INTEGER: 2147483647"),
        (SnmpValue::Gauge32(u32::MAX), "Gauge32: 4294967295"),
        (SnmpValue::Counter32(200), "Counter32: 200"),
        (SnmpValue::Counter64(u64::MAX), "Counter64: 18446744073709551615"),
        (SnmpValue::TimeTicks(123_456), "Timeticks: (123456) 0:20:34.56"),
        (SnmpValue::IpAddress(Ipv4Addr::new(10, 1, 2, 200)), "IpAddress: 10.1.2.200"),
        (SnmpValue::OctetString(b"eth0"), "STRING: \"eth0\""),
        (SnmpValue::OctetString(&long), &long_text),
        (SnmpValue::ObjectIdentifier(own.as_ref()), "OID: .1.3.6.1.4.1.8072"),
        (SnmpValue::Float(0.25), "Opaque: Float: 0.250000"),
        (SnmpValue::Double(-2.5), "Opaque: Float: -2.500000"),
        (SnmpValue::Integer64(-9), "Opaque: Int64: -9"),
        (SnmpValue::Unsigned64(u64::MAX), "Opaque: UInt64: 18446744073709551615"),
        (SnmpValue::Null, "NULL"),
        (SnmpValue::NoSuchObject, "No Such Object available on this agent at this OID"),
        (SnmpValue::NoSuchInstance, "No Such Instance currently exists at this OID"),
    ];
    for (value, text) in cases {
        let (printed, done) = tool(
            &["snmpget", "-v2c", "-cx", "-r0", "-On", "HOST", ".1.3.6.1.4.1.1"],
            |request, buffer| {
                let oid = request.pdu.varbinds.last().unwrap().oid;
                reply(request, buffer, [Varbind { oid, value }].into_iter())
            },
        );
        assert!(done, "{printed}");
        assert_eq!(printed.trim_end(), format!(".1.3.6.1.4.1.1 = {text}"));
    }
    let (printed, done) = tool(
        &["snmpget", "-v2c", "-cx", "-r0", "-Cf", "HOST", ".1.3.6", ".1.4"],
        |request, buffer| {
            let error_status = ErrorStatus::AUTHORIZATION_ERROR;
            let head = PduHead {
                kind: PduKind::Response,
                error_status,
                error_index: 2,
                ..request.pdu.head
            };
            let same = request.pdu.varbinds.collect::<Vec<_>>();
            request.head.encode(buffer, &head, same.into_iter()).unwrap()
        },
    );
    assert!(!done && printed.contains("authorizationError"), "{printed}");
}

/// Asks an agent once.
fn ask<'b>(
    agent: &Snmpd,
    version: Version,
    pdu: &PduHead,
    asked: &[OidRef<'_>],
    buffer: &'b mut [u8],
) -> CommunityMessage<'b> {
    let socket = socket();
    let head = CommunityHead { version, community: b"public" };
    let start = head.encode(buffer, pdu, asked.iter().map(|oid| Varbind::asked(*oid))).unwrap();
    socket.send_to(&buffer[start..], agent.address()).unwrap();
    let length = socket.recv(buffer).unwrap();
    let message = CommunityMessage::decode(&buffer[..length]).unwrap();
    assert_eq!(message.pdu.head.request_id, pdu.request_id);
    assert_eq!(message.pdu.head.kind, PduKind::Response);
    message
}

#[test]
fn answers_of_the_agent_are_read() {
    let Some(agent) = Snmpd::start("sysContact someone\nsysDescr a machine") else { return };
    let mut buffer = [0; 65_535];
    let (descr, up_time, contact) =
        (oid("1.3.6.1.2.1.1.1.0"), oid("1.3.6.1.2.1.1.3.0"), oid("1.3.6.1.2.1.1.4.0"));
    let asked = [descr.as_ref(), up_time.as_ref(), contact.as_ref()];
    for version in [Version::V1, Version::V2c] {
        for request_id in [1, i32::MAX, i32::MIN, -1] {
            let read = ask(
                &agent,
                version,
                &PduHead::request(PduKind::Get, request_id),
                &asked,
                &mut buffer,
            );
            let values: Vec<_> = read.pdu.varbinds.map(|one| one.value).collect();
            assert_eq!(values[0], SnmpValue::OctetString(b"a machine"));
            assert!(matches!(values[1], SnmpValue::TimeTicks(_)));
            assert_eq!(values[2], SnmpValue::OctetString(b"someone"));
        }
    }
    let missing = oid("1.3.6.1.2.1.1.99.0");
    let get = PduHead::request(PduKind::Get, 5);
    let asked = [descr.as_ref(), missing.as_ref()];
    let read = ask(&agent, Version::V1, &get, &asked, &mut buffer);
    assert_eq!(
        (read.pdu.head.error_status, read.pdu.head.error_index),
        (ErrorStatus::NO_SUCH_NAME, 2)
    );
    let read = ask(&agent, Version::V2c, &get, &asked, &mut buffer);
    let last = read.pdu.varbinds.last().unwrap().value;
    assert!(matches!(last, SnmpValue::NoSuchObject | SnmpValue::NoSuchInstance), "{last}");
    walk(&agent, &mut buffer);
}

/// The whole tree, as `snmpbulkwalk` prints it.
fn walk(agent: &Snmpd, buffer: &mut [u8]) {
    let mut names = Vec::new();
    let mut next = oid("1.3.6.1.2.1.1");
    let end = oid("1.3.6.1.2.1.4");
    for request_id in 0..1_000 {
        let bulk = PduHead::bulk(request_id, 0, 50);
        let read = ask(agent, Version::V2c, &bulk, &[next.as_ref()], buffer);
        let before = names.len();
        let found = read.pdu.varbinds.take_while(|one| one.oid < end.as_ref());
        names.extend(found.map(|one| one.oid.to_oid()));
        if names.len() == before {
            break;
        }
        next.set(names[names.len() - 1].as_ref());
    }
    assert!(names.is_sorted() && names.len() > 50, "{}", names.len());
    let mut printed = String::new();
    for tree in [".1.3.6.1.2.1.1", ".1.3.6.1.2.1.2", ".1.3.6.1.2.1.3"] {
        let mut command = Command::new("snmpbulkwalk");
        command.args(["-v2c", "-cpublic", "-On", "-Cc"]).arg(agent.address().to_string()).arg(tree);
        let output = command.env("MIBS", "").output().unwrap();
        printed += &String::from_utf8_lossy(&output.stdout);
    }
    let theirs: Vec<&str> =
        printed.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    let ours: Vec<String> = names.iter().map(|name| format!(".{name}")).collect();
    assert_eq!(ours, theirs);
}
