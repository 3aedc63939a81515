//! `vmstat`: processes, memory, paging, disks and CPU time in a line.

use std::fmt::Write as _;

use crate::SysstatError;
use crate::free::kib;
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::values::Span;
use crate::vmstat_tables::Table;
use crate::words::{Pace, Word, Words, device_name, is_zero, unknown};

pub(crate) const USAGE: &str = "\
Usage: vmstat [options] [delay [count]]
  -a, --active      active and inactive memory
  -f, --forks       forks since boot
  -m, --slabs       slab caches
  -n, --one-header  the heading once
  -s, --stats       counters and memory, a line each
  -d, --disk        disks
  -D, --disk-sum    the sums of all disks
  -p, --partition DEVICE  one partition or disk
  -S, --unit k|K|m|M      memory in units of 1000, 1024, 1000000 or 1048576 bytes
  -t, --timestamp   with the time
  -w, --wide        wider columns
  -y, --no-first    without the line since boot
      --recording FILE    of a recording, or a folder of them, in place of this host
";

struct Vmstat {
    table: Option<Table>,
    is_active: bool,
    one_header: bool,
    /// The bytes of a unit of memory, and its letter.
    unit: (f64, char),
    timestamp: bool,
    wide: bool,
    lines: usize,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut vmstat = Vmstat {
        table: None,
        is_active: false,
        one_header: false,
        unit: (1024.0, 'K'),
        timestamp: false,
        wide: false,
        lines: 0,
    };
    let mut pace = Pace::default();
    let (mut no_first, mut is_forks, mut recording) = (false, false, Recording::Host);
    let mut words = Words::new(words);
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Plain(word) => {
                match pace.interval.is_some() && pace.count.is_none() && is_zero(&word) {
                    // No reports are one.
                    true => pace.count = Some(1),
                    false => pace.read_word(&word)?,
                }
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "a" | "active" => vmstat.is_active = true,
            "f" | "forks" => is_forks = true,
            "m" | "slabs" => vmstat.choose_table(Table::Slabs)?,
            "n" | "one-header" => vmstat.one_header = true,
            "s" | "stats" => vmstat.choose_table(Table::Counters)?,
            "d" | "disk" => vmstat.choose_table(Table::Disks)?,
            "D" | "disk-sum" => vmstat.choose_table(Table::DiskSums)?,
            "p" | "partition" => {
                let device = words.value("-p")?;
                let name = device_name(&device).to_owned();
                vmstat.choose_table(Table::Partition(name))?;
            }
            "S" | "unit" => vmstat.unit = unit(&words.value("-S")?)?,
            "t" | "timestamp" => vmstat.timestamp = true,
            "w" | "wide" => vmstat.wide = true,
            "y" | "no-first" => no_first = true,
            "recording" => recording = Recording::File(words.value("--recording")?.into()),
            "h" | "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => return Err(unknown(&option)),
        }
    }
    if is_forks {
        // Whatever else is asked for.
        vmstat.table = Some(Table::Forks);
    } else if pace.is_once {
        return Err(SysstatError::Usage("delay must be positive integer".to_owned()));
    }
    if let Some(Table::Forks | Table::Counters | Table::DiskSums) = vmstat.table {
        // These do not repeat.
        pace = Pace::default();
    }
    let is_line = vmstat.table.is_none();
    let mut asked = ReportRequest::new(Box::new(vmstat), pace);
    asked.recording = recording;
    asked.since_boot = !(no_first && is_line);
    Ok(asked)
}

fn unit(text: &str) -> Result<(f64, char), SysstatError> {
    // What follows the letter has no effect: `MB` is `M`.
    match text.chars().next() {
        Some('b' | 'B') => Ok((1.0, 'B')),
        Some('k') => Ok((1000.0, 'k')),
        Some('K') => Ok((1024.0, 'K')),
        Some('m') => Ok((1_000_000.0, 'm')),
        Some('M') => Ok((1_048_576.0, 'M')),
        _ => Err(SysstatError::Usage("-S requires k, K, m or M (default is KiB)".to_owned())),
    }
}

const HEADINGS: [&str; 2] = [
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----",
    "--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- \
     ----------cpu----------",
];

impl Vmstat {
    /// Takes a table, of which there is one.
    fn choose_table(&mut self, table: Table) -> Result<(), SysstatError> {
        let same = |other: &Table| std::mem::discriminant(other) == std::mem::discriminant(&table);
        if self.table.as_ref().is_some_and(|known| !same(known)) {
            return Err(SysstatError::Usage("-d, -D, -m, -p and -s: give one of them".to_owned()));
        }
        self.table = Some(table);
        Ok(())
    }

