//! Sessions on a simulated network and a simulated clock: loss, delay, duplicates, wrong senders,
//! dead devices, small buffers.  Then on a real socket against net-snmp's agent.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use crate::common::{Reply, SimSocket};
use snmp::{
    CommunityMessage, DeviceSettings, KernelSocket, NextPoll, Oid, PduHead, PduKind, Refusal,
    RequestError, RequestKind, Security, SnmpSession, SnmpValue, SubmitError, Varbind, Version,
    any_local_address,
};
use testkit::{Deadline, PATIENCE, Snmpd, allocations_of};

/// By device and token, the value or the error.
type Results = HashMap<(usize, u64), Result<i128, RequestError>>;

/// Makes an answer from the address that was asked and the request.
type MakeAnswer = fn(SocketAddr, &[u8]) -> Vec<u8>;

const MS: u64 = 1_000_000;

fn address(index: usize) -> SocketAddr {
    let [_, _, high, low] = (index as u32 + 1).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, high, low)), 161)
}

fn public() -> Security {
    Security::Community { version: Version::V2c, community: b"public".to_vec() }
}

fn device(index: usize) -> DeviceSettings {
    DeviceSettings::new(address(index), public())
}

fn up_time() -> Oid {
    "1.3.6.1.2.1.1.3.0".parse().unwrap()
}

/// An answer with the last byte of the address as the value of each object.
fn answer(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let request = CommunityMessage::decode(bytes).unwrap();
    let IpAddr::V4(ip) = to.ip() else { panic!("no IPv6 here") };
    let value = SnmpValue::Gauge32(ip.octets()[3].into());
    let varbinds: Vec<_> = request.pdu.varbinds.map(|one| Varbind { value, ..one }).collect();
    let head = PduHead { kind: PduKind::Response, ..request.pdu.head };
    let mut buffer = vec![0; 65_535];
    let start = request.head.encode(&mut buffer, &head, varbinds.into_iter()).unwrap();
    buffer.split_off(start)
}

fn prompt(to: SocketAddr, bytes: &[u8]) -> Vec<Reply> {
    vec![(to, answer(to, bytes), MS)]
}

fn session(net: &SimSocket, window: usize) -> SnmpSession<SimSocket> {
    let mut session = SnmpSession::new(window, 0x1234_5678_9abc_def0);
    session.add_socket(net.clone());
    session
}

/// Asks `count` devices, `each` requests of each; the value or the error of each, and the time.
fn round(
    net: &SimSocket,
    session: &mut SnmpSession<SimSocket>,
    count: usize,
    each: u64,
) -> (Results, HashMap<usize, u64>) {
    let oid = up_time();
    let handles: Vec<_> = (0..count).map(|index| session.add_device(device(index))).collect();
    for token in 0..each {
        for handle in &handles {
            session.submit(*handle, RequestKind::Get, [oid.as_ref()].into_iter(), token).unwrap();
        }
    }
    let (mut results, mut times) = (HashMap::new(), HashMap::new());
    net.run(session, &mut |one, now_ns| {
        let value =
            one.result.map(|mut pdu| pdu.varbinds.next().unwrap().value.as_integer().unwrap());
        let before = results.insert((one.device.index(), one.token), value);
        assert!(before.is_none(), "ended twice");
        times.insert(one.device.index(), now_ns - 1_000 * MS);
    });
    assert_eq!(results.len(), count * each as usize);
    (results, times)
}

#[test]
fn each_request_ends_once_with_its_own_answer() {
    let net = SimSocket::new(Box::new(|to, bytes, _| prompt(to, bytes)));
    let mut session = session(&net, 100);
    let (results, _) = round(&net, &mut session, 200, 7);
    for ((index, _), value) in results {
        assert_eq!(value, Ok(index as i128 + 1));
    }
    let counts = session.counts();
    assert_eq!((counts.requests, counts.sent, counts.answered), (1_400, 1_400, 1_400));
    assert_eq!((counts.repeated, counts.past, counts.unknown), (0, 0, 0));
}

#[test]
fn lost_datagrams_are_sent_again() {
    let net = SimSocket::new(Box::new(|to, bytes, _| prompt(to, bytes)));
    net.0.borrow_mut().lost = 200;
    let mut session = session(&net, 100);
    let (results, _) = round(&net, &mut session, 250, 4);
    let failed = results.values().filter(|value| value.is_err()).count();
    // A try succeeds with 64 of 100: 5 tries fail with 6 of 1,000.
    assert!(failed < 25, "{failed}");
    let counts = session.counts();
    assert!(counts.repeated > 300, "{counts:?}");
    assert_eq!(counts.answered + counts.timeouts, 1_000);
}

