//! Who is traced: a command, processes that run already, a control group, or everybody.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use trace::engine::{Command, User};

/// Who is traced.
#[derive(Debug)]
pub(crate) enum Target {
    /// A command, to be started.
    Command(Command),
    /// Processes, by number.
    Processes(Vec<i32>),
    /// Every task of the machine but our own.
    Everybody,
}

/// The command of these words, with the environment changed as `-E` says: `NAME=value` sets, `NAME`
/// removes.
pub(crate) fn command(
    words: &[OsString],
    changes: &[String],
    user: Option<&str>,
    name: Option<&str>,
) -> anyhow::Result<Command> {
    let (program, arguments) = words.split_first().context("no command given")?;
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    for change in changes {
        let (key, value) = change.split_once('=').map_or((&**change, None), |(k, v)| (k, Some(v)));
        ensure!(!key.is_empty(), "-E {change}: give NAME=value, or NAME to remove it");
        environment.retain(|(name, _)| name != key);
        environment.extend(value.map(|value| (key.into(), value.into())));
    }
    Ok(Command {
        program: program.clone(),
        arguments: arguments.to_vec(),
        name: name.map(Into::into),
        environment,
        folders: std::env::var_os("PATH").unwrap_or_default(),
        user: user.map(User::by_name).transpose()?,
    })
}

/// The numbers of `-p`: several, with commas, blanks or lines between them, as `pidof` prints them.
pub(crate) fn processes(lists: &[String]) -> anyhow::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for list in lists {
        let words = list.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
        for word in words {
            match word.parse::<i32>() {
                Ok(number) if number > 0 => numbers.push(number),
                _ => bail!("-p {word}: give the number of a process"),
            }
        }
    }
    ensure!(lists.is_empty() || !numbers.is_empty(), "-p: no process given");
    let own = std::process::id().cast_signed();
    ensure!(!numbers.contains(&own), "-p {own}: whit cannot trace itself");
    Ok(numbers)
}

/// The threads of a process; none if there is no such process.
pub(crate) fn threads(process: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

/// Whether a process, or a thread, exists.
pub(crate) fn is_there(process: i32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// The id of a control group of the unified hierarchy and its depth below the root, as the kernel's
/// programs compare them.  A path that does not begin at the root of the file system is looked for
/// below the hierarchy's mount.
pub(crate) fn control_group(path: &Path) -> anyhow::Result<(u64, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    let mounts = std::fs::read_to_string("/proc/self/mounts").context("reading the mounts")?;
    let mount = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            words.next().filter(|_| words.next() == Some("cgroup2"))
        })
        .next()
        .context("no control groups of version 2 are mounted here: --cgroup needs them")?;
    let mount = Path::new(mount);
    let folder = if path.starts_with(mount) { path.to_owned() } else { mount.join(strip(path)) };
    let meta = std::fs::metadata(&folder)
        .with_context(|| format!("--cgroup {}: no such control group", folder.display()))?;
    ensure!(meta.is_dir(), "--cgroup {}: not a control group", folder.display());
    let below = folder.strip_prefix(mount).unwrap_or(&folder);
    Ok((meta.ino(), u32::try_from(below.components().count()).unwrap_or(u32::MAX)))
}

fn strip(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
