//! The unit of the service, made as tight as a configuration allows: a drop-in for `whit.service`.
//!
//! The unit that is installed suits every configuration.  A drop-in takes away what no part that is on
//! needs (capabilities, families of addresses, system calls) and adds the folders of data that are not
//! the service's own.  What a drop-in cannot solve is told in comments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use connection::Address;

use crate::configuration::{Configuration, address_of, full_name};
use crate::keys::{KEYS, is_list};
use crate::parts::{PartPlan, plan};

/// Folders that the unit gives to the service: StateDirectory, RuntimeDirectory.
const OWN: [&str; 2] = ["/var/lib/whit", "/run/whit-watch"];
/// Folders that the unit hides or replaces: ProtectHome, PrivateTmp.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
/// Ports below need a capability.
const FREE_PORT_MIN: u16 = 1024;

/// What the parts of a configuration need of a system.
#[derive(Debug, Default, PartialEq, Eq)]
struct UnitNeeds {
    capabilities: Vec<&'static str>,
    families: Vec<&'static str>,
    /// Whether programs are loaded into the kernel.
    loads_programs: bool,
    /// Folders of data that are not the service's own.
    folders: Vec<PathBuf>,
    /// What a drop-in cannot solve.
    notes: Vec<String>,
}

/// The drop-in for `whit.service` that suits a configuration, as the text of its file.
#[must_use]
pub fn unit_drop_in(configuration: &Configuration) -> String {
    let needs = UnitNeeds::of(configuration);
    let file =
        configuration.path().map_or("the defaults".to_owned(), |path| path.display().to_string());
    let mut text = format!(
        "# What the parts of whit need that are on in {file}, and nothing else.\n\
         # Make it anew when parts are turned on or off:\n\
         #   whit config --unit >/etc/systemd/system/whit.service.d/parts.conf\n\
         #   systemctl daemon-reload && systemctl restart whit\n"
    );
    for note in &needs.notes {
        let _ = writeln!(text, "# Note: {}", note.replace(char::is_control, "?"));
    }
    text += "[Service]\n";
    let lists = [
        ("CapabilityBoundingSet", &needs.capabilities),
        ("AmbientCapabilities", &needs.capabilities),
        ("RestrictAddressFamilies", &needs.families),
    ];
    for (name, list) in lists {
        // An empty value removes those of the unit.
        let _ = writeln!(text, "{name}=");
        if !list.is_empty() {
            let _ = writeln!(text, "{name}={}", list.join(" "));
        }
    }
    if !needs.loads_programs {
        // Parts give up, by capset(2), what others need; all of them keep the right to read.
        let gives_up = needs.capabilities.iter().any(|name| *name != "CAP_DAC_READ_SEARCH");
        let more = if gives_up { "" } else { " capset" };
        let _ = writeln!(text, "SystemCallFilter=~bpf perf_event_open{more}");
    }
    for folder in &needs.folders {
        let _ = writeln!(text, "ReadWritePaths=-{}", quoted(folder));
    }
    text
}

impl UnitNeeds {
    fn of(configuration: &Configuration) -> Self {
        let is_on = |part: &str| configuration.is_on(&format!("{part}.enabled"));
        let plans = plan(configuration);
        let mut needs = UnitNeeds { families: vec!["AF_UNIX"], ..UnitNeeds::default() };
        let counts_network = is_on("record") && counts_network(configuration);
        needs.loads_programs = counts_network || is_on("record") && sees_processes(configuration);
        let listens = listens(configuration);
        let is_privileged = |(_, address): &(String, Address)| matches!(address, Address::Network { port, .. } if (1..FREE_PORT_MIN).contains(port));
        let wanted = [
            ("CAP_DAC_READ_SEARCH", is_on("record") || reads_secrets(configuration, &plans)),
            ("CAP_SYS_PTRACE", needs.loads_programs),
            ("CAP_BPF", needs.loads_programs),
            ("CAP_PERFMON", needs.loads_programs),
            ("CAP_NET_ADMIN", counts_network),
            ("CAP_NET_BIND_SERVICE", listens.iter().any(is_privileged)),
        ];
        needs.capabilities.extend(wanted.iter().filter(|(_, is)| *is).map(|(name, _)| *name));
        let uses_network = uses_network(configuration, &plans, &listens);
        if uses_network {
            needs.families.extend(["AF_INET", "AF_INET6"]);
        }
        if uses_network || is_on("record") {
            needs.families.push("AF_NETLINK");
        }
        needs.add_folders(configuration, &plans);
        needs.note(configuration, &listens);
        needs
    }

