//! `whit watch`: the real service, its parts killed, its configuration changed, its disk full.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ClosedPort, Prometheus, Running, SmallDisk, http, wait_for, wait_until};

use crate::whit;

mod forked;
mod under_fire;

/// A folder for data, a configuration in it, and what the service says.
struct Place(PathBuf);

impl Place {
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes the configuration: the page at a free port, samples often, and what `more` says.
    fn configure(&self, more: &str) {
        let text = format!(
            "[record]\ninterval = \"0.05:0.05:60\"\nsubsystems = \"cmZ\"\n[data]\nfree_min = \"0\"\n\
             [page]\nlisten = \"127.0.0.1:0\"\n{more}"
        );
        fs::write(self.file("whit.toml"), text).unwrap();
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = whit();
        command.arg(verb).arg("--config").arg(self.file("whit.toml"));
        command.arg("--folder").arg(self.file("data"));
        command.env_remove("RUNTIME_DIRECTORY").env_remove("STATE_DIRECTORY");
        command
    }

    fn start(&self) -> Running {
        let said = fs::OpenOptions::new().create(true).append(true).open(self.file("said"));
        let mut command = self.command("watch");
        Running::start(command.stdout(Stdio::null()).stderr(said.unwrap()))
    }

    fn said(&self) -> String {
        fs::read_to_string(self.file("said")).unwrap()
    }

    /// The account of a part, once there is one.
    fn part(&self, name: &str) -> Option<Value> {
        let text = fs::read_to_string(self.file("data/run/parts.json")).ok()?;
        let account: Value = serde_json::from_str(&text).unwrap();
        account["parts"].as_array().unwrap().iter().find(|part| part["name"] == name).cloned()
    }

    /// The process of a part that runs.
    fn pid(&self, name: &str) -> Option<i32> {
        i32::try_from(self.part(name)?["pid"].as_i64()?).ok()
    }

    fn recordings(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.file("data/recordings")).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "whit"))
            .collect()
    }

    /// Waits until the recordings grow.
    fn grows(&self) {
        let bytes = || -> u64 {
            self.recordings().iter().map(|path| path.metadata().map_or(0, |data| data.len())).sum()
        };
        let before = bytes();
        wait_until("more samples", || bytes() > before);
    }

    /// The address of the page, which it says.
    fn address(&self) -> SocketAddr {
        wait_for("the page", || {
            let said = self.said();
            let (_, rest) = said.rsplit_once("http://127")?;
            format!("127{}", rest.lines().next()?).parse().ok()
        })
    }
}

fn place(folder: &Path) -> Place {
    let place = Place(folder.to_owned());
    place.configure("");
    place
}

#[test]
fn the_service_records_and_serves_and_ends_with_whole_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut service = place.start();
    let address = place.address();
    place.grows();
    let page = http(address, "GET", "/metrics", &[]);
    assert!(page.body.contains("node_memory_MemTotal_bytes"), "{}", page.body);
    let status = place.command("watch").arg("--status").output().unwrap();
    let shown = String::from_utf8(status.stdout).unwrap();
    assert!(shown.contains("record         runs since "), "{shown}");
    assert!(shown.contains("page           runs since "), "{shown}");
    let status = place.command("watch").args(["--status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let names: Vec<_> =
        status["parts"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["record", "page", "alerts"], "{status}");
    assert!(status["alerts"].is_array() && status["engines"].is_array(), "{status}");
    // A second one is refused.
    let second = place.command("watch").output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains("already running with pid"), "{said}");
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
    let recordings = place.recordings();
    assert_eq!(recordings.len(), 1);
    let played = whit().args(["play", "-sZ", "--json"]).args(&recordings).output().unwrap();
    assert!(played.status.success() && !played.stdout.is_empty());
    assert_eq!(String::from_utf8_lossy(&played.stderr), "", "the recording is whole");
    let status = place.command("watch").arg("--status").output().unwrap();
    let said = String::from_utf8(status.stderr).unwrap();
    assert_eq!(status.status.code(), Some(2));
    assert!(said.contains("no service runs"), "{said}");
}

