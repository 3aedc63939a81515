//! What this machine and this process allow: capabilities, clock source, BPF, cgroups, and the
//! kernel options that decide which data exist.
//!
//! Each fact is read once, from files below the root.  Facts about the process (capabilities,
//! netlink) exist only for this machine.

use std::path::Path;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

/// One fact.
#[derive(Debug)]
pub(crate) struct Fact {
    /// The name of the fact, the key in JSON, which stays the same in all versions.
    pub(crate) name: &'static str,
    /// The finding.
    pub(crate) value: String,
    /// The consequence for the user; empty if there is none.
    pub(crate) note: &'static str,
    /// False if whit shows less or costs more because of it.
    pub(crate) good: bool,
}

/// A capability and its purpose.
#[derive(Debug)]
pub(crate) struct Capability {
    pub(crate) name: &'static str,
    pub(crate) present: bool,
    pub(crate) unlocks: &'static str,
}

/// Number (linux/capability.h), name, purpose.
const CAPABILITIES: &[(u32, &str, &str)] = &[
    (2, "CAP_DAC_READ_SEARCH", "files that only root may read: /proc/slabinfo (-s yY)"),
    (12, "CAP_NET_ADMIN", "exit records (taskstats) and fork/exec/exit events"),
    (14, "CAP_IPC_LOCK", "memory that cannot be swapped out while recording"),
    (
        19,
        "CAP_SYS_PTRACE",
        "I/O and memory maps of other users' processes; whit trace -p of them by ptrace",
    ),
    (21, "CAP_SYS_ADMIN", "replaces CAP_BPF and CAP_PERFMON on kernels before 5.8"),
    (23, "CAP_SYS_NICE", "a priority above normal (negative nice)"),
    (24, "CAP_SYS_RESOURCE", "more open files than the limit: thousands of cgroups"),
    (34, "CAP_SYSLOG", "kernel addresses if kernel.kptr_restrict is 1"),
    (
        38,
        "CAP_PERFMON",
        "tracing programs in the kernel, with CAP_BPF: whit trace without ptrace, -s k",
    ),
    (
        39,
        "CAP_BPF",
        "loading programs into the kernel: tasks in one read, whit trace with CAP_PERFMON",
    ),
];

/// The capabilities of this process, from `/proc/self/status`.
pub(crate) fn capabilities() -> Vec<Capability> {
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    let effective = effective_capabilities(&status).unwrap_or(0);
    let capability = |&(number, name, unlocks): &(u32, &'static str, &'static str)| Capability {
        name,
        present: effective >> number & 1 == 1,
        unlocks,
    };
    CAPABILITIES.iter().map(capability).collect()
}

fn effective_capabilities(status: &[u8]) -> Option<u64> {
    let line = status.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"CapEff:"))?;
    u64::from_str_radix(std::str::from_utf8(line).ok()?.trim(), 16).ok()
}

/// The other facts.
pub(crate) fn facts(root: &Path, capabilities: &[Capability]) -> Vec<Fact> {
    let tree = Tree { root };
    let here = root == Path::new("/");
    let mut facts = vec![
        tree.clock_source(),
        tree.btf(),
        tree.bpf(capabilities, here),
        tree.cgroups(),
        tree.hidepid(),
        tree.pressure(),
        tree.schedstats(),
        tree.delay_accounting(),
        tree.process_events(),
        tree.io_uring(),
        tree.perf(),
    ];
    if here {
        facts.push(taskstats());
        let trial = source::Trial::new();
        facts.extend(process_ways(&trial));
        facts.push(cpu_way(&trial));
        facts.push(open_files());
    }
    facts
}

struct Tree<'a> {
    root: &'a Path,
}