    fn add_folders(&mut self, configuration: &Configuration, plans: &[PartPlan]) {
        let folders = plans.iter().filter(|plan| plan.writes).flat_map(|plan| &plan.folders);
        for folder in folders.map(PathBuf::as_path).chain([configuration.folder()]) {
            let is_known = self.folders.iter().any(|known| folder.starts_with(known));
            if is_below(folder, &OWN) || is_known {
                continue;
            }
            self.folders.retain(|known| !known.starts_with(folder));
            self.folders.push(folder.to_owned());
        }
        self.folders.sort();
    }

    fn note(&mut self, configuration: &Configuration, listens: &[(String, Address)]) {
        let hidden = self.folders.iter().filter(|folder| is_below(folder, &HIDDEN));
        let hidden = hidden.map(|folder| {
            let folder = folder.display();
            format!(
                "{folder} is hidden from the service (ProtectHome=, PrivateTmp=): choose another"
            )
        });
        self.notes.extend(hidden);
        for (key, address) in listens {
            let Address::Unix(path) = address else { continue };
            let folder = path.parent().unwrap_or(path);
            if !is_below(folder, &OWN) && !self.folders.iter().any(|one| folder.starts_with(one)) {
                self.notes.push(format!(
                    "{key}: the user of the service cannot make {}: choose a name in /run/whit-watch",
                    path.display()
                ));
            }
        }
        if configuration.is_on("poll.enabled") {
            self.notes.push(
                "[poll]: add ReadWritePaths= for each WorkDir of its configurations, and give them to \
                 the user of the service"
                    .to_owned(),
            );
        }
    }
}

/// Whether the recorder reads every process, and what they call.
fn sees_processes(configuration: &Configuration) -> bool {
    match configuration.text("record.subsystems") {
        Some("all") => false,
        Some(letters) => letters == "ALL" || letters.contains(['Z', 'k', 'K']),
        None => true,
    }
}

/// Whether the recorder counts the network of each process: the kernel lets only who administers the
/// network attach programs to a control group (`bpf(2)`, `BPF_PROG_TYPE_CGROUP_SKB`).
fn counts_network(configuration: &Configuration) -> bool {
    let chosen = configuration.text("record.subsystems").unwrap_or_default();
    let mut names = chosen.split(',').map(|name| name.trim_start_matches('+'));
    names.any(|name| name.eq_ignore_ascii_case("process_net"))
}

/// Where parts listen, each with its key.
fn listens(configuration: &Configuration) -> Vec<(String, Address)> {
    let mut all = Vec::new();
    if configuration.is_on("page.enabled") {
        all.extend(configuration.page_address().map(|one| ("[page] listen".to_owned(), one)));
    }
    for part in ["log.central", "rrdcached"] {
        if configuration.is_on(&format!("{part}.enabled")) {
            let texts = configuration.texts(&format!("{part}.listen")).unwrap_or_default();
            let addresses = texts.into_iter().filter_map(address_of);
            all.extend(addresses.map(|one| (format!("[{part}] listen"), one)));
        }
    }
    all
}

fn uses_network(
    configuration: &Configuration,
    plans: &[PartPlan],
    listens: &[(String, Address)],
) -> bool {
    let is_network = |address: &Address| matches!(address, Address::Network { .. });
    let is_on = |part: &str| plans.iter().any(|plan| plan.name == part);
    let receives = |name: &str| configuration.texts(name).is_some_and(|to| !to.is_empty());
    let alerts = configuration.rows("alert").any(|(row, _)| receives(&format!("alert.{row}.to")));
    listens.iter().any(|(_, address)| is_network(address))
        || is_on("poll")
        || plans.iter().any(|plan| plan.name.starts_with("send."))
        || (is_on("page") && configuration.rows("host").next().is_some())
        || (is_on("log.proxy")
            && configuration.address("log.proxy.central").is_some_and(|one| is_network(&one)))
        || (is_on("alerts") && (alerts || receives("alerts.to")))
}

/// Whether a part is given a file that only root may read: of a secret, or the configurations of a poller.
fn reads_secrets(configuration: &Configuration, plans: &[PartPlan]) -> bool {
    let has_part = |table: &str| {
        let is_it = |plan: &PartPlan| {
            let name = plan.name.as_str();
            table == name || table.starts_with(&format!("{name}."))
        };
        plans.iter().any(is_it)
    };
    let names = [
        "token_file",
        "users",
        "tls_key",
        "secret_file",
        "password_file",
        "configs",
        "share_token_file",
    ];
    let mut keys = KEYS.iter().filter(|key| names.contains(&key.name));
    keys.any(|key| match is_list(key.table) {
        true => configuration
            .rows(key.table)
            .any(|(row, _)| configuration.item(&full_name(key, Some(row))).is_some()),
        false => has_part(key.table) && configuration.item(&full_name(key, None)).is_some(),
    })
}

