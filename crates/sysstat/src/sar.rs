//! `sar`: the activity of the machine, by subsystem.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use feed::SadcComment;
use sample::SourceDef;

use crate::SysstatError;
use crate::activities::{
    Activity, BY_LETTER, CPU, CPU_ALL, Chosen, Cpus, Line, MEMORY_WHOLE, QUEUES, cpu_number,
};
use crate::activities_network::NETWORK;
use crate::activities_power::POWER;
use crate::columns::{Column, decimals, rate};
use crate::format::{Style, Unit};
use crate::machine::banner;
use crate::persistent_names::PersistentNames;
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::saving::Saving;
use crate::sources::TERMINALS;
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, device_name, is_number, unknown};

pub(crate) const USAGE: &str = "\
Usage: sar [options] [interval [count]]
  -u [ALL]  CPU time                 -P LIST|ALL  of these CPUs
  -r [ALL]  memory                   -S  swap space          -H  huge pages
  -B  paging   -W  swapping          -b  transfers of disks  -d  each disk
  -q [LOAD,CPU,IO,MEM,PSI | ALL]     run queue, load, pressure
  -n DEV,EDEV,NFS,NFSD,SOCK,IP,EIP,ICMP,EICMP,TCP,ETCP,UDP,SOCK6,IP6,EIP6,ICMP6,EICMP6,UDP6,SOFT | ALL
              network                -y  serial lines
  -m CPU | ALL  frequencies of CPUs
  -w  new tasks and context switches -v  files and inodes    -F [MOUNT]  filesystems
  -I [SUM|ALL]  interrupts           -A  all of these
  --dev= --fs= --iface= --int=       only these, with commas between
  -p, --pretty  the name at the end of the line
  -z  without lines that are all 0   --human  sizes with units   --dec=0|1|2  digits
  -f [FILE]   a recording, or a folder of them; without FILE the service's
  -s [TIME] -e [TIME]   in a recording: from and until: hh:mm, -1h, yesterday 10:15
  -1, -2 …    in a recording: of yesterday, of the day before; -s and -e are times of that day
  -i SECONDS  in a recording: at most one line in so many seconds
  -C          comments that daily files of sadc have
  -j ID | LABEL | PATH | UUID   names of disks by /dev/disk
  -o [FILE]   write a daily file of sysstat, too; of a folder saDD, with -D saYYYYMMDD
Without an interval, what the service has recorded is shown; an interval of 0 shows the time since boot.
";

struct Sar {
    is_all: bool,
    activities: Vec<&'static Activity>,
    chosen: Chosen,
    style: Style,
    is_pretty: bool,
    omit_idle: bool,
    has_averages: bool,
    lines: usize,
    /// Whether a single report is asked for.
    is_single: bool,
    /// What is written of each activity of a recording, since each is shown as a whole.
    tables: Option<Vec<String>>,
}

/// What the options say, before it is put in order.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) is_all: bool,
    /// `-A` without `-P` shows every CPU.
    is_all_cpus: bool,
    /// `-I SUM` was given.
    has_sum_only: bool,
    pub(crate) activities: Vec<&'static Activity>,
    pub(crate) chosen: Chosen,
    style: Style,
    is_pretty: bool,
    omit_idle: bool,
    pub(crate) pace: Pace,
    recording: Option<Recording>,
    pub(crate) from: Option<String>,
    pub(crate) thru: Option<String>,
    /// `-1`: how many days ago the day is that is shown.
    pub(crate) days_ago: Option<u16>,
    step: Option<u64>,
    pub(crate) has_comments: bool,
    /// `-o`, and its file or folder.
    saving: Option<Option<PathBuf>>,
    /// `-D`.
    has_whole_date: bool,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut options = Options::default();
    let mut words = Words::new(words);
    while let Some(word) = words.next()? {
        match word {
            Word::Plain(word) => options.pace.read_word(&word)?,
            Word::Option(option) => options.read_option(&option, &mut words)?,
        }
    }
    options.asked()
}

/// Options of the program that are refused, and why.
static REFUSED: &[(&str, &str)] = &[
    ("sadc", "there is no separate collector"),
    ("x", "use whit play with a recording of processes"),
    ("X", "use whit play with a recording of processes"),
];

