//! What asks and sets: `stats`, `level`, `verify`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use log_protocol::frame::{FrameKind, Head};
use log_protocol::handshake::send;
use log_protocol::levels::{Lasting, LevelOrder};
use log_store::audit::Audit;
use logring::{LEVEL_OFF, LogLevel};

use super::filters::{self, FilterArguments};
use super::reach::{DEFAULT_CENTRAL, ReachArguments};
use crate::commands::watch::services;

/// Options of `whit log stats`.
#[derive(clap::Args)]
pub(crate) struct StatsArguments {
    /// Folder of the store [default: that of the service]
    #[arg(value_name = "STORE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArguments,
    /// Ask a running central server for its counters instead
    #[arg(short = 'c', long, value_name = "ADDRESS")]
    central: Option<String>,
    #[command(flatten)]
    reach: ReachArguments,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Options of `whit log level`.
#[derive(clap::Args)]
pub(crate) struct LevelArguments {
    /// Names of loggers; `*` stands for any text
    #[arg(value_name = "LOGGER")]
    logger: String,
    /// The level: records below it are not made; OFF: none is
    #[arg(value_name = "LEVEL", value_parser = threshold)]
    level: u8,
    /// Only on these hosts; `*` stands for any text
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    host: String,
    /// Only in these processes, by name or number
    #[arg(short = 'p', long, value_name = "NAME", default_value = "", hide_default_value = true)]
    process: String,
    /// Set the level of local outputs instead of that of the central store
    #[arg(long)]
    local: bool,
    /// Keep it: loggers of these names get the level also when they are made later, and after restarts of
    /// programs, proxies and the central server
    #[arg(long, conflicts_with = "forget")]
    keep: bool,
    /// Set the level, and keep none for these names any longer
    #[arg(long)]
    forget: bool,
    /// The central server: the path of a socket, HOST:PORT or tls:HOST:PORT [default: that of the
    /// service, or /run/whit-log.sock]
    #[arg(short = 'c', long, value_name = "ADDRESS")]
    central: Option<String>,
    #[command(flatten)]
    reach: ReachArguments,
}

/// Options of `whit log verify`.
#[derive(clap::Args)]
pub(crate) struct VerifyArguments {
    /// Folder of the store [default: that of the service]
    #[arg(value_name = "STORE")]
    store: Option<PathBuf>,
    /// Read every record, not only the tables
    #[arg(long)]
    deep: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn threshold(text: &str) -> Result<u8, String> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(LEVEL_OFF);
    }
    filters::level(text).map(LogLevel::number)
}

