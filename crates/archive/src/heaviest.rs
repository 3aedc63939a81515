//! The instances with most of a field in a period, alone or gathered by a text: processes by CPU time,
//! memory or I/O; commands, users, control groups by those of their processes.

use std::collections::HashMap;

use sample::Kind;

use crate::archive::Recordings;
use crate::range::check_fields;
use crate::reading::Select;
use crate::summary::{Cell, Gathered, Spans, What};
use crate::{Error, FieldValue};

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct HeaviestQuery {
    /// The machine.
    pub host: String,
    /// The name of the source, such as `process`.
    pub source: String,
    /// The name of the field.
    pub field: String,
    /// The name of a text field whose values are ranked, such as `command`; `None` for the instances
    /// themselves.  An instance counts for its latest text in the period.
    pub by: Option<String>,
    /// The start of the period, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// Its end: a sample at this time is not in it.
    pub thru_ns: i64,
    /// How many are wanted.
    pub count: usize,
}

/// One of the heaviest.
#[derive(Clone, Debug, PartialEq)]
pub struct Heavy {
    /// The instance, or the text; `None` for instances that have no such text.
    pub name: Option<Vec<u8>>,
    /// How many instances it has.
    pub instances: usize,
    /// How much a counter grew in all of them; of a gauge, the sum of all levels that were read.
    pub total: f64,
    /// The rate a second of a counter, or the level of a gauge, as the mean over the readings of the
    /// source in the period; the time in which an instance did not exist counts.
    pub mean: f64,
    /// The largest rate or level of one instance.
    pub peak: f64,
}

/// The sums of the instances.
#[derive(Default)]
struct Sums {
    instances: Vec<Sum>,
    is_counter: bool,
}

#[derive(Clone)]
struct Sum {
    total: i128,
    peak: f64,
    text: Option<Vec<u8>>,
}

impl Sums {
    fn add(&mut self, read: &Gathered<'_>) -> Result<(), Error> {
        if self.instances.len() <= read.instance {
            let none = Sum { total: 0, peak: f64::NEG_INFINITY, text: None };
            self.instances.resize(read.instance + 1, none);
        }
        let sum = &mut self.instances[read.instance];
        let values = match read.what {
            What::Value(value) => &Cell::of(value),
            What::Window(cell) => cell,
            What::Text(text) => {
                if read.field == 1 && sum.text.as_deref() != text {
                    sum.text = text.map(<[u8]>::to_vec);
                }
                return Ok(());
            }
        };
        self.is_counter |= matches!(values.last, FieldValue::Growth { .. });
        sum.total += values.sum;
        sum.peak = sum.peak.max(values.max.number());
        Ok(())
    }
}

impl Recordings {
    /// The heaviest in a period, the heaviest first; equals by name.
    ///
    /// # Errors
    /// An unknown host, source or field; a recording that cannot be read.
    pub fn heaviest(&self, query: &HeaviestQuery) -> Result<Vec<Heavy>, Error> {
        let def = self.source(&query.host, &query.source)?;
        check_fields(&def, &[&query.field])?;
        let mut fields = vec![query.field.as_str()];
        if let Some(by) = &query.by {
            let is_text = |field: &&sample::Field| field.kind == Kind::Text;
            if !def.fields.iter().filter(is_text).any(|field| field.name == by.as_str()) {
                let texts = def.fields.iter().filter(is_text).map(|field| &*field.name);
                return Err(Error::unknown_field(&def, by, texts));
            }
            fields.push(by);
        }
        let select = Select {
            host: &query.host,
            source: &query.source,
            fields: &fields,
            from_ns: query.from_ns,
            thru_ns: query.thru_ns,
        };
        let spans = Spans { step_ns: query.thru_ns.saturating_sub(query.from_ns), steps: 1 };
        let (sums, totals) = self.gather(&select, spans, Sums::default, Sums::add)?;
        let over = match sums.is_counter {
            true => totals.covered_ns as f64 / 1e9,
            false => totals.readings as f64,
        };
        let mut groups: HashMap<Option<Vec<u8>>, (usize, i128, f64)> = HashMap::new();
        for (instance, sum) in sums.instances.into_iter().enumerate() {
            if sum.peak == f64::NEG_INFINITY {
                continue;
            }
            let name = match query.by {
                Some(_) => sum.text,
                None => totals.names.get(instance).map(<[u8]>::to_vec),
            };
            let group = groups.entry(name).or_insert((0, 0, sum.peak));
            *group = (group.0 + 1, group.1 + sum.total, group.2.max(sum.peak));
        }
        let mut ranked: Vec<_> = groups.into_iter().collect();
        ranked.sort_by(|one, other| other.1.1.cmp(&one.1.1).then_with(|| one.0.cmp(&other.0)));
        ranked.truncate(query.count);
        let heavy = |(name, (instances, total, peak)): (Option<Vec<u8>>, (usize, i128, f64))| {
            let total = total as f64;
            Heavy { name, instances, total, mean: total / over, peak }
        };
        Ok(ranked.into_iter().map(heavy).collect())
    }
}
