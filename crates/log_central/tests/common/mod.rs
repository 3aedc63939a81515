//! A writer that is a process of its own (this test program, started again), a proxy and a central
//! server that run in threads or as processes, and what the store then holds.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "shared by tests, of which each uses a part"
)]

pub(crate) mod talk;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use connection::Address;
use log_central::{AdmissionLimits, Central, CentralSettings};
use log_protocol::{ProcessId, StreamId};
use log_proxy::Spool;
use log_proxy::{Proxy, ProxySettings};
use log_store::{Retention, Store, StoreReader, StoreSettings};
use logring::abi::kind;
use logring::{ArgumentType, LogValue};
pub(crate) use testkit::{Deadline, PATIENCE, Running, own_test};

/// What the test program is to do when it is started again.
pub(crate) const ROLE: &str = "WHIT_LOG_TEST_ROLE";

/// Runs a proxy until something is so.
pub(crate) fn pump(proxy: &mut Proxy, what: &str, mut is_so: impl FnMut(&mut Proxy) -> bool) {
    let deadline = Deadline::default();
    while !is_so(proxy) {
        if !proxy.round() {
            proxy.wait(Duration::from_millis(1));
        }
        assert!(deadline.is_ahead(), "{what}: {:?}", proxy.counters());
    }
}

/// Runs a proxy until a writer, which writes so many records as it is told to, has ended.
pub(crate) fn pump_to_end(proxy: &mut Proxy, writer: &mut Running) {
    while writer.try_wait().unwrap().is_none() {
        // Each record is a reason to wait on.
        let known = proxy.counters().records;
        pump(proxy, "the writer writes or ends", |proxy| {
            proxy.counters().records > known || writer.try_wait().unwrap().is_some()
        });
    }
}

/// Plays a writer, a proxy or a central server; gives whether the role is one of these.
pub(crate) fn play(role: &[&str]) -> bool {
    match role {
        ["write", folder, threads, count] => {
            let rings = (1 << 18, 1 << 20);
            write(Path::new(folder), threads.parse().unwrap(), count.parse().unwrap(), rings);
        }
        // One stream: a ring that grows goes on in another one.
        ["write in one ring", folder, count] => {
            write(Path::new(folder), 1, count.parse().unwrap(), (1 << 20, 1 << 20));
        }
        ["proxy", folder, spool, socket] => {
            run_proxy(Path::new(folder), Path::new(spool), Path::new(socket));
        }
        ["central", store, socket] => run_central(Path::new(store), Path::new(socket)),
        _ => return false,
    }
    true
}

/// This test program, to be started again in a role.
pub(crate) fn in_role(role: &str) -> Command {
    let mut command = own_test("role");
    command.env(ROLE, role);
    command
}

/// Starts this test program again, in a role.
pub(crate) fn start(role: &str) -> Running {
    // A file that is too large gives an error then, and no signal.
    let again = own_test("role");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(again.get_program());
    command.args(again.get_args()).env(ROLE, role);
    Running::start(command.stdout(std::process::Stdio::piped()))
}

/// The same, with so many descriptors and no more.
pub(crate) fn start_limited(role: &str, descriptors: u64) -> Running {
    let again = in_role(role);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")]);
    command.arg(again.get_program()).args(again.get_args());
    command.env(ROLE, role).stdout(std::process::Stdio::piped());
    Running::start(&mut command)
}

/// Writes records of (thread, number): `count` by each thread; 0: until it is killed.  Rings have the
/// first size in bytes, and grow to the second.  Their texts are such that a store takes three bytes
/// for each at least.
fn write(folder: &Path, threads: u64, count: u64, ring_bytes: (u64, u64)) {
    let [site, context] = begin_writing(folder, "writer", ring_bytes);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut number = 0_u64;
                while count == 0 || number < count {
                    let text = letters(number);
                    let text = std::str::from_utf8(&text).unwrap();
                    logring::writer::write(4, site, context, &(thread, number, text));
                    number += 1;
                    if count == 0 && number.is_multiple_of(64) {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
            });
        }
    });
}

