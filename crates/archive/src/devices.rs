//! Devices that `whit poll` records, as hosts of their own.
//!
//! A poller records each device as a source of its own machine, whose fields are the device's targets
//! (`TARGET_in`, `TARGET_out`).  Here a device is a host with one source, `target`: its instances are the
//! targets, its fields what goes in and out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sample::{Direction, Field, Kind, SourceDef, Unit};

use crate::archive::Recordings;
use crate::archived_file::ArchivedFile;
use crate::stored::{StoredRow, StoredValue, VisitStored};
use crate::targets::{TARGET, target_source};
use crate::{Error, RangeAnswer, RangeCost, RangeQuery, RangeSeries, Select};

/// The field of a target's value, by how it is recorded.
fn name_of(direction: Direction, field: &Field) -> Option<&'static str> {
    let names = match (field.kind, field.unit) {
        (Kind::Counter, _) => ["in", "out"],
        (Kind::Gauge, Unit::Hundredths) => ["in_value", "out_value"],
        (Kind::Gauge, _) => ["in_level", "out_level"],
        (Kind::Text, _) => return None,
    };
    Some(names[usize::from(direction == Direction::Out)])
}

/// A source that a poller recorded of a device.
struct Polled<'a> {
    poller: &'a str,
    def: Arc<SourceDef>,
}

/// A value of a target.
struct TargetValue {
    target: Vec<u8>,
    /// The index among the fields that are asked for.
    asked: usize,
    /// The name as it is recorded.
    recorded: String,
}

impl Polled<'_> {
    /// The values of those fields of targets that are asked for.
    fn values(&self, asked: &[&str]) -> Vec<TargetValue> {
        let values = self.def.fields.iter().filter_map(|field| {
            let (target, direction) = SourceDef::target_of(&field.name)?;
            let name = name_of(direction, field)?;
            let asked = asked.iter().position(|asked| *asked == name)?;
            Some(TargetValue {
                target: target.into_bytes(),
                asked,
                recorded: field.name.to_string(),
            })
        });
        values.collect()
    }
}

impl ArchivedFile {
    /// Whether it has readings of a device.
    pub(crate) fn has_device(&self, device: &str) -> bool {
        self.defs.iter().any(|def| def.device() == Some(device))
    }
}

impl Recordings {
    /// The devices that pollers recorded.
    pub(crate) fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for device in self.files.iter().flat_map(|file| file.defs.iter()).filter_map(|d| d.device())
        {
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        devices
    }

    /// The folders in which pollers recorded devices.
    #[must_use]
    pub fn device_folders(&self) -> BTreeSet<&Path> {
        let files = self.files.iter();
        let polled = files.filter(|file| file.defs.iter().any(|def| def.device().is_some()));
        polled.filter_map(|file| file.file.path.parent()).collect()
    }

    /// What pollers recorded of a device, if the question is about its targets.
    fn polled(&self, host: &str, source: &str) -> Vec<Polled<'_>> {
        let mut found: Vec<Polled<'_>> = Vec::new();
        for (_, file) in self.of_host(host).filter(|_| source == TARGET) {
            let poller = file.file.meta.host();
            for def in file.defs.iter().filter(|def| def.device() == Some(host)) {
                let is_same =
                    |one: &&mut Polled<'_>| one.poller == poller && one.def.name == def.name;
                match found.iter_mut().find(is_same) {
                    Some(known) => known.def = def.clone(),
                    None => found.push(Polled { poller, def: def.clone() }),
                }
            }
        }
        found
    }

    /// A range of the targets of a device; `None` if the question is about something else.
    pub(crate) fn range_of_targets(
        &self,
        query: &RangeQuery,
    ) -> Result<Option<RangeAnswer>, Error> {
        let polled = self.polled(&query.host, &query.source);
        if polled.is_empty() {
            return Ok(None);
        }
        let asked: Vec<&str> = query.fields.iter().map(String::as_str).collect();
        let def = Arc::new(target_source());
        crate::range::check_fields(&def, &asked)?;
        let (mut steps, mut cost) = (0, RangeCost::default());
        // A target that two pollers know has the values of the first that has any.
        let mut series: BTreeMap<(Vec<u8>, usize), RangeSeries> = BTreeMap::new();
        for one in &polled {
            let mut values = one.values(&asked);
            values.retain(|value| {
                query.instances.is_empty() || query.instances.contains(&value.target)
            });
            let answer = self.range(&RangeQuery {
                host: one.poller.to_owned(),
                source: one.def.name.to_string(),
                fields: values.iter().map(|value| value.recorded.clone()).collect(),
                instances: Vec::new(),
                ..*query
            })?;
            steps = answer.steps;
            cost.readings += answer.cost.readings;
            cost.windows += answer.cost.windows;
            cost.summary_bytes += answer.cost.summary_bytes;
            for read in answer.series {
                let TargetValue { target, asked, .. } = &values[read.field];
                let (instance, field) = (target.clone(), *asked);
                let read = RangeSeries { instance, field, values: read.values };
                series.entry((target.clone(), field)).or_insert(read);
            }
        }
        let series = series.into_values().collect();
        Ok(Some(RangeAnswer { steps, def, series, history: Vec::new(), cost }))
    }

    /// Gives the rows of the targets of a device to `visit`; false if the question is about something
    /// else.
    pub(crate) fn stored_targets(
        &self,
        select: &Select<'_>,
        visit: &mut dyn VisitStored,
    ) -> Result<bool, Error> {
        let polled = self.polled(select.host, select.source);
        let def = target_source();
        let mut count = 0;
        for one in &polled {
            let values = one.values(select.fields);
            let recorded: Vec<&str> = values.iter().map(|value| value.recorded.as_str()).collect();
            let mut targets: BTreeMap<&[u8], Vec<Option<usize>>> = BTreeMap::new();
            for (at, value) in values.iter().enumerate() {
                let width = select.fields.len();
                let places = targets.entry(&value.target).or_insert_with(|| vec![None; width]);
                places[value.asked].get_or_insert(at);
            }
            let targets = targets.into_iter().filter(|(name, _)| visit.wants(name)).collect();
            let mut rows = TargetRows { visit: &mut *visit, def: &def, first: count, targets };
            count += rows.targets.len();
            let of_poller =
                Select { host: one.poller, source: &one.def.name, fields: &recorded, ..*select };
            self.stored(&of_poller, &mut rows)?;
        }
        Ok(!polled.is_empty())
    }
}

/// The targets of a device, while the rows of its source come.
struct TargetRows<'a> {
    visit: &'a mut dyn VisitStored,
    def: &'a SourceDef,
    /// The number of the first target.
    first: usize,
    /// The targets that are wanted: for each field that is asked for its place in a row.
    targets: Vec<(&'a [u8], Vec<Option<usize>>)>,
}

impl VisitStored for TargetRows<'_> {
    fn wants(&mut self, _name: &[u8]) -> bool {
        !self.targets.is_empty()
    }

    fn row(&mut self, row: &StoredRow<'_>) -> Result<(), Error> {
        let mut values = Vec::new();
        for (at, (name, places)) in self.targets.iter().enumerate() {
            values.clear();
            let value = |place: &Option<usize>| {
                place.zip(row.values).map_or(StoredValue::Missing, |(place, values)| values[place])
            };
            values.extend(places.iter().map(value));
            let values = row.values.map(|_| &values[..]);
            let (instance, def) = (self.first + at, self.def);
            self.visit.row(&StoredRow { instance, name, def, values, ..*row })?;
        }
        Ok(())
    }
}
