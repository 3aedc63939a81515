//! Kernel trees of several machines, for `Host::new(root)` and `--root DIR`.
//!
//! `vm2` is real, a copy in `testdata/proc/vm2`: a virtual machine of two CPUs with Linux 6.18,
//! cgroups version 1, zram and loop devices.  So are `guest-*`: virtual machines with the kernels
//! that users run, copied by `cargo xtask vm --capture`.  The others are generated, since a machine
//! of 256 CPUs would fill megabytes: the files have the form that the kernel documents, the numbers
//! are invented, and counters grow from step to step.
//!
//! ```
//! let host = testkit::FakeHost::new().unwrap();
//! testkit::trees::find("nfs").unwrap().write(host.root(), 0).unwrap();
//! assert!(host.path("/proc/net/rpc/nfsd").is_file());
//! ```

use std::io;
use std::path::{Path, PathBuf};

mod cgroup2;
mod cpu256;
mod disks;
mod network;
mod old;
mod processes;
mod small;

/// A machine.
pub struct Tree {
    /// The name of the tree, that of its folder.
    pub name: &'static str,
    /// One sentence without a full stop.
    pub about: &'static str,
    /// The time from one step to the next.
    pub step_seconds: u64,
    write: fn(&Path, u64) -> io::Result<()>,
    /// Files that only root and their owner may read.
    pub denied: &'static [&'static str],
}

impl Tree {
    /// Writes the tree below `root` as it is after `step` intervals: first with 0, then with 1, 2
    /// and so on over the existing tree.  Files are overwritten in place.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, root: &Path, step: u64) -> io::Result<()> {
        (self.write)(root, step)
    }
}

/// The time between the two copies of a guest's files, as `xtask/src/vm/capture.rs` sets it.
const GUEST_SECONDS: u64 = 10;

/// Every machine.
pub static ALL: &[Tree] = &[
    Tree {
        name: "vm2",
        about: "A real virtual machine of 2 CPUs, cgroups version 1",
        step_seconds: 3,
        write: |root, step| copied("vm2", root, step),
        denied: &[],
    },
    Tree {
        name: "cpu256",
        about: "256 CPUs, 4 NUMA nodes, 64 disks, 600 interrupts, bonds and bridges, sensors",
        step_seconds: 1,
        write: cpu256::write,
        denied: &[],
    },
    Tree {
        name: "cgroup2",
        about: "40 nested cgroups of version 2",
        step_seconds: 1,
        write: cgroup2::write,
        denied: &[],
    },
    Tree {
        name: "infiniband",
        about: "Two adapters with three ports",
        step_seconds: 1,
        write: small::infiniband,
        denied: &[],
    },
    Tree {
        name: "nfs",
        about: "NFS client and server, versions 2, 3 and 4",
        step_seconds: 1,
        write: small::nfs,
        denied: &[],
    },
    Tree {
        name: "old",
        about: "Linux 2.6.32, with the columns of its time",
        step_seconds: 1,
        write: old::write,
        denied: &[],
    },
    Tree {
        name: "processes",
        about: "Ten processes, some with malicious names, one process id reused",
        step_seconds: 1,
        write: processes::write,
        denied: &[],
    },
    Tree {
        name: "sparse",
        about: "A container's view: files missing, empty, or unreadable for others",
        step_seconds: 1,
        write: small::sparse,
        denied: small::DENIED,
    },
    Tree {
        name: "guest-5.10",
        about: "A real virtual machine of 4 CPUs, Linux 5.10 of Debian 11, cgroups version 2",
        step_seconds: GUEST_SECONDS,
        write: |root, step| copied("guest-5.10", root, step),
        denied: &[],
    },
    Tree {
        name: "guest-6.1",
        about: "A real virtual machine of 4 CPUs, Linux 6.1 of Debian 12, cgroups version 2",
        step_seconds: GUEST_SECONDS,
        write: |root, step| copied("guest-6.1", root, step),
        denied: &[],
    },
    Tree {
        name: "guest-6.12",
        about: "A real virtual machine of 4 CPUs, Linux 6.12 of Debian 13, cgroups version 2",
        step_seconds: GUEST_SECONDS,
        write: |root, step| copied("guest-6.12", root, step),
        denied: &[],
    },
    Tree {
        name: "guest-6.1-48-cpus",
        about: "What grows with CPUs, of a real virtual machine of 48 CPUs in 8 nodes, Linux 6.1",
        step_seconds: GUEST_SECONDS,
        write: |root, step| copied("guest-6.1-48-cpus", root, step),
        denied: &[],
    },
];

/// A machine by its name.
pub fn find(name: &str) -> Option<&'static Tree> {
    ALL.iter().find(|tree| tree.name == name)
}

