//! From the command line of `whit run` to the plain settings that crate `run` takes.

use std::path::PathBuf;

use run::settings::{
    InputSettings, JobSettings, OutputSettings, PipeSettings, RunSettings, ScheduleSettings,
    StringSettings, UserEnvironment,
};

use super::arguments::RunArguments;
use super::{hosts, shell};

/// Takes fields that have the same name in both.
macro_rules! take {
    ($from:expr => $type:ident { $($field:ident),* $(,)? }) => {
        $type { $($field: $from.$field),* }
    };
}

/// The settings of a command line.
///
/// # Errors
///
/// Values that cannot be read.
pub(crate) fn of(arguments: RunArguments) -> anyhow::Result<RunSettings> {
    let user = user_environment(&arguments);
    let hosts = hosts::options(&arguments)?;
    let RunArguments { input, packing, pipe, strings, schedule, jobs, output, words, .. } =
        arguments;
    Ok(RunSettings {
        packing: packing.options(),
        max_chars: packing.chars,
        hosts,
        input: take!(input => InputSettings {
            arg_files, null, delimiter, colsep, csv, header, link, trim, no_run_if_empty, end,
            eof, filter, shuf, skip_first_line, arg_sep, arg_file_sep
        }),
        pipe: take!(pipe => PipeSettings {
            pipe, pipe_part, block, block_timeout, recstart, recend, regexp, remove_separators,
            cat, fifo, tee, round_robin
        }),
        strings: take!(strings => StringSettings {
            replace, replace_default, plus, rpl, parens, without_extension, base_name,
            directory, base_name_without_extension, seqreplace, slotreplace, quote, shell_quote
        }),
        schedule: take!(schedule => ScheduleSettings {
            jobs, delay, timeout, retries, halt, term_seq, load, memfree, memsuspend, noswap,
            limit
        }),
        jobs: take!(jobs => JobSettings {
            dry_run, verbose, trace_commands, shell, nice, workdir, process_slot_var, tty,
            spawners
        }),
        output: take!(output => OutputSettings {
            ungroup, line_buffer, keep_order, tag, tagstring, color, color_failed, files,
            files0, results, joblog, joblog_json, resume, resume_failed, retry_failed, tmpdir,
            progress, eta, bar, total_jobs
        }),
        keeps_stdin: false,
        words,
        user,
    })
}

/// `$TMPDIR`, or `/tmp` if that is unset or empty, as for GNU parallel.
fn temporary_folder() -> PathBuf {
    let named = std::env::temp_dir();
    if named.as_os_str().is_empty() { "/tmp".into() } else { named }
}

/// The environment of this process.
fn user_environment(arguments: &RunArguments) -> UserEnvironment {
    let is_named = arguments.jobs.shell != "auto" && arguments.jobs.shell != "never";
    let now = jiff::Timestamp::now();
    UserEnvironment {
        variables: std::env::vars_os().collect(),
        // Finding it reads `/proc` for each ancestor.
        shell: if is_named { PathBuf::new() } else { shell::of_the_user() },
        temporary_folder: temporary_folder(),
        zone_offset_s: crate::zone::local().to_offset(now).seconds().into(),
    }
}
