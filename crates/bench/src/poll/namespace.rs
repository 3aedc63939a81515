//! A network namespace of this process's own, with interfaces for `snmpd` to count.
//!
//! It belongs to this thread and what it starts afterwards, and goes with the last of them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::SearchPath;
use crate::error::{Context, Result, ensure};

/// Pairs of `veth` interfaces: with the loopback 99 interfaces, numbered from 1.
const PAIRS: u32 = 49;

/// The highest number of an interface.
pub(super) const INTERFACES: u32 = 2 * PAIRS + 1;

/// Gives this thread a network of its own: the loopback and 98 interfaces.
///
/// # Errors
/// `ip` is missing, or it is not allowed.
pub(super) fn own_network(path: &SearchPath) -> Result<()> {
    let ip = ["/usr/sbin/ip", "/sbin/ip"].map(std::path::PathBuf::from).into_iter();
    let ip = path.find("ip").or_else(|| ip.into_iter().find(|path| path.is_file()));
    let ip = ip.context("ip (iproute2) is not installed")?;
    // SAFETY: no memory is passed; open sockets stay in the network they were made in.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(std::io::Error::last_os_error()).context("unshare(2)");
    }
    let mut lines = "link set lo up\n".to_owned();
    for number in 1..=PAIRS {
        lines.push_str(&format!("link add v{number} type veth peer name w{number}\n"));
        lines.push_str(&format!("link set v{number} up\nlink set w{number} up\n"));
    }
    let mut command = Command::new(ip);
    command.args(["-batch", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(lines.as_bytes())?;
    }
    let status = child.wait()?;
    ensure!(status.success(), "ip cannot make interfaces: {status}");
    Ok(())
}
