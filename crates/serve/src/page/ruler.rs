//! The ruler: how busy the CPUs were over all recorded time, and the spikes.
//!
//! A spike is a step whose largest value stands out of those around it: it is above their median by
//! more than six times their usual distance from it (the median absolute deviation, which a few spikes
//! do not change, scaled to a standard deviation), and by more than a least amount of its chart.  Of
//! neighbours the largest is taken.  Each chart has as many as `SpikeKind::most`, those that stand
//! out most; the time of each is then looked for within its step.

use promql::QueryError;
use serde_json::{Value, json};

use super::asked::{PageRequest, ms};
use super::chart::{ChartData, Curve, Spread, number, shown};
use super::charts::{BUSY, Chart};
use super::hosts::gaps;
use super::steps::{Period, Steps};

/// Steps on each side that say what is usual.
const AROUND: usize = 30;

/// Fewer values do not tell what is usual.
const VALUES_MIN: usize = 8;

/// So many deviations above the median is a spike.
const DEVIATIONS: f64 = 6.0;

/// A standard deviation of normally distributed values, by the median of their distances.
const TO_STANDARD: f64 = 1.4826;

/// Steps of which each spike's time is looked for at once, and how often at most.
const FINER_STEPS: usize = 120;
const FINER_TIMES: usize = 4;

/// The kinds of values of which spikes are looked for.
struct SpikeKind {
    chart: &'static str,
    /// The series that are added up for each instance, or the only one that counts.
    series: &'static [&'static str],
    label: &'static str,
    /// A spike is at least so much above the median.
    least: f64,
    most: usize,
}

const KINDS: &[SpikeKind] = &[
    SpikeKind { chart: "cpu", series: &["busy"], label: "CPU busy", least: 10.0, most: 24 },
    SpikeKind { chart: "disk", series: &["read", "write"], label: "disk", least: 4e6, most: 6 },
    SpikeKind {
        chart: "network",
        series: &["receive", "transmit"],
        label: "network",
        least: 4e6,
        most: 6,
    },
    SpikeKind {
        chart: "pressure",
        series: &["memory"],
        label: "memory pressure",
        least: 5.0,
        most: 6,
    },
];

/// A step that stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spike {
    step: usize,
    value: f64,
    usual: f64,
    /// How much it stands out: the excess over what is usual.
    by: f64,
}

/// The answer to `ruler`.
pub(crate) fn ruler(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host", "from", "thru", "points"])?;
    let host = asked.host()?;
    let recorded = asked.recorded(&host);
    let period = match (asked.parameters.get("from"), asked.parameters.get("thru")) {
        ("", "") => Period { from_ns: recorded.from_ns, thru_ns: recorded.thru_ns + 1 },
        _ => asked.period(&host)?,
    };
    let points = asked.points()?;
    let mut spikes = Vec::new();
    let mut busy: Option<(Steps, Vec<Option<Spread>>)> = None;
    for kind in KINDS {
        let Some(chart) = chart_of(kind) else { continue };
        let Ok(def) = asked.recordings.source(&host, chart.source) else { continue };
        if chart.series_of(&def).is_empty() {
            continue;
        }
        let data = ChartData::of(asked, &host, chart, &[], (period, points))?;
        for (instance, values) in largest(kind, &data.curves) {
            for spike in spikes_of(&values, kind.least) {
                spikes.push((kind, chart, instance.clone(), data.steps, spike));
            }
        }
        if kind.series == ["busy"] {
            busy = data.curves.into_iter().next().map(|curve| (data.steps, curve.values));
        }
    }
    spikes.sort_by(|one, other| other.4.by.total_cmp(&one.4.by));
    let mut lines: Vec<(i64, Value)> = Vec::new();
    for kind in KINDS {
        let of_kind = spikes.iter().filter(|spike| std::ptr::eq(spike.0, kind)).take(kind.most);
        for (_, chart, instance, steps, spike) in of_kind {
            let at_ns = exact(asked, &host, (kind, chart, instance), *steps, spike.step)?;
            lines.push((at_ns, line(kind, instance, at_ns, spike)));
        }
    }
    lines.sort_by_key(|line| line.0);
    let (steps, values) =
        busy.unwrap_or_else(|| (asked.steps(&host, BUSY.source, period, points), Vec::new()));
    let list = |of: fn(&Spread) -> Option<f64>| -> Value {
        let values = values.iter().map(|value| number(value.as_ref().and_then(of)));
        values.collect()
    };
    Ok(json!({
        "from_ms": ms(steps.from_ns),
        "step_ms": ms(steps.step_ns),
        "max": list(|value| value.max),
        "mean": list(|value| Some(value.mean)),
        "spikes": lines.into_iter().map(|line| line.1).collect::<Vec<_>>(),
        "gaps": gaps(&asked.recordings, &host, period.from_ns, period.thru_ns)?,
    })
    .to_string())
}

fn chart_of(kind: &SpikeKind) -> Option<&'static Chart> {
    if kind.chart == BUSY.id { Some(BUSY) } else { Chart::find(kind.chart) }
}

