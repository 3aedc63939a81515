//! The tests of `rrd` that can share a process, in one program: it is linked once.

mod convert;
mod interrupted;
mod oracle;
mod pipe;
mod repair;
mod rrdtool;
mod structure;
mod values;
