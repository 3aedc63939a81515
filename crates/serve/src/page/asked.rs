//! What a request of the page asks: its parameters, checked, and the recordings of its host.

use archive::{Recordings, Select};
use promql::QueryError;

use super::steps::{Period, Steps};
use crate::clock::now_ms;
use crate::parameters::{Parameters, invalid};

/// The latest time that can be asked for: the year 2255.
const TIME_MS_MAX: i64 = 9_000_000_000_000;

/// The most steps of an answer.
const POINTS_MAX: usize = 4096;

/// Steps, if nobody says how many.
const POINTS_USUAL: usize = 600;

/// The period of a chart, if nobody says it: an hour.
pub(crate) const PERIOD_USUAL_MS: i64 = 3_600_000;

/// The most values of a list, where each costs memory.
const COUNT_MAX: usize = 10_000;

/// A request.
pub(crate) struct PageRequest<'a> {
    pub(crate) recordings: Recordings,
    pub(crate) parameters: &'a Parameters,
}

/// When the recordings of a host begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) from_ns: i64,
    pub(crate) thru_ns: i64,
    /// Whether a recorder writes one of them.
    pub(crate) is_live: bool,
}

/// Whole milliseconds of a time in nanoseconds.
pub(crate) fn ms(time_ns: i64) -> i64 {
    time_ns.div_euclid(1_000_000)
}

/// A sentence of an archive's error in an answer.
pub(crate) fn refused(error: archive::Error) -> QueryError {
    use archive::Error;
    match error {
        Error::Ended => QueryError::Cancelled,
        Error::Feed(_) | Error::SideFile(_) | Error::Summary { .. } => {
            QueryError::Execution(format!("the recordings cannot be read: {error}"))
        }
        error => QueryError::BadData(error.to_string()),
    }
}

/// What every question of the page checks.
impl Parameters {
    /// Refuses parameters that this request does not have.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), QueryError> {
        match self.names().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let known = known.join(", ");
                Err(invalid(name, &format!("it is not known here: there are {known}")))
            }
        }
    }

    /// A time in nanoseconds, if it is given.
    pub(crate) fn time_ns(&self, name: &str) -> Result<Option<i64>, QueryError> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let time_ms = text.parse().ok().filter(|time_ms| (0..=TIME_MS_MAX).contains(time_ms));
        let time_ms: i64 = time_ms.ok_or_else(|| {
            let why = format!("{text:?} is no time: give whole milliseconds since 1970");
            invalid(name, &why)
        })?;
        Ok(Some(time_ms * 1_000_000))
    }

    /// A whole number from 1 to a most; `usual` if it is not given.
    pub(crate) fn number(
        &self,
        name: &str,
        usual: usize,
        most: usize,
    ) -> Result<usize, QueryError> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(usual);
        }
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| invalid(name, &format!("{text:?} is no number from 1 to {most}")))
    }

    /// How many steps are wanted at most.
    pub(crate) fn points(&self) -> Result<usize, QueryError> {
        self.number("points", POINTS_USUAL, POINTS_MAX)
    }

    /// Whether lines for a table are wanted instead of JSON.
    pub(crate) fn is_csv(&self) -> Result<bool, QueryError> {
        match self.get("format") {
            "" | "json" => Ok(false),
            "csv" => Ok(true),
            other => Err(invalid("format", &format!("{other:?}: give json or csv"))),
        }
    }
}

