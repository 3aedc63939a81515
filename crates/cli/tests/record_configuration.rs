//! `whit record -D -C`: a configuration of collectl.

use std::path::Path;

use crate::record::{folder, read, recordings, run, text};

#[test]
fn a_daemon_follows_a_configuration_of_collectl() {
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    let configuration = folder.path().join("collectl.conf");
    let name = format!("conf{}", std::process::id());
    let lines = format!(
        "# comment\nDaemonCommands = -f {place} --pname {name} -i :6\nSubsysCore = lcm\n\
         Interval = 3\nInterval3 = 90\nResize=/usr/bin/resize\n"
    );
    std::fs::write(&configuration, lines).unwrap();
    let configuration = configuration.to_str().unwrap();
    let output = run(&["-D", "-C", configuration, "-s", "+d"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = format!("whit-{name}.pid");
    let paths = [Path::new("/run").join(&file), folder.path().join(&file)];
    let path = paths.iter().find(|path| path.exists()).unwrap();
    let pid = std::fs::read_to_string(path).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    testkit::wait_until("it is gone", || !path.exists());
    let recording = &recordings(folder.path())[0];
    testkit::wait_until("it is closed", || !read(recording).damage.not_closed);
    let header = crate::whit().arg("play").arg(recording).arg("--showheader").output().unwrap();
    let header = text(&header.stdout);
    for line in [
        "# subsystems: cmd",
        "# interval_ns: 3000000000",
        "# interval2_ns: 6000000000",
        "# interval3_ns: 90000000000",
    ] {
        assert!(header.lines().any(|one| one == line), "{line}: {header}");
    }

    for (line, why) in [
        ("DiskFilter = /sd/", "line 1: DiskFilter: "),
        ("Intervall = 3", "line 1: 'Intervall' is no keyword of collectl"),
        ("SubsysCore = c?", "SubsysCore"),
    ] {
        std::fs::write(configuration, line).unwrap();
        let refused = run(&["-D", "-C", configuration, "-f", place]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(why), "{line}: {said}");
    }
}
