//! Who may ask, and the refusals of those who may not.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use crate::answer::{HttpAnswer, text_answer};
use crate::credentials::Credentials;
use crate::login::Logins;

/// Who may ask a server.
#[derive(Clone, Debug)]
pub enum HttpAccess {
    /// Whoever reaches it: the sockets are for those only who may, by their rights or by TLS with
    /// certificates of clients.
    Anyone,
    /// Programs of this machine, and no page of a browser: the name of the host in a request is an
    /// address or `localhost`.
    ThisMachine,
    /// Clients with the token, or the name and the password of a user.
    Known(Arc<Credentials>),
}

/// Looks at requests.
pub(crate) enum Gate {
    Open,
    ThisMachine,
    Known(Arc<Logins>),
}

impl Gate {
    /// The gate of an access; `pause` is what a wrong password costs.
    pub(crate) fn new(access: &HttpAccess, pause: Duration) -> io::Result<Self> {
        Ok(match access {
            HttpAccess::Anyone => Gate::Open,
            HttpAccess::ThisMachine => Gate::ThisMachine,
            HttpAccess::Known(credentials) => {
                Gate::Known(Arc::new(Logins::new(credentials.clone(), pause)?))
            }
        })
    }

    /// Why a request is not answered, if it is not.
    pub(crate) async fn refusal(
        &self,
        headers: &HeaderMap,
        from: Option<IpAddr>,
    ) -> Option<HttpAnswer> {
        match self {
            Gate::Open => None,
            Gate::ThisMachine if is_of_this_machine(headers) => None,
            Gate::ThisMachine => Some(text_answer(
                StatusCode::FORBIDDEN,
                "the name of the host in the request is not an address or localhost: another page \
                 could have sent the browser here\n",
            )),
            Gate::Known(logins) => {
                if let Some(given) = headers.get(AUTHORIZATION)
                    && logins.is_known(given.as_bytes(), from).await
                {
                    return None;
                }
                let mut refusal = text_answer(
                    StatusCode::UNAUTHORIZED,
                    "give the token, or the name and the password of a user\n",
                );
                let how = HeaderValue::from_static("Basic realm=\"whit\", charset=\"UTF-8\"");
                refusal.headers_mut().insert(WWW_AUTHENTICATE, how);
                Some(refusal)
            }
        }
    }

    /// How many passwords were hashed.
    pub(crate) fn hashed(&self) -> u64 {
        match self {
            Gate::Known(logins) => logins.hashed(),
            _ => 0,
        }
    }
}

/// Whether the request names no host, an address or `localhost`.  A name of another page may lead to
/// the loopback too (DNS rebinding), and its scripts could then read the answers.
fn is_of_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name =
        host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}
