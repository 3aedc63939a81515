//! The load of the machine while jobs run, from four small kernel files, for panels and statistics.
//!
//! [`MachineFiles::read_load`] reads one of them (`/proc/loadavg`), [`MachineFiles::read_all`] all: some 3 and 60 µs.

use std::time::Instant;

use procfs::loadavg::parse_loadavg;
use procfs::pressure::parse_pressure;
use procfs::scan::KeyIndex;
use procfs::stat::{StatLine, parse_stat_totals};
use procfs::{FileId, Host, ReadMode};

/// Kinds of pressure, in the order of [`MachineReading::stalled_us`].
pub(super) const PRESSURES: [&str; 3] = ["cpu", "memory", "io"];

/// The lines of `/proc/meminfo` that are read, in the file's order.
const MEMORY_KEYS: &[&[u8]] = &[b"MemTotal:", b"MemAvailable:"];

/// The open files.
pub(super) struct MachineFiles {
    host: Host,
    stat: FileId,
    loadavg: FileId,
    meminfo: FileId,
    pressure: [FileId; 3],
    memory_keys: KeyIndex,
}

/// Threads that want a CPU, and threads that exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunQueue {
    /// Threads that run or wait for a CPU.
    pub(super) running: u64,
    /// Threads that exist, including kernel threads.
    pub(super) tasks: u64,
}

/// A reading of the machine.  What could not be read is `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachineReading {
    /// When.
    pub(super) at: Instant,
    /// Run queue and threads.
    pub(super) load: Option<RunQueue>,
    /// CPU time since boot by kind, in ticks, as in `/proc/stat`.
    pub(super) ticks: Option<[u64; 10]>,
    /// Processes and threads created since boot.
    pub(super) born: Option<u64>,
    /// Total memory, KiB.
    pub(super) memory_kib: Option<u64>,
    /// Available memory, KiB.
    pub(super) available_kib: Option<u64>,
    /// How long some task was stalled since boot, for each of [`PRESSURES`].
    pub(super) stalled_us: [Option<u64>; 3],
}

/// How CPU time was spent, as shares of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CpuShares {
    /// User mode.
    pub(super) user: f64,
    /// Kernel mode, including interrupts.
    pub(super) system: f64,
    /// Idle while waiting for disks.
    pub(super) wait: f64,
    /// Stolen by the hypervisor.
    pub(super) stolen: f64,
    /// Idle.
    pub(super) idle: f64,
}

impl MachineFiles {
    /// Opens no file: files are opened when they are first read.
    pub(super) fn new() -> Self {
        let mut host = Host::new("/");
        let mut file = |path: &str| host.file(path, ReadMode::Whole);
        let (stat, loadavg) = (file("/proc/stat"), file("/proc/loadavg"));
        let meminfo = file("/proc/meminfo");
        let pressure = PRESSURES.map(|kind| file(&format!("/proc/pressure/{kind}")));
        MachineFiles {
            host,
            stat,
            loadavg,
            meminfo,
            pressure,
            memory_keys: KeyIndex::new(MEMORY_KEYS),
        }
    }

    /// Reads the run queue, which changes fastest.
    pub(super) fn read_load(&mut self) -> Option<RunQueue> {
        self.host.begin_tick();
        self.load()
    }

    /// Reads everything.
    pub(super) fn read_all(&mut self, at: Instant) -> MachineReading {
        self.host.begin_tick();
        let mut seen = MachineReading {
            at,
            load: self.load(),
            ticks: None,
            born: None,
            memory_kib: None,
            available_kib: None,
            stalled_us: [None; 3],
        };
        if let Ok(text) = self.host.read(self.stat) {
            for line in parse_stat_totals(text) {
                match line {
                    StatLine::Total(times) if times.count >= 4 => seen.ticks = Some(times.ticks),
                    StatLine::Forks(born) => seen.born = Some(born),
                    _ => {}
                }
            }
        }
        if let Ok(text) = self.host.read(self.meminfo) {
            self.memory_keys.scan(text, |key, kib| match key {
                0 => seen.memory_kib = Some(kib),
                _ => seen.available_kib = Some(kib),
            });
        }
        for (file, stalled_us) in self.pressure.iter().zip(&mut seen.stalled_us) {
            // Kernels without pressure stall information refuse to open or to read these files.
            let text = self.host.read(*file).ok();
            let some = text.and_then(|text| parse_pressure(text).some);
            *stalled_us = some.map(|some| some.total_us);
        }
        seen
    }

