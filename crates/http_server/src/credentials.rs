//! Who is known: a token, and users with hashes of their passwords.
//!
//! A file of users has lines `NAME:$argon2id$v=19$m=…,t=…,p=…$SALT$HASH`; empty lines and those that
//! begin with `#` do not count.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64ct::{Base64Unpadded, Encoding as _};

/// Most bytes of a file of users: thousands of lines.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Most bytes of a password.
const PASSWORD_BYTES_MAX: usize = 1024;
/// Memory of the hashes that [`hash_password`] makes, in KiB, and their passes: of the settings that
/// OWASP lists as equally strong the one with least memory.
const MEMORY_KIB: u32 = 7168;
const PASSES: u32 = 5;
/// What hashes that others made may ask for: a login must not take the memory or the processor from
/// the machine.
const MEMORY_KIB_MAX: u32 = 64 << 10;
const PASSES_MAX: u32 = 16;
const LANES_MAX: u32 = 4;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// Most bytes of a salt or a hash in a file.
const PIECE_BYTES_MAX: usize = 64;

/// Why nobody can be known by a file.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// It cannot be read, or others may read it.
    #[error("cannot use {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of the file of users is not one.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// There is no user in it.
    #[error("{}: no user: add lines that whit serve --hash-password prints", .0.display())]
    NoUser(PathBuf),
    /// A password that cannot be hashed.
    #[error("{0}")]
    Password(&'static str),
    /// The system gave no random numbers.
    #[error("cannot get random numbers for a salt")]
    Random(#[source] io::Error),
}

/// The clients that are known.
#[derive(Default)]
pub struct Credentials {
    pub(crate) token: Option<Vec<u8>>,
    pub(crate) users: Vec<User>,
}

impl fmt::Debug for Credentials {
    /// Without any secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users: Vec<&str> = self.users.iter().map(|user| user.name.as_str()).collect();
        out.debug_struct("Credentials").field("users", &users).finish_non_exhaustive()
    }
}

/// A user: a name, and what the password is checked by.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    hash: PasswordHash,
}

#[derive(Clone, PartialEq, Debug)]
struct PasswordHash {
    params: Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl Credentials {
    /// Reads a file with a token, a file of users, or both.
    ///
    /// # Errors
    /// If a file cannot be read, others may read it, or it is not as it should be.
    pub fn load(token: Option<&Path>, users: Option<&Path>) -> Result<Self, CredentialsError> {
        let refused = |path: &Path| {
            let path = path.to_owned();
            move |source| CredentialsError::Read { path, source }
        };
        let token =
            token.map(|path| connection::read_secret(path).map_err(refused(path))).transpose()?;
        let users = match users {
            None => Vec::new(),
            Some(path) => {
                let bytes = connection::read_private(path, FILE_BYTES_MAX);
                read_users(path, &bytes.map_err(refused(path))?)?
            }
        };
        Ok(Credentials { token, users })
    }

    /// The user of that name.
    pub(crate) fn user(&self, name: &[u8]) -> Option<usize> {
        self.users.iter().position(|user| user.name.as_bytes() == name)
    }
}

fn read_users(path: &Path, bytes: &[u8]) -> Result<Vec<User>, CredentialsError> {
    let mut users: Vec<User> = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let wrong = |what| CredentialsError::Line { path: path.to_owned(), line: index + 1, what };
        let line = std::str::from_utf8(line).map_err(|_| wrong("it is not UTF-8"))?;
        let (name, hash) =
            line.split_once(':').ok_or_else(|| wrong("it is not NAME:$argon2id$…"))?;
        let hash = PasswordHash::parse(hash).map_err(wrong)?;
        if name.is_empty() || users.iter().any(|user| user.name == name) {
            return Err(wrong("the name is empty, or stands in another line"));
        }
        users.push(User { name: name.to_owned(), hash });
    }
    if users.is_empty() {
        return Err(CredentialsError::NoUser(path.to_owned()));
    }
    Ok(users)
}

impl User {
    /// Whether the password is right.  Takes milliseconds and megabytes.
    pub(crate) fn knows(&self, password: &[u8]) -> bool {
        use hmac::Mac as _;
        let PasswordHash { params, salt, hash } = &self.hash;
        let mut found = vec![0; hash.len()];
        let is_done = compute(params, password, salt, &mut found).is_some();
        // Compared under a key, so that the time says nothing.
        let mac = |bytes: &[u8]| crate::keyed::mac(salt, &[bytes]);
        is_done && mac(&found).verify(&mac(hash).finalize().into_bytes()).is_ok()
    }
}

