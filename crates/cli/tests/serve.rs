//! `whit serve`: what a recorder has just written, asked by Prometheus's interface.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use connection::{ClientTls, SocketStream, connect_tcp, resolve};
use testkit::{
    Authority, HttpAnswer, PATIENCE, Prometheus, Random, Running, http, http_over, http_raw,
    wait_for, wait_until,
};

use crate::history_common::{recording_in, run, whit};
use crate::log_common;

/// Starts a server that says its address on standard error, which goes to a file.
pub(crate) fn start(command: &mut Command, said: &Path) -> (Running, SocketAddr) {
    let server = Running::start(command.stdout(Stdio::null()).stderr(File::create(said).unwrap()));
    let address = wait_for("the server", || {
        let said = std::fs::read_to_string(said).unwrap();
        let (_, rest) = said.split_once("//")?;
        rest.split_once(char::is_whitespace)?.0.parse().ok()
    });
    (server, address)
}

/// A server of a folder on the loopback, and its address.
pub(crate) fn serve(recorded: &Path, options: &[&str]) -> (Running, SocketAddr) {
    let mut command = whit();
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(options).arg(recorded);
    start(&mut command, &recorded.join("said"))
}

#[test]
fn recordings_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-scmdC", "-i0.05", "-c4", "-f"]).arg(&recorded));
    let (mut server, address) = serve(&recorded, &[]);
    let ask = |query: &str| {
        let answer = http(address, "POST", "/api/v1/query", &[("query", query)]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<serde_json::Value>(&answer.body).unwrap()
    };
    let load = ask("last_over_time(node_load1[1d])");
    assert_eq!(load["data"]["result"][0]["metric"]["job"], "whit", "{load}");
    let memory = ask("min_over_time(node_memory_MemTotal_bytes[1d]) > 1e6");
    assert_eq!(memory["data"]["result"].as_array().unwrap().len(), 1, "{memory}");
    let modes = ask("count by (mode) (last_over_time(node_cpu_seconds_total[1d]))");
    assert_eq!(modes["data"]["result"].as_array().unwrap().len(), 8, "{modes}");
    let values = ask("count_over_time(node_context_switches_total[1d]) > 3");
    assert_eq!(values["data"]["result"].as_array().unwrap().len(), 1, "{values}");
    // The page has the values of the last sample.
    let page = http(address, "GET", "/metrics", &[]);
    let value = memory["data"]["result"][0]["value"][1].as_str().unwrap();
    let line = page.body.lines().find(|line| line.starts_with("node_memory_MemTotal_bytes{"));
    assert_eq!(line.unwrap().split(' ').nth(1), Some(value), "{}", page.body);
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
}

#[test]
fn side_files_are_made_unless_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    run(whit().args(["record", "-scm", "-i0.01", "-c30", "-f"]).arg(folder.path()));
    let side_files = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".whit.columns")).count()
    };
    let count = |address| {
        let asked = [("query", "count_over_time(node_load1[1d])")];
        let answer = http(address, "POST", "/api/v1/query", &asked).body;
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["data"]["result"][0]["value"][1]
            .clone()
    };
    let (mut server, address) = serve(folder.path(), &["--no-side-files"]);
    let without = count(address);
    // And the base of the first rates.
    assert_eq!(without, "31");
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
    assert_eq!(side_files(), 0);
    let (mut server, address) = serve(folder.path(), &[]);
    wait_until("a side file", || side_files() == 1);
    assert_eq!(count(address), without);
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
}

#[test]
fn databases_and_pages_of_devices_are_shown_beside_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["recordings", "databases", "pages"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    run(whit().args(["record", "-sc", "-i0.05", "-c2", "-f"]).arg(at("recordings")));
    let source = ["--step", "60", "DS:in:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:60"];
    run(whit().args(["rrd", "create"]).arg(at("databases/a.rrd")).args(source));
    std::fs::write(at("pages/index.html"), "<h1>Devices</h1>").unwrap();
    let options = [("--databases", at("databases")), ("--device-pages", at("pages"))];
    let options = options.map(|(name, path)| format!("{name}={}", path.display()));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let (mut server, address) = serve(&at("recordings"), &options);
    let found = http(address, "GET", "/api/whit/v1/databases", &[]).body;
    assert!(found.contains("\"a.rrd\"") && found.contains("\"in\""), "{found}");
    assert_eq!(http(address, "GET", "/mrtg/", &[]).body, "<h1>Devices</h1>");
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
}

