//! A round: all queries are asked, each target's expression is evaluated, and the readings go to
//! databases or log files, pages, thresholds and Graphite.
//!
//! One target's failure does not keep others from being written; each is said in a line.

mod clone;
mod database;
mod descriptors;
mod design;
mod graphite;
mod log_conversion;
mod thresholds;
mod values;

use std::time::Duration;

use text::error_text::with_causes;

use crate::config::{Config, LogFormat};
use crate::notices::{Notices, QueryNames};
use crate::path_of;
use crate::program::{self, ProgramCall};
use crate::reading::{QueryAnswer, Reading, SECOND_NS};
use crate::share::Turn;
use crate::target::Query;

pub use descriptors::keep_databases_open;

use database::{Databases, LatestRow};

/// Asks the devices of a configuration.
pub trait Asker {
    /// An answer for each query, in their order; those of programs are left as they are.
    fn ask(
        &mut self,
        config: &Config,
        wall_ns: &dyn Fn() -> i64,
        say: &mut dyn FnMut(String),
    ) -> Vec<QueryAnswer>;
}

/// How rounds are made.
#[derive(Clone, Debug)]
pub struct RoundSettings {
    /// The environment of programs, `NAME=value` each.
    pub environment: Vec<Vec<u8>>,
    /// The name of the configuration's file, without its folder, for the files of thresholds.
    pub config_name: String,
    /// Whether pages and pictures are left out (`--log-only`).
    pub is_log_only: bool,
    /// The zone of targets that have none of their own.
    pub time_zone: jiff::tz::TimeZone,
    /// What this machine calls itself to a mail server.
    pub own_name: String,
}

/// What came of a round.
#[derive(Clone, Debug, Default)]
pub struct RoundReport {
    /// A reading for each target.
    pub readings: Vec<Reading>,
    /// Targets of which both values are known.
    pub known_count: usize,
    /// Targets of which one is not.
    pub unknown_count: usize,
    /// Targets whose counters were reset: what they grew by is unknown.
    pub reset_count: usize,
    /// Targets that nothing was kept of, because a folder or a database cannot be made: MRTG ends
    /// for each of them.
    pub failed_count: usize,
}

/// What came of writing.
#[derive(Default)]
struct WriteSummary {
    /// Log files whose counters were reset.
    reset_count: usize,
    failed_count: usize,
}

/// What is kept from round to round.
#[derive(Debug)]
pub struct Rounds {
    settings: RoundSettings,
    databases: Databases,
    graphite: graphite::Graphite,
    logs: crate::log_file::LogFiles,
    /// Whether the pictures at the foot of pages were looked for.
    has_banner: bool,
    /// What this poller has of targets that are shared.
    turn: Option<Turn>,
}

impl Rounds {
    /// Makes the state of a configuration that has just been loaded.
    pub fn new(settings: RoundSettings) -> Self {
        Rounds {
            settings,
            databases: Databases::default(),
            graphite: graphite::Graphite::default(),
            logs: crate::log_file::LogFiles::new(),
            has_banner: false,
            turn: None,
        }
    }

    /// Has it write in the next rounds what a turn has, or everything.
    pub fn set_turn(&mut self, turn: Option<Turn>) {
        self.turn = turn;
    }

    /// Keeps so many databases open between rounds, a descriptor and some 8 KB each.  If the process
    /// ends after the next round, they stay open until then, and their memory is freed.
    pub fn keep_open(&mut self, databases_max: usize, is_last_round: bool) {
        self.databases.keep_open(databases_max, is_last_round);
    }

    /// The configuration has changed: databases are compared with it again.
    pub fn reload(&mut self) {
        self.databases = self.databases.unverified();
        self.has_banner = false;
    }

    /// Ends what waits between rounds: what Graphite has not got yet is sent, or said to be lost.
    pub fn finish(&mut self, say: &mut dyn FnMut(String)) {
        self.graphite.finish(say);
    }

