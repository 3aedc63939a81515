//! The hour of MRTG on other mounts: how times of access are kept, memory instead of a disk, and the
//! ways of ext4's journal.
//!
//! Mounts are in a namespace of their own, so nothing else sees them and they go with this process.
//! ext4 is made in a file of the same disk, so what it writes passes through two file systems; what
//! programs make dirty is counted before that.

use std::path::Path;
use std::process::Command;

use super::hour::Updater;
use super::{Bench, Results, Who};
use crate::error::{Context, Result};
use crate::programs::run_quietly;
use crate::spawn::tmpfs::keep_mounts_private;

/// A mount.
#[derive(Clone, Copy, Debug)]
enum Mount {
    /// The folder with other options.
    Bind(&'static str),
    Tmpfs,
    /// ext4 in a file, with options.
    Ext4(&'static str),
}

const ALL: [Mount; 7] = [
    Mount::Bind("relatime"),
    Mount::Bind("noatime"),
    Mount::Bind("strictatime"),
    Mount::Tmpfs,
    Mount::Ext4("data=ordered"),
    Mount::Ext4("data=writeback"),
    Mount::Ext4("data=journal"),
];

/// `-w` with which daemons run, in seconds; the last one is of whit alone.
const WRITE_SECONDS: [u64; 2] = [300, 3_600];
/// Room of ext4 for what is no file of the hour.
const SPARE_MIB: u64 = 512;

impl Mount {
    fn name(self) -> String {
        match self {
            Self::Bind(option) => format!("this folder, {option}"),
            Self::Tmpfs => "tmpfs".to_owned(),
            Self::Ext4(option) => format!("ext4, {option}"),
        }
    }

    /// Mounts it on a folder, whose sibling `image` may be used.
    fn mount(self, folder: &Path, image: &Path, mib: u64) -> Result<()> {
        let mount = || Command::new("mount");
        match self {
            Self::Bind(option) => {
                run_quietly(mount().arg("--bind").args([folder, folder]))?;
                let options = format!("remount,bind,{option}");
                run_quietly(mount().args(["-o", &options]).arg(folder))?;
            }
            Self::Tmpfs => {
                run_quietly(mount().args(["-t", "tmpfs", "tmpfs"]).arg(folder))?;
            }
            Self::Ext4(option) => {
                std::fs::File::create(image)?.set_len(mib << 20)?;
                run_quietly(Command::new("mkfs.ext4").arg("-q").arg(image))?;
                let options = format!("loop,{option}");
                run_quietly(mount().args(["-o", &options]).args([image, folder]))?;
            }
        }
        Ok(())
    }
}

impl Bench<'_> {
    /// The hour on each mount that this machine allows.
    pub(super) fn mounts(&self, results: &mut Results) -> Result<()> {
        if let Err(error) = keep_mounts_private() {
            results.notes.push(format!("nothing may be mounted here: {error}"));
            return Ok(());
        }
        let folder = self.folder.join("mount");
        let image = self.folder.join("image");
        for mount in ALL {
            let name = mount.name();
            std::fs::create_dir_all(&folder)?;
            let files_mib = (self.plan.targets * crate::rrd::files::MRTG.file_bytes()) >> 20;
            if let Err(error) = mount.mount(&folder, &image, files_mib * 5 / 4 + SPARE_MIB) {
                results.notes.push(format!("{name} cannot be mounted: {error}"));
                // The first of two steps may have been done; otherwise nothing is mounted.
                let _ = run_quietly(Command::new("umount").arg(&folder));
            } else {
                let here = Bench {
                    plan: self.plan,
                    programs: self.programs,
                    rrdcached: self.rrdcached.clone(),
                    rrdtool: self.rrdtool.clone(),
                    folder: &folder,
                    progress: self.progress,
                };
                let mut ways: Vec<Updater<'_>> = here.rrdtool().into_iter().collect();
                ways.extend(here.daemons(WRITE_SECONDS[0]));
                ways.push(Updater::Daemon(Who::Whit("os"), WRITE_SECONDS[1]));
                let row = here.hour(&name, &ways, 1).with_context(|| name.clone());
                run_quietly(Command::new("umount").arg(&folder))?;
                results.mounts.push(row?);
            }
            if image.exists() {
                std::fs::remove_file(&image)?;
            }
            // A folder that was mounted on itself keeps what was made there.
            std::fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }
}
