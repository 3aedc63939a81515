//! The output of jobs: kept apart, in order, tagged, in files; never mixed.
