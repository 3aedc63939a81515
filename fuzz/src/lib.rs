//! Fuzz targets: every decoder and parser that reads what others wrote.
//!
//! A target is a function of bytes that must return, in bounded time and memory, whatever they
//! are.  To add one: the function, its line in [`TARGETS`], and a seed in `seeds/NAME/` if random
//! bytes do not get far.
//!
//! `cargo test -p whit-fuzz` runs each for a moment;
//! `WHIT_FUZZ_TARGET=NAME cargo fuzz run target --fuzz-dir fuzz/engine` for as long as one likes.

pub mod atop;
pub mod collectl;
pub mod command_lines;
pub mod daemon;
pub mod engines;
pub mod jobs;
pub mod logs;
pub mod machines;
pub mod network;
pub mod parsers;
pub mod rrd;
pub mod sadc;
mod show;

use recording::fuzzing::{Part, file_around, read_through};
use std::sync::{Arc, LazyLock};

use sample::{Cadence, Field, SourceDef, Unit};

/// A target: a function of bytes.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Target)] = &[
    ("atop", atop::atop),
    ("collectl_configuration", command_lines::collectl_configuration),
    ("collectl_gzip", collectl::collectl_gzip),
    ("collectl_plain", collectl::collectl_plain),
    ("completion_line", command_lines::completion_line),
    ("hosts_stream", engines::hosts_stream),
    ("log_frame", logs::log_frame),
    ("log_handshake", logs::log_handshake),
    ("log_host", logs::log_host),
    ("log_journal", logs::log_journal),
    ("log_line", logs::log_line),
    ("log_otlp", logs::log_otlp),
    ("log_process", logs::log_process),
    ("log_record", logs::log_record),
    ("log_recordings", engines::log_recordings),
    ("log_ring", logs::log_ring),
    ("log_spool", logs::log_spool),
    ("log_store", logs::log_store),
    ("log_view_keys", log_view::fuzzing::keys),
    ("poll_table", engines::poll_table),
    ("proc_stat", proc_stat),
    ("procfs", parsers::procfs),
    ("recording_columns", recording_columns),
    ("recording_frames", recording_frames),
    ("recording_head", recording_head),
    ("recording_reader", recording_reader),
    ("rrd_file", rrd::rrd_file),
    ("rrd_repair", rrd::rrd_repair),
    ("rrd_restore", rrd::rrd_restore),
    ("rrd_update", rrd::rrd_update),
    ("rrd_words", rrd::rrd_words),
    ("rrdcached_journal", daemon::rrdcached_journal),
    ("rrdcached_session", daemon::rrdcached_session),
    ("run_input", jobs::run_input),
    ("run_joblog", jobs::run_joblog),
    ("run_logins", jobs::run_logins),
    ("run_options", jobs::run_options),
    ("run_pipe", jobs::run_pipe),
    ("run_template", jobs::run_template),
    ("sadc", sadc::sadc),
    ("send_answer", engines::send_answer),
    ("send_json", engines::send_json),
    ("send_nats", engines::send_nats),
    ("snmp_message", network::snmp_message),
    ("snmp_session", network::snmp_session),
    ("sources", machines::sources),
    ("top_columns", engines::top_columns),
];

/// A source with one row.
pub static SINGLE: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "single".into(),
        about: "One row".into(),
        letters: "c".into(),
        instance: vec![].into(),
        fields: vec![
            Field::counter("a", Unit::Ticks, "A counter"),
            Field::gauge("b", Unit::Count, "A level"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

/// A source with instances and texts.
pub static MANY: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
    Arc::new(SourceDef {
        name: "many".into(),
        about: "Many rows".into(),
        letters: "d".into(),
        instance: vec!["device".into()].into(),
        fields: vec![
            Field::counter("a", Unit::Count, "A counter"),
            Field::text("b", "A text"),
            Field::gauge("c", Unit::Count, "A level"),
        ]
        .into(),
        cadence: Cadence::First,
    })
});

/// The sources of the recordings that targets build.
pub static DEFS: LazyLock<Vec<Arc<SourceDef>>> =
    LazyLock::new(|| vec![SINGLE.clone(), MANY.clone()]);

/// The bytes are a whole file.
pub fn recording_reader(bytes: &[u8]) {
    read_through(bytes.to_vec());
}

/// The bytes are the head, under a right checksum.
pub fn recording_head(bytes: &[u8]) {
    read_through(file_around(Part::Head, bytes, &DEFS));
}

/// The bytes are the body of a block, under a right checksum.
pub fn recording_columns(bytes: &[u8]) {
    read_through(file_around(Part::Columns, bytes, &DEFS));
}

/// The bytes are frames, under right checksums.
pub fn recording_frames(bytes: &[u8]) {
    read_through(file_around(Part::Frames, bytes, &DEFS));
}

/// The bytes are `/proc/stat`.
pub fn proc_stat(bytes: &[u8]) {
    procfs::stat::parse_stat(bytes).for_each(drop);
}
