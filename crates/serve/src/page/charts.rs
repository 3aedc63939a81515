//! The charts of the page: a table.  A chart is shown if the recordings of a host have a field of it.

use sample::SourceDef;

/// A chart.
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) group: &'static str,
    pub(crate) unit: &'static str,
    /// Whether its series are parts of a whole.
    pub(crate) is_stack: bool,
    pub(crate) source: &'static str,
    pub(crate) instances: Instances,
    pub(crate) series: &'static [ChartSeries],
}

/// What a chart does with the instances of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instances {
    /// The source has one row.
    None,
    /// Each instance has all series of the chart.
    Each,
    /// Each series is of the instance of its name.
    Series,
}

/// A curve, or a part of a stack.
pub(crate) struct ChartSeries {
    pub(crate) id: &'static str,
    pub(crate) label: &'static str,
    pub(crate) of: Formula,
}

/// How a value follows from fields, in the unit of the chart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Formula {
    /// A level, or a rate a second.
    Field(&'static str),
    /// A counter of time, as percent of the time that passed.
    Fraction(&'static str),
    /// A part of the time of all CPUs, in percent.
    Share(&'static str),
    /// What of the time of all CPUs is not idle, in percent.
    Busy,
    /// The first level less the others.
    Rest(&'static [&'static str]),
}

/// The parts of CPU time, which together are all time; guests are in `user` and `nice`.
pub(crate) const CPU_PARTS: &[&str] =
    &["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// The states in which a CPU does nothing.
pub(crate) const CPU_IDLE: &[&str] = &["idle", "iowait"];

impl Formula {
    /// The fields that it needs.
    pub(crate) fn fields(&self) -> &[&'static str] {
        match self {
            Formula::Field(field) | Formula::Fraction(field) => std::slice::from_ref(field),
            Formula::Share(_) | Formula::Busy => CPU_PARTS,
            Formula::Rest(fields) => fields,
        }
    }

    /// Computes the value of the curve from the values of fields, which are in base units.
    pub(crate) fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let cpu_time = |is_left_out: fn(&&&str) -> bool| -> f64 {
            let parts = CPU_PARTS.iter().filter(|part| !is_left_out(part));
            parts.filter_map(|part| of(part)).sum()
        };
        let part_of_all = |part: f64| {
            let all = cpu_time(|_| false);
            (all > 0.0).then(|| (100.0 * part / all).clamp(0.0, 100.0))
        };
        match self {
            Formula::Field(field) => of(field),
            Formula::Fraction(field) => Some(100.0 * of(field)?),
            Formula::Share(field) => part_of_all(of(field)?),
            Formula::Busy => {
                of("idle")?;
                part_of_all(cpu_time(|part| CPU_IDLE.contains(*part)))
            }
            Formula::Rest(fields) => {
                let (whole, parts) = fields.split_first()?;
                let mut rest = of(whole)?;
                for part in parts {
                    rest -= of(part)?;
                }
                Some(rest.max(0.0))
            }
        }
    }

    /// Whether it has a value with these fields.
    fn is_possible(&self, def: &SourceDef) -> bool {
        match self {
            Formula::Share(field) => def.field(field).is_some(),
            Formula::Busy => def.field("idle").is_some(),
            _ => self.fields().iter().all(|field| def.field(field).is_some()),
        }
    }
}

impl Chart {
    /// The chart of that name.
    pub(crate) fn find(id: &str) -> Option<&'static Chart> {
        CHARTS.iter().find(|chart| chart.id == id)
    }

    /// The series that have a value with the fields of a source.
    pub(crate) fn series_of(&self, def: &SourceDef) -> Vec<&'static ChartSeries> {
        self.series.iter().filter(|series| series.of.is_possible(def)).collect()
    }
}

const fn field(id: &'static str, label: &'static str, field: &'static str) -> ChartSeries {
    ChartSeries { id, label, of: Formula::Field(field) }
}

const fn fraction(id: &'static str, label: &'static str, field: &'static str) -> ChartSeries {
    ChartSeries { id, label, of: Formula::Fraction(field) }
}

const fn share(field: &'static str) -> ChartSeries {
    ChartSeries { id: field, label: field, of: Formula::Share(field) }
}

const NONE: Chart = Chart {
    id: "",
    title: "",
    group: "",
    unit: "count",
    is_stack: false,
    source: "",
    instances: Instances::None,
    series: &[],
};

/// How busy all CPUs together are, for the ruler.
pub(crate) const BUSY: &Chart = &Chart {
    id: "cpu",
    title: "CPU",
    group: "CPU",
    unit: "percent",
    source: "cpu",
    series: &[ChartSeries { id: "busy", label: "busy", of: Formula::Busy }],
    ..NONE
};

