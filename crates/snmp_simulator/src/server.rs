//! The loop: reads a batch of requests and sends their answers, the late ones when they are due.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use snmp::{CommunityMessage, Version, peek_version};

use crate::device::AgentDevice;
use crate::mib::Mib;
use crate::socket::{Answer, WildcardSocket, wait};
use crate::user::EngineTable;

/// Room for the answers of a batch.
const ARENA_BYTES: usize = 64 * 65_536;

/// Counts of what an agent has received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentCounts {
    /// Datagrams that came, whether they were answered or not.
    pub requests: u64,
    /// Datagrams that were sent.
    pub answers: u64,
    /// Varbinds that were asked for.
    pub varbinds: u64,
}

/// Simulated devices behind one socket.
#[derive(Debug)]
pub struct Agent {
    socket: WildcardSocket,
    state: AgentState,
}

#[derive(Debug)]
struct AgentState {
    devices: HashMap<Ipv4Addr, AgentDevice>,
    engines: EngineTable,
    arena: Vec<u8>,
    end: usize,
    answers: Vec<Answer>,
    late: BTreeMap<(u64, u64), (Ipv4Addr, SocketAddrV4, Vec<u8>)>,
    random: u64,
    counts: AgentCounts,
}

impl Agent {
    /// Makes an agent without devices on a UDP port of all addresses; port 0 lets the system choose.
    ///
    /// # Errors
    /// If the system cannot bind the port.
    pub fn bind(port: u16) -> io::Result<Self> {
        let state = AgentState {
            devices: HashMap::new(),
            engines: EngineTable::default(),
            arena: vec![0; ARENA_BYTES],
            end: ARENA_BYTES,
            answers: Vec::new(),
            late: BTreeMap::new(),
            random: 0x9e37_79b9_7f4a_7c15,
            counts: AgentCounts::default(),
        };
        Ok(Self { socket: WildcardSocket::bind(port)?, state })
    }

    /// The UDP port of the agent.
    ///
    /// # Errors
    /// If the system cannot say it.
    pub fn port(&self) -> io::Result<u16> {
        self.socket.port()
    }

    /// The address of a device by its number, from 0: 127.1.0.0 and up.
    #[must_use]
    pub fn address(index: u32) -> Ipv4Addr {
        Ipv4Addr::from(0x7f01_0001_u32.wrapping_add(index))
    }

    /// Adds a device, or replaces the one at this address.
    pub fn add(&mut self, address: Ipv4Addr, device: AgentDevice) {
        self.state.devices.insert(address, device);
    }

    /// The device at an address, to change it.
    pub fn device_mut(&mut self, address: Ipv4Addr) -> Option<&mut AgentDevice> {
        self.state.devices.get_mut(&address)
    }

    /// The counts since the agent was made.
    #[must_use]
    pub fn counts(&self) -> AgentCounts {
        self.state.counts
    }

    /// Answers a batch of requests and sends late answers that are due; says whether there were any.
    /// Never waits.
    pub fn serve(&mut self, now_ns: u64) -> bool {
        let state = &mut self.state;
        state.answers.clear();
        state.end = state.arena.len();
        let count = self.socket.receive(&mut |meant, from, bytes| {
            state.request(meant, from, bytes, now_ns);
        });
        let mut did = count > 0;
        while let Some(entry) = state.late.first_entry()
            && entry.key().0 <= now_ns
        {
            let (from, to, bytes) = entry.remove();
            let Some(start) = state.end.checked_sub(bytes.len()) else { break };
            state.arena[start..state.end].copy_from_slice(&bytes);
            state.answers.push(Answer { from, to, range: start..state.end });
            state.end = start;
            did = true;
        }
        state.counts.answers += state.answers.len() as u64;
        self.socket.send(&state.arena, &state.answers);
        did
    }

    /// How long nothing is due, if no request comes: at most 20 ms.
    fn idle_time(&self, now_ns: u64) -> Duration {
        let due_ns = self.state.late.keys().next().map_or(u64::MAX, |(at, _)| *at);
        Duration::from_nanos(due_ns.saturating_sub(now_ns)).min(Duration::from_millis(20))
    }
}

