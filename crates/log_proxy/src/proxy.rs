//! The proxy of a host: reads rings into a spool, sends the spool to the central server, and gives
//! room back as far as it is acknowledged.
//!
//! One thread: a round reads every ring, appends what it found to the spool with one write, gives
//! the rings their room, and moves the connection.  A spool that is full, or a disk that is, frees
//! no ring: writers then see full rings, and do what their policy says.

mod fuzzing;
mod host;
mod kept;
mod link;
mod local;
mod local_levels;
mod reading;
mod report;
mod syncing;
mod tally;
mod unreadable;
mod waiting;
mod waking;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use connection::ClientTls;
use logring::{Batch as RingBatch, ConsumerCost, ConsumerState, KeptLevels, RingDirectory, Tier};

use crate::spool::{Spool, SpoolPosition};
use connection::Address;
use host::{Host, Ring};
use link::Link;
use local::LocalOutputs;
use log_protocol::GapReason;
use log_protocol::clock;
use log_protocol::cost::OwnCost;
use log_protocol::frame::{self, FrameKind, Head, StreamMark};
use log_protocol::handshake::{Hello, PeerRole};
use log_protocol::{DICTIONARY, ProcessId, StreamId};
use reading::{Gap, RingRead};
use report::{Standing, Undelivered};
use syncing::{Synced, Syncing};
use unreadable::Unreadable;
pub use waking::ProxyWaker;
use waking::Waking;

/// Bytes of the spool that are made ready to be sent at once.
const SEND_BYTES: usize = 512 << 10;
/// Between two looks for new rings, if their folders cannot be watched.
const SCAN: Duration = Duration::from_millis(10);
/// Between two looks for rings that could not be taken, because their process is not known yet or is
/// another consumer's.
const SCAN_AGAIN: Duration = Duration::from_millis(100);
/// Between two readings of the clocks, and of what is done.
const HOUSEKEEPING: Duration = Duration::from_secs(1);
/// The same while nobody logs: what begins to ends a sleep, unless a folder of rings was made anew.
const HOUSEKEEPING_IDLE: Duration = Duration::from_secs(10);
/// Between two looks for files that nobody finishes.
const TIDY: Duration = Duration::from_secs(60);
/// Between two looks whether a `flush` waits for the disk, while there is something for it.
const FLUSHES: Duration = Duration::from_millis(1);
/// After so long without work all processes are asked to wake this proxy with their next record, once;
/// then a sleep may be long.  A process does so ten times a second at most, for some microseconds each.
const QUIET: Duration = Duration::from_millis(100);

/// Failures of the central server in a row that are waited for by who does not wait for ever: with the
/// pauses between them some three seconds, in which one that is started at the same time can be there.
const FAILURES_MAX: u32 = 7;

/// How a proxy works.
#[derive(Debug, Clone)]
pub struct ProxySettings {
    /// Where rings are.
    pub folders: Vec<PathBuf>,
    /// The central server; `None`: only outputs of this machine, and nothing is spooled.
    pub central: Option<Address>,
    /// Whom to trust, and the own certificate, if the address is encrypted.
    pub tls: Option<ClientTls>,
    /// What both must know.
    pub secret: Option<Vec<u8>>,
    /// Name of this host.
    pub host: String,
    /// How long a round without work waits, at most.
    pub idle: Duration,
    /// How long something may be unacknowledged before the disk must have it; `None`: for ever.
    pub sync: Option<Duration>,
}

/// What a proxy has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProxyCounters {
    /// Records that were read from rings.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records that the writers dropped, as far as rings say so.
    pub dropped: u64,
    /// Records that were lost in rings or in the spool, as far as their numbers prove it.
    pub lost: u64,
    /// Connections that came about.
    pub connections: u64,
    /// Bytes in the spool.
    pub spool_bytes: u64,
    /// Times that the spool had no room.
    pub refusals: u64,
    /// Records that outputs of this machine missed while they did not work.
    pub missed: u64,
}

