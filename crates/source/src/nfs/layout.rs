//! How collectl shows NFS: `-sf` (all together) and `-sF` (each side and version).
//!
//! `--nfsfilt` selects sides and versions for both.

use layout::{
    Block, Cell, DisplayOrder, Frame, Layout, LetterRule, OptionKind, OptionValue, Options, Part,
    Plot, PlotColumn, Row, Show, SourceOption,
};
use sample::{Level, SourceDef};

use super::fields;

/// Operations that collectl counts as metadata.
const META: [usize; 6] = [
    fields::LOOKUP,
    fields::ACCESS,
    fields::SETATTR,
    fields::GETATTR,
    fields::READDIR,
    fields::READDIRPLUS,
];

/// The rows of `-sF` in collectl's order, with its names for them.
const TYPES: [(&[u8], &str); 6] = [
    (b"client\x1fv2", "Clt2"),
    (b"server\x1fv2", "Svr2"),
    (b"client\x1fv3", "Clt3"),
    (b"server\x1fv3", "Svr3"),
    (b"client\x1fv4", "Clt4"),
    (b"server\x1fv4", "Svr4"),
];

pub(super) static NFS_OPTIONS: SourceOption = SourceOption {
    name: "nfsopts",
    help: "z: leave out idle lines",
    kind: OptionKind::Letters { known: "z", default: "" },
    letters: "F",
    rules: &[LetterRule::LeavesOutIdle("z")],
    ..SourceOption::EMPTY
};

pub(super) static NFS_FILTER: SourceOption = SourceOption {
    name: "nfsfilt",
    value_name: "LIST",
    help: "NFS versions to show: c2 c3 c4 for clients, s2 s3 s4 for servers",
    kind: OptionKind::Words(&["c2", "s2", "c3", "s3", "c4", "s4"]),
    letters: "fF",
    recorded: |meta| meta.get("nfsfilt").map(|filter| OptionValue::Text(filter.to_owned())),
    ..SourceOption::EMPTY
};

/// A row's side and version; the version is `v` and a digit, or `rpc` for the transport.
fn parts<'a>(row: &Row<'a>) -> (&'a [u8], &'a [u8]) {
    let name = row.name();
    let at = name.iter().position(|&b| b == SourceDef::INSTANCE_SEPARATOR).unwrap_or(name.len());
    (&name[..at], name.get(at + 1..).unwrap_or_default())
}

/// Whether `--nfsfilt` selects a row's side and version; false for the transport.
fn is_asked(row: &Row<'_>) -> bool {
    let (side, version) = parts(row);
    let [b'v', digit] = version else { return false };
    let filter = row.options().value(&NFS_FILTER).text();
    filter.is_empty()
        || filter.split(',').any(|asked| match asked.as_bytes() {
            [asked_side, asked_digit] => {
                side.first() == Some(&asked_side.to_ascii_lowercase()) && asked_digit == digit
            }
            _ => false,
        })
}

/// Whether `--nfsfilt` selects any version of a side.
fn asks_side(options: &Options, side: char) -> bool {
    let filter = options.value(&NFS_FILTER).text();
    filter.is_empty() || filter.to_ascii_lowercase().contains(side)
}

/// Whether a version was ever used to read or write.  collectl shows and counts only such ones.
fn was_used(row: &Row<'_>) -> bool {
    [fields::READ, fields::WRITE].iter().any(|&field| row.raw(field).unwrap_or(0) > 0)
}

/// Whether a version was ever used for anything.
fn did_anything(row: &Row<'_>) -> bool {
    let operations = fields::GETATTR..=fields::CLONE;
    operations.into_iter().any(|field| row.raw(field).unwrap_or(0) > 0)
}

/// The increase of a counter.  collectl takes a version's counters for 0 until it is used.
fn delta(row: &Row<'_>, field: usize) -> Option<f64> {
    if !row.exact() {
        return row.delta(field);
    }
    if !was_used(row) {
        return Some(0.0);
    }
    let before = |field: usize| {
        let now = row.raw(field).unwrap_or(0) as f64;
        row.change(field).map_or(0.0, |change| now - change)
    };
    if before(fields::READ) == 0.0 && before(fields::WRITE) == 0.0 {
        return Some(row.raw(field).unwrap_or(0) as f64);
    }
    row.delta(field)
}

