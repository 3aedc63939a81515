//! The verbs: each is a module with its `arguments`, its `run`, and what only it uses.

pub(crate) mod alert;
pub(crate) mod bench;
pub(crate) mod complete;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod link;
pub(crate) mod log;
pub(crate) mod play;
pub(crate) mod poll;
pub(crate) mod record;
pub(crate) mod rrd;
pub(crate) mod rrdcached;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod sysstat;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod watch;
