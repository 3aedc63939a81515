//! `whit run --latest-line`: a row for each running job on a terminal, the last lines elsewhere.

use std::process::Command;

use crate::WHIT;
use crate::beside_parallel::{ours, run};

#[test]
fn without_a_terminal_each_job_leaves_its_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = ours(
        &["-j1", "--ll", "--tag", "seq {}; printf 'end\\r\\nlast'; test {} = 4", ":::", "3", "4"],
        folder.path(),
        b"",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3\tlast\n4\tlast\n");
    assert_eq!(output.status.code(), Some(1));
    let output = ours(&["-j1", "--latest-line", "-v", "true", ":::", "1"], folder.path(), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "true 1\n");
    let output = ours(&["--latest-line", "-k", "echo", ":::", "1"], folder.path(), b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--keep-order"), "{output:?}");
}

#[test]
fn on_a_terminal_rows_are_as_wide_as_it() {
    if !testkit::is_installed("script", "script") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "stty cols 20 rows 6; {WHIT} run -j1 --latest-line --tag 'seq 99999; printf \
         \"\\033[31m%040d\\033[9A\\n\" {{}}' ::: 1 2"
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    let output = run(command, folder.path(), b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("\x1b[31m") && !text.contains("\x1b[9A"), "{text:?}");
    for job in ["1", "2"] {
        let row = format!("\x1b[K{job}       {}\r\n", "0".repeat(11));
        assert!(text.contains(&row), "{row:?} in {text:?}");
    }
    let is_narrow = |row: &str| row.rsplit("\x1b[K").next().unwrap_or_default().len() <= 20;
    assert!(text.lines().all(|row| is_narrow(row.trim_end())), "{text:?}");
}
