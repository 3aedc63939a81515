//! What the inputs are given: syslog messages, lines, entries of the journal and requests of OTLP, all with
//! the same texts, and how they are sent.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use logring::LogLevel;
use otlp_messages::{AnyValue, KeyValue, OtlpScope, log_field, severity};
use prost::encoding;

use crate::error::{Result, ensure};

/// What each text has, and nothing else that the inputs write.
pub(super) const MARK: &str = "exposure";
/// Records of a request of OTLP, as SDKs send them by default.
const REQUEST_RECORDS: u64 = 512;
/// Requests of OTLP at once: each is answered when its records are kept.
const REQUESTS_AT_ONCE: usize = 8;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two bursts of datagrams.
const BURST: Duration = Duration::from_millis(1);

/// The text of a record.
fn text(number: u64) -> String {
    let angle = number as f64 * 0.618 % 360.0;
    format!("antenna at {angle:.3} degrees, {MARK} {}", 1_000_000 + number)
}

/// A message as rsyslog and others forward it (RFC 3164 with a time of RFC 3339).
fn syslog(number: u64) -> String {
    format!(
        "<14>2026-11-28T08:00:00.123456+00:00 antenna-{:02} control[4711]: {}\n",
        number % 60,
        text(number)
    )
}

/// Syslog messages in a row, each with its line feed.
pub(super) fn syslog_stream(records: u64) -> Vec<u8> {
    (0..records).flat_map(|number| syslog(number).into_bytes()).collect()
}

/// Lines of a file.
pub(super) fn lines(records: u64) -> Vec<u8> {
    (0..records).flat_map(|number| (text(number) + "\n").into_bytes()).collect()
}

/// Writes entries of the journal's export format.
pub(super) fn write_entries(records: u64, mut into: impl io::Write) -> Result<()> {
    for number in 0..records {
        let time_us = 1_800_000_000_000_000 + number;
        write!(
            into,
            "__REALTIME_TIMESTAMP={time_us}\n__MONOTONIC_TIMESTAMP={time_us}\n\
             _BOOT_ID=00000000000000000000000000000001\nPRIORITY=6\nSYSLOG_FACILITY=3\n\
             SYSLOG_IDENTIFIER=control\n_PID=4711\n_HOSTNAME=antenna-{:02}\n\
             _SYSTEMD_UNIT=control.service\nMESSAGE={}\n\n",
            number % 60,
            text(number)
        )?;
    }
    Ok(into.flush()?)
}

/// Sends datagrams at a rate, in bursts of a millisecond.
pub(super) fn send_datagrams(address: SocketAddr, records: u64, rate: u64) -> Result<()> {
    let stream = syslog_stream(records);
    let messages: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(address)?;
    let (begin, mut sent) = (Instant::now(), 0);
    while sent < messages.len() {
        let due = (begin.elapsed().as_secs_f64() * rate as f64) as usize;
        let due = due.min(messages.len());
        for message in &messages[sent..due.max(sent)] {
            socket.send(message)?;
        }
        sent = due.max(sent);
        std::thread::sleep(BURST);
    }
    Ok(())
}

/// Requests of OTLP, each with its head.
pub(super) fn requests(address: SocketAddr, records: u64) -> Vec<Vec<u8>> {
    let begins = (0..records).step_by(REQUEST_RECORDS as usize);
    let request = |begin: u64| {
        let body = request_body(begin..records.min(begin + REQUEST_RECORDS));
        let mut bytes = format!(
            "POST /v1/logs HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-protobuf\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&body);
        bytes
    };
    begins.map(request).collect()
}

/// `ExportLogsServiceRequest` with records of one service, as an SDK makes it.
fn request_body(numbers: std::ops::Range<u64>) -> Vec<u8> {
    let attribute = |key: &str, value: &str| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue::text(value)),
    };
    let (mut resource, mut scope_logs, mut record) = (Vec::new(), Vec::new(), Vec::new());
    for one in [attribute("service.name", "control"), attribute("host.name", "antenna-01")] {
        encoding::message::encode(log_field::RESOURCE_ATTRIBUTES, &one, &mut resource);
    }
    let scope = OtlpScope { name: "control.mount".to_owned(), version: String::new() };
    encoding::message::encode(log_field::SCOPE, &scope, &mut scope_logs);
    let level = LogLevel::Info;
    for number in numbers {
        record.clear();
        let time_ns = 1_800_000_000_000_000_000 + number;
        encoding::fixed64::encode(log_field::TIME, &time_ns, &mut record);
        encoding::int32::encode(log_field::SEVERITY_NUMBER, &severity(level), &mut record);
        encoding::string::encode(log_field::SEVERITY_TEXT, &level.name().to_owned(), &mut record);
        encoding::message::encode(log_field::BODY, &AnyValue::text(&text(number)), &mut record);
        let thread = attribute("thread.name", "mount");
        encoding::message::encode(log_field::ATTRIBUTES, &thread, &mut record);
        encoding::fixed64::encode(log_field::OBSERVED_TIME, &time_ns, &mut record);
        encoding::bytes::encode(log_field::LOG_RECORDS, &record, &mut scope_logs);
    }
    let (mut resource_logs, mut request) = (Vec::new(), Vec::new());
    encoding::bytes::encode(log_field::RESOURCE, &resource, &mut resource_logs);
    encoding::bytes::encode(log_field::SCOPE_LOGS, &scope_logs, &mut resource_logs);
    encoding::bytes::encode(log_field::RESOURCE_LOGS, &resource_logs, &mut request);
    request
}

/// Posts all requests over some connections; each waits for its answer, which must be 200.
pub(super) fn post(address: SocketAddr, requests: &[Vec<u8>]) -> Result<()> {
    let share = requests.len().div_ceil(REQUESTS_AT_ONCE).max(1);
    std::thread::scope(|scope| {
        let senders: Vec<_> = requests
            .chunks(share)
            .map(|requests| scope.spawn(move || post_in_turn(address, requests)))
            .collect();
        for sender in senders {
            // A thread that panics has ended the program.
            sender.join().unwrap_or(Ok(()))?;
        }
        Ok(())
    })
}

fn post_in_turn(address: SocketAddr, requests: &[Vec<u8>]) -> Result<()> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut answer = [0; 4096];
    for request in requests {
        connection.write_all(request)?;
        // An answer is short, and comes in one piece.
        let length = connection.read(&mut answer)?;
        let first = String::from_utf8_lossy(&answer[..length]);
        let first = first.lines().next().unwrap_or("no answer");
        ensure!(first.starts_with("HTTP/1.1 200"), "a request of OTLP was answered by {first}");
    }
    Ok(())
}
