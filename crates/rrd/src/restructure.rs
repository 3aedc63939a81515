//! Data sources and archives added, removed, lengthened and shortened: the words that
//! `rrdtool tune` takes after the name of a file.
//!
//! | word | what it does |
//! |---|---|
//! | `DEL:source` | removes a data source |
//! | `DS:definition` | adds one; its rows are unknown |
//! | `DELRRA:index` | removes an archive |
//! | `RRA:definition` | adds one, filled from the others (`populate.rs`) |
//! | `RRA#index:+rows`, `-rows`, `=rows` | changes the number of rows; new ones are filled |
//!
//! The order of work is RRDtool's, whatever the order of the words: sources, then archives that
//! are there, then new archives.

use crate::error::{Result, refuse};
use crate::header::{Primary, StoredDataSource, Values, archive_value, primary_value};
use crate::image::{Image, first_state};
use crate::layout::READING_BYTES;
use crate::number::{UNKNOWN, leading_integer};
use crate::populate::{self, SourceMap};
use crate::resize;
use crate::specification::{self, Version};

/// Most values of a new archive: 8 GiB.
const CELLS_MAX: usize = 1 << 30;

/// What the words say.
#[derive(Default)]
struct Plan<'a> {
    removed_sources: Vec<&'a str>,
    added_sources: Vec<&'a str>,
    /// The changes of archives; of several of one archive the first counts.
    changes: Vec<RowChange>,
    added_archives: Vec<&'a str>,
}

/// A change of an archive's number of rows.
struct RowChange {
    archive: i64,
    /// `+`, `-` or `=`.
    operation: char,
    rows: i64,
}

/// Adds and removes sources and archives.  `name` is the file's, which decides at which rows
/// seasons are smoothed.
///
/// # Errors
/// If RRDtool would fail too, with its texts; also if a removed source or archive is needed by another.
pub fn restructure(image: &mut Image, words: &[String], name: &[u8]) -> Result<()> {
    let plan = Plan::of(words)?;
    let hash = specification::name_hash(name);
    let old = image.clone();
    turn_to_order(image);
    let map = change_sources(image, &plan)?;
    change_archives(image, &old, &map, &plan)?;
    add_archives(image, &old, &map, &plan.added_archives, hash)
}

impl<'a> Plan<'a> {
    fn of(words: &'a [String]) -> Result<Self> {
        let mut plan = Self::default();
        for word in words {
            let (kind, rest) = ["DEL:", "DS:", "RRA#", "RRA:", "DELRRA:"]
                .iter()
                .find_map(|kind| Some((*kind, word.strip_prefix(kind)?)))
                .filter(|(_, rest)| !rest.is_empty())
                .ok_or_else(|| refuse!("unparseable argument: {word}"))?;
            match kind {
                "DEL:" => plan.removed_sources.push(rest),
                "DS:" => plan.added_sources.push(rest),
                "RRA:" => plan.added_archives.push(rest),
                "RRA#" => plan.changes.push(row_change(rest)?),
                _ => {
                    let archive = i64::from(leading_integer(rest) as i32);
                    if archive < 0 {
                        let needs = "DELRRA requires a non-negative, integer argument";
                        return Err(refuse!("{needs}"));
                    }
                    plan.changes.push(RowChange { archive, operation: '=', rows: 0 });
                }
            }
        }
        Ok(plan)
    }
}

/// Reads `index:+rows` as C's `scanf` does: what follows the digits is not looked at.
fn row_change(text: &str) -> Result<RowChange> {
    let failed = || refuse!("Failed to parse RRA# command");
    let unsigned = |text: &str| {
        let digits = text.trim_start().trim_start_matches('+');
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let number = digits[..length].parse::<u32>().ok()?;
        Some((i64::from(number), text.len() - digits.len() + length))
    };
    let (archive, length) = unsigned(text).ok_or_else(failed)?;
    let rest = text[length..].strip_prefix(':').ok_or_else(failed)?;
    let operation = rest.chars().next().ok_or_else(failed)?;
    let (rows, _) = unsigned(&rest[operation.len_utf8()..]).ok_or_else(failed)?;
    match operation {
        '+' | '-' | '=' => Ok(RowChange { archive, operation, rows }),
        _ => Err(refuse!("Failed to parse RRA# command: invalid operation: {operation}")),
    }
}

/// Puts the rows of all archives into their order, as RRDtool does when it writes a file anew.
fn turn_to_order(image: &mut Image) {
    let sources = image.header.sources.len();
    for ((cells, row), archive) in
        image.cells.iter_mut().zip(&mut image.header.current_row).zip(&image.header.archives)
    {
        let turn = usize::try_from(*row + 1).unwrap_or(0) * sources;
        let length = cells.len().max(1);
        cells.rotate_left(turn % length);
        *row = archive.rows - 1;
    }
}

fn change_sources(image: &mut Image, plan: &Plan<'_>) -> Result<Vec<Option<usize>>> {
    let mut map: Vec<Option<usize>> = (0..image.header.sources.len()).map(Some).collect();
    for name in &plan.removed_sources {
        let Some(index) = image.header.source_index(name) else { continue };
        remove_source(image, index)?;
        map.remove(index);
    }
    for text in &plan.added_sources {
        let (defined, _) = specification::source(text, &image.header.sources)?;
        add_source(image, defined.source);
        map.push(None);
    }
    match image.header.sources.is_empty() {
        true => Err(refuse!("the last data source cannot be removed")),
        false => Ok(map),
    }
}

