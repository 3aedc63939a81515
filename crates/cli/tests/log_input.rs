//! `whit log proxy --input`: files through rotation and kills, standard input, syslog as `logger` sends it,
//! the kernel's messages; hostile bytes; what the kernel drops is told.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use testkit::{Running, wait_until};

use crate::log_common::{command, end, folder, start, text, whit};

pub(crate) const PROXY: &str = "proxy --directory rings --central ./socket --spool spool";
/// Longest text of a record.
const TEXT_BYTES_MAX: usize = 128 << 10;

pub(crate) fn query(here: &Path, words: &str) -> Vec<serde_json::Value> {
    let found = text(&whit(here, &format!("query store -f json {words}")));
    found.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn messages(here: &Path, logger: &str) -> Vec<String> {
    let found = query(here, &format!("--logger {logger}"));
    found.iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn once(here: &Path, input: &str) {
    let done = whit(here, &format!("{PROXY} --once -i {input}"));
    assert!(done.status.success(), "{done:?}");
}

/// Appends to a file, and makes it newer than all others: a clock has its ticks.
pub(crate) fn append(path: &Path, bytes: &[u8]) {
    static CLOCK: AtomicU64 = AtomicU64::new(1_700_000_000);
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
    let now = Duration::from_secs(CLOCK.fetch_add(1, Ordering::Relaxed));
    file.set_modified(SystemTime::UNIX_EPOCH + now).unwrap();
}

#[test]
fn a_file_goes_on_where_it_was_read_through_rotation_and_cuts() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let path = here.join("in");
    append(&path, b"one\n\ntwo \0 \xff \x1b[31m\r\n");
    append(&path, &vec![b'x'; TEXT_BYTES_MAX + 5]);
    append(&path, b"\nwithout end");
    once(here, "file:in");
    once(here, "file:in");
    let found = query(here, "--logger file");
    let long = "x".repeat(TEXT_BYTES_MAX);
    let texts: Vec<&str> = found.iter().map(|one| one["message"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "", "two \0 \u{fffd} \u{1b}[31m\r", &long, "without end"]);
    assert_eq!(found[3]["data"]["LeftOut"], 5);
    assert_eq!(
        (&found[0]["data"]["Cursor"], &found[0]["context"]["Input"]),
        (&4.into(), &"in".into())
    );
    // Rotated twice while nobody looked.
    append(&path, b"\nlast of one\n");
    std::fs::rename(&path, here.join("in.2")).unwrap();
    append(&here.join("in.1"), b"of the second\n");
    append(&path, b"of the third\n");
    append(&here.join("in.old"), b"of another\n");
    once(here, "file:in");
    // Cut, and written again.
    std::fs::write(&path, b"new\n").unwrap();
    once(here, "file:in");
    // Gone, and another in its place: what it had is not known any more.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(here.join("other"), b"other\n").unwrap();
    std::fs::rename(here.join("other"), &path).unwrap();
    once(here, "file:in");
    let texts = messages(here, "file").split_off(5);
    let expected = [
        "",
        "last of one",
        "of the second",
        "of the third",
        "the file was cut: it is read from its begin",
        "new",
        "the file that was read up to byte 4 is gone: what it had behind that is lost",
        "other",
    ];
    assert_eq!(texts, expected);
    assert!(whit(here, "verify store --deep").status.success());
    end(central);
}

/// Kills the proxy at any moment while a file is written and rotated: each line is in the store once.
#[test]
fn a_file_is_whole_after_kills_of_the_proxy() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let path = here.join("in");
    let mut random = testkit::Random::from_seed(20_261_127);
    // A file that was rotated before the first start is nobody's.
    append(&path, b"line 0\n");
    once(here, "file:in");
    let (mut number, mut renamed) = (1, 1);
    for _ in 0..testkit::share(100) {
        let proxy = start(here, &format!("{PROXY} --idle 1ms -i file:in"));
        let lines_of = |count: u64, number: &mut u64| {
            let text: String = (0..count).map(|at| format!("line {}\n", *number + at)).collect();
            *number += count;
            text
        };
        for _ in 0..random.below(6) {
            append(&path, lines_of(random.below(400), &mut number).as_bytes());
            if random.below(4) == 0 && number > renamed {
                std::fs::rename(&path, here.join(format!("in.{number}"))).unwrap();
                renamed = number;
            }
            std::thread::sleep(Duration::from_micros(random.below(30_000)));
        }
        append(&path, lines_of(1, &mut number).as_bytes());
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        drop(proxy);
    }
    once(here, "file:in");
    let texts = messages(here, "file");
    let wrong = texts.iter().enumerate().find(|(at, text)| **text != format!("line {at}"));
    assert_eq!((wrong, texts.len() as u64), (None, number));
    assert!(whit(here, "verify store --deep").status.success());
    end(central);
}

