//! Mail, to servers that speak SMTP: plain, with TLS, that refuse, and that are silent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use alert::{AlertDeliverer, AlertMessage, MailEncryption, MailSettings};
use base64ct::{Base64, Encoding as _};
use connection::{Address, ServerTls, SocketStream};
use testkit::Authority;

use super::message;

/// What a server does.
#[derive(Default)]
struct Script {
    tls: Option<ServerTls>,
    is_encrypted_at_once: bool,
    /// Commands and what is answered to them; others are obeyed.
    refuses: &'static [(&'static str, &'static str)],
}

/// Serves one client; the lines that it said, with the lines of its message, dots taken out.
fn serve(script: Script) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, thread::spawn(move || converse(&script, listener.accept().unwrap().0)))
}

fn converse(script: &Script, stream: TcpStream) -> Vec<String> {
    let secured = |stream: SocketStream| stream.secured(script.tls.as_ref(), testkit::PATIENCE);
    let mut stream = SocketStream::tcp(stream);
    if script.is_encrypted_at_once {
        stream = secured(stream).unwrap();
    }
    stream.write_all(b"220-mail.example\r\n220 ready\r\n").unwrap();
    let (mut heard, mut is_data) = (Vec::new(), false);
    while let Some(line) = line(&mut stream) {
        let word = line.split([' ', ':']).next().unwrap_or_default();
        let refused = script.refuses.iter().find(|(command, _)| *command == word);
        let answer = match (is_data, word) {
            (true, _) if line == "." => "250 taken",
            (true, _) => "",
            _ if refused.is_some() => refused.unwrap().1,
            (_, "EHLO") => "250-mail.example\r\n250-STARTTLS\r\n250 AUTH PLAIN",
            (_, "AUTH") => "235 known",
            (_, "STARTTLS") => "220 go on",
            (_, "DATA") => "354 end with a dot",
            (_, "QUIT") => "221 bye",
            _ => "250 so be it",
        };
        is_data = if is_data { line != "." } else { answer.starts_with("354") };
        let unstuffed = line.strip_prefix('.').filter(|_| is_data && line.len() > 1);
        heard.push(unstuffed.unwrap_or(&line).to_owned());
        if !answer.is_empty() && write!(stream, "{answer}\r\n").is_err() {
            break;
        }
        if word == "STARTTLS" && answer.starts_with("220") {
            stream = match secured(stream) {
                Ok(stream) => stream,
                Err(_) => break,
            };
        }
    }
    heard
}

/// A line, which ends with CR LF and has neither elsewhere.
fn line(stream: &mut SocketStream) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    let line = String::from_utf8(line).unwrap();
    let line = line.strip_suffix("\r\n").unwrap();
    assert!(!line.contains(['\r', '\n']) && line.len() <= 998, "{line:?}");
    Some(line.to_owned())
}

fn deliverer(
    port: u16,
    encryption: MailEncryption,
    authority: Option<&Authority>,
) -> AlertDeliverer {
    let mail = MailSettings {
        server: Address::Network { host: "localhost".to_owned(), port, is_encrypted: false },
        encryption,
        from: "whit@h".to_owned(),
        user: None,
        ca: authority.map(|authority| authority.file.clone()),
    };
    AlertDeliverer { time: testkit::PATIENCE, mail: Some(mail), ..AlertDeliverer::default() }
}

/// What a client says, and how it ends, beside a server.
fn said(
    script: Script,
    (encryption, authority): (MailEncryption, Option<&Authority>),
    user: Option<&Path>,
) -> (Vec<String>, Result<(), String>) {
    let (port, server) = serve(script);
    let mut deliverer = deliverer(port, encryption, authority);
    if let Some(mail) = &mut deliverer.mail {
        mail.user = user.map(|path| ("me".to_owned(), path.to_owned()));
    }
    let result = deliverer.deliver("mail:you@there", &message());
    let result = result.map_err(|error| text::error_text::with_causes(&error));
    // A client that does not even connect.
    drop(TcpStream::connect(("localhost", port)));
    (server.join().unwrap(), result)
}

/// The headers and the bytes of a part of a message.
fn part(lines: &[String]) -> (Vec<String>, Vec<u8>) {
    let gap = lines.iter().position(String::is_empty).unwrap();
    (lines[..gap].to_vec(), Base64::decode_vec(&lines[gap + 1..].concat()).unwrap())
}

/// The headers, the text and the picture of a message that a server heard.
fn parse(heard: &[String]) -> (Vec<String>, String, Vec<u8>) {
    let begin = heard.iter().position(|line| line == "DATA").unwrap() + 1;
    let end = heard.iter().position(|line| line == ".").unwrap();
    let lines = &heard[begin..end];
    let gap = lines.iter().position(String::is_empty).unwrap();
    let headers = lines[..gap].to_vec();
    let border = headers.iter().find_map(|line| line.split_once("boundary=\"")).unwrap().1;
    let border = format!("--{}", border.trim_end_matches('"'));
    let parts: Vec<&[String]> = lines[gap + 1..].split(|line| *line == border).collect();
    let [before, text, picture] = parts.as_slice() else { panic!("{lines:#?}") };
    let (last, picture) = picture.split_last().unwrap();
    assert!(before.is_empty() && *last == format!("{border}--"), "{lines:#?}");
    let ((text_headers, text), (picture_headers, picture)) = (part(text), part(picture));
    assert!(text_headers.contains(&"Content-Type: text/plain; charset=utf-8".to_owned()));
    let place = "Content-Disposition: attachment; filename=\"value.png\"".to_owned();
    assert!(picture_headers.contains(&place), "{picture_headers:?}");
    (headers, String::from_utf8(text).unwrap(), picture)
}

