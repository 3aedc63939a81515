//! The screen: a title, the records, and a line of messages.
//!
//! Everything is drawn into ratatui's buffer, which is compared with the last one, and only
//! differences are sent.  Only lines on the screen are formatted.

use jiff::Timestamp;
use log_format::LogZone;
use logring::LogLevel;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use terminal::{Canvas, Theme, choice, keys_help, window};

use crate::app::App;
use crate::asked::{Prompt, levels};
use crate::columns::{Column, DAY_WIDTH_MIN};
use crate::keys::HELP;
use crate::row::Row;

/// Keys for the last line.
const KEYS: [&str; 16] = [
    "?help",
    "q end",
    "/ search",
    "l level",
    "t text",
    "o logger",
    "a time",
    "F follow",
    "S counts",
    "Enter all of it",
    "n N next match",
    "x all records",
    "h host",
    "p process",
    "c columns",
    "e export",
];

/// The columns of a screen: those that are not hidden, as far as there is room.
fn columns(app: &App, width: u16) -> Vec<Column> {
    let mut shown: Vec<Column> =
        Column::ALL.into_iter().filter(|column| !app.is_hidden(*column)).collect();
    for left_out in Column::LEFT_OUT {
        let needed: u16 = shown.iter().map(|column| column.width(width) + 1).sum();
        if needed <= width + 1 {
            break;
        }
        shown.retain(|column| *column != left_out);
    }
    shown
}

/// Draws everything.
pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, theme: Theme) {
    let mut canvas = Canvas::new(buffer, theme);
    let Rect { width, height, .. } = canvas.area;
    if width == 0 || height == 0 {
        return;
    }
    title(app, &mut canvas);
    if height > 2 {
        list(app, &mut canvas, height - 1);
    }
    if height > 1 {
        bottom(app, &mut canvas, height - 1);
    }
    windows(app, &mut canvas);
}

/// Text of others, of which the terminal shows only what it can.
fn plain(text: &str, theme: Theme) -> String {
    let is_shown = |c: char| !c.is_control() && (!theme.ascii || c.is_ascii());
    text.chars().map(|c| if is_shown(c) { c } else { '?' }).collect()
}

fn title(app: &App, canvas: &mut Canvas<'_>) {
    let strong = canvas.theme.strong();
    let name = plain(app.origin.name(), canvas.theme);
    let x = canvas.put(0, 0, &name, strong);
    let words = match app.shown.words() {
        words if words.is_empty() => "  all records".to_owned(),
        words => format!("  {}", plain(&words, canvas.theme)),
    };
    let x = canvas.put(x, 0, &words, Style::new());
    if app.follows {
        let green = canvas.theme.paint(Color::Green);
        canvas.put(x, 0, "  follows", green.add_modifier(Modifier::BOLD));
    }
}

fn list(app: &mut App, canvas: &mut Canvas<'_>, last: u16) {
    let (width, height) = (canvas.area.width, usize::from(last - 2));
    app.page = height.saturating_sub(1).max(1);
    app.window.scroll(height.max(1));
    let shown = columns(app, width);
    let header = canvas.theme.header();
    canvas.buffer.set_style(Rect::new(0, 1, width, 1), header);
    let mut x = 0;
    for column in &shown {
        canvas.field(x, 1, column.title(), column.width(width), true, header);
        x += column.width(width) + 1;
    }
    let rows = app.window.rows.iter().enumerate().skip(app.window.first).take(height);
    for ((index, row), y) in rows.zip(2..) {
        let is_chosen = index == app.window.cursor;
        let style = if is_chosen { canvas.theme.selected() } else { Style::new() };
        if is_chosen {
            canvas.buffer.set_style(Rect::new(0, y, width, 1), style);
        }
        line(app, canvas, row, &shown, (y, style, is_chosen));
    }
    if app.window.rows.is_empty() {
        let faint = canvas.theme.faint();
        canvas.put(0, 2, "no record fits", faint);
    }
}

fn line(
    app: &App,
    canvas: &mut Canvas<'_>,
    row: &Row,
    shown: &[Column],
    (y, style, is_chosen): (u16, Style, bool),
) {
    let (screen, theme) = (canvas.area.width, canvas.theme);
    let of_level = if is_chosen { style } else { level_style(theme, row.level) };
    let mut x = 0;
    for column in shown {
        let width = column.width(screen);
        let (text, style) = match column {
            Column::Time => (&*time(row.key.time_ns, app.log_zone, screen), style),
            Column::Level => (row.level.name(), of_level),
            Column::Host => (&*row.host, style),
            Column::Process => (&*row.process, style),
            Column::Thread => (&*row.thread, style),
            Column::Logger => (&*row.logger, style),
            Column::Text => (&*row.text, of_level),
        };
        let text = plain(text, theme);
        if *column == Column::Text {
            let moved: String = text.chars().skip(app.sideways).collect();
            canvas.put(x, y, &moved, style);
        } else {
            canvas.field(x, y, &text, width, true, style);
        }
        x += width + 1;
    }
}

fn level_style(theme: Theme, level: LogLevel) -> Style {
    match level {
        LogLevel::Trace | LogLevel::Delouse | LogLevel::Debug => theme.faint(),
        LogLevel::Info | LogLevel::Notice => Style::new(),
        LogLevel::Warning => theme.paint(Color::Yellow),
        _ => theme.paint(Color::Red).add_modifier(Modifier::BOLD),
    }
}

