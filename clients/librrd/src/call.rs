//! How a call of C gets in and out: arguments to words, failures to the error of the thread.
//!
//! A panic does not cross into C: it becomes an error, and says nothing on standard error.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use calendar::CivilZone;
use rrd::Locking;
use rrd::command::Failure;
use rrd::header::Time;
use rrdclient::TlsFiles;
use rrdtool::{Connection, Tool, ToolEnvironment};

use crate::error;
use crate::fetch;

/// Why a call fails: the text that the program gets.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) String);

impl From<rrd::Error> for Failed {
    fn from(error: rrd::Error) -> Self {
        Failed(error.to_string())
    }
}

impl From<Failure> for Failed {
    fn from(error: Failure) -> Self {
        Failed(error.to_string())
    }
}

impl From<String> for Failed {
    fn from(error: String) -> Self {
        Failed(error)
    }
}

thread_local! {
    /// Where the last panic of this thread began.
    static PANIC_PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the inside of a function; `failed` is what it returns after an error.
pub(crate) fn guard<T>(failed: T, inside: impl FnOnce() -> Result<T, Failed>) -> T {
    static QUIET: Once = Once::new();
    // The hook is of this library's copy of Rust's runtime, not of the program.
    QUIET.call_once(|| {
        set_hook(Box::new(|panic| {
            let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
            PANIC_PLACE.set(place.unwrap_or_default());
        }));
    });
    let text = match catch_unwind(AssertUnwindSafe(inside)) {
        Ok(Ok(value)) => return value,
        Ok(Err(Failed(text))) => text,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let place = PANIC_PLACE.take();
            format!("librrd: internal error: {} ({place})", text.unwrap_or("a panic"))
        }
    };
    error::set(&text);
    failed
}

/// Runs a function that returns 0 or, after an error, -1.
pub(crate) fn status(inside: impl FnOnce() -> Result<(), Failed>) -> c_int {
    guard(-1, || inside().map(|()| 0))
}

/// A text of C; `None` for null.
///
/// # Safety
/// `text` is null or ends with a 0, and stays as it is for as long as it is used.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A text of C that must be there.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text(text: *const c_char) -> Result<String, Failed> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { bytes(text) };
    let bytes = bytes.ok_or_else(|| Failed("librrd: a text is missing (NULL)".to_owned()))?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The name of a file, any bytes.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn path(name: *const c_char) -> Result<PathBuf, Failed> {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name) };
    let name = name.ok_or_else(|| Failed("librrd: no file name (NULL)".to_owned()))?;
    Ok(PathBuf::from(OsStr::from_bytes(name)))
}

/// Texts of C, each of which must be there.
///
/// # Safety
/// `texts` is null or has `count` texts, as [`bytes`].
pub(crate) unsafe fn texts(
    count: c_int,
    texts: *const *const c_char,
) -> Result<Vec<String>, Failed> {
    let count = usize::try_from(count).unwrap_or(0);
    if texts.is_null() && count > 0 {
        return Err(Failed("librrd: no arguments (NULL)".to_owned()));
    }
    // SAFETY: the caller promises that there are `count` texts.
    (0..count).map(|index| unsafe { text(*texts.add(index)) }).collect()
}

/// The arguments of a command, without its name, which is the first.
///
/// # Safety
/// As [`texts`].
pub(crate) unsafe fn words(
    count: c_int,
    arguments: *const *mut c_char,
) -> Result<Vec<String>, Failed> {
    // SAFETY: as the caller promises.
    let mut words = unsafe { texts(count, arguments.cast()) }?;
    words.drain(..words.len().min(1));
    Ok(words)
}

/// The connection to the caching daemon, which all threads share.
pub(crate) fn connection() -> Connection {
    static SHARED: Mutex<Option<Connection>> = Mutex::new(None);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.get_or_insert_with(Connection::default).clone()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The address of `RRDCACHED_ADDRESS`.
pub(crate) fn daemon_address() -> Option<String> {
    variable("RRDCACHED_ADDRESS")
}

/// The folder of `RRDCACHED_STRIPPATH`.
pub(crate) fn stripped_folder() -> Option<String> {
    variable("RRDCACHED_STRIPPATH")
}

/// The files of encrypted connections.
pub(crate) fn tls_files() -> TlsFiles {
    let path = |name| variable(name).map(PathBuf::from);
    TlsFiles {
        authority: path("RRDCACHED_TLS_CA"),
        certificate: path("RRDCACHED_TLS_CERT"),
        key: path("RRDCACHED_TLS_KEY"),
    }
}

/// The commands, as the environment of the process is now.
pub(crate) fn tool() -> Tool {
    let mut here = ToolEnvironment::new(now, zone());
    here.locking = locking();
    here.default_font = variable("RRD_DEFAULT_FONT");
    here.daemon_address = daemon_address();
    here.stripped_folder = stripped_folder();
    here.tls = tls_files();
    here.fetch_callback = fetch::callback();
    Tool::with_connection(here, connection())
}

/// What `RRD_LOCKING` says.
pub(crate) fn locking() -> Locking {
    variable("RRD_LOCKING").and_then(|word| Locking::of(&word)).unwrap_or_default()
}

/// The clock.
pub(crate) fn now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time { seconds: now.as_secs() as i64, microseconds: i64::from(now.subsec_micros()) }
}

/// The local time zone.  Programs change `TZ` as they run, so it is looked at in each call; the zone
/// is read again if it has changed.
pub(crate) fn zone() -> CivilZone {
    /// What `TZ` was, and its zone.
    type Known = Option<(Option<String>, CivilZone)>;
    static KNOWN: Mutex<Known> = Mutex::new(None);
    let asked = std::env::var("TZ").ok();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, zone)) = known.as_ref().filter(|(name, _)| *name == asked) {
        return zone.clone();
    }
    let found = calendar::zone_of_tz(asked.as_deref(), std::env::var_os("TZDIR").is_some());
    let zone = found.map_or_else(CivilZone::utc, CivilZone::new);
    *known = Some((asked, zone.clone()));
    zone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let gave = status(|| panic!("on purpose: {}", 7));
        assert_eq!(gave, -1);
        // SAFETY: the error is a text of this thread.
        let text = unsafe { text(error::rrd_get_error()) }.unwrap();
        let start = "librrd: internal error: on purpose: 7 (clients/librrd/src/call.rs:";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn null_is_an_error() {
        // SAFETY: null is allowed.
        unsafe {
            assert!(text(std::ptr::null()).is_err() && path(std::ptr::null()).is_err());
            assert!(texts(3, std::ptr::null()).is_err());
            assert!(words(0, std::ptr::null()).unwrap().is_empty());
        }
    }
}
