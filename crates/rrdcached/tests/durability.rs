//! Nothing that was acknowledged is lost: `kill -9` under load, a journal cut at every byte, damaged
//! journals, journals of rrdcached.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use crate::common::{Client, GAUGE, Incumbent, folder, make, rows, seed, settings, start};
use rrdcached::Acknowledge;
use testkit::{Deadline, Random, Running, own_test};

/// Names the folder in which this program, started again, is a daemon.
const DAEMON: &str = "WHIT_TEST_DAEMON";
/// How often a daemon is killed: 12 times in a short run, 60 in a long one, 200 before a release.
const KILLS: &str = "WHIT_KILLS";

/// No test: what [`start_process`] runs.
#[test]
fn as_a_daemon() {
    let Some(path) = std::env::var_os(DAEMON).map(PathBuf::from) else { return };
    let mut settings = settings(&path);
    // Files are written, and segments ended and removed, all the time.
    settings.write_seconds = 1;
    settings.crowded_write_seconds = 1;
    settings.scan_seconds = 1;
    let _server = start(&path, settings, Acknowledge::Os);
    loop {
        std::thread::park();
    }
}

/// A daemon in a process of its own.
fn start_process(path: &Path) -> Running {
    let mut command = own_test("durability::as_a_daemon");
    command.env(DAEMON, path).stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = Running::start(&mut command);
    testkit::connect(&path.join("socket"));
    daemon
}

const FILES: usize = 6;
/// The time before the first reading.
const START: u64 = 1_600_000_000;

/// What became of a file's readings: reading `n` is `n` seconds after the start and has the value `n`.
#[derive(Default)]
struct Progress {
    /// Readings that were sent.
    sent: u64,
    acknowledged: BTreeSet<u64>,
}

