//! A page that shows other hosts: questions are passed on, and what is dead, slow or hostile harms nobody.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serve::{OtherHost, Page, QueryServer, RecordedPages, RecordingStorage, ServeSettings};
use testkit::{ClosedPort, PATIENCE, http, wait_for, wait_until};

use crate::common::{listeners, patient};
use crate::page::{ask, list, ms, record_bursts, serve_with, text};

fn host(name: &str, address: SocketAddr) -> OtherHost {
    OtherHost::parse(&format!("url=http://{address},name={name}")).unwrap()
}

/// A server that answers each request with what `answer` writes.
fn fake(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            answer(&String::from_utf8_lossy(&head), &mut stream);
        }
    });
    address
}

/// A server with the same answer to everything.
fn fixed(head: &'static str, body: &str) -> SocketAddr {
    let (length, body) = (body.len(), body.to_owned());
    fake(move |_, stream| {
        let text =
            format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nX-Theirs: 1\r\n\r\n{body}");
        let _ = stream.write_all(text.as_bytes());
    })
}

const JSON: &str = "200 OK\r\nContent-Type: application/json";

fn names(hosts: &Value) -> Vec<&str> {
    list(hosts, "hosts").iter().map(|host| host["host"].as_str().unwrap()).collect()
}

#[test]
fn questions_for_another_host_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let bursts = record_bursts(folder.path());
    let theirs = serve_with(folder.path(), Vec::new());
    let other = theirs.address().unwrap();
    let ours = serve_with(folder.path(), vec![host("web 1", other)]);
    let address = ours.address().unwrap();
    let hosts = ask(address, "hosts", &[]);
    assert_eq!(names(&hosts), ["vm", "web 1"]);
    assert_eq!(hosts["hosts"][0]["spans"], hosts["hosts"][1]["spans"]);
    assert_eq!(list(&hosts, "unreachable").len(), 0);
    let at = ms(bursts[3]);
    for (question, more) in [
        ("heaviest", vec![("from", at.as_str()), ("thru", &ms(bursts[3] + 60)), ("format", "csv")]),
        ("explain", vec![("at", at.as_str())]),
        ("chart", vec![("id", "cpu"), ("from", at.as_str()), ("thru", &ms(bursts[3] + 60))]),
    ] {
        let passed: Vec<_> = more.iter().copied().chain([("host", "web 1")]).collect();
        assert_eq!(text(address, question, &passed), text(other, question, &more), "{question}");
    }
    let refused = http(address, "GET", "/api/whit/v1/moment", &[("host", "web 1"), ("at", "x")]);
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("\"x\\\" is no time"), "{}", refused.body);
    let unknown = http(address, "GET", "/api/whit/v1/moment", &[("host", "web 2"), ("at", &at)]);
    assert_eq!(unknown.status, 400, "{}", unknown.body);
    // Its live samples come, too.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "GET /api/whit/v1/live?host=web%201&id=cpu HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let (mut seen, mut bytes) = (String::new(), [0; 4096]);
    while !seen.contains(": still here") {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    assert!(seen.contains("text/event-stream"), "{seen}");
}

/// A server with sections, of which nothing is there yet.
fn serve_sections(folder: &Path) -> QueryServer {
    let (storage, _) = RecordingStorage::open(&[folder.to_owned()]).unwrap();
    let settings = ServeSettings { http: patient(), ..ServeSettings::default() };
    let storage = Arc::new(storage);
    let newest = Arc::new(RecordedPages::new(storage.clone()));
    for name in ["databases", "alerts", "store"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("account"), "{\"pid\":7,\"folder\":\"/theirs\"}").unwrap();
    let page = Page::new(storage)
        .with_databases(vec![folder.join("databases")], None)
        .with_alerts(folder.join("alerts"))
        .with_logs(&folder.join("store"))
        .with_parts(folder.join("account"));
    QueryServer::start_with_page(listeners(), settings, page, newest).unwrap()
}

