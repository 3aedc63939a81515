//! Web hooks: a message as JSON.

use std::time::Duration;

use http_client::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http_client::{ClientSettings, HttpClient, HttpUrl, Method};
use serde_json::Value;

use crate::delivery::{DeliveryError, WebhookSettings, authorities};
use crate::message::AlertMessage;
use crate::picture::AlertPicture;

/// Most bytes of an answer, of which only the status counts.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Posts a message.
pub(crate) fn post(
    settings: &WebhookSettings,
    url: HttpUrl,
    message: &AlertMessage,
    timeout: Duration,
) -> Result<(), DeliveryError> {
    let tls = if url.is_encrypted() { authorities(settings.ca.as_ref())? } else { None };
    let target = url.target();
    let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    if let Some(path) = &settings.token_file {
        if !url.is_encrypted() && !url.is_here() {
            return Err(DeliveryError::PlainToken);
        }
        let failed = DeliveryError::io(format!("cannot read the token in {}", path.display()));
        headers.push((AUTHORIZATION, http_client::bearer(path).map_err(failed)?));
    }
    let client = ClientSettings { timeout, answer_bytes_max: ANSWER_BYTES_MAX, tls };
    let mut client =
        HttpClient::new(url, client).map_err(DeliveryError::io("cannot make a client"))?;
    let mut body = message.details.clone();
    body["picture"] = message.picture.as_ref().map_or(Value::Null, AlertPicture::value);
    let answer = client.send(Method::POST, &target, &headers, body.to_string())?;
    match answer.status.is_success() {
        true => Ok(()),
        false => Err(DeliveryError::Status(answer.status.as_u16())),
    }
}
