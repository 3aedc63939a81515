//! Exits from taskstats, where BPF programs may not be loaded.
//!
//! The kernel sends a record for each thread that exits on a registered CPU
//! (Documentation/accounting/taskstats.rst; `CAP_NET_ADMIN`).  Costs one system call per thread.
//! Before Linux 5.16 a record does not say of which process the thread is, so there this way is not
//! open.
//!
//! Records lack the command line, the control group, and exact start and exit times (only seconds
//! since the epoch); the start time is exact if a pass over all processes has seen the process,
//! otherwise the row's name has a start rounded to the second.  User and system time are sampled by
//! the tick, in steps of 1 to 10 ms; the sum is better known (`stats::cpu_ns`), and divided as they
//! are.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bpf::{CpuTime, adjusted};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use sample::{RowMut, Table};

use super::stats::{Stats, attributes, error_of, messages, request, threads};
use super::{ENDS_MAX, Names, set_code, until_zero};
use crate::instance::RowName;
use crate::process_counters::attributed::{KeyHasher, TICKS_A_SECOND, start_ns};
use crate::{SourceContext, Wakeup};

/// Buffer of the socket: about 6,000 exits.
const SOCKET_BYTES: usize = 16 << 20;

/// Time between two reads of the socket: waiting until it is readable would cost a wake-up per
/// exit.
const EVERY_NS: u64 = 500_000_000;

/// The most processes with exited and living threads.  Beyond it the usage of exited threads is
/// missing in that of their process.
const PROCESSES_MAX: usize = 16_384;

const GENERIC_CONTROL: u16 = 16;
const REQUEST: u16 = 1;
const REQUEST_WITH_ANSWER: u16 = 5;
/// `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_NAME`, `CTRL_ATTR_FAMILY_ID`.
const GET_FAMILY: u8 = 3;
const FAMILY_NAME: u16 = 2;
const FAMILY_ID: u16 = 1;
/// `TASKSTATS_CMD_GET`, `TASKSTATS_CMD_ATTR_PID`, `TASKSTATS_CMD_ATTR_REGISTER_CPUMASK`.
const GET: u8 = 1;
const PID: u16 = 1;
const REGISTER_CPUS: u16 = 3;

/// The socket, and the exits read since the previous tick.
pub(super) struct Taskstats {
    socket: OwnedFd,
    family: u16,
    context: Arc<SourceContext>,
    buffer: Box<[u8]>,
    ends: Vec<End>,
    /// Usage of exited threads of living processes, by process.
    earlier: HashMap<u32, Stats, BuildHasherDefault<KeyHasher>>,
    lost: u64,
}

struct End {
    stats: Stats,
    /// The start time: exact if a pass has seen it, else rounded to the second.
    start_ticks: u64,
    is_start_exact: bool,
}

impl Taskstats {
    pub(super) fn open(context: &Arc<SourceContext>) -> io::Result<Self> {
        let kind = SocketType::RAW;
        let generic = Some(netlink::GENERIC);
        let socket =
            rustix::net::socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, generic)?;
        // The second call is limited by `net.core.rmem_max` and never fails.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, SOCKET_BYTES).is_err() {
            rustix::net::sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BYTES)?;
        }
        let mut buffer = vec![0; 16 * 1024].into_boxed_slice();
        let ask = request(GENERIC_CONTROL, REQUEST, GET_FAMILY, &[(FAMILY_NAME, b"TASKSTATS\0")]);
        let family = family_in(exchange(&socket, &ask, &mut buffer)?)?;
        let own = std::process::id().to_ne_bytes();
        let ask = request(family, REQUEST, GET, &[(PID, &own)]);
        let answer = exchange(&socket, &ask, &mut buffer)?;
        check(answer)?;
        if threads(answer, family).next().is_none() {
            let why = "its records do not name the process; they do since Linux 5.16";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let cpus = std::fs::read("/sys/devices/system/cpu/possible")?;
        let cpus = [cpus.trim_ascii_end(), b"\0"].concat();
        let ask = request(family, REQUEST_WITH_ANSWER, GET, &[(REGISTER_CPUS, &cpus)]);
        check(exchange(&socket, &ask, &mut buffer)?)?;
        Ok(Taskstats {
            socket,
            family,
            context: context.clone(),
            buffer,
            ends: Vec::new(),
            earlier: HashMap::default(),
            lost: 0,
        })
    }

    pub(super) fn wakeup(&self) -> Wakeup<'_> {
        Wakeup::Every(EVERY_NS)
    }

    /// Reads all messages from the socket.
    pub(super) fn drain(&mut self) {
        loop {
            match rustix::net::recv(&self.socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
                Ok((length, _)) => self.parse_messages(length),
                Err(Errno::INTR) => {}
                // The socket's buffer overflowed; the number of lost records is unknown.
                Err(Errno::NOBUFS) => self.lost += 1,
                Err(_) => break,
            }
        }
        self.context.shared.processes.exits_lost.set(self.lost);
    }

    /// Returns whether there are exits for one more reading.
    pub(super) fn finish(&mut self) -> bool {
        self.drain();
        !self.ends.is_empty()
    }

    /// Takes the records of a datagram.
    fn parse_messages(&mut self, length: usize) {
        let context = self.context.clone();
        let mut attributed = context.shared.processes.attributed();
        for mut stats in threads(&self.buffer[..length], self.family) {
            let tgid = stats.tgid.cast_unsigned();
            if !stats.is_last {
                let room = self.earlier.len() < PROCESSES_MAX;
                if let Some(earlier) = self.earlier.get_mut(&tgid) {
                    earlier.add(&stats);
                } else if room {
                    self.earlier.insert(tgid, stats);
                }
                continue;
            }
            if let Some(earlier) = self.earlier.remove(&tgid) {
                stats.add(&earlier);
            }
            let about = about_ticks(&stats);
            // Both the start and the boot time are rounded down to a second.
            let exact = attributed.start_of(stats.tgid, about, 200);
            let start_ticks = exact.unwrap_or(about);
            attributed.ended(stats.tgid, start_ticks, stats.cpu_ns);
            if self.ends.len() < ENDS_MAX {
                self.ends.push(End { stats, start_ticks, is_start_exact: exact.is_some() });
            } else {
                self.lost += 1;
            }
        }
    }

    /// Adds a row for each exit since the previous tick.
    pub(super) fn rows(&mut self, names: &mut Names, table: &mut Table) {
        self.drain();
        for end in &self.ends {
            let mut row = table.row(RowName::of_task(end.stats.tgid, end.start_ticks).bytes());
            set_facts(&mut row, end);
            names.set_user(&mut row, end.stats.uid);
            set_account(&mut row, &end.stats);
        }
        self.context.shared.processes.exits.add(self.ends.len() as u64);
        self.ends.clear();
    }
}

