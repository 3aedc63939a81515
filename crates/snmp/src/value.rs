//! The types of values: those of RFC 2578 section 7.1, the exceptions of RFC 3416 section 3, and the
//! floating-point numbers that net-snmp wraps into `Opaque`.

use std::fmt;
use std::net::Ipv4Addr;

use crate::ber::{BerReader, DecodeError, Encoder, tag};
use crate::oid::OidRef;

mod application {
    pub(super) const IP_ADDRESS: u8 = 0x40;
    pub(super) const COUNTER32: u8 = 0x41;
    pub(super) const GAUGE32: u8 = 0x42;
    pub(super) const TIME_TICKS: u8 = 0x43;
    pub(super) const OPAQUE: u8 = 0x44;
    /// RFC 1442, no longer used.
    pub(super) const NSAP_ADDRESS: u8 = 0x45;
    pub(super) const COUNTER64: u8 = 0x46;
    /// RFC 1442, no longer used: read as a gauge.
    pub(super) const UINTEGER32: u8 = 0x47;
    pub(super) const NO_SUCH_OBJECT: u8 = 0x80;
    pub(super) const NO_SUCH_INSTANCE: u8 = 0x81;
    pub(super) const END_OF_MIB_VIEW: u8 = 0x82;
    pub(super) const BIT_STRING: u8 = 0x03;
    /// Inside `Opaque`, a tag of two bytes: this, and one of the following.
    pub(super) const OPAQUE_TAG: u8 = 0x9f;
    pub(super) const OPAQUE_COUNTER64: u8 = 0x76;
    pub(super) const OPAQUE_FLOAT: u8 = 0x78;
    pub(super) const OPAQUE_DOUBLE: u8 = 0x79;
    pub(super) const OPAQUE_I64: u8 = 0x7a;
    pub(super) const OPAQUE_U64: u8 = 0x7b;
}
use application::*;

