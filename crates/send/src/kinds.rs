//! Kinds of engines: who takes what is sent.  A new one is a file and a line here.

use std::fmt;

use connection::{Address, AddressRules};
use http_client::{HttpClient, HttpUrl};

use crate::SendError;
use crate::cursor::NAME_BYTES_MAX;
use crate::engine::OpenedEngine;
use crate::graphite::{self, Graphite};
use crate::http::{HttpEngine, HttpForm};
use crate::influx::Influx;
use crate::jetstream::{self, JetStream};
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
    /// By a connection.
    Stream(StreamWay),
}

/// How engines are reached that are not asked by HTTP.
#[derive(Clone, Copy, Debug)]
struct StreamWay {
    /// What the address begins with.
    scheme: &'static str,
    /// The port if the address names none.
    port: u16,
    /// Whether it speaks TLS, if the address has `tls:` in front.
    may_encrypt: bool,
    open: StreamOpener,
}

/// Makes an engine of an address.
type StreamOpener = fn(&Address, &SendSettings) -> OpenedEngine;

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
        way: EngineWay::Stream(StreamWay {
            scheme: "",
            port: graphite::PORT,
            may_encrypt: true,
            open: Graphite::open,
        }),
    },
    EngineKind {
        name: "jetstream",
        about: "NATS JetStream (a message for each sample, once)",
        way: EngineWay::Stream(StreamWay {
            scheme: "nats://",
            port: jetstream::PORT,
            may_encrypt: false,
            open: JetStream::open,
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
    Stream(Address, StreamWay),
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
            EngineWay::Stream(way) => {
                let rest = address.strip_prefix(way.scheme).ok_or_else(|| SendError::Scheme {
                    text: text.to_owned(),
                    scheme: way.scheme,
                })?;
                let rules = AddressRules {
                    default_port: Some(way.port),
                    is_path: |text| text.starts_with('/'),
                    is_host: |_| true,
                };
                let read = Address::parse(rest, &rules)
                    .map_err(|error| SendError::Address { text: text.to_owned(), error })?;
                if read.is_encrypted() && !way.may_encrypt {
                    return Err(SendError::NoTls { kind: kind.name });
                }
                EnginePlace::Stream(read, way)
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
    pub(crate) fn open(&self, settings: &SendSettings) -> OpenedEngine {
        match &self.place {
            EnginePlace::Http(url, form) => {
                let client = HttpClient::new(url.clone(), settings.client.clone());
                let client = client.map_err(SendError::Client)?;
                Ok(Box::new(HttpEngine::new(client, settings.authorization.clone(), form(url))))
            }
            EnginePlace::Stream(address, way) => (way.open)(address, settings),
        }
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            EnginePlace::Http(url, _) => url.fmt(out),
            EnginePlace::Stream(address, way) => write!(out, "{}{address}", way.scheme),
        }
    }
}
