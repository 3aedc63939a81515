//! Who is let in: by a token, by a password, and what a wrong one costs.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64ct::{Base64, Encoding as _};
use connection::{Address, AddressRules, ListeningSocket, ServerListener};
use http_server::{Credentials, HttpAccess, HttpServer, HttpSettings, hash_password};
use testkit::{HttpAnswer, http_over, http_raw, wait_until};

use crate::common::{Echo, address, loopback, patient, port, start};

/// A file that only its user may read.
fn private(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Settings for a token and two users: `ann` with the password `secret`, `bob` with `p:w`.
fn known(pause: Duration) -> HttpSettings {
    let folder = tempfile::tempdir().unwrap();
    let token = private(folder.path(), "token", "a token\n");
    let [ann, bob] = ["secret", "p:w"].map(|word| hash_password(word.as_bytes()).unwrap());
    let users = private(folder.path(), "users", &format!("# who may\nann:{ann}\nbob:{bob}\n"));
    let credentials = Credentials::load(Some(&token), Some(&users)).unwrap();
    let access = HttpAccess::Known(Arc::new(credentials));
    HttpSettings { access, wrong_password_pause: pause, ..patient() }
}

fn request(authorization: &str) -> String {
    format!("GET /x HTTP/1.0\r\nHost: any.example\r\n{authorization}\r\n")
}

fn basic(name: &str, password: &str) -> String {
    let pair = Base64::encode_string(format!("{name}:{password}").as_bytes());
    format!("Authorization: Basic {pair}\r\n")
}

fn ask(address: SocketAddr, authorization: &str) -> HttpAnswer {
    http_raw(address, request(authorization).as_bytes()).unwrap()
}

#[test]
fn only_those_who_know_the_token_or_a_password_are_answered() {
    let server = start(known(Duration::ZERO));
    let address = address(&server);
    let status = |authorization: &str| ask(address, authorization).status;
    assert_eq!(status("Authorization: Bearer a token\r\n"), 200);
    assert_eq!(status("authorization: bearer a token\r\n"), 200);
    assert_eq!(status(&basic("ann", "secret")), 200);
    assert_eq!(status(&basic("bob", "p:w")), 200);
    for wrong in [
        String::new(),
        "Authorization: Bearer a toke\r\n".to_owned(),
        "Authorization: Bearer a token2\r\n".to_owned(),
        "Authorization: Bearer\r\n".to_owned(),
        "Authorization: Basic !\r\n".to_owned(),
        basic("ann", "p:w"),
        basic("ann", ""),
        basic("eve", "secret"),
        basic("", "a token"),
    ] {
        let refused = ask(address, &wrong);
        assert_eq!((refused.status, refused.body.contains("/x")), (401, false), "{wrong}");
        assert!(refused.head.contains("www-authenticate: Basic realm="), "{}", refused.head);
    }
}

#[test]
fn a_right_password_is_hashed_once_and_one_at_a_time() {
    let server = start(known(Duration::ZERO));
    let address = address(&server);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| assert_eq!(ask(address, &basic("ann", "secret")).status, 200));
        }
    });
    assert_eq!(server.passwords_hashed(), 1);
    // A name that nobody has costs as much as a wrong password.
    assert_eq!(ask(address, &basic("eve", "secret")).status, 401);
    assert_eq!(ask(address, &basic("ann", "Secret")).status, 401);
    assert_eq!(server.passwords_hashed(), 3);
}

/// Whether an answer has come; the connection stays.
fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    match (&*stream).read(&mut [0; 16]) {
        Ok(count) => count > 0,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_wrong_password_costs_its_address_a_pause_and_nobody_else() {
    // Longer than the test.
    let settings = known(Duration::from_secs(3600));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let mut listeners = port();
    let socket = ListeningSocket::bind_unix(&path, &Default::default()).unwrap();
    listeners.push(ServerListener { socket, tls: None });
    let server = HttpServer::start(listeners, settings, Arc::new(Echo::default())).unwrap();
    let address = address(&server);
    assert_eq!(ask(address, &basic("ann", "secret")).status, 200);
    let send = |authorization: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request(authorization).as_bytes()).unwrap();
        stream
    };
    // The first goes away, which does not shorten the pause.
    let gone = send(&basic("bob", "wrong"));
    wait_until("its hash", || server.passwords_hashed() == 2);
    drop(gone);
    let guesses: Vec<TcpStream> =
        (0..50).map(|number| send(&basic("bob", &number.to_string()))).collect();
    let late = send(&basic("bob", "p:w"));
    // Whoever is known already is answered, and so are the token and other addresses.
    for _ in 0..10 {
        assert_eq!(ask(address, &basic("ann", "secret")).status, 200);
        assert_eq!(ask(address, "Authorization: Bearer a token\r\n").status, 200);
    }
    let other = UnixStream::connect(&path).unwrap();
    assert_eq!(http_over(other, request(&basic("bob", "p:w")).as_bytes()).unwrap().status, 200);
    assert_eq!(server.passwords_hashed(), 3);
    assert!(guesses.iter().chain([&late]).all(|stream| !has_answer(stream)));
}

