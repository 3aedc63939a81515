//! `iostat`: CPU time, and transfers of disks.

use std::fmt::Write as _;

use crate::SysstatError;
use crate::columns::{Column, change, column, cpu_ticks, decimals, rate};
use crate::disk_folder::DiskFolder;
use crate::format::{Style, Unit};
use crate::iostat_extended::{EXTENDED, EXTENDED_SHORT, Group};
use crate::json;
use crate::machine::banner;
use crate::persistent_names::PersistentNames;
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, device_name, is_number, unknown};

pub(crate) const USAGE: &str = "\
Usage: iostat [options] [interval [count]]
  -c  CPU time only            -d  disks only
  -x  extended columns         -s  short columns
  -k  in KiB (the default)     -m  in MiB
  -h  as --human --pretty      -t  with the time
  -y  without the report since boot
  -z  without disks that did nothing
  -p [DEVICE,... | ALL]        disks with their partitions
  -g NAME DEVICE... | ALL      the sum of these disks, too; -H: only the sum; repeated: more sums
  -f FOLDER, +f FOLDER         disks of FOLDER/block and FOLDER/diskstats in place of, or beside those here
  -N  names of device mapper devices
  -j ID | LABEL | PATH | UUID  names of disks by /dev/disk
  --compact                    every column in one line (the default)
  -o JSON                      as JSON
  --dec=0|1|2                  digits after the point
  --human                      sizes with units
  --pretty                     the name at the end of the line
  --recording FILE             of a recording, or a folder of them, in place of this host
  DEVICE ... | ALL             these disks only
";

/// Which disks are shown.
#[derive(Default)]
struct Devices {
    /// Disks and groups of them; without disks those that have ever done something.
    listed: Vec<Listed>,
    /// Also those that never did anything.
    all: bool,
    /// Whether the word `ALL` stands among the disks.
    is_whole_list: bool,
    /// Partitions, too.
    partitions: bool,
    /// Disks whose partitions are shown.
    with_partitions: Vec<String>,
}

/// What a command line lists.
#[derive(PartialEq)]
enum Listed {
    /// A disk, by its name in the kernel.
    Disk(String),
    /// The name of the disks that follow, together.
    Group(String),
}

/// Disks that stand together: those of a group, or those before all groups.
struct Section<'a> {
    group: Option<String>,
    rows: Vec<Row<'a>>,
}