impl Options {
    /// Takes an option.
    pub(crate) fn read_option(
        &mut self,
        option: &str,
        words: &mut Words<'_>,
    ) -> Result<(), SysstatError> {
        let is_all = |word: &str| word == "ALL";
        match option {
            "u" => {
                let all = words.value_if(is_all).is_some();
                self.add_cpu_time(if all { &CPU_ALL } else { &CPU });
            }
            "r" if words.value_if(is_all).is_some() => self.add(&MEMORY_WHOLE),
            "q" => {
                let is_list = |word: &str| {
                    let is_known = |part| PSI.contains(&part) || keyword(QUEUES, part).is_some();
                    word == "ALL" || word.split(',').all(is_known)
                };
                let list = words.value_if(is_list).unwrap_or_else(|| "LOAD".to_owned());
                self.add_keywords(QUEUES, &list)?;
            }
            "n" => {
                let list = words.value("-n")?;
                self.add_keywords(NETWORK, &list)?;
            }
            "m" => {
                let list = words.value("-m")?;
                self.add_power(&list)?;
            }
            "I" => {
                let list = words.value_if(|word| word == "SUM" || word == "ALL");
                // Once SUM is there, it is the only one.
                self.has_sum_only |= list.as_deref() == Some("SUM");
                self.chosen.each_interrupt = !self.has_sum_only;
                self.add_letter("I");
            }
            "F" => {
                self.chosen.by_mount = words.value_if(|word| word == "MOUNT").is_some();
                self.add_letter("F");
            }
            "A" => {
                self.is_all = true;
                self.add_cpu_time(&CPU_ALL);
                let all = BY_LETTER.iter().chain(QUEUES).chain(NETWORK).chain(POWER);
                all.for_each(|each| self.add(each));
                self.activities.retain(|each| each.option != "-r");
                self.add(&MEMORY_WHOLE);
                // What -I or -P say stays.
                self.chosen.each_interrupt |= !self.has_sum_only;
                self.is_all_cpus = true;
            }
            "P" => {
                let text = words.value("-P")?;
                let refuse = || SysstatError::Usage(format!("not a list of CPUs: {text}"));
                let cpus = Cpus::parse(&text).ok_or_else(refuse)?;
                self.chosen.cpus = std::mem::take(&mut self.chosen.cpus).join(cpus);
            }
            "p" | "pretty" => self.is_pretty = true,
            "h" => (self.is_pretty, self.style.is_human) = (true, true),
            // Times are always those of the recorded machine.
            "t" => {}
            "z" => self.omit_idle = true,
            "C" => self.has_comments = true,
            "human" => self.style.is_human = true,
            "dec" => self.style.decimals = decimals(&words.value("--dec")?)?,
            "dev" => self.chosen.disks.extend(list(&words.value("--dev")?)),
            "fs" => self.chosen.filesystems.extend(list(&words.value("--fs")?)),
            "iface" => self.chosen.interfaces.extend(list(&words.value("--iface")?)),
            "int" => self.chosen.interrupts.extend(list(&words.value("--int")?)),
            "f" => {
                let file = words.value_if(|word| !word.starts_with('-'));
                self.recording =
                    Some(file.map_or(Recording::Service, |file| Recording::File(file.into())));
            }
            "s" => self.from = Some(time(words, "08:00:00")),
            "e" => self.thru = Some(time(words, "18:00:00")),
            "i" => self.step = Some(crate::words::whole(&words.value("-i")?)?),
            "j" => {
                self.chosen.names = Some(PersistentNames::of(words.value("-j")?)?);
                // These names are long.
                self.is_pretty = true;
            }
            "o" => {
                let is_file = |word: &str| !word.starts_with('-') && !is_number(word);
                self.saving = Some(words.value_if(is_file).map(Into::into));
            }
            "D" => self.has_whole_date = true,
            days if is_number(days) => {
                let refuse = |_| SysstatError::Usage(format!("-{days}: too many days"));
                self.days_ago = Some(days.parse().map_err(refuse)?);
            }
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => match REFUSED.iter().find(|(name, _)| *name == option) {
                Some((name, why)) => {
                    let dashes = if name.len() == 1 { "-" } else { "--" };
                    return Err(SysstatError::Refused(format!("{dashes}{name}"), why));
                }
                None if BY_LETTER.iter().any(|each| each.option[1..] == *option) => {
                    self.add_letter(option);
                }
                None => return Err(unknown(option)),
            },
        }
        Ok(())
    }

    fn add(&mut self, activity: &'static Activity) {
        if !self.activities.iter().any(|each| std::ptr::eq(*each, activity)) {
            self.activities.push(activity);
        }
    }