impl AgentState {
    fn chance(&mut self, permille: u32) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        permille > 0 && self.random % 1_000 < u64::from(permille)
    }

    fn request(&mut self, meant: Ipv4Addr, to: SocketAddrV4, bytes: &mut [u8], now_ns: u64) {
        self.counts.requests += 1;
        let Some(device) = self.devices.get_mut(&meant) else { return };
        let faults = device.faults.clone();
        device.faults.lost_next = faults.lost_next.saturating_sub(1);
        if faults.is_dead || faults.lost_next > 0 || self.chance(faults.lost_permille) {
            return;
        }
        let device = &self.devices[&meant];
        let buffer = &mut self.arena[..self.end];
        let start = match peek_version(bytes) {
            Ok(Version::V3) => self.engines.answer(meant, device, bytes, buffer, now_ns),
            Ok(_) => community(device, bytes, buffer, now_ns, &mut self.counts),
            Err(_) => None,
        };
        let Some(start) = start else { return };
        let end = std::mem::replace(&mut self.end, start);
        let mut from = meant;
        if self.chance(faults.wrong_source_permille) {
            from = Ipv4Addr::from(u32::from(meant) ^ 0x0080_0000);
        }
        if self.chance(faults.wrong_id_permille)
            && let Some(at) = id_place(&self.arena[start..end])
        {
            self.arena[start + at] ^= 1;
        }
        if self.chance(faults.garbage_permille) {
            self.arena[start + 1..end].fill(0xff);
        }
        if faults.delay_ns > 0 {
            let bytes = self.arena[start..end].to_vec();
            self.end = end;
            self.late.insert((now_ns + faults.delay_ns, self.counts.requests), (from, to, bytes));
            return;
        }
        self.answers.push(Answer { from, to, range: start..end });
    }
}

/// Answers a message of version 1 or 2c.
fn community(
    device: &AgentDevice,
    bytes: &[u8],
    buffer: &mut [u8],
    now_ns: u64,
    counts: &mut AgentCounts,
) -> Option<usize> {
    let message = CommunityMessage::decode(bytes).ok()?;
    if message.head.community != device.community {
        return None;
    }
    let asked = message.pdu.varbinds;
    counts.varbinds += asked.len() as u64;
    let (pdu, varbinds) = device.answer(message.head.version, &message.pdu.head, asked, now_ns)?;
    message.head.encode(buffer, &pdu, varbinds.into_iter()).ok()
}

/// Where the last byte of the request id of a message of version 1 or 2c is.
fn id_place(bytes: &[u8]) -> Option<usize> {
    let head = |at: usize| -> Option<(usize, usize)> {
        let first = usize::from(*bytes.get(at + 1)?);
        let more = if first < 0x80 { 0 } else { first & 0x7f };
        let length = match more {
            0 => first,
            _ => bytes
                .get(at + 2..at + 2 + more)?
                .iter()
                .fold(0, |sum, b| sum << 8 | usize::from(*b)),
        };
        Some((at + 2 + more, length))
    };
    let (version, _) = head(0)?;
    let (at, length) = head(version)?;
    let (community, length) = head(at + length)?;
    let (pdu, _) = head(community + length)?;
    let (id, length) = head(pdu)?;
    Some(id + length - 1)
}

/// A clock that never steps, in ns.
pub type AgentClock = fn() -> u64;

/// An agent that runs in a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct AgentThread {
    agent: Arc<Mutex<Agent>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    now_ns: AgentClock,
    port: u16,
}

impl AgentThread {
    /// Starts the loop in a thread, with the time of a clock.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(agent: Agent, now_ns: AgentClock) -> io::Result<Self> {
        let port = agent.port()?;
        let waiter = agent.socket.waiter()?;
        let agent = Arc::new(Mutex::new(agent));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, over) = (Arc::clone(&agent), Arc::clone(&is_over));
        let thread = std::thread::Builder::new().name("agent".into()).spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let now_ns = now_ns();
                let mut agent = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if agent.serve(now_ns) {
                    continue;
                }
                let idle = agent.idle_time(now_ns);
                // Who changes the agent need not wait for the next request.
                drop(agent);
                wait(&waiter, idle);
            }
        })?;
        Ok(Self { agent, is_over, thread: Some(thread), now_ns, port })
    }

    /// Starts an agent of switches with so many interfaces; `change` gives them users and faults.
    ///
    /// # Errors
    /// If the system cannot bind a port or start a thread.
    pub fn start_switches(
        count: u32,
        interfaces: u32,
        now_ns: AgentClock,
        change: impl Fn(u32, &mut AgentDevice),
    ) -> io::Result<Self> {
        let mut agent = Agent::bind(0)?;
        let mib = Arc::new(Mib::with_interfaces("switch", interfaces));
        for index in 0..count {
            let mut device = AgentDevice::new(Arc::clone(&mib));
            change(index, &mut device);
            agent.add(Agent::address(index), device);
        }
        Self::start(agent, now_ns)
    }

    /// The address at which the device of a number listens.
    #[must_use]
    pub fn address(&self, index: u32) -> SocketAddr {
        SocketAddr::new(Agent::address(index).into(), self.port)
    }

    /// Changes the agent, with the time of its clock in ns.
    pub fn with<T>(&self, change: impl FnOnce(&mut Agent, u64) -> T) -> T {
        let mut agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut agent, (self.now_ns)())
    }
}

impl Drop for AgentThread {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
