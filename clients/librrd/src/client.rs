//! The client of the caching daemon: one connection, which all threads share.
//!
//! Without a connection the functions give -1 and set no error, as RRDtool's do.

use std::ffi::{c_char, c_int, c_long, c_ulong};
use std::ptr;
use std::sync::{Arc, PoisonError};

use rrd::command::InfoEntry;

use rrd::info::InfoValue;
use rrdclient::{Client, ClientError, InfoField};
use rrdtool::{create_request, fetched_series};

use crate::call::{
    Failed, bytes, connection, daemon_address, guard, now, status, stripped_folder, text, texts,
    tls_files,
};
use crate::error;
use crate::fetch::{Places, request};
use crate::files::create_options;
use crate::graph::put;
use crate::info::{Info, List};
use crate::memory;

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        Failed(error.to_string())
    }
}

fn connected() -> Option<Arc<Client>> {
    connection().lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Runs a command of the connected daemon.
fn ask<T>(failed: T, command: impl FnOnce(&Client) -> Result<T, Failed>) -> T {
    match connected() {
        Some(client) => guard(failed, || command(&client)),
        None => failed,
    }
}

/// Runs a command of the connected daemon that gives nothing.
fn ask_status(command: impl FnOnce(&Client) -> Result<(), Failed>) -> c_int {
    ask(-1, |client| command(client).map(|()| 0))
}

/// An address, or that of `RRDCACHED_ADDRESS`.
///
/// # Safety
/// `address` is a text or null.
unsafe fn address_or_own(address: *const c_char) -> Option<String> {
    // SAFETY: as the caller promises.
    let given = unsafe { bytes(address) }.map(|given| String::from_utf8_lossy(given).into_owned());
    given.or_else(daemon_address).filter(|address| !address.is_empty())
}

/// Connects to a daemon; null is that of `RRDCACHED_ADDRESS`, if there is one.  Gives 0, or the
/// number of the system's error, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_connect(address: *const c_char) -> c_int {
    guard(-1, || {
        // SAFETY: the caller gives a text or null.
        let Some(address) = (unsafe { address_or_own(address) }) else { return Ok(0) };
        let shared = connection();
        let mut held = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|client| client.address() == address) {
            return Ok(0);
        }
        *held = None;
        match Client::connect(&address, stripped_folder().as_deref(), &tls_files()) {
            Ok(client) => *held = Some(Arc::new(client)),
            Err(why) => {
                error::set(&why.to_string());
                let ClientError::Connect(system) = why else { return Ok(-1) };
                return Ok(system.raw_os_error().unwrap_or(-1));
            }
        }
        Ok(0)
    })
}

/// Ends the connection.
#[unsafe(no_mangle)]
pub extern "C" fn rrdc_disconnect() -> c_int {
    *connection().lock().unwrap_or_else(PoisonError::into_inner) = None;
    0
}

/// Whether the daemon of an address is connected.  For null, whether any is, if
/// `RRDCACHED_ADDRESS` is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_is_connected(address: *const c_char) -> c_int {
    guard(0, || {
        let Some(client) = connected() else { return Ok(0) };
        // SAFETY: the caller gives a text or null.
        let is_it = match unsafe { bytes(address) } {
            Some(address) => client.address().as_bytes() == address,
            None => daemon_address().is_some(),
        };
        Ok(c_int::from(is_it))
    })
}

/// Whether any daemon is connected.
#[unsafe(no_mangle)]
pub extern "C" fn rrdc_is_any_connected() -> c_int {
    c_int::from(connected().is_some())
}

/// Asks whether the daemon is there.
#[unsafe(no_mangle)]
pub extern "C" fn rrdc_ping() -> c_int {
    ask_status(|client| Ok(client.ping()?))
}

/// Hands over readings; a time `N` is now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_update(
    filename: *const c_char,
    count: c_int,
    values: *const *const c_char,
) -> c_int {
    ask_status(|client| {
        // SAFETY: the caller gives texts, `count` of them in `values`.
        let (file, mut readings) = unsafe { (text(filename)?, texts(count, values)?) };
        for reading in &mut readings {
            if let Some(rest) = reading.strip_prefix("N:") {
                *reading = format!("{}:{rest}", now().seconds);
            }
        }
        Ok(client.update(&file, &readings)?)
    })
}

/// Has the daemon write what it holds of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_flush(filename: *const c_char) -> c_int {
    // SAFETY: the caller gives a text or null.
    ask_status(|client| Ok(client.flush(&unsafe { text(filename) }?)?))
}

/// Has the daemon begin to write all that it holds.
#[unsafe(no_mangle)]
pub extern "C" fn rrdc_flushall() -> c_int {
    ask_status(|client| Ok(client.flush_all()?))
}

/// Has the daemon drop what it holds of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_forget(filename: *const c_char) -> c_int {
    // SAFETY: the caller gives a text or null.
    ask_status(|client| Ok(client.forget(&unsafe { text(filename) }?)?))
}

/// Connects to a daemon, if there is one, and has it write what it holds of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_flush_if_daemon(
    address: *const c_char,
    filename: *const c_char,
) -> c_int {
    // SAFETY: the same promises.
    unsafe {
        rrdc_connect(address);
        match rrdc_is_connected(address) {
            0 => 0,
            _ => rrdc_flush(filename),
        }
    }
}

/// As [`rrdc_flush_if_daemon`], of all files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_flushall_if_daemon(address: *const c_char) -> c_int {
    // SAFETY: the same promises.
    unsafe {
        rrdc_connect(address);
        match rrdc_is_connected(address) {
            0 => 0,
            _ => rrdc_flushall(),
        }
    }
}

