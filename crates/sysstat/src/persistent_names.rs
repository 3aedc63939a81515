//! Names of disks that stay the same when disks are found in another order: the links of
//! `/dev/disk/by-id` and its siblings.
//!
//! A folder is read once.  A disk with several links has the first one in the order of the folder, as
//! the programs take it.

use std::fs;
use std::path::Path;

use crate::SysstatError;

/// The most links that are read; far above the disks and partitions of any machine.
const LINKS_MAX: usize = 1 << 16;

/// Names of one kind.
#[derive(Debug)]
pub(crate) struct PersistentNames {
    /// The word of the command line: `ID`, `LABEL`, `PATH`, `UUID`.
    kind: String,
    /// The kernel's names and the persistent ones; nothing if the folder is not there.
    links: Option<Vec<(String, String)>>,
}

impl PersistentNames {
    /// Takes the word after `-j`.
    pub(crate) fn of(kind: String) -> Result<Self, SysstatError> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if kind.is_empty() || !kind.bytes().all(is_name) {
            let text = format!(
                "-j takes ID, LABEL, PATH, UUID or another folder by-… of /dev/disk, not {kind}"
            );
            return Err(SysstatError::Usage(text));
        }
        if kind == "SID" {
            let why = "identifiers of devices are not recorded: -j ID has the same in another form";
            return Err(SysstatError::Refused("-j SID".to_owned(), why));
        }
        Ok(PersistentNames { kind, links: None })
    }

    fn folder(&self) -> String {
        format!("dev/disk/by-{}", self.kind.to_ascii_lowercase())
    }

    /// Reads the links, whose folder is below `root`.
    pub(crate) fn read(&mut self, root: &Path) {
        let entries = fs::read_dir(root.join(self.folder()));
        let link = |entry: fs::DirEntry| {
            let target = fs::read_link(entry.path()).ok()?;
            let of_kernel = target.file_name()?;
            let text = |name: &std::ffi::OsStr| text::escape::escape(name.as_encoded_bytes());
            Some((text(of_kernel), text(&entry.file_name())))
        };
        let links = |all: fs::ReadDir| all.flatten().take(LINKS_MAX).filter_map(link).collect();
        self.links = entries.ok().map(links);
    }

    /// Checks that the names are known.
    pub(crate) fn check(&self, has_disks: bool) -> Result<(), SysstatError> {
        let text = match (&self.links, has_disks) {
            (Some(_), _) => return Ok(()),
            (None, true) => format!("-j {}: there is no folder /{}", self.kind, self.folder()),
            (None, false) => {
                format!("-j {}: the disks of another host have no such names here", self.kind)
            }
        };
        Err(SysstatError::NotThere(text))
    }

    /// The persistent name of a disk, or its own if it has none.
    pub(crate) fn shown(&self, name: String) -> String {
        let links = self.links.as_deref().unwrap_or_default();
        let found = links.iter().find(|(of_kernel, _)| *of_kernel == name);
        found.map_or(name, |(_, persistent)| persistent.clone())
    }

    /// The kernel's name of a disk that the command line names.
    pub(crate) fn of_kernel(&self, word: &str) -> String {
        let links = self.links.as_deref().unwrap_or_default();
        let found = links.iter().find(|(_, persistent)| persistent == word);
        found.map_or(word, |(of_kernel, _)| of_kernel).to_owned()
    }
}
