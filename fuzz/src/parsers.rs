//! Every parser of `procfs`: the first byte says which, the rest is the kernel file.
//!
//! Beyond not panicking, a parser must give no more than its text can hold, and what it gives as
//! text must be text of its input.

use std::ops::Range;

use procfs::scan::{lines, take_number, take_signed, take_word};
use procfs::{
    buddyinfo, cgroup, diskstats, hwmon, infiniband, inode, interrupts, loadavg, mountinfo,
    net_dev, node, passwd, pid, pressure, rpc_nfs, scan, schedstat, slabinfo, snmp, sockstat,
    softirqs, stat, zram,
};

/// A parser under a name, with a file whose text is a seed.
pub struct Parser {
    /// Path below a machine's root of a real text.
    pub example: &'static str,
    run: fn(&[u8], &mut Check),
}

/// Counts what a parser gives and where its texts lie.
pub struct Check {
    text: Range<usize>,
    bytes: usize,
    given: usize,
}

impl Check {
    fn over(text: &[u8]) -> Self {
        let start = text.as_ptr() as usize;
        Check { text: start..start + text.len(), bytes: text.len(), given: 0 }
    }

    /// One thing more.
    fn one(&mut self) {
        self.given += 1;
        assert!(self.given <= self.bytes + 64, "more results than the text has bytes");
    }

    /// One thing more, which is a part of the text.
    fn part(&mut self, part: &[u8]) {
        self.one();
        let start = part.as_ptr() as usize;
        let inside = start >= self.text.start && start + part.len() <= self.text.end;
        assert!(part.is_empty() || inside, "a name that is not in the text");
        assert!(!part.contains(&b'\n'), "a name over several lines");
    }
}

/// All of them; the place is the selector byte, modulo the length.
pub const PARSERS: &[Parser] = &[
    Parser { example: "/proc/1/stat", run: process_stat },
    Parser { example: "/proc/1/status", run: process_status },
    Parser { example: "/proc/1/io", run: process_io },
    Parser { example: "/etc/passwd", run: users },
    Parser { example: "/proc/buddyinfo", run: buddy },
    Parser { example: "/sys/fs/cgroup/io.stat", run: io_stat },
    Parser { example: "/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes", run: blkio },
    Parser { example: "/proc/cgroups", run: cgroups },
    Parser { example: "/proc/diskstats", run: disks },
    Parser { example: "/sys/class/hwmon/hwmon0/temp1_input", run: sensors },
    Parser { example: "/sys/class/infiniband/mlx5_0/ports/1/rate", run: adapters },
    Parser { example: "/proc/sys/fs/dentry-state", run: inodes },
    Parser { example: "/proc/interrupts", run: interrupt_lines },
    Parser { example: "/proc/loadavg", run: load },
    Parser { example: "/proc/meminfo", run: |text, check| keys(MEMINFO_KEYS, text, check) },
    Parser { example: "/proc/self/mountinfo", run: mounts },
    Parser { example: "/proc/net/dev", run: interfaces },
    Parser { example: "/sys/devices/system/node/node0/meminfo", run: nodes },
    Parser { example: "/proc/pressure/io", run: stalls },
    Parser { example: "/proc/net/rpc/nfsd", run: rpc },
    Parser { example: "/proc/schedstat", run: run_queues },
    Parser { example: "/proc/slabinfo", run: slabs },
    Parser { example: "/proc/net/snmp", run: pairs },
    Parser { example: "/proc/net/sockstat", run: sockets },
    Parser { example: "/proc/softirqs", run: soft_interrupts },
    Parser { example: "/proc/stat", run: stat_lines },
    Parser { example: "/proc/vmstat", run: |text, check| keys(VMSTAT_KEYS, text, check) },
    Parser { example: "/sys/block/zram0/mm_stat", run: columns },
    Parser { example: "/proc/sys/fs/file-nr", run: words },
];

/// The target.
pub fn procfs(bytes: &[u8]) {
    let Some((selector, text)) = bytes.split_first() else { return };
    let parser = &PARSERS[usize::from(*selector) % PARSERS.len()];
    (parser.run)(text, &mut Check::over(text));
}

fn load(text: &[u8], _: &mut Check) {
    std::hint::black_box(loadavg::parse_loadavg(text));
}

fn stalls(text: &[u8], _: &mut Check) {
    std::hint::black_box(pressure::parse_pressure(text));
}