#[test]
fn a_database_is_shown_with_what_its_daemon_holds() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["recordings", "databases", "journal"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    run(whit().args(["record", "-sc", "-i0.05", "-c2", "-f"]).arg(at("recordings")));
    let source = "--start 1790000000 --step 60 DS:in:GAUGE:120:U:U RRA:AVERAGE:0.5:1:60";
    run(whit().args(["rrd", "create"]).arg(at("databases/a.rrd")).args(source.split(' ')));
    let socket = at("socket");
    let mut command = whit();
    command.args(["rrdcached", "-g", "-B", "-w", "3600", "-f", "7200", "-l"]).arg(&socket);
    command.arg("-b").arg(at("databases")).arg("-j").arg(at("journal"));
    let mut daemon = command.spawn().unwrap();
    wait_until("the daemon listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let update = ["--daemon", &socket.display().to_string(), "1790000060:7", "1790000120:7"];
    run(whit().args(["rrd", "update"]).arg(at("databases/a.rrd")).args(update));
    let options = [("--databases", at("databases")), ("--rrdcached", socket.clone())];
    let options = options.map(|(name, path)| format!("{name}={}", path.display()));
    let ask = |options: &[&str]| {
        let (mut server, address) = serve(&at("recordings"), options);
        let path = [("path", "a.rrd")];
        let answer = http(address, "GET", "/api/whit/v1/databases/data", &path).body;
        server.signal(libc::SIGTERM);
        assert!(server.ended().success());
        answer
    };
    let before = ask(&[&options[0]]);
    assert!(!before.contains("[7") && !before.contains(",7"), "{before}");
    let after = ask(&[&options[0], &options[1]]);
    assert!(after.contains(",7,7") && after.contains("\"unwritten\":null"), "{after}");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    // What is in the file is shown, and what may be missing is said.
    let alone = ask(&[&options[0], &options[1]]);
    assert!(alone.contains(",7,7") && alone.contains("the caching daemon"), "{alone}");
}

#[test]
fn other_addresses_and_folders_without_recordings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = whit();
    let output = command.arg("serve").arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    run(whit().args(["record", "-sc", "-i0.05", "-c2", "-f"]).arg(folder.path()));
    let mut command = whit();
    let output =
        command.args(["serve", "--listen", "0.0.0.0:0"]).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("choose an address of the loopback"), "{said}");
    for (arguments, what) in [
        (["record", "--token-file", "x"], "are for --listen"),
        (["record", "--listen", "0.0.0.0:0"], "so it needs TLS"),
        (["record", "--listen", "nowhere"], "no host or no port"),
        (["record", "--listen", "tls:127.0.0.1:0"], "needs a certificate"),
    ] {
        let output = whit().args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn prometheus_scrapes_a_recorder_and_promtool_takes_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = whit();
    command.args(["record", "-scmdnCDNZw", "-i0.1:0.1", "--listen", "127.0.0.1:0"]);
    let (mut recorder, address) = start(&mut command, &folder.path().join("said"));
    let page = || http_raw(address, b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    wait_until("a sample", || page().body.contains("\nnode_load1 "));
    let configuration = format!(
        "scrape_configs: [{{job_name: whit, scrape_interval: 1s, scrape_timeout: 1s, \
         static_configs: [{{targets: ['{address}']}}]}}]\n"
    );
    let Some(complaints) = Prometheus::complaints(&page().body) else { return };
    // Names of node_exporter are what they are.
    for line in complaints.lines() {
        assert!(line.starts_with("node_memory_") && line.contains("camelCase"), "{complaints}");
    }
    let prometheus = Prometheus::scraping(&configuration).unwrap();
    let count = |query: &str| {
        let answer = http(prometheus.address(), "GET", "/api/v1/query", &[("query", query)]);
        let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        answer["data"]["result"].as_array().map_or(0, Vec::len)
    };
    for query in [
        "up == 1",
        "node_load1",
        "rate(node_cpu_seconds_total{cpu=\"0\",mode=\"user\"}[5m]) >= 0",
        "whit_process_info{command=~\".*whit.*\"}",
        "node_network_receive_bytes_total{device=\"lo\"}",
    ] {
        wait_until(query, || count(query) > 0);
    }
    // It has the type and the unit of each family.
    let metadata = http(prometheus.address(), "GET", "/api/v1/metadata", &[]);
    assert!(metadata.body.contains("\"node_cpu_seconds\":[{\"type\":\"counter\""), "{metadata:?}");
    recorder.signal(libc::SIGINT);
    assert!(recorder.ended().success());
}

#[test]
fn slow_clients_of_a_recorder_cost_it_no_tick() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    let mut command = whit();
    command.args(["record", "-sc", "-i0.02", "-c60000", "--listen", "127.0.0.1:0", "-f"]);
    let (mut recorder, address) = start(command.arg(&recorded), &folder.path().join("said"));
    let slow: Vec<TcpStream> = (0..500)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            let text = ["", "GET /met", "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"];
            stream.write_all(text[number % 3].as_bytes()).unwrap();
            stream
        })
        .collect();
    let time = || {
        let page = http_raw(address, b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let line =
            page.body.lines().find(|line| line.starts_with("node_load1 ")).map(str::to_owned);
        line.and_then(|line| line.split(' ').nth(2)?.parse::<u64>().ok()).unwrap_or_default()
    };
    // Samples go on, and every one is newer.
    let mut latest = time();
    for _ in 0..20 {
        wait_until("a newer sample", || time() > latest);
        latest = time();
    }
    // The threads are two: the second is the server's, the third makes pages.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", recorder.pid())).unwrap();
    let names = tasks.map(|task| {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap();
        name.trim().to_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names[..2], ["http", "http-work"], "{names:?}");
    drop(slow);
    recorder.signal(libc::SIGINT);
    assert!(recorder.ended().success());
    assert!(recording_in(&recorded).metadata().unwrap().len() > 0);
}

#[test]
fn a_recorder_without_listen_has_one_thread() {
    let mut command = whit();
    command.args(["record", "-sc", "-i0.02"]).stdout(Stdio::null()).stderr(Stdio::null());
    let recorder = Running::start(&mut command);
    let tasks = format!("/proc/{}/task", recorder.pid());
    // Also when it has taken samples.
    wait_until("some ticks", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", recorder.pid())).unwrap();
        let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        waits.unwrap().trim().parse::<u64>().unwrap() > 10
    });
    assert_eq!(std::fs::read_dir(tasks).unwrap().count(), 1);
}

