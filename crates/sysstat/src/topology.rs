//! Where CPUs are: `/sys/devices/system/cpu/cpu*/topology` and `/sys/devices/system/node/node*/cpulist`.
//!
//! Read once when a report begins: two files for each CPU and one for each node.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::activities::{CPUS_MAX, range};

/// The core, the socket and the node of each CPU; 0 where the kernel says nothing, as on a machine
/// without nodes.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    /// By the number of the CPU.
    pub(crate) cpus: HashMap<usize, [usize; 3]>,
}

impl Topology {
    /// Reads it below a root.
    pub(crate) fn read(root: &Path) -> Self {
        let system = root.join("sys/devices/system");
        let mut cpus = HashMap::new();
        for (cpu, folder) in numbered(&system.join("cpu"), "cpu") {
            let number = |file: &str| {
                let text = fs::read_to_string(folder.join("topology").join(file)).ok()?;
                text.trim().parse().ok()
            };
            // A CPU that is offline has no topology.
            let core = number("core_id").unwrap_or(0);
            cpus.insert(cpu, [core, number("physical_package_id").unwrap_or(0), 0]);
        }
        for (node, folder) in numbered(&system.join("node"), "node") {
            let text = fs::read_to_string(folder.join("cpulist")).unwrap_or_default();
            for (first, last) in text.trim().split(',').filter_map(range) {
                for cpu in first..=last.min(CPUS_MAX) {
                    if let Some(place) = cpus.get_mut(&cpu) {
                        place[2] = node;
                    }
                }
            }
        }
        Topology { cpus }
    }

    /// The highest number of a node.
    pub(crate) fn last_node(&self) -> usize {
        self.cpus.values().map(|place| place[2]).max().unwrap_or(0)
    }
}

/// The folders whose names are a word and a number.
fn numbered(folder: &Path, word: &str) -> Vec<(usize, std::path::PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(word)?.parse().ok().filter(|number| *number < CPUS_MAX)
    };
    entries.filter_map(|entry| Some((number(&entry)?, entry.path()))).collect()
}
