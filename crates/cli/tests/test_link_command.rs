//! `whit link`, and being called under an incumbent's name.

use std::process::Command;

use crate::whit;

#[test]
fn links_are_made_once_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    for _ in 0..2 {
        let output = whit().arg("link").arg(&bin).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert!(std::fs::read_link(bin.join("collectl")).is_ok());

    std::fs::remove_file(bin.join("collectl")).unwrap();
    std::fs::write(bin.join("collectl"), "theirs").unwrap();
    let refused = whit().arg("link").arg(&bin).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"));
    assert_eq!(std::fs::read_to_string(bin.join("collectl")).unwrap(), "theirs");

    let forced = whit().arg("link").arg("--force").arg(&bin).output().unwrap();
    assert!(forced.status.success());
    assert!(std::fs::read_link(bin.join("collectl")).is_ok());
}

#[test]
fn called_as_collectl_it_takes_collectls_command_line() {
    let folder = tempfile::tempdir().unwrap();
    assert!(whit().arg("link").arg(folder.path()).output().unwrap().status.success());
    let collectl = folder.path().join("collectl");
    let live = Command::new(&collectl).args(["-scd", "-i0.1", "-c2"]).output().unwrap();
    let text = String::from_utf8_lossy(&live.stdout);
    assert!(live.status.success(), "{live:?}");
    assert!(text.contains("cpu sys inter  ctxsw KBRead"), "{text}");
    assert_eq!(text.lines().count(), 4, "two headings, two intervals: {text}");

    let abbreviated = ["--subs", "cd", "--inter", "0.1", "--coun", "2"];
    let live = Command::new(&collectl).args(abbreviated).output().unwrap();
    assert!(live.status.success(), "{live:?}");
    assert_eq!(live.stdout.split(|&byte| byte == b'\n').count(), 5, "{live:?}");
    let own = whit().arg("record").args(abbreviated).output().unwrap();
    assert_eq!(own.status.code(), Some(2), "whit itself takes no abbreviations");

    let recorded = Command::new(&collectl)
        .args(["-scd", "-i0.1", "-c3", "-f"])
        .arg(folder.path().join("x"))
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
    let pattern = folder.path().join("x*.whit");
    let played = Command::new(&collectl).arg("-p").arg(&pattern).arg("-sc").output().unwrap();
    let text = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success(), "{played:?}");
    assert!(text.contains("cpu sys inter  ctxsw"), "{text}");
}
