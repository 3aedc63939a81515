//! How many records of others a proxy takes: syslog by TCP and UDP, OTLP, the journal, a followed file.
//!
//! Each run has a proxy of its own with one input.  It writes text to a file, as rsyslog does, which takes
//! the same messages where it is installed; or it keeps records in its spool, as it does for a central
//! server, which counts them afterwards.  The cost is the CPU time of the whole process from before the
//! first record until nothing more is written.  All but datagrams must arrive once.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::scenario::{RunSettings, received};
use super::search::{NO_JOURNAL, make_journal};
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::folder::bytes_in;
use crate::process::{self, BackgroundProgram, silent};
use crate::programs::{Programs, run_quietly};

mod messages;

/// Datagrams in a second that are offered.
pub(super) const DATAGRAM_RATE: u64 = 500_000;
/// Longest wait until an input is open, and until it has taken everything.
const PATIENCE: Duration = Duration::from_secs(300);
/// Nothing is written for this long: everything is.
const QUIET: Duration = Duration::from_secs(1);
/// How often it is looked for what is written.
const LOOK: Duration = Duration::from_millis(5);

/// How records come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
    Otlp,
    Journal,
    File,
}

impl Transport {
    const ALL: [Transport; 5] =
        [Transport::Tcp, Transport::Udp, Transport::Otlp, Transport::Journal, Transport::File];

    fn title(self) -> &'static str {
        match self {
            Transport::Tcp => "syslog, TCP",
            Transport::Udp => "syslog, UDP",
            Transport::Otlp => "OTLP",
            Transport::Journal => "journal",
            Transport::File => "file",
        }
    }

    /// The name of the input's form, which is its logger.
    fn form(self) -> &'static str {
        match self {
            Transport::Tcp | Transport::Udp => "syslog",
            Transport::Otlp => "otlp",
            Transport::Journal => "journal",
            Transport::File => "file",
        }
    }

    /// What each contestant is given, made before the clock starts.
    fn prepare(self, folder: &Path, records: u64, programs: &Programs) -> Result<Option<Offer>> {
        let free = || -> Result<SocketAddr> { Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?) };
        Ok(Some(match self {
            Transport::Tcp => Offer::Stream(free()?, messages::syslog_stream(records)),
            Transport::Udp => Offer::Datagrams(free()?, records),
            Transport::Otlp => {
                let address = free()?;
                Offer::Requests(address, messages::requests(address, records))
            }
            Transport::Journal => {
                let write = |into| messages::write_entries(records, std::io::BufWriter::new(into));
                match make_journal(programs, folder, write)? {
                    Some(journal) => Offer::There(journal),
                    None => return Ok(None),
                }
            }
            Transport::File => {
                let path = folder.join("lines");
                std::fs::write(&path, messages::lines(records))?;
                Offer::There(path)
            }
        }))
    }
}

/// What is taken.
enum Offer {
    Stream(SocketAddr, Vec<u8>),
    Datagrams(SocketAddr, u64),
    Requests(SocketAddr, Vec<Vec<u8>>),
    /// Files that are there from the start.
    There(PathBuf),
}

impl Offer {
    /// The target of whit's input.
    fn input(&self, way: Transport) -> String {
        let form = way.form();
        match self {
            Offer::Stream(address, _) => format!("{form}:tcp:{address}"),
            Offer::Datagrams(address, _) | Offer::Requests(address, _) => {
                format!("{form}:{address}")
            }
            Offer::There(path) => format!("{form}:{}", path.display()),
        }
    }

    /// rsyslog's configuration of the same input; `None`: it is not asked.
    fn rsyslog(&self) -> Option<String> {
        let (module, address) = match self {
            Offer::Stream(address, _) => ("imtcp", address),
            Offer::Datagrams(address, _) => ("imudp", address),
            Offer::Requests(..) | Offer::There(_) => return None,
        };
        let (host, port) = (address.ip(), address.port());
        Some(format!(
            "module(load=\"{module}\")\n\
             input(type=\"{module}\" address=\"{host}\" port=\"{port}\")\n"
        ))
    }

    /// Whether the input is open.
    fn is_open(&self) -> bool {
        match self {
            Offer::Stream(address, _) | Offer::Requests(address, _) => {
                is_bound("tcp", "0A", *address)
            }
            Offer::Datagrams(address, _) => is_bound("udp", "07", *address),
            Offer::There(_) => true,
        }
    }

    /// Sends everything.
    fn send(&self) -> Result<()> {
        match self {
            Offer::Stream(address, bytes) => {
                let mut stream = TcpStream::connect(address)?;
                std::io::Write::write_all(&mut stream, bytes)?;
                Ok(())
            }
            Offer::Datagrams(address, records) => {
                messages::send_datagrams(*address, *records, DATAGRAM_RATE)
            }
            Offer::Requests(address, requests) => messages::post(*address, requests),
            Offer::There(_) => Ok(()),
        }
    }
}