fn check_mail(heard: &[String], message: &AlertMessage) {
    assert!(heard.contains(&"MAIL FROM:<whit@h>".to_owned()), "{heard:?}");
    assert!(heard.contains(&"RCPT TO:<you@there>".to_owned()), "{heard:?}");
    let (headers, text, picture) = parse(heard);
    assert_eq!(Some(picture), message.picture.as_ref().map(|one| one.png.clone()));
    let is_one = |line: &&String| !line.starts_with(' ');
    let names: Vec<&str> =
        headers.iter().filter(is_one).map(|line| line.split(':').next().unwrap()).collect();
    let wanted = [
        "From",
        "To",
        "Subject",
        "Date",
        "Message-ID",
        "Auto-Submitted",
        "MIME-Version",
        "Content-Type",
    ];
    assert_eq!(names, wanted);
    assert!(headers.contains(&"Date: Mon, 21 Sep 2026 14:13:20 +0000".to_owned()), "{headers:?}");
    assert_eq!(text, message.text.replace('\n', "\r\n"));
}

#[test]
fn a_mail_has_its_headers_and_its_text() {
    let (heard, result) = said(Script::default(), (MailEncryption::Plain, None), None);
    result.unwrap();
    check_mail(&heard, &message());
    assert_eq!(heard.last().unwrap(), "QUIT");
}

#[test]
fn a_mail_without_a_picture_is_one_text() {
    let (port, server) = serve(Script::default());
    let message = AlertMessage { picture: None, ..message() };
    deliverer(port, MailEncryption::Plain, None).deliver("mail:you@there", &message).unwrap();
    let heard = server.join().unwrap();
    assert!(heard.contains(&"Content-Type: text/plain; charset=utf-8".to_owned()), "{heard:?}");
    assert!(!heard.iter().any(|line| line.contains("multipart")), "{heard:?}");
}

#[test]
fn a_password_goes_only_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "authority");
    let files = authority.sign("mail", &["localhost"], false);
    let tls = ServerTls::load(&files.certificate, &files.key, None).unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "secret\n").unwrap();
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).unwrap();
    let auth = format!("AUTH PLAIN {}", Base64::encode_string(b"\0me\0secret"));
    for at_once in [false, true] {
        let script =
            Script { tls: Some(tls.clone()), is_encrypted_at_once: at_once, ..Script::default() };
        let way = if at_once { MailEncryption::Tls } else { MailEncryption::StartTls };
        let (heard, result) = said(script, (way, Some(&authority)), Some(&password));
        result.unwrap();
        check_mail(&heard, &message());
        assert!(heard.contains(&auth), "{heard:?}");
        let start = heard.iter().position(|line| line == "STARTTLS");
        assert!(
            start.is_none_or(|start| heard[start..].contains(&auth)) && start.is_none() == at_once
        );
    }
    let (heard, result) = said(Script::default(), (MailEncryption::Plain, None), Some(&password));
    assert!(result.unwrap_err().contains("a password goes only over TLS") && heard.is_empty());
    // A server, or somebody between, that offers no TLS gets nothing.
    let refuses: &[(&str, &str)] = &[("STARTTLS", "502 what is that")];
    let script = Script { refuses, ..Script::default() };
    let (heard, result) =
        said(script, (MailEncryption::StartTls, Some(&authority)), Some(&password));
    assert!(result.unwrap_err().contains("STARTTLS with: 502 what is that"));
    assert_eq!(heard, ["EHLO localhost", "STARTTLS"]);
    // Nor does one that another authority knows.
    let script = Script { tls: Some(tls), ..Script::default() };
    let other = Authority::new(folder.path(), "other");
    let (heard, result) = said(script, (MailEncryption::StartTls, Some(&other)), Some(&password));
    assert!(result.is_err() && heard == ["EHLO localhost", "STARTTLS"], "{heard:?}");
}

#[test]
fn what_a_server_refuses_is_told() {
    for (refuses, wanted) in [
        (&[("EHLO", "554 no")], "the server answers EHLO with: 554 no"),
        (
            &[("RCPT", "550-no\r\n550 \u{1b}[2J such user")],
            "answers RCPT TO with: 550 \\x1b[2J such",
        ),
        (&[("DATA", "452 full")], "answers DATA with: 452 full"),
        (&[("MAIL", "nonsense")], "answers MAIL FROM with: nonsense"),
    ] as [(&[(&str, &str)], &str); 4]
    {
        let script = Script { refuses, ..Script::default() };
        let (_, result) = said(script, (MailEncryption::Plain, None), None);
        let said = result.unwrap_err();
        assert!(said.contains(wanted), "{said}");
    }
    let none = AlertDeliverer::default().deliver("mail:a@b", &message()).unwrap_err().to_string();
    assert!(none.contains("[alerts.mail]"), "{none}");
}

#[test]
fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut deliverer = deliverer(port, MailEncryption::Plain, None);
    deliverer.time = Duration::from_millis(100);
    let said = deliverer.deliver("mail:a@b", &message()).unwrap_err();
    assert!(said.to_string().contains("cannot read from"), "{said}");
}