struct Iostat {
    cpu: bool,
    disk: bool,
    extended: bool,
    short: bool,
    mebibytes: bool,
    timestamp: bool,
    omit_first: bool,
    omit_idle: bool,
    pretty: bool,
    is_compact: bool,
    mapper_names: bool,
    names: Option<PersistentNames>,
    only_group: bool,
    /// Whether it is JSON, and how many intervals are written.
    json: Option<usize>,
    devices: Devices,
    style: Style,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let mut iostat = Iostat {
        cpu: false,
        disk: false,
        extended: false,
        short: false,
        mebibytes: false,
        timestamp: false,
        omit_first: false,
        omit_idle: false,
        pretty: false,
        is_compact: false,
        mapper_names: false,
        names: None,
        only_group: false,
        json: None,
        devices: Devices::default(),
        style: Style::default(),
    };
    let mut pace = Pace::default();
    let mut recording = Recording::Host;
    let (mut words, mut unit) = (Words::new(words), None::<String>);
    let mut folder = None::<DiskFolder>;
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Plain(word) => {
                if is_number(&word) {
                    pace.read_word(&word)?;
                } else if word == "+f" {
                    take_folder(&mut folder, &word, &mut words)?;
                } else {
                    iostat.devices.add(&word);
                }
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "c" => iostat.cpu = true,
            "d" => iostat.disk = true,
            "x" => iostat.extended = true,
            "s" => iostat.short = true,
            "k" | "m" => {
                let is_other = |known: &String| *known != option;
                if unit.replace(option.clone()).as_ref().is_some_and(is_other) {
                    return Err(SysstatError::Usage("-k and -m: give one of them".to_owned()));
                }
                iostat.mebibytes = option == "m";
            }
            "t" => iostat.timestamp = true,
            "y" => iostat.omit_first = true,
            "z" => iostat.omit_idle = true,
            "h" => {
                iostat.pretty = true;
                iostat.style.is_human = true;
            }
            "N" => iostat.mapper_names = true,
            "H" => iostat.only_group = true,
            "g" => iostat.devices.list(Listed::Group(words.value("-g")?)),
            "p" => {
                let is_list = |word: &str| {
                    !word.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                };
                match words.value_if(is_list) {
                    None => iostat.devices.partitions = true,
                    Some(list) if list == "ALL" => {
                        (iostat.devices.partitions, iostat.devices.all) = (true, true);
                    }
                    Some(list) => {
                        for name in list.split(',') {
                            iostat.devices.add(name);
                            iostat.devices.with_partitions.push(device_name(name).to_owned());
                        }
                    }
                }
            }
            "compact" => iostat.is_compact = true,
            "dec" => iostat.style.decimals = decimals(&words.value("--dec")?)?,
            "human" => iostat.style.is_human = true,
            "pretty" => iostat.pretty = true,
            "recording" => recording = Recording::File(words.value("--recording")?.into()),
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            "o" => {
                crate::words::json(&words.value("-o")?)?;
                iostat.json = Some(0);
            }
            "j" => {
                iostat.names = Some(PersistentNames::of(words.value("-j")?)?);
                // These names are long.
                iostat.pretty = true;
            }
            "f" => take_folder(&mut folder, "-f", &mut words)?,
            _ => return Err(unknown(&option)),
        }
    }
    if !iostat.cpu && !iostat.disk {
        // A list of disks does not turn CPU time off.
        (iostat.cpu, iostat.disk) = (true, true);
    }
    iostat.disk |= iostat.devices.is_given() || iostat.extended;
    if iostat.only_group && !iostat.devices.has_groups() {
        return Err(SysstatError::Usage("-H needs -g".to_owned()));
    }
    let omit_first = iostat.omit_first && pace.interval.is_some();
    iostat.omit_first = omit_first;
    if let Some(folder) = &mut folder {
        if recording != Recording::Host {
            return Err(SysstatError::Usage("-f and --recording: give one of them".to_owned()));
        }
        folder.is_whole_list = iostat.devices.partitions;
        folder.has_names = iostat.devices.has_disks();
    }
    let mut asked = ReportRequest::new(Box::new(iostat), pace);
    asked.recording = recording;
    asked.disk_folder = folder;
    asked.since_boot = !omit_first;
    Ok(asked)
}

/// Takes the folder after `-f` or `+f`, of which there is one.
fn take_folder(
    known: &mut Option<DiskFolder>,
    option: &str,
    words: &mut Words<'_>,
) -> Result<(), SysstatError> {
    match known.replace(DiskFolder::new(&words.value(option)?, option == "+f")?) {
        Some(_) => Err(SysstatError::Usage("-f and +f: give one folder".to_owned())),
        None => Ok(()),
    }
}

impl Devices {
    /// Whether the command line says which.
    fn is_given(&self) -> bool {
        self.all || self.partitions || !self.listed.is_empty()
    }

    fn has_groups(&self) -> bool {
        self.listed.iter().any(|listed| matches!(listed, Listed::Group(_)))
    }

    fn has_disks(&self) -> bool {
        self.listed.iter().any(|listed| matches!(listed, Listed::Disk(_)))
    }

    fn add(&mut self, word: &str) {
        if word == "ALL" {
            (self.all, self.is_whole_list) = (true, true);
        } else {
            self.list(Listed::Disk(device_name(word).to_owned()));
        }
    }

    /// Lists it once: disks before all groups and before `-p` alone or `-p ALL` by their names, others
    /// as they were typed.
    fn list(&mut self, listed: Listed) {
        if self.listed.contains(&listed) {
            return;
        }
        let place = match &listed {
            Listed::Disk(name) if !self.has_groups() && !self.partitions => self
                .listed
                .partition_point(|known| matches!(known, Listed::Disk(known) if known < name)),
            _ => self.listed.len(),
        };
        self.listed.insert(place, listed);
    }

