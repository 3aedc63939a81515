//! Which shell runs a job, and whether one is needed at all.
