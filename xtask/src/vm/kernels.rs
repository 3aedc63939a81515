//! Debian's kernels, fetched and unpacked, never installed.
//!
//! `target/vm/apt/SUITE` is a separate state of apt, so the machine's sources and lists do not
//! change; `target/vm/kernels/VERSION/vmlinuz` is the unpacked kernel.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::target;

/// A kernel that users run.
pub(super) struct Kernel {
    /// The version, as `--kernel` takes it.
    pub(super) version: &'static str,
    /// The release of Debian that has it.
    suite: &'static str,
}

/// The kernels that whit is tested on, oldest first.
pub(super) const ALL: &[Kernel] = &[
    Kernel { version: "5.10", suite: "bullseye" },
    Kernel { version: "6.1", suite: "bookworm" },
    Kernel { version: "6.12", suite: "trixie" },
];

/// The package that depends on a release's newest kernel for virtual machines.
const NEWEST: &str = "linux-image-cloud-amd64";

/// The kernel of this version.
pub(super) fn find(version: &str) -> anyhow::Result<&'static Kernel> {
    let known = || ALL.iter().map(|kernel| kernel.version).collect::<Vec<_>>().join(", ");
    let found = ALL.iter().find(|kernel| kernel.version == version);
    found.with_context(|| format!("--kernel {version}: known are {}", known()))
}

impl Kernel {
    /// The path of the kernel's image, which is fetched if it is missing.
    ///
    /// # Errors
    /// Without apt, and when the package cannot be fetched.
    pub(super) fn fetch(&self) -> anyhow::Result<PathBuf> {
        let folder = target().join("vm/kernels").join(self.version);
        let kept = folder.join("vmlinuz");
        if kept.exists() {
            return Ok(kept);
        }
        let apt = Apt::new(self.suite)?;
        apt.run("apt-get", &["-qq", "update"])?;
        let depends = apt.run("apt-cache", &["depends", NEWEST])?;
        let package = depends
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "))
            .find(|name| name.starts_with("linux-image-"))
            .with_context(|| format!("{NEWEST} of {} depends on no kernel", self.suite))?;
        apt.run("apt-get", &["-qq", "download", package])?;
        let archive = only(&apt.folder, |name| name.ends_with(".deb"))?;
        let unpacked = apt.folder.join("unpacked");
        run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&unpacked))?;
        let image = only(&unpacked.join("boot"), |name| name.starts_with("vmlinuz-"))?;
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(&image, &kept).with_context(|| format!("copying {}", image.display()))?;
        std::fs::remove_dir_all(&apt.folder)?;
        Ok(kept)
    }
}

/// A separate state of apt, for one release.
struct Apt {
    folder: PathBuf,
    options: Vec<String>,
}

impl Apt {
    fn new(suite: &str) -> anyhow::Result<Self> {
        let folder = target().join("vm/apt").join(suite);
        let _ = std::fs::remove_dir_all(&folder);
        for path in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(folder.join(path))?;
        }
        let mirror = mirror().unwrap_or_else(|| "http://deb.debian.org/debian".to_owned());
        let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
        let sources = folder.join("sources.list");
        std::fs::write(&sources, format!("deb [signed-by={keys}] {mirror} {suite} main\n"))?;
        let at = |path: &str| folder.join(path).display().to_string();
        let options = vec![
            format!("Dir::Etc::SourceList={}", sources.display()),
            "Dir::Etc::SourceParts=-".to_owned(),
            format!("Dir::State::Lists={}", at("lists")),
            format!("Dir::Cache={}", at("cache")),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "APT::Sandbox::User=".to_owned(),
        ];
        Ok(Apt { folder, options })
    }

    /// Runs a command of apt in the folder; returns its standard output.
    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(program);
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        run(command.args(arguments).current_dir(&self.folder))
    }
}

/// Where this machine fetches Debian's packages: the first URI of its sources that ends in
/// `/debian`.
fn mirror() -> Option<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let entries = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    files.extend(entries.map(|entry| entry.path()));
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).find_map(
        |word| {
            let uri = word.trim_end_matches('/');
            (uri.starts_with("http") && uri.ends_with("/debian")).then(|| uri.to_owned())
        },
    )
}

/// Runs a command; returns its standard output.
fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{:?}: {}", command.get_program(), stderr.trim().lines().last().unwrap_or("failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first file of a folder whose name fits.
fn only(folder: &Path, fits: impl Fn(&str) -> bool) -> anyhow::Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found =
        paths.find(|path| path.file_name().is_some_and(|name| fits(&name.to_string_lossy())));
    found.with_context(|| format!("{}: no such file in it", folder.display()))
}
