//! A request with log records as protobuf, field by field.  Fields may come in any order, so what records
//! share is looked for before them.

use std::borrow::Cow;

use prost::encoding::{WireType, decode_key, decode_varint};
use text::escape::{hex_digits, push_json_string};
use text::integer::push_i64;

use crate::log_field as field;
use crate::record::{
    EachLog, OtlpAttribute, OtlpError, OtlpLog, OtlpOrigin, OtlpRead, OtlpValue, check_nested,
    keep, push_base64, push_float,
};

/// `KeyValue.key` and `KeyValue.value`.
const KEY: u32 = 1;
const VALUE: u32 = 2;
/// Fields of `AnyValue`.
const STRING_VALUE: u32 = 1;
const BOOL_VALUE: u32 = 2;
const INT_VALUE: u32 = 3;
const DOUBLE_VALUE: u32 = 4;
const ARRAY_VALUE: u32 = 5;
const KVLIST_VALUE: u32 = 6;
const BYTES_VALUE: u32 = 7;
/// `ArrayValue.values` and `KeyValueList.values`.
const VALUES: u32 = 1;
/// Bytes that are kept of a trace's or span's number: they have 16 and 8.
const ID_BYTES_MAX: usize = 32;

/// What a field has.
#[derive(Clone, Copy)]
enum Content<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// The fields of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take_bytes(&mut self, length: usize) -> Result<&'a [u8], OtlpError> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or(OtlpError::Protobuf("a field is cut"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u32, Content<'a>), OtlpError> {
        let key = decode_key(&mut self.0).map_err(|_| OtlpError::Protobuf("no field begins"))?;
        let varint = |bytes: &mut &[u8]| {
            decode_varint(bytes).map_err(|_| OtlpError::Protobuf("a number does not end"))
        };
        let content = match key.1 {
            WireType::Varint => Content::Varint(varint(&mut self.0)?),
            WireType::SixtyFourBit => {
                let bytes = self.take_bytes(8)?.try_into().unwrap_or_default();
                Content::Fixed64(u64::from_le_bytes(bytes))
            }
            WireType::ThirtyTwoBit => {
                let bytes = self.take_bytes(4)?.try_into().unwrap_or_default();
                Content::Fixed32(u32::from_le_bytes(bytes))
            }
            WireType::LengthDelimited => {
                let length = usize::try_from(varint(&mut self.0)?).unwrap_or(usize::MAX);
                Content::Bytes(self.take_bytes(length)?)
            }
            _ => return Err(OtlpError::Protobuf("a group, which OTLP has none of")),
        };
        Ok((key.0, content))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Content<'a>), OtlpError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let found = self.field();
        if found.is_err() {
            self.0 = &[];
        }
        Some(found)
    }
}

/// Calls `each` with the messages of a field.
fn each_message<'a>(
    bytes: &'a [u8],
    number: u32,
    mut each: impl FnMut(&'a [u8]) -> Result<(), OtlpError>,
) -> Result<(), OtlpError> {
    for found in Fields(bytes) {
        match found? {
            (tag, Content::Bytes(message)) if tag == number => each(message)?,
            (tag, _) if tag == number => return Err(OtlpError::Protobuf("no message in a field")),
            _ => {}
        }
    }
    Ok(())
}

/// Reads `ExportLogsServiceRequest`, and gives each record.  Without `each` it looks only whether the
/// request can be read, and counts all records as taken.
///
/// # Errors
/// If the request is malformed outside of its records; those that are malformed are rejected one by one.
pub fn read_protobuf(
    bytes: &[u8],
    mut each: Option<&mut EachLog<'_>>,
) -> Result<OtlpRead, OtlpError> {
    let mut read = OtlpRead::default();
    each_message(bytes, field::RESOURCE_LOGS, |logs| {
        let mut origin = OtlpOrigin::default();
        each_message(logs, field::RESOURCE, |resource| {
            each_message(resource, field::RESOURCE_ATTRIBUTES, |pair| {
                keep(&mut origin.resource, &mut origin.left_out, || attribute(pair))
            })
        })?;
        each_message(logs, field::SCOPE_LOGS, |logs| {
            (origin.scope, origin.scope_version) = (Cow::default(), Cow::default());
            each_message(logs, field::SCOPE, |scope| take_scope(scope, &mut origin))?;
            each_message(logs, field::LOG_RECORDS, |bytes| {
                match &mut each {
                    Some(each) => read.note(record(bytes).map(|record| each(&origin, &record))),
                    None => read.taken += 1,
                }
                Ok(())
            })
        })
    })?;
    Ok(read)
}

