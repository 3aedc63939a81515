//! The tables of the caching daemon, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{CLIENTS, Contest, DaemonPlan, Results, Row, Start};
use crate::measure::{Measurement, median, ratio};
use crate::report::optional;

const RRDCACHED: &str = "rrdcached -j";
const FLOOR: &str = "floor";
const PAGE_BYTES: f64 = 4096.0;

fn wall(turn: &Measurement) -> f64 {
    turn.wall_us as f64
}

fn cpu(turn: &Measurement) -> f64 {
    turn.cpu_us() as f64
}

impl Contest {
    fn resident_mib(&self) -> Option<f64> {
        let mib = self.series.median(|turn| turn.resident_kib_max as f64) / 1024.0;
        (mib > 0.0).then_some(mib)
    }

    fn dirtied(&self) -> f64 {
        median(self.dirtied_bytes.iter().map(|bytes| *bytes as f64).collect())
    }
}

impl Row {
    /// How many times as much another one takes.
    fn times(&self, other: &str, contest: &Contest, of: fn(&Measurement) -> f64) -> Option<f64> {
        let other = self.contests.iter().find(|contest| contest.series.name == other)?;
        Some(ratio(&other.series, &contest.series, of))
    }
}

/// The tables as text.  Writing to a string cannot fail.
pub(super) fn human(plan: &DaemonPlan, results: &Results) -> String {
    let mut out = String::new();
    let _ = write_human(plan, results, &mut out);
    out
}

fn write_human(plan: &DaemonPlan, results: &Results, out: &mut String) -> std::fmt::Result {
    writeln!(out, "The caching daemon: medians of {} rounds, everybody in turn", plan.rounds)?;
    if !results.updates.is_empty() {
        write_updates(plan, &results.updates, out)?;
    }
    if let Some(row) = &results.mrtg {
        write_mrtg(plan, row, out)?;
    }
    if !results.mounts.is_empty() {
        write_mounts(plan, &results.mounts, out)?;
    }
    if !results.starts.is_empty() {
        write_starts(plan, &results.starts, out)?;
    }
    for note in &results.notes {
        writeln!(out, "\nNote: {note}.")?;
    }
    Ok(())
}

fn write_updates(plan: &DaemonPlan, rows: &[Row], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<19} {:>10} {:>8} {:>8} {:>8} {:>8} {:>12} {:>14} {:>14}",
        "updates",
        "per second",
        "wall us",
        "CPU us",
        "RSS MiB",
        "bytes",
        "floor CPU x",
        "rrdcached wall",
        "rrdcached CPU"
    )?;
    for row in rows {
        writeln!(out, "{} ({})", row.name, row.updates)?;
        let updates = row.updates as f64;
        for contest in &row.contests {
            let of_floor = row.times(FLOOR, contest, cpu).map(|times| 1.0 / times);
            writeln!(
                out,
                "  {:<17} {:>10.0} {:>8.2} {:>8.2} {:>8} {:>8.1} {:>12} {:>14} {:>14}",
                contest.series.name,
                updates / contest.series.median(wall) * 1e6,
                contest.series.median(wall) / updates,
                contest.series.median(cpu) / updates,
                optional(contest.resident_mib(), 1),
                contest.dirtied() / updates,
                optional(of_floor, 2),
                optional(row.times(RRDCACHED, contest, wall), 2),
                optional(row.times(RRDCACHED, contest, cpu), 2),
            )?;
        }
    }
    writeln!(
        out,
        "\nUpdates of {} files with MRTG's layout, all in turn, each opened before; no file is\n\
         written meanwhile.  Each batch, and each single update, is sent after the answer to the one\n\
         before.  CPU: of client and daemon.  bytes: of pages that the daemon made dirty, which is its\n\
         journal.  floor: a socket whose other end reads and answers.  {CLIENTS} clients have files of\n\
         their own; addresses: clients by TCP, each from another address of this machine.  rrdcached\n\
         wall, CPU: how many times as much rrdcached takes.  Its journal is in its memory when it\n\
         answers, as whit's with --ack none; os survives the end of the daemon, disk that of the\n\
         power.",
        plan.files
    )
}

