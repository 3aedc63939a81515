//! Tries each method of reading processes, exits and the counters of CPUs, for `whit doctor`.
//!
//! Parses the kernel's types (100 ms, 30 MB meanwhile), loads the programs and unloads them again.

use std::sync::Arc;

use bpf::{ProcessEvents, TaskIterator};
use procfs::Host;

use crate::{CounterMethod, RecordFilter, SourceContext, exit};

/// The result of each method; the text says why it does not work.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Every process in one pass of a BPF iterator.
    pub iterator: Result<(), String>,
    /// Exits from a BPF ring buffer.
    pub ring: Result<(), String>,
    /// Exits from taskstats over netlink.
    pub taskstats: Result<(), String>,
    /// The counters of CPUs by a BPF program: the sources whose values are those of the files, or
    /// why there are none.
    pub counters: Result<Vec<&'static str>, String>,
}

impl Trial {
    /// Tries them all.
    pub fn new() -> Self {
        let context = Arc::new(SourceContext::default());
        let text = |error: bpf::Error| error.to_string();
        let trial = Trial {
            iterator: context.shared.kernel.load(TaskIterator::open).map(drop).map_err(text),
            ring: context.shared.kernel.load(ProcessEvents::open).map(drop).map_err(text),
            taskstats: exit::try_taskstats(&context).map_err(|error| error.to_string()),
            counters: try_counters(),
        };
        context.shared.kernel.release();
        trial
    }
}

/// Opens each source that a BPF program can read, and compares its values with the files.
fn try_counters() -> Result<Vec<&'static str>, String> {
    let filter = RecordFilter {
        counters: CounterMethod::Bpf,
        selection: Some("cCjM".into()),
        ..RecordFilter::default()
    };
    let context = Arc::new(SourceContext { filter, ..SourceContext::default() });
    let mut host = Host::new("/");
    for entry in ["cpu", "cpu_core", "interrupt", "numa"].into_iter().filter_map(crate::find) {
        drop((entry.open)(&mut host, &context));
    }
    context.shared.kernel.release();
    let sources = context.shared.counters.sources();
    match context.shared.counters.reasons().first() {
        Some((source, reason)) if sources.is_empty() => Err(format!("{source}: {reason}")),
        _ => Ok(sources),
    }
}

impl Default for Trial {
    fn default() -> Self {
        Trial::new()
    }
}