/// Runs `whit log stats`.
pub(crate) fn stats(arguments: &StatsArguments) -> anyhow::Result<ExitCode> {
    if let Some(central) = &arguments.central {
        let (mut reader, mut writer) = arguments.reach.connect(central)?;
        send(&mut writer, Head::plain(FrameKind::Status), &[])?;
        let mut body = Vec::new();
        reader.read(&mut body)?.context("the server closed the connection")?;
        let text = String::from_utf8_lossy(&body).into_owned() + "\n";
        let shown = if arguments.json { text } else { counters_text(&text)? };
        crate::stderr::print(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let filter = arguments.filter.filter()?;
    let mut reader = filters::open_store(arguments.store.as_deref(), &filter)?;
    let mut counts: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let (mut total, mut scratch) = (0_u64, Vec::new());
    let flow = reader.visit_all(&|chunk, block| filter.wants_block(chunk, block), &mut |item| {
        let Some(record) = filter.wanted(item, &mut scratch) else {
            return ControlFlow::Continue(());
        };
        total += 1;
        let parts = [
            ("level", record.level().name()),
            ("host", record.origin.host),
            ("process", record.origin.process),
            ("logger", record.logger()),
        ];
        for (what, name) in parts {
            // Nothing is allocated for a name that is counted already.
            match counts.iter_mut().find(|((one, other), _)| *one == what && other == name) {
                Some((_, count)) => *count += 1,
                None => drop(counts.insert((what, name.to_owned()), 1)),
            }
        }
        ControlFlow::Continue(())
    })?;
    let _ = flow;
    let text = match arguments.json {
        true => stats_json(total, &counts),
        false => stats_text(total, &counts),
    };
    crate::stderr::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A server's counters, a line each.
fn counters_text(json: &str) -> anyhow::Result<String> {
    let counters: BTreeMap<String, u64> =
        serde_json::from_str(json).context("the server's counters are no numbers by name")?;
    let mut text = String::new();
    for (name, count) in counters {
        let _ = writeln!(text, "{count:>12}  {}", name.replace('_', " "));
    }
    Ok(text)
}

fn stats_text(total: u64, counts: &BTreeMap<(&str, String), u64>) -> String {
    let mut text = format!("{total:>12}  records\n");
    for ((what, name), count) in counts {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{count:>12}  {what} {}", layout::text::escape_message(name));
    }
    text
}

fn stats_json(total: u64, counts: &BTreeMap<(&str, String), u64>) -> String {
    let mut object = serde_json::Map::new();
    object.insert("records".to_owned(), total.into());
    for ((what, name), count) in counts {
        let group = object.entry((*what).to_owned()).or_insert_with(|| serde_json::json!({}));
        group[name.as_str()] = (*count).into();
    }
    layout::text::visible_json(format!("{}\n", serde_json::Value::Object(object)))
}

/// Runs `whit log level`.
pub(crate) fn level(arguments: &LevelArguments) -> anyhow::Result<ExitCode> {
    let found = || watch::central_of(&services(), DEFAULT_CENTRAL);
    let central = arguments.central.clone().map_or_else(found, Ok)?;
    let (mut reader, mut writer) = arguments.reach.connect(&central)?;
    let level = Some(arguments.level);
    let order = LevelOrder {
        logger: arguments.logger.clone(),
        host: arguments.host.clone(),
        process: arguments.process.clone(),
        central: if arguments.local { None } else { level },
        local: if arguments.local { level } else { None },
        lasting: Lasting::of(arguments.keep, arguments.forget),
    };
    send(&mut writer, Head::plain(FrameKind::SetLevel), &order.encode())?;
    let (mut body, mut proxies, mut answers, mut loggers) = (Vec::new(), None, 0, 0);
    while proxies.is_none_or(|proxies| answers < proxies) {
        let Some(head) = reader.read(&mut body).context("a proxy does not answer")? else {
            bail!("the server closed the connection");
        };
        match (head.kind, head.next) {
            // The server itself says how many proxies it has.
            (FrameKind::Refused, _) => bail!("refused: {}", String::from_utf8_lossy(&body)),
            (FrameKind::LevelSet, 1) => proxies = Some(head.count),
            (FrameKind::LevelSet, _) => {
                answers += 1;
                loggers += head.count;
            }
            _ => {}
        }
    }
    crate::stderr::print(&format!("{loggers} loggers set, by {answers} proxies\n"))?;
    let is_done = loggers > 0 || order.is_to_last();
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Runs `whit log verify`.
pub(crate) fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    let store = &filters::store(arguments.store.as_deref())?;
    let audit = Audit::of(store, arguments.deep).with_context(|| filters::unreadable(store))?;
    let text = if arguments.json { verify_json(&audit) } else { verify_text(&audit) };
    crate::stderr::print(&text)?;
    Ok(match (audit.is_whole(), audit.total().dropped) {
        (true, 0) => ExitCode::SUCCESS,
        (true, _) => ExitCode::from(DROPPED_ONLY),
        (false, _) => ExitCode::from(1),
    })
}

/// Exit code of `verify` if nothing failed, and writers have dropped records, as their policy says.
const DROPPED_ONLY: u8 = 3;

fn verify_text(audit: &Audit) -> String {
    let mut text = String::new();
    for (id, stream) in &audit.streams {
        let (process, pid) = (layout::text::escape_message(&stream.process), stream.pid);
        for (first, next, reason) in &stream.lost {
            let (last, why) = (next.saturating_sub(1), reason.text());
            let _ = writeln!(text, "{id} ({process} {pid}): {first} to {last} lost: {why}");
        }
        if stream.is_impossible() {
            let _ = writeln!(
                text,
                "{id} ({process} {pid}): claims numbers up to {}, which is impossible: its ring was \
                 damaged; only what is here is counted",
                stream.next
            );
        } else if stream.dropped > 0 {
            let dropped = stream.dropped;
            let _ = writeln!(text, "{id} ({process} {pid}): {dropped} dropped by its writer");
        }
        if stream.duplicates > 0 {
            let _ = writeln!(text, "{id}: {} records twice", stream.duplicates);
        }
    }
    for (path, from, to) in &audit.damaged {
        let _ = writeln!(text, "{}: bytes {from} to {to} are damaged", path.display());
    }
    for (first, next) in &audit.missing_chunks {
        let last = next.saturating_sub(1);
        let _ = writeln!(text, "commits {first} to {last} are missing");
    }
    let total = audit.total();
    let _ = writeln!(
        text,
        "streams {}, sent {}, here {}, lost {}, twice {}, dropped by their writers {}, \
         left out for local outputs {}",
        audit.streams.len(),
        total.next,
        total.records,
        total.lost_count(),
        total.duplicates,
        total.dropped,
        total.left_out
    );
    if total.elsewhere > 0 {
        let _ = writeln!(text, "{} records are in another store", total.elsewhere);
    }
    if audit.cut > 0 {
        let _ = write!(text, "{} records are here with a text that was cut", audit.cut);
        let _ = match audit.cut_bytes {
            0 => writeln!(text),
            bytes => writeln!(text, ": {bytes} bytes are left out"),
        };
    }
    text
}

fn verify_json(audit: &Audit) -> String {
    let total = audit.total();
    let lost: Vec<serde_json::Value> = audit
        .streams
        .iter()
        .flat_map(|(id, stream)| {
            stream.lost.iter().map(move |(first, next, reason)| {
                serde_json::json!({
                    "stream": id.to_string(), "process": stream.process, "pid": stream.pid,
                    "first": first, "last": next.saturating_sub(1), "reason": reason.text(),
                })
            })
        })
        .collect();
    let impossible = audit.streams.iter().filter(|(_, stream)| stream.is_impossible());
    let impossible: Vec<String> = impossible.map(|(id, _)| id.to_string()).collect();
    let damaged: Vec<serde_json::Value> = audit
        .damaged
        .iter()
        .map(|(path, from, to)| {
            serde_json::json!({"file": path.to_string_lossy(), "from": from, "to": to})
        })
        .collect();
    let object = serde_json::json!({
        "streams": audit.streams.len(), "sent": total.next, "received": total.records,
        "lost": total.lost_count(), "duplicates": total.duplicates, "dropped": total.dropped,
        "left_out": total.left_out, "cut": audit.cut, "cut_bytes": audit.cut_bytes, "elsewhere": total.elsewhere,
        "whole": audit.is_whole(), "gaps": lost, "damaged": damaged,
        "impossible": impossible,
    });
    layout::text::visible_json(format!("{object}\n"))
}
