//! The logins of `-S` and `--sshloginfile`, read again when the files change.
//!
//! A file name is looked up here and then in the user's folder, as in parallel.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::HostsError;
use crate::remote::{Login, LoginEntry, login};
use crate::settings::HostSettings;

/// Where logins come from.
#[derive(Clone, Debug)]
pub(super) struct LoginSources {
    parts: Vec<LoginSource>,
    /// Sort hosts by name (`--onall`) instead of keeping their order.
    is_sorted: bool,
    /// Jobs run here if no host is named.
    or_here: bool,
}

/// What a word of `-S` stands for.
#[derive(Clone, Debug)]
enum LoginSource {
    Entry(LoginEntry),
    File(PathBuf),
}

/// Detects changes of a file: inode number, size and change time (stat(2)); all zero if it does not
/// exist.
pub(super) type Stamps = Vec<[u64; 4]>;

impl LoginSources {
    /// Parses the words; reads standard input if one of them asks for it.
    pub(super) fn of(hosts: &HostSettings, home: Option<&Path>) -> Result<Self, HostsError> {
        let mut parts = Vec::new();
        for text in &hosts.logins {
            for entry in login::split(text)? {
                add(entry, home, &mut parts)?;
            }
        }
        for name in &hosts.login_files {
            match name.as_str() {
                ".." => add(LoginEntry::UserFile, home, &mut parts)?,
                "." => add(LoginEntry::MachineFile, home, &mut parts)?,
                "-" => add(LoginEntry::Stdin, home, &mut parts)?,
                name => parts.push(LoginSource::File(file(name, home))),
            }
        }
        let is_sorted = hosts.on_all_hosts();
        Ok(LoginSources { parts, is_sorted, or_here: is_sorted || hosts.hostgroups })
    }

    /// The hosts to use, as the files name them now.
    pub(super) fn read(&self) -> Result<Vec<Login>, HostsError> {
        let mut entries = Vec::new();
        for part in &self.parts {
            match part {
                LoginSource::Entry(entry) => entries.push(entry.clone()),
                LoginSource::File(path) => {
                    let name = path.display().to_string();
                    let text = std::fs::read_to_string(path);
                    let what = format!("cannot read logins of {name}");
                    let text = text.map_err(HostsError::system(what))?;
                    entries.extend(lines(&text, &name)?);
                }
            }
        }
        if entries.is_empty() && self.or_here && self.parts.is_empty() {
            entries = login::split(":")?;
        }
        let mut logins = login::choose(entries);
        if self.is_sorted {
            logins.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Ok(logins)
    }

    /// The current stamps of the files; empty if there are none.
    pub(super) fn stamps(&self) -> Stamps {
        let paths = self.parts.iter().filter_map(|part| match part {
            LoginSource::File(path) => Some(path),
            LoginSource::Entry(_) => None,
        });
        let stamp = |path: &PathBuf| {
            std::fs::metadata(path).map_or([0; 4], |file| {
                let changed = [file.mtime().cast_unsigned(), file.mtime_nsec().cast_unsigned()];
                [file.ino(), file.size(), changed[0], changed[1]]
            })
        };
        paths.map(stamp).collect()
    }
}

/// Adds an entry, or the entries that it stands for.
fn add(
    entry: LoginEntry,
    home: Option<&Path>,
    parts: &mut Vec<LoginSource>,
) -> Result<(), HostsError> {
    match entry {
        LoginEntry::UserFile => {
            let home = home.ok_or(HostsError::NoHome)?;
            parts.push(LoginSource::File(home.join("sshloginfile")));
        }
        LoginEntry::MachineFile => {
            parts.push(LoginSource::File("/etc/parallel/sshloginfile".into()));
        }
        LoginEntry::Stdin => {
            let text = io::read_to_string(io::stdin())
                .map_err(HostsError::system("cannot read logins"))?;
            parts.extend(lines(&text, "standard input")?.into_iter().map(LoginSource::Entry));
        }
        entry => parts.push(LoginSource::Entry(entry)),
    }
    Ok(())
}

/// Finds the file with this name.
fn file(name: &str, home: Option<&Path>) -> PathBuf {
    let path = Path::new(name);
    let in_home = home.map(|home| home.join(name));
    in_home.filter(|file| !path.exists() && file.exists()).unwrap_or_else(|| path.to_owned())
}

fn lines(text: &str, name: &str) -> Result<Vec<LoginEntry>, HostsError> {
    let entries = login::read_lines(text)?;
    if entries.iter().any(|entry| !matches!(entry, LoginEntry::Login(_) | LoginEntry::Groups(_))) {
        return Err(HostsError::NestedFile(name.to_owned()));
    }
    Ok(entries)
}
