//! Deliveries: a message to a receiver, in a bounded time.

use std::time::Duration;

use crate::delivery::{DeliveryError, MailSettings, WebhookSettings};
use crate::message::AlertMessage;
use crate::receiver::AlertReceiver;
use crate::{command, mail, syslog, webhook};

/// The usual time of a delivery.
const DELIVERY_TIME: Duration = Duration::from_secs(30);

/// Delivers messages.
#[derive(Clone, Debug)]
pub struct AlertDeliverer {
    /// How long a delivery may take.
    pub time: Duration,
    /// The server of mail, if there is one.
    pub mail: Option<MailSettings>,
    /// What holds for web hooks.
    pub webhook: WebhookSettings,
}

impl Default for AlertDeliverer {
    fn default() -> Self {
        AlertDeliverer { time: DELIVERY_TIME, mail: None, webhook: WebhookSettings::default() }
    }
}

impl AlertDeliverer {
    /// Delivers a message.
    ///
    /// # Errors
    /// If the receiver does not take it, or not in time.
    pub fn deliver(&self, to: &str, message: &AlertMessage) -> Result<(), DeliveryError> {
        match AlertReceiver::parse(to).map_err(DeliveryError::Receiver)? {
            AlertReceiver::Mail(address) => {
                let settings = self.mail.as_ref().ok_or(DeliveryError::NoMail)?;
                mail::send(settings, &address, message, self.time)
            }
            AlertReceiver::Webhook(url) => webhook::post(&self.webhook, url, message, self.time),
            AlertReceiver::Command(path) => command::run(&path, message, self.time),
            AlertReceiver::Syslog(address) => syslog::send(&address, message),
        }
    }
}
