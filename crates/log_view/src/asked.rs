//! What the user is asked: a text, a choice, or nothing.

use logring::LogLevel;

use crate::columns::Column;
use crate::statistics::{CountedBy, Statistics};

/// Longest text that can be typed.
pub(crate) const TYPED_MAX: usize = 400;

/// Which text is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Search,
    Text,
    Logger,
    Host,
    Process,
    Time,
    Export,
    Save,
}

impl Question {
    /// What stands before the text.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Question::Search => "search, or /REGEX/: ",
            Question::Text => "messages with, or /REGEX/: ",
            Question::Logger => "loggers (* is any text): ",
            Question::Host => "hosts (* is any text): ",
            Question::Process => "processes, by name or number: ",
            Question::Time => "go to (10:15, -1h, yesterday 10:15, 2026-11-22T20:00Z): ",
            Question::Export => "export to FILE.txt, .json, .csv, .xml or .syslog: ",
            Question::Save => "keep this filter as: ",
        }
    }
}

/// What the user is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Prompt {
    None,
    Help { first: usize },
    Details { first: usize },
    Typed { question: Question, text: String },
    Level { chosen: usize },
    Columns { chosen: usize },
    Filters { chosen: usize },
    Statistics { by: CountedBy, chosen: usize, counted: Box<Statistics> },
}

/// Levels to choose from: the first is none.
pub(crate) fn levels() -> Vec<Option<LogLevel>> {
    std::iter::once(None).chain(LogLevel::ALL.into_iter().map(Some)).collect()
}

/// Moves a choice of `count`; whether the key did that.
pub(crate) fn choose(chosen: &mut usize, count: usize, edit: terminal::Edit) -> bool {
    match edit {
        terminal::Edit::Up => *chosen = chosen.saturating_sub(1),
        terminal::Edit::Down => *chosen = (*chosen + 1).min(count.saturating_sub(1)),
        _ => return false,
    }
    true
}

/// How many lines a list of choices has that does not depend on what is shown.
pub(crate) const COLUMNS: usize = Column::ALL.len();
