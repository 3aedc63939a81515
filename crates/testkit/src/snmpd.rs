//! net-snmp's agent, started for a test on a port of the loopback and ended with it.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::{Deadline, Running};

/// A running snmpd with the community `public`; dropping it ends the agent.
#[derive(Debug)]
pub struct Snmpd {
    child: Running,
    address: SocketAddr,
    _folder: TempDir,
}

impl Snmpd {
    /// Starts the agent with further lines of `snmpd.conf` (users: `createUser` and `rouser`), and
    /// waits until it answers.  `None`, and a skip, if it is not installed.
    ///
    /// # Panics
    /// If the agent does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn start(lines: &str) -> Option<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST, lines)
    }

    /// Starts an agent at an address of this machine, 127.0.0.0/8; `None` if `snmpd` is not installed.
    ///
    /// # Panics
    /// If the agent does not answer within [`crate::PATIENCE`].
    #[must_use]
    pub fn start_at(host: Ipv4Addr, lines: &str) -> Option<Self> {
        if !crate::is_installed("snmpd", "snmpd") {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        // A port that was free a moment ago; another program may have taken it since.
        for _ in 0..5 {
            let socket = UdpSocket::bind((host, 0)).expect("a port");
            let address = socket.local_addr().expect("its number");
            drop(socket);
            let config = format!("agentAddress udp:{address}\nrocommunity public\n{lines}\n");
            std::fs::write(folder.path().join("snmpd.conf"), config).expect("a file");
            let mut child = Running::start(&mut command(&folder));
            if answers(&mut child, address) {
                return Some(Self { child, address, _folder: folder });
            }
        }
        panic!("snmpd ends at its start, five times");
    }

    /// Where the agent listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file that has its CPU time, in ns.
    #[must_use]
    pub fn schedstat(&self) -> String {
        format!("/proc/{}/schedstat", self.child.id())
    }
}

fn command(folder: &TempDir) -> Command {
    let mut command = Command::new("snmpd");
    command.args(["-f", "-r", "-Lf"]).arg(folder.path().join("log"));
    command.arg("-C").arg("-c").arg(folder.path().join("snmpd.conf"));
    command.env("SNMP_PERSISTENT_DIR", folder.path().join("state")).env("MIBS", "");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits for an answer; `false` if the agent has ended.
fn answers(child: &mut Running, address: SocketAddr) -> bool {
    // GET sysUpTime.0, version 2c, community `public`.
    let request =
        *b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x01\x02\x01\x00\x02\x01\x00\
        \x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let deadline = Deadline::default();
    while deadline.is_ahead() {
        if child.try_wait().expect("its state").is_some() {
            return false;
        }
        let _ = socket.send_to(&request, address);
        if socket.recv(&mut [0; 100]).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("snmpd does not answer");
}
