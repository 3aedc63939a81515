//! `whit send`, killed at any moment: the engine has everything.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;
use testkit::{Prometheus, Random, Running, http, wait_until};

use crate::whit;

/// A recording of this machine: a sample every 20 ms, so that there are some at once.  A count is that of
/// the intervals.
fn record(folder: &Path, samples: u32) {
    record_every("0.02", folder, samples);
}

fn record_every(interval: &str, folder: &Path, samples: u32) {
    let mut record = whit();
    record.args(["record", "-i", interval, "-s", "cdmn", "-c", &(samples - 1).to_string(), "-f"]);
    assert!(record.arg(folder).status().unwrap().success());
}

fn send(folder: &Path, to: &str) -> std::process::Command {
    let mut send = whit();
    send.args(["send", "--to", &format!("remote-write={to}")]).arg(folder);
    send
}

/// What each engine has; nothing before anything was sent.
fn status(folder: &Path, form: &str) -> Vec<Value> {
    let said = whit().args(["send", "--status", form]).arg(folder).output().unwrap();
    if !said.status.success() {
        assert!(String::from_utf8_lossy(&said.stderr).contains("nothing was sent"), "{said:?}");
    }
    let lines = String::from_utf8(said.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_killed_sender_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let to = format!("http://{}", prometheus.address());
    let mut random = Random::from_seed(testkit::seed(251));
    let mut samples = 0;
    for _ in 0..testkit::share(40) {
        record(folder.path(), 10);
        samples += 10;
        let sender = Running::start(send(folder.path(), &to).arg("--follow"));
        // Anywhere between its start and the end of its work.
        let polls = random.below(40);
        for _ in 0..polls {
            std::thread::yield_now();
            let _ = std::fs::read_dir(format!("/proc/{}/task", sender.pid())).map(Iterator::count);
        }
        sender.kill();
    }
    assert!(send(folder.path(), &to).status().unwrap().success());
    let status = status(folder.path(), "--json");
    assert_eq!(status[0]["samples_waiting"], 0, "{status:?}");
    for count in ["samples_refused", "samples_deleted", "samples_unreadable"] {
        assert_eq!(status[0][count], 0, "{status:?}");
    }
    // The engine is asked for every point.
    let said = |form: &[&str]| {
        let output = send(folder.path(), &to).arg("--verify").args(form).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&[]).contains("points are acknowledged, and all of them are there"));
    let verified: Value = serde_json::from_str(&said(&["--json"])).unwrap();
    assert!(verified["points"].as_u64() > Some(samples), "{verified}");
    assert_eq!((&verified["missing"], &verified["doubled"]), (&0.into(), &0.into()), "{verified}");
    // Each sample has one reading of the CPU, and none is there twice.
    let query = [("query", "count_over_time(node_context_switches_total[1h])")];
    let answer = http(prometheus.address(), "POST", "/api/v1/query", &query);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["data"]["result"][0]["value"][1], samples.to_string(), "{answer}");
}

#[test]
fn processes_and_steps_are_sent_in_few_series_and_points() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    let mut record = whit();
    record.args(["record", "-i", "0.05:0.05", "-s", "cmZ", "-c", "3", "-f"]);
    assert!(record.arg(folder.path()).status().unwrap().success());
    let to = format!("http://{}", prometheus.address());
    let words = ["--processes-by", "user:1", "--step", "1d", "--spread"];
    assert!(send(folder.path(), &to).args(words).status().unwrap().success());
    let verify = send(folder.path(), &to).args(words).arg("--verify").output().unwrap();
    assert!(verify.status.success(), "{verify:?}");
    for (query, count) in [
        // One by its name, the others as one more if there are any.
        ("count(count_over_time(whit_process_by_user_processes[2d])) <= bool 2", "1"),
        ("max(count_over_time(node_memory_MemFree_bytes[2d])) <= bool 2", "1"),
        ("count(count_over_time(node_memory_MemFree_bytes_min[2d]))", "1"),
        ("count(count_over_time(node_memory_MemFree_bytes_max[2d]))", "1"),
    ] {
        let answer = http(prometheus.address(), "POST", "/api/v1/query", &[("query", query)]);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(answer["data"]["result"][0]["value"][1], count, "{query}: {answer}");
    }
}