#[test]
fn standard_input_is_read_to_its_end() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let mut command = command(here, &format!("{PROXY} --once --input stdin"));
    let mut proxy = Running::start(command.stdin(Stdio::piped()));
    let mut input = proxy.stdin.take().unwrap();
    (0..10_000).for_each(|number| writeln!(input, "line {number}").unwrap());
    input.write_all(b"rest").unwrap();
    drop(input);
    assert!(proxy.ended().success());
    let texts = messages(here, "stdin");
    assert!(texts.iter().take(10_000).enumerate().all(|(at, text)| *text == format!("line {at}")));
    assert_eq!((texts.len(), texts.last().map(String::as_str)), (10_001, Some("rest")));
    end(central);
}

/// A port that nobody has now.
pub(crate) fn port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn syslog_is_taken_as_logger_sends_it() {
    if !testkit::is_installed("inputs of syslog", "logger") {
        return;
    }
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let (udp, tcp) = (port(), port());
    let inputs = format!("-i syslog:./log -i syslog:127.0.0.1:{udp} -i syslog:tcp:127.0.0.1:{tcp}");
    let proxy = start(here, &format!("{PROXY} {inputs}"));
    wait_until("all are open", || {
        TcpStream::connect(("127.0.0.1", tcp)).is_ok() && here.join("log").exists()
    });
    let (udp_port, tcp_port) = (udp.to_string(), tcp.to_string());
    let (udp, tcp) =
        (["-d", "-n", "127.0.0.1", "-P", &udp_port], ["-T", "-n", "127.0.0.1", "-P", &tcp_port]);
    let data = ["--sd-id", "e@1", "--sd-param", "k=\"v w\"", "--msgid", "ID"];
    let cases: [(&str, &[&str]); 7] = [
        ("unix", &["-u", "./log"]),
        ("udp 3164", &[&udp[..], &["--rfc3164"]].concat()),
        ("udp 5424", &[&udp[..], &["--rfc5424"], &data[..]].concat()),
        ("tcp 3164", &[&tcp[..], &["--rfc3164"]].concat()),
        ("tcp 5424", &[&tcp[..], &["--rfc5424"], &data[..]].concat()),
        ("tcp counted", &[&tcp[..], &["--octet-count", "--rfc5424"]].concat()),
        ("unix 5424", &["-u", "./log", "--rfc5424"]),
    ];
    for (what, options) in cases {
        let mut logger = Command::new("logger");
        logger.args(["--id=77", "-p", "local3.warning", "-t", "prog"]).args(options);
        logger.current_dir(here);
        let done = logger.arg(format!("text ü {what}")).output().unwrap();
        assert!(done.status.success(), "{what}: {done:?}");
    }
    // Hostile: no frame ends, half a frame, counts that are none.
    let mut stream = TcpStream::connect(("127.0.0.1", tcp_port.parse::<u16>().unwrap())).unwrap();
    stream.write_all(b"999999999 <13>").unwrap();
    let mut half = TcpStream::connect(("127.0.0.1", tcp_port.parse::<u16>().unwrap())).unwrap();
    let long = vec![b'y'; 1 << 20];
    half.write_all(b"<11>").unwrap();
    half.write_all(&long).unwrap();
    half.write_all(b"\n<10>half").unwrap();
    drop(half);
    UnixDatagram::unbound().unwrap().send_to(b"\xff\0", here.join("log")).unwrap();
    wait_until("all are in the store", || query(here, "--logger syslog").len() == 10);
    drop(stream);
    let found = query(here, "--logger syslog");
    for (what, _) in cases {
        let text = format!("text ü {what}");
        let one = found.iter().find(|one| one["message"] == text.as_str());
        let Some(one) = one else { panic!("{what}: {found:#?}") };
        let data = &one["data"];
        assert_eq!(
            (&one["level"], &data["Facility"]),
            (&"WARNING".into(), &"local3".into()),
            "{what}"
        );
        assert_eq!((&data["Process"], &data["Pid"]), (&"prog".into(), &"77".into()), "{what}");
        let has_data = what.ends_with("p 5424");
        assert_eq!(data["e@1.k"] == "v w" && data["MessageId"] == "ID", has_data, "{what}: {data}");
        assert_eq!(data["Host"].is_string(), what != "unix", "{what}: {data}");
    }
    let endless = found.iter().find(|one| one["level"] == "ERROR").unwrap();
    assert_eq!(endless["data"]["LeftOut"], (1 << 20) + 4 - TEXT_BYTES_MAX);
    assert!(found.iter().any(|one| one["level"] == "CRITICAL" && one["message"] == "half"));
    assert!(found.iter().any(|one| one["message"] == "\u{fffd}\0" || one["message"] == "\u{fffd}"));
    end(proxy);
    assert!(!here.join("log").exists());
    end(central);
}

