//! What the tests share: both daemons, and a client that knows where an answer ends.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use connection::ListeningSocket;
use rrd::header::Time;
use rrdcached::protocol::Permissions;
use rrdcached::{
    Acknowledge, CachingDaemon, DaemonSettings, DaemonWorld, Limits, Listener, PathRules, Server,
};
use testkit::Running;

pub(crate) use testkit::PATIENCE;

/// This machine's clock; keeps what was logged.
#[derive(Default, Clone)]
pub(crate) struct LocalMachine(pub(crate) Arc<Mutex<Vec<String>>>);

impl DaemonWorld for LocalMachine {
    fn now(&self) -> Time {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time { seconds: now.as_secs() as i64, microseconds: i64::from(now.subsec_micros()) }
    }

    fn log(&self, _: bool, text: &str) {
        self.0.lock().expect("log").push(text.to_owned());
    }

    fn boot(&self) -> String {
        std::env::var("WHIT_TEST_BOOT").unwrap_or_default()
    }

    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }
}

/// DaemonSettings of a daemon in a folder: the files in `base`, the journal in `journal`.
pub(crate) fn settings(folder: &Path) -> DaemonSettings {
    let base = folder.join("base");
    DaemonSettings {
        paths: PathRules::new(&base, true, true).expect("base"),
        // Nothing is written by itself, however old its time says that it is.
        write_seconds: 1 << 40,
        crowded_write_seconds: 1 << 40,
        delay_seconds: 0,
        scan_seconds: 3600,
        writers: 2,
        journal: Some(folder.join("journal")),
        keeps_files: false,
        limits: Limits::default(),
    }
}

pub(crate) fn start(folder: &Path, settings: DaemonSettings, acknowledge: Acknowledge) -> Server {
    start_with(folder, settings, acknowledge, LocalMachine::default())
}

pub(crate) fn start_with(
    folder: &Path,
    settings: DaemonSettings,
    acknowledge: Acknowledge,
    world: impl DaemonWorld + 'static,
) -> Server {
    let socket = folder.join("socket");
    let _ = std::fs::remove_file(&socket);
    let listener = Listener {
        socket: ListeningSocket::Unix(UnixListener::bind(&socket).expect("socket"), Some(socket)),
        permissions: Permissions::ALL,
        acknowledge,
        tls: None,
    };
    let daemon = CachingDaemon::new(settings, Box::new(world)).expect("daemon");
    Server::start(daemon, vec![listener], Vec::new()).expect("server")
}

/// A folder whose name is that of the folder: no links on the way.
pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().canonicalize().expect("name");
    std::fs::create_dir(path.join("base")).expect("base");
    (folder, path)
}

/// Makes a file of one gauge, a step a second, that has no reading yet.
pub(crate) fn make(path: &Path, definitions: &[&str]) {
    let options = rrd::create::Options {
        start: Some(1_600_000_000),
        step_seconds: Some(1),
        ..Default::default()
    };
    rrd::create::create(path, &options, definitions, 1_600_000_000).expect("create");
}

pub(crate) const GAUGE: &[&str] = &["DS:x:GAUGE:100000:U:U", "RRA:LAST:0:1:100000"];

/// Debian's rrdcached in a folder.
pub(crate) struct Incumbent(Running);

impl Incumbent {
    pub(crate) fn start(folder: &Path, options: &[&str]) -> Self {
        let mut command = Command::new("rrdcached");
        command.arg("-g").args(options);
        command.arg("-b").arg(folder.join("base"));
        command.arg("-l").arg(format!("unix:{}", folder.join("socket").display()));
        command.arg("-p").arg(folder.join("pid"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self(Running::start(&mut command));
        testkit::connect(&folder.join("socket"));
        daemon
    }

    /// Ends it as its init script does.
    pub(crate) fn end(mut self) {
        self.0.signal(libc::SIGTERM);
        self.0.ended();
    }
}

/// A client.
pub(crate) struct Client {
    stream: BufReader<UnixStream>,
    is_in_batch: bool,
}

impl Client {
    pub(crate) fn connect(folder: &Path) -> Self {
        let stream = testkit::connect(&folder.join("socket"));
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        Self { stream: BufReader::new(stream), is_in_batch: false }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("send");
    }

    /// Sends, as long as the daemon takes it.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    /// A line with its end; empty at the end of the connection.
    pub(crate) fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(_) => line,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Vec::new(),
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// An answer: a line, and as many lines as it says.
    pub(crate) fn answer(&mut self) -> Vec<u8> {
        let mut all = self.line();
        let text = String::from_utf8_lossy(&all).into_owned();
        let count = text.split(' ').next().and_then(|word| word.parse::<i64>().ok());
        for _ in 0..count.unwrap_or(0).max(0) {
            let line = self.line();
            all.extend_from_slice(&line);
            let text = String::from_utf8_lossy(&line).into_owned();
            if let Some((_, size)) = text.split_once(": BinaryData ") {
                let numbers: Vec<usize> =
                    size.split(' ').filter_map(|word| word.parse().ok()).collect();
                let mut bytes = vec![0; numbers[0] * numbers[1] + 1];
                self.stream.read_exact(&mut bytes).expect("doubles");
                all.extend_from_slice(&bytes);
            }
        }
        all
    }

    /// What a line is answered with; nothing for a command within a batch.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(format!("{line}\n").as_bytes());
        if self.is_in_batch && line != "." {
            return String::new();
        }
        let answer = String::from_utf8_lossy(&self.answer()).into_owned();
        self.is_in_batch = answer.starts_with("0 Go ahead");
        answer
    }
}

/// The seed of this run: `WHIT_SEED`, else the usual one.
pub(crate) fn seed() -> u64 {
    testkit::seed(20_261_123)
}

/// All readings of a file, oldest first: times and values of the first source.
pub(crate) fn rows(path: &Path) -> Vec<(i64, f64)> {
    let file = rrd::File::open(path, rrd::Access::Read).expect("file");
    let cells = file.read_in_order(0).expect("rows");
    let sources = file.header().sources.len();
    let end = file.header().newest_row(0);
    let step = file.header().row_seconds(0) as i64;
    let rows = cells.chunks_exact(sources).rev().enumerate();
    let mut rows: Vec<(i64, f64)> =
        rows.map(|(back, row)| (end - back as i64 * step, row[0])).collect();
    rows.reverse();
    rows.retain(|(_, value)| !value.is_nan());
    rows
}
