//! The command of a semaphore (`--semaphore`, `sem`) as a single job.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use super::error::SetupError;
use crate::settings::RunSettings;

/// The settings for one job that takes no values.
///
/// # Errors
///
/// Options that give it values, or that have no meaning for a single job.
pub fn one_job(mut settings: RunSettings) -> Result<RunSettings, SetupError> {
    let input = &mut settings.input;
    let arguments_separator = input.arg_sep.clone().unwrap_or_else(|| OsString::from(":::"));
    let files_separator = input.arg_file_sep.clone().unwrap_or_else(|| OsString::from("::::"));
    for separator in [&arguments_separator, &files_separator] {
        let mut linked = separator.clone();
        linked.push("+");
        if settings.words.iter().any(|word| *word == *separator || *word == linked) {
            usage!(
                "--semaphore takes a command and no values: leave out {}",
                separator.to_string_lossy()
            );
        }
    }
    if !input.arg_files.is_empty() {
        usage!("--semaphore takes a command and no values: leave out -a");
    }
    if settings.output.retry_failed {
        usage!("--semaphore and --retry-failed cannot be combined");
    }
    if settings.pipe.pipe_part {
        usage!("--semaphore and --pipe-part cannot be combined");
    }
    if settings.pipe.cat || settings.pipe.fifo {
        usage!("--semaphore gives the command our standard input: leave out --cat and --fifo");
    }
    if settings.pipe.tee {
        usage!("--semaphore and --tee cannot be combined");
    }
    // The command inherits our whole standard input in any case.
    settings.pipe.pipe = false;
    input.no_run_if_empty = false;
    settings.packing.replace_args = Some(0);
    settings.schedule.jobs = Some("1".to_owned());
    settings.jobs.spawners = Some(1);
    // Without a replacement string parallel appends one empty value, which the joblog shows.
    let has_strings = settings.words.iter().any(|word| word.as_bytes().contains(&b'{'));
    if !has_strings && !settings.strings.quote {
        settings.words.push(OsString::new());
    }
    settings.words.extend([arguments_separator, OsString::new()]);
    settings.keeps_stdin = true;
    Ok(settings)
}
