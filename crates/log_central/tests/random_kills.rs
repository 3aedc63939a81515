//! Programs, proxy and central server are killed at random, alone and all at once, with stores that are
//! new, few descriptors, disks that are full for a time, and `recover` between: each record of a
//! completed call is in a store, once in each, and the account of `verify` is that of the programs.
//!
//! Each program keeps an account of its own outside: how many calls of each thread were completed.
//! A short run has a part of the scenes of a long one; `WHIT_LOG_SCENES` says how many, and
//! `WHIT_SEED` which is the first.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use log_format::{JsonFormat, RecoveredRings, WriterSink};
use log_store::audit::Audit;
use log_store::{Store, StoreSettings};
use testkit::Random;

use crate::common::{
    Folders, Held, Running, central, drain, folders, held_of_damaged, proxy, role_of, start,
    start_limited,
};

/// Threads of each program.
const THREADS: u64 = 2;
/// Scenes at once: they mostly wait.
const SIDE_BY_SIDE: usize = 3;
/// Scenes of a long run, and of a short one.
const SCENES: [u64; 2] = [500, 24];
/// Most programs of a scene.
const PROGRAMS_MAX: usize = 6;

/// Plays a program that counts its completed calls in a file; gives whether the role is one.
pub(crate) fn play(role: &[&str]) -> bool {
    let ["counting program", folder, name, account] = role else { return false };
    let account = File::create(account).unwrap();
    let rings = (1 << 16, 1 << 18);
    let [site, context] = crate::common::begin_writing(Path::new(folder), name, rings);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let account = &account;
            scope.spawn(move || {
                for number in 0_u64.. {
                    logring::writer::write(4, site, context, &(thread, number, "text"));
                    account.write_all_at(&(number + 1).to_le_bytes(), thread * 8).unwrap();
                    if number % 64 == 63 {
                        std::thread::sleep(Duration::from_micros(400));
                    }
                }
            });
        }
    });
    true
}

