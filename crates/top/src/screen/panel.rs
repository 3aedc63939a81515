//! The machine above the list, in as many lines as fit.

use std::fmt::Write as _;

use ratatui_core::style::{Color, Style};

use crate::app::App;
use crate::format;
use crate::machine::{CPU_BUSY, CPU_STATES, MachineValues};
use terminal::{Canvas, Theme, name as put_name};

/// With fewer lines on the screen, the panel has only the title, CPU and memory.
const HEIGHT_FOR_ALL: u16 = 16;

/// With fewer lines on the screen, the panel has only the title.
const HEIGHT_FOR_SOME: u16 = 9;

/// Eighths of a character, for bars and histories.
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const PLAIN_BLOCKS: [&str; 9] = [" ", ".", ".", ":", ":", "-", "=", "+", "#"];

/// Shown instead of dashes if the recording or the machine has none of a line's numbers.
const NOT_KNOWN: &str = "not known";

/// Columns before the numbers of the lines with bars.
pub(super) const BAR_WIDTH: u16 = 20;

/// Draws the panel; returns its number of lines.
pub(super) fn draw(app: &App, canvas: &mut Canvas<'_>) -> u16 {
    title(app, canvas);
    let height = canvas.area.height;
    if !app.shows_machine || height < HEIGHT_FOR_SOME {
        return 1;
    }
    let machine = &app.machine;
    cpu(app, canvas, 1);
    memory(machine, canvas, 2);
    if height < HEIGHT_FOR_ALL {
        return 3;
    }
    swap(machine, canvas, 3);
    traffic(app, canvas, 4);
    tasks(app, canvas, 5);
    6
}

/// Machine, time and load at the left, the cost of whit at the right.
fn title(app: &App, canvas: &mut Canvas<'_>) {
    let machine = &app.machine;
    let mut own = String::from("whit ");
    format::percent(&mut own, machine.own_cpu);
    own.push_str("% ");
    format::size(&mut own, machine.own_resident);
    own.push(' ');
    format::whole(&mut own, machine.own_calls);
    own.push_str(" calls/s");
    let width = canvas.area.width;
    // The cost of whit is always at the right end; on narrow screens only its CPU usage.
    if width < 48 {
        own.truncate(own.find('%').map_or(own.len(), |at| at + 1));
    }
    let own_width = u16::try_from(own.len()).unwrap_or(width);
    let own_at = width.saturating_sub(own_width);
    canvas.put(own_at, 0, &own, canvas.theme.paint(Color::Cyan));

    // The parts that fit before it.
    let room = usize::from(own_at.saturating_sub(1));
    let mut text = canvas.take_buffer();
    moment(app, &mut text);
    let mut part = String::new();
    let host = app.readings.meta.host();
    if !host.is_empty() {
        part.push_str("  ");
        put_name(&mut part, host.as_bytes(), &mut canvas.bytes, canvas.theme.ascii);
    }
    push_if_fits(&mut text, &mut part, room);
    part.push_str("  load");
    for load in machine.load {
        part.push(' ');
        match load {
            Some(load) => drop(write!(part, "{load:.2}")),
            None => part.push('-'),
        }
    }
    push_if_fits(&mut text, &mut part, room);
    part.push_str("  up ");
    let minutes = machine.uptime_seconds.map(|seconds| (seconds / 60.0).floor() * 60.0);
    format::stretch(&mut part, minutes);
    push_if_fits(&mut text, &mut part, room);
    let strong = canvas.theme.strong();
    canvas.buffer.set_stringn(0, 0, &text, room, strong);
    canvas.return_buffer(text);
}

/// Moves a part to the end of a text, if all of it fits into `room` columns; else it is dropped.
fn push_if_fits(text: &mut String, part: &mut String, room: usize) {
    let columns = ratatui_core::text::Span::raw(&**text).width();
    if columns + ratatui_core::text::Span::raw(&**part).width() <= room {
        text.push_str(part);
    }
    part.clear();
}

/// The time of the sample, with the date in a recording.
fn moment(app: &App, text: &mut String) {
    let frame = app.readings.frame();
    let Ok(at) = jiff::Timestamp::from_nanosecond(i128::from(frame.realtime_ns)) else { return };
    let at = at.to_zoned(app.zone.clone());
    let _ = if app.is_recorded() {
        text.push_str(if app.paused { "" } else { "> " });
        write!(text, "{}", at.strftime("%Y-%m-%d %H:%M:%S"))
    } else {
        write!(text, "{}", at.strftime("%H:%M:%S"))
    };
}

