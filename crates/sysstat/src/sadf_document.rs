//! `sadf -j` and `-x`: the tables of `sar` as one document, JSON or XML.
//!
//! ```text
//! facts of the machine │ statistics: for each interval the tables │ restarts │ comments (-C)
//! ```
//!
//! A table is an object of its columns, or a list with an object for each instance; those of the network
//! and of pressure stand together.  The names of members follow from the titles of the columns, and
//! [`SHAPES`] says the rest.  What is missing is `null` in JSON, and in XML it is left out.  An interval is
//! written as soon as it is known; kept in memory are only restarts and comments, which stand at the end.

use std::fmt::Write as _;

use crate::activities::{
    Activity, Chosen, DISK_SECTORS, DISK_TIMES, Line, TRANSFERS, cpu_label, each_transfer, one,
};
use crate::columns::{Column, column, rate};
use crate::format::{Style, Unit};
use crate::json::{self, quoted};
use crate::report::Facts;
use crate::sar::ShownColumn;

/// The form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Markup {
    Json,
    Xml,
}

/// How the names of members follow from the titles of columns.
#[derive(Clone, Copy)]
enum Naming {
    /// `x/s` is `x`, `%x` is `x-percent`.
    Usual,
    /// `%x` is `x`.
    Shares,
    /// `kbx` is `x`, `%x` is `x-percent`.
    Kibibytes,
    /// `%sio-10` is `some_avg10`.
    Stalls,
    /// In JSON as the title, else as usual.
    Filesystem,
    /// `frequency`, whatever the title.
    Frequency,
}

