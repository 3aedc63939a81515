//! How far all jobs are: the lines of `--progress`, `--eta` and `--bar`.
