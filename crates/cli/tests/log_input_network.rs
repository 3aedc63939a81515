//! `whit log proxy --input`: OTLP by HTTP, and syslog by TLS: what is acknowledged is kept, what cannot be
//! taken is told, and hostile bytes change nothing.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use connection::{ClientTls, SocketStream, connect_tcp, resolve};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use testkit::{Authority, Running, wait_until};

use crate::log_common::{end, folder, start, whit};
use crate::log_input::{PROXY, messages, once, port, query};

/// What a server answers: status, head, body.
type Answer = (u16, String, Vec<u8>);

/// Sends a request over a new connection, which ends with it.
fn ask(stream: &mut (impl Read + Write), head: &str, body: &[u8]) -> Answer {
    let length = body.len();
    let head = format!(
        "{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses what is too long may leave before all is sent.
    let _ = stream.write_all(body);
    stream.flush().unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), bytes[end + 4..].to_vec())
}

fn post(port: u16, headers: &str, body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    ask(&mut stream, &format!("POST /v1/logs HTTP/1.1\r\n{headers}"), body)
}

const JSON: &str = "Content-Type: application/json; charset=utf-8";
const PROTOBUF: &str = "Content-Type: application/x-protobuf";

/// A request with these records.
fn request(records: &Value) -> Vec<u8> {
    let resource = json!({"attributes": [
        {"key": "service.name", "value": {"stringValue": "shop"}},
        {"key": "host.name", "value": {"stringValue": "h1"}},
        {"key": "process.pid", "value": {"intValue": "77"}},
        {"key": "service.version", "value": {"stringValue": "1.2"}},
    ]});
    let logs = json!({"scope": {"name": "shop.cart", "version": "3"}, "logRecords": records});
    json!({"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]}).to_string().into()
}

fn text_record(text: &str) -> Value {
    json!({"severityNumber": 9, "body": {"stringValue": text}})
}

/// A field of protobuf with bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 127 {
        out.push((length & 127) as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

/// A request of protobuf with these records.
fn protobuf(records: &[Vec<u8>]) -> Vec<u8> {
    let records: Vec<u8> = records.iter().flat_map(|one| field(2, one)).collect();
    let pair = [field(1, b"service.name"), field(2, &field(1, b"shop"))].concat();
    let resource = field(1, &field(1, &pair));
    let scope = field(1, &field(1, b"shop.cart"));
    field(1, &[resource, field(2, &[scope, records].concat())].concat())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A proxy with an input, once it listens.
fn start_input(here: &Path, port: u16, words: &str) -> Running {
    let proxy = start(here, &format!("{PROXY} {words}"));
    wait_until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    proxy
}

#[test]
fn records_of_opentelemetry_have_all_that_they_say() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let port = port();
    let proxy = start_input(here, port, &format!("-i otlp:127.0.0.1:{port}"));
    let list = json!([{"intValue": 1}, {"stringValue": "a"}]);
    let full = json!({
        "timeUnixNano": "1700000000000000001", "observedTimeUnixNano": "1700000000000000002",
        "severityNumber": 14, "severityText": "WARN2", "body": {"stringValue": "full"},
        "traceId": "ab".repeat(16), "spanId": "01".repeat(8), "flags": 1,
        "attributes": [
            {"key": "http.status", "value": {"intValue": "500"}},
            {"key": "list", "value": {"arrayValue": {"values": list}}},
        ],
    });
    let answer = post(port, JSON, &request(&json!([full, text_record("second")])));
    assert_eq!((answer.0, &*answer.2), (200, &b"{}"[..]), "{answer:?}");
    // Severity 17, as it is and packed: the answer is an empty message.
    let error = |text: &[u8]| [&[0x10, 17][..], &field(5, &field(1, text))].concat();
    let body = protobuf(&[error(b"of protobuf \xff\x1b[31m")]);
    let answer = post(port, PROTOBUF, &body);
    assert_eq!((answer.0, answer.2.len()), (200, 0));
    assert!(answer.1.contains("content-type: application/x-protobuf"), "{}", answer.1);
    let packed = gzip(&protobuf(&[error(b"packed")]));
    let answer = post(port, &format!("{PROTOBUF}\r\nContent-Encoding: gzip"), &packed);
    assert_eq!(answer.0, 200);
    wait_until("all are in the store", || query(here, "--logger otlp").len() == 4);
    let found = query(here, "--logger otlp");
    let expected = json!({
        "Time": "2023-11-14T22:13:20.000000001Z", "ObservedTime": "2023-11-14T22:13:20.000000002Z",
        "Severity": "WARN2", "SeverityNumber": 14, "TraceFlags": 1, "TraceId": "ab".repeat(16),
        "SpanId": "01".repeat(8), "Scope": "shop.cart", "ScopeVersion": "3", "http.status": 500,
        "list": "[1,\"a\"]", "Process": "shop", "Host": "h1", "Pid": 77,
        "resource.service.version": "1.2",
    });
    let data = &found[0]["data"];
    assert_eq!((&found[0]["level"], &found[0]["message"]), (&json!("WARNING"), &json!("full")));
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&data[name], value, "{name}: {data}");
    }
    assert_eq!(data.as_object().unwrap().len(), expected.as_object().unwrap().len(), "{data}");
    assert_eq!((&found[1]["level"], &found[1]["message"]), (&json!("INFO"), &json!("second")));
    let said: Vec<_> = found[2..].iter().map(|one| (&one["level"], &one["message"])).collect();
    let texts = [json!("of protobuf \u{fffd}\u{1b}[31m"), json!("packed")];
    assert_eq!(said, [(&json!("ERROR"), &texts[0]), (&json!("ERROR"), &texts[1])]);
    end(proxy);
    end(central);
}

/// The rings are gone after the answer, and the proxy is killed: its spool has the records.
#[test]
fn what_is_answered_is_in_the_spool() {
    let folder = folder();
    let here = folder.path();
    let port = port();
    let proxy = start_input(here, port, &format!("-i otlp:127.0.0.1:{port}"));
    for number in 0..3 {
        let answer = post(port, JSON, &request(&json!([text_record(&format!("kept {number}"))])));
        assert_eq!(answer.0, 200);
    }
    drop(proxy);
    std::fs::remove_dir_all(here.join("rings")).unwrap();
    std::fs::create_dir(here.join("rings")).unwrap();
    let central = start(here, "central --store store --listen ./socket");
    assert!(whit(here, &format!("{PROXY} --once")).status.success());
    assert_eq!(messages(here, "otlp"), ["kept 0", "kept 1", "kept 2"]);
    end(central);
}

/// Without room in the spool the sender is told to come again, and nothing further is written.
#[test]
fn what_cannot_be_kept_is_to_come_again() {
    let folder = folder();
    let here = folder.path();
    let port = port();
    let proxy = start_input(here, port, &format!("--quota 1 -i otlp:127.0.0.1:{port}"));
    for text in ["first", "second"] {
        let answer = post(port, JSON, &request(&json!([text_record(text)])));
        assert_eq!(answer.0, 503, "{answer:?}");
        assert!(answer.1.contains("retry-after: 1"), "{}", answer.1);
        let said: Value = serde_json::from_slice(&answer.2).unwrap();
        assert_eq!(said["code"], 14, "{said}");
    }
    end(proxy);
    let central = start(here, "central --store store --listen ./socket");
    once(here, "file:none");
    assert_eq!(messages(here, "otlp"), ["first"]);
    end(central);
}

#[test]
fn hostile_requests_are_refused_and_told() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let port = port();
    let proxy = start_input(here, port, &format!("-i otlp:127.0.0.1:{port}"));
    let partly = request(&json!([text_record("good"), {"timeUnixNano": "x"}, 7]));
    let (status, _, body) = post(port, JSON, &partly);
    let said: Value = serde_json::from_slice(&body).unwrap();
    let rejected = json!({"partialSuccess": {
        "rejectedLogRecords": "2", "errorMessage": "timeUnixNano is not a whole number"}});
    assert_eq!((status, said), (200, rejected));
    // A record whose time is a text; `partial_success` has field 1, and 1 record in it.
    let (status, _, body) = post(port, PROTOBUF, &protobuf(&[field(1, b"x"), Vec::new()]));
    assert_eq!((status, &body[..1], &body[2..4]), (200, &[10][..], &[8, 1][..]));
    let bomb = gzip(&vec![b' '; 17 << 20]);
    let packed = format!("{JSON}\r\nContent-Encoding: gzip");
    for (headers, body, status, why) in [
        (JSON, &b"{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":["[..], 400, "malformed JSON"),
        (JSON, b"[]", 400, "the request is not an object"),
        (PROTOBUF, b"\x0a\xff\xff\xff\xff\x0f", 400, "a field is cut"),
        (&packed, b"\x1f\x8b\x08garbage", 400, "malformed gzip"),
        (&packed, &bomb, 400, "the unpacked body has more than 16777216 bytes"),
        (JSON, &[b' '; (4 << 20) + 1], 413, "more than 4194304 bytes"),
        ("Content-Type: text/plain", b"x", 415, "the content type is neither"),
        (&format!("{JSON}\r\nContent-Encoding: br"), b"x", 415, "encoding is not gzip"),
    ] {
        let answer = post(port, headers, body);
        let text = String::from_utf8_lossy(&answer.2);
        assert_eq!((answer.0, text.contains(why)), (status, true), "{why}: {text}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let answer = ask(&mut stream, &format!("POST /v1/traces HTTP/1.1\r\n{JSON}"), b"{}");
    assert_eq!(answer.0, 404);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert_eq!(ask(&mut stream, "GET /v1/logs HTTP/1.1", b"").0, 405);
    // A page of a browser that a name has led here.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"POST /v1/logs HTTP/1.1\r\nHost: evil.example\r\n\r\n").unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 403");
    // What is longer than a record may be is left out, and counted.
    let long = json!({"body": {"stringValue": "y".repeat(200_000)}, "attributes": [
        {"key": "long", "value": {"stringValue": "z".repeat(300_000)}}]});
    assert_eq!(post(port, JSON, &request(&json!([long]))).0, 200);
    wait_until("all are in the store", || {
        messages(here, "otlp").iter().any(|text| text.starts_with('y'))
    });
    let unseen = "requests refused, whose bodies were too long, too slow or cut: 1";
    wait_until("the long body is told", || messages(here, "otlp").iter().any(|one| one == unseen));
    let found = query(here, "--logger otlp");
    let texts: Vec<&str> = found.iter().filter_map(|one| one["message"].as_str()).collect();
    let rejected = "2 records of a request were rejected: timeUnixNano is not a whole number";
    assert_eq!(texts[..2], ["good", rejected]);
    let refused = texts.iter().filter(|text| text.starts_with("a request was refused: ")).count();
    assert_eq!(refused, 5, "{texts:?}");
    let long =
        found.iter().find(|one| one["message"].as_str().is_some_and(|text| text.starts_with('y')));
    let long = &long.unwrap()["data"];
    assert_eq!((&long["LeftOut"], &long["LeftOutAttributes"]), (&json!(68_928), &json!(1)));
    end(proxy);
    end(central);
}

/// A client that greets by TLS.
fn greet(port: u16, tls: &ClientTls) -> std::io::Result<SocketStream> {
    let addresses = resolve("127.0.0.1", port)?;
    let stream = connect_tcp(addresses, Some(Duration::from_secs(10)))?;
    let stream = SocketStream::tcp(stream);
    stream.greet_tls(tls, "127.0.0.1", Duration::from_secs(10))
}

#[test]
fn syslog_and_opentelemetry_come_by_tls() {
    let folder = folder();
    let here = folder.path();
    let ours = Authority::new(here, "ours");
    let _files = ours.sign("server", &["127.0.0.1"], false);
    let files = ours.sign("client", &[], false);
    let client = ClientTls::load(&ours.file, Some((&files.certificate, &files.key))).unwrap();
    std::fs::write(here.join("token"), "long-enough-token\n").unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(here.join("token"), rights).unwrap();
    let central = start(here, "central --store store --listen ./socket");
    let (syslog, http) = (port(), port());
    let security = "--input-cert server.pem --input-key server.key --input-client-ca ours.pem \
                    --input-token-file token";
    let inputs = format!("-i syslog:tls:127.0.0.1:{syslog} -i otlp:tls:127.0.0.1:{http}");
    let proxy = start_input(here, http, &format!("{inputs} {security}"));
    // More than a round takes, and frames across records of TLS.
    let mut stream = greet(syslog, &client).unwrap();
    let frame = |number: usize| {
        let text = format!("<11>1 - h p 7 - - number {number} {}", "x".repeat(1000));
        format!("{} {text}", text.len())
    };
    let all: String = (0..10_000).map(frame).collect();
    stream.write_all(all.as_bytes()).unwrap();
    stream.write_all(b"9999 <10>half").unwrap();
    stream.flush().unwrap();
    stream.end_writing().unwrap();
    // A client without a certificate, and one that speaks no TLS.
    let nothing = ClientTls::load(&ours.file, None).unwrap();
    let refused = greet(syslog, &nothing).and_then(|mut stream| {
        stream.write_all(b"5 <11>x")?;
        stream.read(&mut [0]).map(drop)
    });
    assert!(refused.is_err());
    let mut plain = TcpStream::connect(("127.0.0.1", syslog)).unwrap();
    plain.write_all(b"5 <11>x\n").unwrap();
    let body = request(&json!([text_record("by TLS")]));
    for (token, status) in [("long-enough-token", 200), ("another-long-token", 401)] {
        let mut stream = greet(http, &client).unwrap();
        let head = format!("POST /v1/logs HTTP/1.1\r\n{JSON}\r\nAuthorization: Bearer {token}");
        assert_eq!(ask(&mut stream, &head, &body).0, status, "{token}");
    }
    wait_until("all are in the store", || query(here, "-l CRITICAL").len() == 1);
    assert_eq!(query(here, "-w number --logger syslog").len(), 10_000);
    wait_until("refusals are told", || {
        let found = query(here, "-l WARNING -w refused");
        let count = |one: &Value| {
            let text = one["message"].as_str().unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        found.iter().map(count).sum::<u64>() == 2
    });
    assert_eq!(messages(here, "otlp"), ["by TLS"]);
    end(proxy);
    end(central);
}

/// A client that knows TLS 1.2 alone.
const OLD_CLIENT: &str = "
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.load_verify_locations('ours.pem')
context.load_cert_chain('client.pem', 'client.key')
context.maximum_version = ssl.TLSVersion.TLSv1_2
stream = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 20)
stream = context.wrap_socket(stream, server_hostname='127.0.0.1')
assert stream.version() == 'TLSv1.2', stream.version()
for number in range(1000):
    text = '<11>1 - h old 7 - - old %d ' % number + 'x' * 1000
    stream.sendall(b'%d %s' % (len(text), text.encode()))
stream.unwrap()
";

#[test]
fn clients_of_tls_1_2_are_taken_if_that_is_asked_for() {
    if !testkit::is_installed("python3", "python3") {
        return;
    }
    let folder = folder();
    let here = folder.path();
    let ours = Authority::new(here, "ours");
    let _files = [ours.sign("server", &["127.0.0.1"], false), ours.sign("client", &[], false)];
    let central = start(here, "central --store store --listen ./socket");
    let security = "--input-cert server.pem --input-key server.key --input-client-ca ours.pem";
    for (option, is_taken) in [("", false), ("--input-tls12", true)] {
        let port = port();
        let input = format!("-i syslog:tls:127.0.0.1:{port} {security} {option}");
        let proxy = start_input(here, port, &input);
        let mut client = Command::new("python3");
        client.args(["-c", OLD_CLIENT, &port.to_string()]).current_dir(here);
        let done = client.output().unwrap();
        assert_eq!(done.status.success(), is_taken, "{done:?}");
        let count = || query(here, "-w old --logger syslog -l ERROR").len();
        if is_taken {
            wait_until("all are in the store", || count() == 1000);
        } else {
            wait_until("the refusal is told", || {
                let told = messages(here, "syslog");
                told.iter().any(|text| text.contains("the other side does not speak TLS 1.3"))
            });
            assert_eq!(count(), 0);
        }
        end(proxy);
    }
    end(central);
}

#[test]
fn inputs_that_are_not_safe_are_refused() {
    let folder = folder();
    let here = folder.path();
    let _files = Authority::new(here, "ours").sign("server", &["127.0.0.1"], false);
    let certificate = "--input-cert server.pem --input-key server.key";
    std::fs::write(here.join("token"), "long-enough-token\n").unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(here.join("token"), rights).unwrap();
    for (wrong, why) in [
        ("-i otlp", "an input is"),
        ("-i otlp:0.0.0.0:0", "other machines reach this address"),
        ("-i otlp:tls:127.0.0.1:0", "needs a certificate and its key"),
        ("-i syslog:tls:127.0.0.1:0", "needs a certificate and its key"),
        (&format!("{certificate} -i otlp:127.0.0.1:0"), "the certificate is for inputs with tls:"),
        (certificate, "the certificate is for inputs with tls:"),
        (&format!("{certificate} -i otlp:tls:0.0.0.0:0"), "a token"),
        ("--input-token-file token -i stdin", "the token is for inputs of otlp:"),
        ("--input-cert server.pem -i syslog:tls:127.0.0.1:0", "--input-key"),
    ] {
        let said = whit(here, &format!("{PROXY} {wrong}"));
        let said = (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned());
        assert!(!said.0 && said.1.contains(why), "{wrong}: {}", said.1);
    }
    let proxy = start(here, &format!("{PROXY} -i otlp:./otlp"));
    wait_until("the socket is there", || here.join("otlp").exists());
    let mut stream = std::os::unix::net::UnixStream::connect(here.join("otlp")).unwrap();
    let head = format!("POST /v1/logs HTTP/1.1\r\n{JSON}");
    assert_eq!(ask(&mut stream, &head, &request(&json!([text_record("by a socket")]))).0, 200);
    end(proxy);
    assert!(!here.join("otlp").exists());
}

/// Clients that only hold places keep nobody out: the one that has sent nothing for the longest time goes,
/// which is told.
#[test]
fn idle_connections_keep_nobody_out() {
    const PLACES: usize = 512;
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < 4096) {
        testkit::skip("idle connections", "this user may not open 4096 files");
        return;
    }
    let current = limit.current.map(|current| current.max(4096));
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let port = port();
    let proxy = start_input(here, port, &format!("-i syslog:tcp:127.0.0.1:{port}"));
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut places: Vec<TcpStream> = (0..PLACES).map(|_| connect()).collect();
    let mut further = connect();
    further.write_all(b"<13>further\n").unwrap();
    wait_until("it is heard, and what it took is told", || {
        let all = messages(here, "syslog");
        all.iter().any(|text| text == "further") && all.iter().any(|text| text.contains("closed"))
    });
    let is_closed = |place: &mut TcpStream| {
        place.set_nonblocking(true).unwrap();
        place.read(&mut [0]).is_ok_and(|bytes| bytes == 0)
    };
    let closed = places.iter_mut().map(is_closed).filter(|is_closed| *is_closed).count();
    assert_eq!(closed, 1);
    end(proxy);
    end(central);
}
