//! Rounds as samples: each device is a source whose fields are the values of its targets, so that
//! recordings, views and sinks take a poller's readings as they take a machine's.
//!
//! Targets over programs or several devices are in the source `poll`.  A value is stored as an
//! integer: a counter, or a gauge as the target's options say; the gauges that round-robin
//! databases keep with their fraction have two digits of it.  What has no place there (a negative
//! counter) is missing.
//!
//! The only row of a source is set once for each value: a round of 3,164 targets costs some tenths
//! of a millisecond.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use sample::{Direction, Field, Kind, Moment, Sample, Snapshot, SourceDef, State, Unit};
use text::byte_text;

use crate::config::{Config, LogFormat};
use crate::decimal::Decimal;
use crate::round::RoundReport;
use crate::target::{PollTarget, Query};

/// The sources of configurations, and where each target's values go.
#[derive(Clone, Debug, Default)]
pub struct RoundSources {
    /// The definitions, in the order of samples.
    pub definitions: Vec<Arc<SourceDef>>,
    /// The sources of each configuration.
    of_configs: Vec<ConfigPlaces>,
}

/// The places of one configuration.
#[derive(Clone, Debug)]
struct ConfigPlaces {
    /// The sources of the configuration.
    sources: Range<usize>,
    /// Source and first field of each target; the second follows it.
    targets: Vec<(usize, usize)>,
}

/// A source that is being defined.
struct NewSource {
    name: String,
    about: String,
    fields: Vec<Field>,
    taken: HashSet<String>,
}

impl RoundSources {
    /// The sources of configurations.  Of names that `is_taken` holds for, as for sources of the
    /// machine, none is given: `device_` goes before them.
    pub fn of(configs: &[&Config], is_taken: &dyn Fn(&str) -> bool) -> Self {
        let mut sources: Vec<NewSource> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        let mut of_configs = Vec::new();
        for config in configs {
            let begin = sources.len();
            let mut index: HashMap<Option<usize>, usize> = HashMap::new();
            let mut targets = Vec::with_capacity(config.targets.len());
            for target in &config.targets {
                let device = device_of(config, target);
                let source = *index.entry(device).or_insert_with(|| {
                    sources.push(NewSource::of(config, device, is_taken, &mut names));
                    sources.len() - 1
                });
                targets.push((source, sources[source].add(config, target)));
            }
            of_configs.push(ConfigPlaces { sources: begin..sources.len(), targets });
        }
        let definitions = sources.into_iter().map(NewSource::finished).collect();
        RoundSources { definitions, of_configs }
    }

    /// An empty snapshot for them.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.definitions)
    }

    /// The device that a target of a configuration is of, if it is of one, and the target, as recordings
    /// name them.
    pub(crate) fn device_and_target(&self, config: usize, target: usize) -> Option<(&str, String)> {
        let &(source, first) = self.of_configs.get(config)?.targets.get(target)?;
        let definition = &self.definitions[source];
        let (name, _) = SourceDef::target_of(&definition.fields[first].name)?;
        Some((definition.device()?, name))
    }

    /// Fills a snapshot with what a round of a configuration read between two moments.
    pub fn fill(
        &self,
        config: usize,
        report: &RoundReport,
        (began, ended): (Moment, Moment),
        snapshot: &mut Snapshot,
    ) {
        snapshot.monotonic_ns = began.monotonic_ns;
        snapshot.realtime_ns = began.realtime_ns;
        snapshot.fresh.fill(false);
        let Some(places) = self.of_configs.get(config) else { return };
        for source in places.sources.clone() {
            begin(&mut snapshot.samples[source], began);
        }
        let readings = places.targets.iter().zip(&report.readings);
        for (&(source, first), reading) in readings.filter(|(_, reading)| !reading.is_elsewhere) {
            snapshot.fresh[source] = true;
            let sample = &mut snapshot.samples[source];
            let mut row = sample.table.row_mut(0);
            let mut is_known = false;
            for (field, value) in (first..).zip(&reading.values) {
                let definition = &self.definitions[source].fields[field];
                // What a counter grew by since it was reset says nothing about the interval.
                let is_lost = reading.was_reset && definition.kind == Kind::Counter;
                let value = value.as_ref().filter(|_| !is_lost);
                let value = value.and_then(|value| stored(value, definition));
                is_known |= value.is_some();
                row.set_some(field, value);
            }
            if is_known {
                read_at(sample, reading.time_ns, began, ended);
            }
        }
    }
}

impl NewSource {
    fn of(
        config: &Config,
        device: Option<usize>,
        is_taken: &dyn Fn(&str) -> bool,
        names: &mut HashSet<String>,
    ) -> Self {
        let host = device.map(|device| config.devices[device].host.as_str());
        let mut name = identifier(host.unwrap_or("poll"), "device_");
        if is_taken(&name) {
            name = format!("device_{name}");
        }
        let about = match host {
            Some(host) => SourceDef::about_device(&one_line(host)),
            None => "Targets over programs and over several devices, polled".to_owned(),
        };
        NewSource { name: unique(&name, names), about, fields: Vec::new(), taken: HashSet::new() }
    }