    /// Makes a round.  `wall_ns` gives ns since 1970, `say` takes warnings.
    pub fn round(
        &mut self,
        config: &Config,
        asker: &mut dyn Asker,
        wall_ns: &dyn Fn() -> i64,
        say: &mut dyn FnMut(String),
    ) -> RoundReport {
        let limit = Duration::from_secs(u64::from(config.global.interval_s.clamp(1, 300)));
        let mut calls = commands(config);
        if let Some(turn) = &self.turn {
            calls.retain(|(place, _)| turn.has_query(*place));
        }
        let (list, places): (Vec<ProgramCall>, Vec<usize>) =
            calls.into_iter().map(|(place, call)| (call, place)).unzip();
        let environment = &self.settings.environment;
        let begun_ns = wall_ns();
        let (mut answers, outputs) = std::thread::scope(|scope| {
            let programs = scope.spawn(|| program::run_all(&list, environment, limit));
            let answers = asker.ask(config, wall_ns, say);
            (answers, programs.join().unwrap_or_default())
        });
        answers.resize_with(config.queries.len(), QueryAnswer::default);
        // A command may have passwords in it: it is named by its target.
        let (names, mut notices) = (QueryNames::new(config), Notices::default());
        for (place, output) in places.iter().zip(outputs) {
            // It may have ended long before the devices were through.
            let time_ns = wall_ns().saturating_sub(output.ended_ns_ago()).max(begun_ns);
            let target = || names.of(*place);
            let text = match output.result {
                Ok(text) => text,
                Err(error) => {
                    let why = format!("its program gives nothing: {error}");
                    notices.add(target, why.clone());
                    let why = Some(why.into());
                    answers[*place] = QueryAnswer { time_ns, why, ..QueryAnswer::default() };
                    continue;
                }
            };
            answers[*place] = values::program_answer(&text, time_ns, &target, &mut notices);
        }
        let numbers: Vec<_> = config
            .queries
            .iter()
            .zip(&mut answers)
            .enumerate()
            .map(|(number, (query, answer))| {
                let name = || names.of(number);
                let all = &config.conversions;
                let numbers = values::numbers(query, answer, all, &name, &mut notices);
                if matches!(query, Query::Snmp(_)) {
                    // Their texts are not needed any more: the numbers take their memory.
                    answer.values = [None, None];
                }
                numbers
            })
            .collect();
        notices.say(say);
        let mut report = RoundReport::default();
        for (number, target) in config.targets.iter().enumerate() {
            if self.turn.as_ref().is_some_and(|turn| !turn.has_target(number)) {
                report.readings.push(Reading { is_elsewhere: true, ..Reading::default() });
                continue;
            }
            let reading = values::reading(config, target, &numbers, &answers, wall_ns(), say);
            match reading.values.iter().all(Option::is_some) {
                true => report.known_count += 1,
                false => report.unknown_count += 1,
            }
            report.readings.push(reading);
        }
        self.databases.reset_count = 0;
        let written = self.write(config, &report, wall_ns, say);
        report.reset_count = written.reset_count + self.databases.reset_count;
        report.failed_count = written.failed_count;
        if self.is_held() {
            self.graphite.send(config, &report.readings, say);
        }
        report
    }

    /// Whether files may be written: another poller may have the targets soon if the lease is over.
    fn is_held(&self) -> bool {
        self.turn.as_ref().is_none_or(Turn::is_held)
    }

    /// Writes the readings.
    fn write(
        &mut self,
        config: &Config,
        report: &RoundReport,
        wall_ns: &dyn Fn() -> i64,
        say: &mut dyn FnMut(String),
    ) -> WriteSummary {
        let (mut written, mut notices) = (WriteSummary::default(), Notices::default());
        if !self.has_banner && !self.settings.is_log_only {
            self.has_banner = true;
            if let Err(error) = crate::pages::write_banner(&config.global) {
                say(with_causes(&error));
            }
        }
        let now_s = || wall_ns().div_euclid(SECOND_NS);
        for (number, (target, reading)) in config.targets.iter().zip(&report.readings).enumerate() {
            if reading.is_elsewhere {
                // Its pages in memory would be older than the file when it is here again.
                self.databases.close(number);
                continue;
            }
            if !self.is_held() {
                let cause =
                    "not written: the lease of this poller is over, and another may poll it";
                notices.add(|| target.name.clone(), cause);
                continue;
            }
            if self.is_too_old(config, target, now_s()) {
                let cause = "its file is older than MaxAge and is left as it is";
                notices.add(|| target.name.clone(), cause);
                continue;
            }
            if let Err(error) = make_folders(config, target) {
                notices.add(|| target.name.clone(), error.to_string());
                written.failed_count += 1;
                continue;
            }
            let row = match config.global.log_format {
                LogFormat::Rrdtool => self
                    .databases
                    .add(&config.global, number, target, reading, &mut notices)
                    .map_err(|error| {
                        written.failed_count += usize::from(error.is_of_making());
                        error.add_to(&mut notices);
                    }),
                LogFormat::Rateup => {
                    let reset_count = &mut written.reset_count;
                    self.write_log(config, target, reading, now_s(), reset_count, &mut notices)
                }
            };
            if let Ok(row) = row {
                thresholds::check(config, target, &row, &self.settings, say);
                if let Err(error) = clone::copy(&config.global, target) {
                    notices.add_error(|| target.name.clone(), &error);
                }
            }
        }
        notices.say(say);
        if !self.is_held() {
            self.databases.forget(say);
        }
        for (number, row) in self.databases.finish(&config.global, &config.targets, say) {
            thresholds::check(config, &config.targets[number], &row, &self.settings, say);
        }
        written
    }

