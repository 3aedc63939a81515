//! Samples thinned to steps: of each series one point a step, the mean of a gauge and the last value of a
//! counter, whose increase is then that of the whole step.
//!
//! Steps are those of the wall clock, so a sender that goes on makes the same ones.  The cursor moves
//! behind a step when the engine has it; the samples of the step that is not yet over are read again.

use std::collections::BTreeMap;

use promql::{NAME, is_stale};

use crate::SendError;
use crate::batch::{Batch, BatchPoint, BatchSeries, SampleEnd, SeriesKind};

/// The longest step: its readings are in memory as sums, and are read again after an end.
const STEP_NS_MAX: i64 = 24 * 3600 * 1_000_000_000;

/// How samples are thinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepChoice {
    /// The length of a step in nanoseconds.
    pub step_ns: i64,
    /// Whether the smallest and the largest value of gauges are sent, too: series whose names end in
    /// `_min` and `_max`.
    pub spread: bool,
}

impl StepChoice {
    /// Steps of this length in nanoseconds, if there is one.
    ///
    /// # Errors
    /// If steps cannot be so long.
    pub fn new(step_ns: Option<u64>, spread: bool) -> Result<Option<Self>, SendError> {
        let Some(step_ns) = step_ns else { return Ok(None) };
        match i64::try_from(step_ns) {
            Ok(step_ns) if (1..=STEP_NS_MAX).contains(&step_ns) => {
                Ok(Some(StepChoice { step_ns, spread }))
            }
            _ => Err(SendError::Step),
        }
    }
}

/// The step of a recording that is not yet over.
pub(crate) struct StepSums {
    choice: StepChoice,
    /// The number of the step since the epoch.
    step: i64,
    samples: u64,
    newest_ns: i64,
    sums: BTreeMap<u32, StepSum>,
    /// The points of a sample.
    scratch: Batch,
}

/// A series in a step.
#[derive(Default)]
struct StepSum {
    last: Option<BatchPoint>,
    sum: f64,
    count: u32,
    min: f64,
    max: f64,
    /// The mark of its end, if it has ended.
    ended: Option<BatchPoint>,
}

impl StepSums {
    pub(crate) fn new(choice: StepChoice) -> Self {
        StepSums {
            choice,
            step: i64::MIN,
            samples: 0,
            newest_ns: 0,
            sums: BTreeMap::new(),
            scratch: Batch::default(),
        }
    }

    /// Whether a sample is of a later step, or of an earlier one after the clock was set.
    pub(crate) fn is_over(&self, realtime_ns: i64) -> bool {
        self.step != self.step_of(realtime_ns)
    }

    /// Visits the number of each series that has a point in the step.
    pub(crate) fn visit_numbers(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        let renumbered = std::mem::take(&mut self.sums).into_iter().map(|(mut number, mut one)| {
            visit(&mut number);
            let points = one.last.iter_mut().chain(&mut one.ended);
            points.for_each(|point| point.series = number);
            (number, one)
        });
        self.sums = renumbered.collect();
    }

    fn step_of(&self, realtime_ns: i64) -> i64 {
        realtime_ns.div_euclid(self.choice.step_ns.max(1))
    }

    /// Begins with a sample: what its points are written to.
    pub(crate) fn begin(&mut self, realtime_ns: i64) -> &mut Batch {
        self.step = self.step_of(realtime_ns);
        self.samples += 1;
        self.newest_ns = realtime_ns;
        &mut self.scratch
    }

    /// Takes the points of the sample.
    pub(crate) fn absorb(&mut self) {
        for point in self.scratch.points.drain(..) {
            let one = self.sums.entry(point.series).or_default();
            if is_stale(point.value) {
                one.ended = Some(point);
                continue;
            }
            one.ended = None;
            one.min = if one.count == 0 { point.value } else { one.min.min(point.value) };
            one.max = if one.count == 0 { point.value } else { one.max.max(point.value) };
            one.sum += point.value;
            one.count += 1;
            one.last = Some(point);
        }
    }

    /// Hands the step over, if there is any of it.
    pub(crate) fn flush(
        &mut self,
        (file_id, next): (u64, u64),
        series: &mut BatchSeries,
        batch: &mut Batch,
    ) {
        if self.samples == 0 {
            return;
        }
        for (number, one) in std::mem::take(&mut self.sums) {
            let kind = series.kind(number);
            let mean = match kind {
                SeriesKind::Gauge => Some(one.sum / f64::from(one.count)),
                SeriesKind::Counter | SeriesKind::Fact => None,
            };
            let points =
                one.last.map(|last| BatchPoint { value: mean.unwrap_or(last.value), ..last });
            batch.points.extend(points);
            batch.points.extend(one.ended);
            if !self.choice.spread || kind != SeriesKind::Gauge {
                continue;
            }
            for (end, value) in [("_min", one.min), ("_max", one.max)] {
                let mut labels = series.labels(number).to_labels();
                let name = format!("{}{end}", labels.get(NAME));
                labels.set(NAME, &name);
                let about = series.about(number).clone();
                let of = series.number(&labels, kind, (None, self.newest_ns / 1_000_000));
                series.describe(of, about);
                batch.points.extend(one.last.map(|last| BatchPoint { series: of, value, ..last }));
                batch.points.extend(one.ended.map(|mark| BatchPoint { series: of, ..mark }));
            }
        }
        batch.ends.push(SampleEnd {
            file_id,
            next,
            samples: std::mem::take(&mut self.samples),
            points: batch.points.len(),
            realtime_ns: self.newest_ns,
        });
    }
}
