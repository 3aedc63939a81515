//! Programs, web hooks and system logs, which get a message with hostile names.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use alert::{AlertDeliverer, AlertReceiver};
use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use super::message;

fn patient() -> AlertDeliverer {
    AlertDeliverer { time: testkit::PATIENCE, ..AlertDeliverer::default() }
}

#[test]
fn a_message_says_what_and_where_and_is_safe_to_show() {
    let message = message();
    for wanted in [
        "hot begins on h, 2026-09-21 14:13:20 UTC\n",
        "value 9, since 2026-09-21 14:13:20 UTC, device=a\\r\\nBcc: b@c\\r\\n.",
        "rule: x > 5\n",
        "  9 %  burn (7)\n",
        "http://h:9797/?host=h&from=1789998200000&thru=1790001800000&at=1790000000000\n",
    ] {
        assert!(message.text.contains(wanted), "{}", message.text);
    }
    assert!(!message.text.contains(['\r', '\u{1b}', '\u{202e}']), "{}", message.text);
    assert_eq!(message.subject, "hot begins on h");
}

#[test]
fn a_program_gets_the_message_and_no_shell_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let (program, out) = (folder.path().join("tell me"), folder.path().join("out"));
    let text = format!(
        "#!/bin/sh\ncat > '{0}'\necho \"$#$WHIT_ALERT_STATE $WHIT_ALERT_NAME\" >> '{0}'\n\
         printf %s \"$WHIT_ALERT_JSON\" > '{0}.json'\n",
        out.display()
    );
    testkit::write_program(&program, &text).unwrap();
    patient().deliver(&format!("command:{}", program.display()), &message()).unwrap();
    let said = std::fs::read_to_string(&out).unwrap();
    assert_eq!(said, format!("{}0begins hot\n", message().text));
    let json = std::fs::read_to_string(out.with_extension("json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), message().details);
}

#[test]
fn a_program_that_fails_or_does_not_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tell");
    let deliver = |text: &str, deliverer: &AlertDeliverer| {
        testkit::write_program(&program, text).unwrap();
        let to = format!("command:{}", program.display());
        deliverer.deliver(&to, &message()).unwrap_err().to_string()
    };
    let said = deliver("#!/bin/sh\necho 'it \u{1b}[2Jbroke' >&2; exit 3\n", &patient());
    assert!(said.contains("exit status: 3: it \\x1b[2Jbroke"), "{said}");
    // It is killed with what it has started, however much it says.
    let marker = folder.path().join("pid");
    let text = format!("#!/bin/sh\nyes >&2 & echo $! > '{}'\nwait\n", marker.display());
    let brief = AlertDeliverer { time: Duration::from_millis(300), ..AlertDeliverer::default() };
    let said = deliver(&text, &brief);
    assert!(said.contains("did not end within 0 s"), "{said}");
    if let Ok(pid) = std::fs::read_to_string(marker) {
        let comm = format!("/proc/{}/comm", pid.trim());
        testkit::wait_until("the end of what it started", || {
            std::fs::read_to_string(&comm).is_ok_and(|name| name != "yes\n")
                || !std::path::Path::new(&comm).exists()
        });
    }
    let said = patient().deliver("command:/nowhere/x", &message()).unwrap_err();
    assert_eq!(said.to_string(), "cannot start /nowhere/x");
}

/// Answers one request with a status, and gives back what it was sent.
fn hook(status: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("webhook:http://{}/a?b=c", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
        let is_whole = |heard: &[u8]| {
            let text = String::from_utf8_lossy(heard).into_owned();
            text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                let length = head.to_lowercase();
                let length = length.split("content-length: ").nth(1).unwrap().lines().next();
                body.len() >= length.unwrap().parse().unwrap()
            })
        };
        while !is_whole(&heard) {
            let count = stream.read(&mut bytes).unwrap();
            heard.extend_from_slice(&bytes[..count]);
        }
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
        String::from_utf8(heard).unwrap()
    });
    (url, thread)
}

#[test]
fn a_picture_has_the_value_of_its_moment() {
    let mut storage = super::storage(&[(1_790_000_000, 9.0)]);
    // The first sample, less than a second ago.
    storage.series[0].samples[0].time_ms += 400;
    let mut book = alert::AlertBook::new(vec![super::rule("syslog")]);
    let around = alert::AlertSurroundings::of(&storage, &calendar::UTC);
    assert!(book.step(1_790_000_000_500, &around));
    assert!(book.next("syslog:/dev/log").unwrap().message.picture.is_some());
}

#[test]
fn a_web_hook_gets_json() {
    let (to, server) = hook("204 No Content");
    patient().deliver(&to, &message()).unwrap();
    let heard = server.join().unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
    let mut body: Value = serde_json::from_str(body).unwrap();
    let picture = body.as_object_mut().unwrap().remove("picture").unwrap();
    assert_eq!(body, message().details);
    assert_eq!(body["log"][0], "a record from 1789999940000 to 1790000000000");
    assert!(
        body["text"]
            .as_str()
            .unwrap()
            .contains("\n  a record from 1789999940000 to 1790000000000\n"),
        "{body}"
    );
    let png = Base64::decode_vec(picture["base64"].as_str().unwrap()).unwrap();
    assert_eq!((&picture["type"], png), (&"image/png".into(), message().picture.unwrap().png));
    assert_eq!(body["instances"][0]["labels"]["device"], super::HOSTILE);
    let (to, server) = hook("503 Busy");
    let said = patient().deliver(&to, &message()).unwrap_err().to_string();
    assert_eq!(said, "the server answers with status 503");
    server.join().unwrap();
    let mut with_token = patient();
    with_token.webhook.token_file = Some("/nowhere".into());
    let said = with_token.deliver("webhook:http://example.invalid/", &message()).unwrap_err();
    assert!(said.to_string().contains("only to https"), "{said}");
}

#[test]
fn logs_of_the_system_get_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let socket = UnixDatagram::bind(&path).unwrap();
    patient().deliver(&format!("syslog:{}", path.display()), &message()).unwrap();
    let mut bytes = [0; 4096];
    let count = socket.recv(&mut bytes).unwrap();
    let line = std::str::from_utf8(&bytes[..count]).unwrap();
    let head = format!("<28>whit[{}]: hot begins on h, ", std::process::id());
    assert!(line.starts_with(&head) && !line.contains(char::is_control), "{line:?}");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = format!("syslog:{}", socket.local_addr().unwrap());
    patient().deliver(&to, &message()).unwrap();
    let count = socket.recv(&mut bytes).unwrap();
    let line = std::str::from_utf8(&bytes[..count]).unwrap();
    assert!(line.starts_with("<28>1 2026-09-21T14:13:20.000Z - whit "), "{line:?}");
    drop(AlertReceiver::parse(&to).unwrap());
    let said = patient().deliver("syslog:/nowhere/log", &message()).unwrap_err();
    assert_eq!(said.to_string(), "cannot send to /nowhere/log");
}
