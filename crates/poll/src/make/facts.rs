//! What a device says about itself: its system group, and tables of its interfaces.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use super::MakeError;
use super::request::DeviceRequest;
use text::byte_text;
use text::encoding::hex_with;
use text::escape::{REPLACEMENT, file_line};

/// Reads one device.
pub trait AgentReader {
    /// All objects below an identifier, in their order: the rest of each identifier, and its value.
    ///
    /// # Errors
    /// If there is no answer: why, in words.
    fn walk(&mut self, below: &[u32]) -> Result<Vec<(Vec<u32>, AgentValue)>, String>;

    /// One object; `None` if there is none.
    ///
    /// # Errors
    /// If there is no answer: why, in words.
    fn get(&mut self, object: &[u32]) -> Result<Option<AgentValue>, String>;
}

/// A value of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentValue {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A number of any type.
    Number(i128),
    /// An object identifier, in numbers with dots.
    Identifier(String),
    /// An address.
    Address(Ipv4Addr),
}

/// Characters of a device's text.  The standard allows 255, and some devices have twice as many in
/// `sysDescr`.
const TEXT_CHARACTERS_MAX: usize = 1_000;
/// Bytes of an Ethernet address; those of InfiniBand have 20.
const ETHERNET_BYTES_MAX: usize = 32;

/// A text of a device or of a name server as one line.  All of them that go into a configuration go
/// through here, as it may have commands in it.
fn clean(text: &str) -> String {
    clean_part(text, TEXT_CHARACTERS_MAX)
}

/// Cleans a part of a text.  Bytes that are not UTF-8 stay as they are, unless ISO 8859-1 has control
/// characters there.
fn clean_part(text: &str, characters_max: usize) -> String {
    let is_control = |c: char| byte_text::byte_of(c).is_some_and(|byte| byte < 0xa0);
    let is_plain = !byte_text::has_bytes(text);
    let line = file_line(text, characters_max);
    if is_plain { line } else { line.replace(is_control, REPLACEMENT.encode_utf8(&mut [0; 4])) }
}

/// The lines of a device's text.
fn clean_lines(text: &str) -> Vec<String> {
    // A text that is cut is cut once.
    let lines = text.split(['\n', '\r']).filter(|line| !line.is_empty());
    let mut left = TEXT_CHARACTERS_MAX;
    let mut out = Vec::new();
    for line in lines.take(TEXT_CHARACTERS_MAX) {
        if left == 0 {
            break;
        }
        let line = clean_part(line, left);
        left = left.saturating_sub(line.chars().count());
        out.push(line);
    }
    out
}

/// A name of a device: what has a meaning in HTML, in a shell or in a path has no place in it.
fn clean_name(text: &str) -> String {
    let is_special = |c: char| matches!(c, '<' | '>' | '&' | '"' | '\'' | '$' | ';' | '|' | '\\');
    clean(text).replace(is_special, "_")
}

impl AgentValue {
    /// Writes the value as one line of text, without spaces and zeroes at its end.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            AgentValue::Bytes(bytes) => clean(&byte_text::decode(bytes.clone())),
            AgentValue::Number(number) => number.to_string(),
            AgentValue::Identifier(text) => text.clone(),
            AgentValue::Address(address) => address.to_string(),
        }
    }
}

/// An interface.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MadeInterface {
    /// `ifDescr`, if no other interface has the same; so all of these up to `ethernet`.
    pub description: Option<String>,
    /// `ifName`.
    pub name: Option<String>,
    /// `ifType`, as a way to name the interface.
    pub unique_type: Option<String>,
    /// The IPv4 address.
    pub address: Option<Ipv4Addr>,
    /// The name of that address.
    pub address_name: Option<String>,
    /// The Ethernet address, `00-11-22-33-44-55`.
    pub ethernet: Option<String>,
    /// `ifType`.
    pub interface_type: u32,
    /// `ifAdminStatus`: 1 up, 2 down, 3 testing.
    pub admin_status: u32,
    /// `ifOperStatus`.
    pub oper_status: u32,
    /// `ifMtu`.
    pub mtu: Option<String>,
    /// Bits per second.
    pub speed: u64,
    /// `ifAlias`, of makers known to have it.
    pub alias: String,
    /// Cisco's description (`locIfDescr`).
    pub cisco_description: String,
    /// Cisco's VLAN.
    pub vlan: Option<String>,
    /// Whether a Cisco port is a trunk.
    pub is_trunk: bool,
    /// The name of a port of a Nortel switch.
    pub port_name: Option<String>,
    /// Whether 64-bit counters are missing although the version has them.
    pub is_without_64_bits: bool,
    /// Why its counters cannot be read.
    pub broken: Option<String>,
}

