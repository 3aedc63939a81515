//! Mails of thresholds, by SMTP (RFC 5321): the first server of a list that answers takes them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;
use text::byte_text;

/// Bytes of a line of a server's answer.
const ANSWER_SIZE_MAX: u64 = 2_000;
/// Lines of a server's answer.
const ANSWER_LINES_MAX: usize = 100;

/// A mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Names or addresses of servers, each with a port if it is not 25.
    pub servers: Vec<String>,
    /// The sender's address.
    pub sender: String,
    /// Addresses of receivers.
    pub receivers: Vec<String>,
    /// Head and body, with `\n` at ends of lines.
    pub message: String,
}

/// Why a mail was not sent.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// No server can be reached.
    #[error("no mail to {receivers}: cannot reach {server}")]
    Connect {
        /// The addresses that the mail was for.
        receivers: String,
        /// The last server that was tried.
        server: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A server refused something.
    #[error("no mail to {receivers}: {server} answers {command}: {answer}")]
    Refused {
        /// The addresses that the mail was for.
        receivers: String,
        /// The server.
        server: String,
        /// What it was told.
        command: String,
        /// What it said.
        answer: String,
    },
    /// The connection broke.
    #[error("no mail to {receivers}: the connection to {server} broke")]
    Broken {
        /// The addresses that the mail was for.
        receivers: String,
        /// The server.
        server: String,
        /// What the kernel said.
        source: std::io::Error,
    },
}

impl Mail {
    pub(super) fn new(servers: &str, sender: &str, receivers: &str, message: String) -> Self {
        let list = |text: &str| {
            let words = text.split(',').map(|word| without_breaks(word.trim()));
            words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
        };
        let sender = without_breaks(sender.trim());
        Mail { servers: list(servers), sender, receivers: list(receivers), message }
    }
}

/// A line break in an address would be a command of its own.
fn without_breaks(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

/// Sends a mail.  `own_name` is what this machine calls itself; each step may take `at_most`.
///
/// # Errors
/// If no server takes the mail.
pub fn send(mail: &Mail, own_name: &str, at_most: Duration) -> Result<(), MailError> {
    let receivers = mail.receivers.join(", ");
    let mut last = (String::new(), std::io::Error::other("no server is given"));
    for server in &mail.servers {
        match connect(server, at_most) {
            Ok(stream) => {
                let failed = |failure| match failure {
                    Failure::Broken(source) => {
                        let (receivers, server) = (receivers.clone(), server.clone());
                        MailError::Broken { receivers, server, source }
                    }
                    Failure::Refused { command, answer } => {
                        let (receivers, server) = (receivers.clone(), server.clone());
                        MailError::Refused { receivers, server, command, answer }
                    }
                };
                return Dialogue::new(stream)
                    .and_then(|mut d| d.run(mail, own_name))
                    .map_err(failed);
            }
            Err(error) => last = (server.clone(), error),
        }
    }
    Err(MailError::Connect { receivers, server: last.0, source: last.1 })
}

fn connect(server: &str, at_most: Duration) -> std::io::Result<TcpStream> {
    let has_port = server.rsplit_once(':').is_some_and(|(host, port)| {
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    });
    let whole = if has_port { server.to_owned() } else { format!("{server}:25") };
    let mut last = std::io::Error::other("the name has no address");
    for address in whole.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, at_most) {
            Ok(stream) => {
                stream.set_read_timeout(Some(at_most))?;
                stream.set_write_timeout(Some(at_most))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

enum Failure {
    Broken(std::io::Error),
    Refused { command: String, answer: String },
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Broken(error)
    }
}

struct Dialogue {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Dialogue {
    fn new(stream: TcpStream) -> Result<Self, Failure> {
        let writer = stream.try_clone()?;
        Ok(Dialogue { reader: BufReader::new(stream), writer })
    }

    fn run(&mut self, mail: &Mail, own_name: &str) -> Result<(), Failure> {
        self.expect("the greeting", '2')?;
        if self.command(&format!("EHLO {own_name}"), '2').is_err() {
            self.command(&format!("HELO {own_name}"), '2')?;
        }
        self.command(&format!("MAIL FROM:<{}>", mail.sender), '2')?;
        let mut refusal = None;
        let mut accepted = 0;
        for receiver in &mail.receivers {
            match self.command(&format!("RCPT TO:<{receiver}>"), '2') {
                Ok(()) => accepted += 1,
                Err(failure @ Failure::Refused { .. }) => refusal = Some(failure),
                Err(failure) => return Err(failure),
            }
        }
        if let (0, Some(refusal)) = (accepted, refusal) {
            return Err(refusal);
        }
        self.command("DATA", '3')?;
        self.writer.write_all(&data(&mail.message))?;
        self.expect("the message", '2')?;
        // The mail is accepted by now.
        let _ = self.command("QUIT", '2');
        Ok(())
    }

    fn command(&mut self, command: &str, expected: char) -> Result<(), Failure> {
        self.writer.write_all(format!("{command}\r\n").as_bytes())?;
        self.expect(command, expected)
    }

    /// Reads an answer, of one or several lines.
    fn expect(&mut self, command: &str, expected: char) -> Result<(), Failure> {
        let mut answer = Vec::new();
        for _ in 0..ANSWER_LINES_MAX {
            answer.clear();
            (&mut self.reader).take(ANSWER_SIZE_MAX).read_until(b'\n', &mut answer)?;
            if answer.is_empty() {
                return Err(Failure::Broken(std::io::ErrorKind::UnexpectedEof.into()));
            }
            if answer.get(3) != Some(&b'-') {
                break;
            }
        }
        let answer = String::from_utf8_lossy(&answer).trim_end().to_owned();
        match answer.starts_with(expected) {
            true => Ok(()),
            false => Err(Failure::Refused { command: command.to_owned(), answer }),
        }
    }
}

/// The message as it is sent: `\r\n` at ends of lines, dots at their beginnings doubled, and the
/// final dot.
fn data(message: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 100);
    for line in message.lines() {
        if line.starts_with('.') {
            out.push(b'.');
        }
        out.extend_from_slice(byte_text::shown(line.trim_end_matches('\r')).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_doubled_and_addresses_have_one_line() {
        assert_eq!(data("a\n.b\n..\n"), b"a\r\n..b\r\n...\r\n.\r\n");
        let mail = Mail::new("a, b:26", "x@y\r\nDATA", "1@b,2@c", String::new());
        assert_eq!(mail.servers, ["a", "b:26"]);
        assert_eq!(mail.sender, "x@yDATA");
        assert_eq!(mail.receivers, ["1@b", "2@c"]);
    }
}
