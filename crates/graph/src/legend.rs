//! The legend: which text stands where.
//!
//! Texts follow each other on a line until one does not fit or a text ends in a control code: `\l`
//! (or `\n`)
//! left, `\r` right, `\c` centred, `\j` justified, `\s` a small space, `\u` one line up, `\g`
//! glued to the next,
//! `\.` nothing.  Positions are whole pixels where RRDtool's are, so that they agree to the pixel.

use crate::elements::Alignment;
use crate::plot::{Mark, MarkKind};
use crate::settings::{LegendDirection, Settings, TextRole};

/// The texts of a legend, and the room it takes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Legend {
    /// One for each mark, in their order.
    pub texts: Vec<LegendText>,
    /// The height in pixels.
    pub height: i64,
    /// The width in pixels, margins included; only where the legend stands beside the graph.
    pub width: i64,
}

/// A text of the legend.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LegendText {
    /// The text without its control code; empty where the mark has no legend.
    pub text: String,
    /// The left end, from the left of the legend, in pixels.
    pub x: f64,
    /// The bottom, from the top of the legend, in pixels.
    pub y: f64,
}

/// What a text ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    None,
    Glue,
    Left,
    Right,
    Centre,
    Justify,
    Up,
    Space,
}

/// A control code that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Unknown control code at the end of '{text}\\{code}'")]
pub struct UnknownControl {
    /// The text before it.
    pub text: String,
    /// The code.
    pub code: char,
}

/// What is known of the limits before the data are read: rules outside have no legend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleLimits {
    pub(crate) values: (f64, f64),
    pub(crate) times: (i64, i64),
}

impl RuleLimits {
    fn hide(&self, mark: &Mark) -> bool {
        match mark.kind {
            MarkKind::HorizontalRule { value } => value < self.values.0 || value > self.values.1,
            MarkKind::VerticalRule { time } => time < self.times.0 || time > self.times.1,
            _ => false,
        }
    }
}

/// Places all texts.  `width` is the room in pixels; `None`: as much as the longest line needs.
pub(crate) fn place(
    marks: &[Mark],
    settings: &Settings,
    limits: RuleLimits,
    width: Option<i64>,
) -> Result<Legend, UnknownControl> {
    let mut texts = Vec::with_capacity(marks.len());
    let mut controls = Vec::with_capacity(marks.len());
    for mark in marks {
        let hidden = !settings.force_rules_legend && limits.hide(mark);
        let (text, control) =
            if hidden { (String::new(), Control::None) } else { split(&mark.legend)? };
        texts.push(LegendText { text, ..LegendText::default() });
        controls.push(control);
    }
    let placed = Placing::new(settings, width).run(marks, texts, &controls);
    let mut legend = placed;
    turn(&mut legend, marks, settings.legend_direction);
    Ok(legend)
}

/// The text without its control code, tabs in place, and the code.
fn split(legend: &str) -> Result<(String, Control), UnknownControl> {
    let mut text = legend.replace("\\t", "\t");
    let mut ends = text.chars().rev();
    let (last, before) = (ends.next(), ends.next());
    let (Some(code), Some('\\')) = (last, before) else { return Ok((text, Control::None)) };
    text.truncate(text.len() - code.len_utf8() - 1);
    let control = match code {
        'l' | 'n' => Control::Left,
        'r' => Control::Right,
        'j' => Control::Justify,
        'c' => Control::Centre,
        'u' => Control::Up,
        's' => Control::Space,
        '.' => Control::None,
        'g' => {
            text.truncate(text.trim_end_matches(' ').len());
            Control::Glue
        }
        _ => return Err(UnknownControl { text, code }),
    };
    Ok((text, control))
}

/// The state of placing texts one after the other.
struct Placing<'a> {
    settings: &'a Settings,
    size: f64,
    border: i64,
    /// The room for a line, without margins.
    room: f64,
    measure: bool,
    /// Pixels used on the line so far.
    fill: i64,
    /// Texts on the line so far.
    count: i64,
    /// The first mark of the line.
    first: usize,
    y: i64,
}

impl<'a> Placing<'a> {
    fn new(settings: &'a Settings, width: Option<i64>) -> Self {
        let size = settings.font(TextRole::Legend).points;
        let border = (size * 2.0) as i64;
        let room = width.map_or(0.0, |width| (width - 2 * border) as f64);
        let measure = width.is_none();
        Self { settings, size, border, room, measure, fill: 0, count: 0, first: 0, y: 0 }
    }