/// A proxy.
pub struct Proxy {
    settings: ProxySettings,
    spool: Spool,
    host: Host,
    link: Link,
    local: LocalOutputs,
    waking: Waking,
    place: SpoolPosition,
    /// Answers with marks that have not come.
    marks_to_come: usize,
    /// What another store has of the rings that are read, and the central server's store has not.
    elsewhere: Vec<Gap>,
    /// The part of it that was sent and is not acknowledged yet.
    elsewhere_sent: Vec<Gap>,
    /// Processes of whose dictionaries the central server lacks a part, from these bytes on: it gets
    /// that before anything else.
    undefined: Vec<(ProcessId, u64)>,
    frames: Vec<u8>,
    heads: Vec<Head>,
    taken: Vec<RingRead>,
    batch: RingBatch,
    /// Why the spool refused the last frames: `errno` and words.
    refusal: Option<(u32, String)>,
    syncing: Syncing,
    /// Why the disk did not take what is spooled.
    sync_failure: Option<(u32, String)>,
    counters: ProxyCounters,
    scanned: Option<Instant>,
    kept: Option<Instant>,
    /// When it last looked for files that are not finished.
    tidied: Option<Instant>,
    /// When there last was work.
    worked: Instant,
    /// Since when the spool may have what the disk has not.
    unsynced_since: Option<Instant>,
    looked_at_flushes: Option<Instant>,
    /// When the last marks came.
    acknowledged: Option<Instant>,
    standing: Standing,
    /// What cannot be delivered, of which the clients are to be told.
    undelivered: Vec<Undelivered>,
    /// As much of it as is not spooled yet.
    said: Vec<Undelivered>,
    /// What is missing, and not spooled yet.
    gaps: Vec<Gap>,
    /// Rings of gaps that are not read.
    unreadable: Vec<Unreadable>,
    /// Broken dictionaries that were said.
    broken_said: usize,
    /// Streams whose marks are to be asked for.
    to_ask: Vec<StreamId>,
    /// Processes that have ended, of which the server is to be told.
    ended: Vec<ProcessId>,
    /// Processes that have ended, of which the spool may still have frames.
    done: Vec<ProcessId>,
    /// The levels that last, as the central server has them, and the folders that do not have them yet.
    lasting: KeptLevels,
    lasting_due: Vec<PathBuf>,
    /// What went wrong, for whoever runs the proxy: taken by [`Proxy::take_messages`].
    messages: Vec<String>,
}

impl Proxy {
    /// A proxy that sends this spool.
    #[must_use]
    pub fn new(settings: ProxySettings, spool: Spool) -> Self {
        let host = settings.host.clone();
        let hello = Hello { role: PeerRole::Proxy, proxy: spool.id(), host };
        let mut link = Link::new(&settings, hello);
        let waking = Waking::new(&settings.folders);
        link.waker = waking.waker();
        let syncing = Syncing::start(waking.waker());
        let messages = spool
            .damaged
            .iter()
            .map(|(path, from, to)| format!("{}: bytes {from} to {to} are damaged", path.display()))
            .collect();
        let undelivered = spool.damaged_records.iter().map(|head| Undelivered {
            stream: head.stream,
            first: head.first,
            next: head.next,
            errno: rustix::io::Errno::IO.raw_os_error().unsigned_abs(),
        });
        let undelivered = undelivered.collect();
        let local = LocalOutputs::new(settings.central.is_none());
        Proxy {
            place: spool.first(),
            waking,
            settings,
            spool,
            host: Host::default(),
            local,
            link,
            marks_to_come: 0,
            elsewhere: Vec::new(),
            elsewhere_sent: Vec::new(),
            undefined: Vec::new(),
            frames: Vec::new(),
            heads: Vec::new(),
            taken: Vec::new(),
            batch: RingBatch::default(),
            refusal: None,
            syncing,
            sync_failure: None,
            counters: ProxyCounters::default(),
            scanned: None,
            kept: None,
            tidied: None,
            worked: clock::now(),
            unsynced_since: None,
            looked_at_flushes: None,
            acknowledged: None,
            standing: Standing::new(),
            undelivered,
            said: Vec::new(),
            gaps: Vec::new(),
            unreadable: Vec::new(),
            broken_said: 0,
            to_ask: Vec::new(),
            ended: Vec::new(),
            done: Vec::new(),
            lasting: KeptLevels::default(),
            lasting_due: Vec::new(),
            messages,
        }
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> ProxyCounters {
        let connections = self.link.connections;
        let (spool_bytes, missed) = (self.spool.bytes(), self.local.missed);
        ProxyCounters { connections, spool_bytes, missed, ..self.counters }
    }

    /// What went wrong since the last call.
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// Whether all that was read is committed by the central server; without one, whether the
    /// outputs of this machine have it.
    pub fn is_all_committed(&mut self) -> bool {
        let is_safe = if self.is_local() { !self.local.is_stuck() } else { self.is_connected() };
        is_safe && self.refusal.is_none() && self.gaps.is_empty() && self.spool.is_acknowledged()
    }

    /// Why it makes no sense to wait until all is committed: nothing more can be read, the end is reached or
    /// the spool has no room, and the central server has failed several times in a row.
    #[must_use]
    pub fn given_up(&self, is_all_read: bool) -> Option<String> {
        let central = self.settings.central.as_ref()?;
        let why = self.link.failure.as_ref().filter(|_| self.link.failures >= FAILURES_MAX)?;
        let is_waiting = is_all_read || self.refusal.is_some();
        is_waiting.then(|| {
            format!(
                "the central server at {central}: {why}; what was read waits in the spool for the next run"
            )
        })
    }

    /// Whether there is no central server.
    fn is_local(&self) -> bool {
        self.settings.central.is_none()
    }

    /// Whether the central server is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.link.is_open()
    }

