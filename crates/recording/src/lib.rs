//! Placeholder head, replaced in the next commit.

pub mod collectl;