    /// Adds CPU time: of its short and its whole table the last one stays.
    fn add_cpu_time(&mut self, activity: &'static Activity) {
        self.activities.retain(|each| !each.is_cpu_time());
        self.activities.push(activity);
    }

    fn add_letter(&mut self, letter: &str) {
        let found = BY_LETTER.iter().filter(|each| each.option[1..] == *letter);
        found.for_each(|each| self.add(each));
    }

    fn add_keywords(
        &mut self,
        table: &'static [Activity],
        words: &str,
    ) -> Result<(), SysstatError> {
        for word in words.split(',') {
            if word == "ALL" {
                table.iter().for_each(|each| self.add(each));
            } else if word == "PSI" {
                PSI[1..]
                    .iter()
                    .filter_map(|word| keyword(table, word))
                    .for_each(|each| self.add(each));
            } else if let Some(found) = keyword(table, word) {
                self.add(found);
            } else if word == "FC" {
                return Err(SysstatError::Refused(
                    "-n FC".to_owned(),
                    "Fibre Channel adapters are not read",
                ));
            } else {
                return Err(SysstatError::Usage(format!("unknown keyword {word}")));
            }
        }
        Ok(())
    }

    /// Adds the tables of these keywords of `-m`.
    fn add_power(&mut self, words: &str) -> Result<(), SysstatError> {
        for word in words.split(',') {
            let refused = |why| Err(SysstatError::Refused(format!("-m {word}"), why));
            match word {
                "CPU" | "ALL" => POWER.iter().for_each(|each| self.add(each)),
                "FREQ" => return refused("the times of frequencies are not read: use -m CPU"),
                "FAN" | "IN" | "TEMP" => return refused("use whit record -sE for sensors"),
                "USB" => return refused("devices of USB are not read: use lsusb"),
                _ => return Err(SysstatError::Usage(format!("unknown keyword {word}"))),
            }
        }
        Ok(())
    }

    /// Puts the activities in order; without any, CPU time is shown.
    pub(crate) fn put_in_order(&mut self) {
        if self.activities.is_empty() {
            self.activities.push(&CPU);
        }
        let place = |activity: &&'static Activity| {
            ORDER.iter().position(|option| *option == activity.option)
        };
        self.activities.sort_by_key(place);
        // The whole table of memory takes the place of the shorter one.
        if self.activities.iter().any(|each| std::ptr::eq(*each, &MEMORY_WHOLE)) {
            self.activities.retain(|each| each.option != "-r");
        }
        if self.is_all_cpus && !self.chosen.cpus.has_each() && self.chosen.cpus == Cpus::Sum {
            self.chosen.cpus = Cpus::All;
        }
    }

    /// What `-o` and `-D` ask for.
    fn saving(&mut self, has_interval: bool) -> Result<Option<Saving>, SysstatError> {
        let has_whole_date = self.has_whole_date;
        let usage = |text: &str| Err(SysstatError::Usage(text.to_owned()));
        match self.saving.take() {
            None if has_whole_date => usage("-D is of the file that -o writes"),
            Some(_) if self.recording.is_some() => usage("-f and -o: give one of them"),
            Some(_) if self.days_ago.is_some() => {
                usage("-o and a number of days: give one of them")
            }
            Some(_) if !has_interval => usage("-o needs an interval"),
            path => Ok(path.map(|path| Saving { path, has_whole_date })),
        }
    }

    fn asked(mut self) -> Result<ReportRequest, SysstatError> {
        if self.step.is_some() {
            // The first number is a count then.
            let Pace { interval, count, .. } = self.pace;
            if count.is_some() {
                return Err(SysstatError::Usage("-i and an interval: give one".to_owned()));
            }
            self.pace.count = interval.map(|interval| interval.as_secs());
        }
        self.put_in_order();
        let has_interval = self.pace.interval.is_some() && self.step.is_none();
        let since_boot = self.pace.is_once;
        if since_boot && (self.recording.is_some() || self.days_ago.is_some()) {
            let text = "an interval of 0 is the time since boot of this host, without -f";
            return Err(SysstatError::Usage(text.to_owned()));
        }
        let saving = self.saving(has_interval)?;
        let is_live = (has_interval || since_boot) && self.days_ago.is_none();
        if is_live && self.recording.is_none() && (self.from.is_some() || self.thru.is_some()) {
            let text = "-s and -e are of a recording: name it with -f".to_owned();
            return Err(SysstatError::Usage(text));
        }
        let usual = if is_live { Recording::Host } else { Recording::Service };
        let recording = self.recording.unwrap_or(usual);
        let tables = vec![String::new(); self.activities.len()];
        let sar = Sar {
            is_all: self.is_all,
            activities: self.activities,
            chosen: self.chosen,
            style: self.style,
            is_pretty: self.is_pretty,
            omit_idle: self.omit_idle,
            has_averages: !since_boot,
            lines: 0,
            is_single: self.pace.count == Some(1),
            tables: (recording != Recording::Host).then_some(tables),
        };
        let mut pace = self.pace;
        if let Some(step) = self.step {
            pace.interval = Some(std::time::Duration::from_secs(step));
        }
        let mut asked = ReportRequest::new(Box::new(sar), pace);
        asked.saving = saving;
        asked.recording = recording;
        asked.since_boot = since_boot;
        asked.days_ago = self.days_ago;
        (asked.from, asked.thru, asked.has_comments) = (self.from, self.thru, self.has_comments);
        Ok(asked)
    }
}

