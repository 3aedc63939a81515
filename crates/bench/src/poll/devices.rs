//! The devices: real `snmpd`s, or the agent of tests.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use snmp::{AuthenticationProtocol, KeyExtension, Oid, PrivacyProtocol, UsmSecret, UsmUser};
use snmp_simulator::{Agent, AgentDevice, AgentThread, Mib, MibObject, MibValue};

use super::config::USER;
use crate::error::{Context, Result};
use crate::process::{BackgroundProgram, silent};

/// Longest time until an `snmpd` answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// GET sysUpTime.0, version 2c, community `public`.
const REQUEST: [u8; 40] = *b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x01\x02\x01\x00\
    \x02\x01\x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";

/// Devices that answer; dropping them ends them.
pub(super) struct Hosts {
    /// Where they listen.
    pub(super) addresses: Vec<SocketAddr>,
    /// What they are.
    pub(super) name: String,
    programs: Vec<BackgroundProgram>,
    _agent: Option<AgentThread>,
}

impl Hosts {
    /// Starts an `snmpd` for each, on addresses of their own.
    pub(super) fn real(snmpd: &Path, count: u32, folder: &Path) -> Result<Self> {
        let mut hosts = Hosts {
            addresses: Vec::new(),
            name: format!("{count} snmpd with 99 interfaces"),
            programs: Vec::new(),
            _agent: None,
        };
        for number in 0..count {
            let address = SocketAddr::from((Ipv4Addr::from(0x7f00_0101 + number), 161));
            let of_host = folder.join(format!("snmpd{number}"));
            std::fs::create_dir_all(&of_host)?;
            let config = of_host.join("snmpd.conf");
            std::fs::write(&config, format!("agentAddress udp:{address}\nrocommunity public\n"))?;
            let mut command = Command::new(snmpd);
            command
                .args(["-f", "-r", "-Lf"])
                .arg(of_host.join("log"))
                .arg("-C")
                .arg("-c")
                .arg(config);
            command.env("SNMP_PERSISTENT_DIR", of_host.join("state")).env("MIBS", "");
            hosts.programs.push(BackgroundProgram::start(silent(&mut command))?);
            hosts.addresses.push(address);
        }
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        for (program, address) in hosts.programs.iter_mut().zip(&hosts.addresses) {
            program.wait_until(PATIENCE, || {
                let _ = socket.send_to(&REQUEST, address);
                socket.recv_from(&mut [0; 200]).is_ok_and(|(_, from)| from == *address)
            })?;
        }
        Ok(hosts)
    }

    /// Starts the agent with devices of 99 interfaces.
    pub(super) fn simulated(count: u32) -> Result<Self> {
        let mib = Arc::new(Mib::with_interfaces("switch", super::namespace::INTERFACES));
        let name = format!("{count} simulated devices with 99 interfaces");
        Self::of_agent(count, name, &mut |_| AgentDevice::new(Arc::clone(&mib)))
    }

    /// Starts the agent with devices whose counters stand still.
    pub(super) fn frozen(count: u32) -> Result<Self> {
        let mut mibs = (0..count).map(frozen).collect::<Result<Vec<_>>>()?.into_iter();
        let mut device = |_| AgentDevice::new(Arc::new(mibs.next().unwrap_or_default()));
        Self::of_agent(count, "devices whose counters stand still".to_owned(), &mut device)
    }

    /// Starts the agent with many devices; one in `dead_each` is dead, from the first.
    pub(super) fn many(count: u32, objects: u32, dead_each: Option<u32>) -> Result<Self> {
        let mib = Arc::new(Mib::with_interfaces("switch", objects.div_ceil(2).max(2)));
        let user = user()?;
        Self::of_agent(count, format!("{count} simulated devices"), &mut |number| {
            let mut device = AgentDevice::new(Arc::clone(&mib));
            device.users.push(user.clone());
            device.faults.is_dead = dead_each.is_some_and(|each| number % each == 0);
            device
        })
    }

    fn of_agent(
        count: u32,
        name: String,
        device: &mut dyn FnMut(u32) -> AgentDevice,
    ) -> Result<Self> {
        let mut agent = Agent::bind(0)?;
        for number in 0..count {
            agent.add(Agent::address(number), device(number));
        }
        let agent = AgentThread::start(agent, now_ns)?;
        let addresses = (0..count).map(|number| agent.address(number)).collect();
        Ok(Hosts { addresses, name, programs: Vec::new(), _agent: Some(agent) })
    }
}

/// The user of version 3.
fn user() -> Result<UsmUser> {
    let (name, authentication, privacy) = USER;
    let secret = |text: &str| UsmSecret::Password(text.as_bytes().to_vec());
    let user = UsmUser::new(name.as_bytes()).and_then(|user| {
        user.with_authentication(AuthenticationProtocol::Sha1, secret(authentication))?
            .with_privacy(PrivacyProtocol::Aes128, KeyExtension::default(), secret(privacy))
    });
    user.map_err(|error| std::io::Error::other(error.to_string())).context("the user of version 3")
}

/// A device whose counters have large values and stand still.
fn frozen(device: u32) -> Result<Mib> {
    let mut objects = Vec::new();
    let mut add = |numbers: &[u32], value: MibValue| -> Result<()> {
        let oid = Oid::new(numbers).map_err(|error| std::io::Error::other(error.to_string()))?;
        objects.push(MibObject { oid, value });
        Ok(())
    };
    add(&[1, 3, 6, 1, 2, 1, 1, 3, 0], MibValue::UpTime)?;
    add(&[1, 3, 6, 1, 2, 1, 1, 5, 0], MibValue::Octets(b"still".to_vec()))?;
    for index in 1..=super::namespace::INTERFACES {
        let value = u64::from(device * 1_000 + index).wrapping_mul(0x0123_4567_89ab);
        add(&[1, 3, 6, 1, 2, 1, 2, 2, 1, 10, index], MibValue::Counter32(0.0, value as u32))?;
        add(&[1, 3, 6, 1, 2, 1, 2, 2, 1, 16, index], MibValue::Counter32(0.0, index))?;
        add(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6, index], MibValue::Counter64(0.0, value))?;
        add(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 10, index], MibValue::Counter64(0.0, index.into()))?;
    }
    Ok(Mib::new(objects))
}

/// The agent's clock: ns since its first use.
fn now_ns() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
