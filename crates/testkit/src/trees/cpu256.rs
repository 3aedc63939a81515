//! A big server: 256 CPUs on 4 NUMA nodes, 64 disks, 600 interrupt lines, sensors, compressed
//! memory.  About 3 MB, nearly all of it `/proc/interrupts`.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::{base, counter, disks, network};
use crate::fake::put;

const CPUS: u64 = 256;
const NODES: u64 = 4;
const INTERRUPTS: u64 = 600;

pub(super) fn write(root: &Path, step: u64) -> io::Result<()> {
    base(root, step)?;
    put(root, "/proc/stat", stat(step))?;
    put(root, "/proc/loadavg", format!("128.{:02} 96.00 64.00 130/9000 70000\n", step % 100))?;
    put(root, "/proc/softirqs", softirqs(step))?;
    put(root, "/proc/interrupts", interrupts(step))?;
    put(root, "/proc/schedstat", schedstat(step))?;
    put(root, "/proc/buddyinfo", buddyinfo(step))?;
    put(
        root,
        "/proc/pressure/irq",
        format!("full avg10=0.10 avg60=0.00 avg300=0.00 total={}\n", counter(1, step)),
    )?;
    let devices = disks::sixty_four();
    disks::write_stats(root, &devices, step)?;
    network::write_stats(root, step)?;
    nodes(root, step)?;
    compressed(root, step)?;
    sensors(root, step)?;
    if step == 0 {
        disks::write_sysfs(root, &devices)?;
        network::write_sysfs(root)?;
        put(root, "/proc/self/mountinfo", "27 1 259:1 / / rw - xfs /dev/nvme0n1p1 rw\n")?;
        put(root, "/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n")?;
    }
    Ok(())
}

fn stat(step: u64) -> String {
    let mut text = String::new();
    let mut sums = [0; 10];
    let mut lines = String::new();
    for cpu in 0..CPUS {
        let _ = write!(lines, "cpu{cpu}");
        for (column, sum) in sums.iter_mut().enumerate() {
            let value = counter(cpu * 10 + column as u64, step);
            *sum += value;
            let _ = write!(lines, " {value}");
        }
        lines.push('\n');
    }
    let sums: Vec<String> = sums.iter().map(u64::to_string).collect();
    let _ = writeln!(text, "cpu  {}", sums.join(" "));
    text += &lines;
    let _ = write!(text, "intr {}", counter(1, step) * 1000);
    for number in 0..4000 {
        let _ = write!(text, " {}", if number % 9 == 0 { counter(number, step) } else { 0 });
    }
    let _ = write!(
        text,
        "\nctxt {}\nbtime 1700000000\nprocesses {}\nprocs_running 130\nprocs_blocked 2\n\
        softirq {} 1 2 3 4 5 6 7 8 9 10\n",
        counter(2, step) * 100,
        counter(3, step),
        counter(4, step)
    );
    text
}

fn heading(width: usize) -> String {
    let cpus: Vec<String> = (0..CPUS).map(|cpu| format!("{:<11}", format!("CPU{cpu}"))).collect();
    format!("{}{}\n", " ".repeat(width), cpus.join(""))
}

fn softirqs(step: u64) -> String {
    let mut text = heading(20);
    let kinds = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    for (index, kind) in kinds.into_iter().enumerate() {
        let _ = write!(text, "{kind:>12}:");
        for cpu in 0..CPUS {
            let _ = write!(text, " {:10}", counter(index as u64 * CPUS + cpu, step));
        }
        text.push('\n');
    }
    text
}

fn interrupts(step: u64) -> String {
    let mut text = heading(11);
    for number in 0..INTERRUPTS {
        let _ = write!(text, "{number:>5}:");
        for cpu in 0..CPUS {
            // Each interrupt goes to one CPU, as with drivers that have a queue per CPU.
            let here = cpu == number % CPUS;
            let _ = write!(text, " {:10}", if here { counter(number, step) } else { 0 });
        }
        let _ = writeln!(text, "  IR-PCI-MSIX-0000:41:00.0  {number}-edge      mlx5_comp{number}");
    }
    for (index, (name, what)) in [
        ("NMI", "Non-maskable interrupts"),
        ("LOC", "Local timer interrupts"),
        ("RES", "Rescheduling interrupts"),
        ("CAL", "Function call interrupts"),
        ("TLB", "TLB shootdowns"),
    ]
    .into_iter()
    .enumerate()
    {
        let _ = write!(text, "{name:>5}:");
        for cpu in 0..CPUS {
            let _ = write!(text, " {:10}", counter(index as u64 * CPUS + cpu, step));
        }
        let _ = writeln!(text, "   {what}");
    }
    text += "  ERR:          0\n  MIS:          0\n";
    text
}

fn schedstat(step: u64) -> String {
    let mut text = format!("version 17\ntimestamp {}\n", 4_295_000_000 + step * 250);
    for cpu in 0..CPUS {
        let c = |column| counter(cpu * 16 + column, step);
        let _ = writeln!(
            text,
            "cpu{cpu} {} 0 {} {} {} {} {} {} {}",
            c(0),
            c(1) * 10,
            c(2),
            c(3) * 3,
            c(4),
            c(5) * 1_000_000,
            c(6) * 1000,
            c(7)
        );
        for (domain, name) in ["SMT", "MC", "PKG", "NUMA"].into_iter().enumerate() {
            let _ = write!(
                text,
                "domain{domain} {name} {}",
                "ffffffff,".repeat(8).trim_end_matches(',')
            );
            for column in 0..45 {
                let _ = write!(text, " {}", c(column) % 1000);
            }
            text.push('\n');
        }
    }
    text
}

