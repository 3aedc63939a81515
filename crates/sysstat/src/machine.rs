//! The first line of a report: kernel, host, date, architecture, CPUs.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use sample::Meta;

/// How dates and times are written.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The zone of the times.
    pub(crate) zone: TimeZone,
    /// As ISO 8601 (`S_TIME_FORMAT=ISO`), not as in the C locale.
    pub(crate) is_iso: bool,
}

impl Clock {
    fn write(&self, realtime_ns: i64, format: &str) -> String {
        let at = Timestamp::from_nanosecond(realtime_ns.into()).unwrap_or_default();
        at.to_zoned(self.zone.clone()).strftime(format).to_string()
    }

    /// The date.
    pub(crate) fn date(&self, realtime_ns: i64) -> String {
        self.write(realtime_ns, if self.is_iso { "%Y-%m-%d" } else { "%m/%d/%y" })
    }

    /// The time of day, to the second.
    pub(crate) fn time(&self, realtime_ns: i64) -> String {
        self.write(realtime_ns, "%H:%M:%S")
    }

    /// Date and time as `iostat -t` writes them.
    pub(crate) fn date_and_time(&self, realtime_ns: i64) -> String {
        self.write(realtime_ns, if self.is_iso { "%Y-%m-%dT%H:%M:%S%z" } else { "%D %T" })
    }

    /// Date and time as `vmstat -t` and `uptime -s` write them.
    pub(crate) fn stamp(&self, realtime_ns: i64) -> String {
        self.write(realtime_ns, "%F %T")
    }

    /// The date as ISO 8601 writes it.
    pub(crate) fn iso_date(&self, realtime_ns: i64) -> String {
        self.write(realtime_ns, "%F")
    }

    /// Date and time for programs, as `sadf` writes them.
    pub(crate) fn utc(&self, realtime_ns: i64) -> String {
        let utc = Clock { zone: TimeZone::UTC, is_iso: true };
        utc.write(realtime_ns, "%F %T UTC")
    }

    /// The abbreviation of the zone.
    pub(crate) fn zone_name(&self, realtime_ns: i64) -> String {
        self.write(realtime_ns, "%Z")
    }
}

/// The line with which a report of sysstat begins, and the empty line after it.
pub(crate) fn banner(meta: &Meta, date: &str) -> String {
    let fact = |key| text::escape::escape(meta.get(key).unwrap_or_default().as_bytes());
    format!(
        "Linux {} ({}) \t{date} \t_{}_\t({} CPU)\n\n",
        fact("kernel"),
        text::escape::escape(meta.host().as_bytes()),
        fact("architecture"),
        meta.cpus(),
    )
}
