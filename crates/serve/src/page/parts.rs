//! The parts of a service: how each is, by the account that the service keeps in a file, and what it
//! costs, by `/proc` now and by the recordings of its processes over time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use archive::{RangeAnswer, Recordings, StepValue};
use http_server::HttpAnswer;
use hyper::StatusCode;
use promql::QueryError;
use sample::{Meta, SourceDef};
use serde_json::{Value, json};
use service_account::{PartAccount, PartPhase, ServiceAccount, ServiceRun};

use super::asked::{PageRequest, ms, refused};
use super::chart::number;
use super::section::{PageSection, SectionQuestion};
use super::steps::{Period, Steps};
use super::streams::RefusedStreams;
use super::table::Csv;
use super::{json_answer, text};
use crate::clock::{now_ms, since_boot_s};
use crate::parameters::invalid;
use crate::recordings::RecordingStorage;

/// The name of the service's own process among those of its parts.
const SERVICE: &str = "service";

/// The source of processes.
const PROCESS: &str = "process";

/// What a part costs over time.
struct Cost {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    /// The fields that are added up, and those that are taken if no recording has values of these.
    fields: [&'static [&'static str]; 2],
    /// The number of units in a base unit.
    scale: f64,
}

const COSTS: &[Cost] = &[
    Cost {
        id: "cpu",
        title: "CPU of whit",
        unit: "percent",
        fields: [&["run_time"], &["user_time", "system_time"]],
        scale: 100.0,
    },
    Cost {
        id: "memory",
        title: "Memory of whit",
        unit: "bytes",
        fields: [&["resident"], &[]],
        scale: 1.0,
    },
    Cost {
        id: "threads",
        title: "Threads of whit",
        unit: "count",
        fields: [&["threads"], &[]],
        scale: 1.0,
    },
    Cost {
        id: "written",
        title: "Written by whit",
        unit: "bytes/s",
        fields: [&["write_bytes"], &[]],
        scale: 1.0,
    },
];

/// The columns of the table of parts.
const COLUMNS: [&str; 18] = [
    "name",
    "state",
    "since_ms",
    "failing_since_ms",
    "next_ms",
    "why",
    "pid",
    "failed",
    "last_error_ms",
    "last_error",
    "unwritten_since_ms",
    "unwritten",
    "cpu_percent",
    "cpu_seconds",
    "rss_bytes",
    "threads",
    "written_bytes",
    "written_bytes_s",
];

/// The parts of a service.
pub(super) struct Parts {
    account: PathBuf,
    recordings: Arc<RecordingStorage>,
    refused: Arc<RefusedStreams>,
}

impl PageSection for Parts {
    fn name(&self) -> &'static str {
        "parts"
    }

    fn answer(&self, question: &SectionQuestion<'_>) -> Result<HttpAnswer, QueryError> {
        let account = self.account()?;
        match question.path {
            "" => list(&account, question, self.refused.count()),
            "curves" => {
                let stop = question.stop.clone();
                let recordings = self.recordings.recordings().map_err(refused)?;
                let recordings = recordings.ending(move || stop().is_some());
                curves(&account, &PageRequest { recordings, parameters: question.parameters })
            }
            other => Err(QueryError::BadData(format!(
                "there is no parts/{other}: there are parts and parts/curves"
            ))),
        }
    }
}

impl Parts {
    pub(super) fn new(
        account: PathBuf,
        recordings: Arc<RecordingStorage>,
        refused: Arc<RefusedStreams>,
    ) -> Self {
        Parts { account, recordings, refused }
    }

    /// The account; the service itself is the first of its parts.
    fn account(&self) -> Result<ServiceAccount, QueryError> {
        let mut account = ServiceAccount::read(&self.account).map_err(|error| {
            let path = self.account.display();
            QueryError::Execution(format!("the account of the service in {path}: {error}"))
        })?;
        let service = PartAccount {
            name: SERVICE.to_owned(),
            phase: PartPhase::Runs,
            since_s: account.started_s,
            pid: account.pid,
            runs: account.runs.clone(),
            ..PartAccount::default()
        };
        account.parts.insert(0, service);
        Ok(account)
    }
}

