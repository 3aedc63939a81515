//! A server for HTTP/1.1 over TCP, TLS and Unix sockets, from a thread of its own.
//!
//! [`HttpServer::start`] answers requests by a [`HttpHandler`]: a runtime of one thread has all
//! connections, and a few more threads do what takes long ([`in_background`]).  Connections, heads,
//! bodies and slow clients have limits ([`HttpSettings`]); if all places are taken, the connection that
//! has waited longest for a request gives way, so that slow clients lock nobody out.
//!
//! An address that other machines reach is opened only with TLS and for clients that are known, by a
//! token, a password or a certificate ([`open()`], [`HttpAccess`]).  Passwords are kept as argon2 hashes:
//! one is computed at a time, and a wrong one costs its sender a pause, as a wrong token does.
//!
//! Uses `connection`; hyper and tokio, which start with the server and not with the program.
//! Begin with `server.rs`, then `access.rs`.
#![forbid(unsafe_code)]

mod access;
mod answer;
mod credentials;
mod keyed;
mod login;
mod open;
mod patient;
mod places;
mod server;

pub use access::HttpAccess;
pub use answer::{AnswerBody, AnswerCut, HttpAnswer, answer, method_not_allowed, text_answer};
pub use credentials::{Credentials, CredentialsError, hash_password};
pub use hyper::body::Bytes;
pub use hyper::{Method, Request, StatusCode, header};
pub use open::{HttpOpenError, admitted, open};
pub use server::{HttpHandler, HttpServer, HttpSettings, HttpStartError, in_background};
