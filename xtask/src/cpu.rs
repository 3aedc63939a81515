//! The processor time of the programs that `xtask` starts.
//!
//! Steps of a run share the processors, so how long one takes says little about what it costs.  The
//! kernel adds the time of each waited-for descendant to its parent (`cutime` and `cstime` of
//! proc(5), `/proc/PID/stat`), and shows both until the parent itself is waited for.

use std::cell::Cell;
use std::process::{Child, ExitStatus};

use anyhow::Context as _;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

thread_local! {
    /// Seconds that the programs of the current step took.
    static SECONDS: Cell<f64> = const { Cell::new(0.0) };
}

/// Ticks a second of times in `/proc` (`USER_HZ`, 100 on every architecture that whit runs on).
const TICKS: f64 = 100.0;

/// Adds to the seconds of this thread's step.
pub(crate) fn add(seconds: f64) {
    SECONDS.set(SECONDS.get() + seconds);
}

/// Takes the seconds that this thread's programs have taken since the last call.
pub(crate) fn take_seconds() -> f64 {
    SECONDS.take()
}

/// Whether a program has ended and is to be waited for.
///
/// # Errors
/// If it is no child.
pub(crate) fn has_ended(child: &Child) -> anyhow::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(waitid(WaitId::Pid(pid(child)?), options)?.is_some())
}

fn pid(child: &Child) -> anyhow::Result<Pid> {
    Pid::from_raw(i32::try_from(child.id())?).context("a program has an id")
}

/// Waits for a program; gives how it ended, and the seconds of it and of its descendants.
///
/// # Errors
/// If it cannot be waited for.
pub(crate) fn wait(child: &mut Child) -> anyhow::Result<(ExitStatus, f64)> {
    waitid(WaitId::Pid(pid(child)?), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    Ok((child.wait()?, seconds(&text)))
}

/// The seconds that a line of `/proc/PID/stat` shows: user and system, own and of descendants.
fn seconds(text: &str) -> f64 {
    // The second field, the name in parentheses, may have spaces.  Fields 14 to 17 are the times.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let times = rest.split_whitespace().skip(11).take(4);
    times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let line = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 99 0 0";
        assert!((seconds(line) - 2.0).abs() < 1e-9);
        assert!(seconds("").abs() < 1e-9);
    }

    #[test]
    fn descendants_count() {
        let script = "i=0; while [ $i -lt 200 ]; do (:); i=$((i + 1)); done; exit 3";
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (status, seconds) = wait(&mut child).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(seconds > 0.0);
    }
}
