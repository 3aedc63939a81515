//! A shared secret, proved by both sides without sending it: HMAC-SHA-256 over numbers that are
//! used once.

use std::fs::File;
use std::io::{self, Read as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a number that is used once, and of a proof.
pub const PROOF_BYTES: usize = 32;
/// Longest secret that is read from a file.
const SECRET_BYTES_MAX: u64 = 4096;

/// The side of a connection that proves that it has the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that connects.
    Client,
    /// The side that listens.
    Server,
}

/// Random bytes of the kernel.
///
/// # Errors
/// If there is no `/dev/urandom`.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a secret from a file; white space at its ends does not count.
///
/// # Errors
/// If the file cannot be read, is empty or too long, or others may read it.
pub fn read_secret(path: &std::path::Path) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = File::open(path)?;
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    if file.metadata()?.permissions().mode() & 0o007 != 0 {
        return Err(invalid("everybody may read or write this secret: chmod 600"));
    }
    let mut secret = Vec::new();
    file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut secret)?;
    let secret = secret.trim_ascii().to_vec();
    match secret.len() as u64 {
        0 => Err(invalid("the secret is empty")),
        length if length > SECRET_BYTES_MAX => Err(invalid("the secret is longer than 4096 bytes")),
        _ => Ok(secret),
    }
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
