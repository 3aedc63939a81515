//! Windows over the list: help, sort column, signal, and its confirmation.

use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::canvas::Canvas;
use crate::app::{App, Prompt};
use crate::columns::Column;
use crate::format;
use crate::keys::HELP;
use crate::kill::SIGNALS;

/// Draws the open window, if there is one.
pub(super) fn draw(app: &App, canvas: &mut Canvas<'_>) {
    match &app.prompt {
        Prompt::Help { first } => help(app, canvas, *first),
        Prompt::Sort { chosen } => {
            let lines: Vec<String> = Column::ALL
                .iter()
                .map(|column| {
                    let (name, about) = column.named();
                    format!("{name:<7}{about}")
                })
                .collect();
            choice(canvas, "Sort by: Up, Down, Enter", &lines, *chosen);
        }
        Prompt::Signal { pid, command, chosen, .. } => {
            let title = target("Signal to", *pid, command, canvas);
            let lines: Vec<String> =
                SIGNALS.iter().map(|(name, number)| format!("{number:>3} {name}")).collect();
            choice(canvas, &title, &lines, *chosen);
        }
        Prompt::Confirm { pid, command, chosen, .. } => {
            let title = target(&format!("Send {} to", SIGNALS[*chosen].0), *pid, command, canvas);
            choice(canvas, &title, &["y: yes".to_owned(), "any other key: no".to_owned()], 9);
        }
        _ => {}
    }
}

fn target(what: &str, pid: i32, command: &[u8], canvas: &mut Canvas<'_>) -> String {
    let mut text = format!("{what} {pid} ");
    let short = &command[..command.len().min(40)];
    format::name(&mut text, short, &mut canvas.bytes, canvas.theme.ascii);
    text
}

fn help(app: &App, canvas: &mut Canvas<'_>, first: usize) {
    let recorded = app.is_recorded();
    let lines: Vec<String> = HELP
        .iter()
        .filter(|(_, _, only)| only.is_none_or(|only| only == recorded))
        .map(|(keys, about, _)| format!("{keys:<20}{about}"))
        .collect();
    let title = "whit top: watch everything, weigh nothing (Up, Down; any key closes)";
    let height = usize::from(canvas.area.height.saturating_sub(4)).max(1);
    let first = first.min(lines.len().saturating_sub(height));
    window(canvas, title, &lines[first..], usize::MAX);
}

/// A list with one chosen line, which is always visible.
fn choice(canvas: &mut Canvas<'_>, title: &str, lines: &[String], chosen: usize) {
    let height = usize::from(canvas.area.height.saturating_sub(4)).max(1);
    let first = (chosen + 1).saturating_sub(height).min(lines.len().saturating_sub(1));
    let first = if chosen < lines.len() { first } else { 0 };
    window(canvas, title, &lines[first..], chosen.wrapping_sub(first));
}

fn window(canvas: &mut Canvas<'_>, title: &str, lines: &[String], chosen: usize) {
    let area = canvas.area;
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let wanted = u16::try_from(widest.max(title.chars().count()) + 4).unwrap_or(u16::MAX);
    let width = wanted.min(area.width);
    let wanted = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let height = wanted.min(area.height.saturating_sub(2)).max(1);
    let (x, y) = ((area.width - width) / 2, (area.height.saturating_sub(height)) / 2);
    let blank = " ".repeat(usize::from(width));
    let header = canvas.theme.header();
    for line in 0..height {
        let style = if line == 0 || line + 1 == height { header } else { Style::new() };
        canvas
            .buffer
            .set_style(Rect::new(x, y + line, width, 1).intersection(area), Style::reset());
        canvas.put(x, y + line, &blank, style);
    }
    let room = usize::from(width.saturating_sub(2));
    let put = |canvas: &mut Canvas<'_>, y: u16, text: &str, style: Style| {
        if y < area.height && x + 1 < area.width {
            canvas.buffer.set_stringn(x + 1, y, text, room, style);
        }
    };
    put(canvas, y, title, header);
    for (index, (line, row)) in lines.iter().zip(y + 1..(y + height).saturating_sub(1)).enumerate()
    {
        let style = if index == chosen { canvas.theme.selected() } else { Style::new() };
        put(canvas, row, line, style);
    }
}
