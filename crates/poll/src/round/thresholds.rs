//! Thresholds of a target after its reading was written: programs are run and mails sent.

use std::time::Duration;

use text::error_text::with_causes;

use crate::PollTarget;
use crate::config::Config;
use crate::program::{self, ProgramCall};
use crate::threshold::{ThresholdAction, ThresholdCheck, ThresholdProgram, send};

use super::RoundSettings;
use super::database::LatestRow;

/// How long each step of sending a mail may take.
const MAIL_STEP: Duration = Duration::from_secs(5);
/// How long a program may run: the round waits for it.
const PROGRAM_LIMIT: Duration = Duration::from_secs(60);

/// Compares the newest values with the bounds, and does what follows.
pub(super) fn check(
    config: &Config,
    target: &PollTarget,
    row: &LatestRow,
    settings: &RoundSettings,
    say: &mut dyn FnMut(String),
) {
    if !target.thresholds.has_bounds() && !target.hw_thresholds.has_bounds() {
        return;
    }
    let check = ThresholdCheck {
        global: &config.global,
        target,
        config_name: &settings.config_name,
        current: row.averages,
        failures: row.failures,
    };
    let (actions, errors) = check.run();
    errors.iter().for_each(|error| say(with_causes(error)));
    for action in actions {
        match action {
            ThresholdAction::Program(program) => run(&program, settings, say),
            ThresholdAction::Mail(mail) => {
                if let Err(error) = send(&mail, &settings.own_name, MAIL_STEP) {
                    say(with_causes(&error));
                }
            }
        }
    }
}

fn run(program: &ThresholdProgram, settings: &RoundSettings, say: &mut dyn FnMut(String)) {
    let mut words = vec![program.program.clone()];
    words.extend(program.arguments.iter().cloned());
    let is_other = |variable: &&Vec<u8>| {
        let name = variable.split(|&byte| byte == b'=').next().unwrap_or_default();
        program.environment.iter().all(|(changed, _)| changed.as_bytes() != name)
    };
    let environment: Vec<Vec<u8>> = settings.environment.iter().filter(is_other).cloned().collect();
    let set = program.environment.iter();
    let set = set.filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    let call = ProgramCall { words, set_env: set.collect() };
    for output in program::run_all(&[call], &environment, PROGRAM_LIMIT) {
        if let Err(error) = output.result {
            say(format!("{}: {error}", program.program));
        }
    }
}
