//! The client with the real daemon: long commands, odd names, a daemon that was restarted.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use rrdclient::{Client, ClientError, CreateRequest, InfoField, TlsFiles};
use testkit::Rrdcached;

const START: i64 = 1_700_000_000;

#[test]
fn the_daemon_is_spoken_to() {
    let folder = tempfile::tempdir().unwrap();
    let Some(daemon) = Rrdcached::start(folder.path()) else { return };
    let address = format!("unix:{}", folder.path().join("socket").display());
    let client = Client::connect(&address, None, &TlsFiles::default()).unwrap();
    client.ping().unwrap();
    let path = folder.path().join("a file with \\ in it.rrd");
    let file = path.to_str().unwrap();
    let definitions = ["DS:a:GAUGE:120:U:U", "RRA:LAST:0.5:1:2000"];
    let request = CreateRequest {
        step_s: Some(60),
        start_s: Some(START),
        keeps_existing: true,
        definitions: &definitions,
        ..CreateRequest::default()
    };
    client.create(file, &request).unwrap();
    let refused = client.create(file, &request).unwrap_err();
    assert!(matches!(refused, ClientError::Refused { .. }), "{refused}");

    // Far more than fits into a command.
    let readings: Vec<String> = (1..=1000).map(|i| format!("{}:{i}", START + i * 60)).collect();
    client.update(file, &readings).unwrap();
    client.flush(file).unwrap();
    let rows = client.fetch(file, "LAST", START + 60, START + 60 * 999).unwrap();
    assert_eq!((rows.names.as_slice(), rows.step_s), (["a".to_owned()].as_slice(), 60));
    assert_eq!(rows.values.iter().filter(|value| !value.is_nan()).count(), rows.values.len());
    assert_eq!(client.last(file).unwrap(), START / 60 * 60 + 60_000);
    let info = client.info(file).unwrap();
    let kind = info.iter().find(|(key, _)| key == "ds[a].type").unwrap();
    assert_eq!(kind.1, InfoField::Text("GAUGE".to_owned()));
    let stats = client.stats().unwrap();
    assert!(stats.contains(&("DataSetsWritten".to_owned(), 1000)), "{stats:?}");
    assert!(client.list("/", false).unwrap().contains(&"a file with \\ in it.rrd".to_owned()));
    // A batch: what is refused is named, what is not is taken.
    let good = [format!("{}:1", START + 61_000), format!("{}:2", START + 61_060)];
    let bad = ["1:1".to_owned()];
    let refused = client.update_batch(&[(file, &good[..]), (file, &bad[..])]).unwrap();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].index, 1, "{refused:?}");
    client.flush(file).unwrap();
    assert_eq!(client.last(file).unwrap(), START + 61_060);
    for broken in ["line\nbreak", "nul\0"] {
        assert!(matches!(client.flush(broken), Err(ClientError::Word(_))));
    }

    // The daemon goes and comes back: one command fails, and the next finds it again.
    drop(daemon);
    assert!(client.ping().is_err());
    let unreachable = client.ping().unwrap_err().to_string();
    assert_eq!(unreachable, "Unable to connect to rrdcached: Connection refused");
    let Some(_daemon) = Rrdcached::start(folder.path()) else { return };
    client.ping().unwrap();
    client.update(file, &[format!("{}:7", START + 70_000)]).unwrap();
    client.forget(file).unwrap();
}

/// A daemon of another machine knows files by other names.
#[test]
fn folders_are_stripped_for_other_machines() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        use std::io::{BufRead as _, Write as _};
        let (stream, _) = listener.accept().unwrap();
        let mut answers = stream.try_clone().unwrap();
        let lines = std::io::BufReader::new(stream).lines();
        lines.map_while(Result::ok).inspect(|_| answers.write_all(b"0 fine\n").unwrap()).collect()
    });
    let client = Client::connect(&address, Some("/var/rrd/"), &TlsFiles::default()).unwrap();
    client.flush("/var/rrd/a/b.rrd").unwrap();
    client.flush("c.rrd").unwrap();
    assert!(matches!(client.flush("/elsewhere/d.rrd"), Err(ClientError::AbsolutePath)));
    assert!(matches!(client.flush("/var/rrdother.rrd"), Err(ClientError::AbsolutePath)));
    drop(client);
    let lines: Vec<String> = server.join().unwrap();
    assert_eq!(lines, ["flush a/b.rrd", "flush c.rrd"]);
}
