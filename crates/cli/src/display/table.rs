//! What `--export rrd,DIR,table=FILE` shows without `-s`: the sources that the table names.

use std::path::Path;

use anyhow::Context;
use layout::Selection;
use recorder::NamedSource;
use sample::Level;

/// The sources that a table of `--export rrd` names; `others` if it names none, only all others.
///
/// # Errors
/// The table cannot be read, or names what no source is or has.
pub(super) fn sources_of_table(path: &Path, others: &str) -> anyhow::Result<Selection> {
    let table = recorder::read_table(Some(path)).context("--export rrd")?;
    let mut selection = Selection::default();
    for NamedSource { line, source, is_whole } in table.sources() {
        let place = || format!("--export rrd: table={}: line {line}", path.display());
        let entry = source::find(source)
            .with_context(|| format!("{}: there is no source '{source}'; see -s", place()))?;
        let def = entry.def();
        let has_instances = !def.instance.is_empty();
        let has_detail = def.levels().any(|level| level == Level::Detail);
        let adds_up = has_detail && def.levels().any(|level| level == Level::Summary);
        if is_whole && has_instances && !adds_up {
            anyhow::bail!("{}: only its instances can be kept: {source}[*]", place());
        }
        if !is_whole && !has_instances {
            anyhow::bail!("{}: {source} has no instances", place());
        }
        let level = if is_whole || !has_detail { Level::Summary } else { Level::Detail };
        match def.letter(level) {
            Some(letter) if selection.has(letter) => {}
            Some(letter) => selection.push_letter(letter),
            None if is_whole => selection.push_name(source),
            None => selection.push_name(&source.to_ascii_uppercase()),
        }
    }
    Ok(if selection.is_empty() { others.into() } else { selection })
}
