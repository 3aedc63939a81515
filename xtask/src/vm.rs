//! Runs whit on Debian's kernels in virtual machines.
//!
//! A result on one kernel proves nothing for another.  So the BPF programs, the parsers and the
//! tracers are tested on the kernels that users run: 5.10 (Debian 11), 6.1 (Debian 12) and 6.12
//! (Debian 13).
//!
//! Reads the kernels' packages, which `apt-get download` fetches with a separate sources list; they
//! are unpacked under `vm` in the target folder and never installed.  Needs `qemu-system-x86_64` and a static
//! busybox.  A boot of 4 CPUs takes about 30 s: QEMU translates every instruction, because KVM may
//! be missing.  Guest clocks run with the emulated CPUs, so ratios within one boot are valid.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

use crate::skips;

mod capture;
mod image;
mod kernels;
mod machine;

use kernels::Kernel;
use machine::{Machine, Size};

/// The guest's script for `--all` and in CI.
const CHECKS: &str = include_str!("vm/checks.sh");

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    kernel: Option<String>,
    all: bool,
    release: bool,
    /// The program that the guest gets instead of one that is built now.
    whit: Option<PathBuf>,
    rivals: bool,
    size: Size,
    command: Option<String>,
    /// Where to store what the guest leaves in `/out`.
    out: Option<PathBuf>,
    /// The tree in `testdata/proc` that is to be captured.
    capture: Option<String>,
    /// The sources whose files it gets.
    sources: Option<String>,
}

/// Boots the kernels that `arguments` select (see `cargo xtask help`).
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let request = parse(arguments)?;
    let machine = Machine::find()?;
    let whit = match &request.whit {
        Some(whit) => whit.clone(),
        None => crate::build_whit(request.release)?,
    };
    let image = image::make(&whit, request.rivals)?;
    let is_for_one = request.command.is_some() || request.capture.is_some();
    if request.all || !is_for_one && request.kernel.is_none() {
        return check(&machine, &image, kernels::ALL, request.size);
    }
    let kernel = match &request.kernel {
        Some(version) => kernels::find(version)?,
        None => &kernels::ALL[kernels::ALL.len() - 1],
    };
    let path = kernel.fetch()?;
    if let Some(name) = &request.capture {
        let script = capture::script(name, request.sources.as_deref())?;
        let files = machine.run(&path, &image, &script, request.size)?;
        let folder = capture::folder();
        if folder.join(name).exists() {
            std::fs::remove_dir_all(folder.join(name))?;
        }
        return files.unpack(&folder);
    }
    let Some(command) = &request.command else {
        return machine.shell(&path, &image, request.size);
    };
    let files = machine.run(&path, &image, command, request.size)?;
    request.out.as_deref().map_or(Ok(()), |folder| files.unpack(folder))
}

/// Boots the two oldest kernels, which have the fewest features, with this `whit`, for
/// `cargo xtask ci`.
pub(crate) fn run_in_ci(whit: &Path) -> anyhow::Result<()> {
    let machine = match Machine::find() {
        Ok(machine) => machine,
        Err(error) => {
            skips::add("virtual machines", &format!("{error:#}"), "xtask vm")?;
            return Ok(());
        }
    };
    check(&machine, &image::make(whit, false)?, &kernels::ALL[..2], Size::default())
}

/// Boots each kernel and runs the checks in it.  A kernel that cannot be fetched is a skip.
fn check(machine: &Machine, image: &Path, kernels: &[Kernel], size: Size) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for kernel in kernels {
        let path = match kernel.fetch() {
            Ok(path) => path,
            Err(error) => {
                println!("vm: {}: {error:#}", kernel.version);
                skips::add("a kernel of Debian", &format!("{error:#}"), kernel.version)?;
                continue;
            }
        };
        println!("vm: {} ({} CPUs)", kernel.version, size.cpus);
        if let Err(error) = machine.run(&path, image, CHECKS, size) {
            println!("vm: {}: {error:#}", kernel.version);
            failed.push(kernel.version);
        }
    }
    ensure!(failed.is_empty(), "checks failed on {}", failed.join(", "));
    Ok(())
}

/// Parses the command line.
fn parse(arguments: &[&str]) -> anyhow::Result<Request> {
    let mut request = Request::default();
    let mut words = arguments.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| anyhow::anyhow!("{word}: no value"));
        match word {
            "--kernel" => request.kernel = Some(value()?.to_owned()),
            "--cpus" => request.size.cpus = value()?.parse()?,
            "--nodes" => request.size.nodes = value()?.parse()?,
            "--all" => request.all = true,
            "--release" => request.release = true,
            "--whit" => request.whit = Some(value()?.into()),
            "--rivals" => request.rivals = true,
            "--out" => request.out = Some(value()?.into()),
            "--capture" => request.capture = Some(value()?.to_owned()),
            "--sources" => request.sources = Some(value()?.to_owned()),
            "--" => {
                request.command = Some(words.as_slice().join(" "));
                break;
            }
            _ => bail!("unknown argument `{word}`"),
        }
    }
    let Size { cpus, nodes } = request.size;
    ensure!(cpus > 0 && nodes > 0, "a machine has at least one CPU and one node");
    ensure!(cpus % nodes == 0, "{cpus} CPUs cannot be shared evenly by {nodes} nodes");
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_parsed() {
        let request =
            parse(&["--kernel", "6.1", "--cpus", "48", "--nodes", "8", "--", "uname", "-r"]);
        let request = request.unwrap();
        assert_eq!(request.kernel.as_deref(), Some("6.1"));
        assert_eq!(request.size, Size { cpus: 48, nodes: 8 });
        assert_eq!(request.command.as_deref(), Some("uname -r"));
        assert!(parse(&["--cpus", "7", "--nodes", "2"]).is_err());
        assert!(parse(&["--cpus"]).is_err());
        assert!(parse(&["--what"]).is_err());
    }
}
