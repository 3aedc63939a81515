//! NATS JetStream, the real server: every sample is in the stream once, whatever ends on the way.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64ct::{Base64, Encoding as _};
use send::{EngineAddress, SendEvent, SendSettings};
use serde_json::{Value, json};
use testkit::{NatsServer, Random};

use crate::deliveries::{Points, few_points, recorded, sender_to};
use crate::recorded::{FILES, SAMPLES, record};

/// A client that asks one question after the other.
pub(crate) struct Nats(BufReader<TcpStream>);

impl Nats {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"CONNECT {\"verbose\":false}\r\nSUB answers 1\r\n").unwrap();
        Nats(BufReader::new(stream))
    }

    fn ask(&mut self, subject: &str, parameters: &Value) -> Value {
        let text = parameters.to_string();
        let line = format!("PUB {subject} answers {}\r\n{text}\r\n", text.len());
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            if line.starts_with("PING") {
                self.0.get_mut().write_all(b"PONG\r\n").unwrap();
            }
            if let Some(words) = line.strip_prefix("MSG ") {
                let size: usize = words.trim().rsplit(' ').next().unwrap().parse().unwrap();
                let mut payload = vec![0; size + 2];
                self.0.read_exact(&mut payload).unwrap();
                return serde_json::from_slice(&payload[..size]).unwrap();
            }
        }
    }

    /// Makes a stream that knows the ids of messages for a tenth of a second alone.
    pub(crate) fn make_stream(&mut self) {
        let stream = json!({
            "name": "W", "subjects": ["whit.samples.>", "whit.logs.>"], "retention": "limits", "storage": "file",
            "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0, "num_replicas": 1,
            "duplicate_window": 100_000_000,
        });
        let made = self.ask("$JS.API.STREAM.CREATE.W", &stream);
        assert!(made["error"].is_null(), "{made}");
    }

    /// All messages: the subject, the id and the text.
    pub(crate) fn messages(&mut self) -> Vec<(String, String, String)> {
        let state = self.ask("$JS.API.STREAM.INFO.W", &json!({}));
        let last = state["state"]["last_seq"].as_u64().unwrap();
        let mut messages = Vec::new();
        for number in 1..=last {
            let got = self.ask("$JS.API.STREAM.MSG.GET.W", &json!({ "seq": number }));
            let text = |name: &str| {
                let packed = got["message"][name].as_str().unwrap();
                String::from_utf8(Base64::decode_vec(packed).unwrap()).unwrap()
            };
            let head = text("hdrs");
            let id = head.split("Nats-Msg-Id: ").nth(1).unwrap().lines().next().unwrap();
            let subject = got["message"]["subject"].as_str().unwrap();
            messages.push((subject.to_owned(), id.to_owned(), text("data")));
        }
        messages
    }
}

/// The points of lines of InfluxDB's protocol.
fn add_lines(lines: &str, points: &mut Points) {
    for line in lines.lines() {
        let (head, rest) = line.rsplit_once(" value=").unwrap();
        let (value, time) = rest.split_once(' ').unwrap();
        let mut words = vec![String::new()];
        let mut characters = head.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' if characters.peek().is_some_and(|next| ", =".contains(*next)) => {
                    words.last_mut().unwrap().extend(characters.next());
                }
                ',' | '=' => words.push(String::new()),
                one => words.last_mut().unwrap().push(one),
            }
        }
        let mut labels: BTreeMap<&str, &str> =
            words[1..].chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        labels.insert("__name__", &words[0]);
        let of_series = points.entry(format!("{labels:?}")).or_default();
        of_series.push((time.parse().unwrap(), value.parse::<f64>().unwrap().to_bits()));
    }
}

/// A server between that ends each connection after some bytes of answers: what was published is there,
/// and its acknowledgement is lost.
pub(crate) fn cutting(server: SocketAddr, stops: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut random = Random::from_seed(testkit::seed(253));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            // The server may be starting again.
            let Ok(server) = TcpStream::connect(server) else { continue };
            let most = match stops.load(Ordering::SeqCst) {
                true => u64::MAX,
                false => random.below(8_000),
            };
            let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut into);
                let _ = into.shutdown(std::net::Shutdown::Both);
            });
            let mut client = client;
            let _ = std::io::copy(&mut server.take(most), &mut client);
            let _ = client.shutdown(std::net::Shutdown::Both);
        }
    });
    address
}