    fn width(&self, text: &str) -> f64 {
        let font = self.settings.font(TextRole::Legend);
        crate::markup::lay_out(text, font, self.settings, 1.0).width
    }

    fn run(mut self, marks: &[Mark], mut texts: Vec<LegendText>, controls: &[Control]) -> Legend {
        let mut gaps = vec![0; marks.len()];
        let mut align = Alignment::Justified;
        let mut at = 0;
        while at < marks.len() {
            let fill_before = self.fill;
            if let MarkKind::Align(alignment) = marks[at].kind {
                align = alignment;
            }
            let mut control = controls[at];
            if !texts[at].text.is_empty() {
                gaps[at] = if control == Control::Glue { 0 } else { self.border };
                if self.fill > 0 {
                    self.fill += gaps[at];
                }
                self.fill += self.width(&texts[at].text) as i64;
                self.count += 1;
            } else {
                gaps[at] = 0;
            }
            if control == Control::Glue {
                control = Control::None;
            }
            if control == Control::None {
                if self.measure {
                    self.room = self.room.max(self.fill as f64);
                }
                let too_long = self.fill as f64 > self.room;
                if at + 1 == marks.len() || too_long {
                    control = match align {
                        Alignment::Right => Control::Right,
                        Alignment::Center => Control::Centre,
                        Alignment::Justified => Control::Justify,
                        Alignment::Left => Control::Left,
                    };
                }
                if too_long && self.count > 1 {
                    // The text begins the next line.
                    at -= 1;
                    self.fill = fill_before;
                    self.count -= 1;
                }
                if self.count == 1 && control == Control::Justify {
                    control = Control::Left;
                }
            }
            if control != Control::None {
                self.line(control, at, &gaps, &mut texts);
            }
            at += 1;
        }
        let height = (self.y as f64 + self.border as f64 * 0.6) as i64;
        let width = (self.room + 2.0 * self.border as f64) as i64;
        Legend { texts, height, width }
    }

    /// Ends a line with the text of mark `last`.
    fn line(&mut self, control: Control, last: usize, gaps: &[i64], texts: &mut [LegendText]) {
        let border = self.border as f64;
        let spare = self.room - self.fill as f64;
        let glue = match control {
            Control::Justify if self.count >= 2 => spare / (self.count - 1) as f64,
            _ => 0.0,
        };
        let mut x = match control {
            Control::Centre => border + spare / 2.0,
            Control::Right => border + spare,
            _ => border,
        };
        for index in self.first..=last {
            if texts[index].text.is_empty() {
                continue;
            }
            texts[index].x = x;
            texts[index].y = (self.y + self.border) as f64;
            x += self.width(&texts[index].text) + gaps[index] as f64 + glue;
        }
        // Each step is cut to whole pixels.
        let step = |y: i64, by: f64| (y as f64 + by) as i64;
        if x > border || control == Control::Space {
            self.y = step(self.y, self.size * 1.8);
        }
        match control {
            Control::Space => self.y = step(self.y, -self.size),
            Control::Up => self.y = step(self.y, -self.size * 1.8),
            _ => {}
        }
        if self.measure {
            self.room = self.room.max(self.fill as f64);
        }
        (self.fill, self.count, self.first) = (0, 0, last + 1);
    }
}

/// Puts the lines into the order that was asked for.
fn turn(legend: &mut Legend, marks: &[Mark], direction: LegendDirection) {
    if direction == LegendDirection::TopDown {
        return;
    }
    let keep_comments = direction == LegendDirection::BottomUpKeepComments;
    let stays =
        |mark: &Mark| keep_comments && matches!(mark.kind, MarkKind::Text | MarkKind::Align(_));
    let shown = |index: usize| !legend.texts[index].text.is_empty();
    let turned = |index: &usize| shown(*index) && !stays(&marks[*index]);
    let mut turned = (0..marks.len()).filter(turned);
    let Some(first) = turned.next() else { return };
    let last = turned.next_back().unwrap_or(first);
    let heights =
        legend.texts[first..=last].iter().filter(|text| !text.text.is_empty()).map(|text| text.y);
    let top = heights.clone().fold(f64::INFINITY, f64::min);
    let bottom = heights.fold(f64::NEG_INFINITY, f64::max);
    for text in &mut legend.texts[first..=last] {
        text.y = top + bottom - text.y;
    }
}
