//! The BPF program that copies the counters of every CPU, loaded once for all sources.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bpf::CpuCounters;
use procfs::Host;

use crate::kernel::SharedKernel;

/// How the counters of CPUs are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterMethod {
    /// From the files in `/proc` and `/sys`.
    #[default]
    Proc,
    /// By a BPF program, or not at all.
    Bpf,
    /// By a BPF program on a machine with many CPUs, if it works there; else from files.
    Best,
}

/// The program, which all sources share, in [`SourceContext`](crate::SourceContext).
#[derive(Default)]
pub struct SharedCounters(Mutex<LoadedProgram>);

/// What is known of the program.
#[derive(Default)]
pub(crate) struct LoadedProgram {
    /// The program, or why it cannot be used; `None` before a source has asked.
    program: Option<Result<Program, String>>,
    /// The sources that are read by it.
    pub(crate) sources: Vec<&'static str>,
    /// The sources that are not, and why.
    pub(crate) reasons: Vec<(&'static str, String)>,
}

pub(crate) struct Program {
    pub(crate) counters: CpuCounters,
    /// The tick of the latest run.
    tick: u64,
}

impl SharedCounters {
    /// The names of the sources that are read by the program.
    pub fn sources(&self) -> Vec<&'static str> {
        self.held().sources.clone()
    }

    /// How many sources are read by the program.
    pub fn count(&self) -> usize {
        self.held().sources.len()
    }

    /// The sources that should be read by the program and are not, and the reasons.
    pub fn reasons(&self) -> Vec<(&'static str, String)> {
        self.held().reasons.clone()
    }

    /// The program and what is known of it.
    pub(crate) fn held(&self) -> MutexGuard<'_, LoadedProgram> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadedProgram {
    /// Loads the program, the first time.
    pub(crate) fn load(&mut self, kernel: &SharedKernel) -> Result<&mut Program, String> {
        let program = self.program.get_or_insert_with(|| {
            let counters = kernel.load(CpuCounters::open);
            counters
                .map(|counters| Program { counters, tick: 0 })
                .map_err(|error| error.to_string())
        });
        program.as_mut().map_err(|reason| reason.clone())
    }

    /// The counters as of this tick.
    pub(crate) fn at_tick(&mut self, host: &mut Host) -> Option<&CpuCounters> {
        let Some(Ok(program)) = &mut self.program else { return None };
        if program.tick != host.tick() {
            host.add_calls(program.counters.refresh().ok()?);
            program.tick = host.tick();
        }
        Some(&program.counters)
    }
}
