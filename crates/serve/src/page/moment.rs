//! One moment: every process of it, those that ended included, and all tables.
//!
//! Each process and each row of a table becomes text at once, of some 400 bytes: as values thousands of
//! them would take many times as much.

use std::collections::HashMap;

use archive::{RecordedMoment, Recordings, Select};
use layout::{Frame, Options, Row};
use promql::QueryError;
use sample::{Cells, Kind, Meta, SourceDef, State, Table, Track};
use serde_json::{Value, json};
use view::{base_number, instance_parts, to_base};

use super::asked::{PageRequest, ms, refused};
use super::chart::{number, shown};
use super::table::{Csv, csv_line};
use crate::parameters::invalid;

/// Rows of a table and processes of an answer.
const ROWS_MAX: usize = 20_000;

/// The sources that tell of processes, which are no tables.
const PROCESS: &str = "process";
const EXIT: &str = "exit";

/// The source of what processes received and sent, which is a table, too: not all of it is of a process.
const PROCESS_NET: &str = "process_net";

/// What an answer has of a process if that source was recorded.
const NET_COLUMNS: [&str; 2] = ["received_bytes_s", "sent_bytes_s"];

/// The name of the table of processes.
const PROCESSES: &str = "processes";

/// What an answer has of a process, and of what form the column is in a table.
const COLUMNS: &[&str] = &[
    "pid",
    "parent",
    "started_ms",
    "command",
    "arguments",
    "user",
    "cgroup",
    "state",
    "threads",
    "cpu_percent",
    "user_percent",
    "system_percent",
    "rss_bytes",
    "read_bytes_s",
    "write_bytes_s",
    "faults_s",
    "ended",
    "ended_ms",
    "lived_ms",
    "exit",
];

/// A table of an answer.
struct ShownTable {
    name: String,
    title: String,
    columns: Vec<(String, String, String)>,
    /// Lines of a table, or lists.
    rows: Vec<String>,
}

/// The processes of an answer, as lines of a table or as objects.
#[derive(Default)]
struct Processes {
    columns: Vec<&'static str>,
    is_csv: bool,
    lines: Vec<ProcessLine>,
    /// When they were read, and what they had used.
    read: Value,
}

struct ProcessLine {
    cpu_percent: f64,
    pid: Option<i64>,
    text: String,
}

impl Processes {
    fn add(&mut self, process: &Value) {
        let text = match self.is_csv {
            true => {
                let cells = self.columns.iter().map(|name| process[*name].clone());
                csv_line(&cells.collect::<Vec<_>>())
            }
            false => process.to_string(),
        };
        let cpu_percent = process["cpu_percent"].as_f64().unwrap_or(-1.0);
        self.lines.push(ProcessLine { cpu_percent, pid: process["pid"].as_i64(), text });
    }

    /// Sorts processes: most CPU time first; equals by number, so that the same question has the same answer.
    fn sort(&mut self) {
        self.lines.sort_by(|one, other| {
            let by_usage = other.cpu_percent.total_cmp(&one.cpu_percent);
            by_usage.then_with(|| one.pid.cmp(&other.pid))
        });
    }
}