#[test]
fn verbs_without_a_path_show_the_data_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    place.configure("[log.central]\nenabled = true\nlisten = [\"/nowhere\"]\nstore = \"l\"\n");
    let text = fs::read_to_string(place.file("whit.toml")).unwrap();
    let text = text.replace("\"/nowhere\"", &format!("{:?}", place.file("log.sock")));
    fs::write(place.file("whit.toml"), text).unwrap();
    // As a service manager says it.
    let managed = |command: &mut Command| {
        command.env("STATE_DIRECTORY", place.file("data"));
        command.env("RUNTIME_DIRECTORY", place.file("data/run"));
    };
    let asked = |line: &str| {
        let mut command = whit();
        managed(command.args(line.split(' ')));
        let done = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let (code, _, said) = asked("play");
    assert_eq!(code, Some(2), "{said}");
    let wanted = format!("there is no {}", place.file("data/recordings").display());
    assert!(said.contains(&wanted) && said.contains("whit watch"), "{said}");
    let mut service = place.start();
    place.address();
    place.grows();
    // One that finds nothing ends with 1.
    wait_until("a store that can be read", || asked("log query --count").1 == "0\n");
    let from = |name: &str| format!("whit: from {}\n", place.file(name).display());
    let (code, shown, said) = asked("play -sc --json");
    assert_eq!((code, said.as_str()), (Some(0), &*from("data/recordings")));
    assert!(shown.lines().count() > 0);
    let (_, shown, said) = asked("log query --count");
    assert_eq!((shown.as_str(), said.as_str()), ("0\n", &*from("data/l")));
    for line in ["log verify", "log stats", "log tail --no-follow"] {
        assert_eq!(asked(line).2, from("data/l"), "{line}");
    }
    let (code, shown, said) = asked("watch --status");
    assert_eq!((code, said.as_str()), (Some(0), ""), "{shown}");
    // No terminal: the recording was found, and then the screen is refused.
    let (_, _, said) = asked("top --at 19700102:00:00");
    assert!(said.starts_with(&from("data/recordings")), "{said}");
    assert!(said.contains("no recording was begun before 19700102:00:00"), "{said}");
    let now = jiff::Zoned::now().strftime("%Y%m%d:%H:%M:%S").to_string();
    let (_, _, said) = asked(&format!("top --at {now}"));
    assert!(said.contains("whit top needs a terminal"), "{said}");
    let (_, _, said) = asked("serve --listen nowhere");
    assert!(said.starts_with(&from("data/recordings")), "{said}");
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
    // The service has ended: what it has written is at the places of its configuration.
    assert_eq!(asked("play -sc --json").2, from("data/recordings"));
}

#[test]
fn the_page_of_the_service_shows_other_hosts() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [theirs, ours] = folders.each_ref().map(|folder| place(folder.path()));
    let mut other = theirs.start();
    let address = theirs.address();
    // It becomes `whit serve --host`.
    ours.configure(&format!("[[host]]\nurl = \"http://{address}\"\nname = \"web1\"\n"));
    let mut service = ours.start();
    let page = ours.address();
    let hosts = wait_for("the other host", || {
        let hosts: Value =
            serde_json::from_str(&http(page, "GET", "/api/whit/v1/hosts", &[]).body).ok()?;
        (hosts["hosts"].as_array()?.len() == 2).then_some(hosts)
    });
    assert_eq!(hosts["hosts"][1]["host"], "web1", "{hosts}");
    assert_eq!(hosts["hosts"][1]["is_live"], true, "{hosts}");
    other.signal(libc::SIGTERM);
    assert!(other.ended().success());
    wait_until("it is missed", || {
        let hosts = http(page, "GET", "/api/whit/v1/hosts", &[]).body;
        hosts.contains("cannot connect to http://") && hosts.contains("\"host\":\"web1\"")
    });
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", ours.said());
    let refused = whit().args(["serve", "--host", "name=x", "."]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("--host") && said.contains("there is no url"), "{said}");
}

