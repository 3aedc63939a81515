//! Logins: whether the credentials of a request are known, without a cost that its sender decides.
//!
//! A right password is remembered as a keyed hash, so its argon2 hash is computed once in the life
//! of the server.  Hashes are computed one at a time, and those of one address in turn; after a wrong
//! password or token that address has to wait for the next refusal, whether its connection stays or
//! not.  A right token and a password that is remembered are answered at once, wherever they come from.
//! What is kept is bounded by the connections.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64ct::{Base64, Encoding as _};
use hmac::Mac as _;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, Semaphore};

use crate::credentials::Credentials;
use crate::keyed::mac;

/// Bytes of the key of remembered hashes.
const KEY_BYTES: usize = 32;

/// What a request says about its sender.
enum SentCredentials {
    Token(Vec<u8>),
    Password { name: Vec<u8>, password: Vec<u8> },
}

/// The logins of a server.
pub(crate) struct Logins {
    credentials: Arc<Credentials>,
    key: [u8; KEY_BYTES],
    /// The keyed hash of each user's password, once it was right.
    remembered: Mutex<Vec<Option<[u8; 32]>>>,
    turns: Mutex<HashMap<Option<IpAddr>, Arc<Turn<()>>>>,
    hashing: Semaphore,
    pause: Duration,
    /// How many hashes were computed.
    hashed: AtomicU64,
}

impl Logins {
    pub(crate) fn new(credentials: Arc<Credentials>, pause: Duration) -> std::io::Result<Self> {
        let remembered = Mutex::new(vec![None; credentials.users.len()]);
        Ok(Logins {
            credentials,
            key: connection::random()?,
            remembered,
            turns: Mutex::default(),
            hashing: Semaphore::new(1),
            pause,
            hashed: AtomicU64::new(0),
        })
    }

    /// How many passwords were hashed.
    pub(crate) fn hashed(&self) -> u64 {
        self.hashed.load(Ordering::Relaxed)
    }

    /// Whether the value of a header `Authorization` is that of a client that is known.
    pub(crate) async fn is_known(self: &Arc<Self>, header: &[u8], from: Option<IpAddr>) -> bool {
        match SentCredentials::of(header) {
            None => false,
            Some(SentCredentials::Token(token)) => self.is_token(&token) || self.refuse(from).await,
            Some(SentCredentials::Password { name, password }) => {
                self.is_user(name, password, from).await
            }
        }
    }

    fn is_token(&self, given: &[u8]) -> bool {
        let Some(token) = &self.credentials.token else { return false };
        let right = mac(&self.key, &[token]).finalize().into_bytes();
        mac(&self.key, &[given]).verify(&right).is_ok()
    }

    async fn is_user(
        self: &Arc<Self>,
        name: Vec<u8>,
        password: Vec<u8>,
        from: Option<IpAddr>,
    ) -> bool {
        if self.credentials.users.is_empty() {
            return false;
        }
        if self.is_remembered(&name, &password) {
            return true;
        }
        let turn = self.turn(from).await;
        // Another request of the same client may have had the turn before.
        if self.is_remembered(&name, &password) {
            return true;
        }
        // A client that goes away ends neither this nor its pause.
        let (logins, pause) = (self.clone(), self.pause);
        let looks = tokio::spawn(async move {
            let is_right = logins.is_right(name, password).await;
            if !is_right {
                tokio::time::sleep(pause).await;
            }
            drop(turn);
            is_right
        });
        looks.await.unwrap_or(false)
    }

    /// Refuses what takes no time to look at: in its turn, and after a pause.
    async fn refuse(self: &Arc<Self>, from: Option<IpAddr>) -> bool {
        let turn = self.turn(from).await;
        let pause = self.pause;
        let waits = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            drop(turn);
        });
        // A client that goes away does not end its pause.
        let _ = waits.await;
        false
    }

    fn is_remembered(&self, name: &[u8], password: &[u8]) -> bool {
        let Some(user) = self.credentials.user(name) else { return false };
        let Some(right) = self.remembered()[user] else { return false };
        mac(&self.key, &[name, password]).verify(&right.into()).is_ok()
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Vec<Option<[u8; 32]>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes a hash, in a thread of its own.
    async fn is_right(self: &Arc<Self>, name: Vec<u8>, password: Vec<u8>) -> bool {
        let Ok(_one) = self.hashing.acquire().await else { return false };
        self.hashed.fetch_add(1, Ordering::Relaxed);
        let user = self.credentials.user(&name);
        let credentials = self.credentials.clone();
        let work = move || {
            // For a name that nobody has it takes as long.
            let is_right = credentials.users[user.unwrap_or(0)].knows(&password);
            (is_right, password)
        };
        let Ok((true, password)) = tokio::task::spawn_blocking(work).await else { return false };
        let Some(user) = user else { return false };
        let hash = mac(&self.key, &[&name, &password]).finalize().into_bytes();
        self.remembered()[user] = Some(hash.into());
        true
    }

    /// Waits until no other password of the address is looked at.
    async fn turn(self: &Arc<Self>, from: Option<IpAddr>) -> AddressTurn {
        let from = from.map(network);
        let turns = || self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns().entry(from).or_default().clone();
        let mut waiting = AddressTurn { logins: self.clone(), from, guard: None };
        waiting.guard = Some(turn.lock_owned().await);
        waiting
    }
}