#[test]
fn sections_of_another_host_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let theirs = serve_sections(folder.path());
    let other = theirs.address().unwrap();
    let ours = serve_with(folder.path(), vec![host("web 1", other)]);
    let address = ours.address().unwrap();
    assert_eq!(ask(address, "hosts", &[])["hosts"][1]["server"], "web 1");
    for (question, more) in [
        ("sections", vec![]),
        ("alerts", vec![("table", "rules"), ("format", "csv")]),
        ("databases", vec![("count", "5")]),
        ("devices", vec![("from", "1"), ("thru", "2")]),
        ("logs/counts", vec![("from", "1000"), ("thru", "9000"), ("points", "20")]),
    ] {
        let passed: Vec<_> = more.iter().copied().chain([("of", "web 1")]).collect();
        assert_eq!(text(address, question, &passed), text(other, question, &more), "{question}");
    }
    assert_eq!(ask(address, "parts", &[("of", "web 1")])["folder"], "/theirs");
    assert_eq!(ask(address, "parts", &[])["folder"], "/d");
    let refused = |question: &str, more: &[(&str, &str)]| {
        let answer = http(address, "GET", &format!("/api/whit/v1/{question}"), more);
        assert_eq!(answer.status, 400, "{question}: {}", answer.body);
        answer.body
    };
    assert!(
        refused("alerts", &[("of", "web 1"), ("table", "x"), ("format", "csv")])
            .contains("there are rules")
    );
    assert!(refused("sections", &[("of", "nobody")]).contains("no other host"));
    // Nothing but a question to a section goes to it.
    let odd = http(address, "GET", "/api/whit/v1/logs/..%2f..%2fx", &[("of", "web 1")]);
    assert!(matches!(odd.status, 400 | 404), "{}", odd.body);
    // Its log comes as it grows, with the names of events.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "GET /api/whit/v1/logs/live?of=web%201 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let (mut seen, mut bytes) = (String::new(), [0; 4096]);
    while !seen.contains("event: begin\ndata: {") && !seen.contains("event: trouble\ndata: {") {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

#[test]
fn pages_of_the_devices_of_another_host_are_asked_of_it() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let pages = folder.path().join("pages");
    std::fs::create_dir_all(pages.join("sub")).unwrap();
    std::fs::write(pages.join("index.html"), "<a href=\"a+b.html\">a+b</a>").unwrap();
    std::fs::write(pages.join("sub/a+b.html"), "<script>x</script>").unwrap();
    std::fs::write(pages.join("mrtg.cfg"), "secret").unwrap();
    std::fs::write(folder.path().join("out.html"), "secret").unwrap();
    let (storage, _) = RecordingStorage::open(&[folder.path().to_owned()]).unwrap();
    let storage = Arc::new(storage);
    let newest = Arc::new(RecordedPages::new(storage.clone()));
    let page = Page::new(storage).with_device_pages(pages);
    let settings = ServeSettings { http: patient(), ..ServeSettings::default() };
    let theirs = QueryServer::start_with_page(listeners(), settings, page, newest).unwrap();
    let hostile = fixed("200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b", "<b>theirs</b>");
    let closed = ClosedPort::bind().unwrap();
    let failing = fixed("302 Found\r\nLocation: /mrtg/elsewhere.html", "");
    let all = [
        host("web 1", theirs.address().unwrap()),
        host("hostile", hostile),
        host("failing", failing),
        host("dead", ([127, 0, 0, 1], closed.port()).into()),
    ];
    let ours = serve_with(folder.path(), all.into());
    let get = |path: &str| {
        let path = format!("/mrtg-of/{path}");
        http(ours.address().unwrap(), "GET", &path, &[])
    };
    for (path, kind, body) in [
        ("web%201/", "text/html", "<a href=\"a+b.html\">a+b</a>"),
        ("web%201/sub/a+b.html", "text/html", "<script>x</script>"),
        ("hostile/x.png", "image/png", "<b>theirs</b>"),
    ] {
        let answer = get(path);
        assert_eq!((answer.status, answer.body.as_str()), (200, body), "{path}");
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains(&format!("content-type: {kind}")), "{head}");
        assert!(head.contains("default-src 'none'") && head.contains("nosniff"), "{head}");
        assert!(!head.contains("script-src") && !head.contains("set-cookie"), "{head}");
    }
    for path in [
        "web%201/mrtg.cfg",
        "web%201/missing.html",
        "web%201/../out.html",
        "web%201/%2e%2e/out.html",
        "web%201/sub%2f..%2f..%2fout.html",
        "web%201//etc/passwd.html",
        "web%201",
        "hostile/mrtg.cfg",
        "hostile/../x.html",
        "nobody/index.html",
    ] {
        let answer = get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("secret"), "{path}: {}", answer.body);
    }
    for path in ["failing/index.html", "dead/index.html"] {
        assert_eq!(get(path).status, 502, "{path}");
    }
    // Who is asked by another whit asks nobody.
    let request = "GET /mrtg-of/hostile/x.png HTTP/1.1\r\nHost: localhost\r\nwhit-passed-on: 1\r\nConnection: close\r\n\r\n";
    let answer = testkit::http_raw(ours.address().unwrap(), request.as_bytes()).unwrap();
    assert_eq!(answer.status, 404, "{}", answer.body);
}

/// A stream of events, and the head of its answer.
fn stream(address: SocketAddr, path: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /api/whit/v1/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).unwrap().to_ascii_lowercase())
}

