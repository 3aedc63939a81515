//! Buckets beside the real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use nats::{Bucket, BucketAddress, BucketEntry, NatsAccess, Put};
use testkit::NatsServer;

fn bucket(server: &NatsServer, token: Option<&str>) -> Bucket {
    let address = format!("nats://{}/of-a_test", server.address());
    let token = token.map(str::to_owned);
    let access = NatsAccess { timeout: Duration::from_secs(20), tls: None, token };
    Bucket::new(&BucketAddress::parse(&address).unwrap(), access)
}

#[test]
fn a_key_is_written_by_who_has_seen_its_newest_value() {
    let Some(mut server) = NatsServer::start(None) else { return };
    let [mut one, mut other] = [(); 2].map(|()| bucket(&server, None));
    // The first question makes the bucket, and the second one finds it.
    assert_eq!((one.get("key").unwrap(), other.get("key").unwrap()), (None, None));
    assert_eq!(one.put("key", b"a", 0).unwrap(), Put::Done(1));
    assert_eq!(other.put("key", b"b", 0).unwrap(), Put::Conflict);
    let entry = BucketEntry { value: b"a".to_vec(), revision: 1 };
    assert_eq!(other.get("key").unwrap(), Some(entry));
    assert_eq!(other.put("key", b"b", 1).unwrap(), Put::Done(2));
    assert_eq!(one.put("key", b"c", 1).unwrap(), Put::Conflict);
    // Values are on the disk of the server; a connection that has ended is opened again.
    server.start_again();
    assert!(one.get("key").is_err());
    let entry = BucketEntry { value: b"b".to_vec(), revision: 2 };
    assert_eq!(one.get("key").unwrap(), Some(entry));
    assert_eq!(one.put("key", b"c", 2).unwrap(), Put::Done(3));
}

#[test]
fn a_server_wants_its_token() {
    let Some(server) = NatsServer::start(Some("secret")) else { return };
    assert_eq!(bucket(&server, Some("secret")).get("key").unwrap(), None);
    let refused = bucket(&server, None).get("key").unwrap_err().to_string();
    assert!(refused.contains("Authorization"), "{refused}");
}