/// While the proxy stands still, the kernel drops datagrams; what came and what was dropped are all that was
/// sent.
#[test]
fn datagrams_that_the_kernel_drops_are_told() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let port = port();
    let mut proxy = start(here, &format!("{PROXY} -i syslog:127.0.0.1:{port}"));
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(("127.0.0.1", port)).unwrap();
    wait_until("it takes the first", || {
        // Refused, or lost, as long as nobody listens.
        let _ = sender.send(b"<13>first");
        !query(here, "--logger syslog").is_empty()
    });
    proxy.signal(libc::SIGSTOP);
    let datagram = [&b"<13>Oct 11 22:14:15 h p: "[..], &[b'z'; 1000]].concat();
    // Of root the kernel takes 16 MiB of them, with its own heads.
    let sent = 16_000;
    (0..sent).for_each(|_| assert_eq!(sender.send(&datagram).unwrap(), datagram.len()));
    proxy.signal(libc::SIGCONT);
    wait_until("all are accounted for", || {
        let found = query(here, "--logger syslog");
        let is_told = |one: &&serde_json::Value| one["level"] == "WARNING";
        let told = found.iter().filter(is_told).map(|one| one["message"].as_str().unwrap());
        let dropped = told.map(|text| text.split(' ').next().unwrap().parse::<usize>().unwrap());
        let came = found.iter().filter(|one| one["data"]["Process"] == "p").count();
        came + dropped.sum::<usize>() == sent
    });
    end(proxy);
    end(central);
}

#[test]
fn messages_of_the_kernel_come_once() {
    let device = Path::new("/dev/kmsg");
    if let Err(error) = std::fs::File::options().read(true).write(true).open(device) {
        testkit::skip("messages of the kernel", &error.to_string());
        return;
    }
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let text = format!("whit test {}", std::process::id());
    let say = |end: &str| std::fs::write(device, format!("<12>{text} {end}\n")).unwrap();
    say("one");
    once(here, "kernel");
    say("two");
    once(here, "kernel");
    let found = query(here, "--logger kernel");
    let own: Vec<&str> =
        found.iter().filter_map(|one| one["message"].as_str()?.strip_prefix(&text)).collect();
    assert_eq!(own, [" one", " two"]);
    let mut numbers: Vec<u64> =
        found.iter().filter_map(|one| one["data"]["Cursor"].as_u64()).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
    end(central);
}

/// Sends an entry to a receiver of journals.
fn upload(journal: &testkit::JournalRemote, second: u64, message: &str) {
    let entry = format!(
        "__REALTIME_TIMESTAMP={second}000000\n__MONOTONIC_TIMESTAMP={second}\n\
         _BOOT_ID=00000000000000000000000000000001\n_HOSTNAME=far\nPRIORITY=4\n\
         SYSLOG_IDENTIFIER=prog\nMESSAGE={message}\n\n"
    );
    let head = format!(
        "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: application/vnd.fdo.journal\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        entry.len()
    );
    let mut connection = TcpStream::connect(journal.address()).unwrap();
    connection.write_all((head + &entry).as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
}

/// Journals of other machines, as `systemd-journal-remote` writes them.
#[test]
fn a_folder_of_journals_goes_on_where_it_was_read() {
    let Some(journal) = testkit::JournalRemote::start() else { return };
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let input = format!("journal:{}", journal.file().parent().unwrap().display());
    upload(&journal, 1_800_000_000, "one");
    upload(&journal, 1_800_000_001, "two");
    once(here, &input);
    once(here, &input);
    upload(&journal, 1_800_000_002, "three");
    once(here, &input);
    upload(&journal, 1_800_000_003, "four");
    once(here, &input);
    let found = query(here, "--logger journal");
    let texts: Vec<&str> = found.iter().map(|one| one["message"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "two", "three", "four"], "{found:#?}");
    // The last but one, behind which the last was found, says what the saved place does not.
    let cursors = found.iter().map(|one| one["data"]["Cursor"].as_str().unwrap());
    let begins: Vec<&str> = cursors.map(|cursor| &cursor[..2]).collect();
    assert_eq!(begins, ["s=", "s=", "i=", "i="], "{found:#?}");
    for one in &found {
        let (data, level) = (&one["data"], &one["level"]);
        assert_eq!((&data["Host"], &data["Process"]), (&"far".into(), &"prog".into()), "{one}");
        assert_eq!(level, "WARNING");
    }
    end(central);
}

#[test]
fn wrong_inputs_are_refused() {
    let folder = folder();
    let here = folder.path();
    for (wrong, why) in [
        ("-i files", "an input is stdin; file: and PATH, FOLDER or FOLDER/PATTERN;"),
        ("-i file", "an input is"),
        ("-i stdin:x", "an input is"),
        ("-i syslog:./no/where", "syslog:./no/where: No such file"),
        ("-i syslog:nowhere", "syslog:nowhere"),
        ("-i journal:./none", "journal:./none: No such file"),
        ("-i kernel:x", "journal, or journal: and FOLDER; kernel"),
        ("--once -i syslog:./log", "this input has no end: leave out --once"),
        ("-i stdin -i stdin", "this input is given twice"),
    ] {
        let said = whit(here, &format!("{PROXY} {wrong}"));
        let said = (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned());
        assert!(!said.0 && said.1.contains(why), "{wrong}: {}", said.1);
    }
    // What fails later ends the input, and is told in the stream.
    let central = start(here, "central --store store --listen ./socket");
    once(here, "file:/proc/self/mem");
    let found = messages(here, "file");
    assert!(found[0].contains("file:/proc/self/mem has ended: Input/output error"), "{found:?}");
    end(central);
}
