//! The registry agrees with itself: names, letters, units and helps of every source.

use std::collections::BTreeSet;

use layout::{Frame, OptionKind, OptionValue, Options};
use sample::{History, Kind, Level, Meta, Snapshot, State, Unit};

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

/// Whether the detail layout keeps each of 200 instances, of which these fields have values, and all
/// texts.
fn kept(entry: &source::Entry, options: &Options, has: impl Fn(usize) -> bool) -> Vec<bool> {
    let defs = [std::sync::Arc::new(entry.def())];
    let (mut history, mut random) = (History::new(&defs), testkit::Random::from_seed(17));
    for reading in 1..=2_u64 {
        let mut snapshot = Snapshot::new(&defs);
        (snapshot.monotonic_ns, snapshot.realtime_ns) = (reading << 30, (reading << 30) as i64);
        snapshot.fresh[0] = true;
        let sample = &mut snapshot.samples[0];
        (sample.monotonic_ns, sample.realtime_ns) = (reading << 30, (reading << 30) as i64);
        sample.state = State::Ok;
        for instance in 0..200_u64 {
            let mut row = sample.table.row(instance.to_string().as_bytes());
            for (field, facts) in entry.fields.iter().enumerate() {
                let value = random.below(2) * 1_000 * reading * random.below(2);
                match facts.kind {
                    Kind::Text => row.set_text(field, b"fan"),
                    _ if has(field) => row.set(field, value),
                    _ => {}
                }
            }
        }
        history.push(&mut snapshot);
    }
    let meta = Meta::new();
    let frame = Frame::new(&history, &meta, options);
    let detail = options.layouts.at(&defs[0], Level::Detail).unwrap();
    frame.whole(&frame.tracks[0]).rows().map(|row| (detail.keep)(&row)).collect()
}

#[test]
fn layouts_keep_instances_by_the_fields_that_they_name() {
    let mut by_fields = 0;
    for entry in source::ALL.iter().copied() {
        if !entry.layouts.iter().any(|layout| layout.level == Level::Detail) {
            continue;
        }
        let mut variants = vec![Options::default(), Options::default()];
        variants[1].letters = "x".to_owned();
        for option in entry.options {
            let OptionKind::Letters { known, .. } = option.kind else { continue };
            let mut options = Options::default();
            options.of_sources.set(option, OptionValue::Text(known.to_owned()));
            variants.push(options);
        }
        for mut options in variants {
            options.layouts = layout::LayoutLookup(source::layouts_of);
            let layout = options.layouts.at(&entry.def(), Level::Detail).unwrap();
            let Some(read) = (layout.keep_reads)(&options) else { continue };
            let all = kept(entry, &options, |_| true);
            let some = kept(entry, &options, |field| read.contains(&field));
            assert_eq!(all, some, "{}", entry.name);
            by_fields += usize::from(all.contains(&false) && all.contains(&true));
        }
    }
    assert!(by_fields >= 4, "{by_fields}");
}
