//! A client for NATS: its protocol over TCP and TLS, questions to JetStream, and key-value buckets.
//!
//! A [`NatsEndpoint`] says where a server is and what it takes to get in; a [`NatsConnection`] asks one
//! question or many at once.  A [`Bucket`] is a bucket of keys and values, as the programs of NATS make
//! and read them, in which a key is written on the condition that nobody else wrote it meanwhile.
//! Every wait and every size is bounded; a server may say anything.
//!
//! Uses `connection` for names, TLS and time-outs, and `text`.  Begin with `client.rs`.
#![forbid(unsafe_code)]

mod bucket;
mod client;
mod clock;

pub use bucket::{Bucket, BucketAddress, BucketAddressError, BucketEntry, PutResult};
#[doc(hidden)]
pub use client::fuzz_connection;
pub use client::{NatsAccess, NatsConnection, NatsEndpoint, NatsMessage, NatsRefusal, PORT};
