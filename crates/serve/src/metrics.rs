//! `/metrics`: the newest samples as a page, in the format that the client prefers.

use std::io::{self, Write};
use std::sync::Arc;

use feed::FeedError;
use http_server::{
    HttpAnswer, answer as answer_of, in_background, method_not_allowed, text_answer,
};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, VARY};
use hyper::{Method, Request, StatusCode};
use layout::Frame;
use metric_names::metric_name;
use view::{PageForm, PageHost, ScrapePage};

/// Bytes of a page where nothing else says it.
const PAGE_BYTES_MAX: usize = 64 << 20;

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
}

/// What has the newest samples of one or several machines.
pub trait NewestSamples: Send + Sync + 'static {
    /// A page of at most so many bytes.
    ///
    /// # Errors
    /// If the samples cannot be read, or do not fit.
    fn page(&self, form: PageForm, bytes_max: usize) -> Result<Bytes, NewestError>;
}

/// The latest page in each format.
#[derive(Default)]
pub(crate) struct PageCache([Option<Bytes>; 2]);

impl PageCache {
    /// The page in a format; `make` makes it if there is none.
    pub(crate) fn get(
        &mut self,
        form: PageForm,
        make: impl FnOnce() -> Result<Bytes, NewestError>,
    ) -> Result<Bytes, NewestError> {
        let place = &mut self.0[usize::from(form == PageForm::PrometheusText)];
        match place {
            Some(page) => Ok(page.clone()),
            None => Ok(place.insert(make()?).clone()),
        }
    }
}

/// Writes a page of machines, each with its frame.
pub(crate) fn write_page(
    form: PageForm,
    hosts: &[(PageHost<'_>, Frame<'_>)],
    host_label: &'static str,
    bytes_max: usize,
) -> Result<Bytes, NewestError> {
    let machines: Vec<PageHost<'_>> =
        hosts.iter().map(|(host, _)| PageHost { meta: host.meta, defs: host.defs }).collect();
    let frames: Vec<Frame<'_>> = hosts.iter().map(|(_, frame)| *frame).collect();
    let mut page = ScrapePage::of_hosts(form, &machines, host_label, metric_name);
    let mut out = Bounded { bytes: Vec::new(), most: bytes_max };
    page.write(&frames, &mut out).map_err(|_| NewestError::TooLarge(bytes_max))?;
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
    bytes_max: usize,
) -> HttpAnswer {
    let accepted: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let form = preferred(&accepted.join(","));
    let newest = newest.clone();
    match in_background(move || newest.page(form, bytes_max)).await {
        Some(Ok(page)) => {
            let mut answer = answer_of(StatusCode::OK, content_type(form), page);
            answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
            answer
        }
        Some(Err(error)) => text_answer(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
        None => text_answer(StatusCode::INTERNAL_SERVER_ERROR, "the page failed\n"),
    }
}

/// Answers a request to a server that has nothing but the page.
pub(crate) async fn answer_alone(
    newest: &Arc<dyn NewestSamples>,
    request: &Request<Bytes>,
) -> HttpAnswer {
    let path = request.uri().path();
    if !["/metrics", "/-/healthy", "/-/ready"].contains(&path) {
        return text_answer(StatusCode::NOT_FOUND, "404 page not found: see /metrics\n");
    }
    if *request.method() != Method::GET {
        return method_not_allowed("GET");
    }
    match path {
        "/metrics" => answer(newest, request.headers(), PAGE_BYTES_MAX).await,
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
