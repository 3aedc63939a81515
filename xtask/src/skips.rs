//! What tests left out in a run of `cargo xtask ci`, and what they may leave out.
//!
//! `testkit::skip` appends a line for each skip to the file that a variable names; see there.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::target;

/// The variable that names the ledger: `testkit::LEDGER`.
pub(crate) const VARIABLE: &str = "WHIT_SKIPS";

/// What may be skipped anywhere, and why.  Everything else fails a strict run: install what is
/// missing (`.ci/run` does), or say here why that cannot be asked of a machine.
const ALLOWED: &[(&str, &str)] = &[
    (
        "addresses of kernel variables",
        "the kernel must be built with CONFIG_KALLSYMS_ALL; `cargo xtask vm` tests it on Debian's",
    ),
    (
        "ext4 on a loop device",
        "simulated ends of the power need root, loop devices and mounts, which containers lack",
    ),
    ("atop", "its package has a service, so it is unpacked only, where that can be fetched"),
    ("collectd", "its package has a service, so it is unpacked only; it may lack libraries"),
    (
        "systemd-journal-remote",
        "its package has a service, so it is unpacked only; it needs libraries of systemd and journalctl",
    ),
    (
        "zsh, ksh93 and mksh",
        "three packages more for functions of which bash and dash show the common part",
    ),
    ("the Go client", "Go compiles its standard library first, a minute of the machine's time"),
    ("the Node client", "Node's headers are a package of their own where node is Debian's"),
    ("zap", "its module comes from Go's proxy, which not every machine reaches"),
    ("messages of the kernel", "containers may lack /dev/kmsg, or may not use it"),
    ("node 20", "what builds the page asks for it, and Debian 12 has an older one"),
    ("packages of npm", "they come from npm's registry, which not every machine reaches"),
    ("prometheus", "its package has a service, so it is unpacked only, where that can be fetched"),
    (
        "victoria-metrics",
        "its package has a service, so it is unpacked only, where that can be fetched",
    ),
];

/// Adds a skip of `xtask` itself to the ledger, and says it.
pub(crate) fn add(what: &str, reason: &str, test: &str) -> anyhow::Result<()> {
    println!("skipped: {what}: {reason}");
    ADDED.set(true);
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path()) {
        writeln!(file, "{what}\t{}\t{test}", reason.replace(['\t', '\n'], " "))?;
    }
    Ok(())
}

thread_local! {
    /// Whether this thread's step has skipped something.
    static ADDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread has added a skip since the last call.
pub(crate) fn take_added() -> bool {
    ADDED.take()
}

/// Where the ledger is.
fn path() -> PathBuf {
    target().join("skips.tsv")
}

/// The ledger of one job of the run, which goes into that of the run at its end.
pub(crate) struct JobLedger {
    path: PathBuf,
}

impl JobLedger {
    /// An empty one; `job` is a name of its own.
    pub(crate) fn begin(job: &str) -> anyhow::Result<Self> {
        let folder = target().join("skips");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(job.replace('/', "-"));
        std::fs::write(&path, "")?;
        Ok(JobLedger { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds its lines to the ledger of the run; gives them.
    pub(crate) fn end(&self) -> anyhow::Result<String> {
        let lines = std::fs::read_to_string(&self.path)?;
        std::fs::remove_file(&self.path)?;
        if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path()) {
            file.write_all(lines.as_bytes())?;
        }
        Ok(lines)
    }
}

/// The ledger of one run.
pub(crate) struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// An empty one.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let path = path();
        std::fs::create_dir_all(target())?;
        std::fs::write(&path, "")?;
        Ok(Ledger { path })
    }

    /// Prints what was skipped; gives how many of these are not allowed.
    pub(crate) fn show(&self) -> anyhow::Result<usize> {
        let skips = grouped(&std::fs::read_to_string(&self.path)?);
        if skips.is_empty() {
            println!("skips: none");
            return Ok(0);
        }
        println!("skips:");
        let mut unlisted = 0;
        for (skip, tests) in &skips {
            let allowed = ALLOWED.iter().find(|(what, _)| *what == skip.what);
            unlisted += usize::from(allowed.is_none());
            let mark = if allowed.is_some() { ' ' } else { '!' };
            println!("{mark} {:>3} x {}: {}", tests.len(), skip.what, skip.reason);
            if let Some((_, why)) = allowed {
                println!("        allowed: {why}");
            }
            println!("        in {}", tests.join(", "));
        }
        Ok(unlisted)
    }
}

/// What was skipped, and why.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Skip {
    what: String,
    reason: String,
}

/// The skips of a ledger, with the tests that each is of.
fn grouped(ledger: &str) -> BTreeMap<Skip, Vec<String>> {
    let mut skips: BTreeMap<Skip, Vec<String>> = BTreeMap::new();
    for line in ledger.lines() {
        let mut words = line.split('\t').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        let (what, reason, test) = (word(), word(), word());
        skips.entry(Skip { what, reason }).or_default().push(test);
    }
    skips
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_skips_are_one() {
        let skips = grouped("strace\tmissing\ta\nroot\tuid 1\tb\nstrace\tmissing\tc\n");
        let counts: Vec<(&str, usize)> =
            skips.iter().map(|(skip, tests)| (skip.what.as_str(), tests.len())).collect();
        assert_eq!(counts, [("root", 1), ("strace", 2)]);
    }
}
