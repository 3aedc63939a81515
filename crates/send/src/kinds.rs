//! Kinds of engines: who takes what is sent.  A new one is a file and a line here.

use std::fmt;
use std::time::Duration;

use connection::{Address, AddressRules, ClientTls};
use http_client::{ClientSettings, HttpClient, HttpUrl};

use crate::SendError;
use crate::cursor::NAME_BYTES_MAX;
use crate::engine::MetricEngine;
use crate::graphite::{self, Graphite};
use crate::http::{HttpEngine, HttpForm};
use crate::influx::Influx;
use crate::otlp::Otlp;
use crate::remote_write::{self, RemoteWrite};
use crate::settings::SendSettings;

/// A kind of engines.
#[derive(Debug)]
pub struct EngineKind {
    /// Its word in `KIND=ADDRESS`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    way: EngineWay,
}

/// How the engines of a kind are reached.
#[derive(Debug)]
enum EngineWay {
    /// By HTTP, with requests of this form.
    Http(fn(&HttpUrl) -> Box<dyn HttpForm>),
    /// The same, and it answers questions at the path that is found so.
    Asked(fn(&HttpUrl) -> Box<dyn HttpForm>, fn(&HttpUrl) -> Option<String>),
    /// By a connection, with this port if the address names none.
    Stream(u16, StreamOpener),
}

/// Makes an engine of an address, the authorities that servers are checked by, and the time of a step.
type StreamOpener = fn(Address, Option<ClientTls>, Duration) -> Box<dyn MetricEngine>;

/// All kinds.
const KINDS: &[EngineKind] = &[
    EngineKind {
        name: "remote-write",
        about: "Prometheus, VictoriaMetrics, Mimir, Thanos (remote write 1.0)",
        way: EngineWay::Asked(|url| Box::new(RemoteWrite::new(url)), remote_write::query_path),
    },
    EngineKind {
        name: "otlp",
        about: "collectors of OpenTelemetry (OTLP over HTTP)",
        way: EngineWay::Http(|url| Box::new(Otlp::new(url))),
    },
    EngineKind {
        name: "influx",
        about: "InfluxDB, VictoriaMetrics (line protocol over HTTP)",
        way: EngineWay::Http(|url| Box::new(Influx::new(url))),
    },
    EngineKind {
        name: "graphite",
        about: "Graphite, VictoriaMetrics (plain text over TCP)",
        way: EngineWay::Stream(graphite::PORT, |address, tls, timeout| {
            Box::new(Graphite::new(address, tls, timeout))
        }),
    },
];

impl EngineKind {
    /// All kinds that there are.
    #[must_use]
    pub fn all() -> &'static [EngineKind] {
        KINDS
    }
}

/// An engine: its kind and where it is.
#[derive(Clone, Debug)]
pub struct EngineAddress {
    kind: &'static EngineKind,
    place: EnginePlace,
}

/// Where an engine is.
#[derive(Clone, Debug)]
enum EnginePlace {
    Http(HttpUrl, fn(&HttpUrl) -> Box<dyn HttpForm>),
    Stream(Address, StreamOpener),
}

impl EngineAddress {
    /// Reads `KIND=ADDRESS`.
    ///
    /// # Errors
    /// If there is no such kind, or the address is none.
    pub fn parse(text: &str) -> Result<Self, SendError> {
        let found = text.split_once('=').and_then(|(name, address)| {
            KINDS.iter().find(|kind| kind.name == name).map(|kind| (kind, address))
        });
        let (kind, address) = found.ok_or_else(|| SendError::NoEngine {
            text: text.to_owned(),
            known: KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
        })?;
        let place = match kind.way {
            EngineWay::Http(form) | EngineWay::Asked(form, _) => {
                EnginePlace::Http(HttpUrl::parse(address)?, form)
            }
            EngineWay::Stream(port, open) => {
                let rules = AddressRules {
                    default_port: Some(port),
                    is_path: |text| text.starts_with('/'),
                    is_host: |_| true,
                };
                let read = Address::parse(address, &rules);
                let read =
                    read.map_err(|error| SendError::Address { text: text.to_owned(), error });
                EnginePlace::Stream(read?, open)
            }
        };
        Ok(EngineAddress { kind, place })
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        match &self.place {
            EnginePlace::Http(url, _) => url.is_encrypted(),
            EnginePlace::Stream(address, _) => address.is_encrypted(),
        }
    }

    /// The name of the cursor of this engine, if nobody gives one: the kind and the server.
    #[must_use]
    pub fn cursor_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let server: String = self.to_string().chars().map(plain).collect();
        let server = server.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let mut name = format!("{}-{}", self.kind.name, server.join("-"));
        name.truncate(NAME_BYTES_MAX);
        name
    }

    /// Where it answers questions: the server, and the path.
    pub(crate) fn query(&self) -> Result<(&HttpUrl, String), SendError> {
        match (&self.place, &self.kind.way) {
            (EnginePlace::Http(url, _), EngineWay::Asked(_, path)) => match path(url) {
                Some(path) => Ok((url, path)),
                None => Err(SendError::NoQueryPath { url: url.to_string() }),
            },
            _ => Err(SendError::NoQuestions { kind: self.kind.name }),
        }
    }

    /// The engine; nothing is connected yet.
    pub(crate) fn open(&self, settings: &SendSettings) -> Result<Box<dyn MetricEngine>, SendError> {
        match &self.place {
            EnginePlace::Http(url, form) => {
                let client = HttpClient::new(url.clone(), settings.client.clone());
                let client = client.map_err(SendError::Client)?;
                Ok(Box::new(HttpEngine::new(client, settings.authorization.clone(), form(url))))
            }
            EnginePlace::Stream(..) if settings.authorization.is_some() => {
                Err(SendError::NoToken { kind: self.kind.name })
            }
            EnginePlace::Stream(address, open) => {
                let ClientSettings { tls, timeout, .. } = &settings.client;
                Ok(open(address.clone(), tls.clone(), *timeout))
            }
        }
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            EnginePlace::Http(url, _) => url.fmt(out),
            EnginePlace::Stream(address, _) => address.fmt(out),
        }
    }
}
