//! A value of an expression.

use super::number::{self, Number};

/// Longest text of an expression in bytes: above the limit of an argument (128 KiB), so that `"x" x
/// 1e9` is an error and does not use up memory.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;

/// A value: a text, a number, or undefined.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Nothing,
    Number(Number),
    Text(Vec<u8>),
}

impl Value {
    pub(super) fn number(&self) -> Number {
        match self {
            Value::Nothing => Number::Integer(0),
            Value::Number(number) => *number,
            Value::Text(text) => number::prefix(text).1,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Nothing => {}
            Value::Number(number) => number::write(*number, out),
            Value::Text(text) => out.extend_from_slice(text),
        }
    }

    pub(super) fn into_text(self) -> Vec<u8> {
        match self {
            Value::Text(text) => text,
            other => {
                let mut out = Vec::new();
                other.write(&mut out);
                out
            }
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Value::Nothing => false,
            Value::Number(number) => number.as_f64() != 0.0,
            Value::Text(text) => !text.is_empty() && text != b"0",
        }
    }

    pub(super) fn integer(value: usize) -> Self {
        Value::Number(Number::Integer(value as i64))
    }

    /// True is 1, false is the empty text.
    pub(super) fn of_bool(value: bool) -> Self {
        if value { Value::integer(1) } else { Value::Text(Vec::new()) }
    }
}
