//! The devices that pollers recorded: their targets with what went in and out, what the pollers know of
//! them beside that, and the curves of one.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use archive::{RangeAnswer, Recordings};
use http_server::HttpAnswer;
use hyper::StatusCode;
use promql::QueryError;
use serde_json::{Value, json};
use service_account::{PolledTarget, targets_beside};

use super::asked::{PageRequest, ms, refused};
use super::chart::{number, shown};
use super::section::{PageSection, SectionQuestion};
use super::steps::Steps;
use super::table::Csv;
use super::{json_answer, text};
use crate::beneath::FileBeneath;
use crate::parameters::invalid;
use crate::recordings::RecordingStorage;

/// The source of a device's targets, and its fields: what goes in and what goes out, of a target that
/// counts, of one that is a gauge, and of one with digits after the point.
const TARGET: &str = "target";
const FIELDS: [&str; 6] = ["in", "out", "in_level", "out_level", "in_value", "out_value"];

/// Steps in which the newest values are looked for.
const STEPS: usize = 60;

/// The devices of recordings.
pub(super) struct Devices {
    recordings: Arc<RecordingStorage>,
    /// The folder of their pages.
    pages: Option<PathBuf>,
}

/// One direction of a target.
#[derive(Clone, Copy, Default)]
struct Flow {
    sum: f64,
    steps: u32,
    last: Option<f64>,
    max: Option<f64>,
}

/// A target in a period.
#[derive(Default)]
struct Target {
    is_rate: bool,
    flows: [Flow; 2],
    /// The last step with a value.
    newest: Option<u32>,
}

impl Flow {
    fn mean(self) -> Option<f64> {
        (self.steps > 0).then(|| self.sum / f64::from(self.steps))
    }
}

impl PageSection for Devices {
    fn name(&self) -> &'static str {
        "devices"
    }

    fn is_offered(&self) -> bool {
        let known = self.recordings.recordings();
        self.pages.is_some() || known.is_ok_and(|recordings| !devices(&recordings).is_empty())
    }

    fn answer(&self, question: &SectionQuestion<'_>) -> Result<HttpAnswer, QueryError> {
        let stop = question.stop.clone();
        let recordings = self.recordings.recordings().map_err(refused)?;
        let recordings = recordings.ending(move || stop().is_some());
        let asked = PageRequest { recordings, parameters: question.parameters };
        match question.path {
            "" => self.list(&asked),
            "target" => target(&asked),
            other => Err(QueryError::BadData(format!(
                "there is no devices/{other}: there are devices and devices/target"
            ))),
        }
    }
}

impl Devices {
    pub(super) fn new(recordings: Arc<RecordingStorage>) -> Self {
        Devices { recordings, pages: None }
    }

    /// Adds links to the pages of a folder.
    pub(super) fn with_pages(self, folder: PathBuf) -> Self {
        Devices { pages: Some(folder), ..self }
    }

    /// Every target of every device, with its values of a period.
    fn list(&self, asked: &PageRequest<'_>) -> Result<HttpAnswer, QueryError> {
        asked.only(&["from", "thru", "format"])?;
        let is_csv = asked.is_csv()?;
        let accounts = Accounts::of(&asked.recordings);
        let mut lines = Vec::new();
        for device in devices(&asked.recordings) {
            let period = asked.period(&device)?;
            let steps = asked.steps(&device, TARGET, period, STEPS);
            let query = steps.query(&device, TARGET, &FIELDS, &[]);
            let answer = asked.recordings.range(&query).map_err(refused)?;
            let mut found = targets(&answer);
            // One that never answered has no values, and a reason.
            accounts.of_device(&device).for_each(|one| {
                found.entry(one.target.clone().into_bytes()).or_default();
            });
            for (name, found) in found {
                let account = accounts.of_target(&device, &name);
                lines.push(self.line((&device, &name), &found, account, steps));
            }
        }
        if is_csv {
            let columns = [
                "device",
                "target",
                "unit",
                "in_last",
                "in_mean",
                "in_max",
                "out_last",
                "out_mean",
                "out_max",
                "newest_ms",
                "title",
                "in_limit",
                "out_limit",
                "failure",
                "failure_ms",
                "failing_since_ms",
            ];
            let mut csv = Csv::new(&columns);
            for line in &lines {
                csv.line(&columns.map(|column| line[column].clone()));
            }
            return Ok(text(csv.text));
        }
        let index = self.page("index.html").map(|_| "mrtg/");
        let found = json!({ "targets": lines, "index": index });
        Ok(json_answer(StatusCode::OK, found.to_string()))
    }