#[test]
fn a_part_that_is_killed_starts_again_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut service = place.start();
    let address = place.address();
    let recorder = wait_for("the recorder", || place.pid("record"));
    let page = wait_for("the page", || place.pid("page"));
    // SAFETY: no pointers; the process is the page of our service.
    assert_eq!(unsafe { libc::kill(page, libc::SIGKILL) }, 0);
    let other = wait_for("another page", || place.pid("page").filter(|pid| *pid != page));
    assert_ne!(other, page);
    assert_eq!(place.pid("record"), Some(recorder), "it never noticed");
    assert_eq!(place.part("record").unwrap()["failed"], 0);
    let account = place.part("page").unwrap();
    assert_eq!(account["failed"], 1, "{account}");
    let why = account["last_error"]["text"].as_str().unwrap();
    assert!(why.contains("signal 9 ended it"), "{why}");
    // The socket was open all the time.
    assert_eq!(http(address, "GET", "/-/healthy", &[]).status, 200);
    service.signal(libc::SIGINT);
    assert!(service.ended().success());
}

#[test]
fn a_part_that_fails_is_told_and_no_more_when_it_is_well() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap();
    place.configure(&format!("[rrdcached]\nenabled = true\nlisten = [\"{port}\"]\n"));
    let mut service = place.start();
    let address = place.address();
    let ask = |question: &str| -> Option<Value> {
        let answer = http(address, "GET", &format!("/api/whit/v1/{question}"), &[]);
        (answer.status == 200).then(|| serde_json::from_str(&answer.body).unwrap())
    };
    let part = |name: &str| {
        let parts = ask("parts")?["parts"].take();
        parts.as_array()?.iter().find(|part| part["name"] == name).cloned()
    };
    // It fails at once, each time; the page is `whit serve --parts`.
    let failed = wait_for("the failure", || part("rrdcached").filter(|part| part["failed"] == 2));
    assert!(failed["failing_since_ms"].as_i64() > Some(0), "{failed}");
    let why = failed["last_error"].as_str().unwrap();
    assert!(why.contains("in use") && why.contains("exit code"), "{why}");
    let status = place.command("watch").arg("--status").output().unwrap();
    let shown = String::from_utf8(status.stdout).unwrap();
    assert!(shown.contains("rrdcached      "), "{shown}");
    assert!(part("record").unwrap()["failing_since_ms"].is_null());
    drop(taken);
    let well = wait_for("it is well", || {
        part("rrdcached").filter(|part| part["failing_since_ms"].is_null())
    });
    assert_eq!(well["state"], "runs", "{well}");
    assert!(well["failed"].as_i64() > Some(1) && well["rss_bytes"].as_i64() > Some(0), "{well}");
    // What each costs is in the recording: of the part that failed, too.
    let wanted = ["service", "rrdcached", "record", "page", "alerts"];
    wait_until("curves of all parts", || {
        let Some(curves) = ask("parts/curves") else { return false };
        let charts = curves["charts"].as_array().unwrap();
        charts.len() == 4
            && charts.iter().all(|chart| {
                let series = chart["series"].as_array().unwrap().iter();
                series.map(|series| series["id"].as_str().unwrap()).eq(wanted)
            })
    });
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

#[test]
fn a_service_that_is_killed_takes_its_parts_along_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let service = place.start();
    let play = || whit().args(["play", "-sm", "--csv"]).args(place.recordings()).output().unwrap();
    // A rate has two.
    wait_until("two samples", || play().stdout.iter().filter(|byte| **byte == b'\n').count() > 1);
    let recorder = wait_for("the recorder", || place.pid("record"));
    service.kill();
    wait_until("the end of the recorder", || !Path::new(&format!("/proc/{recorder}")).exists());
    let before = place.recordings();
    let played = play();
    assert_eq!(String::from_utf8_lossy(&played.stderr), "", "the recording is whole");
    let status = place.command("watch").arg("--status").output().unwrap();
    assert_eq!(status.status.code(), Some(2));
    let mut service = place.start();
    wait_until("another recording", || place.recordings().len() == before.len() + 1);
    place.grows();
    service.signal(libc::SIGTERM);
    assert!(service.ended().success());
}