/// Whether a socket of this machine has an address (of IPv4), by the kernel's table.  To bind it oneself would
/// keep a program from it that is about to open it.
fn is_bound(table: &str, state: &str, address: SocketAddr) -> bool {
    let SocketAddr::V4(address) = address else { return false };
    let ip = u32::from_ne_bytes(address.ip().octets());
    let local = format!("{ip:08X}:{:04X}", address.port());
    let sockets = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    // Number, local address, remote address, state.
    let is_it = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        fields.next() == Some(&local) && fields.nth(1) == Some(state)
    };
    sockets.lines().any(is_it)
}

/// Who takes the records, and where they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taker {
    WhitText,
    WhitSpool,
    Rsyslog,
}

impl Taker {
    const ALL: [Taker; 3] = [Taker::WhitText, Taker::WhitSpool, Taker::Rsyslog];

    fn name(self) -> &'static str {
        match self {
            Taker::WhitText => "whit, as text",
            Taker::WhitSpool => "whit, in its spool",
            Taker::Rsyslog => "rsyslog, as text",
        }
    }
}

/// A way and a taker, in all rounds.
#[derive(Clone, Debug)]
pub(super) struct InputRun {
    pub(super) way: &'static str,
    pub(super) who: &'static str,
    pub(super) offered: u64,
    pub(super) rounds: Vec<Took>,
}

impl InputRun {
    fn middle(&self, value: impl Fn(&Took) -> f64) -> f64 {
        median(self.rounds.iter().map(value).collect())
    }

    /// Records that were kept in the worst round.
    pub(super) fn kept(&self) -> u64 {
        self.rounds.iter().map(|took| took.kept).min().unwrap_or(0)
    }

    /// CPU time of a kept record.
    pub(super) fn cpu_ns(&self) -> f64 {
        self.middle(Took::cpu_ns)
    }

    /// Kept records in a second of the clock.
    pub(super) fn per_s(&self) -> f64 {
        self.middle(|took| took.kept as f64 / took.time.as_secs_f64())
    }
}

/// All ways, everybody in turn in each round.
pub(super) fn measure(
    settings: &RunSettings<'_>,
    programs: &Programs,
    (records, rounds): (u64, usize),
    notes: &mut Vec<String>,
    mut show: impl FnMut(&str, &str, usize),
) -> Result<Vec<InputRun>> {
    // A daemon is in no user's search path.
    let rsyslog = programs.path.find("rsyslogd");
    let rsyslog =
        rsyslog.or_else(|| Some(PathBuf::from("/usr/sbin/rsyslogd")).filter(|path| path.exists()));
    if rsyslog.is_none() {
        notes.push("rsyslogd is not installed: its lines of the inputs are missing".to_owned());
    }
    let folder = tempfile::tempdir_in(settings.folder)?;
    let mut runs: Vec<InputRun> = Vec::new();
    for way in Transport::ALL {
        let Some(offer) = way.prepare(folder.path(), records, programs)? else {
            notes.push(format!("{NO_JOURNAL}: its lines of the inputs are missing"));
            continue;
        };
        for round in 0..rounds {
            for taker in Taker::ALL {
                let is_there =
                    taker != Taker::Rsyslog || rsyslog.is_some() && offer.rsyslog().is_some();
                if !is_there {
                    continue;
                }
                show(way.title(), taker.name(), round);
                let run = Run { settings, way, offer: &offer, taker };
                let took = run
                    .run(rsyslog.as_deref())
                    .with_context(|| format!("{}, {}", way.title(), taker.name()))?;
                ensure!(
                    took.kept == records || way == Transport::Udp && took.kept < records,
                    "{}: {} sent, {} kept",
                    way.title(),
                    records,
                    took.kept
                );
                add(&mut runs, (way, taker, records), took);
            }
        }
    }
    Ok(runs)
}

fn add(runs: &mut Vec<InputRun>, (way, taker, offered): (Transport, Taker, u64), took: Took) {
    let (way, who) = (way.title(), taker.name());
    match runs.iter_mut().find(|run| run.way == way && run.who == who) {
        Some(run) => run.rounds.push(took),
        None => runs.push(InputRun { way, who, offered, rounds: vec![took] }),
    }
}

/// What a run took: how many records it kept, the CPU time, and the time until the last was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    pub(super) kept: u64,
    pub(super) cpu: Duration,
    pub(super) time: Duration,
}

impl Took {
    pub(super) fn cpu_ns(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.kept.max(1) as f64
    }
}

/// One run.
struct Run<'a> {
    settings: &'a RunSettings<'a>,
    way: Transport,
    offer: &'a Offer,
    taker: Taker,
}

