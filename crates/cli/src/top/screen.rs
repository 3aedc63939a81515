//! The screen: the machine, the list, a line that says what can be done.
//!
//! Everything is put into ratatui's buffer, which is compared with the one before: what did not
//! change is not sent.  Only lines on the screen are made into text, in one string that is kept.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::app::{App, Prompt};
use super::columns::{self, Column};
use super::format;
use super::model::{Line, Of};
use super::values::{Grouping, Look, Subject};

mod panel;
mod windows;

/// How things are marked: with colours, or where there are none by weight and inversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) colour: bool,
    /// No character but those of ASCII.
    pub(crate) ascii: bool,
}

impl Theme {
    fn paint(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn header(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn selected(self) -> Style {
        if self.colour {
            Style::new().fg(Color::Black).bg(Color::Cyan)
        } else {
            Style::new().add_modifier(Modifier::REVERSED)
        }
    }

    fn faint(self) -> Style {
        if self.colour {
            Style::new().fg(Color::DarkGray)
        } else {
            Style::new().add_modifier(Modifier::DIM)
        }
    }
}

/// Where text goes, with the strings that are used again.
pub(crate) struct Canvas<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
    theme: Theme,
    text: String,
    bytes: Vec<u8>,
}

impl Canvas<'_> {
    /// Puts text at a place, cut at the right edge; returns the column behind it.
    fn put(&mut self, x: u16, y: u16, text: &str, style: Style) -> u16 {
        if y >= self.area.height || x >= self.area.width {
            return x;
        }
        let room = usize::from(self.area.width - x);
        self.buffer.set_stringn(x, y, text, room, style).0
    }

    /// Puts text into a field of `width` columns, at its right or left.
    fn field(&mut self, x: u16, y: u16, text: &str, width: u16, left: bool, style: Style) {
        let room = self.area.width.saturating_sub(x).min(width);
        if y >= self.area.height || room == 0 {
            return;
        }
        // Everything but commands is ASCII here, or cut.
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        let skip = if left { 0 } else { room.saturating_sub(length) };
        self.buffer.set_stringn(x + skip, y, text, usize::from(room - skip), style);
    }

    /// The string that is kept, empty; give it back with [`give`](Self::give).
    fn lend(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text
    }

    fn give(&mut self, text: String) {
        self.text = text;
    }
}

/// Draws everything.
pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, theme: Theme) {
    let area = buffer.area;
    app.width = area.width;
    let mut canvas = Canvas { buffer, area, theme, text: String::new(), bytes: Vec::new() };
    if area.height == 0 || area.width == 0 {
        return;
    }
    let used = panel::draw(app, &mut canvas);
    let last = area.height - 1;
    if last > used {
        header(app, &mut canvas, used);
        list(app, &mut canvas, used + 1, last);
    }
    if area.height > 1 {
        bottom(app, &mut canvas, last);
    }
    windows::draw(app, &mut canvas);
}

fn header(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let settings = &app.model.settings;
    let style = canvas.theme.header();
    let width = canvas.area.width;
    canvas.buffer.set_style(Rect::new(0, y, width, 1), style);
    let mut x = 0;
    for column in columns::shown(settings.grouping.is_some(), width) {
        let look = column.appearance();
        let sorted = column == settings.sort;
        let style =
            if sorted { style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED) } else { style };
        let title = match (column, settings.grouping) {
            (Column::Command, Some(Grouping::Cgroup)) => "CGROUP",
            (Column::Command, Some(Grouping::User)) => "USER",
            _ => look.title,
        };
        if column == Column::Command {
            canvas.put(x, y, title, style);
        } else {
            canvas.field(x, y, title, look.width, look.left, style);
            x += look.width + 1;
        }
    }
}

fn list(app: &mut App, canvas: &mut Canvas<'_>, from: u16, to: u16) {
    let height = usize::from(to - from);
    app.page = height.saturating_sub(1).max(1);
    app.model.scroll(height);
    let look = app.scene.look();
    let model = &app.model;
    let shown: Vec<Column> =
        columns::shown(model.settings.grouping.is_some(), canvas.area.width).collect();
    let lines = model.lines.iter().enumerate().skip(model.first).take(height);
    for ((place, line), y) in lines.zip(from..) {
        let Some(subject) = model.subject(&look, line) else { continue };
        let selected = place == model.cursor && model.selected.is_some();
        let style = match (selected, line.of) {
            (true, _) => canvas.theme.selected(),
            (false, Of::Ended(_)) => canvas.theme.faint(),
            _ => Style::new(),
        };
        if selected {
            canvas.buffer.set_style(Rect::new(0, y, canvas.area.width, 1), style);
        }
        row(app, canvas, &look, (line, &subject), &shown, (y, style));
    }
    if model.lines.is_empty() {
        let why = nothing(app);
        let style = canvas.theme.faint();
        canvas.put(0, from, &why, style);
    }
}