fn meta(row: &Row<'_>) -> Option<f64> {
    let parts = META.iter().filter_map(|&field| delta(row, field));
    parts.fold(None, |sum: Option<f64>, part| Some(sum.unwrap_or(0.0) + part))
}

/// A sum over the selected versions, of one side or (empty) of both, per second.
fn total(row: &Row<'_>, side: &str, of: impl Fn(&Row<'_>) -> Option<f64>) -> Option<f64> {
    let counts = |row: &Row<'_>| is_asked(row) && parts(row).0.starts_with(side.as_bytes());
    row.per_second(row.sum(counts, of))
}

fn reads(row: &Row<'_>, side: &str) -> Option<f64> {
    total(row, side, |row| delta(row, fields::READ))
}

fn writes(row: &Row<'_>, side: &str) -> Option<f64> {
    total(row, side, |row| delta(row, fields::WRITE))
}

fn metas(row: &Row<'_>, side: &str) -> Option<f64> {
    total(row, side, meta)
}

fn commits(row: &Row<'_>, side: &str) -> Option<f64> {
    total(row, side, |row| delta(row, fields::COMMIT))
}

/// A counter of a side's transport, per second.
fn transport(row: &Row<'_>, side: &str, field: usize) -> Option<f64> {
    let is_it = |row: &Row<'_>| parts(row) == (side.as_bytes(), b"rpc");
    row.per_second(row.sum(is_it, |row| row.delta(field)))
}

/// TCP connections accepted.  collectl adds them up in one variable and prints another one, which
/// is always 0.
fn connections(row: &Row<'_>) -> Option<f64> {
    if row.exact() { Some(0.0) } else { transport(row, "server", fields::NET_CONNECTIONS) }
}

/// Calls rejected for bad credentials.  collectl takes the column to the left, here and below.
fn bad_auth(row: &Row<'_>) -> Option<f64> {
    refused(row, if row.exact() { fields::RPC_BAD_FORMAT } else { fields::RPC_BAD_AUTH })
}

fn bad_client(row: &Row<'_>) -> Option<f64> {
    refused(row, if row.exact() { fields::RPC_BAD_AUTH } else { fields::RPC_BAD_CLIENT })
}

/// A counter of calls that the server rejected.  When collectl sees the client's line, it adds the
/// count of the previous interval again.
fn refused(row: &Row<'_>, field: usize) -> Option<f64> {
    let has_client = || {
        row.rows()
            .any(|row| parts(&row) == (b"client", b"rpc") && row.raw(fields::RPC_CALLS).is_some())
    };
    if !row.exact() || !has_client() {
        return transport(row, "server", field);
    }
    let is_it = |row: &Row<'_>| parts(row) == (b"server", b"rpc");
    let both = |row: &Row<'_>| {
        let before = row.delta_before(field).unwrap_or(0.0);
        Some(row.delta(field)? + before)
    };
    row.per_second(row.sum(is_it, both))
}

/// A counter of the client's transport.  collectl counts it twice if it sees the server's line.
fn client_transport(row: &Row<'_>, field: usize) -> Option<f64> {
    let value = transport(row, "client", field);
    let has_server = || {
        row.rows()
            .any(|row| parts(&row) == (b"server", b"rpc") && row.raw(fields::RPC_CALLS).is_some())
    };
    if row.exact() && has_server() { value.map(|value| value * 2.0) } else { value }
}

fn brief_heading(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    let filter = frame.options.value(&NFS_FILTER).text();
    match part {
        // All six words do not fit into the title.
        Part::Title if filter.is_empty() || filter.len() == 17 => {
            out.extend_from_slice(b"<------NFS Totals------>");
        }
        Part::Title => {
            let right = 14usize.saturating_sub(filter.len()) / 2;
            let left = right + filter.len() % 2;
            let (left, right) = ("-".repeat(left), "-".repeat(right));
            out.extend_from_slice(format!("<{left}-NFS [{filter}]-{right}>").as_bytes());
        }
        Part::Heading => out.extend_from_slice(b" Reads Writes Meta Comm "),
        _ => {}
    }
}

