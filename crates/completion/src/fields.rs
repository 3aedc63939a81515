//! `--fields`: `disk`, `disk.reads`, `disk[sda]`, `disk[sda].reads`.

use crate::argument::CompletedArgument;
use crate::{NameSources, in_list, instances};

/// What may stand in place of the last name of a list of fields.
pub(crate) fn of(asked: &CompletedArgument<'_>, places: &NameSources<'_>) -> Vec<String> {
    let typed = asked.value.rsplit(',').next().unwrap_or_default();
    let defs = instances::defs(asked, places);
    let ends = typed.find(['[', '.']);
    let Some(end) = ends else {
        // A name alone is whole; what may follow it is told once it is typed.
        let mut names: Vec<String> = defs.iter().map(|def| def.name.to_string()).collect();
        if let Some(def) = defs.iter().find(|def| def.name == typed) {
            names.push(format!("{typed}."));
            names.extend((!def.instance.is_empty()).then(|| format!("{typed}[")));
        }
        return in_list(asked.value, names.iter().map(String::as_str));
    };
    let (source, rest) = typed.split_at(end);
    let Some(def) = defs.iter().find(|def| def.name == source) else { return Vec::new() };
    let start = match rest.rfind("].") {
        Some(close) => &typed[..end + close + 2],
        None if rest.starts_with('.') => &typed[..=end],
        None => {
            let names = instances::of(source, asked, places);
            let names: Vec<String> = names.iter().map(|name| format!("{source}[{name}]")).collect();
            return in_list(asked.value, names.iter().map(String::as_str));
        }
    };
    let names: Vec<String> =
        def.fields.iter().map(|field| format!("{start}{}", field.name)).collect();
    in_list(asked.value, names.iter().map(String::as_str))
}
