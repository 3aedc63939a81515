//! Configurations in MRTG's language, the same for both pollers.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::namespace::INTERFACES;

/// How readings are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output<'a> {
    /// MRTG's log files, pages and pictures.
    Native,
    /// RRDtool's files.
    Databases,
    /// RRDtool's files through a caching daemon, by its socket.
    Cached(&'a Path),
}

/// What a configuration is written for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConfigSettings<'a> {
    /// Where everything lies.
    pub(super) folder: &'a Path,
    pub(super) output: Output<'a>,
    /// Whether the program stays.
    pub(super) is_daemon: bool,
    /// Seconds between rounds.
    pub(super) interval_s: u32,
    /// Whether values are kept as they are.
    pub(super) is_gauge: bool,
}

/// How simulated devices are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V2c,
    /// With authentication and privacy.
    V3,
}

/// The user of version 3, and both passwords.
pub(super) const USER: (&str, &str, &str) = ("whit", "authentication", "privacy and so on");

impl ConfigSettings<'_> {
    fn head(&self) -> String {
        let folder = self.folder.display();
        let mut text = format!("WorkDir: {folder}\n");
        let [minutes, seconds] = [self.interval_s / 60, self.interval_s % 60];
        match self.output {
            // MRTG's logs are of steps of five minutes.
            Output::Native => {}
            Output::Databases | Output::Cached(_) => {
                let _ = write!(text, "LogFormat: rrdtool\nInterval: {minutes}:{seconds:02}\n");
                // As many rows as with five minutes.
                text.push_str("RRDRowCount[_]: 800\n");
            }
        }
        if let Output::Cached(socket) = self.output {
            let _ = writeln!(text, "RRDCached: unix:{}", socket.display());
        }
        if self.is_daemon {
            text.push_str("RunAsDaemon: yes\nNoDetach: yes\n");
        }
        text.push_str(if self.is_gauge {
            "Options[_]: growright, gauge\n"
        } else {
            "Options[_]: growright\n"
        });
        text
    }

    /// Writes the configuration of the experiment: targets in the order of devices, an interface each.
    pub(super) fn targets(&self, targets: u32, hosts: &[SocketAddr]) -> std::io::Result<PathBuf> {
        let mut text = self.head();
        for_each_target(targets, hosts, |name, interface, host| {
            let (ip, port) = (host.ip(), host.port());
            let _ = write!(
                text,
                "Target[{name}]: {interface}:public@{ip}:{port}::::2\nMaxBytes[{name}]: 100000000000000000\n\
                 Title[{name}]: Traffic of {name}\nPageTop[{name}]: <h1>Traffic of {name}</h1>\n"
            );
        });
        self.write(&text)
    }

    /// Writes the configuration of simulated devices: of each a target of two objects, and one that
    /// is the sum of all others.
    pub(super) fn many(
        &self,
        devices: u32,
        objects: u32,
        version: Version,
        host: impl Fn(u32) -> SocketAddr,
    ) -> std::io::Result<PathBuf> {
        let mut text = self.head();
        // Small files: they are not what is measured here.
        for keyword in ["RRDRowCount30m", "RRDRowCount2h", "RRDRowCount1d"] {
            let _ = writeln!(text, "{keyword}[_]: 10");
        }
        text = text.replace("RRDRowCount[_]: 800", "RRDRowCount[_]: 10");
        if version == Version::V3 {
            let (user, authentication, privacy) = USER;
            let _ = write!(
                text,
                "EnableSnmpV3: yes\nSnmpOptions: username=>'{user}',authprotocol=>'sha',\
                 authpassword=>'{authentication}',privprotocol=>'aescfb128',privpassword=>'{privacy}'\n"
            );
        }
        // With this community no other version gets an answer.
        let (version, community) =
            if version == Version::V3 { (3, "nobody") } else { (2, "public") };
        for device in 0..devices {
            let host = host(device);
            let at = format!("{community}@{}:{}::::{version}", host.ip(), host.port());
            let pair = |interface: u32| {
                format!(
                    "1.3.6.1.2.1.31.1.1.1.6.{interface}&1.3.6.1.2.1.31.1.1.1.10.{interface}:{at}"
                )
            };
            let _ = write!(text, "Target[one{device}]: {}\nTarget[all{device}]: ", pair(1));
            for interface in 2..=(objects / 2).max(2) {
                let _ =
                    write!(text, "{}{}", if interface > 2 { " + " } else { "" }, pair(interface));
            }
            text.push('\n');
            for name in [format!("one{device}"), format!("all{device}")] {
                let _ = write!(
                    text,
                    "MaxBytes[{name}]: 100000000000000000\nTitle[{name}]: {name}\nPageTop[{name}]: {name}\n"
                );
            }
        }
        self.write(&text)
    }

    fn write(&self, text: &str) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(self.folder)?;
        let path = self.folder.join("mrtg.cfg");
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

/// Gives each target's name, its interface, and its device.
pub(super) fn for_each_target(
    targets: u32,
    hosts: &[SocketAddr],
    mut give: impl FnMut(&str, u32, SocketAddr),
) {
    let count = hosts.len().max(1) as u32;
    for (host, number) in hosts.iter().zip(0..) {
        let of_host = targets / count + u32::from(number < targets % count);
        for interface in 1..=of_host.min(INTERFACES) {
            give(&format!("host{number}_{interface}"), interface, *host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiment_has_3164_targets() {
        let hosts: Vec<SocketAddr> = (1..=32).map(|last| ([127, 0, 1, last], 161).into()).collect();
        let mut most = 0;
        let mut count = 0;
        for_each_target(3_164, &hosts, |_, interface, _| {
            most = most.max(interface);
            count += 1;
        });
        assert_eq!((count, most), (3_164, 99));
    }
}