fn remove_source(image: &mut Image, index: usize) -> Result<()> {
    let sources = image.header.sources.len();
    crate::compute::remove(&mut image.header.sources, index)?;
    let header = &mut image.header;
    header.primary.remove(index);
    keep(&mut header.consolidation, |at| at % sources != index);
    for cells in &mut image.cells {
        keep(cells, |at| at % sources != index);
    }
    Ok(())
}

fn add_source(image: &mut Image, source: StoredDataSource) {
    let header = &mut image.header;
    let sources = header.sources.len();
    let unknown = header.last_update.seconds as u64 % header.step_seconds;
    let mut primary = Primary { reading: [0; READING_BYTES], values: Values::default() };
    primary.set_reading(b"U");
    primary.values[primary_value::UNKNOWN_SECONDS] = unknown;
    primary.values[primary_value::VALUE] = 0.0f64.to_bits();
    let mut states = Vec::with_capacity(header.consolidation.len() + header.archives.len());
    for archive in 0..header.archives.len() {
        let old = archive * sources..(archive + 1) * sources;
        states.extend_from_slice(&header.consolidation[old]);
        states.push(first_state(header, archive, unknown));
    }
    header.consolidation = states;
    header.primary.push(primary);
    header.sources.push(source);
    for (cells, archive) in image.cells.iter_mut().zip(&header.archives) {
        let rows = usize::try_from(archive.rows).unwrap_or(0);
        let row = |row: usize| &cells[row * sources..(row + 1) * sources];
        *cells = (0..rows).flat_map(|at| row(at).iter().copied().chain([UNKNOWN])).collect();
    }
}

fn change_archives(image: &mut Image, old: &Image, map: &SourceMap, plan: &Plan<'_>) -> Result<()> {
    let count = image.header.archives.len();
    let mut stays = vec![true; count];
    for (index, stays) in stays.iter_mut().enumerate() {
        let change = plan.changes.iter().find(|change| change.archive == index as i64);
        let Some(change) = change else { continue };
        let rows = image.header.archives[index].rows as i64;
        let added = match change.operation {
            '+' => change.rows,
            '-' => -change.rows,
            _ => change.rows - rows,
        };
        *stays = rows.saturating_add(added) > 0;
        if *stays && added != 0 {
            resize::resize(image, index, added)?;
            turn_to_order(image);
            populate::fill_rows(image, old, map, index, 0..u64::try_from(added).unwrap_or(0));
        }
    }
    if stays.iter().all(|stays| *stays) {
        return Ok(());
    }
    if plan.added_archives.is_empty() && !stays.contains(&true) {
        return Err(refuse!("the last archive cannot be removed"));
    }
    remove_archives(image, &stays)
}

/// Removes archives.  Those that depend on others name them by their index, which is adapted.
pub(crate) fn remove_archives(image: &mut Image, stays: &[bool]) -> Result<()> {
    let sources = image.header.sources.len();
    let header = &mut image.header;
    for (index, archive) in header.archives.iter_mut().enumerate() {
        if archive.function.is_plain() || !stays[index] {
            continue;
        }
        let dependent = archive.dependent();
        if stays.get(dependent) != Some(&true) {
            let function = archive.function.name();
            return Err(refuse!("rra {index} ({function}) needs rra {dependent}"));
        }
        let new = stays[..dependent].iter().filter(|stays| **stays).count();
        archive.values[archive_value::DEPENDENT] = new as u64;
    }
    keep(&mut header.archives, |index| stays[index]);
    keep(&mut header.current_row, |index| stays[index]);
    keep(&mut image.cells, |index| stays[index]);
    keep(&mut header.consolidation, |at| stays[at / sources]);
    Ok(())
}

fn keep<T>(list: &mut Vec<T>, stays: impl Fn(usize) -> bool) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        stays(at - 1)
    });
}

fn add_archives(
    image: &mut Image,
    old: &Image,
    map: &SourceMap,
    definitions: &[&str],
    hash: u64,
) -> Result<()> {
    let first = image.header.archives.len();
    let mut needed: Option<Version> = None;
    for text in definitions {
        let header = &mut image.header;
        let (archive, version) = specification::archive(text, header.step_seconds, hash)?;
        needed = (version > 3).then_some(version).or(needed);
        header.archives.push(archive);
        specification::add_partners(&mut header.archives, hash)?;
    }
    // RRDtool compares the wrong way round: a file that is older keeps its version.
    if let Some(version) = needed {
        image.header.version = image.header.version.min(version);
    }
    let sources = image.header.sources.len();
    for index in first..image.header.archives.len() {
        let rows = image.header.archives[index].rows;
        let cells = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(sources);
        if cells > CELLS_MAX {
            return Err(refuse!("{rows} rows do not fit into memory"));
        }
        let header = &mut image.header;
        header.consolidation.extend(std::iter::repeat_n(Values::default(), sources));
        header.current_row.push(rows - 1);
        image.cells.push(vec![UNKNOWN; cells]);
        populate::fill_rows(image, old, map, index, 0..rows);
        populate::take_state(image, old, map, index);
    }
    Ok(())
}
