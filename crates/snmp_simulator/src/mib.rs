//! The objects of a device, sorted: fixed values, and counters that move with time.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use snmp::{Oid, OidRef, SnmpValue};

/// The value of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum MibValue {
    /// `INTEGER`.
    Integer(i64),
    /// `OCTET STRING`.
    Octets(Vec<u8>),
    /// `OBJECT IDENTIFIER`.
    Oid(Oid),
    /// `IpAddress`.
    Address(Ipv4Addr),
    /// `Gauge32`.
    Gauge32(u32),
    /// `TimeTicks` that stand still.
    TimeTicks(u32),
    /// The hundredths of a second since the device was started.
    UpTime,
    /// A counter of 32 bits that grows by this much each second.
    Counter32(f64, u32),
    /// A counter of 64 bits that grows by this much each second.
    Counter64(f64, u64),
    /// The bytes of another type, as `Opaque`.
    Opaque(Vec<u8>),
}

/// An object and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MibObject {
    /// The identifier of the object.
    pub oid: Oid,
    /// The value; a counter has its growth a second, and its value at the start of the device.
    pub value: MibValue,
}

/// Objects in their order.
#[derive(Clone, Debug, Default)]
pub struct Mib {
    objects: Vec<MibObject>,
    places: HashMap<Vec<u8>, usize>,
}

/// A column, and what an interface has there.
type MibColumn = (u32, fn(u32) -> MibValue);

/// Columns of `ifTable`: number, and what each interface has there.
const IF_TABLE: [MibColumn; 15] = [
    (1, |index| MibValue::Integer(index.into())),
    (2, |index| MibValue::Octets(format!("eth{index}").into_bytes())),
    (3, |_| MibValue::Integer(6)),
    (4, |_| MibValue::Integer(1_500)),
    (5, |_| MibValue::Gauge32(1_000_000_000)),
    (6, |index| MibValue::Octets(mac(index))),
    (7, |_| MibValue::Integer(1)),
    (8, |_| MibValue::Integer(1)),
    (10, |index| MibValue::Counter32(rate(index), 7 * index)),
    (11, |index| MibValue::Counter32(rate(index) / 700.0, index)),
    (13, |_| MibValue::Counter32(0.0, 0)),
    (14, |index| MibValue::Counter32(0.01 * f64::from(index % 5), 0)),
    (16, |index| MibValue::Counter32(0.5 * rate(index), 3 * index)),
    (17, |index| MibValue::Counter32(rate(index) / 1_400.0, index)),
    (20, |_| MibValue::Counter32(0.0, 0)),
];

/// Columns of `ifXTable`.
const IF_X_TABLE: [MibColumn; 6] = [
    (1, |index| MibValue::Octets(format!("port{index}").into_bytes())),
    (6, |index| MibValue::Counter64(rate(index), u64::from(index) << 33)),
    (7, |index| MibValue::Counter64(rate(index) / 700.0, 1 << 33)),
    (10, |index| MibValue::Counter64(0.5 * rate(index), u64::from(index) << 34)),
    (15, |_| MibValue::Gauge32(1_000)),
    (18, |index| MibValue::Octets(format!("customer {index}").into_bytes())),
];

/// The Ethernet address of an interface.
fn mac(index: u32) -> Vec<u8> {
    [[2, 0].as_slice(), &index.to_be_bytes()].concat()
}

/// Octets a second of an interface.
fn rate(index: u32) -> f64 {
    1_000.0 * f64::from(1 + index % 97)
}

impl Mib {
    /// Sorts objects; the last one of an identifier is kept.
    #[must_use]
    pub fn new(mut objects: Vec<MibObject>) -> Self {
        objects.sort_by(|one, other| one.oid.cmp(&other.oid));
        objects.reverse();
        objects.dedup_by(|one, other| one.oid == other.oid);
        objects.reverse();
        let places = objects.iter().enumerate();
        let places = places.map(|(place, one)| (one.oid.as_bytes().to_vec(), place)).collect();
        Self { objects, places }
    }