#[test]
fn streams_beyond_those_that_are_served_are_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let theirs = serve_sections(folder.path());
    let other = theirs.address().unwrap();
    let is_served = |head: &str| head.starts_with("http/1.1 200");
    let mut readers = Vec::new();
    let refused = loop {
        let (reader, head) = stream(other, "logs/live");
        if !is_served(&head) {
            break head;
        }
        readers.push(reader);
    };
    assert_eq!(readers.len(), 100);
    assert!(refused.starts_with("http/1.1 503") && refused.contains("retry-after: "), "{refused}");
    let answer = http(other, "GET", "/api/whit/v1/logs/live", &[]);
    assert!(answer.body.contains("100 readers already: close one"), "{}", answer.body);
    assert_eq!(ask(other, "parts", &[])["streams_refused"], 2);
    // Another host that asks for them hears the same, and so does its browser.
    let ours = serve_with(folder.path(), vec![host("web 1", other)]);
    let (_, head) = stream(ours.address().unwrap(), "logs/live?of=web%201");
    assert!(head.starts_with("http/1.1 502"), "{head}");
    drop(readers.pop());
    wait_until("a place is free", || {
        let (reader, head) = stream(other, "logs/live");
        let is_served = is_served(&head);
        readers.push(reader);
        is_served
    });
}

#[test]
fn a_picture_of_another_host_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    let svg = fixed("200 OK\r\nContent-Type: image/svg+xml; charset=utf-8", svg);
    let png = fixed("200 OK\r\nContent-Type: image/png", "<script>alert(1)</script>");
    let ours = serve_with(folder.path(), vec![host("svg", svg), host("png", png)]);
    let address = ours.address().unwrap();
    let path = "/api/whit/v1/databases/graph";
    let answer = http(address, "GET", path, &[("of", "svg"), ("path", "a.rrd")]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let head = answer.head.to_ascii_lowercase();
    assert!(head.contains("default-src 'none'") && head.contains("sandbox"), "{head}");
    assert!(head.contains("nosniff") && !head.contains("default-src 'self'"), "{head}");
    let answer = http(address, "GET", path, &[("of", "png"), ("path", "a.rrd")]);
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert!(answer.body.contains("no picture"), "{}", answer.body);
}

#[test]
fn hosts_of_one_name_are_told_apart_and_a_circle_ends() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let server = serve_with(folder.path(), Vec::new());
    let first = server.address().unwrap();
    // The second one shows the first, but not to other hosts.
    let between = serve_with(folder.path(), vec![host("first", first)]);
    let second = between.address().unwrap();
    let ours = serve_with(folder.path(), vec![host("vm", first), host("vm", second)]);
    let address = ours.address().unwrap();
    let hosts = ask(address, "hosts", &[]);
    let labels = [first, second].map(|address| format!("vm@{address}"));
    assert_eq!(names(&hosts), ["vm", &labels[0], &labels[1]], "{hosts}");
    assert_eq!(names(&ask(second, "hosts", &[])), ["vm", "first"]);
    for label in &labels {
        let charts = ask(address, "charts", &[("host", label)]);
        assert_eq!(charts, ask(first, "charts", &[]));
    }
    // A name that only the one between knows is not found through it.
    let through = format!("{}/first", labels[1]);
    let refused = http(address, "GET", "/api/whit/v1/charts", &[("host", &through)]);
    assert_eq!(refused.status, 400, "{}", refused.body);
}

#[test]
fn a_hundred_hosts_are_asked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let bursts = record_bursts(folder.path());
    let theirs = serve_with(folder.path(), Vec::new());
    let other = theirs.address().unwrap();
    let all = (0..100).map(|number| host(&format!("h{number}"), other)).collect();
    let ours = serve_with(folder.path(), all);
    let address = ours.address().unwrap();
    let hosts = wait_for("all hosts", || {
        let hosts = ask(address, "hosts", &[]);
        (list(&hosts, "hosts").len() == 101).then_some(hosts)
    });
    assert_eq!((names(&hosts)[0], names(&hosts)[100]), ("vm", "h99"));
    let at = ms(bursts[0]);
    let asked = testkit::side_by_side(&names(&hosts), 8, |name| {
        let moment = ask(address, "moment", &[("host", name), ("at", &at)]);
        list(&moment, "processes").len()
    });
    assert!(asked.iter().all(|count| *count == 64), "{asked:?}");
    let error = serve::Page::new(std::sync::Arc::new(
        serve::RecordingStorage::open(&[folder.path().to_owned()]).unwrap().0,
    ));
    let many = (0..101).map(|number| host(&format!("h{number}"), other)).collect();
    assert!(error.with_hosts(many).is_err_and(|error| error.to_string().contains("more than 100")));
}