impl PageRequest<'_> {
    /// Refuses parameters that this request does not have.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), QueryError> {
        self.parameters.only(known)
    }

    /// Whether lines for a table are wanted instead of JSON.
    pub(crate) fn is_csv(&self) -> Result<bool, QueryError> {
        self.parameters.is_csv()
    }

    /// The host: the one that is named, or the only one.
    pub(crate) fn host(&self) -> Result<String, QueryError> {
        let hosts = self.recordings.hosts();
        match (self.parameters.get("host"), hosts.as_slice()) {
            ("", [only]) => Ok((*only).to_owned()),
            ("", _) => Err(invalid("host", &format!("name one of {}", hosts.join(", ")))),
            (host, _) if hosts.contains(&host) => Ok(host.to_owned()),
            (host, _) => {
                let known = hosts.join(", ");
                Err(invalid("host", &format!("no recording is of {host:?}: there are {known}")))
            }
        }
    }

    /// A time in nanoseconds that must be given.
    pub(crate) fn needed_ns(&self, name: &str) -> Result<i64, QueryError> {
        let why = "it is missing: give whole milliseconds since 1970";
        self.parameters.time_ns(name)?.ok_or_else(|| invalid(name, why))
    }

    /// The period of two parameters, which end with the recordings and last an hour if not given.
    pub(crate) fn period(&self, host: &str) -> Result<Period, QueryError> {
        let thru_ns = match self.parameters.time_ns("thru")? {
            Some(thru_ns) => thru_ns,
            None => self.recorded(host).thru_ns + 1,
        };
        let usual_ns = thru_ns.saturating_sub(PERIOD_USUAL_MS * 1_000_000);
        let from_ns = self.parameters.time_ns("from")?.unwrap_or(usual_ns);
        checked("thru", from_ns, thru_ns)
    }

    /// A period of two parameters that must be given.
    pub(crate) fn needed_period(&self, from: &str, thru: &str) -> Result<Period, QueryError> {
        checked(thru, self.needed_ns(from)?, self.needed_ns(thru)?)
    }

    /// How many steps are wanted at most.
    pub(crate) fn points(&self) -> Result<usize, QueryError> {
        self.parameters.points()
    }

    /// How many lines are wanted at most.
    pub(crate) fn count(&self, usual: usize) -> Result<usize, QueryError> {
        self.parameters.number("count", usual, COUNT_MAX)
    }

    /// When the recordings of a host begin and end.
    pub(crate) fn recorded(&self, host: &str) -> Recorded {
        recorded(&self.recordings, host)
    }

    /// The steps of a period for readings of a source.
    pub(crate) fn steps(&self, host: &str, source: &str, period: Period, points: usize) -> Steps {
        let interval_ns = self.interval_ns(host, source, period);
        let Period { from_ns, thru_ns } = period;
        let nice_ns = || self.recordings.summarized_step((host, source), from_ns, thru_ns, points);
        let reading_ns = || self.reading_ns(host, source, period);
        Steps::of(period, points, interval_ns, nice_ns, reading_ns)
    }

    /// The longest interval between two readings of a source of a host or a device, in its recordings
    /// that have a period.
    fn interval_ns(&self, host: &str, source: &str, period: Period) -> i64 {
        let is_second = self.recordings.source(host, source);
        let is_second = is_second.is_ok_and(|def| def.cadence != sample::Cadence::First);
        let mut longest_ns = 0;
        let mut spans = self.recordings.spans(host).into_iter().peekable();
        let files = (0..)
            .map_while(|file| Some((self.recordings.path(file)?, self.recordings.meta(file)?)));
        // Spans are in the order of the files; those of a device are in recordings of pollers.
        for (path, meta) in files {
            let Some(span) = spans.next_if(|span| span.path == path) else { continue };
            let is_within = span.from_ns < period.thru_ns
                && span.thru_ns.is_none_or(|thru_ns| thru_ns >= period.from_ns);
            if is_within {
                let second_ns = if is_second { meta.interval2_ns() } else { 0 };
                longest_ns = longest_ns.max(meta.interval_ns()).max(second_ns);
            }
        }
        i64::try_from(longest_ns).unwrap_or(i64::MAX)
    }

    /// The time of a reading near the start of a period.
    fn reading_ns(&self, host: &str, source: &str, period: Period) -> Option<i64> {
        let Period { from_ns, thru_ns } = period;
        let mut found = None;
        let select = Select { host, source, fields: &[], from_ns, thru_ns };
        // The first one is enough; it ends the scan.
        let _ = self.recordings.scan(&select, &mut |reading| {
            found = Some(reading.realtime_ns);
            Err(archive::Error::Ended)
        });
        found
    }
}

pub(crate) fn checked(thru: &str, from_ns: i64, thru_ns: i64) -> Result<Period, QueryError> {
    match from_ns < thru_ns {
        true => Ok(Period { from_ns, thru_ns }),
        false => Err(invalid(thru, "the period ends before it begins")),
    }
}

/// When the recordings and the history of a host begin and end.  One that is written ends now; one of
/// which the end is not known when its file was written last.
pub(crate) fn recorded(recordings: &Recordings, host: &str) -> Recorded {
    let now_ns = now_ms().saturating_mul(1_000_000);
    let mut recorded = Recorded { from_ns: i64::MAX, thru_ns: i64::MIN, is_live: false };
    for span in recordings.spans(host) {
        let (thru_ns, is_live) = end(&span, now_ns);
        recorded.from_ns = recorded.from_ns.min(span.from_ns);
        recorded.thru_ns = recorded.thru_ns.max(thru_ns);
        recorded.is_live |= is_live;
    }
    if let Ok(Some((from_ns, thru_ns))) = recordings.history_span(host) {
        recorded.from_ns = recorded.from_ns.min(from_ns);
        recorded.thru_ns = recorded.thru_ns.max(thru_ns);
    }
    recorded.from_ns = recorded.from_ns.clamp(0, TIME_MS_MAX * 1_000_000);
    recorded.thru_ns = recorded.thru_ns.clamp(recorded.from_ns, TIME_MS_MAX * 1_000_000);
    recorded
}

/// When a recording ends, and whether it is being written.
pub(crate) fn end(span: &archive::RecordedSpan, now_ns: i64) -> (i64, bool) {
    if let Some(thru_ns) = span.thru_ns {
        return (thru_ns.max(span.from_ns), false);
    }
    if recording::is_being_written(&span.path).is_ok_and(|is_written| is_written) {
        return (now_ns.max(span.from_ns), true);
    }
    let written = span.path.metadata().and_then(|data| data.modified());
    let since = written.ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let written_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
    (written_ns.unwrap_or(span.from_ns).max(span.from_ns), false)
}
