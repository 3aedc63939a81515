//! `/metrics` of recordings: the newest sample of each machine, in the format that was asked for.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serve::{QueryServer, RecordedPages, RecordingStorage, ServeSettings};
use testkit::{HttpAnswer, http_raw, wait_for, wait_until};

use crate::common::{address, listeners};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings").join(name)
}

fn serve(path: PathBuf) -> QueryServer {
    let (storage, _) = RecordingStorage::open(&[path]).unwrap();
    let storage = Arc::new(storage);
    let pages = Arc::new(RecordedPages::new(storage.clone()));
    QueryServer::start(listeners(), ServeSettings::default(), storage, pages).unwrap()
}

fn scrape(address: SocketAddr, accept: &str) -> HttpAnswer {
    let request = format!("GET /metrics HTTP/1.0\r\nAccept: {accept}\r\n\r\n");
    http_raw(address, request.as_bytes()).unwrap()
}

/// The last values of a recording, as they are written beside it: of a row of `many`, the first field.
fn last_reads(text: &str, row: &str) -> u64 {
    let lines = text.lines().filter(|line| line.starts_with(&format!("    \"{row}")));
    let mut in_many =
        lines.filter_map(|line| line.split_once("\": ")?.1.split_whitespace().next()?.parse().ok());
    in_many.next_back().unwrap()
}

#[test]
fn the_newest_sample_has_the_form_that_was_asked_for() {
    let path = recording("version-2-closed.whit");
    let server = serve(path.clone());
    let newer = scrape(address(&server), OPEN_METRICS);
    assert_eq!(newer.status, 200);
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(newer.head.contains(kind), "{}", newer.head);
    assert!(newer.body.ends_with("# EOF\n"));
    let older = scrape(address(&server), "text/plain; version=0.0.4");
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8\r\n";
    assert!(older.head.contains(kind), "{}", older.head);
    assert!(!older.body.contains("# EOF"));
    // The same points, with times in other units.
    let points = |answer: &HttpAnswer| -> BTreeSet<String> {
        let lines = answer.body.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    };
    assert!(points(&newer).len() > 20, "{}", newer.body);
    assert_eq!(points(&newer), points(&older));
    let text = std::fs::read_to_string(path.with_extension("txt")).unwrap();
    let reads = last_reads(&text, "sd1");
    let point = format!("whit_many_reads_total{{instance=\"testhost\",device=\"sd1\"}} {reads}");
    assert!(points(&newer).contains(&point), "{point}\n{}", newer.body);
    if let Some(complaints) = testkit::Prometheus::complaints(&older.body) {
        assert_eq!(complaints, "");
    }
}

#[test]
fn only_get_is_answered_and_other_names_of_hosts_are_refused() {
    let server = serve(recording("version-2-closed.whit"));
    let status = |request: &str| http_raw(address(&server), request.as_bytes()).unwrap().status;
    assert_eq!(status("POST /metrics HTTP/1.0\r\nContent-Length: 0\r\n\r\n"), 405);
    assert_eq!(status("GET /metrics HTTP/1.0\r\nHost: evil.example\r\n\r\n"), 403);
}

#[test]
fn a_recording_that_comes_is_seen_and_one_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let copies = ["01", "02"].map(|day| folder.path().join(format!("testhost-202601{day}.whit")));
    std::fs::copy(recording("version-1-closed.whit"), &copies[0]).unwrap();
    let server = serve(folder.path().to_owned());
    let first = scrape(address(&server), OPEN_METRICS);
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(scrape(address(&server), OPEN_METRICS).body, first.body);
    // The same machine again, written later: its sources count once.
    std::fs::copy(recording("version-2-killed.whit"), &copies[1]).unwrap();
    let second = wait_for("the second recording", || {
        Some(scrape(address(&server), OPEN_METRICS)).filter(|page| page.body != first.body)
    });
    let series: Vec<&str> = second
        .body
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    let unique: BTreeSet<&&str> = series.iter().collect();
    assert_eq!((second.status, unique.len()), (200, series.len()), "{}", second.body);
    copies.iter().for_each(|copy| std::fs::remove_file(copy).unwrap());
    wait_until("an error", || scrape(address(&server), OPEN_METRICS).status == 503);
    // It stays one when the folder has been looked at again.
    wait_until("the folder is known to be empty", || {
        let page = scrape(address(&server), OPEN_METRICS);
        assert_eq!(page.status, 503, "{}", page.body);
        page.body.contains("no recordings any more")
    });
}
