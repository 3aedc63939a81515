//! A report: the page and what its questions about a period are answered, in one file that needs no
//! server.
//!
//! The answers are made by the same functions as the server's.  Curves of the whole period come in
//! coarse steps and then in finer ones, as long as the file has room for them; single samples come at
//! least around the spikes.  Moments are those of the spikes, the newest one, and some between.

use std::collections::BTreeSet;
use std::io::{self, Write};

use archive::Recordings;
use promql::QueryError;
use serde_json::{Value, json};

use super::asked::{PageRequest, ms, recorded};
use super::heaviest::AMOUNTS;
use super::report_file::Answers;
use super::steps::Period;
use super::{hosts, question};
use crate::clock::now_ms;
use crate::parameters::Parameters;

/// Bytes of all answers in the file: what is sent by mail may have so many.
const BYTES_MAX: usize = 8_000_000;

/// Moments between the spikes.
const MOMENTS_BETWEEN: i64 = 60;

/// Steps of a curve of the whole period, and of one part of a curve in finer steps.
const POINTS: i64 = 600;
const POINTS_OF_PART: i64 = 2000;

/// Steps of the ruler: as many as the page asks for.
const RULER_POINTS: &str = "1000";

/// A level has steps that are at least so many times shorter than those of the one before.
const FINER: i64 = 4;

/// How much around a spike comes in single samples, before and after.
const AROUND_SPIKE_NS: i64 = 120_000_000_000;

/// Lines of the heaviest processes, and of what explains a moment: as many as the page asks for.
const HEAVIEST_COUNT: &str = "100";
const EXPLAIN_COUNT: &str = "60";

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum PageReportError {
    /// The recordings cannot be read.
    #[error("the recordings cannot be read: {0}")]
    Unread(String),
    /// There is nothing to report.
    #[error("no samples in this period; are --from and --thru right?")]
    Empty,
    /// Nothing that is asked for has curves.
    #[error("no curves of these subsystems are recorded in this period; others: {0}")]
    NoCurves(String),
    /// The picture would be too large.
    #[error("the picture would be too large: choose fewer subsystems with -s")]
    TooLarge,
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl From<QueryError> for PageReportError {
    fn from(error: QueryError) -> Self {
        PageReportError::Unread(error.to_string())
    }
}

/// What is in a report.
#[derive(Clone, Debug, Default)]
pub struct ReportMade {
    /// Moments with their processes.
    pub moments: usize,
    /// The shortest step in which the curves of the whole period are.
    pub step_ns: i64,
    /// Whether single samples are there only around the spikes.
    pub is_coarse: bool,
}

/// Writes a report of a period of each host: the page with its answers, in one file.
///
/// # Errors
///
/// If the recordings cannot be read, have nothing in the periods, or the file cannot be written.
pub fn write_report(
    recordings: &Recordings,
    periods: &[(&str, (i64, i64))],
    out: &mut dyn Write,
) -> Result<ReportMade, PageReportError> {
    let mut making =
        Making { recordings, answers: Answers::default(), made: ReportMade::default() };
    let mut said = Vec::new();
    let mut chosen = Vec::new();
    for &(host, (from_ns, thru_ns)) in periods {
        let whole = recorded(recordings, host);
        let (from_ns, thru_ns) = (from_ns.max(whole.from_ns), thru_ns.min(whole.thru_ns + 1));
        if from_ns < thru_ns {
            // Times of the page are whole milliseconds.
            let period = Period { from_ns: ms(from_ns) * 1_000_000, thru_ns };
            said.push(one_host(recordings, host, period)?);
            chosen.push((host, period));
        }
    }
    let Some(&(first, _)) = chosen.first() else { return Err(PageReportError::Empty) };
    let hosts = json!({ "now_ms": now_ms(), "hosts": said });
    making.add(json!({ "name": "hosts" }), &hosts.to_string(), BYTES_MAX)?;
    let share = BYTES_MAX / chosen.len();
    for (index, &(host, period)) in chosen.iter().enumerate() {
        let end = share * (index + 1);
        HostReport { making: &mut making, host, period, end }.add()?;
    }
    let about = json!({
        "made_ms": now_ms(),
        "version": env!("CARGO_PKG_VERSION"),
        "step_ms": ms(making.made.step_ns),
        "moments": making.made.moments,
        "is_coarse": making.made.is_coarse,
    });
    making.answers.write(&format!("{first}: a report of whit"), about, out)?;
    Ok(making.made)
}

/// What is said of a host, of this period alone.
fn one_host(recordings: &Recordings, host: &str, period: Period) -> Result<Value, QueryError> {
    let mut said = hosts::one(recordings, host)?;
    let (from_ms, thru_ms) = (ms(period.from_ns), ms(period.thru_ns));
    for list in ["spans", "gaps"] {
        let Some(spans) = said[list].as_array_mut() else { continue };
        for span in spans.iter_mut() {
            let clamped = |name: &str| span[name].as_i64().map(|at| at.clamp(from_ms, thru_ms));
            let (begin, end) = (clamped("from_ms"), clamped("thru_ms"));
            *span = json!({ "from_ms": begin, "thru_ms": end });
        }
        spans.retain(|span| span["from_ms"].as_i64() < span["thru_ms"].as_i64());
    }
    said["from_ms"] = json!(from_ms);
    said["thru_ms"] = json!(thru_ms);
    said["is_live"] = json!(false);
    Ok(said)
}

/// A report while it is made.
struct Making<'a> {
    recordings: &'a Recordings,
    answers: Answers,
    made: ReportMade,
}