#[test]
fn what_an_engine_has_is_played_as_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    // An engine has points, and those less than half of an interval apart are one sample.
    record_every("0.3", folder.path(), 6);
    let to = format!("http://{}", prometheus.address());
    assert!(send(folder.path(), &to).status().unwrap().success());
    let fields = "memory.total,memory.free,memory.dirty,cpu.load_1m";
    let play = |what: &str| {
        let mut play = whit();
        play.args(["play", "--csv", "--fields", fields, "--from", "-1h", what]);
        let output = play.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        // The time of a sample is the one that its first source was read at.
        let rest = |line: &str| line.split_once(',').unwrap().1.to_owned();
        text.lines().map(rest).collect::<Vec<_>>()
    };
    let recorded = play(folder.path().to_str().unwrap());
    assert!(recorded.len() > 5, "{recorded:?}");
    assert_eq!(recorded, play(&format!("prometheus={to}")));
    let endless = whit().args(["play", &format!("prometheus={to}")]).output().unwrap();
    assert!(String::from_utf8_lossy(&endless.stderr).contains("--from -1h"), "{endless:?}");
}

#[test]
fn an_engine_that_is_down_delays_no_other_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    record(folder.path(), 5);
    let down = testkit::ClosedPort::bind().unwrap();
    let mut both = send(folder.path(), &format!("http://{}", prometheus.address()));
    both.args(["--to", &format!("remote-write=http://127.0.0.1:{}", down.port())]);
    both.args(["--sources", "cpu"]).stderr(std::process::Stdio::piped());
    let mut sender = Running::start(&mut both);
    let of = |word: &str| {
        let port = format!("-{}", down.port());
        let is_down = |one: &Value| one["name"].as_str().unwrap().ends_with(&port);
        let found = status(folder.path(), "--json");
        found.into_iter().find(|one| is_down(one) == (word == "down"))
    };
    wait_until("the one that is up has all", || {
        of("up").is_some_and(|one| one["samples_sent"] == 5 && one["samples_waiting"] == 0)
    });
    sender.signal(libc::SIGINT);
    assert_eq!(sender.ended().code(), Some(1));
    assert_eq!(of("down").unwrap()["samples_waiting"], 5);
    let mut said = String::new();
    std::io::Read::read_to_string(sender.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert!(said.contains("Connection refused") && said.contains("trying again"), "{said}");
    assert!(said.contains("ended before all was sent"), "{said}");
    let text = whit().args(["send", "--status"]).arg(folder.path()).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("has 5 samples (") && text.contains("; 5 wait"), "{text}");
}

#[test]
fn a_sender_that_follows_looks_as_often_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |options: &[&str], words: &str| {
        let said = send(folder.path(), "http://127.0.0.1:1").args(options).output().unwrap();
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code() == Some(2) && text.contains(words), "{said:?}");
    };
    refused(&["--every", "5s"], "--follow");
    let range = "--every: a sender looks for what is new once in 1 second to 1 hour";
    refused(&["--follow", "--every", "0s"], range);
    refused(&["--follow", "--every", "2h"], range);
    let Some(prometheus) = Prometheus::receiving() else { return };
    let to = format!("http://{}", prometheus.address());
    let has = |sent: u64, waiting: u64| {
        let all = status(folder.path(), "--json");
        let is = |one: &Value| one["samples_sent"] == sent && one["samples_waiting"] == waiting;
        all.first().is_some_and(is)
    };
    record(folder.path(), 3);
    let mut sender = Running::start(send(folder.path(), &to).args(["--follow", "--every", "1h"]));
    wait_until("what was there is sent", || has(3, 0));
    record(folder.path(), 2);
    assert!(has(3, 2), "{:?}", status(folder.path(), "--json"));
    // It does not sleep through a signal.
    sender.signal(libc::SIGTERM);
    sender.ended();
    let mut sender = Running::start(send(folder.path(), &to).args(["--follow", "--every", "1s"]));
    wait_until("the rest is sent", || has(5, 0));
    record(folder.path(), 2);
    wait_until("what is new is sent", || has(7, 0));
    sender.signal(libc::SIGTERM);
    sender.ended();
}