/// How a table is laid out.
#[derive(Clone, Copy)]
enum Layout {
    /// One object; an attribute for each member.
    Object,
    /// One object; an element for each member.
    Elements,
    /// The transfers of disks, by kind.
    Transfers,
    /// Interrupts, with a number for each CPU.
    Interrupts,
    /// An object for each instance: the element, its attribute with the name, and the key in JSON.
    List(&'static str, &'static str, &'static str),
}

/// How the table of an activity stands in a document.
struct Shape {
    option: &'static str,
    /// The name of what several tables stand in.
    group: &'static str,
    name: &'static str,
    naming: Naming,
    layout: Layout,
    /// An attribute of the element.
    attribute: &'static str,
    /// Columns in place of those of the activity.
    columns: &'static [Column],
}

const PER_SECOND: &str = " per=\"second\"";
const IN_KIB: &str = " unit=\"kB\"";
const IN_MHZ: &str = " unit=\"MHz\"";

/// The group of what is no rate.
const POWER_GROUP: &str = "power-management";

macro_rules! shapes {
    ($($option:literal $group:tt $name:literal $naming:ident $layout:expr, $attribute:expr;)*) => {
        &[$(Shape {
            option: $option,
            group: $group,
            name: $name,
            naming: Naming::$naming,
            layout: $layout,
            attribute: $attribute,
            columns: if matches!($option.as_bytes(), b"-d") { DISK } else { &[] },
        }),*]
    };
}

/// Every table, by what selects it.
static SHAPES: &[Shape] = shapes![
    "-u" "" "cpu-load" Shares Layout::List("cpu", "number", "cpu"), "";
    "-u ALL" "" "cpu-load" Shares Layout::List("cpu", "number", "cpu"), "";
    "-w" "" "process-and-context-switch" Usual Layout::Object, PER_SECOND;
    "-I" "" "interrupts" Usual Layout::Interrupts, "";
    "-W" "" "swap-pages" Usual Layout::Object, PER_SECOND;
    "-B" "" "paging" Usual Layout::Object, PER_SECOND;
    "-b" "" "io" Usual Layout::Transfers, PER_SECOND;
    "-r" "" "memory" Kibibytes Layout::Elements, IN_KIB;
    "-r ALL" "" "memory" Kibibytes Layout::Elements, IN_KIB;
    "-S" "" "memory" Kibibytes Layout::Elements, IN_KIB;
    "-H" "" "hugepages" Kibibytes Layout::Elements, IN_KIB;
    "-v" "" "kernel" Usual Layout::Object, "";
    "LOAD" "" "queue" Usual Layout::Object, "";
    "-y" "" "serial" Usual Layout::List("tty", "line", "line"), PER_SECOND;
    "-d" "" "disk" Usual Layout::List("disk-device", "dev", "disk-device"), PER_SECOND;
    "DEV" "network" "net-dev" Usual Layout::List("net-dev", "iface", "iface"), "";
    "EDEV" "network" "net-edev" Usual Layout::List("net-edev", "iface", "iface"), "";
    "NFS" "network" "net-nfs" Usual Layout::Object, "";
    "NFSD" "network" "net-nfsd" Usual Layout::Object, "";
    "SOCK" "network" "net-sock" Usual Layout::Object, "";
    "IP" "network" "net-ip" Usual Layout::Object, "";
    "EIP" "network" "net-eip" Usual Layout::Object, "";
    "ICMP" "network" "net-icmp" Usual Layout::Object, "";
    "EICMP" "network" "net-eicmp" Usual Layout::Object, "";
    "TCP" "network" "net-tcp" Usual Layout::Object, "";
    "ETCP" "network" "net-etcp" Usual Layout::Object, "";
    "UDP" "network" "net-udp" Usual Layout::Object, "";
    "SOCK6" "network" "net-sock6" Usual Layout::Object, "";
    "IP6" "network" "net-ip6" Usual Layout::Object, "";
    "EIP6" "network" "net-eip6" Usual Layout::Object, "";
    "ICMP6" "network" "net-icmp6" Usual Layout::Object, "";
    "EICMP6" "network" "net-eicmp6" Usual Layout::Object, "";
    "UDP6" "network" "net-udp6" Usual Layout::Object, "";
    "SOFT" "network" "softnet" Usual Layout::List("softnet", "cpu", "cpu"), "";
    "-m CPU" POWER_GROUP "cpu-frequency" Frequency Layout::List("cpufreq", "number", "number"), IN_MHZ;
    "-F" "" "filesystems" Filesystem Layout::List("filesystem", "fsname", "filesystem"), "";
    "-F MOUNT" "" "filesystems" Filesystem Layout::List("filesystem", "mountp", "mountpoint"), "";
    "CPU" "psi" "psi-cpu" Stalls Layout::Object, "";
    "IO" "psi" "psi-io" Stalls Layout::Object, "";
    "MEM" "psi" "psi-mem" Stalls Layout::Object, "";
];

/// Disks in sectors and in KiB, some columns under two names.
const DISK: &[Column] = &[
    column!("tps", 0, Plain, |rows| rate(rows, TRANSFERS)),
    column!("rd_sec", 0, Plain, |rows| one(rows, "read_sectors")),
    column!("wr_sec", 0, Plain, |rows| one(rows, "write_sectors")),
    column!("dc_sec", 0, Plain, |rows| one(rows, "discard_sectors")),
    column!("rkB", 0, Plain, |rows| Some(one(rows, "read_sectors")? / 2.0)),
    column!("wkB", 0, Plain, |rows| Some(one(rows, "write_sectors")? / 2.0)),
    column!("dkB", 0, Plain, |rows| Some(one(rows, "discard_sectors")? / 2.0)),
    column!("avgrq-sz", 0, Plain, |rows| each_transfer(rows, DISK_SECTORS)),
    column!("areq-sz", 0, Plain, |rows| Some(each_transfer(rows, DISK_SECTORS)? / 2.0)),
    column!("avgqu-sz", 0, Plain, |rows| Some(one(rows, "weighted_ms")? / 1000.0)),
    column!("aqu-sz", 0, Plain, |rows| Some(one(rows, "weighted_ms")? / 1000.0)),
    column!("await", 0, Plain, |rows| each_transfer(rows, DISK_TIMES)),
    column!("%util", 0, Percent, |rows| Some(one(rows, "busy_ms")? / 10.0)),
];

impl Shape {
    /// The name of a column's member.
    fn member(&self, title: &str, markup: Markup) -> String {
        let title = title.strip_suffix("/s").unwrap_or(title);
        let share = title.strip_prefix('%');
        match (self.naming, share) {
            (Naming::Stalls, Some(name)) => {
                let some = if name.starts_with('s') { "some" } else { "full" };
                let seconds = name.split_once('-').map_or("", |(_, seconds)| seconds);
                format!("{some}_avg{seconds}")
            }
            (Naming::Frequency, _) => "frequency".to_owned(),
            (Naming::Shares, Some(name)) => name.to_owned(),
            (Naming::Filesystem, Some(_)) if markup == Markup::Json => title.to_owned(),
            (_, Some(name)) => format!("{name}-percent"),
            (Naming::Kibibytes, None) if title == "kbinact" => "inactive".to_owned(),
            (Naming::Kibibytes, None) => title.strip_prefix("kb").unwrap_or(title).to_owned(),
            _ => title.to_owned(),
        }
    }
}

/// A number with the name of its member; none if it is missing.
type Member = (String, Option<String>);

/// A table of an interval.
struct Table {
    shape: &'static Shape,
    /// The name of each instance and its members.
    lines: Vec<(String, Vec<Member>)>,
}

/// When something was, as a document writes it.
pub(crate) struct Stamp {
    pub(crate) date: String,
    pub(crate) time: String,
    pub(crate) is_utc: bool,
}

impl Stamp {
    fn members(&self, markup: Markup) -> String {
        let (date, time, utc) = (&self.date, &self.time, u8::from(self.is_utc));
        match markup {
            Markup::Json => format!("\"date\": \"{date}\", \"time\": \"{time}\", \"utc\": {utc}"),
            Markup::Xml => format!("date=\"{date}\" time=\"{time}\" utc=\"{utc}\""),
        }
    }
}

/// A document that is being written.
pub(crate) struct Document {
    pub(crate) markup: Markup,
    /// Whether `-C` asks for comments.
    pub(crate) has_comments: bool,
    intervals: usize,
    tables: Vec<Table>,
    /// What stands at the end.
    restarts: Vec<String>,
    comments: Vec<String>,
}

impl Document {
    pub(crate) fn new(markup: Markup) -> Self {
        Document {
            markup,
            has_comments: false,
            intervals: 0,
            tables: Vec::new(),
            restarts: Vec::new(),
            comments: Vec::new(),
        }
    }

