//! What `sadf` does with a daily file of sysstat as a whole: `-c` writes it as one of today, `-H` says what
//! it holds.
//!
//! One record is in memory at a time.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recording::sadc::{SADC_FORMAT, SadcContents, SadcEntry, SadcReader, SadcTime, SadcWriter};

use crate::SysstatError;
use crate::machine::{Clock, banner};

/// What is done with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAction {
    /// `-c`.
    Convert,
    /// `-H`.
    Head,
}

/// Does it, and writes the result to `out`.
pub(crate) fn run(
    action: FileAction,
    path: &Path,
    out: &mut dyn Write,
) -> Result<(), SysstatError> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    match action {
        FileAction::Convert => convert(path, &mut out)?,
        FileAction::Head => out.write_all(head(path)?.as_bytes())?,
    }
    out.flush()?;
    Ok(())
}

/// Writes a file anew.  Of a damaged one, what stands before the damage.
fn convert(path: &Path, out: &mut dyn Write) -> Result<(), SysstatError> {
    let mut first = SadcReader::open(path)?;
    let is_own = |told: &SadcContents| told.has_own_order && told.word_bytes == size_of::<u64>();
    let format = first.format();
    if format == SADC_FORMAT && first.contents().is_some_and(is_own) {
        let text = format!("{}: the format is already that of sysstat 12.6", path.display());
        return Err(SysstatError::NotThere(text));
    }
    let Some(record) = first.next_record()? else {
        return Err(SysstatError::NoReadings(path.to_owned()));
    };
    let meta = first.meta().clone();
    let (zone, _) = feed::zone_of(meta.timezone(), record.realtime_ns, &TimeZone::UTC);
    let time = |uptime_ns, realtime_ns: i64| {
        let at = Timestamp::from_nanosecond(realtime_ns.into()).unwrap_or_default();
        SadcTime { uptime_ns, realtime_ns, ahead_s: zone.to_offset(at).seconds().into() }
    };
    let begun = time(record.uptime_ns, record.realtime_ns);
    let mut writer = SadcWriter::convert(out, (path, format), &meta, begun, first.rows())?;
    let mut reader = SadcReader::open(path)?;
    while let Some(entry) = reader.next_entry()? {
        match entry {
            SadcEntry::Values(record) => {
                writer.values(time(record.uptime_ns, record.realtime_ns), reader.rows())?;
            }
            SadcEntry::Restart(at_ns) => writer.restart(time(0, at_ns), meta.cpus())?,
            SadcEntry::Comment(one) => writer.comment(time(0, one.realtime_ns), &one.text)?,
        }
    }
    Ok(())
}

/// What a file says of itself, in the lines of `sadf -H`.
fn head(path: &Path) -> Result<String, SysstatError> {
    let reader = SadcReader::open(path)?;
    let Some(told) = reader.contents() else {
        let text =
            format!("{}: files of sysstat before 11.7.1 do not say what they hold", path.display());
        return Err(SysstatError::NotThere(text));
    };
    let meta = reader.meta();
    let started_ns = told.started_s.saturating_mul(1_000_000_000);
    let (zone, _) = feed::zone_of(meta.timezone(), started_ns, &TimeZone::UTC);
    let clock = Clock { zone, is_iso: false };
    let utc = Clock { zone: TimeZone::UTC, is_iso: false };
    let date = clock.date(started_ns);
    let yes = |is_yes: bool, words: [&'static str; 2]| words[usize::from(!is_yes)];
    let counts = |[long, words, short]: [u32; 3]| format!("({long},{words},{short})");
    let [header, activity, record] = told.counts.map(counts);
    let fact = |key| text::escape::escape(meta.get(key).unwrap_or_default().as_bytes());
    let mut out = String::new();
    let _ = write!(
        out,
        "System activity data file: {} ({:#x})\nFile created by sar/sadc from sysstat version {}\n\
         Genuine sa datafile: {} ({:x})\nHost: {}File date: {}\nFile time: {} UTC ({})\n\
         Timezone: {}\nFile composition: {header},{activity},{record}\nSize of a long int: {}\n\
         HZ = {}\nNumber of activities in file: {}\nExtra structures available: {}\n\
         List of activities:\n",
        text::escape::escape(path.as_os_str().as_encoded_bytes()),
        reader.format(),
        fact("version"),
        yes(told.converted_from == 0, ["yes", "no"]),
        told.converted_from,
        banner(meta, &date).replace("\n\n", "\n"),
        clock.iso_date(started_ns),
        utc.time(started_ns),
        told.started_s,
        fact("zone_abbreviation"),
        told.word_bytes,
        meta.ticks_per_second(),
        told.activities.len(),
        yes(told.has_extra, ["Y", "N"]),
    );
    for one in &told.activities {
        let name = (one.id as usize).checked_sub(1).and_then(|place| NAMES.get(place));
        let name = name.copied().unwrap_or("Unknown activity");
        let parts = if one.parts > 1 { format!("x{}", one.parts) } else { String::new() };
        let _ = writeln!(
            out,
            "{:02}: [{:02x}] {name:<20} {}:{:>4}{parts}\t{}",
            one.id,
            one.format,
            yes(one.has_count, ["Y", "N"]),
            one.items,
            counts(one.counts),
        );
    }
    Ok(out)
}

/// The names that sysstat gives activities, by their numbers from 1 on.
const NAMES: [&str; 43] = [
    "A_CPU",
    "A_PCSW",
    "A_IRQ",
    "A_SWAP",
    "A_PAGE",
    "A_IO",
    "A_MEMORY",
    "A_KTABLES",
    "A_QUEUE",
    "A_SERIAL",
    "A_DISK",
    "A_NET_DEV",
    "A_NET_EDEV",
    "A_NET_NFS",
    "A_NET_NFSD",
    "A_NET_SOCK",
    "A_NET_IP",
    "A_NET_EIP",
    "A_NET_ICMP",
    "A_NET_EICMP",
    "A_NET_TCP",
    "A_NET_ETCP",
    "A_NET_UDP",
    "A_NET_SOCK6",
    "A_NET_IP6",
    "A_NET_EIP6",
    "A_NET_ICMP6",
    "A_NET_EICMP6",
    "A_NET_UDP6",
    "A_PWR_CPU",
    "A_PWR_FAN",
    "A_PWR_TEMP",
    "A_PWR_IN",
    "A_HUGE",
    "A_PWR_FREQ",
    "A_PWR_USB",
    "A_FS",
    "A_NET_FC",
    "A_NET_SOFT",
    "A_PSI_CPU",
    "A_PSI_IO",
    "A_PSI_MEM",
    "A_PWR_BAT",
];
