//! Which file a name means, and whether a client may use it.
//!
//! Names are relative to a base folder.  If clients are restricted to it, a name must lie in it as
//! it is written, as for rrdcached, and also after all symbolic links are resolved.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The base folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The system refused it.
    #[error("cannot use the base folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// It is reached through symbolic links.
    #[error(
        "the base folder {} is reached through symbolic links: give its real name, {}",
        given.display(),
        real.display()
    )]
    Linked {
        /// The path as it was given.
        given: PathBuf,
        /// Where it is.
        real: PathBuf,
    },
}

/// Rules for names.
#[derive(Debug, Clone)]
pub struct PathRules {
    base: PathBuf,
    is_restricted: bool,
    makes_folders: bool,
}

impl PathRules {
    /// Rules with a base folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub fn new(base: &Path, is_restricted: bool, makes_folders: bool) -> Result<Self, BaseError> {
        let refused = |error| BaseError::Folder(base.to_owned(), error);
        std::fs::create_dir_all(base).map_err(refused)?;
        let absolute = std::path::absolute(base).map_err(refused)?;
        let real = base.canonicalize().map_err(refused)?;
        // `absolute` keeps `..`; only components that are links make a difference otherwise.
        let written: PathBuf = absolute.components().collect();
        if written != real {
            return Err(BaseError::Linked { given: base.to_owned(), real });
        }
        Ok(Self { base: real, is_restricted, makes_folders })
    }

    /// The base folder.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Whether clients may use the base folder only.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        self.is_restricted
    }

    /// Whether CREATE makes folders.
    #[must_use]
    pub fn makes_folders(&self) -> bool {
        self.makes_folders && self.is_restricted
    }

    /// The name as replies show it: with the base folder in front.
    #[must_use]
    pub fn shown(&self, name: &[u8]) -> Vec<u8> {
        if name.first() == Some(&b'/') {
            return name.to_vec();
        }
        [self.base.as_os_str().as_bytes(), b"/", name].concat()
    }

    /// Whether clients may use the name, as it is written.
    #[must_use]
    pub fn allows_name(&self, shown: &[u8]) -> bool {
        !self.is_restricted
            || (memchr::memmem::find(shown, b"../").is_none()
                && !shown.ends_with(b"/..")
                && self.is_inside(shown))
    }

    /// Whether clients may use a file, all links resolved.
    #[must_use]
    pub fn allows_file(&self, real: &Path) -> bool {
        !self.is_restricted || self.is_inside(real.as_os_str().as_bytes())
    }

    fn is_inside(&self, path: &[u8]) -> bool {
        let base = self.base.as_os_str().as_bytes();
        let rest = path.strip_prefix(base);
        rest.is_some_and(|rest| base == b"/" || rest.first() == Some(&b'/'))
    }
}

/// A path of bytes.
pub(crate) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_of_the_base_folder_are_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let base = folder.path().canonicalize().expect("real name").join("base");
        let rules = PathRules::new(&base, true, false).expect("rules");
        let allows = |name: &str| rules.allows_name(&rules.shown(name.as_bytes()));
        for name in ["a.rrd", "sub/a.rrd", "./a.rrd", "a..rrd"] {
            assert!(allows(name), "{name}");
        }
        for name in ["../a.rrd", "sub/../a.rrd", "/etc/passwd", "sub/.."] {
            assert!(!allows(name), "{name}");
        }
        let beside = [rules.base().as_os_str().as_bytes(), b"side/a.rrd"].concat();
        assert!(!rules.allows_name(&beside));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&base, &link).expect("link");
        assert!(matches!(PathRules::new(&link, true, false), Err(BaseError::Linked { .. })));
    }
}
