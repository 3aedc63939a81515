//! Which targets an index shows, and in which order.

use std::cmp::Ordering;

use regex::Regex;

use super::{Entry, IndexError, IndexRequest, item};

/// The order of targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexSort {
    /// As in the files.
    #[default]
    Original,
    /// By name; numbers in it count as numbers.
    Name,
    /// By title, as names.
    Title,
    /// By the description in `PageTop`.
    Description,
}

/// A condition: `title=~PATTERN`, `pagetop!~PATTERN`, `name=~PATTERN`.
#[derive(Clone, Debug)]
pub struct IndexFilter {
    area: Area,
    pattern: Regex,
    is_negative: bool,
}

#[derive(Clone, Copy, Debug)]
enum Area {
    Title,
    PageTop,
    Name,
}

impl IndexFilter {
    /// Reads a condition.
    ///
    /// # Errors
    /// If the order is none, or its pattern cannot be used.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let refused = || IndexError::Filter(text.to_owned());
        // The last operator with a pattern after it.
        let at = text.rmatch_indices(['=', '!']).map(|(at, _)| at);
        let mut places = at.filter(|&at| text[at + 1..].starts_with('~') && at + 2 < text.len());
        let at = places.next().filter(|&at| at > 0).ok_or_else(refused)?;
        let area = match &text[..at] {
            "title" => Area::Title,
            "pagetop" => Area::PageTop,
            "name" => Area::Name,
            _ => return Err(refused()),
        };
        let pattern = &text[at + 2..];
        let is_negative = text.as_bytes()[at] == b'!';
        let pattern = Regex::new(pattern).map_err(|_| IndexError::Pattern(pattern.to_owned()))?;
        Ok(IndexFilter { area, pattern, is_negative })
    }

    fn keeps(&self, entry: &Entry<'_>) -> bool {
        let target = entry.target;
        let text = match self.area {
            Area::Title => &target.title,
            Area::PageTop => target.page_top.as_deref().unwrap_or_default(),
            Area::Name => &target.name,
        };
        self.pattern.is_match(text) != self.is_negative
    }
}

/// The targets to show, in order.
pub(super) fn ordered<'a>(
    entries: Vec<Entry<'a>>,
    request: &IndexRequest,
) -> Result<Vec<Entry<'a>>, IndexError> {
    let keeps = |entry: &Entry<'a>| request.filters.iter().all(|filter| filter.keeps(entry));
    let mut entries: Vec<Entry<'a>> = entries.into_iter().filter(keeps).collect();
    let description = |entry: &Entry<'a>| {
        let pattern = r"<td>Description:</td>\s*<td>(?:\S+\s+)?(.+?)</td>";
        let top = entry.target.page_top.as_deref().unwrap_or_default();
        item::found(pattern, top).unwrap_or_default().to_lowercase()
    };
    match request.sort {
        IndexSort::Original => {}
        IndexSort::Name => entries.sort_by(|a, b| by_numbers(&a.target.name, &b.target.name)),
        IndexSort::Title => entries.sort_by(|a, b| {
            let titles = by_numbers(&a.target.title, &b.target.title);
            titles.then_with(|| a.target.name.cmp(&b.target.name))
        }),
        IndexSort::Description => entries.sort_by_cached_key(description),
    }
    if entries.is_empty() { Err(IndexError::Empty) } else { Ok(entries) }
}

/// Compares texts in which each number has nine digits.
fn by_numbers(a: &str, b: &str) -> Ordering {
    padded(a).cmp(&padded(b))
}

fn padded(text: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for character in text.chars().map(Some).chain([None]) {
        match character {
            Some(digit) if digit.is_ascii_digit() => digits.push(digit),
            other => {
                if !digits.is_empty() {
                    let number = digits.trim_start_matches('0');
                    out.push_str(&format!("{number:0>9}"));
                    digits.clear();
                }
                out.extend(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        assert_eq!(by_numbers("eth9", "eth10"), Ordering::Less);
        assert_eq!(by_numbers("a1b2", "a1b10"), Ordering::Less);
        assert_eq!(by_numbers("a010", "a10"), Ordering::Equal);
    }

    #[test]
    fn filters_name_their_area() {
        assert!(IndexFilter::parse("title=~^R").is_ok());
        assert!(IndexFilter::parse("name!~x=y").is_ok());
        for wrong in ["", "title", "colour=~x", "=~x", "title=~", "title=x"] {
            assert!(matches!(IndexFilter::parse(wrong), Err(IndexError::Filter(_))), "{wrong}");
        }
        assert!(matches!(IndexFilter::parse("name=~("), Err(IndexError::Pattern(_))));
    }
}
