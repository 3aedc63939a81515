//! The screen: the machine, the list, and a line of messages.
//!
//! Everything is drawn into ratatui's buffer, which is compared with the last one, and only
//! differences are sent.  Only lines on the screen are formatted, in one reused string.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use crate::app::{App, Prompt, SampleFeed};
use crate::columns::{self, Column};
use crate::list::{Line, LineKind};
use crate::panes::Pane;
use crate::values::{GroupBy, ListItem, TickValues};

mod detail;
mod panel;
mod panes;
mod windows;

pub(crate) use terminal::Theme;
use terminal::{Canvas, name as put_name};

/// Draws everything.
pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, theme: Theme) {
    let area = buffer.area;
    app.width = area.width;
    let mut canvas = Canvas::new(buffer, theme);
    if area.height == 0 || area.width == 0 {
        return;
    }
    let used = panel::draw(app, &mut canvas);
    let last = area.height - 1;
    (app.drawn.end, app.drawn.panes) = (last, Vec::new());
    if last > used {
        if app.detail.is_some() {
            detail::draw(app, &mut canvas, used, last);
        } else if app.pane != Pane::Processes {
            panes::draw(app, &mut canvas, used, last);
        } else {
            header(app, &mut canvas, used);
            list(app, &mut canvas, used + 1, last);
        }
    }
    if area.height > 1 {
        bottom(app, &mut canvas, last);
    }
    windows::draw(app, &mut canvas);
}

fn header(app: &mut App, canvas: &mut Canvas<'_>, y: u16) {
    let settings = &app.list.settings;
    let style = canvas.theme.header();
    let width = canvas.area.width;
    canvas.buffer.set_style(Rect::new(0, y, width, 1), style);
    let mut x = 0;
    let mut ends = Vec::new();
    for column in app.columns() {
        let appearance = column.appearance();
        let sorted = column == settings.sort;
        let style =
            if sorted { style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED) } else { style };
        let title = match (column, settings.grouping) {
            (Column::Command, Some(GroupBy::Cgroup)) => "CGROUP",
            (Column::Command, Some(GroupBy::User)) => "USER",
            _ => appearance.title,
        };
        if column == Column::Command {
            canvas.put(x, y, title, style);
        } else {
            canvas.field(x, y, title, appearance.width, appearance.left, style);
            x += appearance.width + 1;
            ends.push((x, column));
        }
    }
    (app.drawn.titles, app.drawn.columns) = (y, ends);
}

