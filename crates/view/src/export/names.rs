//! The names of collectl's own metrics in graphite and Ganglia; layouts have the names of `lexpr`.
//!
//! Metrics that are not in this table (whit's own) go to every format under their own name,
//! without a unit.

/// One of collectl's metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CollectlMetric {
    /// The name in `lexpr`; of a detail metric without the instance (`diskinfo.reads`).
    pub(super) name: &'static str,
    /// Whether `lexpr` writes it.
    pub(super) lexpr: bool,
    /// The name in graphite and Ganglia, if collectl sends it to graphite at all.
    pub(super) sent: Option<&'static str>,
    /// Ganglia's group; empty if collectl does not send it to Ganglia.
    pub(super) group: &'static str,
    /// The unit of the metric in Ganglia.
    pub(super) unit: &'static str,
    /// Ganglia's own metric for the same thing: its name, its unit, and what the value is
    /// multiplied by.
    pub(super) standard: Option<(&'static str, &'static str, f64)>,
}

/// A metric of `lexpr` only.
const fn metric(name: &'static str) -> CollectlMetric {
    CollectlMetric { name, lexpr: true, sent: None, group: "", unit: "", standard: None }
}

impl CollectlMetric {
    /// Sent under its own name.
    const fn sent(self, unit: &'static str, group: &'static str) -> CollectlMetric {
        CollectlMetric { sent: Some(self.name), unit, group, ..self }
    }

    /// Sent under another name.
    const fn sent_as(
        self,
        sent: &'static str,
        unit: &'static str,
        group: &'static str,
    ) -> CollectlMetric {
        CollectlMetric { sent: Some(sent), unit, group, ..self }
    }

    /// One of Ganglia's own.
    const fn standard(self, name: &'static str, unit: &'static str, factor: f64) -> CollectlMetric {
        CollectlMetric { standard: Some((name, unit, factor)), ..self }
    }
}

/// The entry of a metric, by its name in the layout.
pub(super) fn find(name: &str) -> Option<&'static CollectlMetric> {
    // The keys of `diskinfo.reads.{}` and `cpuinfo.user.cpu{}` lack the last part.
    let key = match name.find("{}") {
        Some(at) if name.len() == at + 2 => &name[..name.rfind('.').unwrap_or(at)],
        _ => name,
    };
    KNOWN.iter().find(|known| known.name == key)
}

