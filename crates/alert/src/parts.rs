//! The parts of a service as series, so that a rule can be about them: `whit_part_up`,
//! `whit_part_failures_total`, and `whit_part_unwritten`, 1 while it cannot write.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use promql::{
    Labels, Matcher, MemoryStorage, Metadata, NAME, QueryBudget, QueryError, Series, SeriesPoint,
    SeriesStorage,
};
use service_account::{PartPhase, ServiceAccount};

/// How long samples are kept.
const KEPT_MS: i64 = 3_600_000;

/// A storage with the parts of a service beside its series.
pub(crate) struct ServiceParts {
    inner: Arc<dyn SeriesStorage>,
    file: Option<PathBuf>,
    kept: Mutex<MemoryStorage>,
}

impl ServiceParts {
    /// Adds the parts that the account of a service has, `parts.json`, if there is one.
    #[must_use]
    pub(crate) fn new(inner: Arc<dyn SeriesStorage>, file: Option<PathBuf>) -> Self {
        ServiceParts { inner, file, kept: Mutex::default() }
    }

    /// Reads the account: a sample of each part.  Without an account there is none.
    pub(crate) fn look(&self, now_ms: i64) {
        let account = self.file.as_ref().and_then(|file| ServiceAccount::read(file).ok());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for part in account.into_iter().flat_map(|account| account.parts) {
            let is_up = f64::from(u8::from(part.phase == PartPhase::Runs));
            let failed = part.failed as f64;
            let unwritten = f64::from(u8::from(part.unwritten.is_some()));
            let metrics = [
                ("whit_part_up", is_up),
                ("whit_part_failures_total", failed),
                ("whit_part_unwritten", unwritten),
            ];
            for (metric, value) in metrics {
                push(&mut kept, metric, &part.name, SeriesPoint { time_ms: now_ms, value });
            }
        }
        for series in &mut kept.series {
            series.samples.retain(|one| (0..=KEPT_MS).contains(&(now_ms - one.time_ms)));
        }
        kept.series.retain(|series| !series.samples.is_empty());
    }

    fn kept(&self) -> MemoryStorage {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn push(kept: &mut MemoryStorage, metric: &str, part: &str, sample: SeriesPoint) {
    let labels: Labels = [(NAME, metric), ("part", part)].into_iter().collect();
    let known = kept.series.iter_mut().find(|series| *series.labels == labels);
    match known {
        Some(series) => {
            // The clock may have been set back.
            series.samples.retain(|one| one.time_ms < sample.time_ms);
            series.samples.push(sample);
        }
        None => kept.series.push(Series { labels: Arc::new(labels), samples: vec![sample] }),
    }
}

impl SeriesStorage for ServiceParts {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        let mut found = self.inner.select(matchers, from_ms, to_ms, budget)?;
        found.extend(self.kept().select(matchers, from_ms, to_ms, budget)?);
        Ok(found)
    }

    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError> {
        let mut found = self.inner.series(matchers, from_ms, to_ms, budget)?;
        found.extend(self.kept().series(matchers, from_ms, to_ms, budget)?);
        Ok(found)
    }

    fn metadata(&self) -> Vec<Metadata> {
        self.inner.metadata()
    }
}
