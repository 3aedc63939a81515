//! Windows over what is drawn: lines below a title, of which one may be chosen.

use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use crate::canvas::Canvas;

/// A list with one chosen line, which is always visible.
pub fn choice(canvas: &mut Canvas<'_>, title: &str, lines: &[String], chosen: usize) {
    let height = usize::from(canvas.area.height.saturating_sub(4)).max(1);
    let first = (chosen + 1).saturating_sub(height).min(lines.len().saturating_sub(1));
    let first = if chosen < lines.len() { first } else { 0 };
    window(canvas, title, &lines[first..], chosen.wrapping_sub(first));
}

/// Help: keys and what they do, from the one at `first` on, or from an earlier one where all that
/// follow have room.  What is longer than the screen is wide goes on in the next line.
pub fn keys_help(canvas: &mut Canvas<'_>, title: &str, keys: &[(&str, &str)], first: usize) {
    const TEXT_MIN: usize = 16;
    let column = keys.iter().map(|(keys, _)| keys.chars().count()).max().unwrap_or(0) + 2;
    let width = usize::from(canvas.area.width).saturating_sub(2 + column).max(TEXT_MIN);
    let lines_of = |(keys, about): &(&str, &str)| -> Vec<String> {
        let texts = broken_at_words(about, width).into_iter();
        let keys = [*keys].into_iter().chain(std::iter::repeat(""));
        keys.zip(texts).map(|(keys, text)| format!("{keys:<column$}{text}")).collect()
    };
    let all: Vec<Vec<String>> = keys.iter().map(lines_of).collect();
    let height = usize::from(canvas.area.height.saturating_sub(4)).max(1);
    let mut first = first.min(all.len());
    while first > 0 && all[first - 1..].iter().map(Vec::len).sum::<usize>() <= height {
        first -= 1;
    }
    window(canvas, title, &all[first.min(all.len().saturating_sub(1))..].concat(), usize::MAX);
}

/// The lines of a text; a word that is longer than a line has one of its own.
fn broken_at_words(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().filter(|line| {
            line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width
        });
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A window over the middle: a title and lines, of which one may be chosen.
pub fn window(canvas: &mut Canvas<'_>, title: &str, lines: &[String], chosen: usize) {
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
