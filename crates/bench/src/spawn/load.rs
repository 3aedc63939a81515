//! The jobs, and the command line by which each contestant runs them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::floor::{self, Loop, Program};
use crate::error::{Context, Error, Result, ensure};

use crate::SearchPath;
use crate::programs::Programs;

/// The blog's job: two programs, and a shell and a file for each.
pub(crate) const BLOG: &str = "echo {} $(date) > log.{}.txt";

named! {
    /// What can be measured.
    SpawnLoad {
        /// A shell that asks `date` and writes a file
        Blog = "blog",
        /// A program that does nothing
        True = "true",
        /// A shell that does nothing
        Sh = "sh",
        /// How late --timeout ends a job
        Timeout = "timeout",
        /// What a thousand sleeping jobs cost
        Sleepers = "sleepers",
        /// A file handed to jobs in blocks
        Pipe = "pipe",
    }
}

impl SpawnLoad {
    /// The job as it is typed; `None` for loads without a short job.
    pub(crate) fn job(self) -> Option<&'static str> {
        match self {
            SpawnLoad::Blog => Some(BLOG),
            SpawnLoad::True => Some("true"),
            SpawnLoad::Sh => Some("sh -c :"),
            SpawnLoad::Timeout | SpawnLoad::Sleepers | SpawnLoad::Pipe => None,
        }
    }
}

/// The contestants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobRunner {
    /// The bare loop.
    Floor,
    /// The bare loop, suspended until each child has called `execve`.
    Vfork,
    Whit,
    Xargs,
    Parallel,
}

impl JobRunner {
    /// The name in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            JobRunner::Floor => "floor",
            JobRunner::Vfork => "vfork loop",
            JobRunner::Whit => "whit run",
            JobRunner::Xargs => "xargs -P",
            JobRunner::Parallel => "GNU parallel",
        }
    }
}

/// The programs that run jobs, and those that jobs run.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) whit: PathBuf,
    pub(crate) bench: PathBuf,
    pub(crate) shell: PathBuf,
    pub(crate) parallel: Option<PathBuf>,
    pub(crate) xargs: Option<PathBuf>,
}

impl Tools {
    pub(crate) fn find(programs: &Programs) -> Result<Self> {
        let path = &programs.path;
        Ok(Tools {
            whit: programs.whit.clone(),
            bench: programs.bench.clone(),
            shell: path.find("sh").context("there is no program `sh` to run jobs with")?,
            parallel: path.find("parallel"),
            xargs: path.find("xargs"),
        })
    }

    /// A runner without options from elsewhere; `None` if it is not installed, or is one of the
    /// loops.
    ///
    /// Even programs that do nothing open a dozen files of a locale that is not installed, so no
    /// locale is set.  Both runners get the same shell: by default they take the one from which
    /// they were started, and bash costs twice as much as dash.
    pub(crate) fn runner(&self, who: JobRunner) -> Option<Command> {
        let mut command = match who {
            JobRunner::Whit => {
                let mut command = Command::new(&self.whit);
                command.arg("run");
                command
            }
            JobRunner::Parallel => Command::new(self.parallel.as_ref()?),
            JobRunner::Floor | JobRunner::Vfork | JobRunner::Xargs => return None,
        };
        command.arg("--plain").env("PARALLEL_SHELL", &self.shell).env_remove("PARALLEL");
        command.env("LC_ALL", "C");
        Some(command)
    }

    /// The command that runs `jobs` jobs of a load, with their arguments from a file; `None` if the
    /// contestant is not available.
    pub(crate) fn command(
        &self,
        who: JobRunner,
        load: SpawnLoad,
        at_once: usize,
        of: Jobs,
    ) -> Option<Command> {
        let job = load.job()?;
        let at_once = at_once.to_string();
        let mut command = match who {
            JobRunner::Floor | JobRunner::Vfork => {
                let mut command = Command::new(&self.bench);
                command.args(["floor", load.name(), &of.count.to_string(), &at_once]);
                command.args((who == JobRunner::Vfork).then_some("--wait"));
                command
            }
            JobRunner::Xargs => {
                let mut command = Command::new(self.xargs.as_ref()?);
                command.arg("-a").arg(of.arguments).args(["-P", &at_once]);
                match load {
                    SpawnLoad::Blog => command.args(["-I{}", "sh", "-c", BLOG]),
                    _ => command.arg("-n1").args(job.split(' ')),
                };
                command
            }
            JobRunner::Whit | JobRunner::Parallel => {
                let mut command = self.runner(who)?;
                command.arg("-a").arg(of.arguments).args(["-j", &at_once, job]);
                // A configured shell is used even for jobs that need none.
                if who == JobRunner::Whit && load != SpawnLoad::Blog {
                    command.env_remove("PARALLEL_SHELL");
                }
                command
            }
        };
        command.env("LC_ALL", "C");
        Some(command)
    }
}

