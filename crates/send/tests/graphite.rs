//! Graphite's lines, which nobody acknowledges: what counts as sent.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use send::{EngineAddress, SendEvent, SendSettings, Sender};

use crate::deliveries::{few_points, sender_to};
use crate::recorded::{FILES, SAMPLES, record};

#[test]
fn what_a_server_did_not_read_to_its_end_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = record(folder.path(), Path::new("/"), &["cpu"], |_| ());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("graphite={}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut lines = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            match number {
                // It ends with unread lines: the connection is reset.
                0 => stream.read_exact(&mut [0; 10]).unwrap(),
                // It answers, so it is no Graphite.
                1 => stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap(),
                _ => {
                    let mut text = String::new();
                    stream.read_to_string(&mut text).unwrap();
                    let is_last = text.lines().any(|line| line.starts_with("whole "));
                    lines.extend(text.lines().map(str::to_owned));
                    if is_last {
                        return lines;
                    }
                }
            }
        }
        unreachable!("connections come without an end")
    });
    let mut failures = 0;
    let mut sender = sender_to(folder.path(), &to, &few_points());
    let mut tell = |event: SendEvent| match event {
        SendEvent::Waits { failures: more, .. } => failures = more,
        SendEvent::Note(text) => panic!("{text}"),
        SendEvent::GoesOn => {}
    };
    assert!(sender.run(&mut |_| true, &mut tell).unwrap());
    assert_eq!(failures, 2);
    let mut last = std::net::TcpStream::connect(&to["graphite=".len()..]).unwrap();
    last.write_all(b"whole 1 1\n").unwrap();
    drop(last);
    let lines = server.join().unwrap();
    let of = "node_forks_total;instance=vm;job=whit ";
    let of: Vec<&String> = lines.iter().filter(|line| line.starts_with(of)).collect();
    assert_eq!(of.len() as i64, FILES * SAMPLES);
    let is_whole = |line: &&String| {
        let [_, value, seconds] = line.split(' ').collect::<Vec<_>>()[..] else { return false };
        value.parse::<f64>().is_ok() && seconds.parse::<i64>().is_ok()
    };
    assert!(of.iter().all(is_whole), "{of:?}");
}

#[test]
fn an_address_that_is_none_and_a_token_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (to, why) in [("graphite=h:x", "'x' is no port"), ("graphite=[::1", "a ] is missing")] {
        let said = EngineAddress::parse(to).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    let to = EngineAddress::parse("graphite=h").unwrap();
    assert_eq!(
        (to.to_string(), to.cursor_name(send::SendInput::Samples)),
        ("h:2003".into(), "graphite-h-2003".into())
    );
    let token = Some(http_client::header::HeaderValue::from_static("Bearer x"));
    let settings = SendSettings { authorization: token, ..SendSettings::default() };
    let refused = Sender::new(folder.path(), "test", &to, settings).err().unwrap().to_string();
    assert!(refused.contains("graphite takes no token"), "{refused}");
}