/// The answer to `moment`.
pub(crate) fn moment(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host", "at", "table", "format"])?;
    let host = asked.host()?;
    let (at_ns, is_csv) = (asked.needed_ns("at")?, asked.is_csv()?);
    let only = asked.parameters.get("table");
    if is_csv && only.is_empty() {
        return Err(invalid("table", "name the table that is wanted as csv, such as processes"));
    }
    let recordings = &asked.recordings;
    let moments = recordings.moment_after(&host, at_ns, None).map_err(refused)?;
    let Some(first) = moments.first() else {
        return Err(invalid("at", "no sample was recorded at that time or later"));
    };
    let options = Options::default();
    let frame = Frame::new(&first.history, &first.meta, &options);
    let now_ns = frame.realtime_ns;
    let before_ns = now_ns - (frame.seconds * 1e9) as i64;
    let mut processes = Processes { columns: COLUMNS.to_vec(), ..Processes::default() };
    if only.is_empty() || only == PROCESSES {
        // Mostly the first sample has them: a block of many processes is not decoded twice.
        let mut later = Vec::new();
        let is_read = first.history.tracks().iter().any(|t| t.fresh && t.def.name == PROCESS);
        if !is_read {
            later = recordings.moment_after(&host, at_ns, Some(PROCESS)).map_err(refused)?;
        }
        if let Some(found) = if is_read { Some(first) } else { later.first() } {
            processes = read_processes(recordings, &host, found, is_csv)?;
        }
    }
    let mut tables: Vec<ShownTable> = Vec::new();
    for moment in &moments {
        let frame = Frame::new(&moment.history, &moment.meta, &options);
        for track in frame.tracks {
            let name = &*track.def.name;
            let is_asked = only.is_empty() || only == name;
            let is_known = tables.iter().any(|table| table.name == name);
            if is_asked && !is_known && track.current.state == State::Ok {
                tables.extend(table(&frame, track, is_csv));
            }
        }
    }
    if !only.is_empty() && only != PROCESSES && tables.is_empty() {
        return Err(invalid("table", &format!("{only:?} was not recorded then")));
    }
    if is_csv {
        return Ok(csv(only, &processes, &tables));
    }
    let head = json!({
        "at_ms": ms(now_ns),
        "before_ms": ms(before_ns),
        "processes_read": processes.read,
    });
    Ok(whole(&head.to_string(), processes.lines, &tables))
}

/// An object of the members of another one, the processes and the tables.
fn whole(head: &str, processes: Vec<ProcessLine>, tables: &[ShownTable]) -> String {
    let of_processes = processes.iter().map(|line| line.text.len() + 1);
    let of_tables = tables.iter().flat_map(|table| &table.rows).map(|row| row.len() + 1);
    let bytes = head.len() + of_processes.chain(of_tables).sum::<usize>();
    let mut out = String::with_capacity(bytes + 64 + 4096 * tables.len());
    out.push_str(head.strip_suffix('}').unwrap_or(head));
    out.push_str(",\"processes\":[");
    push_list(&mut out, processes.into_iter().map(|line| line.text));
    out.push_str("],\"tables\":[");
    for (index, table) in tables.iter().enumerate() {
        let columns = table.columns.iter();
        let columns =
            columns.map(|(id, label, unit)| json!({ "id": id, "label": label, "unit": unit }));
        let head = json!({
            "name": table.name,
            "title": table.title,
            "columns": columns.collect::<Vec<_>>(),
        });
        let head = head.to_string();
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(head.strip_suffix('}').unwrap_or(&head));
        out.push_str(",\"rows\":[");
        push_list(&mut out, table.rows.iter());
        out.push_str("]}");
    }
    out.push_str("]}");
    out
}

/// Appends texts with commas between them.
fn push_list(out: &mut String, items: impl Iterator<Item = impl AsRef<str>>) {
    for (index, item) in items.enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        out.push_str(item.as_ref());
    }
}

fn csv(only: &str, processes: &Processes, tables: &[ShownTable]) -> String {
    let (columns, lines): (Vec<&str>, Vec<&str>) = if only == PROCESSES {
        let lines = processes.lines.iter().map(|line| &*line.text);
        (processes.columns.clone(), lines.collect())
    } else {
        let Some(table) = tables.first() else { return String::new() };
        let columns = table.columns.iter().map(|column| &*column.0);
        (columns.collect(), table.rows.iter().map(|row| &**row).collect())
    };
    let head = Csv::new(&columns).text;
    head + &lines.concat()
}

