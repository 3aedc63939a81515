//! What this daemon promises beyond rrdcached: values checked when they come, failed writes kept,
//! names resolved, pending readings seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::common::{
    Client, GAUGE, LocalMachine, folder, make, rows, seed, settings, start, start_with,
};
use rrdcached::{Acknowledge, DaemonWorld};

#[test]
fn a_bad_value_is_refused_and_the_rest_is_written() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    assert_eq!(client.ask("UPDATE a.rrd 1600000001:1"), "0 errors, enqueued 1 value(s).\n");
    assert_eq!(
        client.ask("UPDATE a.rrd 1600000002:abc"),
        format!(
            "-1 {}: Function update_pdp_prep, case DST_GAUGE - Cannot convert 'abc' to float\n",
            file.display()
        )
    );
    assert!(client.ask("UPDATE a.rrd 1600000002:1:2").contains("found extra data"));
    assert!(client.ask("UPDATE a.rrd 1600000002").contains("Cannot find timestamp"));
    assert_eq!(client.ask("UPDATE a.rrd 1600000003:3"), "0 errors, enqueued 1 value(s).\n");
    client.ask("FLUSH a.rrd");
    assert_eq!(rows(&file).last(), Some(&(1_600_000_003, 3.0)));
    server.stop(true);
}

/// A session expects names in the order of the last time; whatever it expects, a line means the file
/// that it names.
#[test]
fn names_in_any_order_mean_their_own_files() {
    let (_held, path) = folder();
    let (names, lines) = (["a", "ab", "a b", "b"], ["a", "ab", "a\\ b", "b"]);
    for name in names {
        make(&path.join("base").join(name), GAUGE);
    }
    let server = start(&path, settings(&path), Acknowledge::Os);
    let (mut client, mut other) = (Client::connect(&path), Client::connect(&path));
    let mut random = seed();
    let mut pending = [const { Vec::new() }; 4];
    for time in 1_600_000_001..1_600_000_301i64 {
        // The usual order, at times from another place, at times another one.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = match (random >> 33) % 4 {
            0 => (random >> 40) % 4,
            _ => time as u64 % 4,
        };
        let (place, command) = (place as usize, ["update", "UPDATE", "Update"][time as usize % 3]);
        let line = format!("{command} {} {time}:{place}", lines[place]);
        assert_eq!(client.ask(&line), "0 errors, enqueued 1 value(s).\n", "{line}");
        pending[place].push(format!("{time}:{place}"));
        if (random >> 50).is_multiple_of(40) {
            assert_eq!(other.ask(&format!("FORGET {}", lines[place])), "0 Gone!\n");
            pending[place].clear();
        }
    }
    for (line, pending) in lines.iter().zip(&pending) {
        let answer = other.ask(&format!("PENDING {line}"));
        assert_eq!(answer.lines().skip(1).collect::<Vec<_>>(), *pending, "{line}");
    }
    for line in
        ["UPDATE a", "UPDATE a ", "UPDATE  1600001000:1", "UPDATE ac 1600001000:1", "UPDATE"]
    {
        assert!(client.ask(line).starts_with("-1 "), "{line}");
    }
    server.stop(true);
}

/// Two gauges in place of one.
const TWO_GAUGES: &[&str] =
    &["DS:x:GAUGE:100000:U:U", "DS:y:GAUGE:100000:U:U", "RRA:LAST:0:1:100000"];

/// Puts a new file in the place of another, as `rrdtool restore` and editors do.
fn replace(file: &std::path::Path, definitions: &[&str]) {
    let new = file.with_extension("new");
    make(&new, definitions);
    std::fs::rename(&new, file).expect("rename");
}

#[test]
fn a_reading_is_not_refused_because_of_a_file_that_was_replaced() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    assert_eq!(client.ask("UPDATE a.rrd 1600000009:1"), "0 errors, enqueued 1 value(s).\n");
    assert!(client.ask("FLUSH a.rrd").starts_with("0 Successfully"));
    // More sources, and nothing later than its start: values and times of before count no more.
    replace(&file, TWO_GAUGES);
    let answer = client.ask("UPDATE a.rrd 1600000001:1:2 1600000002:3:4");
    assert_eq!(answer, "0 errors, enqueued 2 value(s).\n");
    assert!(client.ask("UPDATE a.rrd 1600000002:5:6").contains("illegal attempt to update"));
    assert!(client.ask("UPDATE a.rrd 1600000003:5").contains("expected 2 data source readings"));
    assert_eq!(client.ask("LAST a.rrd"), "0 1600000002\n");
    assert!(client.ask("FLUSH a.rrd").starts_with("0 Successfully"));
    assert_eq!(rows(&file), [(1_600_000_001, 1.0), (1_600_000_002, 3.0)]);
    // The readings before a refused one are kept, and their number is that of the whole line.
    replace(&file, GAUGE);
    client.ask("UPDATE a.rrd 1600000001:7");
    replace(&file, TWO_GAUGES);
    client.ask("BATCH");
    for line in ["UPDATE a.rrd 1600000004:1:2", "UPDATE a.rrd 1600000005:1:2"] {
        client.ask(line);
    }
    assert_eq!(client.ask("."), "0 errors\n");
    server.stop(true);
}

