//! The heaviest processes of a moment, as lines of a message.

use archive::{RankingQuery, Recordings};

use crate::message::{short, shown};

/// How many there are in a message.
const COUNT: usize = 5;
/// The period before the moment.
const PERIOD_NS: i64 = 60_000_000_000;

/// The five heaviest processes of the minute before a time: of a host, or of the first one, by an
/// amount (`cpu`, `mem`, `io`, `read`, `write`).  Nothing if the recordings have no processes.
#[must_use]
pub fn heaviest_lines(recordings: &Recordings, host: &str, what: &str, at_ms: i64) -> Vec<String> {
    let hosts = recordings.hosts();
    let known = hosts.iter().find(|one| **one == host).or(hosts.first());
    let Some(host) = known.copied() else { return Vec::new() };
    let thru_ns = at_ms.saturating_mul(1_000_000);
    let from_ns = thru_ns.saturating_sub(PERIOD_NS);
    let query = RankingQuery { host, what, by: None, from_ns, thru_ns, count: COUNT };
    let Ok(ranking) = recordings.ranking(&query) else { return Vec::new() };
    let unknown = sample::Meta::new();
    let metas = (0..).map_while(|file| recordings.meta(file));
    let meta = metas.filter(|meta| meta.host() == host).last().unwrap_or(&unknown);
    let text = |bytes: Option<&[u8]>| shown(&String::from_utf8_lossy(bytes.unwrap_or(b"-")));
    let known = ranking.lines.iter().filter(|line| !line.is_unknown());
    let lines = known.take(COUNT).map(|line| {
        let value = view::to_base(ranking.field.unit, line.mean, meta);
        let amount = match what {
            "cpu" => format!("{} %", short(value * 100.0)),
            "mem" => format!("{} MB", short((value / 1e4).round() / 100.0)),
            _ => format!("{} kB/s", short((value / 10.0).round() / 100.0)),
        };
        let ended = if line.ended > 0 { ", ended" } else { "" };
        let command = line.command.as_deref().or(line.name.as_deref());
        // A process is named by its number and when it began.
        let pid = line.name.as_deref().and_then(|name| name.split(|byte| *byte == 0x1f).next());
        format!("{amount}  {} ({}{ended})", text(command), text(pid))
    });
    lines.collect()
}
