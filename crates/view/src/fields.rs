//! Which fields the machine-readable views write, and in which units.
//!
//! CSV, JSON and OpenMetrics share these rules.  A **gauge** is its level; a **counter** is its
//! rate per second over the true time between the two readings of its source (per interval with
//! `-on`), except in OpenMetrics, which wants the counter itself.  Every number is in base units:
//! bytes, seconds, celsius, watts, bits per second; CPU time is seconds per second, so `0.25` is a
//! quarter of one CPU.  A missing value is left out, never 0.
//!
//! `--fields NAME,…` chooses: `disk`, `disk.reads`, `disk[vda]`, `disk[vda].reads`, or `reads`
//! alone for the field of that name of every source that has it.  An instance is named as these
//! views print it: escaped as on the screen, its parts joined by `:`.

use std::io;
use std::sync::Arc;

use layout::{ChosenValues, Frame, Options, Row, SourceStep, text};
use sample::{Field, Kind, Level, Meta, SourceDef, State, Track, Unit};

/// One name of `--fields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// `None` for every source.
    pub(crate) source: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) field: Option<String>,
}

impl Item {
    fn parse(name: &str) -> Option<Item> {
        let ends = name.find(['[', '.']).unwrap_or(name.len());
        let (source, mut rest) = name.split_at(ends);
        let mut instance = None;
        if let Some(inner) = rest.strip_prefix('[') {
            // An instance's name may contain brackets and full stops, a field's cannot.
            let close = inner.rfind(']')?;
            instance = Some(inner[..close].to_owned());
            rest = &inner[close + 1..];
        }
        let field = match rest.strip_prefix('.') {
            Some(field) => Some(field.to_owned()),
            None if rest.is_empty() => None,
            None => return None,
        };
        let named = !source.is_empty() && field.as_deref() != Some("");
        let field = field.filter(|field| field != "*");
        named.then(|| Item { source: Some(source.to_owned()), instance, field })
    }

    /// The indexes of the fields of `def` that the item selects.
    pub(crate) fn fields(&self, def: &SourceDef) -> Vec<usize> {
        if self.source.as_deref().is_some_and(|source| source != def.name) {
            return Vec::new();
        }
        let asked = |field: &Field| self.field.as_deref().is_none_or(|name| name == field.name);
        (0..def.fields.len()).filter(|&index| asked(&def.fields[index])).collect()
    }
}

/// The choice made by `--fields`, or by `-s` when there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) items: Vec<Item>,
    subsystems: layout::Selection,
}

impl Selection {
    /// Parses the choice and checks it against the sources of the feed, and of those that are played
    /// after it.
    ///
    /// # Errors
    /// `InvalidInput` with one sentence for a name that cannot be read or that nothing has.
    pub(crate) fn of(options: &Options, defs: &[Arc<SourceDef>]) -> io::Result<Selection> {
        let mut items = Vec::with_capacity(options.fields.len());
        for name in &options.fields {
            let mut item = Item::parse(name).ok_or_else(|| {
                invalid(format!(
                    "--fields: cannot read '{name}'; give source, source.field or \
                     source[instance].field"
                ))
            })?;
            let mut known = defs.iter().chain(&options.sources_played);
            let is_source = known.clone().any(|def| item.source.as_deref() == Some(&*def.name));
            let is_field = known.clone().any(|def| def.field(name).is_some());
            if !is_source && is_field {
                item = Item { source: None, instance: None, field: Some(name.clone()) };
            }
            if !known.any(|def| !item.fields(def).is_empty()) {
                let played = match options.sources_played.as_slice() {
                    [] => defs,
                    played => played,
                };
                return Err(invalid(unknown(name, &item, played)));
            }
            items.push(item);
        }
        Ok(Selection { items, subsystems: options.subsystems.clone() })
    }

    /// The chosen fields of each source of a feed.
    pub(crate) fn plans(&self, defs: &[Arc<SourceDef>]) -> Vec<Plan> {
        defs.iter().map(|def| self.plan(def)).collect()
    }

    /// The chosen fields of one source, in its own order; empty if it is not selected.
    pub(crate) fn plan(&self, def: &SourceDef) -> Plan {
        if self.items.is_empty() {
            let asked = self.subsystems.is_empty() || self.subsystems.asks_for(def);
            let fields = if asked { (0..def.fields.len()).collect() } else { Vec::new() };
            return Plan { only: vec![None; fields.len()], fields };
        }
        let mut plan = Plan { fields: Vec::new(), only: Vec::new() };
        for field in 0..def.fields.len() {
            let asking: Vec<&Item> =
                self.items.iter().filter(|item| item.fields(def).contains(&field)).collect();
            if asking.is_empty() {
                continue;
            }
            let all = asking.iter().any(|item| item.instance.is_none());
            let names = asking.iter().filter_map(|item| item.instance.clone()).collect();
            plan.fields.push(field);
            plan.only.push(if all { None } else { Some(names) });
        }
        plan
    }
}