static KNOWN: &[CollectlMetric] = &[
    metric("cputotals.num").standard("cpu_num", "CPUs", 1.0),
    metric("cputotals.user").sent("percent", "cpu").standard("cpu_user", "percent", 1.0),
    metric("cputotals.nice").sent("percent", "cpu").standard("cpu_nice", "percent", 1.0),
    metric("cputotals.sys").sent("percent", "cpu").standard("cpu_system", "percent", 1.0),
    metric("cputotals.wait").sent("percent", "cpu").standard("cpu_wio", "percent", 1.0),
    metric("cputotals.idle").sent("percent", "cpu").standard("cpu_idle", "percent", 1.0),
    metric("cputotals.irq").sent("percent", "cpu"),
    metric("cputotals.soft").sent("percent", "cpu"),
    metric("cputotals.steal").sent("percent", "cpu"),
    metric("cputotals.systot"),
    metric("cputotals.usertot"),
    metric("cputotals.total"),
    metric("ctxint.ctx").sent("switches/sec", "cpu"),
    metric("ctxint.int").sent("intrpts/sec", "cpu"),
    metric("proc.creates").sent_as("ctxint.proc", "pcreates/sec", "cpu"),
    metric("proc.runq").sent_as("ctxint.runq", "runqSize", "cpu").standard(
        "proc_total",
        "Load/Procs",
        1.0,
    ),
    metric("proc.run").standard("proc_run", "Load/Procs", 1.0),
    metric("cpuload.avg1").sent("loadAvg1", "cpu").standard("load_one", "Load/Procs", 1.0),
    metric("cpuload.avg5").sent("loadAvg5", "cpu").standard("load_five", "Load/Procs", 1.0),
    metric("cpuload.avg15").sent("loadAvg15", "cpu").standard("load_fifteen", "Load/Procs", 1.0),
    metric("cpuinfo.user").sent("percent", "cpu"),
    metric("cpuinfo.nice").sent("percent", "cpu"),
    metric("cpuinfo.sys").sent("percent", "cpu"),
    metric("cpuinfo.wait").sent("percent", "cpu"),
    metric("cpuinfo.irq").sent("percent", "cpu"),
    metric("cpuinfo.soft").sent("percent", "cpu"),
    metric("cpuinfo.steal").sent("percent", "cpu"),
    metric("cpuinfo.idle").sent("percent", "cpu"),
    metric("cpuinfo.intrpt").sent("intrpts/sec", "cpu"),
    metric("disktotals.reads").sent("reads/sec", "disk"),
    metric("disktotals.readkbs").sent("readkbs/sec", "disk"),
    metric("disktotals.writes").sent("writes/sec", "disk"),
    metric("disktotals.writekbs").sent("writekbs/sec", "disk"),
    metric("diskinfo.reads").sent("reads/sec", "disk"),
    metric("diskinfo.readkbs").sent("readkbs/sec", "disk"),
    metric("diskinfo.readw"),
    metric("diskinfo.writes").sent("writes/sec", "disk"),
    metric("diskinfo.writekbs").sent("writekbs/sec", "disk"),
    metric("diskinfo.writew"),
    CollectlMetric { lexpr: false, ..metric("diskinfo.rqst").sent("requests/sec", "") },
    metric("diskinfo.quelen").sent_as("diskinfo.qlen", "depth", ""),
    metric("diskinfo.wait").sent("msec", ""),
    metric("diskinfo.svctime").sent_as("diskinfo.time", "msec", ""),
    metric("diskinfo.util").sent("percent", ""),
    metric("nfsinfo.Sread").sent_as("nfsinfo.SRead", "SvrReads/sec", "NFS server"),
    metric("nfsinfo.Swrite").sent_as("nfsinfo.SWrite", "SvrWrites/sec", "NFS server"),
    metric("nfsinfo.Smeta").sent("SvrMeta/sec", "NFS server"),
    metric("nfsinfo.Scommit").sent("SvrCommt/sec", "NFS server"),
    metric("nfsinfo.Cread").sent_as("nfsinfo.CRead", "CltReads/sec", "NFS client"),
    metric("nfsinfo.Cwrite").sent_as("nfsinfo.CWrite", "CltWrites/sec", "NFS client"),
    metric("nfsinfo.Cmeta").sent("CltMeta/sec", "NFS client"),
    metric("nfsinfo.Ccommit").sent("CltCommt/sec", "NFS client"),
    metric("inodeinfo.dentrynum").sent_as("inodeinfo.dentnum", "dentrynum", "inode"),
    metric("inodeinfo.dentryunused").sent_as("inodeinfo.dentunused", "dentryunused", "inode"),
    metric("inodeinfo.filesalloc").sent_as("inodeinfo.fhandalloc", "filesalloc", "inode"),
    metric("inodeinfo.filesmax").sent_as("inodeinfo.fhandmpct", "filesmax", "inode"),
    metric("inodeinfo.inodeused").sent_as("inodeinfo.inodenum", "inodeused", "inode"),
    metric("meminfo.tot").sent("kb", "memory").standard("mem_total", "KB", 1.0),
    metric("meminfo.used").sent("kb", "memory"),
    metric("meminfo.free").sent("kb", "memory").standard("mem_free", "KB", 1.0),
    metric("meminfo.shared").sent("kb", "memory").standard("mem_shared", "KB", 1.0),
    metric("meminfo.buf").sent("kb", "memory").standard("mem_buffers", "KB", 1.0),
    metric("meminfo.cached").sent("kb", "memory").standard("mem_cached", "KB", 1.0),
    metric("meminfo.slab").sent("kb", "memory"),
    metric("meminfo.map").sent("kb", "memory"),
    metric("meminfo.anon"),
    metric("meminfo.anonH"),
    metric("meminfo.dirty"),
    metric("meminfo.locked"),
    metric("meminfo.inactive"),
    metric("meminfo.hugetot").sent("kb", "memory"),
    metric("meminfo.hugefree").sent("kb", "memory"),
    metric("meminfo.hugersvd").sent("kb", "memory"),
    metric("meminfo.sunreclaim"),
    metric("swapinfo.total").sent("kb", "memory").standard("swap_total", "KB", 1.0),
    metric("swapinfo.free").sent("kb", "memory").standard("swap_free", "KB", 1.0),
    metric("swapinfo.used").sent("kb", "memory"),
    metric("swapinfo.in").sent("swaps/sec", "memory"),
    metric("swapinfo.out").sent("swaps/sec", "memory"),
    metric("pageinfo.fault").sent("faults/sec", "memory"),
    metric("pageinfo.majfault").sent("majflt/sec", "memory"),
    metric("pageinfo.in").sent("pages/sec", "memory"),
    metric("pageinfo.out").sent("pages/sec", "memory"),
    metric("numainfo.used").sent("kb", "memory"),
    metric("numainfo.free").sent("kb", "memory"),
    metric("numainfo.slab").sent("kb", "memory"),
    metric("numainfo.map").sent("kb", "memory"),
    metric("numainfo.anon").sent("kb", "memory"),
    metric("numainfo.anonH"),
    metric("numainfo.lock").sent("kb", "memory"),
    metric("numainfo.act").sent("kb", "memory"),
    metric("numainfo.inact").sent("kb", "memory"),
    metric("nettotals.kbin").sent("kb/sec", "network").standard("bytes_in", "Bytes/sec", 1024.0),
    metric("nettotals.pktin").sent("pkts/sec", "network").standard("pkts_in", "pkts/sec", 1.0),
    metric("nettotals.kbout").sent("kb/sec", "network").standard("bytes_out", "Bytes/sec", 1024.0),
    metric("nettotals.pktout").sent("pkts/sec", "network").standard("pkts_out", "pkts/sec", 1.0),
    metric("netinfo.kbin").sent_as("nettotals.kbin", "kb/sec", "network"),
    metric("netinfo.pktin").sent_as("nettotals.pktin", "pkts/sec", "network"),
    metric("netinfo.kbout").sent_as("nettotals.kbout", "kb/sec", "network"),
    metric("netinfo.pktout").sent_as("nettotals.pktout", "pkts/sec", "network"),
    metric("sockinfo.used").sent("sockets", "socket"),
    metric("sockinfo.tcp").sent("sockets", "socket"),
    metric("sockinfo.orphan").sent("sockets", "socket"),
    metric("sockinfo.tw").sent("sockets", "socket"),
    metric("sockinfo.alloc").sent("sockets", "socket"),
    metric("sockinfo.mem").sent("sockets", "socket"),
    metric("sockinfo.udp").sent("sockets", "socket"),
    metric("sockinfo.raw").sent("sockets", "socket"),
    metric("sockinfo.frag").sent("sockets", "socket"),
    metric("sockinfo.fragm").sent("sockets", "socket"),
    metric("tcpinfo.iperrs").sent("num/sec", "tcp"),
    metric("tcpinfo.tcperrs").sent("num/sec", "tcp"),
    metric("tcpinfo.udperrs").sent("num/sec", "tcp"),
    metric("tcpinfo.icmperrs").sent("num/sec", "tcp"),
    metric("tcpinfo.tcpxerrs").sent("num/sec", "tcp"),
    metric("iconnect.kbin").sent("kb/sec", "infiniband"),
    metric("iconnect.pktin").sent("pkt/sec", "infiniband"),
    metric("iconnect.kbout").sent("kb/sec", "infiniband"),
    metric("iconnect.pktout").sent("pkt/sec", "infiniband"),
    metric("iconnect.{}.kbin"),
    metric("iconnect.{}.pktin"),
    metric("iconnect.{}.kbout"),
    metric("iconnect.{}.pktout"),
    metric("iconnect..kbin"),
    metric("iconnect..pktin"),
    metric("iconnect..kbout"),
    metric("iconnect..pktout"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_the_names_in_layouts() {
        assert_eq!(find("cputotals.user").unwrap().group, "cpu");
        assert_eq!(find("cpuinfo.user.cpu{}").unwrap().name, "cpuinfo.user");
        assert_eq!(find("diskinfo.svctime.{}").unwrap().sent, Some("diskinfo.time"));
        assert_eq!(find("iconnect.{}.kbin").unwrap().sent, None);
        assert_eq!(find("whit.user"), None);
    }

    #[test]
    fn no_metric_is_listed_twice() {
        for (index, known) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..index].iter().all(|other| other.name != known.name), "{}", known.name);
        }
    }
}
