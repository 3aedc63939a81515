//! The emulator: how a guest is started, watched and ended.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::{cpu, target};

const EMULATOR: &str = "qemu-system-x86_64";

/// Longest that a guest may run before it is killed.
const TIME_MAX: Duration = Duration::from_mins(15);

/// The start of the line that a failed check prints.
const FAILED: &str = "FAIL ";
/// The start of the guest's last line; the exit status of its command follows.
const STATUS: &str = "vm: status ";
/// The start of a line of the archive of `/out`: a compressed tar in base64.
const OUT: &str = "vm: out ";

/// The size of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) cpus: u32,
    /// Sockets, each with a NUMA node.
    pub(super) nodes: u32,
}

impl Default for Size {
    fn default() -> Self {
        Size { cpus: 4, nodes: 1 }
    }
}

/// The emulator of this machine.
pub(super) struct Machine(());

impl Machine {
    /// # Errors
    /// When it is not installed.
    pub(super) fn find() -> anyhow::Result<Self> {
        let there = Command::new(EMULATOR).arg("--version").stdout(Stdio::null()).status();
        ensure!(there.is_ok(), "no {EMULATOR}: install qemu-system-x86");
        Ok(Machine(()))
    }

    /// Boots a kernel, runs a shell script in it and shows what that prints; returns the files that
    /// it left in `/out`.
    ///
    /// # Errors
    /// When the guest does not end by itself, its script fails, or a line begins with `FAIL `.
    pub(super) fn run(
        &self,
        kernel: &Path,
        image: &Path,
        script: &str,
        size: Size,
    ) -> anyhow::Result<GuestFiles> {
        let start = Instant::now();
        let image = with_script(image, script)?;
        let mut command = emulator(kernel, &image, size);
        command.args(["-serial", "stdio"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut guest = Guest(command.spawn().with_context(|| format!("cannot start {EMULATOR}"))?);
        let output = guest.0.stdout.take().context("no output")?;
        let console = std::thread::spawn(move || read_lines(output));
        while !cpu::has_ended(&guest.0)? {
            ensure!(start.elapsed() < TIME_MAX, "the guest has not ended after {TIME_MAX:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        cpu::add(cpu::wait(&mut guest.0)?.1);
        let outcome = console.join().map_err(|_| anyhow::anyhow!("reading the console"))??;
        println!("vm: {:.0} s", start.elapsed().as_secs_f64());
        ensure!(outcome.failed == 0, "{} checks failed", outcome.failed);
        match outcome.status {
            Some(0) => Ok(GuestFiles(outcome.archive)),
            Some(status) => bail!("the command ended with {status}"),
            None => bail!("the guest ended before its command did"),
        }
    }

    /// Boots a kernel with a shell on this terminal.
    pub(super) fn shell(&self, kernel: &Path, image: &Path, size: Size) -> anyhow::Result<()> {
        let mut command = emulator(kernel, image, size);
        crate::finish({
            command.args(["-serial", "mon:stdio"]);
            command
        })
    }
}

/// A guest that is killed when the value is dropped.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The results that the console printed.
#[derive(Default)]
struct Outcome {
    failed: usize,
    status: Option<i32>,
    /// The archive of `/out`.
    archive: String,
}

/// The files that a guest left in `/out`.
pub(super) struct GuestFiles(String);

impl GuestFiles {
    /// Unpacks them into a folder.
    ///
    /// # Errors
    /// When the guest left none, or its console was garbled.
    pub(super) fn unpack(&self, folder: &Path) -> anyhow::Result<()> {
        ensure!(!self.0.is_empty(), "the guest left nothing in /out");
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut unpack = Command::new("sh");
        unpack.args(["-c", "base64 -d | tar -xz --no-same-owner -C \"$0\""]).arg(folder);
        let mut unpack = unpack.stdin(Stdio::piped()).spawn().context("cannot start sh")?;
        unpack.stdin.take().context("no input")?.write_all(self.0.as_bytes())?;
        ensure!(unpack.wait()?.success(), "cannot unpack what the guest left in /out");
        Ok(())
    }
}

/// Shows the lines of the console as they come.
fn read_lines(output: impl std::io::Read) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut line = Vec::new();
    let mut output = BufReader::new(output);
    loop {
        line.clear();
        if output.read_until(b'\n', &mut line)? == 0 {
            return Ok(outcome);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if let Some(status) = text.strip_prefix(STATUS) {
            outcome.status = status.parse().ok();
            continue;
        }
        if let Some(part) = text.strip_prefix(OUT) {
            outcome.archive.push_str(part);
            outcome.archive.push('\n');
            continue;
        }
        outcome.failed += usize::from(text.starts_with(FAILED));
        println!("    {text}");
        std::io::stdout().flush()?;
    }
}

/// The command that starts a guest without its console.
fn emulator(kernel: &Path, image: &Path, size: Size) -> Command {
    let Size { cpus, nodes } = size;
    let memory_mib = 1024.max(cpus / nodes * 64) * nodes;
    let mut command = Command::new(EMULATOR);
    // QEMU 7.2 sometimes writes an address to the flags register at cmpxchg16b, and a 6.12 guest
    // ends with a double fault; without that instruction the kernel uses another path.
    command.args(["-accel", "tcg,thread=multi", "-cpu", "max,cx16=off"]);
    command.args(["-nodefaults", "-no-reboot"]);
    command.args(["-display", "none", "-m", &format!("{memory_mib}M")]);
    command.args(["-smp", &format!("{cpus},sockets={nodes},cores={}", cpus / nodes)]);
    for node in 0..nodes {
        let (first, last) = (node * cpus / nodes, (node + 1) * cpus / nodes - 1);
        let size_mib = memory_mib / nodes;
        command.args(["-object", &format!("memory-backend-ram,id=memory{node},size={size_mib}M")]);
        command.args([
            "-numa",
            &format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}"),
        ]);
    }
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(image);
    // A guest that panics ends; its clock is the emulated one.
    command.args(["-append", "console=ttyS0 quiet panic=-1"]);
    command
}

/// Appends a second archive, with a script as the guest's command, to the guest's files.
fn with_script(image: &Path, script: &str) -> anyhow::Result<PathBuf> {
    let path = target().join("vm/initramfs-command");
    let mut bytes = std::fs::read(image).with_context(|| image.display().to_string())?;
    bytes.extend(super::image::one_file("command", script));
    std::fs::write(&path, bytes)?;
    Ok(path)
}
