//! `--onall` and `--nonall`: every host runs a job for each record, one job at a time and in order.
//!
//! A host starts its next record while others still run an earlier one, so each record is kept
//! until the last host has had it: all of them, if there are more hosts than slots.  Jobs are
//! numbered from 1 on each host, and each host has one slot.  The output of a host's jobs is
//! written together when the last of them has ended.

use std::collections::VecDeque;

use super::job_source::JobSource;
use super::start::WantedJob;
use super::*;
use template::Record;

/// The exit code counts failed hosts up to this; 101 stands for more.
const FAILURES_MAX: usize = 100;

/// Which records each host has had.
#[derive(Debug)]
pub(super) struct AllHosts {
    hosts: Vec<Host>,
    /// Records that not all hosts have had.
    read: VecDeque<Vec<Record>>,
    /// How many records before these all hosts have had.
    first: usize,
    /// The input has ended.
    is_over: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// How many records it has had.
    given: usize,
    /// A job of this host runs, or is to be tried again.
    is_busy: bool,
    has_failed: bool,
    /// [`AllHosts::next_done`] has returned it.
    was_reported: bool,
}

/// The next thing to do.
enum NextRecord {
    Job { host: usize, number: u64, records: Vec<Record> },
    NotYet,
    End,
}

impl AllHosts {
    pub(super) fn new(hosts: usize) -> Self {
        let hosts = vec![Host::default(); hosts];
        AllHosts { hosts, read: VecDeque::new(), first: 0, is_over: false }
    }

    /// A record for the first host that waits for one.  Hosts that have begun come first, so that
    /// with fewer slots than hosts one host is done before another begins.
    fn next_record(&mut self, job_source: &mut JobSource) -> Result<NextRecord, EngineError> {
        let mut must_wait = false;
        for at in 0..self.hosts.len() {
            let Host { given, is_busy: false, .. } = self.hosts[at] else { continue };
            if given == self.first + self.read.len() && !self.is_over {
                match job_source.next_job()? {
                    NextJob::Records(records) => self.read.push_back(records),
                    NextJob::NotYet => must_wait = true,
                    NextJob::End | NextJob::Given { .. } | NextJob::Block(_) => self.is_over = true,
                }
            }
            let Some(records) = self.read.get(given - self.first).cloned() else { continue };
            let host = &mut self.hosts[at];
            (host.given, host.is_busy) = (given + 1, true);
            self.forget();
            return Ok(NextRecord::Job { host: at, number: given as u64 + 1, records });
        }
        let all_given = self.hosts.iter().all(|host| host.given == self.first + self.read.len());
        Ok(if self.is_over && all_given && !must_wait {
            NextRecord::End
        } else {
            NextRecord::NotYet
        })
    }

    /// Drops the records that all hosts have had.
    fn forget(&mut self) {
        let had = self.hosts.iter().map(|host| host.given).min().unwrap_or_default();
        while self.first < had && self.read.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// A host's job has ended for good.
    pub(super) fn ended(&mut self, host: usize, good: bool) {
        if let Some(host) = self.hosts.get_mut(host) {
            host.is_busy = false;
            host.has_failed |= !good;
        }
    }

    /// A host whose jobs have all ended and that was not returned yet.
    fn next_done(&mut self) -> Option<usize> {
        let all = self.first + self.read.len();
        let is_over = |host: &Host| !host.was_reported && !host.is_busy && host.given == all;
        let at = self.hosts.iter().position(is_over).filter(|_| self.is_over)?;
        self.hosts[at].was_reported = true;
        Some(at)
    }

    /// How many hosts had a job that failed.
    pub(super) fn exit_code(&self) -> u8 {
        let failed = self.hosts.iter().filter(|host| host.has_failed).count();
        u8::try_from(failed.min(FAILURES_MAX + 1)).unwrap_or(u8::MAX)
    }
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// The next job, where every host runs all jobs.
    pub(super) fn job_of_every_host(&mut self) -> Result<WantedJob, EngineError> {
        let Some(all_hosts) = &mut self.all_hosts else { return Ok(WantedJob::End) };
        Ok(match all_hosts.next_record(&mut self.job_source)? {
            NextRecord::Job { host, number, records } => {
                self.seq += 1;
                let now = self.os.now();
                WantedJob::Job(Job { host, number, ..Job::new(self.seq, records, now) })
            }
            NextRecord::NotYet => WantedJob::NotYet,
            NextRecord::End => {
                self.end_hosts()?;
                WantedJob::End
            }
        })
    }

    /// Writes the output of the hosts whose jobs have all ended.
    pub(super) fn end_hosts(&mut self) -> Result<(), EngineError> {
        let Some(all_hosts) = &mut self.all_hosts else { return Ok(()) };
        while let Some(host) = all_hosts.next_done() {
            self.collector.end_group(host);
        }
        self.log_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job_source(values: &[&str]) -> JobSource {
        JobSource::Known(values.iter().map(|value| vec![Record::of(*value)]).collect())
    }

    /// Host and number of the next job.
    fn next(all_hosts: &mut AllHosts, job_source: &mut JobSource) -> Option<(usize, u64)> {
        match all_hosts.next_record(job_source) {
            Ok(NextRecord::Job { host, number, records }) => {
                assert_eq!(records.len(), 1);
                Some((host, number))
            }
            Ok(NextRecord::NotYet) => None,
            Ok(NextRecord::End) => Some((usize::MAX, 0)),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_host_is_done_before_another_begins() {
        let (mut all_hosts, mut job_source) = (AllHosts::new(2), job_source(&["x", "y"]));
        // A host is over only when the input is asked for more.
        for (job, over) in [((0, 1), None), ((0, 2), None), ((1, 1), Some(0)), ((1, 2), None)] {
            assert_eq!(next(&mut all_hosts, &mut job_source), Some(job));
            assert_eq!(all_hosts.next_done(), over);
            all_hosts.ended(job.0, job != (0, 1));
        }
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((usize::MAX, 0)));
        assert_eq!(all_hosts.next_done(), Some(1));
        assert_eq!((all_hosts.next_done(), all_hosts.exit_code()), (None, 1));
        assert!(all_hosts.read.is_empty());
    }

    #[test]
    fn hosts_go_on_at_their_own_pace() {
        let (mut all_hosts, mut job_source) = (AllHosts::new(2), job_source(&["x", "y", "z"]));
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((0, 1)));
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((1, 1)));
        assert_eq!(next(&mut all_hosts, &mut job_source), None, "both are busy");
        all_hosts.ended(1, true);
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((1, 2)));
        all_hosts.ended(1, true);
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((1, 3)));
        all_hosts.ended(1, true);
        assert_eq!(next(&mut all_hosts, &mut job_source), None);
        assert_eq!(all_hosts.next_done(), Some(1), "one host is over before the other");
        all_hosts.ended(0, true);
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((0, 2)));
        assert_eq!(all_hosts.read.len(), 1, "what all have had is forgotten");
    }

    #[test]
    fn without_records_all_hosts_are_over() {
        let (mut all_hosts, mut job_source) = (AllHosts::new(1), job_source(&[]));
        assert_eq!(next(&mut all_hosts, &mut job_source), Some((usize::MAX, 0)));
        assert_eq!((all_hosts.next_done(), all_hosts.exit_code()), (Some(0), 0));
    }
}