fn write_mrtg(plan: &DaemonPlan, row: &Row, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<24} {:>8} {:>8} {:>10} {:>13} {:>8} {:>13}",
        row.name, "wall s", "CPU s", "MB written", "pages a step", "RSS MiB", "of direct CPU"
    )?;
    write_hour(plan, row, out)?;
    let first = row.contests.first().map_or("", |base| base.series.name.as_str());
    writeln!(
        out,
        "\nAn update of each target at each step of 5 minutes, with MRTG's layout.  The steps follow\n\
         each other at once: a daemon is told FLUSHALL when `-w` would be over, and everything is\n\
         written back before each step, as the kernel does within five minutes.  CPU: of poller and\n\
         daemon, or rrdtool.  MB written: pages made dirty, the journal included.  of direct CPU:\n\
         that of `{first}` is 1.  `-w 3600` is whit's default with a journal.\n\
         The files of all are the same afterwards."
    )
}

/// What each contestant of an hour took.
fn write_hour(plan: &DaemonPlan, row: &Row, out: &mut String) -> std::fmt::Result {
    let base = row.contests.first();
    for contest in &row.contests {
        let times = base.map(|base| ratio(&contest.series, &base.series, cpu));
        writeln!(
            out,
            "  {:<22} {:>8.3} {:>8.3} {:>10.1} {:>13.0} {:>8} {:>13}",
            contest.series.name,
            contest.series.median(wall) / 1e6,
            contest.series.median(cpu) / 1e6,
            contest.dirtied() / 1e6,
            contest.dirtied() / PAGE_BYTES / plan.steps as f64,
            optional(contest.resident_mib(), 1),
            optional(times, 3),
        )?;
    }
    Ok(())
}

fn write_mounts(plan: &DaemonPlan, rows: &[Row], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<24} {:>8} {:>8} {:>10} {:>13} {:>8} {:>13}",
        "mounts", "wall s", "CPU s", "MB written", "pages a step", "RSS MiB", "of direct CPU"
    )?;
    for row in rows {
        writeln!(out, "{}", row.name)?;
        write_hour(plan, row, out)?;
    }
    writeln!(
        out,
        "\nThe same hour, once on each mount.  Pages count before they reach a disk: those of a tmpfs,\n\
         and what ext4 writes into its own journal, are in no number.  With data=journal ext4 keeps\n\
         files in pages of 4 KiB, otherwise in folios of up to 16 pages that are written whole."
    )
}

fn write_starts(plan: &DaemonPlan, starts: &[Start], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n{:<24} {:>16} {:>14} {:>12}",
        "start, ms", "update accepted", "journal read", "all written"
    )?;
    for start in starts {
        writeln!(
            out,
            "  {:<22} {:>16.1} {:>14.1} {:>12.1}",
            start.name,
            median(start.first_update_ms.clone()),
            median(start.replayed_ms.clone()),
            median(start.written_ms.clone()),
        )?;
    }
    writeln!(
        out,
        "\nA journal with {} updates of each of {} files of one source.  From the start of the program\n\
         until it has answered an update, and until all readings are in its memory; all written: from\n\
         a FLUSHALL after that, once.  The files are in the page cache.",
        plan.steps, plan.many
    )
}

/// The tables as a JSON object.
pub(super) fn json(plan: &DaemonPlan, results: &Results, machine: &Value) -> Value {
    let rows = results.updates.iter().map(row);
    let start = |start: &Start| {
        json!({
            "name": start.name,
            "first_update_ms": median(start.first_update_ms.clone()),
            "replayed_ms": median(start.replayed_ms.clone()),
            "written_ms": median(start.written_ms.clone()),
        })
    };
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "updates": rows.collect::<Vec<_>>(),
        "mrtg": results.mrtg.as_ref().map(row),
        "mounts": results.mounts.iter().map(row).collect::<Vec<_>>(),
        "starts": results.starts.iter().map(start).collect::<Vec<_>>(),
        "notes": results.notes,
    })
}

fn row(row: &Row) -> Value {
    let updates = row.updates as f64;
    let contests = row.contests.iter().map(|contest| {
        json!({
            "name": contest.series.name,
            "per_second": updates / contest.series.median(wall) * 1e6,
            "wall_us": contest.series.median(wall) / updates,
            "cpu_us": contest.series.median(cpu) / updates,
            "dirtied_bytes": contest.dirtied() / updates,
            "resident_mib": contest.resident_mib(),
        })
    });
    let contests: Vec<Value> = contests.collect();
    json!({ "name": row.name, "updates": row.updates, "contestants": contests })
}
