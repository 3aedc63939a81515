//! The caching daemon: what clients send, and journals.

use std::sync::{Arc, LazyLock};

use rrd::header::Time;
use rrdcached::protocol::Permissions;
use rrdcached::{
    Acknowledge, CachingDaemon, ClientSession, DaemonSettings, DaemonWorld, Limits, NextStep,
    PathRules, count_records,
};

struct Still;

impl DaemonWorld for Still {
    fn now(&self) -> Time {
        Time::of_seconds(1_700_000_000)
    }

    fn log(&self, _: bool, _: &str) {}

    fn boot(&self) -> String {
        String::new()
    }

    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }
}

/// A daemon with a file, `a.rrd`, in a folder that lives as long as this process.
static DAEMON: LazyLock<Arc<CachingDaemon>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let folder = folder.canonicalize().expect("its name");
    let definitions = ["DS:x:GAUGE:600:U:U", "DS:y:COUNTER:600:U:U", "RRA:AVERAGE:0.5:1:10"];
    let options = rrd::create::Options { start: Some(1_600_000_000), ..Default::default() };
    rrd::create::create(&folder.join("a.rrd"), &options, &definitions, 1_600_000_000)
        .expect("a file");
    let settings = DaemonSettings {
        paths: PathRules::new(&folder, true, false).expect("rules"),
        write_seconds: 300,
        crowded_write_seconds: 300,
        delay_seconds: 0,
        scan_seconds: 3600,
        writers: 1,
        journal: None,
        keeps_files: true,
        limits: Limits::default(),
    };
    Arc::new(CachingDaemon::new(settings, Box::new(Still)).expect("a daemon"))
});

/// Lines of a client.
pub fn rrdcached_session(bytes: &[u8]) {
    let daemon = Arc::clone(&DAEMON);
    let peer = Box::new(std::io::sink());
    let mut session = ClientSession::new(daemon, Permissions::ALL, Acknowledge::Os, peer);
    session.begin();
    for line in bytes.split(|byte| *byte == b'\n') {
        if session.line(line) == NextStep::Close {
            break;
        }
    }
    let _ = session.end();
}

/// A segment of a journal.
pub fn rrdcached_journal(bytes: &[u8]) {
    let _ = count_records(bytes);
}
