//! How many jobs run at once as far as descriptors go.
//!
//! Our soft limit of open files is raised when the jobs need more, and no further; jobs get the
//! old one back, since programs that call select(2) cannot use descriptors above 1,023.  Where the
//! hard limit does not suffice, fewer jobs run at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::collect::HELD_FILES_MAX;
use crate::settings::{OutputSettings, RunSettings};

/// Descriptors that are opened later and not by a job: copies of our outputs, a table of results,
/// the shared file of outputs that wait, a file of values, `/proc/meminfo`, and others for a moment.
const OPENED_LATER: u64 = 10;

/// Descriptors of what watches the jobs (`--record`, `--stats`), if the limit allows them.
const OF_OBSERVERS: u64 = 64;

/// More descriptors than a parent leaves open.
const OPEN_MANY: u64 = 100;

/// What the limit of descriptors allows.
pub(super) struct Allowed {
    /// Most jobs at once.
    pub(super) jobs: u32,
    /// Most outputs that wait in a file of their own.
    pub(super) held_files: usize,
    /// The limit that jobs get, if ours was raised.
    pub(super) of_jobs: Option<Rlimit>,
    /// Why fewer jobs run at once than were asked for.
    pub(super) shortage: Option<String>,
}

/// Raises the limit for so many jobs at once, as far as possible; to the hard limit if their number
/// is not known yet.
pub(super) fn allow(settings: &RunSettings, jobs: u32, may_be_more: bool) -> Allowed {
    let per_job = per_job(settings);
    let held = if settings.output.keep_order { HELD_FILES_MAX as u64 } else { 0 };
    let of_jobs = u64::from(jobs) * per_job;
    let of_others = of_jobs + held + OF_OBSERVERS + OPENED_LATER;
    let (own, limit, before) = match getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) {
        // The usual case needs no look at what is open.
        soft if !may_be_more && OPEN_MANY + of_others <= soft => {
            (OPEN_MANY + OPENED_LATER, soft, None)
        }
        _ => {
            let own = open_now();
            let wanted = if may_be_more { u64::MAX } else { own + of_others };
            let (limit, before) = raised(wanted);
            (own + OPENED_LATER, limit, before)
        }
    };
    let left = limit.saturating_sub(own);
    let jobs_max = left.checked_div(per_job).unwrap_or(u64::MAX).max(1);
    let jobs_max = u32::try_from(jobs_max).unwrap_or(u32::MAX);
    let held = left.saturating_sub(of_jobs.min(left)).min(HELD_FILES_MAX as u64);
    let shortage = (jobs_max < jobs).then(|| {
        format!(
            "descriptors for {jobs_max} of {jobs} jobs at once: fewer run at once; a higher \
             ulimit -n than {limit} allows more"
        )
    });
    let held_files = usize::try_from(held).unwrap_or(HELD_FILES_MAX);
    Allowed { jobs: jobs_max, held_files, of_jobs: before, shortage }
}

/// The most descriptors that a running job needs of us.
fn per_job(settings: &RunSettings) -> u64 {
    let RunSettings { output, pipe, jobs, .. } = settings;
    if jobs.dry_run {
        return 2;
    }
    let OutputSettings { results, files, files0, .. } = output;
    let outputs = match () {
        () if results.is_some() || *files || *files0 => 2,
        () if output.ungroup => 0,
        // Two pipes, whose ends all stay open, and two files for incomplete lines.
        () if output.line_buffer => 6,
        // Two pipes and two files.
        () if output.compresses() => 4,
        () => 2,
    };
    // Both ends of a pipe, or a file under two numbers.
    outputs + if pipe.is_used() { 2 } else { 0 }
}

/// Descriptors that are open now.
fn open_now() -> u64 {
    /// Descriptors of a process that has just started.
    const USUAL: u64 = 8;
    // One of them reads the folder.
    std::fs::read_dir("/proc/self/fd").map_or(USUAL, |entries| entries.count() as u64 - 1)
}

/// The soft limit, raised to `wanted` if it is lower, as far as the hard limit allows; and what it
/// was before, if it was raised.
fn raised(wanted: u64) -> (u64, Option<Rlimit>) {
    let before = getrlimit(Resource::Nofile);
    let soft = before.current.unwrap_or(u64::MAX);
    let allowed = wanted.min(before.maximum.unwrap_or(u64::MAX));
    let higher = Rlimit { current: Some(allowed), maximum: before.maximum };
    if allowed <= soft || setrlimit(Resource::Nofile, higher).is_err() {
        return (soft, None);
    }
    (allowed, Some(before))
}
