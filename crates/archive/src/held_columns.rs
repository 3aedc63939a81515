//! The columns of the segment in which the latest period ended.
//!
//! A long period is asked for in pieces, so that its samples need little memory, and each piece would unpack
//! the segment again in which the one before ended.  One segment is held, of up to a mebibyte.

use std::sync::{Arc, Mutex, PoisonError};

use recording::{SideColumns, SideFile, SideSegment};

/// Columns with more are not held.
const BYTES_MAX: usize = 1 << 20;

/// What columns are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnsKey<'a> {
    /// The identity of the recording.
    pub(crate) recording: [u64; 3],
    pub(crate) source: usize,
    pub(crate) fields: &'a [usize],
}

/// Columns, and what they are of: recording, segment, source and fields.
type Held = ([u64; 3], (u64, u32), usize, Vec<usize>, Arc<SideColumns>);

/// The columns that are held.
#[derive(Debug, Default)]
pub(crate) struct HeldColumns(Mutex<Option<Held>>);

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
        if let Some((recording, place, source, fields, columns)) = &*self.lock()
            && (*recording, *place, *source) == (of.recording, segment.key(), of.source)
            && fields == of.fields
        {
            return Some(columns.clone());
        }
        let columns = Arc::new(side.columns(segment, of.source, of.fields)?);
        if ends_within && columns.size_bytes() <= BYTES_MAX {
            let fields = of.fields.to_vec();
            *self.lock() = Some((of.recording, segment.key(), of.source, fields, columns.clone()));
        }
        Some(columns)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