fn line(kind: &SpikeKind, instance: &[u8], at_ns: i64, spike: &Spike) -> Value {
    let label = match instance {
        b"" => kind.label.to_owned(),
        instance => format!("{} {}", kind.label, shown(instance)),
    };
    json!({
        "at_ms": ms(at_ns),
        "chart": kind.chart,
        "instance": shown(instance),
        "label": label,
        "value": number(Some(spike.value)),
        "usual": number(Some(spike.usual)),
    })
}

/// The largest values of each instance in steps: those of its series together.
fn largest(kind: &SpikeKind, curves: &[Curve]) -> Vec<(Vec<u8>, Vec<Option<f64>>)> {
    let mut found: Vec<(Vec<u8>, Vec<Option<f64>>)> = Vec::new();
    for curve in curves.iter().filter(|curve| kind.series.contains(&curve.series.id)) {
        let values = curve.values.iter().map(|value| value.and_then(|value| value.max));
        match found.iter_mut().find(|(instance, _)| *instance == curve.instance) {
            Some((_, sums)) => {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = sum.zip(value).map(|(sum, value)| sum + value);
                }
            }
            None => found.push((curve.instance.clone(), values.collect())),
        }
    }
    found
}

/// The steps that stand out.
fn spikes_of(values: &[Option<f64>], least: f64) -> Vec<Spike> {
    let mut spikes: Vec<Spike> = Vec::new();
    let mut around: Vec<f64> = Vec::with_capacity(2 * AROUND + 1);
    for (step, value) in values.iter().enumerate() {
        let Some(value) = *value else { continue };
        let window = &values[step.saturating_sub(AROUND)..values.len().min(step + AROUND + 1)];
        around.clear();
        around.extend(window.iter().flatten());
        if around.len() < VALUES_MIN {
            continue;
        }
        let usual = median(&mut around);
        if value - usual < least {
            continue;
        }
        around.iter_mut().for_each(|other| *other = (*other - usual).abs());
        let deviation = TO_STANDARD * median(&mut around);
        let by = (value - usual) / (deviation + least / DEVIATIONS);
        if by < DEVIATIONS / 2.0 || value - usual < DEVIATIONS * deviation {
            continue;
        }
        let spike = Spike { step, value, usual, by };
        match spikes.last_mut().filter(|last| last.step + 1 >= step) {
            Some(last) if last.value >= value => {}
            Some(last) => *last = spike,
            None => spikes.push(spike),
        }
    }
    spikes
}

/// The median; the order of the values is another one then.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The start of the shortest step that has the largest value of a step.
fn exact(
    asked: &PageRequest<'_>,
    host: &str,
    (kind, chart, instance): (&SpikeKind, &'static Chart, &[u8]),
    mut steps: Steps,
    mut step: usize,
) -> Result<i64, QueryError> {
    let name = shown(instance);
    let wanted: &[&str] = if name.is_empty() { &[] } else { &[&name] };
    for _ in 0..FINER_TIMES {
        let from_ns = steps.from_ns + steps.step_ns * step as i64;
        let period = Period { from_ns, thru_ns: from_ns + steps.step_ns };
        let finer = asked.steps(host, chart.source, period, FINER_STEPS);
        if finer.step_ns >= steps.step_ns {
            break;
        }
        let data = ChartData::of(asked, host, chart, wanted, (period, FINER_STEPS))?;
        let values = largest(kind, &data.curves).into_iter().next().map(|found| found.1);
        let values = values.unwrap_or_default();
        let known = values.iter().enumerate().filter_map(|(step, value)| Some((step, (*value)?)));
        let Some((found, _)) = known.max_by(|one, other| one.1.total_cmp(&other.1)) else { break };
        (steps, step) = (data.steps, found);
    }
    Ok(steps.from_ns + steps.step_ns * step as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_is_a_spike_and_noise_is_none() {
        let mut random = testkit::Random::from_seed(testkit::seed(24));
        let mut values: Vec<Option<f64>> =
            (0..1000).map(|_| Some(20.0 + random.below(80) as f64 / 10.0)).collect();
        assert_eq!(spikes_of(&values, 10.0), []);
        // A load that lasts is no spike.
        values[500..700].fill(Some(80.0));
        values[100] = Some(95.0);
        values[101] = Some(90.0);
        values[300..340].fill(None);
        values[345] = Some(70.0);
        values[600] = Some(99.0);
        let steps: Vec<usize> = spikes_of(&values, 10.0).iter().map(|spike| spike.step).collect();
        let expected = [100, 345, 600];
        assert!(expected.iter().all(|step| steps.contains(step)), "{steps:?}");
        assert!(steps.iter().all(|step| expected.contains(step) || (469..=731).contains(step)));
    }

    #[test]
    fn few_or_equal_values_have_no_spikes() {
        assert_eq!(spikes_of(&[Some(1.0), None, Some(100.0)], 10.0), []);
        assert_eq!(spikes_of(&[Some(100.0); 100], 10.0), []);
        assert_eq!(spikes_of(&[None; 100], 10.0), []);
    }
}