fn list(app: &mut App, canvas: &mut Canvas<'_>, from: u16, to: u16) {
    let height = usize::from(to - from);
    app.page = height.saturating_sub(1).max(1);
    app.list.scroll(height);
    let values = app.readings.values();
    let list = &app.list;
    let shown = app.columns();
    let lines = list.lines.iter().enumerate().skip(list.first).take(height);
    for ((index, line), y) in lines.zip(from..) {
        let Some(item) = list.item(&values, line) else { continue };
        let selected = index == list.cursor && list.selected.is_some();
        let style = match (selected, line.of) {
            (true, _) => canvas.theme.selected(),
            (false, LineKind::Ended(_)) => canvas.theme.faint(),
            (false, _) if list.is_tagged(&item) => {
                canvas.theme.paint(Color::Yellow).add_modifier(Modifier::BOLD)
            }
            _ => Style::new(),
        };
        if selected {
            canvas.buffer.set_style(Rect::new(0, y, canvas.area.width, 1), style);
        }
        row(app, canvas, &values, (line, &item), &shown, (y, style));
    }
    if list.lines.is_empty() {
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
    values: &TickValues<'_>,
    (line, item): (&Line, &ListItem<'_>),
    shown: &[Column],
    (y, style): (u16, Style),
) {
    let ascii = canvas.theme.ascii;
    let mut x = 0;
    for &column in shown {
        let mut text = canvas.take_buffer();
        let appearance = column.appearance();
        if column == Column::Command {
            command(app, canvas, values, (line, item), &mut text);
            canvas.put(x, y, &text, style);
        } else {
            if column == Column::User {
                let user = values.user(item).unwrap_or(b"-");
                put_name(&mut text, user, &mut canvas.bytes, ascii);
                cut(&mut text, appearance.width);
            } else {
                column.write(&mut text, values, item);
            }
            let plain = style == Style::new();
            let style = if plain { mark(canvas.theme, column, values, item) } else { style };
            canvas.field(x, y, &text, appearance.width, appearance.left, style);
            x += appearance.width + 1;
        }
        canvas.return_buffer(text);
    }
}

/// Long names are cut and end in a `+`, as in top.
pub(crate) fn cut(text: &mut String, width: u16) {
    let width = usize::from(width);
    if let Some((at, _)) = text.char_indices().nth(width) {
        let end = text.char_indices().nth(width - 1).map_or(at, |(end, _)| end);
        text.truncate(end);
        text.push('+');
    }
}

/// Highlights: much CPU, a process that waits for a disk.
fn mark(theme: Theme, column: Column, values: &TickValues<'_>, item: &ListItem<'_>) -> Style {
    match column {
        Column::Cpu => match values.cpu(item) {
            Some(cpu) if cpu >= 50.0 => theme.paint(Color::Red).add_modifier(Modifier::BOLD),
            Some(cpu) if cpu >= 5.0 => theme.strong(),
            Some(_) => Style::new(),
            None => theme.faint(),
        },
        Column::State => match column.text(values, item, false) {
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
    values: &TickValues<'_>,
    (line, item): (&Line, &ListItem<'_>),
    text: &mut String,
) {
    let settings = &app.list.settings;
    let ascii = canvas.theme.ascii;
    if settings.tree && line.depth > 0 {
        text.extend(std::iter::repeat_n(' ', usize::from(line.depth - 1) * 2));
        text.push_str(if ascii { "`-" } else { "└─" });
    }
    if line.folded {
        text.push_str("[+]");
    }
    if let ListItem::Ended(ended) = item {
        columns::write_end(text, ended);
    }
    // A process without arguments is a kernel thread, or a zombie.
    let full = settings.full && !matches!(item, ListItem::Process(row) if values.is_thread(row));
    let name = values.command(item, full).unwrap_or(b"-");
    let is_group = matches!(item, ListItem::Group(_));
    let name = if settings.path || is_group { name } else { without_folders(name) };
    // Only the part that can fit is escaped.
    let room = (usize::from(canvas.area.width) + app.sideways) * 4;
    let name = &name[..name.len().min(room)];
    let at = text.len();
    put_name(text, name, &mut canvas.bytes, ascii);
    if app.sideways > 0 && !is_group {
        let end =
            text[at..].char_indices().nth(app.sideways).map_or(text.len(), |(end, _)| at + end);
        text.replace_range(at..end, "");
    }
}

/// The panes of the feed, with the one that is shown marked.
fn pane_titles(app: &mut App, canvas: &mut Canvas<'_>, x: u16, y: u16) {
    let faint = canvas.theme.faint();
    let mut x = canvas.put(x, y, "?help Tab:", faint);
    for pane in Pane::of_feed(&app.readings.frame()) {
        let style = if pane == app.pane { canvas.theme.header() } else { faint };
        let begin = x + 1;
        if begin + u16::try_from(pane.title().len()).unwrap_or(0) <= canvas.area.width {
            x = canvas.put(begin, y, pane.title(), style);
            app.drawn.panes.push((begin..x, pane));
        }
    }
}

/// A command line whose program has no folders, so that the program's name comes first.
fn without_folders(line: &[u8]) -> &[u8] {
    if line.first() != Some(&b'/') {
        return line;
    }
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    let name = line[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    if name < end { &line[name..] } else { line }
}

/// The last line: a question, a message, or the keys.
fn bottom(app: &mut App, canvas: &mut Canvas<'_>, y: u16) {
    let strong = canvas.theme.strong();
    let typed = match &app.prompt {
        Prompt::Filter(text) => Some(("show only lines that contain: ", text)),
        Prompt::Search(text) => Some(("search: ", text)),
        Prompt::User(text) => Some(("show only processes of user: ", text)),
        Prompt::Interval(text) => Some(("seconds between samples: ", text)),
        Prompt::Time(text) => Some(("go to: ", text)),
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
    if let SampleFeed::Remote(remote) = &app.feed {
        put_name(&mut state, remote.name.as_bytes(), &mut canvas.bytes, canvas.theme.ascii);
        state.push_str("  ");
    }
    if app.paused && !app.is_recorded() {
        state.push_str("paused  ");
    }
    if !app.list.tagged.is_empty() {
        state.push_str(&format!("{} tagged  ", app.list.tagged.len()));
    }
    if app.sideways > 0 {
        state.push_str(&format!("commands from column {}  ", app.sideways + 1));
    }
    if !app.list.settings.filter.is_empty() {
        state.push_str(&format!("with '{}'  ", app.list.settings.filter));
    }
    if let Some(user) = &app.list.settings.user {
        state.push_str(&format!("of {user}  "));
    }
    let x = canvas.put(0, y, &state, strong);
    if app.pane != Pane::Processes && app.detail.is_none() {
        pane_titles(app, canvas, x, y);
        return;
    }
    let keys: &[&str] = if app.detail.is_some() {
        &["?help", "Esc back", "Tab next page", "Up/Down lines", "k kill"]
    } else if app.is_recorded() {
        &[
            "?help",
            "q end",
            "Left/Right sample",
            "PgUp/PgDn minute",
            "Space play",
            "Enter one",
            "g group",
        ]
    } else if app.is_remote() {
        &["?help", "q hosts", "/ search", "f filter", "o sort", "g group", "t tree", "e ended"]
    } else {
        &[
            "?help",
            "q end",
            "Enter one",
            "/ search",
            "f filter",
            "o sort",
            "g group",
            "t tree",
            "k kill",
        ]
    };
    canvas.keys(x, y, keys);
}