fn summary_heading(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Title => {
            let filter = frame.options.value(&NFS_FILTER).text();
            out.extend_from_slice(b"NFS SUMMARY ($rate) ");
            if !filter.is_empty() {
                out.extend_from_slice(b"Filters: ");
                out.extend_from_slice(filter.as_bytes());
            }
        }
        Part::Heading => out.extend_from_slice(b"\n\n"),
        _ => {}
    }
}

/// `-sf`.
pub(super) const SUMMARY: Layout = Layout {
    level: Level::Summary,
    position: DisplayOrder { brief: 120, verbose: 35, plot: 70, lexpr: 30, gexpr: 50 },
    brief: &[Block {
        when: |_| true,
        title: "",
        headings: &[],
        show: Show::Headed(
            brief_heading,
            &[
                Cell::scaled("", 6, |row| reads(row, "")),
                Cell::scaled(" ", 6, |row| writes(row, "")),
                Cell::scaled(" ", 4, |row| metas(row, "")),
                Cell::scaled(" ", 4, |row| commits(row, "")),
            ],
        ),
    }],
    verbose: &[
        Block {
            when: |_| true,
            title: "NFS SUMMARY ($rate) ",
            headings: &[],
            show: Show::Headed(summary_heading, &[]),
        },
        Block {
            when: |options| asks_side(options, 's'),
            title: "",
            headings: &[
                "<---------------------------server--------------------------->",
                " Reads Writes Meta Comm  UDP   TCP  TCPConn  BadAuth  BadClnt ",
            ],
            show: Show::Cells(&[
                Cell::scaled(" ", 6, |row| reads(row, "server")),
                Cell::scaled(" ", 6, |row| writes(row, "server")),
                Cell::scaled(" ", 4, |row| metas(row, "server")),
                Cell::scaled(" ", 4, |row| commits(row, "server")),
                Cell::scaled(" ", 4, |row| transport(row, "server", fields::NET_UDP)),
                Cell::scaled("  ", 4, |row| transport(row, "server", fields::NET_TCP)),
                Cell::scaled("     ", 4, connections),
                Cell::scaled("     ", 4, bad_auth),
                Cell::scaled("     ", 4, bad_client),
            ]),
        },
        Block {
            when: |options| asks_side(options, 'c'),
            title: "",
            headings: &[
                "<----------------client---------------->",
                " Reads Writes Meta Comm Retrans  Authref",
            ],
            show: Show::Cells(&[
                Cell::scaled(" ", 6, |row| reads(row, "client")),
                Cell::scaled(" ", 6, |row| writes(row, "client")),
                Cell::scaled(" ", 4, |row| metas(row, "client")),
                Cell::scaled(" ", 4, |row| commits(row, "client")),
                Cell::scaled("    ", 4, |row| client_transport(row, fields::RPC_RETRANSMISSIONS)),
                Cell::scaled("     ", 4, |row| client_transport(row, fields::RPC_AUTH_REFRESHES)),
            ]),
        },
    ],
    plot: Some(Plot {
        tag: "NFS",
        columns: &[
            PlotColumn::new("ReadsS", |row| reads(row, "server")),
            PlotColumn::new("WritesS", |row| writes(row, "server")),
            PlotColumn::new("MetaS", |row| metas(row, "server")),
            PlotColumn::new("CommitS", |row| commits(row, "server")),
            PlotColumn::new("Udp", |row| transport(row, "server", fields::NET_UDP)),
            PlotColumn::new("Tcp", |row| transport(row, "server", fields::NET_TCP)),
            PlotColumn::new("TcpConn", connections),
            PlotColumn::new("BadAuth", bad_auth),
            PlotColumn::new("BadClient", bad_client),
            PlotColumn::new("ReadsC", |row| reads(row, "client")),
            PlotColumn::new("WritesC", |row| writes(row, "client")),
            PlotColumn::new("MetaC", |row| metas(row, "client")),
            PlotColumn::new("CommitC", |row| commits(row, "client")),
            PlotColumn::new("Retrans", |row| client_transport(row, fields::RPC_RETRANSMISSIONS)),
            PlotColumn::new("AuthRef", |row| client_transport(row, fields::RPC_AUTH_REFRESHES)),
        ],
        ..Plot::EMPTY
    }),
    metrics: &[
        PlotColumn::new("nfsinfo.Sread", |row| reads(row, "server")).applies(has_server),
        PlotColumn::new("nfsinfo.Swrite", |row| writes(row, "server")).applies(has_server),
        PlotColumn::new("nfsinfo.Smeta", |row| metas(row, "server")).applies(has_server),
        PlotColumn::new("nfsinfo.Scommit", |row| commits(row, "server")).applies(has_server),
        PlotColumn::new("nfsinfo.Cread", |row| reads(row, "client")).applies(has_client),
        PlotColumn::new("nfsinfo.Cwrite", |row| writes(row, "client")).applies(has_client),
        PlotColumn::new("nfsinfo.Cmeta", |row| metas(row, "client")).applies(has_client),
        PlotColumn::new("nfsinfo.Ccommit", |row| commits(row, "client")).applies(has_client),
    ],
    ..Layout::EMPTY
};