/// A source as a table: a row for each instance, or for each field if it has but one row.
fn table(frame: &Frame<'_>, track: &Track, is_csv: bool) -> Option<ShownTable> {
    let (def, whole) = (&track.def, frame.whole(track));
    if def.name == PROCESS || def.name == EXIT {
        return None;
    }
    let text = |text: &str| text.to_owned();
    let written = |line: Vec<Value>| match is_csv {
        true => csv_line(&line),
        false => Value::Array(line).to_string(),
    };
    let mut columns = Vec::new();
    let rows = if def.instance.is_empty() {
        columns.push((text("field"), text("Field"), String::new()));
        columns.push((text("value"), text("Value"), String::new()));
        columns.push((text("unit"), text("Unit"), String::new()));
        columns.push((text("meaning"), text("Meaning"), String::new()));
        let row = whole.rows().next()?;
        let line = |(index, field): (usize, &sample::Field)| {
            let unit = unit(def, index);
            written(vec![json!(field.name), cell(&row, index), json!(unit), json!(field.help)])
        };
        def.fields.iter().enumerate().map(line).collect()
    } else {
        for label in def.instance.iter() {
            columns.push((text(label), text(label), String::new()));
        }
        for (index, field) in def.fields.iter().enumerate() {
            columns.push((text(&field.name), text(&field.help), unit(def, index)));
        }
        let line = |row: Row<'_>| {
            let mut parts = instance_parts(row.name());
            let names = def.instance.iter().map(|_| json!(parts.next().unwrap_or_default()));
            let mut line: Vec<Value> = names.collect();
            line.extend((0..def.fields.len()).map(|index| cell(&row, index)));
            written(line)
        };
        whole.rows().take(ROWS_MAX).map(line).collect()
    };
    Some(ShownTable { name: text(&def.name), title: text(&def.about), columns, rows })
}

/// The unit of a field as tables have it.
fn unit(def: &SourceDef, index: usize) -> String {
    let field = &def.fields[index];
    let unit = match field.unit.base_name() {
        "" if field.kind == Kind::Text => "",
        "" => "count",
        unit => unit,
    };
    if field.kind == Kind::Counter { format!("{unit}/s") } else { unit.to_owned() }
}

fn cell(row: &Row<'_>, index: usize) -> Value {
    match row.track.def.fields[index].kind {
        Kind::Text => row.text(index).map_or(Value::Null, |text| json!(shown(text))),
        Kind::Counter | Kind::Gauge => number(base_number(row, index)),
    }
}

/// The processes of a reading, and those that ended since the one before.
fn read_processes(
    recordings: &Recordings,
    host: &str,
    moment: &RecordedMoment,
    is_csv: bool,
) -> Result<Processes, QueryError> {
    let options = Options::default();
    let frame = Frame::new(&moment.history, &moment.meta, &options);
    let traffic = Traffic::of(&frame);
    let net = NET_COLUMNS.iter().filter(|_| traffic.is_some());
    let columns = COLUMNS.iter().chain(net).copied().collect();
    let mut found = Processes { columns, is_csv, ..Processes::default() };
    let Some(whole) = frame.source(PROCESS) else { return Ok(found) };
    let track = whole.track;
    let seconds = whole.interval_seconds().filter(|seconds| *seconds > 0.0);
    let now_ns = track.current.realtime_ns;
    let before_ns = seconds.map(|seconds| now_ns - (seconds * 1e9) as i64);
    let interval = Interval { meta: &moment.meta, seconds };
    let mut ended = match before_ns {
        Some(before_ns) => interval.ended(recordings, host, track, (before_ns, now_ns))?,
        None => HashMap::new(),
    };
    let mut add = |name: &[u8], mut process: Value| {
        traffic.iter().for_each(|traffic| traffic.add(name, &mut process));
        found.add(&process);
    };
    for row in whole.rows().take(ROWS_MAX) {
        // If it ended while the processes were read, its end tells all it used.
        let process = ended.remove(row.name()).unwrap_or_else(|| interval.living(&row));
        add(row.name(), process);
    }
    ended.into_iter().for_each(|(name, process)| add(&name, process));
    found.sort();
    let total = |name: &str| {
        let row = frame.source("process_total")?;
        row.rate(row.track.def.field(name)?).map(|rate| rate / 1e7)
    };
    found.read = json!({
        "at_ms": ms(now_ns),
        "before_ms": before_ns.map(ms),
        "attributed_percent": number(total("attributed")),
        "busy_percent": number(total("busy")),
    });
    Ok(found)
}

