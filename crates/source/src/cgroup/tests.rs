//! Tests with a generated tree, and with this machine.

use testkit::FakeHost;

use super::fields::*;
use super::*;

const MOUNT_TWO: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

fn add_group(fake: &FakeHost, path: &str, usage_us: u64) {
    let put = |file: &str, text: String| {
        fake.put(&format!("/sys/fs/cgroup{path}/{file}"), text).unwrap();
    };
    put("cpu.stat", format!("usage_usec {usage_us}\nuser_usec 1\nsystem_usec 2\n"));
    put("memory.current", "4096\n".into());
    put("memory.max", "max\n".into());
    put("memory.stat", "anon 1\nfile 2\nfile_dirty 3\npgfault 4\n".into());
    put("memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n".into());
    put("io.stat", "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n".into());
    put("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=55\n".into());
}

fn version_two() -> FakeHost {
    let fake = FakeHost::new().unwrap();
    fake.put("/proc/self/mountinfo", MOUNT_TWO).unwrap();
    fake.put("/sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n").unwrap();
    fake.put("/sys/fs/cgroup/cgroup.stat", "nr_descendants 3\n").unwrap();
    fake.put("/sys/fs/cgroup/cpu.stat", "usage_usec 1000\n").unwrap();
    for (path, usage_us) in [("/a.slice", 5), ("/a.slice/b", 6), ("/c", 7)] {
        add_group(&fake, path, usage_us);
    }
    fake
}

fn names(table: &Table) -> Vec<&str> {
    (0..table.rows()).map(|row| std::str::from_utf8(table.name(row)).unwrap()).collect()
}

#[test]
fn groups_come_and_go() {
    let fake = version_two();
    let mut host = Host::new(fake.root());
    let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
    let mut table = Table::new(COUNT);
    assert_eq!(source.read(&mut host, &mut table), State::Ok);
    assert_eq!(names(&table), ["/", "/a.slice", "/a.slice/b", "/c"]);
    let cell = |table: &Table, row, field| table.get(row, field);
    assert_eq!(cell(&table, 0, CPU_USAGE), Some(1000));
    assert_eq!(cell(&table, 0, MEMORY_CURRENT), None, "the root has no such file");
    assert_eq!((cell(&table, 0, GROUPS), cell(&table, 0, GROUPS_LEFT_OUT)), (Some(4), Some(0)));
    assert_eq!(cell(&table, 2, CPU_USAGE), Some(6));
    assert_eq!(cell(&table, 2, MEMORY_MAX), None, "no limit is not a number");
    assert_eq!(
        (cell(&table, 2, MEMORY_LIMIT_HITS), cell(&table, 2, OOM_KILLS)),
        (Some(7), Some(1))
    );
    assert_eq!((cell(&table, 2, FILE), cell(&table, 2, FILE_DIRTY)), (Some(2), Some(3)));
    assert_eq!((cell(&table, 2, IO_READ), cell(&table, 2, IO_WRITES)), (Some(10), Some(2)));
    assert_eq!((cell(&table, 2, CPU_SOME), cell(&table, 2, CPU_FULL)), (Some(55), None));
    assert_eq!((cell(&table, 2, PIDS), cell(&table, 2, GROUPS)), (None, None));
    assert_eq!(table.text(2, HIERARCHY), Some(&b"v2"[..]));

    // The kernel's count shows that the tree has changed.
    fake.remove("/sys/fs/cgroup/c").unwrap();
    add_group(&fake, "/a.slice/d", 8);
    add_group(&fake, "/e", 9);
    fake.put("/sys/fs/cgroup/cgroup.stat", "nr_descendants 4\n").unwrap();
    host.begin_tick();
    assert_eq!(source.read(&mut host, &mut table), State::Ok);
    assert_eq!(names(&table), ["/", "/a.slice", "/a.slice/b", "/a.slice/d", "/e"]);

    // While it does not change, a reading does not walk the tree: one pread a file.
    let files = 1 + 7 * 4 + 1;
    let calls = host.cost().calls;
    host.begin_tick();
    source.read(&mut host, &mut table);
    assert_eq!(host.cost().calls - calls, files);
}

#[test]
fn without_descriptors_to_keep_the_numbers_are_the_same() {
    let fake = version_two();
    let mut host = Host::new(fake.root());
    let mut rich = Cgroup::open(&mut host, Tree::new());
    let mut poor = Cgroup::open(&mut host, Tree::with_descriptors(3));
    let (mut one, mut other) = (Table::new(COUNT), Table::new(COUNT));
    assert_eq!(rich.read(&mut host, &mut one), State::Ok);
    assert_eq!(poor.read(&mut host, &mut other), State::Ok);
    assert!(one.same_rows(&other));
    assert_eq!((one.values(), one.presence()), (other.values(), other.presence()));
}