    /// Whether a disk is shown that is not listed.
    fn shows_unlisted(&self, row: &Row<'_>) -> bool {
        let is_partition = row.text("kind") == "partition";
        if self.has_disks() {
            return self.partitions || self.all && !is_partition;
        }
        let has_worked =
            ["reads", "writes", "discards"].iter().any(|field| row.count(field) > Some(0));
        (self.all || has_worked) && (self.partitions || !is_partition)
    }

    /// Whether it is a disk of the list, or a partition of one whose partitions are shown.
    fn is_of(&self, row: &Row<'_>, disk: &String) -> bool {
        row.name() == *disk
            || (row.text("kind") == "partition"
                && row.text("parent") == *disk
                && self.with_partitions.contains(disk))
    }

    /// The disks that are shown: those listed in the order of the list, then all others, which are of
    /// the last group.
    fn sections<'a>(&self, mut rows: Vec<Row<'a>>) -> Vec<Section<'a>> {
        if !self.partitions && !self.has_groups() {
            rows.sort_by_cached_key(Row::name);
        }
        if self.is_whole_list && !self.has_groups() {
            let is_listed = |row: &Row<'_>| {
                let mut listed = self.listed.iter();
                listed.any(|one| matches!(one, Listed::Disk(disk) if self.is_of(row, disk)))
            };
            rows.retain(|row| is_listed(row) || self.partitions || row.text("kind") != "partition");
            return vec![Section { group: None, rows }];
        }
        let mut sections = Vec::new();
        let mut last = Section { group: None, rows: Vec::new() };
        // Without disks only the last group has a sum.
        let begin = if self.has_disks() { 0 } else { self.listed.len().saturating_sub(1) };
        for listed in &self.listed[begin..] {
            match listed {
                Listed::Group(name) => {
                    let next = Section { group: Some(name.clone()), rows: Vec::new() };
                    sections.push(std::mem::replace(&mut last, next));
                }
                Listed::Disk(disk) => {
                    last.rows.extend(rows.extract_if(.., |row| self.is_of(row, disk)));
                }
            }
        }
        last.rows.extend(rows.into_iter().filter(|row| self.shows_unlisted(row)));
        sections.push(last);
        sections
    }
}

