//! `--hostgroups`: a value `x@one+two` is `x`, for hosts of the groups `one` and `two` only.
//!
//! The first value of a job decides; the groups of other values are removed.  A value without
//! groups is for all hosts.  If no host is in any of a job's groups, each group is taken as the
//! login of a further host, as in GNU parallel.

use super::*;
use template::Record;

/// Most jobs that are put aside because their hosts are busy.
pub(super) const ASIDE_MAX: usize = 1024;

/// Adds the host of a login.
pub trait AddedHosts: std::fmt::Debug {
    /// The host of a login, and how many jobs it gets.
    ///
    /// # Errors
    ///
    /// Why it is not a login, or cannot be reached.
    fn reach(&mut self, login: &str) -> Result<(JobHost, u32), String>;
}

/// Removes the groups after the first `@` from a value and returns them; none if there are none.
fn take_groups(value: &mut Vec<u8>) -> Option<Vec<String>> {
    let at = memchr::memchr(b'@', value)?;
    let text = String::from_utf8_lossy(&value[at + 1..]).into_owned();
    let groups: Vec<String> =
        text.split('+').filter(|group| !group.is_empty()).map(str::to_owned).collect();
    if groups.is_empty() {
        return None;
    }
    value.truncate(at);
    Some(groups)
}

/// Removes the groups from all values; returns those of the first.
fn take_all_groups(records: &mut [Record]) -> Option<Vec<String>> {
    let mut values = records.iter_mut().flat_map(|record| &mut record.values);
    let groups = values.next().and_then(take_groups);
    for value in values {
        take_groups(value);
    }
    groups
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// Removes the groups from a job's values, and adds hosts for those that no host is in.
    pub(super) fn take_groups(
        &mut self,
        records: &mut [Record],
    ) -> Result<Option<Vec<String>>, EngineError> {
        let Some(remote) = &mut self.options.remote else { return Ok(None) };
        let Some(added_hosts) = &mut remote.added_hosts else { return Ok(None) };
        let Some(groups) = take_all_groups(records) else { return Ok(None) };
        if remote.job_hosts.iter().any(|reached| reached.is_in(&groups)) {
            return Ok(Some(groups));
        }
        for group in &groups {
            let (mut reached, limit) = added_hosts.reach(group).map_err(EngineError::Host)?;
            let text = format!("{group} is in no -S: taken for a host");
            self.observer.warn(text.as_bytes());
            if !reached.login.groups.contains(group) {
                reached.login.groups.push(group.clone());
            }
            reached.is_added = true;
            remote.job_hosts.push(reached);
            remote.hosts.add(limit);
        }
        self.schedule.set_slots(remote.hosts.slots());
        Ok(Some(groups))
    }

    /// Keeps a job until its host has room; later jobs may start before it.
    pub(super) fn put_aside(&mut self, job: Job) {
        self.collector.expect(job.seq);
        self.again.push_back(job);
    }

    /// Whether another job may be read while one waits for its host.
    pub(super) fn may_look_further(&self) -> bool {
        let remote = self.options.remote.as_ref();
        remote.is_some_and(|remote| remote.added_hosts.is_some()) && self.again.len() < ASIDE_MAX
    }

    /// The groups of a job's host and of its value: `PARALLEL_HOSTGROUPS`, `PARALLEL_ARGHOSTGROUPS`.
    pub(super) fn groups_of(&self, job: &Job) -> Option<[String; 2]> {
        let remote = self.options.remote.as_ref().filter(|remote| remote.added_hosts.is_some())?;
        let host = remote.job_hosts.get(job.host)?.login.groups.join("+");
        let value = match &job.groups {
            Some(groups) => groups.join("+"),
            None => {
                let all = remote.job_hosts.iter().flat_map(|reached| &reached.login.groups);
                all.map(String::as_str).collect::<Vec<_>>().join("+")
            }
        };
        Some([host, value])
    }
}

impl JobHost {
    /// Whether it is in one of these groups.
    pub(super) fn is_in(&self, groups: &[String]) -> bool {
        self.login.groups.iter().any(|group| groups.contains(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_behind_the_first_at() {
        let taken = |text: &str| {
            let mut value = text.as_bytes().to_vec();
            let groups = take_groups(&mut value).map(|groups| groups.join(" "));
            (String::from_utf8(value).unwrap(), groups)
        };
        assert_eq!(taken("x"), ("x".into(), None));
        assert_eq!(taken("x@one"), ("x".into(), Some("one".into())));
        assert_eq!(taken("x@one+two+"), ("x".into(), Some("one two".into())));
        assert_eq!(taken("x@me@one"), ("x".into(), Some("me@one".into())));
        assert_eq!(taken("x@"), ("x@".into(), None));
        assert_eq!(taken("@one"), (String::new(), Some("one".into())));
    }

    #[test]
    fn the_first_value_decides() {
        let record = |values: &[&str]| Record {
            values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
        };
        let mut records = [record(&["x@one", "y@two"]), record(&["z@three"])];
        assert_eq!(take_all_groups(&mut records), Some(vec!["one".to_owned()]));
        assert_eq!(records, [record(&["x", "y"]), record(&["z"])]);
        assert_eq!(take_all_groups(&mut [record(&["x", "y@two"])]), None);
    }
}
