//! Messages and outputs beside others: printf-style messages beside the C library's `snprintf`,
//! `{}`-style ones beside Rust's `format!`, syslog beside the grammar of RFC 5424, ACS XML beside
//! Python's parser.  Formats and values are random; a failure prints its seed, which
//! `WHIT_SEED` sets; `WHIT_LOG_CASES` sets their number.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use log_format::{
    AcsXmlFormat, JsonFormat, LogRecord, RecordFormat, RecordOrigin, SyslogFormat, TextFormat,
    write_message,
};
use logring::abi::{self, entry, kind, padded};
use logring::{ArgumentType, Dictionary, LogLevel, RecordIterator, encode_entry};
use testkit::{Random, setting, share};

fn seed() -> u64 {
    testkit::seed(20_261_123)
}

fn cases() -> u64 {
    setting("WHIT_LOG_CASES", share(20_000) as u64)
}

/// An argument.
#[derive(Clone, Debug)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    Char(char),
    Text(String),
    Pointer(u64),
}

/// What a call site and a record have.
#[derive(Clone, Debug, Default)]
struct Call {
    format: String,
    format_kind: u8,
    level: u8,
    site_level: u8,
    file: String,
    routine: String,
    logger: String,
    pairs: Vec<(String, String)>,
    arguments: Vec<Value>,
    data: Vec<(String, Value)>,
}

