//! Rows of a period, and the callback that programs register for names that are no files.

use std::ffi::{CString, c_char, c_int, c_long, c_ulong};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use rrd::fetch::{FetchRequest, FetchedSeries};
use rrd::header::ConsolidationFunction;
use rrdtool::FetchCallback;

use crate::call::{Failed, guard, path, status, text, tool, words};
use crate::error;
use crate::graph::put;
use crate::memory;

/// Where rows go.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) start: *mut c_long,
    pub(crate) end: *mut c_long,
    pub(crate) step: *mut c_ulong,
    pub(crate) source_count: *mut c_ulong,
    pub(crate) names: *mut *mut *mut c_char,
    pub(crate) data: *mut *mut f64,
}

impl Places {
    /// Fetches rows and hands them over.  After an error there is nothing to free: the binding of
    /// Python frees what it finds in the places even then.
    ///
    /// # Safety
    /// Each place is null or may be written.
    pub(crate) unsafe fn take(
        self,
        fetch: impl FnOnce() -> Result<FetchedSeries, Failed>,
    ) -> Result<(), Failed> {
        // SAFETY: as the caller promises.
        unsafe {
            put(self.source_count, 0);
            put(self.names, ptr::null_mut());
            put(self.data, ptr::null_mut());
        }
        let series = fetch()?;
        // SAFETY: as the caller promises.
        unsafe { self.fill(&series) };
        Ok(())
    }

    /// Hands rows over.
    ///
    /// # Safety
    /// Each place is null or may be written.
    unsafe fn fill(self, series: &FetchedSeries) {
        // SAFETY: as the caller promises.
        unsafe {
            put(self.start, series.start);
            put(self.end, series.end);
            put(self.step, series.step_seconds);
            put(self.source_count, series.names.len() as c_ulong);
            if !self.names.is_null() {
                put(self.names, memory::strings(&series.names));
            }
            if !self.data.is_null() {
                put(self.data, memory::array(&series.cells));
            }
        }
    }
}

/// `fetch`: rows of a period.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_fetch(
    argc: c_int,
    argv: *const *mut c_char,
    start: *mut c_long,
    end: *mut c_long,
    step: *mut c_ulong,
    source_count: *mut c_ulong,
    names: *mut *mut *mut c_char,
    data: *mut *mut f64,
) -> c_int {
    let places = Places { start, end, step, source_count, names, data };
    status(|| {
        // SAFETY: the caller gives `argc` texts.
        let fetched = || Ok(rrd::command::fetch(&unsafe { words(argc, argv) }?, &tool())?);
        // SAFETY: the caller gives places for the results, or null.
        unsafe { places.take(fetched) }
    })
}

/// Rows of a period that is given in `start`, `end` and `step`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_fetch_r(
    filename: *const c_char,
    cf: *const c_char,
    start: *mut c_long,
    end: *mut c_long,
    step: *mut c_ulong,
    source_count: *mut c_ulong,
    names: *mut *mut *mut c_char,
    data: *mut *mut f64,
) -> c_int {
    let places = Places { start, end, step, source_count, names, data };
    status(|| {
        let fetched = || {
            // SAFETY: the caller gives two texts and, in the places, the period.
            let (name, file, request) =
                unsafe { (text(filename)?, path(filename)?, request(cf, start, end, step)?) };
            Ok(match name.starts_with("cb//") {
                true => rrd::command::CommandEnvironment::fetch(&tool(), &name, &request)?,
                false => rrd::fetch::fetch(&file, &request)?,
            })
        };
        // SAFETY: the caller gives places for the results, or null.
        unsafe { places.take(fetched) }
    })
}

/// What is wanted.
///
/// # Safety
/// `cf` is a text or null; the others are null or may be read.
pub(crate) unsafe fn request(
    cf: *const c_char,
    start: *const c_long,
    end: *const c_long,
    step: *const c_ulong,
) -> Result<FetchRequest, Failed> {
    // SAFETY: as the caller promises.
    let name = unsafe { text(cf) }?;
    let function = ConsolidationFunction::of(&name)
        .ok_or_else(|| Failed(format!("unknown consolidation function '{name}'")))?;
    if start.is_null() || end.is_null() || step.is_null() {
        return Err(Failed("librrd: a period is missing (NULL)".to_owned()));
    }
    // SAFETY: as the caller promises.
    let (start, end, step_seconds) = unsafe { (*start, *end, *step) };
    if end < start {
        return Err(Failed("malloc fetch data area".to_owned()));
    }
    Ok(FetchRequest { function, start, end, step_seconds })
}