fn is_below(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// A path as a value of a unit: quoted, and without specifiers.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string().replace('%', "%%");
    let text: String = text
        .chars()
        .flat_map(|letter| {
            let escape = matches!(letter, '"' | '\\').then_some('\\');
            escape.into_iter().chain([if letter.is_control() { '?' } else { letter }])
        })
        .collect();
    match text.contains([' ', '"', '\\']) {
        true => format!("\"{text}\""),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(text: &str) -> UnitNeeds {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("whit.toml");
        std::fs::write(&file, text).unwrap();
        let read = Configuration::read(&file, Path::new("/var/lib/whit"));
        UnitNeeds::of(&read.unwrap_or_else(|error| panic!("{text}: {error}")))
    }

    #[test]
    fn each_part_has_what_it_needs() {
        let all = ["CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE", "CAP_BPF", "CAP_PERFMON"];
        let found = needs("");
        assert_eq!(found.capabilities, all);
        assert_eq!(found.families, ["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"]);
        assert!(found.folders.is_empty() && found.notes.is_empty(), "{found:?}");
        let quiet = "[record]\nsubsystems = \"all\"\n[page]\nlisten = \"/run/whit-watch/page\"\n";
        let found = needs(quiet);
        assert_eq!(found.capabilities, all[..1]);
        assert_eq!(found.families, ["AF_UNIX", "AF_NETLINK"]);
        assert!(!found.loads_programs);
        let network = needs(&quiet.replace("\"all\"", "\"c,PROCESS_NET\""));
        assert_eq!(network.capabilities, [&all[..], &["CAP_NET_ADMIN"]].concat());
        let none = format!(
            "{}[alerts]\nenabled = false\n",
            quiet.replace("subsystems = \"all\"", "enabled = false")
        );
        assert_eq!(needs(&none).capabilities, [""; 0]);
        assert_eq!(needs(&none).families, ["AF_UNIX"]);
    }

    #[test]
    fn parts_that_speak_to_others_may() {
        let off = "[record]\nenabled = false\n[page]\nlisten = \"/run/whit-watch/page\"\n";
        let more = [
            "[[send]]\nto = \"remote-write=http://a:9090\"\n",
            "[[host]]\nurl = \"https://a:9797\"\n",
            "[alerts]\nto = [\"syslog\"]\n",
            "[poll]\nenabled = true\n",
            "[log.proxy]\nenabled = true\ncentral = \"a:9\"\n",
            "[rrdcached]\nenabled = true\nlisten = [\"127.0.0.1:42217\"]\n",
        ];
        for text in more {
            assert!(needs(&format!("{off}{text}")).families.contains(&"AF_INET"), "{text}");
        }
        let port = "[log.central]\nenabled = true\nlisten = [\"0.0.0.0:601\"]\n";
        assert_eq!(needs(&format!("{off}{port}")).capabilities, ["CAP_NET_BIND_SERVICE"]);
        let secret = "[[host]]\nurl = \"https://a:9797\"\ntoken_file = \"/etc/whit/a\"\n";
        assert_eq!(needs(&format!("{off}{secret}")).capabilities, ["CAP_DAC_READ_SEARCH"]);
    }

    #[test]
    fn folders_of_others_are_given_once_and_what_cannot_work_is_told() {
        let found = needs(
            "[data]\nfolder = \"/srv/whit\"\n[rrdcached]\nenabled = true\nbase = \"/srv/rrd\"\n\
             journal = \"/home/j\"\n[poll]\nenabled = true\n",
        );
        assert_eq!(found.folders, ["/home/j", "/srv/rrd", "/srv/whit"].map(PathBuf::from));
        let notes = found.notes.join("\n");
        for words in ["/home/j is hidden", "[rrdcached] listen: ", "WorkDir"] {
            assert!(notes.contains(words), "{notes}");
        }
        assert_eq!(quoted(Path::new("/a b/%i\"\n")), "\"/a b/%%i\\\"?\"");
    }

    #[test]
    fn a_drop_in_takes_away_before_it_gives() {
        let text = unit_drop_in(&Configuration::defaults(Path::new("/var/lib/whit")));
        let wanted = "[Service]\nCapabilityBoundingSet=\nCapabilityBoundingSet=CAP_DAC_READ_SEARCH \
                      CAP_SYS_PTRACE CAP_BPF CAP_PERFMON\nAmbientCapabilities=\nAmbientCapabilities=";
        assert!(text.contains(wanted), "{text}");
    }
}
