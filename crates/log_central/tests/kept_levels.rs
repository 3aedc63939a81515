//! A level that is set at the centre and is to last does: beyond the program, the proxy and the server,
//! for programs in Rust and C; and none of their records is of another level.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::Command;

use crate::common::{Folders, PATIENCE, c_program, central, folders, in_role, proxy, pump};
use connection::Address;
use log_central::Central;
use log_protocol::frame::{FrameKind, Head};
use log_protocol::handshake::{Hello, PeerRole, greet_server, send};
use log_protocol::levels::{Lasting, LevelOrder};
use log_proxy::Proxy;
use logger::{LogConfig, Logger, log_error, log_info};
use logring::{KeptLevels, RingDirectory, RingReader};

/// Plays a role that only the tests of this file have; gives whether it is one of them.
pub(crate) fn play(role: &[&str]) -> bool {
    let ["kept", folder] = role else { return false };
    let mut config = LogConfig::new(folder, "host", "program");
    // What was set at run time comes before what is configured.
    config.set_acs("named:minLogLevel", "TRACE").unwrap();
    let _logging = logger::start(config).unwrap();
    let log = Logger::new("named").unwrap();
    (0..10).for_each(|number| log_info!(log, "{}", number));
    (0..2).for_each(|number| log_error!(log, "{}", number));
    true
}

/// Records that a program makes, which is run to its end, in Rust and in C: ten of INFO, two of ERROR.
fn made(folders: &Folders) -> Vec<usize> {
    let apart = folders.all.path().join("apart");
    let count = |mut command: Command| {
        let _ = std::fs::remove_dir_all(&apart);
        std::fs::create_dir(&apart).unwrap();
        // Not read by the proxy meanwhile.
        if let Ok(kept) = KeptLevels::read(&folders.rings) {
            kept.write(&apart).unwrap();
        }
        assert!(command.status().unwrap().success());
        records(&apart)
    };
    let rust = in_role(&format!("kept|{}", apart.display()));
    let c = c_program().map(|program| {
        let mut command = Command::new(program);
        command.arg("acs").arg(&apart);
        command
    });
    std::iter::once(rust).chain(c).map(count).collect()
}

fn records(folder: &Path) -> usize {
    let mut count = 0;
    for path in RingDirectory::scan(folder).unwrap().rings {
        let (mut ring, mut batch) = (RingReader::open(&path).unwrap(), logring::Batch::default());
        loop {
            ring.read(&mut batch, 1 << 16).unwrap();
            if batch.is_empty() {
                break;
            }
            count +=
                batch.records().filter(|one| one.unwrap().kind == logring::abi::kind::LOG).count();
        }
    }
    count
}

/// Sets the level of loggers at the centre, and carries until the proxy's answer is here; gives why it
/// was refused, if it was.
fn set(folders: &Folders, proxy: &mut Proxy, order: &LevelOrder) -> Option<String> {
    let hello = Hello { role: PeerRole::Admin, proxy: [0; 16], host: String::new() };
    let address = Address::Unix(folders.socket.clone());
    let (mut reader, mut writer) = greet_server(&address, PATIENCE, None, None, &hello).unwrap();
    send(&mut writer, Head::plain(FrameKind::SetLevel), &order.encode()).unwrap();
    let answer = std::thread::spawn(move || {
        let mut body = Vec::new();
        loop {
            let head = reader.read(&mut body).unwrap().expect("an answer");
            match (head.kind, head.next) {
                (FrameKind::Refused, _) => {
                    return Some(String::from_utf8_lossy(&body).into_owned());
                }
                (FrameKind::LevelSet, 1) => {}
                _ => return None,
            }
        }
    });
    pump(proxy, "an answer", |_| answer.is_finished());
    answer.join().unwrap()
}

fn order(central: u8, lasting: Lasting) -> LevelOrder {
    let logger = "na*".to_owned();
    LevelOrder { logger, central: Some(central), lasting, ..LevelOrder::default() }
}

fn both(folders: &Folders) -> (Central, Proxy) {
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    pump(&mut proxy, "a connection", |proxy| proxy.is_connected());
    (central, proxy)
}

fn is_kept(folders: &Folders) -> bool {
    KeptLevels::read(&folders.rings).is_ok_and(|kept| kept.of("host", "p", "named").0.is_some())
}

#[test]
fn a_level_that_is_to_last_survives_program_proxy_and_server() {
    let folders = folders();
    let all = |count: usize| made(&folders).iter().all(|made| *made == count);
    let (central, mut proxy) = both(&folders);
    assert_eq!(set(&folders, &mut proxy, &order(8, Lasting::No)), None);
    assert!(!is_kept(&folders) && all(12));
    assert_eq!(set(&folders, &mut proxy, &order(8, Lasting::Keep)), None);
    pump(&mut proxy, "the level is kept", |_| is_kept(&folders));
    let local = LevelOrder { central: None, local: Some(99), ..order(8, Lasting::Keep) };
    assert_eq!(set(&folders, &mut proxy, &local), None);
    let has_local = |_: &mut Proxy| {
        KeptLevels::read(&folders.rings).unwrap().of("host", "p", "named") == (Some(8), Some(99))
    };
    pump(&mut proxy, "both levels are kept", has_local);
    assert!(all(2));
    // Without proxy and server.
    drop(proxy);
    central.stop();
    assert!(all(2));
    // After a start of the machine: the folder of rings is new, and the server says it again.
    std::fs::remove_dir_all(&folders.rings).unwrap();
    let (central, mut proxy) = both(&folders);
    pump(&mut proxy, "the server says it again", |_| is_kept(&folders));
    assert!(all(2));
    assert_eq!(set(&folders, &mut proxy, &order(2, Lasting::Forget)), None);
    pump(&mut proxy, "it is forgotten", |_| !is_kept(&folders));
    assert!(all(12));
    let by_number = LevelOrder { process: "17".to_owned(), ..order(8, Lasting::Keep) };
    assert!(set(&folders, &mut proxy, &by_number).unwrap().contains("no process by its number"));
    drop(proxy);
    central.stop();
}

/// A new store knows of no levels, and takes none away.
#[test]
fn a_new_store_takes_no_levels_away() {
    let folders = folders();
    let (central, mut proxy) = both(&folders);
    assert_eq!(set(&folders, &mut proxy, &order(8, Lasting::Keep)), None);
    pump(&mut proxy, "the level is kept", |_| is_kept(&folders));
    drop(proxy);
    central.stop();
    std::fs::remove_dir_all(&folders.store).unwrap();
    let (central, mut proxy) = both(&folders);
    // The answer comes after all that the server has said before.
    assert_eq!(set(&folders, &mut proxy, &order(8, Lasting::No)), None);
    assert!(is_kept(&folders));
    drop(proxy);
    central.stop();
}