/// The directory of the real trees.
pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/proc")
}

/// A real tree as copied, from step 1 on with the files that had changed when it was copied again.
fn copied(name: &str, root: &Path, step: u64) -> io::Result<()> {
    let tree = testdata().join(name);
    if step == 0 {
        for part in ["proc", "sys"] {
            crate::fake::copy_tree(&tree.join(part), &root.join(part))?;
        }
        return Ok(());
    }
    crate::fake::copy_tree(&tree.join("later"), root)
}

/// Files of `vm2` whose numbers are nearly all counters; other machines are made from them.
const TEMPLATES: &[&str] = &[
    "/proc/stat",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/softirqs",
    "/proc/interrupts",
    "/proc/diskstats",
    "/proc/buddyinfo",
    "/proc/slabinfo",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/net/dev",
    "/proc/net/snmp",
    "/proc/net/snmp6",
    "/proc/net/netstat",
    "/proc/net/sockstat",
    "/proc/net/sockstat6",
    "/proc/sys/fs/dentry-state",
    "/proc/sys/fs/inode-nr",
    "/proc/sys/fs/file-nr",
    "/proc/self/statm",
    "/proc/uptime",
];

/// The usual files of a small machine, with numbers that have grown for `step` intervals.
fn base(root: &Path, step: u64) -> io::Result<()> {
    for path in TEMPLATES {
        let text = std::fs::read(testdata().join("vm2").join(&path[1..]))?;
        // The first two numbers of a disk are its device number.
        let kept = if path.ends_with("diskstats") { 2 } else { 0 };
        crate::fake::put(root, path, grow(&text, step, kept))?;
    }
    Ok(())
}

/// Increases every number that is a whole word, or follows `=`, by `step` intervals of growth,
/// except the first `kept` of each line.  Numbers inside names (`cpu0`), times, fractions and
/// zeros stay.
fn grow(text: &[u8], step: u64, kept: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let keep = [&b"btime"[..], b"procs_", b"version", b"slabinfo"];
        if step == 0 || keep.iter().any(|key| line.starts_with(key)) {
            out.extend_from_slice(line);
        } else {
            grow_line(line, step, kept, &mut out);
        }
    }
    out
}

fn grow_line(line: &[u8], step: u64, kept: usize, out: &mut Vec<u8>) {
    let mut at = 0;
    let mut column = 0;
    while at < line.len() {
        let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            out.push(line[at]);
            at += 1;
            continue;
        }
        let before = if at == 0 { b'x' } else { line[at - 1] };
        let after = line.get(at + digits).copied().unwrap_or(b'\n');
        let word = &line[at..at + digits];
        let value = std::str::from_utf8(word).ok().and_then(|word| word.parse::<u64>().ok());
        column += 1;
        match value {
            Some(value)
                if matches!(before, b' ' | b'\t' | b'=')
                    && matches!(after, b' ' | b'\n' | b'\t')
                    && column > kept
                    && value < u64::MAX / 2 =>
            {
                let grown = value + if value == 0 { 0 } else { step * (value % 97 + 1) };
                out.extend_from_slice(grown.to_string().as_bytes());
            }
            _ => out.extend_from_slice(word),
        }
        at += digits;
    }
}

/// The value of the counter number `seed` after `step` intervals.
fn counter(seed: u64, step: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    mixed + step * (mixed % 1000 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeHost;

    #[test]
    fn every_tree_can_be_written_step_by_step() {
        for tree in ALL {
            let host = FakeHost::new().unwrap();
            tree.write(host.root(), 0).unwrap();
            let files = host.files().unwrap();
            assert!(files.len() > 10, "{}", tree.name);
            let first: Vec<Vec<u8>> = files
                .iter()
                .map(|file| std::fs::read(host.path(file)).unwrap_or_default())
                .collect();
            tree.write(host.root(), 1).unwrap();
            assert_eq!(host.files().unwrap(), files, "{}", tree.name);
            let changed = files
                .iter()
                .zip(first)
                .filter(|(file, then)| std::fs::read(host.path(file)).unwrap_or_default() != *then)
                .count();
            assert!(changed > 10, "{}: {changed}", tree.name);
        }
    }

    #[test]
    fn numbers_grow_and_names_stay() {
        let text = b"cpu0 5 0 7\nbtime 9\nanon=3 x\nTIMER: 4\n0.25 1/2\n";
        let grown = String::from_utf8(grow(text, 2, 0)).unwrap();
        assert_eq!(grown, "cpu0 17 0 23\nbtime 9\nanon=11 x\nTIMER: 14\n0.25 1/2\n");
    }
}
