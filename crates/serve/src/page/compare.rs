//! Two periods compared, and what explains a moment: the fields and processes that differ most.

use std::collections::BTreeMap;

use archive::{Compared, Recordings};
use promql::QueryError;
use sample::{Kind, Meta, SourceDef, Unit};
use serde_json::{Value, json};

use super::asked::{PageRequest, refused};
use super::chart::{number, shown};
use super::heaviest::{AMOUNTS, Heavy};
use super::steps::Period;
use super::table::Csv;

/// Lines that come if nobody says how many.
const COUNT_USUAL: usize = 50;

/// The period around a moment that is explained.
const MOMENT_NS: i64 = 10_000_000_000;

/// The baseline is so many times as long as what it explains.
const BASE_LENGTHS: i64 = 4;

/// Sources that are not compared field by field: processes come as processes.
const NOT_COMPARED: &[&str] = &["process", "exit"];

/// A field or a command in both periods.
struct Line {
    /// Source and field, or nothing and the amount of processes.
    source: String,
    field: String,
    instance: String,
    label: String,
    unit: String,
    value: Option<f64>,
    base: Option<f64>,
    score: f64,
}

impl Line {
    fn difference(&self) -> Option<f64> {
        Some(self.value? - self.base?)
    }

    fn ratio(&self) -> Option<f64> {
        Some(self.value? / self.base.filter(|base| *base != 0.0)?)
    }

    fn json(&self) -> Value {
        json!({
            "source": self.source,
            "field": self.field,
            "instance": self.instance,
            "label": self.label,
            "unit": self.unit,
            "value": number(self.value),
            "base": number(self.base),
            "difference": number(self.difference()),
            "ratio": number(self.ratio()),
            "score": number(Some(self.score)),
        })
    }

    fn process_json(&self) -> Value {
        json!({
            "name": self.instance,
            "what": self.field,
            "unit": self.unit,
            "value": number(self.value),
            "base": number(self.base),
            "difference": number(self.difference()),
            "ratio": number(self.ratio()),
            "score": number(Some(self.score)),
        })
    }
}

/// The most different first; equals by name.
fn sort(lines: &mut Vec<Line>, count: usize) {
    lines.retain(|line| line.score > 0.0);
    lines.sort_by(|one, other| {
        let key = |line: &Line| (line.source.clone(), line.field.clone(), line.instance.clone());
        other.score.total_cmp(&one.score).then_with(|| key(one).cmp(&key(other)))
    });
    lines.truncate(count);
}

/// The answer to `compare`.
pub(crate) fn compare(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host", "from", "thru", "base_from", "base_thru", "count", "format"])?;
    let host = asked.host()?;
    let period = asked.needed_period("from", "thru")?;
    let base = asked.needed_period("base_from", "base_thru")?;
    answer(asked, &host, (period, base), false)
}

/// The answer to `explain`.
pub(crate) fn explain(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host", "at", "from", "thru", "count", "format"])?;
    let host = asked.host()?;
    let is_period = !asked.parameters.get("from").is_empty();
    let period = if is_period || asked.parameters.get("at").is_empty() {
        asked.needed_period("from", "thru")?
    } else {
        let at_ns = asked.needed_ns("at")?;
        let from_ns = at_ns - at_ns.rem_euclid(MOMENT_NS);
        Period { from_ns, thru_ns: from_ns + MOMENT_NS }
    };
    let length_ns = period.thru_ns - period.from_ns;
    let base = period.before(length_ns.saturating_mul(BASE_LENGTHS));
    answer(asked, &host, (period, base), true)
}

fn answer(
    asked: &PageRequest<'_>,
    host: &str,
    (period, base): (Period, Period),
    explains: bool,
) -> Result<String, QueryError> {
    let (count, is_csv) = (asked.count(COUNT_USUAL)?, asked.is_csv()?);
    let recordings = &asked.recordings;
    let mut left_out = Vec::new();
    let mut lines = fields(recordings, host, (period, base), &mut left_out)?;
    sort(&mut lines, count);
    let (mut processes, heaviest) = match recordings.source(host, "process") {
        Ok(_) => processes(recordings, host, (period, base))?,
        Err(_) => (Vec::new(), Vec::new()),
    };
    sort(&mut processes, count);
    if is_csv {
        let columns = [
            "source",
            "field",
            "instance",
            "label",
            "unit",
            "value",
            "base",
            "difference",
            "ratio",
            "score",
        ];
        let mut csv = Csv::new(&columns);
        for line in processes.iter().chain(&lines) {
            let line = line.json();
            csv.line(&columns.map(|name| line[name].clone()));
        }
        return Ok(csv.text);
    }
    let times = |period: Period| {
        json!({
            "from_ms": super::asked::ms(period.from_ns),
            "thru_ms": super::asked::ms(period.thru_ns),
        })
    };
    let mut answer = json!({
        "period": times(period),
        "base": times(base),
        "rows": lines.iter().map(Line::json).collect::<Vec<_>>(),
        "processes": processes.iter().map(Line::process_json).collect::<Vec<_>>(),
        "left_out": left_out,
    });
    if explains {
        answer["heaviest"] = heaviest.into_iter().take(count).collect();
    }
    Ok(answer.to_string())
}

