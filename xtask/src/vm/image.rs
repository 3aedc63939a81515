//! The guest's files: an initramfs of busybox, whit and its benchmarks, their libraries and, with
//! `--rivals`, collectl, strace and the machine's cat.
//!
//! The archive has the format `newc`, which the kernel requires
//! (Documentation/driver-api/early-userspace/buffer-format.rst).  It is not compressed, because the
//! emulated CPU would need longer to unpack it than QEMU to load it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::{finish, root, target};

/// The first program of the guest.
const INIT: &str = include_str!("init.sh");

/// Packages whose files a guest gets for a comparison: collectl, and the perl that runs it.
const RIVALS: &[&str] =
    &["perl-base", "perl-modules-5.36", "libperl5.36", "perl", "collectl", "strace"];

const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;

/// Writes the guest's files; returns the archive's path.
pub(super) fn make(whit: &Path, rivals: bool) -> anyhow::Result<PathBuf> {
    let folder = target().join("vm");
    std::fs::create_dir_all(&folder)?;
    let mut archive = Archive::default();
    archive.file("init", 0o755, INIT.as_bytes().to_vec());
    archive.program(&busybox()?, "bin/busybox")?;
    for name in ["whit", "whit-bench"] {
        let stripped = folder.join(name);
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&stripped).arg(whit.with_file_name(name));
        finish(strip)?;
        archive.program(&stripped, &format!("usr/bin/{name}"))?;
    }
    archive.program(&untouched(&folder)?, "bin/untouched")?;
    if rivals {
        for package in RIVALS {
            archive.package(package)?;
        }
        // busybox's reads no file: it has the kernel send it, and the published trace has reads.
        archive.program(Path::new("/bin/cat"), "bin/cat")?;
    }
    let name = if rivals { "initramfs-rivals" } else { "initramfs" };
    let path = folder.join(name);
    std::fs::write(&path, archive.bytes()).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Compiles a program that executes `/bin/true` with memory that it has not touched.
fn untouched(folder: &Path) -> anyhow::Result<PathBuf> {
    let program = folder.join("untouched");
    let mut compiler = Command::new("cc");
    compiler.args(["-nostdlib", "-static", "-DPATH=\"/bin/true\"", "-o"]).arg(&program);
    compiler.arg(root().join("crates/cli/tests/trace_programs/execve.S"));
    finish(compiler)?;
    Ok(program)
}

/// An archive of one file.
pub(super) fn one_file(path: &str, text: &str) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.file(path, 0o644, text.as_bytes().to_vec());
    archive.bytes()
}

/// The path of a statically linked busybox.
fn busybox() -> anyhow::Result<PathBuf> {
    let path = PathBuf::from("/bin/busybox");
    ensure!(path.exists(), "no busybox: install busybox-static");
    Ok(path)
}

/// The files of a guest by their paths, sorted, so that a folder precedes its content.
#[derive(Default)]
pub(super) struct Archive(BTreeMap<String, (u32, Vec<u8>)>);

impl Archive {
    /// Adds a file and its parent folders.
    fn file(&mut self, path: &str, mode: u32, bytes: Vec<u8>) {
        self.folders_of(path);
        self.0.insert(path.to_owned(), (0o100_000 | mode, bytes));
    }

    fn folders_of(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.0.entry(path[..at].to_owned()).or_insert((FOLDER, Vec::new()));
        }
    }

    /// Adds a program and the libraries that it is linked with.
    fn program(&mut self, from: &Path, to: &str) -> anyhow::Result<()> {
        let bytes = std::fs::read(from).with_context(|| from.display().to_string())?;
        self.file(to, 0o755, bytes);
        self.libraries(from)
    }

    /// Adds the libraries that a program is linked with, as ldd(1) names them.
    fn libraries(&mut self, program: &Path) -> anyhow::Result<()> {
        let output = Command::new("ldd").arg(program).output().context("cannot start ldd")?;
        let text = String::from_utf8_lossy(&output.stdout);
        for path in text.split_whitespace().filter(|word| word.starts_with('/')) {
            let name = path.trim_start_matches('/');
            if !self.0.contains_key(name) {
                let bytes = std::fs::read(path).with_context(|| path.to_owned())?;
                self.file(name, 0o755, bytes);
            }
        }
        Ok(())
    }

    /// Adds the files of an installed package, but no documentation.
    fn package(&mut self, package: &str) -> anyhow::Result<()> {
        let output = Command::new("dpkg").args(["-L", package]).output().context("dpkg")?;
        ensure!(output.status.success(), "{package} is not installed");
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        for path in listed.lines().filter(|path| !path.starts_with("/usr/share/doc")) {
            let path = Path::new(path);
            let Ok(status) = path.symlink_metadata() else { continue };
            let name = path.to_string_lossy().trim_start_matches('/').to_owned();
            if status.is_symlink() {
                let target = std::fs::read_link(path)?.to_string_lossy().into_owned();
                self.folders_of(&name);
                self.0.insert(name, (LINK, target.into_bytes()));
            } else if status.is_file() {
                let bytes = std::fs::read(path)?;
                let is_elf = bytes.starts_with(b"\x7fELF");
                self.file(
                    &name,
                    if is_elf || name.contains("bin/") { 0o755 } else { 0o644 },
                    bytes,
                );
                if is_elf {
                    self.libraries(path)?;
                }
            }
        }
        Ok(())
    }

    /// The archive.
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, (path, (mode, content))) in (1_u32..).zip(&self.0) {
            entry(&mut out, number, path, *mode, content);
        }
        entry(&mut out, 0, "TRAILER!!!", 0, &[]);
        out
    }
}

/// Adds an entry: a header of hexadecimal numbers, the name, the content, each padded to four bytes.
fn entry(out: &mut Vec<u8>, number: u32, path: &str, mode: u32, content: &[u8]) {
    let name_bytes = path.len() as u32 + 1;
    let links = if mode == FOLDER { 2 } else { 1 };
    // ino, mode, uid, gid, nlink, mtime, filesize, dev (2), rdev (2), namesize, check.
    let numbers = [number, mode, 0, 0, links, 0, content.len() as u32, 0, 0, 0, 0, name_bytes, 0];
    out.extend_from_slice(b"070701");
    for number in numbers {
        out.extend_from_slice(format!("{number:08x}").as_bytes());
    }
    out.extend_from_slice(path.as_bytes());
    out.push(0);
    pad(out);
    out.extend_from_slice(content);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_precedes_its_files_and_all_is_padded() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o755, b"text".to_vec());
        let bytes = archive.bytes();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/c\0"));
        assert!(at("a/b/c\0") < at("text") && at("text") < at("TRAILER!!!"));
    }
}