    /// The beginning: the machine, and when the recording `started_ns`.
    pub(crate) fn begin(&self, facts: &Facts<'_>, started_ns: i64, out: &mut String) {
        let (date, utc) = (facts.clock.iso_date(started_ns), facts.clock.utc(started_ns));
        let time = utc.split(' ').nth(1).unwrap_or_default();
        let zone = facts.meta.get("zone_abbreviation").map(str::to_owned);
        let zone = zone.unwrap_or_else(|| facts.clock.zone_name(started_ns));
        match self.markup {
            Markup::Json => {
                let times = [("file-date", &*date), ("file-utc-time", time), ("timezone", &*zone)];
                json::begin(facts.meta, &times, out);
            }
            Markup::Xml => begin_xml(facts, [&date, time, &zone], out),
        }
    }

    /// Adds a table to the interval.
    pub(crate) fn table(
        &mut self,
        activity: &Activity,
        chosen: &Chosen,
        columns: &[ShownColumn],
        lines: &[Line<'_>],
    ) {
        let option = match activity.option {
            "-F" if chosen.by_mount => "-F MOUNT",
            option => option,
        };
        let Some(shape) = SHAPES.iter().find(|shape| shape.option == option) else { return };
        let own: Vec<ShownColumn> = shape.columns.iter().copied().map(ShownColumn::Own).collect();
        let columns = if own.is_empty() { columns } else { &own };
        let line = |(name, rows): &Line<'_>| {
            let members = columns.iter().map(|column| {
                let value = column.value(rows);
                let name = shape.member(&column.title(), self.markup);
                (name, value.map(|value| Style::default().text(value, column.unit())))
            });
            (name.clone(), members.collect())
        };
        let lines: Vec<(String, Vec<Member>)> = lines.iter().map(line).collect();
        // Memory and swap space are one object.
        match self.tables.last_mut().filter(|last| last.shape.name == shape.name) {
            Some(last) => {
                let pairs = last.lines.iter_mut().zip(lines);
                pairs.for_each(|((_, members), (_, more))| members.extend(more));
            }
            None => self.tables.push(Table { shape, lines }),
        }
    }

