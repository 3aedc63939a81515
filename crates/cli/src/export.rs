//! Opens the places that `--export` formats go to, and hands out a view that sends there.
//!
//! Costs, per report: `graphite` one `write` to a connection that stays open, `gexpr` a `sendto`
//! for each packet, a snapshot file four calls (it is written beside and renamed, so that nobody
//! reads half of one).
//!
//! While sampling, graphite's connection belongs to a thread of its own: a carbon that hangs must
//! not make samples late.  Reports wait in a short queue and are dropped, and counted, when it is
//! full.  While playing there is no hurry, and every report is sent before the next is made.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use sample::{Frame, Meta, Options, SourceDef};
use view::export::{Echo, ExportError, Setting, Sink};
use view::{Setup, View};

/// Reports that wait for a slow carbon: a minute of them at one a second, a few MB at most.
const QUEUE_REPORTS_MAX: usize = 60;

/// How long connecting and writing may take, as collectl has it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens an export by its name and options.  `None` when its help was asked for and printed.
///
/// # Errors
/// One line about the option that is wrong or the place that cannot be reached.
pub(crate) fn open(
    name: &str,
    options: &[&str],
    setup: &Setup,
    setting: &Setting,
) -> anyhow::Result<Option<Box<dyn View>>> {
    let export = match view::export::open(name, options, setup, setting) {
        Ok(export) => export,
        Err(ExportError::Help(text)) => {
            print!("{text}");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let delay_max = Duration::from_secs(export.delay_max_seconds.into());
    let place = match export.sink {
        Sink::Output => return Ok(Some(export.view)),
        Sink::Nowhere => Place::Nowhere,
        Sink::Snapshot(path) => Place::Snapshot(path),
        Sink::Tcp { host, port } if setting.playing => {
            Place::Stream(Stream::new(host, port, Duration::ZERO))
        }
        Sink::Tcp { host, port } => Place::Queue(Queue::start(Stream::new(host, port, delay_max))?),
        Sink::Udp { host, port } => Place::Datagrams(Datagrams::open(&host, port)?),
    };
    let sending = Sending { view: export.view, echo: export.echo, place, buffer: Vec::new() };
    Ok(Some(Box::new(sending)))
}

/// A host's name with its domain, as the resolver gives it (`AI_CANONNAME`); `None` if it has
/// none.
pub(crate) fn full_host_name(host: &str) -> Option<String> {
    let host = std::ffi::CString::new(host).ok()?;
    // SAFETY: all zero is a valid `addrinfo`: no flags, no addresses, no pointers.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_flags = libc::AI_CANONNAME;
    let mut found = std::ptr::null_mut();
    // SAFETY: the name ends with NUL, `hints` and `found` outlive the call.
    if unsafe { libc::getaddrinfo(host.as_ptr(), std::ptr::null(), &hints, &mut found) } != 0 {
        return None;
    }
    // SAFETY: success means a list of at least one, whose first has the name or NULL; it is copied
    // before the list is freed, once.
    let name = unsafe {
        let name = (*found).ai_canonname;
        let copied = (!name.is_null()).then(|| std::ffi::CStr::from_ptr(name).to_owned());
        libc::freeaddrinfo(found);
        copied
    };
    name?.into_string().ok().filter(|name| !name.is_empty())
}

/// A view whose bytes go somewhere else than to the output.
struct Sending {
    view: Box<dyn View>,
    echo: Echo,
    place: Place,
    buffer: Vec<u8>,
}

enum Place {
    Nowhere,
    Snapshot(PathBuf),
    Stream(Stream),
    Queue(Queue),
    Datagrams(Datagrams),
}

impl View for Sending {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[&'static SourceDef],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.view.begin(meta, defs, options, out)
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if let Place::Datagrams(datagrams) = &mut self.place {
            let mut tee = Tee { packets: Some(datagrams), echo: self.echo, out };
            return self.view.frame(frame, &mut tee);
        }
        self.buffer.clear();
        if self.echo == Echo::Hex {
            return self.view.frame(frame, &mut Tee { packets: None, echo: Echo::Hex, out });
        }
        self.view.frame(frame, &mut self.buffer)?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.echo == Echo::Text {
            out.write_all(&self.buffer)?;
        }
        match &mut self.place {
            Place::Nowhere | Place::Datagrams(_) => Ok(()),
            Place::Snapshot(path) => replace(path, &self.buffer),
            Place::Stream(stream) => {
                stream.send(&self.buffer);
                Ok(())
            }
            Place::Queue(queue) => {
                queue.send(&self.buffer);
                Ok(())
            }
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.view.end(out)?;
        if let Place::Queue(queue) = &mut self.place {
            queue.finish();
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.view.notes();
        let (lost, what) = match &self.place {
            Place::Stream(stream) => (stream.lost, "reports"),
            Place::Queue(queue) => (queue.lost, "reports"),
            Place::Datagrams(datagrams) => (datagrams.lost, "packets"),
            Place::Nowhere | Place::Snapshot(_) => (0, ""),
        };
        if lost > 0 {
            notes.push(format!("--export: {lost} {what} could not be sent"));
        }
        notes
    }
}

/// Writes a file as a whole: whoever reads it sees the old or the new one.
fn replace(path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let told = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
    };
    std::fs::write(&beside, bytes).map_err(told)?;
    std::fs::rename(&beside, path).map_err(told)
}

/// A TCP connection that is opened again after it broke.
struct Stream {
    host: String,
    port: u16,
    delay_max: Duration,
    connection: Option<TcpStream>,
    /// Whether the failure has been told: once for each time the connection is down.
    told: bool,
    lost: u64,
}

impl Stream {
    fn new(host: String, port: u16, delay_max: Duration) -> Self {
        Stream { host, port, delay_max, connection: None, told: false, lost: 0 }
    }

    fn send(&mut self, bytes: &[u8]) {
        std::thread::sleep(random_part(self.delay_max));
        let result = self.connected().and_then(|connection| connection.write_all(bytes));
        match result {
            Ok(()) => self.told = false,
            Err(error) => {
                self.connection = None;
                self.lost += 1;
                if !std::mem::replace(&mut self.told, true) {
                    let Stream { host, port, .. } = self;
                    eprintln!("whit: {host}:{port}: {error}; trying again at each report");
                }
            }
        }
    }

    fn connected(&mut self) -> io::Result<&mut TcpStream> {
        if self.connection.is_none() {
            let address = resolve(&self.host, self.port)?;
            let connection = TcpStream::connect_timeout(&address, PATIENCE)?;
            connection.set_write_timeout(Some(PATIENCE))?;
            self.connection = Some(connection);
        }
        self.connection.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    (host, port).to_socket_addrs()?.next().ok_or_else(unknown)
}

/// A random part of a time.  The hasher's keys are random; nothing better is needed to keep
/// machines from speaking at once.
fn random_part(whole: Duration) -> Duration {
    use std::hash::{BuildHasher, Hasher};
    if whole.is_zero() {
        return whole;
    }
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    whole.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64)
}

/// A stream with a thread of its own.
struct Queue {
    sender: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<u64>>,
    lost: u64,
}

impl Queue {
    fn start(mut stream: Stream) -> anyhow::Result<Self> {
        let (sender, receiver): (_, Receiver<Vec<u8>>) = sync_channel(QUEUE_REPORTS_MAX);
        let run = move || {
            for report in receiver {
                stream.send(&report);
            }
            stream.lost
        };
        let thread = std::thread::Builder::new().name("export".into()).spawn(run);
        let thread = thread.context("--export: cannot start the sending thread")?;
        Ok(Queue { sender: Some(sender), thread: Some(thread), lost: 0 })
    }

    fn send(&mut self, report: &[u8]) {
        let Some(sender) = &self.sender else { return };
        match sender.try_send(report.to_vec()) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.lost += 1,
        }
    }

    /// Waits until what is queued is sent or has failed.
    fn finish(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            self.lost += thread.join().unwrap_or(0);
        }
    }
}

/// A UDP socket and where its datagrams go.
struct Datagrams {
    socket: UdpSocket,
    address: SocketAddr,
    lost: u64,
}

impl Datagrams {
    fn open(host: &str, port: u16) -> anyhow::Result<Self> {
        let place = || format!("--export: {host}:{port}");
        let address = resolve(host, port).with_context(place)?;
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).with_context(place)?;
        Ok(Datagrams { socket, address, lost: 0 })
    }
}

