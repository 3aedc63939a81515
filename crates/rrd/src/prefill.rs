//! Rows of a new file from those of others: the best rows for each, by time and resolution.
//!
//! For each row of each archive and source, rows of the given files are taken, the same function
//! and resolution first, then averages from fine to coarse, until the time of the row is covered.
//! A row of which too little is covered stays unknown.

use std::cmp::{Ordering, Reverse};

use std::path::PathBuf;

use crate::consolidate::{self, Progress};
use crate::coverage::Coverage;
use crate::error::{Result, refuse};
use crate::header::{
    Archive, ConsolidationFunction, RrdHeader, Time, Values, archive_value, consolidation_value,
    primary_value,
};
use crate::image::{Image, begin, first_state};
use crate::number::UNKNOWN;
use crate::specification::MappedSource;

/// Where the values of a source come from, by its name.
pub(crate) type Mapped = [(String, Option<MappedSource>)];

/// An archive of a given file, and the source in it.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    image: &'a Image,
    archive: usize,
    source: usize,
}

/// Fills a new database from other files.  Its last update becomes the latest of theirs, unless
/// `has_start`.
pub(crate) fn prefill(
    image: &mut Image,
    sources: &[PathBuf],
    has_start: bool,
    mapped: &Mapped,
) -> Result<()> {
    let read = |path: &PathBuf| {
        Image::read(path).map_err(|_| refuse!("Cannot open source RRD {}", path.display()))
    };
    let given = sources.iter().map(read).collect::<Result<Vec<Image>>>()?;
    if !has_start {
        let latest = given.iter().map(|one| one.header.last_update.seconds).max().unwrap_or(0);
        let rows = image.header.current_row.clone();
        image.header.last_update = Time::of_seconds(latest);
        begin(&mut image.header);
        image.header.current_row = rows;
    }
    fill(image, &given, mapped);
    Ok(())
}

/// Fills a new database, whose last update is set, from others.
pub(crate) fn fill(image: &mut Image, given: &[Image], mapped: &Mapped) {
    let points = add_points_archive(image);
    for archive in 0..image.header.archives.len() {
        for source in 0..image.header.sources.len() {
            let mut candidates = candidates(image, source, given, mapped);
            let target = &image.header.archives[archive];
            let row_seconds = image.header.row_seconds(archive);
            candidates.retain(|one| {
                let function = one.archive().function;
                function == ConsolidationFunction::Average || function == target.function
            });
            sort(&mut candidates, target.function, row_seconds);
            if candidates.is_empty() {
                continue;
            }
            for row in 0..image.header.archives[archive].rows {
                if let Some(value) = row_value(&image.header, archive, row, &candidates) {
                    let sources = image.header.sources.len();
                    let at = usize::try_from(row).unwrap_or(0) * sources + source;
                    image.cells[archive][at] = value;
                }
            }
            take_reading(&mut image.header, source, &candidates);
        }
    }
    for archive in 0..image.header.archives.len() {
        for source in 0..image.header.sources.len() {
            let mut candidates = candidates(image, source, given, mapped);
            // Of the archives of a file that are alike the longest comes first.
            candidates.sort_by_key(|one| {
                let file = given.iter().position(|image| std::ptr::eq(image, one.image));
                (file, Reverse(one.archive().rows))
            });
            let state = state(image, archive, source, points.archive, &candidates);
            *image.header.state_mut(archive, source) = state;
        }
    }
    if points.is_added {
        let sources = image.header.sources.len();
        let header = &mut image.header;
        header.archives.pop();
        header.current_row.pop();
        header.consolidation.truncate(header.archives.len() * sources);
        image.cells.pop();
    }
}

/// The archive of single data points from which states are worked out.
struct Points {
    archive: usize,
    is_added: bool,
}

/// Finds an archive of averages of one step that is long enough, or adds one.
fn add_points_archive(image: &mut Image) -> Points {
    let header = &mut image.header;
    let longest = header.archives.iter().map(|one| one.steps_per_row).max().unwrap_or(1);
    let rows = longest.saturating_mul(2).min(1 << 20);
    let is_points =
        |one: &Archive| one.steps_per_row == 1 && one.function == ConsolidationFunction::Average;
    let found = header.archives.iter().enumerate().filter(|(_, one)| is_points(one));
    // Of archives of the same length the first.
    let found = found.max_by_key(|(index, one)| (one.rows, Reverse(*index)));
    if let Some((archive, _)) = found.filter(|(_, one)| one.rows >= rows) {
        return Points { archive, is_added: false };
    }
    let mut values = Values::default();
    values[archive_value::XFILES_FACTOR] = 0.5f64.to_bits();
    header.archives.push(Archive {
        function: ConsolidationFunction::Average,
        rows,
        steps_per_row: 1,
        values,
    });
    header.current_row.push(0);
    let sources = header.sources.len();
    header.consolidation.extend(std::iter::repeat_n(Values::default(), sources));
    image.cells.push(vec![UNKNOWN; usize::try_from(rows).unwrap_or(0) * sources]);
    Points { archive: image.header.archives.len() - 1, is_added: true }
}