#[test]
fn duplicates_late_and_unknown_answers_are_counted() {
    let net = SimSocket::new(Box::new(|to, bytes, _| {
        let reply = answer(to, bytes);
        let mut other = reply.clone();
        // The request id begins after the PDU's head; any other id is unknown.
        let at = other.windows(6).position(|part| part == b"public").unwrap() + 6 + 4;
        other[at] ^= 0x55;
        vec![(to, reply.clone(), MS), (to, reply, 3 * MS), (to, other, MS / 2)]
    }));
    let mut session = session(&net, 100);
    let (results, _) = round(&net, &mut session, 10, 3);
    assert!(results.values().all(Result::is_ok));
    let now = net.0.borrow().now_ns;
    net.0.borrow_mut().pass_to(now + 10 * MS);
    session.poll(now + 10 * MS, &mut |_| panic!("nothing is pending")).unwrap();
    let counts = session.counts();
    assert_eq!((counts.answered, counts.received), (30, 90));
    assert_eq!(counts.past + counts.unknown, 60, "{counts:?}");
}

#[test]
fn answers_of_others_are_refused_unless_that_is_allowed() {
    // Each device's answer comes from its neighbour, and then from another port.
    for by_port in [false, true] {
        let net = SimSocket::new(Box::new(move |to, bytes, _| {
            let mut from = to;
            if by_port {
                from.set_port(7);
            } else {
                from.set_ip(Ipv4Addr::new(10, 9, 9, 9).into());
            }
            vec![(from, answer(to, bytes), MS)]
        }));
        for is_lenient in [false, true] {
            let mut session = session(&net, 100);
            let handle = session.add_device(DeviceSettings {
                is_source_address_lenient: is_lenient && !by_port,
                is_source_port_lenient: is_lenient && by_port,
                ..device(4)
            });
            session.submit(handle, RequestKind::Get, [up_time().as_ref()].into_iter(), 0).unwrap();
            let mut result = None;
            net.run(&mut session, &mut |one, _| result = Some(one.result.map(|pdu| pdu.head.kind)));
            if is_lenient {
                assert_eq!(result, Some(Ok(PduKind::Response)));
                continue;
            }
            let error = result.unwrap().unwrap_err();
            let RequestError::Timeout { tries: 5, refusal: Some(Refusal::Address(from)) } = error
            else {
                panic!("{error}");
            };
            assert!(error.to_string().ends_with(&format!("an answer came from {from}")), "{error}");
            assert_eq!(session.counts().wrong_address, 5);
        }
    }
}

