//! Two periods of a source side by side.

use std::collections::BTreeMap;

use sample::Kind;

use crate::archive::Recordings;
use crate::{Error, RangeQuery, StepValue};

/// Instance, index of the field.
type Key = (Vec<u8>, usize);

/// A field of an instance in two periods.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The instance; empty for a source with a single row.
    pub instance: Vec<u8>,
    /// The name of the field.
    pub field: String,
    /// The first period as one step; `None` if it has no value.
    pub before: Option<StepValue>,
    /// The second one.
    pub after: Option<StepValue>,
}

impl Compared {
    /// The mean of the second period over that of the first; `None` if one has none, or the first
    /// is 0.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let (before, after) = (self.before?.mean(), self.after?.mean());
        (before != 0.0).then(|| after / before)
    }
}

impl Recordings {
    /// Compares all numbers of a source in two periods, each from its first time up to its second.
    ///
    /// # Errors
    /// As [`range`](Self::range).
    pub fn compare(
        &self,
        host: &str,
        source: &str,
        before_ns: (i64, i64),
        after_ns: (i64, i64),
    ) -> Result<Vec<Compared>, Error> {
        let def = self.source(host, source)?;
        let numbers = def.fields.iter().filter(|field| field.kind != Kind::Text);
        let fields: Vec<String> = numbers.map(|field| field.name.to_string()).collect();
        let mut both: BTreeMap<Key, [Option<StepValue>; 2]> = BTreeMap::new();
        for (index, (from_ns, thru_ns)) in [before_ns, after_ns].into_iter().enumerate() {
            let answer = self.range(&RangeQuery {
                host: host.to_owned(),
                source: source.to_owned(),
                fields: fields.clone(),
                instances: Vec::new(),
                from_ns,
                thru_ns,
                step_ns: thru_ns.saturating_sub(from_ns),
            })?;
            for series in answer.series {
                let value = series.values.first().copied();
                both.entry((series.instance, series.field)).or_default()[index] = value;
            }
        }
        let compared = |((instance, field), [before, after]): (Key, [Option<StepValue>; 2])| {
            Compared { instance, field: fields[field].clone(), before, after }
        };
        Ok(both.into_iter().map(compared).collect())
    }
}