impl Making<'_> {
    /// What the server would answer.
    fn ask(&self, name: &str, parameters: &[(&str, &str)]) -> Result<String, QueryError> {
        let parameters = Parameters::with(parameters);
        let asked = PageRequest { recordings: self.recordings.clone(), parameters: &parameters };
        match question(name) {
            Some(question) => question(&asked),
            None => Err(QueryError::BadData(format!("there is no question {name}"))),
        }
    }

    fn add(
        &mut self,
        head: Value,
        answer: &str,
        bytes_max: usize,
    ) -> Result<bool, PageReportError> {
        Ok(self.answers.add(head, answer, bytes_max)?)
    }

    /// Adds what the server would answer; what it refuses, too.
    fn add_asked(
        &mut self,
        head: Value,
        parameters: &[(&str, &str)],
        bytes_max: usize,
    ) -> Result<bool, PageReportError> {
        let name = head["name"].as_str().unwrap_or_default();
        let answer = match self.ask(name, parameters) {
            Err(QueryError::BadData(why)) => json!({ "error": why }).to_string(),
            answer => answer?,
        };
        self.add(head, &answer, bytes_max)
    }
}

/// The report of a host while it is made.
struct HostReport<'a, 'b> {
    making: &'a mut Making<'b>,
    host: &'a str,
    period: Period,
    /// Bytes of all answers at the end of this host, at most.
    end: usize,
}

impl HostReport<'_, '_> {
    fn add(&mut self) -> Result<(), PageReportError> {
        let (host, period) = (self.host, self.period);
        let (from, thru) = texts(period);
        let whole = [("host", host), ("from", &*from), ("thru", &*thru)];
        let charts = self.making.ask("charts", &[("host", host)])?;
        let ids = listed(&charts, "charts", "id", |id| id.as_str().map(str::to_owned));
        let head = json!({ "name": "charts", "host": host });
        self.making.add(head, &charts, self.end)?;
        let parameters = [&whole[..], &[("points", RULER_POINTS)]].concat();
        let ruler = self.making.ask("ruler", &parameters)?;
        self.making.add(self.head("ruler", period), &ruler, self.end)?;
        self.add_heaviest(&whole)?;
        let step_ns = self.step_ns(POINTS);
        let mut finest_ns = step_ns;
        self.add_level(&ids, step_ns)?;
        let spikes = listed(&ruler, "spikes", "at_ms", Value::as_i64);
        let mut known = BTreeSet::new();
        // Half of the room that is left; the rest is for curves in finer steps.
        let moments_end = usize::midpoint(self.making.answers.bytes, self.end);
        for at_ms in [self.newest_ms()].iter().chain(&spikes) {
            self.add_moment(*at_ms, moments_end, &mut known)?;
        }
        let shortest_ns = self.shortest_ns();
        while finest_ns > shortest_ns {
            let next_ns = Recordings::aligned_step(0, finest_ns / FINER, 1);
            let next_ns = if next_ns < finest_ns { next_ns.max(shortest_ns) } else { shortest_ns };
            if !self.add_level(&ids, next_ns)? {
                break;
            }
            finest_ns = next_ns;
        }
        let is_coarse = finest_ns > shortest_ns;
        if is_coarse {
            self.add_around(&ids, &spikes, shortest_ns)?;
        }
        self.add_between(&mut known)?;
        let made = &mut self.making.made;
        made.step_ns = made.step_ns.max(finest_ns);
        made.is_coarse |= is_coarse;
        made.moments += known.len();
        Ok(())
    }