    /// A file of the pages of devices, if there is one of that name.
    fn page<'a>(&self, name: &'a str) -> Option<&'a str> {
        FileBeneath::find(self.pages.as_ref()?, name).ok().map(|_| name)
    }

    fn line(
        &self,
        (device, name): (&str, &[u8]),
        target: &Target,
        account: Option<&PolledTarget>,
        steps: Steps,
    ) -> Value {
        let failure = account.and_then(|one| one.failure.as_ref());
        let limit = |at: usize| number(account.and_then(|one| one.limits[at]));
        let text = |text: &str| shown(text.as_bytes());
        let [into, out] = target.flows;
        // MRTG names the page of a target in small letters.
        let page = format!("{}.html", String::from_utf8_lossy(name).to_lowercase());
        let at = |step: u32| ms(steps.from_ns + steps.step_ns * i64::from(step));
        json!({
            "device": device,
            "target": shown(name),
            "unit": unit(target.is_rate),
            "in_last": number(into.last),
            "in_mean": number(into.mean()),
            "in_max": number(into.max),
            "out_last": number(out.last),
            "out_mean": number(out.mean()),
            "out_max": number(out.max),
            "newest_ms": target.newest.map(at),
            "is_current": target.newest.is_some_and(|step| step as usize + 2 >= steps.count),
            "page": self.page(&page),
            "title": account.map(|one| text(&one.title)),
            "in_limit": limit(0),
            "out_limit": limit(1),
            "failure": failure.map(|failure| text(&failure.why)),
            "failure_ms": failure.map(|failure| failure.at_ms),
            "failing_since_ms": failure.filter(|one| !one.is_over).map(|one| one.since_ms),
        })
    }
}

/// What pollers know of targets, by device and target.
struct Accounts(HashMap<String, BTreeMap<Vec<u8>, PolledTarget>>);

impl Accounts {
    /// What pollers keep beside recordings; of a target that two know, what the first one does.
    fn of(recordings: &Recordings) -> Self {
        let mut all: HashMap<String, BTreeMap<Vec<u8>, PolledTarget>> = HashMap::new();
        for one in recordings.device_folders().into_iter().flat_map(targets_beside) {
            let of_device = all.entry(one.device.clone()).or_default();
            of_device.entry(one.target.clone().into_bytes()).or_insert(one);
        }
        Accounts(all)
    }

    fn of_device(&self, device: &str) -> impl Iterator<Item = &PolledTarget> {
        self.0.get(device).into_iter().flat_map(BTreeMap::values)
    }

    fn of_target(&self, device: &str, target: &[u8]) -> Option<&PolledTarget> {
        self.0.get(device)?.get(target)
    }
}

/// The devices of recordings.
fn devices(recordings: &Recordings) -> Vec<String> {
    let has_targets = |host: &&str| recordings.sources(host).iter().any(|def| def.name == TARGET);
    recordings.hosts().into_iter().filter(has_targets).map(str::to_owned).collect()
}

fn unit(is_rate: bool) -> &'static str {
    if is_rate { "count/s" } else { "count" }
}

/// The unit of a value of a target: readings with digits after the point are kept as hundredths.
fn scale(field: usize) -> f64 {
    if FIELDS[field].ends_with("_value") { 0.01 } else { 1.0 }
}

fn targets(answer: &RangeAnswer) -> BTreeMap<Vec<u8>, Target> {
    let mut found: BTreeMap<Vec<u8>, Target> = BTreeMap::new();
    for series in answer.series.iter().filter(|series| !series.values.is_empty()) {
        let target = found.entry(series.instance.clone()).or_default();
        target.is_rate |= series.field < 2;
        let scale = scale(series.field);
        let flow = &mut target.flows[series.field % 2];
        for value in &series.values {
            flow.sum += value.mean() * scale;
            flow.steps += 1;
            flow.last = Some(value.last * scale);
            flow.max = Some(flow.max.map_or(value.max * scale, |max| max.max(value.max * scale)));
            target.newest = target.newest.max(Some(value.step));
        }
    }
    found
}

/// The curves of a target.
fn target(asked: &PageRequest<'_>) -> Result<HttpAnswer, QueryError> {
    asked.only(&["host", "target", "from", "thru", "points", "format"])?;
    let host = asked.host()?;
    let (period, points, is_csv) = (asked.period(&host)?, asked.points()?, asked.is_csv()?);
    let name = asked.parameters.get("target");
    let steps = asked.steps(&host, TARGET, period, points);
    let query = steps.query(&host, TARGET, &FIELDS, &[name.as_bytes().to_vec()]);
    let answer = asked.recordings.range(&query).map_err(refused)?;
    if answer.series.is_empty() {
        return Err(invalid("target", &format!("{host} has no {name:?} in this period")));
    }
    let is_rate = answer.series.iter().any(|series| series.field < 2);
    let mut csv = Csv::new(&["time_ms", "series", "mean", "min", "max", "unit"]);
    let mut curves = Vec::new();
    for series in answer.series.iter().filter(|series| !series.values.is_empty()) {
        let id = if series.field % 2 == 0 { "in" } else { "out" };
        let scale = scale(series.field);
        let mut columns = [(); 3].map(|()| vec![Value::Null; steps.count]);
        for value in &series.values {
            let values = [value.mean(), value.min, value.max];
            let values = values.map(|value| number(Some(value * scale)));
            let step = value.step as usize;
            let time = json!(ms(steps.from_ns + steps.step_ns * i64::from(value.step)));
            let [mean, min, max] = values.clone();
            csv.line(&[time, json!(id), mean, min, max, json!(unit(is_rate))]);
            for (column, value) in columns.iter_mut().zip(values) {
                column[step] = value;
            }
        }
        let [mean, min, max] = columns;
        curves.push(json!({ "id": id, "label": id, "mean": mean, "min": min, "max": max }));
    }
    if is_csv {
        return Ok(text(csv.text));
    }
    let found = json!({
        "id": TARGET,
        "unit": unit(is_rate),
        "from_ms": ms(steps.from_ns),
        "step_ms": ms(steps.step_ns),
        "series": curves,
    });
    Ok(json_answer(StatusCode::OK, found.to_string()))
}