/// The turn of an address; its entry goes with the last one.
struct AddressTurn {
    logins: Arc<Logins>,
    from: Option<IpAddr>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Drop for AddressTurn {
    fn drop(&mut self) {
        self.guard = None;
        let mut turns = self.logins.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = turns.get(&self.from).is_some_and(|turn| Arc::strong_count(turn) == 1);
        if is_last {
            turns.remove(&self.from);
        }
    }
}

/// Addresses that one client may have: those of a network of IPv6 are one.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        },
    }
}

impl SentCredentials {
    /// Reads `Bearer TOKEN` or `Basic BASE64`.
    fn of(header: &[u8]) -> Option<Self> {
        let header = header.trim_ascii();
        let space = header.iter().position(|&byte| byte == b' ')?;
        let (scheme, rest) = (&header[..space], header[space..].trim_ascii());
        if scheme.eq_ignore_ascii_case(b"bearer") {
            return Some(SentCredentials::Token(rest.to_vec()));
        }
        if !scheme.eq_ignore_ascii_case(b"basic") {
            return None;
        }
        let mut name = Base64::decode_vec(std::str::from_utf8(rest).ok()?).ok()?;
        let colon = name.iter().position(|&byte| byte == b':')?;
        let password = name.split_off(colon + 1);
        name.pop();
        Some(SentCredentials::Password { name, password })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let given = |text: &str| match SentCredentials::of(text.as_bytes()) {
            None => "-".to_owned(),
            Some(SentCredentials::Token(token)) => String::from_utf8(token).unwrap(),
            Some(SentCredentials::Password { name, password }) => {
                format!("{} {}", String::from_utf8_lossy(&name), String::from_utf8_lossy(&password))
            }
        };
        for (text, what) in [
            ("Bearer abc", "abc"),
            ("bearer  abc ", "abc"),
            ("Basic dXNlcjpwYTpzcw==", "user pa:ss"),
            ("BASIC dXNlcjo=", "user "),
            ("Basic dXNlcg==", "-"),
            ("Basic dXNlcjpwYTpzcw", "-"),
            ("Basic *", "-"),
            ("Digest abc", "-"),
            ("abc", "-"),
            ("", "-"),
        ] {
            assert_eq!(given(text), what, "{text}");
        }
    }

    #[test]
    fn ten_thousand_wrong_tokens_are_kept_as_one_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "right\n").unwrap();
        let only_ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, only_ours).unwrap();
        let credentials = Credentials::load(Some(&path), None).unwrap();
        // Longer than the test.
        let pause = Duration::from_secs(3600);
        let logins = Arc::new(Logins::new(Arc::new(credentials), pause).unwrap());
        let from = [Some("192.0.2.1".parse().unwrap()), Some("192.0.2.2".parse().unwrap())];
        let addresses = || logins.turns.lock().unwrap().len();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let local = async {
            let guess = |number: usize| {
                let logins = logins.clone();
                tokio::spawn(async move {
                    logins.is_known(format!("Bearer {number}").as_bytes(), from[0]).await
                })
            };
            let guesses: Vec<_> = (0..10_000).map(guess).collect();
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert!(guesses.iter().all(|guess| !guess.is_finished()));
            assert_eq!(addresses(), 1);
            // A right one waits for nothing, not even for another task.
            for from in from {
                let right = std::pin::pin!(logins.is_known(b"Bearer right", from));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert_eq!(right.poll(&mut context), std::task::Poll::Ready(true));
            }
            guesses.iter().for_each(tokio::task::JoinHandle::abort);
            for guess in guesses {
                assert!(guess.await.unwrap_err().is_cancelled());
            }
            // The pause of the address goes on without them.
            assert_eq!(addresses(), 1);
        };
        runtime.block_on(local);
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let one = |text: &str| network(text.parse().unwrap());
        assert_eq!(one("2001:db8::1"), one("2001:db8::ffff:1:2"));
        assert_ne!(one("2001:db8::1"), one("2001:db8:0:1::1"));
        assert_eq!(one("::ffff:192.0.2.1"), one("192.0.2.1"));
    }
}
