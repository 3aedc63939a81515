//! Log records by OTLP over HTTP: `POST /v1/logs`, as protobuf or JSON, as it is or packed by gzip.
//!
//! A request is answered with 200 when its records are kept: in the spool, and on its disk unless the
//! proxy waits for no disk.  If they cannot be kept now, the answer is 503 and the sender comes again;
//! then nothing further is written until what was written is kept, so that at most the requests of
//! [`WORKERS`] come twice.  A record that cannot be read is rejected, and the answer says how many; a
//! request that cannot be read is refused, and neither is to be sent again.
//!
//! Memory is bounded by the connections and their bodies, and by the workers and what they unpack.

use std::future::Future;
use std::io::{self, Read as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connection::{Address, AddressRules, Quota};
use flate2::read::GzDecoder;
use http_server::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use http_server::{
    Bytes, HttpAccess, HttpAnswer, HttpHandler, HttpServer, HttpSettings, Method, Request,
    StatusCode, answer, in_background, method_not_allowed, text_answer,
};
use logring::LogLevel;
use otlp_messages::{
    OtlpError, OtlpLog, OtlpOrigin, OtlpRead, PartialSuccess, Response, RpcStatus, read_json,
    read_protobuf,
};
use prost::Message as _;

use super::kept::Keeping;
use super::otlp_fields::OtlpWriter;
use super::output::InputRecords;
use super::{InputControl, InputPlace, OpenedInput, PATIENCE};

/// The path of requests.
const PATH: &str = "/v1/logs";
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";
/// Bytes of a body as it comes: SDKs send some 100 KiB, collectors up to a few MiB unpacked.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Bytes of an unpacked body.
const UNPACKED_BYTES_MAX: usize = 16 << 20;
/// Connections at once; for one more, the one that has waited longest for a request is closed.
const CONNECTIONS_MAX: usize = 128;
/// Requests that are worked on at once.  Most of their time they wait for the disk, together.
const WORKERS: usize = 8;
/// Requests that wait for a worker; further ones are to come again.
const WAITING_MAX: usize = 32;
/// How long a client may take for a part of a request.
const CLIENT_TIME_MAX: Duration = Duration::from_secs(30);
/// `google.rpc.Code`: `INVALID_ARGUMENT` and `UNAVAILABLE`.
const INVALID: i32 = 3;
const UNAVAILABLE: i32 = 14;

const RULES: AddressRules = AddressRules {
    default_port: Some(4318),
    is_path: |text| text.contains('/'),
    is_host: |_| true,
};

pub(super) fn open(place: InputPlace) -> io::Result<OpenedInput> {
    let address = Address::parse(&place.target, &RULES).map_err(io::Error::other)?;
    let tls = place.security.tls.as_ref().filter(|_| address.is_encrypted());
    let access = match &place.security.credentials {
        Some(credentials) => HttpAccess::Known(credentials.clone()),
        None if tls.is_some_and(connection::ServerTls::wants_client_certificate) => {
            HttpAccess::Anyone
        }
        None => HttpAccess::ThisMachine,
    };
    let listeners = http_server::open(&address, tls, &access).map_err(io::Error::other)?;
    Ok(Box::new(move || {
        let settings = HttpSettings {
            access,
            connections_max: CONNECTIONS_MAX,
            client_time_max: CLIENT_TIME_MAX,
            body_bytes_max: BODY_BYTES_MAX,
            threads_max: WORKERS,
            thread_stack_bytes: 512 << 10,
            ..HttpSettings::default()
        };
        let taker = Taker {
            records: place.records,
            control: place.control.clone(),
            keeping: Keeping::new(place.tier),
            is_behind: AtomicBool::new(false),
            places: Quota::new(WAITING_MAX),
        };
        let server =
            HttpServer::start(listeners, settings, Arc::new(taker)).map_err(io::Error::other)?;
        let mut told = [0; 2];
        loop {
            let is_ending = place.is_ending();
            tell_unseen(&server, &mut told, place.records);
            if is_ending {
                break;
            }
            std::thread::sleep(PATIENCE);
        }
        drop(server);
        if let Address::Unix(path) = address {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }))
}

/// Tells, by records of the input, what the server has refused that no worker saw.
fn tell_unseen(server: &HttpServer, told: &mut [u64; 2], records: InputRecords) {
    for (told, (count, what)) in told.iter_mut().zip(server.unseen()) {
        if count > *told {
            records.write_own(LogLevel::Warning, &format!("{what}: {}", count - *told));
            *told = count;
        }
    }
}

/// Takes requests.
struct Taker {
    records: InputRecords,
    control: Arc<InputControl>,
    keeping: Keeping,
    /// Something that was written is not known to be kept.
    is_behind: AtomicBool,
    places: Quota,
}

/// How a body is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Protobuf,
    Json,
}

impl HttpHandler for Taker {
    fn answer(
        self: Arc<Self>,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>> {
        Box::pin(async move {
            let (encoding, is_packed) = match asked(&request) {
                Ok(how) => how,
                Err(refusal) => return *refusal,
            };
            let Some(place) = self.places.acquire() else {
                return later(encoding, "too many requests at once");
            };
            let work = move || {
                let _place = place;
                self.accept_body(encoding, is_packed, request.body())
            };
            let failed = || later(encoding, "the request was given up");
            in_background(work).await.unwrap_or_else(failed)
        })
    }
}

/// How a request is written, or why it is refused.
fn asked(request: &Request<Bytes>) -> Result<(Encoding, bool), Box<HttpAnswer>> {
    if request.uri().path() != PATH {
        let text = format!("only log records are taken, at {PATH}\n");
        return Err(text_answer(StatusCode::NOT_FOUND, text).into());
    }
    if request.method() != Method::POST {
        return Err(method_not_allowed("POST").into());
    }
    let refused = |text| Err(text_answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into());
    let encoding = match first_of(request.headers(), CONTENT_TYPE.as_str()) {
        kind if kind.eq_ignore_ascii_case(PROTOBUF) => Encoding::Protobuf,
        kind if kind.eq_ignore_ascii_case(JSON) => Encoding::Json,
        _ => return refused(format!("the content type is neither {PROTOBUF} nor {JSON}\n")),
    };
    match first_of(request.headers(), CONTENT_ENCODING.as_str()) {
        "" | "identity" => Ok((encoding, false)),
        "gzip" => Ok((encoding, true)),
        _ => refused("the content encoding is not gzip\n".to_owned()),
    }
}

/// A header without its parameters.
fn first_of<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let text = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim()
}

impl Taker {
    /// Takes a body; the answer says what became of it.
    fn accept_body(&self, encoding: Encoding, is_packed: bool, body: &[u8]) -> HttpAnswer {
        let mut unpacked = Vec::new();
        if is_packed {
            let mut reader = GzDecoder::new(body).take(UNPACKED_BYTES_MAX as u64 + 1);
            if let Err(error) = reader.read_to_end(&mut unpacked) {
                return self.refuse(encoding, &format!("malformed gzip: {error}"));
            }
            if unpacked.len() > UNPACKED_BYTES_MAX {
                let text = format!("the unpacked body has more than {UNPACKED_BYTES_MAX} bytes");
                return self.refuse(encoding, &text);
            }
        }
        let bytes = if is_packed { &unpacked } else { body };
        // While something is not kept, its sender may send it again: nothing is added to that.
        if self.is_behind.load(Ordering::Acquire) && !self.keeping.is_all_kept() {
            return later(encoding, "records cannot be kept now");
        }
        let read = match self.write(encoding, bytes) {
            Ok(read) => read,
            Err(error) => return self.refuse(encoding, &error.to_string()),
        };
        if read.rejected > 0 {
            let text =
                format!("{} records of a request were rejected: {}", read.rejected, read.why);
            self.records.write_own(LogLevel::Warning, &text);
        }
        let is_kept = self.keeping.wait(&self.control);
        self.is_behind.store(!is_kept, Ordering::Release);
        if is_kept { taken(encoding, read) } else { later(encoding, "records are not kept yet") }
    }

    fn write(&self, encoding: Encoding, bytes: &[u8]) -> Result<OtlpRead, OtlpError> {
        let mut writer = OtlpWriter::new(self.records);
        let mut write = |origin: &OtlpOrigin<'_>, log: &OtlpLog<'_>| writer.write(origin, log);
        match encoding {
            Encoding::Json => read_json(bytes, &mut write),
            Encoding::Protobuf => {
                // Nothing is written of a request that is refused.
                read_protobuf(bytes, None)?;
                read_protobuf(bytes, Some(&mut write))
            }
        }
    }

    /// Refuses a request that is not to be sent again; what it had is lost, and that is told.
    fn refuse(&self, encoding: Encoding, why: &str) -> HttpAnswer {
        self.records.write_own(LogLevel::Warning, &format!("a request was refused: {why}"));
        status(encoding, StatusCode::BAD_REQUEST, INVALID, why)
    }
}

/// `ExportLogsServiceResponse`.
fn taken(encoding: Encoding, read: OtlpRead) -> HttpAnswer {
    let is_whole = read.rejected == 0;
    if encoding == Encoding::Json {
        let partly = serde_json::json!({"partialSuccess": {
            "rejectedLogRecords": read.rejected.to_string(), "errorMessage": read.why}});
        let text = if is_whole { "{}".to_owned() } else { partly.to_string() };
        return answer(StatusCode::OK, JSON, text);
    }
    let rejected = i64::try_from(read.rejected).unwrap_or(i64::MAX);
    let partly = PartialSuccess { rejected, error_message: read.why };
    let response = Response { partial_success: (!is_whole).then_some(partly) };
    answer(StatusCode::OK, PROTOBUF, response.encode_to_vec())
}

/// An error, with `google.rpc.Status`.
fn status(encoding: Encoding, status: StatusCode, code: i32, why: &str) -> HttpAnswer {
    if encoding == Encoding::Json {
        let text = serde_json::json!({"code": code, "message": why}).to_string();
        return answer(status, JSON, text);
    }
    let message = RpcStatus { code, message: why.to_owned() };
    answer(status, PROTOBUF, message.encode_to_vec())
}

/// The sender is to come again.
fn later(encoding: Encoding, why: &str) -> HttpAnswer {
    let mut answer = status(encoding, StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, why);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}
