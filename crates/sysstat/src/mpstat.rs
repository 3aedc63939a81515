//! `mpstat`: CPU time and interrupts of each CPU.

use std::fmt::Write as _;

use crate::SysstatError;
use crate::activities::{Chosen, Cpus, cpu_lines, cpu_number};
use crate::columns::{Column, column, cpu_shares, decimals, rate};
use crate::format::{Style, Unit};
use crate::json;
use crate::machine::banner;
use crate::report::{Facts, Recording, Report, ReportRequest};
use crate::topology::Topology;
use crate::values::{Row, Span};
use crate::words::{Pace, Word, Words, unknown};

pub(crate) const USAGE: &str = "\
Usage: mpstat [options] [interval [count]]
  -u  CPU time (the default)
  -I SUM|CPU|SCPU|ALL   interrupts: all of a CPU, by interrupt, by soft interrupt
  -P LIST | ALL         these CPUs: numbers, ranges, all
  -n                    CPU time of NUMA nodes; -N LIST | ALL: of these nodes
  -T                    core, socket and node of each CPU
  -A                    as -n -u -I ALL -N ALL -P ALL
  -o JSON               as JSON
  --dec=0|1|2           digits after the point
  --recording FILE      of a recording, or a folder of them, in place of this host
";

static CPU_TIME: &[Column] = cpu_shares![8:
    ("%usr", ["user"], ["guest"]),
    ("%nice", ["nice"], ["guest_nice"]),
    ("%sys", ["system"], []),
    ("%iowait", ["iowait"], []),
    ("%irq", ["irq"], []),
    ("%soft", ["softirq"], []),
    ("%steal", ["steal"], []),
    ("%guest", ["guest"], []),
    ("%gnice", ["guest_nice"], []),
    ("%idle", ["idle"], []),
];

/// The soft interrupts: a title, and the counter.
static SOFT: &[Column] = &[
    column!("HI/s", 11, Plain, |rows| rate(rows, &["hi"])),
    column!("TIMER/s", 11, Plain, |rows| rate(rows, &["timer"])),
    column!("NET_TX/s", 11, Plain, |rows| rate(rows, &["net_tx"])),
    column!("NET_RX/s", 11, Plain, |rows| rate(rows, &["net_rx"])),
    column!("BLOCK/s", 11, Plain, |rows| rate(rows, &["block"])),
    column!("IRQ_POLL/s", 11, Plain, |rows| rate(rows, &["irq_poll"])),
    column!("TASKLET/s", 11, Plain, |rows| rate(rows, &["tasklet"])),
    column!("SCHED/s", 11, Plain, |rows| rate(rows, &["sched"])),
    column!("HRTIMER/s", 11, Plain, |rows| rate(rows, &["hrtimer"])),
    column!("RCU/s", 11, Plain, |rows| rate(rows, &["rcu"])),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Node,
    Sum,
    Each,
    Soft,
}

struct Mpstat {
    is_all: bool,
    kinds: Vec<Kind>,
    chosen: Chosen,
    nodes: Cpus,
    /// `-T`.
    has_topology: bool,
    /// Where CPUs are, if that is needed; empty until the report begins.
    topology: Option<Topology>,
    /// Whether it is JSON, and how many intervals are written.
    json: Option<usize>,
    style: Style,
    has_averages: bool,
    lines: usize,
}

/// The kinds of a word of `-I`.
fn interrupts(word: &str) -> Result<&'static [Kind], SysstatError> {
    match word {
        "SUM" => Ok(&[Kind::Sum]),
        "CPU" => Ok(&[Kind::Each]),
        "SCPU" => Ok(&[Kind::Soft]),
        "ALL" => Ok(&[Kind::Sum, Kind::Each, Kind::Soft]),
        other => Err(SysstatError::Usage(format!("-I takes SUM, CPU, SCPU or ALL, not {other}"))),
    }
}

