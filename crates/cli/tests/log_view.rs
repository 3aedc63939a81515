//! `whit log view` on a terminal of its own: a store, a central server, a file of ACS's XML.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use crate::log::with_store;
use crate::log_common::{command, end, folder, text, whit, write};
use crate::log_remote::{CLIENT, central_over_tls, certificates};
use crate::top::Session;
use testkit::wait_until;

/// The viewer in a folder, which is also that of the user's configuration.
fn session(here: &Path, words: &str) -> Session {
    let mut viewer = command(here, &format!("view {words}"));
    viewer.env("XDG_CONFIG_HOME", here).env("NO_COLOR", "1");
    Session::of(viewer)
}

/// Lines of a file; 0 while it is not there.
fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// What the viewer has shown by its first whole screen.
fn viewed(here: &Path, words: &str) -> String {
    let mut session = session(here, words);
    // The last line is drawn last.
    session.until("counts");
    session.type_in("q");
    session.ends(0);
    session.seen.clone()
}

#[test]
fn options_choose_what_is_viewed() {
    let folder = with_store();
    let here = folder.path();
    std::fs::create_dir(here.join("whit")).unwrap();
    std::fs::write(here.join("whit/log-view.filters"), "[bad]\nlevel = ERROR\n").unwrap();
    for (options, has, has_not) in [
        ("", "trouble", "follows"),
        ("--follow", "follows", "fits"),
        ("--level ERROR", "trouble", "-number"),
        ("--named bad", "trouble", "-number"),
        ("--logger a.one", "-number", "trouble"),
        ("--host other", "fits", "trouble"),
        ("--process 1", "fits", "trouble"),
        ("--from @4000000000", "fits", "trouble"),
        ("--until 2020-01-01", "fits", "trouble"),
        ("--text trouble", "trouble", "-number"),
        ("--word Trouble", "trouble", "-number"),
        ("--regex [0-2].of", "-number", "trouble"),
        ("--pair Antenna=a.one", "-number", "trouble"),
        ("--level EMERGENCY --all", "fits", "trouble"),
    ] {
        let seen = viewed(here, &format!("store {options}"));
        assert!(seen.contains(has) && !seen.contains(has_not), "{options}: {seen:?}");
    }
    // Records about clocks and threads are there too.
    let all: usize = text(&whit(here, "query store --count --all")).trim().parse().unwrap();
    assert_ne!(all, 5);
    for (options, name, count) in [("--all", "all.csv", all), ("", "logged.csv", 5)] {
        let mut session = session(here, &format!("store {options}"));
        session.until("counts");
        session.type_in(&format!("e{name}\r"));
        // A line of names is above them.
        wait_until("the file", || lines(&here.join(name)) == count + 1);
        session.type_in("q");
        session.ends(0);
    }
    // Karachi is five hours ahead, so the hour of no record is the same.
    let hour = |options: &str| {
        let seen = viewed(here, &format!("store {options}"));
        let time = seen.match_indices(':').find_map(|(at, _)| {
            let time = seen.get(at.checked_sub(2)?..at + 3)?;
            let is_digit = |at: usize| time.as_bytes()[at].is_ascii_digit();
            [0, 1, 3, 4].into_iter().all(is_digit).then(|| time[..2].to_owned())
        });
        time.unwrap()
    };
    assert_ne!(hour("--utc"), hour(""));
    let mut other = command(here, "view store --named other");
    let refused = other.env("XDG_CONFIG_HOME", here).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("no filter is named other") && said.contains("has bad"), "{said}");
    let refused = whit(here, "view store");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("must be a terminal; whit log query"), "{said}");
    assert_eq!(said.matches("must be a terminal").count(), 1, "{said}");
}

#[test]
fn a_file_of_acs_is_filtered_and_exported_as_the_store_is() {
    let folder = with_store();
    let here = folder.path();
    assert!(whit(here, "export store -o all.xml -f acs").status.success());
    let mut session = session(here, "all.xml");
    session.until("counts");
    // What is typed ahead is done in turn.
    session.type_in("ttrouble\rsbad\reout.csv\reagain.xml\r");
    wait_until("the last file", || lines(&here.join("again.xml")) == 5);
    session.type_in("q");
    session.ends(0);
    let kept = std::fs::read_to_string(here.join("whit/log-view.filters")).unwrap();
    assert!(kept.contains("[bad]\ntext = trouble\n"), "{kept}");
    let messages = |csv: &str| -> Vec<String> {
        csv.lines().filter(|line| line.contains("trouble")).map(str::to_owned).collect()
    };
    let written = std::fs::read_to_string(here.join("out.csv")).unwrap();
    assert_eq!(messages(&written).len(), 2, "{written}");
    // The same document again, but for the records that the filter hides.
    whit(here, "export store -o wanted.xml -f acs --text trouble");
    let wanted = std::fs::read_to_string(here.join("wanted.xml")).unwrap();
    assert_eq!(std::fs::read_to_string(here.join("again.xml")).unwrap(), wanted);
    std::fs::write(here.join("other"), "no records\n").unwrap();
    let refused = whit(here, "view other");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("neither the folder of a store nor a file with ACS's XML"), "{said}");
}

#[test]
fn a_central_server_is_viewed_over_tls() {
    let folder = folder();
    let here = folder.path();
    certificates(here);
    let (central, port) = central_over_tls(here);
    write(&here.join("rings"));
    // What the client shows is `--tls-ca`, `--tls-cert` and `--tls-key`.
    let to = format!("--central tls:127.0.0.1:{port} --secret-file secret {CLIENT}");
    let sent = whit(here, &format!("proxy --directory rings --spool spool --once {to}"));
    assert!(sent.status.success(), "{sent:?}");
    let mut session = session(here, &to);
    session.until("trouble");
    // The count's first name is the only logger of the filter.
    session.type_in("ob.*\rS\reout.json\r");
    wait_until("the file", || lines(&here.join("out.json")) == 2);
    session.type_in("q");
    session.ends(0);
    let wanted = text(&whit(here, "query store --format json --logger b.*"));
    assert_eq!(std::fs::read_to_string(here.join("out.json")).unwrap(), wanted);
    end(central);
}
