//! Keys: which of them were pressed, and what they do to a typed line or a list of choices.

use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key does to a typed line, or to a list of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A character is added.
    Put(char),
    /// The last character goes.
    Erase,
    /// All characters go.
    EraseAll,
    /// To the choice above.
    Up,
    /// To the choice below.
    Down,
    /// What is typed or chosen holds.
    Accept,
    /// It does not.
    Cancel,
}

/// The key of an event, if it was pressed and not released.
#[must_use]
pub fn pressed(event: &Event) -> Option<&KeyEvent> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(key),
        _ => None,
    }
}

/// The effect of a key on a prompt.
#[must_use]
pub fn edit(event: &Event) -> Option<Edit> {
    let key = pressed(event)?;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'g') if control => Edit::Cancel,
        KeyCode::Char('u') if control => Edit::EraseAll,
        KeyCode::Char('p') if control => Edit::Up,
        KeyCode::Char('n') if control => Edit::Down,
        KeyCode::Char(letter) if !control && !letter.is_control() => Edit::Put(letter),
        KeyCode::Backspace => Edit::Erase,
        KeyCode::Up => Edit::Up,
        KeyCode::Down => Edit::Down,
        KeyCode::Enter => Edit::Accept,
        KeyCode::Esc => Edit::Cancel,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_are_not_letters() {
        let key = |modifiers| Event::Key(KeyEvent::new(KeyCode::Char('c'), modifiers));
        assert_eq!(edit(&key(KeyModifiers::CONTROL)), Some(Edit::Cancel));
        assert_eq!(edit(&key(KeyModifiers::NONE)), Some(Edit::Put('c')));
    }
}
