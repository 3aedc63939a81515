//! The tables of the caching daemon.

use serde_json::{Value, json};

use super::{CLIENTS, DaemonPlan, DaemonRow, Results, Start, Updates};
use crate::contest::{Contest, Measurement, cpu, median, resident, wall};
use crate::report::{Report, case_object};
use crate::table::Table;

pub(crate) const RRDCACHED: &str = "rrdcached -j";
pub(crate) const FLOOR: &str = "floor";
const PAGE_BYTES: f64 = 4096.0;

/// The report of a run.
pub(super) fn report(plan: &DaemonPlan, results: &Results, machine: Value) -> Report {
    let mut report = Report::new("-rrdcached", machine);
    report.keep("rounds", plan.rounds);
    report.say(format!("The caching daemon: medians of {} rounds, everybody in turn", plan.rounds));
    updates(plan, &results.updates, &mut report);
    mrtg(plan, results.mrtg.as_ref(), &mut report);
    mounts(plan, &results.mounts, &mut report);
    starts(plan, &results.starts, &mut report);
    report.notes(&results.notes);
    report.turns_of("updates", &results.updates);
    report.turns_of("mrtg", results.mrtg.as_slice());
    report.turns_of("mounts", &results.mounts);
    report
}

fn resident_mib(contest: &Contest) -> Option<f64> {
    Some(contest.median(resident) / 1024.0).filter(|mib| *mib > 0.0)
}

/// Bytes of pages that became dirty; the floor has no files.
fn dirtied(contest: &Contest) -> f64 {
    contest.median_of(|turn| turn.dirtied_bytes).unwrap_or(0.0)
}

/// The columns of updates, and of JSON everywhere.
fn update_table<'r>() -> Table<'r, DaemonRow<'r>> {
    let each = |(row, _): DaemonRow<'_>, number: f64| number / row.facts as f64;
    let rrdcached = |(row, one): DaemonRow<'_>, of: fn(&Measurement) -> f64| {
        row.times(RRDCACHED, &one.name, of)
    };
    Table::<DaemonRow<'_>>::new()
        .column("updates", "name", 0, |(_, one)| one.name.as_str())
        .column("per second", "per_second", 0, |(row, one)| {
            row.facts as f64 / one.median(wall) * 1e6
        })
        .column("wall us", "wall_us", 2, move |row| each(row, row.1.median(wall)))
        .column("CPU us", "cpu_us", 2, move |row| each(row, row.1.median(cpu)))
        .shown("RSS MiB", 1, |(_, one)| resident_mib(one))
        .column("bytes", "dirtied_bytes", 1, move |row| each(row, dirtied(row.1)))
        .kept("resident_mib", |(_, one)| resident_mib(one))
        .shown("floor CPU x", 2, |(row, one)| {
            row.times(FLOOR, &one.name, cpu).map(|times| 1.0 / times)
        })
        .shown("rrdcached wall", 2, move |row| rrdcached(row, wall))
        .shown("rrdcached CPU", 2, move |row| rrdcached(row, cpu))
}

fn members(row: &Updates) -> Value {
    json!({ "name": row.name, "updates": row.facts })
}

fn updates(plan: &DaemonPlan, rows: &[Updates], report: &mut Report) {
    let table = update_table();
    report.keep_cases("updates", &table, rows, members);
    if rows.is_empty() {
        return;
    }
    report.say("");
    report.show_cases(&table, rows, |row| (Some(format!("{} ({})", row.name, row.facts)), None));
    report.say(format!(
        "\nUpdates of {} files with MRTG's layout, all in turn, each opened before; no file is\n\
         written meanwhile.  Each batch, and each single update, is sent after the answer to the one\n\
         before.  CPU: of client and daemon.  bytes: of pages that the daemon made dirty, which is its\n\
         journal.  floor: a socket whose other end reads and answers.  {CLIENTS} clients have files of\n\
         their own; addresses: clients by TCP, each from another address of this machine.  rrdcached\n\
         wall, CPU: how many times as much rrdcached takes.  Its journal is in its memory when it\n\
         answers, as whit's with --ack none; os survives the end of the daemon, disk that of the\n\
         power.",
        plan.files
    ));
}

/// The columns of an hour of MRTG.
fn hour_table<'r>(plan: &DaemonPlan, heading: String) -> Table<'r, DaemonRow<'r>> {
    let steps = plan.steps as f64;
    Table::<DaemonRow<'_>>::new()
        .shown(heading, 0, |(_, one)| one.name.as_str())
        .shown("wall s", 3, |(_, one)| one.median(wall) / 1e6)
        .shown("CPU s", 3, |(_, one)| one.median(cpu) / 1e6)
        .shown("MB written", 1, |(_, one)| dirtied(one) / 1e6)
        .shown("pages a step", 0, move |(_, one)| dirtied(one) / PAGE_BYTES / steps)
        .shown("RSS MiB", 1, |(_, one)| resident_mib(one))
        .shown("of direct CPU", 3, |(row, one)| Some(one.ratio(row.contests.first()?, cpu)))
}

fn mrtg(plan: &DaemonPlan, row: Option<&Updates>, report: &mut Report) {
    let Some(row) = row else { return report.keep("mrtg", Value::Null) };
    report.keep("mrtg", case_object(&update_table(), row, members));
    report.say("");
    let rows = row.contests.iter().map(|one| (row, one));
    report.show(&hour_table(plan, row.name.clone()).grid(rows));
    let first = row.contests.first().map_or("", |base| base.name.as_str());
    report.say(format!(
        "\nAn update of each target at each step of 5 minutes, with MRTG's layout.  The steps follow\n\
         each other at once: a daemon is told FLUSHALL when `-w` would be over, and everything is\n\
         written back before each step, as the kernel does within five minutes.  CPU: of poller and\n\
         daemon, or rrdtool.  MB written: pages made dirty, the journal included.  of direct CPU:\n\
         that of `{first}` is 1.  `-w 3600` is whit's default with a journal.\n\
         The files of all are the same afterwards."
    ));
}

fn mounts(plan: &DaemonPlan, rows: &[Updates], report: &mut Report) {
    report.keep_cases("mounts", &update_table(), rows, members);
    if rows.is_empty() {
        return;
    }
    report.say("");
    let table = hour_table(plan, "mounts".to_owned());
    report.show_cases(&table, rows, |row| (Some(row.name.clone()), None));
    report.say(
        "\nThe same hour, once on each mount.  Pages count before they reach a disk: those of a tmpfs,\n\
         and what ext4 writes into its own journal, are in no number.  With data=journal ext4 keeps\n\
         files in pages of 4 KiB, otherwise in folios of up to 16 pages that are written whole."
    );
}

fn starts(plan: &DaemonPlan, starts: &[Start], report: &mut Report) {
    let middle = |all: &[f64]| median(all.to_vec());
    let table = Table::<&Start>::new()
        .column("start, ms", "name", 0, |start| start.name)
        .column("update accepted", "first_update_ms", 1, move |start| {
            middle(&start.first_update_ms)
        })
        .column("journal read", "replayed_ms", 1, move |start| middle(&start.replayed_ms))
        .column("all written", "written_ms", 1, move |start| middle(&start.written_ms));
    report.rows("starts", "", &table, starts);
    if starts.is_empty() {
        return;
    }
    report.say(format!(
        "\nA journal with {} updates of each of {} files of one source.  From the start of the program\n\
         until it has answered an update, and until all readings are in its memory; all written: from\n\
         a FLUSHALL after that, once.  The files are in the page cache.",
        plan.steps, plan.many
    ));
}