fn has_server(row: &Row<'_>) -> bool {
    asks_side(row.options(), 's')
}

fn has_client(row: &Row<'_>) -> bool {
    asks_side(row.options(), 'c')
}

/// A column of `-sF`: the operation, and whether version 2, version 3, the client's version 4 and
/// the server's version 4 have it.
struct Operation {
    field: usize,
    has: [bool; 4],
}

const fn operation(field: usize, has: [bool; 4]) -> Operation {
    Operation { field, has }
}

const ALL: [bool; 4] = [true; 4];
/// Since version 3.
const NEWER: [bool; 4] = [false, true, true, true];
/// All but the server's version 4.
const NAMED: [bool; 4] = [true, true, true, false];
/// Versions 2 and 3.
const OLDER: [bool; 4] = [true, true, false, false];
const FACTS: [bool; 4] = [false, true, true, false];
const THIRD: [bool; 4] = [false, true, false, false];

/// In the order of collectl's columns.
const OPERATIONS: [Operation; 22] = [
    operation(fields::READ, ALL),
    operation(fields::WRITE, ALL),
    operation(fields::COMMIT, NEWER),
    operation(fields::LOOKUP, ALL),
    operation(fields::ACCESS, NEWER),
    operation(fields::GETATTR, ALL),
    operation(fields::SETATTR, ALL),
    operation(fields::READDIR, ALL),
    operation(fields::CREATE, ALL),
    operation(fields::REMOVE, ALL),
    operation(fields::RENAME, ALL),
    operation(fields::LINK, ALL),
    operation(fields::READLINK, ALL),
    operation(fields::NULL, NAMED),
    operation(fields::SYMLINK, NAMED),
    operation(fields::MKDIR, OLDER),
    operation(fields::RMDIR, OLDER),
    operation(fields::FSSTAT, OLDER),
    operation(fields::FSINFO, FACTS),
    operation(fields::PATHCONF, FACTS),
    operation(fields::MKNOD, THIRD),
    operation(fields::READDIRPLUS, THIRD),
];

/// The index of the row's version in [`Operation::has`]; `None` for the transport.
fn variant(row: &Row<'_>) -> Option<usize> {
    match parts(row) {
        (_, b"v2") => Some(0),
        (_, b"v3") => Some(1),
        (b"client", b"v4") => Some(2),
        (_, b"v4") => Some(3),
        _ => None,
    }
}

/// Whether plots have a column for an operation in this row.
fn plots(row: &Row<'_>, field: usize) -> bool {
    let operation = OPERATIONS.iter().find(|operation| operation.field == field);
    let has = variant(row).zip(operation).is_some_and(|(variant, o)| o.has[variant]);
    has && is_asked(row)
}

