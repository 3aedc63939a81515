//! A log record of a request, as both encodings give it.

use std::borrow::Cow;

/// Attributes that are kept of a record, of a resource or of a scope: the limit that the specification
/// gives to SDKs.  Further ones are counted.
pub const ATTRIBUTES_MAX: usize = 128;
/// Longest JSON text that a list or a map becomes; a record with a longer one is rejected.
pub const NESTED_BYTES_MAX: usize = 128 << 10;
/// Lists and maps inside of each other.
pub(crate) const DEPTH_MAX: usize = 32;

/// Why a request, or a record of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// It is not what protobuf encodes.
    #[error("malformed protobuf: {0}")]
    Protobuf(&'static str),
    /// It is not JSON.
    #[error("malformed JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part of it is of another type than the protocol says.
    #[error("{0} is not {1}")]
    Type(&'static str, &'static str),
    /// More than a limit allows.
    #[error("{0}: at most {1}")]
    Limit(&'static str, usize),
}

/// What was read of a request.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OtlpRead {
    /// Records that were given.
    pub taken: u64,
    /// Records that cannot be taken.
    pub rejected: u64,
    /// Why not the first of them; empty: none was rejected.
    pub why: String,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum OtlpValue<'a> {
    /// None.
    #[default]
    Empty,
    /// A text; its bytes as they came.
    Text(Cow<'a, [u8]>),
    /// True or false.
    Truth(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// A list or a map, as JSON.
    Nested(Vec<u8>),
}

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtlpAttribute<'a> {
    /// The name of the attribute.
    pub key: Cow<'a, str>,
    /// The value of the attribute.
    pub value: OtlpValue<'a>,
}

/// Where records come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtlpOrigin<'a> {
    /// What is known of the program: `service.name`, ...
    pub resource: Vec<OtlpAttribute<'a>>,
    /// Attributes of the resource that are not kept.
    pub left_out: u64,
    /// The logger, or the library, in it.
    pub scope: Cow<'a, [u8]>,
    /// Version of that.
    pub scope_version: Cow<'a, [u8]>,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtlpLog<'a> {
    /// When it was made, in ns since 1970; 0: not known.
    pub time_ns: u64,
    /// When it was seen first, in ns since 1970; 0: not known.
    pub observed_ns: u64,
    /// `SeverityNumber`; 0: not known.
    pub severity: i32,
    /// The program's own name of that.
    pub severity_text: Cow<'a, [u8]>,
    /// The text, usually.
    pub body: OtlpValue<'a>,
    /// What the record says beside that.
    pub attributes: Vec<OtlpAttribute<'a>>,
    /// Attributes that the sender, or this reader, has left out.
    pub left_out: u64,
    /// The trace's number in hexadecimal digits; empty: none.
    pub trace_id: String,
    /// The span's.
    pub span_id: String,
    /// `LogRecordFlags`.
    pub flags: u32,
    /// What event it is; empty: none.
    pub event_name: Cow<'a, [u8]>,
}

/// Is given each record of a request.
pub type EachLog<'e> = dyn FnMut(&OtlpOrigin<'_>, &OtlpLog<'_>) + 'e;

impl OtlpRead {
    /// Notes a record, or why it is none.
    pub(crate) fn note(&mut self, record: Result<(), OtlpError>) {
        match record {
            Ok(()) => self.taken += 1,
            Err(error) => {
                if self.rejected == 0 {
                    self.why = error.to_string();
                }
                self.rejected += 1;
            }
        }
    }
}

/// Appends an attribute, or counts it.
pub(crate) fn keep<'a>(
    attributes: &mut Vec<OtlpAttribute<'a>>,
    left_out: &mut u64,
    read: impl FnOnce() -> Result<OtlpAttribute<'a>, OtlpError>,
) -> Result<(), OtlpError> {
    if attributes.len() >= ATTRIBUTES_MAX {
        *left_out += 1;
        return Ok(());
    }
    attributes.push(read()?);
    Ok(())
}

/// Whether a list or a map may go on: not too deep, and its text not too long.
pub(crate) fn check_nested(out: &[u8], depth: usize) -> Result<(), OtlpError> {
    if depth > DEPTH_MAX {
        return Err(OtlpError::Limit("lists and maps inside of each other", DEPTH_MAX));
    }
    if out.len() > NESTED_BYTES_MAX {
        return Err(OtlpError::Limit("bytes of a list or map as JSON", NESTED_BYTES_MAX));
    }
    Ok(())
}

/// Appends a number as JSON; what is none there is a text, as OTLP writes it.
pub(crate) fn push_float(out: &mut Vec<u8>, number: f64) {
    use std::io::Write as _;
    // Writing into memory does not fail.
    let _ = match number {
        _ if number.is_nan() => write!(out, "\"NaN\""),
        f64::INFINITY => write!(out, "\"Infinity\""),
        f64::NEG_INFINITY => write!(out, "\"-Infinity\""),
        _ => write!(out, "{number:?}"),
    };
}

/// Appends bytes as OTLP's JSON has them, in base64.
pub(crate) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    use base64ct::Encoding as _;
    out.push(b'"');
    out.extend_from_slice(base64ct::Base64::encode_string(bytes).as_bytes());
    out.push(b'"');
}
