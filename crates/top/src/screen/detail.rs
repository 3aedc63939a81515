//! One process in place of the list: a title with its pages, its history, and the lines of the page.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use terminal::{Canvas, name as put_name};

use crate::app::App;
use crate::detail::{Detail, Page, SERIES};
use crate::format;

/// Columns before a history.
const HISTORY_AT: u16 = 32;

/// Draws the process from line `from` to before line `to`.
pub(super) fn draw(app: &mut App, canvas: &mut Canvas<'_>, from: u16, to: u16) {
    let Some(detail) = &mut app.detail else { return };
    title(detail, canvas, from);
    let mut y = from + 1;
    if detail.page == Page::Overview && to.saturating_sub(y) > 8 {
        y = history(detail, canvas, y);
    }
    let width = usize::from(canvas.area.width.max(1));
    let mut lines: Vec<String> = Vec::new();
    for line in &detail.lines {
        let mut text = String::new();
        put_name(&mut text, line, &mut canvas.bytes, canvas.theme.ascii);
        wrap(&text, width, &mut lines);
    }
    let height = usize::from(to.saturating_sub(y));
    app.page = height.saturating_sub(1).max(1);
    detail.first = detail.first.min(lines.len().saturating_sub(height));
    for (line, y) in lines.iter().skip(detail.first).zip(y..to) {
        canvas.put(0, y, line, Style::new());
    }
}

/// The process, and the pages with the open one marked.
fn title(detail: &Detail, canvas: &mut Canvas<'_>, y: u16) {
    let style = canvas.theme.header();
    canvas.buffer.set_style(Rect::new(0, y, canvas.area.width, 1), style);
    let ended = if detail.has_ended { " (ended)" } else { "" };
    let mut x = canvas.put(0, y, &format!("{:>7}{ended} ", detail.pid), style);
    for (page, name) in Page::ALL {
        let style = if page == detail.page {
            style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
        } else {
            style
        };
        x = canvas.put(x + 1, y, name, style);
    }
}

/// The numbers with a history that have one; returns the line after them.
fn history(detail: &Detail, canvas: &mut Canvas<'_>, mut y: u16) -> u16 {
    for (index, name) in SERIES.iter().enumerate() {
        let all = || detail.history.iter().map(|point| point[index]);
        if all().all(|value| value.is_none()) {
            continue;
        }
        let max = all().flatten().fold(0.0, f64::max);
        let mut text = format!("{name:<9}");
        for (label, value) in [("now", all().next_back().flatten()), ("max", Some(max))] {
            let mut cell = String::new();
            if index == 0 {
                format::percent(&mut cell, value);
            } else {
                format::size(&mut cell, value);
            }
            text.push_str(&format!(" {label} {cell:>6}"));
        }
        canvas.put(0, y, &text, Style::new());
        let room = usize::from(canvas.area.width.saturating_sub(HISTORY_AT));
        let skip = detail.history.len().saturating_sub(room);
        let style = canvas.theme.paint(Color::Green);
        for (x, value) in (HISTORY_AT..).zip(all().skip(skip)) {
            let share = value.map(|value| if max > 0.0 { value / max * 100.0 } else { 0.0 });
            canvas.put(x, y, super::panel::block(canvas.theme, share), style);
        }
        y += 1;
    }
    y
}

/// Appends a text as lines of `width` columns.
fn wrap(text: &str, width: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let wide = ratatui_core::text::Span::raw(letter.to_string()).width();
        if used + wide > width && used > 0 {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        line.push(letter);
        used += wide;
    }
    lines.push(line);
}
