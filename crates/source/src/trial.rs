//! Which ways of reading processes and learning of their ends work here, found by trying each.
//!
//! For a doctor: parses the kernel's types (100 ms, 30 MB for that long), loads the programs and
//! takes them out again.

use std::sync::Arc;

use bpf::{ProcessEvents, TaskIterator};

use crate::{SourceContext, exit};

/// What came of each way; the text says why it does not work.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Every process in one pass of a BPF iterator.
    pub iterator: Result<(), String>,
    /// Ends from a ring that BPF programs fill.
    pub ring: Result<(), String>,
    /// Ends from taskstats over netlink.
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
