//! The tests of `cli` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Stdio};

mod alert;
mod atop;
mod bench_program;
mod beside_collectl;
mod beside_parallel;
mod closed_descriptors;
mod collectl_corners;
mod collectl_fresh;
mod collectl_limits;
mod collectl_play;
mod collectl_raw;
mod completions;
mod every_source;
mod from_pages;
mod generated;
mod golden;
mod history;
mod history_common;
mod history_daemon;
mod interference;
mod log;
mod log_common;
mod log_input;
mod log_input_folders;
mod log_input_network;
mod log_remote;
mod log_view;
mod options;
mod pager;
mod pages;
mod parallel_differences;
mod play_archive;
mod poll;
mod poll_exits;
mod poll_hostile;
mod poll_makers;
mod poll_record;
mod poll_share;
mod process_sums;
mod processes;
mod real_ssh;
mod record;
mod record_configuration;
mod record_hosts;
mod record_terminal;
mod record_then_play;
mod recordings_meet;
mod rrd_classes;
mod rrd_daemon;
mod rrd_locks;
mod rrdcached;
mod rrdcached_clients;
mod rrdcached_tls;
mod run;
mod run_by_name;
mod run_descriptors;
mod run_env_parallel;
mod run_filter;
mod run_full;
mod run_keys;
mod run_latest;
mod run_like_parallel;
mod run_packing;
mod run_pipe;
mod run_record;
mod run_remote;
mod run_sem;
mod run_stats;
mod run_tee;
mod sadc;
mod sadc_machines;
mod sadc_old;
mod sadc_written;
mod schedule;
mod send;
mod send_day;
mod send_many;
mod send_memory;
mod send_recordings;
mod serve;
mod serve_beside_prometheus;
mod serve_memory;
mod syscalls;
mod sysstat;
mod sysstat_differences;
mod test_command_line;
mod test_link_command;
mod times;
mod top;
mod top_hosts;
mod trace_cgroup;
mod trace_count;
mod trace_differences;
mod trace_ends;
mod trace_events;
mod trace_hosts;
mod trace_memory;
mod units;
mod watch;

/// The program that is tested.
const WHIT: &str = env!("CARGO_BIN_EXE_whit");

/// A command that starts the program without an input, in UTC, and without variables and files of a
/// user's that change what it does.
fn whit() -> Command {
    let mut command = Command::new(WHIT);
    command.stdin(Stdio::null()).env("TZ", "UTC");
    for name in ["NO_COLOR", "PARALLEL", "RRDCACHED_ADDRESS"] {
        command.env_remove(name);
    }
    // Columns and keys that somebody keeps are not those of the tests.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}