    /// Makes the objects of a switch: `system`, `ifTable`, `ifXTable`, an address for each interface.
    ///
    /// # Panics
    /// If there are more than 65,535 interfaces.
    #[must_use]
    pub fn with_interfaces(name: &str, count: u32) -> Self {
        assert!(count <= 65_535, "addresses of interfaces have 16 bits");
        let mut objects = Vec::new();
        let mut add = |numbers: &[u32], value| {
            let oid = Oid::new(numbers).expect("a short object identifier");
            objects.push(MibObject { oid, value });
        };
        let text = |text: &str| MibValue::Octets(text.as_bytes().to_vec());
        let enterprise = Oid::new(&[1, 3, 6, 1, 4, 1, 8072, 3, 2, 10]).expect("it is short");
        let system = [
            (1, text("a simulated switch")),
            (2, MibValue::Oid(enterprise)),
            (3, MibValue::UpTime),
            (4, text("nobody")),
            (5, text(name)),
            (6, text("nowhere")),
            (7, MibValue::Integer(72)),
        ];
        for (number, value) in system {
            add(&[1, 3, 6, 1, 2, 1, 1, number, 0], value);
        }
        add(&[1, 3, 6, 1, 2, 1, 2, 1, 0], MibValue::Integer(count.into()));
        for index in 1..=count {
            for (column, value) in IF_TABLE {
                add(&[1, 3, 6, 1, 2, 1, 2, 2, 1, column, index], value(index));
            }
            for (column, value) in IF_X_TABLE {
                add(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, column, index], value(index));
            }
            let address = Ipv4Addr::from(0x0a00_0000 + index);
            let [a, b, c, d] = address.octets().map(u32::from);
            let cell = |column| [1, 3, 6, 1, 2, 1, 4, 20, 1, column, a, b, c, d];
            add(&cell(1), MibValue::Address(address));
            add(&cell(2), MibValue::Integer(index.into()));
        }
        Self::new(objects)
    }

    /// The objects, sorted.
    #[must_use]
    pub fn objects(&self) -> &[MibObject] {
        &self.objects
    }

    /// The object with this identifier.
    pub(crate) fn find(&self, oid: OidRef<'_>) -> Option<&MibObject> {
        self.places.get(oid.as_bytes()).map(|place| &self.objects[*place])
    }

    /// Where the objects after this identifier begin.
    pub(crate) fn after(&self, oid: OidRef<'_>) -> &[MibObject] {
        let place = match self.places.get(oid.as_bytes()) {
            Some(place) => place + 1,
            None => self.objects.partition_point(|one| one.oid.as_ref() <= oid),
        };
        &self.objects[place..]
    }
}

impl MibValue {
    /// The value of a device that was started `up_ns` ago, in ns.
    pub(crate) fn at(&self, up_ns: u64) -> SnmpValue<'_> {
        let grown = |rate: f64| (rate * up_ns as f64 / 1e9) as u64;
        match self {
            Self::Integer(number) => SnmpValue::Integer(*number),
            Self::Octets(bytes) => SnmpValue::OctetString(bytes),
            Self::Oid(oid) => SnmpValue::ObjectIdentifier(oid.as_ref()),
            Self::Address(address) => SnmpValue::IpAddress(*address),
            Self::Gauge32(number) => SnmpValue::Gauge32(*number),
            Self::TimeTicks(number) => SnmpValue::TimeTicks(*number),
            Self::UpTime => SnmpValue::TimeTicks((up_ns / 10_000_000) as u32),
            Self::Counter32(rate, start) => {
                SnmpValue::Counter32(start.wrapping_add(grown(*rate) as u32))
            }
            Self::Counter64(rate, start) => SnmpValue::Counter64(start.wrapping_add(grown(*rate))),
            Self::Opaque(bytes) => SnmpValue::Opaque(bytes),
        }
    }
}
