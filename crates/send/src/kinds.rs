//! Kinds of engines: who takes what is sent.  A new one is a file and a line here.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use connection::{Address, AddressRules};
use http_client::{HttpClient, HttpUrl};

use crate::SendError;
use crate::asked::{AskedEngine, AsksPoints};
use crate::clickhouse::ClickHouse;
use crate::cursor::NAME_BYTES_MAX;
use crate::engine::OpenedEngine;
use crate::graphite::{self, Graphite};
use crate::http::{HttpEngine, HttpForm, HttpLogForm};
use crate::influx::Influx;
use crate::jetstream::JetStream;
use crate::jetstream_read;
use crate::journal::Journal;
use crate::log_batch::LogEngine;
use crate::log_question::{LogQuestion, LogReadWay, TakeLine};
use crate::loki::Loki;
use crate::loki_read;
use crate::otlp::Otlp;
use crate::otlp_logs::OtlpLogs;
use crate::recording_stock::{PORT, RecordingStock};
use crate::remote_write::{self, RemoteWrite};
use crate::settings::{SendInput, SendSettings};

/// A kind of engines.
#[derive(Debug)]
pub struct EngineKind {
    /// The word of the kind in `KIND=ADDRESS`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    way: EngineWay,
    /// How it takes log records, if it does.
    logs: Option<LogWay>,
    /// How the log records that it has are read.
    pub(crate) reads: Option<LogReadWay>,
}

/// How engines take log records.
#[derive(Clone, Copy, Debug)]
enum LogWay {
    /// By HTTP, with requests of this form.
    Http(fn(&HttpUrl) -> Box<dyn HttpLogForm>),
    /// By a connection.
    Stream(fn(&Address, &SendSettings) -> Box<dyn LogEngine>),
    /// As samples, into a table.
    Tables,
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
    /// By HTTP, with more than one request for what is sent, and it answers questions.
    Tables,
    /// By a connection, whole recordings.
    Recordings(StreamPlace),
    /// It takes log records alone, by HTTP.
    LogsAlone,
}

/// How engines are reached that are not asked by HTTP.
#[derive(Clone, Copy, Debug)]
struct StreamWay {
    at: StreamPlace,
    open: StreamOpener,
}

/// How their addresses are written.
#[derive(Clone, Copy, Debug)]
struct StreamPlace {
    /// What the address begins with.
    scheme: &'static str,
    /// The port if the address names none.
    port: u16,
    /// What an address with TLS begins with.
    tls_scheme: &'static str,
}

impl StreamPlace {
    /// Where an engine is whose address is this, of the text of an option.
    fn place(&self, address: &str, text: &str) -> Result<EnginePlace, SendError> {
        let (scheme, tls_scheme) = (self.scheme, self.tls_scheme);
        let wrong = || SendError::Scheme { text: text.to_owned(), scheme, tls_scheme };
        let (rest, scheme) = match address.strip_prefix(self.tls_scheme) {
            Some(rest) => (format!("tls:{rest}"), self.tls_scheme),
            None => (address.strip_prefix(self.scheme).ok_or_else(wrong)?.to_owned(), self.scheme),
        };
        let rules = AddressRules {
            default_port: Some(self.port),
            is_path: |text| text.starts_with('/'),
            is_host: |_| true,
        };
        let read = Address::parse(&rest, &rules)
            .map_err(|error| SendError::Address { text: text.to_owned(), error })?;
        // The scheme alone says that TLS is spoken.
        match read.is_encrypted() == (scheme == self.tls_scheme) {
            true => Ok(EnginePlace::Stream(read, scheme)),
            false => Err(wrong()),
        }
    }
}

/// Makes an engine of an address.
type StreamOpener = fn(&Address, &SendSettings) -> OpenedEngine;

