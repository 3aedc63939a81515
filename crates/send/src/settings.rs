//! How a sender works.

use http_client::ClientSettings;
use http_client::header::HeaderValue;

use crate::series::SourceChoice;

/// How a sender works.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Points of a request; a sample is never divided.
    pub points_max: usize,
    /// Whether it goes on when all is sent.
    pub follows: bool,
    /// Which sources are sent.
    pub selection: SourceChoice,
    /// What a request or a connection may take.
    pub client: ClientSettings,
    /// The header `Authorization`, if the engine wants one.
    pub authorization: Option<HeaderValue>,
}

impl Default for SendSettings {
    fn default() -> Self {
        let (client, selection) = (ClientSettings::default(), SourceChoice::default());
        SendSettings { points_max: 10_000, follows: false, selection, client, authorization: None }
    }
}