/// What processes received and sent, by the names that they have in all sources.
struct Traffic<'a>(HashMap<&'a [u8], Row<'a>>);

impl<'a> Traffic<'a> {
    /// The traffic of a tick, if it was recorded.
    fn of(frame: &Frame<'a>) -> Option<Self> {
        let whole = frame.source(PROCESS_NET)?;
        let is_read = whole.track.current.state == State::Ok;
        is_read.then(|| Traffic(whole.rows().map(|row| (row.name(), row)).collect()))
    }

    /// Adds bytes a second; none of a process that has used no network.
    fn add(&self, name: &[u8], process: &mut Value) {
        let bytes = self.0.get(name).map_or([None; 2], source::process_net_bytes);
        for (column, bytes) in NET_COLUMNS.into_iter().zip(bytes) {
            process[column] = number(bytes);
        }
    }
}

/// The process id in the name of an instance of `process` or `exit`.
pub(super) fn pid_of(name: &[u8]) -> Option<i64> {
    instance_parts(name).next()?.parse().ok()
}

/// The time between two readings of the processes of a machine.
struct Interval<'a> {
    meta: &'a Meta,
    seconds: Option<f64>,
}

/// A row of a table, by the names of its fields.
struct Named<'a> {
    def: &'a SourceDef,
    cells: Cells<'a>,
    meta: &'a Meta,
}

impl Named<'_> {
    /// A level or a counter in base units.
    fn number(&self, field: &str) -> Option<f64> {
        let index = self.def.field(field)?;
        let raw = self.cells.raw(index)?;
        Some(view::raw_in_base(&self.def.fields[index], raw, self.meta))
    }

    fn text(&self, field: &str) -> Value {
        let text = self.def.field(field).and_then(|index| self.cells.text(index));
        text.map_or(Value::Null, |text| json!(shown(text)))
    }

    /// CPU time, exact if it was recorded so.
    fn cpu_seconds(&self) -> Option<f64> {
        let exact = self.number("run_time");
        exact.or_else(|| Some(self.number("user_time")? + self.number("system_time")?))
    }

    fn faults(&self) -> Option<f64> {
        Some(self.number("minor_faults")? + self.number("major_faults")?)
    }
}

