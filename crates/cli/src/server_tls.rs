//! Options of servers with addresses of the form `tls:HOST:PORT`.

use std::path::PathBuf;

use connection::ServerTls;

/// What encrypted addresses show and ask for.
#[derive(clap::Args, Debug)]
pub(crate) struct ServerTlsArguments {
    /// The certificate of addresses with `tls:`, with those between it and its authority, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Take only clients whose certificate an authority (CA) in this file has signed, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
}

impl ServerTlsArguments {
    /// Whether a certificate is given.
    pub(crate) fn is_set(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// Reads the files; `None` without a certificate.
    ///
    /// # Errors
    /// If a file cannot be read, or is none of PEM.
    pub(crate) fn load(&self) -> anyhow::Result<Option<ServerTls>> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        Ok(Some(ServerTls::load(certificate, key, self.tls_client_ca.as_deref())?))
    }
}
