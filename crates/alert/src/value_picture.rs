//! Draws what the rule of a message compares, over the last hour.

use calendar::CivilZone;
use graph::command::GraphCommand;
use graph::curves::{COLOURS, legend_text, push_sums};
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, WallClock};
use promql::{ConditionValues, Labels, QueryContext, QuerySteps, Series};

use crate::message::{InstanceReport, labels_text, short, shown};
use crate::picture::AlertPicture;
use crate::rule::AlertRule;

/// How long before the message the picture begins, and its steps.
const PERIOD_MS: i64 = 3_600_000;
const STEP_MS: i64 = 60_000;
/// Curves of a picture.
const CURVES_MAX: usize = 5;

/// Draws what a rule compares, of the alerts that are told, over the hour before a time; `None`
/// without values.
pub(crate) fn draw(
    rule: &AlertRule,
    told: &[InstanceReport],
    at_ms: i64,
    (query, zone): (&QueryContext<'_>, &CivilZone),
) -> Option<AlertPicture> {
    // The last value is that of the message.
    let period = QuerySteps { start_ms: at_ms - PERIOD_MS, end_ms: at_ms, step_ms: STEP_MS };
    let is_told = |labels: &Labels| {
        told.iter().any(|one| {
            let mut pairs = labels.iter().filter(|(name, _)| *name != promql::NAME);
            pairs.all(|(name, value)| one.labels.get(name) == value)
        })
    };
    let wanted = (CURVES_MAX, &is_told as &dyn Fn(&Labels) -> bool);
    let values = promql::condition_values(&rule.when, period, wanted, query).ok()?;
    if values.series.is_empty() {
        return None;
    }
    let words = words(rule, &values, period);
    let clock = WallClock { now_s: at_ms.div_euclid(1000), zone };
    let command = GraphCommand::parse(&words, None, &clock).ok()?;
    let drawn = command.run(&mut Values { values: &values, period }, &clock, false).ok()?;
    Some(AlertPicture { png: drawn.file? })
}

/// The values as a database that a description of a graph reads.
struct Values<'a> {
    values: &'a ConditionValues,
    period: QuerySteps,
}

impl SeriesSource for Values<'_> {
    fn fetch(&mut self, _: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let QuerySteps { start_ms, end_ms, step_ms } = self.period;
        let mut values = Vec::new();
        let mut at_ms = start_ms;
        while at_ms <= end_ms {
            for Series { samples, .. } in &self.values.series {
                let found = samples.binary_search_by_key(&at_ms, |sample| sample.time_ms);
                values.push(found.map_or(f64::NAN, |at| samples[at].value));
            }
            at_ms += step_ms;
        }
        Ok(SeriesTable {
            // A value stands for the minute before it.
            start_s: (start_ms - step_ms) / 1000,
            end_s: end_ms / 1000,
            step_s: step_ms / 1000,
            columns: (0..self.values.series.len()).map(|place| format!("s{place}")).collect(),
            values,
        })
    }
}

/// The words of `whit rrd graph`.
fn words(rule: &AlertRule, values: &ConditionValues, period: QuerySteps) -> Vec<String> {
    let mut words = vec![
        "-".to_owned(),
        "--imgformat=PNG".to_owned(),
        "--border=0".to_owned(),
        "--width=600".to_owned(),
        "--height=150".to_owned(),
        format!("--title={}", shown(&rule.name)),
        format!("--start={}", period.start_ms / 1000),
        format!("--end={}", period.end_ms / 1000),
    ];
    for (at, Series { labels, .. }) in values.series.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let name = match labels_text(labels) {
            name if name.is_empty() => "value".to_owned(),
            name => shown(&name),
        };
        words.push(format!("DEF:v{at}=:s{at}:AVERAGE"));
        words.push(format!("LINE1.5:v{at}#{colour}:{}", legend_text(&name)));
        push_sums(&mut words, at);
    }
    if let Some(bound) = values.bound.filter(|bound| bound.is_finite()) {
        words.push(format!("HRULE:{bound}#CC0000:compared with {}\\l", short(bound)));
    }
    words
}
