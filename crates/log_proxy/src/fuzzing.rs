//! For fuzz targets: a proxy without a server, spools of arbitrary bytes with right checksums, files of
//! journals.  Not part of the interface.

use std::path::Path;
use std::time::Duration;

use connection::Address;
use log_protocol::bytes::u32_at;
use log_protocol::frame::{self, HEAD_BYTES};
use log_protocol::fuzzing::{mend_head, places_of};

use crate::proxy::{Proxy, ProxySettings};
use crate::spool::Spool;

/// A proxy that reads a folder of rings into a spool, without a central server.
///
/// # Panics
/// If the spool cannot be opened.
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn read_rings(rings: &Path, spool: &Path, rounds: usize) {
    let spool = Spool::open(spool, 1 << 24, [5; 16]).expect("a spool");
    let settings = ProxySettings {
        folders: vec![rings.to_owned()],
        central: Some(Address::Unix(rings.join("socket"))),
        secret: None,
        tls: None,
        host: "host".to_owned(),
        idle: Duration::ZERO,
        sync: None,
    };
    Proxy::new(settings, spool).run_to_end(rounds);
}

/// Reads the files of the journals in a folder; gives how many entries they have.
#[must_use]
pub fn read_journals(folder: &Path) -> usize {
    crate::input::entries_of_files(folder)
}

/// The bytes with the checksums of a spool segment and its frames, wherever one begins.
#[must_use]
pub fn mended_spool(mut bytes: Vec<u8>) -> Vec<u8> {
    mend_head(&mut bytes, 0);
    let places: Vec<usize> = places_of(&bytes, &frame::MAGIC);
    for at in places {
        let Some(length) = bytes.get(at + 8..at + 12).map(|_| u32_at(&bytes, at + 8) as usize)
        else {
            continue;
        };
        let body = bytes.get(at + HEAD_BYTES..at + HEAD_BYTES + length);
        if let Some(crc) = body.map(crc32c::crc32c) {
            bytes[at + 12..at + 16].copy_from_slice(&crc.to_le_bytes());
        }
        mend_head(&mut bytes, at);
    }
    bytes
}