#[test]
fn what_is_no_answer_is_refused_and_said() {
    let cases: [(MakeAnswer, &str); 4] = [
        (
            |_, _| b"\x30\x84\xff\xff\xff\xff\x02".to_vec(),
            "an answer is no message: byte 0: length 4294967295",
        ),
        (|_, bytes| bytes.to_vec(), "a Get came instead of an answer"),
        (
            |to, bytes| {
                let mut reply = answer(to, bytes);
                let at = reply.windows(6).position(|part| part == b"public").unwrap();
                reply[at] = b'P';
                reply
            },
            "an answer has another version or community",
        ),
        (
            |to, bytes| {
                let mut reply = answer(to, bytes);
                reply[4] = 0;
                reply
            },
            "an answer has another version or community",
        ),
    ];
    for (make, text) in cases {
        let net = SimSocket::new(Box::new(move |to, bytes, _| vec![(to, make(to, bytes), MS)]));
        let mut session = session(&net, 100);
        let (results, _) = round(&net, &mut session, 1, 1);
        let error = results[&(0, 0)].unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_dead_device_ends_after_its_configured_waits_and_delays_no_other() {
    let is_dead = |address: SocketAddr| {
        let IpAddr::V4(ip) = address.ip() else { return false };
        ip.octets()[3] % 10 == 0
    };
    let net = SimSocket::new(Box::new(move |to, bytes, _| match is_dead(to) {
        true => Vec::new(),
        false => vec![(to, answer(to, bytes), 20 * MS)],
    }));
    // Room for fewer answers than there are dead devices.
    let mut session = session(&net, 50);
    let (results, times) = round(&net, &mut session, 2_000, 2);
    for ((index, _), value) in results {
        let dead = is_dead(address(index));
        assert_eq!(value.is_err(), dead);
        let ms = times[&index] / MS;
        if dead {
            assert!((10_000..13_000).contains(&ms), "{index}: {ms} ms");
        } else {
            assert!(ms < 6_000, "{index}: {ms} ms");
        }
    }
}

#[test]
fn waits_are_as_configured_until_a_round_trip_is_known() {
    let net = SimSocket::new(Box::new(|_, _, _| Vec::new()));
    let mut session = session(&net, 50);
    let handle = session.add_device(DeviceSettings { tries: 4, backoff: 2.0, ..device(0) });
    session.submit(handle, RequestKind::Get, [up_time().as_ref()].into_iter(), 0).unwrap();
    let mut result = None;
    let ns = net.run(&mut session, &mut |one, _| result = Some(one.result.err()));
    assert_eq!(result, Some(Some(RequestError::Timeout { tries: 4, refusal: None })));
    let sent: Vec<u64> = net.0.borrow().sent.iter().map(|(at, _)| at / 1_000_000_000).collect();
    assert_eq!(sent, [1, 3, 7, 15]);
    assert_eq!(ns / 1_000_000_000, 30);
}

#[test]
fn a_request_may_have_some_of_the_tries() {
    let net = SimSocket::new(Box::new(|_, _, _| Vec::new()));
    let mut session = session(&net, 50);
    let handle = session.add_device(DeviceSettings { tries: 4, backoff: 2.0, ..device(0) });
    let mut results = Vec::new();
    for tries in [0..1, 1..u32::MAX, 7..9] {
        let oids = [up_time()];
        let oids = oids.iter().map(Oid::as_ref);
        session.submit_tries(handle, RequestKind::Get, oids, 0, tries).unwrap();
        net.run(&mut session, &mut |one, _| results.extend(one.result.err()));
    }
    let tries = results.iter().map(|error| match error {
        RequestError::Timeout { tries, .. } => *tries,
        other => panic!("{other}"),
    });
    assert!(tries.eq([1, 4, 4]), "{results:?}");
    let sent: Vec<u64> = net.0.borrow().sent.iter().map(|(at, _)| at / 1_000_000_000).collect();
    let waits: Vec<u64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 2 s, then 4, 8, 16, then the last again.
    assert_eq!(waits, [2, 4, 8, 16], "{sent:?}");
}

#[test]
fn a_lost_request_is_repeated_soon_when_the_round_trip_is_known() {
    let net = SimSocket::new(Box::new(|to, bytes, _| prompt(to, bytes)));
    let mut session = session(&net, 50);
    let handle = session.add_device(device(0));
    let oid = up_time();
    for token in 0..20 {
        if token == 19 {
            // The next datagram is lost.
            net.0.borrow_mut().lost = 1_000;
        }
        let submit = |session: &mut SnmpSession<SimSocket>| {
            session.submit(handle, RequestKind::Get, [oid.as_ref()].into_iter(), token).unwrap();
        };
        submit(&mut session);
        if token == 19 {
            let now = net.0.borrow().now_ns;
            session.poll(now, &mut |_| {}).unwrap();
            net.0.borrow_mut().lost = 0;
        }
        let ns = net.run(&mut session, &mut |one, _| assert!(one.result.is_ok()));
        if token == 19 {
            assert!((150 * MS..250 * MS).contains(&ns), "{ns}");
        }
    }
    assert!(session.round_trip_ns(handle).unwrap().abs_diff(MS) < MS / 10);
}

#[test]
fn answers_never_overflow_the_window() {
    let net = SimSocket::new(Box::new(|to, bytes, _| vec![(to, answer(to, bytes), 30 * MS)]));
    net.0.borrow_mut().room = 100;
    let mut session = session(&net, 100);
    let (results, _) = round(&net, &mut session, 2_000, 1);
    assert!(results.values().all(Result::is_ok));
    assert_eq!(net.0.borrow().dropped, 0);
    assert_eq!(session.counts().repeated, 0);
}

#[test]
fn a_device_has_no_more_requests_on_the_way_than_it_may() {
    for most in [1, 3] {
        let (mut here, mut highest) = (Vec::<u64>::new(), 0);
        let (sender, receiver) = std::sync::mpsc::channel();
        let net = SimSocket::new(Box::new(move |to, bytes, now| {
            here.retain(|end| *end > now);
            here.push(now + 5 * MS);
            highest = highest.max(here.len());
            sender.send(highest).unwrap();
            vec![(to, answer(to, bytes), 5 * MS)]
        }));
        let mut session = session(&net, 100);
        let handle = session.add_device(DeviceSettings { in_flight_max: most, ..device(0) });
        for token in 0..20 {
            session
                .submit(handle, RequestKind::Get, [up_time().as_ref()].into_iter(), token)
                .unwrap();
        }
        let mut tokens = Vec::new();
        net.run(&mut session, &mut |one, _| tokens.push(one.token));
        assert_eq!(tokens, (0..20).collect::<Vec<_>>());
        assert_eq!(receiver.try_iter().max(), Some(most as usize));
    }
}

#[test]
fn a_system_that_takes_no_more_is_waited_for() {
    let net = SimSocket::new(Box::new(|to, bytes, _| prompt(to, bytes)));
    let mut session = session(&net, 1_000);
    let oid = up_time();
    for index in 0..200 {
        let handle = session.add_device(device(index));
        session.submit(handle, RequestKind::Get, [oid.as_ref()].into_iter(), 0).unwrap();
    }
    net.0.borrow_mut().takes = 10;
    for _ in 0..5 {
        let now = net.0.borrow().now_ns;
        assert!(session.poll(now, &mut |_| {}).is_ok());
    }
    assert_eq!(session.counts().sent, 10);
    net.0.borrow_mut().takes = usize::MAX;
    let mut ended = 0;
    net.run(&mut session, &mut |one, _| ended += usize::from(one.result.is_ok()));
    assert_eq!((ended, session.counts().sent), (200, 200));
}

#[test]
fn ids_of_16_bits_are_used_for_those_who_want_them() {
    let net = SimSocket::new(Box::new(|to, bytes, _| {
        let id = CommunityMessage::decode(bytes).unwrap().pdu.head.request_id;
        assert!((0..0x8000).contains(&id));
        prompt(to, bytes)
    }));
    let mut session = session(&net, 100);
    for index in 0..50 {
        let settings = DeviceSettings { has_16_bit_request_ids: true, ..device(index) };
        let handle = session.add_device(settings);
        for token in 0..4 {
            session
                .submit(handle, RequestKind::Get, [up_time().as_ref()].into_iter(), token)
                .unwrap();
        }
    }
    let mut ended = 0;
    net.run(&mut session, &mut |one, _| ended += usize::from(one.result.is_ok()));
    assert_eq!(ended, 200);
}

#[test]
fn removed_devices_and_long_requests_end_with_an_error() {
    let net = SimSocket::new(Box::new(|_, _, _| Vec::new()));
    let mut session = session(&net, 100);
    let handle = session.add_device(device(0));
    let oid = up_time();
    for token in 0..5 {
        session.submit(handle, RequestKind::Get, [oid.as_ref()].into_iter(), token).unwrap();
    }
    let long = (0..6_000).map(|_| oid.as_ref());
    assert_eq!(session.submit(handle, RequestKind::Get, long, 9), Err(SubmitError::TooLong));
    let now = net.0.borrow().now_ns;
    session.poll(now, &mut |_| {}).unwrap();
    session.remove_device(handle);
    let refused = session.submit(handle, RequestKind::Get, [oid.as_ref()].into_iter(), 9);
    assert_eq!(refused, Err(SubmitError::Removed));
    let mut errors = Vec::new();
    net.run(&mut session, &mut |one, _| errors.push((one.token, one.result.unwrap_err())));
    errors.sort_by_key(|(token, _)| *token);
    assert_eq!(errors, (0..5).map(|token| (token, RequestError::Removed)).collect::<Vec<_>>());
}

/// Asks and waits on a real socket.
fn run_real(
    session: &mut SnmpSession<KernelSocket>,
    begun: Instant,
    ended: &mut dyn FnMut(snmp::Completion<'_>),
) {
    let deadline = Deadline::default();
    while session.pending() > 0 {
        let now = begun.elapsed().as_nanos() as u64;
        if !matches!(session.poll(now, ended).unwrap(), NextPoll::Now) {
            std::thread::sleep(Duration::from_micros(100));
        }
        assert!(deadline.is_ahead(), "the session does not end");
    }
}

#[test]
fn a_real_agent_is_asked_and_nothing_is_allocated() {
    let Some(agent) = Snmpd::start("") else { return };
    let socket = KernelSocket::bind(any_local_address(false), 1 << 20).unwrap();
    let mut session = SnmpSession::new(socket.window(), 99);
    session.add_socket(socket);
    let settings = DeviceSettings::new(agent.address(), public());
    // However busy the machine is, nothing is asked again.
    let settings = DeviceSettings { timeout_ns: PATIENCE.as_nanos() as u64, ..settings };
    let handle = session.add_device(settings);
    let oids: Vec<Oid> =
        [1, 3, 4, 5, 6].iter().map(|n| format!("1.3.6.1.2.1.1.{n}.0").parse().unwrap()).collect();
    let begun = Instant::now();
    let mut answered = 0;
    // Tables grow to what was in flight at once, which a loaded machine may reach late.
    let rounds = 6;
    let mut allocated = Vec::new();
    for _ in 0..rounds {
        let ((), allocations) = allocations_of(|| {
            for token in 0..100 {
                let asked = if token % 2 == 0 { RequestKind::Get } else { RequestKind::GetNext };
                let oids = oids.iter().map(Oid::as_ref);
                session.submit(handle, asked, oids, token).unwrap();
            }
            run_real(&mut session, begun, &mut |one| {
                assert_eq!(one.result.unwrap().varbinds.len(), 5);
                answered += 1;
            });
        });
        allocated.push(allocations.count);
    }
    assert!(allocated[1..].contains(&0), "{allocated:?}");
    assert_eq!(answered, 100 * rounds);
    assert_eq!(session.counts().repeated, 0);
}
