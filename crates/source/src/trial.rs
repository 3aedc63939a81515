//! Tries each method of reading processes and exits, for `whit doctor`.
//!
//! Parses the kernel's types (100 ms, 30 MB meanwhile), loads the programs and unloads them again.

use std::sync::Arc;

use bpf::{ProcessEvents, TaskIterator};

use crate::{SourceContext, exit};

/// The result of each method; the text says why it does not work.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Every process in one pass of a BPF iterator.
    pub iterator: Result<(), String>,
    /// Exits from a BPF ring buffer.
    pub ring: Result<(), String>,
    /// Exits from taskstats over netlink.
    pub taskstats: Result<(), String>,
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
        };
        context.shared.kernel.release();
        trial
    }
}

impl Default for Trial {
    fn default() -> Self {
        Trial::new()
    }
}