    /// Adds the fields of a target; the index of the first.
    fn add(&mut self, config: &Config, target: &PollTarget) -> usize {
        let first = self.fields.len();
        let options = &target.options;
        // What a device counts since it was read last is no counter that grows.
        let is_gauge = options.gauge || options.absolute;
        let has_fraction = options.gauge && config.global.log_format == LogFormat::Rrdtool;
        let legends = [&target.legend_in, &target.legend_out];
        for (direction, legend) in Direction::BOTH.map(Direction::name).into_iter().zip(legends) {
            let name = format!("{}_{direction}", identifier(&target.name, "target_"));
            let what = legend.as_deref().filter(|legend| !legend.is_empty()).unwrap_or(direction);
            self.fields.push(Field {
                name: unique(&name, &mut self.taken).into(),
                unit: if has_fraction { Unit::Hundredths } else { Unit::Count },
                kind: if is_gauge { Kind::Gauge } else { Kind::Counter },
                help: format!("{}: {}", one_line(&target.title), one_line(what)).into(),
            });
        }
        first
    }

    fn finished(self) -> Arc<SourceDef> {
        Arc::new(SourceDef {
            name: self.name.into(),
            about: self.about.into(),
            fields: Cow::Owned(self.fields),
            ..SourceDef::EMPTY
        })
    }
}

/// Begins a sample of one row without values.
fn begin(sample: &mut Sample, began: Moment) {
    sample.monotonic_ns = began.monotonic_ns;
    sample.realtime_ns = began.realtime_ns;
    sample.state = State::Ok;
    sample.table.begin();
    sample.table.row(b"");
}

/// Moves the time of a sample to that at which a value was read, if that is later: a device that
/// answers slowly was not read when the round began.
fn read_at(sample: &mut Sample, time_ns: i64, began: Moment, ended: Moment) {
    let latest_ns = ended.realtime_ns.max(began.realtime_ns);
    let read_ns = time_ns.min(latest_ns);
    if read_ns > sample.realtime_ns {
        let since_ns = read_ns.abs_diff(began.realtime_ns);
        sample.realtime_ns = read_ns;
        sample.monotonic_ns = began.monotonic_ns.saturating_add(since_ns);
    }
}

/// The device that a target is about, if it is one.
fn device_of(config: &Config, target: &PollTarget) -> Option<usize> {
    let mut devices = target.expression.as_ref()?.values().into_iter().map(|query| {
        match config.queries.get(query) {
            Some(Query::Snmp(query)) => Some(query.device),
            _ => None,
        }
    });
    let first = devices.next()??;
    devices.all(|device| device == Some(first)).then_some(first)
}

fn stored(value: &Decimal, field: &Field) -> Option<u64> {
    let whole = match field.unit {
        Unit::Hundredths => value.times(&Decimal::from(100_u64)).ok()?.rounded().to_i128()?,
        _ => value.rounded().to_i128()?,
    };
    match field.kind {
        Kind::Gauge => i64::try_from(whole).ok().map(i64::cast_unsigned),
        _ => u64::try_from(whole).ok(),
    }
}

/// A name of small letters, digits and `_` that begins with a letter.
fn identifier(text: &str, prefix: &str) -> String {
    let plain = text.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    });
    let plain: String = plain.collect();
    let begins = plain.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins { plain } else { format!("{prefix}{plain}") }
}

/// The name, or with the first number that makes it a new one; taken from now on.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    let free = all.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