fn shown(text: Option<&String>) -> Option<String> {
    Some(super::chart::shown(text?.as_bytes()))
}

/// Milliseconds of seconds since 1970.
fn time_ms(seconds: Option<i64>) -> Option<i64> {
    Some(seconds?.saturating_mul(1000))
}

/// How every part is, and what it costs.
fn list(
    account: &ServiceAccount,
    question: &SectionQuestion<'_>,
    streams_refused: u64,
) -> Result<HttpAnswer, QueryError> {
    question.parameters.only(&["format"])?;
    let is_csv = question.parameters.is_csv()?;
    let rows = account.parts.iter().map(row).collect::<Vec<_>>();
    if is_csv {
        let mut csv = Csv::new(&COLUMNS);
        for row in &rows {
            csv.line(&COLUMNS.map(|column| row[column].clone()));
        }
        return Ok(text(csv.text));
    }
    let refused = account.refused.as_ref();
    let answer = json!({
        "now_ms": now_ms(),
        "started_ms": time_ms(account.started_s),
        "configuration": shown(account.configuration.as_ref()),
        "folder": shown(account.folder.as_ref()),
        "full_since_ms": time_ms(account.full_since_s),
        "refused_ms": refused.and_then(|(at_s, _)| time_ms(Some(*at_s))),
        "refused": refused.map(|(_, text)| text),
        "streams_refused": streams_refused,
        "parts": rows,
    });
    Ok(json_answer(StatusCode::OK, answer.to_string()))
}

fn row(part: &PartAccount) -> Value {
    let now = part.runs.last().and_then(|run| Usage::of(*run));
    let number = |of: fn(&Usage) -> Option<f64>| number(now.as_ref().and_then(of));
    let error = part.last_error.as_ref();
    let unwritten = part.unwritten.as_ref();
    json!({
        "name": shown(Some(&part.name)),
        "state": part.phase.word(),
        "since_ms": time_ms(part.since_s),
        "failing_since_ms": time_ms(part.failing_since_s),
        "next_ms": time_ms(part.next_s),
        "why": shown(part.why.as_ref()),
        "pid": part.pid,
        "failed": part.failed,
        "last_error_ms": error.and_then(|(at_s, _)| time_ms(Some(*at_s))),
        "last_error": shown(error.map(|(_, text)| text)),
        "unwritten_since_ms": unwritten.and_then(|(at_s, _)| time_ms(Some(*at_s))),
        "unwritten": shown(unwritten.map(|(_, why)| why)),
        "cpu_percent": number(|now| Some(100.0 * now.cpu_seconds? / now.seconds)),
        "cpu_seconds": number(|now| now.cpu_seconds),
        "rss_bytes": number(|now| now.rss_bytes),
        "threads": number(|now| now.threads),
        "written_bytes": number(|now| now.written_bytes),
        "written_bytes_s": number(|now| Some(now.written_bytes? / now.seconds)),
    })
}

/// What a process has used since its start.
struct Usage {
    seconds: f64,
    cpu_seconds: Option<f64>,
    rss_bytes: Option<f64>,
    threads: Option<f64>,
    written_bytes: Option<f64>,
}

impl Usage {
    /// Reads the usage of a process that still runs.
    fn of((pid, start): ServiceRun) -> Option<Usage> {
        let read = |name| std::fs::read(format!("/proc/{pid}/{name}")).ok();
        let stat = read("stat")?;
        let stat = procfs::pid::parse_stat(&stat)?;
        if stat.field(22) != Some(start) {
            return None;
        }
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let page = rustix::param::page_size() as f64;
        let cpu = |number| Some(stat.field(number)? as f64 / ticks);
        Some(Usage {
            // A start is told in ticks.
            seconds: (since_boot_s() - start as f64 / ticks).max(1.0 / ticks),
            cpu_seconds: cpu(14).zip(cpu(15)).map(|(user, system)| user + system),
            rss_bytes: stat.field(24).map(|pages| pages as f64 * page),
            threads: stat.field(20).map(|threads| threads as f64),
            written_bytes: read("io")
                .and_then(|text| procfs::pid::parse_io(&text)[5])
                .map(|bytes| bytes as f64),
        })
    }
}

