//! Which tasks are traced: a command, running processes, or every task of the machine.

use std::ffi::OsString;
use std::path::Path;

use super::ReportError;
use crate::engine::TracedCommand;

/// Which tasks are traced.
#[derive(Debug)]
pub enum TraceTarget {
    /// A command that is yet to be started.
    Command(TracedCommand),
    /// Processes, by number.
    Processes(Vec<i32>),
    /// Every task of the machine but those of this process.
    Everybody,
}

impl TraceTarget {
    /// Why it can only be traced by ptrace, if that is so.
    #[must_use]
    pub(super) fn needs_ptrace(&self) -> Option<&'static str> {
        let is_apart = matches!(self, TraceTarget::Command(command) if command.tracer.is_some());
        is_apart.then_some("-D: the end of a command that is no child is known by ptrace alone")
    }
}

/// Changes an environment as `-E` says: `NAME=value` sets a variable, `NAME` removes it.
///
/// # Errors
/// When a change names no variable.
pub fn change_environment(
    environment: &mut Vec<(OsString, OsString)>,
    changes: &[String],
) -> Result<(), ReportError> {
    for change in changes {
        let (key, value) = change.split_once('=').map_or((&**change, None), |(k, v)| (k, Some(v)));
        if key.is_empty() {
            let why = format!("-E {change}: give NAME=value, or NAME to remove it");
            return Err(ReportError::Refused(why));
        }
        environment.retain(|(name, _)| name != key);
        environment.extend(value.map(|value| (key.into(), value.into())));
    }
    Ok(())
}

/// Parses the process numbers of `-p`, separated by commas, blanks or newlines, as `pidof` prints
/// them.
///
/// # Errors
/// When a word is not a process number, or is the number of this process.
pub fn processes(lists: &[String]) -> Result<Vec<i32>, ReportError> {
    let mut numbers = Vec::new();
    for list in lists {
        let words = list.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
        for word in words {
            match word.parse::<i32>() {
                Ok(number) if number > 0 => numbers.push(number),
                _ => {
                    let why = format!("-p {word}: give the number of a process");
                    return Err(ReportError::Refused(why));
                }
            }
        }
    }
    ReportError::require(lists.is_empty() || !numbers.is_empty(), "-p: no process given")?;
    let own = std::process::id().cast_signed();
    let is_self = numbers.contains(&own);
    ReportError::require(!is_self, format!("-p {own}: whit cannot trace itself"))?;
    Ok(numbers)
}

/// The threads of a process; none if there is no such process.
pub(super) fn threads(process: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

/// Whether a process or a thread of this number exists.
pub(super) fn exists(process: i32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// The id of a control group of the unified hierarchy and its depth below the root, which the BPF
/// programs compare.  A path outside of the mount point is taken as one below it.
///
/// # Errors
/// When the hierarchy is not mounted, or has no such group.
pub fn control_group(path: &Path) -> Result<(u64, u32), ReportError> {
    use std::os::unix::fs::MetadataExt as _;
    let mounts = std::fs::read_to_string("/proc/self/mounts");
    let mounts = mounts.map_err(ReportError::system("reading the mounts"))?;
    let mount = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            words.next().filter(|_| words.next() == Some("cgroup2"))
        })
        .next();
    let none = "cgroup2 is not mounted here: --cgroup needs it";
    let mount = Path::new(mount.ok_or_else(|| ReportError::refused(none))?);
    let below = path.strip_prefix("/").unwrap_or(path);
    let folder = if path.starts_with(mount) { path.to_owned() } else { mount.join(below) };
    let what = format!("--cgroup {}: no such control group", folder.display());
    let meta = std::fs::metadata(&folder).map_err(ReportError::system(what))?;
    if !meta.is_dir() {
        let why = format!("--cgroup {}: not a control group", folder.display());
        return Err(ReportError::Refused(why));
    }
    let below = folder.strip_prefix(mount).unwrap_or(&folder);
    Ok((meta.ino(), u32::try_from(below.components().count()).unwrap_or(u32::MAX)))
}