#[test]
fn a_stream_has_every_sample_once_whatever_ends_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu", "memory", "disk"], |_| ());
    let Some(mut server) = NatsServer::start(None) else { return };
    Nats::connect(server.address()).make_stream();
    let stops = Arc::new(AtomicBool::new(false));
    let to = format!("jetstream=nats://{}", cutting(server.address(), stops.clone()));
    let mut random = Random::from_seed(testkit::seed(254));
    let (mut ends, mut waits) = (0, 0);
    loop {
        // Ended at a random moment, and gone on by another process; the server is killed, too.
        let mut pauses = random.below(6);
        let mut is_ended = false;
        let mut sender = sender_to(folder.path(), &to, &few_points());
        let mut pause = |_: Duration| {
            is_ended = pauses == 0;
            pauses = pauses.saturating_sub(1);
            !is_ended
        };
        let mut tell = |event: SendEvent| match event {
            SendEvent::Waits { .. } => waits += 1,
            SendEvent::Note(text) => panic!("{text}"),
            SendEvent::GoesOn => {}
        };
        sender.run(&mut pause, &mut tell).unwrap();
        if !is_ended {
            let cursor = sender.cursor();
            assert_eq!(cursor.samples_sent, (FILES * SAMPLES) as u64);
            break;
        }
        ends += 1;
        if ends == 3 {
            server.start_again();
        }
        if ends == 15 {
            stops.store(true, Ordering::SeqCst);
        }
    }
    assert!(ends > 2 && waits > 5, "{ends} ends, {waits} waits");
    let messages = Nats::connect(server.address()).messages();
    assert_eq!(messages.len() as i64, FILES * SAMPLES);
    let mut points = Points::new();
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    for (subject, id, text) in &messages {
        assert!(subject.starts_with("whit.samples.vm."), "{subject}");
        // In the order of the samples, and none is left out.
        let number: u64 = id.rsplit_once('-').unwrap().1.parse().unwrap();
        let before = numbers.insert(subject.clone(), number).unwrap_or(0);
        assert_eq!(number, before + 1, "{subject}");
        add_lines(text, &mut points);
    }
    assert_eq!(points, recorded(folder.path()));
}

#[test]
fn two_senders_share_a_stream() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let _writers =
        folders.each_ref().map(|one| record(one.path(), Path::new("/"), &["cpu"], |_| ()));
    let Some(server) = NatsServer::start(None) else { return };
    Nats::connect(server.address()).make_stream();
    let to = format!("jetstream=nats://{}", server.address());
    std::thread::scope(|scope| {
        for folder in &folders {
            scope.spawn(|| {
                let mut sender = sender_to(folder.path(), &to, &few_points());
                assert!(sender.run(&mut |_| true, &mut |event| panic!("{event:?}")).unwrap());
            });
        }
    });
    let messages = Nats::connect(server.address()).messages();
    let ids: std::collections::BTreeSet<&String> = messages.iter().map(|(_, id, _)| id).collect();
    assert_eq!((messages.len(), ids.len()), (2 * (FILES * SAMPLES) as usize, messages.len()));
}

#[test]
fn what_keeps_samples_from_a_stream_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    for (to, why) in [
        ("jetstream=h:1", "write nats://HOST:PORT"),
        ("jetstream=nats://tls:h", "write nats://HOST:PORT, or with TLS tls://HOST:PORT"),
    ] {
        let said = EngineAddress::parse(to).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    let to = EngineAddress::parse("jetstream=nats://h").unwrap().to_string();
    assert_eq!(to, "nats://h:4222");
    let to = EngineAddress::parse("jetstream=tls://h").unwrap();
    assert_eq!((to.to_string().as_str(), to.is_encrypted()), ("tls://h:4222", true));
    let waits = |address: SocketAddr, settings: &SendSettings| {
        let to = format!("jetstream=nats://{address}");
        let mut told = Vec::new();
        let mut sender = sender_to(folder.path(), &to, settings);
        assert!(!sender.run(&mut |_| false, &mut |event| told.push(event)).unwrap());
        format!("{told:?}")
    };
    let Some(server) = NatsServer::start(Some("secret")) else { return };
    let token = |text| SendSettings {
        authorization: Some(http_client::header::HeaderValue::from_static(text)),
        ..few_points()
    };
    let said = waits(server.address(), &few_points());
    assert!(said.contains("Authorization Violation"), "{said}");
    let said = waits(server.address(), &token("Bearer wrong"));
    assert!(said.contains("Authorization Violation"), "{said}");
    let said = waits(server.address(), &token("Bearer secret"));
    assert!(said.contains("no stream takes the subject whit.samples.vm."), "{said}");
    // Whoever says something else is no server of NATS.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let said = waits(address, &few_points());
    assert!(said.contains("it does not speak the protocol of NATS"), "{said}");
}