#[test]
fn what_stands_on_other_disks_counts_once() {
    let fake = version_two();
    fake.put("/sys/dev/block/253:0/slaves/sda/dev", "8:0\n").unwrap();
    fake.put("/sys/dev/block/8:0/dev", "8:0\n").unwrap();
    let text = "7:1 rbytes=10 rios=1\n8:0 rbytes=10 rios=1\n253:0 rbytes=10 rios=1\n";
    fake.put("/sys/fs/cgroup/c/io.stat", text).unwrap();
    let mut host = Host::new(fake.root());
    let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
    let mut table = Table::new(COUNT);
    assert_eq!(source.read(&mut host, &mut table), State::Ok);
    let row = table.find(b"/c", 0).unwrap();
    assert_eq!((table.get(row, IO_READ), table.get(row, IO_READS)), (Some(10), Some(1)));
}

#[test]
fn version_one_means_the_same() {
    let fake = FakeHost::new().unwrap();
    let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    fake.put("/proc/self/mountinfo", mounts).unwrap();
    fake.put("/sys/fs/cgroup/unified/cgroup.controllers", "\n").unwrap();
    let put = |path: &str, text: &str| fake.put(&format!("/sys/fs/cgroup/{path}"), text).unwrap();
    put("cpu,cpuacct/web/cpuacct.usage", "5000999\n");
    put("cpu,cpuacct/web/cpuacct.stat", "user 3\nsystem 4\n");
    put("cpu,cpuacct/web/cpu.stat", "nr_periods 5\nnr_throttled 6\nthrottled_time 7000\n");
    put("memory/web/memory.usage_in_bytes", "4096\n");
    put("memory/web/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/web/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    put("memory/web/memory.stat", "cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\ntotal_swap 5\n");
    put("memory/db/memory.limit_in_bytes", "8192\n");
    put("blkio/web/blkio.throttle.io_service_bytes_recursive", "8:0 Read 8\n8:0 Write 9\n");
    let mut host = Host::new(fake.root());
    let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
    let mut table = Table::new(COUNT);
    assert_eq!(source.read(&mut host, &mut table), State::Ok);
    assert_eq!(names(&table), ["/", "/db", "/web"]);
    assert_eq!(table.get(1, MEMORY_MAX), Some(8192));
    assert_eq!(table.text(2, HIERARCHY), Some(&b"v1"[..]));
    let hz = rustix::param::clock_ticks_per_second();
    for (field, value) in [
        (CPU_USAGE, Some(5000)),
        (CPU_USER, Some(3_000_000 / hz)),
        (CPU_PERIODS, Some(5)),
        (CPU_THROTTLED, Some(7)),
        (MEMORY_CURRENT, Some(4096)),
        (MEMORY_MAX, None),
        (OOM_KILLS, Some(2)),
        (FILE, Some(3)),
        (ANON, Some(4)),
        (SWAP_CURRENT, Some(5)),
        (IO_READ, Some(8)),
        (IO_WRITTEN, Some(9)),
        (IO_READS, None),
        (PIDS, None),
    ] {
        assert_eq!(table.get(2, field), value, "{}", FIELDS[field].name);
    }
}

#[test]
fn without_mounts_the_source_is_absent() {
    let fake = FakeHost::new().unwrap();
    let mut host = Host::new(fake.root());
    let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
    let mut table = Table::new(COUNT);
    assert_eq!(source.read(&mut host, &mut table), State::Absent);
    fake.put("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n").unwrap();
    let mut host = Host::new(fake.root());
    let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
    assert_eq!(source.read(&mut host, &mut table), State::Absent);
}

#[test]
fn this_machine() {
    let mut host = Host::new("/");
    let mut source = (ENTRY.open)(&mut host, &std::sync::Arc::default());
    let mut table = Table::new(COUNT);
    let state = source.read(&mut host, &mut table);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    if !mounts.contains(" - cgroup") {
        assert_eq!(state, State::Absent);
        return;
    }
    assert_eq!(state, State::Ok);
    assert_eq!(table.name(0), b"/");
    for _ in 0..3 {
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
    }
    let group = (0..table.rows()).find(|&row| table.get(row, MEMORY_CURRENT).is_some());
    if let Some(row) = group {
        assert!(table.get(row, FILE).is_some() && table.get(row, PAGE_FAULTS).is_some());
    }
}