/// The start of the process in ticks since boot, computed from seconds since the epoch.
fn about_ticks(stats: &Stats) -> u64 {
    let seconds = |clock| rustix::time::clock_gettime(clock).tv_sec;
    let booted =
        seconds(rustix::time::ClockId::Realtime) - seconds(rustix::time::ClockId::Boottime);
    let since = i64::try_from(stats.start_s).unwrap_or(0).saturating_sub(booted);
    u64::try_from(since).unwrap_or(0).saturating_mul(TICKS_A_SECOND)
}

/// Sends a request; the answer is in `buffer`.
fn exchange<'a>(socket: &OwnedFd, ask: &[u8], buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    rustix::net::send(socket, ask, SendFlags::empty())?;
    // The kernel answers before `send` returns.
    let (length, _) = rustix::net::recv(socket, &mut *buffer, RecvFlags::DONTWAIT)?;
    Ok(&buffer[..length])
}

/// Fails if an answer is an error.
fn check(answer: &[u8]) -> io::Result<()> {
    match messages(answer).find_map(|(kind, payload)| error_of(kind, payload)) {
        Some(number) if number != 0 => Err(io::Error::from_raw_os_error(number.wrapping_neg())),
        _ => Ok(()),
    }
}

fn family_in(answer: &[u8]) -> io::Result<u16> {
    check(answer)?;
    let content = messages(answer).flat_map(|(_, rest)| attributes(rest.get(4..).unwrap_or(&[])));
    let mut ids = content.filter(|(kind, _)| *kind == FAMILY_ID);
    let id = ids.next().and_then(|(_, id)| id.first_chunk().copied());
    id.map(u16::from_ne_bytes).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Sets the identity of the process.
fn set_facts(row: &mut RowMut<'_>, end: &End) {
    let stats = &end.stats;
    row.set_text(super::COMMAND, until_zero(&stats.command));
    row.set_text(super::ORIGIN, b"taskstats");
    row.set_signed(super::PARENT, stats.parent.into());
    let lifetime_ns = stats.lifetime_us.saturating_mul(1000);
    row.set(super::LIFETIME, lifetime_ns);
    if end.is_start_exact {
        row.set(super::START_TIME, end.start_ticks);
        row.set(super::END_TIME, start_ns(end.start_ticks).saturating_add(lifetime_ns));
    }
    set_code(row, stats.code);
}

/// Sets its usage.
fn set_account(row: &mut RowMut<'_>, stats: &Stats) {
    let ns = |us: u64| us.saturating_mul(1000);
    let sampled = CpuTime { user_ns: ns(stats.user_us), system_ns: ns(stats.system_us) };
    let time = adjusted(sampled, stats.cpu_ns, CpuTime::default());
    row.set(super::USER_TIME, time.user_ns);
    row.set(super::SYSTEM_TIME, time.system_ns);
    row.set(super::RUN_TIME, stats.cpu_ns);
    row.set(super::MINOR_FAULTS, stats.minor_faults);
    row.set(super::MAJOR_FAULTS, stats.major_faults);
    row.set(super::VOLUNTARY_SWITCHES, stats.voluntary_switches);
    row.set(super::INVOLUNTARY_SWITCHES, stats.involuntary_switches);
    row.set(super::READ_CHARS, stats.read_chars);
    row.set(super::WRITE_CHARS, stats.write_chars);
    row.set(super::READ_CALLS, stats.read_calls);
    row.set(super::WRITE_CALLS, stats.write_calls);
    row.set(super::READ_BYTES, stats.read_bytes);
    row.set(super::WRITE_BYTES, stats.write_bytes);
    row.set(super::CANCELLED_WRITE_BYTES, stats.cancelled_write_bytes);
    row.set(super::PEAK_RESIDENT, stats.peak_resident_kib);
}