/// The chosen fields of one source.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Indexes of fields.
    pub(crate) fields: Vec<usize>,
    /// For each of them the instances to show; `None` for all.
    pub(crate) only: Vec<Option<Vec<String>>>,
}

impl Plan {
    /// The chosen fields of one instance.
    pub(crate) fn of<'a>(&'a self, instance: &'a str) -> impl Iterator<Item = usize> + 'a {
        let shown = move |only: &Option<Vec<String>>| {
            only.as_ref().is_none_or(|names| names.iter().any(|name| name == instance))
        };
        let pairs = self.fields.iter().zip(&self.only);
        pairs.filter(move |(_, only)| shown(only)).map(|(&field, _)| field)
    }
}

/// What a view for programs writes of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// A level, or a rate per second, in base units ([`number`]).
    Number(f64),
    /// Bytes from the kernel.
    Text(&'a [u8]),
}

/// The value of a cell; `None` if it is missing.
pub(crate) fn value<'a>(row: &Row<'a>, field: usize) -> Option<Value<'a>> {
    match row.track.def.fields[field].kind {
        Kind::Text => row.text(field).map(Value::Text),
        Kind::Counter | Kind::Gauge => number(row, field).map(Value::Number),
    }
}

/// Calls `write` for each chosen value of a tick, with its row, the name of the row's instance
/// (empty for a source with a single row) and the index of its field.  The plans are those of
/// [`Selection::plans`], in the order of the feed's sources.
///
/// # Errors
/// The first error of `write`.
pub(crate) fn for_each_value(
    frame: &Frame<'_>,
    plans: &[Plan],
    mut write: impl FnMut(&Row<'_>, &str, usize, Value<'_>) -> io::Result<()>,
) -> io::Result<()> {
    for (track, plan) in frame.tracks.iter().zip(plans).filter(|(_, plan)| !plan.fields.is_empty())
    {
        for (row, instance) in rows_shown(frame, track) {
            for field in plan.of(&instance) {
                if let Some(value) = value(&row, field) {
                    write(&row, &instance, field, value)?;
                }
            }
        }
    }
    Ok(())
}

/// The rows of a source that were read at this tick and pass the filters, with their names.
pub(crate) fn rows_shown<'a>(
    frame: &Frame<'a>,
    track: &'a Track,
) -> impl Iterator<Item = (Row<'a>, String)> + use<'a> {
    rows_kept(frame, track).map(|row| (row, instance_text(row.name())))
}

/// The rows of a source that were read at this tick and pass the filters.
pub(crate) fn rows_kept<'a>(
    frame: &Frame<'a>,
    track: &'a Track,
) -> impl Iterator<Item = Row<'a>> + use<'a> {
    let is_read = track.fresh && track.current.state == State::Ok;
    frame.whole(track).rows().filter(move |row| is_read && keeps(row))
}

/// Which sources of a feed `--fields` chooses from, or `-s` when there is none.
///
/// # Errors
/// As [`check_fields`].
pub fn chosen_sources(options: &Options, defs: &[Arc<SourceDef>]) -> io::Result<Vec<bool>> {
    let chosen = chosen_values(options, defs, true)?;
    Ok(chosen.iter().map(|chosen| !chosen.fields.is_empty()).collect())
}

/// What `--fields` chooses of each source of a feed, or `-s` when there is none; of all instances if
/// their names may not be those in the recording.
///
/// # Errors
/// As [`check_fields`].
pub fn chosen_values(
    options: &Options,
    defs: &[Arc<SourceDef>],
    is_renamed: bool,
) -> io::Result<Vec<ChosenValues>> {
    let selection = Selection::of(options, defs)?;
    let values = |def: &Arc<SourceDef>| {
        let Plan { mut fields, only } = selection.plan(def);
        let instances = if is_renamed { Vec::new() } else { recorded_names(&only) };
        if let Some(detail) = options.layouts.at(def, Level::Detail).filter(|_| !fields.is_empty())
        {
            match (detail.keep_reads)(options) {
                Some(read) => fields.extend(read),
                None => fields = (0..def.fields.len()).collect(),
            }
        }
        fields.sort_unstable();
        fields.dedup();
        ChosenValues { fields, instances }
    };
    Ok(defs.iter().map(values).collect())
}