fn word_of(value: &Value) -> (ArgumentType, u64) {
    match value {
        Value::Signed(number) => (ArgumentType::Signed, number.cast_unsigned()),
        Value::Unsigned(number) => (ArgumentType::Unsigned, *number),
        Value::Float(number) => (ArgumentType::Float, number.to_bits()),
        Value::Bool(is) => (ArgumentType::Bool, u64::from(*is)),
        Value::Char(c) => (ArgumentType::Char, u64::from(u32::from(*c))),
        Value::Pointer(address) => (ArgumentType::Pointer, *address),
        Value::Text(_) => (ArgumentType::Text, 0),
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    if let Value::Text(text) = value {
        put_text(out, (text.len() as u32).to_le_bytes(), text.as_bytes());
    } else {
        out.extend(word_of(value).1.to_le_bytes());
    }
}

fn put_text(out: &mut Vec<u8>, head: [u8; 4], text: &[u8]) {
    let end = out.len() + padded(4 + text.len());
    out.extend(head);
    out.extend(text);
    out.resize(end, 0);
}

/// Calls `use_record` with a record as readers see it.
fn with_record<T>(call: &Call, use_record: impl FnOnce(&LogRecord<'_>) -> T) -> T {
    let mut dictionary = Dictionary::default();
    add_entries(&mut dictionary, call);
    with_record_of(&dictionary, call, use_record)
}

/// Adds the call site, and then the context.
fn add_entries(dictionary: &mut Dictionary, call: &Call) {
    let mut site = vec![77, 0, 0, 0, call.site_level, call.format_kind];
    site.extend([call.arguments.len() as u8, 0]);
    for text in [&call.file, &call.routine, &call.format] {
        site.extend((text.len() as u32).to_le_bytes());
    }
    site.extend([0; 4]);
    site.extend(call.arguments.iter().map(|value| word_of(value).0 as u8));
    for text in [&call.file, &call.routine, &call.format] {
        site.extend(text.as_bytes());
    }
    let mut context = vec![0; 4];
    context.extend((call.pairs.len() as u32).to_le_bytes());
    context.extend((call.logger.len() as u32).to_le_bytes());
    context.extend(call.logger.as_bytes());
    for (name, value) in &call.pairs {
        context.extend((name.len() as u16).to_le_bytes());
        context.extend((value.len() as u16).to_le_bytes());
        context.extend(name.as_bytes());
        context.extend(value.as_bytes());
    }
    dictionary.add(&encode_entry(1, entry::SITE, &site)).unwrap();
    dictionary.add(&encode_entry(2, entry::CONTEXT, &context)).unwrap();
}

fn with_record_of<T>(
    dictionary: &Dictionary,
    call: &Call,
    use_record: impl FnOnce(&LogRecord<'_>) -> T,
) -> T {
    let mut body = Vec::new();
    call.arguments.iter().for_each(|value| put_value(&mut body, value));
    for (name, value) in &call.data {
        put_text(&mut body, [word_of(value).0 as u8, name.len() as u8, 0, 0], name.as_bytes());
        put_value(&mut body, value);
    }
    let flags = if call.data.is_empty() { 0 } else { abi::FLAG_ATTRIBUTES };
    let mut bytes = Vec::new();
    let size = abi::RECORD_HEAD + body.len();
    bytes.extend(abi::word0(size, kind::LOG, call.level | flags).to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend([1, 0, 0, 0, 2, 0, 0, 0]);
    bytes.extend(body);
    let record = RecordIterator::new(&bytes, 0).next().unwrap().unwrap();
    let origin = RecordOrigin {
        host: "host name",
        process: "CONTROL/PM01/cppContainer",
        pid: 4711,
        thread: "a thread",
        tid: 4712,
        ring: 3,
    };
    use_record(&LogRecord::new(&record, dictionary, origin, 1_402_161_290_658_123_456))
}

fn message(format: &str, format_kind: u8, arguments: &[Value]) -> Vec<u8> {
    let call = Call {
        format: format.to_owned(),
        format_kind,
        level: 4,
        site_level: 4,
        arguments: arguments.to_vec(),
        ..Call::default()
    };
    with_record(&call, |record| {
        let mut out = Vec::new();
        write_message(&mut out, record);
        out
    })
}

fn integer(random: &mut Random) -> i64 {
    let wide = || i64::MIN.wrapping_add(7);
    match random.below(8) {
        0 => 0,
        1 => i64::MAX,
        2 => i64::MIN,
        3 => wide(),
        4 => random.below(10) as i64,
        5 => -(random.below(1000) as i64),
        6 => (random.below(1 << 31) as i64) << random.below(31),
        _ => random.below(1 << 31) as i64 - (1 << 30),
    }
}

fn float(random: &mut Random) -> f64 {
    match random.below(12) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        4 => f64::NAN,
        5 => f64::MAX,
        6 => f64::MIN_POSITIVE / 8.0,
        7 => integer(random) as f64,
        8 => random.below(100_000) as f64 / 1000.0,
        9 => 0.5 + random.below(20) as f64,
        10 => f64::from_bits(random.below(1 << 31) << 33 | random.below(1 << 31)),
        _ => (random.below(2_000_001) as f64 - 1_000_000.0) / 7.0,
    }
}

fn text(random: &mut Random) -> String {
    const PIECES: [&str; 12] =
        ["a", "text", " ", "ä", "]]>", "<&\"'>", "\n", "\\", "]", "=", "日本", "%d {}"];
    (0..random.below(6)).map(|_| random.one_of(&PIECES)).collect()
}

/// A conversion of printf, and the values it takes.
fn conversion(random: &mut Random) -> (String, Vec<Value>) {
    let mut format = String::from("%");
    let mut values = Vec::new();
    let letter = *random.one_of(&[
        &"d", &"i", &"u", &"o", &"x", &"X", &"e", &"E", &"f", &"F", &"g", &"G", &"c", &"s", &"p",
        &"a", &"A",
    ]);
    for flag in ["-", "+", " ", "#", "0"] {
        // What C leaves undefined for a conversion is not tried.
        let is_defined = match flag {
            "-" => true,
            "+" | " " => "dieEfFgGaA".contains(letter),
            "#" => "oxXeEfFgGaA".contains(letter),
            _ => "diuoxXeEfFgGaA".contains(letter),
        };
        if is_defined && random.below(4) == 0 {
            format.push_str(flag);
        }
    }
    match random.below(4) {
        0 => format.push_str(&random.below(30).to_string()),
        1 => {
            format.push('*');
            values.push(Value::Signed(random.below(40) as i64 - 20));
        }
        _ => {}
    }
    if random.below(3) == 0 && !"cp".contains(letter) {
        match random.below(4) {
            0 => format.push('.'),
            1 => {
                format.push_str(".*");
                values.push(Value::Signed(random.below(20) as i64 - 4));
            }
            _ => format.push_str(&format!(".{}", random.below(20))),
        }
    }
    let value = match letter {
        "d" | "i" => {
            format.push_str("ll");
            Value::Signed(integer(random))
        }
        "u" | "o" | "x" | "X" => {
            format.push_str("ll");
            Value::Unsigned(integer(random).cast_unsigned())
        }
        "c" => Value::Signed(32 + random.below(95) as i64),
        "s" => Value::Text(text(random)),
        "p" => Value::Pointer(random.below(3) * 0x7fff_1234),
        _ => Value::Float(float(random)),
    };
    values.push(value);
    format.push_str(letter);
    (format, values)
}

/// What the C library makes of one conversion.
fn c_text(format: &str, values: &[Value]) -> Vec<u8> {
    let format = std::ffi::CString::new(format).unwrap();
    let mut out = vec![0_u8; 8192];
    let stars: Vec<i32> = values[..values.len() - 1]
        .iter()
        .map(|value| if let Value::Signed(number) = value { *number as i32 } else { 0 })
        .collect();
    let (to, most, format) = (out.as_mut_ptr().cast(), out.len(), format.as_ptr());
    macro_rules! print {
        ($value:expr) => {
            // SAFETY: the format takes these arguments, of these types; the buffer is as long.
            unsafe {
                match stars.as_slice() {
                    [] => libc::snprintf(to, most, format, $value),
                    [one] => libc::snprintf(to, most, format, *one, $value),
                    [one, two, ..] => libc::snprintf(to, most, format, *one, *two, $value),
                }
            }
        };
    }
    let is_character = values.len() == stars.len() + 1;
    assert!(is_character);
    let length = match values.last().unwrap() {
        Value::Signed(number) => print!(*number),
        Value::Unsigned(number) => print!(*number),
        Value::Float(number) => print!(*number),
        Value::Pointer(address) => print!(*address as *const libc::c_void),
        Value::Text(text) => {
            let text = std::ffi::CString::new(text.as_str()).unwrap();
            print!(text.as_ptr())
        }
        Value::Bool(_) | Value::Char(_) => unreachable!("C has no such conversion"),
    };
    out.truncate(length.unsigned_abs() as usize);
    out
}

#[test]
fn printf_messages_are_those_of_snprintf() {
    let (seed, cases) = (seed(), cases());
    let mut random = Random::from_seed(seed);
    for case in 0..cases {
        let (mut format, mut values, mut expected) = (String::new(), Vec::new(), Vec::new());
        for _ in 0..1 + random.below(3) {
            format.push_str(random.one_of(&["", "x", "100%% ", "é "]));
            let ended = format.len();
            let (one, of_one) = conversion(&mut random);
            format.push_str(&one);
            expected.push((ended, c_text(&one, &of_one)));
            values.extend(of_one);
        }
        // What is between the conversions is as it is.
        let mut whole = Vec::new();
        let mut rest = format.as_bytes();
        let mut done = 0;
        for (at, text) in expected {
            let between = &rest[..at - done];
            whole.extend(String::from_utf8_lossy(between).replace("%%", "%").bytes());
            let end = format.as_bytes()[at + 1..]
                .iter()
                .position(|byte| b"diuoxXeEfFgGaAcsp".contains(byte))
                .map(|length| at + 1 + length + 1)
                .unwrap();
            rest = &format.as_bytes()[end..];
            done = end;
            whole.extend(text);
        }
        let ours = message(&format, 2, &values);
        assert_eq!(
            String::from_utf8_lossy(&ours),
            String::from_utf8_lossy(&whole),
            "seed {seed}, case {case}: {format:?} {values:?}"
        );
    }
}

/// One specification of Rust's, tried on every value that takes it.
macro_rules! beside {
    ($found:ident, $integer:expr, $float:expr, $text:expr, $($spec:literal)*) => {$(
        $found.push(($spec, Value::Signed($integer), format!(concat!("{:", $spec, "}"), $integer)));
        let unsigned = $integer.cast_unsigned();
        $found.push(($spec, Value::Unsigned(unsigned), format!(concat!("{:", $spec, "}"), unsigned)));
        $found.push(($spec, Value::Float($float), format!(concat!("{:", $spec, "}"), $float)));
        $found.push(($spec, Value::Text($text.clone()), format!(concat!("{:", $spec, "}"), $text)));
        let is = unsigned % 2 == 0;
        $found.push(($spec, Value::Bool(is), format!(concat!("{:", $spec, "}"), is)));
        let c = char::from_u32((unsigned % 0xD000) as u32).unwrap_or('x');
        $found.push(($spec, Value::Char(c), format!(concat!("{:", $spec, "}"), c)));
    )*};
}

macro_rules! beside_numbers {
    ($found:ident, $integer:expr, $($spec:literal)*) => {$(
        let unsigned = $integer.cast_unsigned();
        $found.push(($spec, Value::Signed($integer), format!(concat!("{:", $spec, "}"), $integer)));
        $found.push(($spec, Value::Unsigned(unsigned), format!(concat!("{:", $spec, "}"), unsigned)));
    )*};
}

macro_rules! beside_floats {
    ($found:ident, $float:expr, $($spec:literal)*) => {$(
        $found.push(($spec, Value::Float($float), format!(concat!("{:", $spec, "}"), $float)));
    )*};
}

#[test]
fn brace_messages_are_those_of_format() {
    let (seed, cases) = (seed(), cases() / 10);
    let mut random = Random::from_seed(seed);
    for case in 0..cases {
        let (number, real, words) = (integer(&mut random), float(&mut random), text(&mut random));
        let mut found: Vec<(&str, Value, String)> = Vec::new();
        beside!(
            found, number, real, words,
            "" "8" "<8" ">8" "^9" "*^13" "->5" "ä<6" "?" ">12?"
        );
        beside_numbers!(
            found, number,
            "+" "05" "+08" "#x" "#010x" "x" "X" "#X" "o" "#o" "b" "#b" "#066b" "<+8" "^+9" "#?" "e"
        );
        beside_floats!(
            found, real,
            "+" "08" "+012.3" ".0" ".3" "10.2" "<10.1" "^12.4" "e" "E" ".2e" "12.3e" "+e" "?" ".1?"
        );
        let cut = ["", ".0", ".2", "6.1", "<6.3"];
        let made = [
            words.clone(),
            format!("{words:.0}"),
            format!("{words:.2}"),
            format!("{words:6.1}"),
            format!("{words:<6.3}"),
        ];
        for (spec, text) in cut.into_iter().zip(made) {
            found.push((spec, Value::Text(words.clone()), text));
        }
        for (spec, value, expected) in found {
            let format = format!("a {{{{ {{:{spec}}} }}}} b");
            let ours = message(&format, 1, std::slice::from_ref(&value));
            assert_eq!(
                String::from_utf8_lossy(&ours),
                format!("a {{ {expected} }} b"),
                "seed {seed}, case {case}: {format:?} {value:?}"
            );
        }
    }
}

/// A record with anything in it.
fn any_call(random: &mut Random) -> Call {
    const LEVELS: [u8; 10] = [1, 2, 3, 4, 5, 6, 8, 9, 10, 11];
    const NAMES: [&str; 12] = [
        "Antenna",
        "Array",
        "Audience",
        "StackId",
        "StackLevel",
        "Uri",
        "LogId",
        "Context",
        "own",
        "a name=\"]",
        "é",
        "SourceObject",
    ];
    let level = LEVELS[random.below(10) as usize];
    let mut names = NAMES.to_vec();
    let mut some_pairs = |random: &mut Random| -> Vec<String> {
        (0..random.below(4))
            .map(|_| names.swap_remove(random.below(names.len() as u64) as usize).to_owned())
            .collect()
    };
    let in_context = some_pairs(random);
    let in_record = some_pairs(random);
    Call {
        format: format!("{} %s", text(random).replace('%', "%%")),
        format_kind: 2,
        level,
        site_level: if random.below(5) == 0 { LEVELS[random.below(10) as usize] } else { level },
        file: random.one_of(&["WVRImpl.cpp", "", "a \"file\""]).to_owned(),
        routine: random.one_of(&["void WVRImpl::f(<T>& x)", "", "f"]).to_owned(),
        logger: random.one_of(&["CONTROL/PM01/WVR", "", "a logger ä"]).to_owned(),
        pairs: in_context.into_iter().map(|name| (name, text(random))).collect(),
        arguments: vec![Value::Text(text(random))],
        data: in_record.into_iter().map(|name| (name, Value::Text(text(random)))).collect(),
    }
}

/// Runs a Python program on some bytes; `None` without Python.
fn python(program: &str, input: &[u8]) -> Option<String> {
    if !testkit::is_installed("independent parsers", "python3") {
        return None;
    }
    let mut child = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{program}");
    Some(String::from_utf8(done.stdout).unwrap())
}

fn calls() -> Vec<Call> {
    let mut random = Random::from_seed(seed());
    (0..cases() / 20).map(|_| any_call(&mut random)).collect()
}

fn written(format: &mut dyn RecordFormat, calls: &[Call]) -> Vec<u8> {
    let mut out = Vec::new();
    calls.iter().for_each(|call| with_record(call, |record| format.put(&mut out, record)));
    out
}

fn message_of(call: &Call) -> String {
    String::from_utf8(message(&call.format, 2, &call.arguments)).unwrap()
}

/// A text as JSON, for comparing with what Python prints.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The grammar of RFC 5424, section 6, as a regular expression; prints what each message has.
const SYSLOG: &str = r##"
import json, re, sys
name = rb'[\x21\x23-\x3c\x3e-\x5c\x5e-\x7e]{1,32}'
value = rb'(?:[^"\\\]]|\\["\\\]])*'
element = rb'\[' + name + rb'(?: ' + name + rb'="' + value + rb'")*\]'
message = re.compile(rb'<(\d{1,3})>([1-9]\d{0,2}) '
    rb'(-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)) '
    rb'([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) '
    rb'(-|(?:' + element + rb')+)(?: (.*))?', re.S)
for line in sys.stdin.buffer.read().split(b'\n')[:-1]:
    found = message.fullmatch(line)
    assert found, line
    priority, version, time, host, app, pid, msgid, data, text = found.groups()
    assert int(priority) <= 191 and priority == str(int(priority)).encode() and version == b'1'
    values = {n.decode(): re.sub(rb'\\(["\\\]])', rb'\1', v).decode()
        for n, v in re.findall(rb' (' + name + rb')="(' + value + rb')"', data)}
    print(json.dumps([int(priority), time.decode(), host.decode(), app.decode(), pid.decode(),
        msgid.decode(), values.get('level'), text.decode()], ensure_ascii=False))
"##;

#[test]
fn syslog_messages_are_of_the_grammar_of_rfc_5424() {
    let calls = calls();
    let text = written(&mut SyslogFormat::new(16), &calls);
    let Some(found) = python(SYSLOG, &text) else { return };
    assert_eq!(found.lines().count(), calls.len());
    for (line, call) in found.lines().zip(&calls) {
        let severity = [0, 7, 7, 7, 6, 5, 4, 0, 3, 2, 1, 0][usize::from(call.level)];
        let level = LogLevel::from_number(call.level).unwrap().name();
        let logger = match call.logger.as_str() {
            "" => "-".to_owned(),
            name => {
                name.bytes().map(|b| if b.is_ascii_graphic() { b as char } else { '_' }).collect()
            }
        };
        // A line feed would end the message.
        let message = message_of(call).replace('\n', "\\n");
        let expected = format!(
            "[{}, \"2014-06-07T17:14:50.658123Z\", \"host_name\", \"CONTROL/PM01/cppContainer\", \
             \"4711\", \"{logger}\", \"{level}\", {}]",
            16 * 8 + severity,
            json(&message)
        );
        assert_eq!(line, expected, "seed {}: {call:?}", seed());
    }
}

/// Parses each line as a document; prints element, attributes, message and data.
const XML: &str = r#"
import json, sys, xml.etree.ElementTree as tree
document = tree.fromstring(b'<Log>' + sys.stdin.buffer.read() + b'</Log>')
for record in document:
    assert all(child.tag == 'Data' and not child.tail for child in record), record
    data = [[child.get('Name'), child.text or ''] for child in record]
    print(json.dumps([record.tag, list(record.items()), record.text or '', data], ensure_ascii=False,
        separators=(',', ':')))
"#;

const ELEMENTS: [&str; 12] = [
    "",
    "Trace",
    "Delouse",
    "Debug",
    "Info",
    "Notice",
    "Warning",
    "",
    "Error",
    "Critical",
    "Alert",
    "Emergency",
];

const PLACES: [&str; 9] = [
    "SourceObject",
    "StackId",
    "StackLevel",
    "LogId",
    "Uri",
    "Priority",
    "Audience",
    "Array",
    "Antenna",
];

/// What the record of a call has as ACS XML: the fields as ACS's writer orders them.
fn acs_xml(call: &Call) -> String {
    let own = |name: &str| {
        let data = call.data.iter().find(|(one, _)| one == name);
        let data = data.map(|(_, value)| match value {
            Value::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        });
        data.or_else(|| call.pairs.iter().find(|(one, _)| one == name).map(|(_, v)| v.clone()))
    };
    let mut attributes = vec![("TimeStamp", "2014-06-07T17:14:50.658".to_owned())];
    if !call.file.is_empty() {
        attributes.push(("File", call.file.clone()));
        attributes.push(("Line", "77".to_owned()));
    }
    let context = call.pairs.iter().find(|(name, _)| name == "Context");
    attributes.extend([
        ("Routine", call.routine.clone()),
        ("Host", "host name".to_owned()),
        ("Process", "CONTROL/PM01/cppContainer".to_owned()),
        ("Thread", "a thread".to_owned()),
        ("Context", context.map(|(_, value)| value.clone()).unwrap_or_default()),
    ]);
    for place in PLACES {
        let usual = match place {
            "SourceObject" if !call.logger.is_empty() => Some(call.logger.clone()),
            "Priority" if call.level != call.site_level => Some(call.level.to_string()),
            _ => None,
        };
        attributes.extend(own(place).or(usual).map(|value| (place, value)));
    }
    let attributes: Vec<String> = attributes
        .into_iter()
        .map(|(name, value)| format!("[\"{name}\",{}]", json(&value)))
        .collect();
    let is_data = |name: &str| name != "Context" && !PLACES.contains(&name);
    let of_context = call.pairs.iter().map(|(name, value)| (name, value.clone()));
    let of_record = call.data.iter().map(|(name, value)| match value {
        Value::Text(text) => (name, text.clone()),
        other => panic!("{other:?}"),
    });
    let data: Vec<String> = of_context
        .chain(of_record)
        .filter(|(name, _)| is_data(name))
        .map(|(name, value)| {
            let value = if value.is_empty() { "N/A" } else { &value };
            format!("[{},{}]", json(name), json(value))
        })
        .collect();
    format!(
        "[\"{}\",[{}],{},[{}]]",
        ELEMENTS[usize::from(call.site_level)],
        attributes.join(","),
        json(&message_of(call)),
        data.join(",")
    )
}

#[test]
fn acs_xml_is_what_an_independent_parser_reads() {
    let calls = calls();
    let text = written(&mut AcsXmlFormat::default(), &calls);
    let Some(found) = python(XML, &text) else { return };
    assert_eq!(found.lines().count(), calls.len());
    for (line, call) in found.lines().zip(&calls) {
        assert_eq!(line, acs_xml(call), "seed {}: {call:?}", seed());
    }
}

#[test]
fn json_lines_are_what_an_independent_parser_reads() {
    let calls = calls();
    let text = written(&mut JsonFormat::default(), &calls);
    let program = "import json, sys\nfor line in sys.stdin.buffer.read().split(b'\\n')[:-1]:\n    \
                   one = json.loads(line)\n    print(json.dumps([one['level'], one['message']], \
                   ensure_ascii=False, separators=(',', ':')))";
    let Some(found) = python(program, &text) else { return };
    assert_eq!(found.lines().count(), calls.len());
    for (line, call) in found.lines().zip(&calls) {
        let level = LogLevel::from_number(call.level).unwrap().name();
        assert_eq!(line, format!("[\"{level}\",{}]", json(&message_of(call))));
    }
}

#[test]
fn a_text_line_is_one_line_whatever_is_in_it() {
    let calls = calls();
    let out = written(&mut TextFormat::new(true, log_format::LogZone::default()), &calls);
    let lines = out.split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(lines, calls.len());
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\n' | b'\t' | 0x1b);
    assert!(!out.iter().any(is_control));
}

/// What a format knows of records before does not show in those after, whatever of them is the same.
#[test]
fn a_record_is_the_same_behind_all_others() {
    let seed = seed();
    println!("seed {seed}");
    let mut random = Random::from_seed(seed);
    let some: Vec<Call> = calls().into_iter().take(12).collect();
    let mut variants = some.clone();
    for call in &some {
        // One field is another; nearly all others are the same.
        for field in 0..6 {
            let mut other = call.clone();
            match field {
                0 => other.file.push('x'),
                1 => other.routine.push('x'),
                2 => other.logger.push('x'),
                3 => other.level = if call.level == 4 { 5 } else { 4 },
                4 => other.data.clear(),
                _ => other.format.push('"'),
            }
            variants.push(other);
        }
    }
    let order: Vec<Call> = (0..2000)
        .map(|_| variants[random.below(variants.len() as u64) as usize].clone())
        .flat_map(|call| [call.clone(), call])
        .collect();
    let fresh: [fn() -> Box<dyn RecordFormat>; 4] = [
        || Box::new(TextFormat::new(false, log_format::LogZone::default())),
        || Box::<JsonFormat>::default(),
        || Box::<AcsXmlFormat>::default(),
        || Box::new(SyslogFormat::new(1)),
    ];
    for new in fresh {
        let mut kept = new();
        for call in &order {
            let mut alone = Vec::new();
            with_record(call, |record| new().put(&mut alone, record));
            let mut behind = Vec::new();
            with_record(call, |record| kept.put(&mut behind, record));
            assert_eq!(
                String::from_utf8_lossy(&behind),
                String::from_utf8_lossy(&alone),
                "{call:?}"
            );
        }
    }
}

/// A record shows what its own dictionary has by then, also one of the same numbers, as a clone has.
#[test]
fn a_record_shows_its_dictionary_as_it_is() {
    let one = Call { format: "one".to_owned(), format_kind: 1, level: 4, ..Call::default() };
    let two = Call { format: "two".to_owned(), file: "two.c".to_owned(), ..one.clone() };
    let mut kept = JsonFormat::default();
    let mut shown = |dictionary: &Dictionary| {
        let mut out = Vec::new();
        with_record_of(dictionary, &one, |record| kept.put(&mut out, record));
        String::from_utf8(out).unwrap()
    };
    let empty = Dictionary::default();
    let (mut first, mut second) = (empty.clone(), empty.clone());
    for _ in 0..2 {
        for dictionary in [&empty, &first] {
            assert!(shown(dictionary).contains("\"call site 1 is not known\""));
        }
    }
    add_entries(&mut first, &one);
    add_entries(&mut second, &two);
    for _ in 0..2 {
        assert!(shown(&first).contains("\"message\":\"one\""));
        assert!(!shown(&first).contains("two.c"));
        assert!(shown(&second).contains("two.c"));
        assert!(!shown(&empty).contains("two.c"));
    }
}

#[test]
fn control_characters_beyond_ascii_are_visible_in_lines() {
    let text = "a\u{9b}31m\u{85}b\u{a0}ü\u{c2}\u{1b}[0m\u{2028}\u{202e}\u{2067}";
    let seen = "a\\xc2\\x9b31m\\xc2\\x85b\u{a0}ü\u{c2}\\x1b[0m\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa7";
    let in_value = Call {
        format: "{}".to_owned(),
        format_kind: 1,
        level: 4,
        arguments: vec![Value::Text(text.to_owned())],
        ..Call::default()
    };
    let in_format =
        Call { format: text.to_owned(), format_kind: 3, arguments: vec![], ..in_value.clone() };
    // C++ may store the bytes of a character one by one.
    let in_bytes = Call {
        format: "{}{}".to_owned(),
        format_kind: 4,
        arguments: vec![Value::Char('\u{c2}'), Value::Char('\u{9b}')],
        ..in_value.clone()
    };
    for (call, expected) in [(in_value, seen), (in_format, seen), (in_bytes, "\\xc2\\x9b")] {
        with_record(&call, |record| {
            let mut lines: [Box<dyn RecordFormat>; 2] = [
                Box::new(TextFormat::new(false, log_format::LogZone::default())),
                Box::new(SyslogFormat::new(1)),
            ];
            for format in &mut lines {
                let mut out = Vec::new();
                format.put(&mut out, record);
                let line = String::from_utf8(out).unwrap();
                assert!(line.ends_with(&format!(" {expected}\n")), "{line:?}");
            }
        });
    }
}
