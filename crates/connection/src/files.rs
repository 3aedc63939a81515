//! Certificates and keys from PEM files, and what servers and clients make of them.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

/// Most bytes of a PEM file: the authorities of a whole system take about 220 kB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A certificate or key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsFileError {
    /// The system refused it.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has not what is needed.
    #[error("{} holds {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The certificate and the key do not belong together, or the key is of an unknown kind.
    #[error("{} and {} cannot be used together: {what}", certificate.display(), key.display())]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong with them.
        what: String,
    },
}

/// The oldest version of TLS that a server speaks with clients who know no newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OldestTls {
    /// TLS 1.2: with ephemeral keys and authenticated ciphers alone.
    Tls12,
    /// TLS 1.3.
    #[default]
    Tls13,
}

/// The versions of [`OldestTls::Tls13`].
static TLS13_ALONE: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

impl OldestTls {
    fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            OldestTls::Tls12 => rustls::ALL_VERSIONS,
            OldestTls::Tls13 => TLS13_ALONE,
        }
    }
}

/// What a server shows and asks for.
#[derive(Debug, Clone)]
pub struct ServerTls {
    pub(crate) config: Arc<ServerConfig>,
    wants_client_certificate: bool,
}

/// What a client shows and trusts.
#[derive(Debug, Clone)]
pub struct ClientTls(pub(crate) Arc<ClientConfig>);

impl ServerTls {
    /// Reads a certificate (with those between it and its authority), its key, and the authorities
    /// of clients; without the last, a client needs no certificate.  It must speak TLS 1.3.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load(
        certificate: &Path,
        key: &Path,
        client_authority: Option<&Path>,
    ) -> Result<Self, TlsFileError> {
        ServerTls::load_with(certificate, key, client_authority, OldestTls::Tls13)
    }

    /// As [`ServerTls::load`], for clients of this version and newer.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load_with(
        certificate: &Path,
        key: &Path,
        client_authority: Option<&Path>,
        oldest: OldestTls,
    ) -> Result<Self, TlsFileError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(oldest.versions())
            .map_err(|error| pair(certificate, key, &error))?;
        let builder = match client_authority {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(authorities(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier = verifier.build().map_err(|error| TlsFileError::Content {
                    path: path.to_owned(),
                    what: format!("no usable authority: {error}"),
                })?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(certificates(certificate)?, private_key(key)?)
            .map_err(|error| pair(certificate, key, &error))?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let wants_client_certificate = client_authority.is_some();
        Ok(ServerTls { config: Arc::new(config), wants_client_certificate })
    }

    /// The configuration of rustls, for servers with a runtime of their own.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// Whether it takes only clients with a certificate.
    #[must_use]
    pub fn wants_client_certificate(&self) -> bool {
        self.wants_client_certificate
    }
}

impl ClientTls {
    /// Reads the authorities that servers are checked by, and the client's own certificate and key,
    /// if it has one.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load(authority: &Path, own: Option<(&Path, &Path)>) -> Result<Self, TlsFileError> {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let unusable = |error: rustls::Error| TlsFileError::Content {
            path: authority.to_owned(),
            what: error.to_string(),
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(TLS13_ALONE)
            .map_err(unusable)?
            .with_root_certificates(authorities(authority)?);
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| pair(certificate, key, &error))?,
        };
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self(Arc::new(config)))
    }

    /// The configuration of rustls, for clients with a runtime of their own.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        self.0.clone()
    }
}

fn pair(certificate: &Path, key: &Path, error: &rustls::Error) -> TlsFileError {
    let what = match error {
        rustls::Error::InconsistentKeys(_) => "the key is of another certificate".to_owned(),
        error => error.to_string(),
    };
    TlsFileError::Pair { certificate: certificate.to_owned(), key: key.to_owned(), what }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsFileError> {
    let refused = |source| TlsFileError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(refused)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(content(path, format!("more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

fn content(path: &Path, what: impl Into<String>) -> TlsFileError {
    TlsFileError::Content { path: path.to_owned(), what: what.into() }
}

/// All certificates of a file, one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| content(path, format!("a broken certificate: {error}")))?;
    match found.is_empty() {
        true => Err(content(path, "no certificate in PEM")),
        false => Ok(found),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    let bytes = read(path)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| content(path, "no private key in PEM"))
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsFileError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| content(path, format!("a certificate of no use: {error}")))?;
    }
    Ok(roots)
}