    /// What ends a wait of this proxy from another thread; `None`: the system has no means.
    #[must_use]
    pub fn waker(&self) -> Option<ProxyWaker> {
        self.waking.waker()
    }

    /// Says to the clients that nobody reads their rings any more.
    pub fn end(mut self) {
        for source in self.host.sources.values_mut() {
            source.tally.write(&source.file);
            let _ = source.file.set_state(ConsumerState::Ended, 0, "");
        }
    }

    /// Lets the disk have what is unacknowledged for long, or what a `flush` waits for; then the
    /// rings' marks say so.
    fn sync(&mut self, now: Instant) {
        if let Some(done) = self.syncing.take_synced() {
            self.take_synced(done, now);
        }
        let Some(since) = self.unsynced_since else { return };
        if self.is_local() {
            return self.sync_outputs();
        }
        let looked = self.looked_at_flushes.is_some_and(|last| now - last < FLUSHES);
        if looked || self.syncing.is_busy {
            return;
        }
        self.looked_at_flushes = Some(now);
        if self.spool.is_acknowledged() {
            self.unsynced_since = None;
            return;
        }
        let wanted = Some(Tier::Synced as u32);
        let is_wanted =
            self.host.sources.values().any(|source| source.file.flush_wanted().ok() == wanted);
        if !is_wanted {
            let Some(age) = self.settings.sync.filter(|age| now - since >= *age) else { return };
            // While acknowledgements come, everything is at the central server soon.
            if self.link.is_open() && self.acknowledged.is_some_and(|at| now - at < age) {
                self.unsynced_since = Some(now);
                return;
            }
        }
        // What is read from now on is for the next time.
        self.unsynced_since = None;
        self.host.rings.iter_mut().for_each(Ring::syncs);
        self.syncing.begin(self.spool.unsynced());
    }

    /// Takes the end of a sync.
    fn take_synced(&mut self, Synced { what, result }: Synced, now: Instant) {
        match result {
            Ok(()) => {
                self.spool.note_synced(&what);
                self.sync_failure = None;
                self.host.rings.iter_mut().for_each(Ring::synced);
                self.host.sources.values_mut().for_each(|source| source.has_moved = true);
            }
            Err(error) => {
                // Tried again when as much time has passed.
                self.unsynced_since = Some(now);
                let errno = error.raw_os_error().unwrap_or(0).unsigned_abs();
                let text = format!("cannot sync the spool: {error}");
                let failure = Some((errno, text.clone()));
                if self.sync_failure != failure {
                    self.messages.push(text);
                }
                self.sync_failure = failure;
            }
        }
    }

    /// One round: everything that can be done without waiting.  Whether there was work.
    pub fn round(&mut self) -> bool {
        let now = clock::now();
        let between = match (self.waking.is_complete(), self.host.is_all_taken) {
            (true, true) => HOUSEKEEPING,
            (true, false) => SCAN_AGAIN,
            (false, _) => SCAN,
        };
        // A ring that is not known yet may have records that are older than what is read of the others:
        // those of a round were made before it was looked for new ones.
        self.local.begin();
        let is_due = self.local.wants() || self.scanned.is_none_or(|last| now - last >= between);
        if is_due || std::mem::take(&mut self.waking.has_files) {
            self.scanned = Some(now);
            self.host.is_all_taken = true;
            let wall = clock::wall();
            for folder in &self.settings.folders {
                self.messages.extend(self.host.scan(folder, wall));
            }
            self.look_at_unreadable();
            self.look_at_new_rings();
        }
        if self.kept.is_none_or(|last| now - last >= HOUSEKEEPING) {
            self.kept = Some(now);
            self.keep_house();
        }
        let read = self.read_rings();
        let moved = self.move_link();
        if read {
            self.unsynced_since.get_or_insert(now);
        } else {
            // Under load the counts are told once a second, else when it is quiet.
            self.host.sources.values_mut().for_each(|source| source.tally.write(&source.file));
        }
        self.sync(now);
        self.tell();
        if read || moved {
            self.worked = now;
            self.waking.is_busy();
        }
        read || moved
    }

