//! The engine of the benchmark: takes what is posted, answers 204 and counts.
//!
//! A thread for each connection, which is kept open; a request must say its length.  It counts the payload of TCP in
//! both directions, heads included.  One that knows remote write 2.0 says how many samples a request of that
//! version has, as its specification wants it; else a sender falls back to 1.0.  The values in requests of
//! collectd are counted, too, since nobody else does.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prost::Message as _;
use serde_json::Value;

/// What it understands of a request besides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Understands {
    Nothing,
    RemoteWrite2,
    /// What collectd's `write_http` posts.
    CollectdJson,
}

/// The answer to every request, but those of remote write 2.0 to an engine that knows it.
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
/// The header by which a request is of remote write 2.0, in small letters.
const VERSION_2: &str = "x-prometheus-remote-write-version: 2.";
/// A head is shorter than this: those of the contestants have some 300 bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// A body is shorter than this: a batch of whit has some 100 kB packed, and a few MB if not.
const BODY_BYTES_MAX: usize = 64 << 20;

/// What is read of the message of remote write 2.0, `io.prometheus.write.v2.Request`.
#[derive(Clone, PartialEq, prost::Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "5")]
    timeseries: Vec<WrittenSeries>,
}

/// `TimeSeries` of it: its samples, whatever is in them.
#[derive(Clone, PartialEq, prost::Message)]
struct WrittenSeries {
    #[prost(message, repeated, tag = "2")]
    samples: Vec<()>,
}

/// Takes requests until this process ends.
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    counted: Arc<Counted>,
}

/// What came so far.
#[derive(Debug, Default)]
struct Counted {
    bytes: AtomicU64,
    values: AtomicU64,
}

impl Receiver {
    /// Starts one.
    pub(super) fn start(understands: Understands) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let counted = Arc::new(Counted::default());
        let sum = counted.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let sum = sum.clone();
                // A sender that ends closes its connection anywhere.
                std::thread::spawn(move || drop(serve(connection, understands, &sum)));
            }
        });
        Ok(Receiver { address, counted })
    }

    /// Bytes that came and went.
    pub(super) fn bytes(&self) -> u64 {
        self.counted.bytes.load(Ordering::Relaxed)
    }

    /// Values in what collectd posted.
    pub(super) fn values(&self) -> u64 {
        self.counted.values.load(Ordering::Relaxed)
    }
}

fn serve(mut connection: TcpStream, understands: Understands, sum: &Counted) -> io::Result<()> {
    let mut waiting = Vec::new();
    let mut part = [0; 64 << 10];
    loop {
        while let Some((head, body)) = request(&waiting)? {
            if waiting.len() < head + body {
                break;
            }
            let text = &waiting[head..head + body];
            let (answer, values) = match understands {
                Understands::Nothing => (ANSWER.to_vec(), 0),
                Understands::RemoteWrite2 => (answer(&waiting[..head], text)?, 0),
                Understands::CollectdJson => (ANSWER.to_vec(), values_of_collectd(text)?),
            };
            waiting.drain(..head + body);
            // Before the answer: the sender counts its values when it has that.
            sum.bytes.fetch_add((head + body + answer.len()) as u64, Ordering::Relaxed);
            sum.values.fetch_add(values, Ordering::Relaxed);
            connection.write_all(&answer)?;
        }
        match connection.read(&mut part)? {
            0 => return Ok(()),
            count => waiting.extend_from_slice(&part[..count]),
        }
    }
}

/// What one that knows remote write 2.0 answers: with the number of samples to a request of that version.
fn answer(head: &[u8], body: &[u8]) -> io::Result<Vec<u8>> {
    if !String::from_utf8_lossy(head).to_ascii_lowercase().contains(VERSION_2) {
        return Ok(ANSWER.to_vec());
    }
    if snap::raw::decompress_len(body)? > BODY_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let message = snap::raw::Decoder::new().decompress_vec(body)?;
    let written = WriteRequest::decode(message.as_slice()).map_err(io::Error::other)?;
    let samples: usize = written.timeseries.iter().map(|series| series.samples.len()).sum();
    let text = format!(
        "HTTP/1.1 204 No Content\r\nX-Prometheus-Remote-Write-Samples-Written: {samples}\r\n\r\n"
    );
    Ok(text.into_bytes())
}

/// The numbers in an array of collectd's value lists; one that it does not know is null.
fn values_of_collectd(body: &[u8]) -> io::Result<u64> {
    let lists: Vec<Value> = serde_json::from_slice(body)?;
    let values = lists.iter().filter_map(|list| list["values"].as_array()).flatten();
    Ok(values.filter(|value| value.is_number()).count() as u64)
}

/// The lengths of the head and of the body of a request; none if its head is not whole.
fn request(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        let is_long = bytes.len() > HEAD_BYTES_MAX;
        return if is_long { Err(io::ErrorKind::InvalidData.into()) } else { Ok(None) };
    };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let length = length.filter(|length| *length <= BODY_BYTES_MAX);
    Ok(Some((end + 4, length.ok_or(io::ErrorKind::InvalidData)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_request_and_its_answer_counts() {
        let receiver = Receiver::start(Understands::Nothing).unwrap();
        let mut sender = TcpStream::connect(receiver.address).unwrap();
        let text = b"POST /a HTTP/1.1\r\ncontent-Length: 3\r\n\r\nabc";
        let mut answer = [0; ANSWER.len()];
        for times in 1..=2 {
            sender.write_all(text).unwrap();
            sender.read_exact(&mut answer).unwrap();
            assert_eq!(receiver.bytes(), times * (text.len() + ANSWER.len()) as u64);
        }
        assert_eq!(answer, ANSWER);
        sender.write_all(b"POST /a HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(sender.read(&mut answer).unwrap_or(0), 0, "a length is needed");
        assert!(request(&[b'a'; HEAD_BYTES_MAX + 1]).is_err());
        for (length, is_taken) in [(BODY_BYTES_MAX, true), (BODY_BYTES_MAX + 1, false)] {
            let head = format!("POST /a HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(request(head.as_bytes()).is_ok(), is_taken);
        }
    }

    #[test]
    fn values_of_collectd_are_its_numbers() {
        let text = br#"[{"values":[1,2.5e3],"dsnames":["rx","tx"]},{"values":[null]},{"meta":{}}]"#;
        assert_eq!(values_of_collectd(text).unwrap(), 2);
        assert!(values_of_collectd(&text[..text.len() - 1]).is_err());
        assert!(values_of_collectd(b"{}").is_err());
    }

    #[test]
    fn one_that_knows_2_0_says_how_many_samples_a_request_has() {
        let series = |samples| WrittenSeries { samples: vec![(); samples] };
        let message = WriteRequest { timeseries: vec![series(2), series(0), series(3)] };
        let body = snap::raw::Encoder::new().compress_vec(&message.encode_to_vec()).unwrap();
        let said = |head: &str, body| {
            answer(head.as_bytes(), body).map(|text| String::from_utf8(text).unwrap())
        };
        let new = "POST / HTTP/1.1\r\nX-Prometheus-Remote-Write-Version: 2.0.0\r\n\r\n";
        assert!(said(new, &body).unwrap().contains("-Samples-Written: 5\r\n\r\n"));
        let old = new.replace("2.0.0", "0.1.0");
        assert_eq!(said(&old, &body).unwrap().as_bytes(), ANSWER);
        assert!(said(new, b"\xff\xff\xff\xff\x0fabc").is_err());
        assert!(said(new, &body[..body.len() - 1]).is_err());
    }
}
