//! Answers that are written while they are sent: the same text as in memory, within the limit, and no
//! query's place is held meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use promql::{
    Labels, MemoryStorage, QueryContext, QueryLimits, QuerySteps, QueryValue, Series, SeriesPoint,
};
use serve::{QueryServer, ServeSettings};
use testkit::{PATIENCE, http};

use crate::common::{START_S, address, patient, start_with};

const QUERY: &str = "third / 7";
const STEP_MS: i64 = 10;
/// Points of each series: all have 3.6 MB of text, more than the socket takes by itself.
const POINTS: i64 = 8_000;
const SERIES: i64 = 12;

fn storage() -> MemoryStorage {
    let series = |number: i64| {
        let name = number.to_string();
        let labels = [("__name__", "third"), ("number", &name)].into_iter().collect::<Labels>();
        let samples = (0..90).map(|second| SeriesPoint {
            time_ms: (START_S + second) * 1000,
            value: (number * 1000 + second) as f64 / 3.0,
        });
        Series { labels: Arc::new(labels), samples: samples.collect() }
    };
    MemoryStorage { series: (0..SERIES).map(series).collect(), metadata: Vec::new() }
}

fn server(answer_bytes_max: usize) -> QueryServer {
    let http = patient();
    let settings =
        ServeSettings { http, answer_bytes_max, queries_max: 1, ..ServeSettings::default() };
    start_with(settings, storage())
}

/// The whole answer, by the library.
fn whole() -> String {
    let storage = storage();
    let limits = QueryLimits::default();
    let context = QueryContext { storage: &storage, limits, control: &|| None };
    let start_ms = START_S * 1000;
    let end_ms = start_ms + (POINTS - 1) * STEP_MS;
    let period = QuerySteps { start_ms, end_ms, step_ms: STEP_MS };
    let answer: QueryValue = promql::range(QUERY, period, &context).unwrap();
    let mut text = "{\"status\":\"success\",\"data\":".to_owned();
    let mut writer = promql::AnswerWriter::new(answer);
    while writer.write_next(&mut text).unwrap() {}
    text + "}"
}

fn parameters() -> [(&'static str, String); 4] {
    let seconds = |milliseconds: i64| format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
    let start_ms = START_S * 1000;
    [
        ("query", QUERY.to_owned()),
        ("start", seconds(start_ms)),
        ("end", seconds(start_ms + (POINTS - 1) * STEP_MS)),
        ("step", seconds(STEP_MS)),
    ]
}

/// Asks for the large answer and reads its first bytes.
fn begin(address: SocketAddr) -> (TcpStream, Vec<u8>) {
    let form = parameters().map(|(name, value)| format!("{name}={}", value.replace(' ', "+")));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /api/v1/query_range?{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        form.join("&")
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut first = vec![0; 1000];
    stream.read_exact(&mut first).unwrap();
    (stream, first)
}

/// The content of a body in chunks, and the length of the longest (RFC 9112, section 7.1).
fn content(mut chunks: &str) -> (String, usize) {
    let (mut content, mut longest) = (String::new(), 0);
    loop {
        let (length, rest) = chunks.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        let (chunk, rest) = rest.split_at(length);
        chunks = rest.strip_prefix("\r\n").unwrap();
        if length == 0 {
            assert_eq!(chunks, "");
            return (content, longest);
        }
        content += chunk;
        longest = longest.max(length);
    }
}

#[test]
fn a_large_answer_is_that_of_the_library_and_holds_no_place_of_a_query() {
    let whole = whole();
    assert!(whole.len() > 3 << 20, "{}", whole.len());
    let server = server(whole.len());
    let (mut slow, mut read) = begin(address(&server));
    // The one place of a query is free again.
    let answer = http(address(&server), "GET", "/api/v1/query", &[("query", "1+1"), ("time", "4")]);
    assert_eq!(
        answer.body,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[4,\"2\"]}}"
    );
    let length = format!("content-length: {}", answer.body.len());
    assert!(answer.head.lines().any(|line| line == length), "{}", answer.head);
    slow.read_to_end(&mut read).unwrap();
    let text = String::from_utf8(read).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    let (content, longest) = content(body);
    assert!(content == whole, "{} bytes, not {}", content.len(), whole.len());
    assert!(longest <= 64 << 10, "a part of {longest} bytes");
}

#[test]
fn an_answer_above_the_limit_is_refused_before_it_begins() {
    let whole = whole();
    let parameters = parameters();
    let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
    let ask = |method: &str, bytes_max: usize| {
        http(address(&server(bytes_max)), method, "/api/v1/query_range", &parameters)
    };
    let answer = ask("GET", whole.len());
    assert!(answer.status == 200 && answer.body == whole, "{}", answer.status);
    for (method, bytes_max) in [("GET", whole.len() - 1), ("POST", 20)] {
        let answer = ask(method, bytes_max);
        assert_eq!(answer.status, 422);
        let why = format!("the answer has more than {bytes_max} bytes: ask for less");
        assert!(answer.body.contains(&why), "{}", answer.body);
    }
}
