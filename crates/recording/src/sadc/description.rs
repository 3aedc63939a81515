//! What a file says of one of its activities.

use super::activities::Activity;
use super::input::Layout;

/// The largest structure of an activity that sysstat itself accepts.
pub(super) const STRUCTURE_BYTES_MAX: u64 = 1024;

/// One activity of the file.
pub(super) struct Description {
    /// What it is; `None` if it is not known, or in a format that is not.
    pub(super) activity: Option<&'static Activity>,
    /// How many items a record has, if it does not say so itself.
    pub(super) items: u32,
    /// How many parts each item has.
    pub(super) parts: u32,
    /// Whether each record says how many items it has.
    pub(super) has_count: bool,
    pub(super) layout: Layout,
}