impl Tree<'_> {
    /// A file's text without the last newline; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.root.join(path.trim_start_matches('/'))).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.root.join(path.trim_start_matches('/')).exists()
    }

    fn clock_source(&self) -> Fact {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let value = self.text(path).unwrap_or_else(|| "unknown".into());
        let slow = ["hpet", "acpi_pm", "jiffies"].contains(&value.as_str());
        let note = if slow { "reading the clock is a system call" } else { "" };
        Fact { name: "clock_source", value, note, good: !slow }
    }

    fn btf(&self) -> Fact {
        let there = self.exists("/sys/kernel/btf/vmlinux");
        Fact {
            name: "btf",
            value: if there { "present" } else { "absent" }.into(),
            note: if there {
                ""
            } else {
                "BPF programs cannot find kernel types: no BPF iterators"
            },
            good: there,
        }
    }

    fn bpf(&self, capabilities: &[Capability], here: bool) -> Fact {
        let has = |name: &str| capabilities.iter().any(|c| c.name == name && c.present);
        let privileged = has("CAP_SYS_ADMIN") || (has("CAP_BPF") && has("CAP_PERFMON"));
        let sysctl = self.text("/proc/sys/kernel/unprivileged_bpf_disabled");
        // `none [integrity] confidentiality`: the word in brackets is the current one.
        let lockdown = self.text("/sys/kernel/security/lockdown").unwrap_or_default();
        let lockdown = lockdown.split(['[', ']']).nth(1).unwrap_or("none").to_owned();
        let (value, good, note) = match (sysctl.as_deref(), lockdown.as_str()) {
            (None, _) => ("not in this kernel", false, "no BPF: /proc is read instead"),
            (_, "confidentiality") => {
                ("locked down", false, "lockdown forbids reading kernel memory")
            }
            _ if !here => ("in this kernel", true, ""),
            _ if privileged => ("available", true, ""),
            (Some("0"), _) => {
                ("unprivileged only", false, "iterators need CAP_BPF and CAP_PERFMON")
            }
            _ => ("needs privilege", false, "give CAP_BPF and CAP_PERFMON"),
        };
        let sysctl = sysctl.map_or(String::new(), |n| format!(", unprivileged_bpf_disabled={n}"));
        Fact { name: "bpf", value: format!("{value}{sysctl}, lockdown={lockdown}"), note, good }
    }

    fn cgroups(&self) -> Fact {
        let mounts = self.text("/proc/mounts").unwrap_or_default();
        let kind = |wanted: &str| mounts.lines().any(|l| l.split(' ').nth(2) == Some(wanted));
        let (v1, v2) = (kind("cgroup"), kind("cgroup2"));
        let controllers = self.text("/sys/fs/cgroup/cgroup.controllers");
        let (value, note, good) = match (v1, v2) {
            (false, true) => ("v2".to_owned(), "", true),
            (true, true) => ("v1 and v2".to_owned(), "the controllers are those of v1", true),
            (true, false) => ("v1".to_owned(), "no pressure of single cgroups", true),
            (false, false) => {
                ("none".to_owned(), "no cgroup file system is mounted: -s g is absent", false)
            }
        };
        let value = match controllers {
            Some(controllers) if !controllers.is_empty() => format!("{value} ({controllers})"),
            _ => value,
        };
        Fact { name: "cgroup", value, note, good }
    }

    fn hidepid(&self) -> Fact {
        let mounts = self.text("/proc/mounts").unwrap_or_default();
        let proc = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/proc"));
        let options = proc.and_then(|line| line.split(' ').nth(3)).unwrap_or_default();
        let hidden = options.split(',').find_map(|option| option.strip_prefix("hidepid="));
        let hidden = hidden.filter(|value| !matches!(*value, "0" | "off"));
        Fact {
            name: "hidepid",
            value: hidden.unwrap_or("off").into(),
            note: if hidden.is_some() { "other users' processes are hidden" } else { "" },
            good: hidden.is_none(),
        }
    }

    fn pressure(&self) -> Fact {
        let readable = self.text("/proc/pressure/cpu").is_some();
        let (value, note) = match (readable, self.exists("/proc/pressure/cpu")) {
            (true, _) => ("on", ""),
            (false, true) => ("built in, off", "start the kernel with psi=1 for -s p"),
            (false, false) => ("not in this kernel", "no stall times: -s p is absent"),
        };
        Fact { name: "pressure", value: value.into(), note, good: readable }
    }

    fn schedstats(&self) -> Fact {
        let file = self.exists("/proc/schedstat");
        let switch = self.text("/proc/sys/kernel/sched_schedstats");
        let value = match (file, switch.as_deref()) {
            (true, Some("1")) => "on".to_owned(),
            (true, _) => "file present, sched_schedstats off".to_owned(),
            (false, _) => "absent".to_owned(),
        };
        let note = if file { "" } else { "no run-queue waits: -s r is absent" };
        Fact { name: "schedstat", value, note, good: file }
    }

    fn delay_accounting(&self) -> Fact {
        let value = self.text("/proc/sys/kernel/task_delayacct");
        let (word, note) = match value.as_deref() {
            Some("0") => ("off", "sysctl kernel.task_delayacct=1 adds wait times to exit records"),
            Some(_) => ("on", ""),
            None => ("absent", ""),
        };
        Fact { name: "delay_accounting", value: word.into(), note, good: value.is_some() }
    }

    fn process_events(&self) -> Fact {
        let connectors = self.text("/proc/net/connector").unwrap_or_default();
        let there = connectors.lines().any(|line| line.starts_with("cn_proc"));
        Fact {
            name: "process_events",
            value: if there { "present" } else { "absent" }.into(),
            note: if there { "" } else { "no fork/exec/exit events by netlink" },
            good: there,
        }
    }

    fn io_uring(&self) -> Fact {
        let value = self.text("/proc/sys/kernel/io_uring_disabled");
        let word = match value.as_deref() {
            Some("0") => "allowed",
            Some("1") => "one group only",
            Some(_) => "disabled",
            None => "no sysctl",
        };
        // whit does not use io_uring, so every value is good.
        Fact { name: "io_uring", value: word.into(), note: "", good: true }
    }

    fn perf(&self) -> Fact {
        let value = self.text("/proc/sys/kernel/perf_event_paranoid");
        let value = value.unwrap_or_else(|| "absent".into());
        Fact { name: "perf_event_paranoid", value, note: "", good: true }
    }
}