impl Iostat {
    fn cpu_time(&self, span: &Span<'_>, out: &mut String) -> Option<()> {
        out.push_str("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
        for (_, share) in cpu_shares(span)? {
            self.style.put(out, 8, share, Unit::Percent);
        }
        out.push_str("\n\n");
        Some(())
    }

    fn name_of(&self, row: &Row<'_>) -> String {
        if let Some(names) = &self.names {
            return names.shown(row.name());
        }
        let label = row.text("label");
        if self.mapper_names && !label.is_empty() { label } else { row.name() }
    }

    /// The lines: a name, and the disks that it is made of.
    fn lines<'a>(&self, span: &Span<'a>) -> Vec<(String, Vec<Row<'a>>)> {
        let mut named: Vec<(String, Vec<Row<'_>>)> = Vec::new();
        for Section { group, rows } in self.devices.sections(span.rows("disk")) {
            if !self.only_group || group.is_none() {
                named.extend(rows.iter().map(|row| (self.name_of(row), vec![*row])));
            }
            // With `-x` a group without disks has no line.
            let group = group.filter(|_| !(self.extended && rows.is_empty()));
            named.extend(group.map(|name| (format!(" {name}"), rows)));
        }
        let is_idle = |rows: &[Row<'_>]| {
            self.omit_idle
                && rows.iter().all(|row| {
                    row.changes(&["reads", "writes", "discards", "flushes"]).unwrap_or(0.0) == 0.0
                })
        };
        named.into_iter().filter(|(_, rows)| !is_idle(rows)).collect()
    }

    fn disks(&self, span: &Span<'_>, out: &mut String) {
        let named = self.lines(span);
        for columns in self.groups() {
            self.table(&columns, &named, out);
        }
        out.push('\n');
    }

    fn groups(&self) -> Vec<Vec<Column>> {
        match (self.extended, self.short) {
            (true, true) => vec![EXTENDED_SHORT.to_vec()],
            (true, false) if self.pretty && !self.is_compact => {
                EXTENDED.iter().map(|group: &Group| group.to_vec()).collect()
            }
            (true, false) => vec![EXTENDED.concat()],
            (false, true) => vec![BASIC_SHORT.to_vec()],
            (false, false) => vec![BASIC.to_vec()],
        }
    }

    /// The members of an interval's object.
    fn members(&self, facts: &Facts<'_>, span: &Span<'_>) -> Option<Vec<String>> {
        let mut members = Vec::new();
        if self.timestamp {
            members.push(json::text("timestamp", &facts.clock.date_and_time(span.ended_ns)));
        }
        // Whatever --dec says.
        let decimals = 2;
        if self.cpu {
            let shares = cpu_shares(span)?.map(|(name, share)| json::number(name, share, decimals));
            members.push(format!("\"avg-cpu\":  {{{}}}", shares.join(", ")));
        }
        if self.disk {
            let columns = match (self.extended, self.short) {
                (true, false) => crate::iostat_extended::in_json(),
                // Whatever -s says.
                (false, _) => BASIC.to_vec(),
                _ => self.groups().concat(),
            };
            let disk = |(name, rows): (String, Vec<Row<'_>>)| {
                let value = |column: &Column| {
                    let decimals = if column.unit == Unit::WholeKibibytes { 0 } else { decimals };
                    let title = self.title(column).replace('%', "");
                    json::number(&title, self.value(column, &rows), decimals)
                };
                let values: Vec<String> = columns.iter().map(value).collect();
                format!("{{{}, {}}}", json::text("disk_device", &name), values.join(", "))
            };
            let disks: Vec<String> = self.lines(span).into_iter().map(disk).collect();
            members.push(json::list("disk", &disks));
        }
        Some(members)
    }

    fn title(&self, column: &Column) -> String {
        match self.mebibytes {
            true => column.title.replace("kB", "MB"),
            false => column.title.to_owned(),
        }
    }

    /// The value of a column, of those in kB as MB if that is asked for; `--human` chooses the unit itself.
    fn value(&self, column: &Column, rows: &[Row<'_>]) -> Option<f64> {
        // A group may have none of its disks.
        let value = if rows.is_empty() { Some(0.0) } else { (column.value)(rows) };
        if !self.mebibytes
            || (self.style.is_human && self.json.is_none())
            || !column.title.contains("kB")
        {
            return value;
        }
        let mebibytes = value.map(|kib| kib / 1024.0);
        // Sums have no rest.
        if column.unit == Unit::WholeKibibytes { mebibytes.map(f64::floor) } else { mebibytes }
    }

    fn table(&self, columns: &[Column], named: &[(String, Vec<Row<'_>>)], out: &mut String) {
        if !self.pretty {
            out.push_str("Device       ");
        }
        for column in columns {
            let _ = write!(out, "{:>width$}", self.title(column), width = column.width);
        }
        out.push_str(if self.pretty { " Device\n" } else { "\n" });
        for (name, rows) in named {
            if !self.pretty {
                let _ = write!(out, "{name:<13}");
            }
            for column in columns {
                self.style.put(out, column.width, self.value(column, rows), column.unit);
            }
            if self.pretty {
                let _ = write!(out, " {name}");
            }
            out.push('\n');
        }
        out.push('\n');
    }
}

impl Report for Iostat {
    fn sources(&self) -> Vec<&'static str> {
        let wanted = [(self.cpu, "cpu"), (self.disk, "disk")];
        wanted.iter().filter(|(wanted, _)| *wanted).map(|(_, name)| *name).collect()
    }

    fn begin(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        if let (Some(names), Some(root)) = (&mut self.names, facts.devices) {
            names.read(root);
            let listed = self.devices.listed.iter_mut().filter_map(|listed| match listed {
                Listed::Disk(disk) => Some(disk),
                Listed::Group(_) => None,
            });
            let words = listed.chain(&mut self.devices.with_partitions);
            words.for_each(|word| *word = names.of_kernel(word));
        }
        let date = facts.clock.date(now_ns);
        match self.json {
            Some(_) => json::begin(facts.meta, &[("date", &date)], out),
            None => out.push_str(&banner(facts.meta, &date)),
        }
        if self.omit_first {
            out.push('\n');
        }
    }

    fn interval(
        &mut self,
        facts: &Facts<'_>,
        span: &Span<'_>,
        out: &mut String,
    ) -> Result<(), SysstatError> {
        if let Some(names) = &self.names {
            names.check(facts.devices.is_some())?;
        }
        if let Some(count) = self.json {
            let missing = || SysstatError::unread("/proc/stat");
            let members = self.members(facts, span).ok_or_else(missing)?;
            json::interval(count == 0, &members, out);
            self.json = Some(count + 1);
            return Ok(());
        }
        if self.timestamp {
            let _ = writeln!(out, "{}", facts.clock.date_and_time(span.ended_ns));
        }
        if self.cpu {
            let missing = || SysstatError::unread("/proc/stat");
            self.cpu_time(span, out).ok_or_else(missing)?;
        }
        match self.disk {
            true => self.disks(span, out),
            false => out.push_str("\n\n"),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut String) {
        if self.json.is_some() {
            json::end(out);
        }
    }
}

/// The shares of CPU time, by their names in JSON.
fn cpu_shares(span: &Span<'_>) -> Option<[(&'static str, Option<f64>); 6]> {
    let row = span.row("cpu")?;
    let all = cpu_ticks(&row)?;
    let kinds: [(&str, &[&str]); 6] = [
        ("user", &["user"]),
        ("nice", &["nice"]),
        ("system", &["system", "irq", "softirq"]),
        ("iowait", &["iowait"]),
        ("steal", &["steal"]),
        ("idle", &["idle"]),
    ];
    Some(kinds.map(|(name, fields)| {
        (name, row.changes(fields).map(|ticks| crate::format::percent(ticks, all)))
    }))
}

const KIB: f64 = 2.0;
const READ: &[&str] = &["read_sectors"];
const WRITTEN: &[&str] = &["write_sectors"];
const DISCARDED: &[&str] = &["discard_sectors"];
const WRITTEN_OR_DISCARDED: &[&str] = &["write_sectors", "discard_sectors"];

fn over(value: Option<f64>, divisor: f64) -> Option<f64> {
    value.map(|value| value / divisor)
}

/// Whole units, as the program shows sums: without a rest.
fn whole(value: Option<f64>, divisor: f64) -> Option<f64> {
    value.map(|value| (value / divisor).floor())
}

const TPS: Column = column!("tps", 9, Plain, |rows| rate(rows, &["reads", "writes", "discards"]));

static BASIC: &[Column] = &[
    TPS,
    column!("kB_read/s", 13, Kibibytes, |rows| over(rate(rows, READ), KIB)),
    column!("kB_wrtn/s", 13, Kibibytes, |rows| over(rate(rows, WRITTEN), KIB)),
    column!("kB_dscd/s", 13, Kibibytes, |rows| over(rate(rows, DISCARDED), KIB)),
    column!("kB_read", 11, WholeKibibytes, |rows| whole(change(rows, READ), KIB)),
    column!("kB_wrtn", 11, WholeKibibytes, |rows| whole(change(rows, WRITTEN), KIB)),
    column!("kB_dscd", 11, WholeKibibytes, |rows| whole(change(rows, DISCARDED), KIB)),
];

static BASIC_SHORT: &[Column] = &[
    TPS,
    column!("kB_read/s", 13, Kibibytes, |rows| over(rate(rows, READ), KIB)),
    column!("kB_w+d/s", 13, Kibibytes, |rows| over(rate(rows, WRITTEN_OR_DISCARDED), KIB)),
    column!("kB_read", 11, WholeKibibytes, |rows| whole(change(rows, READ), KIB)),
    column!("kB_w+d", 11, WholeKibibytes, |rows| whole(change(rows, WRITTEN_OR_DISCARDED), KIB)),
];