/// Why the list is empty.
fn nothing(app: &App) -> String {
    use sample::State;
    match app.machine.process_state {
        Some(State::Ok) => "no process to show".to_owned(),
        Some(State::NotRecorded) | None if app.is_recorded() => {
            "no processes have been read at this moment".to_owned()
        }
        Some(state) => format!("processes: {}", state.word()),
        None => "no processes".to_owned(),
    }
}

fn row(
    app: &App,
    canvas: &mut Canvas<'_>,
    look: &Look<'_>,
    (line, subject): (&Line, &Subject<'_>),
    shown: &[Column],
    (y, style): (u16, Style),
) {
    let ascii = canvas.theme.ascii;
    let mut x = 0;
    for &column in shown {
        let mut text = canvas.lend();
        let appearance = column.appearance();
        if column == Column::Command {
            command(app, canvas, look, (line, subject), &mut text);
            canvas.put(x, y, &text, style);
        } else {
            if column == Column::User {
                let user = look.user(subject).unwrap_or(b"-");
                format::name(&mut text, user, &mut canvas.bytes, ascii);
                cut(&mut text, appearance.width);
            } else {
                column.write(&mut text, look, subject);
            }
            let plain = style == Style::new();
            let style = if plain { mark(canvas.theme, column, look, subject) } else { style };
            canvas.field(x, y, &text, appearance.width, appearance.left, style);
            x += appearance.width + 1;
        }
        canvas.give(text);
    }
}

/// Long names end in a `+`, as in top.
fn cut(text: &mut String, width: u16) {
    let width = usize::from(width);
    if let Some((at, _)) = text.char_indices().nth(width) {
        let end = text.char_indices().nth(width - 1).map_or(at, |(end, _)| end);
        text.truncate(end);
        text.push('+');
    }
}

/// What draws the eye: much CPU, a process that waits for a disk.
fn mark(theme: Theme, column: Column, look: &Look<'_>, subject: &Subject<'_>) -> Style {
    match column {
        Column::Cpu => match look.cpu(subject) {
            Some(cpu) if cpu >= 50.0 => theme.paint(Color::Red).add_modifier(Modifier::BOLD),
            Some(cpu) if cpu >= 5.0 => theme.strong(),
            Some(_) => Style::new(),
            None => theme.faint(),
        },
        Column::State => match column.text(look, subject, false) {
            Some(b"R") => theme.paint(Color::Green).add_modifier(Modifier::BOLD),
            Some(b"D") => theme.paint(Color::Yellow).add_modifier(Modifier::BOLD),
            Some(b"Z") => theme.paint(Color::Red),
            _ => Style::new(),
        },
        _ => Style::new(),
    }
}

fn command(
    app: &App,
    canvas: &mut Canvas<'_>,
    look: &Look<'_>,
    (line, subject): (&Line, &Subject<'_>),
    text: &mut String,
) {
    let settings = &app.model.settings;
    let ascii = canvas.theme.ascii;
    if settings.tree && line.depth > 0 {
        text.extend(std::iter::repeat_n(' ', usize::from(line.depth - 1) * 2));
        text.push_str(if ascii { "`-" } else { "└─" });
    }
    if line.folded {
        text.push_str("[+]");
    }
    if let Subject::Ended(ended) = subject {
        columns::write_end(text, ended);
    }
    // A program without arguments of its own is one of the kernel's, or a zombie.
    let full = settings.full && !matches!(subject, Subject::Process(row) if look.is_thread(row));
    let name = look.command(subject, full).unwrap_or(b"-");
    // What is cut off anyway is not escaped first.
    let room = usize::from(canvas.area.width) * 4;
    let name = &name[..name.len().min(room)];
    format::name(text, name, &mut canvas.bytes, ascii);
}

/// The last line: a question, a message, or the keys.
fn bottom(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let strong = canvas.theme.strong();
    let typed = match &app.prompt {
        Prompt::Filter(text) => Some(("only lines with: ", text)),
        Prompt::Search(text) => Some(("search: ", text)),
        Prompt::User(text) => Some(("only this user's: ", text)),
        Prompt::Interval(text) => Some(("seconds between samples: ", text)),
        _ => None,
    };
    if let Some((question, text)) = typed {
        let x = canvas.put(0, y, question, strong);
        let x = canvas.put(x, y, text, Style::new());
        canvas.put(x, y, " ", canvas.theme.header());
        return;
    }
    if let Some(notice) = &app.notice {
        canvas.put(0, y, notice, strong);
        return;
    }
    let mut state = String::new();
    if app.paused && !app.is_recorded() {
        state.push_str("stopped  ");
    }
    if !app.model.settings.filter.is_empty() {
        state.push_str(&format!("with '{}'  ", app.model.settings.filter));
    }
    if let Some(user) = &app.model.settings.user {
        state.push_str(&format!("of {user}  "));
    }
    let x = canvas.put(0, y, &state, strong);
    let keys = if app.is_recorded() {
        "?help  q end  Left/Right sample  PgUp/PgDn minute  Space play  g group  t tree"
    } else {
        "?help  q end  / search  f filter  o sort  g group  t tree  k kill  e ended"
    };
    canvas.put(x, y, keys, canvas.theme.faint());
}
