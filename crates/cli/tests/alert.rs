//! `whit alert`: the service tells a program and a web hook; and rules are tried over a recording.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use testkit::{Running, wait_for, wait_until};

use crate::whit;

type Bodies = Arc<Mutex<Vec<Value>>>;

/// A server that takes what is posted.
fn hook() -> (SocketAddr, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let bodies = Bodies::default();
    let taken = bodies.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if let Some(body) = posted(&mut stream) {
                taken.lock().unwrap().push(body);
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            }
        }
    });
    (address, bodies)
}

/// The body of a request.
fn posted(stream: &mut TcpStream) -> Option<Value> {
    let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&heard).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let (_, length) = head.split_once("content-length: ")?;
            if body.len() >= length.lines().next()?.parse().ok()? {
                return serde_json::from_str(body).ok();
            }
        }
        let count = stream.read(&mut bytes).ok().filter(|count| *count > 0)?;
        heard.extend_from_slice(&bytes[..count]);
    }
}

fn command(folder: &Path, verb: &str) -> Command {
    let mut command = whit();
    command.arg(verb).arg("--config").arg(folder.join("whit.toml"));
    command.arg("--folder").arg(folder.join("data"));
    command.env_remove("RUNTIME_DIRECTORY").env_remove("STATE_DIRECTORY");
    command
}

fn service(folder: &Path) -> Running {
    let said = fs::OpenOptions::new().create(true).append(true).open(folder.join("said"));
    let mut command = command(folder, "watch");
    Running::start(command.stdout(Stdio::null()).stderr(said.unwrap()))
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn pid(folder: &Path, name: &str) -> Option<i32> {
    let account = json(&folder.join("data/run/parts.json"))?;
    let part = account["parts"].as_array()?.iter().find(|part| part["name"] == name)?;
    i32::try_from(part["pid"].as_i64()?).ok()
}

#[test]
fn the_service_tells_each_receiver_once_that_an_alert_begins_and_once_that_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (address, bodies) = hook();
    let tell = format!("#!/bin/sh\necho $WHIT_ALERT_STATE >> {0}/told\n", folder.display());
    testkit::write_program(&folder.join("tell"), tell).unwrap();
    // A program of this name runs when the test wants it.
    let name = format!("alrt{}", std::process::id());
    let text = format!(
        "[record]\ninterval = \"0.1:0.1:60\"\nsubsystems = \"cZ\"\n[data]\nfree_min = \"0\"\n\
         [page]\nlisten = \"127.0.0.1:0\"\n[alerts]\ninterval = \"1s\"\n[[alert]]\nname = \"gone\"\n\
         when = 'absent(whit_process_info{{command=\"{name}\"}})'\n\
         to = [\"command:{0}/tell\", \"webhook:http://{address}/secret\"]\n\
         [log.central]\nenabled = true\nlisten = [\"{0}/log\"]\n",
        folder.display()
    );
    fs::write(folder.join("whit.toml"), text).unwrap();
    let state = folder.join("data/alerts/alerts.json");
    let number = |name: &str| json(&state).and_then(|value| value[name].as_i64());
    let states =
        || bodies.lock().unwrap().iter().map(|body| body["state"].clone()).collect::<Vec<_>>();
    let told = || fs::read_to_string(folder.join("told")).unwrap_or_default();
    let first = service(folder);
    wait_until("both receivers to be told", || number("delivered") == Some(2));
    assert_eq!((told().as_str(), states()), ("begins\n", vec!["begins".into()]));
    // The secret of a web hook is not in the list of processes.
    let part = pid(folder, "alerts").unwrap();
    let line = fs::read_to_string(format!("/proc/{part}/cmdline")).unwrap();
    assert!(line.contains("--parts=") && line.contains("--logs="), "{line}");
    assert!(!line.contains("secret"), "{line}");
    assert_eq!(bodies.lock().unwrap()[0]["picture"]["type"], "image/png");
    first.kill();
    wait_until("the end of the part", || !Path::new(&format!("/proc/{part}")).exists());
    let stepped = number("at_ms");
    let mut second = service(folder);
    wait_until("a step after the restart", || number("at_ms") > stepped);
    // A part that is killed is an alert, too.
    let page = wait_for("the page", || pid(folder, "page").filter(|_| number("at_ms") > stepped));
    let fires = |name: &str| {
        let value = json(&state)?;
        let rule = value["rules"].as_array()?.iter().find(|rule| rule["name"] == name)?.clone();
        Some(rule["state"] == "fires")
    };
    let looked = number("at_ms");
    wait_until("a step with the page", || number("at_ms") > looked);
    assert_eq!(fires("a part of whit failed"), Some(false));
    // SAFETY: a signal to a part of our service.
    unsafe { libc::kill(page, libc::SIGKILL) };
    wait_until("the alert of the page", || fires("a part of whit failed") == Some(true));
    fs::copy("/bin/sleep", folder.join(&name)).unwrap();
    let begun = Running::start(Command::new(folder.join(&name)).arg("1000"));
    wait_until("both receivers to be told", || number("delivered") == Some(4));
    begun.kill();
    // The page shows it, and no secret.
    wait_until("the page", || pid(folder, "page").is_some_and(|now| now != page));
    let line = format!("/proc/{}/cmdline", pid(folder, "page").unwrap());
    assert!(fs::read_to_string(line).unwrap().contains("--alerts="));
    let said = fs::read_to_string(folder.join("said")).unwrap();
    let (_, port) = said.rsplit_once("http://127.0.0.1:").unwrap();
    let port: u16 = port.lines().next().unwrap().parse().unwrap();
    let page = SocketAddr::from(([127, 0, 0, 1], port));
    let shown = testkit::http(page, "GET", "/api/whit/v1/alerts", &[]);
    assert!(!shown.body.contains("secret"), "{}", shown.body);
    let shown: Value = serde_json::from_str(&shown.body).unwrap();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4, "{shown}");
    let csv = testkit::http(
        page,
        "GET",
        "/api/whit/v1/alerts",
        &[("format", "csv"), ("table", "messages")],
    );
    assert!(
        csv.body.contains(",gone,ends,") && csv.body.contains(",webhook:127.0.0.1,1,"),
        "{}",
        csv.body
    );
    second.signal(libc::SIGTERM);
    assert!(second.ended().success(), "{}", fs::read_to_string(folder.join("said")).unwrap());
    assert_eq!(told(), "begins\nends\n");
    assert_eq!(states(), ["begins", "ends"]);
    let body = bodies.lock().unwrap()[0].clone();
    assert_eq!(
        (&body["alert"], &body["instances"][0]["labels"]["command"]),
        (&"gone".into(), &name.into())
    );
    assert!(body["link"].as_str().unwrap().contains("&at="), "{body}");
    assert_eq!(number("dropped"), Some(0));
}

