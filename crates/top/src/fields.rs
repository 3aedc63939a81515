//! The indexes of the columns that `whit top` shows: found by name once, at the start, so that a
//! recording of any version is shown with the columns it has.
//!
//! Costs a few hundred comparisons of short strings, once.

use layout::{Frame, Row};
use sample::{SourceDef, Track};
use std::sync::Arc;

/// Defines structs of column indexes, each under the field's own name.
macro_rules! field_indexes {
    ($(#[$about:meta])* $name:ident: $($field:ident),* $(,)?) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct $name { $(pub(crate) $field: Option<usize>,)* }

        impl $name {
            fn of(def: &SourceDef) -> Self {
                $name { $($field: def.field(stringify!($field).trim_start_matches("r#")),)* }
            }
        }
    };
}

field_indexes! {
    /// Columns of the source `process`.
    ProcessFields:
    command, command_line, user, cgroup, state, tgid, parent, uid, threads, priority, nice,
    processor, user_time, system_time, run_time, run_delay, major_faults, read_bytes,
    write_bytes, r#virtual, resident, swap,
}

field_indexes! {
    /// Columns of the source `exit`.
    ExitFields:
    command, command_line, user, cgroup, uid, parent, start_time, lifetime, exit_code, signal,
    run_time, user_time, system_time, major_faults, read_bytes, write_bytes, peak_resident, origin,
}

field_indexes! {
    /// Columns of the source `process_total`.
    TotalFields:
    way, processes, threads, running, births, execs, exits, exits_lost, attributed, busy,
}

field_indexes! {
    /// Columns of the source `cpu`.
    CpuFields:
    user, nice, system, idle, iowait, irq, softirq, steal, forks, running, blocked, cpus_online,
    load_1m, load_5m, load_15m,
}

field_indexes! {
    /// Columns of the source `memory`.
    MemoryFields:
    total, free, available, buffers, cached, slab_reclaimable, swap_total, swap_free,
}

field_indexes! {
    /// Columns of the source `whit`.
    OwnFields:
    user, system, resident, read_calls, other_calls,
}

/// The index of a source in the feed, and those of its columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SourceFields<P> {
    index: Option<usize>,
    /// The columns of the source.
    pub(crate) fields: P,
}

impl<P> SourceFields<P> {
    fn find(defs: &[Arc<SourceDef>], name: &str, of: fn(&SourceDef) -> P) -> Self
    where
        P: Default,
    {
        let index = defs.iter().position(|def| def.name == name);
        SourceFields { index, fields: index.map_or_else(P::default, |index| of(&defs[index])) }
    }

    /// The source's two readings, if the feed has it.
    pub(crate) fn track<'a>(&self, frame: &Frame<'a>) -> Option<&'a Track> {
        frame.tracks.get(self.index?)
    }

    /// The source as a whole.
    pub(crate) fn row<'a>(&self, frame: &Frame<'a>) -> Option<Row<'a>> {
        Some(frame.whole(self.track(frame)?))
    }
}

/// The sources that the screen shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScreenSources {
    pub(crate) process: SourceFields<ProcessFields>,
    pub(crate) exit: SourceFields<ExitFields>,
    pub(crate) total: SourceFields<TotalFields>,
    pub(crate) cpu: SourceFields<CpuFields>,
    pub(crate) memory: SourceFields<MemoryFields>,
    pub(crate) own: SourceFields<OwnFields>,
}

/// The sources that a live screen reads, in any order.
pub(crate) const SOURCES: &[&str] = &[
    "cpu",
    "cpu_core",
    "memory",
    "pressure",
    "disk",
    "network",
    "cgroup",
    "process",
    "exit",
    "process_total",
    "whit",
];

impl ScreenSources {
    /// Finds all indexes in a feed's sources.
    pub(crate) fn of(defs: &[Arc<SourceDef>]) -> Self {
        ScreenSources {
            process: SourceFields::find(defs, "process", ProcessFields::of),
            exit: SourceFields::find(defs, "exit", ExitFields::of),
            total: SourceFields::find(defs, "process_total", TotalFields::of),
            cpu: SourceFields::find(defs, "cpu", CpuFields::of),
            memory: SourceFields::find(defs, "memory", MemoryFields::of),
            own: SourceFields::find(defs, "whit", OwnFields::of),
        }
    }
}

/// The pid and the start time in ticks, from an instance's name.
pub(crate) fn identity(name: &[u8]) -> Option<(i32, Option<u64>)> {
    let mut parts = name.split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR);
    let number = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let start = parts.next().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    Some((number, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field renamed in a source would silently leave its column empty.
    #[test]
    fn every_column_is_there() {
        let defs: Vec<_> = SOURCES.iter().filter_map(|name| source::find(name)).collect();
        assert_eq!(defs.len(), SOURCES.len());
        let defs: Vec<_> = defs.iter().map(|entry| Arc::new(entry.def())).collect();
        let text = format!("{:?}", ScreenSources::of(&defs));
        assert!(!text.contains("None"), "{text}");
    }

    #[test]
    fn names_are_numbers_and_beginnings() {
        assert_eq!(identity(b"12\x1f345"), Some((12, Some(345))));
        assert_eq!(identity(b"12"), Some((12, None)));
        assert_eq!(identity(b"x\x1f345"), None);
        assert_eq!(identity(b"99999999999\x1f345"), None);
    }
}
