//! Log records that streams of JetStream have, in the order of the streams: by a consumer that is pulled
//! from, which the server forgets when nobody asks any more
//! (<https://docs.nats.io/reference/jetstream/api/consumer/get-next.md>).
//!
//! Only what is there at the beginning is read.  Nothing in a stream changes.

use connection::Address;
use jiff::Timestamp;
use log_store::query::Filter;
use nats::{NatsConnection, NatsEndpoint, NatsMessage, NatsRefusal};
use serde_json::{Value, json};

use crate::SendError;
use crate::jetstream::token;
use crate::log_question::{CLOCKS_DIFFER, LogQuestion, TakeLine};
use crate::settings::SendSettings;

/// Messages that are pulled at once: a server gives at most so many.
const PULLED: u64 = 256;

/// How long the server waits for messages that were there and are gone, in ns.
const EXPIRES_NS: u64 = 5_000_000_000;

/// How long the server keeps the consumer after the last pull, in ns.
const FORGOTTEN_NS: u64 = 60_000_000_000;

/// Streams that are read.
const STREAMS_MAX: usize = 1000;

/// Reads the lines of all streams that have some.
pub(crate) fn read(
    address: &Address,
    question: &LogQuestion<'_>,
    settings: &SendSettings,
    take: &mut TakeLine<'_>,
) -> Result<(), SendError> {
    let server = NatsEndpoint::new(address, settings.nats_access());
    let failed = |error: NatsRefusal| SendError::NoAnswer {
        server: question.server.to_owned(),
        why: match error {
            NatsRefusal::Later(error) => error.to_string(),
            NatsRefusal::Never(why) => why,
        },
    };
    let mut connection = server.open().map_err(|error| failed(error.into()))?;
    let subject = subject(question.filter);
    let streams = connection.asked("$JS.API.STREAM.NAMES", &json!({ "subject": subject }));
    let streams = streams.map_err(failed)?;
    let names = streams["streams"].as_array().map_or(&[][..], Vec::as_slice);
    if names.is_empty() {
        let why = format!("no stream takes the subject {subject}");
        return Err(SendError::NoAnswer { server: question.server.to_owned(), why });
    }
    for name in names.iter().filter_map(Value::as_str).take(STREAMS_MAX) {
        let consumer = consumer(&mut connection, name, &subject, question.filter.from_ns);
        let (consumer, mut left) = consumer.map_err(failed)?;
        let pulls = format!("$JS.API.CONSUMER.MSG.NEXT.{name}.{consumer}");
        while left > 0 {
            let batch = pull(&mut connection, &pulls, left.min(PULLED)).map_err(failed)?;
            left = if batch.is_empty() { 0 } else { left.saturating_sub(batch.len() as u64) };
            for line in batch {
                if take(&line)?.is_break() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The subjects that may have what is wanted.
fn subject(filter: &Filter) -> String {
    let word = |pattern: &str, may_be_number: bool| {
        let is_any = pattern.is_empty()
            || pattern.contains('*')
            || (may_be_number && pattern.parse::<u32>().is_ok());
        if is_any { "*".to_owned() } else { token(pattern) }
    };
    format!("whit.logs.*.{}.{}", word(&filter.host, false), word(&filter.process, true))
}

/// Makes a consumer of a stream: its name, and how many messages there are for it.
pub(crate) fn consumer(
    connection: &mut NatsConnection,
    stream: &str,
    subject: &str,
    from_ns: Option<u64>,
) -> Result<(String, u64), NatsRefusal> {
    let mut config = json!({
        "filter_subject": subject, "ack_policy": "none", "replay_policy": "instant",
        "deliver_policy": "all", "inactive_threshold": FORGOTTEN_NS, "mem_storage": true,
        "num_replicas": 1,
    });
    // No record is sent before it is made, as far as the clocks agree.
    let start_ns = from_ns.map(|from_ns| from_ns.saturating_sub(CLOCKS_DIFFER.as_nanos() as u64));
    let start = start_ns.and_then(|ns| Timestamp::from_nanosecond(i128::from(ns)).ok());
    if let Some(start) = start {
        config["deliver_policy"] = "by_start_time".into();
        config["opt_start_time"] = start.to_string().into();
    }
    let made = connection.asked(
        &format!("$JS.API.CONSUMER.CREATE.{stream}"),
        &json!({ "stream_name": stream, "config": config }),
    )?;
    let parts = made["name"].as_str().zip(made["num_pending"].as_u64());
    parts.map(|(name, count)| (name.to_owned(), count)).ok_or_else(|| {
        let why = made["error"]["description"].as_str().unwrap_or("it makes no consumer");
        NatsRefusal::Never(layout::text::escape(why.as_bytes()))
    })
}

/// Pulls so many messages; fewer if they are gone meanwhile.
pub(crate) fn pull(
    connection: &mut NatsConnection,
    subject: &str,
    count: u64,
) -> Result<Vec<Vec<u8>>, NatsRefusal> {
    let pull = json!({ "batch": count, "expires": EXPIRES_NS }).to_string();
    let question = connection.ask(subject, "", pull.as_bytes())?;
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        let is_awaited = |message: &NatsMessage| message.question.is_none_or(|of| of == question);
        let message = connection.message(is_awaited)?;
        // A status: 408 when the time is over, 404 and 409 when there is nothing to wait for.
        if message.question.is_some() {
            break;
        }
        let is_last = message.reply.as_deref().and_then(pending) == Some(0);
        found.push(message.payload);
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// How many messages are behind one, by where it is acknowledged: `$JS.ACK.STREAM.CONSUMER.DELIVERED.
/// SEQUENCE.OF_CONSUMER.TIME.PENDING`, or with the domain and the account before the stream.
pub(crate) fn pending(reply: &str) -> Option<u64> {
    let words: Vec<&str> = reply.split('.').collect();
    let at = if words.len() > 10 { 10 } else { 8 };
    words.get(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_hosts_and_processes() {
        let filter = |host: &str, process: &str| Filter {
            host: host.into(),
            process: process.into(),
            ..Filter::default()
        };
        assert_eq!(subject(&Filter::default()), "whit.logs.*.*.*");
        assert_eq!(subject(&filter("web1.example", "12")), "whit.logs.*.web1_example.*");
        assert_eq!(subject(&filter("web*", "a b")), "whit.logs.*.*.a_b");
    }

    #[test]
    fn what_is_behind_a_message_is_read_from_its_reply() {
        assert_eq!(pending("$JS.ACK.S.C.1.2.3.1700000000.7"), Some(7));
        assert_eq!(pending("$JS.ACK.D.H.S.C.1.2.3.1700000000.7.r"), Some(7));
        assert_eq!(pending("x"), None);
    }
}
