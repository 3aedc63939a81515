//! The tables of logging, as text, as JSON and as lines of every round.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::beside::{self, Measured};
use super::rows::Row;
use super::sinks::{self, SinkRuns, Target};
use super::throughput::ThroughputRun;
use super::{LogPlan, Results, RowRuns, timing};
use crate::report::optional;

/// Nanoseconds of a microsecond.
const US_NS: f64 = 1000.0;

/// Parts of the turns that the paced method shows.
const PARTS: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("worst", 1.0),
];

/// Numbers of ACS's table.
struct RowNumbers {
    total_us: f64,
    mean_ns: f64,
    /// CPU time of a call.
    cpu_ns: f64,
    /// Min, p50, p99, p99.9, max.
    calls_ns: [f64; 5],
    audit: [u64; 3],
}

impl RowRuns {
    fn threads(&self, plan_threads: u32) -> u32 {
        if self.row.has_threads { plan_threads } else { 1 }
    }

    fn numbers(&self) -> RowNumbers {
        let audit = self.audit();
        let threads = self.whole.first().map_or(1, |run| run.threads).max(1);
        let calls = (audit[0] / u64::from(threads)).max(1);
        let total_us = self.total_us();
        let mean_ns = total_us * US_NS / calls as f64;
        let cpu_ns = self.cpu_us() * US_NS / calls as f64;
        RowNumbers { total_us, mean_ns, cpu_ns, calls_ns: self.calls_ns(), audit }
    }
}

fn word(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn process(row: &Row) -> &'static str {
    if row.is_component { "component" } else { "client" }
}

/// The tables as text.
pub(super) fn human(plan: &LogPlan, results: &Results) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &LogPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(out, "Logging: medians of {} rounds, everybody in turn", plan.rounds)?;
    if !results.acs.is_empty() {
        write_acs(plan, results, out)?;
    }
    if !results.beside.is_empty() {
        write_beside(plan, &results.beside, out)?;
    }
    if !results.paced.is_empty() {
        write_paced(&results.paced, out)?;
    }
    if !results.sinks.is_empty() {
        write_sinks(&results.sinks, out)?;
    }
    if !results.throughput_runs.is_empty() {
        write_throughput(&results.throughput_runs, out)?;
    }
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

fn write_acs(plan: &LogPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\nACS's table: {} logs as fast as possible; ns a call\n", plan.calls)?;
    writeln!(
        out,
        "{:>3} {:<9} {:>7} {:<12} {:<5} {:<7} {:<6} {:>9} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7} {:>9} {:>8} {:>8} {:>5} {:>9} {:>8}",
        "row",
        "process",
        "threads",
        "output",
        "proxy",
        "central",
        "oneway",
        "total us",
        "mean",
        "CPU",
        "min",
        "p50",
        "p99",
        "p99.9",
        "max",
        "sent",
        "received",
        "twice",
        "ACS mean",
        "times"
    )?;
    for runs in &results.acs {
        let (row, numbers) = (&runs.row, runs.numbers());
        let [min, p50, p99, p999, max] = numbers.calls_ns;
        let [sent, received, duplicates] = numbers.audit;
        let published = row.published.map(|published| published.mean_us * US_NS);
        let times = published.map(|mean| mean / numbers.mean_ns);
        writeln!(
            out,
            "{:>3} {:<9} {:>7} {:<12} {:<5} {:<7} {:<6} {:>9.1} {:>7.2} {:>7.2} {:>6.1} {:>6.1} {:>6.1} {:>7.1} {:>9.0} {:>8} {:>8} {:>5} {:>9} {:>8}",
            row.number,
            process(row),
            runs.threads(plan.threads),
            row.output.name(),
            word(row.has_proxy),
            word(row.has_central),
            word(row.is_oneway),
            numbers.total_us,
            numbers.mean_ns,
            numbers.cpu_ns,
            min,
            p50,
            p99,
            p999,
            max,
            sent,
            received,
            duplicates,
            optional(published, 0),
            optional(times, 0)
        )?;
    }
    let means = || results.acs.iter().map(|runs| runs.numbers().mean_ns);
    let (least, most) = (means().fold(f64::MAX, f64::min), means().fold(0.0, f64::max));
    writeln!(
        out,
        "\nMeans of all rows: {least:.2} to {most:.2} ns, {:.2} times the least.\n\
         total: what a thread needs for its {} calls; mean: that of a call; CPU: the\n\
         time of a processor for it.  min to max: of single calls, in runs of their own with a reading\n\
         of the clock after each call, which is taken off.\n\
         With a proxy the text is what `whit log query` and `export` make of the central store, to\n\
         which a proxy without a central server delivers its spool afterwards.  oneway: the client ends\n\
         without waiting for the store's acknowledgement.  plain: the messages alone.  no-op: a sink\n\
         that counts.  A component has 64 loggers with levels of their own.\n\
         sent, received, twice: of the worst run, by the numbers in the text.",
        most / least,
        plan.calls
    )
}

