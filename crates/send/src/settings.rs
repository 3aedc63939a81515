//! How a sender works.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use connection::ClientTls;
use http_client::ClientSettings;
use http_client::header::HeaderValue;
use nats::NatsAccess;

use crate::SendError;
use crate::series::SourceChoice;

/// Less would cost a request for each sample; after more nobody follows.
const EVERY_NS: RangeInclusive<u64> = 1_000_000_000..=3_600_000_000_000;

/// What it takes to get into engines.
#[derive(Clone, Debug, Default)]
pub struct EngineAccess {
    /// The authorities that servers are checked by, in PEM; without them those of the system.
    pub authorities: Option<PathBuf>,
    /// A file with the token that is said to them.
    pub token_file: Option<PathBuf>,
}

impl EngineAccess {
    /// Reads the files: the authorities of the system if some engine speaks TLS.
    ///
    /// # Errors
    /// If a file cannot be read or is none of its kind.
    pub fn load(&self, settings: &mut SendSettings, is_encrypted: bool) -> Result<(), SendError> {
        if let Some(path) = &self.token_file {
            let token = http_client::bearer(path);
            let failed = |source| SendError::Token { path: path.clone(), source };
            settings.authorization = Some(token.map_err(failed)?);
        }
        settings.client.tls = match &self.authorities {
            Some(path) => Some(ClientTls::load(path, None).map_err(SendError::AuthorityFile)?),
            None if is_encrypted => http_client::system_authorities()
                .map(|path| ClientTls::load(&path, None))
                .transpose()?,
            None => None,
        };
        Ok(())
    }
}

/// What a folder has that is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendInput {
    /// Recordings.
    #[default]
    Samples,
    /// The store of a central server of log records.
    Logs,
}

impl SendInput {
    /// What is in a folder: one without anything has recordings.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        if log_store::is_store(folder) { SendInput::Logs } else { SendInput::Samples }
    }
}

/// How a sender works.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// What is sent.
    pub input: SendInput,
    /// Points or records of a request; a sample is never divided.
    pub points_max: usize,
    /// Whether it goes on when all is sent.
    pub follows: bool,
    /// How often it then looks for what is new, which goes in as few requests as it can; without it as
    /// often as is usual for the engine.
    pub every: Option<Duration>,
    /// What is sent of recordings.
    pub selection: SourceChoice,
    /// What a request or a connection may take.
    pub client: ClientSettings,
    /// The header `Authorization`, if the engine wants one.
    pub authorization: Option<HeaderValue>,
    /// Whether tables that the engine needs are made.
    pub creates_tables: bool,
}

impl SendSettings {
    /// How often it looks for what is new, from nanoseconds, if they are given.
    ///
    /// # Errors
    /// If it cannot be so often or so seldom.
    pub fn every(every_ns: Option<u64>) -> Result<Option<Duration>, SendError> {
        let fits = every_ns.is_none_or(|ns| EVERY_NS.contains(&ns));
        fits.then(|| every_ns.map(Duration::from_nanos)).ok_or(SendError::Every)
    }

    /// What it takes to get into a server of NATS, which is told the token without a word before it.
    #[must_use]
    pub fn nats_access(&self) -> NatsAccess {
        let token = self.authorization.as_ref().and_then(|value| value.to_str().ok());
        let token = token.map(|text| text.strip_prefix("Bearer ").unwrap_or(text).to_owned());
        NatsAccess { timeout: self.client.timeout, tls: self.client.tls.clone(), token }
    }
}

impl Default for SendSettings {
    fn default() -> Self {
        let (client, selection) = (ClientSettings::default(), SourceChoice::default());
        SendSettings {
            input: SendInput::Samples,
            points_max: 10_000,
            follows: false,
            every: None,
            selection,
            client,
            authorization: None,
            creates_tables: false,
        }
    }
}
