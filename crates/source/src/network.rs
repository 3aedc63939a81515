//! Traffic, kind, speed and state of every network interface.
//!
//! Reads `/proc/net/dev`: one `pread` and no allocation.  The kind of an interface is read from
//! `/sys/class/net` when it first appears.  Speed and state can change: each reading reads one of
//! the two for one interface, in turn, so that it costs at most one more system call; some network
//! cards take milliseconds to return their speed.

use std::sync::Arc;

use ::layout::{OptionKind, SourceOption};
use procfs::net_dev::{InterfaceLine, parse_net_dev};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, RowMut, State, Table, fields};

use crate::option::{names_to_ignore, names_to_record};
use crate::{Entry, Source, SourceContext};

mod kind;
mod layout;

use kind::Interface;

// The first sixteen are the file's columns, in its order.
fields! {
    RX_BYTES: counter Bytes, "Data received";
    RX_PACKETS: counter Count, "Packets received";
    RX_ERRORS: counter Count, "Packets received with an error";
    RX_DROPPED: counter Count, "Received packets dropped";
    RX_FIFO: counter Count, "Packets dropped because a buffer was full";
    RX_FRAME: counter Count, "Packets received with a broken frame";
    RX_COMPRESSED: counter Count, "Compressed packets received";
    RX_MULTICAST: counter Count, "Multicast packets received";
    TX_BYTES: counter Bytes, "Data sent";
    TX_PACKETS: counter Count, "Packets sent";
    TX_ERRORS: counter Count, "Packets not sent because of an error";
    TX_DROPPED: counter Count, "Packets dropped instead of sent";
    TX_FIFO: counter Count, "Packets not sent because a buffer was full";
    TX_COLLISIONS: counter Count, "Collisions while sending";
    TX_CARRIER: counter Count, "Packets not sent because the carrier was lost";
    TX_COMPRESSED: counter Count, "Compressed packets sent";
    SPEED_MBIT: gauge Megabits, "Speed of the link";
    STATE: text, "Operational state: up, down, unknown, dormant, lowerlayerdown";
    KIND: text,
        "What it is: physical, wireless, bond, bridge, vlan, tunnel, veth, virtual, loopback";
    MASTER: text, "Bond or bridge that it belongs to";
    LOWER: text, "Lower interfaces, separated by commas";
}

/// Readings for a full turn over the interfaces' speeds and states: those of the first 32
/// interfaces are read every 64 readings, those of others only when they first appear.
const TURN_READS: usize = 64;

/// The minimum time between two of these reads, however short the interval is.
const TURN_NS_MIN: u64 = 500_000_000;

struct Network {
    file: FileId,
    context: Arc<SourceContext>,
    /// The interfaces of the latest reading, in its order.
    interfaces: Vec<Interface>,
    /// Whether this reading has other interfaces than the one before, or in another order.
    changed: bool,
    turns: usize,
    /// When the latest turn was.
    asked_ns: Option<u64>,
}

impl Source for Network {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        self.read_next_in_turn(host);
        let text = match host.read(self.file) {
            Ok(text) => text,
            Err(state) => return state,
        };
        self.changed = false;
        for line in parse_net_dev(text) {
            if !is_recorded(&self.context, line.name) {
                continue;
            }
            let index = table.rows();
            let mut row = table.row(line.name);
            set_columns(&mut row, &line);
            match self.interfaces.get(index) {
                Some(interface) if interface.name == line.name => set_facts(&mut row, interface),
                _ => self.changed = true,
            }
        }
        if self.changed || self.interfaces.len() > table.rows() {
            self.update_interfaces(host, table);
        }
        State::Ok
    }
}

#[inline]
fn set_columns(row: &mut RowMut<'_>, line: &InterfaceLine<'_>) {
    for (field, &value) in line.columns[..line.count].iter().enumerate() {
        row.set(field, value);
    }
}

fn set_facts(row: &mut RowMut<'_>, interface: &Interface) {
    row.set_some(SPEED_MBIT, interface.speed_mbit);
    row.set_text(KIND, interface.kind.as_bytes());
    let texts = [(STATE, &interface.state), (MASTER, &interface.master), (LOWER, &interface.lower)];
    for (field, text) in texts {
        if !text.is_empty() {
            row.set_text(field, text);
        }
    }
}

impl Network {
    /// Reads the speed or the state of the next interface in turn.
    fn read_next_in_turn(&mut self, host: &mut Host) {
        let now_ns = host.now_ns();
        let since_ns = self.asked_ns.map(|asked_ns| now_ns.saturating_sub(asked_ns));
        if now_ns > 0 && since_ns.is_some_and(|since_ns| since_ns < TURN_NS_MIN) {
            return;
        }
        self.asked_ns = Some(now_ns);
        let turn = self.turns % TURN_READS;
        self.turns = self.turns.wrapping_add(1);
        if let Some(interface) = self.interfaces.get_mut(turn / 2) {
            if turn.is_multiple_of(2) {
                interface.ask_speed(host);
            } else {
                interface.ask_state(host);
            }
        }
    }

