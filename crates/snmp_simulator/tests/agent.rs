//! The agent answers net-snmp's tools and a session, thousands of devices by one socket, and has the
//! faults that it is told to have.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::collections::HashMap;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use snmp::{
    AuthenticationProtocol, Completion, DeviceHandle, DeviceSettings, KernelSocket, KeyExtension,
    NextPoll, Oid, PrivacyProtocol, RequestKind, Security, SnmpSession, UsmSecret, UsmUser,
    Version, any_local_address,
};
use snmp_simulator::{Agent, AgentDevice, AgentFaults, AgentThread, Mib};
use testkit::Deadline;

/// The time since the first call, in ns.
fn now_ns() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed().as_nanos() as u64
}

fn start(count: u32, interfaces: u32, change: impl Fn(u32, &mut AgentDevice)) -> AgentThread {
    AgentThread::start_switches(count, interfaces, now_ns, change).unwrap()
}

fn session() -> SnmpSession<KernelSocket> {
    let socket = KernelSocket::bind(any_local_address(false), 16 << 20).unwrap();
    let mut session = SnmpSession::new(socket.window(), 5);
    session.add_socket(socket);
    session
}

fn public() -> Security {
    Security::Community { version: Version::V2c, community: b"public".to_vec() }
}

fn run(session: &mut SnmpSession<KernelSocket>, ended: &mut dyn FnMut(Completion<'_>)) {
    let (begun, deadline) = (Instant::now(), Deadline::default());
    while session.pending() > 0 {
        let now = begun.elapsed().as_nanos() as u64;
        if !matches!(session.poll(now, ended).unwrap(), NextPoll::Now) {
            std::thread::sleep(Duration::from_micros(100));
        }
        assert!(deadline.is_ahead(), "the session does not end");
    }
}

/// The columns that a poller asks for, of `count` interfaces: 5 each.
fn wanted(count: u32) -> Vec<Oid> {
    let columns = [[2, 2, 1, 13].as_slice(), &[2, 2, 1, 14], &[2, 2, 1, 20]];
    let columns = columns.into_iter().chain([[31, 1, 1, 1, 6].as_slice(), &[31, 1, 1, 1, 10]]);
    let columns: Vec<Oid> =
        columns.map(|c| Oid::new(&[1, 3, 6, 1, 2, 1]).unwrap().child(c).unwrap()).collect();
    let cells = (1..=count).flat_map(|index| columns.iter().map(move |c| c.child(&[index])));
    cells.map(Result::unwrap).collect()
}

#[test]
fn a_thousand_devices_are_asked_for_ninety_objects_each() {
    let agent = start(1_000, 18, |_, _| {});
    let mut session = session();
    let devices: Vec<DeviceHandle> = (0..1_000)
        .map(|index| session.add_device(DeviceSettings::new(agent.address(index), public())))
        .collect();
    let oids = wanted(18);
    assert_eq!(oids.len(), 90);
    for device in &devices {
        for part in oids.chunks(30) {
            session.submit(*device, RequestKind::Get, part.iter().map(Oid::as_ref), 0).unwrap();
        }
    }
    let mut values = 0;
    let begun = Instant::now();
    run(&mut session, &mut |one| {
        values +=
            one.result.unwrap().varbinds.filter(|one| one.value.as_integer().is_some()).count();
    });
    println!("{values} values in {:?}: {:?}", begun.elapsed(), session.counts());
    assert_eq!(values, 90_000);
}

#[test]
fn tools_walk_the_agent_by_every_version() {
    if !testkit::is_installed("snmpwalk", "snmpwalk") {
        return;
    }
    let word = || UsmSecret::Password(b"a long password".to_vec());
    let user = UsmUser::new(b"me").unwrap();
    let user = user.with_authentication(AuthenticationProtocol::Sha256, word()).unwrap();
    let aes = PrivacyProtocol::Aes128;
    let user = user.with_privacy(aes, KeyExtension::Blumenthal, word()).unwrap();
    let agent = start(2, 7, |_, device| device.users.push(user.clone()));
    let address = agent.address(1).to_string();
    let count = Mib::with_interfaces("switch", 7).objects().len();
    let secure = "-v3 -u me -l authPriv -a SHA-256 -A a_long_password -x AES -X a_long_password";
    let secure: Vec<String> = secure.split(' ').map(|word| word.replace('_', " ")).collect();
    let plain = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (tool, words, missing) in [
        ("snmpwalk", plain("-v1 -cpublic"), 7 * 3),
        ("snmpwalk", plain("-v2c -cpublic"), 0),
        ("snmpbulkwalk", plain("-v2c -cpublic"), 0),
        ("snmpbulkwalk", secure, 0),
    ] {
        let mut command = Command::new(tool);
        command.args(&words).args(["-On", "-t60", "-r2", &address, ".1"]).env("MIBS", "");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let walked = Mib::from_walk(&text).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(walked.objects().len(), count - missing, "{tool} {words:?}: {said}");
    }
}

#[test]
fn counters_move_and_begin_anew_after_a_restart() {
    let agent = start(1, 2, |_, _| {});
    let mut session = session();
    let device = session.add_device(DeviceSettings::new(agent.address(0), public()));
    let oids =
        ["1.3.6.1.2.1.1.3.0".parse::<Oid>().unwrap(), "1.3.6.1.2.1.31.1.1.1.6.1".parse().unwrap()];
    let mut ask = || {
        session.submit(device, RequestKind::Get, oids.iter().map(Oid::as_ref), 0).unwrap();
        let mut values = Vec::new();
        run(&mut session, &mut |one| {
            values =
                one.result.unwrap().varbinds.map(|one| one.value.as_integer().unwrap()).collect();
        });
        values
    };
    std::thread::sleep(Duration::from_millis(60));
    let first = ask();
    std::thread::sleep(Duration::from_millis(60));
    let second = ask();
    assert!(first[0] + 5 < second[0] && first[1] + 50 < second[1], "{first:?} {second:?}");
    let restarted = Instant::now();
    agent.with(|agent, now_ns| agent.device_mut(Agent::address(0)).unwrap().restart(now_ns));
    let third = ask();
    // No more than the hundredths of a second since then.
    let most = restarted.elapsed().as_millis() as i128 / 10 + 1;
    assert!(third[0] <= most, "{third:?} within {most} hundredths");
    // Counters go with the time.
    assert!(third[0] >= second[0] || third[1] < second[1], "{second:?} {third:?}");
}

#[test]
fn faults_are_met_by_the_session() {
    let faults = [
        AgentFaults { lost_permille: 300, ..AgentFaults::default() },
        AgentFaults { delay_ns: 30_000_000, ..AgentFaults::default() },
        AgentFaults { is_dead: true, ..AgentFaults::default() },
        AgentFaults { wrong_id_permille: 1_000, ..AgentFaults::default() },
        AgentFaults { wrong_source_permille: 1_000, ..AgentFaults::default() },
        AgentFaults { garbage_permille: 1_000, ..AgentFaults::default() },
        AgentFaults { varbinds_max: 4, ..AgentFaults::default() },
        AgentFaults { silent_above: 4, ..AgentFaults::default() },
    ];
    let agent = start(80, 2, |index, device| device.faults = faults[index as usize % 8].clone());
    let mut session = session();
    for index in 0..80 {
        let settings = DeviceSettings::new(agent.address(index), public());
        let device =
            session.add_device(DeviceSettings { timeout_ns: 100_000_000, tries: 8, ..settings });
        let oids = wanted(1);
        session
            .submit(device, RequestKind::Get, oids.iter().map(Oid::as_ref), index.into())
            .unwrap();
    }
    let mut ends: HashMap<u64, Vec<String>> = HashMap::new();
    run(&mut session, &mut |one| {
        let text = match one.result {
            Ok(pdu) => pdu.head.error_status.to_string(),
            Err(error) => error.to_string(),
        };
        ends.entry(one.token % 8).or_default().push(text);
    });
    let all = |kind: u64, text: &str| ends[&kind].iter().all(|end| end.contains(text));
    assert!(all(1, "noError") && all(2, "no answer") && all(3, "no answer"), "{ends:?}");
    assert!(all(4, "came from 127.129.") && all(5, "no message"), "{ends:?}");
    assert!(all(6, "tooBig") && all(7, "no answer"), "{ends:?}");
    let lost = ends[&0].iter().filter(|end| *end == "noError").count();
    assert!(lost >= 8 && session.counts().repeated > 10, "{ends:?}");
}