#[test]
fn a_source_that_was_tuned_takes_what_it_takes_now() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, &["DS:x:COUNTER:100000:U:U", "RRA:LAST:0:1:100000"]);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    assert!(client.ask("UPDATE a.rrd 1600000001:1.5").contains("not a simple unsigned integer"));
    let before = std::fs::metadata(&file).expect("file").modified().expect("time");
    let mut image = std::fs::read(&file).expect("file");
    // In place, as `rrdtool tune -d x:GAUGE` does.
    let kind = image.windows(7).position(|bytes| bytes == b"COUNTER").expect("a kind");
    image[kind..kind + 7].copy_from_slice(b"GAUGE\0\0");
    testkit::wait_until("the clock of files goes on", || {
        std::fs::write(&file, &image).expect("file");
        std::fs::metadata(&file).expect("file").modified().expect("time") != before
    });
    assert_eq!(client.ask("UPDATE a.rrd 1600000001:1.5"), "0 errors, enqueued 1 value(s).\n");
    server.stop(true);
    assert_eq!(rows(&file), [(1_600_000_001, 1.5)]);
}

#[test]
fn a_flush_says_that_the_file_refuses_a_reading() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    assert_eq!(client.ask("UPDATE a.rrd 1600000005:1"), "0 errors, enqueued 1 value(s).\n");
    replace(&file, TWO_GAUGES);
    let answer = client.ask("FLUSH a.rrd");
    assert!(answer.starts_with("-1 ") && answer.contains("1600000005:1 is dropped"), "{answer}");
    // What was dropped is not the last one.
    assert_eq!(client.ask("LAST a.rrd"), "0 1600000000\n");
    assert_eq!(client.ask("UPDATE a.rrd 1600000001:1:2"), "0 errors, enqueued 1 value(s).\n");
    assert!(client.ask("FLUSH a.rrd").starts_with("0 Successfully"));
    assert_eq!(rows(&file), [(1_600_000_001, 1.0)]);
    server.stop(true);
}

#[test]
fn the_last_time_is_that_of_the_file_that_is_there() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    client.ask("UPDATE a.rrd 1600000005:1");
    client.ask("FLUSH a.rrd");
    assert_eq!(client.ask("LAST a.rrd"), "0 1600000005\n");
    replace(&file, GAUGE);
    assert_eq!(client.ask("LAST a.rrd"), "0 1600000000\n");
    // What waits counts.
    client.ask("UPDATE a.rrd 1600000003:1");
    replace(&file, TWO_GAUGES);
    assert_eq!(client.ask("LAST a.rrd"), "0 1600000003\n");
    server.stop(true);
}

#[test]
fn pending_readings_are_seen_without_a_write() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, GAUGE);
    let before = std::fs::read(&file).expect("file");
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    client.ask("UPDATE a.rrd 1600000001:5 1600000002:6");
    let fetched = client.ask("FETCH a.rrd LAST 1600000000 1600000002");
    assert!(fetched.contains("1600000002: 6.00000000000000000e+00\n"), "{fetched}");
    assert!(client.ask("INFO a.rrd").contains("last_update 1 1600000002\n"));
    assert_eq!(client.ask("LAST a.rrd"), "0 1600000002\n");
    assert!(client.ask("PENDING a.rrd").starts_with("2 updates pending\n"));
    assert_eq!(std::fs::read(&file).expect("file"), before);
    server.stop(true);
    assert_eq!(rows(&file).len(), 2);
}

