//! Archives with more or fewer rows.

use crate::error::{Result, refuse};
use crate::image::Image;
use crate::number::UNKNOWN;

/// Adds rows to an archive, of unknown values before the oldest row, or takes its oldest rows away.
///
/// # Errors
/// If there is no such archive, or it has not so many rows.
pub fn resize(image: &mut Image, archive: usize, change: i64) -> Result<()> {
    let sources = image.header.sources.len();
    let Some(target) = image.header.archives.get_mut(archive) else {
        return Err(refuse!("no such RRA in this RRD"));
    };
    let rows = i64::try_from(target.rows).unwrap_or(i64::MAX).saturating_add(change);
    if rows < 1 {
        return Err(refuse!("This RRA is not that big"));
    }
    let current = usize::try_from(image.header.current_row[archive]).unwrap_or(0);
    let cells = &mut image.cells[archive];
    // The oldest row follows the newest one.
    let oldest = (current + 1) * sources;
    if change >= 0 {
        let count = usize::try_from(change).unwrap_or(0).saturating_mul(sources);
        if count.saturating_mul(8) > MEMORY_BYTES_MAX {
            return Err(refuse!("{change} rows more do not fit into memory"));
        }
        cells.splice(oldest..oldest, std::iter::repeat_n(UNKNOWN, count));
    } else {
        let count = usize::try_from(-change).unwrap_or(0) * sources;
        let behind = count.min(cells.len() - oldest);
        cells.drain(oldest..oldest + behind);
        // The rest of the oldest rows stands at the beginning.
        let before = count - behind;
        cells.drain(..before);
        image.header.current_row[archive] -= (before / sources.max(1)) as u64;
    }
    target.rows = rows as u64;
    Ok(())
}

/// Most bytes of new rows: 8 GiB.
const MEMORY_BYTES_MAX: usize = 1 << 33;
