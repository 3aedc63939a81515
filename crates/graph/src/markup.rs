//! Texts with Pango markup (`--pango-markup`): tags are taken out, entities decoded.
//!
//! Parts of a text are not drawn in another style.  A text that is not well-formed is shown as it
//! is.

use crate::font::{FontChoice, Tabs, TextLine};
use crate::settings::{Settings, TextRole};

/// Lays a text out in pixels of the picture before its zoom; tags of markup are taken out.
///
/// `zoom` is 1 where room is reserved, and the picture's where the text is drawn.
#[must_use]
pub(crate) fn lay_out(text: &str, font: FontChoice, settings: &Settings, zoom: f64) -> TextLine {
    let border = (settings.font(TextRole::Legend).points * 2.0).trunc();
    let tabs = Tabs(settings.tab_width + border);
    let plain = if settings.markup { plain(text) } else { text.to_owned() };
    crate::font::lay_out(&plain, font, tabs, zoom)
}

/// The text without tags and with its entities decoded; as it is where it is not well-formed.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        out.push_str(&rest[..at]);
        let end = if rest[at..].starts_with('<') { '>' } else { ';' };
        let Some(length) = rest[at..].find(end) else { return text.to_owned() };
        let inside = &rest[at + 1..at + length];
        if end == ';' {
            let Some(character) = entity(inside) else { return text.to_owned() };
            out.push(character);
        }
        rest = &rest[at + length + 1..];
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}
