//! The list of hosts on the screen: how many send, the columns, all hosts together, a line for each.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use terminal::{Canvas, Theme, choice, keys_help, name as put_name};

use super::columns::HostColumn;
use super::state::{Condition, HostLine, total};
use super::view::{HELP, HostsPrompt, HostsView};
use crate::machine::MachineValues;
use crate::screen::cut;

/// The widths of the names: what `all` and its number need, and what leaves room for numbers.
const HOST_WIDTH_MIN: usize = 8;
const HOST_WIDTH_MAX: usize = 24;

/// Draws everything.
pub(super) fn draw(view: &mut HostsView, buffer: &mut Buffer, theme: Theme) {
    let area = buffer.area;
    let mut canvas = Canvas::new(buffer, theme);
    if area.height == 0 || area.width == 0 {
        return;
    }
    let longest = view.all.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    // A narrow screen keeps half of its width for numbers.
    let most = HOST_WIDTH_MAX.min(usize::from(area.width / 2)).max(HOST_WIDTH_MIN);
    let host_width = u16::try_from(longest.clamp(HOST_WIDTH_MIN, most)).unwrap_or(8);
    view.fit(area.width, host_width);
    title(view, &mut canvas);
    header(view, &mut canvas, 1, host_width);
    let last = area.height - 1;
    if last > 2 {
        let sums = total(&view.all);
        let count = view.all.iter().filter(|line| line.values().is_some()).count();
        let style = canvas.theme.strong();
        numbers(view, &mut canvas, (2, style), (&format!("all {count}"), host_width), &sums);
    }
    if last > 3 {
        lines(view, &mut canvas, (3, last), host_width);
    }
    if area.height > 1 {
        bottom(view, &mut canvas, last);
    }
    windows(view, &mut canvas);
}

/// The time, and how many hosts there are and send.
fn title(view: &HostsView, canvas: &mut Canvas<'_>) {
    let count =
        |of: fn(&Condition) -> bool| view.all.iter().filter(|line| of(&line.condition)).count();
    let sends = count(|condition| matches!(condition, Condition::Sends(_)));
    let silent = count(|condition| matches!(condition, Condition::Silent(_)));
    let failed = count(|condition| matches!(condition, Condition::Failed(_)));
    let at = jiff::Timestamp::from_nanosecond(i128::from(view.realtime_ns)).unwrap_or_default();
    let at = at.to_zoned(view.zone());
    let text = format!("{}  {} hosts: {sends} send", at.strftime("%H:%M:%S"), view.all.len());
    let mut x = canvas.put(0, 0, &text, canvas.theme.strong());
    for (count, what, colour) in [(silent, "silent", Color::Yellow), (failed, "failed", Color::Red)]
    {
        if count > 0 {
            x = canvas.put(x, 0, &format!(", {count} {what}"), canvas.theme.paint(colour));
        }
    }
    let (title, _) = view.sort.title();
    let order = if view.rising { ", smallest first" } else { "" };
    canvas.put(x, 0, &format!("  by {title}{order}"), canvas.theme.faint());
}

fn header(view: &HostsView, canvas: &mut Canvas<'_>, y: u16, host_width: u16) {
    if y >= canvas.area.height {
        return;
    }
    let style = canvas.theme.header();
    canvas.buffer.set_style(Rect::new(0, y, canvas.area.width, 1), style);
    let mut x = 0;
    for &column in &view.shown {
        let (title, width) = column.title();
        let width = if column == HostColumn::Host { host_width } else { width };
        let is_sorted = column == view.sort;
        let style = match is_sorted {
            true => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => style,
        };
        canvas.field(x, y, title, width, column == HostColumn::Host, style);
        x += width + 1;
    }
}

fn lines(view: &mut HostsView, canvas: &mut Canvas<'_>, (from, to): (u16, u16), host_width: u16) {
    let height = usize::from(to - from);
    view.page = height.saturating_sub(1).max(1);
    view.scroll(height);
    for ((place, &at), y) in view.lines.iter().enumerate().skip(view.first).zip(from..to) {
        let line = &view.all[at];
        let is_selected = place == view.cursor && view.selected.is_some();
        let style = if is_selected { canvas.theme.selected() } else { Style::new() };
        if is_selected {
            canvas.buffer.set_style(Rect::new(0, y, canvas.area.width, 1), style);
        }
        match &line.condition {
            Condition::Sends(values) => {
                numbers(view, canvas, (y, style), (&line.name, host_width), values);
            }
            Condition::Silent(why) => {
                reason(canvas, (y, style), line, host_width, (why, Color::Yellow));
            }
            Condition::Failed(why) => {
                reason(canvas, (y, style), line, host_width, (why, Color::Red));
            }
        }
    }
    if view.lines.is_empty() {
        let text = format!("no host has '{}' in its name", view.filter);
        canvas.put(0, from, &text, canvas.theme.faint());
    }
}