/// Four letters that do not follow from those of other numbers.
fn letters(number: u64) -> [u8; 4] {
    let mixed = (number ^ number >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [17, 29, 41, 53].map(|shift| b'0' + (mixed >> shift) as u8 % 64)
}

/// Begins to write as a process of this name; gives the call site and the context of records of
/// (thread, number, text).
pub(crate) fn begin_writing(folder: &Path, name: &str, ring_bytes: (u64, u64)) -> [u32; 2] {
    let mut settings = logring::writer::RingSettings::new(folder.to_owned(), "host", name);
    settings.block_timeout_ns = 3_600_000_000_000;
    (settings.ring_bytes, settings.ring_bytes_max) = ring_bytes;
    logring::writer::start(settings).unwrap();
    let logger = logring::writer::logger_id("test.logger").unwrap();
    let context = logring::writer::context_id(logger, &[]).unwrap();
    let types =
        [ArgumentType::Unsigned as u8, ArgumentType::Unsigned as u8, ArgumentType::Text as u8];
    let site = logring::writer::site_id(&logring::writer::SiteDescription {
        file: "writer.rs",
        line: 7,
        routine: "write",
        level: 4,
        format: "thread {} number {} {}",
        format_kind: 1,
        role: 0,
        types: &types,
    });
    [site.unwrap(), context]
}

pub(crate) fn proxy(folder: &Path, spool: &Path, socket: &Path) -> Proxy {
    let id = log_protocol::auth::random().unwrap();
    let spool = Spool::open(spool, 1 << 30, id).unwrap();
    Proxy::new(settings(folder, socket), spool)
}

pub(crate) fn settings(folder: &Path, socket: &Path) -> ProxySettings {
    ProxySettings {
        folders: vec![folder.to_owned()],
        central: Some(Address::Unix(socket.to_owned())),
        secret: None,
        tls: None,
        host: "host".to_owned(),
        idle: Duration::from_millis(10),
        sync: None,
    }
}

fn run_proxy(folder: &Path, spool: &Path, socket: &Path) {
    let mut proxy = proxy(folder, spool, socket);
    loop {
        if !proxy.round() {
            proxy.wait(Duration::from_millis(2));
        }
    }
}

/// Listens at a socket file.  A child that another test starts holds the listener of a server that ended
/// until it executes its program, and so long the address is in use.
pub(crate) fn listener(socket: &Path) -> connection::ServerListener {
    let address = Address::Unix(socket.to_owned());
    testkit::wait_for("the socket", || address.listen(None).ok())
}

pub(crate) fn central(store: &Path, socket: &Path) -> Central {
    let settings =
        StoreSettings { segment_bytes: 1 << 20, sync: false, ..StoreSettings::default() };
    let (store, recovery) =
        Store::open(store, settings, log_protocol::auth::random().unwrap()).unwrap();
    let listener = listener(socket);
    let settings = CentralSettings {
        secret: None,
        delay: Duration::from_millis(2),
        retention: Retention::default(),
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
        acks_on_receipt: false,
        recordings: None,
    };
    Central::start(store, &recovery, vec![listener], settings).unwrap()
}

fn run_central(store: &Path, socket: &Path) {
    let _central = central(store, socket);
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// What a store holds: for each (process, thread of the writer) the numbers, in the order of
/// time; for each stream its sequence numbers; messages of the server itself.
#[derive(Default, Debug)]
pub(crate) struct Held {
    pub(crate) numbers: BTreeMap<(ProcessId, u64), Vec<u64>>,
    pub(crate) sequences: BTreeMap<StreamId, Vec<u64>>,
    pub(crate) own: Vec<String>,
    /// Messages about connections that broke.
    pub(crate) broken: Vec<String>,
    /// Records of clients.
    pub(crate) records: u64,
    /// The names of processes.
    pub(crate) names: BTreeMap<ProcessId, String>,
    /// Records whose call site is not in the store: its definition was in a damaged commit.
    pub(crate) without_site: u64,
}

/// What a store holds that lost no definition.
pub(crate) fn held(store: &Path) -> Held {
    let held = held_of_damaged(store);
    assert_eq!(held.without_site, 0);
    held
}

/// What a store holds that may have lost definitions.
pub(crate) fn held_of_damaged(store: &Path) -> Held {
    let mut held = Held::default();
    let mut reader = StoreReader::open(store).unwrap();
    let mut last_ns = 0;
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        // A ring's records are never reordered.  But its clock may be measured better meanwhile: a
        // program measures it for 0.2 ms, which on a slow clock of a guest is off by a hundredth.
        // And the machine's clock may be set.
        let back_ns = u64::saturating_sub(last_ns, item.record.stamp);
        let is_in_order = back_ns < 50_000_000 + wall_clock_moved_ns();
        assert!(is_in_order, "in the order of time: {back_ns} ns back");
        last_ns = item.record.stamp;
        let stream = StreamId { process: item.process.id, ring: item.stream.ring };
        held.names.entry(item.process.id).or_insert_with(|| item.process.name.clone());
        let is_own = item.process.name == "whit log central";
        held.records += u64::from(!is_own);
        held.sequences.entry(stream).or_default().push(item.record.sequence);
        if item.record.kind != kind::LOG {
            return ControlFlow::Continue(());
        }
        let Some(site) = item.dictionary.site(item.record.site) else {
            held.without_site += 1;
            return ControlFlow::Continue(());
        };
        let values = item.record.arguments(&site.types).unwrap();
        match values.as_slice() {
            [LogValue::Unsigned(thread), LogValue::Unsigned(number), _] => {
                held.numbers.entry((item.process.id, *thread)).or_default().push(*number);
            }
            // Once a minute.
            [LogValue::Text(text)] if text.starts_with(b"own cost: ") => {}
            // Proxies that are killed leave connections and handshakes in their midst.
            [LogValue::Text(text)] if text.starts_with(b"connection of ") => {
                held.broken.push(String::from_utf8_lossy(text).into_owned());
            }
            [LogValue::Text(text)] => held.own.push(String::from_utf8_lossy(text).into_owned()),
            other => panic!("{other:?}"),
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    held
}

impl Held {
    /// Checks that every stream is whole: each number from 0 on, once.
    pub(crate) fn assert_whole(&self) {
        for (who, numbers) in &self.numbers {
            let expected: Vec<u64> = (0..numbers.len() as u64).collect();
            if *numbers != expected {
                let at = numbers.iter().zip(&expected).position(|(a, b)| a != b);
                let at = at.unwrap_or(0);
                let near = &numbers[at.saturating_sub(3)..(at + 5).min(numbers.len())];
                panic!("{who:?}: {} numbers, at {at}: {near:?}", numbers.len());
            }
        }
        assert_eq!(self.own, [] as [String; 0]);
    }
}

/// Runs a proxy until all that rings hold is committed, and the rings are gone.
pub(crate) fn drain(proxy: &mut Proxy, folder: &Path) {
    let mut deadline = Deadline::default();
    loop {
        let worked = proxy.round();
        if worked {
            deadline = Deadline::default();
        }
        let is_empty = std::fs::read_dir(folder).unwrap().all(|entry| {
            let path = entry.unwrap().path();
            path.extension().is_none_or(|end| end != "ring" && end != "process")
        });
        if !worked && is_empty && proxy.is_all_committed() {
            return;
        }
        if !worked {
            proxy.wait(Duration::from_millis(2));
        }
        assert!(deadline.is_ahead(), "it does not end: {:?}", proxy.counters());
    }
}

/// How far somebody has set the wall clock since this program first asked, in ns.
fn wall_clock_moved_ns() -> u64 {
    static FIRST: OnceLock<u64> = OnceLock::new();
    let now = logring::clock::realtime_ns().wrapping_sub(logring::clock::boottime_ns());
    now.abs_diff(*FIRST.get_or_init(|| now))
}

/// The folders of one test.
pub(crate) struct Folders {
    pub(crate) all: tempfile::TempDir,
    pub(crate) rings: PathBuf,
    pub(crate) spool: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) socket: PathBuf,
}

pub(crate) fn folders() -> Folders {
    wall_clock_moved_ns();
    let all = tempfile::tempdir_in("/dev/shm").unwrap();
    let [rings, spool, store] = ["rings", "spool", "store"].map(|name| all.path().join(name));
    std::fs::create_dir(&rings).unwrap();
    let socket = all.path().join("socket");
    Folders { all, rings, spool, store, socket }
}

/// The role of a proxy or a central server that uses these folders.
pub(crate) fn role_of(name: &str, folders: &Folders) -> String {
    let Folders { rings, spool, store, socket, .. } = folders;
    match name {
        "proxy" => format!("proxy|{}|{}|{}", rings.display(), spool.display(), socket.display()),
        _ => format!("central|{}|{}", store.display(), socket.display()),
    }
}

/// Everything up to these numbers is in a store, once, by the store's own account.
pub(crate) fn assert_all_here(store: &Path, sent: &BTreeMap<StreamId, u64>) {
    let audit = log_store::audit::Audit::of(store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{audit:?}");
    for (stream, next) in sent {
        let found = audit.streams.get(stream).map_or(0, |one| one.next);
        assert_eq!(found, *next, "{stream}");
    }
}

/// How far the rings of a folder are written, by stream.
pub(crate) fn sequences(folder: &Path) -> BTreeMap<StreamId, u64> {
    sequences_of(folder, "")
}

/// The same, of rings whose names begin so: `PID-`.
pub(crate) fn sequences_of(folder: &Path, begin: &str) -> BTreeMap<StreamId, u64> {
    let found = logring::RingDirectory::scan(folder).unwrap();
    let is_one = |path: &&PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(begin);
    // A proxy that runs may remove it meanwhile.
    let readers =
        found.rings.iter().filter(is_one).flat_map(|path| logring::RingReader::open(path));
    let rings = readers.map(|mut reader| {
        let mut batch = logring::Batch::default();
        let read = reader.next().sequence;
        reader.read(&mut batch, usize::MAX >> 1).unwrap();
        let header = reader.header();
        let process = ProcessId(header.process_id);
        (StreamId { process, ring: header.number }, batch.end().sequence.max(read))
    });
    rings.collect()
}

/// The C client's test program, compiled once; `None` without a compiler.
pub(crate) fn c_program() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if !testkit::is_installed("the C client", "cc") {
            return None;
        }
        let name = format!("c-client-{}", std::process::id());
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-std=c11", "-pthread", "-Iinclude"]);
        compiler.args(["src/whit_log.c", "tests/program.c", "-o"]).arg(&program);
        compiler.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/c"));
        assert!(compiler.status().unwrap().success());
        Some(program)
    });
    built.as_deref()
}

/// Limits the files that a process writes, or no more.
pub(crate) fn limit_files(running: &Running, bytes: Option<u64>) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(Pid::from_child(running)), Resource::Fsize, limit).unwrap();
}