    fn head(&self, name: &str, period: Period) -> Value {
        let (from_ms, thru_ms) = (ms(period.from_ns), ms(period.thru_ns));
        json!({ "name": name, "host": self.host, "from_ms": from_ms, "thru_ms": thru_ms })
    }

    /// The step in which the period has so many steps.
    fn step_ns(&self, points: i64) -> i64 {
        let Period { from_ns, thru_ns } = self.period;
        let points = points.unsigned_abs() as usize;
        Recordings::aligned_step(from_ns, thru_ns, points).max(self.shortest_ns())
    }

    /// The step of single samples.
    fn shortest_ns(&self) -> i64 {
        let metas = (0..).map_while(|file| self.making.recordings.meta(file));
        let intervals = metas.filter(|meta| meta.host() == self.host);
        let shortest = intervals.map(sample::Meta::interval_ns).filter(|one| *one > 0).min();
        shortest.and_then(|one| i64::try_from(one).ok()).unwrap_or(1_000_000_000).max(10_000_000)
    }

    /// The time of the newest sample of the period.
    fn newest_ms(&self) -> i64 {
        let moment = self.making.recordings.moment(self.host, self.period.thru_ns - 1);
        let newest =
            moment.ok().and_then(|found| found.first().map(|one| one.history.realtime_ns()));
        ms(newest.unwrap_or(self.period.thru_ns))
    }

    fn add_heaviest(&mut self, whole: &[(&str, &str)]) -> Result<(), PageReportError> {
        for amount in AMOUNTS {
            for by in ["command", "user", "cgroup", "process"] {
                let mut head = self.head("heaviest", self.period);
                (head["what"], head["by"]) = (json!(amount.name), json!(by));
                let asked = [("what", amount.name), ("by", by), ("count", HEAVIEST_COUNT)];
                self.making.add_asked(head, &[whole, &asked[..]].concat(), self.end)?;
            }
        }
        Ok(())
    }

    /// Adds all charts of the period in steps of this length; all of it or nothing.
    fn add_level(&mut self, ids: &[String], step_ns: i64) -> Result<bool, PageReportError> {
        let Period { from_ns, thru_ns } = self.period;
        let length_ns = step_ns.saturating_mul(POINTS_OF_PART);
        let (before, bytes_before) = (self.making.answers.count(), self.making.answers.bytes);
        let mut begin_ns = from_ns - from_ns.rem_euclid(step_ns);
        let parts = (thru_ns - begin_ns - 1) / length_ns + 1;
        while begin_ns < thru_ns {
            let end_ns = begin_ns.saturating_add(length_ns).min(thru_ns);
            let part = Period { from_ns: begin_ns.max(from_ns), thru_ns: end_ns };
            let is_added = self.add_charts(ids, part, step_ns)?;
            let bytes = (self.making.answers.bytes - bytes_before) as i64;
            // The first part tells how large all will be.
            let is_first = begin_ns <= from_ns;
            let expected = if is_first { bytes.saturating_mul(parts) } else { bytes };
            if !is_added || bytes_before as i64 + expected > self.end as i64 {
                self.making.answers.truncate(before);
                return Ok(false);
            }
            begin_ns = end_ns;
        }
        Ok(true)
    }

    fn add_charts(
        &mut self,
        ids: &[String],
        part: Period,
        step_ns: i64,
    ) -> Result<bool, PageReportError> {
        if ids.is_empty() {
            return Ok(true);
        }
        let (from, thru) = texts(part);
        let points = ((part.thru_ns - part.from_ns) / step_ns + 2).to_string();
        let mut parameters =
            vec![("host", self.host), ("from", &*from), ("thru", &*thru), ("points", &*points)];
        parameters.extend(ids.iter().map(|id| ("id", &**id)));
        let mut head = self.head("chart", part);
        head["step_ms"] = json!(ms(step_ns));
        self.making.add_asked(head, &parameters, self.end)
    }

