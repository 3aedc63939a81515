//! Consolidation of rows to a larger step, as graphs do it.

use std::ffi::{c_int, c_long, c_ulong};

use graph::elements::Consolidation;
use graph::series::SeriesTable;

use crate::call::{Failed, status};
use crate::memory;

/// The consolidations, in the order of `enum cf_en`.
const CONSOLIDATIONS: [Consolidation; 10] = [
    Consolidation::Average,
    Consolidation::Minimum,
    Consolidation::Maximum,
    Consolidation::Last,
    Consolidation::HwPredict,
    Consolidation::Seasonal,
    Consolidation::DevPredict,
    Consolidation::DevSeasonal,
    Consolidation::Failures,
    Consolidation::MhwPredict,
];

/// Most values.
const CELLS_MAX: i64 = 1 << 27;

/// Consolidates rows of `row_step` seconds to at least `step` seconds.  Gives 1, or -1 after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_reduce_data(
    function: c_int,
    row_step: c_ulong,
    start: *mut c_long,
    end: *mut c_long,
    step: *mut c_ulong,
    source_count: *mut c_ulong,
    data: *mut *mut f64,
) -> c_int {
    let done = status(|| {
        let wrong = || Failed("librrd: rrd_reduce_data: no such rows".to_owned());
        let consolidation = usize::try_from(function).ok().and_then(|one| CONSOLIDATIONS.get(one));
        let consolidation = *consolidation.ok_or_else(wrong)?;
        // SAFETY: the caller gives all places, filled.
        let (start_s, end_s, wanted, columns) =
            unsafe { (*start, *end, *step as i64, *source_count as i64) };
        let row_step = i64::try_from(row_step).ok().filter(|step| *step > 0).ok_or_else(wrong)?;
        let cells = ((end_s - start_s) / row_step).checked_mul(columns);
        let cells = cells.filter(|cells| (0..=CELLS_MAX).contains(cells)).ok_or_else(wrong)?;
        // SAFETY: the caller gives a value for each row and source.
        let values = unsafe { std::slice::from_raw_parts(*data, cells as usize) }.to_vec();
        let columns = vec![String::new(); columns as usize];
        let table = SeriesTable { start_s, end_s, step_s: row_step, columns, values };
        let reduced = graph::series::reduce(&table, consolidation, wanted.max(1));
        let reduced = reduced.map_err(|error| Failed(error.to_string()))?;
        // SAFETY: as above; the data are of `malloc` and are replaced.
        unsafe {
            memory::free(*data);
            *data = memory::array(&reduced.values);
            *start = reduced.start_s;
            *end = reduced.end_s;
            *step = reduced.step_s as c_ulong;
        }
        Ok(())
    });
    if done == 0 { 1 } else { -1 }
}
