//! The same request in both encodings; limits; hostile bytes.

use prost::Message as _;
use prost::encoding;
use serde_json::json;

use crate::log_field as field;
use crate::*;

fn put(out: &mut Vec<u8>, tag: u32, message: &[u8]) {
    encoding::bytes::encode(tag, &message.to_vec(), out);
}

fn pair(key: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, 1, key.as_bytes());
    put(&mut out, 2, value);
    out
}

fn value(value: &AnyValue) -> Vec<u8> {
    value.encode_to_vec()
}

/// A record with each kind of value.
fn full_record() -> Vec<u8> {
    let mut list = Vec::new();
    for one in [AnyValue::integer(-1), AnyValue::text("a\"\n"), AnyValue::default()] {
        put(&mut list, 1, &value(&one));
    }
    let (mut array, mut inner, mut map) = (Vec::new(), Vec::new(), Vec::new());
    put(&mut array, 5, &list);
    put(&mut inner, 1, &pair("list", &array));
    put(&mut inner, 1, &pair("bytes", &value(&AnyValue::bytes(b"\0\xff"))));
    put(&mut map, 6, &inner);
    let mut out = Vec::new();
    for (key, one) in [
        ("text", value(&AnyValue::text("ü"))),
        ("truth", value(&AnyValue::truth(true))),
        ("whole", value(&AnyValue::integer(i64::MIN))),
        ("float", value(&AnyValue::float(0.5))),
        ("bytes", value(&AnyValue::bytes(b"\0\xff"))),
        ("map", map),
        ("none", Vec::new()),
    ] {
        put(&mut out, field::ATTRIBUTES, &pair(key, &one));
    }
    encoding::fixed64::encode(field::TIME, &1_700_000_000_000_000_001, &mut out);
    encoding::fixed64::encode(field::OBSERVED_TIME, &7, &mut out);
    encoding::int32::encode(field::SEVERITY_NUMBER, &17, &mut out);
    put(&mut out, field::SEVERITY_TEXT, b"error");
    put(&mut out, field::BODY, &value(&AnyValue::text("it is")));
    encoding::uint32::encode(field::DROPPED_ATTRIBUTES, &3, &mut out);
    encoding::fixed32::encode(field::FLAGS, &1, &mut out);
    put(&mut out, field::TRACE_ID, &[0xab; 16]);
    put(&mut out, field::SPAN_ID, &[0x01; 8]);
    put(&mut out, field::EVENT_NAME, b"event");
    out
}

/// A request with records of one scope; what they share stands behind them.
fn request(records: &[Vec<u8>]) -> Vec<u8> {
    let (mut scope_logs, mut resource, mut logs, mut out) = <(Vec<u8>, _, _, _)>::default();
    records.iter().for_each(|one| put(&mut scope_logs, field::LOG_RECORDS, one));
    let scope = OtlpScope { name: "scope".to_owned(), version: "2".to_owned() };
    put(&mut scope_logs, field::SCOPE, &scope.encode_to_vec());
    put(&mut logs, field::SCOPE_LOGS, &scope_logs);
    let service = pair("service.name", &value(&AnyValue::text("program")));
    put(&mut resource, field::RESOURCE_ATTRIBUTES, &service);
    put(&mut logs, field::RESOURCE, &resource);
    put(&mut out, field::RESOURCE_LOGS, &logs);
    out
}

fn full_json() -> serde_json::Value {
    let list = json!([{"intValue": "-1"}, {"stringValue": "a\"\n"}, {}]);
    let map = json!([
        {"key": "list", "value": {"arrayValue": {"values": list}}},
        {"key": "bytes", "value": {"bytesValue": "AP8="}},
    ]);
    json!({
        "timeUnixNano": "1700000000000000001", "observedTimeUnixNano": 7, "severityNumber": 17,
        "severityText": "error", "body": {"stringValue": "it is"}, "droppedAttributesCount": 3,
        "flags": 1, "traceId": "ab".repeat(16), "spanId": "01".repeat(8), "eventName": "event",
        "unknown": [1, {"x": null}],
        "attributes": [
            {"key": "text", "value": {"stringValue": "ü"}},
            {"key": "truth", "value": {"boolValue": true}},
            {"key": "whole", "value": {"intValue": i64::MIN}},
            {"key": "float", "value": {"doubleValue": 0.5}},
            {"key": "bytes", "value": {"bytesValue": "AP8="}},
            {"key": "map", "value": {"kvlistValue": {"values": map}}},
            {"key": "none"},
        ],
    })
}

fn json_request(records: &[serde_json::Value]) -> Vec<u8> {
    let service = json!([{"key": "service.name", "value": {"stringValue": "program"}}]);
    let scope = json!({"logRecords": records, "scope": {"name": "scope", "version": "2"}});
    let logs = json!([{"scopeLogs": [scope], "resource": {"attributes": service}}]);
    json!({"resourceLogs": logs}).to_string().into_bytes()
}

type Read = (Result<OtlpRead, String>, Vec<String>);

fn of_protobuf(bytes: &[u8]) -> Read {
    let mut all = Vec::new();
    let mut each =
        |origin: &OtlpOrigin<'_>, log: &OtlpLog<'_>| all.push(format!("{origin:?} {log:?}"));
    let read = read_protobuf(bytes, Some(&mut each)).map_err(|error| error.to_string());
    (read, all)
}

fn of_json(bytes: &[u8]) -> Read {
    let mut all = Vec::new();
    let mut each =
        |origin: &OtlpOrigin<'_>, log: &OtlpLog<'_>| all.push(format!("{origin:?} {log:?}"));
    let read = read_json(bytes, &mut each).map_err(|error| error.to_string());
    (read, all)
}