/// Computes the hash of a password.
fn compute(params: &Params, password: &[u8], salt: &[u8], hash: &mut [u8]) -> Option<()> {
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    let mut memory = vec![Block::default(); params.block_count()];
    argon2.hash_password_into_with_memory(password, salt, hash, &mut memory).ok()
}

impl PasswordHash {
    /// Reads a hash in PHC's form.
    fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "the hash is not $argon2id$v=19$m=…,t=…,p=…$SALT$HASH";
        let rest = text.strip_prefix("$argon2id$v=19$").ok_or(FORM)?;
        let mut parts = rest.split('$');
        let (Some(params), Some(salt), Some(hash), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(FORM);
        };
        let mut numbers = params.split(',').zip(["m=", "t=", "p="]).map(|(part, name)| {
            part.strip_prefix(name).and_then(|number| number.parse::<u32>().ok())
        });
        let mut next = || numbers.next().flatten().ok_or(FORM);
        let (memory, passes, lanes) = (next()?, next()?, next()?);
        if params.split(',').count() != 3 {
            return Err(FORM);
        }
        if memory > MEMORY_KIB_MAX || passes > PASSES_MAX || lanes > LANES_MAX {
            return Err("the hash asks for more than m=65536, t=16 or p=4");
        }
        let piece = |text: &str| {
            let bytes = Base64Unpadded::decode_vec(text).map_err(|_| FORM)?;
            Some(bytes).filter(|bytes| (8..=PIECE_BYTES_MAX).contains(&bytes.len())).ok_or(FORM)
        };
        let (salt, hash) = (piece(salt)?, piece(hash)?);
        let params = Params::new(memory, passes, lanes, Some(hash.len())).map_err(|_| FORM)?;
        Ok(PasswordHash { params, salt, hash })
    }
}

/// The hash of a password for a file of users, with a new salt.
///
/// # Errors
/// If the password is empty or too long, or the system gives no random numbers.
pub fn hash_password(password: &[u8]) -> Result<String, CredentialsError> {
    if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
        return Err(CredentialsError::Password("give a password of 1 to 1024 bytes"));
    }
    let salt: [u8; SALT_BYTES] = connection::random().map_err(CredentialsError::Random)?;
    const UNUSABLE: CredentialsError = CredentialsError::Password("this password cannot be hashed");
    let params = Params::new(MEMORY_KIB, PASSES, 1, Some(HASH_BYTES)).map_err(|_| UNUSABLE)?;
    let mut hash = [0; HASH_BYTES];
    compute(&params, password, &salt, &mut hash).ok_or(UNUSABLE)?;
    let [salt, hash] = [&salt[..], &hash].map(Base64Unpadded::encode_string);
    Ok(format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p=1${salt}${hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by the reference program: `echo -n password | argon2 somesalt -id -t 2 -k 64 -p 1 -e`.
    const REFERENCE: &str = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$\
        CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

    #[test]
    fn a_hash_of_the_reference_program_is_known() {
        let user = User { name: "a".to_owned(), hash: PasswordHash::parse(REFERENCE).unwrap() };
        assert!(user.knows(b"password"));
        assert!(!user.knows(b"passwore") && !user.knows(b""));
    }

    #[test]
    fn hashes_are_read_back_and_differ() {
        let [one, other] = [(); 2].map(|()| hash_password(b"secret").unwrap());
        assert_ne!(one, other);
        for text in [one, other] {
            let user = User { name: String::new(), hash: PasswordHash::parse(&text).unwrap() };
            assert!(user.knows(b"secret") && !user.knows(b"Secret"));
        }
        assert!(hash_password(b"").is_err() && hash_password(&[b'a'; 1025]).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        let users = |text: &str| read_users(Path::new("users"), text.as_bytes());
        let good = format!("# those who may\n\na:{REFERENCE}\n");
        assert_eq!(users(&good).ok().map(|users| users.len()), Some(1));
        for (text, what) in [
            ("".to_owned(), "no user"),
            ("a\n".to_owned(), "line 1: it is not NAME"),
            (format!("{good}b:x\n"), "line 4: the hash is not"),
            (format!("{good}a:{REFERENCE}"), "line 4: the name"),
            (format!(":{REFERENCE}"), "line 1: the name"),
            (good.replace("65536", "65537"), "asks for more"),
            (good.replace("t=2", "t=4294967295"), "asks for more"),
            (good.replace("m=65536", "m=0"), "line 3"),
            (good.replace("argon2id", "argon2i"), "line 3"),
            (good.replace("c29tZXNhbHQ", "c29"), "line 3"),
            (good.replace("p=1", "p=1,x=1"), "line 3"),
        ] {
            let said = users(&text).err().expect(&text).to_string();
            assert!(said.contains(what), "{text}: {said}");
        }
    }
}
