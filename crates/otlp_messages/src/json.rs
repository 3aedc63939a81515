//! A request with log records as JSON: names in lower camel case, numbers of 64 bits as texts or numbers,
//! ids in hexadecimal digits, bytes in base64.  Members that are not known are passed over.

use std::borrow::Cow;

use base64ct::Encoding as _;
use serde_json::Value;
use text::escape::push_json_string;
use text::integer::push_i64;

use crate::record::{
    EachLog, OtlpAttribute, OtlpError, OtlpLog, OtlpOrigin, OtlpRead, OtlpValue, check_nested,
    keep, push_base64, push_float,
};

/// Values of a request.  One takes about 150 bytes in memory; 10,000 records have about 300,000.
const VALUES_MAX: usize = 500_000;
/// Digits that are kept of a trace's or span's number: they have 32 and 16.
const ID_DIGITS_MAX: usize = 64;

/// Reads `ExportLogsServiceRequest`, and gives each record.
///
/// # Errors
/// If the request is no JSON, too much, or malformed outside of its records; those that are malformed
/// are rejected one by one.
pub fn read_json(bytes: &[u8], each: &mut EachLog<'_>) -> Result<OtlpRead, OtlpError> {
    if values_at_most(bytes) > VALUES_MAX {
        return Err(OtlpError::Limit("values of a request as JSON", VALUES_MAX));
    }
    let request: Value = serde_json::from_slice(bytes)?;
    if !request.is_object() {
        return Err(OtlpError::Type("the request", "an object"));
    }
    let all = list(&request, "resourceLogs")?;
    // Nothing is given before all that is outside of records is known to be right.
    let mut origins = Vec::new();
    for logs in all {
        let mut origin = OtlpOrigin::default();
        for pair in list(&logs["resource"], "attributes")? {
            keep(&mut origin.resource, &mut origin.left_out, || attribute(pair))?;
        }
        for logs in list(logs, "scopeLogs")? {
            list(logs, "logRecords")?;
        }
        origins.push(origin);
    }
    let mut read = OtlpRead::default();
    for (logs, mut origin) in all.iter().zip(origins) {
        for logs in list(logs, "scopeLogs")? {
            (origin.scope, origin.scope_version) =
                (text(&logs["scope"]["name"]), text(&logs["scope"]["version"]));
            for one in list(logs, "logRecords")? {
                read.note(record(one).map(|record| each(&origin, &record)));
            }
        }
    }
    Ok(read)
}

/// How many values a text may have: one for each mark outside of its strings.
fn values_at_most(bytes: &[u8]) -> usize {
    let (mut count, mut is_inside, mut at) = (1, false, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => is_inside = !is_inside,
            b'\\' if is_inside => at += 1,
            b',' | b'[' | b'{' | b':' if !is_inside => count += 1,
            _ => {}
        }
        at += 1;
    }
    count
}

/// A list that may be missing.
fn list<'a>(of: &'a Value, name: &'static str) -> Result<&'a [Value], OtlpError> {
    match &of[name] {
        Value::Null => Ok(&[]),
        Value::Array(list) => Ok(list),
        _ => Err(OtlpError::Type(name, "a list")),
    }
}

fn text(value: &Value) -> Cow<'_, [u8]> {
    value.as_str().unwrap_or_default().as_bytes().into()
}

/// A number that may be a text, or missing: then 0.
fn whole(value: &Value, name: &'static str) -> Result<i128, OtlpError> {
    let number = match value {
        Value::Null => Some(0),
        Value::String(text) => text.parse::<i128>().ok(),
        Value::Number(number) => {
            number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from))
        }
        _ => None,
    };
    number.ok_or(OtlpError::Type(name, "a whole number"))
}

fn unsigned<T: TryFrom<i128>>(of: &Value, name: &'static str) -> Result<T, OtlpError> {
    T::try_from(whole(&of[name], name)?).map_err(|_| OtlpError::Type(name, "in its range"))
}

fn record(one: &Value) -> Result<OtlpLog<'_>, OtlpError> {
    if !one.is_object() {
        return Err(OtlpError::Type("a record", "an object"));
    }
    let mut record = OtlpLog {
        time_ns: unsigned(one, "timeUnixNano")?,
        observed_ns: unsigned(one, "observedTimeUnixNano")?,
        severity: unsigned(one, "severityNumber")?,
        severity_text: text(&one["severityText"]),
        body: any_value(&one["body"])?,
        attributes: Vec::new(),
        left_out: u64::from(unsigned::<u32>(one, "droppedAttributesCount")?),
        trace_id: id(&one["traceId"]),
        span_id: id(&one["spanId"]),
        flags: unsigned(one, "flags")?,
        event_name: text(&one["eventName"]),
    };
    for pair in list(one, "attributes")? {
        keep(&mut record.attributes, &mut record.left_out, || attribute(pair))?;
    }
    Ok(record)
}