fn cpu_list(text: &str, what: &str) -> Result<Cpus, SysstatError> {
    Cpus::parse(text).ok_or_else(|| SysstatError::Usage(format!("not a list of {what}: {text}")))
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<ReportRequest, SysstatError> {
    let (mut kinds, mut cpus, mut style) = (Vec::new(), None, Style::default());
    let (mut pace, mut recording) = (Pace::default(), Recording::Host);
    let (mut is_all, mut has_topology, mut json, mut nodes) = (false, false, None, None);
    let mut words = Words::new(words);
    while let Some(word) = words.next()? {
        let option = match word {
            Word::Plain(word) => {
                pace.read_word(&word)?;
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "u" => kinds.push(Kind::Time),
            "I" => {
                for word in words.value("-I")?.split(',') {
                    kinds.extend_from_slice(interrupts(word)?);
                }
            }
            "P" => {
                let known: Cpus = cpus.take().unwrap_or_default();
                cpus = Some(known.join(cpu_list(&words.value("-P")?, "CPUs")?));
            }
            "n" => kinds.push(Kind::Node),
            "N" => {
                kinds.push(Kind::Node);
                let known: Cpus = nodes.take().unwrap_or_default();
                nodes = Some(known.join(cpu_list(&words.value("-N")?, "nodes")?));
            }
            "T" => has_topology = true,
            "o" => {
                crate::words::json(&words.value("-o")?)?;
                json = Some(0);
            }
            "A" => {
                is_all = true;
                kinds.extend([Kind::Time, Kind::Node, Kind::Sum, Kind::Each, Kind::Soft]);
            }
            "dec" => style.decimals = decimals(&words.value("--dec")?)?,
            "recording" => recording = Recording::File(words.value("--recording")?.into()),
            "help" => return Err(SysstatError::Help(USAGE.to_owned())),
            _ => return Err(unknown(&option)),
        }
    }
    // A list of CPUs asks for them beside nodes.
    if kinds.is_empty() || (cpus.is_some() && kinds.iter().all(|kind| *kind == Kind::Node)) {
        kinds.push(Kind::Time);
    }
    if is_all {
        // What -P and -N say stays.
        cpus = cpus.or(Some(Cpus::All));
        nodes = nodes.or(Some(Cpus::All));
    }
    let order = [Kind::Time, Kind::Node, Kind::Sum, Kind::Each, Kind::Soft];
    let kinds: Vec<Kind> = order.into_iter().filter(|kind| kinds.contains(kind)).collect();
    let chosen = Chosen { cpus: cpus.unwrap_or_default(), ..Chosen::default() };
    let has_interval = pace.interval.is_some();
    let has_averages = has_interval || recording != Recording::Host;
    let nodes = nodes.unwrap_or_default();
    let topology = (has_topology || kinds.contains(&Kind::Node)).then(Topology::default);
    let mpstat = Mpstat {
        is_all,
        kinds,
        chosen,
        nodes,
        has_topology,
        topology,
        json,
        style,
        has_averages,
        lines: 0,
    };
    let mut asked = ReportRequest::new(Box::new(mpstat), pace);
    asked.since_boot = !has_interval;
    asked.recording = recording;
    Ok(asked)
}

impl Mpstat {
    /// Whether there is one table, of no chosen CPUs or nodes, whose heading is not repeated.
    fn is_simple(&self) -> bool {
        self.kinds.len() == 1
            && !self.chosen.cpus.has_each()
            && !(self.kinds[0] == Kind::Node && self.nodes.has_each())
    }

    /// Whether a heading is due, which comes after an empty line.
    fn is_due(&mut self, facts: &Facts<'_>) -> bool {
        let every = facts.screen_lines.map_or(usize::MAX, |lines| lines.max(2) - 1);
        let is_due = !self.is_simple() || self.lines.is_multiple_of(every);
        self.lines += 1;
        is_due
    }

    fn show(&self, span: &Span<'_>, times: [&str; 2], has_heading: bool, out: &mut String) {
        for kind in &self.kinds {
            let (columns, lines) = self.table(*kind, span);
            if has_heading {
                let label = if *kind == Kind::Node { "NODE" } else { "CPU" };
                let _ = write!(out, "\n{:<11}{label:>5}", times[0]);
                if *kind == Kind::Time && self.has_topology {
                    out.push_str(" CORE SOCK NODE");
                }
                for column in &columns {
                    let _ = write!(out, "{:>width$}", column.title, width = column.width);
                }
                out.push('\n');
            }
            for (name, values) in lines {
                let _ = write!(out, "{:<11}{name:>5}", times[1]);
                if *kind == Kind::Time && self.has_topology {
                    for part in self.place_of(&name) {
                        let _ = write!(out, "{part:>5}");
                    }
                }
                for (value, column) in values.into_iter().zip(&columns) {
                    self.style.put(out, column.width, value, column.unit);
                }
                out.push('\n');
            }
        }
    }

    fn table(&self, kind: Kind, span: &Span<'_>) -> Values {
        let of = |columns: &[Column], lines: Vec<(String, Vec<Row<'_>>)>| {
            let value = |(name, rows): (String, Vec<Row<'_>>)| {
                (name, columns.iter().map(|column| (column.value)(&rows)).collect())
            };
            (columns.iter().map(Heading::of).collect(), lines.into_iter().map(value).collect())
        };
        match kind {
            Kind::Node => of(CPU_TIME, self.node_lines(span)),
            Kind::Time => of(CPU_TIME, cpu_lines(span, &self.chosen)),
            Kind::Soft => {
                let rows = span.rows("softirq").into_iter().map(|row| (row.name(), vec![row]));
                let lines = rows.filter(|(name, _)| self.shows_each(name));
                of(SOFT, lines.map(|(name, rows)| (cpu_number(&name).to_owned(), rows)).collect())
            }
            Kind::Sum => {
                let mut lines = Vec::new();
                if self.chosen.cpus.has_sum() {
                    let all = span.row("cpu").and_then(|row| row.rate("interrupts"));
                    lines.push(("all".to_owned(), vec![all]));
                }
                for (cpu, rows) in by_cpu(span) {
                    if self.chosen.cpus.shows(&cpu) {
                        lines.push((cpu_number(&cpu).to_owned(), vec![rate(&rows, &["count"])]));
                    }
                }
                (vec![Heading { title: "intr/s".to_owned(), width: 10, unit: Unit::Plain }], lines)
            }
            Kind::Each => self.each(span),
        }
    }

    /// Core, socket and node of a CPU; nothing of all together.
    fn place_of(&self, cpu: &str) -> [String; 3] {
        let place = cpu.parse().ok().and_then(|cpu| self.topology.as_ref()?.cpus.get(&cpu));
        place.map(|place| place.map(|number| number.to_string())).unwrap_or_default()
    }

    /// The CPUs of each node, and of all.
    fn node_lines<'a>(&self, span: &Span<'a>) -> Vec<(String, Vec<Row<'a>>)> {
        let mut lines = Vec::new();
        if self.nodes.has_sum() {
            lines.push(("all".to_owned(), span.rows("cpu")));
        }
        let Some(topology) = self.topology.as_ref().filter(|_| self.nodes.has_each()) else {
            return lines;
        };
        let mut nodes: Vec<(usize, Vec<Row<'a>>)> = Vec::new();
        for row in span.rows("cpu_core") {
            let cpu = cpu_number(&row.name()).parse().unwrap_or(usize::MAX);
            let Some([_, _, node]) = topology.cpus.get(&cpu) else { continue };
            match nodes.iter_mut().find(|(known, _)| known == node) {
                Some((_, rows)) => rows.push(row),
                None => nodes.push((*node, vec![row])),
            }
        }
        nodes.sort_by_key(|(node, _)| *node);
        let each = nodes.into_iter().map(|(node, rows)| (node.to_string(), rows));
        lines.extend(each.filter(|(node, _)| self.nodes.shows(node)));
        lines
    }

    /// The members of an interval's object.
    fn members(&self, span: &Span<'_>, time: &str) -> Vec<String> {
        let mut members = vec![json::text("timestamp", time)];
        for kind in &self.kinds {
            let (columns, lines) = self.table(*kind, span);
            let (name, label) = match kind {
                Kind::Time => ("cpu-load", "cpu"),
                Kind::Node => ("node-load", "node"),
                Kind::Sum => ("sum-interrupts", "cpu"),
                Kind::Each => ("individual-interrupts", "cpu"),
                Kind::Soft => ("soft-interrupts", "cpu"),
            };
            let is_list = matches!(kind, Kind::Each | Kind::Soft);
            let has_place = *kind == Kind::Time && self.has_topology;
            // Whatever --dec says.
            let decimals = 2;
            let line = |(of, values): (String, Vec<Option<f64>>)| {
                let title = |column: &Heading| column.title.replace(['%'], "").replace("/s", "");
                let values = columns.iter().zip(values);
                if is_list {
                    let value = |(column, value): (&Heading, Option<f64>)| {
                        let value = json::number("value", value, decimals);
                        format!("{{{}, {value}}}", json::text("name", &title(column)))
                    };
                    let values: Vec<String> = values.map(value).collect();
                    let values = values.join(",\n\t\t\t\t\t\t\t");
                    return format!(
                        "{{{}, \"intr\": [\n\t\t\t\t\t\t\t{values}\n\t\t\t\t\t\t] }}",
                        json::text(label, &of)
                    );
                }
                let mut parts = vec![json::text(label, &of)];
                if has_place {
                    let names = ["core", "socket", "node"].into_iter().zip(self.place_of(&of));
                    parts.extend(names.map(|(name, part)| json::text(name, &part)));
                }
                parts.extend(
                    values.map(|(column, value)| json::number(&title(column), value, decimals)),
                );
                format!("{{{}}}", parts.join(", "))
            };
            let lines: Vec<String> = lines.into_iter().map(line).collect();
            members.push(json::list(name, &lines));
        }
        members
    }

    /// Without `-P` the tables of interrupts show every CPU.
    fn shows_each(&self, name: &str) -> bool {
        !self.chosen.cpus.has_each() || self.chosen.cpus.shows(name)
    }

    fn each(&self, span: &Span<'_>) -> Values {
        let name_of = |row: &Row<'_>| row.labels().map_or_else(|| row.name(), |(name, _)| name);
        let mut names: Vec<String> = Vec::new();
        for row in span.rows("interrupt") {
            let name = name_of(&row);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        let heading =
            |name: &String| Heading { title: format!("{name}/s"), width: 11, unit: Unit::Plain };
        let unbound: Vec<Row<'_>> =
            span.rows("interrupt").into_iter().filter(|row| row.labels().is_none()).collect();
        let mut lines = Vec::new();
        for (index, (cpu, rows)) in by_cpu(span).into_iter().enumerate() {
            if !self.shows_each(&cpu) {
                continue;
            }
            let value = |name: &String| match rows.iter().find(|row| name_of(row) == *name) {
                Some(row) => row.rate("count"),
                // Errors of the controller, which the program counts as the first CPU's.
                None if index > 0 => Some(0.0),
                None => unbound.iter().find(|row| name_of(row) == *name)?.rate("count"),
            };
            lines.push((cpu_number(&cpu).to_owned(), names.iter().map(value).collect()));
        }
        (names.iter().map(heading).collect(), lines)
    }
}

/// Headings, and lines of a name and its numbers.
type Values = (Vec<Heading>, Vec<(String, Vec<Option<f64>>)>);

/// A heading whose title is made at run time.
struct Heading {
    title: String,
    width: usize,
    unit: Unit,
}

impl Heading {
    fn of(column: &Column) -> Self {
        Heading { title: column.title.to_owned(), width: column.width, unit: column.unit }
    }
}

/// The interrupts of each CPU.
fn by_cpu<'a>(span: &Span<'a>) -> Vec<(String, Vec<Row<'a>>)> {
    let mut cpus: Vec<(String, Vec<Row<'a>>)> = Vec::new();
    for row in span.rows("interrupt") {
        // Errors of the controller are of no CPU.
        let Some((_, cpu)) = row.labels() else { continue };
        match cpus.iter_mut().find(|(known, _)| *known == cpu) {
            Some((_, rows)) => rows.push(row),
            None => cpus.push((cpu, vec![row])),
        }
    }
    cpus.sort_by_key(|(cpu, _)| cpu_number(cpu).parse::<usize>().unwrap_or(usize::MAX));
    cpus
}

impl Mpstat {
    /// The highest CPU that is asked for, if the machine has none of that number or above.
    fn missing_cpu(&self, facts: &Facts<'_>, span: &Span<'_>) -> Option<usize> {
        let wanted = self.chosen.cpus.highest().filter(|wanted| *wanted >= facts.meta.cpus())?;
        let numbers = span.rows("cpu_core").into_iter();
        let numbers = numbers.filter_map(|row| cpu_number(&row.name()).parse::<usize>().ok());
        (numbers.max()? < wanted).then_some(wanted)
    }
}

impl Report for Mpstat {
    fn sources(&self) -> Vec<&'static str> {
        let mut sources = vec!["cpu"];
        let has_cpus = self.kinds.contains(&Kind::Time) && self.chosen.cpus.has_each();
        let has_nodes = self.kinds.contains(&Kind::Node) && self.nodes.has_each();
        if has_cpus || has_nodes {
            sources.push("cpu_core");
        }
        if self.kinds.iter().any(|kind| matches!(kind, Kind::Sum | Kind::Each)) {
            sources.push("interrupt");
        }
        if self.kinds.contains(&Kind::Soft) {
            sources.push("softirq");
        }
        sources
    }

    fn needs_all(&self) -> bool {
        !self.is_all
    }

    fn begin(&mut self, facts: &Facts<'_>, now_ns: i64, out: &mut String) {
        if let (Some(topology), Some(root)) = (&mut self.topology, facts.root) {
            *topology = Topology::read(root);
        }
        if self.json.is_some() {
            return json::begin(facts.meta, &[("date", &facts.clock.date(now_ns))], out);
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
        if self.topology.is_some() && facts.root.is_none() {
            let text = "recordings do not say where CPUs are: -n, -N and -T show this host";
            return Err(SysstatError::NotThere(text.to_owned()));
        }
        if let Some(number) = self.missing_cpu(facts, span) {
            return Err(SysstatError::NotThere(format!("there is no CPU {number} (-P)")));
        }
        let last = self.topology.as_ref().map_or(0, Topology::last_node);
        if let Some(number) = self.nodes.highest().filter(|number| *number > last) {
            return Err(SysstatError::NotThere(format!("there is no node {number} (-N)")));
        }
        if let Some(count) = self.json {
            let members = self.members(span, &facts.clock.time(span.ended_ns));
            json::interval(count == 0, &members, out);
            self.json = Some(count + 1);
            return Ok(());
        }
        let is_due = self.is_due(facts);
        let times = [facts.clock.time(span.began_ns), facts.clock.time(span.ended_ns)];
        self.show(span, [&times[0], &times[1]], is_due, out);
        Ok(())
    }

    fn averages(&mut self, _: &Facts<'_>, span: &Span<'_>, out: &mut String) {
        if self.has_averages && self.json.is_none() {
            let is_simple = self.is_simple();
            self.show(span, ["Average:", "Average:"], !is_simple, out);
        }
    }

    fn end(&mut self, out: &mut String) {
        if self.json.is_some() {
            json::end(out);
        }
    }
}