/// A file that only its user may read.
fn private(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn another_host_is_asked_over_https_with_its_token_and_not_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let recorded = folder.join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-sc", "-i0.05", "-c2", "-f"]).arg(&recorded));
    let (right, wrong) = (private(folder, "right", b"tok\n"), private(folder, "wrong", b"other\n"));
    let [authority, stranger] = ["ca", "stranger"].map(|name| Authority::new(folder, name));
    let server = authority.sign("server", &["127.0.0.1"], false);
    let mut command = whit();
    command.args(["serve", "--listen", "tls:0.0.0.0:0", "--token-file"]).arg(&right);
    command.arg("--tls-cert").arg(&server.certificate).arg("--tls-key").arg(&server.key);
    let (_theirs, address) = start(command.arg(&recorded), &folder.join("said"));
    let hosts = [
        ("good", &right, &authority),
        ("without", &wrong, &authority),
        ("unknown", &right, &stranger),
    ];
    let mut ours = whit();
    ours.args(["serve", "--listen", "127.0.0.1:0"]);
    for (name, token, authority) in hosts {
        let (token, ca) = (token.display(), authority.file.display());
        let url = format!("https://127.0.0.1:{}", address.port());
        ours.arg(format!("--host=url={url},name={name},token_file={token},ca={ca}"));
    }
    let (_ours, page) = start(ours.arg(&recorded), &folder.join("ours"));
    let hosts = testkit::wait_for("all three", || {
        let answer = testkit::http(page, "GET", "/api/whit/v1/hosts", &[]);
        let hosts: serde_json::Value = serde_json::from_str(&answer.body).ok()?;
        let told = hosts["hosts"].as_array()?.len() + hosts["unreachable"].as_array()?.len();
        (told == 4).then_some(hosts)
    });
    assert_eq!(hosts["hosts"][1]["host"], "good", "{hosts}");
    let why = |name: &str| {
        let all = hosts["unreachable"].as_array().unwrap();
        all.iter().find(|one| one["host"] == name).unwrap()["why"].to_string()
    };
    assert!(why("without").contains("401"), "{hosts}");
    assert!(why("unknown").contains("certificate"), "{hosts}");
    // What it has recorded comes the same way.
    let asked = [("host", "good"), ("id", "cpu")];
    let chart = testkit::http(page, "GET", "/api/whit/v1/chart", &asked);
    assert!(chart.status == 200 && chart.body.contains("\"series\""), "{}", chart.body);
}

