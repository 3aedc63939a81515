//! Thresholds beside mrtg: the same programs with the same arguments and environment, the same
//! state files, round by round; and a mail to a server of the test.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::target;
use poll::log_file::{LogFiles, LogReading};
use poll::pages::{PageWriter, Redraw};
use poll::threshold::{ThresholdAction, ThresholdCheck, ThresholdProgram, send};
use poll::{Decimal, Global, PollTarget, Reading, ThresholdRules};
use testkit::Random;

const TARGETS: usize = 6;

fn random_rules(random: &mut Random, program: &Path) -> ThresholdRules {
    let program = program.display().to_string();
    let mut bound = |limit: u64| match random.below(4) {
        0 => None,
        1 => Some(format!("{}%", random.below(100))),
        _ => Some(random.below(limit).to_string()),
    };
    let minimum = [bound(1_000), bound(1_000)];
    let maximum = [bound(1_000), bound(1_000)];
    let mut some = |text: &str| (random.below(4) > 0).then(|| text.to_owned());
    ThresholdRules {
        minimum,
        maximum,
        description: some("what it means"),
        programs: [some(&program), some(&program)],
        programs_ok: [some(&program), some(&program)],
        mail_address: None,
    }
}

fn lines(name: &str, rules: &ThresholdRules) -> String {
    let mut text = String::new();
    let mut put = |key: &str, value: &Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("{key}[{name}]: {value}\n"));
        }
    };
    for (side, letter) in ["I", "O"].into_iter().enumerate() {
        put(&format!("ThreshMin{letter}"), &rules.minimum[side]);
        put(&format!("ThreshMax{letter}"), &rules.maximum[side]);
        put(&format!("ThreshProg{letter}"), &rules.programs[side]);
        put(&format!("ThreshProgOK{letter}"), &rules.programs_ok[side]);
    }
    put("ThreshDesc", &rules.description);
    text
}

fn run(program: &ThresholdProgram) {
    let mut command = Command::new(&program.program);
    command.args(&program.arguments);
    for (name, value) in &program.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    assert!(command.status().expect("a program").success());
}

