//! How views show ended processes.

use layout::{DisplayOrder, Layout};
use sample::Level;

use super::{account, digest};

/// Ended processes have no lines of their own: they count in sums.
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