    /// Writes the interval whose tables were added.
    pub(crate) fn interval(&mut self, stamp: &Stamp, seconds: i64, out: &mut String) {
        let tables = std::mem::take(&mut self.tables);
        let at = stamp.members(self.markup);
        match self.markup {
            Markup::Json => {
                let mut members = vec![format!("\"timestamp\": {{{at}, \"interval\": {seconds}}}")];
                members.extend(grouped(&tables).into_iter().map(json_group));
                json::interval(self.intervals == 0, &members, out);
            }
            Markup::Xml => {
                let _ = writeln!(out, "\t\t\t<timestamp {at} interval=\"{seconds}\">");
                grouped(&tables).into_iter().for_each(|group| xml_group(group, out));
                out.push_str("\t\t\t</timestamp>\n");
            }
        }
        self.intervals += 1;
    }

    /// Notes that the machine, with so many CPUs, was started again.
    pub(crate) fn restart(&mut self, stamp: &Stamp, cpus: usize) {
        let at = stamp.members(self.markup);
        self.restarts.push(match self.markup {
            Markup::Json => format!("\"boot\": {{{at}, \"cpu_count\": {cpus}}}"),
            Markup::Xml => format!("<boot {at} cpu_count=\"{cpus}\"/>"),
        });
    }

    /// Notes a comment.
    pub(crate) fn comment(&mut self, stamp: &Stamp, text: &str) {
        let at = stamp.members(self.markup);
        self.comments.push(match self.markup {
            Markup::Json => format!("\"comment\": {{{at}, \"com\": {}}}", quoted(text)),
            Markup::Xml => format!("<comment {at} com=\"{}\"/>", raw_xml(text)),
        });
    }

