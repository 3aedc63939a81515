//! How collectl shows slabs: sums, a line for each cache, plot lines; `--slabopts` and
//! `--slabfilt`.

use std::cmp::Ordering;

use layout::{
    Block, By, Cell, Digest, DigestColumn, DisplayOrder, Fold, Folded, Form, Layout, Lists, Of,
    OptionKind, Plot, PlotColumn, Rank, Role, Row, Shape, Show, SourceOption, Top,
};
use sample::{Level, State};

use super::{
    OBJECT_SIZE, OBJECTS, OBJECTS_ACTIVE, OBJECTS_PER_SLAB, PAGES_PER_SLAB, SLABS, SLABS_ACTIVE,
};

/// The width of the column of names, in characters.
const NAME_WIDTH: usize = 25;

pub(super) static SLAB_OPTIONS: SourceOption = SourceOption {
    name: "slabopts",
    help: "s: only allocated slabs, S: only slabs that changed",
    kind: OptionKind::Letters { known: "sS", default: "" },
    letters: "yY",
    lists: Lists::None,
    ..SourceOption::EMPTY
};

pub(super) static SLAB_FILTER: SourceOption = SourceOption {
    name: "slabfilt",
    value_name: "LIST",
    help: "Slabs to show: prefixes of names",
    kind: OptionKind::NamePrefixes,
    letters: "yY",
    ..SourceOption::EMPTY
};

/// Bytes in a slab of this cache.
fn slab_bytes(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(PAGES_PER_SLAB)? * row.frame.meta.page_size_bytes() as f64)
}

/// The size of objects in bytes.
fn object_bytes(row: &Row<'_>, objects: usize) -> Option<f64> {
    Some(row.gauge(objects)? * row.gauge(OBJECT_SIZE)?)
}

/// The size of slabs in bytes.
fn memory(row: &Row<'_>, slabs: usize) -> Option<f64> {
    Some(row.gauge(slabs)? * slab_bytes(row)?)
}

/// The change of the cache's memory since the previous reading, in bytes.
fn memory_change(row: &Row<'_>) -> Option<f64> {
    Some(row.change(SLABS)? * slab_bytes(row)?)
}

/// The change of the memory in per cent of the previous size; 0 if that was 0.
fn memory_change_percent(row: &Row<'_>) -> Option<f64> {
    let change = memory_change(row)?;
    let before = memory(row, SLABS)? - change;
    Some(if before == 0.0 { 0.0 } else { 100.0 * change / before })
}

/// Whether the number of slabs has changed; true for a new cache.
fn has_changed(row: &Row<'_>) -> bool {
    [SLABS, SLABS_ACTIVE].into_iter().any(|field| row.change(field) != Some(0.0))
}

/// Whether a cache is included in the sums.
fn counts(row: &Row<'_>) -> bool {
    let options = row.options();
    options.value(&SLAB_FILTER).keeps(row.name())
        && (!options.value(&SLAB_OPTIONS).has('S') || has_changed(row))
}

/// Whether a cache has a line.
fn keeps(row: &Row<'_>) -> bool {
    counts(row) && !(row.options().value(&SLAB_OPTIONS).has('s') && row.raw(SLABS) == Some(0))
}

/// The sum over the included caches; 0 if the file was read and no cache is included.
fn total(row: &Row<'_>, of: impl Fn(&Row<'_>) -> Option<f64>) -> Option<f64> {
    let is_read = row.track.current.state == State::Ok;
    row.sum(counts, of).or(is_read.then_some(0.0))
}

/// Caches that have memory.
fn caches_active(row: &Row<'_>) -> Option<f64> {
    total(row, |slab| Some(if slab.raw(SLABS)? > 0 { 1.0 } else { 0.0 }))
}

fn caches(row: &Row<'_>) -> Option<f64> {
    total(row, |_| Some(1.0))
}

/// collectl's sort key is the name, `-`, and the cache's position in the file.
fn by_name(left: &Row<'_>, right: &Row<'_>) -> Ordering {
    let mut digits = (Vec::new(), Vec::new());
    layout::number::push_u64(&mut digits.0, left.index as u64);
    layout::number::push_u64(&mut digits.1, right.index as u64);
    let left = left.name().iter().chain(b"-").chain(&digits.0);
    left.cmp(right.name().iter().chain(b"-").chain(&digits.1))
}

/// As much of the name as fits.
fn short_name<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    let name = row.name();
    Some(&name[..name.len().min(NAME_WIDTH)])
}