#[test]
fn a_write_that_fails_is_kept_and_done_later() {
    let (_held, path) = folder();
    let file = path.join("base/a.rrd");
    make(&file, GAUGE);
    let world = LocalMachine::default();
    let server = start_with(&path, settings(&path), Acknowledge::Os, world.clone());
    let mut client = Client::connect(&path);
    client.ask("UPDATE a.rrd 1600000001:5");
    let away = path.join("away");
    std::fs::rename(&file, &away).expect("rename");
    let refused = client.ask("FLUSH a.rrd");
    assert!(refused.starts_with("-1 ") && refused.contains("No such file"), "{refused}");
    assert!(client.ask("PENDING a.rrd").starts_with("1 updates pending\n"));
    assert!(client.ask("STATS EXT").contains("WriteErrors: 1\n"));
    assert!(world.0.lock().expect("log").iter().any(|text| text.contains("1 readings are kept")));
    std::fs::rename(&away, &file).expect("rename");
    assert!(client.ask("FLUSH a.rrd").starts_with("0 Successfully flushed"));
    assert_eq!(rows(&file), [(1_600_000_001, 5.0)]);
    server.stop(true);
}

#[test]
fn links_that_lead_out_of_the_base_folder_are_refused_by_every_command() {
    let (_held, path) = folder();
    make(&path.join("outside.rrd"), GAUGE);
    make(&path.join("base/inside.rrd"), GAUGE);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(path.join(target), path.join("base").join(name)).expect("link");
    };
    link("outside.rrd", "out.rrd");
    link("base/inside.rrd", "in.rrd");
    link("", "up");
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    for name in ["out.rrd", "up/outside.rrd"] {
        for line in [
            format!("UPDATE {name} 1600000001:1"),
            format!("FLUSH {name}"),
            format!("PENDING {name}"),
            format!("FORGET {name}"),
            format!("FETCH {name} LAST 0"),
            format!("FETCHBIN {name} LAST 0"),
            format!("INFO {name}"),
            format!("FIRST {name} 0"),
            format!("LAST {name}"),
            format!("SUSPEND {name}"),
            format!("RESUME {name}"),
            format!("TUNE {name} 2 -h x:5"),
            format!("DUMP {name}"),
            format!("CREATE {name} {}", GAUGE.join(" ")),
            format!("CREATE inside.rrd -r {name} {}", GAUGE.join(" ")),
            format!("CREATE inside.rrd -t {name} {}", GAUGE.join(" ")),
        ] {
            let answer = client.ask(&line);
            assert!(
                answer.starts_with("-1 ") && answer.contains("Permission denied"),
                "{line}: {answer}"
            );
        }
    }
    assert!(client.ask("LIST /up").contains("Permission denied"));
    // Links that lead out of the folder are not shown, those within are.
    std::fs::create_dir(path.join("base/sub")).expect("folder");
    std::os::unix::fs::symlink("../inside.rrd", path.join("base/sub/also.rrd")).expect("link");
    std::fs::write(path.join("base/text"), "").expect("file");
    for (line, expected) in [
        ("LIST /", vec!["in.rrd", "inside.rrd", "sub"]),
        ("LIST RECURSIVE /", vec!["in.rrd", "inside.rrd", "sub/also.rrd"]),
    ] {
        let answer = client.ask(line);
        let mut names: Vec<&str> = answer.lines().skip(1).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{line}");
    }
    assert!(client.ask("LIST /text").contains("Not a directory"));
    let create = client.ask(&format!("CREATE up/new/x.rrd {}", GAUGE.join(" ")));
    assert!(create.contains("Permission denied"), "{create}");
    assert!(!path.join("new").exists());
    // A link within the folder is another name of the same file.
    client.ask("UPDATE in.rrd 1600000001:1");
    assert!(client.ask("PENDING inside.rrd").starts_with("1 updates pending\n"));
    server.stop(true);
}

#[test]
fn a_full_memory_makes_clients_wait_and_loses_nothing() {
    let (_held, path) = folder();
    for number in 0..4 {
        make(&path.join(format!("base/{number}.rrd")), GAUGE);
    }
    let mut settings = settings(&path);
    settings.limits.memory_bytes = 20_000;
    let server = start(&path, settings, Acknowledge::Os);
    let mut client = Client::connect(&path);
    client.ask("BATCH");
    for time in 0..4000 {
        for number in 0..4 {
            client
                .send(format!("UPDATE {number}.rrd {}:{time}\n", 1_600_000_001 + time).as_bytes());
        }
    }
    assert_eq!(client.ask("."), "0 errors\n");
    let waits = client.ask("STATS EXT");
    assert!(!waits.contains("MemoryWaits: 0\n"), "{waits}");
    server.stop(true);
    for number in 0..4 {
        assert_eq!(rows(&path.join(format!("base/{number}.rrd"))).len(), 4000);
    }
}