/// The numbers of the consolidation functions, `enum cf_en`.
pub(crate) const FUNCTIONS: [ConsolidationFunction; 10] = [
    ConsolidationFunction::Average,
    ConsolidationFunction::Minimum,
    ConsolidationFunction::Maximum,
    ConsolidationFunction::Last,
    ConsolidationFunction::HwPredict,
    ConsolidationFunction::Seasonal,
    ConsolidationFunction::DevPredict,
    ConsolidationFunction::DevSeasonal,
    ConsolidationFunction::Failures,
    ConsolidationFunction::MhwPredict,
];

/// The number of a consolidation function by its name, -1 if there is none of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_cf_conv(name: *const c_char) -> c_int {
    guard(-1, || {
        // SAFETY: the caller gives a text or null.
        let name = unsafe { text(name) }?;
        let function = ConsolidationFunction::of(&name);
        let number = function.and_then(|one| FUNCTIONS.iter().position(|other| *other == one));
        let unknown = || Failed(format!("unknown consolidation function '{name}'"));
        number.map(|number| number as c_int).ok_or_else(unknown)
    })
}

/// `rrd_fetch_cb_t`: as [`rrd_fetch_r`], with the number of the function; below 0 after an error.
pub type Callback = unsafe extern "C" fn(
    filename: *const c_char,
    cf: c_int,
    start: *mut c_long,
    end: *mut c_long,
    step: *mut c_ulong,
    source_count: *mut c_ulong,
    names: *mut *mut *mut c_char,
    data: *mut *mut f64,
) -> c_int;

static CALLBACK: Mutex<Option<Callback>> = Mutex::new(None);

/// Registers what answers for names that begin with `cb//`; null takes it away.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_fetch_cb_register(callback: Option<Callback>) -> c_int {
    *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner) = callback;
    0
}

/// What answers, if something is registered.
pub(crate) fn callback() -> Option<FetchCallback> {
    let registered = CALLBACK.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    registered.then_some(ask as FetchCallback)
}

/// Most values that a callback may give.
const CELLS_MAX: usize = 1 << 27;

fn ask(name: &str, request: &FetchRequest) -> Result<FetchedSeries, String> {
    // Not held during the call, which may call the library again.
    let callback = *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
    let callback = callback.ok_or("no callback is registered")?;
    let file = CString::new(name).map_err(|_| "a name with a 0 in it")?;
    let number = FUNCTIONS.iter().position(|one| *one == request.function).unwrap_or(0);
    let (mut start, mut end) = (request.start, request.end);
    let (mut step, mut count): (c_ulong, c_ulong) = (request.step_seconds, 0);
    let mut names: *mut *mut c_char = ptr::null_mut();
    let mut data: *mut f64 = ptr::null_mut();
    // SAFETY: the program registered a function of this type; all places are of this call.
    let done = unsafe {
        callback(
            file.as_ptr(),
            number as c_int,
            &raw mut start,
            &raw mut end,
            &raw mut step,
            &raw mut count,
            &raw mut names,
            &raw mut data,
        )
    };
    if done < 0 {
        // SAFETY: the error is a text of this thread.
        let why = unsafe { text(error::rrd_get_error()) };
        return Err(why.unwrap_or_else(|Failed(why)| why));
    }
    let rows = (end - start).checked_div(i64::try_from(step).unwrap_or(0));
    let rows = rows.and_then(|rows| usize::try_from(rows).ok());
    let sources = count as usize;
    let cells = rows.and_then(|rows| rows.checked_mul(sources)).filter(|cells| *cells <= CELLS_MAX);
    let Some(cells) = cells.filter(|_| !names.is_null() && !data.is_null()) else {
        return Err(format!("Your callback returns a start after end. start: {start} end: {end}"));
    };
    // SAFETY: the callback promises `count` names and a value for each row and source, all of
    // `malloc`; they are handed over.
    unsafe {
        let texts = std::slice::from_raw_parts(names, sources);
        let owned = texts.iter().map(|name| text(*name).unwrap_or_default());
        let owned: Vec<String> = owned.collect();
        let values = std::slice::from_raw_parts(data, cells).to_vec();
        texts.iter().for_each(|name| memory::free(*name));
        memory::free(names);
        memory::free(data);
        Ok(FetchedSeries { start, end, step_seconds: step, names: owned, cells: values })
    }
}
