//! Maps key events to actions.  Keys are those of top and htop if these have one for the action.

use feed::Motion;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyModifiers};
use terminal::pressed;

use super::columns::Column;

/// A minute: the step of the page keys in a recording.
const MINUTE_NS: i64 = 60_000_000_000;

/// Columns of a step sideways.
const SIDEWAYS: isize = 8;

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    Suspend,
    Redraw,
    Help,
    /// Move the selection by lines.
    Step(isize),
    /// By screens of the list.
    Page(isize),
    /// To the first or the last line.
    Top,
    Bottom,
    /// Select nothing.
    Deselect,
    Sort(Column),
    /// Sort by the column to the left or right.
    SortBeside(isize),
    Reverse,
    AskSort,
    AskFilter,
    AskSearch,
    SearchAgain,
    AskUser,
    AskInterval,
    AskSignal,
    Tree,
    Threads,
    /// Count the traffic of processes, or no longer.
    Traffic,
    FullCommand,
    Ended,
    Idle,
    Machine,
    Fold,
    /// The next grouping.
    Group,
    /// Stop or continue: time in a recording, samples of this machine.
    Pause,
    /// Move in a recording.
    Go(Motion),
    /// Ask for a time of the recording.
    AskTime,
    /// To the next sample in which the CPUs were suddenly busy.
    NextSpike,
    /// Take a sample now.
    Now,
    /// Play a recording twice as fast, or half.
    Speed(i32),
    /// Show the selected process alone.
    Open,
    /// Choose the columns.
    Setup,
    /// Raise the nice value by this.
    Nice(i32),
    /// Tag the selected process, or take its tag.
    Tag,
    /// Take all tags.
    Untag,
    /// Show the next pane, or the one before.
    Pane(isize),
    /// Programs with their folders, or without.
    Path,
    /// Move the commands sideways by columns.
    Sideways(isize),
}

/// The action of a key on the list; in a recording (`recorded`) the arrow keys move in time.
pub(crate) fn action(event: &Event, recorded: bool) -> Option<Action> {
    let key = pressed(event)?;
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Action::Quit),
            KeyCode::Char('z') => Some(Action::Suspend),
            KeyCode::Char('l') => Some(Action::Redraw),
            KeyCode::Char('f') => Some(Action::Page(1)),
            KeyCode::Char('b') => Some(Action::Page(-1)),
            KeyCode::Char('r') => Some(Action::Now),
            _ => None,
        };
    }
    if key.modifiers.contains(KeyModifiers::SHIFT)
        && let KeyCode::Left | KeyCode::Right = key.code
    {
        let step = if key.code == KeyCode::Left { -SIDEWAYS } else { SIDEWAYS };
        return Some(Action::Sideways(step));
    }
    if recorded && let Some(action) = recorded_action(key.code) {
        return Some(action);
    }
    match key.code {
        KeyCode::Char(letter) => letter_action(letter),
        KeyCode::F(1) => Some(Action::Help),
        KeyCode::Tab => Some(Action::Pane(1)),
        KeyCode::BackTab => Some(Action::Pane(-1)),
        KeyCode::F(2) => Some(Action::Setup),
        KeyCode::F(3) => Some(Action::AskSearch),
        KeyCode::F(4) => Some(Action::AskFilter),
        KeyCode::F(5) => Some(Action::Tree),
        KeyCode::F(6) => Some(Action::AskSort),
        KeyCode::F(7) => Some(Action::Nice(-1)),
        KeyCode::F(8) => Some(Action::Nice(1)),
        KeyCode::F(9) => Some(Action::AskSignal),
        KeyCode::F(10) => Some(Action::Quit),
        KeyCode::Left => Some(Action::Sideways(-SIDEWAYS)),
        KeyCode::Right => Some(Action::Sideways(SIDEWAYS)),
        KeyCode::Up => Some(Action::Step(-1)),
        KeyCode::Down => Some(Action::Step(1)),
        KeyCode::PageUp => Some(Action::Page(-1)),
        KeyCode::PageDown => Some(Action::Page(1)),
        KeyCode::Home => Some(Action::Top),
        KeyCode::End => Some(Action::Bottom),
        KeyCode::Esc => Some(Action::Deselect),
        KeyCode::Enter => Some(Action::Open),
        _ => None,
    }
}

