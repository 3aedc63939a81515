//! `whit serve`: its memory stays within its limits, whatever is asked, by several clients at once and by
//! clients that read nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use testkit::{PATIENCE, http};

use crate::history_common::{run, whit};
use crate::serve::{peak_kib, serve};

/// What queries, answers and the allocator may take: 6 MiB of a large query, 2.5 of another one, 2 of
/// answers that are sent, 2 for what is read of recordings, and what is free between them.
const MOST_KIB: u64 = 16 << 10;

/// A path and its parameters.
type Asked = (&'static str, &'static [(&'static str, &'static str)]);

/// The largest answers of each kind, and some that are refused; `TIME` is that of the last sample.
const QUERIES: [&str; 7] = [
    "node_cpu_seconds_total @ TIME",
    "rate(node_cpu_seconds_total[1s] @ TIME)",
    "{__name__=~\"node_memory_.*\"} @ TIME",
    "{__name__=~\"node_.*\"} @ TIME",
    "{__name__=~\".+\"}",
    "last_over_time({__name__=~\".+\"}[1h])",
    "label_join({__name__=~\"node_.*\"}, \"a\", \"-\", \"__name__\", \"instance\")",
];

const OTHERS: [Asked; 6] = [
    ("/api/v1/series", &[("match[]", "{__name__=~\".+\"}")]),
    ("/api/v1/labels", &[]),
    ("/api/v1/label/__name__/values", &[]),
    ("/api/v1/metadata", &[]),
    ("/metrics", &[]),
    ("/api/v1/query", &[("query", "{__name__=~\".+\"}[1h]")]),
];

/// Asks for a path and reads nothing.
fn ask_and_wait(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// The status of an answer, which is one of the interface in any case, and the length of its body.
fn ask(address: SocketAddr, path: &str, asked: &[(&str, &str)]) -> (u16, usize) {
    let answer = http(address, "GET", path, asked);
    let why = ["too many samples into memory", "bytes of memory", "more than 10000 series"];
    let is_refused = answer.status == 422 && why.iter().any(|why| answer.body.contains(why));
    assert!(answer.status == 200 || is_refused, "{path} {asked:?}: {}", answer.body);
    (answer.status, answer.body.len())
}

#[test]
fn a_server_holds_no_more_than_its_limits_whatever_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["record", "-scmdnsCDNZ", "-i0.02:0.02", "-c100", "-f"];
    run(whit().args(options).arg(folder.path()));
    let (mut server, address) = serve(folder.path(), &[]);
    let time = http(address, "GET", "/api/v1/query", &[("query", "max(timestamp(node_load1))")]);
    let time: serde_json::Value = serde_json::from_str(&time.body).unwrap();
    let end: f64 = time["data"]["result"][0]["value"][1].as_str().unwrap().parse().unwrap();
    let (start, end) = (format!("{:.3}", end - 10.0), format!("{end:.3}"));
    ask(address, "/metrics", &[]);
    let idle_kib = peak_kib(server.pid());
    let range = format!("step=0.001&start={start}&end={end}");
    let large = format!("/api/v1/query_range?query=node_cpu_seconds_total%40{end}&{range}");
    let slow = ["/metrics", &large].map(|path| ask_and_wait(address, path));
    let range = |query: &str| {
        let query = &query.replace("TIME", &end)[..];
        let asked = [("query", query), ("start", &start[..]), ("end", &end), ("step", "0.001")];
        ask(address, "/api/v1/query_range", &asked)
    };
    let answers: Vec<(u16, usize)> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|client| {
                scope.spawn(move || {
                    let queries = QUERIES.iter().cycle().skip(client * 2).take(QUERIES.len());
                    let mut answers: Vec<_> = queries.map(|query| range(query)).collect();
                    answers.extend(OTHERS.iter().map(|(path, asked)| ask(address, path, asked)));
                    answers
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let peak_kib = peak_kib(server.pid());
    assert!(
        answers.iter().any(|(status, bytes)| *status == 200 && *bytes > 3 << 20),
        "{answers:?}"
    );
    assert!(answers.iter().any(|(status, _)| *status == 422), "{answers:?}");
    assert!(peak_kib < idle_kib + MOST_KIB, "{idle_kib} KiB, then {peak_kib} KiB: {answers:?}");
    for mut stream in slow {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(stream.read(&mut [0; 100]).unwrap() > 0);
    }
    server.signal(libc::SIGTERM);
    assert!(server.ended().success());
}
