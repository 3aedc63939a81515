//! Engines that are asked by HTTP: a request for some points or log records, and what the status of an answer means.

use std::ops::Range;
use std::time::Duration;

use http_client::header::{HeaderName, HeaderValue};
use http_client::{ClientAnswer, HttpClient, Method, StatusCode};
use jiff::fmt::rfc2822;
use log_format::LogRecord;
use text::error_text::with_causes;

use crate::asked::AskedEngine;
use crate::batch::{Batch, BatchPoint, BatchSeries, points_of};
use crate::engine::{MetricEngine, SendOutcome};
use crate::exchange::authorized;
use crate::log_batch::{LogBatch, LogEngine, LogEntry};

/// How often an engine is asked what it has, until it answers.
const ASKED_TIMES: usize = 5;

/// A request to an engine.
#[derive(Debug)]
pub(crate) struct FormRequest {
    /// The path and the query.
    pub target: String,
    /// Headers but those of the connection, the length, the program and the token.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The form in which an engine takes points, and what its answers mean.
pub(crate) trait HttpForm: Send {
    /// The request that hands over these points; none if the form has no word for any of them.
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> Option<FormRequest>;

    /// Whether an answer means that the engine knows an older form alone, which is used from now on.
    fn falls_back(&mut self, _answer: &ClientAnswer) -> bool {
        false
    }

    /// What the answer to such a request means.
    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome;
}

/// The form in which an engine takes log records, and what its answers mean.
pub(crate) trait HttpLogForm: Send {
    /// Appends a record in this form.
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>);

    /// The request that hands over these records.
    fn request(&mut self, batch: &LogBatch, entries: &[LogEntry]) -> FormRequest;

    /// What the answer to such a request means.
    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome;
}

/// An engine that is asked by HTTP.
pub(crate) struct HttpEngine<F: ?Sized> {
    client: HttpClient,
    authorization: Option<HeaderValue>,
    form: Box<F>,
    /// Where it says what it has.
    asked: Option<AskedEngine>,
}

impl<F: ?Sized> HttpEngine<F> {
    pub(crate) fn new(
        client: HttpClient,
        authorization: Option<HeaderValue>,
        form: Box<F>,
    ) -> Self {
        HttpEngine { client, authorization, form, asked: None }
    }

    /// One that can be asked what it has.
    pub(crate) fn asking(self, asked: AskedEngine) -> Self {
        HttpEngine { asked: Some(asked), ..self }
    }

    /// Sends a request; the answer, or that it is tried again.
    fn send(&mut self, request: FormRequest) -> Result<ClientAnswer, SendOutcome> {
        let headers = authorized(request.headers, self.authorization.as_ref());
        let answer = self.client.send(Method::POST, &request.target, &headers, request.body);
        answer.map_err(|error| SendOutcome::Retry { why: with_causes(&error), after: None })
    }
}

impl LogEngine for HttpEngine<dyn HttpLogForm> {
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>) {
        self.form.encode(record, out);
    }

    fn hand_over(&mut self, batch: &LogBatch, entries: Range<usize>) -> SendOutcome {
        let request = self.form.request(batch, &batch.entries[entries]);
        self.send(request).map_or_else(|later| later, |answer| self.form.outcome(&answer))
    }
}

impl MetricEngine for HttpEngine<dyn HttpForm> {
    fn hand_over(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> SendOutcome {
        loop {
            let points = batch.points_of(samples.clone());
            let Some(request) = self.form.request(series, points) else {
                return SendOutcome::Acknowledged;
            };
            match self.send(request) {
                Ok(answer) if self.form.falls_back(&answer) => {}
                Ok(answer) => return self.form.outcome(&answer),
                Err(later) => return later,
            }
        }
    }

    fn held(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> Option<usize> {
        let asked = self.asked.as_mut()?;
        // What hides an acknowledgement may hide an answer, too.
        let lacks = (0..ASKED_TIMES)
            .find_map(|_| asked.first_missing(series, batch.points_of(samples.clone())).ok())?;
        let Some(missing) = lacks else { return Some(samples.len()) };
        let before = points_of(&batch.ends, 0..samples.start).end;
        let ends = batch.ends[samples].iter().map(|end| end.points - before);
        Some(ends.take_while(|end| *end <= missing).count())
    }
}

/// What an answer means by its status: a success is an acknowledgement, what `is_later` takes is tried
/// again, and so is what a person mends; the rest is refused for good.
pub(crate) fn by_status(
    answer: &ClientAnswer,
    why: String,
    is_later: impl Fn(StatusCode) -> bool,
) -> SendOutcome {
    let status = answer.status;
    if status.is_success() {
        return SendOutcome::Acknowledged;
    }
    if is_later(status) {
        return SendOutcome::Retry { why, after: retry_after(answer) };
    }
    // A wrong password or address is mended by a person, and then all is well.
    let may_be_mended = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::REQUEST_TIMEOUT,
    ];
    if may_be_mended.contains(&status) || status.is_redirection() {
        return SendOutcome::Retry { why, after: None };
    }
    SendOutcome::Refused { why, is_known: false }
}

/// Whether it is tried again by what most engines say: an error of theirs, or too many requests.
pub(crate) fn is_usually_later(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// What Retry-After says, at most an hour: seconds, or a time, which is by the clock that the answer has in Date
/// (RFC 9110, 10.2.3).
fn retry_after(answer: &ClientAnswer) -> Option<Duration> {
    let text = |name| Some(answer.headers.get(name)?.to_str().ok()?.trim());
    let second = |name| Some(rfc2822::parse(text(name)?).ok()?.timestamp().as_second());
    let seconds = match text("retry-after")?.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => u64::try_from(second("retry-after")? - second("date")?).unwrap_or(0),
    };
    Some(Duration::from_secs(seconds.min(3600)))
}

#[cfg(test)]
mod tests {
    use http_client::header::HeaderMap;

    use super::*;

    #[test]
    fn retry_after_is_a_number_or_a_time() {
        const DATE: &str = "Sat, 28 Nov 2026 23:59:50 GMT";
        for (said, date, wanted_s) in [
            ("7", None, Some(7)),
            ("99999", None, Some(3600)),
            ("Sun, 29 Nov 2026 00:00:20 GMT", Some(DATE), Some(30)),
            ("Sat, 28 Nov 2026 23:59:40 GMT", Some(DATE), Some(0)),
            ("Fri, 31 Dec 2100 23:59:59 GMT", Some(DATE), Some(3600)),
            ("Sun, 29 Nov 2026 00:00:20 GMT", None, None),
            ("Sun, 29 Nov 2026 00:00:20 GMT", Some("now"), None),
            ("-5", Some(DATE), None),
            ("soon", Some(DATE), None),
        ] {
            let mut headers = HeaderMap::new();
            let lines = [("retry-after", Some(said)), ("date", date)];
            for (name, text) in lines.into_iter().filter_map(|(name, text)| Some((name, text?))) {
                headers.insert(name, HeaderValue::from_static(text));
            }
            let status = StatusCode::TOO_MANY_REQUESTS;
            let answer = ClientAnswer { status, headers, body: Vec::new().into() };
            let wanted = wanted_s.map(Duration::from_secs);
            assert_eq!(retry_after(&answer), wanted, "{said} {date:?}");
        }
    }
}