#[test]
fn hup_takes_another_configuration_over_and_a_wrong_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut service = place.start();
    let page = wait_for("the page", || place.pid("page"));
    let recorder = wait_for("the recorder", || place.pid("record"));
    place.configure("[recrod]\n[log.central]\nenabled = 1\n");
    service.signal(libc::SIGHUP);
    wait_until("the refusal", || place.said().contains("the old one stays in force"));
    wait_until("both errors", || {
        place.said().contains("whit.toml:10:11: enabled: write true or false")
    });
    assert!(
        place.said().contains("whit.toml:8:1: there is no table [recrod]: did you mean record?")
    );
    let status = place.command("watch").arg("--status").output().unwrap();
    let shown = String::from_utf8(status.stdout).unwrap();
    assert!(shown.contains("the old one is in force"), "{shown}");
    assert_eq!((place.pid("page"), place.pid("record")), (Some(page), Some(recorder)));
    let socket = place.file("log.sock");
    let more = format!("[log.central]\nenabled = true\nlisten = [\"{}\"]\n", socket.display());
    place.configure(&more);
    service.signal(libc::SIGHUP);
    wait_for("the store of logs", || place.pid("log.central"));
    testkit::connect(&socket);
    // The page is started again: it shows the log, too.
    wait_until("another page", || place.pid("page").is_some_and(|now| now != page));
    assert_eq!(place.pid("record"), Some(recorder));
    wait_until("the log", || {
        let sections = http(place.address(), "GET", "/api/whit/v1/sections", &[]);
        sections.body.contains("logs")
    });
    place.configure("");
    service.signal(libc::SIGHUP);
    wait_until("its end", || place.part("log.central").is_none());
    assert!(!socket.exists());
    service.signal(libc::SIGTERM);
    assert!(service.ended().success());
}

#[test]
fn each_engine_gets_every_sample_once_whatever_the_others_do() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place(folder.path().to_owned());
    let Some(prometheus) = Prometheus::receiving() else { return };
    let down = ClosedPort::bind().unwrap();
    let to = format!("remote-write=http://{}", prometheus.address());
    place.configure(&format!(
        "[[send]]\nname = \"dead\"\nto = \"otlp=http://127.0.0.1:{}\"\n\
         [[send]]\nname = \"main\"\nto = \"{to}\"\nsources = [\"cpu\", \"memory\"]\n",
        down.port()
    ));
    let mut service = place.start();
    let held = || -> u64 {
        let query = [("query", "count_over_time(node_context_switches_total[1h])")];
        let answer = http(prometheus.address(), "POST", "/api/v1/query", &query);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let count = answer["data"]["result"][0]["value"][1].as_str();
        count.map_or(0, |count| count.parse().unwrap())
    };
    wait_until("ten samples", || held() >= 10);
    let shown = || {
        let status = place.command("watch").arg("--status").output().unwrap();
        String::from_utf8(status.stdout).unwrap()
    };
    let state = shown();
    assert!(state.contains("send.main      runs since "), "{state}");
    assert!(state.lines().any(|line| line.starts_with("               has ")), "{state}");
    wait_until("what is wrong with the dead one", || {
        let state = shown();
        let dead = state.lines().find(|line| line.starts_with("send.dead      runs since "));
        dead.is_some_and(|line| {
            ["; says: ", "Connection refused", "trying again"]
                .iter()
                .all(|text| line.contains(text))
        })
    });
    // Its sender is killed and starts again; the recorder does not notice.
    let (recorder, sender) = (place.pid("record"), place.pid("send.main").unwrap());
    // SAFETY: no pointers; the service has not yet waited for its part.
    assert_eq!(unsafe { libc::kill(sender, libc::SIGKILL) }, 0);
    wait_until("another sender", || place.pid("send.main").is_some_and(|now| now != sender));
    let before = held();
    wait_until("more samples", || held() >= before + 10);
    assert_eq!(place.pid("record"), recorder);
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
    // What was recorded last.
    let recordings = place.file("data/recordings");
    let mut rest = whit();
    rest.args(["send", "--name", "main", "--to", &to, "--sources", "cpu,memory"]);
    assert!(rest.arg(&recordings).status().unwrap().success());
    let status = whit().args(["send", "--status", "--json"]).arg(&recordings).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    let engines: Vec<Value> =
        status.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [dead, main] = &engines[..] else { panic!("{status}") };
    let count = |engine: &Value, name: &str| engine[name].as_u64().unwrap();
    assert_eq!((count(dead, "samples_sent"), count(main, "samples_waiting")), (0, 0), "{status}");
    let sent = count(main, "samples_sent") + count(main, "samples_known");
    assert!(sent >= count(dead, "samples_waiting"), "{status}");
    // Those that were sent twice since their acknowledgement was lost are there once.  A rate needs two
    // readings; the last sample of a recorder has what ended, and no reading of the CPU.
    let played = whit().args(["play", "-sc", "--json"]).args(place.recordings()).output().unwrap();
    let played = String::from_utf8(played.stdout).unwrap();
    let readings = 1 + played.lines().filter(|line| line.contains("\"context_switches\"")).count();
    assert_eq!(held(), readings as u64, "{status}");
}

