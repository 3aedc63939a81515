//! Dates, times of day and time zones: seconds since 1970 in fields of the calendar, and back.
//!
//! `civil.rs` is the Gregorian calendar in 64-bit numbers, without a zone: no year is out of range,
//! and nothing is allocated.  With the feature `zones`, `zone.rs` is a time zone for all times over
//! the crate `jiff`, `local.rs` finds that of this machine, and `strftime.rs` writes times by C's
//! formats.
//!
//! Uses no crate of whit.  Reads no clock and no environment; of files, those of time zones, and only
//! when a zone is asked for.  Begin reading with `civil.rs`.

#![forbid(unsafe_code)]

mod civil;
#[cfg(feature = "zones")]
mod local;
#[cfg(feature = "zones")]
mod strftime;
#[cfg(feature = "zones")]
mod zone;

pub use civil::{CivilTime, DAY_S, MONTHS, WEEKDAYS, days_of_date};
#[cfg(feature = "zones")]
pub use local::{plain_zone, zone_of_tz};
#[cfg(feature = "zones")]
pub use strftime::strftime;
#[cfg(feature = "zones")]
pub use zone::{CivilZone, UTC};