fn cpu(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let machine = &app.machine;
    let theme = canvas.theme;
    canvas.put(0, y, "CPU", theme.strong());
    let colours =
        [Color::Green, Color::Blue, Color::Red, Color::Magenta, Color::Magenta, Color::Yellow];
    let parts: Vec<(f64, Color)> = machine.cpu[..CPU_BUSY]
        .iter()
        .zip(colours)
        .map(|(share, colour)| (share.unwrap_or(0.0), colour))
        .collect();
    bar(canvas, 4, y, &parts);
    let mut x = canvas.put(5 + BAR_WIDTH, y, "", Style::new()) + 1;
    let mut text = canvas.take_buffer();
    for (name, share) in CPU_STATES.iter().zip(machine.cpu) {
        // Interrupts and stolen time only if there are any, or if all fit.
        let rare = matches!(*name, "hi" | "si" | "st" | "ni");
        if rare && canvas.area.width < 100 && share.is_none_or(|share| share < 0.05) {
            continue;
        }
        text.clear();
        format::percent(&mut text, share);
        let _ = write!(text, "{name} ");
        x = put_if_fits(canvas, x, y, &text, Style::new());
    }
    canvas.return_buffer(text);
    let width = canvas.area.width;
    if width > x + 8 {
        history(app, canvas, x + 1, y, width);
    }
}

/// Busy shares of the latest ticks, the latest at the right.
fn history(app: &App, canvas: &mut Canvas<'_>, from: u16, y: u16, to: u16) {
    let room = usize::from(to - from);
    let style = canvas.theme.paint(Color::Green);
    let history = &app.panel.history;
    let shown = history.iter().skip(history.len().saturating_sub(room));
    let start = to - u16::try_from(history.len().min(room)).unwrap_or(0);
    for (x, share) in (start..to).zip(shown) {
        canvas.put(x, y, block(canvas.theme, *share), style);
    }
}

/// The block character of a share in percent.
pub(super) fn block(theme: Theme, share: Option<f64>) -> &'static str {
    (if theme.ascii { PLAIN_BLOCKS } else { BLOCKS })[level(share)]
}

/// The block character of a share; anything above 0 is visible.
fn level(share: Option<f64>) -> usize {
    match share {
        Some(share) if share > 0.0 => ((share / 100.0 * 8.0).ceil() as usize).clamp(1, 8),
        _ => 0,
    }
}

/// A bar of several parts, each in its colour; in percent of the whole.
pub(super) fn bar(canvas: &mut Canvas<'_>, x: u16, y: u16, parts: &[(f64, Color)]) {
    let Theme { ascii, .. } = canvas.theme;
    canvas.put(x, y, "[", Style::new());
    canvas.put(x + BAR_WIDTH, y, "]", Style::new());
    let inside = f64::from(BAR_WIDTH - 1);
    let (mut sum, mut at) = (0.0, 0u16);
    for (share, colour) in parts {
        sum += share;
        let end = (sum / 100.0 * inside).round().clamp(0.0, inside) as u16;
        let style = canvas.theme.paint(*colour);
        while at < end {
            canvas.put(x + 1 + at, y, if ascii { "|" } else { "■" }, style);
            at += 1;
        }
    }
}

fn memory(machine: &MachineValues, canvas: &mut Canvas<'_>, y: u16) {
    canvas.put(0, y, "Mem", canvas.theme.strong());
    if machine.memory_total.is_none() {
        canvas.put(4, y, NOT_KNOWN, canvas.theme.faint());
        return;
    }
    bar(canvas, 4, y, &[(machine.memory_used().unwrap_or(0.0), Color::Green)]);
    let used = machine
        .memory_total
        .and_then(|total| Some(total - machine.memory_available.or(machine.memory_free)?));
    let parts = [
        ("used", used),
        ("of", machine.memory_total),
        ("free", machine.memory_free),
        ("cache", machine.memory_cached),
    ];
    sizes(canvas, y, &parts);
}

fn swap(machine: &MachineValues, canvas: &mut Canvas<'_>, y: u16) {
    canvas.put(0, y, "Swp", canvas.theme.strong());
    if machine.swap_total.is_none() && machine.pressure.iter().all(Option::is_none) {
        canvas.put(4, y, NOT_KNOWN, canvas.theme.faint());
        return;
    }
    let used = machine.swap_total.and_then(|total| Some(total - machine.swap_free?));
    let share = match (used, machine.swap_total) {
        (Some(used), Some(total)) if total > 0.0 => used / total * 100.0,
        _ => 0.0,
    };
    bar(canvas, 4, y, &[(share, Color::Yellow)]);
    let x = sizes(canvas, y, &[("used", used), ("of", machine.swap_total)]);
    let mut text = canvas.take_buffer();
    let mut at = x;
    let is_known = machine.pressure.iter().any(Option::is_some);
    let names = ["Stalled cpu", "io", "mem"].iter().filter(|_| is_known);
    for (name, share) in names.zip(machine.pressure) {
        text.clear();
        let _ = write!(text, " {name} ");
        format::percent(&mut text, share);
        text.push('%');
        at = put_if_fits(canvas, at, y, &text, Style::new());
    }
    canvas.return_buffer(text);
}