/// A time: with its day where there is room.
fn time(time_ns: u64, zone: LogZone, width: u16) -> String {
    let text = whole_time(time_ns, zone);
    let from = if width >= DAY_WIDTH_MIN { 0 } else { 11 };
    text.get(from..23).unwrap_or_default().to_owned()
}

/// `2026-11-22 20:00:00.123456789`.
fn whole_time(time_ns: u64, zone: LogZone) -> String {
    let offset_ns = i128::from(zone.offset_seconds) * 1_000_000_000;
    let local = Timestamp::from_nanosecond(i128::from(time_ns) + offset_ns).unwrap_or_default();
    local.strftime("%Y-%m-%d %H:%M:%S.%9f").to_string()
}

/// The last line: a question, a message, or the keys.
fn bottom(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let strong = canvas.theme.strong();
    if let Prompt::Typed { question, text } = &app.prompt {
        let x = canvas.put(0, y, question.words(), strong);
        // The end of a long text is what is typed.
        let room = usize::from(canvas.area.width.saturating_sub(x + 1));
        let skip = text.chars().count().saturating_sub(room);
        let text: String = plain(text, canvas.theme).chars().skip(skip).collect();
        let x = canvas.put(x, y, &text, Style::new());
        let header = canvas.theme.header();
        canvas.put(x, y, " ", header);
        return;
    }
    if let Some(said) = app.notice.as_ref().or(app.window.complaint.as_ref()) {
        let said = plain(said, canvas.theme);
        canvas.put(0, y, &said, strong);
        return;
    }
    canvas.keys(0, y, &KEYS);
}

/// Says in the last line of a screen that was drawn that something is read.
pub(crate) fn busy(buffer: &mut Buffer, theme: Theme) {
    let mut canvas = Canvas::new(buffer, theme);
    let Rect { width, height, .. } = canvas.area;
    if width == 0 || height < 2 {
        return;
    }
    let strong = canvas.theme.strong();
    canvas.put(0, height - 1, &" ".repeat(width.into()), Style::new());
    canvas.field(0, height - 1, "reading; Esc ends it", width, true, strong);
}

/// The window that is open, if one is.
fn windows(app: &App, canvas: &mut Canvas<'_>) {
    match &app.prompt {
        Prompt::None | Prompt::Typed { .. } => {}
        Prompt::Help { first } => {
            keys_help(canvas, "whit log view (Up, Down; any key closes)", HELP, *first);
        }
        Prompt::Details { first } => {
            let Some(row) = app.window.rows.get(app.window.cursor) else { return };
            let lines = details(row, app.log_zone, canvas);
            scrolled(canvas, "The record (Up, Down; any key closes)", &lines, *first);
        }
        Prompt::Level { chosen } => {
            let name = |level: Option<LogLevel>| level.map_or("all", LogLevel::name).to_owned();
            let lines: Vec<String> = levels().into_iter().map(name).collect();
            choice(canvas, "This level and above: Up, Down, Enter", &lines, *chosen);
        }
        Prompt::Columns { chosen } => {
            let line = |column: &Column| {
                let mark = if app.is_hidden(*column) { "[ ]" } else { "[x]" };
                format!("{mark} {}", column.title())
            };
            let lines: Vec<String> = Column::ALL.iter().map(line).collect();
            choice(canvas, "Columns: Enter shows or hides, Esc closes", &lines, *chosen);
        }
        Prompt::Filters { chosen } => {
            let line = |(name, shown): &(String, crate::filters::ShownRecords)| {
                plain(&format!("{name:<16} {}", shown.words()), canvas.theme)
            };
            let lines: Vec<String> = app.named.filters.iter().map(line).collect();
            choice(canvas, "Filters: Enter takes one, d forgets it", &lines, *chosen);
        }
        Prompt::Statistics { by, chosen, counted } => {
            let part = if counted.is_part { " (interrupted)" } else { "" };
            let title =
                format!("{} records by {}{part}: Tab, Enter filters", counted.records, by.name());
            choice(canvas, &title, &counted.lines(*by), *chosen);
        }
    }
}

/// Lines from one on, as far as there are so many that not all fit.
fn scrolled(canvas: &mut Canvas<'_>, title: &str, lines: &[String], first: usize) {
    let height = usize::from(canvas.area.height.saturating_sub(4)).max(1);
    let first = first.min(lines.len().saturating_sub(height));
    window(canvas, title, &lines[first..], usize::MAX);
}

/// All that is known of a record, in lines that fit.
fn details(row: &Row, zone: LogZone, canvas: &Canvas<'_>) -> Vec<String> {
    let mut fields = vec![
        ("time", whole_time(row.key.time_ns, zone)),
        ("level", row.level.name().to_owned()),
        ("host", row.host.clone()),
        ("process", row.process.clone()),
        ("thread", row.thread.clone()),
        ("logger", row.logger.clone()),
        ("place", row.place.clone()),
    ];
    fields.extend(row.pairs.iter().map(|(name, value)| (name.as_str(), value.clone())));
    fields.push(("text", row.text.clone()));
    let room = usize::from(canvas.area.width.saturating_sub(4)).max(20);
    let mut lines = Vec::new();
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        let whole = plain(&format!("{name:<9} {value}"), canvas.theme);
        let mut line = String::new();
        for c in whole.chars() {
            if line.chars().count() >= room {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
        lines.push(line);
    }
    lines
}