#[test]
fn dead_slow_and_hostile_hosts_are_told_and_harm_nobody() {
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let closed = ClosedPort::bind().unwrap();
    let dead = SocketAddr::from(([127, 0, 0, 1], closed.port()));
    // It takes connections and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endless = fake(|_, stream| {
        let head = format!("HTTP/1.1 {JSON}\r\n\r\n{{\"hosts\":[\"");
        let mut went = stream.write_all(head.as_bytes());
        while went.is_ok() {
            went = stream.write_all(&[b'a'; 65536]);
        }
    });
    let script = "<script>alert(1)</script>";
    let markup = format!(
        "{{\"hosts\":[{{\"host\":\"{script}\",\"from_ms\":1,\"thru_ms\":2,\"is_live\":true,\"spans\":[],\
         \"gaps\":[],\"sources\":[],\"more\":{{}}}}]}}"
    );
    let redirect = "302 Found\r\nLocation: file:///etc/passwd";
    let hosts: Vec<(&str, SocketAddr, &str)> = vec![
        ("dead", dead, "cannot connect"),
        ("silent", silent.local_addr().unwrap(), "did not answer within"),
        ("endless", endless, "has more than"),
        ("wrong", fixed(JSON, "{\"hosts\":[{\"host\":7}]}"), "no list of hosts"),
        ("cut", fixed(JSON, "{\"hosts\":["), "no list of hosts"),
        ("deep", fixed(JSON, &"[".repeat(100_000)), "no list of hosts"),
        ("redirect", fixed(redirect, ""), "302"),
        ("page", fixed("200 OK\r\nContent-Type: text/html", script), "no list of hosts"),
        ("markup", fixed(JSON, &markup), ""),
    ];
    // Only the silent one uses up its time, however busy the machine is.
    let time_s = |name: &str| if name == "silent" { 2 } else { 300 };
    let all = hosts
        .iter()
        .map(|(name, address, _)| host(name, *address).within(Duration::from_secs(time_s(name))));
    let all: Vec<OtherHost> = all.collect();
    let ours = serve_with(folder.path(), all);
    let address = ours.address().unwrap();
    let mut told = Value::Null;
    wait_until("all have been asked", || {
        told = ask(address, "hosts", &[]);
        list(&told, "unreachable").len() == hosts.len() - 1 && names(&told).len() == 2
    });
    assert_eq!(names(&told), ["vm", "markup"], "{told}");
    assert_eq!(told["hosts"][1]["more"], Value::Null);
    for (name, _, why) in &hosts[..8] {
        let unreachable = list(&told, "unreachable");
        let one = unreachable.iter().find(|one| one["host"] == *name).unwrap();
        assert!(one["why"].as_str().unwrap().contains(why), "{one}");
        assert!(one["since_ms"].as_i64().unwrap() > 0);
    }
    for (name, ..) in &hosts {
        for question in ["moment", "live"] {
            let path = format!("/api/whit/v1/{question}");
            let answer = http(address, "GET", &path, &[("host", name), ("at", "1")]);
            let is_json = question == "moment" && ["wrong", "markup"].contains(name);
            assert_eq!(answer.status, if is_json { 200 } else { 502 }, "{name}: {}", answer.body);
            let head = answer.head.to_ascii_lowercase();
            assert!(!head.contains("x-theirs") && !head.contains("location"), "{head}");
            assert!(head.contains("nosniff") && head.contains("application/json"), "{head}");
        }
    }
    // This host was never in doubt.
    assert_eq!(ask(address, "hosts", &[])["hosts"][0]["host"], "vm");
}

#[test]
fn the_token_goes_to_its_host() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    record_bursts(folder.path());
    let file = folder.path().join("token");
    std::fs::write(&file, "very-secret").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let known = fake(|head, stream| {
        let head = head.to_ascii_lowercase();
        let is_known = head.contains("authorization: bearer very-secret\r\n")
            && head.contains("whit-passed-on: 1\r\n");
        let status = if is_known { "418 T" } else { "401 Unauthorized" };
        let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    });
    let with = format!("url=http://{known},name=with,token_file={}", file.display());
    let hosts = vec![OtherHost::parse(&with).unwrap(), host("without", known)];
    let ours = serve_with(folder.path(), hosts);
    let told = wait_for("both", || {
        let told = ask(ours.address().unwrap(), "hosts", &[]);
        (list(&told, "unreachable").len() == 2).then_some(told)
    });
    let why = |index: usize| told["unreachable"][index]["why"].as_str().unwrap();
    assert!(why(0).contains("418") && why(1).contains("401"), "{told}");
}