/// Sends readings until the daemon is gone.
fn load(path: &Path, files: &[usize], progress: &[Mutex<Progress>], batch: u64) {
    let Ok(stream) = UnixStream::connect(path.join("socket")) else { return };
    let mut writer = stream.try_clone().expect("clone");
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
    };
    loop {
        for file in files {
            let first = progress[*file].lock().expect("lock").sent + 1;
            let last = first + batch - 1;
            let mut text = String::new();
            for number in first..=last {
                text.push_str(&format!("UPDATE {file}.rrd {}:{number}\n", START + number));
            }
            if batch > 1 {
                text = format!("BATCH\n{text}.\n");
            }
            progress[*file].lock().expect("lock").sent = last;
            if writer.write_all(text.as_bytes()).is_err() {
                return;
            }
            let answer = if batch > 1 { line().and_then(|_| line()) } else { line() };
            let Some(answer) = answer else { return };
            assert!(answer.starts_with("0 errors"), "{answer}");
            progress[*file].lock().expect("lock").acknowledged.extend(first..=last);
            if batch > 1 {
                // The archive holds all readings of 200 kills.
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// A daemon that is killed at random moments, under load of two clients, never loses a reading that
/// it has acknowledged.
#[test]
#[allow(clippy::print_stderr, reason = "what was tried")]
fn kills_lose_nothing_that_was_acknowledged() {
    let kills = testkit::setting(KILLS, testkit::share(60) as u64);
    let mut chance = Random::from_seed(seed());
    let (_held, path) = folder();
    for file in 0..FILES {
        make(
            &path.join(format!("base/{file}.rrd")),
            &["DS:x:GAUGE:100000:U:U", "RRA:LAST:0:1:2000000"],
        );
    }
    let progress: Vec<Mutex<Progress>> = (0..FILES).map(|_| Mutex::default()).collect();
    for _ in 0..kills {
        let daemon = start_process(&path);
        std::thread::scope(|scope| {
            let (progress, path) = (&progress[..], &path);
            scope.spawn(move || load(path, &[0, 1, 2], progress, 1));
            scope.spawn(move || load(path, &[3, 4, 5], progress, 200));
            // Some are killed while they read the journal of the one before.
            let longest = if chance.below(4) == 0 { 5_000 } else { 300_000 };
            std::thread::sleep(Duration::from_micros(chance.below(longest)));
            daemon.kill();
        });
    }
    let server = start(&path, settings(&path), Acknowledge::Os);
    assert!(Client::connect(&path).ask("PING").contains("PONG"));
    server.stop(true);
    let mut total = 0;
    for (file, progress) in progress.into_iter().enumerate() {
        let Progress { sent, acknowledged } = progress.into_inner().expect("lock");
        let rows = rows(&path.join(format!("base/{file}.rrd")));
        let found: BTreeSet<u64> = rows.iter().map(|(_, value)| *value as u64).collect();
        let lost: Vec<&u64> = acknowledged.difference(&found).take(5).collect();
        assert!(lost.is_empty(), "file {file}: {lost:?} of {} are lost", acknowledged.len());
        // A reading that was sent and not acknowledged may be there, too.
        assert!(found.iter().all(|number| (1..=sent).contains(number)), "file {file}");
        total += acknowledged.len();
    }
    eprintln!("{kills} kills, {total} readings acknowledged, none lost");
    assert!(total > 0);
}

/// A counter of STATS EXT.
fn counter(client: &mut Client, name: &str) -> u64 {
    let stats = client.ask("STATS EXT");
    let value = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.and_then(|value| value.parse().ok()).expect("a counter")
}

/// Daemons that are killed while they read the journal, or write what it held, lose nothing, take
/// updates meanwhile, and leave less for the next one to do.
#[test]
#[allow(clippy::print_stderr, reason = "what was tried")]
fn a_replay_that_is_killed_goes_on() {
    const MANY: u64 = 3000;
    const READINGS: u64 = 20;
    let mut chance = Random::from_seed(seed());
    let (_held, path) = folder();
    let file = |number: u64| path.join(format!("base/{number}.rrd"));
    make(&file(0), &["DS:x:GAUGE:100000:U:U", "RRA:LAST:0:1:100"]);
    for number in 1..MANY {
        std::fs::copy(file(0), file(number)).expect("copy");
    }
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    for reading in 1..=READINGS {
        client.ask("BATCH");
        for number in 0..MANY {
            client.ask(&format!("UPDATE {number}.rrd {}:{reading}", START + reading));
        }
        assert!(client.ask(".").starts_with("0 errors"));
    }
    server.stop(false);
    let written = || (0..MANY).filter(|number| !rows(&file(*number)).is_empty()).count() as u64;
    assert_eq!(written(), 0);
    let mut acknowledged = Vec::new();
    let mut done = Vec::new();
    for round in 1..=12 {
        let daemon = start_process(&path);
        let new = READINGS + round;
        let mut client = Client::connect(&path);
        assert!(client.ask(&format!("UPDATE 0.rrd {}:{new}", START + new)).starts_with("0 errors"));
        acknowledged.push(new as f64);
        if round % 2 == 0 {
            // Answered when the journal has been read: this round writes files.
            client.ask("PENDING 1.rrd");
        }
        std::thread::sleep(Duration::from_micros(chance.below(15_000)));
        daemon.kill();
        done.push(written());
    }
    eprintln!("files written after each kill: {done:?}");
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    client.ask("PENDING 0.rrd");
    let replayed = counter(&mut client, "ReadingsReplayed");
    let count = *done.last().expect("a round");
    // Two writers note 64 files at once as written.
    let least = count.saturating_sub(2 * 64) * READINGS;
    assert!(replayed <= MANY * READINGS + 12 - least, "{replayed} again, of {count} files");
    server.stop(true);
    for number in 0..MANY {
        let values: Vec<f64> = rows(&file(number)).into_iter().map(|(_, value)| value).collect();
        let mut expected: Vec<f64> = (1..=READINGS).map(|reading| reading as f64).collect();
        if number == 0 {
            expected.extend(&acknowledged);
        }
        assert_eq!(values, expected, "file {number}");
    }
}

/// The file of the journal that has blocks.
fn segment(path: &Path) -> PathBuf {
    let entries = std::fs::read_dir(path.join("journal")).expect("journal");
    let files = entries.map(|entry| entry.expect("entry").path());
    files
        .max_by_key(|file| std::fs::metadata(file).map_or(0, |metadata| metadata.len()))
        .expect("a segment")
}

/// What a daemon has that starts with a journal.
fn replayed(from: &Path, journal: &Path, bytes: &[u8]) -> Vec<u8> {
    let (_held, path) = folder();
    std::fs::create_dir(path.join("journal")).expect("journal");
    let target = path.join("journal").join(journal.file_name().expect("name"));
    std::fs::write(&target, bytes).expect("journal");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&target, mode).expect("mode");
    // The journal has the file's own name.
    let mut settings = settings(&path);
    settings.paths = rrdcached::PathRules::new(&from.join("base"), true, false).expect("base");
    let server = start(&path, settings, Acknowledge::Os);
    let answer = Client::connect(&path).ask("PENDING a.rrd");
    drop(server);
    answer.into_bytes()
}

/// A journal of some single updates, each one a block, and where each block ends.
fn journal_of_updates(path: &Path, count: u64) -> (PathBuf, Vec<u8>, Vec<usize>) {
    make(&path.join("base/a.rrd"), GAUGE);
    let server = start(path, settings(path), Acknowledge::Os);
    let mut client = Client::connect(path);
    let mut ends = Vec::new();
    for number in 1..=count {
        let answer = client.ask(&format!("UPDATE a.rrd {}:{number}", START + number));
        assert!(answer.starts_with("0 errors"), "{answer}");
        ends.push(std::fs::read(segment(path)).expect("segment").len());
    }
    let file = segment(path);
    let bytes = std::fs::read(&file).expect("segment");
    server.stop(false);
    (file, bytes, ends)
}

fn pending(count: usize) -> String {
    let lines = (1..=count as u64).map(|number| format!("{}:{number}\n", START + number));
    format!("{count} updates pending\n{}", lines.collect::<String>())
}

#[test]
fn a_journal_that_is_cut_at_any_byte_has_all_before_the_cut() {
    let (_held, path) = folder();
    let (file, bytes, ends) = journal_of_updates(&path, 4);
    for cut in 0..=bytes.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let found = replayed(&path, &file, &bytes[..cut]);
        assert_eq!(String::from_utf8_lossy(&found), pending(whole), "cut at {cut}");
    }
}

/// With `disk` there are zeros after the last block, which are no damage.
#[test]
fn room_after_the_last_block_is_passed_over() {
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let server = start(&path, settings(&path), Acknowledge::Disk);
    let mut client = Client::connect(&path);
    for number in 1..=3 {
        client.ask(&format!("UPDATE a.rrd {}:{number}", START + number));
    }
    let file = segment(&path);
    let bytes = std::fs::read(&file).expect("segment");
    server.stop(false);
    assert!(bytes.len() > 1 << 20 && bytes.ends_with(&[0; 1000]), "{} bytes", bytes.len());
    assert_eq!(rrdcached::count_records(&bytes).expect("a segment"), 4);
    assert_eq!(String::from_utf8_lossy(&replayed(&path, &file, &bytes)), pending(3));
    // A block after zeros, which the disk never had, is found.
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("bytes") + 1;
    let (_held, other) = folder();
    let (_, all, ends) = journal_of_updates(&other, 2);
    let joined = [&bytes[..end + 500], &all[ends[0]..]].concat();
    assert_eq!(rrdcached::count_records(&joined).expect("a segment"), 5);
}

#[test]
fn a_damaged_byte_costs_its_block_only() {
    let (_held, path) = folder();
    let (file, bytes, ends) = journal_of_updates(&path, 5);
    for place in ends[0]..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x40;
        let lost = ends.iter().filter(|end| **end <= place).count();
        let found = String::from_utf8(replayed(&path, &file, &damaged)).expect("text");
        let expected: Vec<String> = pending(5).lines().skip(1).map(str::to_owned).collect();
        let left: Vec<String> = found.lines().skip(1).map(str::to_owned).collect();
        for (number, line) in expected.iter().enumerate().filter(|(number, _)| *number != lost) {
            assert!(left.contains(line), "damaged at {place}: reading {number} is lost: {found}");
        }
    }
}