/// The names of instances before [`instance_text`] made texts of them; none if all instances are
/// chosen, or if a text can stand for many names.
fn recorded_names(only: &[Option<Vec<String>>]) -> Vec<Vec<u8>> {
    let named: Option<Vec<&Vec<String>>> = only.iter().map(Option::as_ref).collect();
    let mut names = Vec::new();
    for text in named.into_iter().flatten().flatten() {
        if text.contains('\\') || text.matches(':').count() > 1 {
            return Vec::new();
        }
        let divided = text.bytes().map(|byte| match byte {
            b':' => SourceDef::INSTANCE_SEPARATOR,
            byte => byte,
        });
        let possible = [text.clone().into_bytes(), divided.collect()];
        names.extend(possible.into_iter().filter(|name| instance_text(name) == *text));
    }
    names.sort();
    names.dedup();
    names
}

/// Checks `--fields` against the sources of a feed, before anything is opened.
///
/// # Errors
/// `InvalidInput` with one sentence for a name that cannot be read or that nothing has.
pub fn check_fields(fields: &[String], defs: &[Arc<SourceDef>]) -> io::Result<()> {
    let options = Options { fields: fields.to_vec(), ..Options::default() };
    Selection::of(&options, defs).map(|_| ())
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn unknown(name: &str, item: &Item, defs: &[Arc<SourceDef>]) -> String {
    let source = item.source.as_deref().unwrap_or(name);
    match defs.iter().find(|def| def.name == source) {
        Some(def) => {
            let fields: Vec<&str> = def.fields.iter().map(|field| &*field.name).collect();
            format!("--fields: no field '{name}'; {} has {}", def.name, fields.join(", "))
        }
        None => {
            let sources: Vec<&str> = defs.iter().map(|def| &*def.name).collect();
            format!("--fields: no source or field '{source}' here; sources: {}", sources.join(", "))
        }
    }
}

/// An instance's name as these views print it: escaped, its parts joined by `:`.
#[must_use]
pub fn instance_text(name: &[u8]) -> String {
    let parts = name.split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR);
    parts.map(text::escape).collect::<Vec<_>>().join(":")
}

/// The parts of an instance's name, one for each label of its source, escaped.
pub fn instance_parts(name: &[u8]) -> impl Iterator<Item = String> {
    name.split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR).map(text::escape)
}

/// Whether display filters keep the instance.
pub fn keeps(row: &Row<'_>) -> bool {
    let detail = row.options().layouts.at(&row.track.def, Level::Detail);
    row.track.def.instance.is_empty() || detail.is_none_or(|layout| (layout.keep)(row))
}

/// How stored values of a unit become numbers in base units.  Divides where a stored step is a
/// fraction of a unit, so that 29 hundredths are 0.29 and not 0.29000000000000004.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaseUnits {
    factor: f64,
    divisor: f64,
}

impl BaseUnits {
    /// The base of a unit, in a recording with this meta.
    #[must_use]
    pub fn of(unit: Unit, meta: &Meta) -> Self {
        let (factor, divisor) = match unit {
            Unit::Ticks => (1.0, meta.ticks_per_second().max(1) as f64),
            Unit::Nanoseconds => (1.0, 1e9),
            Unit::Microseconds | Unit::Microwatts => (1.0, 1e6),
            Unit::Milliseconds | Unit::Millicelsius | Unit::Millivolts => (1.0, 1e3),
            Unit::Hundredths | Unit::PercentHundredths => (1.0, 1e2),
            Unit::Pages => (meta.page_size_bytes() as f64, 1.0),
            // Neither pages nor ticks.
            _ => (unit.base_scale(1, 1), 1.0),
        };
        BaseUnits { factor, divisor }
    }

    /// A stored value as a number in base units.
    #[must_use]
    pub fn number(self, value: f64) -> f64 {
        value * self.factor / self.divisor
    }

    /// The raw value of a field of a kind: of a gauge it is signed.
    #[must_use]
    pub fn raw(self, kind: Kind, raw: u64) -> f64 {
        self.number(if kind == Kind::Gauge { raw.cast_signed() as f64 } else { raw as f64 })
    }
}

/// A stored value in base units.
pub fn to_base(unit: Unit, value: f64, meta: &Meta) -> f64 {
    BaseUnits::of(unit, meta).number(value)
}

/// The raw value of a counter or gauge in base units: a counter's sum, not its rate.
pub fn raw_in_base(field: &Field, raw: u64, meta: &Meta) -> f64 {
    BaseUnits::of(field.unit, meta).raw(field.kind, raw)
}