/// All kinds.
const KINDS: &[EngineKind] = &[
    EngineKind {
        name: "remote-write",
        about: "Prometheus, VictoriaMetrics, Mimir, Thanos (remote write 2.0 and 1.0)",
        way: EngineWay::Asked(|url| Box::new(RemoteWrite::new(url)), remote_write::query_path),
        logs: None,
        reads: None,
    },
    EngineKind {
        name: "otlp",
        about: "collectors of OpenTelemetry (OTLP over HTTP)",
        way: EngineWay::Http(|url| Box::new(Otlp::new(url))),
        logs: Some(LogWay::Http(|url| Box::new(OtlpLogs::new(url)))),
        reads: None,
    },
    EngineKind {
        name: "influx",
        about: "InfluxDB, VictoriaMetrics (line protocol over HTTP)",
        way: EngineWay::Http(|url| Box::new(Influx::new(url))),
        logs: None,
        reads: None,
    },
    EngineKind {
        name: "graphite",
        about: "Graphite, VictoriaMetrics (plain text over TCP)",
        way: EngineWay::Stream(StreamWay {
            at: StreamPlace { scheme: "", port: graphite::PORT, tls_scheme: "tls:" },
            open: Graphite::open,
        }),
        logs: None,
        reads: None,
    },
    EngineKind {
        name: "jetstream",
        about: "NATS JetStream (a message for each sample or record, once)",
        way: EngineWay::Stream(StreamWay {
            at: StreamPlace { scheme: "nats://", port: nats::PORT, tls_scheme: "tls://" },
            open: |address, settings| Ok(Box::new(JetStream::new(address, settings))),
        }),
        logs: Some(LogWay::Stream(|address, settings| Box::new(JetStream::new(address, settings)))),
        reads: Some(LogReadWay::Stream(jetstream_read::read)),
    },
    EngineKind {
        name: "loki",
        about: "Loki (log records, by its push interface)",
        way: EngineWay::LogsAlone,
        logs: Some(LogWay::Http(|url| Box::new(Loki::new(url)))),
        reads: Some(LogReadWay::Http(loki_read::read)),
    },
    EngineKind {
        name: "journal",
        about: "systemd-journal-remote (log records, by the Journal Export Format)",
        way: EngineWay::LogsAlone,
        logs: Some(LogWay::Http(|url| Box::new(Journal::new(url)))),
        reads: None,
    },
    EngineKind {
        name: "clickhouse",
        about: "ClickHouse (rows of two tables, by HTTP)",
        way: EngineWay::Tables,
        logs: Some(LogWay::Tables),
        reads: None,
    },
    EngineKind {
        name: "whit",
        about: "another whit (recordings, as they are, to whit log central --recordings)",
        way: EngineWay::Recordings(StreamPlace { scheme: "", port: PORT, tls_scheme: "tls:" }),
        logs: None,
        reads: None,
    },
];

impl EngineKind {
    /// All kinds that there are.
    #[must_use]
    pub fn all() -> &'static [EngineKind] {
        KINDS
    }
}

/// All forms of metrics that are sent by HTTP: for fuzz targets.
pub(crate) fn http_forms(url: &HttpUrl) -> impl Iterator<Item = Box<dyn HttpForm>> {
    KINDS.iter().filter_map(|kind| match kind.way {
        EngineWay::Http(form) | EngineWay::Asked(form, _) => Some(form(url)),
        _ => None,
    })
}

/// All forms of log records that are sent by HTTP: for fuzz targets.
pub(crate) fn http_log_forms(url: &HttpUrl) -> impl Iterator<Item = Box<dyn HttpLogForm>> {
    KINDS.iter().filter_map(|kind| match kind.logs {
        Some(LogWay::Http(form)) => Some(form(url)),
        _ => None,
    })
}

/// The kind of this name, if there is one.
pub(crate) fn named(name: &str) -> Option<&'static EngineKind> {
    KINDS.iter().find(|kind| kind.name == name)
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
    Http(HttpUrl),
    Stream(Address, &'static str),
}

impl EngineAddress {
    /// Reads `KIND=ADDRESS`.
    ///
    /// # Errors
    /// If there is no such kind, or the address is none.
    pub fn parse(text: &str) -> Result<Self, SendError> {
        let found = text
            .split_once('=')
            .and_then(|(name, address)| named(name).map(|kind| (kind, address)));
        let (kind, address) = found.ok_or_else(|| SendError::NoEngine {
            text: text.to_owned(),
            known: KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
        })?;
        let place = match kind.way {
            EngineWay::Http(_)
            | EngineWay::Asked(..)
            | EngineWay::Tables
            | EngineWay::LogsAlone => EnginePlace::Http(HttpUrl::parse(address)?),
            EngineWay::Stream(StreamWay { at, .. }) | EngineWay::Recordings(at) => {
                at.place(address, text)?
            }
        };
        Ok(EngineAddress { kind, place })
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        match &self.place {
            EnginePlace::Http(url) => url.is_encrypted(),
            EnginePlace::Stream(address, _) => address.is_encrypted(),
        }
    }