    /// The end: restarts and comments.
    pub(crate) fn end(&mut self, out: &mut String) {
        let comments = Some(("comments", &self.comments)).filter(|_| self.has_comments);
        let marks = [Some(("restarts", &self.restarts)), comments];
        match self.markup {
            Markup::Json => {
                // The list of intervals has no line of its own if it is empty.
                out.push_str(if self.intervals > 0 { "\n\t\t\t]" } else { "\t\t\t]" });
                for (name, marks) in marks.into_iter().flatten() {
                    let each = |mark: &String| format!("\t\t\t\t{{\n\t\t\t\t\t{mark}\n\t\t\t\t}}");
                    let mut list = marks.iter().map(each).collect::<Vec<_>>().join(",\n");
                    if !list.is_empty() {
                        list.push('\n');
                    }
                    let _ = write!(out, ",\n\t\t\t\"{name}\": [\n{list}\t\t\t]");
                }
                json::end_of_host(out);
            }
            Markup::Xml => {
                out.push_str("\t\t</statistics>\n");
                for (name, marks) in marks.into_iter().flatten() {
                    let list: String = marks.iter().map(|mark| format!("\t\t\t{mark}\n")).collect();
                    let _ = write!(out, "\t\t<{name}>\n{list}\t\t</{name}>\n");
                }
                out.push_str("\t</host>\n</sysstat>\n");
            }
        }
    }
}

/// Tables that stand in the same group, together.
fn grouped(tables: &[Table]) -> Vec<&[Table]> {
    let is_same =
        |a: &Table, b: &Table| !a.shape.group.is_empty() && a.shape.group == b.shape.group;
    tables.chunk_by(is_same).collect()
}

fn json_group(tables: &[Table]) -> String {
    let Some(first) = tables.first() else { return String::new() };
    if first.shape.group.is_empty() {
        return json_table(first, 5);
    }
    let members: Vec<String> =
        tables.iter().map(|table| format!("\t\t\t\t\t\t{}", json_table(table, 6))).collect();
    format!("\"{}\": {{\n{}\n\t\t\t\t\t}}", first.shape.group, members.join(",\n"))
}

fn json_members(members: &[Member]) -> Vec<String> {
    let number = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
    members.iter().map(|(name, value)| format!("{}: {}", quoted(name), number(value))).collect()
}

/// A table as a member, whose line is indented so far.
fn json_table(table: &Table, indent: usize) -> String {
    let tabs = "\t".repeat(indent);
    let name = table.shape.name;
    let key = match table.shape.layout {
        Layout::List(_, _, key) => key,
        Layout::Interrupts => "intr",
        Layout::Object | Layout::Elements => {
            let members = table.lines.first().map(|(_, members)| json_members(members));
            return format!("\"{name}\": {{{}}}", members.unwrap_or_default().join(", "));
        }
        Layout::Transfers => {
            let members = table.lines.first().map(|(_, members)| json_members(members));
            let members = members.unwrap_or_default();
            return format!(
                "\"{name}\": {{{}}}",
                transfers(&members, |name, pair| {
                    format!("\"{name}\": {{{}}}", pair.join(", "))
                })
                .join(", ")
            );
        }
    };
    let lines = table.lines.iter().map(|(instance, members)| {
        let is_number = key == "line" && instance.bytes().all(|byte| byte.is_ascii_digit());
        let instance = if is_number { instance.clone() } else { quoted(instance) };
        let mut all = vec![format!("\"{key}\": {instance}")];
        all.extend(json_members(members));
        format!("{tabs}\t{{{}}}", all.join(", "))
    });
    format!("\"{name}\": [\n{}\n{tabs}]", lines.collect::<Vec<_>>().join(",\n"))
}

/// The members of [`Layout::Transfers`]: all, and for each kind how often and how much.
fn transfers(members: &[String], pair: impl Fn(&str, &[String]) -> String) -> Vec<String> {
    let [all, reads, writes, discards, read, written, discarded] = members else {
        return Vec::new();
    };
    let kinds =
        [("reads", reads, read), ("writes", writes, written), ("discard", discards, discarded)];
    let kinds = kinds
        .map(|(name, count, size)| pair(&format!("io-{name}"), &[count.clone(), size.clone()]));
    std::iter::once(all.clone()).chain(kinds).collect()
}

fn begin_xml(facts: &Facts<'_>, [date, time, zone]: [&str; 3], out: &mut String) {
    const SITE: &str = "http://pagesperso-orange.fr/sebastien.godard";
    let meta = facts.meta;
    let fact = |key| raw_xml(meta.get(key).unwrap_or_default());
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE sysstat PUBLIC \"DTD v3.11 sysstat //EN\"\n\"{SITE}/sysstat-3.11.dtd\">\n\
         <sysstat\nxmlns=\"{SITE}/sysstat\"\n\
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n\
         xsi:schemaLocation=\"{SITE} sysstat.xsd\">\n\
         \t<sysdata-version>3.11</sysdata-version>\n\t<host nodename=\"{}\">\n",
        raw_xml(meta.host())
    );
    let elements = [
        ("sysname", "Linux".to_owned()),
        ("release", fact("kernel")),
        ("machine", fact("architecture")),
        ("number-of-cpus", meta.cpus().to_string()),
        ("file-date", date.to_owned()),
        ("file-utc-time", time.to_owned()),
        ("timezone", raw_xml(zone)),
    ];
    for (name, value) in elements {
        let _ = writeln!(out, "\t\t<{name}>{value}</{name}>");
    }
    out.push_str("\t\t<statistics>\n");
}

