//! Buckets beside the real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use nats::{Bucket, BucketAddress, BucketEntry, NatsAccess, NatsEndpoint, NatsRefusal, PutResult};
use serde_json::{Value, json};
use testkit::NatsServer;

fn named(server: &NatsServer, token: Option<&str>, name: &str) -> Bucket {
    let address = format!("nats://{}/{name}", server.address());
    Bucket::new(&BucketAddress::parse(&address).unwrap(), access(token))
}

fn access(token: Option<&str>) -> NatsAccess {
    NatsAccess { timeout: Duration::from_secs(20), tls: None, token: token.map(str::to_owned) }
}

fn bucket(server: &NatsServer, token: Option<&str>) -> Bucket {
    named(server, token, "of-a_test")
}

#[test]
fn a_key_is_written_by_who_has_seen_its_newest_value() {
    let Some(mut server) = NatsServer::start(None) else { return };
    let [mut one, mut other] = [(); 2].map(|()| bucket(&server, None));
    // The first question makes the bucket, and the second one finds it.
    assert_eq!((one.get("key").unwrap(), other.get("key").unwrap()), (None, None));
    assert_eq!(one.put("key", b"a", 0).unwrap(), PutResult::Done(1));
    assert_eq!(other.put("key", b"b", 0).unwrap(), PutResult::Conflict);
    let entry = BucketEntry { value: b"a".to_vec(), revision: 1 };
    assert_eq!(other.get("key").unwrap(), Some(entry));
    assert_eq!(other.put("key", b"b", 1).unwrap(), PutResult::Done(2));
    assert_eq!(one.put("key", b"c", 1).unwrap(), PutResult::Conflict);
    // Values are on the disk of the server; a connection that has ended is opened again.
    server.start_again();
    assert!(one.get("key").is_err());
    let entry = BucketEntry { value: b"b".to_vec(), revision: 2 };
    assert_eq!(one.get("key").unwrap(), Some(entry));
    assert_eq!(one.put("key", b"c", 2).unwrap(), PutResult::Done(3));
}

#[test]
fn a_server_wants_its_token() {
    let Some(server) = NatsServer::start(Some("secret")) else { return };
    assert_eq!(bucket(&server, Some("secret")).get("key").unwrap(), None);
    let refused = bucket(&server, None).get("key").unwrap_err().to_string();
    assert!(refused.contains("Authorization"), "{refused}");
}

/// Makes the stream of a bucket, as `nats kv add` does, but for some settings.
fn make(server: &NatsServer, name: &str, others: &Value) {
    let mut stream = json!({
        "name": format!("KV_{name}"), "subjects": [format!("$KV.{name}.>")], "storage": "file",
        "retention": "limits", "discard": "new", "max_msgs_per_subject": 5, "num_replicas": 1,
        "allow_rollup_hdrs": true, "deny_delete": true,
    });
    for (key, value) in others.as_object().unwrap() {
        stream[key] = value.clone();
    }
    let address = BucketAddress::parse(&format!("nats://{}/{name}", server.address())).unwrap();
    let mut connection = NatsEndpoint::new(&address.server, access(None)).open().unwrap();
    let made = connection.asked(&format!("$JS.API.STREAM.CREATE.KV_{name}"), &stream).unwrap();
    assert_eq!(made["error"], Value::Null, "{made}");
}

#[test]
fn a_bucket_that_others_made_is_used_as_it_is_or_refused() {
    let Some(server) = NatsServer::start(None) else { return };
    for (name, others) in [("leader", json!({})), ("direct", json!({ "allow_direct": true }))] {
        make(&server, name, &others);
        let [mut one, mut other] = [(); 2].map(|()| named(&server, None, name));
        assert_eq!(one.get("key").unwrap(), None, "{name}");
        assert_eq!(one.put("key", b"a\0", 0).unwrap(), PutResult::Done(1));
        assert_eq!(other.put("key", b"b", 0).unwrap(), PutResult::Conflict);
        assert_eq!(other.put("key", b"", 1).unwrap(), PutResult::Done(2));
        assert_eq!(one.get("key").unwrap(), Some(BucketEntry { value: Vec::new(), revision: 2 }));
        assert_eq!(one.put("key", b"a\0", 2).unwrap(), PutResult::Done(3));
        let entry = BucketEntry { value: b"a\0".to_vec(), revision: 3 };
        assert_eq!(other.get("key").unwrap(), Some(entry));
        assert_eq!(other.get("another").unwrap(), None);
    }
    let memory = json!({ "storage": "memory" });
    let forgets = json!({ "max_age": 90_000_000_000_u64 });
    let endless = json!({ "max_msgs_per_subject": -1 });
    let old = json!({ "discard": "old", "max_bytes": 4096 });
    for (name, others, why) in [
        ("memory", memory, "is in memory"),
        ("forgets", forgets, "forgets values after 90 s"),
        ("endless", endless, "a history of 1"),
        ("old", old, "may drop the newest"),
        ("queue", json!({ "retention": "workqueue" }), "may drop the newest"),
        ("silent", json!({ "no_ack": true }), "without no_ack"),
        ("other", json!({ "subjects": ["of-others"] }), "takes no values itself"),
    ] {
        make(&server, name, &others);
        let mut refused = named(&server, None, name);
        for said in [refused.get("key").unwrap_err(), refused.put("key", b"", 0).unwrap_err()] {
            assert!(said.to_string().contains(&format!("the bucket {name} ")), "{said}");
            assert!(said.to_string().contains(why), "{name}: {said}");
        }
    }
}

/// A server that says `first` when it was greeted, and then `others` again and again.
fn hostile(first: &'static [u8], others: &'static [u8]) -> NatsEndpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // A client that has enough of it closes the connection.
            let _ = stream.write_all(b"INFO {\"headers\":true}\r\n");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(first);
            while stream.write_all(others).is_ok() {}
        }
    });
    let access = NatsAccess { timeout: Duration::from_millis(300), ..access(None) };
    NatsEndpoint::new(&BucketAddress::parse(&address).unwrap().server, access)
}

#[test]
fn a_server_that_says_everything_but_the_answer_is_given_up() {
    let others: [&[u8]; 4] = [
        b"+OK\r\n",
        b"PING\r\n",
        b"MSG whit.logs.a 1 3\r\nabc\r\n",
        b"HMSG whit.logs.a 1 x 12 15\r\nNATS/1.0\r\n\r\nabc\r\n",
    ];
    // Whoever answers each PING may end when nobody reads that.
    let is_it =
        |said: String, others: &[u8]| others == b"PING\r\n" || said.contains("other things");
    for others in others {
        let said = hostile(b"", others).open().unwrap_err().to_string();
        assert!(is_it(said, others));
        let mut connection = hostile(b"PONG\r\n", others).open().unwrap();
        let error = connection.asked("$JS.API.INFO", &json!({})).unwrap_err();
        assert!(matches!(error, NatsRefusal::Later(why) if is_it(why.to_string(), others)));
    }
}
