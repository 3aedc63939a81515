//! The joblog: what was run, when, for how long and with what result; and going on after it.
