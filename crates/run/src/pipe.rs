//! Standard input cut into blocks, one for each job (`--pipe`, `--pipe-part`).