/// The order in which the activities are shown.
static ORDER: &[&str] = &[
    "-u", "-u ALL", "-w", "-I", "-W", "-B", "-b", "-r", "-r ALL", "-S", "-H", "-v", "LOAD", "-y",
    "-d", "DEV", "EDEV", "NFS", "NFSD", "SOCK", "IP", "EIP", "ICMP", "EICMP", "TCP", "ETCP", "UDP",
    "SOCK6", "IP6", "EIP6", "ICMP6", "EICMP6", "UDP6", "SOFT", "-m CPU", "-F", "CPU", "IO", "MEM",
];

/// The keywords of pressure; the first stands for the others.
const PSI: [&str; 4] = ["PSI", "CPU", "IO", "MEM"];

fn keyword(table: &'static [Activity], word: &str) -> Option<&'static Activity> {
    table.iter().find(|each| each.option == word)
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|name| device_name(name).to_owned()).collect()
}

/// The time after `-s` or `-e`, or the one that is meant without.
fn time(words: &mut Words<'_>, usual: &str) -> String {
    let now = jiff::Zoned::default();
    let is_time = |word: &str| {
        word.contains(':') || !is_number(word) && time_words::moment(word, &now).is_ok()
    };
    words.value_if(is_time).unwrap_or_else(|| usual.to_owned())
}

impl Sar {
    /// Whether there is one table with one line, whose heading is not repeated.  Disks, interfaces and
    /// filesystems that `--dev`, `--iface` and `--fs` leave out count, too.
    fn is_simple(&self, lines: usize) -> bool {
        let [activity] = self.activities[..] else { return false };
        let chosen = &self.chosen;
        match activity.label {
            None => true,
            Some("CPU") => chosen.cpus.is_one(),
            Some("TTY") => lines == 1,
            Some("DEV") => lines == 1 && chosen.disks.is_empty(),
            Some("IFACE") => lines == 1 && chosen.interfaces.is_empty(),
            Some("FILESYSTEM") => lines == 1 && chosen.filesystems.is_empty(),
            Some(_) => false,
        }
    }

    fn show(
        &mut self,
        span: &Span<'_>,
        times: [&str; 2],
        has_heading: impl Fn(&Self, &Activity, usize) -> bool,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        let mut tables = self.tables.take();
        for (place, activity) in self.activities.iter().enumerate() {
            // The summary of filesystems is what they have at the end.
            let means = span.means.filter(|_| activity.label != Some("FILESYSTEM"));
            let span = &Span { means, ..*span };
            let lines = (activity.lines)(span, &self.chosen);
            if !activity.sources.iter().any(|source| span.has(source)) {
                if self.activities.len() > 1 {
                    continue;
                }
                let text = format!("Requested activities not available: {}", activity.option);
                return Err(SysstatError::NotThere(text));
            }
            let columns = columns(activity, &self.chosen.cpus, span);
            let has_heading = has_heading(self, activity, lines.len());
            let text = self.table(activity, &columns, lines, times, has_heading);
            tables.as_mut().map_or(&mut *out, |tables| &mut tables[place]).push_str(&text);
        }
        self.tables = tables;
        if self.activities.len() == 1 {
            self.write_tables(out);
        }
        Ok(())
    }

