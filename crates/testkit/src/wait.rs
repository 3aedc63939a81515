//! Waiting for what another process or thread does.

use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until there is something, for 60 s at most.
///
/// # Panics
/// If nothing came in that time; `what` says what was waited for.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: waited for in vain");
        std::thread::sleep(PAUSE);
    }
}