/// The value of a varbind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SnmpValue<'a> {
    /// Nothing: what a request asks for.
    Null,
    /// `INTEGER`, `Integer32`; agents that send more than 32 bits are read.
    Integer(i64),
    /// `OCTET STRING`, also the bits of `BITS`.
    OctetString(&'a [u8]),
    /// `OBJECT IDENTIFIER`.
    ObjectIdentifier(OidRef<'a>),
    /// `IpAddress`.
    IpAddress(Ipv4Addr),
    /// `Counter32`: grows and begins again after 2^32 - 1.  One of more bits is read as
    /// [`Self::Counter64`].
    Counter32(u32),
    /// `Gauge32`, `Unsigned32`.  One of more bits is read as [`Self::Unsigned64`].
    Gauge32(u32),
    /// `TimeTicks`, in hundredths of a second.
    TimeTicks(u32),
    /// `Opaque`, other than the numbers below.
    Opaque(&'a [u8]),
    /// `NsapAddress` of RFC 1442.
    NsapAddress(&'a [u8]),
    /// `Counter64`: grows and begins again after 2^64 - 1.
    Counter64(u64),
    /// net-snmp's `Opaque: Float`.
    Float(f32),
    /// net-snmp's `Opaque: Double`.
    Double(f64),
    /// net-snmp's `Opaque: Int64`.
    Integer64(i64),
    /// net-snmp's `Opaque: UInt64`.
    Unsigned64(u64),
    /// The agent has no such object.
    NoSuchObject,
    /// The agent has the object, but not this instance of it.
    NoSuchInstance,
    /// Nothing follows, or only what may not be read.
    EndOfMibView,
    /// A type that SNMP has not, or a length that its type has not: the tag and the bytes.
    Unreadable(u8, &'a [u8]),
}

impl<'a> SnmpValue<'a> {
    /// Reads the next element.  What its type does not allow is [`Self::Unreadable`]: an answer has
    /// the values of many objects, and one that is wrong must not cost the others.
    #[inline]
    pub(crate) fn decode(reader: &mut BerReader<'a>) -> Result<Self, DecodeError> {
        let (tag, content) = reader.element()?;
        Ok(Self::of_content(tag, &content).unwrap_or(Self::Unreadable(tag, content.rest())))
    }

    /// A value that its type allows; one without a value may have content, which means nothing.
    #[inline]
    fn of_content(tag: u8, content: &BerReader<'a>) -> Option<Self> {
        let bytes = content.rest();
        let unsigned = || content.unsigned().ok();
        Some(match tag {
            tag::INTEGER => Self::Integer(content.signed().ok()?),
            tag::OCTET_STRING | BIT_STRING => Self::OctetString(bytes),
            tag::NULL => Self::Null,
            tag::OBJECT_IDENTIFIER => Self::ObjectIdentifier(OidRef::of_content(content).ok()?),
            IP_ADDRESS => Self::IpAddress(<[u8; 4]>::try_from(bytes).ok()?.into()),
            // Agents that send more than 32 bits are read.
            COUNTER32 => {
                let number = unsigned()?;
                u32::try_from(number).map_or(Self::Counter64(number), Self::Counter32)
            }
            GAUGE32 | UINTEGER32 => {
                let number = unsigned()?;
                u32::try_from(number).map_or(Self::Unsigned64(number), Self::Gauge32)
            }
            TIME_TICKS => Self::TimeTicks(unsigned()?.try_into().ok()?),
            OPAQUE => Self::of_opaque(content),
            NSAP_ADDRESS => Self::NsapAddress(bytes),
            COUNTER64 => Self::Counter64(unsigned()?),
            NO_SUCH_OBJECT => Self::NoSuchObject,
            NO_SUCH_INSTANCE => Self::NoSuchInstance,
            END_OF_MIB_VIEW => Self::EndOfMibView,
            _ => return None,
        })
    }

    /// A number that net-snmp wrapped, or else just the bytes.
    fn of_opaque(content: &BerReader<'a>) -> Self {
        let bytes = content.rest();
        let &[OPAQUE_TAG, kind, length, ref inside @ ..] = bytes else {
            return Self::Opaque(bytes);
        };
        if inside.len() != usize::from(length) {
            return Self::Opaque(bytes);
        }
        let number = BerReader::new(inside, 0);
        let value = match (kind, inside.len()) {
            (OPAQUE_FLOAT, 4) => {
                number.unsigned().ok().map(|bits| Self::Float(f32::from_bits(bits as u32)))
            }
            (OPAQUE_DOUBLE, 8) => {
                number.unsigned().ok().map(|bits| Self::Double(f64::from_bits(bits)))
            }
            (OPAQUE_I64, _) => number.signed().ok().map(Self::Integer64),
            (OPAQUE_U64, _) => number.unsigned().ok().map(Self::Unsigned64),
            (OPAQUE_COUNTER64, _) => number.unsigned().ok().map(Self::Counter64),
            _ => None,
        };
        value.unwrap_or(Self::Opaque(bytes))
    }

    /// Writes this value.
    #[inline]
    pub(crate) fn encode(&self, encoder: &mut Encoder<'_>) {
        match *self {
            Self::Null => encoder.element(tag::NULL, &[]),
            Self::Integer(number) => encoder.signed(tag::INTEGER, number),
            Self::OctetString(bytes) => encoder.element(tag::OCTET_STRING, bytes),
            Self::ObjectIdentifier(oid) => encoder.element(tag::OBJECT_IDENTIFIER, oid.as_bytes()),
            Self::IpAddress(address) => encoder.element(IP_ADDRESS, &address.octets()),
            Self::Counter32(number) => encoder.unsigned(COUNTER32, number.into()),
            Self::Gauge32(number) => encoder.unsigned(GAUGE32, number.into()),
            Self::TimeTicks(number) => encoder.unsigned(TIME_TICKS, number.into()),
            Self::Opaque(bytes) => encoder.element(OPAQUE, bytes),
            Self::NsapAddress(bytes) => encoder.element(NSAP_ADDRESS, bytes),
            Self::Counter64(number) => encoder.unsigned(COUNTER64, number),
            Self::Float(number) => opaque(encoder, |inside| {
                inside.element(OPAQUE_FLOAT, &number.to_bits().to_be_bytes());
            }),
            Self::Double(number) => opaque(encoder, |inside| {
                inside.element(OPAQUE_DOUBLE, &number.to_bits().to_be_bytes());
            }),
            Self::Integer64(number) => opaque(encoder, |inside| inside.signed(OPAQUE_I64, number)),
            Self::Unsigned64(number) => {
                opaque(encoder, |inside| inside.unsigned(OPAQUE_U64, number));
            }
            Self::NoSuchObject => encoder.element(NO_SUCH_OBJECT, &[]),
            Self::NoSuchInstance => encoder.element(NO_SUCH_INSTANCE, &[]),
            Self::EndOfMibView => encoder.element(END_OF_MIB_VIEW, &[]),
            Self::Unreadable(tag, bytes) => encoder.element(tag, bytes),
        }
    }

    /// The value as a whole number, where its type is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        match *self {
            Self::Integer(number) | Self::Integer64(number) => Some(number.into()),
            Self::Counter32(number) | Self::Gauge32(number) | Self::TimeTicks(number) => {
                Some(number.into())
            }
            Self::Counter64(number) | Self::Unsigned64(number) => Some(number.into()),
            _ => None,
        }
    }

    /// The bytes of a text.
    #[must_use]
    pub fn as_octets(&self) -> Option<&'a [u8]> {
        match *self {
            Self::OctetString(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether the agent says that there is no value: one of the exceptions of RFC 3416.
    #[must_use]
    pub fn is_exception(&self) -> bool {
        matches!(self, Self::NoSuchObject | Self::NoSuchInstance | Self::EndOfMibView)
    }
}

/// Wraps a number as net-snmp does.
fn opaque(encoder: &mut Encoder<'_>, write: impl FnOnce(&mut Encoder<'_>)) {
    let mark = encoder.mark();
    write(encoder);
    encoder.byte(OPAQUE_TAG);
    encoder.wrap(OPAQUE, mark);
}

/// Numbers in decimal, texts with what cannot be printed escaped, other bytes in hexadecimal.
impl fmt::Display for SnmpValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null => f.write_str("null"),
            Self::Integer(number) | Self::Integer64(number) => number.fmt(f),
            Self::OctetString(bytes) => bytes.escape_ascii().fmt(f),
            Self::ObjectIdentifier(oid) => oid.fmt(f),
            Self::IpAddress(address) => address.fmt(f),
            Self::Counter32(number) | Self::Gauge32(number) | Self::TimeTicks(number) => {
                number.fmt(f)
            }
            Self::Opaque(bytes) | Self::NsapAddress(bytes) => {
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Counter64(number) | Self::Unsigned64(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Double(number) => number.fmt(f),
            Self::NoSuchObject => f.write_str("no such object"),
            Self::NoSuchInstance => f.write_str("no such instance"),
            Self::EndOfMibView => f.write_str("end of the MIB view"),
            Self::Unreadable(tag, bytes) => {
                write!(f, "type {tag:#04x}: ")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ber::DecodeCause;

    fn encoded(value: SnmpValue<'_>) -> Vec<u8> {
        let mut buffer = [0; 100];
        let mut encoder = Encoder::new(&mut buffer);
        value.encode(&mut encoder);
        let start = encoder.finish().unwrap();
        buffer[start..].to_vec()
    }

    fn decoded(bytes: &[u8]) -> Result<SnmpValue<'_>, DecodeCause> {
        let mut reader = BerReader::new(bytes, 0);
        let value = SnmpValue::decode(&mut reader).map_err(|error| error.cause)?;
        assert!(reader.is_empty());
        Ok(value)
    }

    #[test]
    fn every_type_is_read_as_it_was_written() {
        for value in [
            SnmpValue::Null,
            SnmpValue::Integer(-7),
            SnmpValue::OctetString(b"eth0"),
            SnmpValue::ObjectIdentifier(crate::Oid::new(&[1, 3, 6]).unwrap().as_ref()),
            SnmpValue::IpAddress(Ipv4Addr::new(192, 0, 2, 1)),
            SnmpValue::Counter32(u32::MAX),
            SnmpValue::Gauge32(0),
            SnmpValue::TimeTicks(0x8000_0000),
            SnmpValue::Opaque(&[0x9f, 0x78, 3, 1, 2, 3]),
            SnmpValue::NsapAddress(&[1]),
            SnmpValue::Counter64(u64::MAX),
            SnmpValue::Float(0.25),
            SnmpValue::Double(-1e300),
            SnmpValue::Integer64(i64::MIN),
            SnmpValue::Unsigned64(u64::MAX),
            SnmpValue::NoSuchObject,
            SnmpValue::NoSuchInstance,
            SnmpValue::EndOfMibView,
            SnmpValue::Unreadable(0xc0, &[1, 2]),
        ] {
            assert_eq!(decoded(&encoded(value)), Ok(value));
        }
        let float = [0x44, 7, 0x9f, 0x78, 4, 0x3e, 0x80, 0, 0];
        assert_eq!(encoded(SnmpValue::Float(0.25)), float);
    }

    #[test]
    fn what_no_type_allows_is_kept_as_its_bytes() {
        for bytes in [
            &[0x40, 3, 1, 2, 3][..],
            &[0x40, 0],
            &[2, 0],
            &[2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0x41, 0],
            &[0x43, 5, 1, 0, 0, 0, 0],
            &[0x46, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[6, 2, 0x2b, 0x86],
            &[6, 6, 0x2b, 0x90, 0x80, 0x80, 0x80, 0],
            &[0x30, 0],
            &[0x24, 3, 4, 1, 7],
            &[0x83, 0],
            &[0xc0, 1, 7],
        ] {
            let value = SnmpValue::Unreadable(bytes[0], &bytes[2..]);
            assert_eq!(decoded(bytes), Ok(value));
            assert_eq!(encoded(value), bytes);
            assert_eq!((value.as_integer(), value.as_octets()), (None, None));
        }
        let text = SnmpValue::Unreadable(0xc0, &[1, 0xab]).to_string();
        assert_eq!(text, "type 0xc0: 01ab");
    }

    #[test]
    fn what_agents_send_besides_the_standard_is_read() {
        assert_eq!(decoded(&[0x47, 1, 9]), Ok(SnmpValue::Gauge32(9)));
        assert_eq!(decoded(&[0x42, 1, 200]), Ok(SnmpValue::Gauge32(200)));
        assert_eq!(decoded(&[0x46, 1, 200]), Ok(SnmpValue::Counter64(200)));
        let wide = [0x41, 5, 1, 0, 0, 0, 2];
        assert_eq!(decoded(&wide), Ok(SnmpValue::Counter64(0x1_0000_0002)));
        let wide = [0x42, 5, 1, 0, 0, 0, 2];
        assert_eq!(decoded(&wide), Ok(SnmpValue::Unsigned64(0x1_0000_0002)));
        assert_eq!(decoded(&[5, 1, 0]), Ok(SnmpValue::Null));
        assert_eq!(decoded(&[0x80, 1, 0]), Ok(SnmpValue::NoSuchObject));
    }
}
