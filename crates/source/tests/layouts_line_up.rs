//! The headings of whit's own letters stand above their columns.  (collectl's letters have
//! collectl's headings, which do not always; those are held by golden output.)

use layout::{Cell, Form, Show};

/// Letters of collectl's, whose headings whit repeats as they are, and those of sources that are
/// shown beside them.
const COLLECTL: &str = "bBcCdDEfFijJmMnNosStTxXyYZ";

fn width(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.lead.len() + cell.width).sum()
}

#[test]
fn headings_are_as_wide_as_what_stands_below() {
    let mut wrong = Vec::new();
    let layouts = source::ALL.iter().copied().flat_map(|entry| {
        let def = entry.def();
        let is_ours =
            move |level| def.letter(level).is_none_or(|letter| !COLLECTL.contains(letter));
        let ours = entry.layouts.iter().filter(move |layout| is_ours(layout.level));
        ours.map(|layout| (entry.name, layout))
    });
    for (name, layout) in layouts {
        for block in layout.brief {
            let Show::Cells(cells) = &block.show else { continue };
            for text in block.headings.iter().chain([&block.title]) {
                let wanted = width(cells) + 1;
                if text.len() != wanted {
                    wrong.push(format!(
                        "{name} {:?} {} of {wanted} {text:?}",
                        layout.level,
                        text.len()
                    ));
                }
            }
        }
        for block in layout.verbose {
            let Show::Cells(cells) = &block.show else { continue };
            for text in block.headings {
                let open_end = cells.last().is_some_and(|cell| cell.form == Form::Left);
                // The heading has a `#` before it, which the cells make up for.
                let fits = 1 + text.len() == width(cells) || open_end;
                let wanted = width(cells) - 1;
                if !fits || text.len() >= 80 {
                    wrong.push(format!(
                        "{name} {:?} {} of {wanted} {text:?}",
                        layout.level,
                        text.len()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
