//! When the next job may start, and what becomes of those that fail or take too long.
