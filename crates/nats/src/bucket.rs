//! A key-value bucket of JetStream (<https://docs.nats.io/nats-concepts/jetstream/key-value-store>): a
//! stream `KV_NAME` that keeps the last message of each subject `$KV.NAME.KEY`.
//!
//! A value has the number of its message in the stream, its **revision**.  [`Bucket::put`] writes on the
//! condition that the key still has a given revision (`Nats-Expected-Last-Subject-Sequence`), which the
//! stream's leader decides: of several writers that have seen the same revision one succeeds.  A read may
//! be of a server that is behind; a write that succeeds proves that what it was made from was the newest.
//!
//! A key is read by the stream's own answers (`DIRECT.GET`), which begin when it is ready: a server of
//! version 2.9 ends by a question to `STREAM.MSG.GET` while another client makes the stream.  A bucket that
//! was made without such answers (`allow_direct`) is there already: its leader is asked by `STREAM.MSG.GET`.
//!
//! A bucket that somebody else made is asked for its settings once a connection, and refused if a key may
//! lose its value or its revisions may begin again.
//!
//! A read and a write are a question each.  The connection is kept, and opened again after a failure.

use std::fmt;
use std::io;

use base64ct::{Base64, Encoding as _};
use connection::{Address, AddressError, AddressRules};
use serde_json::{Value, json};

use crate::client::{NatsAccess, NatsConnection, NatsEndpoint, NatsRefusal, PORT};

/// `err_code` of a write whose key has another revision.
const WRONG_REVISION: u64 = 10_071;

/// `err_code` of a stream that is there already, with other settings: its owner's.
const STREAM_EXISTS: u64 = 10_058;

/// `err_code` of a key that never had a value.
const NO_MESSAGE: u64 = 10_037;

/// Characters of a bucket's name: a server makes a folder of it.
const NAME_LENGTH_MAX: usize = 64;

/// Where a bucket is: `nats://HOST:PORT/BUCKET`, or `tls://` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    /// The server.
    pub server: Address,
    /// The name of the bucket.
    pub name: String,
}

/// A text is no address of a bucket.
#[derive(Debug, thiserror::Error)]
pub enum BucketAddressError {
    /// The scheme or the name is missing.
    #[error("`{0}` is no bucket of NATS: write nats://HOST:PORT/BUCKET, or tls:// for TLS")]
    Form(String),
    /// The name has other characters.
    #[error(
        "`{0}` is no name of a bucket: write up to {NAME_LENGTH_MAX} letters, digits, `-` and `_`"
    )]
    Name(String),
    /// The server is none.
    #[error("{0}")]
    Server(#[from] AddressError),
}

impl BucketAddress {
    /// Reads an address; without a port it is [`PORT`].
    ///
    /// # Errors
    /// If the text is no address of a bucket.
    pub fn parse(text: &str) -> Result<Self, BucketAddressError> {
        let form = || BucketAddressError::Form(text.to_owned());
        let plain = text.strip_prefix("nats://").map(|rest| (rest, ""));
        let either = plain.or_else(|| text.strip_prefix("tls://").map(|rest| (rest, "tls:")));
        let (rest, encrypted) = either.ok_or_else(form)?;
        let (server, name) = rest.split_once('/').ok_or_else(form)?;
        if server.is_empty() || server.starts_with("tls:") || server.starts_with("unix:") {
            return Err(form());
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > NAME_LENGTH_MAX || !name.chars().all(is_plain) {
            return Err(BucketAddressError::Name(name.to_owned()));
        }
        let rules =
            AddressRules { default_port: Some(PORT), is_path: |_| false, is_host: |_| true };
        let server = Address::parse(&format!("{encrypted}{server}"), &rules)?;
        Ok(BucketAddress { server, name: name.to_owned() })
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bucket {} of {}", self.name, self.server)
    }
}

/// A value and its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketEntry {
    /// The value; empty if the key was deleted.
    pub value: Vec<u8>,
    /// The number of its message in the stream: later values have larger ones.
    pub revision: u64,
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutResult {
    /// It is the newest value, and has this revision.
    Done(u64),
    /// Another value is newer than the one that was expected.
    Conflict,
}

/// A bucket.
#[derive(Debug)]
pub struct Bucket {
    server: NatsEndpoint,
    name: String,
    connection: Option<(NatsConnection, ReadWay)>,
}

/// Who answers what value a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadWay {
    /// Any server that has the stream.
    Direct,
    /// The stream's leader.
    Leader,
}

