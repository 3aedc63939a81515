//! The BPF programs of each part of whit: which variant this kernel takes, and the CPU time of
//! loading it.
//!
//! Loads each of them once, as a start of the verb that needs it does: the kernel's types are read
//! and parsed, the programs relocated, verified and compiled.  A loaded program costs nothing yet;
//! those at system calls are attached for some milliseconds.

use std::cell::RefCell;

use bpf::{
    CountSettings, Error, EventSettings, KernelTypes, ProcessEvents, SyscallCounts, SyscallEvents,
    TaskIterator,
};
use procfs::usage::{Whose, usage};

use super::facts::Fact;

/// A start that takes longer is worth a mark: the verifier's work of the most expensive part on the
/// slowest kernel should stay below.
const LOAD_MS_MAX: f64 = 300.0;

/// The facts, one for each part; none if BPF programs cannot be loaded at all.
pub(crate) fn facts() -> Vec<Fact> {
    let variant = |storage: bpf::CallStorage| format!("calls in {}", storage.name());
    // All programs on one kernel relocate alike; only where calls are stored has variants.
    let processes = RefCell::new(None);
    let iterator = || {
        let kernel = KernelTypes::open()?;
        let loaded = TaskIterator::open(&kernel).map(|_| "with the kernel's types".to_owned());
        *processes.borrow_mut() = Some(kernel);
        loaded
    };
    let ends = || {
        let processes = processes.borrow();
        let Some(kernel) = &*processes else { return Err(Error::NoBtf(String::new())) };
        ProcessEvents::open(kernel).map(|_| "more, as one start loads both".to_owned())
    };
    let counts = || {
        let kernel = KernelTypes::open()?;
        SyscallCounts::open(&kernel, &CountSettings::default())
            .map(|counts| format!("with the kernel's types; {}", variant(counts.storage())))
    };
    let lines = || {
        // With copies of memory, as `whit trace` has them: the verifier leaves out what is off.
        let settings = EventSettings {
            ring_bytes: 1 << 20,
            data_bytes: 32,
            captures: vec![(0, Vec::new())],
            ..EventSettings::default()
        };
        let kernel = KernelTypes::open()?;
        SyscallEvents::open(&kernel, &settings)
            .map(|events| format!("with the kernel's types; {}", variant(events.storage())))
    };
    let parts = [
        fact("bpf_load_iterator", iterator),
        fact("bpf_load_exits", ends),
        fact("bpf_load_counts", counts),
        fact("bpf_load_lines", lines),
    ];
    parts.into_iter().flatten().collect()
}

/// Loads a part.  Why a part cannot be loaded is said elsewhere.
fn fact(name: &'static str, load: impl FnOnce() -> Result<String, Error>) -> Option<Fact> {
    let cpu_us = || {
        let used = usage(Whose::Own);
        used.user_us + used.system_us
    };
    let before = cpu_us();
    let variant = load().ok()?;
    let cpu_ms = cpu_us().saturating_sub(before) as f64 / 1e3;
    let good = cpu_ms < LOAD_MS_MAX;
    let note = if good { "" } else { "each start takes that long" };
    Some(Fact { name, value: format!("{cpu_ms:.0} ms of CPU time {variant}"), note, good })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_that_can_be_loaded_says_what_it_took() {
        let facts = facts();
        if let Err(error) = KernelTypes::open().and_then(|kernel| TaskIterator::open(&kernel)) {
            assert!(facts.is_empty(), "{facts:?}");
            return testkit::skip_refused("BPF programs", &error.to_string());
        }
        let names: Vec<&str> = facts.iter().map(|fact| fact.name).collect();
        let wanted = ["bpf_load_iterator", "bpf_load_exits", "bpf_load_counts", "bpf_load_lines"];
        assert_eq!(names, wanted);
        assert!(facts.iter().all(|fact| fact.value.contains(" ms of CPU time")), "{facts:?}");
        assert!(facts[2].value.contains("calls in"), "{facts:?}");
    }
}
