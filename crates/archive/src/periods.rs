//! The periods of a machine's recordings that `--from` and `--thru` select.

use feed::{FeedError, TimeSelection};

use crate::Error;
use crate::archive::Recordings;

impl Recordings {
    /// The selected periods of a machine, of its recordings and its history, each from its first time up to its second, in order; those
    /// that meet are one.
    ///
    /// # Errors
    /// There is no such machine, a period ends before it begins, or a recording cannot be read.
    pub fn periods(&self, host: &str, selection: &TimeSelection) -> Result<Vec<(i64, i64)>, Error> {
        let history = self.history_span(host)?;
        if self.of_host(host).next().is_none() {
            return Ok(history.into_iter().collect());
        }
        let last_ns = self.last_ns(host)?;
        let last_ns = history.map_or(last_ns, |(_, thru_ns)| last_ns.max(thru_ns - 1));
        let mut begin_ns = history.map_or(i64::MAX, |(from_ns, _)| from_ns);
        let mut files = self.of_host(host).map(|(_, file)| &file.file).peekable();
        let mut periods: Vec<(i64, i64)> = Vec::new();
        while let Some(file) = files.next() {
            let range = file.range(selection).map_err(FeedError::from)?;
            let next_ns = files.peek().map(|next| next.started_ns);
            // What is before the first recording is of the history.
            let from_ns = range.from_ns.max(file.started_ns.min(begin_ns));
            begin_ns = i64::MAX;
            let thru_ns = match range.thru_ns {
                i64::MAX => next_ns.unwrap_or(last_ns.saturating_add(1)),
                thru_ns => thru_ns.saturating_add(1),
            };
            if from_ns < thru_ns {
                periods.push((from_ns, thru_ns));
            }
        }
        periods.sort_unstable();
        periods.dedup_by(|next, held| {
            let meets = next.0 <= held.1;
            if meets {
                held.1 = held.1.max(next.1);
            }
            meets
        });
        Ok(periods)
    }

    /// The time of a machine's last sample, or a later one.
    fn last_ns(&self, host: &str) -> Result<i64, Error> {
        self.check_host(host)?;
        let ends = || self.of_host(host).map(|(_, file)| file.ended_ns);
        let closed = ends().filter(|&ended_ns| ended_ns != i64::MAX).max();
        let open = match ends().any(|ended_ns| ended_ns == i64::MAX) {
            true => self.moment(host, i64::MAX)?,
            false => Vec::new(),
        };
        let open = open.iter().map(|moment| moment.history.realtime_ns()).max();
        Ok(closed.max(open).unwrap_or(i64::MIN))
    }
}
