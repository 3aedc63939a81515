//! Secrets: files that nobody else may read, and random numbers.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Longest secret that is read from a file.
const SECRET_BYTES_MAX: u64 = 4096;

/// Random bytes of the kernel.
///
/// # Errors
/// If there is no `/dev/urandom`.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file of secrets of at most so many bytes.
///
/// # Errors
/// If the file cannot be read, is too long, or everybody may read or write it.
pub fn read_private(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o007 != 0 {
        return Err(invalid("everybody may read or write this secret: chmod 600".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(invalid(format!("the secret is longer than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

/// Reads a secret from a file; white space at its ends does not count.
///
/// # Errors
/// If the file cannot be read, is empty or too long, or others may read it.
pub fn read_secret(path: &Path) -> io::Result<Vec<u8>> {
    let secret = read_private(path, SECRET_BYTES_MAX)?.trim_ascii().to_vec();
    match secret.is_empty() {
        true => Err(invalid("the secret is empty".to_owned())),
        false => Ok(secret),
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
