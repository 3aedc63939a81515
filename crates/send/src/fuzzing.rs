//! For fuzz targets: what engines answer, without engines.  Not part of the interface.

use std::collections::{BTreeSet, HashMap};

use http_client::header::{HeaderMap, HeaderName, HeaderValue};
use http_client::{ClientAnswer, HttpUrl, StatusCode};
use promql::{Labels, NAME};
use recording::fuzzing::read_through;
use serde_json::Value;

use crate::SendError;
use crate::asked::{AsksPoints, Points, held};
use crate::clickhouse::point_of;
use crate::engine::SendOutcome;
use crate::jetstream::{acknowledged, newest};
use crate::jetstream_read::{consumer, pending, pull};
use crate::kinds::{http_forms, http_log_forms};
use crate::loki_read::lines_of;
use crate::read_back::fuzz_recording;

/// The most bytes of what an outcome says: 300 of an answer, each four times as long when escaped.
const WHY_BYTES_MAX: usize = 2000;

/// An answer to points and log records in every form: a status of two bytes, lines `NAME: VALUE` of
/// headers, an empty line, the body.
///
/// # Panics
/// If what an outcome says is long, or has control characters.
pub fn answer(bytes: &[u8]) {
    let Some(([low, high], mut rest)) = bytes.split_first_chunk::<2>() else { return };
    let Ok(status) = StatusCode::from_u16(u16::from_le_bytes([*low, *high])) else { return };
    let mut headers = HeaderMap::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { break };
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii_start());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(&line[..colon]), value) {
            headers.insert(name, value);
        }
    }
    let answer = ClientAnswer { status, headers, body: rest.to_vec().into() };
    let Ok(url) = HttpUrl::parse("http://engine") else { return };
    for mut form in http_forms(&url) {
        form.falls_back(&answer);
        check(&form.outcome(&answer));
    }
    http_log_forms(&url).for_each(|mut form| check(&form.outcome(&answer)));
}

fn check(outcome: &SendOutcome) {
    let (SendOutcome::Partly { why, .. }
    | SendOutcome::Retry { why, .. }
    | SendOutcome::Refused { why, .. }) = outcome
    else {
        return;
    };
    assert!(why.len() <= WHY_BYTES_MAX && !why.contains(char::is_control), "{why:?}");
}

/// An engine that gives the same points for every time.
struct GivenPoints(HashMap<Labels, Points>);

impl AsksPoints for GivenPoints {
    fn points(&mut self, _: &str, _: i64, _: i64) -> Result<HashMap<Labels, Points>, SendError> {
        Ok(self.0.clone())
    }
}

/// An answer in JSON: points of Prometheus's query interface, which become a recording of the first
/// ten minutes of 1970; else lines of Loki, or a row of ClickHouse.
///
/// # Panics
/// If a recording cannot be read.
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn json(bytes: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<Value>(bytes) else { return };
    std::hint::black_box(lines_of(&answer).is_some());
    std::hint::black_box(point_of(&answer, "host").is_some());
    let Some(points) = held(&answer) else { return };
    let names: BTreeSet<String> = points.keys().map(|one| one.get(NAME).to_owned()).collect();
    let read = fuzz_recording(&mut GivenPoints(points), &names, (0, 600_000));
    if let Some(read) = read.expect("points become a recording") {
        std::hint::black_box(read.note());
        let samples = read_through(std::fs::read(&read.path).expect("the recording"));
        assert!(samples > 0 || read.points == 0);
    }
}

/// What a server of NATS says: to the questions before a message is published, to one that was, and to
/// those of a reader.
pub fn nats(bytes: &[u8]) {
    for turn in 0..4 {
        let Ok((mut connection, _other)) = nats::fuzz_connection(bytes) else { return };
        match turn {
            0 => drop(newest(&mut connection, "whit.samples.h.1")),
            1 => drop(consumer(&mut connection, "stream", "whit.>", Some(u64::MAX))),
            2 => drop(pull(&mut connection, "next", 3)),
            _ => {
                while let Ok(message) = connection.message(|_| true) {
                    drop(acknowledged(&message));
                    std::hint::black_box(message.reply.as_deref().and_then(pending));
                }
            }
        }
    }
}
