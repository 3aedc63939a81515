//! The kind of an interface, from `/sys/class/net/NAME` (kernel
//! `Documentation/ABI/testing/sysfs-class-net*`), or from its name where there is no sysfs (a
//! collectl recording).

use procfs::{FileId, Host, ReadMode, scan};

/// Hardware, or a device that a hypervisor provides.
pub(super) const PHYSICAL: &str = "physical";
/// A radio interface of hardware, or of a device that a hypervisor provides.
pub(super) const WIRELESS: &str = "wireless";
/// One end of a pair whose other end is in another network namespace, or an interface on top of one
/// there: what a container has in place of hardware.
pub(super) const PAIRED: &str = "veth";
pub(super) const LOOPBACK: &str = "loopback";
const BOND: &str = "bond";
const BRIDGE: &str = "bridge";
const VLAN: &str = "vlan";
const TUNNEL: &str = "tunnel";
const VIRTUAL: &str = "virtual";

/// The most names in `lower`.
const LOWER_MAX: usize = 64;

/// `ARPHRD_` numbers of tunnels (kernel `include/uapi/linux/if_arp.h`): PPP, IPIP, IP6IP6, SIT,
/// GRE, GRE over IPv6, and none (tun, WireGuard).
const TUNNEL_TYPES: &[u64] = &[512, 768, 769, 776, 778, 823, 65_534];
/// `ARPHRD_LOOPBACK`.
const LOOPBACK_TYPE: u64 = 772;

/// The properties of an interface.
pub(super) struct Interface {
    pub(super) name: Vec<u8>,
    pub(super) kind: &'static str,
    pub(super) master: Vec<u8>,
    pub(super) lower: Vec<u8>,
    pub(super) speed_mbit: Option<u64>,
    pub(super) state: Vec<u8>,
    /// The files of its speed and state, if these are read again.
    files: Option<(FileId, FileId)>,
}

impl Interface {
    /// Reads the properties of an interface; `again` if its speed and state will be read again.
    pub(super) fn look_at(host: &mut Host, name: &[u8], again: bool) -> Self {
        let kind = kind_by_name(name);
        let mut interface = Interface {
            name: name.to_vec(),
            kind,
            master: Vec::new(),
            lower: Vec::new(),
            speed_mbit: None,
            state: Vec::with_capacity(16),
            files: None,
        };
        // A name that is not UTF-8 has a directory too, but is too rare to be worth the code.
        let Some(base) =
            std::str::from_utf8(name).ok().map(|name| format!("/sys/class/net/{name}"))
        else {
            return interface;
        };
        interface.look_below(host, &base);
        let speed = host.file(&format!("{base}/speed"), ReadMode::Whole);
        let state = host.file(&format!("{base}/operstate"), ReadMode::Whole);
        interface.files = Some((speed, state));
        interface.ask_speed(host);
        interface.ask_state(host);
        if !again {
            interface.files = None;
            host.close(speed);
            host.close(state);
        }
        interface
    }

