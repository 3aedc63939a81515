//! A shared secret, proved by both sides without sending it: HMAC-SHA-256 over numbers that are
//! used once.

pub use connection::{random, read_secret};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a number that is used once, and of a proof.
pub const PROOF_BYTES: usize = 32;

/// The side of a connection that proves that it has the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that connects.
    Client,
    /// The side that listens.
    Server,
}

fn mac(secret: &[u8], side: Side, server_nonce: &[u8], client_nonce: &[u8]) -> Hmac<Sha256> {
    // HMAC takes keys of any length.
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(secret)
        .unwrap_or_else(|_| Hmac::new(&Default::default()));
    mac.update(match side {
        Side::Client => b"whit log client",
        Side::Server => b"whit log server",
    });
    mac.update(server_nonce);
    mac.update(client_nonce);
    mac
}

/// A side's proof; zeros without a secret.
pub fn proof(
    secret: Option<&[u8]>,
    side: Side,
    server_nonce: &[u8],
    client_nonce: &[u8],
) -> [u8; PROOF_BYTES] {
    let Some(secret) = secret else { return [0; PROOF_BYTES] };
    mac(secret, side, server_nonce, client_nonce).finalize().into_bytes().into()
}

/// Whether a side knows the secret; takes the same time for every wrong proof.
pub fn is_proof(
    secret: Option<&[u8]>,
    side: Side,
    server_nonce: &[u8],
    client_nonce: &[u8],
    proof: &[u8],
) -> bool {
    let Some(secret) = secret else { return true };
    mac(secret, side, server_nonce, client_nonce).verify_slice(proof).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_proves_and_no_proof_serves_twice() {
        let (one, other) = ([1; 32], [2; 32]);
        let given = proof(Some(b"secret"), Side::Client, &one, &other);
        assert!(is_proof(Some(b"secret"), Side::Client, &one, &other, &given));
        assert!(!is_proof(Some(b"another"), Side::Client, &one, &other, &given));
        assert!(!is_proof(Some(b"secret"), Side::Server, &one, &other, &given));
        assert!(!is_proof(Some(b"secret"), Side::Client, &other, &other, &given));
        assert!(!is_proof(Some(b"secret"), Side::Client, &one, &other, &[0; 32]));
        assert!(is_proof(None, Side::Client, &one, &other, &[0; 32]));
    }
}
