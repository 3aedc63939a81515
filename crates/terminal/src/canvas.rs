//! The buffer for drawing, and styles.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

/// Styles: with colours, otherwise by weight and inversion.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Whether there are colours.
    pub colour: bool,
    /// Only ASCII characters.
    pub ascii: bool,
}

impl Theme {
    /// A colour, where there are any.
    #[must_use]
    pub fn paint(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// What is to be seen first.
    #[must_use]
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Titles.
    #[must_use]
    pub fn header(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The chosen line.
    #[must_use]
    pub fn selected(self) -> Style {
        if self.colour {
            Style::new().fg(Color::Black).bg(Color::Cyan)
        } else {
            Style::new().add_modifier(Modifier::REVERSED)
        }
    }

    /// What matters less.
    #[must_use]
    pub fn faint(self) -> Style {
        if self.colour {
            Style::new().fg(Color::DarkGray)
        } else {
            Style::new().add_modifier(Modifier::DIM)
        }
    }
}

/// The target of text, with reused strings.
pub struct Canvas<'b> {
    /// What is drawn into.
    pub buffer: &'b mut Buffer,
    /// All of it.
    pub area: Rect,
    /// Styles.
    pub theme: Theme,
    text: String,
    /// For escapes; reused.
    pub bytes: Vec<u8>,
}

impl<'b> Canvas<'b> {
    /// All of a buffer.
    pub fn new(buffer: &'b mut Buffer, theme: Theme) -> Self {
        let area = buffer.area;
        Canvas { buffer, area, theme, text: String::new(), bytes: Vec::new() }
    }

    /// Puts text at a position, cut at the right edge; returns the column after it.
    pub fn put(&mut self, x: u16, y: u16, text: &str, style: Style) -> u16 {
        if y >= self.area.height || x >= self.area.width {
            return x;
        }
        let room = usize::from(self.area.width - x);
        self.buffer.set_stringn(x, y, text, room, style).0
    }

    /// Puts what keys do, with two blanks between, the most needed first: as many as have room.
    pub fn keys(&mut self, x: u16, y: u16, keys: &[&str]) {
        let faint = self.theme.faint();
        let mut at = x;
        for key in keys {
            let width = u16::try_from(key.chars().count()).unwrap_or(u16::MAX);
            if at.saturating_add(width) > self.area.width {
                break;
            }
            at = self.put(at, y, key, faint).saturating_add(2);
        }
    }

    /// Puts text into a field of `width` columns, right- or left-aligned.
    pub fn field(&mut self, x: u16, y: u16, text: &str, width: u16, left: bool, style: Style) {
        let room = self.area.width.saturating_sub(x).min(width);
        if y >= self.area.height || room == 0 {
            return;
        }
        // Everything but commands is ASCII here, or cut.
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        let skip = if left { 0 } else { room.saturating_sub(length) };
        self.buffer.set_stringn(x + skip, y, text, usize::from(room - skip), style);
    }

    /// The reused string, empty; return it by [`return_buffer`](Self::return_buffer).
    pub fn take_buffer(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text
    }

    /// Takes the reused string back.
    pub fn return_buffer(&mut self, text: String) {
        self.text = text;
    }
}
