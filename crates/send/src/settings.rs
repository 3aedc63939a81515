//! How a sender works.

use std::path::Path;

use http_client::ClientSettings;
use http_client::header::HeaderValue;

use crate::series::SourceChoice;

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
    /// What is sent of recordings.
    pub selection: SourceChoice,
    /// What a request or a connection may take.
    pub client: ClientSettings,
    /// The header `Authorization`, if the engine wants one.
    pub authorization: Option<HeaderValue>,
}

impl Default for SendSettings {
    fn default() -> Self {
        let (client, selection) = (ClientSettings::default(), SourceChoice::default());
        SendSettings {
            input: SendInput::Samples,
            points_max: 10_000,
            follows: false,
            selection,
            client,
            authorization: None,
        }
    }
}