/// All archives of all given files that have a source.
fn candidates<'a>(
    image: &Image,
    source: usize,
    given: &'a [Image],
    mapped: &Mapped,
) -> Vec<Candidate<'a>> {
    let name = &image.header.sources[source].name;
    let mapped = mapped.iter().find(|(own, _)| own == name).and_then(|(_, one)| one.as_ref());
    let wanted = mapped.map_or(name.as_str(), |one| one.name.as_str());
    let mut found = Vec::new();
    for (number, image) in (1..).zip(given) {
        if mapped.and_then(|one| one.file).is_some_and(|file| file != number) {
            continue;
        }
        let Some(source) = image.header.source_index(wanted) else { continue };
        let archives = 0..image.header.archives.len();
        found.extend(archives.map(|archive| Candidate { image, archive, source }));
    }
    found
}

/// Puts the best archives first; the files stay in their order.
fn sort(candidates: &mut [Candidate<'_>], function: ConsolidationFunction, row_seconds: u64) {
    let same_file = |a: &Candidate<'_>, b: &Candidate<'_>| std::ptr::eq(a.image, b.image);
    for file in candidates.chunk_by_mut(same_file) {
        file.sort_by_key(|one| (one.archive().steps_per_row, Reverse(one.archive().rows)));
        partition_sort(file, &|a, b| order(a, b, function, row_seconds));
    }
}

/// Which of two archives of a file comes first for an archive of a function and resolution: one
/// like it, then averages, then the finer, then the longer.  Of two like it either does.
fn order(
    a: &Candidate<'_>,
    b: &Candidate<'_>,
    function: ConsolidationFunction,
    row_seconds: u64,
) -> Ordering {
    let seconds = |one: &Candidate<'_>| one.image.header.row_seconds(one.archive);
    let is_like =
        |one: &Candidate<'_>| one.archive().function == function && seconds(one) == row_seconds;
    let is_average = |one: &Candidate<'_>| one.archive().function == ConsolidationFunction::Average;
    if is_like(a) {
        return Ordering::Less;
    }
    if is_like(b) {
        return Ordering::Greater;
    }
    let by_function = is_average(b).cmp(&is_average(a));
    by_function.then(seconds(a).cmp(&seconds(b))).then(b.archive().rows.cmp(&a.archive().rows))
}

/// Sorts by parting at the first element, as RRDtool does: [`order`] is no order for two archives
/// that are both like the one that is filled, so the way matters.
fn partition_sort<T>(list: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    if list.len() < 2 {
        return;
    }
    let (mut low, mut high) = (1, list.len() - 1);
    while low < high {
        if compare(&list[low], &list[0]).is_le() {
            low += 1;
        } else if compare(&list[high], &list[0]).is_ge() {
            high -= 1;
        } else {
            list.swap(low, high);
        }
    }
    if compare(&list[low], &list[0]).is_le() {
        list.swap(low, 0);
        low -= 1;
    } else {
        low -= 1;
        list.swap(low, 0);
    }
    partition_sort(&mut list[..=low], compare);
    partition_sort(&mut list[high..], compare);
}

impl Candidate<'_> {
    fn archive(&self) -> &Archive {
        &self.image.header.archives[self.archive]
    }
}

/// End of a row, in seconds since 1970.
pub(crate) fn row_end(header: &RrdHeader, archive: usize, row: u64) -> i64 {
    let rows = header.archives[archive].rows;
    let back = (header.current_row[archive] + rows - row) % rows;
    header.newest_row(archive) - back as i64 * header.row_seconds(archive) as i64
}

/// The row that a time is in.
pub(crate) fn row_at(header: &RrdHeader, archive: usize, time: i64) -> Option<u64> {
    let seconds = header.row_seconds(archive) as i64;
    let end = time + (seconds - time % seconds) % seconds;
    let newest = header.newest_row(archive);
    let rows = header.archives[archive].rows;
    let back = u64::try_from((newest - end) / seconds.max(1)).ok().filter(|_| end <= newest)?;
    (back < rows).then(|| (header.current_row[archive] + rows - back) % rows)
}