#[test]
fn an_empty_store_of_log_records_is_one_if_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (option, said) in [
        (&[][..], "otlp-http-127-0-0-1-9: has 0 samples (0 points)"),
        (&["--logs"][..], "otlp-logs-http-127-0-0-1-9: has 0 records"),
    ] {
        let mut send = whit();
        send.args(["send", "--to", "otlp=http://127.0.0.1:9"]).args(option).arg(folder.path());
        let output = send.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
}

#[test]
fn a_named_engine_may_move() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::receiving() else { return };
    record(folder.path(), 3);
    let own = format!("http://{}", prometheus.address());
    let other = format!("http://localhost:{}", prometheus.address().port());
    for (to, all) in [(own, 3), (other, 6)] {
        let named = send(folder.path(), &to).args(["--name", "main"]).status().unwrap();
        assert!(named.success());
        let found = status(folder.path(), "--json");
        assert_eq!((found.len(), &found[0]["name"]), (1, &"main".into()), "{found:?}");
        assert_eq!(found[0]["samples_sent"], all, "{found:?}");
        assert_eq!(found[0]["address"], to);
        record(folder.path(), 3);
    }
    let mut two = send(folder.path(), "http://127.0.0.1:1");
    two.args(["--to", "otlp=http://127.0.0.1:1", "--name", "main"]);
    let said = String::from_utf8(two.output().unwrap().stderr).unwrap();
    assert!(said.contains("--name is the name of one engine"), "{said}");
}

/// A file with a token.
fn token_in(folder: &Path) -> std::path::PathBuf {
    let token = folder.join("token");
    std::fs::write(&token, "secret\n").unwrap();
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    token
}

/// Reads the head of a request.
fn request_head(stream: &mut TcpStream) -> String {
    let (mut head, mut one) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one).unwrap();
        head.push(one[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Reads a request that has a body: its head, and the body.
fn request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let head = request_head(stream);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

#[test]
fn an_engine_is_played_with_a_token_and_authorities() {
    let folder = tempfile::tempdir().unwrap();
    let token = token_in(folder.path());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let from = format!("prometheus=http://{}", listener.local_addr().unwrap());
    let engine = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = request_head(&mut stream);
        let body = "{\"status\":\"success\",\"data\":[]}";
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        head
    });
    let mut play = whit();
    play.args(["play", "--from", "-1h", "--token-file"]).arg(&token).arg(&from);
    let said = String::from_utf8(play.output().unwrap().stderr).unwrap();
    assert!(said.contains("has nothing that whit sent in this time"), "{said}");
    let head = engine.join().unwrap();
    assert!(head.contains("authorization: Bearer secret\r\n"), "{head}");
    let mut play = whit();
    play.args(["play", "--from", "-1h", "--ca", "/no/file", "prometheus=https://127.0.0.1:1"]);
    let said = String::from_utf8(play.output().unwrap().stderr).unwrap();
    assert!(said.contains("/no/file"), "{said}");
}

