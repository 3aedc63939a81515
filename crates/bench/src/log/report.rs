//! The tables of logging, and lines of every round.

use serde_json::Value;

use super::beside::{self, Case, Measured};
use super::inputs::{self, InputRun};
use super::rows::Row;
use super::search::{SearchRun, SearchSizes};
use super::sinks::{self, SinkRuns, Target};
use super::throughput::ThroughputRun;
use super::{LogPlan, Results, RowRuns, timing};
use crate::report::{Report, put_csv_line};
use crate::table::{Cell, Table};

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

/// The contestant that others are compared with.
const WHIT: &str = "whit, Rust";

/// The report of a run; its JSON is an array of objects, for each row and each logger and case.
pub(super) fn report(plan: &LogPlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-log", machine);
    report.say(format!("Logging: medians of {} rounds, everybody in turn", plan.rounds));
    let acs_table = acs_table(plan);
    if !results.acs.is_empty() {
        acs(plan, &acs_table, results, &mut report);
    }
    if !results.beside.is_empty() {
        beside(plan, &results.beside, &mut report);
    }
    if !results.paced.is_empty() {
        paced(&results.paced, &mut report);
    }
    if !results.sinks.is_empty() {
        sinks(&results.sinks, &mut report);
    }
    if !results.throughput_runs.is_empty() {
        throughput(&results.throughput_runs, &mut report);
    }
    if !results.searches.is_empty() {
        search(&results.searches, &results.search_sizes, &mut report);
    }
    if !results.inputs.is_empty() {
        inputs(&results.inputs, &mut report);
    }
    report.notes(&results.notes);
    let measured = results.beside.iter().chain(&results.paced);
    let tables = [
        acs_table.objects(&results.acs),
        parts_table("").objects(measured),
        sink_table().objects(&results.sinks),
        throughput_table().objects(&results.throughput_runs),
        search_table(&results.searches).objects(&results.searches),
        input_table().objects(&results.inputs),
    ];
    let rows = tables.iter().filter_map(Value::as_array).flatten();
    report.json = rows.cloned().collect();
    report.with_raw(raw(results))
}

impl RowRuns {
    /// Time of a call in ns, of a sum over the calls of a thread in µs.
    fn call_ns(&self, total_us: f64) -> f64 {
        let threads = self.whole.first().map_or(1, |run| run.threads).max(1);
        let calls = (self.audit()[0] / u64::from(threads)).max(1);
        total_us * US_NS / calls as f64
    }

    fn mean_ns(&self) -> f64 {
        self.call_ns(self.total_us())
    }

    fn published_ns(&self) -> Option<f64> {
        Some(self.row.published?.mean_us * US_NS)
    }
}

fn process(row: &Row) -> &'static str {
    if row.is_component { "component" } else { "client" }
}

fn acs_table<'r>(plan: &LogPlan) -> Table<'r, &'r RowRuns> {
    let threads = plan.threads;
    let mut table = Table::<&RowRuns>::new()
        .column("row", "row", 0, |one| one.row.number)
        .column("process", "process", 0, |one| process(&one.row))
        .shown("threads", 0, move |one| if one.row.has_threads { threads } else { 1 })
        .kept("threads", |one| one.whole.first().map_or(1, |run| run.threads))
        .column("output", "output", 0, |one| one.row.output.name())
        .column("proxy", "proxy", 0, |one| one.row.has_proxy)
        .column("central", "central", 0, |one| one.row.has_central)
        .column("oneway", "oneway", 0, |one| one.row.is_oneway)
        .column("total us", "total_us", 1, RowRuns::total_us)
        .column("mean", "mean_ns", 2, RowRuns::mean_ns)
        .column("CPU", "cpu_ns", 2, |one| one.call_ns(one.cpu_us()));
    for (place, heading, key, digits) in [
        (0, "min", "min_ns", 1),
        (1, "p50", "p50_ns", 1),
        (2, "p99", "p99_ns", 1),
        (3, "p99.9", "p99_9_ns", 1),
        (4, "max", "max_ns", 0),
    ] {
        table = table.column(heading, key, digits, move |one| one.calls_ns()[place]);
    }
    table
        .column("sent", "sent", 0, |one| one.audit()[0])
        .column("received", "received", 0, |one| one.audit()[1])
        .column("twice", "duplicates", 0, |one| one.audit()[2])
        .shown("ACS mean", 0, RowRuns::published_ns)
        .shown("times", 0, |one| Some(one.published_ns()? / one.mean_ns()))
        .rounded_to(2)
}

