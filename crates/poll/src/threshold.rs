//! Thresholds of targets: which bounds are broken, and the programs and mails that follow.
//!
//! Each of `ThreshMinI`, `ThreshMaxI`, `ThreshMinO`, `ThreshMaxO` is compared with the newest value,
//! and each of their `HWThresh` twins with the newest count of failed forecasts.  A bound that ends
//! in `%` is one of `MaxBytes`.
//!
//! With `ThreshDir` there is an empty file for each broken bound
//! (`CONFIG.TARGET.threshminI`); programs and mails follow only when the file comes or goes.
//! Without it they follow at each reading that breaks a bound, with a hysteresis only while the
//! value is within it, as MRTG does.
//!
//! This part decides and keeps the files; [`ThresholdAction`]s are carried out by the caller, mails by
//! [`send`].

mod mail;

mod text;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use mail::{Mail, MailError, send};

use crate::config::Global;
use crate::path_of;
use crate::{PollTarget, ThresholdRules};

/// A check of one target.
#[derive(Debug, Clone)]
pub struct ThresholdCheck<'a> {
    /// The folder of state files, hysteresis, mail server.
    pub global: &'a Global,
    /// The target.
    pub target: &'a PollTarget,
    /// The name of the configuration file, without its folder.
    pub config_name: &'a str,
    /// Newest in and out; `None` is not checked.
    pub current: [Option<f64>; 2],
    /// Newest failures of forecasts of in and out (the archive `FAILURES`).
    pub failures: [Option<f64>; 2],
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThresholdAction {
    /// A program is to be run, and waited for.
    Program(ThresholdProgram),
    /// A mail is to be sent.
    Mail(Mail),
}

/// A program of a threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThresholdProgram {
    /// The path.
    pub program: String,
    /// The target, the bound as written, the value, and for a broken bound the description.
    pub arguments: Vec<String>,
    /// Variables to set, or to remove: `THRESH_DESC` and `HWTHRESH_DESC`.
    pub environment: [(&'static str, Option<String>); 2],
}

/// A state file that could not be made or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the state of a threshold in {path}")]
pub struct StateError {
    /// The file.
    pub path: PathBuf,
    /// What the kernel said.
    pub source: io::Error,
}

/// Either kind of thresholds.
#[derive(Clone, Copy)]
struct Kind<'a> {
    name: &'static str,
    rules: &'a ThresholdRules,
    hysteresis: Option<f64>,
    values: [Option<f64>; 2],
}

/// One bound and the value that it is compared with.
#[derive(Debug, Clone)]
struct Bound {
    kind: &'static str,
    is_max: bool,
    /// 0 for in, 1 for out.
    side: usize,
    /// As written.
    written: String,
    bound: f64,
    value: f64,
    /// The bound as messages show it, with what per cent of `MaxBytes` it is.
    bound_text: String,
    /// The value as programs get it.
    value_text: String,
    /// The value as messages show it.
    value_shown: String,
}

impl Bound {
    fn name(&self) -> &'static str {
        if self.is_max { "max" } else { "min" }
    }

    fn direction(&self) -> &'static str {
        ["i", "o"][self.side]
    }

    fn is_broken(&self) -> bool {
        if self.is_max { self.bound < self.value } else { self.bound > self.value }
    }

    fn is_within(&self, hysteresis: f64) -> bool {
        let band = hysteresis * self.bound;
        match self.is_max {
            true => self.bound + band > self.value,
            false => self.bound - band < self.value,
        }
    }
}

