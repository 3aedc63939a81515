//! Messages of OpenTelemetry's protocol (OTLP): values, answers, and requests with log records.
//!
//! The numbers of fields are those of opentelemetry-proto 1.x, named beside each.  What is sent is made
//! of the types in `message.rs`.  A request with log records is read record by record, from protobuf
//! (`protobuf.rs`) or JSON (`json.rs`), without types that hold all of it: an empty record has two bytes
//! in a request and hundreds in memory, so a hostile request could take a hundred times its size.
//!
//! Does no I/O.  Uses `logring` for levels and `text`.  Begin with `record.rs`.
#![forbid(unsafe_code)]

mod json;
pub mod log_field;
mod message;
mod protobuf;
mod record;
mod severity;

pub use json::read_json;
pub use message::{AnyValue, KeyValue, OtlpScope, PartialSuccess, Response, RpcStatus};
pub use protobuf::read_protobuf;
pub use record::{
    ATTRIBUTES_MAX, EachLog, NESTED_BYTES_MAX, OtlpAttribute, OtlpError, OtlpLog, OtlpOrigin,
    OtlpRead, OtlpValue,
};
pub use severity::{level_of_severity, severity};

#[cfg(test)]
mod tests;