#[test]
fn old_segments_of_the_journal_go_although_a_file_is_suspended() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    make(&path.join("base/b.rrd"), GAUGE);
    let mut often = settings(&path);
    often.scan_seconds = 1;
    let server = start(&path, often, Acknowledge::Os);
    let mut client = Client::connect(&path);
    client.ask("UPDATE a.rrd 1600000001:5 1600000002:6");
    client.ask("SUSPEND a.rrd");
    let segments = || {
        let entries = std::fs::read_dir(path.join("journal")).expect("journal");
        let names = entries.map(|entry| entry.expect("entry").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| !name.ends_with(".lock")).collect();
        names.sort();
        names
    };
    let first = segments();
    testkit::wait_until("the first segment goes", || !segments().contains(&first[0]));
    assert!(segments().len() < 5, "{:?}", segments());
    client.ask("UPDATE a.rrd 1600000003:7");
    server.stop(false);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let pending = Client::connect(&path).ask("PENDING a.rrd");
    assert_eq!(pending, "3 updates pending\n1600000001:5\n1600000002:6\n1600000003:7\n");
    server.stop(true);
}

#[test]
fn commands_of_newer_versions() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    client.ask("UPDATE a.rrd 1600000001:5");
    assert_eq!(client.ask("TUNE a.rrd 2 --heartbeat x:77"), "0 Success\n");
    assert!(client.ask("INFO a.rrd").contains("ds[x].minimal_heartbeat 1 77\n"));
    assert!(client.ask("TUNE a.rrd 3 --heartbeat x:77").starts_with("-1 Usage: TUNE"));
    assert!(client.ask("TUNE a.rrd 2 --heartbeat y:77").starts_with("-1 RRD Error: "));
    client.send(b"DUMP a.rrd\n");
    let mut dump = Vec::new();
    loop {
        let line = client.line();
        if line.is_empty() {
            break;
        }
        dump.extend(line);
    }
    let dump = String::from_utf8(dump).expect("text");
    assert!(dump.starts_with("<?xml") && dump.trim_end().ends_with("</rrd>"), "{dump}");
    server.stop(true);
}

/// A clock that the test sets.
struct Clock(Arc<AtomicI64>);

impl DaemonWorld for Clock {
    fn now(&self) -> rrd::header::Time {
        rrd::header::Time { seconds: self.0.load(Ordering::Acquire), microseconds: 0 }
    }

    fn log(&self, _: bool, _: &str) {}

    fn boot(&self) -> String {
        String::new()
    }

    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }
}

/// Updates of ten hours, a step of five minutes each, by a simulated clock: the number of times that
/// files are written.
fn writes_of_ten_hours(write_seconds: i64, memory_bytes: u64) -> u64 {
    const FILES: u64 = 10;
    let (_held, path) = folder();
    for file in 0..FILES {
        make(&path.join(format!("base/{file}.rrd")), GAUGE);
    }
    let mut settings = settings(&path);
    settings.write_seconds = write_seconds;
    settings.crowded_write_seconds = 300;
    settings.limits.memory_bytes = memory_bytes;
    let now = Arc::new(AtomicI64::new(1_600_000_000));
    let server = start_with(&path, settings, Acknowledge::Os, Clock(Arc::clone(&now)));
    let mut client = Client::connect(&path);
    for step in 1..=120 {
        now.store(1_600_000_000 + 300 * step, Ordering::Release);
        for file in 0..FILES {
            client.ask(&format!("UPDATE {file}.rrd {}:1", 1_600_000_000 + 300 * step));
        }
        // What is queued is written before the next step.
        while !client.ask("STATS").contains("QueueLength: 0\n") {
            std::thread::yield_now();
        }
    }
    let stats = client.ask("STATS");
    server.stop(true);
    for file in 0..FILES {
        assert_eq!(rows(&path.join(format!("base/{file}.rrd"))).len(), 120 * 300);
    }
    let line = stats.lines().find_map(|line| line.strip_prefix("UpdatesWritten: "));
    line.and_then(|count| count.parse().ok()).expect("a counter")
}

/// A file is written once for many readings; more often when memory is full.
#[test]
fn files_are_written_for_an_hour_of_readings() {
    let direct = 10 * 120;
    let hourly = writes_of_ten_hours(3600, 1 << 30);
    // The clock may go on while a file is written, and the next write is later then.
    assert!((7 * 10..=direct / 12).contains(&hourly), "{hourly}");
    let often = writes_of_ten_hours(300, 1 << 30);
    assert!(often > direct / 3, "{often}");
    // Ten files alone use more than half of it.
    let crowded = writes_of_ten_hours(3600, 8 << 10);
    assert!(crowded > direct / 3, "{crowded}");
}
