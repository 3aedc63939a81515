//! The hosts of which there are recordings, with their times and gaps.

use archive::Recordings;
use promql::QueryError;
use serde_json::{Value, json};

use super::asked::{PageRequest, Recorded, end, ms, recorded, refused};
use crate::clock::now_ms;

/// The answer to `hosts`.
pub(crate) fn hosts(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&[])?;
    let hosts = asked.recordings.hosts().into_iter().map(|host| one(&asked.recordings, host));
    let hosts = hosts.collect::<Result<Vec<Value>, QueryError>>()?;
    Ok(json!({ "now_ms": now_ms(), "hosts": hosts }).to_string())
}

/// What is said of a host.
pub(super) fn one(recordings: &Recordings, host: &str) -> Result<Value, QueryError> {
    let now_ns = now_ms().saturating_mul(1_000_000);
    let Recorded { from_ns, thru_ns, is_live } = recorded(recordings, host);
    let spans = recordings.spans(host);
    let spans = spans
        .iter()
        .map(|span| json!({ "from_ms": ms(span.from_ns), "thru_ms": ms(end(span, now_ns).0) }));
    // The facts are those of the latest recording.
    let metas = (0..).map_while(|file| recordings.meta(file));
    let meta = metas.filter(|meta| meta.host() == host).last();
    let fact = |key: &str| meta.and_then(|meta| meta.get(key));
    let boot_ns = fact("boot_ns").and_then(|text| text.parse().ok());
    let sources = recordings.sources(host);
    let history = recordings.history_span(host).map_err(refused)?;
    let history = history.map(|(from, thru)| json!({ "from_ms": ms(from), "thru_ms": ms(thru) }));
    Ok(json!({
        "host": host,
        "from_ms": ms(from_ns),
        "thru_ms": ms(thru_ns),
        "interval_ms": meta.map(|meta| meta.interval_ns() / 1_000_000),
        "is_live": is_live,
        "cpus": meta.map(sample::Meta::cpus),
        "kernel": fact("kernel"),
        "timezone": fact("timezone_name").or(fact("timezone")),
        "boot_ms": boot_ns.map(ms),
        "history": history,
        "spans": spans.collect::<Vec<_>>(),
        "gaps": gaps(recordings, host, from_ns, thru_ns)?,
        "sources": sources.iter().map(|def| &*def.name).collect::<Vec<_>>(),
    }))
}

/// The gaps of a period.
pub(crate) fn gaps(
    recordings: &Recordings,
    host: &str,
    from_ns: i64,
    thru_ns: i64,
) -> Result<Vec<Value>, QueryError> {
    let gaps = recordings.gaps(host, from_ns, thru_ns).map_err(refused)?;
    let gap = |gap: &archive::RecordedGap| json!({ "from_ms": ms(gap.after_ns), "thru_ms": ms(gap.until_ns) });
    Ok(gaps.iter().map(gap).collect())
}
