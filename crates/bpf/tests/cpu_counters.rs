//! The counters of every CPU are those that the kernel prints.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use bpf::{CpuCounters, CpuValues, Error, KernelTypes};

fn open() -> Option<CpuCounters> {
    let (what, error) = match KernelTypes::open().and_then(|kernel| CpuCounters::open(&kernel)) {
        Ok(counters) => return Some(counters),
        Err(error @ Error::NoSymbol(_)) => ("addresses of kernel variables", error),
        Err(error @ (Error::Denied(_) | Error::NoBtf(_) | Error::Namespace)) => {
            ("BPF programs", error)
        }
        Err(error) => panic!("{error}"),
    };
    testkit::skip(what, &error.to_string());
    None
}

/// The numbers of a line of `/proc/stat`.
fn line(text: &str, name: &str) -> Vec<u64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.split_ascii_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
}

#[test]
fn the_values_are_those_of_the_file() {
    let Some(counters) = open() else { return };
    for _ in 0..100 {
        let before = std::fs::read_to_string("/proc/stat").unwrap();
        counters.refresh().unwrap();
        let after = std::fs::read_to_string("/proc/stat").unwrap();
        let cpus: Vec<_> = (0..counters.cpus()).map(|cpu| counters.cpu(cpu).unwrap()).collect();
        let within = |name: &str, at: usize, value: u64| {
            let (before, after) = (line(&before, name)[at], line(&after, name)[at]);
            assert!((before..=after).contains(&value), "{name} {at}: {before} {value} {after}");
        };
        within("ctxt", 0, cpus.iter().map(|cpu| cpu.context_switches).sum());
        within(
            "intr",
            0,
            counters.interrupt_errors() + cpus.iter().map(CpuValues::interrupts).sum::<u64>(),
        );
        within("processes", 0, counters.forks());
        for (number, cpu) in cpus.iter().enumerate().filter(|(_, cpu)| cpu.online != 0) {
            let name = format!("cpu{number}");
            // user, nice, system, idle, iowait, irq, softirq, steal, guest, guest nice
            let [user, nice, system, softirq, irq, _, _, steal, guest, guest_nice] = cpu.times_ns;
            let idle = [cpu.idle_sleep_ns, cpu.iowait_sleep_ns].map(|ns| ns / 1000 * 1000);
            let ns = [user, nice, system, idle[0], idle[1], irq, softirq, steal, guest, guest_nice];
            for (at, ns) in ns.into_iter().enumerate() {
                within(&name, at, ns / 10_000_000);
            }
        }
    }
}
