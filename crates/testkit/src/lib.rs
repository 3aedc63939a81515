//! Placeholder head, replaced in the next commit.
