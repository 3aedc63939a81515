//! Recorded walks: `.1.3.6.1.2.1.1.5.0 = STRING: "name"`, a line an object, as `snmpwalk -On` prints.

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::mib::{Mib, MibObject, MibValue};

/// The error of a line that no walk has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}: {text}")]
pub struct WalkError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
    /// The line.
    pub text: String,
}

impl Mib {
    /// Reads a recorded walk: lines as `snmpwalk -On` (also with `-Oe`) prints them.  Counters stand still.
    ///
    /// # Errors
    /// If a line cannot be read.
    pub fn from_walk(text: &str) -> Result<Self, WalkError> {
        parse(text).map(Self::new)
    }
}

/// The objects of a walk.
fn parse(text: &str) -> Result<Vec<MibObject>, WalkError> {
    let mut objects: Vec<MibObject> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |what| WalkError { line: index + 1, what, text: line.to_owned() };
        if !line.starts_with(".1.") {
            // The rest of a text or of bytes of several lines.
            match objects.last_mut() {
                _ if line == "End of MIB" => {}
                Some(MibObject { value: MibValue::Octets(bytes), .. }) => {
                    add_line(bytes, line);
                }
                _ if line.trim().is_empty() => {}
                _ => return Err(wrong("no object identifier")),
            }
            continue;
        }
        let (oid, rest) = line.split_once(" = ").ok_or(wrong("no ` = `"))?;
        let oid = oid.parse().map_err(|_| wrong("no object identifier"))?;
        if rest.starts_with("No more variables left") || rest.starts_with("No Such ") {
            continue;
        }
        let value = value_of(rest).ok_or(wrong("a value that is not known"))?;
        objects.push(MibObject { oid, value });
    }
    Ok(objects)
}

/// A further line of a value: hexadecimal digits, or text up to a quote.
fn add_line(bytes: &mut Vec<u8>, line: &str) {
    match hexadecimal(line) {
        Some(more) => bytes.extend(more),
        None => {
            bytes.push(b'\n');
            bytes.extend(line.strip_suffix('"').unwrap_or(line).bytes());
        }
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    text.split_whitespace()
        .map(|pair| u8::from_str_radix(pair, 16).ok().filter(|_| pair.len() == 2))
        .collect()
}

fn value_of(text: &str) -> Option<MibValue> {
    if text == "\"\"" {
        return Some(MibValue::Octets(Vec::new()));
    }
    let (kind, value) = text.split_once(':')?;
    let value = value.strip_prefix(' ').unwrap_or(value);
    // `up(1)` without `-Oe`, `1500 octets` with a unit.
    let inner = value.split_once('(').map_or(value, |(_, rest)| rest);
    let number = inner.split([')', ' ']).next()?;
    Some(match kind {
        "INTEGER" => MibValue::Integer(number.parse().ok()?),
        "Gauge32" | "Unsigned32" => MibValue::Gauge32(number.parse().ok()?),
        "Counter32" => MibValue::Counter32(0.0, number.parse().ok()?),
        "Counter64" => MibValue::Counter64(0.0, number.parse().ok()?),
        "Timeticks" => MibValue::TimeTicks(number.parse().ok()?),
        "IpAddress" => MibValue::Address(value.parse::<Ipv4Addr>().ok()?),
        "Network Address" => {
            let bytes = value.split(':').map(|part| u8::from_str_radix(part, 16).ok());
            let bytes: Option<Vec<u8>> = bytes.collect();
            MibValue::Address(<[u8; 4]>::try_from(bytes?).ok()?.into())
        }
        "OID" => MibValue::Oid(value.parse().ok()?),
        "Hex-STRING" | "BITS" => MibValue::Octets(hexadecimal(value.trim_end())?),
        "STRING" => {
            let inside = value.strip_prefix('"').unwrap_or(value);
            let inside = inside.strip_suffix('"').unwrap_or(inside);
            MibValue::Octets(inside.replace("\\\"", "\"").into_bytes())
        }
        "Opaque" => MibValue::Opaque(value.as_bytes().to_vec()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds_are_read() {
        let text = ".1.3.6.1.2.1.1.1.0 = STRING: \"two\nlines\"\n.1.3.6.1.2.1.1.3.0 = Timeticks: (42) 0:00:00.42\n\
            .1.3.6.1.2.1.2.2.1.6.2 = Hex-STRING: 02 00 FF \n.1.3.6.1.2.1.2.2.1.8.2 = INTEGER: up(1)\n\
            .1.3.6.1.2.1.2.2.1.10.2 = Counter32: 7\n.1.3.6.1.2.1.1.2.0 = OID: .1.3.6.1.4.1.9\n\
            .1.3.6.1.2.1.1.6.0 = \"\"\n.1.3.6.1.9.0 = No more variables left in this MIB View";
        let values: Vec<MibValue> = parse(text).unwrap().into_iter().map(|one| one.value).collect();
        assert_eq!(
            values,
            [
                MibValue::Octets(b"two\nlines".to_vec()),
                MibValue::TimeTicks(42),
                MibValue::Octets(vec![2, 0, 255]),
                MibValue::Integer(1),
                MibValue::Counter32(0.0, 7),
                MibValue::Oid("1.3.6.1.4.1.9".parse().unwrap()),
                MibValue::Octets(Vec::new()),
            ]
        );
        for wrong in ["x", ".1.3 = ", ".1.3 = Other: 1", ".1.3 = INTEGER: x", ".1.x = INTEGER: 1"] {
            assert_eq!(parse(wrong).unwrap_err().line, 1, "{wrong}");
        }
    }
}
