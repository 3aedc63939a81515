//! What may be the value of an option.

use layout::OptionKind;
use sample::Level;
use source::ALL;
use trace::{Abi, CallId};

use crate::argument::CompletedArgument;
use crate::{NameSources, fields, hosts, in_list, instances, logs};

/// The values of an argument that begin as what is typed, and others.
pub(crate) fn of(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    let is_shown = matches!(asked.verb.as_str(), "record" | "play");
    match (asked.verb.as_str(), asked.id) {
        (_, "fields") => fields::of(asked, places),
        (_, "subsystems") if is_shown => subsystems(asked, places),
        ("play", "heaviest") => heaviest(asked, places),
        ("record" | "play", "top") => in_list(asked.value, orders()),
        ("trace", "expressions") => calls(asked.value),
        ("top" | "trace" | "record", "hosts") | ("run", "logins") => {
            in_list(asked.value, hosts::known(places).iter().map(String::as_str))
        }
        (verb, id) if verb.starts_with("log ") => logs::of(id, asked, places),
        (_, id) if is_shown => of_source(id, asked, places),
        _ => Vec::new(),
    }
}

/// Names of sources, as `-s` takes them: small for sums, in capitals for instances.
fn subsystems(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    let defs = instances::defs(asked, places);
    let start = asked.value.rfind([',', '+', '-']).map_or(0, |at| at + 1);
    let (before, typed) = asked.value.split_at(start);
    let has_capitals = typed.starts_with(|letter: char| letter.is_ascii_uppercase());
    let names = defs.iter().filter(|def| !has_capitals || def.levels().any(|l| l == Level::Detail));
    let name = |name: &str| if has_capitals { name.to_ascii_uppercase() } else { name.to_owned() };
    names.map(|def| format!("{before}{}", name(&def.name))).collect()
}

/// Amounts of processes, and fields of any source.
fn heaviest(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    match asked.value {
        value if value.contains(',') => Vec::new(),
        value if value.contains('.') => fields::of(asked, places),
        _ => {
            let amounts = archive::process_amounts().map(str::to_owned);
            amounts.chain(fields::of(asked, places)).collect()
        }
    }
}

/// What lists of instances are sorted by.
fn orders() -> Vec<&'static str> {
    let layouts = ALL.iter().flat_map(|entry| entry.layouts);
    let lists = layouts.filter_map(|layout| layout.top);
    lists.flat_map(|list| list.ranks.iter().map(|rank| rank.name)).collect()
}

/// System calls and classes of them, after `trace=` too.
fn calls(value: &str) -> Vec<String> {
    let typed = value.rfind(['=', ',', '!']).map_or(value, |at| &value[at + 1..]);
    let before = &value[..value.len() - typed.len()];
    let names = CallId::all(Abi::X86_64).filter_map(CallId::known_name);
    trace::class_names().chain(names).map(|name| format!("{before}{name}")).collect()
}

/// Values of an option that a source declares: words, or names of instances.
fn of_source(id: &str, asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    let Some((entry, option)) = source::options().find(|(_, option)| option.name == id) else {
        return Vec::new();
    };
    match option.kind {
        OptionKind::Words(words) => in_list(asked.value, words.iter().copied()),
        OptionKind::NamePatterns | OptionKind::NamePrefixes | OptionKind::NameNumbers => {
            // The filter of CPUs is one of their sum, which has no instances.
            let has_names = |other: &&&source::Entry| {
                let is_shown = |letter| option.letters.contains(letter);
                !other.instance.is_empty() && other.letters.contains(is_shown)
            };
            let other = ALL.iter().find(has_names).filter(|_| entry.instance.is_empty());
            let names = instances::of(other.map_or(entry.name, |other| other.name), asked, places);
            in_list(asked.value, names.iter().map(String::as_str))
        }
        OptionKind::Letters { .. } | OptionKind::Custom(_) => Vec::new(),
    }
}