/// All numbers of all sources in both periods.
fn fields(
    recordings: &Recordings,
    host: &str,
    (period, base): (Period, Period),
    left_out: &mut Vec<String>,
) -> Result<Vec<Line>, QueryError> {
    let unknown = Meta::new();
    let metas = (0..).map_while(|file| recordings.meta(file));
    let meta = metas.filter(|meta| meta.host() == host).last().unwrap_or(&unknown);
    let mut lines = Vec::new();
    for def in recordings.sources(host) {
        if NOT_COMPARED.contains(&&*def.name) {
            continue;
        }
        let (before_ns, after_ns) =
            ((base.from_ns, base.thru_ns), (period.from_ns, period.thru_ns));
        match recordings.compare(host, &def.name, before_ns, after_ns) {
            Ok(found) => {
                lines.extend(found.into_iter().filter_map(|one| line(&def, one, meta)));
            }
            Err(archive::Error::TooMuch { .. }) => left_out.push(def.name.to_string()),
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(lines)
}

/// A difference below this is none, whatever the values are: a second of each unit.
fn least(unit: Unit, kind: Kind) -> f64 {
    match (unit.base_name(), kind) {
        ("bytes", Kind::Counter) => 256e3,
        ("bytes", _) => 4e6,
        ("seconds", Kind::Counter) => 0.02,
        ("seconds", _) => 0.1,
        ("percent", _) => 1.0,
        (_, Kind::Counter) => 20.0,
        _ => 1.0,
    }
}

/// How far a value is from the base: the difference over what is usual there, which is a tenth of the
/// mean and half of the spread.
fn line(def: &SourceDef, compared: Compared, meta: &Meta) -> Option<Line> {
    let field = &def.fields[def.field(&compared.field)?];
    let in_base = |value: f64| view::to_base(field.unit, value, meta);
    let value = compared.after.map(|value| in_base(value.mean()));
    let base = compared.before.map(|value| in_base(value.mean()));
    let score = match (value, base, compared.before) {
        (Some(value), Some(mean), Some(before)) => {
            let spread = in_base(before.max - before.min).abs();
            let usual = mean.abs() / 10.0 + spread / 2.0 + least(field.unit, field.kind);
            (value - mean).abs() / usual
        }
        // It began or went: as much as what is there.
        (one, other, _) => one.or(other)?.abs() / least(field.unit, field.kind) / 10.0,
    };
    let unit = field.unit.base_name();
    let unit = if unit.is_empty() { "count" } else { unit };
    let is_rate = field.kind == Kind::Counter;
    Some(Line {
        source: def.name.to_string(),
        field: compared.field,
        instance: shown(&compared.instance),
        label: field.help.to_string(),
        unit: if is_rate { format!("{unit}/s") } else { unit.to_owned() },
        value,
        base,
        score: if score.is_finite() { score.min(1e6) } else { 0.0 },
    })
}

/// The processes of both periods by command, and those of the first one alone, those first that used
/// more CPU time than before.
fn processes(
    recordings: &Recordings,
    host: &str,
    (period, base): (Period, Period),
) -> Result<(Vec<Line>, Vec<Value>), QueryError> {
    let mut lines = Vec::new();
    let mut heaviest: Vec<(f64, Value)> = Vec::new();
    for amount in AMOUNTS {
        let lists =
            [period, base].map(|period| amount.lines(recordings, host, Some("command"), period));
        let [now, before] = lists;
        // Recordings of others may lack an amount.
        let (Ok(now), Ok(before)) = (now, before) else { continue };
        let is_known = !before.is_empty();
        let mut both: BTreeMap<String, [Option<Heavy>; 2]> = BTreeMap::new();
        for (index, list) in [now, before].into_iter().enumerate() {
            for heavy in list {
                let name = heavy.name();
                both.entry(name).or_default()[index] = Some(heavy);
            }
        }
        for (name, [now, before]) in both {
            // A command that was not there used nothing, if processes were read at all.
            let base = match before {
                Some(before) => Some(before.value),
                None => is_known.then_some(0.0),
            };
            let value = now.as_ref().map_or(0.0, |now| now.value);
            let more = value - base.unwrap_or(0.0);
            if let Some(now) = now.filter(|_| amount.name == "cpu") {
                heaviest.push((
                    more,
                    json!({
                        "name": name,
                        "what": amount.name,
                        "unit": amount.unit,
                        "value": number(Some(value)),
                        "base": number(base),
                        "share": number(Some(now.line.share)),
                        "processes": now.line.instances,
                        "ended": now.line.ended,
                    }),
                ));
            }
            lines.push(Line {
                source: "process".to_owned(),
                field: amount.name.to_owned(),
                label: format!("{} of all processes of the command", amount.name),
                instance: name,
                unit: amount.unit.to_owned(),
                value: Some(value),
                base,
                score: more.abs() / amount.remarkable,
            });
        }
    }
    heaviest.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok((lines, heaviest.into_iter().map(|(_, line)| line).collect()))
}
