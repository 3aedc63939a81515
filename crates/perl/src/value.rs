//! Scalar values.

use super::number::{self, Number};

/// A text, a number, or undefined.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `undef`.
    #[default]
    Nothing,
    /// A number.
    Number(Number),
    /// A text of any bytes.
    Text(Vec<u8>),
}

impl Value {
    /// The value as a number: a text counts as the number at its beginning.
    #[must_use]
    pub fn number(&self) -> Number {
        match self {
            Value::Nothing => Number::Integer(0),
            Value::Number(number) => *number,
            Value::Text(text) => number::prefix(text).1,
        }
    }

    /// Appends the value as text: nothing for `undef`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Nothing => {}
            Value::Number(number) => number::write(*number, out),
            Value::Text(text) => out.extend_from_slice(text),
        }
    }

    /// The value as text.
    #[must_use]
    pub fn into_text(self) -> Vec<u8> {
        match self {
            Value::Text(text) => text,
            other => {
                let mut out = Vec::new();
                other.write(&mut out);
                out
            }
        }
    }

    /// The value as a string; bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn string(&self) -> String {
        match self {
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => String::from_utf8_lossy(&other.clone().into_text()).into_owned(),
        }
    }

    /// Whether Perl takes it for true: `undef`, the empty text, `0` and 0 are not.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Value::Nothing => false,
            Value::Number(number) => number.as_f64() != 0.0,
            Value::Text(text) => !text.is_empty() && text != b"0",
        }
    }

    pub(crate) fn count(value: usize) -> Self {
        Value::Number(Number::Integer(value as i64))
    }
}

/// True is 1, false is the empty text.
impl From<bool> for Value {
    fn from(value: bool) -> Self {
        if value { Value::count(1) } else { Value::Text(Vec::new()) }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Number(Number::Integer(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Number(number::whole(value))
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text.into_bytes())
    }
}
