//! Bytes and packets that each process sends and receives over IP, by TCP, UDP and the rest.
//!
//! BPF programs count each packet of each socket as it passes the root of the unified hierarchy of
//! control groups (`bpf/programs/net.bpf.c`).  This costs every packet some tenths of a
//! microsecond, so the source runs only if it is selected explicitly; with `--budget` the estimated
//! cost counts as the source's.  Nothing is read of packets but their lengths.
//!
//! Counters begin at 0 when a process is first seen, and layouts count their whole value for that
//! interval.  An instance's name is that of the source `process`: the id and the start time.  Bytes
//! are those of IP packets, headers included, Ethernet's not.  What passes between two processes of
//! this machine counts twice, as sent and as received, as the loopback device does.
//!
//! The row with the id 0 and the command `no process` has what belongs to none: sockets of the
//! kernel, answers to packets that no socket wanted, sockets that are closed already.  Its counters
//! only grow: a connection whose owner is found later leaves it by making it wait.
//!
//! A reading costs a system call for 512 processes, and looks through all open files only when
//! packets have passed by a socket without an owner.  A process that is gone has a row while its
//! counters grow, but at most one more; what others still do with its sockets is then theirs.

use std::collections::HashMap;
use std::sync::Arc;

use bpf::{NetCounts, NetOwner, ProcessNet, Unowned};
use procfs::Host;
use procfs::mountinfo::unified_hierarchy;
use rustix::process::{Pid, test_kill_process};
use sample::{Cadence, RowMut, State, Table, fields};

use crate::exit::{groups::Groups, until_zero};
use crate::instance::RowName;
use crate::process_counters::attributed::start_ticks;
use crate::syscall::state_of;
use crate::{Entry, Source, SourceContext};

mod layout;

pub use self::layout::process_net_bytes;

// The counts are in the order of `NetCounts`.
fields! {
    TCP_RX_BYTES: counter Bytes, "TCP: bytes received, headers of IP and TCP included";
    TCP_RX_PACKETS: counter Count, "TCP: packets received";
    TCP_TX_BYTES: counter Bytes, "TCP: bytes sent, headers of IP and TCP included";
    TCP_TX_PACKETS: counter Count, "TCP: packets sent";
    UDP_RX_BYTES: counter Bytes, "UDP: bytes received, headers of IP and UDP included";
    UDP_RX_PACKETS: counter Count, "UDP: packets received";
    UDP_TX_BYTES: counter Bytes, "UDP: bytes sent, headers of IP and UDP included";
    UDP_TX_PACKETS: counter Count, "UDP: packets sent";
    OTHER_RX_BYTES: counter Bytes, "Other protocols: bytes received, headers of IP included";
    OTHER_RX_PACKETS: counter Count, "Other protocols: packets received";
    OTHER_TX_BYTES: counter Bytes, "Other protocols: bytes sent, headers of IP included";
    OTHER_TX_PACKETS: counter Count, "Other protocols: packets sent";
    COMMAND: text, "Name of the process when it first used a socket; `no process` for the rest";
    CGROUP: text, "Path of its control group, if it still exists";
    CGROUP_ID: gauge Count, "Id of its control group in the unified hierarchy";
    UID: gauge Count, "Real user id";
    NOT_COUNTED: counter Count,
        "In the row `no process`: times that a process or a socket got no counters of its own, \
         because there were more than 16,384 processes or the kernel had no memory";
}

/// The cost of a packet with the way to the programs, measured on a machine of 2 CPUs.
const PACKET_NS: u64 = 300;

/// Readings without a packet after which it is looked whether the process is gone.  Those with
/// packets are looked at each time, which is a system call.
const IDLE_READINGS: u32 = 16;

/// Readings between two searches for the owners of the same sockets.
const SEARCH_READINGS: u32 = 10;

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    if !host.is_this_machine() {
        return Box::new(ProcessesNet { counting: Err(State::Absent) });
    }
    let root = unified_hierarchy();
    let net = context.shared.kernel.load(|kernel| ProcessNet::open(kernel, root.as_deref()));
    if let (Ok(_), Some(recorder)) = (&net, &context.shared.recorder) {
        recorder.bpf_sources.add(1);
    }
    let counting = net.map(Counting::new).map_err(|error| {
        context.shared.refusals.set(ENTRY.name, error.to_string());
        state_of(&error)
    });
    Box::new(ProcessesNet { counting })
}

struct ProcessesNet {
    counting: Result<Counting, State>,
}

struct Counting {
    net: ProcessNet,
    groups: Groups,
    /// By the program's key.
    seen: HashMap<u64, SeenProcess>,
    gone: Vec<u64>,
    /// What the row of no process showed last.
    shown: NetCounts,
    sought: Unowned,
    readings_since_search: u32,
    /// Packets since the overhead was last reported.
    packets: u64,
}

/// A process in the latest reading.
#[derive(Clone, Copy, Default)]
struct SeenProcess {
    packets: u64,
    /// Readings without a packet.
    idle: u32,
    was_gone: bool,
}

impl SeenProcess {
    /// Takes the packets of a reading.  Returns how many are new, and whether the process is gone.
    fn update(&mut self, packets: u64, is_gone: impl FnOnce() -> bool) -> (u64, bool) {
        let grown = packets.saturating_sub(self.packets);
        self.packets = packets;
        self.idle = if grown > 0 { 0 } else { self.idle + 1 };
        (grown, self.idle.is_multiple_of(IDLE_READINGS) && is_gone())
    }
}

