//! The service killed at random moments, and asked by many pages at once.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Random, wait_for, wait_until};

use super::{Place, place};
use crate::{log_common, whit};

/// A command of rrdcached, and its answer.
fn cached(socket: &Path, command: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(testkit::PATIENCE)).ok()?;
    stream.write_all(command.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.starts_with("0 ").then_some(line)
}

/// A service with everything that acknowledges.
struct Target {
    place: Place,
    socket: PathBuf,
    /// The newest update that was acknowledged, and log records that were written.
    updated: u64,
    logged: u64,
}

impl Target {
    fn new(folder: &Path) -> Self {
        let place = place(folder);
        let socket = place.file("rrd.sock");
        let (central, rings) = (place.file("log.sock"), place.file("rings"));
        place.configure(&format!(
            "[rrdcached]\nenabled = true\nlisten = [\"{}\"]\nwrite = \"60m\"\n\
             [log.central]\nenabled = true\nlisten = [\"{1}\"]\nstore = \"store\"\n\
             [log.proxy]\nenabled = true\ncentral = \"{1}\"\nfolders = [\"{2}\"]\n",
            socket.display(),
            central.display(),
            rings.display()
        ));
        fs::create_dir(rings).unwrap();
        fs::create_dir_all(place.file("data/rrd")).unwrap();
        let mut create = whit();
        create.args(["rrd", "create"]).arg(place.file("data/rrd/a.rrd"));
        let words =
            ["--start", "1790000000", "--step", "1", "DS:x:GAUGE:9:U:U", "RRA:LAST:0.5:1:9999"];
        assert!(create.args(words).status().unwrap().success());
        Target { place, socket, updated: 1_790_000_000, logged: 0 }
    }

    /// Lines of all recordings, and what is said of them.  A rate has two samples: a recording of one
    /// has no line.
    fn samples(&self) -> (usize, String) {
        let mut all = self.place.recordings();
        all.sort();
        let played = whit().args(["play", "-sm", "--csv"]).args(all).output().unwrap();
        let lines = played.stdout.iter().filter(|byte| **byte == b'\n').count();
        (lines, String::from_utf8(played.stderr).unwrap())
    }

    /// Looks whether the updates that were acknowledged are there; the one that was on its way may be
    /// there, too.
    fn check_updates(&mut self) {
        let last = wait_for("the daemon", || cached(&self.socket, "LAST a.rrd\n"));
        let last: u64 = last.trim().trim_start_matches("0 ").parse().unwrap();
        let expected = self.updated..=self.updated + 1;
        assert!(expected.contains(&last), "{last}, not {expected:?}");
        self.updated = last;
    }

    fn update(&mut self, count: u64) {
        for _ in 0..count {
            let update = format!("UPDATE a.rrd {}:1\n", self.updated + 1);
            assert!(cached(&self.socket, &update).is_some(), "{update}");
            self.updated += 1;
        }
        // One that is not waited for.
        if let Ok(mut stream) = UnixStream::connect(&self.socket) {
            let _ = stream.write_all(format!("UPDATE a.rrd {}:1\n", self.updated + 1).as_bytes());
        }
    }

    fn log(&mut self) {
        log_common::write(&self.place.file("rings"));
        self.logged += 5;
    }

    /// Records in the store.
    fn stored(&self) -> u64 {
        let counted = log_common::whit(&self.place.0, "query data/store --count");
        log_common::text(&counted).trim().parse().unwrap_or(0)
    }

    fn parts(&self) -> Vec<i32> {
        let names = ["record", "rrdcached", "page", "log.central", "log.proxy", "alerts"];
        names.iter().filter_map(|name| self.place.pid(name)).collect()
    }
}

#[test]
fn a_service_that_is_killed_at_random_moments_keeps_what_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut target = Target::new(folder.path());
    let mut random = Random::from_seed(testkit::seed(2404));
    for round in 0..testkit::share(50) {
        let service = target.place.start();
        // Some are killed while they start.
        if random.below(4) > 0 {
            target.check_updates();
            let before = target.samples().0;
            wait_until("more samples", || target.samples().0 > before);
            target.update(random.below(20));
        }
        target.log();
        let (shown, parts) = (target.samples().0, target.parts());
        // At once: its parts must end by themselves; or with all of them.
        let is_alone = round % 2 == 0;
        for pid in parts.iter().filter(|_| !is_alone) {
            // SAFETY: no pointers; the service, which may have started it anew, waits for its parts.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        service.kill();
        let runs = |pid: &i32| Path::new(&format!("/proc/{pid}")).exists();
        wait_until("the end of its parts", || !parts.iter().any(runs));
        let (now, said) = target.samples();
        assert!(now >= shown, "{now} samples of {shown}");
        assert_eq!(said, "", "the recordings are whole");
    }
    let mut service = target.place.start();
    target.check_updates();
    wait_until("every log record", || target.stored() >= target.logged);
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", target.place.said());
    assert_eq!(target.stored(), target.logged, "each of them once");
    let verified = log_common::whit(&target.place.0, "verify data/store");
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn two_hundred_pages_at_once_get_their_samples_and_the_recorder_misses_none_for_it() {
    const PAGES: usize = 200;
    const EVENTS: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let text = fs::read_to_string(place.file("whit.toml")).unwrap();
    let text = text.replace("0.05:0.05:60", "0.5:0.5:60").replace("\"cmZ\"", "\"cm,whit\"");
    fs::write(place.file("whit.toml"), text).unwrap();
    let mut service = place.start();
    let address = place.address();
    place.grows();
    let mut pages: Vec<BufReader<TcpStream>> = (0..PAGES)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(testkit::PATIENCE)).unwrap();
            let asked = b"GET /api/whit/v1/live?id=cpu HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(asked).unwrap();
            BufReader::new(stream)
        })
        .collect();
    let mut event = |page: usize| loop {
        let mut line = String::new();
        assert!(pages[page].read_line(&mut line).unwrap() > 0, "page {page} was ended");
        if let Some(text) = line.strip_prefix("data: ") {
            let sample: Value = serde_json::from_str(text).unwrap();
            break sample["at_ms"].as_i64().unwrap();
        }
    };
    let mut newest = [0; PAGES];
    for _ in 0..EVENTS {
        for (page, newest) in newest.iter_mut().enumerate() {
            let at_ms = event(page);
            assert!(at_ms > *newest, "page {page}: {at_ms} after {newest}");
            *newest = at_ms;
        }
    }
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
    // A machine that is busy with other things may be late now and then.
    let played =
        whit().args(["play", "-s", "whit", "--json"]).args(place.recordings()).output().unwrap();
    let played = String::from_utf8(played.stdout).unwrap();
    let samples: Vec<Value> =
        played.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let missed = |sample: &Value| {
        sample["sources"]["whit"]["ticks_missed"].as_f64().unwrap()
            * sample["seconds"].as_f64().unwrap()
    };
    let missed: f64 = samples.iter().map(missed).sum();
    assert!(samples.len() >= EVENTS, "{played}");
    assert!(missed * 5.0 <= samples.len() as f64, "{missed} of {} ticks missed", samples.len());
}
