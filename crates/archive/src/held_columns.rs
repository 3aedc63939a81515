//! The columns of the segment in which the latest period ended.
//!
//! A long period is asked for in pieces, so that its samples need little memory, and each piece would unpack
//! the segment again in which the one before ended.  One segment is held, of up to a mebibyte.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recording::{SideColumns, SideFile, SideSegment};

/// Columns with more are not held.
const BYTES_MAX: usize = 1 << 20;

/// What columns are of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ColumnsKey<'a> {
    /// The identity of the recording.
    pub(crate) recording: [u64; 3],
    pub(crate) source: usize,
    pub(crate) fields: &'a [usize],
}

/// The columns that are held.
#[derive(Debug, Default)]
pub(crate) struct HeldColumns(Mutex<Option<HeldSegment>>);

#[derive(Debug)]
struct HeldSegment {
    recording: [u64; 3],
    segment: (u64, u32),
    source: usize,
    fields: Vec<usize>,
    columns: Arc<SideColumns>,
}

impl HeldSegment {
    fn is_of(&self, of: &ColumnsKey<'_>, segment: &SideSegment) -> bool {
        let own =
            ColumnsKey { recording: self.recording, source: self.source, fields: &self.fields };
        own == *of && self.segment == segment.key()
    }
}

impl HeldColumns {
    /// The columns of a segment, which are held if the period `ends_within` it.  `None` if they cannot be read,
    /// or are damaged.
    pub(crate) fn columns(
        &self,
        of: &ColumnsKey<'_>,
        side: &SideFile,
        segment: &SideSegment,
        ends_within: bool,
    ) -> Option<Arc<SideColumns>> {
        if let Some(held) = self.lock().as_ref().filter(|held| held.is_of(of, segment)) {
            return Some(held.columns.clone());
        }
        let columns = Arc::new(side.columns(segment, of.source, of.fields)?);
        if ends_within && columns.size_bytes() <= BYTES_MAX {
            let (fields, columns) = (of.fields.to_vec(), columns.clone());
            let (recording, segment, source) = (of.recording, segment.key(), of.source);
            *self.lock() = Some(HeldSegment { recording, segment, source, fields, columns });
        }
        Some(columns)
    }

    fn lock(&self) -> MutexGuard<'_, Option<HeldSegment>> {
        // A thread that panicked held it between whole changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
