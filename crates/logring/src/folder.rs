//! Where a user's rings are: one rule for programs, proxies and tools.  The C client has the same,
//! and `logger`'s tests compare both.
//!
//! A program logs into the first of these that it can use:
//!
//! 1. `$WHIT_LOG_DIRECTORY`, and then no other;
//! 2. a folder of the user's number in `/run/whit/log`, where root has made that;
//! 3. `whit-log` in `$XDG_RUNTIME_DIR`, if that is the user's alone;
//! 4. `/dev/shm/whit-log-UID`.
//!
//! In 2 and 4 another user may be there first.  So a folder counts only if it is one, no link to
//! one, of this user, and nobody else may write in it; another is refused, and the caller says so.

use std::fmt;
use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Where root lets every user have a folder of rings.
pub const SHARED: &str = "/run/whit/log";
/// Where every user may make one.
pub const MEMORY: &str = "/dev/shm";
/// How the name of a user's folder in [`MEMORY`] begins; the user's number follows.
pub const PREFIX: &str = "whit-log-";
/// Where the system makes folders of users that are logged in.
pub const RUNTIME: &str = "/run/user";
/// The name of the folder of rings in the folder of such a user.
pub const IN_RUNTIME: &str = "whit-log";

/// What the rule goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderRule {
    /// The user.
    pub user: u32,
    /// What `$WHIT_LOG_DIRECTORY` names.
    pub named: Option<PathBuf>,
    /// What `$XDG_RUNTIME_DIR` names.
    pub runtime: Option<PathBuf>,
    /// [`SHARED`].
    pub shared: PathBuf,
    /// [`MEMORY`].
    pub memory: PathBuf,
}

/// A folder in which nobody logs, because it is not safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedFolder {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: &'static str,
}

impl fmt::Display for RefusedFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: refused as a folder of log records: {}", self.path.display(), self.why)
    }
}

/// Why a folder is not safe for a user.
fn fault(facts: &Metadata, user: u32) -> Option<&'static str> {
    if facts.file_type().is_symlink() {
        return Some("it is a symbolic link");
    }
    if !facts.is_dir() {
        return Some("it is not a folder");
    }
    if facts.uid() != user {
        return Some("it belongs to another user");
    }
    (facts.mode() & 0o022 != 0).then_some("others may write in it")
}

/// What is wrong with a folder of this process's user, if it is there.
///
/// # Errors
/// If it cannot be looked at, so that it is not there.
pub fn check(path: &Path) -> io::Result<Option<RefusedFolder>> {
    let facts = std::fs::symlink_metadata(path)?;
    let why = fault(&facts, user());
    Ok(why.map(|why| RefusedFolder { path: path.to_owned(), why }))
}

/// What is wrong with a folder that a reader was told to read, if it is there: it may be of any user,
/// but one that is named after a user must be that user's.
#[must_use]
pub fn check_given(path: &Path) -> Option<RefusedFolder> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    let name = path.file_name()?.to_str()?;
    let is_shared = path.parent() == Some(Path::new(SHARED));
    let number = name.strip_prefix(PREFIX).or_else(|| is_shared.then_some(name));
    let user = number.and_then(|number| number.parse().ok()).unwrap_or_else(|| facts.uid());
    fault(&facts, user).map(|why| RefusedFolder { path: path.to_owned(), why })
}

/// The user that files of this process belong to.
fn user() -> u32 {
    // SAFETY: no argument, no failure.
    unsafe { libc::geteuid() }
}

/// Makes a folder, if it is not there; it must be safe for this process's user.
pub(crate) fn make(path: &Path) -> io::Result<Option<RefusedFolder>> {
    let made = DirBuilder::new().mode(0o700).create(path);
    if let Err(error) = made
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    check(path)
}

/// A path from the environment.  A program that runs with more rights than its caller has does not
/// believe that.
fn variable(name: &str) -> Option<PathBuf> {
    // SAFETY: a number, and no failure.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let value = std::env::var_os(name).filter(|value| !value.is_empty() && !is_secure);
    value.map(PathBuf::from)
}

impl FolderRule {
    /// The rule for a program of this process's user.
    #[must_use]
    pub fn of_program() -> Self {
        FolderRule {
            user: user(),
            named: variable("WHIT_LOG_DIRECTORY"),
            runtime: variable("XDG_RUNTIME_DIR"),
            shared: PathBuf::from(SHARED),
            memory: PathBuf::from(MEMORY),
        }
    }

    /// The rule for a reader: it looks also where programs of the same user log that were started
    /// with other variables than it was.
    #[must_use]
    pub fn of_reader() -> Self {
        let mut rule = FolderRule::of_program();
        rule.runtime.get_or_insert_with(|| Path::new(RUNTIME).join(rule.user.to_string()));
        rule
    }

    /// The folders in question, the best one first; at least one.
    #[must_use]
    pub fn candidates(&self) -> Vec<PathBuf> {
        if let Some(named) = &self.named {
            return vec![named.clone()];
        }
        let mut found = Vec::new();
        let facts = |path: &Path| std::fs::symlink_metadata(path).ok();
        // Without the sticky bit, whoever may write there may put another folder in the place of one.
        let is_shared = |facts: &Metadata| {
            let is_safe = facts.mode() & 0o022 == 0 || facts.mode() & 0o1000 != 0;
            facts.is_dir() && (facts.uid() == 0 || facts.uid() == self.user) && is_safe
        };
        if facts(&self.shared).is_some_and(|facts| is_shared(&facts)) {
            found.push(self.shared.join(self.user.to_string()));
        }
        let is_own = |facts: &Metadata| fault(facts, self.user).is_none();
        let runtime = self.runtime.as_deref().filter(|path| path.is_absolute());
        if let Some(path) = runtime.filter(|path| facts(path).is_some_and(|facts| is_own(&facts))) {
            found.push(path.join(IN_RUNTIME));
        }
        found.push(self.memory.join(format!("{PREFIX}{}", self.user)));
        found
    }

    /// The folder to log into, which is made, and those that were refused before it.  If none can be
    /// used it is the last one, and logging there fails.
    #[must_use]
    pub fn choose(&self) -> (PathBuf, Vec<RefusedFolder>) {
        let mut refused = Vec::new();
        let mut last = PathBuf::new();
        for path in self.candidates() {
            match make(&path) {
                Ok(None) => return (path, refused),
                Ok(Some(one)) => refused.push(one),
                // Root made the folder around it for others, or it has no room.
                Err(_) => {}
            }
            last = path;
        }
        (last, refused)
    }

    /// The folders to read, which may not be there yet, and those that are not safe.
    #[must_use]
    pub fn readable(&self) -> (Vec<PathBuf>, Vec<RefusedFolder>) {
        let mut refused = Vec::new();
        let mut found = self.candidates();
        found.retain(|path| match check(path) {
            Ok(Some(one)) => {
                refused.push(one);
                false
            }
            _ => true,
        });
        (found, refused)
    }
}
