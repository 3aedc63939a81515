//! Times as RRDtool's users write them: `now-1d`, `noon yesterday`, `end-1h`, `20261122`, seconds
//! since 1970.
//!
//! Uses nothing of ours and does no I/O: the current time and the time zone come in as arguments.
//! Begin reading here.

#![forbid(unsafe_code)]
