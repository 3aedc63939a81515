//! Kinds of engines: who takes what is sent.  A new one is a file and a line here.

use http_client::HttpUrl;

use crate::SendError;
use crate::cursor::NAME_BYTES_MAX;
use crate::engine::MetricEngine;
use crate::remote_write::RemoteWrite;

/// A kind of engines.
pub struct EngineKind {
    /// Its word in `--to KIND=ADDRESS`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    open: fn(&HttpUrl) -> Box<dyn MetricEngine>,
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
    fn names() -> String {
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
        let (kind, url) = found
            .ok_or_else(|| SendError::NoEngine { text: text.to_owned(), known: Self::names() })?;
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
    pub fn open(&self, url: &HttpUrl) -> Box<dyn MetricEngine> {
        (self.open)(url)
    }
}
