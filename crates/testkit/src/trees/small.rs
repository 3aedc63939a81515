//! Machines with one special subsystem each.

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{base, counter};
use crate::fake::put;

/// `count` counters on a line, after the line's name.
fn line(name: &str, count: u64, seed: u64, step: u64) -> String {
    let mut text = format!("{name} {count}");
    for index in 0..count {
        let _ = write!(text, " {}", counter(seed + index, step) % 1_000_000);
    }
    text.push('\n');
    text
}

/// `/proc/net/rpc/{nfs,nfsd}` as `net/sunrpc/stats.c` and `fs/nfsd/stats.c` print them.
pub(super) fn nfs(root: &Path, step: u64) -> io::Result<()> {
    base(root, step)?;
    let calls = counter(1, step);
    let mut client = format!("net {calls} 0 {calls} 3\n");
    let _ = writeln!(client, "rpc {calls} {} {calls}", counter(2, step) % 1000);
    client += &line("proc2", 18, 100, step);
    client += &line("proc3", 22, 200, step);
    client += &line("proc4", 69, 300, step);
    put(root, "/proc/net/rpc/nfs", client)?;
    let mut server = format!("rc {} {} {}\n", counter(3, step), counter(4, step), counter(5, step));
    server += "fh 0 0 0 0 0\n";
    let _ = writeln!(server, "io {} {}", counter(6, step), counter(7, step));
    server += "th 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000\n";
    server += "ra 32 0 0 0 0 0 0 0 0 0 0 0\n";
    let packets = counter(8, step);
    let _ = writeln!(server, "net {packets} {} {} 12", packets / 10, packets - packets / 10);
    let _ = writeln!(server, "rpc {packets} 3 1 2 0");
    server += &line("proc2", 18, 400, step);
    server += &line("proc3", 22, 500, step);
    server += &line("proc4", 2, 600, step);
    server += &line("proc4ops", 76, 700, step);
    let _ = writeln!(server, "wdeleg_getattr {}", counter(9, step));
    put(root, "/proc/net/rpc/nfsd", server)
}

/// `/sys/class/infiniband/*/ports/*` (kernel `Documentation/ABI/stable/sysfs-class-infiniband`).
pub(super) fn infiniband(root: &Path, step: u64) -> io::Result<()> {
    base(root, step)?;
    const COUNTERS: &[&str] = &[
        "port_rcv_data",
        "port_rcv_packets",
        "port_xmit_data",
        "port_xmit_packets",
        "multicast_rcv_packets",
        "multicast_xmit_packets",
        "unicast_rcv_packets",
        "unicast_xmit_packets",
        "symbol_error",
        "link_error_recovery",
        "link_downed",
        "port_rcv_errors",
        "port_rcv_remote_physical_errors",
        "port_rcv_switch_relay_errors",
        "port_xmit_discards",
        "port_xmit_wait",
        "port_rcv_constraint_errors",
        "port_xmit_constraint_errors",
        "local_link_integrity_errors",
        "excessive_buffer_overrun_errors",
        "VL15_dropped",
    ];
    let ports = [("mlx5_0", 1, "4: ACTIVE"), ("mlx4_1", 1, "4: ACTIVE"), ("mlx4_1", 2, "1: DOWN")];
    for (index, (adapter, port, state)) in ports.into_iter().enumerate() {
        let adapter_path = format!("/sys/class/infiniband/{adapter}");
        put(root, &format!("{adapter_path}/node_type"), "1: CA\n")?;
        put(root, &format!("{adapter_path}/hca_type"), "MT4119\n")?;
        let path = format!("{adapter_path}/ports/{port}");
        put(root, &format!("{path}/state"), format!("{state}\n"))?;
        put(root, &format!("{path}/phys_state"), "5: LinkUp\n")?;
        put(root, &format!("{path}/rate"), "100 Gb/sec (4X EDR)\n")?;
        put(root, &format!("{path}/link_layer"), "InfiniBand\n")?;
        put(root, &format!("{path}/lid"), format!("{:#x}\n", index + 1))?;
        let moves = if state.starts_with('4') { step } else { 0 };
        for (number, name) in COUNTERS.iter().enumerate() {
            let value = counter((index * 100 + number) as u64, moves);
            // Adapters before the fifth generation have 32-bit counters here, 64-bit ones elsewhere.
            put(root, &format!("{path}/counters/{name}"), format!("{value}\n"))?;
            let is_traffic = name.ends_with("_data") || name.ends_with("_packets");
            if adapter == "mlx4_1" && is_traffic {
                let name = match *name {
                    "port_rcv_data" => "port_rcv_data_64",
                    "port_xmit_data" => "port_xmit_data_64",
                    "port_rcv_packets" => "port_rcv_packets_64",
                    "port_xmit_packets" => "port_xmit_packets_64",
                    "unicast_rcv_packets" => "port_unicast_rcv_packets",
                    "unicast_xmit_packets" => "port_unicast_xmit_packets",
                    "multicast_rcv_packets" => "port_multicast_rcv_packets",
                    _ => "port_multicast_xmit_packets",
                };
                put(root, &format!("{path}/counters_ext/{name}"), format!("{value}\n"))?;
            }
        }
        put(root, &format!("{path}/hw_counters/out_of_sequence"), format!("{step}\n"))?;
    }
    Ok(())
}

/// A container or a hardened machine: some files are missing, some are empty, some are readable
/// only by root.
pub(super) fn sparse(root: &Path, step: u64) -> io::Result<()> {
    // Make the unreadable files writable again for users other than root.
    set_modes_of_denied(root, 0o600)?;
    base(root, step)?;
    for path in ["/proc/vmstat", "/proc/net/snmp6", "/proc/net/sockstat6", "/proc/buddyinfo"] {
        let path = root.join(&path[1..]);
        if path.exists() {
            std::fs::remove_file(path)?;
        }
    }
    for path in ["/proc/net/netstat", "/proc/sys/fs/file-nr", "/proc/pressure/memory"] {
        put(root, path, "")?;
    }
    let mounts = "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
    put(root, "/proc/self/mountinfo", mounts)?;
    put(root, "/sys/fs/cgroup/pids/job/pids.current", format!("{}\n", 7 + step))?;
    set_modes_of_denied(root, 0o400)
}

/// Sets the mode of the existing ones.
fn set_modes_of_denied(root: &Path, mode: u32) -> io::Result<()> {
    for path in DENIED.iter().map(|path| root.join(&path[1..])).filter(|path| path.exists()) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Files of the sparse tree that only its owner may read.
pub(super) const DENIED: &[&str] = &[
    "/proc/slabinfo",
    "/proc/diskstats",
    "/proc/softirqs",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
];