/// The calls of each thread that a program has completed, by its own account.
fn completed(account: &Path) -> Vec<u64> {
    let bytes = std::fs::read(account).unwrap_or_default();
    let count = |thread: u64| {
        let bytes = bytes.get(thread as usize * 8..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    (0..THREADS).map(|thread| count(thread).unwrap_or(0)).collect()
}

/// Everything that is killed.
struct Scene {
    folders: Folders,
    random: Random,
    programs: Vec<Running>,
    /// Programs that were ever started.
    started: usize,
    proxy: Option<Running>,
    central: Option<Running>,
    /// Stores that were taken away.
    old: Vec<PathBuf>,
    /// What fills the disk, if that is small.
    ballast: Option<PathBuf>,
    told: Vec<String>,
}

impl Scene {
    fn pause(&mut self, most_us: u64) {
        std::thread::sleep(Duration::from_micros(self.random.below(most_us)));
    }

    fn account(&self, program: usize) -> PathBuf {
        self.folders.all.path().join(format!("account-{program}"))
    }

    fn start_program(&mut self) {
        let (rings, number) = (self.folders.rings.display(), self.started);
        let account = self.account(number).display().to_string();
        let role = format!("counting program|{rings}|program {number}|{account}");
        self.programs.push(start(&role));
        self.started += 1;
    }

    fn start_proxy(&mut self) {
        let role = role_of("proxy", &self.folders);
        let few = self.random.below(3) == 0;
        self.proxy =
            Some(if few { start_limited(&role, 24 + self.random.below(16)) } else { start(&role) });
    }

    fn start_central(&mut self) {
        self.central = Some(start(&role_of("central", &self.folders)));
    }

    fn kill_program(&mut self) {
        if !self.programs.is_empty() {
            let at = self.random.below(self.programs.len() as u64) as usize;
            self.programs.swap_remove(at).kill();
        }
        if self.started < PROGRAMS_MAX {
            self.start_program();
        }
    }

    fn kill_all(&mut self) {
        let mut all: Vec<Running> = self.programs.drain(..).collect();
        all.extend(self.proxy.take());
        all.extend(self.central.take());
        while !all.is_empty() {
            let at = self.random.below(all.len() as u64) as usize;
            all.swap_remove(at).kill();
        }
    }

    /// The store is another one from now on.
    fn take_store_away(&mut self) {
        drop(self.central.take());
        let old = self.folders.store.with_file_name(format!("old-{}", self.old.len()));
        if std::fs::rename(&self.folders.store, &old).is_ok() {
            self.old.push(old);
        }
        self.start_central();
    }

    /// Fills the disk of spool and store, or makes room again.
    fn fill_or_empty(&mut self) {
        let Some(path) = self.ballast.clone() else { return };
        if path.exists() {
            std::fs::remove_file(path).unwrap();
            return;
        }
        let file = File::create(&path).unwrap();
        for step in [1 << 20, 1 << 12] {
            let zeros = vec![0; step];
            while std::io::Write::write_all(&mut &file, &zeros).is_ok() {}
        }
    }

    fn act(&mut self) {
        let act = self.random.below(10);
        self.told.push(format!("{act}"));
        match act {
            0 | 1 => self.kill_program(),
            2 | 3 => {
                drop(self.proxy.take());
                self.pause(10_000);
                self.start_proxy();
            }
            4 | 5 => {
                drop(self.central.take());
                self.pause(10_000);
                self.start_central();
            }
            6 => {
                self.kill_all();
                self.start_proxy();
                self.start_central();
                if self.started < PROGRAMS_MAX {
                    self.start_program();
                }
            }
            7 => self.take_store_away(),
            8 => self.fill_or_empty(),
            _ => {
                let mut sink = WriterSink::new(Box::<JsonFormat>::default(), std::io::sink());
                let rings = &self.folders.rings;
                log_format::recover(rings, &mut sink, RecoveredRings::Keep).unwrap();
            }
        }
    }

    /// All are killed, the disk has room, and a proxy and a central server end the work.
    fn end(&mut self) {
        self.kill_all();
        if let Some(path) = self.ballast.as_deref().filter(|path| path.exists()) {
            std::fs::remove_file(path).unwrap();
        }
        let Folders { rings, spool, store, socket, .. } = &self.folders;
        let central = central(store, socket);
        drain(&mut proxy(rings, spool, socket), rings);
        central.stop();
        // What a server does that is started with such a store.
        for old in &self.old {
            let id = log_protocol::auth::random().unwrap();
            drop(Store::open(old, StoreSettings::default(), id).unwrap());
        }
    }

    /// Compares stores, `verify`, and the accounts of the programs; gives how many records there are.
    fn check(&self) -> u64 {
        let stores = self.old.iter().chain([&self.folders.store]);
        let mut found: BTreeMap<(String, u64), BTreeSet<u64>> = BTreeMap::new();
        for store in stores {
            let held = held_of_damaged(store);
            assert_verified(store, &held);
            for ((process, thread), numbers) in held.numbers {
                let all = found.entry((held.names[&process].clone(), thread)).or_default();
                all.extend(numbers);
            }
        }
        for program in 0..self.started {
            for (thread, completed) in (0_u64..).zip(completed(&self.account(program))) {
                let numbers = found.remove(&(format!("program {program}"), thread));
                let numbers = numbers.unwrap_or_default();
                let count = numbers.len() as u64;
                // A call may be complete that was not noted.
                let is_right = count == completed || count == completed + 1;
                assert!(is_right, "program {program}, thread {thread}: {count} of {completed}");
                assert!(numbers.iter().copied().eq(0..count), "program {program}: {thread}");
            }
        }
        assert!(found.is_empty(), "{found:?}");
        (0..self.started).flat_map(|program| completed(&self.account(program))).sum()
    }
}

/// A store has each record once, and `verify` says what is there.
fn assert_verified(store: &Path, held: &Held) {
    let audit = Audit::of(store, true).unwrap();
    let total = audit.total();
    assert!(audit.is_whole(), "{}: {audit:?}", store.display());
    assert_eq!((held.without_site, total.dropped, total.left_out), (0, 0, 0), "{audit:?}");
    assert_eq!(total.next, total.records + total.elsewhere, "{audit:?}");
    for (stream, numbers) in &held.sequences {
        let once: BTreeSet<u64> = numbers.iter().copied().collect();
        assert_eq!(once.len(), numbers.len(), "{stream}: twice");
        assert_eq!(audit.streams[stream].records, once.len() as u64, "{stream}");
    }
}

/// Gives this thread, and what it starts, a small disk; whether it may.
fn mount_disk(disk: &Path) -> rustix::io::Result<()> {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: descriptors stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount("none", disk, "tmpfs", MountFlags::empty(), Some(c"size=64m,mode=700"))
}

/// Plays a scene; gives how many records its programs made.
fn play_scene(seed: u64) -> u64 {
    let mut folders = folders();
    let disk = folders.all.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    (folders.spool, folders.store) = (disk.join("spool"), disk.join("store"));
    let mounted = mount_disk(&disk);
    if let Err(error) = mounted {
        testkit::skip("disks that are full", &error.to_string());
    }
    let mut scene = Scene {
        folders,
        random: Random::from_seed(seed),
        programs: Vec::new(),
        started: 0,
        proxy: None,
        central: None,
        old: Vec::new(),
        ballast: mounted.is_ok().then(|| disk.join("ballast")),
        told: Vec::new(),
    };
    scene.start_central();
    scene.start_proxy();
    scene.start_program();
    for _ in 0..4 + scene.random.below(6) {
        scene.pause(60_000);
        scene.act();
    }
    scene.pause(60_000);
    println!("scene {seed}: {}", scene.told.join(" "));
    scene.end();
    let records = scene.check();
    if mounted.is_ok() {
        // The folder below what is mounted can be removed only then.
        rustix::mount::unmount(&disk, rustix::mount::UnmountFlags::DETACH).unwrap();
    }
    records
}

#[test]
fn killed_at_random_they_lose_nothing_and_verify_says_so() {
    let first = testkit::seed(22_000);
    let scenes = testkit::setting("WHIT_LOG_SCENES", SCENES[usize::from(!testkit::is_long())]);
    let records = std::sync::atomic::AtomicU64::new(0);
    let next = std::sync::atomic::AtomicU64::new(first);
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    use std::sync::atomic::Ordering::Relaxed;
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= first + scenes {
                        return;
                    }
                    // A thread of its own has a disk of its own.
                    let scene = std::thread::spawn(move || play_scene(seed)).join();
                    let made =
                        scene.unwrap_or_else(|_| panic!("WHIT_SEED={seed} WHIT_LOG_SCENES=1"));
                    records.fetch_add(made, Relaxed);
                }
            });
        }
    });
    println!("{scenes} scenes, {} records", records.into_inner());
}