#[test]
fn both_encodings_say_the_same() {
    let (binary, text) = (
        of_protobuf(&request(&[full_record(), Vec::new()])),
        of_json(&json_request(&[full_json(), json!({})])),
    );
    assert_eq!(binary, text);
    let taken = OtlpRead { taken: 2, ..OtlpRead::default() };
    assert_eq!((binary.0, binary.1.len()), (Ok(taken), 2));
    let first = &binary.1[0];
    for part in ["service.name", "time_ns: 1700000000000000001", "abababab", "left_out: 3"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let mut each = |origin: &OtlpOrigin<'_>, log: &OtlpLog<'_>| {
        assert_eq!((&*origin.scope, &*origin.scope_version), (&b"scope"[..], &b"2"[..]));
        let expected = br#"{"list":[-1,"a\"\n",null],"bytes":"AP8="}"#;
        assert_eq!(log.attributes[5].value, OtlpValue::Nested(expected.to_vec()));
    };
    read_protobuf(&request(&[full_record()]), Some(&mut each)).unwrap();
    assert_eq!(of_protobuf(b"").0, Ok(OtlpRead::default()));
    assert_eq!(of_json(b"{}").0, Ok(OtlpRead::default()));
}

#[test]
fn a_record_that_cannot_be_taken_leaves_the_others() {
    let mut deep = value(&AnyValue::integer(1));
    let mut deep_json = json!({"intValue": 1});
    for _ in 0..35 {
        let (mut list, mut array) = (Vec::new(), Vec::new());
        put(&mut list, 1, &deep);
        put(&mut array, 5, &list);
        deep = array;
        deep_json = json!({"arrayValue": {"values": [deep_json]}});
    }
    let with_body = |value: &[u8]| {
        let mut record = Vec::new();
        put(&mut record, field::BODY, value);
        record
    };
    let mut wrong = Vec::new();
    encoding::uint64::encode(field::BODY, &1, &mut wrong);
    let mut long = Vec::new();
    put(&mut long, 5, &[10, 2, 24, 1].repeat(NESTED_BYTES_MAX));
    let records = [with_body(b"\x0a\x01x"), with_body(&deep), wrong, with_body(&long), Vec::new()];
    let (read, all) = of_protobuf(&request(&records));
    let read = read.unwrap();
    assert_eq!((read.taken, read.rejected, all.len()), (2, 3, 2), "{read:?}");
    assert_eq!(read.why, "lists and maps inside of each other: at most 32");
    let bodies = [
        json!({"body": {"stringValue": "x"}}),
        json!({"body": deep_json}),
        json!({"body": 1}),
        json!({"timeUnixNano": "-1"}),
        json!({"attributes": [{"value": {}}]}),
        json!([]),
        json!({}),
    ];
    let (read, all) = of_json(&json_request(&bodies));
    let read = read.unwrap();
    assert_eq!((read.taken, read.rejected, all.len()), (2, 5, 2), "{read:?}");
}

#[test]
fn attributes_beyond_the_limit_are_counted() {
    let mut record = Vec::new();
    (0..200).for_each(|_| put(&mut record, field::ATTRIBUTES, &pair("k", b"")));
    let pairs = vec![json!({"key": "k"}); 200];
    let (binary, text) =
        (of_protobuf(&request(&[record])), of_json(&json_request(&[json!({"attributes": pairs})])));
    assert_eq!(binary, text);
    assert!(binary.1[0].contains("left_out: 72"), "{}", binary.1[0]);
}

#[test]
fn hostile_bytes_are_refused_and_cost_little() {
    let whole = request(&[full_record(), full_record()]);
    let text = json_request(&[full_json(), full_json()]);
    let mut random = testkit::Random::from_seed(7);
    for _ in 0..testkit::share(20_000) {
        for (bytes, read) in [(&whole, of_protobuf as fn(&[u8]) -> Read), (&text, of_json)] {
            let mut bytes = bytes.clone();
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            for _ in 0..random.below(4) {
                if !bytes.is_empty() {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] = random.below(256) as u8;
                }
            }
            let (found, all) = read(&bytes);
            assert!(found.is_err() || found.is_ok_and(|found| found.taken == all.len() as u64));
        }
    }
    for (bytes, why) in [
        (&b"\xff"[..], "malformed protobuf: no field begins"),
        (b"\x0a\x05a", "malformed protobuf: a field is cut"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "malformed protobuf: a field is cut"),
        (b"\x08\x01", "malformed protobuf: no message in a field"),
        (b"\x0b", "malformed protobuf: a group, which OTLP has none of"),
    ] {
        assert_eq!(of_protobuf(bytes).0, Err(why.to_owned()), "{bytes:?}");
        assert!(read_protobuf(bytes, None).is_err());
    }
    for (text, why) in [
        ("", "malformed JSON"),
        ("[]", "the request is not an object"),
        ("{\"resourceLogs\":1}", "resourceLogs is not a list"),
        ("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":{}}]}]}", "logRecords is not a list"),
        (&"[".repeat(1000), "malformed JSON: recursion limit"),
        (&format!("[{}", "0,".repeat(500_001)), "values of a request as JSON: at most 500000"),
    ] {
        let found = of_json(text.as_bytes()).0.unwrap_err();
        assert!(found.starts_with(why), "{found}");
    }
    // Many lists in one value: each costs its own bytes alone.
    let mut lists = Vec::new();
    (0..50_000).for_each(|_| put(&mut lists, 5, b""));
    let mut record = Vec::new();
    put(&mut record, field::BODY, &lists);
    assert_eq!(of_protobuf(&request(&[record])).0.unwrap().taken, 1);
}
