//! A caching daemon that is measured: started on a socket of its own, watched through `/proc`, and
//! ended.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::client::Client;
use crate::measure::{Measurement, ends_with_us, process_cpu};
use crate::programs::text_of;

/// Longest time until a daemon takes connections, or ends.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a daemon runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    /// The program.
    pub(crate) program: &'a Path,
    /// When whit acknowledges an update; `None` for rrdcached.
    pub(crate) acknowledge: Option<&'static str>,
    /// The folder that names of files are relative to.
    pub(crate) base: &'a Path,
    /// Age of readings at which they are written, in seconds.
    pub(crate) write_seconds: u64,
}

/// A daemon that runs.
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    /// Where it listens for TCP.
    address: SocketAddr,
    started: Instant,
    /// Its cost before the measurement.
    before: Cost,
}

/// What a process has cost since its start.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    cpu_us: u64,
    dirtied_bytes: u64,
}

impl Daemon {
    /// Starts a daemon whose journal is in a folder; the socket lies beside it.
    pub(crate) fn start(way: Way<'_>, journal: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(journal)?;
        let socket = journal.with_extension("sock");
        let mut command = Command::new(way.program);
        if let Some(acknowledge) = way.acknowledge {
            command.args(["rrdcached", "--ack", acknowledge]);
        }
        let seconds = way.write_seconds.to_string();
        // A look for idle files must not fall into a measurement.
        command.args(["-g", "-w", &seconds, "-f", "86400", "-t", "4", "-l"]).arg(&socket);
        // A port that was free a moment ago.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        command.arg("-l").arg(address.to_string());
        command.arg("-p").arg(journal.with_extension("pid"));
        command.arg("-b").arg(way.base).arg("-j").arg(journal).current_dir(way.base);
        command.env("TZ", "UTC").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = ends_with_us(&mut command).spawn()?;
        while UnixStream::connect(&socket).is_err() {
            if let Some(status) = child.try_wait()? {
                return Err(io::Error::other(format!("{} ended: {status}", text_of(&command))));
            }
            if started.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(Self { child, socket, address, started, before: Cost::default() })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> io::Result<Client> {
        Client::new(UnixStream::connect(&self.socket)?)
    }

    /// A new connection by TCP; each number has an address of its own.
    pub(crate) fn connect_from(&self, number: u8) -> io::Result<Client> {
        Client::from_address(Ipv4Addr::new(127, 0, 1, number), self.address)
    }

    /// Time since the start of the program.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// From now on its cost counts.
    pub(crate) fn begin(&mut self) {
        self.before = self.cost();
    }

    /// Adds its cost since `begin` to a measurement; gives bytes of pages that it made dirty.
    pub(crate) fn end(&self, turn: &mut Measurement) -> u64 {
        let cost = self.cost();
        turn.system_us += cost.cpu_us.saturating_sub(self.before.cpu_us);
        turn.resident_kib_max = self.resident_kib_max();
        cost.dirtied_bytes.saturating_sub(self.before.dirtied_bytes)
    }

    fn cost(&self) -> Cost {
        let pid = self.child.id();
        let cpu_us = process_cpu(pid).map_or(0, |time| time.as_micros() as u64);
        let dirtied_bytes = crate::rrd::pipe::dirtied_bytes(&pid.to_string()).unwrap_or(0);
        Cost { cpu_us, dirtied_bytes }
    }

    fn resident_kib_max(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let text = text.unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
    }

    /// Ends it; with a journal it writes no files then.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended is no fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
