//! Clients that send garbage, leave in the middle, do not read, or are many.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use crate::common::{Client, GAUGE, folder, make, rows, seed, settings, start};
use rrdcached::Acknowledge;
use testkit::Random;

/// Memory of this process in use, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}

#[test]
fn garbage_ends_its_connection_at_most() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut good = Client::connect(&path);
    assert!(good.ask("UPDATE a.rrd 1600000001:1").starts_with("0 errors"));
    let mut chance = Random::from_seed(seed());
    let words: [&[u8]; 14] = [
        b"UPDATE ",
        b"BATCH\n",
        b".\n",
        b"a.rrd ",
        b"1600000002:",
        b"\\",
        b"\0",
        b"\n",
        b"FETCH ",
        b"LIST ",
        b"STATS\n",
        b"CREATE ",
        b"\r\n",
        b"AVERAGE ",
    ];
    let before = resident_kib();
    for _ in 0..60 {
        let Ok(stream) = UnixStream::connect(path.join("socket")) else { panic!("no connection") };
        let mut reader = stream.try_clone().expect("clone");
        let reads = std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while reader.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        let mut writer = stream;
        let mut bytes = Vec::new();
        for _ in 0..chance.below(3000) {
            if chance.below(3) == 0 {
                bytes.extend((0..chance.below(300)).map(|_| chance.below(256) as u8));
            } else {
                bytes.extend_from_slice(words[chance.index(words.len())]);
            }
        }
        // A FORGET would be no garbage.
        let _ = writer.write_all(&bytes);
        let _ = writer.shutdown(std::net::Shutdown::Both);
        reads.join().expect("reader");
    }
    assert!(resident_kib() < before + 60_000, "{} KiB more", resident_kib() - before);
    assert!(good.ask("PENDING a.rrd").contains("1600000001:1\n"));
    server.stop(true);
    assert_eq!(rows(&path.join("base/a.rrd"))[0], (1_600_000_001, 1.0));
}

#[test]
fn a_line_without_end_ends_its_connection() {
    let (_held, path) = folder();
    let server = start(&path, settings(&path), Acknowledge::Os);
    for (length, is_taken) in [(8191, true), (8192, false), (9000, false), (1 << 20, false)] {
        let mut client = Client::connect(&path);
        let _ = client.try_send(&vec![b'A'; length]);
        let _ = client.try_send(b"\n");
        let answer = client.line();
        assert_eq!(!answer.is_empty(), is_taken, "{length}");
    }
    server.stop(true);
}

#[test]
fn a_client_that_leaves_in_the_middle_has_its_whole_lines_taken() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    client
        .send(b"BATCH\nUPDATE a.rrd 1600000001:1\nUPDATE a.rrd 1600000002:2\nUPDATE a.rrd 160000");
    drop(client);
    let mut other = Client::connect(&path);
    let mut pending = String::new();
    testkit::wait_until("two updates", || {
        pending = other.ask("PENDING a.rrd");
        pending.starts_with("2 ")
    });
    assert_eq!(pending, "2 updates pending\n1600000001:1\n1600000002:2\n");
    server.stop(true);
}

#[test]
fn clients_that_do_not_read_hold_up_nobody() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let before = resident_kib();
    let mut slow = Vec::new();
    for _ in 0..16 {
        let client = Client::connect(&path);
        client.stream().set_nonblocking(true).expect("mode");
        let mut stream = client.stream();
        // Each line is answered by much more.
        while stream
            .write(b"FETCH a.rrd LAST 1600000000 1600100000\nHELP\n")
            .is_ok_and(|sent| sent > 0)
        {}
        slow.push(client);
    }
    let mut good = Client::connect(&path);
    for number in 1..=100 {
        let answer = good.ask(&format!("UPDATE a.rrd {}:1", 1_600_000_000 + number));
        assert!(answer.starts_with("0 errors"), "{answer}");
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 200_000, "{grown} KiB more");
    drop(slow);
    server.stop(true);
}

#[test]
fn sixty_four_clients_at_once() {
    const CLIENTS: u64 = 64;
    const UPDATES: u64 = 200;
    let (_held, path) = folder();
    for file in 0..8 {
        make(&path.join(format!("base/{file}.rrd")), GAUGE);
    }
    let server = start(&path, settings(&path), Acknowledge::Os);
    // Half-open connections stay.
    let _idle: Vec<Client> = (0..32).map(|_| Client::connect(&path)).collect();
    let taken = std::sync::Mutex::new(vec![std::collections::BTreeSet::new(); 8]);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (path, taken) = (&path, &taken);
            scope.spawn(move || {
                let mut client = Client::connect(path);
                for update in 0..UPDATES {
                    let file = (number % 8) as usize;
                    let time = 1_600_000_001 + update * CLIENTS + number;
                    let answer = client.ask(&format!("UPDATE {file}.rrd {time}:{number}"));
                    if answer.starts_with("0 errors") {
                        taken.lock().expect("lock")[file].insert(time as i64);
                    } else {
                        // Another client of the file was faster.
                        assert!(answer.starts_with("-1 illegal attempt"), "{answer}");
                    }
                    if update % 50 == 49 {
                        assert!(client.ask(&format!("FLUSH {file}.rrd")).starts_with("0 "));
                    }
                }
            });
        }
    });
    server.stop(true);
    for (file, taken) in taken.into_inner().expect("lock").into_iter().enumerate() {
        let rows = rows(&path.join(format!("base/{file}.rrd")));
        let last = *taken.last().expect("some");
        assert_eq!(rows.last().map(|(time, _)| *time), Some(last));
        assert!(taken.len() >= UPDATES as usize, "{} taken", taken.len());
    }
}

#[test]
fn connections_are_limited() {
    let (_held, path) = folder();
    let mut settings = settings(&path);
    settings.limits.connections = 3;
    let server = start(&path, settings, Acknowledge::Os);
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(&path)).collect();
    for client in &mut clients {
        assert_eq!(client.ask("PING"), "0 PONG\n");
    }
    let mut late = Client::connect(&path);
    assert_eq!(String::from_utf8_lossy(&late.line()), "-1 too many connections\n");
    clients[0].ask("QUIT");
    drop(clients.remove(0));
    // One that has ended is counted a moment longer.
    testkit::wait_for("a place", || {
        let mut next = Client::connect(&path);
        (next.try_send(b"PING\n") && next.line() == b"0 PONG\n").then_some(())
    });
    server.stop(true);
}

#[test]
fn connections_of_one_client_are_limited() {
    let (_held, path) = folder();
    let mut settings = settings(&path);
    settings.limits.connections_of_a_client = 2;
    let server = start(&path, settings, Acknowledge::Os);
    let mut clients: Vec<Client> = (0..2).map(|_| Client::connect(&path)).collect();
    for client in &mut clients {
        assert_eq!(client.ask("PING"), "0 PONG\n");
    }
    let mut late = Client::connect(&path);
    let answer = late.line();
    assert_eq!(String::from_utf8_lossy(&answer), "-1 too many connections of this client\n");
    assert_eq!(clients[0].ask("PING"), "0 PONG\n");
    server.stop(true);
}
