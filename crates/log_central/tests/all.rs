//! The tests of `logcarry` that can share a process, in one program: it is linked once.
//!
//! Writers, proxies and central servers that must be processes of their own are this program, started
//! again in a role.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accounts;
mod acs_losses;
mod common;
mod conformance;
mod descriptors;
mod end_to_end;
mod faults;
mod footprint;
mod go;
mod hostile;
mod java;
mod kept_levels;
mod kills;
mod limits;
mod long_faults;
mod new_store;
mod node;
mod outputs;
mod python;
mod quiet;
mod random_kills;
mod recordings;
mod remote;
mod status;
mod tls;
mod unreadable;

/// Not a test: what this program does when it is started again in a role.
#[test]
fn role() {
    let Ok(role) = std::env::var(common::ROLE) else { return };
    let words: Vec<&str> = role.split('|').collect();
    let plays = [
        common::play,
        common::talk::play_client,
        accounts::play,
        acs_losses::play,
        conformance::play,
        descriptors::play,
        kept_levels::play,
        limits::play,
        outputs::play,
        random_kills::play,
        remote::play,
        status::play,
    ];
    assert!(plays.iter().any(|play| play(&words)), "{role}: no such role");
}
