//! Mail: a client of SMTP (RFC 5321) with STARTTLS or TLS, and a message of MIME.
//!
//! A text is sent as base64, so that nothing in it can end the message or be a header.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use base64ct::{Base64, Encoding as _};
use connection::{Address, SocketStream, Wait};
use text::encoding::hex;

use crate::clock;
use crate::delivery::{DeliveryError, MailEncryption, MailSettings, authorities};
use crate::message::AlertMessage;
use crate::picture::AlertPicture;
use crate::receiver::is_mail;

/// Longest line of an answer, and most lines of one.
const LINE_BYTES_MAX: usize = 2048;
const LINES_MAX: usize = 100;
/// Base64 in a line of mail.
const LINE_CHARS: usize = 76;

/// Sends a message.
pub(crate) fn send(
    settings: &MailSettings,
    to: &str,
    message: &AlertMessage,
    time: Duration,
) -> Result<(), DeliveryError> {
    if !is_mail(&settings.from) || !is_mail(to) {
        return Err(DeliveryError::Receiver(format!("{to}: no address of mail")));
    }
    let password = match &settings.user {
        Some((_, path)) => Some(password(path)?),
        None => None,
    };
    if password.is_some() && settings.encryption == MailEncryption::Plain {
        return Err(DeliveryError::PlainPassword);
    }
    let until = clock::after(time);
    let Address::Network { host, port, .. } = &settings.server else {
        return Err(DeliveryError::NoMail);
    };
    let is_encrypted = settings.encryption == MailEncryption::Tls;
    let address = Address::Network { host: host.clone(), port: *port, is_encrypted };
    let tls = match settings.encryption {
        MailEncryption::Plain => None,
        _ => authorities(settings.ca.as_ref())?,
    };
    let failed = || DeliveryError::io(format!("the connection to {address} failed"));
    let mut stream = address.connect(time, tls.as_ref()).map_err(failed())?;
    stream.set_wait(Wait::Until(until));
    let mut session = Session { stream, server: address.to_string() };
    session.answer("the connection", 220)?;
    session.say("EHLO", "EHLO localhost", 250)?;
    if let (MailEncryption::StartTls, Some(tls)) = (settings.encryption, &tls) {
        session.say("STARTTLS", "STARTTLS", 220)?;
        let stream = session.stream.greet_tls(tls, host, time).map_err(failed())?;
        session.stream = stream.polling().map_err(failed())?;
        session.stream.set_wait(Wait::Until(until));
        session.say("EHLO", "EHLO localhost", 250)?;
    } else if settings.encryption == MailEncryption::StartTls {
        let what = "there are no authorities (CA) of servers: give [alerts.mail] ca";
        return Err(DeliveryError::io(what)(io::ErrorKind::NotFound.into()));
    }
    if let (Some((user, _)), Some(password)) = (&settings.user, password) {
        let words = [b"\0", user.as_bytes(), b"\0", &password].concat();
        session.say("AUTH", &format!("AUTH PLAIN {}", Base64::encode_string(&words)), 235)?;
    }
    session.say("MAIL FROM", &format!("MAIL FROM:<{}>", settings.from), 250)?;
    session.say("RCPT TO", &format!("RCPT TO:<{to}>"), 250)?;
    session.say("DATA", "DATA", 354)?;
    session.say("the message", &format!("{}\r\n.", mime(&settings.from, to, message)), 250)?;
    // The message is taken, however the connection ends.
    let _ = session.say("QUIT", "QUIT", 221);
    Ok(())
}

fn password(path: &Path) -> Result<Vec<u8>, DeliveryError> {
    let what = format!("cannot read the password in {}", path.display());
    connection::read_secret(path).map_err(DeliveryError::io(what))
}

struct Session {
    stream: SocketStream,
    server: String,
}

impl Session {
    fn say(&mut self, step: &'static str, line: &str, code: u16) -> Result<(), DeliveryError> {
        let sent = self.stream.write_all(format!("{line}\r\n").as_bytes());
        let sent = sent.and_then(|()| self.stream.flush());
        sent.map_err(DeliveryError::io(format!("cannot write to {}", self.server)))?;
        self.answer(step, code)
    }

    /// Reads an answer of any number of lines: `250-…`, `250 …`.
    fn answer(&mut self, step: &'static str, code: u16) -> Result<(), DeliveryError> {
        for _ in 0..LINES_MAX {
            let line = self
                .line()
                .map_err(DeliveryError::io(format!("cannot read from {}", self.server)))?;
            if line.get(3..4) == Some("-") {
                continue;
            }
            let is_wanted = line.get(..3).and_then(|digits| digits.parse().ok()) == Some(code);
            let answer = crate::message::shown(&line);
            return if is_wanted { Ok(()) } else { Err(DeliveryError::Refused { step, answer }) };
        }
        Err(DeliveryError::Refused { step, answer: "an answer without an end".to_owned() })
    }

    /// Reads no byte beyond the line: what follows STARTTLS must be encrypted.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            match byte[0] {
                b'\n' => return Ok(String::from_utf8_lossy(line.trim_ascii()).into_owned()),
                _ if line.len() == LINE_BYTES_MAX => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "its answer is too long",
                    ));
                }
                byte => line.push(byte),
            }
        }
    }
}

/// A message with its headers; a picture is attached.
fn mime(from: &str, to: &str, message: &AlertMessage) -> String {
    let random = || {
        let bytes = connection::random::<12>().unwrap_or_default();
        hex(&bytes).to_string()
    };
    let host = from.rsplit_once('@').map_or("localhost", |(_, host)| host);
    let mut text = format!(
        "From: <{from}>\r\nTo: <{to}>\r\nSubject: {}\r\nDate: {}\r\nMessage-ID: <{}@{host}>\r\n\
         Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n",
        header_text(&message.subject),
        calendar::strftime("%a, %d %b %Y %H:%M:%S +0000", message.at_ms.div_euclid(1000), None),
        random(),
    );
    let body = message.text.replace('\n', "\r\n");
    match &message.picture {
        None => push_part(&mut text, "text/plain; charset=utf-8", "", body.as_bytes()),
        Some(picture) => {
            // It is in no part: base 64 has no `-`.
            let border = format!("--{}", random());
            let _ = write!(
                text,
                "Content-Type: multipart/mixed; boundary=\"{border}\"\r\n\r\n--{border}\r\n"
            );
            push_part(&mut text, "text/plain; charset=utf-8", "", body.as_bytes());
            let _ = write!(text, "--{border}\r\n");
            let name = AlertPicture::NAME;
            let place = format!("Content-Disposition: attachment; filename=\"{name}\"\r\n");
            push_part(&mut text, AlertPicture::KIND, &place, &picture.png);
            let _ = write!(text, "--{border}--\r\n");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// A part of a message: its type, other headers, and its bytes in base 64.
fn push_part(text: &mut String, kind: &str, headers: &str, bytes: &[u8]) {
    // Writing to a string cannot fail.
    let _ =
        write!(text, "Content-Type: {kind}\r\n{headers}Content-Transfer-Encoding: base64\r\n\r\n");
    let encoded = Base64::encode_string(bytes);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE_CHARS));
        let _ = write!(text, "{line}\r\n");
        rest = after;
    }
}

/// A text of a header, all of it encoded (RFC 2047): no line of it can be another header.
fn header_text(text: &str) -> String {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(rest.len().min(42)));
        words.push(format!("=?utf-8?B?{}?=", Base64::encode_string(word.as_bytes())));
        rest = after;
    }
    words.join("\r\n ")
}
