//! Scalars: text, numbers, and nothing.

use crate::perl_number;

/// A scalar.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ScriptValue {
    /// `undef`.
    #[default]
    Nothing,
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl ScriptValue {
    /// As text: nothing is empty, numbers have at most 15 digits.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            ScriptValue::Nothing => String::new(),
            ScriptValue::Number(number) => perl_number::written(*number),
            ScriptValue::Text(text) => text.clone(),
        }
    }

    /// As a number: text counts as the number that it begins with.
    #[must_use]
    pub fn number(&self) -> f64 {
        match self {
            ScriptValue::Nothing => 0.0,
            ScriptValue::Number(number) => *number,
            ScriptValue::Text(text) => perl_number::leading(text),
        }
    }

    /// Whether it is true: nothing, the empty text, `0` and 0 are not.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            ScriptValue::Nothing => false,
            ScriptValue::Number(number) => *number != 0.0,
            ScriptValue::Text(text) => !text.is_empty() && text != "0",
        }
    }

    /// 1 or the empty text.
    #[must_use]
    pub fn truth(is_true: bool) -> Self {
        if is_true { ScriptValue::Number(1.0) } else { ScriptValue::Text(String::new()) }
    }
}

impl From<&str> for ScriptValue {
    fn from(text: &str) -> Self {
        ScriptValue::Text(text.to_owned())
    }
}

impl From<String> for ScriptValue {
    fn from(text: String) -> Self {
        ScriptValue::Text(text)
    }
}

impl From<bool> for ScriptValue {
    fn from(is_true: bool) -> Self {
        ScriptValue::truth(is_true)
    }
}
