//! How many CPUs this machine has, by what is counted as one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What is counted as a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuUnit {
    /// Each thread that this process may use.
    #[default]
    Thread,
    /// Each core, whatever threads it has.
    Core,
    /// Each socket, whatever cores it has.
    Socket,
}

/// Where the kernel describes its CPUs.
const FOLDER: &str = "/sys/devices/system/cpu";

impl CpuUnit {
    /// How many of them there are, at least 1; the threads where the kernel does not say.
    pub fn count(self) -> u32 {
        let counted = match self {
            CpuUnit::Thread => None,
            CpuUnit::Core => parts(Path::new(FOLDER), &["physical_package_id", "core_id"]),
            CpuUnit::Socket => parts(Path::new(FOLDER), &["physical_package_id"]),
        };
        counted.unwrap_or_else(|| {
            std::thread::available_parallelism()
                .map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(u32::MAX))
        })
    }
}

/// How many different combinations of these numbers the CPUs have; `None` without any.
fn parts(folder: &Path, names: &[&str]) -> Option<u32> {
    let numbers = |cpu: fs::DirEntry| -> Option<Vec<String>> {
        let topology = cpu.path().join("topology");
        names.iter().map(|name| fs::read_to_string(topology.join(name)).ok()).collect()
    };
    let found: BTreeSet<_> = fs::read_dir(folder).ok()?.flatten().filter_map(numbers).collect();
    u32::try_from(found.len()).ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_and_sockets_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, package, core) in [(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 1, 0)] {
            let topology = folder.path().join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("physical_package_id"), format!("{package}\n")).unwrap();
            fs::write(topology.join("core_id"), format!("{core}\n")).unwrap();
        }
        fs::create_dir(folder.path().join("cpuidle")).unwrap();
        assert_eq!(parts(folder.path(), &["physical_package_id", "core_id"]), Some(3));
        assert_eq!(parts(folder.path(), &["physical_package_id"]), Some(2));
        assert_eq!(parts(&folder.path().join("cpuidle"), &["core_id"]), None);
        assert!(CpuUnit::Thread.count() >= 1);
    }
}