#[test]
fn other_machines_come_by_tls_with_a_token_a_password_or_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let recorded = folder.join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-sc", "-i0.05", "-c2", "-f"]).arg(&recorded));
    let mut hash = whit();
    hash.args(["serve", "--hash-password"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hash = hash.spawn().unwrap();
    hash.stdin.take().unwrap().write_all(b"pass word\n").unwrap();
    let hash = hash.wait_with_output().unwrap().stdout;
    let users = private(folder, "users", &[b"ann:", &hash[..]].concat());
    let token = private(folder, "token", b"tok\n");
    let authority = Authority::new(folder, "ca");
    let server = authority.sign("server", &["127.0.0.1"], false);
    let client = authority.sign("client", &[], false);
    let own = Some((&*client.certificate, &*client.key));
    for verb in ["serve", "record"] {
        for knows in ["--users", "--token-file", "--tls-client-ca"] {
            let mut command = whit();
            // All addresses of this machine.
            command.args([verb, "--listen", "tls:0.0.0.0:0"]);
            command.arg("--tls-cert").arg(&server.certificate).arg("--tls-key").arg(&server.key);
            let (file, right, certificate) = match knows {
                "--users" => (&users, "Basic YW5uOnBhc3Mgd29yZA==", None),
                "--token-file" => (&token, "Bearer tok", None),
                _ => (&authority.file, "", own),
            };
            command.arg(knows).arg(file);
            match verb {
                "serve" => command.arg(&recorded),
                _ => command.args(["-sc", "-i0.05"]),
            };
            let (_server, address) = start(&mut command, &folder.join("said"));
            let ask = |authorization: &str, certificate| -> Option<HttpAnswer> {
                let tls = ClientTls::load(&authority.file, certificate).unwrap();
                let stream =
                    connect_tcp(resolve("127.0.0.1", address.port()).unwrap(), None).unwrap();
                let stream = SocketStream::tcp(stream);
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let stream = stream.greet_tls(&tls, "127.0.0.1", PATIENCE).ok()?;
                let request =
                    format!("GET /-/ready HTTP/1.0\r\nAuthorization: {authorization}\r\n\r\n");
                http_over(stream, request.as_bytes())
            };
            let status = |answer: Option<HttpAnswer>| answer.map(|answer| answer.status);
            assert_eq!(status(ask(right, certificate)), Some(200), "{verb} {knows}");
            let refused = if certificate.is_some() { None } else { Some(401) };
            assert_eq!(status(ask("Bearer token", None)), refused, "{verb} {knows}");
            assert!(http_raw(address, b"GET /-/ready HTTP/1.0\r\n\r\n").is_none());
        }
    }
}

/// Random text that is nearly a query, with much nesting.
fn query(random: &mut Random) -> String {
    const PIECES: [&str; 24] = [
        "node_load1",
        "sum(",
        ")",
        "rate(",
        "[5m]",
        "[5m:1s]",
        "{",
        "}",
        "a=\"b\"",
        " + ",
        " and ",
        "by (cpu)",
        "1e308",
        "\"",
        "\\",
        "(",
        "-",
        "@",
        "offset 1y",
        "label_replace(",
        ",",
        "{__name__=~\".*\"}",
        "topk(3,",
        "\u{202e}",
    ];
    if random.percent(30) {
        let depth = random.below(4000) as usize;
        let open = ["(", "sum(", "-", "rate(", "{"][random.index(5)];
        return format!("{}1{}", open.repeat(depth), ")".repeat(depth));
    }
    (0..=random.below(40)).map(|_| PIECES[random.index(PIECES.len())]).collect()
}

/// The most memory that a process had, in KiB.
pub(crate) fn peak_kib(id: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_server_under_attack_serves_others_in_bounded_memory() {
    const GARBAGE_BYTES: usize = 1 << 30;
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-scmdC", "-i0.05", "-c4", "-f"]).arg(&recorded));
    let mut command = whit();
    command.args(["serve", "--listen", "127.0.0.1:0"]).arg(&recorded);
    let (mut server, address) = start(&mut command, &folder.path().join("said"));
    let is_served = || {
        let answer = http_raw(address, b"GET /metrics HTTP/1.0\r\n\r\n");
        answer.is_some_and(|answer| answer.body.contains("\nnode_load1{"))
    };
    assert!(is_served());
    let idle_kib = peak_kib(server.pid());
    let mut random = Random::from_seed(testkit::seed(23));
    let texts =
        ["", "GET /metr", "POST /api/v1/query HTTP/1.1\r\nContent-Length: 99\r\n\r\nquery="];
    let slow: Vec<TcpStream> = (0..1000)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            // It may have given way already.
            let _ = stream.write_all(texts[number % 3].as_bytes());
            stream
        })
        .collect();
    for case in 0..testkit::share(10_000) {
        let path = ["/api/v1/query", "/api/v1/series"][random.index(2)];
        let name = if path.ends_with("series") { "match[]" } else { "query" };
        let method = ["GET", "POST"][random.index(2)];
        let text = query(&mut random);
        let _ = http(address, method, path, &[(name, &text), ("timeout", "1s")]);
        assert!(case % 100 > 0 || is_served());
    }
    let piece: Vec<u8> = (0..1 << 20).map(|_| random.below(256) as u8).collect();
    let heads = [
        "",
        "GET /",
        "GET / HTTP/1.1\r\nX: ",
        "POST /api/v1/query HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
        "POST /api/v1/query HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n",
    ];
    let (mut sent, mut begun) = (0, 0);
    while sent < testkit::share(GARBAGE_BYTES) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.write_all(heads[begun % heads.len()].as_bytes());
        begun += 1;
        // As much as the server takes, and then what it says.
        while let Ok(count @ 1..) = stream.write(&piece) {
            sent += count;
        }
        let _ = stream.read(&mut [0; 100]);
        assert!(begun % 50 > 0 || is_served());
    }
    assert!(is_served());
    drop(slow);
    let peak_kib = peak_kib(server.pid());
    assert!(peak_kib < idle_kib + (24 << 10), "{idle_kib} KiB, then {peak_kib} KiB");
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
    let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
    assert!(said.contains("connections closed, since there were too many at once"), "{said}");
}