#[test]
fn what_keeps_a_service_from_starting_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    fs::write(place.file("whit.toml"), format!("[page]\nlisten = \"{address}\"\n")).unwrap();
    let refused = |command: &mut Command, what: &str| {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what), "{said}");
        said
    };
    refused(&mut place.command("watch"), &format!("cannot listen on {address}: end what listens"));
    fs::write(place.file("whit.toml"), "[page]\nlisten = 1\nlisen = 2\n").unwrap();
    for verb in ["watch", "config"] {
        let said = refused(&mut place.command(verb), "whit.toml:2:10: listen: write it as text");
        assert!(
            said.contains("whit.toml:3:1: [page] has no key lisen: did you mean listen?"),
            "{said}"
        );
    }
    place.configure("");
    // The service that could not listen had made its folder.
    fs::remove_dir_all(place.file("data")).unwrap();
    File::create(place.file("data")).unwrap();
    refused(&mut place.command("watch"), "cannot write to ");
    fs::remove_file(place.file("whit.toml")).unwrap();
    refused(&mut place.command("watch"), "cannot read the configuration ");
}

#[test]
fn a_full_disk_ends_what_writes_until_there_is_room() {
    let Some(disk) = SmallDisk::mount(16 << 10) else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    std::os::unix::fs::symlink(disk.path(), place.file("data")).unwrap();
    place.configure("");
    let text = fs::read_to_string(place.file("whit.toml")).unwrap();
    fs::write(place.file("whit.toml"), text.replace("free_min = \"0\"", "free_min = \"4M\""))
        .unwrap();
    let mut service = place.start();
    let address = place.address();
    place.grows();
    let keep = place.file("data/filler");
    fs::write(&keep, vec![1; 13 << 20]).unwrap();
    wait_until("the end of the recorder", || {
        place.part("record").is_some_and(|part| part["state"] == "waits")
    });
    assert!(
        place.said().contains("nothing new is written until there is room"),
        "{}",
        place.said()
    );
    let status = place.command("watch").arg("--status").output().unwrap();
    let shown = String::from_utf8(status.stdout).unwrap();
    assert!(shown.contains("nearly full since "), "{shown}");
    assert_eq!(http(address, "GET", "/-/healthy", &[]).status, 200);
    fs::remove_file(&keep).unwrap();
    wait_for("the recorder", || place.pid("record"));
    place.grows();
    service.signal(libc::SIGTERM);
    assert!(service.ended().success());
}

