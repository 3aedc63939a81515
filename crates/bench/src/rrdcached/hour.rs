//! The hour of MRTG: an update of each target at each step, directly and through daemons.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client::Load;
use super::{BATCHES, Bench, DaemonPlan, NO_WRITES_SECONDS, Results, Updates, Who};
use crate::contest::{Case, Contest, Measurement, in_turn};
use crate::error::{Context, Result, ensure};
use crate::folder;
use crate::measure::{measure, measure_threads, own_process_cpu};
use crate::rrd::files::{self, MRTG};
use crate::rrd::pipe::{self, Pace, Script};

/// `-w` of the hour, in seconds; the last one is whit's default with a journal.
pub(crate) const WRITE_SECONDS: [u64; 4] = [300, 900, 1_800, 3_600];

/// The program that keeps the files up to date.
#[derive(Clone, Copy, Debug)]
pub(super) enum Updater<'a> {
    /// A program that updates them, with its first argument.
    Direct(&'a str, &'a Path, Option<&'a str>),
    /// A daemon with its `-w`.
    Daemon(Who, u64),
}

impl Updater<'_> {
    fn name(self) -> String {
        match self {
            Self::Direct(name, ..) => name.to_owned(),
            Self::Daemon(Who::Rrdcached, write) => format!("rrdcached -w {write}"),
            Self::Daemon(_, write) => format!("whit rrdcached -w {write}"),
        }
    }
}

impl Bench<'_> {
    /// The hour with every program, and daemons of every `-w`.
    pub(super) fn mrtg(&self, results: &mut Results) -> Result<()> {
        let name = format!("{} targets, {} steps", self.plan.targets, self.plan.steps);
        let mut ways: Vec<Updater<'_>> = self.rrdtool().into_iter().collect();
        ways.push(Updater::Direct("whit rrd -", &self.programs.whit, Some("rrd")));
        ways.extend(WRITE_SECONDS.iter().flat_map(|write| self.daemons(*write)));
        results.mrtg = Some(self.hour(&name, &ways, self.plan.rounds)?);
        Ok(())
    }

    pub(super) fn rrdtool(&self) -> Option<Updater<'_>> {
        let program: &PathBuf = self.rrdtool.as_ref()?;
        Some(Updater::Direct("rrdtool -", program, None))
    }

    /// Both daemons, if rrdcached is installed.
    pub(super) fn daemons(&self, write_seconds: u64) -> impl Iterator<Item = Updater<'_>> {
        let theirs =
            self.rrdcached.as_ref().map(|_| Updater::Daemon(Who::Rrdcached, write_seconds));
        theirs.into_iter().chain([Updater::Daemon(Who::Whit("os"), write_seconds)])
    }

    /// The hour by several programs; the files of all must be the same afterwards.
    pub(super) fn hour(&self, name: &str, ways: &[Updater<'_>], rounds: usize) -> Result<Updates> {
        let mut contests: Vec<_> = ways.iter().map(|way| Contest::new(way.name(), ())).collect();
        let mut first = 0;
        in_turn(self.progress, name, rounds, &mut contests, |place, contest, _| {
            self.make(&MRTG, self.plan.targets)?;
            let turn = match ways[place] {
                Updater::Direct(_, program, verb) => self.mrtg_direct(program, verb),
                Updater::Daemon(who, write) => self.mrtg_daemon(who, write),
            };
            contest.turns.push(turn.with_context(|| contest.name.clone())?);
            let hash = self.hash(self.plan.targets)?;
            if place == 0 {
                first = hash;
            }
            let who = &contest.name;
            ensure!(hash == first, "the files of '{who}' are not the same as those before");
            Ok(())
        })?;
        let updates = self.plan.targets * self.plan.steps;
        Ok(Case { name: name.to_owned(), facts: updates, contests })
    }

    fn mrtg_direct(&self, program: &Path, verb: Option<&str>) -> Result<Measurement> {
        let DaemonPlan { targets, steps, .. } = *self.plan;
        let script = Script::updates(&MRTG, targets, 1..1 + steps, Pace::Rounds);
        let mut command = Command::new(program);
        command.args(verb).arg("-").current_dir(self.base()).env("TZ", "UTC");
        let cleaning = Cell::new(Measurement::default());
        let clean = || {
            let (done, cost) = measure(|| folder::sync(self.folder));
            let mut sum = cleaning.get();
            sum.add(&cost);
            cleaning.set(sum);
            done
        };
        let own = own_process_cpu();
        let mut turn = pipe::run(&mut command, &script, Some(&clean))?;
        let own_us = (own_process_cpu() - own).as_micros() as u64;
        turn.user_us += own_us.saturating_sub(cleaning.get().cpu_us());
        turn.wall_us = turn.wall_us.saturating_sub(cleaning.get().wall_us);
        turn.dirtied_bytes.context("this kernel does not count what a process writes")?;
        Ok(turn)
    }

    fn mrtg_daemon(&self, who: Who, write_seconds: u64) -> Result<Measurement> {
        let DaemonPlan { targets, steps, .. } = *self.plan;
        folder::sync(self.folder)?;
        let mut daemon = self.daemon(who, NO_WRITES_SECONDS, true)?;
        let mut client = daemon.connect()?;
        let mut turn = Measurement::default();
        let mut writes = 0;
        daemon.begin();
        for step in 1..=steps {
            folder::sync(self.folder)?;
            let load = Load::new(&MRTG, 0..targets, step..step + 1, Some(BATCHES[0]));
            let is_last = step == steps;
            let (done, cost) = measure_threads(|| {
                client.send(&load)?;
                if is_last || (step * files::STEP_SECONDS).is_multiple_of(write_seconds) {
                    writes += targets;
                    client.flush_all(writes)?;
                }
                std::io::Result::Ok(())
            });
            done?;
            turn.add(&cost);
        }
        daemon.end(&mut turn);
        daemon.stop()?;
        Ok(turn)
    }
}
