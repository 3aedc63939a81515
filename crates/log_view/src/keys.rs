//! Maps key events to actions.  Keys are those of less and vi if these have one for the action.

use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyModifiers};
use terminal::pressed;

use crate::asked::Question;

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    Suspend,
    Redraw,
    Help,
    /// Move by lines.
    Step(isize),
    /// By screens.
    Page(isize),
    Oldest,
    Newest,
    /// Move the text sideways by columns.
    Sideways(isize),
    Details,
    Ask(Question),
    /// The next match behind, or before.
    SearchLater,
    SearchEarlier,
    Level,
    Columns,
    Filters,
    /// Show all records again.
    Unfiltered,
    Follow,
    Statistics,
}

/// The action of a key on the list.
pub(crate) fn action(event: &Event) -> Option<Action> {
    let key = pressed(event)?;
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Action::Quit),
            KeyCode::Char('z') => Some(Action::Suspend),
            KeyCode::Char('l') => Some(Action::Redraw),
            KeyCode::Char('f') => Some(Action::Page(1)),
            KeyCode::Char('b') => Some(Action::Page(-1)),
            _ => None,
        };
    }
    match key.code {
        KeyCode::Char(letter) => letter_action(letter),
        KeyCode::F(1) => Some(Action::Help),
        KeyCode::F(3) => Some(Action::Ask(Question::Search)),
        KeyCode::F(4) => Some(Action::Ask(Question::Text)),
        KeyCode::F(10) => Some(Action::Quit),
        KeyCode::Up => Some(Action::Step(-1)),
        KeyCode::Down => Some(Action::Step(1)),
        KeyCode::PageUp => Some(Action::Page(-1)),
        KeyCode::PageDown => Some(Action::Page(1)),
        KeyCode::Home => Some(Action::Oldest),
        KeyCode::End => Some(Action::Newest),
        KeyCode::Left => Some(Action::Sideways(-16)),
        KeyCode::Right => Some(Action::Sideways(16)),
        KeyCode::Enter => Some(Action::Details),
        _ => None,
    }
}

fn letter_action(letter: char) -> Option<Action> {
    Some(match letter {
        'q' => Action::Quit,
        '?' => Action::Help,
        'k' => Action::Step(-1),
        'j' => Action::Step(1),
        '[' => Action::Page(-1),
        ']' | ' ' => Action::Page(1),
        'g' => Action::Oldest,
        'G' => Action::Newest,
        '/' => Action::Ask(Question::Search),
        'n' => Action::SearchLater,
        'N' => Action::SearchEarlier,
        'l' => Action::Level,
        't' => Action::Ask(Question::Text),
        'o' => Action::Ask(Question::Logger),
        'h' => Action::Ask(Question::Host),
        'p' => Action::Ask(Question::Process),
        'x' => Action::Unfiltered,
        's' => Action::Ask(Question::Save),
        'f' => Action::Filters,
        'F' => Action::Follow,
        'a' => Action::Ask(Question::Time),
        'c' => Action::Columns,
        'S' => Action::Statistics,
        'e' => Action::Ask(Question::Export),
        'r' => Action::Redraw,
        _ => return None,
    })
}

/// The help: keys and their actions.
pub(crate) const HELP: &[(&str, &str)] = &[
    ("q  F10  Ctrl-C", "quit"),
    ("Up Down  k j", "the record before, the next one"),
    ("PgUp PgDn  [ ]", "a page back, a page on"),
    ("Home End  g G", "the oldest record, the newest"),
    ("Left Right", "move the text sideways"),
    ("Enter", "all of the chosen record"),
    ("a", "go to a time: 10:15, yesterday 10:15, -1h"),
    ("F", "follow: show new records as they come; any move ends it"),
    ("/  F3", "search messages, also those not read yet; /REGEX/ too"),
    ("n N", "the next match, the one before"),
    ("l", "only a level and above"),
    ("t  F4", "only messages with a text, or /REGEX/"),
    ("o", "only loggers of a name"),
    ("h p", "only a host, only a process"),
    ("x", "show all records again"),
    ("s", "keep this filter under a name"),
    ("f", "filters that were kept: Enter takes one, d forgets it"),
    ("c", "show or hide columns"),
    ("S", "count by logger, level, host, process; Tab changes, Enter filters"),
    ("e", "export what is shown: .txt, .json, .csv, .xml, .syslog"),
    ("Esc", "end what takes long: a search, a count, an export"),
    ("r  Ctrl-L", "redraw the screen"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The help names keys that exist.
    #[test]
    fn every_letter_of_the_help_does_something() {
        for (keys, about) in HELP {
            for word in keys.split_whitespace().filter(|word| word.len() == 1) {
                let letter = word.chars().next().unwrap();
                assert!(letter_action(letter).is_some(), "{letter}: {about}");
            }
        }
    }
}
