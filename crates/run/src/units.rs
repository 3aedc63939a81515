//! Sizes and durations as users write them: `10K`, `1d3.5h`.
