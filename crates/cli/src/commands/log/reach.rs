//! How a central server is reached: its secret, and certificates of both sides.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use connection::{Address, ClientTls, SocketStream};
use log_protocol::auth;
use log_protocol::handshake::{FrameReader, Hello, PeerRole, greet_server};
use log_protocol::parse_address;

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Where the central server listens, unless told otherwise.
pub(crate) const DEFAULT_CENTRAL: &str = "/run/whit-log.sock";

/// What a client shows and trusts.
#[derive(clap::Args, Clone)]
pub(crate) struct ReachArguments {
    /// File with the secret that the central server wants
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// The authorities (CA) that central servers are checked by, in PEM: for tls:HOST:PORT
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
    /// The own certificate, in PEM, if the central server wants one
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,
    /// The key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl ReachArguments {
    pub(crate) fn secret(&self) -> anyhow::Result<Option<Vec<u8>>> {
        secret(self.secret_file.as_ref())
    }

    /// What TLS needs to reach this address, if it is encrypted.
    pub(crate) fn tls(&self, to: &Address) -> anyhow::Result<Option<ClientTls>> {
        let own = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        match (&self.tls_ca, to.is_encrypted()) {
            (None, true) => bail!("{to}: an address with tls: needs --tls-ca"),
            (None, _) => Ok(None),
            (Some(authority), true) => Ok(Some(ClientTls::load(authority, own)?)),
            // Nobody is to believe that a connection is encrypted that is not.
            (Some(_), _) => bail!("{to} is not encrypted: --tls-ca is for tls:HOST:PORT"),
        }
    }

    /// A connection that asks.
    pub(crate) fn connect(&self, to: &str) -> anyhow::Result<(FrameReader, SocketStream)> {
        let address = address(to)?;
        let (secret, tls) = (self.secret()?, self.tls(&address)?);
        let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
        greet_server(&address, ANSWER, tls.as_ref(), secret.as_deref(), &hello)
            .with_context(|| format!("cannot reach the central server at {address}"))
    }
}

pub(crate) fn secret(path: Option<&PathBuf>) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(path) = path else { return Ok(None) };
    let secret = auth::read_secret(path);
    Ok(Some(secret.with_context(|| format!("cannot read {}", path.display()))?))
}

pub(crate) fn address(text: &str) -> anyhow::Result<Address> {
    parse_address(text).map_err(anyhow::Error::msg)
}