/// Whether `-sF` prints a line for a row.
fn prints(row: &Row<'_>) -> bool {
    let like_collectl = row.exact() || row.frame.meta.origin() == "collectl";
    let used = if like_collectl { was_used(row) } else { did_anything(row) };
    let idle = || {
        let parts = [delta(row, fields::READ), delta(row, fields::WRITE), meta(row)];
        parts.iter().all(|part| *part == Some(0.0) || part.is_none())
    };
    is_asked(row) && used && !(row.options().value(&NFS_OPTIONS).has('z') && idle())
}

/// The format of a number of `-sF`.
const NUMBER: Cell = Cell::scaled(" ", 4, |_| None);

fn detail(frame: &Frame<'_>, part: Part, out: &mut Vec<u8>) {
    match part {
        Part::Title => out.extend_from_slice(b"NFS SERVER/CLIENT DETAILS ($rate)"),
        Part::Heading => out.extend_from_slice(
            b"Type Read Writ Comm Look Accs Gttr Sttr Rdir Cre8 Rmov Rnam Link Rlnk Null Syml Mkdr \
              Rmdr Fsta Finf Path Mknd Rdr+\n",
        ),
        Part::Body => {
            let Some(whole) = frame.source("nfs") else { return };
            for (name, word) in TYPES {
                if let Some(row) = whole.rows().find(|row| row.name() == name && prints(row)) {
                    push_line(&row, word, out);
                }
            }
        }
        Part::Notice => {}
    }
}

/// A line of `-sF`: blanks for operations that the version does not have, none after its last.
fn push_line(row: &Row<'_>, word: &str, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(word.as_bytes());
    let variant = variant(row).unwrap_or(0);
    let last = OPERATIONS.iter().rposition(|operation| operation.has[variant]).unwrap_or(0);
    for operation in &OPERATIONS[..=last] {
        if operation.has[variant] {
            let rate = row.per_second(delta(row, operation.field));
            NUMBER.write_number(rate, row.options(), out);
        } else {
            out.extend_from_slice(b"     ");
        }
    }
    out.push(b'\n');
}

/// A plot column of one operation.
macro_rules! plotted {
    ($name:literal, $field:ident) => {
        PlotColumn::new($name, |row| row.per_second(delta(row, fields::$field)))
            .applies(|row| plots(row, fields::$field))
    };
}

/// `-sF`.
pub(super) const DETAIL: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 40,
        plot: 50,
        lexpr: 1310,
        gexpr: 1310,
        ..DisplayOrder::LAST
    },
    verbose: &[Block {
        when: |_| true,
        title: "NFS SERVER/CLIENT DETAILS ($rate)",
        headings: &[],
        show: Show::Custom(detail),
    }],
    plot: Some(Plot {
        tag: "NFS",
        extension: "nfs",
        instance: Some(|row, out| {
            let (side, version) = parts(row);
            out.extend_from_slice(version.strip_prefix(b"v").unwrap_or(version));
            out.extend_from_slice(&side[..side.len().min(1)]);
            out.push(b'd');
        }),
        columns: &[
            plotted!("Read", READ),
            plotted!("Write", WRITE),
            plotted!("Commit", COMMIT),
            plotted!("Lookup", LOOKUP),
            plotted!("Access", ACCESS),
            plotted!("Getattr", GETATTR),
            plotted!("Setattr", SETATTR),
            plotted!("Readdir", READDIR),
            plotted!("Create", CREATE),
            plotted!("Remove", REMOVE),
            plotted!("Rename", RENAME),
            plotted!("Link", LINK),
            plotted!("ReadLink", READLINK),
            plotted!("Null", NULL),
            plotted!("Symlink", SYMLINK),
            plotted!("Mkdir", MKDIR),
            plotted!("Rmdir", RMDIR),
            plotted!("Fsstat", FSSTAT),
            plotted!("Fsinfo", FSINFO),
            plotted!("Pathconf", PATHCONF),
            plotted!("Mknod", MKNOD),
            plotted!("Readdirplus", READDIRPLUS),
        ],
        ..Plot::EMPTY
    }),
    ..Layout::EMPTY
};