fn xml_group(tables: &[Table], out: &mut String) {
    let Some(first) = tables.first() else { return };
    let group = first.shape.group;
    if group.is_empty() {
        return xml_table(first, 4, out);
    }
    let attribute = if group == POWER_GROUP { "" } else { PER_SECOND };
    let _ = writeln!(out, "\t\t\t\t<{group}{attribute}>");
    tables.iter().for_each(|table| xml_table(table, 5, out));
    let _ = writeln!(out, "\t\t\t\t</{group}>");
}

fn xml_members(members: &[Member]) -> Vec<String> {
    let there = members.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    there.map(|(name, value)| format!(" {name}=\"{value}\"")).collect()
}

/// A table as an element, indented so far.
fn xml_table(table: &Table, indent: usize, out: &mut String) {
    let tabs = "\t".repeat(indent);
    let Shape { name, attribute, layout, group, .. } = table.shape;
    let first = table.lines.first().map_or(&[][..], |(_, members)| members);
    if matches!(layout, Layout::Object) {
        let _ = writeln!(out, "{tabs}<{name}{attribute}{}/>", xml_members(first).concat());
        return;
    }
    // Lists of a group stand in it without an element of their own, unless that has a unit.
    let has_element = group.is_empty() || !attribute.is_empty();
    let inner = if has_element { format!("{tabs}\t") } else { tabs.clone() };
    if has_element {
        let _ = writeln!(out, "{tabs}<{name}{attribute}>");
    }
    match layout {
        Layout::Object => {}
        Layout::Elements => {
            for (name, value) in first {
                if let Some(value) = value {
                    let _ = writeln!(out, "{inner}<{name}>{value}</{name}>");
                }
            }
        }
        Layout::Transfers => {
            if let Some((name, Some(value))) = first.first() {
                let _ = writeln!(out, "{inner}<{name}>{value}</{name}>");
            }
            let each = first.iter().map(|one| xml_members(std::slice::from_ref(one)).concat());
            let members: Vec<String> = each.collect();
            for element in transfers(&members, |name, pair| format!("<{name}{}/>", pair.concat()))
                .iter()
                .skip(1)
            {
                let _ = writeln!(out, "{inner}{element}");
            }
        }
        Layout::Interrupts => xml_interrupts(&table.lines, &inner, out),
        Layout::List(element, attribute, _) => {
            for (instance, members) in &table.lines {
                let (instance, members) = (xml(instance), xml_members(members).concat());
                let _ = writeln!(out, "{inner}<{element} {attribute}=\"{instance}\"{members}/>");
            }
        }
    }
    if has_element {
        let _ = writeln!(out, "{tabs}</{name}>");
    }
}

fn xml_interrupts(lines: &[(String, Vec<Member>)], tabs: &str, out: &mut String) {
    let _ = writeln!(out, "{tabs}<int-global{PER_SECOND}>");
    for (instance, members) in lines {
        for (name, value) in members {
            if let Some(value) = value {
                let (intr, cpu) = (xml(instance), cpu_label(name));
                let _ =
                    writeln!(out, "{tabs}\t<irq intr=\"{intr}\" cpu=\"{cpu}\" value=\"{value}\"/>");
            }
        }
    }
    let _ = writeln!(out, "{tabs}</int-global>");
}

/// A name, which has no control characters, within an attribute or an element.
fn xml(name: &str) -> String {
    text::escape::html_attribute(name)
}

/// Any text within an attribute or an element.
fn raw_xml(text: &str) -> String {
    xml(&text::escape::escape(text.as_bytes()))
}