    fn look_below(&mut self, host: &mut Host, base: &str) {
        if let Ok(link) = host.link(&format!("{base}/master")) {
            self.master = last_part(&link).to_vec();
        }
        let entries = host.list(base).unwrap_or_default();
        let lower = entries.iter().filter_map(|entry| entry.strip_prefix(b"lower_"));
        for (index, name) in lower.take(LOWER_MAX).enumerate() {
            if index > 0 {
                self.lower.push(b',');
            }
            self.lower.extend_from_slice(name);
        }
        let Ok(uevent) = host.read_once(&format!("{base}/uevent")) else { return };
        let mut devtype = scan::lines(&uevent).filter_map(|line| line.strip_prefix(b"DEVTYPE="));
        let has = |entry: &[u8]| entries.binary_search_by(|e| e.as_slice().cmp(entry)).is_ok();
        let number = |host: &mut Host, file: &str| {
            host.read_once(&format!("{base}/{file}")).ok().and_then(|text| scan::number(&text))
        };
        let arp_type = number(host, "type");
        let mut has_peer = || {
            let [own, peer] = ["ifindex", "iflink"].map(|file| number(host, file));
            peer.is_some_and(|peer| peer != 0) && own != peer
        };
        self.kind = if arp_type == Some(LOOPBACK_TYPE) {
            LOOPBACK
        } else if let Some(kind) = devtype.next().and_then(kind_by_type) {
            kind
        } else if has(b"wireless") || has(b"phy80211") {
            WIRELESS
        } else if has(b"bonding") {
            BOND
        } else if has(b"bridge") {
            BRIDGE
        } else if has(b"tun_flags") || arp_type.is_some_and(|t| TUNNEL_TYPES.contains(&t)) {
            TUNNEL
        } else if has(b"device") {
            PHYSICAL
        } else if !self.lower.is_empty() {
            VIRTUAL
        } else if arp_type.is_none() {
            // This is not a real sysfs: the name tells more.
            self.kind
        } else if has_peer() {
            PAIRED
        } else {
            VIRTUAL
        };
    }

    /// Reads its speed; `-1` and an error both mean that there is none.
    pub(super) fn ask_speed(&mut self, host: &mut Host) {
        let Some((file, _)) = self.files else { return };
        self.speed_mbit = host.read(file).ok().and_then(scan::number).filter(|&speed| speed > 0);
    }

    /// Reads its state.
    pub(super) fn ask_state(&mut self, host: &mut Host) {
        let Some((_, file)) = self.files else { return };
        self.state.clear();
        if let Ok(text) = host.read(file) {
            self.state.extend_from_slice(text.trim_ascii());
        }
    }

    /// Closes its files.
    pub(super) fn close(self, host: &mut Host) {
        if let Some((speed, state)) = self.files {
            host.close(speed);
            host.close(state);
        }
    }
}

/// The kind by the driver's device type.
fn kind_by_type(devtype: &[u8]) -> Option<&'static str> {
    Some(match devtype {
        b"wlan" | b"wwan" => WIRELESS,
        b"bond" | b"team" => BOND,
        b"bridge" => BRIDGE,
        b"vlan" => VLAN,
        b"vxlan" | b"geneve" | b"gre" | b"gretap" | b"bareudp" | b"wireguard" | b"ppp" => TUNNEL,
        b"macvlan" | b"macvtap" | b"ipvlan" | b"ipvtap" | b"hsr" | b"dsa" | b"ovpn" => VIRTUAL,
        _ => return None,
    })
}

/// The kind by the name, if nothing else is known.  Unknown names are virtual, as in collectl.
pub(super) fn kind_by_name(name: &[u8]) -> &'static str {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p.as_bytes()));
    if name == b"lo" {
        LOOPBACK
    } else if name.contains(&b'.') || begins(&["vlan"]) {
        VLAN
    } else if collectl_counts(name) {
        PHYSICAL
    } else if begins(&["wl", "ww"]) {
        WIRELESS
    } else if begins(&["bond", "team"]) {
        BOND
    } else if begins(&["br", "virbr", "docker", "cni", "lxcbr", "ovs"]) {
        BRIDGE
    } else if begins(&["tun", "tap", "wg", "gre", "sit", "ip6tnl", "vxlan", "ppp", "tailscale"]) {
        TUNNEL
    } else if begins(&["veth"]) {
        PAIRED
    } else {
        VIRTUAL
    }
}