fn acs<'r>(
    plan: &LogPlan,
    table: &Table<'r, &'r RowRuns>,
    results: &'r Results,
    report: &mut Report,
) {
    report.say(format!("\nACS's table: {} logs as fast as possible; ns a call\n", plan.calls));
    report.show(&table.grid(&results.acs));
    let means = || results.acs.iter().map(RowRuns::mean_ns);
    let (least, most) = (means().fold(f64::MAX, f64::min), means().fold(0.0, f64::max));
    report.say(format!(
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
    ));
}

/// The columns of a logger in a case: parts of its turns.
fn parts_table<'r>(heading: &'static str) -> Table<'r, &'r Measured> {
    let mut table = Table::<&Measured>::new()
        .kept("case", |one| one.case.name)
        .column(heading, "who", 0, |one| one.who)
        .kept("has_threads", |one| one.case.has_threads);
    for (name, part) in PARTS {
        let key = format!("{}_ns", name.replace('.', "_"));
        table = table.column(name, key, 2, move |one| one.quantile(part));
    }
    table.rounded_to(2)
}

/// Bursts: a line for each logger, two columns for each case.
fn beside(plan: &LogPlan, all: &[Measured], report: &mut Report) {
    report.say(format!(
        "\nBeside others: {} calls as fast as possible, the middle of {} bursts; ns a call, and how\n\
         many times as much as whit in Rust\n",
        plan.calls, plan.bursts
    ));
    let ns = |who: &str, case: Case| {
        all.iter().find(|one| one.who == who && one.case == case).map(|one| one.quantile(0.5))
    };
    let mut table = Table::<&str>::new().shown("", 0, |who| who);
    for case in beside::BURSTS {
        let title = match case.has_threads {
            true => format!("{} threads", plan.threads),
            false => case.title.to_owned(),
        };
        table = table
            .shown(title, 2, move |who| ns(who, case))
            .shown("x", 1, move |who| Some(ns(who, case)? / ns(WHIT, case)?));
    }
    let mut names: Vec<&str> = Vec::new();
    for one in all {
        if !names.contains(&one.who) {
            names.push(one.who);
        }
    }
    report.show(&table.grid(names));
    report.say(
        "\nwhit in Rust writes text to a file by a thread of its own, as spdlog and tracing-appender do;\n\
         in C++ a proxy reads the rings.  Everything is written before the next burst.  disabled: a\n\
         level that is off.  The bare ring is never read."
    );
}

fn paced(all: &[Measured], report: &mut Report) {
    report
        .say("\nQuill's method: the mean of 20 calls in a row, after a pause of 2.0 to 2.2 ms; ns");
    for case in beside::PACED {
        report.say("");
        report.show(&parts_table(case.title).grid(all.iter().filter(|one| one.case == case)));
    }
}

fn sink_table<'r>() -> Table<'r, &'r SinkRuns> {
    Table::<&SinkRuns>::new()
        .kept("case", |_| "sinks")
        .kept("format", |one| one.format)
        .kept("target", |one| one.target.name())
        .kept("bytes", |one| one.bytes)
        .kept("record_ns", SinkRuns::ns)
        .kept("records_per_s", |one| (1e9 / one.ns()).round())
        .rounded_to(2)
}

/// Sinks: a line for each format, a column for each target.
fn sinks(all: &[SinkRuns], report: &mut Report) {
    let find =
        |format: &str, target| all.iter().find(|one| one.format == format && one.target == target);
    let mut table =
        Table::<&str>::new()
            .shown("", 0, |format| format)
            .shown("bytes", 0, |format| find(format, Target::Nowhere).map(|one| one.bytes));
    for target in Target::ALL {
        table = table.shown(target.name(), 2, move |format| {
            find(format, target).map(|one| US_NS / one.ns())
        });
    }
    report.say("\nText: a ring drained by one thread; millions of records in a second\n");
    let is_there = |format: &&str| find(format, Target::Nowhere).is_some();
    report.show(&table.grid(sinks::FORMATS.into_iter().filter(is_there)));
    report.say(
        "\nbytes: of a record.  file: on the tmpfs of the rings.  floor: nothing but write(2) of as many\n\
         bytes to such a file, 64 KiB at once."
    );
}