impl Interval<'_> {
    fn boot_ns(&self) -> Option<i64> {
        self.meta.get("boot_ns")?.parse().ok()
    }

    /// Milliseconds since the epoch of a time since boot.
    fn since_boot_ms(&self, seconds: Option<f64>) -> Value {
        let at = seconds.zip(self.boot_ns());
        at.map_or(Value::Null, |(seconds, boot_ns)| {
            json!(ms(boot_ns.saturating_add((seconds * 1e9) as i64)))
        })
    }

    fn living(&self, row: &Row<'_>) -> Value {
        let (def, meta) = (&*row.track.def, self.meta);
        let now = Named { def, cells: row.now(), meta };
        let before = row.before().map(|cells| Named { def, cells, meta });
        // What was not there before has used all of it since, unless it was only not recorded.
        let previous_s = row.track.previous.monotonic_ns as f64 / 1e9;
        let is_born = now.number("start_time").is_some_and(|start| start + 1.0 >= previous_s);
        let per_second = |of: &dyn Fn(&Named<'_>) -> Option<f64>| {
            let base = match &before {
                Some(before) => of(before)?,
                None if is_born => 0.0,
                None => return None,
            };
            Some((of(&now)? - base) / self.seconds?).filter(|rate| *rate >= 0.0)
        };
        let field = |name: &'static str| move |row: &Named<'_>| row.number(name);
        let percent = |rate: Option<f64>| number(rate.map(|rate| 100.0 * rate));
        json!({
            "pid": pid_of(row.name()),
            "parent": number(now.number("parent")),
            "started_ms": self.since_boot_ms(now.number("start_time")),
            "command": now.text("command"),
            "arguments": now.text("command_line"),
            "user": now.text("user"),
            "cgroup": now.text("cgroup"),
            "state": now.text("state"),
            "threads": number(now.number("threads")),
            "cpu_percent": percent(per_second(&|row: &Named<'_>| row.cpu_seconds())),
            "user_percent": percent(per_second(&field("user_time"))),
            "system_percent": percent(per_second(&field("system_time"))),
            "rss_bytes": number(now.number("resident")),
            "read_bytes_s": number(per_second(&field("read_bytes"))),
            "write_bytes_s": number(per_second(&field("write_bytes"))),
            "faults_s": number(per_second(&|row: &Named<'_>| row.faults())),
            "ended": false,
            "ended_ms": null,
            "lived_ms": null,
            "exit": null,
        })
    }

    /// The processes that ended between two times, by name.
    fn ended(
        &self,
        recordings: &Recordings,
        host: &str,
        living: &Track,
        period_ns: (i64, i64),
    ) -> Result<HashMap<Vec<u8>, Value>, QueryError> {
        let previous = &living.previous;
        let select = (host, period_ns);
        let (found, is_older) = self.ended_since(recordings, select, living, &[&previous.table])?;
        if !is_older {
            return Ok(found);
        }
        // One ended before the previous reading, and that was told after it: what it had used was told
        // with the reading before.
        let at_ns = previous.realtime_ns;
        let earlier = recordings.moment_after(host, at_ns, Some(PROCESS)).map_err(refused)?;
        let tracks = earlier.iter().flat_map(|moment| moment.history.tracks());
        let is_before = |track: &&Track| {
            track.def.name == PROCESS
                && track.current.realtime_ns == at_ns
                && track.def == living.def
        };
        let Some(earlier) = tracks.into_iter().find(is_before) else { return Ok(found) };
        let tables = [&previous.table, &earlier.previous.table];
        Ok(self.ended_since(recordings, select, living, &tables)?.0)
    }

    /// The processes that ended between two times, and whether one of them is older than the previous
    /// reading and not in any of the tables that say what they had used before.
    fn ended_since(
        &self,
        recordings: &Recordings,
        (host, (before_ns, now_ns)): (&str, (i64, i64)),
        living: &Track,
        tables: &[&Table],
    ) -> Result<(HashMap<Vec<u8>, Value>, bool), QueryError> {
        let mut is_older = false;
        let mut found = HashMap::new();
        let Ok(def) = recordings.source(host, EXIT) else { return Ok((found, false)) };
        let fields: Vec<&str> = def.fields.iter().map(|field| &*field.name).collect();
        let select = Select {
            host,
            source: EXIT,
            fields: &fields,
            from_ns: before_ns,
            thru_ns: now_ns.saturating_add(1),
        };
        let mut inferred = 0_u64;
        let read = recordings.scan(&select, &mut |reading| {
            let table = &reading.sample.table;
            let is_within = before_ns < reading.realtime_ns && reading.realtime_ns <= now_ns;
            if !is_within || reading.sample.state != State::Ok {
                return Ok(());
            }
            for row in 0..table.rows() {
                if found.len() >= ROWS_MAX {
                    return Err(archive::Error::TooMuch {
                        what: "ended processes",
                        limit: ROWS_MAX,
                    });
                }
                let mut name = table.name(row).to_vec();
                let exit = Named { def: reading.def, cells: Cells { table, row }, meta: self.meta };
                if exit.text("origin") == "inferred" {
                    // One parent may have such a row at each tick.
                    inferred += 1;
                    name.extend_from_slice(&inferred.to_be_bytes());
                }
                let seen = tables.iter().find_map(|before| {
                    let row = before.find(table.name(row), 0)?;
                    Some(Named {
                        def: &living.def,
                        cells: Cells { table: before, row },
                        meta: self.meta,
                    })
                });
                let previous_s = living.previous.monotonic_ns as f64 / 1e9;
                let started_s = exit.number("start_time");
                is_older |= seen.is_none() && started_s.is_some_and(|start| start < previous_s);
                found.insert(name, self.one_that_ended(&exit, table.name(row), seen.as_ref()));
            }
            Ok(())
        });
        read.map_err(refused)?;
        Ok((found, is_older))
    }

    fn one_that_ended(&self, exit: &Named<'_>, name: &[u8], seen: Option<&Named<'_>>) -> Value {
        // The clock of an end may lag that of a reading by a tick.
        let per_second = |of: &dyn Fn(&Named<'_>) -> Option<f64>| {
            let base = match seen {
                Some(seen) => of(seen)?,
                None => 0.0,
            };
            Some((of(exit)? - base).max(0.0) / self.seconds?)
        };
        let field = |name: &'static str| move |row: &Named<'_>| row.number(name);
        let percent = |rate: Option<f64>| number(rate.map(|rate| 100.0 * rate));
        let how = match (exit.number("signal"), exit.number("exit_code")) {
            (Some(signal), _) if signal > 0.0 => json!(format!("signal {signal}")),
            (_, code) => number(code),
        };
        json!({
            "pid": pid_of(name),
            "parent": number(exit.number("parent")),
            "started_ms": self.since_boot_ms(exit.number("start_time")),
            "command": exit.text("command"),
            "arguments": exit.text("command_line"),
            "user": exit.text("user"),
            "cgroup": exit.text("cgroup"),
            "state": null,
            "threads": null,
            "cpu_percent": percent(per_second(&|row: &Named<'_>| row.cpu_seconds())),
            "user_percent": percent(per_second(&field("user_time"))),
            "system_percent": percent(per_second(&field("system_time"))),
            "rss_bytes": number(exit.number("peak_resident")),
            "read_bytes_s": number(per_second(&field("read_bytes"))),
            "write_bytes_s": number(per_second(&field("write_bytes"))),
            "faults_s": number(per_second(&|row: &Named<'_>| row.faults())),
            "ended": true,
            "ended_ms": self.since_boot_ms(exit.number("end_time")),
            "lived_ms": number(exit.number("lifetime").map(|seconds| (seconds * 1e3).round())),
            "exit": how,
        })
    }
}

/// The heaviest processes of a reading by CPU time, for what shows the newest sample.
pub(crate) fn heaviest(frame: &Frame<'_>, count: usize) -> Option<Vec<Value>> {
    let whole = frame.source(PROCESS).filter(|whole| whole.track.fresh)?;
    let def = &whole.track.def;
    let rate = |row: &Row<'_>, field: &str| base_number(row, def.field(field)?);
    let mut rows: Vec<(f64, Row<'_>)> = Vec::new();
    for row in whole.rows() {
        let exact = rate(&row, "run_time");
        let used = exact.or_else(|| Some(rate(&row, "user_time")? + rate(&row, "system_time")?));
        rows.extend(used.map(|used| (used, row)));
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    rows.truncate(count);
    let one = |(used, row): (f64, Row<'_>)| {
        let text = def.field("command").and_then(|field| row.text(field));
        let resident = def.field("resident").and_then(|field| row.gauge(field).zip(Some(field)));
        let resident =
            resident.map(|(value, field)| to_base(def.fields[field].unit, value, frame.meta));
        json!({
            "command": text.map(shown),
            "pid": pid_of(row.name()),
            "cpu_percent": number(Some(100.0 * used)),
            "rss_bytes": number(resident),
        })
    };
    Some(rows.into_iter().map(one).collect())
}
