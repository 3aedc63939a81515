//! Reading one device by SNMP, step after step: a walk is a few GETBULKs, or many GETNEXTs in
//! version 1.

use std::io;
use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use snmp::{
    DeviceHandle, DeviceSettings, KernelSocket, NextPoll, Oid, RequestKind, SnmpSession, SnmpValue,
};

use super::facts::{AgentReader, AgentValue};

/// Varbinds of an answer to GETBULK.
const ROWS: u16 = 25;
/// Objects of a walk; the largest tables of switches have some thousands.
const WALK_MAX: usize = 1_000_000;
/// Bytes of the socket's buffer: one device is asked one thing at a time.
const RECEIVE_BYTES: usize = 1 << 18;

/// A device that is asked and waited for.
#[derive(Debug)]
pub struct SnmpAgent {
    session: SnmpSession<KernelSocket>,
    device: DeviceHandle,
    has_bulk: bool,
    /// Nanoseconds of a clock that never goes back.
    clock: fn() -> u64,
}

/// What an answer has: identifiers and values.
type Answer = Vec<(Oid, Option<AgentValue>)>;

impl SnmpAgent {
    /// Opens a socket for one device.  `has_bulk`: its version is not 1.
    ///
    /// # Errors
    /// If no socket can be opened.
    pub fn open(settings: DeviceSettings, has_bulk: bool, clock: fn() -> u64) -> io::Result<Self> {
        let local = snmp::any_local_address(settings.address.is_ipv6());
        let socket = KernelSocket::bind(local, RECEIVE_BYTES)?;
        let mut session = SnmpSession::new(socket.window(), clock());
        session.add_socket(socket);
        let device = session.add_device(settings);
        Ok(SnmpAgent { session, device, has_bulk, clock })
    }

    /// Asks and waits.
    fn ask(&mut self, asked: RequestKind, object: &Oid) -> Result<Answer, String> {
        let one = std::iter::once(object.as_ref());
        let submitted = self.session.submit(self.device, asked, one, 0);
        submitted.map_err(|error| error.to_string())?;
        let mut answer: Option<Result<Answer, String>> = None;
        while answer.is_none() {
            let next = self.session.poll((self.clock)(), &mut |ended| {
                answer = Some(match ended.result {
                    Err(error) => Err(error.to_string()),
                    // Version 1 says by an error that there is no such object, or no next one.
                    Ok(pdu) if pdu.head.error_status.0 != 0 => Ok(Vec::new()),
                    Ok(pdu) => {
                        Ok(pdu.varbinds.map(|one| (one.oid.to_oid(), of(&one.value))).collect())
                    }
                });
            });
            let next = next.map_err(|error| error.to_string())?;
            if answer.is_none() {
                self.wait(next).map_err(|error| error.to_string())?;
            }
        }
        answer.unwrap_or_else(|| Ok(Vec::new()))
    }

    fn wait(&self, next: NextPoll) -> io::Result<()> {
        let NextPoll::At(at) = next else { return Ok(()) };
        let ns = at.saturating_sub((self.clock)());
        let timeout =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let Some(socket) = self.session.sockets().first() else { return Ok(()) };
        let mut ready = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A value; `None` if the agent says that there is none.
fn of(value: &SnmpValue<'_>) -> Option<AgentValue> {
    Some(match *value {
        SnmpValue::OctetString(bytes)
        | SnmpValue::Opaque(bytes)
        | SnmpValue::NsapAddress(bytes) => AgentValue::Bytes(bytes.to_vec()),
        SnmpValue::ObjectIdentifier(oid) => AgentValue::Identifier(oid.to_string()),
        SnmpValue::IpAddress(address) => AgentValue::Address(address),
        SnmpValue::Float(number) => AgentValue::Bytes(number.to_string().into_bytes()),
        SnmpValue::Double(number) => AgentValue::Bytes(number.to_string().into_bytes()),
        ref other => AgentValue::Number(other.as_integer()?),
    })
}

fn oid(numbers: &[u32]) -> Result<Oid, String> {
    Oid::new(numbers).map_err(|error| error.to_string())
}

impl AgentReader for SnmpAgent {
    fn walk(&mut self, below: &[u32]) -> Result<Vec<(Vec<u32>, AgentValue)>, String> {
        let root = oid(below)?;
        let asked = match self.has_bulk {
            true => RequestKind::GetBulk { non_repeaters: 0, max_repetitions: ROWS },
            false => RequestKind::GetNext,
        };
        let mut all = Vec::new();
        let mut last = root.clone();
        while all.len() < WALK_MAX {
            let answer = self.ask(asked, &last)?;
            if answer.is_empty() {
                break;
            }
            for (object, value) in answer {
                // An agent whose identifiers do not rise would be asked for ever.
                let rises = object.as_ref() > last.as_ref();
                let rest = object.as_ref().after(root.as_ref());
                let (Some(rest), Some(value), true) = (rest, value, rises) else {
                    return Ok(all);
                };
                all.push((rest.collect(), value));
                last = object;
            }
        }
        Ok(all)
    }

    fn get(&mut self, object: &[u32]) -> Result<Option<AgentValue>, String> {
        let answer = self.ask(RequestKind::Get, &oid(object)?)?;
        Ok(answer.into_iter().next().and_then(|(_, value)| value))
    }
}