/// Whether the kernel has the generic netlink family of taskstats.
fn taskstats() -> Fact {
    let (value, good) = match has_family("TASKSTATS") {
        Ok(true) => ("present".to_owned(), true),
        Ok(false) => ("absent".to_owned(), false),
        Err(errno) => (format!("unknown: {errno}"), false),
    };
    let note = if good { "" } else { "no exit records" };
    Fact { name: "taskstats", value, note, good }
}

/// Which ways of reading processes work, and what each adds to -s Z.
fn process_ways(trial: &source::Trial) -> [Fact; 3] {
    let fact = |name, tried: &Result<(), String>, unlocks, otherwise| Fact {
        name,
        value: match tried {
            Ok(()) => "works".into(),
            Err(reason) => format!("does not work: {reason}"),
        },
        note: if tried.is_ok() { unlocks } else { otherwise },
        good: tried.is_ok(),
    };
    let without_ring = match trial.taskstats {
        Ok(()) => "exit records come from taskstats: no command lines, sampled CPU time",
        Err(_) => "no exit records: only the total usage of children after their parent's wait(2)",
    };
    [
        fact(
            "process_iterator",
            &trial.iterator,
            "one BPF iterator reads all processes, below 1 us each",
            "processes are read from /proc, which takes 20 times as long",
        ),
        fact(
            "process_ends_bpf",
            &trial.ring,
            "the total usage of every process that ends, however short-lived",
            without_ring,
        ),
        fact(
            "process_ends_taskstats",
            &trial.taskstats,
            "used if exit records by BPF do not work",
            "needs CAP_NET_ADMIN; used only if exit records by BPF do not work",
        ),
    ]
}

/// Whether a BPF program can read the counters of CPUs, and for which sources.
fn cpu_way(trial: &source::Trial) -> Fact {
    let (value, note) = match &trial.counters {
        Ok(sources) => (
            format!("works for {}", sources.join(", ")),
            "values equal to the files; used on 32 CPUs and more, or with --cpu-way bpf",
        ),
        Err(reason) => (
            format!("does not work: {reason}"),
            "on many CPUs /proc/stat, /proc/interrupts and numastat are slow to read",
        ),
    };
    Fact { name: "counters_bpf", value, note, good: trial.counters.is_ok() }
}