fn write_beside(plan: &LogPlan, all: &[Measured], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\nBeside others: {} calls as fast as possible, the middle of {} bursts; ns a call, and how\n\
         many times as much as whit in Rust\n",
        plan.calls, plan.bursts
    )?;
    write!(out, "{:<20}", "")?;
    for case in beside::BURSTS {
        let title =
            if case.has_threads { format!("{} threads", plan.threads) } else { case.title.into() };
        write!(out, " {title:>12} {:>6}", "x")?;
    }
    writeln!(out)?;
    for who in names(all) {
        write!(out, "{who:<20}")?;
        for case in beside::BURSTS {
            let of = |who| find(all, who, case).map(|one| one.quantile(0.5));
            let (own, whit) = (of(who), of("whit, Rust"));
            let times = own.zip(whit).map(|(own, whit)| own / whit);
            write!(out, " {:>12} {:>6}", optional(own, 2), optional(times, 1))?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "\nwhit in Rust writes text to a file by a thread of its own, as spdlog and tracing-appender do;\n\
         in C++ a proxy reads the rings.  Everything is written before the next burst.  disabled: a\n\
         level that is off.  The bare ring is never read."
    )
}

fn write_paced(all: &[Measured], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\nQuill's method: the mean of 20 calls in a row, after a pause of 2.0 to 2.2 ms; ns"
    )?;
    for case in beside::PACED {
        write!(out, "\n{:<20}", case.title)?;
        for (name, _) in PARTS {
            write!(out, " {name:>9}")?;
        }
        writeln!(out)?;
        for one in all.iter().filter(|one| one.case == case) {
            write!(out, "{:<20}", one.who)?;
            for (_, part) in PARTS {
                write!(out, " {:>9.2}", one.quantile(part))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

fn write_sinks(all: &[SinkRuns], out: &mut String) -> std::fmt::Result {
    writeln!(out, "\nText: a ring drained by one thread; millions of records in a second\n")?;
    writeln!(out, "{:<8} {:>7} {:>9} {:>9} {:>9}", "", "bytes", "nowhere", "file", "floor")?;
    for format in sinks::FORMATS {
        let of = |target| all.iter().find(|one| one.format == format && one.target == target);
        let Some(first) = of(Target::Nowhere) else { continue };
        write!(out, "{format:<8} {:>7.0}", first.bytes)?;
        for target in Target::ALL {
            write!(out, " {:>9}", optional(of(target).map(|one| US_NS / one.ns()), 2))?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "\nbytes: of a record.  file: on the tmpfs of the rings.  floor: nothing but write(2) of as many\n\
         bytes to such a file, 64 KiB at once."
    )
}

fn write_throughput(all: &[ThroughputRun], out: &mut String) -> std::fmt::Result {
    writeln!(out, "\nThroughput: one process, a proxy, the central server and its disk\n")?;
    writeln!(
        out,
        "{:>9} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>10} {:>10} {:>6} {:>5} {:>6}",
        "offered",
        "records",
        "logged/s",
        "stored/s",
        "writer",
        "proxy",
        "central",
        "sent",
        "received",
        "twice",
        "lost",
        "bytes"
    )?;
    for run in all {
        let [writer, proxy, central] = run.cpu_ns;
        let sent = run.sent as f64;
        let offered = run.rate.map_or("most".to_owned(), |rate| rate.to_string());
        writeln!(
            out,
            "{offered:>9} {:>10} {:>10.0} {:>10.0} {writer:>8.1} {proxy:>8.1} {central:>8.1} {:>10} {:>10} {:>6} {:>5} {:>6.1}",
            run.sent,
            sent / run.logged_s,
            sent / run.committed_s,
            run.sent,
            run.received,
            run.duplicates,
            run.lost,
            run.store_bytes as f64 / sent
        )?;
    }
    writeln!(
        out,
        "\noffered: records in a second that the writer makes, in bursts of a millisecond.  logged/s: to the\n\
         last call; stored/s: to the acknowledgement of the last, with all on disk.  writer, proxy,\n\
         central: CPU of a record in ns, of all threads.  bytes: of a record in the store.  The audit reads\n\
         every record of the store."
    )
}

/// Who takes part, in order.
fn names(all: &[Measured]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for one in all {
        if !names.contains(&one.who) {
            names.push(one.who);
        }
    }
    names
}

fn find<'a>(all: &'a [Measured], who: &str, case: beside::Case) -> Option<&'a Measured> {
    all.iter().find(|one| one.who == who && one.case == case)
}

/// A number of two decimals, as a value.
fn rounded(value: f64) -> Value {
    json!((value * 100.0).round() / 100.0)
}

/// An object for each row, and for each logger and case.
pub(super) fn json(results: &Results) -> Value {
    let row = |runs: &RowRuns| {
        let (row, numbers) = (&runs.row, runs.numbers());
        let [min, p50, p99, p999, max] = numbers.calls_ns.map(rounded);
        let [sent, received, duplicates] = numbers.audit;
        json!({
            "row": row.number, "process": process(row),
            "threads": runs.whole.first().map_or(1, |run| run.threads),
            "output": row.output.name(), "proxy": row.has_proxy, "central": row.has_central,
            "oneway": row.is_oneway, "total_us": rounded(numbers.total_us),
            "mean_ns": rounded(numbers.mean_ns), "cpu_ns": rounded(numbers.cpu_ns), "min_ns": min, "p50_ns": p50, "p99_ns": p99,
            "p99_9_ns": p999, "max_ns": max, "sent": sent, "received": received,
            "duplicates": duplicates,
        })
    };
    let measured = |one: &Measured| {
        let mut object = json!({
            "case": one.case.name, "who": one.who, "has_threads": one.case.has_threads,
        });
        for (name, part) in PARTS {
            object[format!("{}_ns", name.replace('.', "_"))] = rounded(one.quantile(part));
        }
        object
    };
    let sink = |one: &SinkRuns| {
        json!({
            "case": "sinks", "format": one.format, "target": one.target.name(),
            "bytes": rounded(one.bytes), "record_ns": rounded(one.ns()),
            "records_per_s": (1e9 / one.ns()).round(),
        })
    };
    let throughput = |one: &ThroughputRun| {
        let [writer, proxy, central] = one.cpu_ns.map(rounded);
        json!({
            "case": "throughput", "offered_per_s": one.rate,
            "logged_per_s": (one.sent as f64 / one.logged_s).round(),
            "stored_per_s": (one.sent as f64 / one.committed_s).round(),
            "writer_ns": writer, "proxy_ns": proxy, "central_ns": central,
            "sent": one.sent, "received": one.received, "duplicates": one.duplicates,
            "lost": one.lost, "store_bytes": one.store_bytes,
        })
    };
    let rows = results.acs.iter().map(row);
    let beside = results.beside.iter().chain(&results.paced).map(measured);
    let sinks = results.sinks.iter().map(sink);
    let throughput_runs = results.throughput_runs.iter().map(throughput);
    Value::Array(rows.chain(beside).chain(sinks).chain(throughput_runs).collect())
}

/// A line for each round of everybody.
pub(super) fn raw(results: &Results) -> String {
    let mut text =
        "table,case,who,round,total_us,cpu_us,min_ns,p50_ns,p99_ns,p99_9_ns,max_ns\n".to_owned();
    for runs in &results.acs {
        let row = &runs.row;
        let way =
            [(row.has_proxy, "proxy"), (row.has_central, "central"), (row.is_oneway, "oneway")];
        let way: Vec<&str> = way.into_iter().filter(|one| one.0).map(|one| one.1).collect();
        for (round, (whole, each)) in runs.whole.iter().zip(&runs.each).enumerate() {
            let [min, p50, p99, p999, max] = each.client.calls_ns;
            let _ = writeln!(
                text,
                "acs,{},\"{} {} {}\",{},{:.2},{:.2},{min:.2},{p50:.2},{p99:.2},{p999:.2},{max:.2}",
                row.number,
                process(row),
                row.output.name(),
                way.join(" "),
                round + 1,
                whole.client.total_us,
                whole.client.cpu_us
            );
        }
    }
    for (table, all) in [("beside", &results.beside), ("paced", &results.paced)] {
        for one in all {
            for (round, turns) in one.rounds.iter().enumerate() {
                let part = |part| timing::quantile(turns, part);
                let _ = writeln!(
                    text,
                    "{table},{}{},\"{}\",{},,,{:.2},{:.2},{:.2},{:.2},{:.2}",
                    one.case.name,
                    if one.case.has_threads { " (threads)" } else { "" },
                    one.who,
                    round + 1,
                    part(0.0),
                    part(0.5),
                    part(0.99),
                    part(0.999),
                    part(1.0)
                );
            }
        }
    }
    for one in &results.sinks {
        for (round, ns) in one.rounds.iter().enumerate() {
            let (format, target) = (one.format, one.target.name());
            let _ = writeln!(text, "sinks,{format},{target},{},,,{ns:.2},,,", round + 1);
        }
    }
    for (number, run) in results.throughput_runs.iter().enumerate() {
        let who = run.rate.map_or("most".to_owned(), |rate| rate.to_string());
        let ns = run.committed_s * 1e9 / run.sent as f64;
        let us = run.committed_s * 1e6;
        let _ =
            writeln!(text, "throughput,{},{who},{},{us:.0},,{ns:.2},,,", run.sent, number / 2 + 1);
    }
    text
}