/// What a file keeps and its state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_info(filename: *const c_char) -> *mut Info {
    ask(ptr::null_mut(), |client| {
        // SAFETY: the caller gives a text or null.
        let fields = client.info(&unsafe { text(filename) }?)?;
        let entry = |(key, field)| -> InfoEntry {
            let value = match field {
                InfoField::Double(double) => InfoValue::Double(double),
                InfoField::Count(count) => InfoValue::Count(count),
                InfoField::Text(text) => InfoValue::Text(text),
                InfoField::Int(int) => InfoValue::Int(int),
            };
            (key, value)
        };
        let entries: Vec<InfoEntry> = fields.into_iter().map(entry).collect();
        let mut list = List::new();
        list.extend(&entries);
        Ok(list.into_raw())
    })
}

/// Names of databases and folders, a line each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_list(recursive: c_int, folder: *const c_char) -> *mut c_char {
    ask(ptr::null_mut(), |client| {
        // SAFETY: the caller gives a text or null.
        let names = client.list(&unsafe { text(folder) }?, recursive != 0)?;
        Ok(memory::string(crate::commands::lines(&names).as_bytes()))
    })
}

/// Time of the last update, in seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_last(filename: *const c_char) -> c_long {
    // SAFETY: the caller gives a text or null.
    ask(-1, |client| Ok(client.last(&unsafe { text(filename) }?)?))
}

/// End of the oldest row of an archive, in seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_first(filename: *const c_char, archive: c_int) -> c_long {
    ask(-1, |client| {
        let archive = usize::try_from(archive);
        let archive = archive.map_err(|_| Failed("invalid rraindex number".to_owned()))?;
        // SAFETY: the caller gives a text or null.
        Ok(client.first(&unsafe { text(filename) }?, archive)?)
    })
}

/// Makes a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_create(
    filename: *const c_char,
    step: c_ulong,
    last_update: c_long,
    no_overwrite: c_int,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the same promises.
    unsafe {
        rrdc_create_r2(
            filename,
            step,
            last_update,
            no_overwrite,
            ptr::null(),
            ptr::null(),
            argc,
            argv,
        )
    }
}

/// Makes a file, also from others: `sources` is an array with null at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_create_r2(
    filename: *const c_char,
    step: c_ulong,
    last_update: c_long,
    no_overwrite: c_int,
    sources: *const *const c_char,
    template: *const c_char,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    ask_status(|client| {
        // SAFETY: the caller gives texts, `argc` of them in `argv`.
        let (file, definitions, options) = unsafe {
            let options = create_options(step, last_update, no_overwrite, sources, template)?;
            (text(filename)?, texts(argc, argv)?, options)
        };
        let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
        Ok(client.create(&file, &create_request(&options, &definitions))?)
    })
}

/// Rows of a period that is given in `start` and `end`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_fetch(
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
    ask_status(|client| {
        let any: c_ulong = 1;
        let asked = || {
            // SAFETY: the caller gives two texts and, in the places, the period.
            let (file, request) =
                unsafe { (text(filename)?, request(cf, start, end, &raw const any)?) };
            let function = request.function.name();
            Ok(fetched_series(client.fetch(&file, function, request.start, request.end)?))
        };
        // SAFETY: the caller gives places for the results, or null.
        unsafe { places.take(asked) }
    })
}

/// `rrdc_stats_t`.
#[repr(C)]
pub struct Stats {
    name: *const c_char,
    kind: u16,
    flags: u16,
    value: StatsValue,
    next: *mut Stats,
}

#[derive(Clone, Copy)]
#[repr(C)]
union StatsValue {
    counter: u64,
    gauge: f64,
}

const GAUGE: u16 = 1;
const COUNTER: u16 = 2;

/// Counters that may fall.
const GAUGES: [&str; 3] = ["QueueLength", "TreeNodesNumber", "TreeDepth"];

/// The daemon's counters, as a list.  Gives `ENOTCONN` without a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_stats_get(place: *mut *mut Stats) -> c_int {
    let Some(client) = connected() else { return libc::ENOTCONN };
    status(|| {
        let mut list: *mut Stats = ptr::null_mut();
        for (name, number) in client.stats()?.into_iter().rev() {
            let is_gauge = GAUGES.contains(&name.as_str());
            let value = match is_gauge {
                true => StatsValue { gauge: number as f64 },
                false => StatsValue { counter: number },
            };
            let kind = if is_gauge { GAUGE } else { COUNTER };
            let name = memory::string(name.as_bytes()).cast_const();
            let new = memory::allocate(size_of::<Stats>()).cast::<Stats>();
            // SAFETY: the block is new and large enough; `malloc` aligns for every type.
            unsafe { new.write(Stats { name, kind, flags: 0, value, next: list }) };
            list = new;
        }
        // SAFETY: the caller gives a place for the list, or null.
        unsafe {
            match place.is_null() {
                true => rrdc_stats_free(list),
                false => put(place, list),
            }
        }
        Ok(())
    })
}

/// Frees a list of counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrdc_stats_free(list: *mut Stats) {
    let mut at = list;
    while !at.is_null() {
        // SAFETY: the caller hands over a list of this library, all of it of `malloc`.
        unsafe {
            let next = (*at).next;
            memory::free((*at).name.cast_mut());
            memory::free(at);
            at = next;
        }
    }
}
