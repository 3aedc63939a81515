//! The picture of a message: a file, as it is kept and told to programs.

use base64ct::{Base64, Encoding as _};
use serde_json::{Value, json};

/// A picture of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertPicture {
    /// The file, as PNG.
    pub png: Vec<u8>,
}

impl AlertPicture {
    /// The name of its file.
    pub const NAME: &'static str = "value.png";
    /// The media type of the picture.
    pub const KIND: &'static str = "image/png";

    /// For programs: its type, and the file in base 64.
    pub(crate) fn value(&self) -> Value {
        json!({ "type": AlertPicture::KIND, "base64": self.base64() })
    }

    pub(crate) fn base64(&self) -> String {
        Base64::encode_string(&self.png)
    }

    pub(crate) fn of(value: &Value) -> Option<Self> {
        let png = Base64::decode_vec(value["base64"].as_str()?).ok()?;
        Some(AlertPicture { png })
    }
}
