//! `/proc/meminfo` (proc_meminfo(5), kernel `fs/proc/meminfo.c`): `MemTotal:       24684096 kB`.
//!
//! Values are kibibytes, except the four `HugePages_` counts.  A line is missing if the kernel is
//! too old or built without the feature; it is then not reported.

use crate::scan::KeyIndex;

/// The lines that are read, in the file's order.
pub const KEYS: &[&[u8]] = &[
    b"MemTotal:",
    b"MemFree:",
    b"MemAvailable:",
    b"Buffers:",
    b"Cached:",
    b"SwapCached:",
    b"Active:",
    b"Inactive:",
    b"Active(anon):",
    b"Inactive(anon):",
    b"Active(file):",
    b"Inactive(file):",
    b"Unevictable:",
    b"Mlocked:",
    b"SwapTotal:",
    b"SwapFree:",
    b"Zswap:",
    b"Zswapped:",
    b"Dirty:",
    b"Writeback:",
    b"AnonPages:",
    b"Mapped:",
    b"Shmem:",
    b"KReclaimable:",
    b"Slab:",
    b"SReclaimable:",
    b"SUnreclaim:",
    b"KernelStack:",
    b"PageTables:",
    b"NFS_Unstable:",
    b"Bounce:",
    b"CommitLimit:",
    b"Committed_AS:",
    b"VmallocUsed:",
    b"Percpu:",
    b"HardwareCorrupted:",
    b"AnonHugePages:",
    b"ShmemHugePages:",
    b"FileHugePages:",
    b"HugePages_Total:",
    b"HugePages_Free:",
    b"HugePages_Rsvd:",
    b"HugePages_Surp:",
    b"Hugepagesize:",
    b"Hugetlb:",
];

/// Finds [`KEYS`].
pub fn index() -> KeyIndex {
    KeyIndex::new(KEYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, and the lines that a recording of 2.6.18 has.
    const NEW: &str = "MemTotal:       24684096 kB\nMemFree:        23556652 kB\n\
        MemAvailable:   24105844 kB\nBuffers:            4580 kB\nCached:           709780 kB\n\
        SwapCached:            0 kB\nActive:           257696 kB\nInactive:         566372 kB\n\
        Active(anon):       1576 kB\nHugePages_Total:       7\nDirectMap1G:    25165824 kB\n";
    const OLD: &str = "MemTotal:      1026204 kB\nMemFree:         24064 kB\nBuffers: 1 kB\n\
        Inactive:       306028 kB\nHighTotal:       0 kB\n";

    fn read(index: &mut KeyIndex, text: &str) -> Vec<(&'static str, u64)> {
        let mut out = Vec::new();
        let name = |key: usize| std::str::from_utf8(KEYS[key]).unwrap();
        index.scan(text.as_bytes(), |key, value| out.push((name(key), value)));
        out
    }

    #[test]
    fn files_of_two_kernels_and_broken_ones() {
        let mut index = index();
        let new = read(&mut index, NEW);
        assert_eq!(new.len(), 10);
        assert_eq!(new[0], ("MemTotal:", 24_684_096));
        assert_eq!(new[7], ("Inactive:", 566_372));
        assert_eq!(new[9], ("HugePages_Total:", 7));
        let old = read(&mut index, OLD);
        let expected = [
            ("MemTotal:", 1_026_204),
            ("MemFree:", 24_064),
            ("Buffers:", 1),
            ("Inactive:", 306_028),
        ];
        assert_eq!(old, expected);
        assert_eq!(read(&mut index, "MemTotal:\nMemFree: kB\nMemFree"), []);
        assert_eq!(read(&mut index, "Mem"), []);
        assert_eq!(read(&mut index, NEW), new);
    }

    #[test]
    fn the_running_kernel() {
        let text = std::fs::read("/proc/meminfo").unwrap();
        let mut found = 0;
        index().scan(&text, |_, _| found += 1);
        assert!(found > 20, "{found} of {}", KEYS.len());
    }
}
