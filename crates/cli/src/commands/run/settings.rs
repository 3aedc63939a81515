//! The settings of a command line of `whit run`, with the environment of this process.

use std::ffi::OsString;
use std::path::PathBuf;

use run::settings::RunSettings;
use run::user::UserEnvironment;

use super::{config, shell};

/// The settings for these words, with what they take from the environment.
pub(crate) fn with_words(settings: RunSettings, words: Vec<OsString>) -> RunSettings {
    RunSettings { user: user_environment(&settings), words, ..settings }
}

/// `$TMPDIR`, or `/tmp` if that is unset or empty, as for GNU parallel.
fn temporary_folder() -> PathBuf {
    let named = std::env::temp_dir();
    if named.as_os_str().is_empty() { "/tmp".into() } else { named }
}

/// Columns and rows of the terminal that standard output is; `None` if it is none.
fn output_size() -> Option<(u16, u16)> {
    let (columns, rows) = terminal_size::terminal_size_of(std::io::stdout())?;
    (columns.0 > 0).then_some((columns.0, rows.0))
}

/// The environment of this process.
fn user_environment(settings: &RunSettings) -> UserEnvironment {
    let is_named = settings.jobs.shell != "auto" && settings.jobs.shell != "never";
    let now = jiff::Timestamp::now();
    UserEnvironment {
        variables: std::env::vars_os().collect(),
        // Finding it reads `/proc` for each ancestor.
        shell: if is_named { PathBuf::new() } else { shell::of_the_user() },
        temporary_folder: temporary_folder(),
        current_folder: std::env::current_dir().unwrap_or_default(),
        config_folder: config::home(),
        output_size: Some(output_size),
        zone_offset_s: crate::zone::local().to_offset(now).seconds().into(),
    }
}
