//! Clients that send garbage, too much, too slowly, or go away: others are served meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_server::HttpSettings;
use promql::{
    Labels, Matcher, MemoryStorage, Metadata, QueryBudget, QueryError, Series, SeriesStorage,
};
use testkit::{PATIENCE, Random, http, http_raw, wait_until};

use crate::common::{address, patient, server, start, storage};

fn assert_serves(address: SocketAddr) {
    let answer = http(address, "GET", "/api/v1/query", &[("query", "1+1"), ("time", "4")]);
    assert_eq!(
        answer.body,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[4,\"2\"]}}"
    );
}

#[test]
fn garbage_is_refused_and_others_are_served() {
    let server = server();
    let mut random = Random::from_seed(testkit::seed(7));
    for case in 0..testkit::share(1000) {
        let mut request = b"POST /api/v1/query HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nConnection: close\r\n\r\nquery=1+1".to_vec();
        for _ in 0..=random.below(8) {
            let place = random.index(request.len());
            request[place] = random.below(256) as u8;
        }
        if random.percent(20) {
            request = (0..random.below(3000)).map(|_| random.below(256) as u8).collect();
        }
        // Half of them go away without reading.
        let mut stream = TcpStream::connect(address(&server)).unwrap();
        let _ = stream.write_all(&request);
        if random.percent(50) {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut answer = Vec::new();
            let _ = stream.take(100_000).read_to_end(&mut answer);
        }
        if case % 50 == 0 {
            assert_serves(address(&server));
        }
    }
    assert_serves(address(&server));
}

#[test]
fn heads_and_forms_have_limits() {
    let server = server();
    let ask = |request: String| {
        http_raw(address(&server), request.as_bytes()).map(|answer| answer.status)
    };
    let long = "a".repeat(100_000);
    let lines = "X: y\r\n".repeat(10_000);
    for request in [
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nX: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{lines}\r\n"),
        format!("{long} / HTTP/1.1\r\n\r\n"),
    ] {
        // The connection may be reset before the refusal is read.
        let status = ask(request);
        assert!(status.is_none_or(|status| [400, 414, 431].contains(&status)), "{status:?}");
    }
    let form =
        format!("POST /api/v1/query HTTP/1.0\r\nContent-Length: 1000000\r\n\r\nquery={long}");
    let status = ask(form);
    assert!(status.is_none_or(|status| status == 413), "{status:?}");
    assert_eq!(
        ask(format!("GET /api/v1/query?query=1{} HTTP/1.0\r\n\r\n", "%2B1".repeat(1500))),
        Some(400)
    );
    assert_serves(address(&server));
}

#[test]
fn slow_clients_are_given_up_and_others_are_served() {
    let settings = HttpSettings { client_time_max: Duration::from_millis(300), ..patient() };
    let server = start(settings, storage());
    let begin = |text: &str| {
        let mut stream = TcpStream::connect(address(&server)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let slow: Vec<TcpStream> = (0..200)
        .map(|number| match number % 3 {
            0 => begin(""),
            1 => begin("GET /api/v1/que"),
            _ => begin(
                "POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nquer",
            ),
        })
        .collect();
    // On a busy machine a quick client may be too slow as well.
    wait_until("an answer", || {
        let answer = http_raw(address(&server), b"GET /-/ready HTTP/1.0\r\n\r\n");
        answer.is_some_and(|answer| answer.status == 200)
    });
    // Each is closed by the server in the end.
    for mut stream in slow {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = Vec::new();
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
    assert_eq!(server.http().closed(), 0);
}

/// A storage whose queries go on until they are told to end.
struct Endless {
    inner: MemoryStorage,
    running: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl SeriesStorage for Endless {
    fn select(
        &self,
        _matchers: &[Matcher],
        _from_ms: i64,
        _to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let error = loop {
            match budget.look() {
                Ok(()) => std::thread::yield_now(),
                Err(error) => break error,
            }
        };
        self.ended.fetch_add(1, Ordering::SeqCst);
        Err(error)
    }

    fn series(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
        budget: &QueryBudget<'_>,
    ) -> Result<Vec<Arc<Labels>>, QueryError> {
        self.inner.series(matchers, from_ms, to_ms, budget)
    }

    fn metadata(&self) -> Vec<Metadata> {
        self.inner.metadata()
    }
}

#[test]
fn a_client_that_goes_away_ends_its_query() {
    let [running, ended] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let endless = Endless { inner: storage(), running: running.clone(), ended: ended.clone() };
    let server = start(patient(), endless);
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address(&server)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let gone = ask("/api/v1/query?query=a");
    wait_until("the query", || running.load(Ordering::SeqCst) == 1);
    assert_serves(address(&server));
    drop(gone);
    wait_until("its end", || ended.load(Ordering::SeqCst) == 1);
    let timed =
        http(address(&server), "GET", "/api/v1/query", &[("query", "a"), ("timeout", "10ms")]);
    assert_eq!(timed.status, 503);
    assert!(timed.body.contains("\"errorType\":\"timeout\""), "{}", timed.body);
    // The end of the server ends the last ones; the one before may have had no turn in its time.
    let before = running.load(Ordering::SeqCst);
    let _kept = ask("/api/v1/query?query=a");
    wait_until("the query", || running.load(Ordering::SeqCst) == before + 1);
    drop(server);
    assert_eq!(ended.load(Ordering::SeqCst), before + 1);
}
