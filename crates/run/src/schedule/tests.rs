//! Tests of the whole schedule, in simulated time and on a simulated machine.

pub(super) mod fake;
mod gates;
mod simulation;
mod whole;
