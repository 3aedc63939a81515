//! The fields that are metrics of node_exporter, and their names there.

use std::fmt::Write as _;

/// A source of which fields are metrics of node_exporter.
pub struct KnownSource {
    /// The name of the source.
    pub source: &'static str,
    /// The label of its instances, if it has any.
    pub instance: &'static str,
    /// Texts that are labels there: the field and the label.
    pub texts: &'static [(&'static str, &'static str)],
    /// A label whose values are those of the metrics below.
    pub label: &'static str,
    /// Field, metric, value of the label.
    pub metrics: &'static [(&'static str, &'static str, &'static str)],
}

const EMPTY: KnownSource =
    KnownSource { source: "", instance: "", texts: &[], label: "", metrics: &[] };

/// All that are known.
const KNOWN: &[KnownSource] = &[
    KnownSource {
        source: "cpu",
        metrics: &[
            ("interrupts", "node_intr_total", ""),
            ("context_switches", "node_context_switches_total", ""),
            ("forks", "node_forks_total", ""),
            ("running", "node_procs_running", ""),
            ("blocked", "node_procs_blocked", ""),
            ("load_1m", "node_load1", ""),
            ("load_5m", "node_load5", ""),
            ("load_15m", "node_load15", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "cpu_core",
        instance: "cpu",
        label: "mode",
        metrics: &[
            ("user", "node_cpu_seconds_total", "user"),
            ("nice", "node_cpu_seconds_total", "nice"),
            ("system", "node_cpu_seconds_total", "system"),
            ("idle", "node_cpu_seconds_total", "idle"),
            ("iowait", "node_cpu_seconds_total", "iowait"),
            ("irq", "node_cpu_seconds_total", "irq"),
            ("softirq", "node_cpu_seconds_total", "softirq"),
            ("steal", "node_cpu_seconds_total", "steal"),
            ("guest", "node_cpu_guest_seconds_total", "user"),
            ("guest_nice", "node_cpu_guest_seconds_total", "nice"),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "memory",
        metrics: &[
            ("total", "node_memory_MemTotal_bytes", ""),
            ("free", "node_memory_MemFree_bytes", ""),
            ("available", "node_memory_MemAvailable_bytes", ""),
            ("buffers", "node_memory_Buffers_bytes", ""),
            ("cached", "node_memory_Cached_bytes", ""),
            ("swap_cached", "node_memory_SwapCached_bytes", ""),
            ("active", "node_memory_Active_bytes", ""),
            ("inactive", "node_memory_Inactive_bytes", ""),
            ("active_anon", "node_memory_Active_anon_bytes", ""),
            ("inactive_anon", "node_memory_Inactive_anon_bytes", ""),
            ("active_file", "node_memory_Active_file_bytes", ""),
            ("inactive_file", "node_memory_Inactive_file_bytes", ""),
            ("unevictable", "node_memory_Unevictable_bytes", ""),
            ("locked", "node_memory_Mlocked_bytes", ""),
            ("swap_total", "node_memory_SwapTotal_bytes", ""),
            ("swap_free", "node_memory_SwapFree_bytes", ""),
            ("dirty", "node_memory_Dirty_bytes", ""),
            ("writeback", "node_memory_Writeback_bytes", ""),
            ("anonymous", "node_memory_AnonPages_bytes", ""),
            ("mapped", "node_memory_Mapped_bytes", ""),
            ("shared", "node_memory_Shmem_bytes", ""),
            ("kernel_reclaimable", "node_memory_KReclaimable_bytes", ""),
            ("slab", "node_memory_Slab_bytes", ""),
            ("slab_reclaimable", "node_memory_SReclaimable_bytes", ""),
            ("slab_unreclaimable", "node_memory_SUnreclaim_bytes", ""),
            ("kernel_stack", "node_memory_KernelStack_bytes", ""),
            ("page_tables", "node_memory_PageTables_bytes", ""),
            ("nfs_unstable", "node_memory_NFS_Unstable_bytes", ""),
            ("bounce", "node_memory_Bounce_bytes", ""),
            ("commit_limit", "node_memory_CommitLimit_bytes", ""),
            ("committed", "node_memory_Committed_AS_bytes", ""),
            ("vmalloc_used", "node_memory_VmallocUsed_bytes", ""),
            ("per_cpu", "node_memory_Percpu_bytes", ""),
            ("hardware_corrupted", "node_memory_HardwareCorrupted_bytes", ""),
            ("anonymous_huge", "node_memory_AnonHugePages_bytes", ""),
            ("shared_huge", "node_memory_ShmemHugePages_bytes", ""),
            ("huge_total", "node_memory_HugePages_Total", ""),
            ("huge_free", "node_memory_HugePages_Free", ""),
            ("huge_reserved", "node_memory_HugePages_Rsvd", ""),
            ("huge_surplus", "node_memory_HugePages_Surp", ""),
            ("huge_size", "node_memory_Hugepagesize_bytes", ""),
            ("hugetlb", "node_memory_Hugetlb_bytes", ""),
            ("file_huge", "node_memory_FileHugePages_bytes", ""),
            ("zswap", "node_memory_Zswap_bytes", ""),
            ("zswapped", "node_memory_Zswapped_bytes", ""),
            ("faults", "node_vmstat_pgfault", ""),
            ("major_faults", "node_vmstat_pgmajfault", ""),
            ("oom_kills", "node_vmstat_oom_kill", ""),
            ("stalls", "node_vmstat_allocstall", ""),
            ("stalls_dma", "node_vmstat_allocstall_dma", ""),
            ("stalls_dma32", "node_vmstat_allocstall_dma32", ""),
            ("stalls_normal", "node_vmstat_allocstall_normal", ""),
            ("stalls_movable", "node_vmstat_allocstall_movable", ""),
            ("scan_throttled", "node_vmstat_pgscan_direct_throttle", ""),
            ("slabs_scanned", "node_vmstat_slabs_scanned", ""),
            ("kswapd_runs", "node_vmstat_pageoutrun", ""),
            ("drop_page_cache", "node_vmstat_drop_pagecache", ""),
            ("drop_slab", "node_vmstat_drop_slab", ""),
            ("compact_stalls", "node_vmstat_compact_stall", ""),
            ("compact_failures", "node_vmstat_compact_fail", ""),
            ("compact_successes", "node_vmstat_compact_success", ""),
            ("compact_wakes", "node_vmstat_compact_daemon_wake", ""),
            ("huge_faults", "node_vmstat_thp_fault_alloc", ""),
            ("huge_fallbacks", "node_vmstat_thp_fault_fallback", ""),
            ("huge_collapses", "node_vmstat_thp_collapse_alloc", ""),
            ("huge_splits", "node_vmstat_thp_split_page", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "disk",
        instance: "device",
        metrics: &[
            ("reads", "node_disk_reads_completed_total", ""),
            ("reads_merged", "node_disk_reads_merged_total", ""),
            ("read_sectors", "node_disk_read_bytes_total", ""),
            ("read_ms", "node_disk_read_time_seconds_total", ""),
            ("writes", "node_disk_writes_completed_total", ""),
            ("writes_merged", "node_disk_writes_merged_total", ""),
            ("write_sectors", "node_disk_written_bytes_total", ""),
            ("write_ms", "node_disk_write_time_seconds_total", ""),
            ("in_flight", "node_disk_io_now", ""),
            ("busy_ms", "node_disk_io_time_seconds_total", ""),
            ("weighted_ms", "node_disk_io_time_weighted_seconds_total", ""),
            ("discards", "node_disk_discards_completed_total", ""),
            ("discards_merged", "node_disk_discards_merged_total", ""),
            ("discard_ms", "node_disk_discard_time_seconds_total", ""),
            ("flushes", "node_disk_flush_requests_total", ""),
            ("flush_ms", "node_disk_flush_requests_time_seconds_total", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "network",
        instance: "device",
        metrics: &[
            ("rx_bytes", "node_network_receive_bytes_total", ""),
            ("rx_packets", "node_network_receive_packets_total", ""),
            ("rx_errors", "node_network_receive_errs_total", ""),
            ("rx_dropped", "node_network_receive_drop_total", ""),
            ("rx_fifo", "node_network_receive_fifo_total", ""),
            ("rx_frame", "node_network_receive_frame_total", ""),
            ("rx_compressed", "node_network_receive_compressed_total", ""),
            ("rx_multicast", "node_network_receive_multicast_total", ""),
            ("tx_bytes", "node_network_transmit_bytes_total", ""),
            ("tx_packets", "node_network_transmit_packets_total", ""),
            ("tx_errors", "node_network_transmit_errs_total", ""),
            ("tx_dropped", "node_network_transmit_drop_total", ""),
            ("tx_fifo", "node_network_transmit_fifo_total", ""),
            ("tx_collisions", "node_network_transmit_colls_total", ""),
            ("tx_carrier", "node_network_transmit_carrier_total", ""),
            ("tx_compressed", "node_network_transmit_compressed_total", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "filesystem",
        instance: "mountpoint",
        texts: &[("device", "device"), ("kind", "fstype")],
        metrics: &[
            ("size", "node_filesystem_size_bytes", ""),
            ("free", "node_filesystem_free_bytes", ""),
            ("available", "node_filesystem_avail_bytes", ""),
            ("inodes", "node_filesystem_files", ""),
            ("inodes_free", "node_filesystem_files_free", ""),
            ("read_only", "node_filesystem_readonly", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "inode",
        metrics: &[
            ("files_open", "node_filefd_allocated", ""),
            ("files_max", "node_filefd_maximum", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "socket",
        metrics: &[
            ("used", "node_sockstat_sockets_used", ""),
            ("tcp_inuse", "node_sockstat_TCP_inuse", ""),
            ("tcp_orphan", "node_sockstat_TCP_orphan", ""),
            ("tcp_time_wait", "node_sockstat_TCP_tw", ""),
            ("tcp_allocated", "node_sockstat_TCP_alloc", ""),
            ("tcp_memory", "node_sockstat_TCP_mem_bytes", ""),
            ("udp_inuse", "node_sockstat_UDP_inuse", ""),
            ("udp_memory", "node_sockstat_UDP_mem_bytes", ""),
            ("udplite_inuse", "node_sockstat_UDPLITE_inuse", ""),
            ("raw_inuse", "node_sockstat_RAW_inuse", ""),
            ("fragments", "node_sockstat_FRAG_inuse", ""),
            ("fragment_bytes", "node_sockstat_FRAG_memory", ""),
            ("tcp6_inuse", "node_sockstat_TCP6_inuse", ""),
            ("udp6_inuse", "node_sockstat_UDP6_inuse", ""),
            ("udplite6_inuse", "node_sockstat_UDPLITE6_inuse", ""),
            ("raw6_inuse", "node_sockstat_RAW6_inuse", ""),
            ("fragments6", "node_sockstat_FRAG6_inuse", ""),
            ("fragment6_bytes", "node_sockstat_FRAG6_memory", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "schedstat",
        instance: "cpu",
        metrics: &[
            ("run", "node_schedstat_running_seconds_total", ""),
            ("wait", "node_schedstat_waiting_seconds_total", ""),
            ("timeslices", "node_schedstat_timeslices_total", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "softirq",
        instance: "cpu",
        label: "type",
        metrics: &[
            ("hi", "node_softirqs_functions_total", "HI"),
            ("timer", "node_softirqs_functions_total", "TIMER"),
            ("net_tx", "node_softirqs_functions_total", "NET_TX"),
            ("net_rx", "node_softirqs_functions_total", "NET_RX"),
            ("block", "node_softirqs_functions_total", "BLOCK"),
            ("irq_poll", "node_softirqs_functions_total", "IRQ_POLL"),
            ("tasklet", "node_softirqs_functions_total", "TASKLET"),
            ("sched", "node_softirqs_functions_total", "SCHED"),
            ("hrtimer", "node_softirqs_functions_total", "HRTIMER"),
            ("rcu", "node_softirqs_functions_total", "RCU"),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "slab",
        instance: "slab",
        metrics: &[
            ("objects_active", "node_slabinfo_active_objects", ""),
            ("objects", "node_slabinfo_objects", ""),
            ("object_size", "node_slabinfo_object_size_bytes", ""),
            ("objects_per_slab", "node_slabinfo_objects_per_slab", ""),
        ],
        ..EMPTY
    },
    KnownSource {
        source: "process_total",
        metrics: &[
            ("processes", "node_processes_pids", ""),
            ("threads", "node_processes_threads", ""),
        ],
        ..EMPTY
    },
];

/// The values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricValue {
    /// The values of a field, by its index among the fields to read.
    Field(usize),
    /// Always 1: the labels tell.
    Info,
    /// When the machine was booted.
    BootTime,
    /// When the source was read.
    Time,
}

/// A metric of node_exporter that is no field but a fact of the machine: dashboards find machines by
/// these.
#[derive(Debug)]
pub struct MachineMetric {
    /// The name of the metric.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Where its value is from.
    pub value: MetricValue,
    /// Facts of the recording that are labels: the fact and the label.
    pub facts: &'static [(&'static str, &'static str)],
}

/// All that are known.
pub const MACHINE: &[MachineMetric] = &[
    MachineMetric {
        name: "node_uname_info",
        help: "The machine and its kernel",
        value: MetricValue::Info,
        facts: &[("host", "nodename"), ("kernel", "release"), ("architecture", "machine")],
    },
    MachineMetric {
        name: "node_boot_time_seconds",
        help: "When the machine was booted, since the epoch",
        value: MetricValue::BootTime,
        facts: &[],
    },
    MachineMetric {
        name: "node_time_seconds",
        help: "When the machine was read, since the epoch",
        value: MetricValue::Time,
        facts: &[],
    },
];

/// The sources whose metrics have the kernel's names.
const OF_KERNEL: &[KnownSource] =
    &[KnownSource { source: "tcp", ..EMPTY }, KnownSource { source: "vmstat", ..EMPTY }];

impl KnownSource {
    /// Field, metric, value of the label.
    fn all(&self) -> Box<dyn Iterator<Item = (&'static str, &'static str, &'static str)>> {
        let unlabelled = |(field, name)| (field, name, "");
        match self.source {
            "tcp" => Box::new(source::netstat_metrics().map(unlabelled)),
            "vmstat" => Box::new(source::vmstat_metrics().map(unlabelled)),
            _ => Box::new(self.metrics.iter().copied()),
        }
    }
}

/// The source and the metric of a field, if it is one of node_exporter's: its name and the value of
/// the source's label.
pub fn known(
    source: &str,
    field: &str,
) -> Option<(&'static KnownSource, &'static str, &'static str)> {
    let known = known_source(source)?;
    let (_, name, value) = known.all().find(|(own, _, _)| *own == field)?;
    Some((known, name, value))
}

/// Whether a field of a source has that name of node_exporter.
pub(crate) fn is_known_metric(source: &str, metric: &str) -> bool {
    known_source(source).is_some_and(|known| known.all().any(|(_, name, _)| name == metric))
}

fn known_source(source: &str) -> Option<&'static KnownSource> {
    KNOWN.iter().chain(OF_KERNEL).find(|known| known.source == source)
}

/// The metric of node_exporter that a field is, for pages.
pub fn metric_name(source: &str, field: &str) -> Option<view::KnownMetric> {
    let (known, name, value) = known(source, field)?;
    let label = Some((known.label, value)).filter(|_| !value.is_empty());
    Some(view::KnownMetric { name, instance: known.instance, texts: known.texts, label })
}

/// The page that lists the fields which have node_exporter's names, in Markdown.
#[must_use]
pub fn prometheus_names() -> String {
    let mut page = "# Names of metrics\n\n\
        Generated by `cargo xtask gen` from the table of `whit serve`.\n\n\
        `whit serve` gives these fields the names that node_exporter gives them. Every other number is \
        `whit_SOURCE_FIELD_UNIT`, a counter with `_total`, as `--openmetrics` writes it; the texts \
        of a row are labels of `whit_SOURCE_info`.\n\n\
        All series of queries have `instance`, the host, and `job=\"whit\"`; on `/metrics` of `whit serve` \
        they have `instance` alone, and on that of `whit record --listen` neither, as those of \
        node_exporter. A row that is no longer there ends at once. \
        Values are in base units; counters are counters: ask for their `rate`.\n\n\
        | field | metric | labels |\n|---|---|---|\n"
        .to_owned();
    for known in KNOWN.iter().chain(OF_KERNEL) {
        for (field, name, value) in known.all() {
            let mut labels = vec![];
            if !known.instance.is_empty() {
                labels.push(format!("`{}`", known.instance));
            }
            labels.extend(known.texts.iter().map(|(_, label)| format!("`{label}`")));
            if !value.is_empty() {
                labels.push(format!("`{}=\"{value}\"`", known.label));
            }
            let source = known.source;
            let _ = writeln!(page, "| `{source}.{field}` | `{name}` | {} |", labels.join(", "));
        }
    }
    page += "\nOf queries, not on pages, also what a recording knows of its machine:\n\n\
        | metric | what it is | labels |\n|---|---|---|\n";
    for one in MACHINE {
        let labels: Vec<String> = one.facts.iter().map(|(_, label)| format!("`{label}`")).collect();
        let _ = writeln!(page, "| `{}` | {} | {} |", one.name, one.help, labels.join(", "));
    }
    page.push_str(
        "\nThe targets of `whit poll` are of their devices: `instance` is the device.\n\n\
         | field | metric | labels |\n|---|---|---|\n",
    );
    let targets = archive::target_source();
    for field in targets.fields.iter() {
        let name = view::FieldMetric::of(&targets, field).name;
        let _ = writeln!(page, "| `{}.{}` | `{name}` | `target` |", targets.name, field.name);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_exists_and_has_the_unit_of_its_metric() {
        let defs = source::definitions();
        for known in KNOWN.iter().chain(OF_KERNEL) {
            let def = defs.iter().find(|def| def.name == known.source).expect(known.source);
            assert_eq!(def.instance.len(), usize::from(!known.instance.is_empty()), "{}", def.name);
            for (text, _) in known.texts {
                assert_eq!(def.fields[def.field(text).expect(text)].kind, sample::Kind::Text);
            }
            for (name, metric, _) in known.all() {
                let field = &def.fields[def.field(name).expect(name)];
                let is_counter = field.kind == sample::Kind::Counter;
                let base = field.unit.base_name();
                // These have the kernel's names, and node_exporter does not say what they are.
                let is_of_kernel = ["node_netstat_", "node_vmstat_", "node_sockstat_"];
                if is_of_kernel.iter().any(|start| metric.starts_with(start)) {
                    let is_bytes =
                        ["Octets", "bytes", "memory"].iter().any(|end| metric.ends_with(end));
                    assert_eq!(is_bytes, base == "bytes", "{metric} {base}");
                    continue;
                }
                assert_eq!(metric.ends_with("_total"), is_counter, "{metric}");
                for unit in ["bytes", "seconds"] {
                    assert_eq!(metric.contains(unit), base == unit, "{metric} {base}");
                }
            }
        }
    }
}
