//! The instances with most of a field in a period, alone or gathered by a text: processes by CPU time,
//! memory or I/O; commands, users, control groups by those of their processes.

use std::collections::HashMap;

use sample::{Kind, SourceDef};

use crate::Error;
use crate::archive::Recordings;
use crate::range::check_fields;
use crate::reading::Select;
use crate::summary::{Gathered, Spans, Totals, What};

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
    /// The end of the period: a sample at this time is not in it.
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

/// What a period has of some fields, instance by instance.
#[derive(Default)]
pub(crate) struct InstanceSums {
    /// How many fields are numbers; one that is a text may follow.
    fields: usize,
    /// Instances by fields.
    sums: Vec<Option<Sum>>,
    /// The latest text of each instance.
    texts: Vec<Option<Vec<u8>>>,
    /// Names, readings, and the time that they cover.
    pub(crate) totals: Totals,
}

/// One field of one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    /// How much a counter grew; of a gauge, the sum of all levels.
    pub(crate) total: i128,
    /// The largest rate or level.
    pub(crate) peak: f64,
}

impl InstanceSums {
    fn add(&mut self, read: &Gathered<'_>) -> Result<(), Error> {
        if self.texts.len() <= read.instance {
            self.texts.resize(read.instance + 1, None);
            self.sums.resize((read.instance + 1) * self.fields, None);
        }
        let values = match read.what {
            What::Values(values) => values,
            What::Text(text) => {
                let known = &mut self.texts[read.instance];
                if read.field == self.fields && known.as_deref() != text {
                    *known = text.map(<[u8]>::to_vec);
                }
                return Ok(());
            }
        };
        let sum = &mut self.sums[read.instance * self.fields + read.field];
        let sum = sum.get_or_insert(Sum { total: 0, peak: f64::NEG_INFINITY });
        sum.total += values.sum;
        sum.peak = sum.peak.max(values.max);
        Ok(())
    }

    /// The instances that have any value, each with its fields and its latest text.
    pub(crate) fn instances(&self) -> impl Iterator<Item = InstanceSum<'_>> {
        (0..self.texts.len()).filter_map(|instance| self.instance(instance))
    }

    /// The instance with a name, if it has any value.
    pub(crate) fn find(&self, name: &[u8]) -> Option<InstanceSum<'_>> {
        self.instance(self.totals.names.find(name, |_| true)?)
    }

    fn instance(&self, instance: usize) -> Option<InstanceSum<'_>> {
        let sums = self.sums.get(instance * self.fields..(instance + 1) * self.fields)?;
        sums.iter().any(Option::is_some).then(|| InstanceSum {
            name: self.totals.names.get(instance).unwrap_or_default(),
            sums,
            text: self.texts[instance].as_deref(),
        })
    }
}

/// What a period has of an instance.
#[derive(Clone, Copy)]
pub(crate) struct InstanceSum<'a> {
    pub(crate) name: &'a [u8],
    /// For each field; `None` without values.
    pub(crate) sums: &'a [Option<Sum>],
    pub(crate) text: Option<&'a [u8]>,
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
            check_text(&def, by)?;
            fields.push(by);
        }
        let select = Select {
            host: &query.host,
            source: &query.source,
            fields: &fields,
            from_ns: query.from_ns,
            thru_ns: query.thru_ns,
        };
        let sums = self.instance_sums(&select, 1)?;
        // Checked above.
        let over = match def.field(&query.field).map(|field| def.fields[field].kind) {
            Some(Kind::Counter) => sums.totals.covered_ns as f64 / 1e9,
            _ => sums.totals.readings as f64,
        };
        let mut groups: HashMap<Option<Vec<u8>>, (usize, i128, f64)> = HashMap::new();
        for instance in sums.instances() {
            let Some(sum) = instance.sums[0] else { continue };
            let name = if query.by.is_some() { instance.text } else { Some(instance.name) };
            let group = groups.entry(name.map(<[u8]>::to_vec)).or_insert((0, 0, sum.peak));
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

    /// What a period has, instance by instance, of the first fields asked for, which are numbers.  A
    /// text may follow them.
    pub(crate) fn instance_sums(
        &self,
        select: &Select<'_>,
        fields: usize,
    ) -> Result<InstanceSums, Error> {
        let step_ns = select.thru_ns.saturating_sub(select.from_ns).max(1);
        let spans = Spans { step_ns, steps: 1, instances: &[] };
        let begin = || InstanceSums { fields, ..InstanceSums::default() };
        let (sums, totals) = self.gather(select, spans, begin, InstanceSums::add)?;
        Ok(InstanceSums { totals, ..sums })
    }
}

/// Checks that a source has a text of that name.
pub(crate) fn check_text(def: &SourceDef, name: &str) -> Result<(), Error> {
    let texts = || def.fields.iter().filter(|field| field.kind == Kind::Text);
    if texts().any(|field| field.name == name) {
        return Ok(());
    }
    Err(Error::unknown_field(def, name, texts().map(|field| &*field.name)))
}