impl Bucket {
    /// A bucket at an address; nothing is connected yet.
    #[must_use]
    pub fn new(address: &BucketAddress, access: NatsAccess) -> Self {
        let server = NatsEndpoint::new(&address.server, access);
        Bucket { server, name: address.name.clone(), connection: None }
    }

    /// The newest value of a key; `None` if it never had one.  A bucket that is not there is made, which
    /// keeps one value of each key, on the disk.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn get(&mut self, key: &str) -> io::Result<Option<BucketEntry>> {
        let (name, subject) = (self.name.clone(), self.subject(key));
        self.with(|connection, way| {
            let parameters = json!({ "last_by_subj": subject });
            match way {
                ReadWay::Direct => read_directly(connection, &name, &parameters),
                ReadWay::Leader => read_from_leader(connection, &name, &parameters),
            }
        })
    }

    /// Writes a key that still has the given revision, or never had a value if that is 0.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses: the value may have been written nevertheless.
    pub fn put(&mut self, key: &str, value: &[u8], revision: u64) -> io::Result<PutResult> {
        let subject = self.subject(key);
        self.with(|connection, _| {
            let head =
                format!("NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: {revision}\r\n\r\n");
            let answer = connection.answer(&subject, &head, value)?;
            if answer.is_lost() {
                return Err(io::Error::other("the bucket is gone").into());
            }
            let answer: Value = serde_json::from_slice(&answer.payload).map_err(io::Error::from)?;
            if answer["error"]["err_code"] == WRONG_REVISION {
                return Ok(PutResult::Conflict);
            }
            refused(&answer)?;
            let wrong = || io::Error::other("an acknowledgement without a revision");
            Ok(PutResult::Done(answer["seq"].as_u64().ok_or_else(wrong)?))
        })
    }

    fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.name)
    }

    /// Asks by the connection that is kept, or by a new one; after a failure none is kept.
    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut NatsConnection, ReadWay) -> Result<T, NatsRefusal>,
    ) -> io::Result<T> {
        let kept = self.connection.take();
        let opened = kept.map_or_else(|| self.open(), Ok);
        let done = opened.and_then(|(mut connection, way)| {
            let done = work(&mut connection, way)?;
            self.connection = Some((connection, way));
            Ok(done)
        });
        match done {
            Ok(done) => Ok(done),
            Err(NatsRefusal::Later(error)) => Err(error),
            Err(NatsRefusal::Never(why)) => Err(io::Error::other(why)),
        }
    }
}

impl Bucket {
    /// Connects, and makes the bucket if it is not there.
    fn open(&self) -> Result<(NatsConnection, ReadWay), NatsRefusal> {
        let mut connection = self.server.open()?;
        let way = create(&mut connection, &self.name)?;
        Ok((connection, way))
    }
}

/// The newest value of a key, from any server that has the stream.
fn read_directly(
    connection: &mut NatsConnection,
    name: &str,
    parameters: &Value,
) -> Result<Option<BucketEntry>, NatsRefusal> {
    let question = format!("$JS.API.DIRECT.GET.KV_{name}");
    let answer = connection.answer(&question, "", parameters.to_string().as_bytes())?;
    match answer.status {
        None => {
            let revision = answer.sequence.ok_or_else(without_revision)?;
            // A message without a value is a mark that the key was deleted.
            Ok(Some(BucketEntry { value: answer.payload, revision }))
        }
        Some(404) => Ok(None),
        Some(status) => Err(io::Error::other(format!("it answers with status {status}")).into()),
    }
}

/// The newest value of a key, from the stream's leader.
fn read_from_leader(
    connection: &mut NatsConnection,
    name: &str,
    parameters: &Value,
) -> Result<Option<BucketEntry>, NatsRefusal> {
    let answer = connection.asked(&format!("$JS.API.STREAM.MSG.GET.KV_{name}"), parameters)?;
    if answer["error"]["err_code"] == NO_MESSAGE {
        return Ok(None);
    }
    refused(&answer)?;
    let message = &answer["message"];
    let revision = message["seq"].as_u64().ok_or_else(without_revision)?;
    let value = Base64::decode_vec(message["data"].as_str().unwrap_or_default());
    let value = value.map_err(|_| io::Error::other("a value that is no base64"))?;
    Ok(Some(BucketEntry { value, revision }))
}

