//! Interfaces of every kind: `/proc/net/dev` and `/sys/class/net`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::counter;
use super::disks::link;
use crate::fake::put;

/// Name, `DEVTYPE`, ARP type, its master, the interfaces it is stacked on, speed.
type Interface = (&'static str, &'static str, u64, &'static str, &'static [&'static str], i64);

const INTERFACES: &[Interface] = &[
    ("lo", "", 772, "", &[], -1),
    ("eno1", "", 1, "bond0", &[], 25_000),
    ("eno2", "", 1, "bond0", &[], 25_000),
    ("enp65s0f0np0", "", 1, "", &[], 100_000),
    ("enp65s0f1np1", "", 1, "", &[], -1),
    ("bond0", "bond", 1, "br0", &["eno1", "eno2"], 50_000),
    ("bond0.100", "vlan", 1, "", &["bond0"], 50_000),
    ("br0", "bridge", 1, "", &["bond0", "veth01"], 50_000),
    ("veth01", "veth", 1, "br0", &[], 10_000),
    ("wg0", "wireguard", 65_534, "", &[], -1),
    ("tun0", "", 65_534, "", &[], 10),
    ("dummy0", "", 1, "", &[], -1),
    ("wlan0", "wlan", 1, "", &[], -1),
    ("ib0", "", 32, "", &[], 100_000),
];

/// Writes `/proc/net/dev`.
pub(super) fn write_stats(root: &Path, step: u64) -> io::Result<()> {
    let mut text = String::from(
        "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|\
        bytes    packets errs drop fifo colls carrier compressed\n",
    );
    for (index, (name, ..)) in INTERFACES.iter().enumerate() {
        let _ = write!(text, "{name:>6}:");
        for column in 0..16 {
            let busy = matches!(column, 0 | 1 | 8 | 9);
            let value = if busy { counter(index as u64 * 16 + column, step) } else { step / 2 };
            let _ = write!(text, " {value:7}");
        }
        text.push('\n');
    }
    put(root, "/proc/net/dev", text)
}

/// Writes the interfaces' directories and the links to them.
pub(super) fn write_sysfs(root: &Path) -> io::Result<()> {
    for (index, (name, devtype, arp_type, master, lower, speed)) in INTERFACES.iter().enumerate() {
        let is_physical = name.starts_with("en") || *name == "wlan0" || *name == "ib0";
        let parent =
            if is_physical { format!("pci0000:00/0000:0{index}:00.0") } else { "virtual".into() };
        let place = format!("sys/devices/{parent}/net/{name}");
        let write = |file: &str, text: String| put(root, &format!("{place}/{file}"), text);
        let devtype_line =
            if devtype.is_empty() { String::new() } else { format!("DEVTYPE={devtype}\n") };
        write("uevent", format!("{devtype_line}INTERFACE={name}\nIFINDEX={}\n", index + 1))?;
        write("ifindex", format!("{}\n", index + 1))?;
        write("iflink", format!("{}\n", index + 1))?;
        write("type", format!("{arp_type}\n"))?;
        write("speed", format!("{speed}\n"))?;
        write("operstate", if *speed < 0 { "unknown\n" } else { "up\n" }.into())?;
        if *name == "tun0" {
            write("tun_flags", "0x1001\n".into())?;
        }
        match *devtype {
            "bond" => write("bonding/slaves", lower.join(" ") + "\n")?,
            "bridge" => write("bridge/stp_state", "0\n".into())?,
            "wlan" => write("phy80211/index", "0\n".into())?,
            _ => {}
        }
        if is_physical {
            fs::create_dir_all(root.join(format!("{place}/device")))?;
        }
        if !master.is_empty() {
            link(root, &format!("{place}/master"), &format!("../{master}"))?;
        }
        for below in *lower {
            link(root, &format!("{place}/lower_{below}"), &format!("../{below}"))?;
        }
        link(
            root,
            &format!("sys/class/net/{name}"),
            &format!("../../devices/{parent}/net/{name}"),
        )?;
    }
    Ok(())
}