#[test]
fn wrong_tokens_wait_for_each_other_and_a_right_one_for_none() {
    // Longer than the test.
    let settings = HttpSettings { connections_max: 40, ..known(Duration::from_secs(3600)) };
    let server = start(settings);
    let address = address(&server);
    let send = |number: usize| {
        let mut stream = TcpStream::connect(address).unwrap();
        let authorization = format!("Authorization: Bearer {number}\r\n");
        stream.write_all(request(&authorization).as_bytes()).unwrap();
        stream
    };
    // More than there are places, from the address of the right one; those that go away, too.
    let all = testkit::share(10_000);
    (100..all).for_each(|number| drop(send(number)));
    let guesses: Vec<TcpStream> = (0..100).map(send).collect();
    for _ in 0..10 {
        assert_eq!(ask(address, "Authorization: Bearer a token\r\n").status, 200);
    }
    let is_answered = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        // One that had to give way is closed.
        matches!((&**stream).read(&mut [0; 16]), Ok(1..))
    };
    assert_eq!(guesses.iter().filter(is_answered).count(), 0);
}

#[test]
fn files_that_others_may_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let token = private(folder.path(), "token", "word");
    assert!(Credentials::load(Some(&token), None).is_ok());
    let users = folder.path().join("users");
    std::fs::write(&users, format!("a:{}\n", hash_password(b"x").unwrap())).unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&token, 0o644);
    set(&users, 0o604);
    for (token, users) in [(Some(&*token), None), (None, Some(&*users))] {
        let error = Credentials::load(token, users).unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains("chmod 600"), "{why}");
    }
    // Nobody learns the words from what is printed of it.
    set(&users, 0o600);
    let credentials = Credentials::load(None, Some(&users)).unwrap();
    assert!(!format!("{credentials:?}").contains("argon2"));
}

#[test]
fn other_machines_need_tls_and_to_be_known() {
    let rules = AddressRules { default_port: None, is_path: |_| false, is_host: |_| true };
    let parse = |text: &str| Address::parse(text, &rules).unwrap();
    let HttpSettings { access, .. } = known(Duration::ZERO);
    let folder = tempfile::tempdir().unwrap();
    let authority = testkit::Authority::new(folder.path(), "ca");
    let files = authority.sign("server", &["127.0.0.1"], false);
    let load = |ca| connection::ServerTls::load(&files.certificate, &files.key, ca).unwrap();
    let (tls, asking) = (load(None), load(Some(&*authority.file)));
    let said = |text: &str, tls, access: &HttpAccess| {
        http_server::open(&parse(text), tls, access).err().map(|error| error.to_string())
    };
    let refused = |text: &str, tls, access: &HttpAccess, what: &str| {
        let said = said(text, tls, access).expect(text);
        assert!(said.contains(what), "{said}");
    };
    let nobody = HttpAccess::ThisMachine;
    refused("0.0.0.0:0", None, &nobody, "TLS (tls: in front of the address");
    refused("0.0.0.0:0", None, &nobody, "and a token or users");
    refused("0.0.0.0:0", None, &nobody, "an address of the loopback, such as 127.0.0.1:9797");
    refused("[::]:0", None, &access, "TLS (tls:");
    refused("tls:0.0.0.0:0", Some(&tls), &nobody, "a token, users");
    refused("tls:0.0.0.0:0", None, &access, "needs a certificate");
    refused("127.0.0.1:0", Some(&tls), &nobody, "for an address with tls:");
    refused("192.0.2.1:1", None, &access, "cannot listen on 192.0.2.1:1");
    for (text, tls, access) in [
        ("127.0.0.1:0", None, &nobody),
        ("localhost:0", None, &access),
        ("*:0", None, &nobody),
        ("tls:127.0.0.1:0", Some(&tls), &nobody),
        ("tls:0.0.0.0:0", Some(&tls), &access),
        ("tls:0.0.0.0:0", Some(&asking), &HttpAccess::Anyone),
    ] {
        assert_eq!(said(text, tls, access), None, "{text}");
    }
    assert!(loopback(true).is_encrypted());
}