/// Named sizes in KiB after a bar; returns the column after them.
fn sizes(canvas: &mut Canvas<'_>, y: u16, parts: &[(&str, Option<f64>)]) -> u16 {
    let mut text = canvas.take_buffer();
    let mut x = BAR_WIDTH + 6;
    for (name, kib) in parts {
        if *name != "of" {
            x = put_if_fits(canvas, x, y, &text, Style::new());
            text.clear();
        }
        format::size(&mut text, kib.map(|kib| kib * 1024.0));
        // `1.2G used of 3.8G` reads better than `1.2G used 3.8G of`.
        if *name == "of" {
            let size = text.split_off(text.rfind(' ').map_or(0, |at| at + 1));
            let _ = write!(text, "of {size} ");
        } else {
            let _ = write!(text, " {name} ");
        }
    }
    let x = put_if_fits(canvas, x, y, &text, Style::new());
    canvas.return_buffer(text);
    x
}

/// Puts a part of a line, if all of it fits: a number is never cut.  Returns the column after it; the
/// width of the screen if it does not fit, so that nothing comes after it.
fn put_if_fits(canvas: &mut Canvas<'_>, x: u16, y: u16, text: &str, style: Style) -> u16 {
    let width = canvas.area.width;
    let length = u16::try_from(text.trim_end().chars().count()).unwrap_or(u16::MAX);
    if x.saturating_add(length) > width {
        return width;
    }
    canvas.put(x, y, text, style)
}

fn traffic(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let machine = &app.machine;
    let mut x = 0;
    let pairs = [
        ("Dsk", "in", machine.disk_read, "out", machine.disk_write),
        ("Net", "in", machine.net_in, "out", machine.net_out),
    ];
    for (name, first, first_rate, second, second_rate) in pairs {
        let mut text = canvas.take_buffer();
        let mut style = Style::new();
        if first_rate.is_none() && second_rate.is_none() {
            text.push_str(NOT_KNOWN);
            style = canvas.theme.faint();
        } else {
            let _ = write!(text, "{first} ");
            format::size(&mut text, first_rate);
            let _ = write!(text, "/s {second} ");
            format::size(&mut text, second_rate);
            text.push_str("/s");
        }
        let length = text.len();
        let end = put_if_fits(canvas, x + 4, y, &text, style);
        if x + 4 + u16::try_from(length).unwrap_or(u16::MAX) <= canvas.area.width {
            canvas.put(x, y, name, canvas.theme.strong());
        }
        canvas.return_buffer(text);
        x = (x + BAR_WIDTH + 9).max(end.saturating_add(2));
    }
    let mut text = canvas.take_buffer();
    text.push_str("unattributed ");
    format::percent(&mut text, machine.unattributed);
    text.push_str("% CPU");
    put_if_fits(canvas, x, y, &text, Style::new());
    canvas.return_buffer(text);
}

fn tasks(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let machine = &app.machine;
    canvas.put(0, y, "Tsk", canvas.theme.strong());
    let mut text = canvas.take_buffer();
    let levels = [
        (machine.processes, " processes "),
        (machine.threads, " threads "),
        (machine.running, " running "),
    ];
    let rates =
        [(machine.births, " born/s "), (machine.execs, " run/s "), (machine.exits, " ended/s")];
    let parts = levels.map(|(number, name)| (number, name, true)).into_iter();
    let mut x = 4;
    for (number, name, is_whole) in parts.chain(rates.map(|(rate, name)| (rate, name, false))) {
        text.clear();
        let write = if is_whole { format::whole } else { format::rate };
        write(&mut text, number);
        text.push_str(name);
        x = put_if_fits(canvas, x, y, &text, Style::new());
    }
    text.clear();
    // Lost exit events come first; the way of reading is shown if it still fits.
    let lost = machine.exits_lost.unwrap_or(0.0) + app.list.ended.refused() as f64;
    if lost > 0.0 {
        let _ = write!(text, " {lost:.0} ends lost");
    } else if let Some(way) = &machine.way {
        let _ = write!(text, "  ({way})");
    }
    put_if_fits(canvas, x, y, &text, Style::new());
    canvas.return_buffer(text);
}
