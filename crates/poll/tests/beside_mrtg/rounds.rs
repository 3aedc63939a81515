//! Rounds of devices and programs, into databases and logs.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use snmp::Oid;
use snmp_simulator::{Agent, AgentDevice, AgentThread, Mib, MibObject, MibValue};
use testkit::{Random, Snmpd};

use crate::beside_mrtg::site::{BEGIN_S, Site, now_ns};

const SEED: u64 = 14;

/// Rounds of a history.
const ROUNDS: i64 = 6;

/// Interfaces of each simulated device.
const INTERFACES: u32 = 12;

/// Columns of counters: in, out, and the same in 64 bits.
const COLUMNS: [(&[u32], bool); 4] = [
    (&[1, 3, 6, 1, 2, 1, 2, 2, 1, 10], false),
    (&[1, 3, 6, 1, 2, 1, 2, 2, 1, 16], false),
    (&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6], true),
    (&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 10], true),
];

/// Counters that stand still while both sides read them, and grow between rounds.
struct Counters {
    random: Random,
    values: Vec<[u64; 4]>,
}

impl Counters {
    fn new(random: Random) -> Self {
        let values = (0..u64::from(INTERFACES)).map(|index| {
            // Some are close to their end.
            let near = u64::from(u32::MAX) - 1_000_000 * index;
            [near, 5 * index, near, (u64::MAX >> 9) * (index % 3)]
        });
        Self { random, values: values.collect() }
    }

    fn grow(&mut self) {
        for counters in &mut self.values {
            for counter in counters {
                let most = [1_000, 4_000_000, 300_000_000][self.random.below(3) as usize];
                *counter = counter.wrapping_add(self.random.below(most));
            }
        }
    }

    /// A device whose counters have these values, and that was started long ago.
    fn mib(&self, round: i64) -> Arc<Mib> {
        let mib = Mib::with_interfaces("switch", INTERFACES);
        let mut objects = mib.objects().to_vec();
        let oid = Oid::new(&[1, 3, 6, 1, 2, 1, 1, 3, 0]).unwrap();
        let value = MibValue::TimeTicks(100_000_000 + 30_000 * round as u32);
        objects.push(MibObject { oid, value });
        for (interface, counters) in (1..).zip(&self.values) {
            for ((column, is_wide), counter) in COLUMNS.iter().zip(counters) {
                let oid = Oid::new(column).unwrap().child(&[interface]).unwrap();
                let value = match is_wide {
                    true => MibValue::Counter64(0.0, *counter),
                    false => MibValue::Counter32(0.0, *counter as u32),
                };
                objects.push(MibObject { oid, value });
            }
        }
        Arc::new(Mib::new(objects))
    }
}

