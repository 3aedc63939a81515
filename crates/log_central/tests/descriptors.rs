//! A proxy that may have fewer descriptors than there are files: it reads them all, and removes no file
//! of a process whose rings it has not read.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test and what it says to another process"
)]

use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::common::talk::Client;
use crate::common::{
    Running, assert_all_here, begin_writing, central, drain, folders, held, in_role, proxy,
    role_of, sequences, start, start_limited,
};
use testkit::wait_until;

/// Plays many programs; gives whether the role is this.
pub(crate) fn play(role: &[&str]) -> bool {
    let ["programs", folder, programs, count] = role else { return false };
    run_programs(Path::new(folder), programs.parse().unwrap(), count.parse().unwrap());
    true
}

/// Forks so many programs of `count` records each, which live as long as this one.
fn run_programs(folder: &Path, programs: usize, count: u64) {
    let [site, context] = begin_writing(folder, "program", (1 << 16, 1 << 16));
    let (mut done, mut says_done) = std::io::pipe().unwrap();
    let parent = rustix::process::getpid();
    for _ in 0..programs {
        // SAFETY: the child has this thread alone, which takes no lock of another one.
        if unsafe { libc::fork() } == 0 {
            use rustix::process::{Signal, getppid, set_parent_process_death_signal};
            set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
            for number in 0..count {
                logring::writer::write(4, site, context, &(0_u64, number, "text"));
            }
            says_done.write_all(&[0]).unwrap();
            while getppid() == Some(parent) {
                // SAFETY: it only sleeps.
                unsafe { libc::pause() };
            }
            return;
        }
    }
    done.read_exact(&mut vec![0; programs]).unwrap();
    println!("> all have written");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn is_removed(rings: &std::path::Path) -> bool {
    logring::RingDirectory::scan(rings).unwrap() == logring::RingDirectory::default()
}

#[test]
fn rings_of_more_dead_processes_than_descriptors() {
    let folders = folders();
    let write = format!("write|{}|2|10", folders.rings.display());
    for _ in 0..8 {
        let writers: Vec<Running> = (0..5).map(|_| start(&write)).collect();
        writers.into_iter().for_each(|mut writer| assert!(writer.ended().success()));
    }
    let sent = sequences(&folders.rings);
    let central = central(&folders.store, &folders.socket);
    // The first has few, and does what it can; the second reads the rest, if there is any.
    let first = start_limited(&role_of("proxy", &folders), 40);
    wait_until("most is read", || {
        let left = logring::RingDirectory::scan(&folders.rings).unwrap();
        left.processes.len() < 10
    });
    first.kill();
    drain(&mut proxy(&folders.rings, &folders.spool, &folders.socket), &folders.rings);
    central.stop();
    assert_all_here(&folders.store, &sent);
    assert_eq!(held(&folders.store).numbers.values().map(Vec::len).sum::<usize>(), 40 * 2 * 10);
}

/// Programs at once beside a proxy that may have fewer descriptors than they have files: they are killed,
/// with it, at once or when it has read all; another proxy without that limit reads the rest.
fn programs_beside_a_limited_proxy(programs: usize, descriptors: u64, is_all_read: bool) {
    let folders = folders();
    let server = central(&folders.store, &folders.socket);
    let first = start_limited(&role_of("proxy", &folders), descriptors);
    let writers = in_role(&format!("programs|{}|{programs}|10", folders.rings.display()));
    let writers = Client::start(writers);
    writers.wait("all have written");
    let sent = sequences(&folders.rings);
    assert!(sent.len() as u64 > descriptors / 2);
    if is_all_read {
        wait_until("all is stored", || {
            let here = log_store::audit::Audit::of(&folders.store, false).unwrap().total();
            here.records == sent.values().sum::<u64>()
        });
    }
    writers.process.kill();
    first.kill();
    drain(&mut proxy(&folders.rings, &folders.spool, &folders.socket), &folders.rings);
    server.stop();
    assert_all_here(&folders.store, &sent);
    let held = held(&folders.store);
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>(), programs * 10);
    held.assert_whole();
}

#[test]
fn rings_of_600_killed_programs_beside_1024_descriptors() {
    programs_beside_a_limited_proxy(600, 1024, false);
}

#[test]
fn rings_of_more_living_programs_than_descriptors() {
    programs_beside_a_limited_proxy(60, 64, true);
}

#[test]
fn rings_of_more_threads_than_descriptors() {
    let folders = folders();
    let central = central(&folders.store, &folders.socket);
    let reading = start_limited(&role_of("proxy", &folders), 40);
    // Rings of 256 KiB that grow to 1 MiB: a thread waits where nobody reads.
    let mut writer = start(&format!("write|{}|60|20000", folders.rings.display()));
    assert!(writer.ended().success());
    wait_until("all is read and removed", || is_removed(&folders.rings));
    drop(reading);
    central.stop();
    let mut held = held(&folders.store);
    // A ring that continues another one may be opened first: its times alone put it behind that one.
    held.numbers.values_mut().for_each(|numbers| numbers.sort_unstable());
    held.assert_whole();
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>(), 60 * 20_000);
}
