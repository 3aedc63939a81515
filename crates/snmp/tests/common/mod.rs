//! A simulated network: datagrams that take time, get lost, come twice, and agents that answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use snmp::{Completion, DatagramSocket, NextPoll, OutgoingDatagram, SnmpSession};
use testkit::Random;

/// What an agent sends for a datagram: from where, what, and after how long (in ns).
pub(crate) type Reply = (SocketAddr, Vec<u8>, u64);

/// An agent: the address that was asked, the datagram, the time.
pub(crate) type AgentFn = Box<dyn FnMut(SocketAddr, &[u8], u64) -> Vec<Reply>>;

pub(crate) struct Net {
    pub(crate) now_ns: u64,
    pub(crate) agent: AgentFn,
    /// Datagrams lost out of a thousand, in each direction.
    pub(crate) lost: u64,
    /// Datagrams that the receive buffer holds.
    pub(crate) room: usize,
    pub(crate) dropped: usize,
    pub(crate) sent: Vec<(u64, SocketAddr)>,
    /// Datagrams that the system takes before it wants the caller to wait.
    pub(crate) takes: usize,
    random: Random,
    arriving: BTreeMap<(u64, u64), (SocketAddr, Vec<u8>)>,
    here: Vec<(SocketAddr, Vec<u8>)>,
    serial: u64,
}

#[derive(Clone)]
pub(crate) struct SimSocket(pub(crate) Rc<RefCell<Net>>);

impl SimSocket {
    pub(crate) fn new(agent: AgentFn) -> Self {
        Self(Rc::new(RefCell::new(Net {
            now_ns: 1_000_000_000,
            agent,
            lost: 0,
            room: usize::MAX,
            dropped: 0,
            sent: Vec::new(),
            takes: usize::MAX,
            random: Random::from_seed(11),
            arriving: BTreeMap::new(),
            here: Vec::new(),
            serial: 0,
        })))
    }

    /// Polls until nothing is pending; gives the time at the end, in ns since the beginning.
    pub(crate) fn run(
        &self,
        session: &mut SnmpSession<SimSocket>,
        ended: &mut dyn FnMut(Completion<'_>, u64),
    ) -> u64 {
        let start = self.0.borrow().now_ns;
        for _ in 0..10_000_000 {
            let now_ns = self.0.borrow().now_ns;
            let next = session.poll(now_ns, &mut |one| ended(one, now_ns)).unwrap();
            let arrival = self.0.borrow().arriving.keys().next().map(|(at, _)| *at);
            let until = match next {
                NextPoll::Now => now_ns + 1_000,
                NextPoll::At(at) => at.min(arrival.unwrap_or(u64::MAX)).max(now_ns + 1),
                NextPoll::Idle if session.pending() == 0 => return now_ns - start,
                NextPoll::Idle => arrival.expect("pending, but nothing to wait for"),
            };
            self.0.borrow_mut().pass_to(until);
        }
        panic!("the session does not end");
    }
}

impl Net {
    pub(crate) fn pass_to(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while let Some(entry) = self.arriving.first_entry()
            && entry.key().0 <= self.now_ns
        {
            let datagram = entry.remove();
            if self.here.len() < self.room {
                self.here.push(datagram);
            } else {
                self.dropped += 1;
            }
        }
    }
}

impl DatagramSocket for SimSocket {
    fn send(&mut self, buffer: &[u8], datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
        let net = &mut *self.0.borrow_mut();
        let count = datagrams.len().min(net.takes);
        net.takes -= if net.takes == usize::MAX { 0 } else { count };
        for datagram in &datagrams[..count] {
            net.sent.push((net.now_ns, datagram.to));
            if net.random.below(1_000) < net.lost {
                continue;
            }
            let bytes = &buffer[datagram.range.clone()];
            for (from, reply, delay) in (net.agent)(datagram.to, bytes, net.now_ns) {
                if net.random.below(1_000) >= net.lost {
                    net.serial += 1;
                    net.arriving.insert((net.now_ns + delay, net.serial), (from, reply));
                }
            }
        }
        Ok(count)
    }

    fn receive(&mut self, take: &mut dyn FnMut(SocketAddr, &mut [u8])) -> io::Result<usize> {
        let batch: Vec<_> = {
            let here = &mut self.0.borrow_mut().here;
            let count = here.len().min(64);
            here.drain(..count).collect()
        };
        let count = batch.len();
        batch.into_iter().for_each(|(from, mut bytes)| take(from, &mut bytes));
        Ok(count)
    }
}
