//! The context with which every source is opened: what to record, and shared state.

use std::sync::Arc;

use layout::{Selection, SourceValues};
use sample::{Cadence, SourceDef};

use crate::Entry;
use crate::kernel::{Refusals, SharedKernel};
use crate::process_counters::ProcessCounters;
use crate::process_options::ProcessOptions;
use crate::program_counters::{JobCounters, RecorderCounters};
use crate::rename::SensorRules;
use crate::shared_counters::{CounterMethod, SharedCounters};

/// The context with which every source is opened.
#[derive(Default)]
pub struct SourceContext {
    /// What to record.
    pub filter: RecordFilter,
    /// What sources share with each other and with the program that reads them.
    pub shared: SharedState,
    /// Rules for the names of a collectl recording's sensors; `None` to keep the names.
    pub sensors: Option<Arc<SensorRules>>,
    /// Methods that the source `exit` does not try; it then uses the next best.
    pub excluded_exit_methods: ExcludedExitMethods,
}

impl SourceContext {
    /// The default, with these options for processes.
    #[must_use]
    pub fn with_process(process: ProcessOptions) -> Self {
        let filter = RecordFilter { process, ..RecordFilter::default() };
        SourceContext { filter, ..SourceContext::default() }
    }
}

/// What is recorded and what is left out.
#[derive(Default)]
pub struct RecordFilter {
    /// The values of the options of sources; some of them select what to record.
    pub given: SourceValues,
    /// Whether to read the space of network and FUSE filesystems.  A server that does not answer
    /// blocks the recorder forever.
    pub network_filesystems: bool,
    /// Which processes to record, and which of their files to read.
    pub process: ProcessOptions,
    /// The selection, if only what it selects is shown or kept: a source may then leave out the
    /// details of a level that is not selected.
    pub selection: Option<Selection>,
    /// How to read the counters of CPUs.
    pub counters: CounterMethod,
    /// Names of sources that are read at the third interval, whatever their cadence.
    pub third_interval: Vec<String>,
}

impl RecordFilter {
    /// The definition of a source as this filter has it read.
    pub(crate) fn def(&self, entry: &Entry) -> SourceDef {
        let mut def = entry.def();
        if self.third_interval.iter().any(|name| name == entry.name) {
            def.cadence = Cadence::Third;
        }
        def
    }
}

/// What sources share with each other and with the program that reads them.
#[derive(Default)]
pub struct SharedState {
    /// Counters of the recorder, for the source `whit`; `None` without a recorder, and then those
    /// fields are missing.
    pub recorder: Option<Arc<RecorderCounters>>,
    /// Counters of the job runner, for the source `job`; `None` where no jobs are run.
    pub jobs: Option<Arc<JobCounters>>,
    /// Counters that the sources about processes share.
    pub processes: ProcessCounters,
    /// The BPF program that copies the counters of CPUs.
    pub counters: SharedCounters,
    /// The kernel's types, for sources that load a BPF program.
    pub kernel: SharedKernel,
    /// Why sources have nothing to read.
    pub refusals: Refusals,
}

/// Methods of reading exits that are not tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExcludedExitMethods {
    /// No BPF programs.
    pub bpf: bool,
    /// No taskstats.
    pub taskstats: bool,
    /// No exits inferred from the parents' child times.
    pub inferred: bool,
}