    /// How often a sender that follows looks for what is new, if nobody says it.  Samples that go in one
    /// request are gathered for 2 s: the names of series and the work for a request are half of what a
    /// sample alone costs.  Log records, and samples that have a message each, gain nothing from waiting.
    pub(crate) fn usual_every(&self, input: SendInput) -> Duration {
        let shares = match self.kind.way {
            EngineWay::Http(_) | EngineWay::Asked(..) | EngineWay::Tables => true,
            EngineWay::Stream(_) | EngineWay::Recordings(_) | EngineWay::LogsAlone => false,
        };
        match shares && input == SendInput::Samples {
            true => Duration::from_secs(2),
            false => Duration::from_secs(1),
        }
    }

    /// Whether it has tables, which can be made.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        matches!(self.kind.way, EngineWay::Tables)
    }

    /// Whether it takes log records and nothing else.
    #[must_use]
    pub fn is_for_logs_alone(&self) -> bool {
        matches!(self.kind.way, EngineWay::LogsAlone)
    }

    /// Whether it takes recordings as they are, and not points.
    #[must_use]
    pub fn takes_recordings(&self) -> bool {
        matches!(self.kind.way, EngineWay::Recordings(_))
    }

    /// Checks that something can be chosen of what is sent to it.
    ///
    /// # Errors
    /// If it gets recordings as they are.
    pub fn check_choice(&self) -> Result<(), SendError> {
        match self.takes_recordings() {
            true => Err(SendError::WholeRecordings { kind: self.kind.name }),
            false => Ok(()),
        }
    }

    /// Recordings of a folder, with the connection to it; nothing is connected yet.
    pub(crate) fn recording_stock(
        &self,
        folder: &Path,
        settings: &SendSettings,
    ) -> Result<RecordingStock, SendError> {
        if !settings.selection.is_whole() {
            self.check_choice()?;
        }
        match &self.place {
            EnginePlace::Stream(address, _) => RecordingStock::new(folder, address, settings),
            // An address is of the way of its kind, and that was checked.
            EnginePlace::Http(_) => Err(SendError::WholeRecordings { kind: self.kind.name }),
        }
    }

    /// Checks that it takes what is to be sent.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(&self, input: SendInput) -> Result<(), SendError> {
        let kind = self.kind.name;
        match input {
            SendInput::Samples if self.is_for_logs_alone() => Err(SendError::LogsAlone { kind }),
            SendInput::Logs if self.kind.logs.is_none() => {
                let takes = KINDS.iter().filter(|kind| kind.logs.is_some());
                let known = takes.map(|kind| kind.name).collect::<Vec<_>>().join(", ");
                Err(SendError::NoLogs { kind, known })
            }
            _ => Ok(()),
        }
    }

    /// The name of the cursor of this engine, if nobody gives one: the kind, what it gets if that is not
    /// samples, and the server.
    #[must_use]
    pub fn cursor_name(&self, input: SendInput) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let server: String = self.to_string().chars().map(plain).collect();
        let server = server.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let logs = if input == SendInput::Logs { "logs-" } else { "" };
        let mut name = format!("{}-{logs}{}", self.kind.name, server.join("-"));
        name.truncate(NAME_BYTES_MAX);
        name
    }

    /// What answers questions about points.
    pub(crate) fn asked(&self, settings: &SendSettings) -> Result<Box<dyn AsksPoints>, SendError> {
        match (&self.place, &self.kind.way) {
            (EnginePlace::Http(url), EngineWay::Asked(_, path)) => {
                let path = path(url);
                let path = path.ok_or_else(|| SendError::NoQueryPath { url: url.to_string() })?;
                Ok(Box::new(AskedEngine::new(url, path, settings)?))
            }
            (EnginePlace::Http(url), EngineWay::Tables) => {
                Ok(Box::new(ClickHouse::new(url, settings)?))
            }
            _ => Err(SendError::NoQuestions { kind: self.kind.name }),
        }
    }

    /// How the log records that it has are read.
    pub(crate) fn log_reader(&self) -> Result<LogReadWay, SendError> {
        self.kind.reads.ok_or_else(|| {
            let readers = KINDS.iter().filter(|kind| kind.reads.is_some());
            let known = readers.map(|kind| kind.name).collect::<Vec<_>>().join(", ");
            SendError::NoLogReader { kind: self.kind.name, known }
        })
    }

    /// Reads the lines of the engine, by the way that [`EngineAddress::log_reader`] gave.
    pub(crate) fn read_lines(
        &self,
        way: LogReadWay,
        question: &LogQuestion<'_>,
        settings: &SendSettings,
        take: &mut TakeLine<'_>,
    ) -> Result<(), SendError> {
        match (&self.place, way) {
            (EnginePlace::Http(url), LogReadWay::Http(read)) => read(url, question, settings, take),
            (EnginePlace::Stream(address, _), LogReadWay::Stream(read)) => {
                read(address, question, settings, take)
            }
            // An address is of the way of its kind, and that was checked.
            _ => Err(SendError::NoQuestions { kind: self.kind.name }),
        }
    }

    /// The engine; nothing is connected yet.
    pub(crate) fn open(&self, settings: &SendSettings) -> OpenedEngine {
        self.check(SendInput::Samples)?;
        match (&self.place, &self.kind.way) {
            (EnginePlace::Http(url), EngineWay::Http(form)) => {
                Ok(Box::new(http_engine(url, settings, form(url))?))
            }
            (EnginePlace::Http(url), EngineWay::Asked(form, path)) => {
                let engine = http_engine(url, settings, form(url))?;
                Ok(Box::new(match path(url) {
                    Some(path) => engine.asking(AskedEngine::new(url, path, settings)?),
                    None => engine,
                }))
            }
            (EnginePlace::Http(url), EngineWay::Tables) => {
                Ok(Box::new(ClickHouse::new(url, settings)?))
            }
            (EnginePlace::Stream(address, _), EngineWay::Stream(way)) => {
                (way.open)(address, settings)
            }
            // An address is of the way of its kind, and that was checked.
            _ => Err(SendError::LogsAlone { kind: self.kind.name }),
        }
    }

    /// The engine for log records; nothing is connected yet.
    pub(crate) fn open_for_logs(
        &self,
        settings: &SendSettings,
    ) -> Result<Box<dyn LogEngine>, SendError> {
        self.check(SendInput::Logs)?;
        match (&self.place, self.kind.logs) {
            (EnginePlace::Http(url), Some(LogWay::Http(form))) => {
                Ok(Box::new(http_engine(url, settings, form(url))?))
            }
            (EnginePlace::Http(url), Some(LogWay::Tables)) => {
                Ok(Box::new(ClickHouse::new(url, settings)?))
            }
            (EnginePlace::Stream(address, _), Some(LogWay::Stream(open))) => {
                Ok(open(address, settings))
            }
            // An address is of the way of its kind, and that was checked.
            _ => Err(SendError::NoLogs { kind: self.kind.name, known: String::new() }),
        }
    }
}