fn id(value: &Value) -> String {
    value.as_str().unwrap_or_default().chars().take(ID_DIGITS_MAX).collect()
}

fn attribute(pair: &Value) -> Result<OtlpAttribute<'_>, OtlpError> {
    let key = pair["key"].as_str().ok_or(OtlpError::Type("the key of an attribute", "a text"))?;
    Ok(OtlpAttribute { key: key.into(), value: any_value(&pair["value"])? })
}

/// A number, or the text that stands for one that JSON has not.
fn float(value: &Value) -> Result<f64, OtlpError> {
    let number = match value {
        Value::String(text) if text == "Infinity" => Some(f64::INFINITY),
        Value::String(text) if text == "-Infinity" => Some(f64::NEG_INFINITY),
        Value::String(text) => text.parse().ok(),
        _ => value.as_f64(),
    };
    number.ok_or(OtlpError::Type("doubleValue", "a number"))
}

fn integer(value: &Value) -> Result<i64, OtlpError> {
    let number = whole(value, "intValue")?;
    i64::try_from(number).map_err(|_| OtlpError::Type("intValue", "in its range"))
}

fn base64(value: &Value) -> Result<Vec<u8>, OtlpError> {
    let bytes = value.as_str().and_then(|text| base64ct::Base64::decode_vec(text).ok());
    bytes.ok_or(OtlpError::Type("bytesValue", "base64"))
}

fn any_value(any: &Value) -> Result<OtlpValue<'_>, OtlpError> {
    let members = match any {
        Value::Null => return Ok(OtlpValue::Empty),
        Value::Object(members) => members,
        _ => return Err(OtlpError::Type("a value", "an object with its type")),
    };
    let mut found = OtlpValue::Empty;
    for (name, value) in members {
        let string = || value.as_str().ok_or(OtlpError::Type("stringValue", "a text"));
        let truth = || value.as_bool().ok_or(OtlpError::Type("boolValue", "true or false"));
        found = match name.as_str() {
            "stringValue" => OtlpValue::Text(string()?.as_bytes().into()),
            "boolValue" => OtlpValue::Truth(truth()?),
            "intValue" => OtlpValue::Integer(integer(value)?),
            "doubleValue" => OtlpValue::Float(float(value)?),
            "bytesValue" => OtlpValue::Bytes(base64(value)?.into()),
            "arrayValue" | "kvlistValue" => {
                let mut out = Vec::new();
                push_nested(&mut out, name, value, 0)?;
                OtlpValue::Nested(out)
            }
            _ => found,
        };
    }
    Ok(found)
}

/// Appends a list or a map as plain JSON.
fn push_nested(
    out: &mut Vec<u8>,
    name: &str,
    value: &Value,
    depth: usize,
) -> Result<(), OtlpError> {
    check_nested(out, depth)?;
    let is_list = name == "arrayValue";
    out.push(if is_list { b'[' } else { b'{' });
    for (at, one) in list(value, "values")?.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if is_list {
            push_any(out, one, depth + 1)?;
        } else {
            let key = one["key"].as_str();
            let key = key.ok_or(OtlpError::Type("the key of an attribute", "a text"))?;
            push_json_string(out, key.as_bytes());
            out.push(b':');
            push_any(out, &one["value"], depth + 1)?;
        }
    }
    out.push(if is_list { b']' } else { b'}' });
    check_nested(out, depth)
}

fn push_any(out: &mut Vec<u8>, any: &Value, depth: usize) -> Result<(), OtlpError> {
    check_nested(out, depth)?;
    let nested = any.as_object().and_then(|members| members.iter().next_back());
    if let Some((name, value)) =
        nested.filter(|one| matches!(&**one.0, "arrayValue" | "kvlistValue"))
    {
        return push_nested(out, name, value, depth);
    }
    match any_value(any)? {
        OtlpValue::Empty => out.extend_from_slice(b"null"),
        OtlpValue::Text(text) => push_json_string(out, &text),
        OtlpValue::Truth(is) => out.extend_from_slice(if is { b"true" } else { b"false" }),
        OtlpValue::Integer(number) => push_i64(out, number),
        OtlpValue::Float(number) => push_float(out, number),
        OtlpValue::Bytes(bytes) => push_base64(out, &bytes),
        OtlpValue::Nested(json) => out.extend_from_slice(&json),
    }
    Ok(())
}
