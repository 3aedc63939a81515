//! How views show exited processes.

use layout::{DisplayOrder, Layout};
use sample::Level;

use super::{account, digest};

/// Exited processes have no lines; sums include them.
pub(super) const LAYOUT: Layout = Layout {
    level: Level::Detail,
    position: DisplayOrder {
        verbose: 120,
        plot: 110,
        lexpr: 1510,
        gexpr: 1510,
        ..DisplayOrder::LAST
    },
    account: Some(&account::ACCOUNT),
    digest: Some(&digest::DIGEST),
    ..Layout::EMPTY
};
