//! Rounds at their times, and configurations that are read again when a file of theirs changes.
//!
//! Rounds of a configuration are at multiples of its interval since it was loaded; several
//! configurations are spread evenly over theirs.  A round that takes longer than the interval is
//! said, with the number of rounds that were missed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use poll::debug::DebugTags;
use poll::round::RoundReport;
use poll::share::Share;
use procfs::SystemClock;
use recorder::Control as _;
use sample::Clock as _;

use crate::commands::record::signals::Signals;

use super::Polled;
use super::messages::Messages;
use super::samples::Samples;

/// A second, in ns.
const SECOND_NS: u64 = 1_000_000_000;

/// Files and their times of change.
pub(super) struct WatchedFiles {
    files: Vec<(PathBuf, Option<SystemTime>)>,
}

impl WatchedFiles {
    /// The files as they are now.
    pub(super) fn of(files: &[PathBuf]) -> Self {
        let files = files.iter().map(|file| (file.clone(), changed(file)));
        WatchedFiles { files: files.collect() }
    }

    /// Whether one of them has changed since.
    fn have_changed(&self) -> bool {
        self.files.iter().any(|(file, at)| changed(file) != *at)
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|found| found.modified()).ok()
}

/// The times of one configuration's rounds.
struct Times {
    next_ns: u64,
    /// Rounds before it that were missed.
    missed: u64,
    /// Rounds to make.
    left: u64,
}

/// Polls until a signal says stop, or until so many `rounds` of each configuration were made.  What
/// the latest rounds of all read.
pub(super) fn run(
    polled: &mut [Polled],
    samples: &mut Samples,
    rounds: Option<u64>,
    debug: DebugTags,
    messages: &Messages,
    share: &mut Option<Share>,
) -> RoundReport {
    let mut latest = vec![[0; 3]; polled.len()];
    // One round needs no schedule, and a signal ends it at once.
    let mut signals = (rounds != Some(1)).then(|| Signals::install(true));
    let mut clock = SystemClock;
    let begin_ns = clock.now().monotonic_ns;
    let count = if rounds == Some(1) { u64::MAX } else { polled.len() as u64 };
    let mut times: Vec<Times> = polled
        .iter()
        .zip(0..)
        .map(|(one, number)| {
            let spread_ns = u128::from(one.interval_ns()) * number / u128::from(count.max(1));
            let next_ns = begin_ns + u64::try_from(spread_ns).unwrap_or(0);
            Times { next_ns, missed: 0, left: rounds.unwrap_or(u64::MAX) }
        })
        .collect();
    let is_left = |(_, times): &(usize, &Times)| times.left > 0;
    while let Some((index, next_ns)) = times
        .iter()
        .enumerate()
        .filter(is_left)
        .min_by_key(|(_, times)| times.next_ns)
        .map(|(index, times)| (index, times.next_ns))
    {
        if !wait(next_ns, polled, samples, signals.as_mut(), messages, share.as_ref()) {
            break;
        }
        if polled[index].watched.have_changed() {
            polled[index].reload(messages);
            super::keep_databases_open(polled, rounds != Some(1));
            samples.reload(polled);
            super::share::reload(share.as_ref(), polled);
        }
        let began = clock.now();
        let (say, config) = (|text: &str| messages.say(text), &polled[index].config);
        let turn = share.as_mut().map(|share| share.begin(index, config, &say));
        let report = polled[index].round(debug, messages, turn);
        share.iter().for_each(Share::end);
        let ended = clock.now();
        let took_ns = ended.monotonic_ns - began.monotonic_ns;
        if let Some(line) = debug.of_time(&report, took_ns) {
            messages.say(&line);
        }
        latest[index] = [report.known_count, report.unknown_count, report.failed_count];
        let times = &mut times[index];
        samples.add_round(polled, index, &report, (began, ended), times.missed);
        times.left = times.left.saturating_sub(1);
        if times.left > 0 {
            *times = after(&polled[index], times, clock.now().monotonic_ns, took_ns, messages);
        }
        if signals.as_mut().is_some_and(|signals| signals.requests().stop) {
            break;
        }
    }
    let sum = |place: usize| latest.iter().map(|one| one[place]).sum();
    let [known_count, unknown_count, failed_count] = [0, 1, 2].map(sum);
    RoundReport { known_count, unknown_count, failed_count, ..RoundReport::default() }
}

/// Waits for the time of a round, and does what signals ask for; false if they say stop.
fn wait(
    next_ns: u64,
    polled: &mut [Polled],
    samples: &mut Samples,
    signals: Option<&mut Signals>,
    messages: &Messages,
    share: Option<&Share>,
) -> bool {
    let Some(signals) = signals else { return true };
    let mut clock = SystemClock;
    heap::before_wait(Duration::from_nanos(next_ns.saturating_sub(clock.now().monotonic_ns)));
    while clock.now().monotonic_ns < next_ns {
        clock.sleep_until(next_ns);
        let requests = signals.requests();
        if requests.stop {
            return false;
        }
        if requests.reopen {
            polled.iter_mut().for_each(|one| one.reload(messages));
            super::keep_databases_open(polled, true);
            samples.reload(polled);
            super::share::reload(share, polled);
        }
        if requests.flush {
            samples.flush();
        }
    }
    true
}

/// The time of the next round.
fn after(one: &Polled, was: &Times, now_ns: u64, took_ns: u64, messages: &Messages) -> Times {
    let interval_ns = one.interval_ns();
    let next_ns = was.next_ns + interval_ns;
    if now_ns <= next_ns {
        return Times { next_ns, missed: 0, ..*was };
    }
    let missed = (now_ns - next_ns).div_ceil(interval_ns);
    messages.say(&format!(
        "WARNING: {}: data collection did not complete within interval! It took {}.{:03} s; {missed} rounds are missed",
        one.path.display(),
        took_ns / SECOND_NS,
        took_ns / 1_000_000 % 1000,
    ));
    Times { next_ns: next_ns + missed * interval_ns, missed, ..*was }
}

impl Polled {
    fn interval_ns(&self) -> u64 {
        u64::from(self.config.global.interval_s) * SECOND_NS
    }

    /// Reads the configuration again; a wrong one changes nothing.
    fn reload(&mut self, messages: &Messages) {
        let loading = super::load(&self.path);
        messages.problems(&loading.problems);
        self.watched = WatchedFiles::of(&loading.files);
        match loading.config {
            Some(config) => {
                let targets = config.targets.len();
                self.rounds.reload();
                self.config = config;
                let path = self.path.display();
                messages.say(&format!("{path} has changed and was read again: {targets} targets"));
            }
            None => {
                let path = self.path.display();
                messages.say(&format!(
                    "{path} has changed and is wrong: the configuration of before holds"
                ));
            }
        }
    }
}