    fn load(&mut self) -> Option<RunQueue> {
        let load = parse_loadavg(self.host.read(self.loadavg).ok()?)?;
        Some(RunQueue { running: load.running, tasks: load.tasks })
    }
}

impl MachineReading {
    /// Processes and threads created since `before`.
    pub(super) fn born_since(&self, before: &MachineReading) -> Option<u64> {
        self.born?.checked_sub(before.born?)
    }

    /// Processes and threads that have exited since `before`: those created minus the increase.
    pub(super) fn died_since(&self, before: &MachineReading) -> Option<u64> {
        (self.born_since(before)? + before.load?.tasks).checked_sub(self.load?.tasks)
    }

    /// How CPU time was spent since `before`; `None` without a tick.
    pub(super) fn shares_since(&self, before: &MachineReading) -> Option<CpuShares> {
        let (now, then) = (self.ticks?, before.ticks?);
        // Guest time is included in user time.
        let mut spent = [0_f64; 8];
        for (kind, spent) in spent.iter_mut().enumerate() {
            // Idle and wait time may decrease by a tick, which counts as none.
            *spent = now[kind].saturating_sub(then[kind]) as f64;
        }
        let all: f64 = spent.iter().sum();
        let [user, nice, system, idle, wait, irq, softirq, stolen] = spent.map(|one| one / all);
        (all > 0.0).then_some(CpuShares {
            user: user + nice,
            system: system + irq + softirq,
            wait,
            stolen,
            idle,
        })
    }

    /// The share of the time since `before` in which some task was stalled, for each of
    /// [`PRESSURES`].
    pub(super) fn pressure_since(&self, before: &MachineReading) -> [Option<f64>; 3] {
        let passed_us = (self.at - before.at).as_micros() as f64;
        let mut shares = [None; 3];
        for (kind, share) in shares.iter_mut().enumerate() {
            let stalled = self.stalled_us[kind].zip(before.stalled_us[kind]);
            let stalled = stalled.and_then(|(now, then)| now.checked_sub(then));
            *share = stalled.filter(|_| passed_us > 0.0).map(|us| us as f64 / passed_us);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::time::Duration;

    use super::*;

    fn seen(at: Instant, born: u64, tasks: u64, ticks: [u64; 10]) -> MachineReading {
        MachineReading {
            at,
            load: Some(RunQueue { running: 1, tasks }),
            ticks: Some(ticks),
            born: Some(born),
            memory_kib: None,
            available_kib: None,
            stalled_us: [Some(born * 1000), None, None],
        }
    }

    #[test]
    fn differences_of_two_moments() {
        let at = Instant::now();
        let before = seen(at, 100, 50, [10, 0, 10, 100, 5, 0, 0, 0, 0, 0]);
        let now = seen(at + Duration::from_secs(1), 130, 45, [30, 5, 25, 155, 5, 3, 2, 0, 20, 0]);
        assert_eq!(now.born_since(&before), Some(30));
        assert_eq!(now.died_since(&before), Some(35));
        let shares = now.shares_since(&before).unwrap();
        for (share, expected) in [(shares.user, 0.25), (shares.system, 0.2), (shares.idle, 0.55)] {
            assert!((share - expected).abs() < 1e-9, "{share} {expected}");
        }
        assert_eq!(now.pressure_since(&before), [Some(0.03), None, None]);
        assert_eq!(before.born_since(&now), None);
        assert_eq!(now.shares_since(&now), None);
    }

    #[test]
    fn this_machine_can_be_seen() {
        let mut machine = MachineFiles::new();
        let seen = machine.read_all(Instant::now());
        assert!(seen.load.unwrap().tasks > 1 && seen.born.unwrap() > 1);
        assert!(seen.memory_kib.unwrap() > seen.available_kib.unwrap());
        assert!(machine.read_load().is_some());
    }
}