const SUMMARY_CELLS: &[Cell] = &[
    Cell::scaled(" ", 7, |row| total(row, |slab| slab.gauge(OBJECTS_ACTIVE))),
    Cell::binary(" ", 7, 0, |row| total(row, |slab| object_bytes(slab, OBJECTS_ACTIVE))),
    Cell::scaled("  ", 7, |row| total(row, |slab| slab.gauge(OBJECTS))),
    Cell::binary(" ", 7, 0, |row| total(row, |slab| object_bytes(slab, OBJECTS))),
    Cell::scaled("  ", 6, |row| total(row, |slab| slab.gauge(SLABS_ACTIVE))),
    Cell::binary(" ", 7, 0, |row| total(row, |slab| memory(slab, SLABS_ACTIVE))),
    Cell::scaled("  ", 6, |row| total(row, |slab| slab.gauge(SLABS))),
    Cell::binary(" ", 7, 0, |row| total(row, |slab| memory(slab, SLABS))),
    Cell::scaled(" ", 6, caches_active),
    Cell::scaled(" ", 6, caches),
];

const SUMMARY_COLUMNS: &[PlotColumn] = &[
    PlotColumn::whole("ObjInUse", |row| total(row, |slab| slab.gauge(OBJECTS_ACTIVE))),
    PlotColumn::whole("ObjInUseB", |row| total(row, |slab| object_bytes(slab, OBJECTS_ACTIVE))),
    PlotColumn::whole("ObjAll", |row| total(row, |slab| slab.gauge(OBJECTS))),
    PlotColumn::whole("ObjAllB", |row| total(row, |slab| object_bytes(slab, OBJECTS))),
    PlotColumn::whole("InUse", |row| total(row, |slab| slab.gauge(SLABS_ACTIVE))),
    PlotColumn::whole("InUseB", |row| total(row, |slab| memory(slab, SLABS_ACTIVE))),
    PlotColumn::whole("All", |row| total(row, |slab| slab.gauge(SLABS))),
    PlotColumn::whole("AllB", |row| total(row, |slab| memory(slab, SLABS))),
    PlotColumn::whole("CacheInUse", caches_active),
    PlotColumn::whole("CacheTotal", caches),
];

pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 50, verbose: 110, plot: 100, lexpr: 1240, gexpr: 1240 },
    // As in collectl: a table of its own, not columns of a line.
    verbose: &[Block {
        when: |_| true,
        title: "SLAB SUMMARY",
        headings: &[
            "<------------Objects------------><--------Slab Allocation-------><--Caches--->",
            "  InUse   Bytes    Alloc   Bytes   InUse   Bytes   Total   Bytes  InUse  Total",
        ],
        show: Show::Cells(SUMMARY_CELLS),
    }],
    plot: Some(Plot { tag: "SLAB", columns: SUMMARY_COLUMNS, ..Plot::EMPTY }),
    ..Layout::EMPTY
};

const DETAIL_CELLS: &[Cell] = &[
    Cell::left("", NAME_WIDTH, short_name),
    Cell::scaled(" ", 6, |row| row.gauge(OBJECTS_ACTIVE)).padded_to(7),
    Cell::binary(" ", 7, 0, |row| object_bytes(row, OBJECTS_ACTIVE)),
    Cell::scaled("  ", 6, |row| row.gauge(OBJECTS)),
    Cell::binary(" ", 7, 0, |row| object_bytes(row, OBJECTS)),
    Cell::scaled("  ", 6, |row| row.gauge(SLABS_ACTIVE)),
    Cell::binary(" ", 7, 0, |row| memory(row, SLABS_ACTIVE)),
    Cell::scaled("  ", 6, |row| row.gauge(SLABS)),
    Cell::binary(" ", 7, 0, |row| memory(row, SLABS)),
    Cell::binary(" ", 7, 0, memory_change).padded_to(6),
    Cell::fixed(" ", 6, 1, memory_change_percent),
];

const DETAIL_COLUMNS: &[PlotColumn] = &[
    PlotColumn::text("SlabName", |row| Some(row.name())),
    PlotColumn::whole("ObjInUse", |row| row.gauge(OBJECTS_ACTIVE)),
    PlotColumn::whole("ObjInUseB", |row| object_bytes(row, OBJECTS_ACTIVE)),
    PlotColumn::whole("ObjAll", |row| row.gauge(OBJECTS)),
    PlotColumn::whole("ObjAllB", |row| object_bytes(row, OBJECTS)),
    PlotColumn::whole("SlabInUse", |row| row.gauge(SLABS_ACTIVE)),
    PlotColumn::whole("SlabInUseB", |row| memory(row, SLABS_ACTIVE)),
    PlotColumn::whole("SlabAll", |row| row.gauge(SLABS)),
    PlotColumn::whole("SlabAllB", |row| memory(row, SLABS)),
    PlotColumn::whole("SlabChg", memory_change),
    PlotColumn::whole("SlabPct", memory_change_percent),
];

pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    headings_each_time: Some(|options| {
        options.value(&SLAB_FILTER).is_set() || options.value(&SLAB_OPTIONS).has('S')
    }),
    position: DisplayOrder {
        verbose: 115,
        plot: 100,
        lexpr: 1500,
        gexpr: 1500,
        ..DisplayOrder::LAST
    },
    verbose: &[Block {
        when: |_| true,
        title: "SLAB DETAIL",
        headings: &[
            "                           <-----------Objects----------><---------Slab Allocation------>\
             <---Change-->",
            "Name                       InUse   Bytes   Alloc   Bytes   InUse   Bytes   Total   Bytes   \
             Diff    Pct",
        ],
        show: Show::Cells(DETAIL_CELLS),
    }],
    plot: Some(Plot {
        tag: "SLAB",
        extension: "slb",
        shape: Shape::Lines,
        columns: DETAIL_COLUMNS,
        ..Plot::EMPTY
    }),
    keep: keeps,
    keep_reads: |_| Some(&[SLABS, SLABS_ACTIVE]),
    order: Some(by_name),
    from_second_reading: true,
    top: Some(&TOP),
    digest: Some(&DIGEST),
    ..Layout::EMPTY
};

const TOP_CELLS: &[Cell] = &[
    Cell::scaled("", 6, |row| row.gauge(OBJECTS)).padded_to(7),
    Cell::scaled(" ", 6, |row| row.gauge(OBJECTS_ACTIVE)).padded_to(7),
    Cell::scaled("  ", 6, |row| row.gauge(OBJECT_SIZE)).padded_to(7),
    Cell::scaled("  ", 6, |row| row.gauge(SLABS_ACTIVE)).padded_to(7),
    Cell::scaled("   ", 6, |row| row.gauge(OBJECTS_PER_SLAB)).padded_to(7),
    Cell::binary("  ", 4, 0, |row| memory(row, SLABS)).padded_to(7),
    Cell::binary(" ", 4, 0, memory_change).padded_to(7),
    Cell::fixed("  ", 6, 1, memory_change_percent),
    Cell::left("  ", 0, |row| Some(row.name())),
];

const fn rank(name: &'static str, about: &'static str, of: fn(&Row<'_>) -> Option<f64>) -> Rank {
    Rank { name, about, kind: "Slabs", by: By::Most(of), shown_by: None }
}

/// collectl's sort key ends with the position in the file, compared as text.
fn by_index_as_text(left: &Row<'_>, right: &Row<'_>) -> Ordering {
    left.index.to_string().cmp(&right.index.to_string())
}

static TOP: Top = Top {
    title: |_| "TOP SLABS $clock",
    blocks: &[Block {
        when: |_| true,
        title: "",
        headings: &["NumObj  ActObj  ObjSize  NumSlab  Obj/Slab  TotSize  TotChg  TotPct  Name"],
        show: Show::Cells(TOP_CELLS),
    }],
    keep: |row, _| row.raw(SLABS) != Some(0),
    tie: by_index_as_text,
    ranks: &[
        rank("numobj", "objects, in use or not", |row| row.gauge(OBJECTS)),
        rank("actobj", "objects in use", |row| row.gauge(OBJECTS_ACTIVE)),
        rank("objsize", "size of an object", |row| row.gauge(OBJECT_SIZE)),
        rank("numslab", "slabs with objects in use", |row| row.gauge(SLABS_ACTIVE)),
        rank("objslab", "objects in a slab", |row| row.gauge(OBJECTS_PER_SLAB)),
        rank("totsize", "memory", |row| memory(row, SLABS)),
        rank("totchg", "absolute change of memory", |row| Some(memory_change(row)?.abs())),
        rank("totpct", "absolute change of memory, in per cent", |row| {
            Some(memory_change_percent(row)?.abs())
        }),
        Rank {
            name: "name",
            about: "name, in ascending order",
            kind: "Slabs",
            by: By::LayoutOrder,
            shown_by: None,
        },
    ],
};

const fn column(name: &'static str, lead: &'static str, width: usize, fold: Fold) -> DigestColumn {
    let value = Of::Number(|row| memory(row, SLABS));
    DigestColumn { name, lead, width, fold, form: Form::Whole, value }
}

/// Indexes of the digest's columns.
const LEAST: usize = 3;
const MOST: usize = 4;

fn spread(folded: &Folded<'_>) -> Option<f64> {
    Some(folded.values[MOST]? - folded.values[LEAST]?)
}

static DIGEST: Digest = Digest {
    name: "slab",
    role: Role::Living,
    extension: "slbs",
    has_times: false,
    is_sorted: true,
    counts: |row| row.options().value(&SLAB_FILTER).keeps(row.name()),
    keep: |folded| folded.values[MOST] != Some(0.0),
    columns: &[
        DigestColumn {
            name: "Slab Name",
            lead: "",
            width: 20,
            fold: Fold::First,
            form: Form::Left,
            value: Of::Text(|row| Some(row.name())),
        },
        column("Start", "  ", 10, Fold::First),
        column("End", "  ", 10, Fold::Last),
        column("Minimum", "  ", 10, Fold::Least),
        column("Maximum", "  ", 10, Fold::Most),
        column("Change", "  ", 8, Fold::From(spread)),
        DigestColumn {
            form: Form::Fixed(2),
            ..column(
                "Pct",
                "  ",
                8,
                Fold::From(|folded| {
                    let least = folded.values[LEAST]?;
                    Some(if least == 0.0 { 0.0 } else { 100.0 * spread(folded)? / least })
                }),
            )
        },
    ],
};
