//! `free`: memory in use and free.

use std::fmt::Write as _;
use std::time::Duration;

use crate::SysstatError;
use crate::report::{Facts, Report, ReportRequest};
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, unknown, whole};

pub(crate) const USAGE: &str = "\
Usage: free [options]
  -b, --bytes  --kilo --mega --giga --tera --peta (powers of 1000)
  -k, --kibi  -m, --mebi  -g, --gibi  --tebi  --pebi (powers of 1024)
  -h, --human      with units; --si: with powers of 1000
  -l, --lohi       low and high memory
  -t, --total      the sums of memory and swap
  -v, --committed  committed memory and its limit
  -w, --wide       buffers and cache in columns of their own
  -s, --seconds N  again every N seconds, fractions allowed
  -c, --count N    so many times
";

/// How amounts are written.
#[derive(Clone, Copy)]
enum Scale {
    /// In units of so many bytes.
    Bytes(f64),
    /// With a unit that suits each.
    Human,
}

struct Free {
    scale: Scale,
    is_si: bool,
    lohi: bool,
    total: bool,
    committed: bool,
    wide: bool,
    /// How many reports have been written.
    written: u64,
    /// A unit was given: the program takes one alone.
    has_unit: bool,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut free = Free {
        scale: Scale::Bytes(1024.0),
        is_si: false,
        lohi: false,
        total: false,
        committed: false,
        wide: false,
        written: 0,
        has_unit: false,
    };
    let mut pace = Pace::default();
    let mut words = Words::new(words);
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Option(option) => option,
            Word::Plain(word) => {
                return Err(SysstatError::Usage(format!("takes no argument: '{word}'")));
            }
        };
        match option.as_str() {
            "b" | "bytes" => free.power(1024.0, 0)?,
            "kilo" => free.power(1000.0, 1)?,
            "mega" => free.power(1000.0, 2)?,
            "giga" => free.power(1000.0, 3)?,
            "tera" => free.power(1000.0, 4)?,
            "peta" => free.power(1000.0, 5)?,
            "k" | "kibi" => free.power(1024.0, 1)?,
            "m" | "mebi" => free.power(1024.0, 2)?,
            "g" | "gibi" => free.power(1024.0, 3)?,
            "tebi" => free.power(1024.0, 4)?,
            "pebi" => free.power(1024.0, 5)?,
            "h" | "human" => free.scale = Scale::Human,
            "si" => free.is_si = true,
            "l" | "lohi" => free.lohi = true,
            "t" | "total" => free.total = true,
            "v" | "committed" => free.committed = true,
            "w" | "wide" => free.wide = true,
            "s" | "seconds" => {
                let text = words.value("-s")?;
                let seconds: Option<f64> = text.parse().ok();
                let seconds = seconds.filter(|value| *value > 0.0 && *value < 1e9);
                let refuse = || SysstatError::Usage(format!("seconds argument failed: '{text}'"));
                pace.interval = Some(Duration::from_secs_f64(seconds.ok_or_else(refuse)?));
            }
            "c" | "count" => pace.count = Some(whole(&words.value("-c")?)?),
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => return Err(unknown(&option)),
        }
    }
    // `free -c 3` alone repeats every second.
    if pace.count.is_some() && pace.interval.is_none() {
        pace.interval = Some(Duration::from_secs(1));
    }
    let mut asked = ReportRequest::new(Box::new(free), pace);
    asked.since_boot = true;
    Ok(asked)
}

impl Free {
    fn power(&mut self, base: f64, power: i32) -> Result<(), SysstatError> {
        if std::mem::replace(&mut self.has_unit, true) {
            return Err(SysstatError::Usage("several units: give one".to_owned()));
        }
        // With -h only the base is of meaning.
        self.is_si |= base == 1000.0;
        if !matches!(self.scale, Scale::Human) {
            self.scale = Scale::Bytes(base.powi(power));
        }
        Ok(())
    }

    /// An amount of kibibytes in a column.
    fn amount(&self, kib: f64) -> String {
        let bytes = kib * 1024.0;
        match self.scale {
            Scale::Bytes(unit) => {
                // With --si the units are powers of 1000 of the same names.
                let unit = if self.is_si {
                    1000_f64.powf((unit.ln() / 1024_f64.ln()).round())
                } else {
                    unit
                };
                format!("{:.0}", (bytes / unit).floor())
            }
            Scale::Human => self.human(bytes),
        }
    }

    /// The largest unit in which the number has at most three digits; one digit after the point while
    /// that fits into four places.
    fn human(&self, bytes: f64) -> String {
        let base = if self.is_si { 1000.0 } else { 1024.0 };
        let end = if self.is_si { "" } else { "i" };
        if bytes < base {
            return format!("{bytes:.0}B");
        }
        let mut value = bytes;
        for letter in ["K", "M", "G", "T", "P", "E"] {
            value /= base;
            let short = format!("{value:.1}");
            if short.len() <= 3 {
                return format!("{short}{letter}{end}");
            }
            let whole = format!("{:.0}", value.floor());
            if whole.len() <= 3 && value < base {
                return format!("{whole}{letter}{end}");
            }
        }
        format!("{value:.0}E{end}")
    }

    fn line(&self, out: &mut String, label: &str, amounts: &[f64]) {
        let _ = write!(out, "{label:<8}");
        for amount in amounts {
            let _ = write!(out, "{:>12}", self.amount(*amount));
        }
        out.push('\n');
    }
}

/// A gauge of memory in KiB; 0 where the kernel has none, as the program shows it.
pub(crate) fn kib(row: &Row<'_>, field: &str) -> f64 {
    row.level(field).unwrap_or(0.0)
}

impl Report for Free {
    fn sources(&self) -> Vec<&'static str> {
        vec!["memory"]
    }

    fn interval(
        &mut self,
        _: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        if self.written > 0 {
            out.push('\n');
        }
        self.written += 1;
        let missing = || SysstatError::unread("/proc/meminfo");
        let row = span.row("memory").ok_or_else(missing)?;
        let total = kib(&row, "total");
        let free = kib(&row, "free");
        let (buffers, cache) =
            (kib(&row, "buffers"), kib(&row, "cached") + kib(&row, "slab_reclaimable"));
        let available = row.level("available").filter(|value| *value <= total).unwrap_or(free);
        let used = total - available;
        let (swap_total, swap_free) = (kib(&row, "swap_total"), kib(&row, "swap_free"));
        let headings: &[&str] = match self.wide {
            true => &["total", "used", "free", "shared", "buffers", "cache", "available"],
            false => &["total", "used", "free", "shared", "buff/cache", "available"],
        };
        let _ = write!(out, "{:8}", "");
        for heading in headings {
            let _ = write!(out, "{heading:>12}");
        }
        out.push('\n');
        let shared = kib(&row, "shared");
        match self.wide {
            true => self.line(out, "Mem:", &[total, used, free, shared, buffers, cache, available]),
            false => {
                self.line(out, "Mem:", &[total, used, free, shared, buffers + cache, available]);
            }
        }
        if self.lohi {
            self.line(out, "Low:", &[total, total - free, free]);
            self.line(out, "High:", &[0.0, 0.0, 0.0]);
        }
        let swap_used = swap_total - swap_free;
        self.line(out, "Swap:", &[swap_total, swap_used, swap_free]);
        if self.total {
            self.line(out, "Total:", &[total + swap_total, used + swap_used, free + swap_free]);
        }
        if self.committed {
            let (limit, committed) = (kib(&row, "commit_limit"), kib(&row, "committed"));
            self.line(out, "Comm:", &[limit, committed, limit - committed]);
        }
        Ok(())
    }
}