    /// Writes what was kept of each activity.
    fn write_tables(&mut self, out: &mut String) {
        for table in self.tables.iter_mut().flatten() {
            out.push_str(table);
            table.clear();
        }
    }

    fn table(
        &self,
        activity: &Activity,
        columns: &[ShownColumn],
        lines: Vec<Line<'_>>,
        times: [&str; 2],
        has_heading: bool,
    ) -> String {
        let mut out = String::new();
        let width = if activity.label == Some("CPU") { 8 } else { 10 };
        let is_filesystem = activity.label == Some("FILESYSTEM");
        let is_moved = activity.label.is_some_and(|label| !["CPU", "TTY"].contains(&label));
        let at_end = is_filesystem || self.is_pretty && is_moved;
        let title = activity.heading(&self.chosen);
        let label = title.filter(|_| !at_end);
        let label_at_end = title.filter(|_| at_end);
        let time_of = |time: &str| match time {
            "Average:" if is_filesystem => "Summary:".to_owned(),
            time => time.to_owned(),
        };
        if has_heading {
            let _ = write!(out, "\n{:<11}", time_of(times[0]));
            if let Some(label) = label {
                let _ = write!(out, "{label:>width$}");
            }
            for column in columns {
                let _ = write!(out, "{:>width$}", column.title(), width = column.width());
            }
            if let Some(label) = label_at_end {
                let _ = write!(out, " {label}");
            }
            out.push('\n');
        }
        for (name, rows) in lines {
            let values: Vec<Option<f64>> =
                columns.iter().map(|column| column.value(&rows)).collect();
            let is_zero = values.iter().all(|value| *value == Some(0.0));
            // An interrupt is shown that any CPU had, whichever CPUs are chosen.
            let is_idle = match activity.label {
                Some("INTR") => rate(&rows, &["count"]).is_none_or(|rate| rate == 0.0),
                _ => is_zero && activity.may_be_idle(),
            };
            if self.omit_idle && is_idle {
                continue;
            }
            let _ = write!(out, "{:<11}", time_of(times[1]));
            if label.is_some() {
                let _ = write!(out, " {name:>width$}", width = width - 1);
            }
            for (value, column) in values.into_iter().zip(columns) {
                self.style.put(&mut out, column.width(), value, column.unit());
            }
            if label_at_end.is_some() {
                let _ = write!(out, " {name}");
            }
            out.push('\n');
        }
        out
    }
}

/// The columns of an activity: its own, or of interrupts the sum and the chosen CPUs.
pub(crate) fn columns(activity: &Activity, cpus: &Cpus, span: &Span<'_>) -> Vec<ShownColumn> {
    if activity.label != Some("INTR") || !cpus.has_each() {
        return activity.columns.iter().copied().map(ShownColumn::Own).collect();
    }
    let mut columns: Vec<ShownColumn> = Vec::new();
    if cpus.has_sum() {
        columns.extend(activity.columns.iter().copied().map(ShownColumn::Own));
    }
    let mut numbers: Vec<usize> = Vec::new();
    for row in span.rows("interrupt") {
        let cpu = row.labels().and_then(|(_, cpu)| cpu_number(&cpu).parse().ok());
        numbers.extend(cpu.filter(|cpu| !numbers.contains(cpu)));
    }
    numbers.retain(|cpu| cpus.shows(&cpu.to_string()));
    numbers.sort_unstable();
    columns.extend(numbers.into_iter().map(ShownColumn::OfCpu));
    columns
}

/// The sources that activities read.
pub(crate) fn sources(activities: &[&Activity], chosen: &Chosen) -> Vec<&'static str> {
    let mut sources: Vec<&str> = Vec::new();
    for activity in activities {
        for source in activity.sources {
            let is_needed = match *source {
                "cpu_core" => chosen.cpus.has_each(),
                // Recordings have them or not.
                source => source != feed::SADC_TRANSFERS && source != TERMINALS,
            };
            if is_needed && !sources.contains(source) {
                sources.push(source);
            }
        }
    }
    sources
}

/// The text of a comment, for output.
pub(crate) fn comment_text(comment: &SadcComment) -> String {
    text::escape::escape(&comment.text)
}

/// A column as it is shown.
pub(crate) enum ShownColumn {
    /// One of the activity.
    Own(Column),
    /// The interrupts of one CPU.
    OfCpu(usize),
}

