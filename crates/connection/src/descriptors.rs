//! How many descriptors a process may have.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit of descriptors to so many, if it is lower and may be raised; how many of them it then
/// allows.  Programs that are run inherit it: nobody asks for more than is needed.
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