/// A device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MadeDevice {
    /// `sysDescr`, in one line.
    pub description: String,
    /// The lines of `sysDescr`.
    pub description_lines: Vec<String>,
    /// `sysObjectID`.
    pub object_id: String,
    /// `sysContact`.
    pub contact: String,
    /// `sysName`.
    pub name: String,
    /// `sysLocation`.
    pub location: String,
    /// The maker, in a word.
    pub maker: String,
    /// Interfaces by their numbers.
    pub interfaces: BTreeMap<u32, MadeInterface>,
    /// Names of ports of Catalyst switches, by `module.port`.
    pub port_names: HashMap<String, String>,
    /// Columns that were asked for and not answered, and why: what they would say is not known.
    pub lost_columns: Vec<(&'static str, String)>,
}

impl MadeDevice {
    /// The columns that were not answered and the first reason, in a line; `None` if all were.
    #[must_use]
    pub fn lost_text(&self) -> Option<String> {
        let (_, reason) = self.lost_columns.first()?;
        let names: Vec<&str> = self.lost_columns.iter().map(|(name, _)| *name).collect();
        Some(format!("{}: {}", names.join(", "), clean(reason)))
    }

    /// The warning about columns that were not answered; `None` if all were.
    #[must_use]
    pub fn lost_warning(&self, request: &DeviceRequest) -> Option<String> {
        let advice = "ask again, or with a longer time-out";
        let lost = self.lost_text()?;
        Some(format!("WARNING: {}: not answered: {lost}: {advice}", request.shown()))
    }

    /// Why a column is not known, if it was not answered.
    pub(super) fn why_lost(&self, column: &str) -> Option<&str> {
        let mut lost = self.lost_columns.iter();
        lost.find(|(name, _)| *name == column).map(|(_, reason)| reason.as_str())
    }
}

const SYSTEM: [u32; 7] = [1, 3, 6, 1, 2, 1, 1];
const IF_ENTRY: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const IF_X_ENTRY: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
const ADDRESS_INDEX: [u32; 10] = [1, 3, 6, 1, 2, 1, 4, 20, 1, 2];
const CISCO_DESCRIPTION: [u32; 12] = [1, 3, 6, 1, 4, 1, 9, 2, 2, 1, 1, 28];
const CATALYST_PORT_NAME: [u32; 13] = [1, 3, 6, 1, 4, 1, 9, 5, 1, 4, 1, 1, 4];
const NORTEL_PORT_NAME: [u32; 13] = [1, 3, 6, 1, 4, 1, 2272, 1, 4, 10, 1, 1, 35];
const CISCO_TRUNK: [u32; 14] = [1, 3, 6, 1, 4, 1, 9, 9, 46, 1, 6, 1, 1, 14];
const CISCO_VLAN: [u32; 14] = [1, 3, 6, 1, 4, 1, 9, 9, 68, 1, 2, 2, 1, 2];

/// Parts of `sysObjectID`, and the makers that have them.
const MAKERS: [(&str, &str); 27] = [
    ("1.3.6.1.4.1.11863.", "tplink"),
    ("1.3.6.1.4.1.43.", "3com"),
    ("1.3.6.1.4.1.11.", "hp"),
    ("1.3.6.1.4.1.9.", "cisco"),
    ("1.3.6.1.4.1.171.", "dlink"),
    ("1.3.6.1.4.1.6141.", "wwp"),
    ("1.3.6.1.4.1.674.10895.", "dellLan"),
    ("1.3.6.1.4.1.1916.", "extremenetworks"),
    ("1.3.6.1.4.1.1991.", "foundry"),
    ("1.3.6.1.4.1.6027.", "force10"),
    ("1.3.6.1.4.1.2636.", "juniper"),
    ("1.3.6.1.4.1.94.", "nokiaipsofw"),
    ("1.3.6.1.4.1.307.", "portmaster"),
    ("1.3.6.1.4.1.890.", "zyxel"),
    ("1.3.6.1.4.1.2272.30", "nortel"),
    ("1.3.6.1.4.1.6339", "DCN"),
    ("1.3.6.1.4.1.30155.", "openBSD"),
    ("1.3.6.1.4.1.30065.", "arista"),
    ("1.3.6.1.4.1.5624.", "enterasys"),
    ("1.3.6.1.4.1.30803.", "Vyatta"),
    ("1.3.6.1.4.1.3955.", "LinkSys"),
    ("1.3.6.1.4.1.1588.", "brocade"),
    ("1.3.6.1.4.1.3709.", "datacom"),
    ("1.3.6.1.4.1.14988.", "mikrotik"),
    ("1.3.6.1.4.1.6486.", "alcatel"),
    ("1.3.6.1.4.1.2011.", "huawei"),
    ("1.3.6.1.4.1.35265.", "eltex"),
];

