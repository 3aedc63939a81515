//! Sizes and durations as users write them: `10K`, `1d3.5h`.

use std::time::Duration;

use thiserror::Error;

/// Why a number with a unit was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not a number with units.
    #[error("{text:?} is not a {what}: {example}")]
    Unreadable {
        /// What the user wrote.
        text: String,
        /// What was wanted: `size` or `duration`.
        what: &'static str,
        /// How such a thing is written.
        example: &'static str,
    },
}

/// A size in bytes, or a count: `K M G T P` are powers of 1024, `k m g t p` of 1000; `+ - * /` and
/// parentheses are understood (`1M-12*2.024*2k`).
pub fn size(text: &str) -> Result<u64, UnitError> {
    let value = amount(text)?;
    if value < 0.0 { Err(unreadable(text, "size", SIZE_EXAMPLE)) } else { Ok(value as u64) }
}

/// As [`size`], but it may be negative (`--block -1`) or have a fraction.
pub fn amount(text: &str) -> Result<f64, UnitError> {
    text.trim().parse().map_err(|_| unreadable(text, "size", SIZE_EXAMPLE))
}

/// A duration: seconds, or parts with the units `s m h d` (`0.5`, `1d3.5h16.6m4s`).
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let seconds: f64 =
        text.trim().parse().map_err(|_| unreadable(text, "duration", DURATION_EXAMPLE))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| unreadable(text, "duration", DURATION_EXAMPLE))
}

const SIZE_EXAMPLE: &str = "write a number such as 10K, 1M or 1M-12*2k";
const DURATION_EXAMPLE: &str = "write seconds or parts such as 0.5, 10m or 1d3.5h";

fn unreadable(text: &str, what: &'static str, example: &'static str) -> UnitError {
    UnitError::Unreadable { text: text.to_owned(), what, example }
}
