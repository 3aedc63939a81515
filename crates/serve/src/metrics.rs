//! `/metrics`: the newest samples as a page, in the format that the client prefers.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use feed::FeedError;
use http_server::{
    AnswerBody, HttpAnswer, answer as answer_of, in_background, method_not_allowed, text_answer,
};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, VARY};
use hyper::{Method, Request, StatusCode};
use layout::Frame;
use metric_names::metric_name;
use promql::Stop;
use view::{PageForm, PageHost, ScrapePage};

use crate::clock::Deadline;
use crate::memory::{LooksForStop, QueryMemory, QueryTurn};

/// Bytes of a page that is made as a whole.
const PAGE_BYTES_MAX: usize = 64 << 20;

/// How long a page waits for memory that others hold.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum NewestError {
    /// The recordings cannot be read.
    #[error("the recordings cannot be read: {0}")]
    Unreadable(#[from] FeedError),
    /// They cannot be found.
    #[error("the recordings cannot be read: {0}")]
    NotFound(#[from] archive::Error),
    /// There were some, and now there is none.
    #[error("there are no recordings any more: they were removed or moved")]
    Gone,
    /// It is too large.
    #[error("the page has more than {0} bytes: record less, or serve fewer machines")]
    TooLarge(usize),
    /// Others hold the memory of the server.
    #[error("the server's memory is used by answers that are being sent: ask again")]
    Busy,
}

/// A page.
pub enum NewestPage {
    /// It is there as a whole.
    Whole(Bytes),
    /// It is written while it is sent.
    Written {
        /// The bytes of what it is made from.
        bytes: usize,
        /// Appends the next piece, and says whether there is more.
        write: Box<dyn FnMut(&mut String) -> bool + Send>,
    },
}

/// What has the newest samples of one or several machines.
pub trait NewestSamples: Send + Sync + 'static {
    /// A page.
    ///
    /// # Errors
    /// If the samples cannot be read, or do not fit.
    fn page(&self, form: PageForm) -> Result<NewestPage, NewestError>;
}

/// Writes the page of a machine.
pub(crate) fn write_page(
    form: PageForm,
    host: PageHost<'_>,
    frame: Frame<'_>,
) -> Result<Bytes, NewestError> {
    let mut page = ScrapePage::of_hosts(form, &[host], "", metric_name);
    let mut out = Bounded { bytes: Vec::new(), most: PAGE_BYTES_MAX };
    page.write(&[frame], &mut out).map_err(|_| NewestError::TooLarge(PAGE_BYTES_MAX))?;
    Ok(out.bytes.into())
}

/// Memory that takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers a request for the page.
pub(crate) async fn answer(
    newest: &Arc<dyn NewestSamples>,
    headers: &HeaderMap,
    memory: &Arc<QueryMemory>,
) -> HttpAnswer {
    let accepted: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let form = preferred(&accepted.join(","));
    let (newest, memory) = (newest.clone(), memory.clone());
    match in_background(move || body(&*newest, form, &memory)).await {
        Some(Ok(page)) => {
            let mut answer = answer_of(StatusCode::OK, content_type(form), page);
            answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
            answer
        }
        Some(Err(error)) => text_answer(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
        None => text_answer(StatusCode::INTERNAL_SERVER_ERROR, "the page failed\n"),
    }
}

/// The page as a body.
fn body(
    newest: &dyn NewestSamples,
    form: PageForm,
    memory: &Arc<QueryMemory>,
) -> Result<AnswerBody, NewestError> {
    let page = newest.page(form)?;
    let end = Deadline::after(WAIT_MAX);
    let stop: LooksForStop = Arc::new(move || end.has_passed().then_some(Stop::TimedOut));
    let turn = QueryTurn::new(memory, &stop);
    let body = match page {
        NewestPage::Whole(page) => turn.sent(page.into()),
        NewestPage::Written { bytes, write } => turn.written(bytes, write),
    };
    body.map_err(|_| NewestError::Busy)
}

/// Answers a request to a server that has nothing but the page.
pub(crate) async fn answer_alone(
    newest: &Arc<dyn NewestSamples>,
    request: &Request<Bytes>,
    memory: &Arc<QueryMemory>,
) -> HttpAnswer {
    let path = request.uri().path();
    if !["/metrics", "/-/healthy", "/-/ready"].contains(&path) {
        return text_answer(StatusCode::NOT_FOUND, "404 page not found: see /metrics\n");
    }
    if *request.method() != Method::GET {
        return method_not_allowed("GET");
    }
    match path {
        "/metrics" => answer(newest, request.headers(), memory).await,
        _ => text_answer(StatusCode::OK, "whit is healthy.\n"),
    }
}

fn content_type(form: PageForm) -> &'static str {
    match form {
        PageForm::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        PageForm::PrometheusText => "text/plain; version=0.0.4; charset=utf-8",
    }
}

/// The format that a client likes most, by a header `Accept` (RFC 9110, 12.5.1); of those that it likes
/// equally the one that stands first, and the older one for a client that says nothing of either.
fn preferred(accept: &str) -> PageForm {
    let mut best: Option<(PageForm, f64)> = None;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut version, mut quality) = (None, 1.0);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => version = Some(value),
                "q" => quality = value.parse().unwrap_or(0.0),
                _ => {}
            }
        }
        let form = match (kind.as_str(), version) {
            ("application/openmetrics-text", None | Some("1.0.0")) => PageForm::OpenMetrics,
            ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => {
                PageForm::PrometheusText
            }
            _ => continue,
        };
        if quality > 0.0 && best.is_none_or(|(_, before)| quality > before) {
            best = Some((form, quality));
        }
    }
    best.map_or(PageForm::PrometheusText, |(form, _)| form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_one_that_the_client_likes_most() {
        use PageForm::{OpenMetrics, PrometheusText};
        for (accept, form) in [
            // Prometheus 2.42, 2.50 and 3.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                 version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                 encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;\
                 escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.3,\
                 text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                OpenMetrics,
            ),
            ("text/plain;version=0.0.4", PrometheusText),
            ("text/plain;version=0.0.4;q=0.9, application/openmetrics-text;q=0.8", PrometheusText),
            ("text/plain;version=0.0.4;q=0.8, application/openmetrics-text; q=0.9", OpenMetrics),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8", OpenMetrics),
            ("application/openmetrics-text;version=0.0.1", PrometheusText),
            ("application/openmetrics-text;q=0", PrometheusText),
            ("application/openmetrics-text;q=x, */*;q=0.1", PrometheusText),
            ("text/html, application/xhtml+xml, */*;q=0.8", PrometheusText),
            ("application/json", PrometheusText),
            (";;;=,,q=;", PrometheusText),
            ("", PrometheusText),
        ] {
            assert_eq!(preferred(accept), form, "{accept}");
        }
    }

    #[test]
    fn a_page_that_is_too_large_is_refused() {
        let mut out = Bounded { bytes: Vec::new(), most: 10 };
        assert!(out.write_all(b"0123456789").is_ok());
        assert!(out.write_all(b"0").is_err());
    }
}
