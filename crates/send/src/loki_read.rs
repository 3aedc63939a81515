//! Log records that Loki has: its query interface, one window of time after the other, oldest first
//! (<https://grafana.com/docs/loki/latest/reference/loki-http-api/#query-logs-within-a-range-of-time>).
//!
//! An answer has so many of the first lines of all streams in a window; the next question begins at the
//! time of the last of them, since there may be more of that time.  Memory: one answer.

use std::collections::HashSet;
use std::ops::ControlFlow;

use http_client::{ClientSettings, HttpClient, HttpError, HttpUrl, Method, StatusCode};
use log_store::query::Filter;
use logring::LogLevel;
use promql::Quoted;
use serde_json::Value;
use text::error_text::with_causes;

use crate::SendError;
use crate::exchange::{authorized, said};
use crate::log_question::{CLOCKS_DIFFER, LogQuestion, TakeLine};
use crate::loki::USUAL_PATH;
use crate::settings::SendSettings;

/// Where it answers.
const QUERY_PATH: &str = "/loki/api/v1/query_range";

/// The time that is asked for at once: Loki takes 30 days, unless it is told otherwise.
const WINDOW_NS: u64 = 86_400_000_000_000;

/// Lines of an answer: Loki gives 5,000, unless it is told otherwise.
const LINES: usize = 2_000;

/// The most bytes of an answer; if one has more, fewer lines are asked for.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// A reader of one Loki.
struct LokiReader<'a> {
    client: HttpClient,
    target: String,
    query: String,
    settings: &'a SendSettings,
    lines: usize,
    /// The lines of the newest time that were taken, and that time.
    taken: HashSet<String>,
    taken_ns: u64,
}

/// Reads the lines of a time, in its order.
pub(crate) fn read(
    url: &HttpUrl,
    question: &LogQuestion<'_>,
    settings: &SendSettings,
    take: &mut TakeLine<'_>,
) -> Result<(), SendError> {
    let Some(from_ns) = question.filter.from_ns else {
        return Err(SendError::NoStart(url.to_string()));
    };
    let latest_ns = question.now_ns + CLOCKS_DIFFER.as_nanos() as u64;
    let until_ns = question.filter.until_ns.unwrap_or(latest_ns).min(latest_ns);
    let client = ClientSettings { answer_bytes_max: ANSWER_BYTES_MAX, ..settings.client.clone() };
    let client = HttpClient::new(url.clone(), client).map_err(SendError::Client)?;
    let (target, query) = (target(url), selector(question.filter));
    let (lines, taken) = (LINES, HashSet::new());
    let mut reader = LokiReader { client, target, query, settings, lines, taken, taken_ns: 0 };
    let mut begin_ns = from_ns;
    while begin_ns < until_ns {
        let end_ns = until_ns.min(begin_ns.saturating_add(WINDOW_NS));
        if reader.read_window(begin_ns, end_ns, take)?.is_break() {
            break;
        }
        begin_ns = end_ns;
    }
    Ok(())
}

/// Where a Loki is asked, by the address that it is sent to.
fn target(url: &HttpUrl) -> String {
    let sent = url.target_or(USUAL_PATH);
    match sent.split('?').next().and_then(|path| path.strip_suffix(USUAL_PATH)) {
        Some(base) => format!("{base}{QUERY_PATH}"),
        None => url.below(QUERY_PATH),
    }
}

/// The selector of the streams that may have what is wanted.
fn selector(filter: &Filter) -> String {
    let mut query = "{job=\"whit\"".to_owned();
    for (name, pattern) in [("host", &filter.host), ("process", &filter.process)] {
        // A process may be named by its number, which is no label.
        let is_number = name == "process" && pattern.parse::<u32>().is_ok();
        if !pattern.is_empty() && !pattern.contains('*') && !is_number {
            query += &format!(",{name}={}", Quoted(pattern));
        }
    }
    if let Some(level) = filter.level {
        let wanted = LogLevel::ALL.into_iter().filter(|one| one.number() >= level.number());
        let names: Vec<_> = wanted.map(|one| one.name().to_ascii_lowercase()).collect();
        query += &format!(",level=~\"{}\"", names.join("|"));
    }
    query + "}"
}

