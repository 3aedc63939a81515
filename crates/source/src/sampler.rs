//! Reads a set of sources at one tick: the inner loop of the recorder and of playing collectl's
//! recordings.
//!
//! Costs one read of both clocks per source, without a system call (vDSO).

use std::sync::Arc;

use procfs::Host;
use sample::{Clock, Moment, Snapshot, SourceDef, State};

use crate::{Entry, Source, SourceContext, Wakeup};

/// Sources opened on a host, in the order of the feed.
pub struct Sampler {
    opened: Vec<(Arc<SourceDef>, Box<dyn Source>)>,
    /// The order in which they are read.
    order: Vec<usize>,
    /// Which of them need a last reading; kept for its memory.
    waits: Vec<bool>,
}

impl Sampler {
    /// Opens `entries` on `host`.
    pub fn open(host: &mut Host, entries: &[&'static Entry], context: &Arc<SourceContext>) -> Self {
        let def = |entry| Arc::new(context.filter.def(entry));
        let open = |entry: &&'static Entry| (def(entry), (entry.open)(host, context));
        let opened: Vec<(_, Box<dyn Source>)> = entries.iter().map(open).collect();
        context.shared.kernel.release();
        let mut order: Vec<usize> = (0..opened.len()).collect();
        order.sort_by_key(|&index| opened[index].1.reads_last());
        Sampler { opened, order, waits: vec![false; entries.len()] }
    }

    /// The sources' definitions, in the order of the feed.
    pub fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.opened.iter().map(|(def, _)| def.clone()).collect()
    }

    /// When the sources must be served between two ticks.
    pub fn wakeups(&self) -> impl Iterator<Item = Wakeup<'_>> {
        self.opened.iter().filter_map(|(_, source)| source.wakeup())
    }

    /// Makes every source drain its kernel buffer.
    pub fn drain_kernel_buffers(&mut self) {
        self.opened.iter_mut().for_each(|(_, source)| source.drain_kernel_buffer());
    }

    /// Calls `allows` with the overhead of each source since the last call; a source for which it
    /// returns false stops for good.
    pub fn limit_overhead(&mut self, mut allows: impl FnMut(usize, u64) -> bool) {
        for (index, (_, source)) in self.opened.iter_mut().enumerate() {
            let overhead_ns = source.overhead_ns();
            if overhead_ns > 0 && !allows(index, overhead_ns) {
                source.stop();
            }
        }
    }

    /// Takes a last reading into `snapshot` of the sources whose data would otherwise be lost; the
    /// others are not read.  Returns false, with `snapshot` unchanged, if there are none.
    pub fn finish(
        &mut self,
        host: &mut Host,
        clock: &mut dyn Clock,
        snapshot: &mut Snapshot,
    ) -> bool {
        let mut waits = std::mem::take(&mut self.waits);
        for (waits, (_, source)) in waits.iter_mut().zip(&mut self.opened) {
            *waits = source.finish();
        }
        let any = waits.contains(&true);
        if any {
            let wanted = |index: usize| waits.get(index) == Some(&true);
            let due =
                |index: usize, _: &_| if wanted(index) { State::Ok } else { State::NotRecorded };
            self.sample(host, clock, due, snapshot);
        }
        self.waits = waits;
        any
    }

    /// Takes one tick into `snapshot`: every source for which `due` says [`State::Ok`] is read;
    /// one for which it says [`State::Skipped`] gets that state as a fresh sample without being
    /// read; any other is left out of this tick.
    pub fn sample(
        &mut self,
        host: &mut Host,
        clock: &mut dyn Clock,
        due: impl FnMut(usize, &SourceDef) -> State,
        snapshot: &mut Snapshot,
    ) {
        self.sample_from(clock.now(), host, clock, due, snapshot);
    }

    /// Like [`sample`](Self::sample), for callers that have just read the clock.
    pub fn sample_from(
        &mut self,
        now: Moment,
        host: &mut Host,
        clock: &mut dyn Clock,
        mut due: impl FnMut(usize, &SourceDef) -> State,
        snapshot: &mut Snapshot,
    ) {
        host.begin_tick_at(now.monotonic_ns);
        let mut before = now;
        snapshot.monotonic_ns = before.monotonic_ns;
        snapshot.realtime_ns = before.realtime_ns;
        for &index in &self.order {
            let (def, source) = &mut self.opened[index];
            let sample = &mut snapshot.samples[index];
            let decision = due(index, def);
            snapshot.fresh[index] = matches!(decision, State::Ok | State::Skipped);
            if !snapshot.fresh[index] {
                continue;
            }
            sample.monotonic_ns = before.monotonic_ns;
            sample.realtime_ns = before.realtime_ns;
            sample.cost_ns = 0;
            sample.state = decision;
            if decision == State::Ok {
                sample.state = source.read(host, &mut sample.table);
                // The end of one read is the start of the next: one clock read a source.
                let after = clock.now();
                sample.cost_ns = after.monotonic_ns.saturating_sub(before.monotonic_ns);
                before = after;
            }
            if sample.state != State::Ok {
                sample.table.begin();
            }
        }
    }
}
