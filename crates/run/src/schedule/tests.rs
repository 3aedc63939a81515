//! Tests of the whole schedule, in simulated time and on a machine that says what they want.

pub(super) mod fake;
mod gates;
mod simulation;
mod whole;
