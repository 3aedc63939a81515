//! Another host whose recordings the page shows: where it is asked, and how it knows this one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use connection::{Address, ClientTls, TlsFileError};
use http_client::header::HeaderValue;
use http_client::{ClientSettings, HttpUrl, UrlError};

/// Most bytes of an answer: as many as a chart of the page may have.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Longest name.
const NAME_BYTES_MAX: usize = 255;

/// The time of a question.
const TIME_MAX: Duration = Duration::from_secs(10);

/// What a description has.
const KEYS: [&str; 4] = ["url", "name", "token_file", "ca"];

/// Another host: its `whit serve` or `whit watch` is asked.
#[derive(Clone, Debug)]
pub struct OtherHost {
    /// What it is called here.
    pub(crate) name: String,
    pub(crate) url: HttpUrl,
    /// The header `Authorization`.
    pub(crate) token: Option<HeaderValue>,
    pub(crate) settings: ClientSettings,
}

/// Why a host cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum OtherHostError {
    /// The description is none.
    #[error(
        "{0}: write url=URL, then if wanted name=NAME, token_file=FILE, ca=FILE, with commas between"
    )]
    Form(String),
    /// The address is none.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The name is empty, too long, or has a slash or a control character.
    #[error("{0:?} is no name of a host: give 1 to {NAME_BYTES_MAX} characters without a slash")]
    Name(String),
    /// A token would be readable on its way.
    #[error("{0}: a token goes only to https:// or to this machine")]
    PlainToken(String),
    /// The file of the token cannot be used.
    #[error("cannot read the token {}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file of authorities cannot be used.
    #[error(transparent)]
    Authorities(#[from] TlsFileError),
}

impl OtherHost {
    /// Reads a description: `url=URL[,name=NAME][,token_file=FILE][,ca=FILE]`.
    ///
    /// # Errors
    /// If it is none, or one of its files cannot be used.
    pub fn parse(text: &str) -> Result<Self, OtherHostError> {
        let form = |what: String| OtherHostError::Form(what);
        let mut values = BTreeMap::new();
        for pair in text.split(',') {
            let known = pair.split_once('=').filter(|(key, _)| KEYS.contains(key));
            let (key, value) = known.ok_or_else(|| form(format!("{pair:?} is nothing known")))?;
            if value.is_empty() || values.insert(key, value).is_some() {
                return Err(form(format!("{key} is empty or there twice")));
            }
        }
        let url = values.get("url").ok_or_else(|| form("there is no url".to_owned()))?;
        let url = HttpUrl::parse(url)?;
        let name = values.get("name").map_or_else(|| authority(&url), |name| (*name).to_owned());
        let is_name = |c: char| c != '/' && !c.is_control();
        if name.len() > NAME_BYTES_MAX || !name.chars().all(is_name) {
            return Err(OtherHostError::Name(name));
        }
        let token = values.get("token_file").map(|path| token(Path::new(path))).transpose()?;
        if token.is_some() && !url.is_encrypted() && !url.is_here() {
            return Err(OtherHostError::PlainToken(url.to_string()));
        }
        let authorities = values.get("ca").map(PathBuf::from);
        let authorities = authorities.or_else(http_client::system_authorities);
        let authorities = authorities.filter(|_| url.is_encrypted());
        let tls = authorities.map(|path| ClientTls::load(&path, None)).transpose()?;
        let settings =
            ClientSettings { timeout: TIME_MAX, answer_bytes_max: ANSWER_BYTES_MAX, tls };
        Ok(OtherHost { name, url, token, settings })
    }

    /// Sets how long a question may take.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.settings.timeout = time;
        self
    }

    /// Where it is, to be told from another of its name.
    pub(crate) fn authority(&self) -> String {
        authority(&self.url)
    }
}

fn authority(url: &HttpUrl) -> String {
    match url.address() {
        Address::Unix(path) => path.display().to_string().replace('/', "_"),
        Address::Network { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
        Address::Network { host, port, .. } => format!("{host}:{port}"),
    }
}

fn token(path: &Path) -> Result<HeaderValue, OtherHostError> {
    let failed = |source| OtherHostError::Token { path: path.to_owned(), source };
    http_client::bearer(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_host_has_an_address_and_what_it_asks_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = file.display();
        let host = OtherHost::parse("url=http://a:9797").unwrap();
        assert_eq!((host.name.as_str(), host.token), ("a:9797", None));
        let host = OtherHost::parse(&format!("name=b,url=http://[::1]:1,token_file={file}"));
        let host = host.unwrap();
        assert_eq!(host.token.as_ref().unwrap(), "Bearer secret");
        assert!(!format!("{host:?}").contains("secret"), "{host:?}");
        for (text, wanted) in [
            ("", "is nothing known"),
            ("http://a", "is nothing known"),
            ("name=a", "there is no url"),
            ("url=http://a,url=http://b", "there twice"),
            ("url=ftp://a", "neither"),
            ("url=http://a,name=a/b", "no name"),
            (&format!("url=http://a,token_file={file}"), "only to https"),
            ("url=http://[::1],token_file=/nowhere", "cannot read the token"),
            ("url=https://a,ca=/nowhere", "/nowhere"),
        ] {
            let said = OtherHost::parse(text).unwrap_err().to_string();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }
}