/// What the parts used over time, by the recordings of their processes.
fn curves(account: &ServiceAccount, asked: &PageRequest<'_>) -> Result<HttpAnswer, QueryError> {
    asked.only(&["from", "thru", "points", "what", "format"])?;
    let costs = chosen(asked.parameters.get("what"))?;
    let is_csv = asked.is_csv()?;
    let named = |part: &PartAccount| (part.runs.clone(), super::chart::shown(part.name.as_bytes()));
    let names: BTreeMap<Vec<u8>, String> = (account.parts.iter().map(named))
        .flat_map(|(runs, name)| runs.into_iter().map(move |run| (instance(run), name.clone())))
        .collect();
    let Some((host, def)) = recorded_here(&asked.recordings) else {
        return Err(QueryError::BadData(
            "no processes of this machine are recorded: there are no curves of what parts cost"
                .to_owned(),
        ));
    };
    let Period { from_ns, thru_ns } = asked.period(&host)?;
    // A process of an earlier boot may have had the same id and start.
    let started_ns = time_ms(account.started_s).unwrap_or(0).saturating_mul(1_000_000);
    let whole = Period { from_ns, thru_ns };
    let steps = asked.steps(&host, PROCESS, whole, asked.points()?);
    let fields = costs.iter().flat_map(|cost| cost.fields.concat());
    let fields: Vec<&str> = fields.filter(|field| def.field(field).is_some()).collect();
    let instances: Vec<Vec<u8>> = names.keys().cloned().collect();
    let is_later = started_ns < thru_ns && !instances.is_empty() && !fields.is_empty();
    let answer = is_later.then(|| {
        asked.recordings.range(&steps.query(&host, PROCESS, &fields, &instances)).map_err(refused)
    });
    let answer = answer.transpose()?;
    let first = usize::try_from((started_ns - steps.from_ns) / steps.step_ns).unwrap_or(0);
    let sums =
        answer.map(|answer| Curves::of(&answer, &fields, &names, (first, meta(asked, &host))));
    let sums = sums.unwrap_or_default();
    let charts = costs.iter().map(|cost| sums.chart(cost, account, steps));
    if is_csv {
        let mut csv = Csv::new(&["time_ms", "chart", "part", "mean", "min", "max", "unit"]);
        for (cost, chart) in costs.iter().zip(charts) {
            lines(&mut csv, cost, &chart, steps);
        }
        return Ok(text(csv.text));
    }
    let answer = json!({ "host": host, "charts": charts.collect::<Vec<_>>() });
    Ok(json_answer(StatusCode::OK, answer.to_string()))
}

fn chosen(what: &str) -> Result<Vec<&'static Cost>, QueryError> {
    let costs: Vec<&Cost> =
        COSTS.iter().filter(|cost| what.is_empty() || cost.id == what).collect();
    if costs.is_empty() {
        let known: Vec<&str> = COSTS.iter().map(|cost| cost.id).collect();
        return Err(invalid("what", &format!("{what:?}: give one of {}", known.join(", "))));
    }
    Ok(costs)
}

/// The name of a process in a recording.
fn instance((pid, start): ServiceRun) -> Vec<u8> {
    let separator = char::from(SourceDef::INSTANCE_SEPARATOR);
    format!("{pid}{separator}{start}").into_bytes()
}

/// The name of this machine in the recordings, if its processes are recorded.
fn recorded_here(recordings: &Recordings) -> Option<(String, Arc<SourceDef>)> {
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let hosts = recordings.hosts().into_iter();
    let found = hosts.filter_map(|host| {
        let def = recordings.source(host, PROCESS).ok()?;
        Some((host.to_owned(), def))
    });
    // Another name may have been chosen for the recordings of this machine.
    let mut found: Vec<_> = found.collect();
    let at = found.iter().position(|(host, _)| *host == node).unwrap_or(0);
    (!found.is_empty()).then(|| found.swap_remove(at))
}

