//! Rings that nobody can ever read: an audit of the store names each.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use crate::common::talk::Client;
use crate::common::{central, folders, in_role, proxy, pump, sequences};
use log_protocol::{GapReason, ProcessId, StreamId};
use log_store::audit::Audit;
use logring::{RingDirectory, RingReader};

/// What is done to a file.
type Damage<'a> = &'a dyn Fn(&Path);

/// Rings that cannot be read at all: one number of each is lost, however often a proxy finds it, and what
/// was stored of it before stays.
#[test]
fn rings_that_nobody_can_read_are_named_once() {
    let folders = folders();
    // For each: how its file is damaged, whether that is the process's, and whether it was read before.
    let cut = |path: &Path| File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    let overwrite = |path: &Path| {
        File::options().write(true).open(path).unwrap().write_all(&[7; 16]).unwrap();
    };
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    let ways: [(Damage<'_>, bool, bool); 5] = [
        (&cut, false, false),
        (&overwrite, false, false),
        (&overwrite, false, true),
        (&overwrite, true, true),
        (&remove, true, false),
    ];
    let central = central(&folders.store, &folders.socket);
    let mut named = BTreeMap::new();
    for (damage, is_process, is_read) in ways {
        let before = RingDirectory::scan(&folders.rings).unwrap();
        let role = format!("programs|{}|1|30", folders.rings.display());
        let writer = Client::start(in_role(&role));
        writer.wait("all have written");
        let mut found = RingDirectory::scan(&folders.rings).unwrap();
        found.rings.retain(|path| !before.rings.contains(path));
        found.processes.retain(|path| !before.processes.contains(path));
        let sent = sequences(&folders.rings);
        let readers = found.rings.iter().map(|path| RingReader::open(path).unwrap());
        let ids = readers.map(|reader| StreamId {
            process: ProcessId(reader.header().process_id),
            ring: reader.header().number,
        });
        let ids: Vec<StreamId> = ids.collect();
        let here = |id: &StreamId| if is_read { sent[id] } else { 0 };
        if is_read {
            let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
            pump(&mut proxy, "all is stored", |proxy| {
                let audit = Audit::of(&folders.store, false).unwrap();
                let is_here = |id| audit.streams.get(id).map_or(0, |one| one.next) >= sent[id];
                ids.iter().all(is_here) && proxy.is_all_committed()
            });
        }
        named.extend(ids.iter().map(|id| (*id, vec![(here(id), here(id) + 1, GapReason::Ring)])));
        writer.process.kill();
        let damaged = if is_process { &found.processes } else { &found.rings };
        damaged.iter().for_each(|path| damage(path));
        let mut said = Vec::new();
        for _ in 0..2 {
            let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
            pump(&mut proxy, "the rings are named", |proxy| {
                said.extend(proxy.take_messages());
                let audit = Audit::of(&folders.store, true).unwrap();
                let is_named = |id| audit.streams.get(id).is_some_and(|one| !one.lost.is_empty());
                proxy.is_all_committed() && ids.iter().all(is_named)
            });
        }
        let names = found.rings.iter().map(|path| path.display().to_string());
        let mut names = names.filter(|name| !said.iter().any(|text| text.contains(name)));
        assert_eq!(names.next(), None, "{said:?}");
        assert!(found.rings.iter().all(|path| path.exists()));
    }
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    let lost = audit.streams.iter().filter(|(_, one)| !one.lost.is_empty());
    assert_eq!(lost.map(|(id, one)| (*id, one.lost.clone())).collect::<BTreeMap<_, _>>(), named);
    assert_eq!((audit.is_whole(), audit.total().dropped), (false, 0));
}