/// Targets of every form over two devices, and over programs that print the files `in` and `out`.
fn targets(addresses: [std::net::SocketAddr; 2], random: &mut Random, is_rrdtool: bool) -> String {
    let hosts = addresses.map(|address| format!("public@{}:{}", address.ip(), address.port()));
    let [first, second] = [format!("{}:1:2:1:2", hosts[0]), format!("{}:1:2:1:1", hosts[1])];
    let number = "1.3.6.1.2.1.2.2.1";
    let definitions = [
        // MRTG rounds a value for all that follow when a target is that value alone, so what is
        // computed comes first.
        format!("1:{first} + 2:{second}"),
        format!("( \\eth3:{first} * 8 ) / 3 + 1:{second}"),
        "`cat FOLDER/in FOLDER/out` * 3 - `echo 1; echo 2.25`".to_owned(),
        format!("abs( 1:{second} - 2:{first} ) % 1000007"),
        format!("1:{first}"),
        format!("-2:{first}"),
        format!("\\eth3:{first}"),
        format!("#port4:{second}"),
        format!("/10.0.0.5:{second}"),
        format!("!02-00-00-00-00-06:{first}"),
        format!("ifInOctets.7&ifOutOctets.7:{second}"),
        format!("{number}.10.8&{number}.16#port8:{first}"),
        format!("ifHCInOctets.9&PseudoZero:{first}"),
        format!("WaLK2.{number}.10&GeTNEXT.{number}.16.3:{first}"),
        format!("CnTWaLK.{number}.10&PseudoOne:{first}"),
        format!("{number}.10.IndexPOS&{number}.16.IndexPOS:{first}").replace(".IndexPOS", ".1"),
        format!("44:{first}"),
        format!("\\none:{second}"),
        "`cat FOLDER/in FOLDER/out`".to_owned(),
        "`echo UNKNOWN; cat FOLDER/out`".to_owned(),
    ];
    let kinds: &[&str] = match is_rrdtool {
        true => &["", "", "gauge", "absolute", "derive", "perhour", "gauge, unknaszero"],
        false => {
            &["", "", "gauge", "absolute", "perhour", "perminute", "unknaszero", "gauge, bits"]
        }
    };
    let mut text = String::new();
    for (number, definition) in definitions.iter().enumerate() {
        let kind = random.one_of(kinds);
        let most = random.one_of(&["125000000", "1250000", "1000", "99999999999999"]);
        write!(
            text,
            "Target[t{number}]: {definition}\nTitle[t{number}]: x\nMaxBytes[t{number}]: {most}\n\
             Options[t{number}]: growright, {kind}\n"
        )
        .unwrap();
        if random.below(3) == 0 {
            writeln!(text, "AbsMax[t{number}]: 99999999999999").unwrap();
        }
        if random.below(3) == 0 {
            writeln!(text, "noHC[t{number}]: yes").unwrap();
        }
        if random.below(6) == 0 {
            writeln!(text, "RRDRowCount[t{number}]: 100\nRRDRowCount1d[t{number}]: 9").unwrap();
        }
    }
    text
}

/// A history of both sides in which agents and programs give new values each round.
fn history(is_rrdtool: bool, interval_s: i64, seed: u64) {
    let Some(mut site) = Site::new() else { return };
    let mut random = Random::from_seed(seed);
    let mut agents = Agent::bind(0).unwrap();
    let mut counters = Counters::new(random);
    for index in 0..2 {
        agents.add(Agent::address(index), AgentDevice::new(counters.mib(0)));
    }
    let agents = AgentThread::start(agents, now_ns).unwrap();
    let addresses = [0, 1].map(|index| agents.address(index));
    let targets = targets(addresses, &mut random, is_rrdtool);
    let format = if is_rrdtool { "rrdtool" } else { "rateup" };
    let (minutes, seconds) = (interval_s / 60, interval_s % 60);
    site.configure(&format!("LogFormat: {format}\nInterval: {minutes}:{seconds:02}\n{targets}"));
    for round in 0..ROUNDS {
        counters.grow();
        let mib = counters.mib(round);
        agents.with(|agents, _| {
            for index in 0..2 {
                agents.device_mut(Agent::address(index)).unwrap().mib = Arc::clone(&mib);
            }
        });
        for side in ["mrtg", "whit"] {
            let folder = site.path(side);
            std::fs::write(folder.join("in"), format!("{}\n", 1_000 * round * round)).unwrap();
            std::fs::write(folder.join("out"), format!("{}.5\n", 77 * round)).unwrap();
        }
        // The third round comes late, the last much too late.
        let late = [0, 2, interval_s / 3, 0, 1, 3 * interval_s][round as usize % 6];
        let time_s = BEGIN_S + round * interval_s + late;
        let (theirs, code) = site.mrtg(time_s);
        if interval_s == 10 {
            // As from cron: what was learned of devices and databases is lost.
            site.restart();
        }
        let (ours, report) = site.whit(time_s);
        let counts = (report.known_count, report.unknown_count);
        assert_eq!(code, 91, "seed {seed}, round {round}: {theirs}");
        assert!(counts.0 > 14 && counts.1 > 1, "seed {seed}: {counts:?} {ours:?} {theirs}");
        // The last state says what came before; RRDtool prints one in 20 ms.
        if is_rrdtool && round + 1 < ROUNDS {
            continue;
        }
        let extension = if is_rrdtool { "rrd" } else { "log" };
        for number in 0..report.readings.len() {
            let name = format!("t{number}.{extension}");
            let case = format!("seed {seed}, round {round}: {targets}\n{theirs}\n{ours:?}");
            site.assert_same(&name, &case);
        }
    }
}