/// The number of jobs, and a file with the argument of each on a line: 1, 2, 3 …
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jobs<'a> {
    pub(crate) count: u64,
    pub(crate) arguments: &'a Path,
}

/// Checks that the jobs of a load have written what they should into `folder`.
pub(crate) fn check(load: SpawnLoad, jobs: u64, folder: &Path) -> Result<()> {
    if load != SpawnLoad::Blog {
        return Ok(());
    }
    for number in 1..=jobs {
        let path = folder.join(format!("log.{number}.txt"));
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("job {number} left no {}", path.display()))?;
        let said = text.split_whitespace().next();
        ensure!(said == Some(&number.to_string()), "job {number} wrote '{}'", text.trim_end());
        ensure!(text.split_whitespace().count() > 3, "job {number} knew no date: '{text}'");
    }
    Ok(())
}

/// Takes a turn of the floor, in a process of its own like the other contestants.  With `wait` the loop is suspended
/// until each child has called `execve`.  The jobs get `environment`.
///
/// # Errors
/// If a program is not found or a job fails; for a load without a short job.
pub fn run_floor(
    load: SpawnLoad,
    jobs: u64,
    at_once: usize,
    wait: bool,
    path: &SearchPath,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<()> {
    let path = |name: &str| path.find(name).with_context(|| format!("{name} is not installed"));
    let (program, words) = match load {
        SpawnLoad::Blog => (path("sh")?, ["sh", "-c"].as_slice()),
        SpawnLoad::True => (path("true")?, ["true"].as_slice()),
        SpawnLoad::Sh => (path("sh")?, ["sh", "-c", ":"].as_slice()),
        _ => return Err(Error::Failed(format!("{} has no floor", load.name()))),
    };
    let programs = (1..=jobs).map(|number| {
        let number = number.to_string();
        let last = match load {
            SpawnLoad::Blog => BLOG.replace("{}", &number),
            _ => number,
        };
        let words = words.iter().map(OsString::from).chain([OsString::from(last)]);
        Program::new(&program, words)
    });
    let programs = programs.collect::<std::io::Result<Vec<_>>>()?;
    let failed =
        floor::run(&programs, environment, at_once, if wait { Loop::Waits } else { Loop::GoesOn })?;
    ensure!(failed == 0, "{failed} of {jobs} jobs failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::text_of;

    #[test]
    fn everybody_runs_the_same() {
        let tools = Tools {
            whit: "whit".into(),
            bench: "whit-bench".into(),
            shell: "/bin/sh".into(),
            parallel: None,
            xargs: Some("/usr/bin/xargs".into()),
        };
        let jobs = Jobs { count: 9, arguments: Path::new("list") };
        let text = |who, load| tools.command(who, load, 5, jobs).map(|one| text_of(&one));
        assert_eq!(text(JobRunner::Floor, SpawnLoad::Sh).unwrap(), "whit-bench floor sh 9 5");
        assert_eq!(
            text(JobRunner::Vfork, SpawnLoad::Sh).unwrap(),
            "whit-bench floor sh 9 5 --wait"
        );
        assert_eq!(
            text(JobRunner::Whit, SpawnLoad::Blog).unwrap(),
            "whit run --plain -a list -j 5 echo {} $(date) > log.{}.txt"
        );
        assert_eq!(
            text(JobRunner::Xargs, SpawnLoad::Sh).unwrap(),
            "xargs -a list -P 5 -n1 sh -c :"
        );
        assert_eq!(text(JobRunner::Parallel, SpawnLoad::Blog), None);
        assert_eq!(text(JobRunner::Whit, SpawnLoad::Pipe), None);
    }

    #[test]
    fn what_jobs_left_undone_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.1.txt");
        assert!(check(SpawnLoad::True, 1, folder.path()).is_ok());
        assert!(check(SpawnLoad::Blog, 1, folder.path()).is_err());
        std::fs::write(&file, "1 Sat Nov 21 18:00:00 UTC 2026\n").unwrap();
        assert!(check(SpawnLoad::Blog, 1, folder.path()).is_ok());
        assert!(check(SpawnLoad::Blog, 2, folder.path()).is_err());
        std::fs::write(&file, "1 \n").unwrap();
        assert!(check(SpawnLoad::Blog, 1, folder.path()).is_err());
    }
}
