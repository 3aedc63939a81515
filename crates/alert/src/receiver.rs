//! Where messages go: `mail:ADDRESS`, `webhook:URL`, `command:PATH`, `syslog`, `syslog:PATH`,
//! `syslog:HOST:PORT`.

use std::fmt;
use std::path::PathBuf;

use connection::Address;
use http_client::HttpUrl;

/// The longest address of mail.
const MAIL_BYTES_MAX: usize = 254;
/// The socket of the system's log.
const SYSLOG: &str = "/dev/log";

/// A receiver of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertReceiver {
    /// An address of mail.
    Mail(String),
    /// An address to which messages are posted as JSON.
    Webhook(HttpUrl),
    /// A program, which has the message on its standard input.
    Command(PathBuf),
    /// A log of the system.
    Syslog(SyslogPlace),
}

/// Where a log of the system is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogPlace {
    /// A socket of datagrams.
    Socket(PathBuf),
    /// `HOST:PORT`, by UDP.
    Network(String),
}

impl AlertReceiver {
    /// Reads a receiver.
    ///
    /// # Errors
    /// If the text is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let is_path = rest.starts_with('/') && !rest.contains('\0');
        match kind {
            "mail" if is_mail(rest) => Ok(Self::Mail(rest.to_owned())),
            "mail" => Err(format!("\"{text}\": give an address, \"mail:NAME@HOST\"")),
            "webhook" => HttpUrl::parse(rest).map(Self::Webhook).map_err(|error| error.to_string()),
            "command" if is_path => Ok(Self::Command(rest.into())),
            "command" => Err(format!(
                "\"{text}\": give the path of a program, \"command:/PATH\"; it gets no arguments"
            )),
            "syslog" if text == kind => Ok(Self::Syslog(SyslogPlace::Socket(SYSLOG.into()))),
            "syslog" if is_path => Ok(Self::Syslog(SyslogPlace::Socket(rest.into()))),
            "syslog" if is_host_and_port(rest) => {
                Ok(Self::Syslog(SyslogPlace::Network(rest.to_owned())))
            }
            "syslog" => Err(format!(
                "\"{text}\": give \"syslog\", \"syslog:/PATH\" of a socket or \"syslog:HOST:PORT\""
            )),
            _ => Err(format!(
                "\"{text}\" is no receiver: \"mail:NAME@HOST\", \"webhook:URL\", \"command:/PATH\", \
                 \"syslog\", \"syslog:/PATH\" or \"syslog:HOST:PORT\""
            )),
        }
    }

    /// What it is called where others may look: the path of a web hook is often a secret.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Webhook(url) => match url.address() {
                Address::Network { host, .. } => format!("webhook:{host}"),
                Address::Unix(path) => format!("webhook:{}", path.display()),
            },
            other => other.to_string(),
        }
    }
}

/// Whether a text is an address of mail that can stand in a command of SMTP and in a header.
pub(crate) fn is_mail(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"<>()[],;:\\\"".contains(&byte);
    let has_both = text
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    text.len() <= MAIL_BYTES_MAX && has_both && text.bytes().all(is_plain)
}

fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

impl fmt::Display for AlertReceiver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mail(address) => write!(out, "mail:{address}"),
            Self::Webhook(url) => write!(out, "webhook:{url}"),
            Self::Command(path) => write!(out, "command:{}", path.display()),
            Self::Syslog(SyslogPlace::Socket(path)) => write!(out, "syslog:{}", path.display()),
            Self::Syslog(SyslogPlace::Network(address)) => write!(out, "syslog:{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_read_and_shown() {
        for (text, label) in [
            ("mail:a.b@c", "mail:a.b@c"),
            ("webhook:https://h:1/secret?x=y", "webhook:h"),
            ("webhook:unix:/run/x", "webhook:/run/x"),
            ("command:/bin/true", "command:/bin/true"),
            ("syslog:/dev/log", "syslog:/dev/log"),
            ("syslog:[::1]:514", "syslog:[::1]:514"),
        ] {
            let receiver = AlertReceiver::parse(text).unwrap();
            assert_eq!((receiver.to_string().as_str(), receiver.label().as_str()), (text, label));
        }
        assert_eq!(AlertReceiver::parse("syslog"), AlertReceiver::parse("syslog:/dev/log"));
    }

    #[test]
    fn what_is_no_receiver_is_refused() {
        for wrong in [
            "",
            "mail:",
            "mail:a",
            "mail:a@b\r\nRCPT TO:<c@d>",
            "mail:a b@c",
            "mail:<a@b>",
            "mail:ä@b",
            "webhook:ftp://x",
            "webhook:",
            "command:",
            "command:true",
            "command:./x",
            "syslog:",
            "syslog:h",
            "syslog:h:x",
            "pager:1",
        ] {
            assert!(AlertReceiver::parse(wrong).is_err(), "{wrong}");
        }
    }
}
