//! How much memory this process may still take: the limits of its cgroups, and its own.
//!
//! Reading the kernel's types takes more memory for a moment than a recorder has in weeks.  Where a
//! limit is lower, the kernel would kill the process, or an allocation would fail, so the programs
//! are not loaded.  Costs a few reads of small files, once a start.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// The bytes that are left, with what leaves them; `None` without a limit.
pub(crate) fn left() -> Option<(u64, &'static str)> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_folders(&cgroups, Path::new("/sys/fs/cgroup"));
    let of_groups = groups.iter().filter_map(|group| left_in(group)).min();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of_process = |resource, field, name| Some((left_of(resource, field, &status)?, name));
    [
        of_groups.map(|left| (left, "the memory limit of its cgroup")),
        of_process(Resource::As, "VmSize:", "the limit of its address space (ulimit -v)"),
        of_process(Resource::Data, "VmData:", "the limit of its data (ulimit -d)"),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// The folders of the memory cgroups that a process is in, up to the root, of both versions.
fn group_folders(cgroups: &str, root: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in cgroups.lines() {
        // `0::/a/b` of version 2, `7:memory:/a/b` of version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mount = match controllers {
            "" => root.to_owned(),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                root.join("memory")
            }
            _ => continue,
        };
        let group = Path::new(path.trim_start_matches('/'));
        // In a container the path may be that of the host, and its own folder is the mount.
        folders.extend(group.ancestors().map(|part| mount.join(part)));
    }
    folders
}

/// The bytes that a cgroup has left; pages of files, which it can drop, count as left.
fn left_in(group: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()
    };
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let facts = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let fact = |name: &str| -> Option<u64> {
        let line = facts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.parse().ok()
    };
    let files = ["total_inactive_file", "total_active_file"].map(fact);
    let files = match files {
        [None, None] => ["inactive_file", "active_file"].map(fact),
        of_all => of_all,
    };
    let files: u64 = files.into_iter().flatten().sum();
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

/// What a soft limit of this process leaves; `field` of `/proc/self/status` is what it has in KiB.
fn left_of(resource: Resource, field: &str, status: &str) -> Option<u64> {
    let limit = getrlimit(resource).current?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let used_kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used_kib << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_of_both_versions_leave_what_files_do_not_take() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let left = |cgroups: &str| {
            let groups = group_folders(cgroups, root.path());
            groups.iter().filter_map(|group| left_in(group)).min()
        };
        put("memory/a/memory.limit_in_bytes", "1000\n");
        put("memory/a/memory.usage_in_bytes", "700\n");
        put(
            "memory/a/memory.stat",
            "active_file 1\ntotal_inactive_file 60\ntotal_active_file 40\n",
        );
        put("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/a/b/memory.usage_in_bytes", "5\n");
        assert_eq!(left("4:cpu,cpuacct:/x\n3:memory:/a/b\n"), Some(400));
        put("c/memory.max", "2000\n");
        put("c/memory.current", "1500\n");
        put("c/memory.stat", "inactive_file 100\nactive_file 0\n");
        put("c/d/memory.max", "max\n");
        assert_eq!(left("0::/c/d\n"), Some(600));
        assert_eq!(left("0::/elsewhere\n"), None);
        assert_eq!(left("no cgroups"), None);
    }
}
