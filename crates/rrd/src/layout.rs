//! Where each byte of a file is: the C structures of RRDtool, as each architecture lays them out.
//!
//! A file is the memory of the program that wrote it: `unsigned long`, `time_t` and `double` of
//! that machine, with its padding and byte order.  On x86-64 the blocks are, in order:
//!
//! | block | bytes | fields (offset in the block) |
//! |---|---|---|
//! | static head | 128 | cookie `RRD\0` 0, version `0003\0` 4, float cookie 16, number of data sources 24, of archives 32, step in seconds 40, ten unused values 48 |
//! | data source, each | 120 | name 0, type 20, ten parameters 40 |
//! | archive, each | 120 | consolidation function 0, rows 24, primary data points per row 32, ten parameters 40 |
//! | live head | 16 | time of the last update: seconds 0, microseconds 8 (versions 1 and 2: 8 bytes, seconds only) |
//! | primary preparation, each source | 112 | last reading as text 0, ten values 32 |
//! | consolidation preparation, each archive and source | 80 | ten values 0 |
//! | row pointer, each archive | 8 | row written last |
//! | rows | 8 | archive by archive, row by row, a double for each source |
//!
//! A parameter or value is a union of a double and an `unsigned long`.

/// Bytes of a name of a data source, a type or a consolidation function, with its final zero.
pub(crate) const NAME_BYTES: usize = 20;
/// Bytes of the text of the last reading, with its final zero.
pub(crate) const READING_BYTES: usize = 30;
/// Values in each block of parameters and in each preparation.
pub(crate) const VALUES: usize = 10;
/// Bytes of such a block.
const VALUES_BYTES: usize = 8 * VALUES;
/// Bytes of a consolidation preparation.
pub(crate) const CONSOLIDATION_BYTES: usize = VALUES_BYTES;
/// The first bytes of every file.
pub(crate) const COOKIE: &[u8; 4] = b"RRD\0";
/// A double that shows byte order and alignment.
pub(crate) const FLOAT_COOKIE: f64 = 8.642_135E130;

/// An architecture's structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLayout {
    /// What it is called.
    pub name: &'static str,
    /// Most significant byte first.
    pub big_endian: bool,
    /// Bytes of an `unsigned long`: 4 or 8.
    pub long_bytes: usize,
    /// Bytes of a `time_t`: 4 or 8.
    pub time_bytes: usize,
    /// Alignment of a double and of a 64-bit `time_t`: 4 or 8.
    pub double_alignment: usize,
}

/// The layout that this program writes.
pub const X86_64: FileLayout = FileLayout {
    name: "x86-64",
    big_endian: false,
    long_bytes: 8,
    time_bytes: 8,
    double_alignment: 8,
};

const fn layout_32(
    name: &'static str,
    big_endian: bool,
    time_bytes: usize,
    double_alignment: usize,
) -> FileLayout {
    FileLayout { name, big_endian, long_bytes: 4, time_bytes, double_alignment }
}

/// Every layout that is known, the likeliest first.
pub const LAYOUTS: &[FileLayout] = &[
    X86_64,
    layout_32("32-bit ARM (EABI)", false, 4, 8),
    layout_32("32-bit ARM with 64-bit time", false, 8, 8),
    layout_32("i386", false, 4, 4),
    layout_32("i386 with 64-bit time", false, 8, 4),
    FileLayout { name: "64-bit big-endian", big_endian: true, ..X86_64 },
    layout_32("32-bit big-endian", true, 4, 8),
    layout_32("32-bit big-endian with 64-bit time", true, 8, 8),
    layout_32("32-bit big-endian, doubles aligned to 4 bytes", true, 4, 4),
];

/// Most data sources or archives of a file.  RRDtool has no limit; files in use have hundreds of
/// sources and tens of archives.
pub(crate) const COUNT_MAX: u64 = 1 << 20;
/// Largest header, in bytes.  20,000 sources in 10 archives need 23 MB.
pub(crate) const HEADER_BYTES_MAX: u64 = 1 << 30;

const fn aligned(offset: usize, alignment: usize) -> usize {
    offset.div_ceil(alignment) * alignment
}

impl FileLayout {
    const fn widest(&self) -> usize {
        if self.double_alignment > self.long_bytes {
            self.double_alignment
        } else {
            self.long_bytes
        }
    }

    /// Offset of the float cookie.
    pub(crate) const fn float_cookie(&self) -> usize {
        aligned(9, self.double_alignment)
    }