fn buddyinfo(step: u64) -> String {
    let mut text = String::new();
    for node in 0..NODES {
        for zone in if node == 0 { &["DMA", "DMA32", "Normal"][..] } else { &["Normal"][..] } {
            let _ = write!(text, "Node {node}, zone {zone:>8}");
            for order in 0..11 {
                let _ = write!(text, " {:6}", (counter(node + order, step) >> order) % 100_000);
            }
            text.push_str(" \n");
        }
    }
    text
}

fn nodes(root: &Path, step: u64) -> io::Result<()> {
    put(root, "/sys/devices/system/cpu/present", "0-255\n")?;
    put(root, "/sys/devices/system/node/online", "0-3\n")?;
    put(root, "/sys/devices/system/node/possible", "0-3\n")?;
    for node in 0..NODES {
        let c = |column| counter(node * 64 + column, step);
        let mut text = String::new();
        for (index, key) in [
            "MemTotal",
            "MemFree",
            "MemUsed",
            "SwapCached",
            "Active",
            "Inactive",
            "Active(anon)",
            "Inactive(anon)",
            "Active(file)",
            "Inactive(file)",
            "Unevictable",
            "Mlocked",
            "Dirty",
            "Writeback",
            "FilePages",
            "Mapped",
            "AnonPages",
            "Shmem",
            "KernelStack",
            "PageTables",
            "NFS_Unstable",
            "Bounce",
            "WritebackTmp",
            "KReclaimable",
            "Slab",
            "SReclaimable",
            "SUnreclaim",
            "AnonHugePages",
            "ShmemHugePages",
            "ShmemPmdMapped",
            "FileHugePages",
        ]
        .into_iter()
        .enumerate()
        {
            let value = if key == "MemTotal" { 528_280_908 } else { c(index as u64) };
            let _ = writeln!(text, "Node {node} {:<15}{value:>9} kB", format!("{key}:"));
        }
        for key in ["HugePages_Total", "HugePages_Free", "HugePages_Surp"] {
            let _ = writeln!(text, "Node {node} {key}:     0");
        }
        let path = format!("/sys/devices/system/node/node{node}");
        put(root, &format!("{path}/meminfo"), text)?;
        put(
            root,
            &format!("{path}/numastat"),
            format!(
                "numa_hit {}\nnuma_miss {}\nnuma_foreign {}\ninterleave_hit {}\nlocal_node {}\nother_node {}\n",
                c(40),
                c(41),
                c(42),
                c(43),
                c(44),
                c(45)
            ),
        )?;
        put(root, &format!("{path}/cpulist"), format!("{}-{}\n", node * 64, node * 64 + 63))?;
    }
    Ok(())
}

fn compressed(root: &Path, step: u64) -> io::Result<()> {
    let c = |seed| counter(seed, step);
    for (file, seed) in [
        ("written_back_pages", 1),
        ("pool_limit_hit", 2),
        ("reject_compress_poor", 3),
        ("reject_compress_fail", 4),
        ("reject_alloc_fail", 5),
        ("reject_kmemcache_fail", 6),
        ("reject_reclaim_fail", 7),
        ("stored_pages", 8),
        ("pool_total_size", 9),
    ] {
        put(root, &format!("/sys/kernel/debug/zswap/{file}"), format!("{}\n", c(seed)))?;
    }
    for disk in 0..2u64 {
        let path = format!("/sys/block/zram{disk}");
        let text = format!(
            "{:8} {:8} {:8}        0 {:8} 12 {:8} 3 9\n",
            c(10) * 4,
            c(10),
            c(10),
            c(10),
            c(11)
        );
        put(root, &format!("{path}/mm_stat"), text)?;
        put(root, &format!("{path}/io_stat"), format!("{:8} {:8}        0 {:8}\n", 0, 0, c(12)))?;
        put(root, &format!("{path}/dev"), format!("252:{disk}\n"))?;
    }
    Ok(())
}

/// `hwmon` (kernel `Documentation/hwmon/sysfs-interface.rst`) and thermal zones.
fn sensors(root: &Path, step: u64) -> io::Result<()> {
    let chips: &[(&str, &[(&str, u64)])] = &[
        ("k10temp", &[("temp1_input", 45_000), ("temp1_crit", 95_000), ("temp3_input", 44_000)]),
        (
            "nct6798",
            &[
                ("fan1_input", 1200),
                ("fan2_input", 0),
                ("in0_input", 1050),
                ("temp1_input", 38_000),
            ],
        ),
        ("acpi_power_meter", &[("power1_average", 350_000_000), ("power1_input", 351_000_000)]),
        ("nvme", &[("temp1_input", 41_850), ("temp1_max", 81_850)]),
    ];
    for (index, (chip, values)) in chips.iter().enumerate() {
        let path = format!("/sys/class/hwmon/hwmon{index}");
        put(root, &format!("{path}/name"), format!("{chip}\n"))?;
        for (file, value) in *values {
            let moved = if file.ends_with("_input") && *value > 0 { value + step } else { *value };
            put(root, &format!("{path}/{file}"), format!("{moved}\n"))?;
            if let Some((sensor, _)) = file.split_once("_input") {
                put(root, &format!("{path}/{sensor}_label"), format!("{chip} {sensor}\n"))?;
            }
        }
    }
    for zone in 0..2 {
        let path = format!("/sys/class/thermal/thermal_zone{zone}");
        put(root, &format!("{path}/type"), "x86_pkg_temp\n")?;
        put(root, &format!("{path}/temp"), format!("{}\n", 52_000 + step * 250))?;
    }
    Ok(())
}