#[test]
fn rules_are_tried_over_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let recorded = whit()
        .args(["record", "-sc", "-c5", "-i0.1", "-f"])
        .arg(folder.join("r"))
        .output()
        .unwrap();
    assert!(recorded.status.success());
    let text = "[alerts]\ndefaults = false\ninterval = \"1s\"\n[[alert]]\nname = \"time\"\n\
                when = \"node_time_seconds > 1000\"\n[[alert]]\nname = \"none\"\nwhen = \"x > 1\"\n\
                [[alert]]\nname = \"early\"\nwhen = \"node_time_seconds < 1000\"\n";
    fs::write(folder.join("whit.toml"), text).unwrap();
    let asked = |words: &[&str]| {
        let mut command = whit();
        command.arg("alert").arg("--config").arg(folder.join("whit.toml"));
        command.arg("--folder").arg(folder.join("data"));
        let recordings = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        command
            .args(words)
            .args(recordings.filter(|path| path.extension().is_some_and(|end| end == "whit")));
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, shown, said) = asked(&["--check", "--thru", "2100-01-01", "--from", "2100-01-01"]);
    let wanted = "time: no data at the end of the period\nnone: no data at the end of the period\n\
                  early: no data at the end of the period\n";
    assert_eq!((code, shown.as_str()), (Some(0), wanted), "{said}");
    // The first sample may be a moment after the begin.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let (from, thru) = (format!("@{}", now - 60), format!("@{}", now + 60));
    let (_, shown, said) = asked(&["--check", "--from", &from, "--thru", &thru]);
    assert!(shown.starts_with("time: ") && shown.contains(" to now, value "), "{shown}{said}");
    assert!(shown.contains("early: does not fire\n"), "{shown}");
    let (_, shown, _) = asked(&["--check", "--from", &from, "--thru", &thru, "--json"]);
    let found: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&found["alerts"][0]["rule"], &found["alerts"][0]["thru_ms"]),
        (&"time".into(), &Value::Null)
    );
    let (code, _, said) = asked(&["--check", "--from", &thru, "--thru", &from]);
    assert!(code == Some(2) && said.contains("--from is after --thru"), "{said}");
    fs::write(folder.join("whit.toml"), "[[alert]]\nname = \"a\"\nwhen = \"x >\"\n").unwrap();
    let (code, _, said) = asked(&["--check"]);
    assert!(code == Some(2) && said.contains("whit.toml:3:8: when: "), "{said}");
}
