//! Caches of the virtual file system: directory entries, inodes, open file handles.
//!
//! Reads `/proc/sys/fs/dentry-state`, `inode-nr` and `file-nr` (proc_sys_fs(5)).  Cost: one `pread`
//! each, of a few bytes.

use layout::{Block, Cell, DisplayOrder, Layout, Plot, PlotColumn, Row, Show, Stat};
use procfs::inode::{parse_dentry_state, parse_file_nr, parse_inode_nr};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, Level, State, Table, fields};

use crate::{Entry, Source};

fields! {
    DENTRIES: gauge Count, "Directory entries cached";
    DENTRIES_UNUSED: gauge Count, "Unused cached directory entries";
    DENTRIES_NEGATIVE: gauge Count, "Cached names that do not exist";
    INODES: gauge Count, "Inodes held";
    INODES_FREE: gauge Count, "Unused cached inodes";
    FILES_OPEN: gauge Count, "File handles open";
    FILES_MAX: gauge Count, "File handles that may be open";
}

struct Inode {
    dentry_state: FileId,
    inode_nr: FileId,
    file_nr: FileId,
}

impl Source for Inode {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let mut row = table.row(b"");
        let mut state = State::Failed(0);
        match host.read(self.dentry_state).map(parse_dentry_state) {
            Ok(Some(dentries)) => {
                row.set_signed(DENTRIES, dentries.count);
                row.set_signed(DENTRIES_UNUSED, dentries.unused);
                row.set_some(DENTRIES_NEGATIVE, dentries.negative.map(i64::cast_unsigned));
                state = State::Ok;
            }
            Ok(None) => {}
            Err(error) => state = error,
        }
        if let Ok(Some(inodes)) = host.read(self.inode_nr).map(parse_inode_nr) {
            row.set_signed(INODES, inodes.count);
            row.set_signed(INODES_FREE, inodes.free);
            state = State::Ok;
        }
        if let Ok(Some(files)) = host.read(self.file_nr).map(parse_file_nr) {
            row.set(FILES_OPEN, files.open);
            row.set(FILES_MAX, files.max);
            state = State::Ok;
        }
        state
    }
}

/// Inodes in use.
fn inodes_used(row: &Row<'_>) -> Option<f64> {
    Some(row.gauge(INODES)? - row.gauge(INODES_FREE)?)
}

/// Open file handles in per cent of their limit.
fn files_percent(row: &Row<'_>) -> Option<f64> {
    let (open, max) = (row.gauge(FILES_OPEN)?, row.gauge(FILES_MAX)?);
    Some(if max == 0.0 { 0.0 } else { open * 100.0 / max })
}

pub(crate) static ENTRY: Entry = Entry {
    name: "inode",
    about: "Cached directory entries, inodes and open file handles",
    letters: "i",
    reads: &["/proc/sys/fs/dentry-state", "/proc/sys/fs/inode-nr", "/proc/sys/fs/file-nr"],
    instance: &[],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[Layout {
        level: Level::Summary,
        position: DisplayOrder { brief: 100, verbose: 45, plot: 60, lexpr: 40, gexpr: 60 },
        brief: &[Block {
            when: |_| true,
            title: "<----Files--->",
            headings: &["Handle Inodes "],
            show: Show::Cells(&[
                Cell::scaled("", 6, |row| row.gauge(FILES_OPEN)).stat(Stat::Mean),
                Cell::scaled(" ", 6, inodes_used).stat(Stat::Mean),
            ]),
        }],
        verbose: &[Block {
            when: |_| true,
            title: "INODE SUMMARY",
            headings: &[
                "     Dentries       File Handles    Inodes",
                "  Number   Unused   Alloc  MaxPct   Number",
            ],
            show: Show::Cells(&[
                Cell::scaled("  ", 7, |row| row.gauge(DENTRIES)),
                Cell::scaled("  ", 7, |row| row.gauge(DENTRIES_UNUSED)),
                Cell::scaled("  ", 6, |row| row.gauge(FILES_OPEN)),
                Cell::fixed("   ", 5, 2, files_percent),
                Cell::scaled("   ", 6, inodes_used),
            ]),
        }],
        plot: Some(Plot {
            tag: "INODE",
            columns: &[
                PlotColumn::whole("NumDentry", |row| row.gauge(DENTRIES)),
                PlotColumn::whole("openFiles", |row| row.gauge(FILES_OPEN)),
                PlotColumn::new("MaxFile%", files_percent),
                PlotColumn::whole("used", inodes_used),
            ],
            ..Plot::EMPTY
        }),
        metrics: &[
            PlotColumn::new("inodeinfo.dentrynum", |row| row.gauge(DENTRIES)).level(),
            PlotColumn::new("inodeinfo.dentryunused", |row| row.gauge(DENTRIES_UNUSED)).level(),
            PlotColumn::new("inodeinfo.filesalloc", |row| row.gauge(FILES_OPEN)).level(),
            PlotColumn::new("inodeinfo.filesmax", |row| row.gauge(FILES_MAX)).level(),
            PlotColumn::new("inodeinfo.inodeused", inodes_used).level(),
        ],
        ..Layout::EMPTY
    }],
    open: |host, _| {
        Box::new(Inode {
            dentry_state: host.file("/proc/sys/fs/dentry-state", ReadMode::Whole),
            inode_nr: host.file("/proc/sys/fs/inode-nr", ReadMode::Whole),
            file_nr: host.file("/proc/sys/fs/file-nr", ReadMode::Whole),
        })
    },
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_the_three_files_is_enough() {
        let mut host = Host::in_memory();
        let mut inode = (ENTRY.open)(&mut host, &std::sync::Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(inode.read(&mut host, &mut table), State::Absent);
        host.begin_tick();
        host.put("/proc/sys/fs/file-nr", Some(b"641\t0\t2466183\n"));
        assert_eq!(inode.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, FILES_OPEN), Some(641));
        assert_eq!(table.get(0, DENTRIES), None);
        host.begin_tick();
        host.put("/proc/sys/fs/dentry-state", Some(b"5 -1 45 0 3 0\n"));
        assert_eq!(inode.read(&mut host, &mut table), State::Ok);
        assert_eq!(table.get(0, DENTRIES_UNUSED).map(u64::cast_signed), Some(-1));
        assert_eq!(table.get(0, DENTRIES_NEGATIVE), Some(3));
        host.begin_tick();
        host.put("/proc/sys/fs/file-nr", None);
        host.put("/proc/sys/fs/dentry-state", Some(b"?"));
        assert_eq!(inode.read(&mut host, &mut table), State::Failed(0));
    }
}