#[test]
fn databases_have_the_values_of_mrtg() {
    history(true, 300, SEED);
}

#[test]
fn databases_of_short_intervals_have_the_values_of_mrtg() {
    history(true, 10, SEED + 1);
}

#[test]
fn logs_have_the_lines_of_mrtg() {
    history(false, 300, SEED + 2);
}

/// What net-snmp's agent is to answer: it runs this for the counters of the loopback.
const PASS: &str =
    "#!/bin/sh\n[ \"$1\" = -g ] && grep -A2 -x -F -e \"$2\" \"$(dirname \"$0\")/values\"\nexit 0\n";

/// Lines of `snmpd.conf` that take the loopback's counters from the file `values`.
pub(crate) fn pass_lines(site: &Site) -> String {
    std::fs::write(site.path("pass"), PASS).unwrap();
    let line = |column: &[u32]| {
        let (oid, script) = (Oid::new(column).unwrap(), site.path("pass"));
        format!("pass -p 10 .{oid}.1 /bin/sh {}\n", script.display())
    };
    COLUMNS.iter().map(|(column, _)| line(column)).collect()
}

pub(crate) fn write_values(folder: &Path, values: [u64; 4]) {
    let mut text = String::new();
    for ((column, is_wide), value) in COLUMNS.iter().zip(values) {
        let kind = if *is_wide { "counter64" } else { "counter" };
        let oid = Oid::new(column).unwrap();
        writeln!(text, ".{oid}.1\n{kind}\n{value}").unwrap();
    }
    std::fs::write(folder.join("values"), text).unwrap();
}

#[test]
fn a_real_agent_gives_both_the_same_values() {
    let Some(mut site) = Site::new() else { return };
    let mut lines = "createUser me SHA \"a long password\" AES \"another password\"\n\
                     rouser me priv\nsysName the name\n"
        .to_owned();
    lines.push_str(&pass_lines(&site));
    let Some(agent) = Snmpd::start(&lines) else { return };
    let port = agent.address().port();
    let host = |version: u32| format!("public@127.0.0.1:{port}:2:2:1:{version}");
    for (format, extension) in [("rrdtool", "rrd"), ("rateup", "log")] {
        let definitions = [
            format!("1:{}", host(1)),
            format!("1:{}", host(2)),
            format!("\\lo:{}", host(1)),
            format!("#lo:{}", host(2)),
            format!("/127.0.0.1:{}", host(2)),
            format!("-\\lo:{}", host(3)),
            format!("ifInOctets.1&ifHCOutOctets.1:{}", host(2)),
            format!("1:{} * 2 + #lo:{}", host(3), host(1)),
        ];
        let mut text = format!("LogFormat: {format}\nEnableSnmpV3: yes\n");
        for (number, definition) in definitions.iter().enumerate() {
            let options = "username => 'me', authprotocol => 'sha', authpassword => 'a long \
                           password', privprotocol => 'aes', privpassword => 'another password'";
            write!(
                text,
                "Target[t{number}]: {definition}\nTitle[t{number}]: x\n\
                 MaxBytes[t{number}]: 1250000000\nSnmpOptions[t{number}]: {options}\n"
            )
            .unwrap();
        }
        // MRTG needs a module for version 3 that Debian does not install with it.
        let of_mrtg = text.replace(":1:3", ":1:2").replace("EnableSnmpV3: yes\n", "");
        site.configure_each(&of_mrtg, &text);
        for round in 0..3 {
            let round_s = BEGIN_S + 300 * i64::try_from(round).unwrap();
            let grown = 123_456_789 * round;
            write_values(
                site.path("").as_path(),
                [4_000_000_000 + grown / 4, 17 + grown, (7 << 33) + grown, (9 << 40) + 2 * grown],
            );
            // The agent caches what a command said for a second at most.
            let (theirs, code) = site.mrtg(round_s);
            let (ours, report) = site.whit(round_s);
            assert_eq!((code, report.unknown_count), (0, 0), "{theirs} {ours:?}");
            for number in (0..definitions.len()).filter(|_| format == "rateup" || round == 2) {
                let case = format!("{format} {round}: {}", definitions[number]);
                site.assert_same(&format!("t{number}.{extension}"), &case);
            }
        }
    }
}