fn columns(text: &[u8], _: &mut Check) {
    let wide = zram::parse_columns::<{ zram::MM_COLUMNS }>(text);
    let narrow = zram::parse_columns::<{ zram::IO_COLUMNS }>(text);
    assert_eq!(wide[..zram::IO_COLUMNS], narrow);
}

fn process_stat(text: &[u8], check: &mut Check) {
    if let Some(stat) = pid::parse_stat(text) {
        // A name may hold line ends: only the last `)` says where it stops.
        let start = stat.command.as_ptr() as usize;
        assert!(start >= check.text.start && start + stat.command.len() <= check.text.end);
        (0..64).for_each(|field| {
            let _ = stat.field(field);
        });
    }
}

fn process_status(text: &[u8], _: &mut Check) {
    let _ = pid::parse_status(text);
}

fn process_io(text: &[u8], _: &mut Check) {
    let _ = pid::parse_io(text);
}

fn users(text: &[u8], check: &mut Check) {
    passwd::parse_passwd(text).for_each(|(_, name)| check.part(name));
}

fn buddy(text: &[u8], check: &mut Check) {
    for zone in buddyinfo::parse_buddyinfo(text) {
        check.part(zone.node);
        zone.blocks().for_each(|_| check.one());
        check.part(zone.name);
    }
}

fn io_stat(text: &[u8], check: &mut Check) {
    let totals = cgroup::parse_io_stat(text, |device| {
        check.part(device);
        device.len() % 2 == 1
    });
    let none = cgroup::parse_io_stat(text, |_| false);
    assert_eq!(none, cgroup::IoTotals::default(), "no device counts, so nothing does");
    std::hint::black_box(totals);
}

fn blkio(text: &[u8], check: &mut Check) {
    cgroup::parse_blkio(text, |device| {
        check.part(device);
        true
    });
    assert_eq!(cgroup::parse_blkio(text, |_| false), (0, 0));
}

fn cgroups(text: &[u8], check: &mut Check) {
    cgroup::parse_cgroups(text).for_each(|(controller, _)| check.part(controller));
}

fn disks(text: &[u8], check: &mut Check) {
    for disk in diskstats::parse_diskstats(text) {
        check.part(disk.name);
        assert!(!disk.name.is_empty());
        assert!(disk.present >> diskstats::COLUMNS == 0);
        for (column, value) in disk.columns.iter().enumerate() {
            assert!(disk.present >> column & 1 == 1 || *value == 0, "a number nobody printed");
        }
    }
}

fn sensors(text: &[u8], check: &mut Check) {
    std::hint::black_box(hwmon::parse_value(text));
    let name = String::from_utf8_lossy(text);
    if let Some(file) = hwmon::parse_sensor_file(&name) {
        check.one();
        assert!(name.starts_with(file.sensor));
    }
}

fn adapters(text: &[u8], check: &mut Check) {
    std::hint::black_box((infiniband::parse_counter(text), infiniband::parse_rate_mbit(text)));
    let state = infiniband::parse_state(text);
    assert!(state.len() <= text.len());
    check.one();
}

fn inodes(text: &[u8], _: &mut Check) {
    std::hint::black_box((
        inode::parse_dentry_state(text),
        inode::parse_inode_nr(text),
        inode::parse_file_nr(text),
    ));
}

fn interrupt_lines(text: &[u8], check: &mut Check) {
    let all = interrupts::parse_interrupts(text);
    interrupts::cpus(all.heading).for_each(|cpu| check.part(cpu));
    for mut interrupt in all {
        check.part(interrupt.name);
        std::hint::black_box(interrupt.is_single());
        while interrupt.take_count().is_some() {
            check.one();
        }
        let description = interrupt.description();
        assert!(!description.contains(&b'\n'));
    }
}

/// Keys of `/proc/meminfo`; one is the beginning of another line's, one is in no file.
const MEMINFO_KEYS: &[&[u8]] =
    &[b"MemTotal:", b"MemFree:", b"Cached:", b"SwapCached:", b"Active:", b"Slab:", b"Nothing:"];

/// Keys of `/proc/vmstat`.
const VMSTAT_KEYS: &[&[u8]] =
    &[b"nr_free_pages ", b"pgpgin ", b"pgpgout ", b"pgfault ", b"nothing "];