fn throughput_table<'r>() -> Table<'r, &'r ThroughputRun> {
    let each_s = |one: &ThroughputRun, seconds: f64| one.sent as f64 / seconds;
    let offered = |one: &ThroughputRun| one.rate.map_or("most".to_owned(), |rate| rate.to_string());
    Table::<&ThroughputRun>::new()
        .kept("case", |_| "throughput")
        .shown("offered", 0, move |one| Cell::Written(offered(one)))
        .kept("offered_per_s", |one| one.rate)
        .shown("records", 0, |one| one.sent)
        .shown("logged/s", 0, move |one| each_s(one, one.logged_s))
        .kept("logged_per_s", move |one| each_s(one, one.logged_s).round())
        .shown("stored/s", 0, move |one| each_s(one, one.committed_s))
        .kept("stored_per_s", move |one| each_s(one, one.committed_s).round())
        .column("writer", "writer_ns", 1, |one| one.cpu_ns[0])
        .column("proxy", "proxy_ns", 1, |one| one.cpu_ns[1])
        .column("central", "central_ns", 1, |one| one.cpu_ns[2])
        .column("sent", "sent", 0, |one| one.sent)
        .column("received", "received", 0, |one| one.received)
        .column("twice", "duplicates", 0, |one| one.duplicates)
        .column("lost", "lost", 0, |one| one.lost)
        .shown("bytes", 1, |one| one.store_bytes as f64 / one.sent as f64)
        .kept("store_bytes", |one| one.store_bytes)
        .rounded_to(2)
}

fn throughput(all: &[ThroughputRun], report: &mut Report) {
    report.say("\nThroughput: one process, a proxy, the central server and its disk\n");
    report.show(&throughput_table().grid(all));
    report.say(
        "\noffered: records in a second that the writer makes, in bursts of a millisecond.  logged/s: to the\n\
         last call; stored/s: to the acknowledgement of the last, with all on disk.  writer, proxy,\n\
         central: CPU of a record in ns, of all threads.  bytes: of a record in the store.  The audit reads\n\
         every record of the store."
    );
}

fn search_table<'r>(all: &'r [SearchRun]) -> Table<'r, &'r SearchRun> {
    let of_whit = |run: &SearchRun| {
        all.iter().find(|one| one.question == run.question && one.who == "whit").map(SearchRun::ms)
    };
    Table::<&SearchRun>::new()
        .kept("case", |_| "search")
        .column("", "question", 0, |one| one.question)
        .column("by", "who", 0, |one| one.who)
        .column("records", "records", 0, |one| one.records)
        .column("found", "found", 0, |one| one.found)
        .column("ms", "ms", 1, SearchRun::ms)
        .shown("times whit", 1, move |one| Some(one.ms() / of_whit(one)?))
        .rounded_to(2)
}

/// Searches: a line for each question and program.
fn search(all: &[SearchRun], sizes: &SearchSizes, report: &mut Report) {
    report.say("\nSearch: a question about many records, by a process each\n");
    report.show(&search_table(all).grid(all));
    let shown = |bytes: Option<f64>| bytes.map_or("-".to_owned(), |bytes| format!("{bytes:.1}"));
    report.say(format!(
        "\nBytes of a record: store {:.2}, of which files of words {:.2}; packed text {}; journal {}.\n\
         A word: a number that one record has.  A part of a word: of 50 records, as is the logger.\n\
         zgrep reads the text of the records, packed by gzip -1; a time it cannot tell.  The journal\n\
         has a million records at most.",
        sizes.store,
        sizes.words,
        shown(sizes.packed),
        shown(sizes.journal)
    ));
}

fn input_table<'r>() -> Table<'r, &'r InputRun> {
    Table::<&InputRun>::new()
        .kept("case", |_| "input")
        .column("", "way", 0, |one| one.way)
        .column("by", "who", 0, |one| one.who)
        .column("offered", "offered", 0, |one| one.offered)
        .column("kept", "kept", 0, InputRun::kept)
        .column("kept/s", "kept_per_s", 0, InputRun::per_s)
        .column("CPU ns", "cpu_ns", 1, InputRun::cpu_ns)
        .column("per s of CPU", "kept_per_cpu_s", 0, |one| (1e9 / one.cpu_ns()).round())
        .rounded_to(2)
}