#[test]
fn what_a_part_cannot_write_is_told_until_it_writes_again() {
    let Some(disk) = SmallDisk::mount(2 << 10) else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    std::os::unix::fs::symlink(disk.path(), place.file("data")).unwrap();
    place.configure("");
    let mut service = place.start();
    let address = place.address();
    place.grows();
    let page = || {
        let parts: Value =
            serde_json::from_str(&http(address, "GET", "/api/whit/v1/parts", &[]).body).unwrap();
        let record = parts["parts"].as_array().unwrap().iter().find(|one| one["name"] == "record");
        (record.unwrap()["unwritten"].clone(), record.unwrap()["unwritten_since_ms"].clone())
    };
    assert_eq!(page(), (Value::Null, Value::Null));
    let pid = place.pid("record");
    disk.fill();
    // The account is on the same disk.
    let fault = wait_for("the fault", || {
        place.part("record").map(|part| part["unwritten"].clone()).filter(Value::is_object)
    });
    let said = fault["text"].as_str().unwrap();
    assert!(said.to_lowercase().contains("no space left"), "{fault}");
    // A write may still find room in a page that it has begun, and the next one fails again: what the
    // page tells is compared with the account of the same moment.
    wait_until("the page tells what the account says", || {
        let account = place.part("record").map_or(Value::Null, |part| part["unwritten"].clone());
        let since_ms = account["at"].as_i64().map(|at_s| at_s * 1000);
        let (told, told_since_ms) = page();
        account.is_object()
            && told == account["text"]
            && since_ms.is_some()
            && told_since_ms.as_i64() == since_ms
    });
    wait_until("the status tells it", || {
        let status = place.command("watch").arg("--status").output().unwrap();
        String::from_utf8(status.stdout).unwrap().contains("; not written since ")
    });
    disk.free();
    wait_until("a recorder that writes", || page() == (Value::Null, Value::Null));
    place.grows();
    assert_eq!(place.pid("record"), pid, "it is the same process");
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

#[test]
fn folders_that_are_removed_are_told_and_parts_go_on_when_they_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut service = place.start();
    let address = place.address();
    place.grows();
    // That of the recorder alone is made again.
    fs::remove_dir_all(place.file("data/recordings")).unwrap();
    wait_until("another recording", || !place.recordings().is_empty());
    place.grows();
    let recorder = wait_for("the recorder", || place.pid("record"));
    fs::remove_dir_all(place.file("data")).unwrap();
    wait_until("it is told", || place.said().contains("data, was removed: make it again"));
    assert!(place.said().contains("record: ") && !place.file("data").exists(), "{}", place.said());
    wait_until("the end of the recorder", || !Path::new(&format!("/proc/{recorder}")).exists());
    assert_eq!(http(address, "GET", "/-/healthy", &[]).status, 200);
    fs::create_dir(place.file("data")).unwrap();
    wait_for("the recorder", || place.pid("record"));
    place.grows();
    assert_eq!(place.part("record").unwrap()["failed"], 0);
    // It holds its place again.
    let second = place.command("watch").output().unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("already running with pid"));
    wait_until("the page shows it", || {
        http(address, "GET", "/metrics", &[]).body.contains("node_memory_MemTotal_bytes")
    });
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