/// Makers whose devices have `ifAlias`.
const WITH_ALIAS: [&str; 20] = [
    "hp",
    "juniper",
    "dlink",
    "wwp",
    "foundry",
    "delllan",
    "force10",
    "3com",
    "extremenetworks",
    "openbsd",
    "arista",
    "enterasys",
    "zyxel",
    "vyatta",
    "dcn",
    "brocade",
    "datacom",
    "alcatel",
    "mikrotik",
    "huawei",
];

/// Asks a device.  `name_of` looks up the name of an address.
///
/// # Errors
/// If the device does not answer, or has no system group.
pub fn facts(
    agent: &mut dyn AgentReader,
    request: &DeviceRequest,
    name_of: &dyn Fn(Ipv4Addr) -> Option<String>,
) -> Result<MadeDevice, MakeError> {
    let silent = |reason: String| request.silent(reason);
    let mut device = system(agent).map_err(silent)?;
    if request.rules.is_without_interfaces {
        return Ok(device);
    }
    let mut reader = FactsReader { agent, device: &mut device };
    reader.keys();
    reader.columns();
    reader.maker_columns();
    reader.speeds(request.has_version_2());
    reader.counters(request.has_version_2());
    if !request.rules.is_without_names {
        for interface in device.interfaces.values_mut() {
            let name = interface.address.and_then(name_of);
            interface.address_name = name.map(|name| clean_name(&name));
        }
    }
    Ok(device)
}

fn system(agent: &mut dyn AgentReader) -> Result<MadeDevice, String> {
    let mut device = MadeDevice::default();
    let all = agent.walk(&SYSTEM)?;
    if all.is_empty() {
        return Err("it has no system group".to_owned());
    }
    for (rest, value) in all {
        let field = match rest[..] {
            [1, 0] => &mut device.description,
            [2, 0] => &mut device.object_id,
            [4, 0] => &mut device.contact,
            [5, 0] => &mut device.name,
            [6, 0] => &mut device.location,
            _ => continue,
        };
        *field = value.text();
        match (&rest[..], &value) {
            ([5, 0], _) => device.name = clean_name(&device.name),
            ([1, 0], AgentValue::Bytes(bytes)) => {
                device.description_lines = clean_lines(&byte_text::decode(bytes.clone()));
            }
            _ => {}
        }
    }
    let known = MAKERS.iter().find(|(part, _)| device.object_id.contains(part));
    device.maker = match known {
        Some((_, maker)) => (*maker).to_owned(),
        None => format!("Unknown Vendor - {}", device.object_id),
    };
    Ok(device)
}

struct FactsReader<'a> {
    agent: &'a mut dyn AgentReader,
    device: &'a mut MadeDevice,
}

/// Whole identifier of a column.
fn column(entry: &[u32], number: u32) -> Vec<u32> {
    [entry, &[number]].concat()
}

