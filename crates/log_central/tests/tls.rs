//! The carrier over TLS: certificates of both sides, and what each side says when they do not fit.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::time::Duration;

use crate::common::{Folders, PATIENCE, drain, folders, held, pump_to_end, settings, start};
use connection::{Address, ClientTls, ServerTls};
use log_central::{AdmissionLimits, Central, CentralSettings};
use log_protocol::handshake::{Hello, PeerRole, greet_server};
use log_protocol::parse_address;
use log_proxy::Spool;
use log_proxy::{Proxy, ProxySettings};
use log_store::{Retention, Store, StoreSettings};
use testkit::Authority;

/// A server on a port of its own; its address.
fn serve(folders: &Folders, tls: Option<&ServerTls>, secret: Option<&[u8]>) -> (Central, String) {
    let id = log_protocol::auth::random().unwrap();
    let (store, recovery) = Store::open(&folders.store, StoreSettings::default(), id).unwrap();
    let address = match tls {
        Some(_) => parse_address("tls:127.0.0.1:0").unwrap(),
        None => parse_address("127.0.0.1:0").unwrap(),
    };
    let listener = address.listen(tls).unwrap();
    let port = listener.socket.port().unwrap().unwrap();
    let settings = CentralSettings {
        secret: secret.map(<[u8]>::to_vec),
        delay: Duration::from_millis(2),
        retention: Retention::default(),
        limits: AdmissionLimits::default(),
        host: "central".to_owned(),
        acks_on_receipt: false,
        recordings: None,
    };
    let central = Central::start(store, &recovery, vec![listener], settings).unwrap();
    (central, format!("127.0.0.1:{port}"))
}

/// Greets a server as an administrator; why it fails.
fn greet(address: &Address, tls: Option<&ClientTls>, secret: Option<&[u8]>) -> Option<String> {
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let greeted = greet_server(address, PATIENCE, tls, secret, &hello);
    greeted.err().map(|error| error.to_string())
}

/// Waits until the server has said this.
fn said(central: &Central, part: &str) {
    testkit::wait_until(part, || {
        central.take_messages().iter().any(|text: &String| text.contains(part))
    });
}

fn server(folder: &Path, client_authority: Option<&Path>) -> ServerTls {
    let files = folder.join("server.pem");
    ServerTls::load(&files, &folder.join("server.key"), client_authority).unwrap()
}

#[test]
fn records_go_over_tls_with_certificates_of_both_sides_and_a_secret() {
    let folders = folders();
    let here = folders.all.path();
    let ours = Authority::new(here, "ours");
    let _files = ours.sign("server", &["127.0.0.1"], false);
    let client = ours.sign("client", &[], false);
    let tls = server(here, Some(&ours.file));
    let (central, address) = serve(&folders, Some(&tls), Some(b"secret"));
    let client = ClientTls::load(&ours.file, Some((&client.certificate, &client.key))).unwrap();
    let settings = ProxySettings {
        central: Some(parse_address(&format!("tls:{address}")).unwrap()),
        tls: Some(client),
        secret: Some(b"secret".to_vec()),
        ..settings(&folders.rings, &folders.socket)
    };
    let spool =
        Spool::open(&folders.spool, 1 << 30, log_protocol::auth::random().unwrap()).unwrap();
    let mut proxy = Proxy::new(settings, spool);
    // Some 15 MB: more than all buffers on the way.
    let mut writer = start(&format!("write|{}|2|100000", folders.rings.display()));
    pump_to_end(&mut proxy, &mut writer);
    drain(&mut proxy, &folders.rings);
    assert_eq!(proxy.counters().connections, 1);
    central.stop();
    let held = held(&folders.store);
    held.assert_whole();
    assert_eq!(held.numbers.values().map(Vec::len).sum::<usize>(), 200_000);
}

#[test]
fn both_sides_say_what_does_not_fit() {
    let folders = folders();
    let here = folders.all.path();
    let ours = Authority::new(here, "ours");
    let others = Authority::new(here, "others");
    let _files = ours.sign("server", &["127.0.0.1"], false);
    let client = ours.sign("client", &[], false);
    let stranger = others.sign("stranger", &[], false);
    let tls = server(here, Some(&ours.file));
    let (central, address) = serve(&folders, Some(&tls), Some(b"secret"));
    let encrypted = parse_address(&format!("tls:{address}")).unwrap();
    let secret = Some(b"secret".as_slice());
    let own = |files: &testkit::CertificateFiles| {
        ClientTls::load(&ours.file, Some((&files.certificate, &files.key))).unwrap()
    };
    assert_eq!(greet(&encrypted, Some(&own(&client)), secret), None);
    let nothing = ClientTls::load(&ours.file, None).unwrap();
    let refused = greet(&encrypted, Some(&nothing), secret).unwrap();
    assert!(refused.contains("asks for a certificate, and we have none"), "{refused}");
    said(&central, "the other side has no certificate");
    let refused = greet(&encrypted, Some(&own(&stranger)), secret).unwrap();
    assert!(refused.contains("does not know the authority (CA)"), "{refused}");
    let untrusted = ClientTls::load(&others.file, None).unwrap();
    let refused = greet(&encrypted, Some(&untrusted), secret).unwrap();
    assert!(refused.contains("not signed by an authority (CA) that we trust"), "{refused}");
    let refused = greet(&encrypted, Some(&own(&client)), Some(b"other")).unwrap();
    assert!(refused.contains("the secret is wrong"), "{refused}");
    let refused = greet(&encrypted, Some(&own(&client)), None).unwrap();
    assert!(refused.contains("the server wants a secret"), "{refused}");
    // Plain where TLS is expected: nobody says anything.
    let plain = parse_address(&address).unwrap();
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let refused = greet_server(&plain, Duration::from_millis(300), None, secret, &hello);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("put tls: in front"), "{refused}");
    assert_eq!(greet(&encrypted, Some(&own(&client)), secret), None);
    central.stop();
}

#[test]
fn tls_where_it_is_not_expected_is_named() {
    let folders = folders();
    let here = folders.all.path();
    let ours = Authority::new(here, "ours");
    let (central, address) = serve(&folders, None, None);
    let client = ClientTls::load(&ours.file, None).unwrap();
    let refused =
        greet(&parse_address(&format!("tls:{address}")).unwrap(), Some(&client), None).unwrap();
    assert!(refused.contains("the other side does not speak TLS"), "{refused}");
    central.stop();
}