#[test]
fn log_records_of_an_engine_are_queried_with_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = token_in(folder.path());
    let Some(server) = testkit::NatsServer::start(Some("secret")) else { return };
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    let made = "{\"name\":\"W\",\"subjects\":[\"whit.logs.>\"],\"retention\":\"limits\",\"storage\":\"file\",\
                \"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,\"num_replicas\":1}";
    let record = |second: u32, message: &str| {
        format!(
            "{{\"time\":\"2026-11-22T20:00:0{second}.000000001Z\",\"level\":\"WARNING\",\"logger\":\"l\",\
             \"host\":\"h\",\"process\":\"p\",\"pid\":7,\"tid\":8,\"line\":0,\"ring\":0,\"sequence\":{second},\
             \"message\":\"{message}\",\"data\":{{\"a\":0.1}}}}"
        )
    };
    let (first, second) = (record(1, "one"), record(2, "two"));
    write!(stream, "CONNECT {{\"verbose\":false,\"auth_token\":\"secret\"}}\r\nSUB answers 1\r\n")
        .unwrap();
    // The later one is published first.
    for (subject, text) in [
        ("$JS.API.STREAM.CREATE.W", made),
        ("whit.logs.s.h.p", &second),
        ("whit.logs.s.h.p", &first),
    ] {
        write!(stream, "PUB {subject} answers {}\r\n{text}\r\n", text.len()).unwrap();
    }
    let answers = std::io::BufReader::new(stream).lines().map(Result::unwrap);
    assert_eq!(answers.filter(|line| line.starts_with("MSG answers")).take(3).count(), 3);
    let engine = format!("jetstream=nats://{}", server.address());
    let query = |words: &[&str]| {
        let mut query = whit();
        query.args(["log", "query", &engine, "--token-file"]).arg(&token).args(words);
        let output = query.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(query(&["-f", "json"]), format!("{first}\n{second}\n"));
    assert_eq!(
        query(&["-u", "-n", "1"]),
        "2026-11-22T20:00:01.000000Z WARNING   l p[7]/ one a=0.1\n"
    );
    assert_eq!(query(&["--count", "--from", "2026-11-22T20:00:02Z"]), "1\n");
    for (words, why) in [
        (["log", "query", &engine], "Authorization Violation"),
        (["log", "tail", &engine], "query reads engines, and nothing else does"),
        (["log", "query", "loki=http://127.0.0.1:1"], "say from when on"),
    ] {
        let refused = whit().args(words).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn tables_are_made_if_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 2);
    let token = token_in(folder.path());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("clickhouse=http://{}/?user=writer", listener.local_addr().unwrap());
    let engine = std::thread::spawn(move || {
        // Two tables, what the one for samples has, and an insert.
        [(); 4].map(|()| {
            let (mut stream, _) = listener.accept().unwrap();
            let (head, body) = request(&mut stream);
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n0\n")
                .unwrap();
            (head, String::from_utf8_lossy(&body).into_owned())
        })
    });
    let mut send = whit();
    send.args(["send", "--create-tables", "--to", &to, "--token-file"])
        .arg(&token)
        .arg(folder.path());
    assert!(send.status().unwrap().success());
    let requests = engine.join().unwrap();
    let begins = [
        "CREATE TABLE IF NOT EXISTS whit_samples",
        "CREATE TABLE IF NOT EXISTS whit_logs",
        "SELECT max(sample)",
        "",
    ];
    for ((head, body), begin) in requests.iter().zip(begins) {
        assert!(body.starts_with(begin), "{body}");
        let wanted = ["x-clickhouse-user: writer\r\n", "x-clickhouse-key: secret\r\n"];
        assert!(wanted.iter().all(|line| head.contains(line)), "{head}");
    }
    assert!(requests[3].0.starts_with("POST /?query=INSERT"), "{}", requests[3].0);
}

#[test]
fn a_token_and_authorities_are_used() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), 2);
    let token = token_in(folder.path());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("http://{}", listener.local_addr().unwrap());
    // It does not know remote write 2.0, so it is asked twice.
    let answers = ["415 Unsupported Media Type", "204 No Content"];
    let engine = std::thread::spawn(move || {
        answers.map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            let (head, _) = request(&mut stream);
            write!(stream, "HTTP/1.1 {answer}\r\nConnection: close\r\n\r\n").unwrap();
            head
        })
    });
    let sent = send(folder.path(), &to).arg("--token-file").arg(&token).status().unwrap();
    assert!(sent.success());
    for head in engine.join().unwrap() {
        assert!(head.contains("authorization: Bearer secret\r\n"), "{head}");
    }
    for (arguments, why) in [
        (&["--ca", "/no/file"][..], "/no/file"),
        (&["--sources", "nothing"], "there is no source nothing"),
        (&["--to", "kafka=http://h"], "is no engine"),
        (&["--to", "remote-write=ftp://h"], "begins with neither"),
        (&["--token-file", "/no/token"], "/no/token"),
        (&["--json"], "give --status or --verify"),
        (&["--create-tables"], "clickhouse has some"),
        (&["--verify"], "nothing was sent from here under the name"),
    ] {
        let refused = send(folder.path(), "https://127.0.0.1:1").args(arguments).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && said.contains(why), "{arguments:?}: {said}");
    }
}