impl FactsReader<'_> {
    /// A column.  A device that does not have it answers nothing; one that does not answer is noted,
    /// and no part of the column is taken.
    fn walk(&mut self, name: &'static str, below: &[u32]) -> Vec<(Vec<u32>, AgentValue)> {
        self.agent.walk(below).unwrap_or_else(|reason| {
            if self.device.why_lost(name).is_none() {
                self.device.lost_columns.push((name, reason));
            }
            Vec::new()
        })
    }

    fn each(
        &mut self,
        name: &'static str,
        below: &[u32],
        mut set: impl FnMut(&mut MadeInterface, &AgentValue),
    ) {
        for (rest, value) in self.walk(name, below) {
            if let [index] = rest[..] {
                set(self.device.interfaces.entry(index).or_default(), &value);
            }
        }
    }

    /// What names an interface: only texts that no other interface has.
    fn keys(&mut self) {
        type Set = fn(&mut MadeInterface, String);
        let keys: [(&str, Vec<u32>, Set); 3] = [
            ("ifName", column(&IF_X_ENTRY, 1), |one, text| one.name = Some(text)),
            ("ifDescr", column(&IF_ENTRY, 2), |one, text| one.description = Some(text)),
            ("ifType", column(&IF_ENTRY, 3), |one, text| one.unique_type = Some(text)),
        ];
        for (name, below, set) in keys {
            let texts =
                self.walk(name, &below).into_iter().filter_map(|(rest, value)| match rest[..] {
                    [index] => Some((value.text(), index)),
                    _ => None,
                });
            self.set_unique(texts.collect(), set);
        }
        let addresses = self.walk("ipAdEntIfIndex", &ADDRESS_INDEX);
        for (rest, value) in addresses.iter().rev() {
            if let ([a, b, c, d], Ok(index)) = (&rest[..], value.text().parse()) {
                let [a, b, c, d] = [a, b, c, d].map(|&part| part as u8);
                let interface = self.device.interfaces.entry(index).or_default();
                interface.address = Some(Ipv4Addr::new(a, b, c, d));
            }
        }
        let ethernet = self.walk("ifPhysAddress", &column(&IF_ENTRY, 6));
        let texts = ethernet.into_iter().filter_map(|(rest, value)| match (&rest[..], value) {
            (&[index], AgentValue::Bytes(bytes)) if bytes.len() <= ETHERNET_BYTES_MAX => {
                Some((hex_with(&bytes, "-").to_string(), index))
            }
            _ => None,
        });
        self.set_unique(texts.collect(), |one, text| one.ethernet = Some(text));
    }

    fn set_unique(&mut self, texts: Vec<(String, u32)>, set: fn(&mut MadeInterface, String)) {
        let mut owners: HashMap<String, Option<u32>> = HashMap::new();
        for (text, index) in texts {
            let owner = owners.entry(text).or_insert(Some(index));
            if *owner != Some(index) {
                *owner = None;
            }
        }
        for (text, index) in owners {
            if let Some(index) = index {
                set(self.device.interfaces.entry(index).or_default(), text);
            }
        }
    }

    fn columns(&mut self) {
        let number = |value: &AgentValue| value.text().parse().unwrap_or(0);
        self.each("ifIndex", &column(&IF_ENTRY, 1), |_, _| {});
        self.each("ifType", &column(&IF_ENTRY, 3), |one, value| {
            one.interface_type = number(value);
        });
        self.each("ifAdminStatus", &column(&IF_ENTRY, 7), |one, value| {
            one.admin_status = number(value);
        });
        self.each("ifOperStatus", &column(&IF_ENTRY, 8), |one, value| {
            one.oper_status = number(value);
        });
        self.each("ifMtu", &column(&IF_ENTRY, 4), |one, value| one.mtu = Some(value.text()));
    }

    /// What only some makers have.
    fn maker_columns(&mut self) {
        let (maker, text) = (self.device.maker.clone(), self.device.description.clone());
        let is_cisco = maker == "cisco";
        let version = is_cisco.then(|| cisco_version(&text)).flatten();
        let lower = maker.to_ascii_lowercase();
        // Names of unknown makers end in their identifiers, which have no letters.
        let has_alias = WITH_ALIAS.iter().chain(&["eltex"]).any(|known| lower.contains(known));
        if let Some(version) = version {
            if !(10.0..=11.0).contains(&version) {
                self.aliases();
            } else {
                self.each("locIfDescr", &CISCO_DESCRIPTION, |one, value| {
                    one.cisco_description = value.text();
                });
            }
        } else if has_alias {
            self.aliases();
        }
        let is_catalyst_system =
            text.contains("Catalyst Operating System") || text.contains("Cisco Systems WS-C2900");
        if version.is_some_and(|version| version > 11.2) || (is_cisco && is_catalyst_system) {
            self.each("vmVlan", &CISCO_VLAN, |one, value| one.vlan = Some(value.text()));
        }
        if version.is_some_and(|v| v > 11.3) || (is_cisco && text.contains("Catalyst")) {
            self.each("vlanTrunkPortDynamicStatus", &CISCO_TRUNK, |one, value| {
                one.is_trunk = value.text() != "0";
            });
        }
        if is_cisco && is_catalyst_system {
            for (rest, value) in self.walk("portName", &CATALYST_PORT_NAME) {
                let port: Vec<String> = rest.iter().map(u32::to_string).collect();
                self.device.port_names.insert(port.join("."), value.text());
            }
        }
        if text.contains("Passport-8610") || text.contains("MERS-8610") {
            self.each("rcPortName", &NORTEL_PORT_NAME, |one, value| {
                one.port_name = Some(value.text());
            });
        }
    }

    fn aliases(&mut self) {
        self.each("ifAlias", &column(&IF_X_ENTRY, 18), |one, value| one.alias = value.text());
    }

    fn speeds(&mut self, has_high_speed: bool) {
        let number = |value: &AgentValue| value.text().parse().unwrap_or(0);
        self.each("ifSpeed", &column(&IF_ENTRY, 5), |one, value| one.speed = number(value));
        if has_high_speed {
            let is_nortel = self.device.description.contains("MERS-8610");
            let mut high = HashMap::new();
            for (rest, value) in self.walk("ifHighSpeed", &column(&IF_X_ENTRY, 15)) {
                if let [index] = rest[..] {
                    high.insert(index, number(&value).saturating_mul(1_000_000));
                }
            }
            for (index, one) in &mut self.device.interfaces {
                // The largest number says that the speed is above it: `ifHighSpeed` has it, or nothing.
                if one.speed == u64::from(u32::MAX) {
                    one.speed = high.get(index).copied().unwrap_or(0);
                } else if is_nortel {
                    one.speed = high.get(index).copied().unwrap_or(one.speed);
                }
            }
        }
        if self.device.maker == "portmaster" {
            for interface in self.device.interfaces.values_mut() {
                let is_synchronous = interface.description.as_deref() == Some("ptpW1");
                match interface.interface_type {
                    23 => interface.speed = if is_synchronous { 128_000 } else { 76_800 },
                    28 => interface.speed = 38_400,
                    6 => interface.speed = 10_000_000,
                    _ => {}
                }
            }
        }
    }

    /// Which counters can be read.
    fn counters(&mut self, has_64_bits: bool) {
        let indices: Vec<u32> = self.device.interfaces.keys().copied().collect();
        for index in indices {
            let object = |entry: &[u32], number: u32| [entry, &[number, index]].concat();
            let mut is_without = false;
            if has_64_bits {
                let [speed, counter] =
                    [15, 6].map(|number| self.agent.get(&object(&IF_X_ENTRY, number)));
                if let Some(reason) =
                    [&speed, &counter].into_iter().find_map(|one| one.as_ref().err())
                {
                    // Whether it has 64-bit counters is not known.
                    let interface = self.device.interfaces.entry(index).or_default();
                    interface.broken = Some(reason.clone());
                    continue;
                }
                let [speed, counter] = [speed, counter].map(|one| one.ok().flatten());
                let has_speed =
                    speed.is_some_and(|speed| !["", "0"].contains(&speed.text().as_str()));
                if has_speed && counter.is_some_and(|counter| is_counter(&counter)) {
                    continue;
                }
                is_without = true;
            }
            let broken = match self.agent.get(&object(&IF_ENTRY, 10)) {
                Ok(Some(counter)) if is_counter(&counter) => None,
                Ok(_) => Some(format!("No counter exists for {index}")),
                Err(reason) => Some(reason.replace('\n', "\n###     ")),
            };
            let interface = self.device.interfaces.entry(index).or_default();
            interface.is_without_64_bits = is_without && broken.is_none();
            interface.broken = broken;
        }
    }
}

fn is_counter(value: &AgentValue) -> bool {
    matches!(value, AgentValue::Number(number) if *number >= 0)
}

/// The number after `Version` in a description.
fn cisco_version(text: &str) -> Option<f64> {
    let rest = text[text.find("Version ")? + 8..].trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let mut parts = rest[..digits].split('.');
    format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
}