    /// Looks at rings of which another proxy has read a part: the spool and the central server together
    /// must have that part.
    fn look_at_new_rings(&mut self) {
        let mut any = false;
        for ring in self.host.rings.iter_mut().filter(|ring| ring.is_new) {
            (ring.is_new, any) = (false, true);
            if self.settings.central.is_none() {
                ring.marks.clear();
                continue;
            }
            if ring.inherited > 0 {
                ring.spooled_before = Some(self.spool.end(ring.stream));
                self.to_ask.push(ring.stream);
            }
        }
        if any && !self.spool.damaged.is_empty() {
            self.describe_all();
        }
    }

    /// Names what neither the spool nor the central server has of what was read before.
    fn look_at_inherited(&mut self, marks: &[StreamMark]) {
        let reason = match self.spool.damaged.is_empty() {
            true => GapReason::Missing,
            false => GapReason::Spool,
        };
        for ring in self.host.rings.iter_mut().filter(|ring| ring.spooled_before.is_some()) {
            let Some(mark) = marks.iter().find(|mark| mark.stream == ring.stream) else { continue };
            let mut elsewhere = self.elsewhere.iter().chain(&self.elsewhere_sent);
            let elsewhere = elsewhere.find(|gap| gap.stream == ring.stream);
            let held = mark.next.max(elsewhere.map_or(0, |gap| gap.next));
            let (first, next) = (ring.spooled_before.take().max(Some(held)), ring.inherited);
            let Some(first) = first.filter(|first| *first < next) else { continue };
            self.counters.lost += next - first;
            self.gaps.push(Gap { stream: ring.stream, first, next, reason });
        }
    }

    /// Connects, sends and receives what it can; whether anything moved.
    fn move_link(&mut self) -> bool {
        if self.link.step() {
            self.begin_sending();
            // What came right behind the welcome was read with it.
            self.waking.is_readable = true;
        }
        // A wait has asked the system already.
        let any = self.waking.is_readable && self.receive();
        self.send() || any
    }

    /// Takes what the central server says; whether it said anything.
    fn receive(&mut self) -> bool {
        let Some(open) = self.link.open() else { return false };
        let (mut marks, mut levels, mut answers) = (Vec::new(), Vec::new(), 0_usize);
        let (mut is_acknowledged, mut kept) = (false, None);
        let received = open.receive(|head, body| match head.kind {
            FrameKind::Ack => {
                is_acknowledged = true;
                marks.extend(frame::marks(body));
            }
            FrameKind::Marks => {
                answers += 1;
                marks.extend(frame::marks(body));
            }
            FrameKind::SetLevel => levels.push((head.first, body.to_vec())),
            FrameKind::KeptLevels => kept = Some(body.to_vec()),
            _ => {}
        });
        let any = matches!(received, Ok(true));
        if any {
            self.link.failures = 0;
        }
        if let Err(error) = received {
            self.link.fail(error.to_string());
            return true;
        }
        self.marks_to_come = self.marks_to_come.saturating_sub(answers);
        let has_marks = answers > 0;
        if has_marks {
            self.find_undefined(&marks);
            self.find_elsewhere(&marks);
        }
        self.elsewhere_sent.retain(|gap| {
            !marks.iter().any(|mark| mark.stream == gap.stream && mark.next >= gap.next)
        });
        if is_acknowledged && self.marks_to_come == 0 && self.may_note_store() {
            let known = self.spool.set_store(self.link.store);
            self.messages.extend(known.err().map(|error| error.to_string()));
        }
        self.take_marks(&marks);
        if has_marks {
            self.look_at_inherited(&marks);
        }
        if let Some(body) = kept {
            self.take_kept(&body);
        }
        for (asker, body) in levels {
            self.set_level(asker, &body);
        }
        any
    }

