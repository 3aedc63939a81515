//! Long output on a terminal goes through a pager: that of `play`, `log query`, `doctor` and help.

use std::process::{ExitCode, ExitStatus};

use terminal::Pager;

use crate::stderr;

/// Whether a pager may be used.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct PagerArguments {
    /// Write to the terminal itself, without a pager ($WHIT_PAGER, $PAGER, less)
    #[arg(long)]
    pub(crate) no_pager: bool,
}

/// Starts a pager if standard output is a terminal.
pub(crate) fn start() -> Option<Pager> {
    // Without a pager the output is still there.
    Pager::start(&|name| std::env::var_os(name), ended_early).unwrap_or_else(|error| {
        stderr::message(format_args!("no pager: {error}"));
        None
    })
}

/// The exit code once the person has ended the pager.
pub(crate) fn end(pager: Option<Pager>, code: ExitCode) -> ExitCode {
    let status = pager.and_then(Pager::end);
    if status.is_some_and(has_failed) { ExitCode::from(2) } else { code }
}

/// Whether the shell could not run it: nothing was shown.
fn has_failed(status: ExitStatus) -> bool {
    matches!(status.code(), Some(126 | 127))
}

/// Who has seen enough needs the rest no more.
fn ended_early(status: ExitStatus) {
    std::process::exit(if has_failed(status) { 2 } else { 0 });
}
