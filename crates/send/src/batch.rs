//! What is sent at once: points of series, of some samples in sequence.

use promql::Labels;

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchPoint {
    /// The number of the series ([`BatchSeries`]).
    pub series: u32,
    /// When it was read, in milliseconds since the epoch.
    pub time_ms: i64,
    /// The value in base units, or the mark of a series that ends.
    pub value: f64,
}

/// Where the samples of a batch are from: what was sent up to here, once it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleEnd {
    /// The number of the recording.
    pub file_id: u64,
    /// The number of the next sample in it.
    pub next: u64,
    /// Points of the batch before this.
    pub points: usize,
    /// When the sample was taken, in nanoseconds since the epoch.
    pub realtime_ns: i64,
}

/// Points of some samples.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The points, in the order of the samples.
    pub points: Vec<BatchPoint>,
    /// The end of each sample in it.
    pub ends: Vec<SampleEnd>,
}

impl Batch {
    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.points.clear();
        self.ends.clear();
    }

    /// The points of some of its samples.
    pub(crate) fn points_of(&self, samples: std::ops::Range<usize>) -> &[BatchPoint] {
        let begin = samples.start.checked_sub(1).map_or(0, |before| self.ends[before].points);
        let end = samples.end.checked_sub(1).map_or(0, |last| self.ends[last].points);
        &self.points[begin..end]
    }
}

/// All series seen so far, by their numbers.
#[derive(Debug, Default)]
pub struct BatchSeries {
    labels: Vec<Labels>,
    numbers: std::collections::HashMap<Labels, u32>,
    generation: u64,
}

impl BatchSeries {
    /// The labels of a series.
    #[must_use]
    pub fn labels(&self, number: u32) -> &Labels {
        &self.labels[number as usize]
    }

    /// Changes when numbers have got another meaning.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The number of the series with these labels.
    pub(crate) fn number(&mut self, labels: Labels) -> u32 {
        if let Some(&known) = self.numbers.get(&labels) {
            return known;
        }
        let number = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        self.numbers.insert(labels.clone(), number);
        self.labels.push(labels);
        number
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Forgets all series.
    pub(crate) fn clear(&mut self) {
        self.labels.clear();
        self.numbers.clear();
        self.generation += 1;
    }
}