    /// A connection has just come about: asks for the marks of all that is spooled.
    fn begin_sending(&mut self) {
        self.place = self.spool.restart();
        self.undefined.clear();
        self.elsewhere.clear();
        self.elsewhere_sent.clear();
        let mut open = self.spool.open_streams();
        // The server may be another one, or its store emptied: what definitions has it?
        let dictionary = |process: &ProcessId| StreamId { process: *process, ring: DICTIONARY };
        open.extend(self.host.sources.keys().map(dictionary));
        let mut asked = Vec::new();
        let rings = self.host.rings.iter().map(|ring| ring.stream);
        open.extend(rings);
        open.sort_unstable();
        open.dedup();
        for stream in open {
            frame::put_mark(&mut asked, StreamMark { stream, next: 0 });
        }
        self.to_ask.clear();
        let Some(open) = self.link.open() else { return };
        let pieces = asked.chunks(frame::BODY_BYTES_MAX / frame::MARK_BYTES * frame::MARK_BYTES);
        // Each question has an answer of its own; nothing is sent before the last.
        self.marks_to_come = pieces.len();
        for marks in pieces {
            frame::put(&mut open.out, Head::plain(FrameKind::Ask), marks);
        }
    }

    /// Finds processes of whose dictionaries the central server has less than it may need: a new store
    /// has nothing, and one that was restored has less than it once acknowledged.
    fn find_undefined(&mut self, marks: &[StreamMark]) {
        for mark in marks.iter().filter(|mark| mark.stream.ring == DICTIONARY) {
            self.spool.set_dictionary_mark(*mark);
            if self.host.sources.contains_key(&mark.stream.process) {
                self.undefined.push((mark.stream.process, mark.next));
            }
        }
    }

    /// Finds what another store has acknowledged of the rings that are read: this one never gets it, and
    /// nothing of it is lost.
    fn find_elsewhere(&mut self, marks: &[StreamMark]) {
        if self.spool.store().is_none_or(|known| known == self.link.store) {
            return;
        }
        let here: HashMap<StreamId, u64> = marks.iter().map(|one| (one.stream, one.next)).collect();
        for ring in &self.host.rings {
            let stream = ring.stream;
            let Some(first) = here.get(&stream).copied() else { continue };
            // The ring's mark survives a proxy that ends, and neither is believed beyond what was read.
            let mark = ring.reader.mark(Tier::Central).ok().flatten().unwrap_or_default();
            let next = self.spool.acknowledged(stream).max(mark.sequence);
            let next = next.min(ring.reader.next().sequence);
            if first < next {
                self.elsewhere.push(Gap { stream, first, next, reason: GapReason::AnotherStore });
            }
        }
    }

    /// Sends definitions that the central server lacks, and what another store has.
    fn send_missing(&mut self) {
        let Some(open) = self.link.open() else { return };
        let sources = &self.host.sources;
        while open.out.len() < SEND_BYTES
            && let Some((process, from)) = self.undefined.pop()
        {
            if let Some(source) = sources.get(&process) {
                source.put_definitions(from, &mut open.out);
            }
        }
        while self.undefined.is_empty()
            && open.out.len() < SEND_BYTES
            && let Some(gap) = self.elsewhere.pop()
        {
            let ring = self.host.rings.iter().find(|ring| ring.stream == gap.stream);
            if let Some(ring) = ring {
                ring.describe_to(&mut open.out);
            }
            gap.put(&mut open.out);
            self.elsewhere_sent.push(gap);
        }
    }

    /// Whether the spool may note the central server's store as the one that acknowledges: the first
    /// store at once, another one when it has acknowledged what the store before it has.  A server
    /// that is killed earlier must be told again.
    fn may_note_store(&self) -> bool {
        let is_told = self.elsewhere.is_empty() && self.elsewhere_sent.is_empty();
        self.spool.store().is_none() || self.host.is_all_taken && is_told
    }