fn recorded_action(code: KeyCode) -> Option<Action> {
    Some(Action::Go(match code {
        KeyCode::Char(' ') => return Some(Action::Pause),
        KeyCode::Char('j') => return Some(Action::AskTime),
        KeyCode::Char('(') => return Some(Action::Speed(-1)),
        KeyCode::Char(')') => return Some(Action::Speed(1)),
        KeyCode::Char('x') => return Some(Action::NextSpike),
        KeyCode::Left => Motion::Back,
        KeyCode::Right => Motion::Forward,
        KeyCode::PageUp => Motion::By(-MINUTE_NS),
        KeyCode::PageDown => Motion::By(MINUTE_NS),
        KeyCode::Home => Motion::First,
        KeyCode::End => Motion::Last,
        _ => return None,
    }))
}

fn letter_action(letter: char) -> Option<Action> {
    Some(match letter {
        'q' => Action::Quit,
        '?' | 'h' => Action::Help,
        'P' => Action::Sort(Column::Cpu),
        'M' => Action::Sort(Column::Memory),
        'T' => Action::Sort(Column::Time),
        'N' => Action::Sort(Column::Pid),
        'U' => Action::Untag,
        'O' => Action::Sort(Column::Io),
        ',' => Action::SortBeside(-1),
        '.' => Action::SortBeside(1),
        '<' | '>' => Action::AskSort,
        'R' | 'I' => Action::Reverse,
        'o' => Action::AskSort,
        'f' | '\\' => Action::AskFilter,
        '/' => Action::AskSearch,
        'n' => Action::SearchAgain,
        'u' => Action::AskUser,
        'd' | 's' => Action::AskInterval,
        'k' => Action::AskSignal,
        't' | 'V' => Action::Tree,
        'H' => Action::Threads,
        'b' => Action::Traffic,
        'c' => Action::FullCommand,
        'e' => Action::Ended,
        'i' => Action::Idle,
        'm' => Action::Machine,
        '-' | '+' | '*' => Action::Fold,
        'g' => Action::Group,
        ' ' => Action::Tag,
        'Z' => Action::Pause,
        'p' => Action::Path,
        'S' => Action::Setup,
        '[' => Action::Page(-1),
        ']' => Action::Page(1),
        'r' => Action::Redraw,
        _ => return None,
    })
}

/// What a key does while one process is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetailKey {
    Close,
    /// To another page.
    Turn(isize),
    Scroll(isize),
    /// By screens.
    Page(isize),
    First,
    Last,
}

/// The action of a key on the screen of one process; the others are as on the list, or do nothing.
pub(crate) fn detail_action(event: &Event) -> Option<DetailKey> {
    let key = pressed(event)?;
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return None;
    }
    Some(match key.code {
        KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace | KeyCode::F(10) => DetailKey::Close,
        KeyCode::Char('q') => DetailKey::Close,
        KeyCode::Tab => DetailKey::Turn(1),
        KeyCode::BackTab => DetailKey::Turn(-1),
        KeyCode::Up => DetailKey::Scroll(-1),
        KeyCode::Down => DetailKey::Scroll(1),
        KeyCode::PageUp => DetailKey::Page(-1),
        KeyCode::PageDown => DetailKey::Page(1),
        KeyCode::Home => DetailKey::First,
        KeyCode::End => DetailKey::Last,
        _ => return None,
    })
}

/// Whether an action that is one of the list is also one of the screen of one process.
pub(crate) fn is_of_detail(action: Action) -> bool {
    matches!(
        action,
        Action::Quit
            | Action::Suspend
            | Action::Redraw
            | Action::Help
            | Action::AskSignal
            | Action::AskInterval
            | Action::AskTime
            | Action::NextSpike
            | Action::Pause
            | Action::Machine
            | Action::Now
            | Action::Speed(_)
            | Action::Go(_)
    )
}