pub(crate) fn one_line(text: &str) -> String {
    byte_text::shown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.cfg");
        std::fs::write(&path, text).expect("written");
        let loading = Config::load(&path, &crate::LoadEnvironment::default());
        loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems))
    }

    /// A round of these values, of which `U` is unknown.
    fn report(values: &[[&str; 2]]) -> RoundReport {
        let reading = |values: &[&str; 2]| crate::Reading {
            values: values.map(Decimal::parse),
            ..crate::Reading::default()
        };
        RoundReport { readings: values.iter().map(reading).collect(), ..RoundReport::default() }
    }

    #[test]
    fn targets_are_fields_of_their_device() {
        let text = "WorkDir: /tmp\nTitle[_]: A  title\nMaxBytes[_]: 1\n\
            Target[a.b]: 1:public@10.0.0.1\nTarget[a-b]: 2:public@10.0.0.1\nOptions[a-b]: gauge\n\
            Target[c]: `x`\nTarget[d]: 1:public@10.0.0.1 + 1:public@router\n\
            Target[e]: 1:public@disk\n";
        let config = config(text);
        let sources = RoundSources::of(&[&config], &|name| name == "disk");
        let names = |index: usize| -> Vec<String> {
            sources.definitions[index].fields.iter().map(|field| field.name.to_string()).collect()
        };
        let of = |index: usize| &*sources.definitions[index].name;
        assert_eq!([of(0), of(1), of(2)], ["device_10_0_0_1", "poll", "device_disk"]);
        assert_eq!(names(0), ["a_b_in", "a_b_out", "a_b_in_2", "a_b_out_2"]);
        assert_eq!(names(1), ["c_in", "c_out", "d_in", "d_out"]);
        assert_eq!(sources.definitions[0].fields[0].help, "A title: in");
        let mut report = report(&[
            ["1", "18446744073709551615"],
            ["-3", "2.5"],
            ["-1", "7"],
            ["1e30", "8"],
            ["U", "0"],
        ]);
        let mut snapshot = sources.snapshot();
        sources.fill(0, &report, (Moment::default(), Moment::default()), &mut snapshot);
        let cells =
            |index: usize| [0, 1, 2, 3].map(|field| snapshot.samples[index].table.get(0, field));
        assert_eq!(cells(0), [Some(1), Some(u64::MAX), Some((-3i64).cast_unsigned()), Some(2)]);
        assert_eq!(cells(1), [None, Some(7), None, Some(8)]);
        assert_eq!(cells(2)[..2], [None, Some(0)]);
        report.readings.iter_mut().for_each(|reading| reading.was_reset = true);
        sources.fill(0, &report, (Moment::default(), Moment::default()), &mut snapshot);
        let cells = [0, 1, 2, 3].map(|field| snapshot.samples[0].table.get(0, field));
        assert_eq!(cells, [None, None, Some((-3i64).cast_unsigned()), Some(2)]);
    }

    #[test]
    fn gauges_of_databases_keep_two_digits() {
        let config = config(
            "WorkDir: /tmp\nLogFormat: rrdtool\nTitle[_]: t\nMaxBytes[_]: 1\n\
             Target[a]: `x`\nOptions[a]: gauge\nTarget[b]: `x`\nOptions[b]: absolute\n",
        );
        let sources = RoundSources::of(&[&config], &|_| false);
        let mut snapshot = sources.snapshot();
        let report = report(&[["0.256", "-1.5"], ["7", "U"]]);
        sources.fill(0, &report, (Moment::default(), Moment::default()), &mut snapshot);
        let fields = &sources.definitions[0].fields;
        assert_eq!((fields[0].unit, fields[2].unit), (Unit::Hundredths, Unit::Count));
        assert!(fields.iter().all(|field| field.kind == Kind::Gauge));
        let cells = [0, 1, 2, 3].map(|field| snapshot.samples[0].table.get(0, field));
        assert_eq!(cells, [Some(26), Some((-150i64).cast_unsigned()), Some(7), None]);
    }

    #[test]
    fn configurations_share_a_snapshot_and_have_rounds_of_their_own() {
        let text = "WorkDir: /tmp\nTitle[_]: t\nMaxBytes[_]: 1\nTarget[a]: 1:public@router\n";
        let [one, other] = [config(text), config(text)];
        let sources = RoundSources::of(&[&one, &other], &|_| false);
        let names: Vec<&str> = sources.definitions.iter().map(|source| &*source.name).collect();
        assert_eq!(names, ["router", "router_2"]);
        let mut snapshot = sources.snapshot();
        let began = Moment { monotonic_ns: 7_000_000_000, realtime_ns: 100_900_000_000 };
        let ended = Moment { monotonic_ns: 9_000_000_000, realtime_ns: 102_900_000_000 };
        let mut slow = report(&[["1", "2"]]);
        for (time_ns, expected_ns) in [
            (100_800_000_000, 100_900_000_000),
            (101_000_000_000, 101_000_000_000),
            (102_345_678_901, 102_345_678_901),
            (500_000_000_000, 102_900_000_000),
            (i64::MAX, 102_900_000_000),
        ] {
            slow.readings[0].time_ns = time_ns;
            sources.fill(1, &slow, (began, ended), &mut snapshot);
            assert_eq!(snapshot.fresh, [false, true]);
            let sample = &snapshot.samples[1];
            assert_eq!(sample.realtime_ns, expected_ns, "{time_ns}");
            let passed_ns = sample.monotonic_ns - began.monotonic_ns;
            assert_eq!(passed_ns, sample.realtime_ns.abs_diff(began.realtime_ns));
        }
        assert_eq!(snapshot.realtime_ns, began.realtime_ns);
        // A configuration that is not there changes nothing.
        sources.fill(2, &slow, (began, ended), &mut snapshot);
        assert_eq!(snapshot.fresh, [false, false]);
    }
}
