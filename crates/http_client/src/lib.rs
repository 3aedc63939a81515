//! A client for HTTP/1.1: requests to one server, over TCP, TLS or a socket file.
//!
//! An [`HttpUrl`] says where the server is; an [`HttpClient`] keeps a connection to it, sends a request
//! and waits for the answer; [`ask`] and [`open`] are for programs with a runtime of their own: a whole
//! answer, and one part by part.  A request has a time for all of it (the name, the connection, TLS, the answer) and the
//! answer a largest size.  A redirect is an answer like any other: nothing is asked elsewhere.
//!
//! Uses hyper, and `connection` for names and certificates.  Begin with `client.rs`.
#![forbid(unsafe_code)]

mod client;
mod error;
mod url;

pub use client::{ClientAnswer, ClientSettings, HttpClient, ask, bearer, open, system_authorities};
pub use error::HttpError;
pub use hyper::body::Bytes;
pub use hyper::{Method, StatusCode, header};
pub use url::{HttpUrl, UrlError, form};
