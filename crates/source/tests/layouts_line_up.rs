//! The headings of whit's own letters stand above their columns.  (collectl's letters have
//! collectl's headings, which do not always; those are held by golden output.)

use sample::{Cell, Form, Show};

/// Letters that collectl does not have.
const LETTERS: &str = "agGkKpqQrRvVw";

fn width(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.lead.len() + cell.width).sum()
}

#[test]
fn headings_are_as_wide_as_what_stands_below() {
    let mut wrong = Vec::new();
    let layouts = source::ALL.iter().flat_map(|entry| entry.def.layouts);
    for layout in layouts.filter(|layout| LETTERS.contains(layout.letter)) {
        for block in layout.brief {
            let Show::Cells(cells) = &block.show else { continue };
            for text in block.headings.iter().chain([&block.title]) {
                let wanted = width(cells) + 1;
                if text.len() != wanted {
                    wrong.push(format!("-s{} {} of {wanted} {text:?}", layout.letter, text.len()));
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
                    wrong.push(format!("-s{} {} of {wanted} {text:?}", layout.letter, text.len()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