#[test]
fn every_part_runs() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let file = |name: &str| place.file(name).display().to_string();
    fs::create_dir(place.file("www")).unwrap();
    fs::write(place.file("mrtg.cfg"), format!(
        "WorkDir: {}\nRunAsDaemon: Yes\nTarget[a]: `echo 1; echo 2; echo; echo`\nMaxBytes[a]: 100\n\
         Title[a]: a\nPageTop[a]: a\n", file("www"))).unwrap();
    let (central, cached) = (file("central.sock"), file("rrd.sock"));
    place.configure(&format!(
        "[log.central]\nenabled = true\nlisten = [\"{central}\"]\nkeep_for = \"90d\"\n\
         [log.proxy]\nenabled = true\ncentral = \"{central}\"\nfolders = [\"{}\"]\n\
         [rrdcached]\nenabled = true\nlisten = [\"{cached}\"]\nwrite = \"5m\"\nack = \"disk\"\n\
         [poll]\nenabled = true\nconfigs = [\"{}\"]\n",
        file("rings"),
        file("mrtg.cfg")
    ));
    let text = fs::read_to_string(place.file("whit.toml")).unwrap();
    let more = "[record]\ndurable = \"1m\"\nkeep = \"30d\"\n";
    fs::write(place.file("whit.toml"), text.replace("[record]\n", more)).unwrap();
    fs::create_dir(place.file("rings")).unwrap();
    let mut service = place.start();
    place.address();
    testkit::connect(Path::new(&central));
    testkit::connect(Path::new(&cached));
    wait_until("a round", || {
        place
            .recordings()
            .iter()
            .any(|path| path.file_name().unwrap().to_string_lossy().starts_with("poll-"))
    });
    for name in ["record", "page", "log.central", "log.proxy", "rrdcached", "poll"] {
        let account = place.part(name).unwrap();
        assert_eq!(
            (&account["state"], &account["failed"]),
            (&"runs".into(), &0.into()),
            "{account} {}",
            place.said()
        );
    }
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

#[test]
fn the_configuration_is_shown_with_where_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let shown = place.command("config").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let has = |line: &str| assert!(shown.contains(line), "{line}: {shown}");
    has(&format!(
        "subsystems = \"cmZ\"                       # {}:3",
        place.file("whit.toml").display()
    ));
    has("keep = \"10G\"                             # default");
    has("# option");
    let installed = whit().args(["config", "--installed"]).output().unwrap().stdout;
    fs::write(place.file("whit.toml"), &installed).unwrap();
    assert!(String::from_utf8(installed).unwrap().contains("[log.central]"));
    assert!(place.command("config").status().unwrap().success());
}