impl ThresholdCheck<'_> {
    /// Compares all bounds, keeps the state files, and says what is to be done.
    pub fn run(&self) -> (Vec<ThresholdAction>, Vec<StateError>) {
        let (mut actions, mut errors) = (Vec::new(), Vec::new());
        let global = self.global;
        // MRTG's default of the hysteresis needs a folder of states.
        let with_folder = global.threshold_dir.as_ref().map(|_| 0.1);
        let kinds = [
            Kind {
                name: "thresh",
                rules: &self.target.thresholds,
                hysteresis: global.threshold_hysteresis.filter(|&one| one != 0.0).or(with_folder),
                values: self.current,
            },
            Kind {
                name: "hwthresh",
                rules: &self.target.hw_thresholds,
                hysteresis: global.hw_threshold_hysteresis,
                values: self.failures,
            },
        ];
        for side in 0..2 {
            for kind in kinds {
                for is_max in [false, true] {
                    let Some(bound) = self.bound(kind, side, is_max) else { continue };
                    match self.is_to_act(&bound, kind.hysteresis) {
                        Ok(true) => self.act(&bound, kind.rules, &mut actions),
                        Ok(false) => {}
                        Err(error) => errors.push(error),
                    }
                }
            }
        }
        (actions, errors)
    }

    fn bound(&self, kind: Kind<'_>, side: usize, is_max: bool) -> Option<Bound> {
        let all = if is_max { &kind.rules.maximum } else { &kind.rules.minimum };
        let (written, mut value) = (all[side].clone()?, kind.values[side]?);
        let mut value_text = perl::written_number(value);
        let (mut bound_text, mut value_shown) = (written.clone(), value_text.clone());
        let mut number = written.as_str();
        if let Some(percent) = written.strip_suffix('%') {
            number = percent;
            let max_bytes = self.target.max_bytes[side];
            let of_max = max_bytes * perl::leading_number(percent) / 100.0;
            bound_text = format!("{percent}% ({of_max:.1})");
            let plain = value_text;
            value_text = format!("{:.1}", value / max_bytes * 100.0);
            value = perl::leading_number(&value_text);
            value_shown = format!("{value_text}% ({plain})");
        }
        let bound = perl::leading_number(number);
        let kind = kind.name;
        Some(Bound {
            kind,
            is_max,
            side,
            written,
            bound,
            value,
            bound_text,
            value_text,
            value_shown,
        })
    }

    fn state_file(&self, bound: &Bound) -> Option<PathBuf> {
        let folder = self.global.threshold_dir.as_ref()?;
        let (config, target) = (self.config_name, &self.target.name);
        let (kind, name) = (bound.kind, bound.name());
        let direction = bound.direction().to_ascii_uppercase();
        Some(folder.join(path_of(&format!("{config}.{target}.{kind}{name}{direction}"))))
    }

    /// Whether programs and mails follow; keeps the state file.
    fn is_to_act(&self, bound: &Bound, hysteresis: Option<f64>) -> Result<bool, StateError> {
        let Some(path) = self.state_file(bound) else {
            return Ok(bound.is_broken() && hysteresis.is_none_or(|band| bound.is_within(band)));
        };
        let was_broken = path.exists();
        let keep = |done: io::Result<()>, path: &Path| {
            done.map_err(|source| StateError { path: path.to_owned(), source })
        };
        match (bound.is_broken(), was_broken) {
            (true, false) => keep(fs::File::create(&path).map(drop), &path)?,
            (false, true) => keep(fs::remove_file(&path), &path)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn act(&self, bound: &Bound, rules: &ThresholdRules, actions: &mut Vec<ThresholdAction>) {
        let programs = if bound.is_broken() { &rules.programs } else { &rules.programs_ok };
        if let Some(program) = &programs[bound.side] {
            let mut arguments =
                vec![self.target.name.clone(), bound.written.clone(), bound.value_text.clone()];
            if bound.is_broken() {
                let description = rules.description.as_deref().filter(|text| !text.is_empty());
                arguments.push(description.unwrap_or("No Description").to_owned());
            }
            let description = |rules: &ThresholdRules| rules.description.clone();
            let environment = [
                ("THRESH_DESC", description(&self.target.thresholds)),
                ("HWTHRESH_DESC", description(&self.target.hw_thresholds)),
            ];
            let program = program.clone();
            actions.push(ThresholdAction::Program(ThresholdProgram {
                program,
                arguments,
                environment,
            }));
        }
        let address = rules.mail_address.as_deref().filter(|address| !address.is_empty());
        let server = self.global.threshold_mail_server.as_deref();
        let sender = self.global.threshold_mail_sender.as_deref();
        if let (Some(address), Some(server), Some(sender)) = (address, server, sender) {
            let message = text::message(self.target, bound, rules, sender, address);
            actions.push(ThresholdAction::Mail(Mail::new(server, sender, address, message)));
        }
    }
}
