//! Forty cgroups of version 2 (kernel `Documentation/admin-guide/cgroup-v2.rst`), nested as
//! systemd and a container engine nest them.

use std::io;
use std::path::Path;

use super::{base, counter};
use crate::fake::put;

pub(super) fn write(root: &Path, step: u64) -> io::Result<()> {
    base(root, step)?;
    put(
        root,
        "/proc/self/mountinfo",
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
        27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
        30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
    )?;
    put(
        root,
        "/proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t41\t1\nmemory\t0\t41\t1\n",
    )?;
    put(
        root,
        "/sys/fs/cgroup/cgroup.controllers",
        "cpuset cpu io memory hugetlb pids rdma misc\n",
    )?;
    let groups = groups();
    put(
        root,
        "/sys/fs/cgroup/cgroup.stat",
        format!("nr_descendants {}\nnr_dying_descendants 3\n", groups.len()),
    )?;
    // A dm volume on a disk: its traffic is counted at both.
    put(root, "/sys/dev/block/253:0/slaves/sda/dev", "8:0\n")?;
    put(root, "/sys/dev/block/8:0/dev", "8:0\n")?;
    write_group(root, "", 0, step, true)?;
    for (index, group) in groups.iter().enumerate() {
        write_group(root, group, index as u64 + 1, step, false)?;
    }
    Ok(())
}

fn groups() -> Vec<String> {
    let mut groups: Vec<String> =
        ["/init.scope", "/system.slice", "/user.slice", "/machine.slice"].map(String::from).into();
    for service in
        ["cron", "dbus", "ssh", "nginx", "postgresql", "systemd-journald", "systemd-udevd"]
    {
        groups.push(format!("/system.slice/{service}.service"));
    }
    groups.push("/system.slice/system-getty.slice".into());
    groups.push("/system.slice/system-getty.slice/getty@tty1.service".into());
    groups.push("/user.slice/user-1000.slice".into());
    groups.push("/user.slice/user-1000.slice/session-2.scope".into());
    groups.push("/user.slice/user-1000.slice/user@1000.service".into());
    groups.push("/user.slice/user-1000.slice/user@1000.service/app.slice".into());
    groups.push("/kubepods.slice".into());
    groups.push("/kubepods.slice/kubepods-burstable.slice".into());
    groups.push("/kubepods.slice/kubepods-besteffort.slice".into());
    for pod in 0..10 {
        let class = if pod % 2 == 0 { "burstable" } else { "besteffort" };
        let pod_path =
            format!("/kubepods.slice/kubepods-{class}.slice/kubepods-{class}-pod{pod:032x}.slice");
        groups.push(format!("{pod_path}/cri-containerd-{:064x}.scope", pod + 7));
        groups.push(pod_path);
    }
    groups
}

fn write_group(root: &Path, group: &str, seed: u64, step: u64, is_root: bool) -> io::Result<()> {
    let c = |number: u64| counter(seed * 100 + number, step);
    let put = |file: &str, text: String| put(root, &format!("/sys/fs/cgroup{group}/{file}"), text);
    let mut cpu = format!(
        "usage_usec {}\nuser_usec {}\nsystem_usec {}\ncore_sched.force_idle_usec 0\n",
        c(1) + c(2),
        c(1),
        c(2)
    );
    if !is_root {
        cpu += &format!(
            "nr_periods {}\nnr_throttled {}\nthrottled_usec {}\nnr_bursts 0\nburst_usec 0\n",
            c(3),
            c(4) / 10,
            c(5)
        );
    }
    put("cpu.stat", cpu)?;
    put(
        "memory.stat",
        format!(
            "anon {}\nfile {}\nkernel {}\nkernel_stack 16384\npagetables 1\npercpu 2\nsock 0\nvmalloc 0\n\
            shmem 4096\nzswap 0\nzswapped 0\nfile_mapped 8192\nfile_dirty 0\nfile_writeback 0\n\
            swapcached 0\nanon_thp 0\ninactive_anon 0\nactive_anon 1\nslab_reclaimable 5\n\
            slab_unreclaimable 6\nslab 11\nworkingset_refault_anon 0\npgfault {}\npgmajfault {}\n",
            c(6) * 4096,
            c(7) * 4096,
            c(8),
            c(9),
            c(10) / 100
        ),
    )?;
    let traffic = format!(
        "rbytes={} wbytes={} rios={} wios={} dbytes=0 dios=0",
        c(11) * 512,
        c(12) * 512,
        c(11),
        c(12)
    );
    put(
        "io.stat",
        format!("8:0 {traffic}\n253:0 {traffic}\n7:0 rbytes=1 wbytes=0 rios=1 wios=0\n"),
    )?;
    for resource in ["cpu", "memory", "io"] {
        let some = c(13) + resource.len() as u64;
        put(
            &format!("{resource}.pressure"),
            format!(
                "some avg10=0.00 avg60=0.10 avg300=1.00 total={some}\n\
                full avg10=0.00 avg60=0.00 avg300=0.50 total={}\n",
                some / 2
            ),
        )?;
    }
    if is_root {
        return Ok(());
    }
    // A group with a limit stays below it.
    let limit = if seed.is_multiple_of(3) { 1 << 30 } else { u64::MAX };
    put("memory.current", format!("{}\n", (c(14) * 4096).min(limit - 4096)))?;
    put("memory.peak", format!("{}\n", c(14) * 8192))?;
    let limited = seed.is_multiple_of(3);
    put("memory.max", if limited { "1073741824\n".into() } else { "max\n".into() })?;
    put("memory.swap.current", "0\n".into())?;
    put(
        "memory.events",
        format!("low 0\nhigh 0\nmax {step}\noom {step}\noom_kill {step}\noom_group_kill 0\n"),
    )?;
    put("pids.current", format!("{}\n", seed % 30))
}