    /// The heading, when it is due.
    fn head(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        // The two lines of the heading and the one of the prompt stay on the screen.
        let every = facts.screen_lines.unwrap_or(24).saturating_sub(3).max(1);
        let is_due = self.lines == 0 || (!self.one_header && self.lines.is_multiple_of(every));
        self.lines += 1;
        if !is_due {
            return;
        }
        out.push_str(HEADINGS[usize::from(self.wide)]);
        if self.timestamp {
            out.push_str(" -----timestamp-----");
        }
        let (third, fourth) = if self.is_active { ("inact", "active") } else { ("buff", "cache") };
        let _ = match self.wide {
            true => write!(
                out,
                "\n{:>4} {:>4} {:>12} {:>12} {third:>12} {fourth:>12} {:>4} {:>4} {:>5} {:>5} {:>4} \
                 {:>4} {:>3} {:>3} {:>3} {:>3} {:>3} {:>3}",
                "r",
                "b",
                "swpd",
                "free",
                "si",
                "so",
                "bi",
                "bo",
                "in",
                "cs",
                "us",
                "sy",
                "id",
                "wa",
                "st",
                "gu"
            ),
            false => write!(
                out,
                "\n{:>2} {:>2} {:>6} {:>6} {third:>6} {fourth:>6} {:>4} {:>4} {:>5} {:>5} {:>4} \
                 {:>4} us sy id wa st",
                "r", "b", "swpd", "free", "si", "so", "bi", "bo", "in", "cs"
            ),
        };
        if self.timestamp {
            let _ = write!(out, " {:>19}", facts.clock.zone_name(now_ns));
        }
        out.push('\n');
    }

    fn line(&self, facts: &Facts<'_>, span: &Span<'_>, out: &mut String) -> Option<()> {
        let (cpu, memory) = (span.row("cpu")?, span.row("memory")?);
        let amount = |value: f64| (value * 1024.0 / self.unit.0).floor();
        let ticks = |fields: &[&str]| cpu.changes(fields).unwrap_or(0.0);
        let guest = if self.wide { ticks(&["guest", "guest_nice"]) } else { 0.0 };
        let mut shares = [
            ticks(&["user", "nice"]) - guest,
            ticks(&["system", "irq", "softirq"]),
            ticks(&["idle"]),
            ticks(&["iowait"]),
            ticks(&["steal"]),
            guest,
        ];
        if shares.iter().all(|ticks| *ticks == 0.0) {
            // Without ticks the CPUs were idle.
            shares[2] = 1.0;
        }
        let all = shares.iter().sum::<f64>();
        let share = |part: f64| (100.0 * part / all + 0.5).floor();
        // Of the time since boot the program divides by the time of all CPUs together.
        let seconds = match span.then {
            Some(_) => cpu.seconds,
            None => all / 100.0,
        };
        let rate = |change: Option<f64>| {
            let value = change.unwrap_or(0.0);
            if seconds > 0.0 { (value / seconds + 0.5).floor() } else { 0.0 }
        };
        let page_kib = facts.meta.page_size_bytes() as f64 / 1024.0;
        let pages = |field| rate(memory.change(field).map(|pages| pages * page_kib));
        let (third, fourth) = match self.is_active {
            true => (kib(&memory, "inactive"), kib(&memory, "active")),
            false => {
                let cache = kib(&memory, "cached") + kib(&memory, "slab_reclaimable");
                (kib(&memory, "buffers"), cache)
            }
        };
        let columns = [
            cpu.level("running")?,
            cpu.level("blocked").unwrap_or(0.0),
            amount(kib(&memory, "swap_total") - kib(&memory, "swap_free")),
            amount(kib(&memory, "free")),
            amount(third),
            amount(fourth),
            pages("swap_in"),
            pages("swap_out"),
            rate(memory.change("page_in")),
            rate(memory.change("page_out")),
            rate(cpu.change("interrupts")),
            rate(cpu.change("context_switches")),
        ];
        let widths: [usize; 12] = match self.wide {
            true => [4, 4, 12, 12, 12, 12, 4, 4, 5, 5, 4, 4],
            false => [2, 2, 6, 6, 6, 6, 4, 4, 5, 5, 4, 4],
        };
        for (index, (value, width)) in columns.iter().zip(widths).enumerate() {
            let blank = if index > 0 { " " } else { "" };
            let _ = write!(out, "{blank}{value:>width$.0}");
        }
        let (width, shown) = if self.wide { (3, 6) } else { (2, 5) };
        for part in &shares[..shown] {
            let _ = write!(out, " {:>width$.0}", share(*part));
        }
        if self.timestamp {
            let _ = write!(out, " {}", facts.clock.stamp(span.ended_ns));
        }
        out.push('\n');
        Some(())
    }
}

impl Report for Vmstat {
    fn sources(&self) -> Vec<&'static str> {
        match &self.table {
            Some(table) => table.sources().to_vec(),
            None => vec!["cpu", "memory"],
        }
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        if let Some(table) = &self.table {
            // The table of disks has a heading each time.
            let is_headed = matches!(table, Table::Disks) && !self.one_header;
            let is_due = self.lines == 0 || is_headed;
            self.lines += 1;
            let stamp = self.timestamp.then_some(facts.clock);
            return table.show(span, self.unit, (self.wide, stamp, is_due), out);
        }
        self.head(facts, span.ended_ns, out);
        let missing = || SysstatError::unread("/proc/stat or /proc/meminfo");
        self.line(facts, span, out).ok_or_else(missing)
    }
}