/// A program that writes down how it was called.
fn write_program(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("act");
    let calls = folder.join("calls");
    let text = format!(
        "#!/bin/sh\nprintf '%s|' \"$THRESH_DESC\" \"$HWTHRESH_DESC\" \"$@\" >>{0}\necho >>{0}\n",
        calls.display()
    );
    testkit::write_program(&path, text).expect("written");
    path
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn states(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns how many programs ran.
fn compare(seed: u64) -> usize {
    let mut random = Random::from_seed(seed);
    let (theirs, ours) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let (their_program, our_program) = (write_program(theirs.path()), write_program(ours.path()));
    let has_folder = seed.is_multiple_of(2);
    let hysteresis = [None, Some(0.05)][random.below(2) as usize];
    let mut text = format!("WorkDir: {}\n", theirs.path().display());
    let mut global = Global { threshold_hysteresis: hysteresis, ..Global::default() };
    if has_folder {
        for folder in [theirs.path(), ours.path()] {
            fs::create_dir(folder.join("states")).expect("a folder");
        }
        text.push_str(&format!("ThreshDir: {}/states\n", theirs.path().display()));
        global.threshold_dir = Some(ours.path().join("states"));
    }
    if let Some(hysteresis) = hysteresis {
        text.push_str(&format!("ThreshHyst: {hysteresis}\n"));
    }
    let mut targets: Vec<PollTarget> = Vec::new();
    for number in 0..TARGETS {
        let mut target = target();
        target.name = format!("t{number}");
        target.max_bytes = [1_000.0; 2];
        target.options.gauge = true;
        target.thresholds = random_rules(&mut random, &our_program);
        let rules = ThresholdRules {
            programs: target
                .thresholds
                .programs
                .clone()
                .map(|one| one.map(|_| their_program.display().to_string())),
            programs_ok: target
                .thresholds
                .programs_ok
                .clone()
                .map(|one| one.map(|_| their_program.display().to_string())),
            ..target.thresholds.clone()
        };
        let name = &target.name;
        text.push_str(&format!(
            "Target[{name}]: `cat {}/values`\nMaxBytes[{name}]: 1000\nOptions[{name}]: gauge\n\
             Title[{name}]: T\nPageTop[{name}]: <h1>T</h1>\n{}",
            theirs.path().display(),
            lines(name, &rules)
        ));
        targets.push(target);
    }
    let config = theirs.path().join("mrtg.cfg");
    fs::write(&config, text).expect("written");
    for round in 0..4 {
        let values = [random.below(1_000), random.below(1_000)];
        let text = format!("{}\n{}\n\n\n", values[0], values[1]);
        fs::write(theirs.path().join("values"), text).expect("written");
        let output = Command::new("mrtg").arg(&config).env("LANG", "C").output().expect("mrtg");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for target in &targets {
            // What mrtg compares is the value of the last step of the day's picture.
            let current = current(target, theirs.path(), ours.path(), values);
            let check = ThresholdCheck {
                global: &global,
                target,
                config_name: "mrtg.cfg",
                current: current.map(|value| Some(value as f64)),
                failures: [None; 2],
            };
            let (actions, errors) = check.run();
            assert!(errors.is_empty(), "{errors:?}");
            for action in actions {
                let ThresholdAction::Program(program) = action else { panic!("{action:?}") };
                run(&program);
            }
        }
        let (their_calls, our_calls) =
            (read(&theirs.path().join("calls")), read(&ours.path().join("calls")));
        let case = format!("seed {seed}, round {round}, {global:?}, {said}");
        assert_eq!(our_calls, their_calls, "{case}");
        let folder = |path: &Path| states(&path.join("states"));
        assert_eq!(folder(ours.path()), folder(theirs.path()), "{case}");
    }
    read(&ours.path().join("calls")).lines().count()
}

/// The newest step of the day, as the page has it.
fn current(target: &PollTarget, theirs: &Path, ours: &Path, values: [u64; 2]) -> [i64; 2] {
    let log = read(&theirs.join(format!("{}.log", target.name)));
    let time_s = log.split(' ').next().and_then(|time| time.parse().ok()).expect("a time");
    let values = values.map(|value| Some(Decimal::from(value)));
    let reading = Reading { time_ns: time_s * 1_000_000_000, values, ..Reading::default() };
    let mut files = LogFiles::new();
    let path = ours.join(format!("{}.log", target.name));
    let updated = files.update(&path, &LogReading::of(target, &reading)).expect("updated");
    let time_zone = jiff::tz::TimeZone::UTC;
    let writer =
        PageWriter { global: &Global::default(), time_zone, now_s: time_s, redraw: Redraw::Due };
    writer.day(target, updated.history).current
}

#[test]
fn programs_run_as_those_of_mrtg() {
    if !testkit::is_installed("thresholds beside mrtg", "mrtg") {
        return;
    }
    let calls: usize = (0..4).map(compare).sum();
    assert!(calls > 10, "only {calls} programs ran");
}

#[test]
fn a_mail_says_what_was_broken() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || serve(&listener));
    let mut target = target();
    target.name = "device".to_owned();
    target.title = "A router".to_owned();
    target.thresholds.maximum[1] = Some("50%".to_owned());
    target.thresholds.mail_address = Some("a@example.org, b@example.org".to_owned());
    let global = Global {
        threshold_mail_server: Some(format!("127.0.0.1:{port}")),
        threshold_mail_sender: Some("poll@example.org".to_owned()),
        ..Global::default()
    };
    let current = [None, Some(1_000_000.0)];
    let failures = [None; 2];
    let check =
        ThresholdCheck { global: &global, target: &target, config_name: "x", current, failures };
    let (actions, _) = check.run();
    let [ThresholdAction::Mail(mail)] = &actions[..] else { panic!("{actions:?}") };
    send(mail, "localhost", Duration::from_secs(60)).expect("sent");
    let said = server.join().expect("a dialogue");
    let expected = [
        "EHLO localhost",
        "MAIL FROM:<poll@example.org>",
        "RCPT TO:<a@example.org>",
        "RCPT TO:<b@example.org>",
        "DATA",
        "From: poll@example.org",
        "To: a@example.org, b@example.org",
        "Subject: [MRTG-TH] BROKEN device thresh max o ( 50% (625000.0) vs 80.0% (1000000) )",
    ];
    assert_eq!(said[..expected.len()], expected);
    assert!(said.iter().any(|line| line == "Threshold: 50% (625000.0)"), "{said:?}");
    assert_eq!(said.last().map(String::as_str), Some("QUIT"));
}

/// Takes one mail; returns all lines that it got.
fn serve(listener: &TcpListener) -> Vec<String> {
    let (stream, _) = listener.accept().expect("a client");
    let mut writer = stream.try_clone().expect("a socket");
    writer.write_all(b"220-one\r\n220 two\r\n").expect("a greeting");
    let (mut lines, mut is_data) = (Vec::new(), false);
    for line in BufReader::new(stream).lines() {
        let line = line.expect("a line");
        let answer = match (line.as_str(), is_data) {
            (".", true) => "250 taken\r\n",
            (_, true) => "",
            ("DATA", false) => "354 go on\r\n",
            ("QUIT", false) => "221 bye\r\n",
            _ => "250 yes\r\n",
        };
        is_data = (is_data || line == "DATA") && line != ".";
        writer.write_all(answer.as_bytes()).expect("an answer");
        lines.push(line);
        if lines.last().is_some_and(|line| line == "QUIT") {
            break;
        }
    }
    lines
}

#[test]
fn a_server_that_refuses_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(b"554 not here\r\n").expect("an answer");
    });
    let mail = |port: u16| poll::threshold::Mail {
        servers: vec![format!("127.0.0.1:{port}")],
        sender: "a@b".to_owned(),
        receivers: vec!["c@d".to_owned()],
        message: String::new(),
    };
    let error = send(&mail(port), "localhost", Duration::from_secs(60)).expect_err("refused");
    assert!(error.to_string().contains("554 not here"), "{error}");
    server.join().expect("a server");
    let closed = testkit::ClosedPort::bind().expect("a port");
    let error = send(&mail(closed.port()), "localhost", Duration::from_secs(60)).expect_err("gone");
    assert!(error.to_string().contains("cannot reach"), "{error}");
}
