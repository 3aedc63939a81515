//! Hosts that ssh knows: `Host` of its configuration, and the names of hosts whose keys it has.

use std::io::Read as _;
use std::path::Path;

use crate::NameSources;

/// Bytes of a file of ssh that are read: some 10,000 keys.
const BYTES_MAX: u64 = 4 << 20;

/// The hosts of this user and of the machine; hashed names are none.
pub(crate) fn known(places: &NameSources<'_>) -> Vec<String> {
    let own = places.home.iter().map(|home| home.join(".ssh"));
    let folders: Vec<_> = own.chain([Path::new("/etc/ssh").to_owned()]).collect();
    let mut hosts = Vec::new();
    for folder in folders {
        for name in ["config", "ssh_config"] {
            hosts.extend(of_configuration(&text(&folder.join(name))));
        }
        for name in ["known_hosts", "ssh_known_hosts"] {
            hosts.extend(of_keys(&text(&folder.join(name))));
        }
    }
    hosts
}

/// What can be read of a file; nothing of one that is not there.
fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).map(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The names in `Host` lines, without patterns.
fn of_configuration(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split([' ', '\t', '=']).filter(|word| !word.is_empty());
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("host")) {
            let plain = words.filter(|name| !name.contains(['*', '?', '!']));
            names.extend(plain.map(str::to_owned));
        }
    }
    names
}

/// The names before the keys: `name,address ssh-ed25519 …`; `[name]:port` without its port.
fn of_keys(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(['#', '|', '@'])) {
        let before = line.split_whitespace().next().unwrap_or_default();
        for name in before.split(',').filter(|name| !name.contains(['*', '?', '!'])) {
            let name =
                name.strip_prefix('[').and_then(|name| name.split(']').next()).unwrap_or(name);
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_patterns_and_hashes_are_known() {
        let text = "Host web1 web2 *.example !x\n  HostName 10.0.0.1\nhost=db\nMatch host y\n";
        assert_eq!(of_configuration(text), ["web1", "web2", "db"]);
        let keys = "# x\nweb1,10.0.0.1 ssh-rsa AAAA\n[git.example]:2222 ssh-ed25519 AAAA\n\
                    |1|abc= ssh-rsa AAAA\n@revoked bad ssh-rsa AAAA\n\n";
        let names: Vec<String> =
            of_keys(keys).into_iter().filter(|name| !name.is_empty()).collect();
        assert_eq!(names, ["web1", "10.0.0.1", "git.example"]);
    }
}