/// An engine that is asked by HTTP.
fn http_engine<F: ?Sized>(
    url: &HttpUrl,
    settings: &SendSettings,
    form: Box<F>,
) -> Result<HttpEngine<F>, SendError> {
    let client =
        HttpClient::new(url.clone(), settings.client.clone()).map_err(SendError::Client)?;
    Ok(HttpEngine::new(client, settings.authorization.clone(), form))
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            EnginePlace::Http(url) => url.fmt(out),
            EnginePlace::Stream(address, scheme) => {
                let address = address.to_string();
                write!(out, "{scheme}{}", address.strip_prefix("tls:").unwrap_or(&address))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_share_a_request_are_gathered() {
        for (text, of_samples, of_logs) in [
            ("remote-write=http://h", 2, None),
            ("otlp=http://h", 2, Some(1)),
            ("influx=http://h", 2, None),
            ("clickhouse=http://h", 2, Some(1)),
            ("jetstream=nats://h", 1, Some(1)),
            ("graphite=h", 1, None),
            ("whit=h", 1, None),
        ] {
            let address = EngineAddress::parse(text).unwrap();
            let seconds = |input| address.usual_every(input).as_secs();
            assert_eq!(seconds(SendInput::Samples), of_samples, "{text}");
            let has_logs = address.check(SendInput::Logs).is_ok();
            let found = has_logs.then(|| seconds(SendInput::Logs));
            assert_eq!(found, of_logs, "{text}");
        }
    }
}