    fn send(&mut self) -> bool {
        let mut any = false;
        loop {
            let is_ready = self.link.open().is_some_and(|open| open.is_sent());
            let is_ready = is_ready && self.marks_to_come == 0;
            if is_ready {
                self.send_missing();
            }
            let Some(open) = self.link.open() else { return any };
            if is_ready {
                if !self.ended.is_empty() {
                    let ended = std::mem::take(&mut self.ended);
                    let body: Vec<u8> = ended.iter().flat_map(|id| id.0).collect();
                    frame::put(&mut open.out, Head::plain(FrameKind::Held), &body);
                }
                let mut asked = Vec::new();
                for stream in self.to_ask.drain(..) {
                    frame::put_mark(&mut asked, StreamMark { stream, next: 0 });
                }
                if !asked.is_empty() {
                    frame::put(&mut open.out, Head::plain(FrameKind::Ask), &asked);
                }
                let sources = &self.host.sources;
                let mut fetch = |process: ProcessId, from: u64, until: u64| {
                    let bytes = sources.get(&process)?.file.read_dictionary_bytes(from);
                    let length = usize::try_from(until.saturating_sub(from)).ok()?;
                    bytes.ok().map(|mut bytes| {
                        bytes.truncate(length);
                        bytes
                    })
                };
                let out = &mut open.out;
                // No record goes before its definitions.
                if self.undefined.is_empty()
                    && self.elsewhere.is_empty()
                    && let Err(error) =
                        self.spool.read(&mut self.place, out, SEND_BYTES, &mut fetch)
                {
                    self.messages.push(error.to_string());
                }
            }
            if open.is_sent() {
                return any;
            }
            match open.send() {
                Ok(sent) => any |= sent,
                Err(error) => {
                    self.link.fail(error.to_string());
                    return true;
                }
            }
            if !open.is_sent() {
                return any;
            }
        }
    }

    fn take_marks(&mut self, marks: &[StreamMark]) {
        for mark in marks {
            self.spool.acknowledge(*mark);
        }
        if marks.is_empty() {
            return;
        }
        self.acknowledged = Some(clock::now());
        self.spool.prune();
        for ring in &mut self.host.rings {
            if ring.marks.is_empty() {
                continue;
            }
            if ring.acknowledge(self.spool.acknowledged(ring.stream))
                && let Some(source) = self.host.sources.get_mut(&ring.stream.process)
            {
                source.has_moved = true;
            }
        }
    }

    /// Sets the levels of loggers of all processes, as the central server was told to.
    fn set_level(&mut self, asker: u64, body: &[u8]) {
        let mut count = 0;
        if let Some(order) = log_protocol::levels::LevelOrder::decode(body) {
            for source in self.host.sources.values_mut() {
                count += order.apply(&source.info, &mut source.file);
                source.levels.forget();
            }
        }
        let head = Head { first: asker, count, ..Head::plain(FrameKind::LevelSet) };
        if let Some(open) = self.link.open() {
            frame::put(&mut open.out, head, &[]);
        }
    }

    /// Removes, once a minute, what programs left that were killed as they started.
    fn remove_unfinished(&mut self) {
        let now = clock::now();
        if self.tidied.is_some_and(|last| now - last < TIDY) {
            return;
        }
        self.tidied = Some(now);
        let folders = self.settings.folders.iter().filter(|folder| folder.exists());
        let removed = folders.map(|folder| RingDirectory::remove_unfinished(folder).err());
        self.messages.extend(removed.flatten().map(|error| error.to_string()));
    }

    /// What it costs, and has done.
    fn cost(&self) -> ConsumerCost {
        let OwnCost { cpu_ns, memory_bytes } = OwnCost::read();
        let ProxyCounters { records, bytes, spool_bytes, .. } = self.counters();
        ConsumerCost { cpu_ns, memory_bytes, records, bytes, kept_bytes: spool_bytes }
    }

    /// About once a second: clocks, heartbeats, what is done, the disk.
    fn keep_house(&mut self) {
        if !self.waking.is_complete() {
            self.waking.watch();
        }
        self.write_kept();
        let cost = self.cost();
        for source in self.host.sources.values_mut() {
            source.tally.write(&source.file);
            source.levels.forget();
            let _ = source.file.set_cost(&cost);
            let now = source.file.clocks_now();
            // Of a process that ran in another boot, the clocks of this one say nothing.
            if source.file.is_alive() {
                let _ = source.file.calibrate(now);
                let _ = source.file.set_heartbeat(now.boottime_ns);
                source.line = crate::stamps::StampLine::default();
            }
        }
        self.remove_unfinished();
        self.close_rings();
        if self.gaps.is_empty() {
            self.done.extend(self.host.remove_done());
        }
        if self.spool.is_acknowledged() {
            self.spool.drop_acknowledged_tail();
        }
        let broken = self.spool.broken_dictionaries.len();
        if broken > self.broken_said {
            self.broken_said = broken;
            self.messages.push(format!(
                "dictionaries of {broken} processes were damaged in the spool: their records are \
                 kept, but messages of later call sites cannot be made"
            ));
        }
        // The server may forget marks only when nothing can be sent again.
        let (spool, ended) = (&mut self.spool, &mut self.ended);
        self.done.retain(|process| {
            let is_gone = spool.forget(*process);
            if is_gone {
                ended.push(*process);
            }
            !is_gone
        });
    }
}