    /// Adds single samples around the spikes.
    fn add_around(
        &mut self,
        ids: &[String],
        spikes_ms: &[i64],
        step_ns: i64,
    ) -> Result<(), PageReportError> {
        let mut parts: Vec<Period> = Vec::new();
        for at_ms in spikes_ms {
            let at_ns = at_ms * 1_000_000;
            let from_ns = (at_ns - AROUND_SPIKE_NS).max(self.period.from_ns);
            let thru_ns = (at_ns + AROUND_SPIKE_NS).min(self.period.thru_ns);
            match parts.last_mut().filter(|last| last.thru_ns >= from_ns) {
                Some(last) => last.thru_ns = thru_ns,
                None => parts.push(Period { from_ns, thru_ns }),
            }
        }
        for part in parts {
            let length_ns = step_ns.saturating_mul(POINTS_OF_PART);
            let mut from_ns = part.from_ns;
            while from_ns < part.thru_ns {
                let thru_ns = from_ns.saturating_add(length_ns).min(part.thru_ns);
                if !self.add_charts(ids, Period { from_ns, thru_ns }, step_ns)? {
                    return Ok(());
                }
                from_ns = thru_ns;
            }
        }
        Ok(())
    }

    /// Adds moments at even distances, as long as there is room.
    fn add_between(&mut self, known: &mut BTreeSet<i64>) -> Result<(), PageReportError> {
        let (from_ms, thru_ms) = (ms(self.period.from_ns), ms(self.period.thru_ns));
        let distance_ms = ((thru_ms - from_ms) / MOMENTS_BETWEEN).max(1);
        for number in 1..MOMENTS_BETWEEN {
            let at_ms = from_ms + number * distance_ms;
            if !self.add_moment(at_ms, self.end, known)? {
                break;
            }
        }
        Ok(())
    }

    /// Adds the first sample at or after a time, and what explains it; says whether there is room
    /// for it.
    fn add_moment(
        &mut self,
        at_ms: i64,
        bytes_max: usize,
        known: &mut BTreeSet<i64>,
    ) -> Result<bool, PageReportError> {
        let at = at_ms.to_string();
        let parameters = [("host", self.host), ("at", &*at)];
        let answer = match self.making.ask("moment", &parameters) {
            // There is none any more.
            Err(QueryError::BadData(_)) => return Ok(true),
            answer => answer?,
        };
        let Some((before_ms, found_ms)) = times(&answer) else { return Ok(true) };
        if found_ms > ms(self.period.thru_ns) || !known.insert(found_ms) {
            return Ok(true);
        }
        let before = self.making.answers.count();
        let mut head = json!({
            "name": "moment",
            "host": self.host,
            "at_ms": at_ms,
            "from_ms": before_ms.max(ms(self.period.from_ns)).min(at_ms),
            "thru_ms": found_ms,
        });
        let mut is_added = self.making.add(head.clone(), &answer, bytes_max)?;
        if is_added {
            head["name"] = json!("explain");
            let parameters = [&parameters[..], &[("count", EXPLAIN_COUNT)]].concat();
            is_added = self.making.add_asked(head, &parameters, bytes_max)?;
        }
        if !is_added {
            self.making.answers.truncate(before);
            known.remove(&found_ms);
        }
        Ok(is_added)
    }
}

/// A period as parameters have it: whole milliseconds, and all of it.
fn texts(period: Period) -> (String, String) {
    let thru_ms = ms(period.thru_ns.saturating_add(999_999));
    (ms(period.from_ns).to_string(), thru_ms.to_string())
}

/// A member of each object of a list of an answer.
fn listed<T>(answer: &str, list: &str, member: &str, of: fn(&Value) -> Option<T>) -> Vec<T> {
    let parsed: Value = serde_json::from_str(answer).unwrap_or_default();
    let found = parsed[list].as_array().map(Vec::as_slice).unwrap_or_default();
    found.iter().filter_map(|one| of(&one[member])).collect()
}

/// From when to when the interval of a moment is.
fn times(answer: &str) -> Option<(i64, i64)> {
    let parsed: Value = serde_json::from_str(answer).ok()?;
    let at_ms = parsed["at_ms"].as_i64()?;
    Some((parsed["before_ms"].as_i64().unwrap_or(at_ms), at_ms))
}