fn meta(asked: &PageRequest<'_>, host: &str) -> Meta {
    let metas = (0..).map_while(|file| asked.recordings.meta(file));
    metas.filter(|meta| meta.host() == host).last().cloned().unwrap_or_default()
}

/// Means, least and most of a step, of the processes that a part had in it.
#[derive(Clone, Copy)]
struct Sum {
    mean: f64,
    min: f64,
    max: f64,
    readings: f64,
}

/// The values of parts: by part, field and step.
#[derive(Default)]
struct Curves(BTreeMap<(String, String), BTreeMap<u32, Sum>>);

impl Curves {
    fn of(
        answer: &RangeAnswer,
        fields: &[&str],
        names: &BTreeMap<Vec<u8>, String>,
        (first, meta): (usize, Meta),
    ) -> Self {
        let mut all = Curves::default();
        for series in &answer.series {
            let (Some(name), Some(field)) = (names.get(&series.instance), fields.get(series.field))
            else {
                continue;
            };
            let Some(place) = answer.def.field(field) else { continue };
            let unit = answer.def.fields[place].unit;
            let curve = all.0.entry((name.clone(), (*field).to_owned())).or_default();
            for value in series.values.iter().filter(|value| value.step as usize >= first) {
                let base = |number| view::to_base(unit, number, &meta);
                add(curve, value, base);
            }
        }
        all
    }

    /// A chart with a curve for each part.
    fn chart(&self, cost: &Cost, account: &ServiceAccount, steps: Steps) -> Value {
        let mut series = Vec::new();
        for part in &account.parts {
            let name = super::chart::shown(part.name.as_bytes());
            let of = |field: &&str| self.0.get(&(name.clone(), (*field).to_owned()));
            let fields =
                cost.fields.iter().find(|fields| fields.iter().any(|one| of(one).is_some()));
            let mut columns = [(); 3].map(|()| vec![None; steps.count]);
            for curve in fields.into_iter().flat_map(|fields| fields.iter().filter_map(of)) {
                for (step, sum) in curve {
                    for (column, value) in columns.iter_mut().zip([sum.mean, sum.min, sum.max]) {
                        let Some(cell) = column.get_mut(*step as usize) else { continue };
                        *cell = Some(cell.unwrap_or(0.0) + value * cost.scale);
                    }
                }
            }
            if columns[0].iter().any(Option::is_some) {
                let [mean, min, max] =
                    columns.map(|column| column.into_iter().map(number).collect::<Vec<_>>());
                series.push(
                    json!({ "id": name, "label": name, "mean": mean, "min": min, "max": max }),
                );
            }
        }
        json!({
            "id": cost.id,
            "title": cost.title,
            "unit": cost.unit,
            "from_ms": ms(steps.from_ns),
            "step_ms": ms(steps.step_ns),
            "series": series,
        })
    }
}

fn add(curve: &mut BTreeMap<u32, Sum>, value: &StepValue, base: impl Fn(f64) -> f64) {
    let [mean, min, max] = [value.mean(), value.min, value.max].map(base);
    let readings = f64::from(value.readings);
    let sum = curve.entry(value.step).or_insert(Sum { mean, min, max, readings: 0.0 });
    // Two processes of a part run one after the other.
    let all = sum.readings + readings;
    sum.mean = (sum.mean * sum.readings + mean * readings) / all.max(1.0);
    (sum.min, sum.max, sum.readings) = (sum.min.min(min), sum.max.max(max), all);
}

/// A chart as lines of a table.
fn lines(csv: &mut Csv, cost: &Cost, chart: &Value, steps: Steps) {
    for series in chart["series"].as_array().into_iter().flatten() {
        for step in 0..steps.count {
            let [mean, min, max] = ["mean", "min", "max"].map(|name| series[name][step].clone());
            if mean.is_null() {
                continue;
            }
            let at_ns = steps.from_ns + steps.step_ns * i64::try_from(step).unwrap_or(0);
            let name = series["id"].clone();
            csv.line(&[json!(ms(at_ns)), json!(cost.id), name, mean, min, max, json!(cost.unit)]);
        }
    }
}
