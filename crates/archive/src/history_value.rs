//! The values of a history.

/// One field of one instance, from databases.
#[derive(Clone, Debug, PartialEq)]
pub struct HistorySeries {
    /// The instance; `*` for the sum over all instances, of a time for which databases have no others.
    pub instance: Vec<u8>,
    /// The index of the field among those of the query.
    pub field: usize,
    /// The steps that have a value, in rising order: none of them has a reading of a recording.
    pub values: Vec<HistoryValue>,
}

/// A step of a field of an instance, in the unit of the field; of a counter rates a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryValue {
    /// The number of the step, from 0.
    pub step: u32,
    /// The mean over the known rows that begin in the step.
    pub mean: f64,
    /// The smallest value, if an archive has it.
    pub min: Option<f64>,
    /// The largest value, if an archive has it.
    pub max: Option<f64>,
    /// The time that a row stands for; it may be longer than the step.
    pub resolution_ns: u64,
}
