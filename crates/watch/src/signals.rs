//! The signals of the service, as a descriptor that can be waited for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::thread::{CapabilitiesSecureBits, CapabilitySet};

/// The signals: INT and TERM end the service, HUP has it read its file again, CHLD is of a part.
#[derive(Debug)]
pub(crate) struct ServiceSignals(OwnedFd);

/// What signals ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignalRequests {
    pub(crate) end: bool,
    pub(crate) reload: bool,
}

impl ServiceSignals {
    /// Blocks the signals in this thread, which must be the only one that does not block them, and
    /// opens the descriptor.
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: `sigemptyset` fills the set, `sigaddset` is given signals that exist, and the set lives
        // through the calls; the old mask is not asked for.  A descriptor that is not negative is ours.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
                libc::sigaddset(&raw mut set, signal);
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
                0 => {}
                code => return Err(io::Error::from_raw_os_error(code)),
            }
            match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(ServiceSignals(OwnedFd::from_raw_fd(descriptor))),
            }
        }
    }

    /// The signals that came since the last call.
    pub(crate) fn take_requests(&self) -> SignalRequests {
        let mut asked = SignalRequests::default();
        let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.0, &mut bytes).is_ok_and(|count| count == bytes.len()) {
            // `ssi_signo` is the first field.
            let number = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            match number.cast_signed() {
                libc::SIGINT | libc::SIGTERM => asked.end = true,
                libc::SIGHUP => asked.reload = true,
                _ => {}
            }
        }
        asked
    }
}

impl AsFd for ServiceSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// To load BPF programs, and to attach them to the network.
const LOADING: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::NET_ADMIN);

/// The capabilities of the service that a part does not need.  All parts may be given files, of secrets
/// or of configurations, that only root may read: they keep the right to read (`CAP_DAC_READ_SEARCH`).
pub(crate) fn given_up_by(part: &str) -> CapabilitySet {
    let (ports, processes) = (CapabilitySet::NET_BIND_SERVICE, CapabilitySet::SYS_PTRACE);
    match part {
        "record" => ports,
        // The service opens its socket.  It shows what the recorder has written, which is told only to who may trace it.
        "page" => ports | LOADING,
        "log.central" | "rrdcached" => processes | LOADING,
        _ => ports | processes | LOADING,
    }
}

/// Takes capabilities from those that execve(2) hands on; gives those that were among them.
fn hand_on_no_more(capabilities: CapabilitySet) -> io::Result<CapabilitySet> {
    let mut taken = CapabilitySet::empty();
    for capability in capabilities.iter() {
        // A kernel that does not know the capability gave none.
        if rustix::thread::capability_is_in_ambient_set(capability).unwrap_or(false) {
            rustix::thread::configure_capability_in_ambient_set(capability, false)?;
            taken |= capability;
        }
    }
    Ok(taken)
}

/// Gives capabilities that are handed on no more up at once, as execve(2) does.
///
/// # Errors
/// If the system refuses it; a filter of system calls may also kill the process.
pub(crate) fn give_up(capabilities: CapabilitySet) -> io::Result<()> {
    // Root has all of them again after execve(2), if nothing else was asked for.
    let bits = rustix::thread::capabilities_secure_bits()?;
    let has_all =
        rustix::process::geteuid().is_root() && !bits.contains(CapabilitiesSecureBits::NO_ROOT);
    if capabilities.is_empty() || has_all {
        return Ok(());
    }
    let mut sets = rustix::thread::capabilities(None)?;
    sets.effective.remove(capabilities);
    sets.permitted.remove(capabilities);
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Prepares a process that was just forked: no blocked signals, no capabilities handed on that it does not
/// need, and an end when the service ends.  Gives the capabilities that it has to give up if it executes
/// nothing.
///
/// # Errors
/// If the system refuses it, or the service has ended already.
pub(crate) fn prepare_part(service: u32, given_up: CapabilitySet) -> io::Result<CapabilitySet> {
    let taken = hand_on_no_more(given_up)?;
    spawn::unblock();
    // SAFETY: system calls with plain numbers, all of them allowed between fork and exec.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid().cast_unsigned() != service {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(taken)
}
