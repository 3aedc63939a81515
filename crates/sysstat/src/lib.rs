//! Reports as `sar`, `iostat`, `mpstat`, `pidstat`, `vmstat`, `free` and `uptime` make them: their command lines,
//! their columns, of this host or of a recording.
//!
//! A tool is a [`Report`](report::Report): it reads its options, names the sources that it needs, and
//! turns spans of readings into text; one loop ([`run`]) serves them all.  The columns are data: what
//! each is called and which counters it is made of.  Facts come from the manual pages of sysstat 12.6
//! and procps 4.0 and from what these programs print.
//!
//! Uses `feed`, `recording`, `sample`, `source`.  Reads no environment and prints nothing: output goes to the
//! writer of the [`ReportSession`].  Begin with `report.rs`, then `sar.rs` and `activities.rs`.  Cost of an interval: one reading of the sources that the report needs.
#![forbid(unsafe_code)]

mod activities;
mod activities_network;
mod activities_power;
mod columns;
mod daily_file;
mod disk_folder;
mod error;
mod format;
mod free;
mod iostat;
mod iostat_extended;
mod json;
mod machine;
mod mpstat;
mod persistent_names;
mod pidstat;
mod pidstat_stack;
mod readings;
mod report;
mod sadf;
mod sadf_document;
mod sadf_graph;
mod sar;
mod saving;
mod sources;
mod stamp;
mod topology;
mod uptime;
mod values;
mod vmstat;
mod vmstat_tables;
mod words;

pub use error::SysstatError;
pub use readings::{ReportSession, run, start_program};

/// A program whose reports are made.
pub struct ReportTool {
    /// The name under which it is called.
    pub name: &'static str,
    /// One sentence about it.
    pub about: &'static str,
    /// The options of the tool, as `--help` shows them.
    pub usage: &'static str,
    make: fn(&[String]) -> Result<report::ReportRequest, SysstatError>,
}

impl std::fmt::Debug for ReportTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ReportTool").field(&self.name).finish()
    }
}

/// Every tool.
pub static TOOLS: &[ReportTool] = &[
    ReportTool {
        name: "free",
        about: "Memory in use and free",
        usage: free::USAGE,
        make: free::parse,
    },
    ReportTool {
        name: "iostat",
        about: "CPU time, and transfers of disks",
        usage: iostat::USAGE,
        make: iostat::parse,
    },
    ReportTool {
        name: "mpstat",
        about: "CPU time and interrupts of each CPU",
        usage: mpstat::USAGE,
        make: mpstat::parse,
    },
    ReportTool {
        name: "pidstat",
        about: "What each process uses",
        usage: pidstat::USAGE,
        make: pidstat::parse,
    },
    ReportTool {
        name: "sadf",
        about: "The tables of sar, for programs",
        usage: sadf::USAGE,
        make: sadf::parse,
    },
    ReportTool {
        name: "sar",
        about: "Activity of the machine, by subsystem",
        usage: sar::USAGE,
        make: sar::parse,
    },
    ReportTool {
        name: "uptime",
        about: "How long the machine has run, and its load",
        usage: uptime::USAGE,
        make: uptime::parse,
    },
    ReportTool {
        name: "vmstat",
        about: "Processes, memory, paging, disks and CPU time in a line",
        usage: vmstat::USAGE,
        make: vmstat::parse,
    },
];

/// The tool of that name.
#[must_use]
pub fn tool(name: &str) -> Option<&'static ReportTool> {
    TOOLS.iter().find(|tool| tool.name == name)
}
