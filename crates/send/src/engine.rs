//! Engines: who takes what is sent.  A new one is a file and a line here.

use std::time::Duration;

use http_client::header::{HeaderName, HeaderValue};
use http_client::{ClientAnswer, HttpUrl};

use crate::SendError;
use crate::batch::{BatchPoint, BatchSeries};
use crate::remote_write::RemoteWrite;

/// A request to an engine.
#[derive(Debug)]
pub struct SendRequest {
    /// The path and the query.
    pub target: String,
    /// Headers but those of the connection and the length.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What an answer means for the points that were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The engine has them.
    Acknowledged,
    /// It does not take them now: again after this time, or after the usual pause.
    Retry {
        /// Why.
        why: String,
        /// When, if the engine says it.
        after: Option<Duration>,
    },
    /// It will never take all of them as they are.
    Refused {
        /// Why.
        why: String,
        /// Whether that is since it has these samples or later ones already.
        is_known: bool,
    },
}

/// Makes requests of points, and says what answers mean.
pub trait Engine: Send {
    /// The request that hands over these points.
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> SendRequest;

    /// What the answer to such a request means.
    fn outcome(&mut self, answer: &ClientAnswer) -> Outcome;
}

/// Bytes of the name of a cursor: it is a part of a file's name.
pub(crate) const NAME_BYTES_MAX: usize = 100;

/// A kind of engines.
pub struct EngineKind {
    /// Its word in `--to KIND=ADDRESS`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    open: fn(&HttpUrl) -> Box<dyn Engine>,
}

/// All kinds.
const KINDS: &[EngineKind] = &[EngineKind {
    name: "remote-write",
    about: "Prometheus, VictoriaMetrics, Mimir, Thanos (remote write 1.0)",
    open: |url| Box::new(RemoteWrite::new(url)),
}];

impl EngineKind {
    /// All kinds that there are.
    #[must_use]
    pub fn all() -> &'static [EngineKind] {
        KINDS
    }

    /// The words of all kinds.
    #[must_use]
    pub fn names() -> String {
        KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
    }

    /// Reads `KIND=ADDRESS`: the kind and the address.
    ///
    /// # Errors
    /// If there is no such kind, or the address is none.
    pub fn parse(text: &str) -> Result<(&'static EngineKind, HttpUrl), SendError> {
        let found = text.split_once('=').and_then(|(name, url)| {
            KINDS.iter().find(|kind| kind.name == name).map(|kind| (kind, url))
        });
        let (kind, url) = found.ok_or_else(|| SendError::NoEngine(text.to_owned()))?;
        Ok((kind, HttpUrl::parse(url)?))
    }

    /// The name of the cursor of an engine of this kind: the kind and the server.
    #[must_use]
    pub fn cursor_name(&self, url: &HttpUrl) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let server: String = url.to_string().chars().map(plain).collect();
        let server = server.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let mut name = format!("{}-{}", self.name, server.join("-"));
        name.truncate(NAME_BYTES_MAX);
        name
    }

    /// An engine of this kind.
    #[must_use]
    pub fn open(&self, url: &HttpUrl) -> Box<dyn Engine> {
        (self.open)(url)
    }
}

/// What Retry-After says in seconds, at most an hour.
pub(crate) fn retry_after(answer: &ClientAnswer) -> Option<Duration> {
    let text = answer.headers.get("retry-after")?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse::<u64>().ok()?.min(3600)))
}

/// What an answer says, in a line without control characters.
pub(crate) fn said(answer: &ClientAnswer) -> String {
    let body = &answer.body[..answer.body.len().min(300)];
    let line = String::from_utf8_lossy(body);
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = layout::text::escape(line.as_bytes());
    format!("{}: {line}", answer.status)
}
