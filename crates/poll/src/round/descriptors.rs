//! How many databases stay open, of all configurations that a process polls.
//!
//! The limit of descriptors is raised no further than for them, since programs that are run inherit
//! it; what it does not allow is opened in each round.

use super::Rounds;
use crate::config::{Config, LogFormat};

/// Descriptors that are left for everything but databases.
const DESCRIPTORS_LEFT: u64 = 256;

/// Most databases that stay open, of all configurations together: each is a mapping, too, of which
/// the kernel allows 65,530.
const DATABASES_OPEN_MAX: u64 = 16_384;

/// Lets databases stay open between rounds, or, if the process does not stay, until it ends after
/// the next round.  To be called again when a configuration has changed.
pub fn keep_databases_open<'a>(
    polled: impl Iterator<Item = (&'a Config, &'a mut Rounds)>,
    stays: bool,
) {
    let mut polled: Vec<(u64, &mut Rounds)> =
        polled.map(|(config, rounds)| (direct_databases(config), rounds)).collect();
    let wanted: u64 = polled.iter().map(|(count, _)| count).sum();
    if wanted == 0 {
        return;
    }
    let mut left = allowed(wanted.min(DATABASES_OPEN_MAX));
    for (count, rounds) in &mut polled {
        let own = left.min(*count);
        rounds.keep_open(usize::try_from(own).unwrap_or(usize::MAX), !stays);
        left -= own;
    }
}

/// Databases that are written without a caching daemon.
fn direct_databases(config: &Config) -> u64 {
    let global = &config.global;
    let is_direct = global.log_format == LogFormat::Rrdtool && global.rrdcached.is_none();
    if is_direct { config.targets.len() as u64 } else { 0 }
}

/// How many of these databases the limit allows, which is raised for them.
fn allowed(databases: u64) -> u64 {
    connection::allow_descriptors(databases + DESCRIPTORS_LEFT).saturating_sub(DESCRIPTORS_LEFT)
}
