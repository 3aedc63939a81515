//! Numbers of the fields of log records: `collector/logs/v1/logs_service.proto`, `logs/v1/logs.proto`,
//! `resource/v1/resource.proto` and `common/v1/common.proto`.

/// `ExportLogsServiceRequest.resource_logs`.
pub const RESOURCE_LOGS: u32 = 1;
/// `ResourceLogs.resource`.
pub const RESOURCE: u32 = 1;
/// `ResourceLogs.scope_logs`.
pub const SCOPE_LOGS: u32 = 2;
/// `Resource.attributes`.
pub const RESOURCE_ATTRIBUTES: u32 = 1;
/// `ScopeLogs.scope`.
pub const SCOPE: u32 = 1;
/// `ScopeLogs.log_records`.
pub const LOG_RECORDS: u32 = 2;
/// `InstrumentationScope.name`.
pub const SCOPE_NAME: u32 = 1;
/// `InstrumentationScope.version`.
pub const SCOPE_VERSION: u32 = 2;
/// `LogRecord.time_unix_nano`.
pub const TIME: u32 = 1;
/// `LogRecord.severity_number`.
pub const SEVERITY_NUMBER: u32 = 2;
/// `LogRecord.severity_text`.
pub const SEVERITY_TEXT: u32 = 3;
/// `LogRecord.body`.
pub const BODY: u32 = 5;
/// `LogRecord.attributes`.
pub const ATTRIBUTES: u32 = 6;
/// `LogRecord.dropped_attributes_count`.
pub const DROPPED_ATTRIBUTES: u32 = 7;
/// `LogRecord.flags`.
pub const FLAGS: u32 = 8;
/// `LogRecord.trace_id`.
pub const TRACE_ID: u32 = 9;
/// `LogRecord.span_id`.
pub const SPAN_ID: u32 = 10;
/// `LogRecord.observed_time_unix_nano`.
pub const OBSERVED_TIME: u32 = 11;
/// `LogRecord.event_name`.
pub const EVENT_NAME: u32 = 12;
