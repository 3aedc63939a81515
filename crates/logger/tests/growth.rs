//! What the growth of its ring costs a thread that did not ask for the whole one, counted in pages.

use std::path::Path;

use logger::log_info;

/// Page faults of this thread.
fn page_faults() -> i64 {
    // SAFETY: integers, of which 0 is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) }, 0);
    usage.ru_minflt
}

/// Logs 10,000 records of 48 bytes, of which nobody reads one, and says how many pages that has mapped.
pub(crate) fn burst(folder: &Path) {
    let log = super::started(super::config(folder));
    log_info!(log, "{} {} {}", 0_u64, 1.5, 2.5);
    let before = page_faults();
    for number in 1..10_000_u64 {
        log_info!(log, "{} {} {}", number, 1.5, 2.5);
    }
    println!("faults={}.", page_faults() - before);
}

/// The number behind `faults=`.
pub(crate) fn faults_of(said: &str) -> u64 {
    let number = said.split("faults=").nth(1).and_then(|rest| rest.split('.').next());
    number.unwrap().parse().unwrap()
}

#[test]
fn a_burst_maps_the_pages_that_it_uses_and_few_more() {
    let folder = super::folder();
    let faults = faults_of(&super::run("burst", folder.path()));
    // Its records are 118 pages; the rings of 64, 256 and 1,024 KiB that they go through have 336.
    assert!((4..200).contains(&faults), "{faults}");
    let kib = super::ring_sizes(folder.path()).into_iter().map(|bytes| bytes >> 10);
    assert_eq!(kib.collect::<Vec<_>>(), [16, 32, 64, 256, 1024]);
    let found = super::read_folder(folder.path());
    assert_eq!(super::numbers(&found), (0..10_000).collect::<Vec<u64>>());
    assert_eq!(found.missing, 0);
}
