//! The options of servers for HTTP: where they listen, who may ask, and TLS.

use std::path::PathBuf;

use anyhow::Context as _;
use connection::{Address, AddressRules, ServerListener, ServerTls};
use http_server::{Credentials, HttpAccess, HttpServer};

use crate::server_tls::ServerTlsArguments;
use crate::stderr;

/// How addresses are written.
const RULES: AddressRules =
    AddressRules { default_port: None, is_path: |text| text.starts_with('/'), is_host: |_| true };

/// Who may ask, and TLS.
#[derive(clap::Args, Debug)]
pub(crate) struct HttpArguments {
    /// Let clients in that know the token in this file: `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let the users in that this file lists, with their passwords (`Authorization: Basic`): lines
    /// NAME:HASH, where the hash is what whit serve --hash-password prints
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    #[command(flatten)]
    tls: ServerTlsArguments,
}

/// Sockets that listen for HTTP, and who may ask there.
pub(crate) struct HttpSockets {
    pub(crate) listeners: Vec<ServerListener>,
    pub(crate) access: HttpAccess,
    pub(crate) place: HttpPlace,
}

/// Where a server listens.
pub(crate) struct HttpPlace {
    is_encrypted: bool,
    /// The socket file, which goes at the end.
    file: Option<PathBuf>,
}

impl HttpArguments {
    /// Whether any of them is given.
    pub(crate) fn is_set(&self) -> bool {
        self.token_file.is_some() || self.users.is_some() || self.tls.is_set()
    }

    /// Reads the files and opens the sockets of an address.
    pub(crate) fn open(&self, listen: &str) -> anyhow::Result<HttpSockets> {
        let tls = self.tls.load()?;
        let access = if self.token_file.is_some() || self.users.is_some() {
            let credentials = Credentials::load(self.token_file.as_deref(), self.users.as_deref())?;
            HttpAccess::Known(credentials.into())
        } else if tls.as_ref().is_some_and(ServerTls::wants_client_certificate) {
            HttpAccess::Anyone
        } else {
            HttpAccess::ThisMachine
        };
        if let Some(numbers) = listen.strip_prefix("fd:") {
            let take = |number: &str| Ok(watch::given_socket(number.parse()?)?.0);
            let sockets = numbers.split(',').map(take).collect::<anyhow::Result<Vec<_>>>();
            let sockets = sockets.with_context(|| format!("--listen {listen}"))?;
            let listeners = http_server::admitted(sockets, tls.as_ref(), &access)?;
            let place = HttpPlace { is_encrypted: tls.is_some(), file: None };
            return Ok(HttpSockets { listeners, access, place });
        }
        let address =
            Address::parse(listen, &RULES).with_context(|| format!("--listen {listen}"))?;
        let listeners = http_server::open(&address, tls.as_ref(), &access)?;
        let is_encrypted = address.is_encrypted();
        let file = match address {
            Address::Unix(path) => Some(path),
            Address::Network { .. } => None,
        };
        Ok(HttpSockets { listeners, access, place: HttpPlace { is_encrypted, file } })
    }
}

impl HttpPlace {
    /// The addresses, as a browser takes them.
    pub(crate) fn addresses(&self, server: &HttpServer) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let network = server.addresses().iter().map(|address| format!("{scheme}://{address}"));
        let file = self.file.iter().map(|path| format!("unix:{}", path.display()));
        network.chain(file).collect::<Vec<_>>().join(", ")
    }

    /// Says at the end what was refused without a look at it.
    pub(crate) fn end(self, server: &HttpServer) {
        for (count, what) in server.unseen().into_iter().filter(|(count, _)| *count > 0) {
            stderr::message(format!("{what}: {count}"));
        }
        if let Some(file) = self.file {
            // It may be gone already.
            let _ = std::fs::remove_file(file);
        }
    }
}
