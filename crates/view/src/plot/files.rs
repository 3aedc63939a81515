//! Plot format in files: the text of each file, by extension, with the header of collectl's plot
//! files.

use std::io;
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Frame, Options, Row, Shape};
use sample::{Meta, SourceDef};

use super::LineFormatter;
use crate::parts::{self, Part};
use crate::time::LocalTime;

/// The version of collectl in the header: the one whose plot format this is.
const FORMAT_VERSION: &str = "V4.3.1";

/// Plot files of one feed.  Not a [`View`](crate::View), because it writes to several files.
pub struct PlotFiles {
    formatter: LineFormatter,
    /// The letters whose exceptions have a file of their own (`-ox`, `-oX`).
    exceptions: Vec<Part>,
    preamble: Vec<u8>,
    /// The extensions that have their headers.
    begun: Vec<String>,
    text: Vec<u8>,
}

/// Writes text to a file: receives its extension (`tab`, `cpu`) and complete lines.
pub type WritePlot<'a> = dyn FnMut(&str, &[u8]) -> io::Result<()> + 'a;

impl PlotFiles {
    /// For files with times of `zone`.
    pub fn new(zone: TimeZone) -> Self {
        PlotFiles {
            formatter: LineFormatter::new(zone),
            exceptions: Vec::new(),
            preamble: Vec::new(),
            begun: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Begins new files; each gets its header before its first line.  `command_line` is this
    /// process's.
    pub fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        command_line: &str,
    ) {
        self.formatter.begin(defs, options);
        self.begun.clear();
        self.exceptions.clear();
        if options.letters.contains(['x', 'X']) {
            let parts = parts::select(|position| position.plot, defs, options);
            let parts = parts.into_iter().filter(Part::is_detail);
            let has = |part: &Part| part.layout.is_some_and(|layout| layout.exceptions.is_some());
            self.exceptions.extend(parts.filter(has));
        }
        self.preamble = preamble(meta, options, command_line, &self.formatter.zone, true);
    }

    /// Begins one file again, with its header: another program deleted what was written to it.
    pub fn begin_again(&mut self, extension: &str) {
        self.begun.retain(|begun| begun != extension);
        let groups = self.formatter.groups.iter_mut();
        for group in groups.filter(|group| group.extension == extension) {
            group.columns.iter_mut().for_each(|columns| columns.is_headed = false);
        }
    }

    /// The extensions of all files, including those that get no line.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        let exceptions = self.exceptions.iter().filter_map(|part| part.layout?.exceptions.as_ref());
        let groups = self.formatter.groups.iter().map(|group| &*group.extension);
        groups.chain(exceptions.map(|exceptions| exceptions.extension))
    }

    /// Passes the text of one tick to `write`.
    ///
    /// # Errors
    /// The first error of `write`.
    pub fn frame(&mut self, frame: &Frame<'_>, write: &mut WritePlot<'_>) -> io::Result<()> {
        if !self.formatter.add_frame(frame) || self.formatter.left_out {
            return Ok(());
        }
        for at in 0..self.formatter.groups.len() {
            self.text.clear();
            let extension = self.formatter.groups[at].extension.clone();
            if self.formatter.groups[at].columns.iter().all(|columns| columns.shape == Shape::Lines)
            {
                self.formatter.push_rows_of(at, frame, &mut self.text);
            } else if self.is_due(at, frame) {
                self.push_line(at, frame);
            }
            self.hand_out(&extension, write)?;
        }
        for at in 0..self.exceptions.len() {
            self.text.clear();
            if let Some(extension) = self.push_exceptions(at, frame) {
                self.hand_out(extension, write)?;
            }
        }
        Ok(())
    }

