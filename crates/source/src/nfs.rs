//! Calls of this machine's NFS client and NFS server, by version of the protocol.
//!
//! Reads `/proc/net/rpc/nfs` and `/proc/net/rpc/nfsd`: one `pread` each, no allocation.  Each side
//! always has a row for each version and one for its transport; the cells of lines that its file
//! lacks are missing.

use procfs::rpc_nfs::parse_rpc;
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, RowMut, State, Table};

use crate::{Entry, Source};

mod fields;
mod layout;

use fields::{
    CLIENT_RPC, FIELDS, SERVER_CACHE, SERVER_IO, SERVER_RPC, TRANSPORT, V2, V3, V4_CLIENT,
    V4_SERVER, V4_SERVER_CALLS,
};

/// The rows, in the table's order: a side, and the transport or a version.
const ROWS: [&[u8]; 8] = [
    b"client\x1frpc",
    b"server\x1frpc",
    b"client\x1fv2",
    b"server\x1fv2",
    b"client\x1fv3",
    b"server\x1fv3",
    b"client\x1fv4",
    b"server\x1fv4",
];

/// The first row of a side; its other rows follow at every second index.
const CLIENT: usize = 0;
const SERVER: usize = 1;

struct Nfs {
    files: [FileId; 2],
}

impl Source for Nfs {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        for name in ROWS {
            table.row(name);
        }
        // A machine may be a client, a server or both; either is enough.
        // A collectl recording of NFS has columns for all versions, whatever was in use.
        let mut state = if host.root().is_none() { State::Ok } else { State::Absent };
        for (side, &file) in [CLIENT, SERVER].iter().zip(&self.files) {
            match host.read(file) {
                Ok(text) => {
                    read_side(*side, text, table);
                    state = State::Ok;
                }
                Err(error) if state == State::Absent => state = error,
                Err(_) => {}
            }
        }
        state
    }
}

fn read_side(side: usize, text: &[u8], table: &mut Table) {
    for line in parse_rpc(text) {
        let is_client = side == CLIENT;
        match line.tag {
            b"net" => set(table.row_mut(side), TRANSPORT, line.numbers()),
            b"rpc" if is_client => set(table.row_mut(side), CLIENT_RPC, line.numbers()),
            b"rpc" => set(table.row_mut(side), SERVER_RPC, line.numbers()),
            b"rc" => set(table.row_mut(side), SERVER_CACHE, line.numbers()),
            b"io" => set(table.row_mut(side), SERVER_IO, line.numbers()),
            b"th" => set(table.row_mut(side), &[Some(fields::THREADS)], line.numbers()),
            b"proc2" => set(table.row_mut(side + 2), V2, line.counted()),
            b"proc3" => set(table.row_mut(side + 4), V3, line.counted()),
            b"proc4" if is_client => set(table.row_mut(side + 6), V4_CLIENT, line.counted()),
            b"proc4" => set(table.row_mut(side + 6), V4_SERVER_CALLS, line.counted()),
            b"proc4ops" => set(table.row_mut(side + 6), V4_SERVER, line.counted()),
            _ => {}
        }
    }
}

/// Stores each number in the field at the same index.
fn set(mut row: RowMut<'_>, fields: &[Option<usize>], numbers: impl Iterator<Item = u64>) {
    for (field, value) in fields.iter().zip(numbers) {
        if let Some(field) = field {
            row.set(*field, value);
        }
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "nfs",
    about: "Calls of the NFS client and the NFS server, by version of the protocol",
    letters: "fF",
    reads: &["/proc/net/rpc/nfs", "/proc/net/rpc/nfsd"],
    instance: &["side", "version"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::SUMMARY, layout::DETAIL],
    options: &[&layout::NFS_FILTER, &layout::NFS_OPTIONS],
    open: |host, _| {
        let files = ["/proc/net/rpc/nfs", "/proc/net/rpc/nfsd"];
        Box::new(Nfs { files: files.map(|path| host.file(path, ReadMode::Whole)) })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const CLIENT_FILE: &[u8] = b"net 1 2 3 4\nrpc 1298 5 1299\n\
        proc3 22 0 10 11 12 13 14 15 16 17 0 0 0 0 0 0 0 18 19 20 21 22 23\n\
        proc4 69 0 31 32 33 34 35 36 37 38 39 40 0 0 0 0 0 0 41 42 43 0 44 45 46 47 48 49 50 51 52 0\n";
    const SERVER_FILE: &[u8] = b"rc 0 1 2\nio 4096 8192\nth 8 0 0.000\nnet 9 8 7 6\nrpc 100 6 1 2 3\n\
        proc4 2 5 900\nproc4ops 72 0 0 0 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 \
        25 26 27 28 29 30 31 32 33 34 35 36 37 38 39\n";

    #[test]
    fn both_sides() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(FIELDS.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok, "a recording without NFS");
        host.put("/proc/net/rpc/nfs", Some(CLIENT_FILE));
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let row = |name: &[u8]| ROWS.iter().position(|row| *row == name).unwrap();
        let at = |table: &Table, name: &[u8], field: usize| table.get(row(name), field);
        assert_eq!(at(&table, b"client\x1frpc", fields::RPC_RETRANSMISSIONS), Some(5));
        assert_eq!(at(&table, b"client\x1fv3", fields::READ), Some(15));
        assert_eq!(at(&table, b"client\x1fv3", fields::COMMIT), Some(23));
        assert_eq!(at(&table, b"client\x1fv4", fields::READ), Some(31));
        assert_eq!(at(&table, b"client\x1fv4", fields::READDIR), Some(52));
        assert_eq!(at(&table, b"client\x1fv2", fields::READ), None);
        assert_eq!(at(&table, b"server\x1frpc", fields::RPC_CALLS), None);
        host.put("/proc/net/rpc/nfsd", Some(SERVER_FILE));
        host.begin_tick();
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        assert_eq!(at(&table, b"server\x1fv4", fields::WRITE), Some(38));
        assert_eq!(at(&table, b"server\x1fv4", fields::COMPOUND), Some(900));
        assert_eq!(at(&table, b"server\x1frpc", fields::RPC_BAD_AUTH), Some(2));
        assert_eq!(at(&table, b"server\x1frpc", fields::THREADS), Some(8));
        assert_eq!(at(&table, b"server\x1frpc", fields::WRITE_BYTES), Some(8192));
        assert_eq!(table.rows(), ROWS.len());
    }
}