/// Asks the generic netlink controller for a family by name (`CTRL_CMD_GETFAMILY`).
fn has_family(name: &str) -> rustix::io::Result<bool> {
    const GENL_ID_CTRL: u16 = 16;
    const NLM_F_REQUEST: u16 = 1;
    const CTRL_CMD_GETFAMILY: u8 = 3;
    const CTRL_ATTR_FAMILY_NAME: u16 = 2;
    let attribute_bytes = 4 + name.len() + 1;
    let whole = 16 + 4 + attribute_bytes.next_multiple_of(4);
    let mut request = Vec::with_capacity(whole);
    request.extend_from_slice(&(whole as u32).to_ne_bytes());
    request.extend_from_slice(&GENL_ID_CTRL.to_ne_bytes());
    request.extend_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    // Sequence 1, any port; then the generic header: command, version, reserved.
    request.extend_from_slice(&1u32.to_ne_bytes());
    request.extend_from_slice(&0u32.to_ne_bytes());
    request.extend_from_slice(&[CTRL_CMD_GETFAMILY, 1, 0, 0]);
    request.extend_from_slice(&(attribute_bytes as u16).to_ne_bytes());
    request.extend_from_slice(&CTRL_ATTR_FAMILY_NAME.to_ne_bytes());
    request.extend_from_slice(name.as_bytes());
    request.resize(whole, 0);

    let flags = SocketFlags::CLOEXEC;
    let generic = Some(netlink::GENERIC);
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, generic)?;
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0u8; 4096];
    // The kernel answers before `send` returns, so there is no need to wait.
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    // NLMSG_ERROR is 2; the description of the family has the controller's own type.
    Ok(length >= 6 && u16::from_ne_bytes([answer[4], answer[5]]) == GENL_ID_CTRL)
}

/// The limit of open files: whit keeps the files of cgroups and devices open.
fn open_files() -> Fact {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let text = |value: Option<u64>| value.map_or("unlimited".to_owned(), |n| n.to_string());
    let good = limit.current.is_none_or(|current| current >= 1024);
    Fact {
        name: "open_files",
        value: format!("{} (up to {})", text(limit.current), text(limit.maximum)),
        note: if good { "" } else { "too low for many cgroups; raise it with ulimit -n" },
        good,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_by_number() {
        let status = b"Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000008000001004\n";
        let effective = effective_capabilities(status).unwrap();
        let present: Vec<&str> = CAPABILITIES
            .iter()
            .filter(|(number, ..)| effective >> number & 1 == 1)
            .map(|(_, name, _)| *name)
            .collect();
        assert_eq!(present, ["CAP_DAC_READ_SEARCH", "CAP_NET_ADMIN", "CAP_BPF"]);
        assert_eq!(effective_capabilities(b"CapEff:\tzz\n"), None);
    }

    #[test]
    fn facts_of_another_machine_come_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(
            "proc/mounts",
            "proc /proc proc rw,nosuid,hidepid=2 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        );
        put("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
        put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
        put("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
        put("proc/net/connector", "Name            ID\ncn_proc         1:1\n");
        put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
        let facts = facts(root.path(), &[]);
        let value = |name: &str| {
            let fact = facts.iter().find(|fact| fact.name == name).unwrap();
            (fact.value.as_str(), fact.good)
        };
        assert_eq!(value("hidepid"), ("2", false));
        assert_eq!(value("cgroup"), ("v2 (cpu io memory)", true));
        assert_eq!(value("clock_source"), ("hpet", false));
        assert_eq!(value("process_events"), ("present", true));
        assert_eq!(value("pressure"), ("not in this kernel", false));
        assert!(value("bpf").0.starts_with("locked down"));
        assert!(facts.iter().all(|fact| fact.name != "taskstats"), "that is this machine's");
    }

    #[test]
    fn ways_of_reading_processes_say_what_they_unlock_and_why_not() {
        let denied = || Err("not allowed".to_owned());
        let trial = source::Trial {
            iterator: Ok(()),
            ring: denied(),
            taskstats: denied(),
            counters: Ok(vec!["cpu"]),
        };
        assert_eq!(cpu_way(&trial).value, "works for cpu");
        let [iterator, ring, taskstats] = process_ways(&trial);
        assert!(iterator.good && iterator.value == "works");
        assert_eq!(ring.value, "does not work: not allowed");
        assert!(ring.note.contains("no exit records"));
        assert!(!taskstats.good);
        let trial = source::Trial { taskstats: Ok(()), ..trial };
        assert!(process_ways(&trial)[1].note.contains("taskstats"));
    }

    #[test]
    fn the_kernel_is_asked_for_its_families() {
        assert_eq!(has_family("nlctrl"), Ok(true));
        assert_eq!(has_family("NO_SUCH"), Ok(false));
    }
}