    /// `MaxAge`: a file that nobody has written for so long is left alone.
    fn is_too_old(&self, config: &Config, target: &crate::PollTarget, now_s: i64) -> bool {
        let Some(max_age_s) = config.global.max_age_s else { return false };
        let path = match config.global.log_format {
            LogFormat::Rrdtool => database::path(&config.global, target),
            LogFormat::Rateup => log_path(config, target),
        };
        let modified = std::fs::metadata(path).and_then(|found| found.modified()).ok();
        let modified = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        modified.is_some_and(|modified| {
            now_s.saturating_sub_unsigned(max_age_s)
                > i64::try_from(modified.as_secs()).unwrap_or(i64::MAX)
        })
    }

    fn write_log(
        &mut self,
        config: &Config,
        target: &crate::PollTarget,
        reading: &Reading,
        now_s: i64,
        reset_count: &mut usize,
        notices: &mut Notices,
    ) -> Result<LatestRow, ()> {
        let path = log_path(config, target);
        let of_log = crate::log_file::LogReading::of(target, reading);
        let updated = match self.logs.update(&path, &of_log) {
            Ok(updated) => updated,
            Err(error) => {
                notices.add_error(|| target.name.clone(), &error);
                return Err(());
            }
        };
        if updated.was_reset && !reading.was_reset {
            notices.add(|| target.name.clone(), database::COUNTERS_RESET);
        }
        *reset_count += usize::from(updated.was_reset);
        let writer = crate::pages::PageWriter {
            global: &config.global,
            time_zone: self.settings.time_zone.clone(),
            now_s,
            redraw: crate::pages::Redraw::Due,
        };
        let device = crate::pages::DeviceFacts {
            uptime: reading.uptime.as_deref(),
            name: reading.device_name.as_deref(),
        };
        if self.settings.is_log_only {
            let has_bounds = target.thresholds.has_bounds();
            let day = has_bounds.then(|| writer.day(target, updated.history));
            return Ok(day.map(|day| LatestRow::of(day.current)).unwrap_or_default());
        }
        match writer.write(target, updated.history, device) {
            Ok([day, ..]) => Ok(day.map(|day| LatestRow::of(day.current)).unwrap_or_default()),
            Err(error) => {
                notices.add_error(|| target.name.clone(), &error);
                Err(())
            }
        }
    }
}

fn log_path(config: &Config, target: &crate::PollTarget) -> std::path::PathBuf {
    path_of(&format!("{}{}{}.log", config.global.log_dir, target.directory, target.name))
}

/// Makes the folders of `Directory`.
fn make_folders(config: &Config, target: &crate::PollTarget) -> std::io::Result<()> {
    if target.directory.is_empty() {
        return Ok(());
    }
    let global = &config.global;
    for folder in [&global.log_dir, &global.html_dir, &global.image_dir] {
        if !folder.is_empty() {
            std::fs::create_dir_all(path_of(&format!("{folder}{}", target.directory)))?;
        }
    }
    Ok(())
}

/// The commands of a round, with their place among the queries.
fn commands(config: &Config) -> Vec<(usize, ProgramCall)> {
    let set_env = |place: usize| {
        let of = |target: &&crate::PollTarget| {
            target
                .expression
                .as_ref()
                .is_some_and(|expression| expression.values().contains(&place))
        };
        config.targets.iter().find(of).map(|target| target.set_env.clone()).unwrap_or_default()
    };
    let queries = config.queries.iter().enumerate();
    queries
        .filter_map(|(place, query)| match query {
            Query::Program { command } => {
                Some((place, ProgramCall::shell(command, set_env(place))))
            }
            Query::Snmp(_) | Query::Texts(_) => None,
        })
        .collect()
}