#[test]
fn journals_of_rrdcached_are_taken_over() {
    if !testkit::is_installed("rrdcached", "rrdcached") {
        return;
    }
    let (_held, path) = folder();
    for name in ["a.rrd", "b.rrd", "c.rrd"] {
        make(&path.join("base").join(name), GAUGE);
    }
    let journal = path.join("journal");
    std::fs::create_dir(&journal).expect("journal");
    let incumbent = Incumbent::start(&path, &["-B", "-j", journal.to_str().expect("name")]);
    let mut client = Client::connect(&path);
    let base = path.join("base");
    for line in [
        "UPDATE a.rrd 1600000001:1 1600000002:2".to_owned(),
        "UPDATE b.rrd 1600000001:7".to_owned(),
        "FLUSH b.rrd".to_owned(),
        "UPDATE b.rrd 1600000002:8".to_owned(),
        "UPDATE c.rrd 1600000001:7".to_owned(),
        "FORGET c.rrd".to_owned(),
        format!("UPDATE {}/a.rrd 1600000003:3", base.display()),
        "UPDATE a.rrd 1600000003:4".to_owned(),
    ] {
        client.ask(&line);
    }
    incumbent.end();
    let server = start(&path, settings(&path), Acknowledge::Os);
    let mut client = Client::connect(&path);
    assert_eq!(client.ask("PENDING a.rrd"), pending(3));
    assert_eq!(client.ask("PENDING b.rrd"), "1 updates pending\n1600000002:8\n");
    assert_eq!(client.ask("PENDING c.rrd"), "0 updates pending\n");
    server.stop(true);
    assert_eq!(rows(&base.join("a.rrd")).len(), 3);
    let left = std::fs::read_dir(&journal)
        .expect("journal")
        .map(|entry| entry.expect("entry").file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("rrd.")).collect();
    assert!(left.is_empty(), "{left:?} stay");
}