/// Inputs: a line for each way and taker.
fn inputs(all: &[InputRun], report: &mut Report) {
    report.say("\nInputs: records of others, through one input of a process each\n");
    report.show(&input_table().grid(all));
    report.say(format!(
        "\nkept/s: by the clock, beside the sender on the same processors, until the last was written.\n\
         CPU: of a kept record, of all threads of the process.  UDP: {} datagrams a second\n\
         are offered, and the kernel drops what the socket has no room for; kept: of the worst round.\n\
         OTLP: 8 requests of 512 records at once, each answered when its records are kept.\n\
         Journal: its files, and the CPU time of journalctl, which follows it then.",
        inputs::DATAGRAM_RATE
    ));
}

/// A line for each round of everybody.
fn raw(results: &Results) -> String {
    let mut text =
        "table,case,who,round,total_us,cpu_us,min_ns,p50_ns,p99_ns,p99_9_ns,max_ns\n".to_owned();
    for runs in &results.acs {
        let row = &runs.row;
        let way =
            [(row.has_proxy, "proxy"), (row.has_central, "central"), (row.is_oneway, "oneway")];
        let way: Vec<&str> = way.into_iter().filter(|one| one.0).map(|one| one.1).collect();
        for (round, (whole, each)) in runs.whole.iter().zip(&runs.each).enumerate() {
            let who = format!("{} {} {}", process(row), row.output.name(), way.join(" "));
            let times = [whole.client.total_us, whole.client.cpu_us].map(Some);
            let calls = each.client.calls_ns.map(Some);
            put_raw(&mut text, ["acs", &row.number.to_string(), &who], round, times, calls);
        }
    }
    for (table, all) in [("beside", &results.beside), ("paced", &results.paced)] {
        for one in all {
            let threads = if one.case.has_threads { " (threads)" } else { "" };
            let case = format!("{}{threads}", one.case.name);
            for (round, turns) in one.rounds.iter().enumerate() {
                let calls = [0.0, 0.5, 0.99, 0.999, 1.0];
                let calls = calls.map(|part| Some(timing::quantile(turns, part)));
                put_raw(&mut text, [table, &case, one.who], round, [None; 2], calls);
            }
        }
    }
    for one in &results.sinks {
        let fields = ["sinks", one.format, one.target.name()];
        for (round, ns) in one.rounds.iter().enumerate() {
            put_raw(&mut text, fields, round, [None; 2], middle(*ns));
        }
    }
    for (number, run) in results.throughput_runs.iter().enumerate() {
        let who = run.rate.map_or("most".to_owned(), |rate| rate.to_string());
        let fields = ["throughput", &run.sent.to_string(), &who];
        let calls = middle(run.committed_s * 1e9 / run.sent as f64);
        let times = [Some((run.committed_s * 1e6).round()), None];
        put_raw(&mut text, fields, number / 2, times, calls);
    }
    put_searches(&mut text, &results.searches);
    for run in &results.inputs {
        for (round, took) in run.rounds.iter().enumerate() {
            let times = [took.time, took.cpu].map(|time| Some(time.as_secs_f64() * 1e6));
            put_raw(&mut text, ["input", run.way, run.who], round, times, middle(took.cpu_ns()));
        }
    }
    text
}

/// Adds the rounds of searches.
fn put_searches(text: &mut String, all: &[SearchRun]) {
    for run in all {
        for (round, ms) in run.rounds_ms.iter().enumerate() {
            let (case, total_us) = (format!("{}, {}", run.question, run.records), ms * US_NS);
            let times = [Some(total_us), None];
            put_raw(text, ["search", &case, run.who], round, times, [None; 5]);
        }
    }
}

/// The columns of single calls, where a run has one time for all.
fn middle(ns: f64) -> [Option<f64>; 5] {
    [None, Some(ns), None, None, None]
}

/// Adds a line of a round: its table, case and name; total and CPU time in µs; min, p50, p99, p99.9
/// and max of a call in ns.
fn put_raw(
    text: &mut String,
    [table, case, who]: [&str; 3],
    round: usize,
    times: [Option<f64>; 2],
    calls: [Option<f64>; 5],
) {
    let number = |one: Option<f64>| one.map_or(String::new(), |one| format!("{one:.2}"));
    let ([total, cpu], [min, p50, p99, p999, max]) = (times.map(number), calls.map(number));
    put_csv_line(
        text,
        &[&table, &case, &who, &(round + 1), &total, &cpu, &min, &p50, &p99, &p999, &max],
    );
}
