//! The file of interface numbers: MRTG's is read, and ours has its lines.

use std::sync::Arc;

use poll::ask::{InterfaceCache, InterfaceCacheFile};
use snmp_simulator::{Agent, AgentDevice, AgentThread, Mib, MibObject, MibValue};

use crate::beside_mrtg::site::{BEGIN_S, Site, assert_lines, now_ns};

fn start() -> AgentThread {
    let mut agents = Agent::bind(0).unwrap();
    // Counters that stand still; interface 8 has a text that is written with odd blanks.
    let mib = Mib::with_interfaces("switch", 9);
    let objects = mib.objects().iter().map(|one| {
        let value = match &one.value {
            MibValue::Counter32(_, start) => MibValue::Counter32(0.0, *start),
            MibValue::Counter64(_, start) => MibValue::Counter64(0.0, *start),
            MibValue::Octets(text) if text == b"eth8" => MibValue::Octets(b"eth 8 \0".to_vec()),
            other => other.clone(),
        };
        MibObject { oid: one.oid.clone(), value }
    });
    let mib = Arc::new(Mib::new(objects.collect()));
    for index in 0..2 {
        agents.add(Agent::address(index), AgentDevice::new(Arc::clone(&mib)));
    }
    AgentThread::start(agents, now_ns).unwrap()
}

/// Whether a line is about a table that is walked.  MRTG walks all five of each device; ours are those
/// that targets select by: descriptions of the first device, all others of the second.
fn is_walked(line: &str) -> bool {
    line.contains("@127.1.0.1_") == line.contains("\tDescr\t")
}

#[test]
fn the_file_of_interfaces_is_that_of_mrtg() {
    let Some(mut site) = Site::new() else { return };
    let agents = start();
    let host = |index: u32, options: &str| format!("public@{}{options}", agents.address(index));
    let definitions = [
        format!("\\eth3:{}", host(0, ":1:2:1:2")),
        format!("\\eth\\ 8:{}", host(0, ":1:2:1:2")),
        format!("#port4:{}", host(1, "")),
        format!("/10.0.0.5:{}", host(1, "")),
        format!("!02-00-00-00-00-06:{}", host(1, ":1:2")),
        format!("%6:{}", host(1, "")),
    ];
    let mut text = "LogFormat: rrdtool\n".to_owned();
    for (number, definition) in definitions.iter().enumerate() {
        text.push_str(&format!(
            "Target[t{number}]: {definition}\nTitle[t{number}]: x\nMaxBytes[t{number}]: 9\n"
        ));
    }
    site.configure(&text);
    let (theirs, code) = site.mrtg(BEGIN_S);
    let (ours, report) = site.whit(BEGIN_S);
    assert_eq!((code, report.unknown_count), (91, 1), "{theirs} {ours:?}");
    for (number, definition) in definitions.iter().enumerate() {
        site.assert_same(&format!("t{number}.rrd"), definition);
    }
    let theirs = std::fs::read_to_string(site.path("mrtg/mrtg.ok")).unwrap();
    let ours = site.asker().interfaces().text();
    let walked: String = theirs.split_inclusive('\n').filter(|line| is_walked(line)).collect();
    assert_lines(&walked, &ours, "mrtg.ok");

    // Theirs spares us the walk: one request for each device as it is written.
    site.restart();
    let before = site.path("mrtg/mrtg.ok");
    let (mut file, cache) = InterfaceCacheFile::open(before);
    assert!(!cache.is_empty());
    let requests = |site: &mut Site| site.asker().counts().unwrap().requests;
    site.whit_with(cache, BEGIN_S + 300);
    assert_eq!(requests(&mut site), 3);
    file.keep(site.asker().interfaces()).unwrap();
    assert_eq!(std::fs::read_to_string(site.path("mrtg/mrtg.ok")).unwrap(), theirs);

    // One that has moved, and one that is not there, are looked for again.
    let is_kept = |line: &&str| !line.contains(".0.2_") || !line.ends_with("\tport4\t4");
    let wrong = theirs.lines().filter(is_kept).map(|line| match line.contains(".0.1_") {
        true => format!("{}\n", line.replace("\tDescr\teth3\t3", "\tDescr\teth3\t4")),
        false => format!("{line}\n"),
    });
    let wrong: String = wrong.collect();
    assert_ne!(wrong, theirs);
    site.restart();
    let (report, said) = site.whit_with(InterfaceCache::parse(&wrong), BEGIN_S + 600);
    assert_eq!(report.unknown_count, 1, "{said:?}");
    assert!(requests(&mut site) > 10);
    assert_lines(&theirs, &site.asker().interfaces().text(), "after a move");
    file.keep(&InterfaceCache::parse(&wrong)).unwrap();
    assert_eq!(std::fs::read_to_string(site.path("mrtg/mrtg.ok")).unwrap(), wrong);
}