impl Run<'_> {
    fn run(&self, rsyslog: Option<&Path>) -> Result<Took> {
        let rings = tempfile::tempdir_in(self.settings.rings)?;
        let folder = tempfile::tempdir_in(self.settings.folder)?;
        let folder = folder.path();
        let mut command = self.command(folder, rings.path(), rsyslog)?;
        let errors = std::fs::File::create(folder.join("said"))?;
        let mut running =
            BackgroundProgram::start(silent(&mut command).stderr(errors).current_dir(folder))?;
        running.wait_until(PATIENCE, || self.offer.is_open())?;
        let id = running.id();
        // What is there from the start is read from the start: that costs some milliseconds more.
        let is_there = matches!(self.offer, Offer::There(_));
        let cpu_before = if is_there { Duration::ZERO } else { cpu(id)? };
        let begin = if is_there { running.started } else { Instant::now() };
        self.offer.send()?;
        let time = self.wait_until_quiet(&mut running, folder, begin)?;
        let cpu = cpu(id)? - cpu_before;
        running.stop_well()?;
        Ok(Took { kept: self.kept(folder, rings.path())?, cpu, time })
    }

    fn command(&self, folder: &Path, rings: &Path, rsyslog: Option<&Path>) -> Result<Command> {
        if let (Taker::Rsyslog, Some(rsyslog), Some(input)) =
            (self.taker, rsyslog, self.offer.rsyslog())
        {
            let here = folder.display();
            let text = format!(
                "global(workDirectory=\"{here}\")\n{input}\
                 action(type=\"omfile\" file=\"{here}/out\" ioBufferSize=\"64k\" flushOnTXEnd=\"off\")\n"
            );
            let file = folder.join("rsyslog.conf");
            std::fs::write(&file, text)?;
            let mut command = Command::new(rsyslog);
            command.args(["-n", "-i", "NONE", "-f"]).arg(file);
            return Ok(command);
        }
        let mut command = self.settings.log("proxy");
        command.arg("--directory").arg(rings).args(["-i", &self.offer.input(self.way)]);
        match self.taker {
            Taker::WhitSpool => command.args(["--central", "./socket", "--spool", "spool"]),
            // The spool has the cursors, and nothing else.
            _ => command.args(["--central", "none", "--spool", "spool", "-o", "text:out"]),
        };
        Ok(command)
    }

    /// Waits until nothing more is written; gives the time until the last was.
    fn wait_until_quiet(
        &self,
        running: &mut BackgroundProgram,
        folder: &Path,
        begin: Instant,
    ) -> Result<Duration> {
        let (mut bytes, mut changed) = (0, Instant::now());
        loop {
            running.check()?;
            let now = match self.taker {
                // Not there yet.
                Taker::WhitSpool => bytes_in(&folder.join("spool")).unwrap_or(0),
                _ => folder.join("out").metadata().map_or(0, |facts| facts.len()),
            };
            if now != bytes {
                (bytes, changed) = (now, Instant::now());
            }
            if bytes > 0 && changed.elapsed() > QUIET {
                return Ok(changed - begin);
            }
            ensure!(changed.elapsed() < PATIENCE, "nothing was written");
            std::thread::sleep(LOOK);
        }
    }

    /// Counts what was kept.
    fn kept(&self, folder: &Path, rings: &Path) -> Result<u64> {
        if self.taker != Taker::WhitSpool {
            let text = std::fs::read(folder.join("out"))?;
            let lines = text.split(|byte| *byte == b'\n');
            let mark = messages::MARK.as_bytes();
            let has_mark = |line: &&[u8]| line.windows(mark.len()).any(|part| part == mark);
            return Ok(lines.filter(has_mark).count() as u64);
        }
        let central = self.settings.central(folder, false)?;
        let mut rest = self.settings.proxy(folder, rings);
        run_quietly(rest.arg("--once"))?;
        central.stop()?;
        received(self.settings, folder, &["--logger", self.way.form(), "--text", messages::MARK])
    }
}

/// CPU time of a process, its ended threads too, and of the program that it has started, if any.
fn cpu(id: u32) -> Result<Duration> {
    let mut sum = process::cpu(id).context("the process has ended")?;
    for task in std::fs::read_dir(format!("/proc/{id}/task"))? {
        // A thread that has ended meanwhile has no file.
        let children = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        let ids = children.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        sum += ids.filter_map(process::cpu).sum::<Duration>();
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_bound_is_in_the_table_and_only_that() {
        let stream = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = stream.local_addr().unwrap();
        assert!(is_bound("tcp", "0A", address));
        let mut other = address;
        other.set_ip(std::net::Ipv4Addr::new(127, 0, 0, 2).into());
        assert!(!is_bound("tcp", "0A", other));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(is_bound("udp", "07", socket.local_addr().unwrap()));
    }
}