/// Sends each `write` as a datagram and shows it, if asked.
struct Tee<'a> {
    packets: Option<&'a mut Datagrams>,
    echo: Echo,
    out: &'a mut dyn Write,
}

impl Write for Tee<'_> {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        if let Some(datagrams) = &mut self.packets
            && datagrams.socket.send_to(packet, datagrams.address).is_err()
        {
            // A gmond that is down is not a reason to stop; what was lost is told at the end.
            datagrams.lost += 1;
        }
        if self.echo == Echo::Hex {
            for byte in packet {
                write!(self.out, "{byte:02x} ")?;
            }
            writeln!(self.out)?;
        }
        Ok(packet.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// One source with one level.
    static DEF: SourceDef = SourceDef {
        name: "demo",
        about: "A source for tests",
        letters: "m",
        reads: &[],
        instance: &[],
        fields: &[sample::Field::gauge("free", sample::Unit::Count, "A level")],
        cadence: sample::Cadence::First,
        layouts: &[sample::Layout {
            letter: 'm',
            metrics: &[sample::PlotColumn::new("meminfo.free", |row| row.gauge(0))],
            ..sample::Layout::EMPTY
        }],
    };

    /// Shows `ticks` ticks through an export; what it wrote to the output.
    fn run(name: &str, options: &[&str], playing: bool, ticks: u64) -> (String, Vec<String>) {
        let setting = Setting { playing, ..Setting::default() };
        let setup = Setup::of(jiff::tz::TimeZone::UTC);
        let mut view = open(name, options, &setup, &setting).unwrap().unwrap();
        let mut meta = Meta::new();
        meta.set("host", "vm");
        let (defs, options) = ([&DEF], Options::default());
        let mut history = sample::History::new(&defs);
        let mut out = Vec::new();
        view.begin(&meta, &defs, &options, &mut out).unwrap();
        for tick in 1..=ticks {
            let mut snapshot = sample::Snapshot::new(&defs);
            snapshot.monotonic_ns = tick * 1_000_000_000;
            snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
            snapshot.fresh[0] = true;
            snapshot.samples[0].state = sample::State::Ok;
            snapshot.samples[0].table.row(b"").set(0, tick);
            history.push(&mut snapshot);
            view.frame(&history.frame(&meta, &options), &mut out).unwrap();
        }
        view.end(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), view.notes())
    }

    #[test]
    fn the_resolver_knows_this_machine_by_name() {
        assert!(full_host_name("localhost").is_some_and(|name| name.contains("localhost")));
        assert_eq!(full_host_name("a\0b"), None);
    }

    #[test]
    fn graphite_reaches_a_carbon_from_a_play_and_from_a_recorder() {
        for playing in [true, false] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let carbon = std::thread::spawn(move || {
                let mut text = String::new();
                listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
                text
            });
            let (out, notes) = run("graphite", &[&address, "d=1"], playing, 3);
            assert_eq!(out, "vm.meminfo.free 2 2\nvm.meminfo.free 3 3\n");
            assert!(notes.is_empty(), "{notes:?}");
            assert_eq!(carbon.join().unwrap(), out);
        }
    }

    #[test]
    fn a_carbon_that_is_not_there_is_counted() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (_, notes) = run("graphite", &[&address], true, 3);
        assert_eq!(notes, ["--export: 2 reports could not be sent"]);
    }

    #[test]
    fn gexpr_sends_a_datagram_for_each_packet() {
        let gmond = UdpSocket::bind("127.0.0.1:0").unwrap();
        gmond.set_read_timeout(Some(PATIENCE)).unwrap();
        let address = gmond.local_addr().unwrap().to_string();
        let (out, _) = run("gexpr", &[&address, "d=4"], true, 2);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        for line in lines {
            let mut packet = [0; 2048];
            let length = gmond.recv(&mut packet).unwrap();
            let hex: String = packet[..length].iter().map(|byte| format!("{byte:02x} ")).collect();
            assert_eq!(hex, line);
        }
    }

    #[test]
    fn a_snapshot_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("L");
        let (out, _) = run("lexpr", &[&format!("f={}", path.display())], true, 3);
        assert_eq!(out, "");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "sample.time 3.000\nmeminfo.free 3\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