#[test]
fn a_foreign_journal_is_refused_and_one_in_use_too() {
    let (_held, path) = folder();
    let journal = path.join("journal");
    std::fs::create_dir(&journal).expect("journal");
    std::fs::write(journal.join("rrd.journal.1"), "update /etc/passwd 1:1\n").expect("file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(journal.join("rrd.journal.1"), mode).expect("mode");
    let refused = rrdcached::Journal::open(&journal).expect_err("foreign").to_string();
    assert!(refused.contains("not this user's alone"), "{refused}");
    std::fs::remove_file(journal.join("rrd.journal.1")).expect("remove");
    let _open = rrdcached::Journal::open(&journal).expect("journal");
    let refused = rrdcached::Journal::open(&journal).expect_err("in use").to_string();
    assert!(refused.contains("another process uses"), "{refused}");
}

/// With `disk` an acknowledged reading is on the disk: checked by the order of system calls.
#[test]
fn an_answer_follows_the_sync_of_its_reading() {
    if !testkit::is_installed("strace", "strace") {
        return;
    }
    let (_held, path) = folder();
    make(&path.join("base/a.rrd"), GAUGE);
    let log = path.join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=pwrite64,fdatasync,write,sendto", "-o"]).arg(&log);
    let daemon = own_test("durability::as_a_daemon_of_disks");
    command.arg(daemon.get_program()).args(daemon.get_args()).env(DAEMON, &path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Running::start(&mut command);
    let deadline = Deadline::default();
    while UnixStream::connect(path.join("socket")).is_err() {
        if let Some(status) = child.try_wait().expect("strace") {
            let mut said = String::new();
            child.stderr.take().expect("pipe").read_to_string(&mut said).expect("text");
            testkit::skip_refused("strace", &format!("{status}: {said}"));
            return;
        }
        assert!(deadline.is_ahead(), "the daemon does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut client = Client::connect(&path);
    assert!(client.ask("UPDATE a.rrd 1600000001:1").starts_with("0 errors"));
    assert!(client.ask("BATCH").starts_with("0 Go"));
    client.ask("UPDATE a.rrd 1600000002:1");
    assert!(client.ask(".").starts_with("0 errors"));
    // strace ends with its child, and does not pass a kill on.
    let pid = std::fs::read_to_string(path.join("pid")).expect("pid");
    let sent = Command::new("kill").args(["-9", pid.trim()]).status();
    assert!(sent.expect("kill").success());
    child.ended();
    let log = std::fs::read_to_string(&log).expect("log");
    let mut synced = true;
    let mut answers = 0;
    for line in log.lines() {
        if line.contains("pwrite64(") && line.contains("rrd") {
            synced = false;
        }
        if line.contains("fdatasync") && !line.contains("unfinished") {
            synced = true;
        }
        if line.contains("0 errors") {
            answers += 1;
            assert!(synced, "answered before the sync:\n{log}");
        }
    }
    assert_eq!(answers, 2, "{log}");
}

/// No test: the daemon of the test above.
#[test]
fn as_a_daemon_of_disks() {
    let Some(path) = std::env::var_os(DAEMON).map(PathBuf::from) else { return };
    std::fs::write(path.join("pid"), std::process::id().to_string()).expect("pid");
    let _server = start(&path, settings(&path), Acknowledge::Disk);
    loop {
        std::thread::park();
    }
}

/// Many clients that wait for the disk share its syncs.
#[test]
fn clients_share_syncs() {
    let (_held, path) = folder();
    for file in 0..8 {
        make(&path.join(format!("base/{file}.rrd")), GAUGE);
    }
    let server = start(&path, settings(&path), Acknowledge::Disk);
    std::thread::scope(|scope| {
        for file in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let mut client = Client::connect(path);
                for number in 1..=50 {
                    let answer =
                        client.ask(&format!("UPDATE {file}.rrd {}:{number}", START + number));
                    assert!(answer.starts_with("0 errors"), "{answer}");
                }
            });
        }
    });
    server.stop(true);
    for file in 0..8 {
        assert_eq!(rows(&path.join(format!("base/{file}.rrd"))).len(), 50);
    }
}