/// All charts, in the order of the page.
pub(crate) const CHARTS: &[Chart] = &[
    Chart {
        id: "cpu",
        title: "CPU",
        group: "CPU",
        unit: "percent",
        is_stack: true,
        source: "cpu",
        series: &[
            share("user"),
            share("nice"),
            share("system"),
            share("irq"),
            share("softirq"),
            share("steal"),
            share("iowait"),
        ],
        ..NONE
    },
    Chart {
        id: "cpu-each",
        title: "Each CPU",
        group: "CPU",
        unit: "percent",
        source: "cpu_core",
        instances: Instances::Each,
        series: &[ChartSeries { id: "busy", label: "busy", of: Formula::Busy }],
        ..NONE
    },
    Chart {
        id: "load",
        title: "Load average",
        group: "CPU",
        source: "cpu",
        series: &[
            field("1m", "1 minute", "load_1m"),
            field("5m", "5 minutes", "load_5m"),
            field("15m", "15 minutes", "load_15m"),
        ],
        ..NONE
    },
    Chart {
        id: "memory",
        title: "Memory",
        group: "Memory",
        unit: "bytes",
        is_stack: true,
        source: "memory",
        series: &[
            ChartSeries {
                id: "used",
                label: "used",
                of: Formula::Rest(&["total", "free", "buffers", "cached", "slab"]),
            },
            field("buffers", "buffers", "buffers"),
            field("cached", "cached", "cached"),
            field("slab", "slab", "slab"),
            field("free", "free", "free"),
        ],
        ..NONE
    },
    Chart {
        id: "swap",
        title: "Swap",
        group: "Memory",
        unit: "bytes",
        is_stack: true,
        source: "memory",
        series: &[
            ChartSeries {
                id: "used",
                label: "used",
                of: Formula::Rest(&["swap_total", "swap_free"]),
            },
            field("free", "free", "swap_free"),
        ],
        ..NONE
    },
    Chart {
        id: "swap-traffic",
        title: "Swap traffic",
        group: "Memory",
        unit: "bytes/s",
        source: "memory",
        series: &[field("in", "in", "swap_in"), field("out", "out", "swap_out")],
        ..NONE
    },
    Chart {
        id: "disk",
        title: "Disks",
        group: "Disks",
        unit: "bytes/s",
        source: "disk",
        instances: Instances::Each,
        series: &[field("read", "read", "read_sectors"), field("write", "write", "write_sectors")],
        ..NONE
    },
    Chart {
        id: "disk-operations",
        title: "Disk operations",
        group: "Disks",
        unit: "count/s",
        source: "disk",
        instances: Instances::Each,
        series: &[field("reads", "reads", "reads"), field("writes", "writes", "writes")],
        ..NONE
    },
    Chart {
        id: "disk-busy",
        title: "Disks busy",
        group: "Disks",
        unit: "percent",
        source: "disk",
        instances: Instances::Each,
        series: &[fraction("busy", "busy", "busy_ms")],
        ..NONE
    },
    Chart {
        id: "network",
        title: "Network",
        group: "Network",
        unit: "bytes/s",
        source: "network",
        instances: Instances::Each,
        series: &[
            field("receive", "received", "rx_bytes"),
            field("transmit", "transmitted", "tx_bytes"),
        ],
        ..NONE
    },
    Chart {
        id: "network-packets",
        title: "Network packets",
        group: "Network",
        unit: "count/s",
        source: "network",
        instances: Instances::Each,
        series: &[
            field("receive", "received", "rx_packets"),
            field("transmit", "transmitted", "tx_packets"),
            field("receive-dropped", "received and dropped", "rx_dropped"),
            field("transmit-dropped", "dropped instead of sent", "tx_dropped"),
        ],
        ..NONE
    },
    Chart {
        id: "pressure",
        title: "Pressure: tasks stalled",
        group: "Pressure",
        unit: "percent",
        source: "pressure",
        instances: Instances::Series,
        series: &[
            fraction("cpu", "CPU", "some_total"),
            fraction("memory", "memory", "some_total"),
            fraction("io", "I/O", "some_total"),
        ],
        ..NONE
    },
    Chart {
        id: "context-switches",
        title: "Context switches and interrupts",
        group: "System",
        unit: "count/s",
        source: "cpu",
        series: &[
            field("switches", "context switches", "context_switches"),
            field("interrupts", "interrupts", "interrupts"),
        ],
        ..NONE
    },
    Chart {
        id: "processes",
        title: "Processes",
        group: "System",
        source: "cpu",
        series: &[
            field("running", "running", "running"),
            field("blocked", "waiting for a disk", "blocked"),
            field("forks", "created a second", "forks"),
        ],
        ..NONE
    },
    Chart {
        id: "tcp",
        title: "TCP segments",
        group: "Network",
        unit: "count/s",
        source: "tcp",
        series: &[
            field("in", "received", "tcp_in_segs"),
            field("out", "sent", "tcp_out_segs"),
            field("retransmitted", "retransmitted", "tcp_retrans_segs"),
        ],
        ..NONE
    },
    Chart {
        id: "sockets",
        title: "Sockets",
        group: "Network",
        source: "socket",
        series: &[
            field("used", "all", "used"),
            field("tcp", "TCP", "tcp_inuse"),
            field("udp", "UDP", "udp_inuse"),
        ],
        ..NONE
    },
    Chart {
        id: "files",
        title: "Open files",
        group: "System",
        source: "inode",
        series: &[field("open", "open", "files_open")],
        ..NONE
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_chart_has_its_fields_and_a_name_of_its_own() {
        let defs = source::definitions();
        let mut ids = HashSet::new();
        for chart in CHARTS {
            assert!(ids.insert(chart.id), "{}", chart.id);
            let def = defs.iter().find(|def| def.name == chart.source).unwrap();
            assert_eq!(chart.series_of(def).len(), chart.series.len(), "{}", chart.id);
            for name in chart.series.iter().flat_map(|series| series.of.fields()) {
                assert!(def.field(name).is_some(), "{}: {name}", chart.id);
            }
            assert_eq!(def.instance.is_empty(), chart.instances == Instances::None);
            let units = ["percent", "bytes", "bytes/s", "count/s", "count", "seconds"];
            assert!(units.contains(&chart.unit), "{}", chart.id);
        }
    }
}
