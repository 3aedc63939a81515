//! Reports that a test cannot run on this machine.
//!
//! The test harness hides the output of passing tests, so a line on stderr is not enough.
//! [`skip`] also appends a line to a file, the ledger, if the variable [`LEDGER`] names one:
//! `cargo xtask ci` sets it, prints the ledger at its end, and can fail on a skip that is not on
//! its list.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// The environment variable that names the ledger.
pub const LEDGER: &str = "WHIT_SKIPS";

/// Reports what a test skips, and why; the test then returns or continues without it.
///
/// `what` names what is not tested in a few words that are the same on every machine ("strace",
/// "the unified hierarchy"); skips are listed and allowed by it.  `reason` says why, and may
/// contain an error of the system.
///
/// # Panics
/// Without a reason.
#[allow(clippy::print_stderr, reason = "a test that skips says why")]
pub fn skip(what: &str, reason: &str) {
    assert!(!reason.trim().is_empty(), "{what}: skipped without a reason");
    eprintln!("skipped: {what}: {reason}");
    let Some(ledger) = std::env::var_os(LEDGER) else { return };
    let thread = std::thread::current();
    if let Err(error) = append(Path::new(&ledger), what, reason, thread.name().unwrap_or("?")) {
        eprintln!("skipped: cannot write {}: {error}", Path::new(&ledger).display());
    }
}

/// What the system, or a program, says when it refuses something to this user or on this kernel.
const REFUSALS: [&str; 7] = [
    "not allowed",
    "not permitted",
    "ermission denied",
    "must be superuser",
    "Read-only file system",
    "no BTF of this kernel",
    "in a PID namespace of its own",
];

/// As [`skip`], where `said` is an error or the output of a program: a refusal is skipped, and
/// anything else fails the test.
///
/// # Panics
/// If `said` is not a refusal.
pub fn skip_refused(what: &str, said: &str) {
    assert!(is_refusal(said), "{what}: {said}");
    skip(what, said);
}

fn is_refusal(said: &str) -> bool {
    REFUSALS.iter().any(|refusal| said.contains(refusal))
}

/// Whether a program is in a folder of `$PATH`; if not, that is skipped, under the name `what`.
pub fn is_installed(what: &str, program: &str) -> bool {
    let found = is_in_path(program);
    if !found {
        skip(what, "not installed");
    }
    found
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Appends `what`, `reason` and the test's name, separated by tabs, with one write, so that lines
/// of concurrent tests do not mix.
fn append(ledger: &Path, what: &str, reason: &str, test: &str) -> std::io::Result<()> {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{}\t{}\t{}\n", flat(what), flat(reason), flat(test));
    OpenOptions::new().create(true).append(true).open(ledger)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_are_skipped() {
        assert!(is_refusal("whit: Operation not permitted (os error 1)"));
        let panics = |work: fn()| std::panic::catch_unwind(work).is_err();
        assert!(panics(|| skip_refused("a trial", "Invalid argument")));
        assert!(panics(|| skip("a trial", " ")));
    }

    #[test]
    fn programs_are_looked_for_in_the_path() {
        assert!(is_in_path("sh") && !is_in_path("no such program"));
    }

    #[test]
    fn a_skip_is_one_line_whatever_its_reason_holds() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("skips");
        append(&ledger, "strace", "not\tinstalled,\n  says sh", "module::test").unwrap();
        append(&ledger, "root", "uid 1000", "other").unwrap();
        let text = std::fs::read_to_string(&ledger).unwrap();
        assert_eq!(text, "strace\tnot installed, says sh\tmodule::test\nroot\tuid 1000\tother\n");
    }
}
