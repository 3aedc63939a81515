//! Makes the links; a file that is not a link to this program is replaced only by `--force`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::LinkArguments;
use crate::compat;

/// Runs the verb.
pub(crate) fn run(arguments: &LinkArguments) -> anyhow::Result<ExitCode> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the folder {}", directory.display()))?;
    let binary = std::env::current_exe().context("cannot find this program's own file")?;
    for incumbent in compat::ALL {
        let link = directory.join(incumbent.name);
        place(&binary, &link, arguments.force)?;
        crate::stderr::print(&format!("{} -> {}\n", link.display(), binary.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn place(binary: &Path, link: &Path, force: bool) -> anyhow::Result<()> {
    match std::fs::symlink_metadata(link) {
        Ok(_) if std::fs::read_link(link).is_ok_and(|target| target == binary) => return Ok(()),
        Ok(_) if !force => {
            bail!("{} exists and is not ours: remove it, or say --force", link.display())
        }
        Ok(_) => std::fs::remove_file(link)
            .with_context(|| format!("cannot replace {}", link.display()))?,
        Err(_) => {}
    }
    std::os::unix::fs::symlink(binary, link)
        .with_context(|| format!("cannot make the link {}", link.display()))
}
