//! Addresses of servers: `http://HOST:PORT/PATH`, `https://…`, and `unix:SOCKET`.

use std::fmt;

use connection::Address;
use hyper::Uri;
use text::encoding::push_percent_encoded;

/// Where a server is, and the path below which it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    pub(crate) address: Address,
    /// What the request calls the server: the header `Host`.
    pub(crate) authority: String,
    /// The path without a slash at its end; empty for the root.
    path: String,
    /// What stands behind `?`, with it.
    query: String,
}

/// Why a text is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It begins with neither of the schemes.
    #[error("'{0}' begins with neither http://, https:// nor unix:")]
    Scheme(String),
    /// It is written wrongly.
    #[error("'{url}' is no address: {why}")]
    Malformed {
        /// The text.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A name and a password in it would be in lists of processes and in logs.
    #[error("an address has no name and password: they belong into a file")]
    Credentials,
}

impl HttpUrl {
    /// Reads an address.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let malformed =
            |why: &str| UrlError::Malformed { url: text.to_owned(), why: why.to_owned() };
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err(malformed("there is no path of a socket"));
            }
            let (path, query) = (String::new(), String::new());
            let (address, authority) = (Address::Unix(text[5..].into()), "localhost".to_owned());
            return Ok(HttpUrl { address, authority, path, query });
        }
        let is_encrypted = match text.split_once("://") {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => false,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => true,
            _ => return Err(UrlError::Scheme(text.to_owned())),
        };
        let uri: Uri = text.parse().map_err(|error| malformed(&format!("{error}")))?;
        let authority = uri.authority().ok_or_else(|| malformed("there is no host"))?;
        if authority.as_str().contains('@') {
            return Err(UrlError::Credentials);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(malformed("there is no host"));
        }
        let usual = if is_encrypted { 443 } else { 80 };
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => usual,
            Some(_) => authority.port_u16().ok_or_else(|| malformed("its port is no number"))?,
            None => return Err(malformed("there is no host")),
        };
        Ok(HttpUrl {
            address: Address::Network { host, port, is_encrypted },
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
            query: uri.query().map_or(String::new(), |query| format!("?{query}")),
        })
    }

    /// The target of a request to the address itself.
    #[must_use]
    pub fn target(&self) -> String {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        format!("{path}{}", self.query)
    }

    /// The target of a request below the address: `path` begins with a slash and may have a query.
    #[must_use]
    pub fn below(&self, path: &str) -> String {
        format!("{}{path}", self.path)
    }

    /// The target of a request to the address itself, at a usual path if it names none.
    #[must_use]
    pub fn target_or(&self, usual: &str) -> String {
        if self.has_path() { self.target() } else { format!("{usual}{}", self.query) }
    }

    /// Whether it names a path of its own.
    #[must_use]
    pub fn has_path(&self) -> bool {
        !self.path.is_empty()
    }

    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.address.is_encrypted()
    }

    /// Whether the server is this machine, so that nobody else sees what is sent there.
    #[must_use]
    pub fn is_here(&self) -> bool {
        match &self.address {
            Address::Unix(_) => true,
            Address::Network { host, .. } => {
                let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
                host == "localhost" || host.parse().is_ok_and(is_loopback)
            }
        }
    }

    /// Where the server is.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// Parameters as the body of a form has them (`application/x-www-form-urlencoded`).
#[must_use]
pub fn form(parameters: &[(&str, &str)]) -> String {
    let mut form = String::new();
    for (name, value) in parameters {
        form.push_str(if form.is_empty() { "" } else { "&" });
        push_percent_encoded(&mut form, name);
        form.push('=');
        push_percent_encoded(&mut form, value);
    }
    form
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Unix(path) => write!(out, "unix:{}", path.display()),
            Address::Network { is_encrypted, .. } => {
                let scheme = if *is_encrypted { "https" } else { "http" };
                write!(out, "{scheme}://{}{}{}", self.authority, self.path, self.query)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, target, shown) in [
            ("http://127.0.0.1:9090", "/", "http://127.0.0.1:9090"),
            ("http://h/api/v1/write", "/api/v1/write", "http://h/api/v1/write"),
            ("HTTPS://[::1]:8443/a/?b=c", "/a?b=c", "https://[::1]:8443/a?b=c"),
            ("unix:/run/x", "/", "unix:/run/x"),
        ] {
            let url = HttpUrl::parse(text).unwrap();
            assert_eq!((url.target().as_str(), url.to_string().as_str()), (target, shown));
        }
        let url = HttpUrl::parse("http://h:1/p/").unwrap();
        assert_eq!(url.below("/api?x=1"), "/p/api?x=1");
        assert_eq!(url.target_or("/usual"), "/p");
        assert_eq!(HttpUrl::parse("http://h/?a=b").unwrap().target_or("/usual"), "/usual?a=b");
        let address = |text| HttpUrl::parse(text).unwrap().address;
        let network = |host: &str, port, is_encrypted| Address::Network {
            host: host.to_owned(),
            port,
            is_encrypted,
        };
        assert_eq!(address("http://h"), network("h", 80, false));
        assert_eq!(address("https://[::1]/"), network("::1", 443, true));
    }

    #[test]
    fn parameters_stand_in_a_form() {
        let form = form(&[("query", "a{b=\"ü &\"}[1m]"), ("time", "1.5")]);
        assert_eq!(form, "query=a%7Bb%3D%22%C3%BC%20%26%22%7D%5B1m%5D&time=1.5");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "h:1", "ftp://h", "file:///x", "http://", "http://h:x", "http://h:99999", "unix:"]
        {
            assert!(HttpUrl::parse(text).is_err(), "{text}");
        }
        assert_eq!(HttpUrl::parse("http://me:secret@h/"), Err(UrlError::Credentials));
    }
}
