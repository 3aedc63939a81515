//! Keyed hashes (HMAC-SHA-256), by which secrets are compared in a time that says nothing about them.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// A keyed hash over pieces, each with its length, so that no two lists are the same.
pub(crate) fn mac(key: &[u8], pieces: &[&[u8]]) -> Hmac<Sha256> {
    // HMAC takes keys of any length.
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key)
        .unwrap_or_else(|_| Hmac::new(&Default::default()));
    for piece in pieces {
        mac.update(&(piece.len() as u64).to_le_bytes());
        mac.update(piece);
    }
    mac
}