/// The name of a host in its field.
fn host(canvas: &mut Canvas<'_>, (y, style): (u16, Style), name: &str, width: u16) {
    let mut text = canvas.take_buffer();
    put_name(&mut text, name.as_bytes(), &mut canvas.bytes, canvas.theme.ascii);
    cut(&mut text, width);
    canvas.field(0, y, &text, width, true, style);
    canvas.return_buffer(text);
}

/// A host that does not send, and why.
fn reason(
    canvas: &mut Canvas<'_>,
    (y, style): (u16, Style),
    line: &HostLine,
    host_width: u16,
    (why, colour): (&str, Color),
) {
    host(canvas, (y, style), &line.name, host_width);
    let style = if style == Style::new() { canvas.theme.paint(colour) } else { style };
    // What hosts say is escaped where it is read.
    if canvas.theme.ascii {
        let why: String = why.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        canvas.put(host_width + 1, y, &why, style);
    } else {
        canvas.put(host_width + 1, y, why, style);
    }
}

/// A name and its numbers.
fn numbers(
    view: &HostsView,
    canvas: &mut Canvas<'_>,
    (y, style): (u16, Style),
    (name, host_width): (&str, u16),
    values: &MachineValues,
) {
    host(canvas, (y, style), name, host_width);
    let mut x = host_width + 1;
    for &column in view.shown.iter().filter(|&&column| column != HostColumn::Host) {
        let mut text = canvas.take_buffer();
        column.write(&mut text, values);
        let (_, width) = column.title();
        let is_plain = style == Style::new();
        let style = if is_plain { mark(canvas.theme, column, values) } else { style };
        canvas.field(x, y, &text, width, false, style);
        canvas.return_buffer(text);
        x += width + 1;
    }
}

/// Highlights: busy CPUs, waits, little memory left, pressure.
fn mark(theme: Theme, column: HostColumn, values: &MachineValues) -> Style {
    let high = theme.paint(Color::Red).add_modifier(Modifier::BOLD);
    let (some, much) = match column {
        HostColumn::Cpu => (50.0, 90.0),
        HostColumn::Memory => (80.0, 95.0),
        HostColumn::Wait
        | HostColumn::Steal
        | HostColumn::PressureCpu
        | HostColumn::PressureIo
        | HostColumn::PressureMemory => (10.0, 30.0),
        _ => return Style::new(),
    };
    match column.number(values) {
        Some(share) if share >= much => high,
        Some(share) if share >= some => theme.paint(Color::Yellow),
        Some(_) => Style::new(),
        None => theme.faint(),
    }
}

/// The last line: a question, a message, or the keys.
fn bottom(view: &HostsView, canvas: &mut Canvas<'_>, y: u16) {
    let strong = canvas.theme.strong();
    if let HostsPrompt::Filter(text) = &view.prompt {
        let x = canvas.put(0, y, "show only hosts that contain: ", strong);
        let x = canvas.put(x, y, text, Style::new());
        canvas.put(x, y, " ", canvas.theme.header());
        return;
    }
    if let Some(notice) = &view.notice {
        canvas.put(0, y, notice, strong);
        return;
    }
    let mut state = String::new();
    if view.paused {
        state.push_str("paused  ");
    }
    if !view.filter.is_empty() {
        state.push_str(&format!("with '{}'  ", view.filter));
    }
    let x = canvas.put(0, y, &state, strong);
    let keys = ["?help", "q end", "Up/Down Enter: processes", "o sort", "< > column", "f filter"];
    canvas.keys(x, y, &keys);
}

/// Windows over the list: help, what to sort by.
fn windows(view: &HostsView, canvas: &mut Canvas<'_>) {
    match &view.prompt {
        HostsPrompt::Help { first } => {
            keys_help(canvas, "Hosts (Up, Down; any key closes)", HELP, *first);
        }
        HostsPrompt::Sort { chosen } => {
            let lines: Vec<String> = HostColumn::ALL
                .iter()
                .map(|column| {
                    let (name, about) = column.named();
                    format!("{name:<9}{about}")
                })
                .collect();
            choice(canvas, "Sort by: Up, Down, Enter", &lines, *chosen);
        }
        HostsPrompt::None | HostsPrompt::Filter(_) => {}
    }
}
