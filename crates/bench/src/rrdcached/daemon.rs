//! A caching daemon that is measured: started on a socket of its own, watched through `/proc`, and
//! ended.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::client::Client;
use crate::contest::Measurement;
use crate::error::Result;
use crate::process::{self, BackgroundProgram, silent};

/// Longest time until a daemon takes connections.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a daemon runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DaemonSettings<'a> {
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
    program: BackgroundProgram,
    socket: PathBuf,
    /// Where it listens for TCP.
    address: SocketAddr,
    /// The cost of the daemon before the measurement.
    before: Measurement,
}

impl Daemon {
    /// Starts a daemon whose journal is in a folder; the socket lies beside it.
    pub(crate) fn start(way: DaemonSettings<'_>, journal: &Path) -> Result<Self> {
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
        let mut program = BackgroundProgram::start(silent(command.env("TZ", "UTC")))?;
        program.wait_until(PATIENCE, || UnixStream::connect(&socket).is_ok())?;
        Ok(Self { program, socket, address, before: Measurement::default() })
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.program.id()
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
        self.program.started.elapsed()
    }

    /// From now on its cost counts.
    pub(crate) fn begin(&mut self) {
        self.before = self.cost();
    }

    /// Adds its cost since `begin` to a measurement.
    pub(crate) fn end(&self, turn: &mut Measurement) {
        let cost = self.cost().since(&self.before, 1);
        turn.system_us += cost.cpu_us();
        turn.resident_kib_max = cost.resident_kib_max;
        turn.dirtied_bytes = cost.dirtied_bytes;
    }

    fn cost(&self) -> Measurement {
        process::spent(self.pid()).unwrap_or_default()
    }

    /// Ends it; with a journal it writes no files then.
    pub(crate) fn stop(self) -> Result<()> {
        self.program.stop().map(|_| ())
    }
}