/// The value of a row, if enough of it is covered.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
fn row_value(
    header: &RrdHeader,
    archive: usize,
    row: u64,
    candidates: &[Candidate<'_>],
) -> Option<f64> {
    let target = &header.archives[archive];
    let length = header.row_seconds(archive) as i64;
    let required = (target.double(archive_value::XFILES_FACTOR) * length as f64) as i64;
    let end = row_end(header, archive, row);
    let start = end - length + 1;
    let mut covered = Coverage::of(start, end);
    let mut value = UNKNOWN;
    for one in candidates {
        if covered.total >= length {
            break;
        }
        let own = &one.image.header;
        let rows = one.archive().rows;
        let (Some(first), Some(last)) =
            (row_at(own, one.archive, start), row_at(own, one.archive, end))
        else {
            continue;
        };
        // All rows count as none.
        let count = (last + rows - first + 1) % rows;
        for step in 0..count {
            if covered.total >= length {
                break;
            }
            let row = (first + step) % rows;
            let at = usize::try_from(row).unwrap_or(0) * own.sources.len() + one.source;
            let cell = one.image.cells[one.archive][at];
            if cell.is_nan() {
                continue;
            }
            let row_end = row_end(own, one.archive, row);
            let row_start = row_end - own.row_seconds(one.archive) as i64 + 1;
            let newly = covered.add(row_start, row_end);
            if newly > 0 {
                value = join(target.function, value, cell, length, newly);
            }
        }
    }
    if covered.total <= required || covered.total == 0 {
        return None;
    }
    Some(match target.function {
        ConsolidationFunction::Average => value / covered.total as f64 * length as f64,
        _ => value,
    })
}

/// Adds a value of another row, which covers some seconds, to that of a row so far.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
fn join(function: ConsolidationFunction, value: f64, cell: f64, length: i64, newly: i64) -> f64 {
    match function {
        ConsolidationFunction::Minimum
        | ConsolidationFunction::Maximum
        | ConsolidationFunction::Last
            if value.is_nan() =>
        {
            cell
        }
        ConsolidationFunction::Minimum => {
            if value < cell {
                value
            } else {
                cell
            }
        }
        ConsolidationFunction::Maximum => {
            if value > cell {
                value
            } else {
                cell
            }
        }
        ConsolidationFunction::Last => cell,
        _ => {
            let value = if value.is_nan() { 0.0 } else { value };
            value + cell / length as f64 * newly as f64
        }
    }
}

/// Takes the last reading of a source from a file whose last update was in the same step.
fn take_reading(header: &mut RrdHeader, source: usize, candidates: &[Candidate<'_>]) {
    if header.primary[source].reading() != b"U" {
        return;
    }
    let step_end = |header: &RrdHeader| {
        let step = header.step_seconds as i64;
        header.last_update.seconds / step * step + step
    };
    let own_end = step_end(header);
    let own_begin = own_end - header.step_seconds as i64 + 1;
    for one in candidates {
        let other = &one.image.header;
        let primary = &other.primary[one.source];
        let end = step_end(other);
        let is_same_kind = header.sources[source].kind == other.sources[one.source].kind;
        let is_in_step = (own_begin..=own_end).contains(&end);
        if primary.reading() != b"U" && is_in_step && is_same_kind {
            header.primary[source] = *primary;
            return;
        }
    }
}

/// First and last second of the row that is not complete yet.
fn open_row(header: &RrdHeader, archive: usize) -> (i64, i64) {
    let seconds = header.row_seconds(archive) as i64;
    let begin = header.last_update.seconds / seconds * seconds + 1;
    (begin, begin + seconds - 1)
}

/// The state of an archive and a source: that of another file if it is at the same place, else
/// worked out from the data points.
fn state(
    image: &Image,
    archive: usize,
    source: usize,
    points: usize,
    candidates: &[Candidate<'_>],
) -> Values {
    let header = &image.header;
    let target = &header.archives[archive];
    let step = header.step_seconds as i64;
    let steps_of = |header: &RrdHeader| header.last_update.seconds / step;
    for one in candidates {
        let other = &one.image.header;
        let own = one.archive();
        if own.function == target.function
            && own.steps_per_row == target.steps_per_row
            && other.step_seconds == header.step_seconds
            && open_row(other, one.archive) == open_row(header, archive)
            && steps_of(other) == steps_of(header)
        {
            return *other.state(one.archive, one.source);
        }
    }
    let unknown = header.primary[source].values[primary_value::UNKNOWN_SECONDS];
    let mut values = first_state(header, archive, unknown);
    values[consolidation_value::UNKNOWN] = 0;
    let point_at = |time: i64| {
        let row = usize::try_from(row_at(header, points, time)?).ok()?;
        image.cells[points].get(row * header.sources.len() + source).copied()
    };
    let (begin, end) = open_row(header, archive);
    if target.steps_per_row == 1 {
        values[consolidation_value::PRIMARY] = point_at(begin - step).unwrap_or(0.0).to_bits();
        values[consolidation_value::SECONDARY] = 0;
        return values;
    }
    let row_seconds = header.row_seconds(archive) as i64;
    let mut time = begin - row_seconds;
    while time < end && time < header.last_update.seconds {
        if let Some(point) = point_at(time) {
            let missing = target.steps_per_row - (time % row_seconds / step) as u64;
            let progress = Progress { elapsed: 1, missing, rows: u64::from(missing == 1) };
            consolidate::add_point(target, &mut values, point, progress);
        }
        time += step;
    }
    values
}