fn keys(keys: &'static [&'static [u8]], text: &[u8], check: &mut Check) {
    let mut index = scan::KeyIndex::new(keys);
    let find = |index: &mut scan::KeyIndex, text: &[u8]| {
        let mut found = Vec::new();
        index.scan(text, |key, value| found.push((key, value)));
        found
    };
    let first = find(&mut index, text);
    first.iter().for_each(|_| check.one());
    // A kernel prints each key once; of two, an index may take either.
    // `MemFree:x` begins with the key `MemFree:` too.
    let name = |mut line| {
        let word = take_word(&mut line);
        word.iter().position(|&byte| byte == b':').map_or(word, |colon| &word[..=colon])
    };
    let mut keys: Vec<&[u8]> = lines(text).map(name).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    if keys.len() < count {
        return;
    }
    assert_eq!(find(&mut index, text), first, "the same text gives the same");
    // Another text in between, of another number of lines: that makes an index look again.
    let half = &text[text.len() / 2..];
    let ends = |text: &[u8]| text.iter().filter(|&&byte| byte == b'\n').count();
    if ends(half) != ends(text) {
        find(&mut index, half);
        assert_eq!(find(&mut index, text), first, "whatever was learnt before");
    }
}

fn mounts(text: &[u8], check: &mut Check) {
    for mount in mountinfo::parse_mountinfo(text) {
        for part in [mount.device, mount.root, mount.point, mount.kind, mount.source, mount.options]
        {
            check.part(part);
            assert!(mountinfo::unescape(part).len() <= part.len());
        }
    }
}

fn interfaces(text: &[u8], check: &mut Check) {
    net_dev::parse_net_dev(text).for_each(|interface| check.part(interface.name));
}

fn nodes(text: &[u8], check: &mut Check) {
    let keys: [&[u8]; 3] = [b"MemTotal:", b"MemFree:", b"Slab:"];
    node::parse_node_meminfo(text, &keys, |key, _| {
        assert!(key < keys.len());
        check.one();
    });
    let mut check = Check::over(text);
    let keys: [&[u8]; 2] = [b"numa_hit", b"numa_miss"];
    node::parse_numastat(text, &keys, |key, _| {
        assert!(key < keys.len());
        check.one();
    });
}

fn rpc(text: &[u8], check: &mut Check) {
    for line in rpc_nfs::parse_rpc(text) {
        let numbers = line.numbers().inspect(|_| check.one()).count();
        assert!(line.counted().count() <= numbers);
    }
}

fn run_queues(text: &[u8], check: &mut Check) {
    let Some(queues) = schedstat::parse_schedstat(text) else { return };
    queues.for_each(|(cpu, _)| check.part(cpu));
}

fn slabs(text: &[u8], check: &mut Check) {
    let Some(slabs) = slabinfo::parse_slabinfo(text) else { return };
    for slab in slabs {
        check.part(slab.name);
        assert!(!slab.name.is_empty());
    }
}

fn pairs(text: &[u8], check: &mut Check) {
    let mut index = snmp::ColumnIndex::default();
    for pair in snmp::parse_pairs(text) {
        check.part(pair.protocol);
        index.scan(
            &pair,
            |name| (name.len() < 9).then_some(name.len()),
            |field, _| {
                assert!(field < 9);
                check.one();
            },
        );
    }
}

fn sockets(text: &[u8], check: &mut Check) {
    for count in sockstat::parse_sockstat(text) {
        check.part(count.key);
        assert!(!count.protocol.contains(&b'\n'));
    }
}

fn soft_interrupts(text: &[u8], check: &mut Check) {
    let Some(all) = softirqs::parse_softirqs(text) else { return };
    all.cpus().for_each(|cpu| check.part(cpu));
    for (kind, counts) in all.kinds() {
        check.part(kind);
        counts.for_each(|_| check.one());
    }
}

fn stat_lines(text: &[u8], check: &mut Check) {
    stat::parse_stat(text).for_each(|_| check.one());
}

/// The scanners by themselves: they always come nearer to the end.
fn words(text: &[u8], check: &mut Check) {
    lines(text).for_each(|line| check.part(line));
    let mut rest = text;
    while !rest.is_empty() {
        let before = rest.len();
        std::hint::black_box((take_number(&mut rest), take_signed(&mut rest)));
        take_word(&mut rest);
        assert!(rest.len() <= before);
        rest = if rest.len() == before { &rest[1..] } else { rest };
    }
    std::hint::black_box((scan::hundredths(text), scan::number(text)));
}