/// The help: keys and their actions.  `true`: only in a recording, `false`: only on this machine.
pub(crate) const HELP: &[(&str, &str, Option<bool>)] = &[
    ("q  F10  Ctrl-C", "quit", None),
    ("Tab", "CPUs, disks, interfaces, control groups, pressure, processes", None),
    ("Up Down", "select a line; Esc selects none", None),
    ("PgUp PgDn Home End", "move in the list", Some(false)),
    ("Left Right", "previous sample, next sample", Some(true)),
    ("PgUp PgDn", "one minute back, one minute forward", Some(true)),
    ("Home End", "the first sample, the last", Some(true)),
    ("j", "go to a time: 10:15, yesterday 10:15, -1h", Some(true)),
    ("x", "the next sample in which the CPUs were suddenly busy", Some(true)),
    ("[ ]  Ctrl-B Ctrl-F", "a page up, a page down in the list", None),
    ("Z", "pause sampling, continue", Some(false)),
    ("Space", "tag a process, for k and F7 F8; U takes all tags", Some(false)),
    ("Left Right", "move the commands sideways", Some(false)),
    ("Shift-Left Shift-Right", "move the commands sideways", Some(true)),
    ("Space", "play, pause", Some(true)),
    ("( )", "play half as fast, twice as fast", Some(true)),
    ("Enter", "one process: history, threads, files, limits, environment", None),
    ("Ctrl-R", "take a sample now", Some(false)),
    ("P M T N O", "sort by CPU, memory, time, pid, disk I/O", None),
    (", .", "sort by the column to the left, to the right", None),
    ("o > F6", "choose what to sort by", None),
    ("S  F2", "choose the columns", None),
    ("R I", "reverse the order", None),
    ("g", "group by control group, user, command; no groups", None),
    ("t  F5", "tree; - folds a branch", None),
    ("H", "show threads", None),
    ("b", "bytes and packets by process (each packet costs some 0.3 µs)", Some(false)),
    ("e", "show ended processes", None),
    ("i", "hide processes that use no CPU", None),
    ("c", "command lines or names", None),
    ("p", "programs with or without their folders", None),
    ("/  F3", "search; n finds the next", None),
    ("f \\ F4", "show only lines that contain a text", None),
    ("u", "show only one user's processes", None),
    ("k  F9", "send a signal, after confirmation", Some(false)),
    ("F7 F8", "less nice (with more CPU; needs root), nicer", Some(false)),
    ("Mouse", "title: sort; line: select, open; wheel: move; Shift: the terminal's own", None),
    ("d", "set the seconds between samples", None),
    ("m", "show or hide the machine above the list", None),
    ("r  Ctrl-L", "redraw the screen", None),
];

#[cfg(test)]
mod tests {
    use ratatui_crossterm::crossterm::event::KeyEvent;

    use super::*;

    fn key(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn arrows_move_in_the_list_or_in_time() {
        assert_eq!(action(&key(KeyCode::PageUp), false), Some(Action::Page(-1)));
        let minute = Some(Action::Go(Motion::By(-60_000_000_000)));
        assert_eq!(action(&key(KeyCode::PageUp), true), minute);
        assert_eq!(action(&key(KeyCode::Right), true), Some(Action::Go(Motion::Forward)));
        assert_eq!(action(&key(KeyCode::Right), false), Some(Action::Sideways(8)));
        assert_eq!(action(&key(KeyCode::Char(' ')), true), Some(Action::Pause));
        assert_eq!(action(&key(KeyCode::Char(' ')), false), Some(Action::Tag));
        assert_eq!(action(&key(KeyCode::Up), true), Some(Action::Step(-1)));
    }

    #[test]
    fn control_keys_are_not_letters() {
        let control =
            |letter| Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        assert_eq!(action(&control('c'), false), Some(Action::Quit));
        assert_eq!(action(&control('k'), false), None);
    }

    /// The help names keys that exist.
    #[test]
    fn every_letter_of_the_help_does_something() {
        for (keys, about, _) in HELP {
            for word in keys.split_whitespace().filter(|word| word.len() == 1) {
                let letter = word.chars().next().unwrap();
                let key = KeyCode::Char(letter);
                let does = letter_action(letter).or(recorded_action(key));
                assert!(does.is_some(), "{letter}: {about}");
            }
        }
    }
}