impl ShownColumn {
    pub(crate) fn title(&self) -> String {
        match self {
            ShownColumn::Own(column) => column.title.to_owned(),
            ShownColumn::OfCpu(cpu) => format!("CPU{cpu}"),
        }
    }

    fn width(&self) -> usize {
        match self {
            ShownColumn::Own(column) => column.width,
            ShownColumn::OfCpu(_) => 10,
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            ShownColumn::Own(column) => column.unit,
            ShownColumn::OfCpu(_) => Unit::Plain,
        }
    }

    pub(crate) fn value(&self, rows: &[Row<'_>]) -> Option<f64> {
        match self {
            ShownColumn::Own(column) => (column.value)(rows),
            ShownColumn::OfCpu(cpu) => {
                let of_cpu = |row: &&Row<'_>| {
                    // What is of no CPU (errors of the controller) counts as the first one's.
                    row.labels().map_or(*cpu == 0, |(_, own)| cpu_number(&own).parse() == Ok(*cpu))
                };
                let rows: Vec<Row<'_>> = rows.iter().filter(of_cpu).copied().collect();
                rate(&rows, &["count"]).or(Some(0.0))
            }
        }
    }
}

impl Report for Sar {
    fn sources(&self) -> Vec<&'static str> {
        let mut sources = sources(&self.activities, &self.chosen);
        let is_host = self.tables.is_none();
        if is_host && self.activities.iter().any(|one| one.sources.contains(&TERMINALS)) {
            sources.push(TERMINALS);
        }
        sources
    }

    fn needs_all(&self) -> bool {
        // Of several activities those that are recorded are shown.
        !self.is_all && self.activities.len() == 1
    }

    fn begin(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        if let (Some(names), Some(root)) = (&mut self.chosen.names, facts.devices) {
            names.read(root);
        }
        out.push_str(banner(facts.meta, &facts.clock.date(now_ns)).trim_end_matches('\n'));
        out.push('\n');
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        if let Some(names) = &self.chosen.names {
            names.check(facts.devices.is_some())?;
        }
        let every = facts.screen_lines.map_or(usize::MAX, |lines| lines.max(2) - 1);
        let is_first = self.lines.is_multiple_of(every);
        let is_recorded = self.tables.is_some();
        let is_due = move |sar: &Self, activity: &Activity, lines: usize| match is_recorded {
            // The table of interrupts has a heading each time; with -z each whose lines may be missing.
            true => {
                let is_short = sar.omit_idle && activity.may_be_idle();
                is_first || is_short || activity.label == Some("INTR")
            }
            false => is_first || !sar.is_simple(lines),
        };
        self.lines += 1;
        let times = [facts.clock.time(span.began_ns), facts.clock.time(span.ended_ns)];
        let times = [&*times[0], &*times[1]];
        self.show(span, times, is_due, out)
    }

    fn averages(&mut self, _: &Facts<'_>, span: &Span<'_>, out: &mut String) {
        if self.has_averages {
            let is_recorded = self.tables.is_some();
            let is_due = |sar: &Self, activity: &Activity, lines: usize| match activity.label {
                _ if !is_recorded => !sar.is_simple(lines),
                label => {
                    let is_short = sar.omit_idle && activity.may_be_idle();
                    sar.is_single || is_short || label == Some("INTR")
                }
            };
            // What could be shown once is there at the end, too.
            let _ = self.show(span, ["Average:", "Average:"], is_due, out);
        }
    }

    fn end(&mut self, out: &mut String) {
        self.write_tables(out);
    }

    fn counts_anew(&self) -> bool {
        true
    }

    fn comment(
        &mut self,
        facts: &Facts<'_>,
        defs: &[Arc<SourceDef>],
        comment: &SadcComment,
        out: &mut String,
    ) {
        let (time, text) = (facts.clock.time(comment.realtime_ns), comment_text(comment));
        let line = format!("{time:<11}  COM {text}\n");
        for (activity, table) in self.activities.iter().zip(self.tables.iter_mut().flatten()) {
            if activity.is_recorded(defs) {
                table.push_str(&line);
            }
        }
        if self.activities.len() == 1 {
            self.write_tables(out);
        }
    }

    fn restart(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        self.write_tables(out);
        let _ = write!(
            out,
            "\n{:<11}  LINUX RESTART\t({} CPU)\n",
            facts.clock.time(now_ns),
            facts.meta.cpus()
        );
        self.lines = 0;
    }
}