impl LokiReader<'_> {
    /// Reads a window of time; whether more is wanted.
    fn read_window(
        &mut self,
        mut begin_ns: u64,
        end_ns: u64,
        take: &mut TakeLine<'_>,
    ) -> Result<ControlFlow<()>, SendError> {
        loop {
            let asked = self.lines;
            // An answer that was too long is asked for again.
            let Some(mut found) = self.ask(begin_ns, end_ns)? else { continue };
            let count = found.len();
            found.sort_by_key(|(time_ns, _)| *time_ns);
            let mut is_new = false;
            for (time_ns, line) in found {
                if time_ns != self.taken_ns {
                    if time_ns < self.taken_ns {
                        continue;
                    }
                    self.taken.clear();
                    self.taken_ns = time_ns;
                }
                if self.taken.contains(&line) {
                    continue;
                }
                is_new = true;
                if take(line.as_bytes())?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.taken.insert(line);
            }
            if count < asked {
                return Ok(ControlFlow::Continue(()));
            }
            if !is_new {
                let why = format!("it gives {asked} lines at once, and has more of one time");
                return Err(self.failed(why));
            }
            begin_ns = self.taken_ns;
        }
    }

    fn failed(&self, why: String) -> SendError {
        SendError::NoAnswer { server: self.client.url().to_string(), why }
    }

    /// The first lines of a window, with their times; none if they are asked for anew, fewer at once.
    fn ask(&mut self, begin_ns: u64, end_ns: u64) -> Result<Option<Vec<(u64, String)>>, SendError> {
        let [start, end] = [begin_ns, end_ns].map(|time_ns| time_ns.to_string());
        let form = http_client::form(&[
            ("query", &self.query),
            ("start", &start),
            ("end", &end),
            ("limit", &self.lines.to_string()),
            ("direction", "forward"),
        ]);
        let target = format!("{}?{form}", self.target);
        let headers = authorized(Vec::new(), self.settings.authorization.as_ref());
        let answer = match self.client.send(Method::GET, &target, &headers, String::new()) {
            Err(HttpError::TooLong { .. }) if self.lines > 1 => {
                self.lines /= 2;
                return Ok(None);
            }
            answer => answer.map_err(|error| self.failed(with_causes(&error)))?,
        };
        if answer.status != StatusCode::OK {
            return Err(self.failed(said(&answer)));
        }
        let body: Value =
            serde_json::from_slice(&answer.body).map_err(|error| self.failed(error.to_string()))?;
        lines_of(&body).ok_or_else(|| self.failed("it gives no lines".to_owned())).map(Some)
    }
}

/// The lines of an answer: of each stream pairs of a time in ns, as a text, and the line.
pub(crate) fn lines_of(answer: &Value) -> Option<Vec<(u64, String)>> {
    let mut found = Vec::new();
    for stream in answer["data"]["result"].as_array()? {
        for pair in stream["values"].as_array()? {
            found.push((pair[0].as_str()?.parse().ok()?, pair[1].as_str()?.to_owned()));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selector_has_what_labels_say() {
        let mut filter = Filter { host: "a\"b".into(), process: "12".into(), ..Filter::default() };
        assert_eq!(selector(&filter), "{job=\"whit\",host=\"a\\\"b\"}");
        filter.level = Some(LogLevel::Alert);
        (filter.host, filter.process) = ("a*".into(), "p".into());
        assert_eq!(selector(&filter), "{job=\"whit\",process=\"p\",level=~\"alert|emergency\"}");
    }

    #[test]
    fn it_is_asked_beside_where_it_is_sent_to() {
        for (url, wanted) in [
            ("http://h", "/loki/api/v1/query_range"),
            ("http://h/loki/api/v1/push", "/loki/api/v1/query_range"),
            ("http://h/a/loki/api/v1/push?x=1", "/a/loki/api/v1/query_range"),
            ("http://h/a", "/a/loki/api/v1/query_range"),
        ] {
            assert_eq!(target(&HttpUrl::parse(url).unwrap()), wanted);
        }
    }
}