fn without_revision() -> io::Error {
    io::Error::other("a value without a revision")
}

/// Makes a bucket, as the programs of NATS make one with a history of one value; one that is there is looked
/// at.  How it is read.
fn create(connection: &mut NatsConnection, name: &str) -> Result<ReadWay, NatsRefusal> {
    let stream = json!({
        "name": format!("KV_{name}"), "subjects": [format!("$KV.{name}.>")],
        "retention": "limits", "storage": "file", "discard": "new", "num_replicas": 1,
        "max_msgs_per_subject": 1, "max_msgs": -1, "max_bytes": -1, "max_age": 0,
        "max_consumers": -1, "allow_rollup_hdrs": true, "deny_delete": true, "allow_direct": true,
    });
    let made = connection.asked(&format!("$JS.API.STREAM.CREATE.KV_{name}"), &stream)?;
    if made["error"]["err_code"] != STREAM_EXISTS {
        return refused(&made).map(|()| ReadWay::Direct);
    }
    let info = connection.asked(&format!("$JS.API.STREAM.INFO.KV_{name}"), &json!({}))?;
    refused(&info)?;
    let settings = &info["config"];
    match wrong_setting(settings, name) {
        Some(why) => Err(NatsRefusal::Never(format!("the bucket {name} {why}"))),
        None if settings["allow_direct"] == true => Ok(ReadWay::Direct),
        None => Ok(ReadWay::Leader),
    }
}

/// Why a bucket cannot be used: a value may go while its key is in use, a revision may come again, or a write
/// has no answer.
fn wrong_setting(settings: &Value, name: &str) -> Option<String> {
    let number = |key: &str| settings[key].as_i64().unwrap_or(0);
    let is = |key: &str, value: &str| settings[key] == value;
    let takes = |subject: &Value| *subject == format!("$KV.{name}.>");
    if !settings["subjects"].as_array().is_some_and(|subjects| subjects.iter().any(takes)) {
        return Some("takes no values itself: name the one that it is a copy of".to_owned());
    }
    if number("max_age") > 0 {
        let seconds = number("max_age") as f64 / 1e9;
        return Some(format!("forgets values after {seconds} s: make it again without a ttl"));
    }
    if !is("storage", "file") {
        return Some(
            "is in memory and lost when its server ends: make it on file storage".to_owned(),
        );
    }
    if number("max_msgs_per_subject") <= 0 {
        return Some("keeps all values of a key for ever: give it a history of 1".to_owned());
    }
    let is_full_at = number("max_msgs") > 0 || number("max_bytes") > 0;
    if !is("retention", "limits") || (is_full_at && !is("discard", "new")) {
        let how = "may drop the newest value of a key: make it again, as `nats kv add` does";
        return Some(how.to_owned());
    }
    (settings["no_ack"] == true).then(|| {
        "does not say whether a value was written: make it again without no_ack".to_owned()
    })
}

/// The error of an answer.
fn refused(answer: &Value) -> Result<(), NatsRefusal> {
    match answer["error"].as_object() {
        None => Ok(()),
        Some(error) => {
            let why = error.get("description").and_then(Value::as_str).unwrap_or("it refuses");
            Err(NatsRefusal::Never(text::escape::escape(why.as_bytes())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_server_and_a_bucket() {
        let read = |text: &str| BucketAddress::parse(text).map(|read| read.to_string());
        let shown = |text: &str| read(text).unwrap_or_else(|error| error.to_string());
        assert_eq!(shown("nats://h:1/b-2_C"), "the bucket b-2_C of h:1");
        assert!(shown("tls://h/b").contains("h:4222"), "{}", shown("tls://h/b"));
        assert!(BucketAddress::parse("tls://[::1]:7/b").is_ok_and(|at| at.server.is_encrypted()));
        for wrong in ["", "h/b", "http://h/b", "nats://h", "nats:///b", "nats://tls:h/b"] {
            assert!(shown(wrong).contains("write nats://HOST:PORT/BUCKET"), "{wrong}");
        }
        for wrong in ["nats://h/", "nats://h/a.b", "nats://h/a/b", "nats://h/a b", "nats://h/*"] {
            assert!(shown(wrong).contains("no name of a bucket"), "{wrong}");
        }
        assert!(read("nats://h:x/b").is_err());
    }
}
