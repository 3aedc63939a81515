//! How many descriptors a process may have.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of descriptors (`RLIMIT_NOFILE`) to `wanted`, as far as the hard limit lets it;
/// gives how many of these it then allows.  With `u64::MAX` it becomes the hard limit.
///
/// Programs that are run inherit it: who runs some asks for no more than is needed.
pub fn allow_descriptors(wanted: u64) -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let before = limit.current;
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        if setrlimit(Resource::Nofile, limit).is_err() {
            limit.current = before;
        }
    }
    limit.current.map_or(wanted, |current| current.min(wanted))
}