/// All packets of these counts.
fn packets_of(counts: &NetCounts) -> u64 {
    counts.iter().skip(1).step_by(2).fold(0, |sum, &packets| sum.wrapping_add(packets))
}

impl Counting {
    fn new(net: ProcessNet) -> Self {
        Counting {
            net,
            groups: Groups::default(),
            seen: HashMap::new(),
            gone: Vec::new(),
            shown: [0; 12],
            sought: Unowned::default(),
            readings_since_search: 0,
            packets: 0,
        }
    }

    /// Looks for owners: at once if there are new sockets without one, now and then if packets go on
    /// passing by old ones, such as connections that no process has accepted yet.
    fn search(&mut self) -> Result<(), bpf::Error> {
        let now = self.net.unowned();
        self.readings_since_search += 1;
        let is_due = now.sockets != self.sought.sockets
            || self.readings_since_search >= SEARCH_READINGS && now.counts != self.sought.counts;
        if is_due {
            self.net.search()?;
            self.sought = now;
            self.readings_since_search = 0;
        }
        Ok(())
    }

    fn read(&mut self, host: &Host, table: &mut Table) -> Result<(), bpf::Error> {
        self.search()?;
        // Before the processes: what is moved to one meanwhile is counted twice for one reading,
        // rather than not at all.
        let unowned = self.net.unowned();
        let Counting { net, groups, seen, gone, packets, .. } = self;
        net.each(|key, owner| {
            let seen = seen.entry(key).or_default();
            let (grown, is_gone) = seen.update(packets_of(&owner.counts), || is_gone(owner.pid));
            *packets += grown;
            if is_gone && (seen.was_gone || grown == 0) {
                gone.push(key);
            }
            seen.was_gone = is_gone;
            if is_gone && grown == 0 {
                return;
            }
            write_row(host, groups, owner, table);
        })?;
        for key in gone.drain(..) {
            seen.remove(&key);
            net.forget(key)?;
        }
        self.write_rest(&unowned, table);
        Ok(())
    }

    /// The row of what has no process.
    fn write_rest(&mut self, unowned: &Unowned, table: &mut Table) {
        let before = packets_of(&self.shown);
        for (shown, now) in self.shown.iter_mut().zip(unowned.counts) {
            *shown = now.max(*shown);
        }
        self.packets += packets_of(&self.shown) - before;
        let mut row = table.row(RowName::of_task(0, 0).bytes());
        set_counts(&mut row, &self.shown);
        row.set(NOT_COUNTED, unowned.owners_lost + unowned.sockets_lost);
        row.set_text(COMMAND, b"no process");
    }
}

/// Whether there is no process with this number.
fn is_gone(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return true };
    test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

fn set_counts(row: &mut RowMut<'_>, counts: &NetCounts) {
    (TCP_RX_BYTES..).zip(counts).for_each(|(field, &count)| row.set(field, count));
}

fn write_row(host: &Host, groups: &mut Groups, owner: &NetOwner, table: &mut Table) {
    let name = RowName::of_task(owner.pid, start_ticks(owner.start_boottime_ns));
    let mut row = table.row(name.bytes());
    set_counts(&mut row, &owner.counts);
    row.set_text(COMMAND, until_zero(&owner.command));
    row.set(CGROUP_ID, owner.cgroup);
    row.set(UID, owner.uid.into());
    if let Some(path) = groups.path(owner.cgroup, host.now_ns()) {
        row.set_text(CGROUP, path);
    }
}

impl Source for ProcessesNet {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        match &mut self.counting {
            Ok(counting) => {
                counting.read(host, table).map_or_else(|error| state_of(&error), |()| State::Ok)
            }
            Err(state) => *state,
        }
    }

    fn overhead_ns(&mut self) -> u64 {
        let Ok(counting) = &mut self.counting else { return 0 };
        std::mem::take(&mut counting.packets) * PACKET_NS
    }

    fn stop(&mut self) {
        if self.counting.is_ok() {
            self.counting = Err(State::Skipped);
        }
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "process_net",
    about: "Bytes and packets of IP by process, counted in the kernel; costs every packet some 0.3 µs, so it must be selected",
    reads: &[],
    instance: &["pid", "start"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    open,
    by_name_only: true,
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_has_no_packets() {
        let mut host = Host::in_memory();
        let mut source = open(&mut host, &Arc::default());
        let mut table = Table::new(FIELDS.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
        assert_eq!((source.overhead_ns(), table.rows()), (0, 0));
    }

    #[test]
    fn idle_processes_are_looked_at_now_and_then() {
        let mut seen = SeenProcess::default();
        assert_eq!(seen.update(5, || true), (5, true));
        let idle = (1..=IDLE_READINGS).map(|_| seen.update(5, || true));
        let looked: Vec<bool> = idle.map(|(grown, is_gone)| grown == 0 && is_gone).collect();
        assert_eq!(looked.iter().filter(|is_gone| **is_gone).count(), 1);
        assert_eq!(looked.last(), Some(&true));
        assert_eq!(seen.update(6, || false), (1, false));
    }

    #[test]
    fn a_process_is_gone_when_its_number_is_free() {
        assert!(!is_gone(std::process::id().cast_signed()));
        assert!(is_gone(0) && is_gone(i32::MAX));
    }
}
