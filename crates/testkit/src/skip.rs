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
#[allow(clippy::print_stderr, reason = "a test that skips says why")]
pub fn skip(what: &str, reason: &str) {
    eprintln!("skipped: {what}: {reason}");
    let Some(ledger) = std::env::var_os(LEDGER) else { return };
    let thread = std::thread::current();
    if let Err(error) = append(Path::new(&ledger), what, reason, thread.name().unwrap_or("?")) {
        eprintln!("skipped: cannot write {}: {error}", Path::new(&ledger).display());
    }
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
    fn a_skip_is_one_line_whatever_its_reason_holds() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("skips");
        append(&ledger, "strace", "not\tinstalled,\n  says sh", "module::test").unwrap();
        append(&ledger, "root", "uid 1000", "other").unwrap();
        let text = std::fs::read_to_string(&ledger).unwrap();
        assert_eq!(text, "strace\tnot installed, says sh\tmodule::test\nroot\tuid 1000\tother\n");
    }
}