#[test]
fn the_records_of_a_store_are_those_of_log_query_also_while_it_grows() {
    let folder = log_common::folder();
    let here = folder.path();
    let recorded = here.join("recorded");
    std::fs::create_dir(&recorded).unwrap();
    run(whit().args(["record", "-sc", "-i0.01", "-c3", "-f"]).arg(&recorded));
    let store = here.join("store");
    // The store need not be there yet.
    let (_server, address) = serve(&recorded, &["--logs", store.to_str().unwrap()]);
    let ask = |path: &str, parameters: &[(&str, &str)]| -> serde_json::Value {
        let path = format!("/api/whit/v1/{path}");
        let answer = http(address, "GET", &path, parameters);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    };
    assert_eq!(ask("sections", &[])["sections"], serde_json::json!(["logs"]));
    let sorted = |mut all: Vec<serde_json::Value>| {
        all.sort_by_key(|record| format!("{} {}", record["time"], record["sequence"]));
        all
    };
    for round in 0..2 {
        let central = log_common::start(here, "central --store store --listen ./socket");
        log_common::write(&here.join("rings"));
        let sent = log_common::whit(
            here,
            "proxy --directory rings --central ./socket --spool spool --once",
        );
        assert!(sent.status.success(), "{sent:?}");
        log_common::end(central);
        for (filter, parameters) in [
            ("--level INFO", [("level", "INFO"), ("logger", "")]),
            ("--level ERROR --logger b.*", [("level", "error"), ("logger", "b.*")]),
            ("--process writerx", [("process", "writerx"), ("host", "hostx")]),
            ("--pair Antenna=a.one", [("pair", "Antenna=a.one"), ("pair", "Audience=*")]),
            ("--text trouble", [("text", "TROUBLE"), ("order", "oldest")]),
            ("--host nobody", [("host", "nobody"), ("regex", ".")]),
        ] {
            let shown = log_common::whit(here, &format!("query store --format json {filter}"));
            let parsed = |line: &str| serde_json::from_str(line).unwrap();
            let expected = log_common::text(&shown).lines().map(parsed).collect();
            let answer = ask("logs/records", &parameters);
            let found = answer["records"].as_array().unwrap().iter().map(|record| {
                let mut record = record.as_object().unwrap().clone();
                record.remove("id").unwrap();
                record.remove("at_ms").unwrap();
                serde_json::Value::Object(record)
            });
            assert_eq!(sorted(found.collect()), sorted(expected), "{filter}, round {round}");
        }
        let counts = ask("logs/counts", &[("level", "ERROR"), ("points", "7")]);
        let counts = counts["levels"]["ERROR"].as_array().unwrap();
        let sum: u64 = counts.iter().filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(sum, 2 * (round + 1));
    }
    let names = ask("logs/loggers", &[("process", "writerx")]);
    assert_eq!(names["loggers"], serde_json::json!(["a.one", "b.two"]));
}
