//! What HELP says.  The lines after `Usage:` are this program's own words.

use crate::protocol::Command;

/// Explains a command, a line each.
fn about(command: Command) -> &'static [&'static str] {
    use Command as C;
    match command {
        C::Update => &[
            "Takes readings of a file: <time>:<value>[:<value>...], times in seconds since 1970.",
            "They are checked at once and written later, many together.",
        ],
        C::Flush => &["Writes the readings of a file now, and answers when that is done."],
        C::FlushAll => &["Begins to write all readings, and answers at once."],
        C::Pending => &["Shows the readings of a file that are not written yet."],
        C::Forget => &["Drops the readings of a file that are not written yet."],
        C::Queue => &[
            "Shows the files that wait to be written, a line each:",
            "<number of readings> <filename>",
        ],
        C::Stats => &["Shows counters; STATS EXT shows more of them."],
        C::Help => &["Shows all commands, or how one is used."],
        C::Ping => &["Answers with PONG."],
        C::Batch => &[
            "Takes commands up to a line with a dot, and answers them together:",
            "with the number of errors, then a line for each,",
            "the number of the command and what was wrong.",
        ],
        C::Fetch => &["Shows the rows of a period as text, readings that wait included."],
        C::FetchBin => &["Gives the rows of a period as doubles, readings that wait included."],
        C::Info => &["Shows what a file keeps, readings that wait included."],
        C::First => &["Shows the time of the oldest row of an archive."],
        C::Last => &["Shows the time of the last reading, rounded down to a step."],
        C::Create => &["Makes a file.  Times are seconds since 1970; -O keeps a file that exists."],
        C::List => &["Shows the files and folders in a folder below the base folder."],
        C::Suspend => &["Keeps the readings of a file in memory until RESUME or RESUMEALL."],
        C::Resume => &["Ends SUSPEND."],
        C::SuspendAll => &["Keeps the readings of all known files in memory until RESUMEALL."],
        C::ResumeAll => &["Ends SUSPEND and SUSPENDALL."],
        C::Quit => &["Closes the connection."],
        C::Tune => &["Changes what a file keeps, with the options of the command tune."],
        C::Dump => &["Gives a file as XML, and closes the connection."],
        C::Dot | C::Wrote => &[],
    }
}

/// The lines of HELP, with or without a command: the text of the first line, then the others.
pub(crate) fn help(command: Option<Command>) -> (String, Vec<String>) {
    match command.filter(|command| !command.usage().is_empty()) {
        Some(command) => {
            let mut lines = vec![format!("Usage: {}", command.usage()), String::new()];
            lines.extend(about(command).iter().map(|line| (*line).to_owned()));
            lines.push(String::new());
            (format!("Help for {}", command.name()), lines)
        }
        None => {
            let all = Command::ALL.iter().map(|command| command.usage());
            let lines = all.filter(|usage| !usage.is_empty()).map(str::to_owned);
            ("Command overview".to_owned(), lines.collect())
        }
    }
}
