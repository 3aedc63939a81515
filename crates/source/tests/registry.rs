//! The registry agrees with itself: names, letters, units and helps of every source.

use std::collections::BTreeSet;

use sample::{Kind, Unit};

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[test]
fn sources_stand_in_order_and_have_names_of_their_own() {
    let names: Vec<&str> = source::ALL.iter().copied().map(|entry| entry.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted, "alphabetical, each once");
    for name in names {
        assert!(is_name(name), "{name}");
        assert!(source::find(name).is_some());
    }
}

#[test]
fn every_source_says_what_it_is() {
    for def in source::ALL.iter().copied() {
        assert!(def.letters.bytes().all(|b| b.is_ascii_alphabetic()), "{}", def.name);
        assert!(!def.about.is_empty() && !def.about.ends_with('.'), "{}: about", def.name);
        assert!(!def.fields.is_empty(), "{}: no fields", def.name);
        for path in def.reads {
            let is_known =
                ["/proc", "/sys", "/dev/shm", "/run"].iter().any(|top| path.starts_with(top));
            assert!(is_known, "{}: {path}", def.name);
        }
        for label in def.instance {
            assert!(is_name(label), "{}: label {label}", def.name);
        }
    }
}

#[test]
fn every_field_has_a_name_a_unit_and_a_help() {
    for def in source::ALL.iter().copied() {
        let mut seen = BTreeSet::new();
        for field in def.fields {
            let at = format!("{}.{}", def.name, field.name);
            assert!(is_name(&field.name), "{at}");
            assert!(seen.insert(&field.name), "{at}: twice");
            assert!(!field.help.is_empty() && !field.help.ends_with('.'), "{at}: help");
            assert_eq!(field.kind == Kind::Text, field.unit == Unit::Text, "{at}: text or number");
        }
    }
}

#[test]
fn layouts_are_for_levels_that_the_source_has() {
    let mut shown = BTreeSet::new();
    for def in source::ALL.iter().copied() {
        for layout in def.layouts {
            let levels: Vec<_> = def.def().levels().collect();
            assert!(levels.contains(&layout.level), "{}: {:?}", def.name, layout.level);
            let Some(letter) = def.def().letter(layout.level) else { continue };
            // What adds to the sums of another, or lines below its own, has no columns on a line
            // and in a plot file that another one has too.
            let adds = layout.brief.is_empty() && layout.plot.is_none();
            let first = adds || shown.insert(letter);
            assert!(first, "two layouts for -s{letter}");
        }
    }
}