fn take_scope<'a>(bytes: &'a [u8], origin: &mut OtlpOrigin<'a>) -> Result<(), OtlpError> {
    for found in Fields(bytes) {
        match found? {
            (field::SCOPE_NAME, Content::Bytes(text)) => origin.scope = text.into(),
            (field::SCOPE_VERSION, Content::Bytes(text)) => origin.scope_version = text.into(),
            _ => {}
        }
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation, reason = "as protobuf reads a number of 32 bits")]
fn record(bytes: &[u8]) -> Result<OtlpLog<'_>, OtlpError> {
    let mut record = OtlpLog::default();
    for found in Fields(bytes) {
        match found? {
            (field::TIME, Content::Fixed64(ns)) => record.time_ns = ns,
            (field::OBSERVED_TIME, Content::Fixed64(ns)) => record.observed_ns = ns,
            (field::SEVERITY_NUMBER, Content::Varint(number)) => record.severity = number as i32,
            (field::SEVERITY_TEXT, Content::Bytes(text)) => record.severity_text = text.into(),
            (field::BODY, Content::Bytes(value)) => record.body = any_value(value)?,
            (field::ATTRIBUTES, Content::Bytes(pair)) => {
                keep(&mut record.attributes, &mut record.left_out, || attribute(pair))?;
            }
            (field::DROPPED_ATTRIBUTES, Content::Varint(count)) => {
                record.left_out += u64::from(count as u32);
            }
            (field::FLAGS, Content::Fixed32(flags)) => record.flags = flags,
            (field::TRACE_ID, Content::Bytes(id)) => record.trace_id = hex(id),
            (field::SPAN_ID, Content::Bytes(id)) => record.span_id = hex(id),
            (field::EVENT_NAME, Content::Bytes(text)) => record.event_name = text.into(),
            (1..=3 | 5..=12, _) => return Err(OtlpError::Protobuf("a record has another type")),
            _ => {}
        }
    }
    Ok(record)
}

fn hex(id: &[u8]) -> String {
    let id = &id[..id.len().min(ID_BYTES_MAX)];
    id.iter().flat_map(|byte| hex_digits(*byte)).map(char::from).collect()
}

/// The name and the encoded value of `KeyValue`.
fn pair(bytes: &[u8]) -> Result<(&[u8], &[u8]), OtlpError> {
    let (mut key, mut value) = (&bytes[..0], &bytes[..0]);
    for found in Fields(bytes) {
        match found? {
            (KEY, Content::Bytes(text)) => key = text,
            (VALUE, Content::Bytes(any)) => value = any,
            (KEY | VALUE, _) => return Err(OtlpError::Protobuf("an attribute has another type")),
            _ => {}
        }
    }
    Ok((key, value))
}

fn attribute(bytes: &[u8]) -> Result<OtlpAttribute<'_>, OtlpError> {
    let (key, value) = pair(bytes)?;
    Ok(OtlpAttribute { key: String::from_utf8_lossy(key), value: any_value(value)? })
}

/// The field of an encoded `AnyValue` that holds: the last of several, as protobuf says.
fn last_value(bytes: &[u8]) -> Result<Option<(u32, Content<'_>)>, OtlpError> {
    let mut last = None;
    for found in Fields(bytes) {
        last = Some(found?).filter(|(tag, _)| (1..=BYTES_VALUE).contains(tag)).or(last);
    }
    Ok(last)
}

fn any_value(bytes: &[u8]) -> Result<OtlpValue<'_>, OtlpError> {
    Ok(match last_value(bytes)? {
        Some((STRING_VALUE, Content::Bytes(text))) => OtlpValue::Text(text.into()),
        Some((BOOL_VALUE, Content::Varint(number))) => OtlpValue::Truth(number != 0),
        Some((INT_VALUE, Content::Varint(number))) => OtlpValue::Integer(number.cast_signed()),
        Some((DOUBLE_VALUE, Content::Fixed64(bits))) => OtlpValue::Float(f64::from_bits(bits)),
        Some((BYTES_VALUE, Content::Bytes(bytes))) => OtlpValue::Bytes(bytes.into()),
        Some((ARRAY_VALUE | KVLIST_VALUE, Content::Bytes(_))) => {
            let mut out = Vec::new();
            push_json(&mut out, bytes, 0)?;
            OtlpValue::Nested(out)
        }
        Some(_) => return Err(OtlpError::Protobuf("a value has another type")),
        None => OtlpValue::Empty,
    })
}

/// Appends an encoded `AnyValue` as JSON.
fn push_json(out: &mut Vec<u8>, bytes: &[u8], depth: usize) -> Result<(), OtlpError> {
    check_nested(out, depth)?;
    match last_value(bytes)? {
        Some((STRING_VALUE, Content::Bytes(text))) => push_json_string(out, text),
        Some((BOOL_VALUE, Content::Varint(number))) => {
            out.extend_from_slice(if number == 0 { b"false" } else { b"true" });
        }
        Some((INT_VALUE, Content::Varint(number))) => push_i64(out, number.cast_signed()),
        Some((DOUBLE_VALUE, Content::Fixed64(bits))) => push_float(out, f64::from_bits(bits)),
        Some((BYTES_VALUE, Content::Bytes(bytes))) => push_base64(out, bytes),
        Some((ARRAY_VALUE, Content::Bytes(list))) => {
            let mut mark = b'[';
            each_message(list, VALUES, |value| {
                out.push(mark);
                mark = b',';
                push_json(out, value, depth + 1)
            })?;
            out.extend_from_slice(if mark == b'[' { b"[]" } else { b"]" });
        }
        Some((KVLIST_VALUE, Content::Bytes(list))) => {
            let mut mark = b'{';
            each_message(list, VALUES, |one| {
                let (key, value) = pair(one)?;
                out.push(mark);
                mark = b',';
                push_json_string(out, key);
                out.push(b':');
                push_json(out, value, depth + 1)
            })?;
            out.extend_from_slice(if mark == b'{' { b"{}" } else { b"}" });
        }
        Some(_) => return Err(OtlpError::Protobuf("a value has another type")),
        None => out.extend_from_slice(b"null"),
    }
    check_nested(out, depth)
}