    fn hand_out(&mut self, extension: &str, write: &mut WritePlot<'_>) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        if !self.begun.iter().any(|begun| begun == extension) {
            self.begun.push(extension.to_owned());
            write(extension, &self.preamble)?;
        }
        write(extension, &self.text)
    }

    /// A line for each exception of a letter, and headings where they are due; the extension of
    /// its file.
    fn push_exceptions(&mut self, at: usize, frame: &Frame<'_>) -> Option<&'static str> {
        let part = &self.exceptions[at];
        let layout = part.layout?;
        let (exceptions, plot) = (layout.exceptions.as_ref()?, layout.plot.as_ref()?);
        let track = part.track(frame).filter(|track| track.fresh)?;
        let (formatter, out) = (&self.formatter, &mut self.text);
        let begins = !self.begun.iter().any(|begun| begun == exceptions.extension);
        let exact = frame.options.exact;
        if formatter.wants_all_headings || (begins && formatter.header_repeat == 0) {
            formatter.push_heading_start(frame.options, out);
            let names = plot.columns.iter().map(|column| column.name);
            match exact {
                true => exceptions.exact_heading.iter().for_each(|name| {
                    out.extend_from_slice(&formatter.separator);
                    out.extend_from_slice(name.as_bytes());
                }),
                false => names.for_each(|name| {
                    out.extend_from_slice(&formatter.separator);
                    out.extend_from_slice(format!("[{}]{name}", exceptions.tag).as_bytes());
                }),
            }
            // collectl writes the end of its heading twice.
            out.extend_from_slice(if exact { b"\n\n" } else { b"\n" });
        }
        let steady = Frame { options: &formatter.steady, ..*frame };
        let kept = steady.whole(track).rows().filter(|row| part.keeps(row));
        let whole = frame.whole(track);
        let kept = kept.map(|row| Row { index: row.index, ..whole });
        for (position, row) in kept.filter(|row| (exceptions.is)(row)).enumerate() {
            out.extend_from_slice(&formatter.time);
            for (at, column) in plot.columns.iter().enumerate() {
                // collectl writes the first value directly after the time.
                if !(exact && at == 0) {
                    out.extend_from_slice(&formatter.separator);
                }
                column.write(&row, position, out);
            }
            out.push(b'\n');
        }
        Some(exceptions.extension)
    }

    /// Whether any source of the file was read at this tick.
    fn is_due(&self, at: usize, frame: &Frame<'_>) -> bool {
        let group = &self.formatter.groups[at];
        let is_fresh = |part: &Part| part.track(frame).is_some_and(|t| t.fresh);
        group.extension == "tab" || group.columns.iter().any(|columns| is_fresh(&columns.part))
    }

    fn push_line(&mut self, at: usize, frame: &Frame<'_>) {
        let begins = !self.begun.iter().any(|begun| *begun == self.formatter.groups[at].extension);
        let is_new = self.formatter.wants_heading && self.formatter.groups[at].has_new;
        let heads = self.formatter.wants_all_headings
            || is_new
            || (begins && self.formatter.header_repeat == 0);
        if heads {
            self.formatter.push_heading_start(frame.options, &mut self.text);
            for columns in &self.formatter.groups[at].columns {
                self.text.extend_from_slice(&columns.heading);
            }
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(&self.formatter.time);
        self.formatter.push_group(at, frame, &mut self.text);
        self.text.push(b'\n');
    }
}

/// The comment lines at the head of every plot file: what recorded the samples, then what wrote
/// this text and the machine's facts, with collectl's keys.  Samples that nothing has `recorded`
/// have no first part.
pub(super) fn preamble(
    meta: &Meta,
    options: &Options,
    command_line: &str,
    zone: &TimeZone,
    recorded: bool,
) -> Vec<u8> {
    let mut text = String::new();
    let rule = "#".repeat(80);
    let header = meta.get("header_text");
    if recorded {
        push_recorded(&mut text, meta);
    }
    text.push_str(&rule);
    text.push('\n');
    let version = env!("CARGO_PKG_VERSION");
    text.push_str(&format!(
        "# Collectl:   {FORMAT_VERSION}-whit{version}  HiRes: 1  Options: {command_line}\n"
    ));
    match header {
        Some(header) => {
            let kept = |line: &&str| line.starts_with("# ") && !line.starts_with("# Collectl:");
            for line in header.lines().filter(kept) {
                if line.starts_with("# SubSys:") {
                    push_subsystems(&mut text, meta, options);
                } else {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        None => push_facts(&mut text, meta, options, zone),
    }
    text.push_str(&rule);
    text.push('\n');
    // Command lines and facts may hold names of files.
    let is_safe = |line: &str| line.chars().all(|c| !c.is_control() || c == '\t');
    if text.lines().all(is_safe) {
        return text.into_bytes();
    }
    let lines = text.lines().map(|line| layout::text::escape_message(line) + "\n");
    lines.collect::<String>().into_bytes()
}

/// What recorded the samples.
fn push_recorded(text: &mut String, meta: &Meta) {
    let header = meta.get("header_text");
    let recorded_by = header.and_then(|header| {
        header.lines().find_map(|line| line.strip_prefix("# Collectl:")).map(str::trim_start)
    });
    let side = "#".repeat(35);
    text.push_str(&format!("{side} RECORDED {side}\n"));
    match recorded_by {
        Some(line) => text.push_str(&format!("# Collectl:   {line}")),
        None => {
            let (version, command) = (meta.get("version"), meta.get("command_line"));
            let (version, command) = (version.unwrap_or_default(), command.unwrap_or_default());
            text.push_str(&format!("# Whit:       V{version}  Options: {command}"));
        }
    }
    text.push_str(&format!(" Subsys: {}\n", meta.subsystems()));
    let daemon = header.and_then(|header| header.split("DaemonOpts: ").nth(1)?.lines().next());
    if let Some(options) = daemon.filter(|options| !options.is_empty()) {
        text.push_str(&format!("# DaemonOpts: {options}\n"));
    }
}

fn push_subsystems(text: &mut String, meta: &Meta, options: &Options) {
    let interval = meta.interval_ns() as f64 / 1e9;
    text.push_str(&format!(
        "# SubSys:     {} Options: {} Interval: {interval} NumCPUs: {} {}\n",
        options.subsystems,
        options.letters,
        meta.cpus(),
        if meta.is_hyperthreaded() { "[HYPER]" } else { "" },
    ));
}

/// What whit's own recordings know, under collectl's keys.
fn push_facts(text: &mut String, meta: &Meta, options: &Options, zone: &TimeZone) {
    let known = |key: &str| meta.get(key).unwrap_or_default().to_owned();
    text.push_str(&format!("# Host:       {}  DaemonOpts: \n", meta.host()));
    if let Some(distro) = meta.get("distro") {
        text.push_str(&format!("# Distro:     {}\n", layout::text::escape(distro.as_bytes())));
    }
    if let Some(started_ns) = meta.get("started_ns").and_then(|value| value.parse::<i64>().ok()) {
        let mut date = Vec::new();
        let wanted = Options { separator: "-".into(), ..Options::default() };
        LocalTime::new(started_ns, zone).push_plot(&wanted, b"-", &mut date);
        let date = String::from_utf8_lossy(&date).replace(':', "");
        let seconds = started_ns.div_euclid(1_000_000_000);
        text.push_str(&format!(
            "# Date:       {date}  Secs: {seconds} TZ: {}\n",
            known("timezone")
        ));
    }
    push_subsystems(text, meta, options);
    text.push_str(&format!(
        "# HZ:         {}  Arch: {} PageSize: {}\n",
        meta.ticks_per_second(),
        known("architecture"),
        meta.page_size_bytes()
    ));
    text.push_str(&format!("# Kernel:     {}", known("kernel")));
    if let Some(memory) = meta.get("memory_kib") {
        let swap = meta.get("swap_kib").unwrap_or_default();
        text.push_str(&format!("  Memory: {memory} kB  Swap: {swap} kB"));
    }
    text.push('\n');
}