/// What CSV and JSON print for a cell that is not text: a level, or a rate per second, in base
/// units.
pub fn number(row: &Row<'_>, field: usize) -> Option<f64> {
    let Field { unit, kind, .. } = row.track.def.fields[field];
    row.raw(field)?;
    let value = match kind {
        Kind::Counter => row.rate(field)?,
        Kind::Gauge => row.gauge(field)?,
        Kind::Text => return None,
    };
    Some(to_base(unit, value, row.frame.meta)).filter(|value| value.is_finite())
}

/// The smallest and the largest number of a cell among the readings of a step, as [`number`] has its
/// mean.
pub(crate) fn spread(row: &Row<'_>, field: usize) -> [Option<f64>; 2] {
    let (cell, unit) = (row.step_cell(field), row.track.def.fields[field].unit);
    let cell = cell.unwrap_or_default();
    [cell.min, cell.max].map(|value| Some(to_base(unit, value?, row.frame.meta)))
}

/// Where the values of sources in a step come from, and in which resolution: the name (both, if they
/// have different ones) and the longest time in seconds.
pub(crate) fn origin_of<'a>(
    steps: impl Iterator<Item = &'a SourceStep>,
) -> Option<(&'static str, f64)> {
    let parts = steps.filter_map(|step| step.origin);
    let parts = parts.map(|origin| (origin.name(), origin.resolution_seconds()));
    parts.reduce(|(name, seconds), (other, more)| {
        let name = if name == other { name } else { "recording+history" };
        (name, seconds.max(more))
    })
}

/// A time since the epoch as CSV and JSON print it: `2026-11-21T04:35:02.001Z`.
pub(crate) fn time_text(realtime_ns: i64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(realtime_ns)).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Seconds with thousandths, of nanoseconds since the epoch.
#[must_use]
pub fn epoch_text(realtime_ns: i64) -> String {
    let milliseconds = realtime_ns.div_euclid(1_000_000);
    format!("{}.{:03}", milliseconds.div_euclid(1000), milliseconds.rem_euclid(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_asked_for_by_the_names_that_a_recording_has() {
        let recorded = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            recorded_names(&[Some(vec!["0".to_owned()]), Some(names)])
        };
        let separated = [&b"eth0"[..], b"rx"].join(&SourceDef::INSTANCE_SEPARATOR);
        assert_eq!(recorded(&["0"]), [b"0".to_vec()]);
        let mut both = [b"0".to_vec(), b"eth0:rx".to_vec(), separated];
        both.sort();
        assert_eq!(recorded(&["eth0:rx"]), both);
        // What may be many names is looked for among all.
        assert!(recorded(&["a\\x0a"]).is_empty() && recorded(&["a:b:c"]).is_empty());
        assert!(recorded_names(&[None, Some(vec!["0".to_owned()])]).is_empty());
        assert!(recorded_names(&[]).is_empty());
    }

    #[test]
    fn names_of_fields_are_read() {
        let item = |source: &str, instance: Option<&str>, field: Option<&str>| Item {
            source: Some(source.into()),
            instance: instance.map(Into::into),
            field: field.map(Into::into),
        };
        for (name, want) in [
            ("disk", Some(item("disk", None, None))),
            ("disk.*", Some(item("disk", None, None))),
            ("disk.reads", Some(item("disk", None, Some("reads")))),
            ("disk[vda]", Some(item("disk", Some("vda"), None))),
            ("disk[a].b].reads", Some(item("disk", Some("a].b"), Some("reads")))),
            ("", None),
            (".reads", None),
            ("disk.", None),
            ("disk[vda", None),
            ("disk[vda]reads", None),
        ] {
            assert_eq!(Item::parse(name), want, "{name:?}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(time_text(1_795_235_702_001_999_999), "2026-11-21T04:35:02.001Z");
        assert_eq!(epoch_text(1_795_235_702_001_999_999), "1795235702.001");
        assert_eq!(epoch_text(-1), "-1.999");
    }

    #[test]
    fn base_units_are_exact_where_they_can_be() {
        let meta = Meta::new();
        assert_eq!(to_base(Unit::Hundredths, 29.0, &meta), 0.29);
        assert_eq!(to_base(Unit::Kibibytes, 3.0, &meta), 3072.0);
        assert_eq!(to_base(Unit::Ticks, 7.0, &meta), 0.07);
        assert_eq!(to_base(Unit::Megabits, 10.0, &meta), 1e7);
    }
}