    /// Sorts the interfaces into the order of the table and examines new ones.  Runs only when
    /// interfaces appeared, disappeared or moved.
    fn update_interfaces(&mut self, host: &mut Host, table: &mut Table) {
        let mut known: Vec<Option<Interface>> = self.interfaces.drain(..).map(Some).collect();
        // Interfaces rarely change their order: the next one stands where the last one was found.
        let mut hint = 0;
        for row in 0..table.rows() {
            let name = table.name(row);
            let is_it = |index: &usize| known[*index].as_ref().is_some_and(|i| i.name == name);
            let found = (hint..known.len()).chain(0..hint.min(known.len())).find(is_it);
            let held = found.and_then(|index| {
                hint = index + 1;
                known[index].take()
            });
            let interface =
                held.unwrap_or_else(|| Interface::look_at(host, name, row < TURN_READS / 2));
            set_facts(&mut table.row_mut(row), &interface);
            self.interfaces.push(interface);
        }
        for gone in known.into_iter().flatten() {
            gone.close(host);
        }
    }
}

/// What `record` reads of interfaces.
static RECORDED_INTERFACES: SourceOption = SourceOption {
    name: "rawnetfilt",
    alias: Some("rawnetfilter"),
    is_of_record: true,
    value_name: "REGEX",
    help: "Record only these interfaces: a regular expression",
    kind: OptionKind::Custom(|given| names_to_record("rawnetfilt", given)),
    letters: "nN",
    ..SourceOption::EMPTY
};

static IGNORED_INTERFACES: SourceOption = SourceOption {
    name: "rawnetignore",
    is_of_record: true,
    value_name: "REGEX",
    help: "Do not record these interfaces",
    kind: OptionKind::Custom(|given| names_to_ignore("rawnetignore", given)),
    letters: "nN",
    ..SourceOption::EMPTY
};

/// Whether one of that name is recorded.
fn is_recorded(context: &SourceContext, name: &[u8]) -> bool {
    let given = &context.filter.given;
    given.of(&RECORDED_INTERFACES).keeps(name) && given.of(&IGNORED_INTERFACES).keeps(name)
}

pub(crate) static ENTRY: Entry = Entry {
    name: "network",
    about: "Traffic, kind, speed and state of every network interface",
    letters: "nN",
    reads: &["/proc/net/dev", "/sys/class/net/*/*"],
    instance: &["interface"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    options: &[
        &RECORDED_INTERFACES,
        &IGNORED_INTERFACES,
        &layout::INTERFACE_FILTER,
        &layout::NETWORK_OPTIONS,
    ],
    open: |host, context| {
        let file = host.file("/proc/net/dev", ReadMode::Records);
        Box::new(Network {
            file,
            context: Arc::clone(context),
            interfaces: Vec::new(),
            changed: false,
            turns: 0,
            asked_ns: None,
        })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &mut dyn Source, host: &mut Host, table: &mut Table) -> Vec<String> {
        host.begin_tick();
        assert_eq!(source.read(host, table), State::Ok);
        let kind = |row| String::from_utf8_lossy(table.text(row, KIND).unwrap()).into_owned();
        (0..table.rows()).map(kind).collect()
    }

    #[test]
    fn this_machine_has_a_loopback() {
        let mut host = Host::new("/");
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        let found = kinds(&mut *source, &mut host, &mut table);
        let row = table.find(b"lo", 0).unwrap();
        assert_eq!(found[row], "loopback");
        assert!(table.get(row, TX_COMPRESSED).is_some());
        let calls = host.cost().calls;
        for _ in 0..100 {
            kinds(&mut *source, &mut host, &mut table);
        }
        // An interface that refuses to tell its speed is opened anew when its turn comes.
        assert!(host.cost().calls - calls <= 220, "{} calls", host.cost().calls - calls);
    }

    #[test]
    fn interfaces_that_come_and_go_keep_their_facts() {
        let mut host = Host::in_memory();
        host.put("/sys/class/net/eth0/speed", Some(b"1000\n"));
        host.put("/sys/class/net/eth0/operstate", Some(b"up\n"));
        host.put("/sys/class/net/eth0/uevent", Some(b"INTERFACE=eth0\nIFINDEX=2\n"));
        host.put("/sys/class/net/docker0/uevent", Some(b"DEVTYPE=bridge\nINTERFACE=docker0\n"));
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        let mut see = |names: &[&str], host: &mut Host| {
            let text: String = names.iter().map(|name| format!("{name}: 1 2 3\n")).collect();
            host.put("/proc/net/dev", Some(text.as_bytes()));
            let kinds = kinds(&mut *source, host, &mut table);
            (kinds, table.get(table.rows().saturating_sub(1), SPEED_MBIT))
        };
        let (kinds, speed) = see(&["lo", "eth0"], &mut host);
        assert_eq!(
            (kinds.as_slice(), speed),
            (&["loopback".into(), "physical".into()][..], Some(1000))
        );
        let (kinds, _) = see(&["docker0", "eth0", "lo"], &mut host);
        assert_eq!(kinds, ["bridge", "physical", "loopback"]);
        host.put("/sys/class/net/eth0/speed", Some(b"-1\n"));
        for _ in 0..TURN_READS {
            see(&["eth0"], &mut host);
        }
        let (_, speed) = see(&["eth0"], &mut host);
        assert_eq!(speed, None, "a speed that is not known any more is missing");
        assert_eq!(see(&[], &mut host).0, [""; 0]);
    }
}
