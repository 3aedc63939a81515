//! What `record` and `play` write on a narrow terminal.
#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use testkit::Running;

use crate::record::{text, whit};
use crate::top::pseudo_terminal;

/// A terminal of so many columns, and what the recorder wrote to it; `None` where there are no
/// pseudo terminals, or none for this user.
fn on_a_terminal(columns: u16, mut command: Command) -> Option<String> {
    let (ours, theirs) = match pseudo_terminal(20, columns) {
        Ok(both) => both,
        Err(error) => {
            let is_absent = error.kind() == std::io::ErrorKind::NotFound;
            let report = if is_absent { testkit::skip } else { testkit::skip_refused };
            report("a pseudo terminal", &format!("openpty: {error}"));
            return None;
        }
    };
    // What whit itself writes: a pager adds what its terminal wants.
    command.env("NO_COLOR", "1").env("WHIT_PAGER", "");
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = Running::start(&mut command);
    // Whose copies would keep the terminal open.
    drop(command);
    let mut said = Vec::new();
    // The other end closes with an error, which is how terminals end.
    let _ = std::fs::File::from(ours).read_to_end(&mut said);
    assert!(child.ended().success());
    Some(text(&said))
}

#[test]
fn a_narrow_terminal_without_colour() {
    for arguments in [&["-scdn", "-i0.02", "-c3"][..], &["-scdn", "-i0.02", "-c3", "--verbose"]] {
        let Some(said) = on_a_terminal(40, whit(arguments)) else { return };
        assert!(said.contains('#') && said.lines().count() >= 4, "{said}");
        assert!(!said.contains('\x1b'), "no escape sequences: {said:?}");
        assert!(said.contains("waiting for 0.02 second sample"), "{said:?}");
    }
    let quiet = on_a_terminal(40, whit(&["-scdn", "-i0.02", "-c3", "--quiet"])).unwrap();
    assert!(!quiet.contains("waiting for"), "{quiet:?}");
}

#[test]
fn a_narrow_terminal_leaves_out_whole_sections() {
    let recording =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/recordings/gamma-20260101-100000.raw");
    let play = |columns, program: &Path| {
        let mut command = Command::new(program);
        let verb: &[&str] = if program.ends_with("collectl") { &[] } else { &["play"] };
        command.args(verb).args(["-p", recording, "-scdn", "--hr", "0"]);
        on_a_terminal(columns, command)
    };
    let Some(wide) = play(120, Path::new(crate::WHIT)) else { return };
    assert!(
        wide.contains("\n10:00:01   47  16   943   4120   1939     75   5456     72 "),
        "{wide}"
    );
    let at = |columns| play(columns, Path::new(crate::WHIT)).unwrap();
    assert!(
        at(80).starts_with("# +network: widen, or -s n\r\n#         <--------CPU"),
        "{}",
        at(80)
    );
    let narrow = at(50);
    assert!(narrow.starts_with("# +disk +network: widen, or -s dn\r\n"), "{narrow}");
    assert!(narrow.contains("\n10:00:01   47  16   943   4120 \r\n"), "{narrow}");
    // Under collectl's name it is collectl's line, without its end.
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("collectl");
    std::os::unix::fs::symlink(crate::WHIT, &link).unwrap();
    let theirs = play(50, &link).unwrap();
    assert!(theirs.contains("\n  47  16   943   4120   1939     75   5456     72"), "{theirs}");
}
