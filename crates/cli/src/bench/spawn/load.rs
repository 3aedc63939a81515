//! What is run many times, and how each contestant is told to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use testkit::floor::{self, Loop, Program};

use super::super::programs::on_path;

/// The blog's job: two programs, a shell and a file for each.
const BLOG: &str = "echo {} $(date) > log.{}.txt";

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// A shell that asks `date` and writes a file
    Blog,
    /// A program that does nothing
    True,
    /// A shell that does nothing
    Sh,
    /// How late --timeout ends a job
    Timeout,
    /// What a thousand sleeping jobs cost
    Sleepers,
    /// A file handed to jobs in blocks
    Pipe,
}

impl Load {
    pub(crate) const ALL: [Load; 6] =
        [Load::Blog, Load::True, Load::Sh, Load::Timeout, Load::Sleepers, Load::Pipe];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Load::Blog => "blog",
            Load::True => "true",
            Load::Sh => "sh",
            Load::Timeout => "timeout",
            Load::Sleepers => "sleepers",
            Load::Pipe => "pipe",
        }
    }

    /// The job as it is typed; `None` of those that are no short job.
    pub(crate) fn job(self) -> Option<&'static str> {
        match self {
            Load::Blog => Some(BLOG),
            Load::True => Some("true"),
            Load::Sh => Some("sh -c :"),
            Load::Timeout | Load::Sleepers | Load::Pipe => None,
        }
    }
}

/// Who runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The bare loop.
    Floor,
    /// The same, standing still until each child has become its program.
    Vfork,
    Whit,
    Xargs,
    Parallel,
}

impl Who {
    /// Its name in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Who::Floor => "floor",
            Who::Vfork => "vfork loop",
            Who::Whit => "whit run",
            Who::Xargs => "xargs -P",
            Who::Parallel => "GNU parallel",
        }
    }
}

/// The programs that start and are started.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) whit: PathBuf,
    pub(crate) shell: PathBuf,
    pub(crate) parallel: Option<PathBuf>,
    pub(crate) xargs: Option<PathBuf>,
}

impl Tools {
    pub(crate) fn find(whit: &Path) -> anyhow::Result<Self> {
        Ok(Tools {
            whit: whit.to_owned(),
            shell: on_path("sh").context("there is no program `sh` to run jobs with")?,
            parallel: on_path("parallel"),
            xargs: on_path("xargs"),
        })
    }

    /// A runner of jobs with its own options taken from nowhere but here; `None` of those that
    /// are not installed, and of those that have no such options.
    ///
    /// Programs that do nothing open a dozen files of a language that is not installed, so
    /// everybody runs without one.  Both are told to use the same shell: left alone they take the one they were started from,
    /// and bash costs twice as much as dash.
    pub(crate) fn runner(&self, who: Who) -> Option<Command> {
        let mut command = match who {
            Who::Whit => {
                let mut command = Command::new(&self.whit);
                command.arg("run");
                command
            }
            Who::Parallel => Command::new(self.parallel.as_ref()?),
            Who::Floor | Who::Vfork | Who::Xargs => return None,
        };
        command.arg("--plain").env("PARALLEL_SHELL", &self.shell).env_remove("PARALLEL");
        command.env("LC_ALL", "C");
        Some(command)
    }

    /// The command that runs `jobs` jobs of a load, with their arguments from a file; `None` where
    /// the contestant is not here.
    pub(crate) fn command(
        &self,
        who: Who,
        load: Load,
        at_once: usize,
        of: Jobs,
    ) -> Option<Command> {
        let job = load.job()?;
        let at_once = at_once.to_string();
        let mut command = match who {
            Who::Floor | Who::Vfork => {
                let mut command = Command::new(&self.whit);
                command.args(["bench", "floor", load.name(), &of.count.to_string(), &at_once]);
                command.args((who == Who::Vfork).then_some("--wait"));
                command
            }
            Who::Xargs => {
                let mut command = Command::new(self.xargs.as_ref()?);
                command.arg("-a").arg(of.arguments).args(["-P", &at_once]);
                match load {
                    Load::Blog => command.args(["-I{}", "sh", "-c", BLOG]),
                    _ => command.arg("-n1").args(job.split(' ')),
                };
                command
            }
            Who::Whit | Who::Parallel => {
                let mut command = self.runner(who)?;
                command.arg("-a").arg(of.arguments).args(["-j", &at_once, job]);
                // A shell that is named is used even where none is needed.
                if who == Who::Whit && load != Load::Blog {
                    command.env_remove("PARALLEL_SHELL");
                }
                command
            }
        };
        command.env("LC_ALL", "C");
        Some(command)
    }
}

