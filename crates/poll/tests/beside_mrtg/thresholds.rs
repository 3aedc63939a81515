//! Thresholds through a caching daemon: programs and mails are those that MRTG runs and sends when it
//! writes databases itself.  With a daemon MRTG looks at no threshold.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::beside_mrtg::cached;
use crate::beside_mrtg::holt_winters::{set, write_note};
use crate::beside_mrtg::site::{BEGIN_S, Site};

/// Net::SMTP knows no other port than 25.
const SERVER: &str = "127.77.0.25";

/// Receivers and messages, in the order in which they came.
type Mails = Arc<Mutex<Vec<String>>>;

/// Takes mails until the test ends; `None`, and a skip, if the port is not to be had.
fn start_server() -> Option<Mails> {
    let listener = match TcpListener::bind((SERVER, 25)) {
        Ok(listener) => listener,
        Err(error) => {
            testkit::skip("mails beside mrtg", &format!("{SERVER}:25: {error}"));
            return None;
        }
    };
    let mails = Mails::default();
    let taken = Arc::clone(&mails);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away leaves no mail.
            let _ = take(stream, &taken);
        }
    });
    Some(mails)
}

/// Takes receivers, head and body of a mail before the client is told so, without blanks at the ends of lines and empty lines at its
/// end: MRTG indents an empty line, and sends one more.
fn take(stream: TcpStream, taken: &Mails) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    writer.write_all(b"220 here\r\n")?;
    let (mut mail, mut is_data) = (String::new(), false);
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let answer = match (line.as_str(), is_data) {
            (".", true) => "250 taken\r\n",
            (_, true) => "",
            ("DATA", false) => "354 go on\r\n",
            ("QUIT", false) => "221 bye\r\n",
            _ => "250 yes\r\n",
        };
        let is_end = is_data && line == ".";
        if is_data && !is_end || line.starts_with("RCPT") {
            mail.push_str(line.trim_end());
            mail.push('\n');
        }
        is_data = !is_end && (is_data || line == "DATA");
        if is_end {
            mail.truncate(mail.trim_end().len());
            taken.lock().unwrap().push(std::mem::take(&mut mail));
        }
        writer.write_all(answer.as_bytes())?;
        if line == "QUIT" {
            break;
        }
    }
    Ok(())
}

fn config(more: &str) -> String {
    let mut text = format!(
        "LogFormat: rrdtool\nThreshMailServer: {SERVER}\nThreshMailSender: poll@example.org\n{more}\n"
    );
    for (name, lines) in [
        ("most", "ThreshMaxI[most]: 50%\nThreshMaxO[most]: 6\nThreshDesc[most]: too much"),
        ("least", "ThreshMinI[least]: 200000\nThreshMinO[least]: 1%"),
        ("both", "ThreshMinI[both]: 10%\nThreshMaxI[both]: 90%"),
        ("none", ""),
    ] {
        text.push_str(&format!(
            "Target[{name}]: `cat FOLDER/value; echo 7`\nTitle[{name}]: About {name}\n\
             PageTop[{name}]: <h1>{name}</h1><p>a line</p>\nMaxBytes[{name}]: 1000000\n\
             Options[{name}]: gauge\nDirectory[{name}]: sub\n\
             ThreshMailAddress[{name}]: a@example.org,b@example.org\n{lines}\n"
        ));
        for direction in ["I", "O"] {
            text.push_str(&format!(
                "ThreshProg{direction}[{name}]: FOLDER/note\n\
                 ThreshProgOK{direction}[{name}]: FOLDER/note\n"
            ));
        }
    }
    text
}

#[test]
fn programs_run_and_mails_are_sent_also_in_cached_mode() {
    let Some(mut site) = Site::new() else { return };
    let Some(mails) = start_server() else { return };
    write_note(&site);
    let daemons = ["mrtg", "whit"].map(|side| {
        std::fs::create_dir_all(site.path(side).join("data/sub")).unwrap();
        cached::start(&site.path(side))
    });
    let [Some((_mrtg, _)), Some((_whit, port))] = daemons else { return };
    let state = "ThreshDir: FOLDER/state";
    let (mut begin_s, mut mail_count) = (BEGIN_S, 0);
    for (theirs, ours) in [
        ("", "RRDCached: unix:FOLDER/socket".to_owned()),
        (state, format!("{state}\nRRDCached: unix:FOLDER/socket")),
        ("ThreshHyst: 0.2", format!("ThreshHyst: 0.2\nRRDCached: 127.0.0.1:{port}")),
    ] {
        site.configure_each(&config(theirs), &config(&ours));
        for (round, value) in (0..).zip([100_000, 600_000, 700_000, 50_000, 950_000, 400_000]) {
            set(&site, value);
            let time_s = begin_s + 300 * round;
            let (said, code) = site.mrtg(time_s);
            let theirs = std::mem::take(&mut *mails.lock().unwrap());
            let (lines, report) = site.whit(time_s);
            let ours_sent = std::mem::take(&mut *mails.lock().unwrap());
            let case = format!("{ours}: round {round}: {said} {lines:?}");
            assert_eq!((code, report.unknown_count, lines.len()), (0, 0, 0), "{case}");
            let notes = |side: &str| std::fs::read_to_string(site.path(side).join("notes"));
            assert_eq!(notes("mrtg").ok(), notes("whit").ok(), "{case}");
            assert_eq!(theirs, ours_sent, "{case}");
            mail_count += theirs.len();
        }
        begin_s += 6_000;
    }
    let notes = std::fs::read_to_string(site.path("whit/notes")).unwrap();
    for wanted in ["most 50% 78.7 too much", "most 50% 31.7 ", "most 6 7 ", "least 1% 0.0 "] {
        assert!(notes.contains(wanted), "{wanted}: {notes}");
    }
    assert!(!notes.contains("none") && mail_count > 10, "{mail_count}: {notes}");
    // What is documented as a difference.
    site.configure(&config("RRDCached: unix:FOLDER/socket"));
    let before = std::fs::read_to_string(site.path("mrtg/notes")).unwrap();
    set(&site, 999_999);
    for round in 0..3 {
        let (said, code) = site.mrtg(begin_s + 300 * round);
        assert_eq!(code, 0, "{said}");
    }
    assert_eq!(std::fs::read_to_string(site.path("mrtg/notes")).unwrap(), before);
    assert!(mails.lock().unwrap().is_empty());
}
