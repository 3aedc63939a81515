//! This host, or the `/proc` and `/sys` below another root, read at each call.

use std::path::Path;
use std::sync::Arc;

use procfs::{Host, SystemClock};
use sample::{Snapshot, SourceDef, State};
use source::{Entry, RecorderCounters, Sampler, SourceContext};

use crate::{Feed, FeedError};

/// This host.  It never waits: the caller chooses when samples are taken.
pub struct LiveFeed {
    host: Host,
    sampler: Sampler,
    left_out: &'static [&'static str],
    counters: Arc<RecorderCounters>,
}

impl LiveFeed {
    /// Opens sources under `root`.
    #[must_use]
    pub fn open(root: &Path, entries: &[&'static Entry], mut context: SourceContext) -> Self {
        let counters = Arc::new(RecorderCounters::default());
        context.shared.recorder = Some(counters.clone());
        let mut host = Host::new(root);
        let sampler = Sampler::open(&mut host, entries, &Arc::new(context));
        LiveFeed { host, sampler, left_out: &[], counters }
    }

    /// Names of sources that are no longer read.
    pub fn leave_out(&mut self, names: &'static [&'static str]) {
        self.left_out = names;
    }

    /// Counters of this program, for the source `whit`.
    #[must_use]
    pub fn counters(&self) -> &RecorderCounters {
        &self.counters
    }
}

impl Feed for LiveFeed {
    fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.sampler.defs()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        let left_out = self.left_out;
        let due = |_, def: &SourceDef| {
            if left_out.contains(&&*def.name) { State::NotRecorded } else { State::Ok }
        };
        self.sampler.sample(&mut self.host, &mut SystemClock, due, snapshot);
        self.counters.samples.add(1);
        Ok(true)
    }
}