#[test]
fn a_configuration_and_a_folder_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("w.toml"), folder.path().join("d"));
    fs::write(&file, "[record]\nkeep = \"7d\"\n").unwrap();
    let run = |verb: &str, more: &[&str]| {
        let mut command = whit();
        command.env_remove("RUNTIME_DIRECTORY").env_remove("STATE_DIRECTORY");
        command.arg(verb).arg("--config").arg(&file).arg("--folder").arg(&data).args(more);
        command.output().unwrap()
    };
    let shown = String::from_utf8(run("config", &[]).stdout).unwrap();
    assert!(shown.contains("keep = \"7d\" "), "{shown}");
    assert!(shown.contains(&format!("folder = \"{}\"", data.display())), "{shown}");
    let refused = run("watch", &["--status"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    let wanted = format!("no service runs: there is no {}/run/parts.json", data.display());
    assert!(said.contains(&wanted), "{said}");
}

#[test]
fn a_service_manager_gives_the_socket_and_is_told_what_happens() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let manager = UnixDatagram::bind(place.file("notify")).unwrap();
    manager.set_read_timeout(Some(testkit::PATIENCE)).unwrap();
    let told = |what: &str| {
        wait_for(what, || {
            let mut bytes = [0; 512];
            let count = manager.recv(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes[..count]).contains(what).then_some(())
        });
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let watch = place.command("watch");
    let mut command = Command::new("sh");
    let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(watch.get_program()).args(watch.get_args());
    command.stdin(OwnedFd::from(listener)).env("NOTIFY_SOCKET", place.file("notify"));
    command
        .env("WATCHDOG_USEC", "200000")
        .env_remove("RUNTIME_DIRECTORY")
        .env_remove("STATE_DIRECTORY");
    command.stdout(Stdio::null()).stderr(File::create(place.file("said")).unwrap());
    let mut service = Running::start(&mut command);
    told("READY=1");
    told("STATUS=3 of 3 parts run");
    told("WATCHDOG=1");
    assert_eq!(http(address, "GET", "/-/healthy", &[]).status, 200);
    service.signal(libc::SIGHUP);
    told("RELOADING=1");
    told("READY=1");
    service.signal(libc::SIGTERM);
    told("STOPPING=1");
    assert!(service.ended().success());
}

/// The effective capabilities of a process, a bit for each.
fn capabilities(pid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    u64::from_str_radix(line.trim(), 16).unwrap_or(0)
}

#[test]
fn a_part_has_no_capabilities_but_those_that_it_needs() {
    const NAMED: [(u64, &str); 4] =
        [(2, "dac_read_search"), (19, "sys_ptrace"), (38, "perfmon"), (39, "bpf")];
    let own = capabilities("self");
    let given = NAMED.iter().filter(|(number, _)| own >> number & 1 == 1);
    let names: Vec<String> = given.clone().map(|(_, name)| format!("+{name}")).collect();
    let all: u64 = given.map(|(number, _)| 1 << number).sum();
    // As the unit gives them, without the rights of root.
    let list = names.join(",");
    let as_service = |command: &mut Command| -> Command {
        let mut other = Command::new("setpriv");
        other.args(["--securebits=+noroot", "--inh-caps", &list, "--ambient-caps", &list]);
        other.arg(command.get_program()).args(command.get_args());
        other.env_remove("RUNTIME_DIRECTORY").env_remove("STATE_DIRECTORY");
        other
    };
    let tried = as_service(&mut Command::new("true")).status();
    if all == 0 || !tried.is_ok_and(|status| status.success()) {
        testkit::skip("capabilities of parts", "this user may not pass any on");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let mut command = as_service(&mut place.command("watch"));
    let said = File::create(place.file("said")).unwrap();
    let mut service = Running::start(command.stdout(Stdio::null()).stderr(said));
    place.grows();
    for (part, kept) in [("record", all), ("page", all & !(3 << 38)), ("alerts", all & 1 << 2)] {
        let pid = wait_for(part, || place.pid(part));
        assert_eq!(capabilities(&pid.to_string()), kept, "{part}");
    }
    service.signal(libc::SIGTERM);
    assert!(service.ended().success(), "{}", place.said());
}

#[test]
fn the_unit_with_its_drop_in_is_as_tight_as_its_page_says() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/whit.service");
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let own = place.file("whit.service");
    fs::copy(&unit, &own).unwrap();
    fs::create_dir(place.file("whit.service.d")).unwrap();
    let analyze = |unit: &Path| {
        let mut analyze = Command::new("systemd-analyze");
        analyze.args(["security", "--offline=true", "--threshold=30"]).arg(unit);
        analyze.output().map(|output| {
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{shown}");
            let level = shown.lines().find_map(|line| line.split_once("whit.service: ")).unwrap();
            level.1.split_whitespace().next().unwrap().parse::<f64>().unwrap()
        })
    };
    let installed = match analyze(&unit) {
        Ok(level) => level,
        Err(error) => return testkit::skip("systemd-analyze", &error.to_string()),
    };
    let with_drop_in = |more: &str| {
        place.configure(more);
        let text = fs::read_to_string(place.file("whit.toml")).unwrap();
        fs::write(place.file("whit.toml"), text.replace("127.0.0.1:0", "/run/whit-watch/page"))
            .unwrap();
        let mut command = whit();
        command.args(["config", "--unit", "--config"]).arg(place.file("whit.toml"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::write(place.file("whit.service.d/parts.conf"), &output.stdout).unwrap();
        (analyze(&own).unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    // Everything on, with a port below 1024; and nothing that needs more than to read.
    let (all, text) = with_drop_in(
        "[poll]\nenabled = true\n[rrdcached]\nenabled = true\nlisten = [\"127.0.0.1:217\"]\n",
    );
    assert!(text.contains("CAP_BPF CAP_PERFMON CAP_NET_BIND_SERVICE\n"), "{text}");
    let (quiet, text) = with_drop_in("[alerts]\nenabled = false\n");
    assert!(text.contains("RestrictAddressFamilies=AF_UNIX AF_NETLINK\n"), "{text}");
    assert!(quiet < installed && all <= 3.0, "{installed}, all {all}, quiet {quiet}");
}