/// collectl 4.3.1's rule: the names that it takes for real networks, without a dot.
pub(super) fn collectl_counts(name: &[u8]) -> bool {
    let known = [&b"eth"[..], b"hed", b"ib", b"em", b"en"].iter().any(|p| name.starts_with(p));
    let slot = matches!(name, [b'p', b'0'..=b'9', b'p', ..]);
    (known || slot) && !name.contains(&b'.')
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn names_say_what_they_can() {
        let check =
            |name: &str, kind: &str| assert_eq!(kind_by_name(name.as_bytes()), kind, "{name}");
        check("lo", "loopback");
        check("eth0", "physical");
        check("enp3s0f1", "physical");
        check("p2p1", "physical");
        check("eth0.100", "vlan");
        check("wlp3s0", "wireless");
        check("bond0", "bond");
        check("br-1234", "bridge");
        check("vethab12", "veth");
        check("wg0", "tunnel");
        check("ifb0", "virtual");
        check("", "virtual");
    }

    /// An interface in a tree: its files, and links as `link -> target`.
    fn put(root: &Path, name: &str, files: &[(&str, &str)]) {
        let base = root.join("sys/class/net").join(name);
        std::fs::create_dir_all(&base).unwrap();
        for (file, text) in files {
            if let Some(target) = text.strip_prefix("-> ") {
                std::os::unix::fs::symlink(target, base.join(file)).unwrap();
            } else if file.ends_with('/') {
                std::fs::create_dir(base.join(file)).unwrap();
            } else {
                std::fs::write(base.join(file), text).unwrap();
            }
        }
    }

    #[test]
    fn sysfs_says_what_an_interface_is() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        let plain = [("type", "1\n"), ("uevent", "INTERFACE=x\n")];
        let with = |more: &[(&'static str, &'static str)]| [&plain[..], more].concat();
        put(at, "lo", &[("type", "772\n"), ("uevent", "INTERFACE=lo\n")]);
        put(at, "lan", &with(&[("device", "-> ../../../0000:00:03.0"), ("speed", "10000\n")]));
        put(at, "eth9", &with(&[("device", "-> x"), ("master", "-> ../bond7"), ("speed", "-1\n")]));
        put(
            at,
            "bond7",
            &with(&[("bonding/", ""), ("lower_eth9", "-> ../eth9"), ("lower_eth8", "-> ../eth8")]),
        );
        put(at, "radio", &[("type", "1\n"), ("uevent", "DEVTYPE=wlan\n"), ("device", "-> x")]);
        put(
            at,
            "lan.7",
            &[("type", "1\n"), ("uevent", "DEVTYPE=vlan\n"), ("lower_lan", "-> ../lan")],
        );
        put(at, "mybridge", &with(&[("bridge/", "")]));
        put(
            at,
            "vpn",
            &[("type", "65534\n"), ("uevent", "INTERFACE=vpn\n"), ("tun_flags", "0x1\n")],
        );
        put(at, "eth0", &with(&[("ifindex", "2\n"), ("iflink", "9\n"), ("operstate", "up\n")]));
        put(at, "ifb0", &with(&[("ifindex", "3\n"), ("iflink", "3\n")]));
        let mut host = Host::new(at);
        let mut check = |name: &str, kind: &str, master: &str, lower: &str, speed: Option<u64>| {
            let found = Interface::look_at(&mut host, name.as_bytes(), false);
            assert_eq!(found.kind, kind, "{name}");
            assert_eq!(found.master, master.as_bytes(), "{name}");
            assert_eq!(found.lower, lower.as_bytes(), "{name}");
            assert_eq!(found.speed_mbit, speed, "{name}");
        };
        check("lo", "loopback", "", "", None);
        check("lan", "physical", "", "", Some(10_000));
        check("eth9", "physical", "bond7", "", None);
        check("bond7", "bond", "", "eth8,eth9", None);
        check("radio", "wireless", "", "", None);
        check("lan.7", "vlan", "", "lan", None);
        check("mybridge", "bridge", "", "", None);
        check("vpn", "tunnel", "", "", None);
        check("eth0", "veth", "", "", None);
        check("ifb0", "virtual", "", "", None);
        check("not_there", "virtual", "", "", None);
    }
}