/// How many jobs, and a file with the argument of each on a line: 1, 2, 3 …
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jobs<'a> {
    pub(crate) count: u64,
    pub(crate) arguments: &'a Path,
}

/// Whether the jobs of a load have done what they should have in `folder`.
pub(crate) fn check(load: Load, jobs: u64, folder: &Path) -> anyhow::Result<()> {
    if load != Load::Blog {
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

/// The floor's turn: in a process of its own, as all the others.
pub(crate) fn run_floor(load: Load, jobs: u64, at_once: usize, how: Loop) -> anyhow::Result<()> {
    let path = |name: &str| on_path(name).with_context(|| format!("{name} is not installed"));
    let (program, words) = match load {
        Load::Blog => (path("sh")?, ["sh", "-c"].as_slice()),
        Load::True => (path("true")?, ["true"].as_slice()),
        Load::Sh => (path("sh")?, ["sh", "-c", ":"].as_slice()),
        _ => anyhow::bail!("{} has no floor", load.name()),
    };
    let programs = (1..=jobs).map(|number| {
        let number = number.to_string();
        let last = match load {
            Load::Blog => BLOG.replace("{}", &number),
            _ => number,
        };
        let words = words.iter().map(OsString::from).chain([OsString::from(last)]);
        Program::new(&program, words)
    });
    let programs = programs.collect::<std::io::Result<Vec<_>>>()?;
    let failed = floor::run(&programs, at_once, how)?;
    ensure!(failed == 0, "{failed} of {jobs} jobs failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::programs::text_of;
    use super::*;

    #[test]
    fn everybody_is_told_to_run_the_same() {
        let tools = Tools {
            whit: "whit".into(),
            shell: "/bin/sh".into(),
            parallel: None,
            xargs: Some("/usr/bin/xargs".into()),
        };
        let jobs = Jobs { count: 9, arguments: Path::new("list") };
        let text = |who, load| tools.command(who, load, 5, jobs).map(|one| text_of(&one));
        assert_eq!(text(Who::Floor, Load::Sh).unwrap(), "whit bench floor sh 9 5");
        assert_eq!(text(Who::Vfork, Load::Sh).unwrap(), "whit bench floor sh 9 5 --wait");
        assert_eq!(
            text(Who::Whit, Load::Blog).unwrap(),
            "whit run --plain -a list -j 5 echo {} $(date) > log.{}.txt"
        );
        assert_eq!(text(Who::Xargs, Load::Sh).unwrap(), "xargs -a list -P 5 -n1 sh -c :");
        assert_eq!(text(Who::Parallel, Load::Blog), None);
        assert_eq!(text(Who::Whit, Load::Pipe), None);
    }

    #[test]
    fn what_jobs_left_undone_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.1.txt");
        assert!(check(Load::True, 1, folder.path()).is_ok());
        assert!(check(Load::Blog, 1, folder.path()).is_err());
        std::fs::write(&file, "1 Sat Nov 21 18:00:00 UTC 2026\n").unwrap();
        assert!(check(Load::Blog, 1, folder.path()).is_ok());
        assert!(check(Load::Blog, 2, folder.path()).is_err());
        std::fs::write(&file, "1 \n").unwrap();
        assert!(check(Load::Blog, 1, folder.path()).is_err());
    }
}