    /// Offset of the number of data sources; the number of archives and the step follow it.
    pub(crate) const fn counts(&self) -> usize {
        aligned(self.float_cookie() + 8, self.long_bytes)
    }

    /// Bytes of the static head.
    pub(crate) const fn head_bytes(&self) -> usize {
        let values = aligned(self.counts() + 3 * self.long_bytes, self.double_alignment);
        aligned(values + VALUES_BYTES, self.widest())
    }

    /// Bytes of a data source.
    pub(crate) const fn source_bytes(&self) -> usize {
        2 * NAME_BYTES + VALUES_BYTES
    }

    /// Offset of the number of rows in an archive; the primary data points per row follow it.
    pub(crate) const fn archive_rows(&self) -> usize {
        aligned(NAME_BYTES, self.long_bytes)
    }

    /// Offset of an archive's parameters.
    pub(crate) const fn archive_values(&self) -> usize {
        aligned(self.archive_rows() + 2 * self.long_bytes, self.double_alignment)
    }

    /// Bytes of an archive.
    pub(crate) const fn archive_bytes(&self) -> usize {
        aligned(self.archive_values() + VALUES_BYTES, self.widest())
    }

    /// Bytes of the time of the last update.
    pub(crate) const fn live_bytes(&self, version: u8) -> usize {
        if version < 3 {
            return self.time_bytes;
        }
        let alignment = match self.time_bytes {
            4 => 4,
            _ => self.double_alignment,
        };
        let widest = if alignment > self.long_bytes { alignment } else { self.long_bytes };
        aligned(self.time_bytes + self.long_bytes, widest)
    }

    /// Offset of the values in a primary preparation.
    pub(crate) const fn primary_values(&self) -> usize {
        aligned(READING_BYTES, self.widest())
    }

    /// Bytes of a primary preparation.
    pub(crate) const fn primary_bytes(&self) -> usize {
        self.primary_values() + VALUES_BYTES
    }

    /// Offset of the live head.
    pub(crate) const fn live_offset(&self, sources: u64, archives: u64) -> u64 {
        self.head_bytes() as u64
            + sources * self.source_bytes() as u64
            + archives * self.archive_bytes() as u64
    }

    /// Bytes of the header: all that precedes the rows.
    #[must_use]
    pub const fn header_bytes(&self, version: u8, sources: u64, archives: u64) -> u64 {
        self.live_offset(sources, archives)
            + self.live_bytes(version) as u64
            + sources * self.primary_bytes() as u64
            + sources * archives * CONSOLIDATION_BYTES as u64
            + archives * self.long_bytes as u64
    }

    /// Reads an `unsigned long`.  The caller has checked the length.
    pub(crate) fn long(&self, bytes: &[u8], offset: usize) -> u64 {
        self.unsigned(bytes, offset, self.long_bytes)
    }

    /// Reads an unsigned number of some bytes; 0 where the bytes end.
    pub(crate) fn unsigned(&self, bytes: &[u8], offset: usize, length: usize) -> u64 {
        let bytes = bytes.get(offset..offset + length).unwrap_or_default();
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match self.big_endian {
            true => bytes.iter().fold(0, push),
            false => bytes.iter().rev().fold(0, push),
        }
    }

    /// Reads a double.
    pub(crate) fn double(&self, bytes: &[u8], offset: usize) -> f64 {
        f64::from_bits(self.unsigned(bytes, offset, 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_compilers() {
        let sizes = |layout: &FileLayout| {
            [
                layout.float_cookie(),
                layout.counts(),
                layout.head_bytes(),
                layout.archive_bytes(),
                layout.live_bytes(3),
                layout.primary_bytes(),
            ]
        };
        assert_eq!(sizes(&X86_64), [16, 24, 128, 120, 16, 112]);
        assert_eq!(sizes(&layout_32("i386", false, 4, 4)), [12, 20, 112, 108, 8, 112]);
        assert_eq!(sizes(&layout_32("arm", false, 4, 8)), [16, 24, 120, 112, 8, 112]);
        assert_eq!(sizes(&layout_32("arm, time64", false, 8, 8)), [16, 24, 120, 112, 16, 112]);
        // Counted on a file of RRDtool 1.7.2: 2 sources, 3 archives.
        assert_eq!(X86_64.header_bytes(3, 2, 3), 1472);
        assert_eq!(X86_64.header_bytes(3, 2, 8), 2912);
    }
}
