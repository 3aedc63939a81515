//! What is known of collectl's own metrics beyond their `lexpr` name: whether they are levels,
//! and what graphite and Ganglia call them.
//!
//! Metrics that are not in this table (whit's own) go to every format under their own name,
//! without a unit, as levels.

/// One of collectl's metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// The `lexpr` name; for a detail metric without the instance (`diskinfo.reads`).
    pub(super) name: &'static str,
    /// Whether it is a level: totals of levels are averages.
    pub(super) level: bool,
    /// Whether `lexpr` tells it.
    pub(super) lexpr: bool,
    /// What graphite and Ganglia call it, if collectl sends it to graphite at all.
    pub(super) sent: Option<&'static str>,
    /// Ganglia's group; empty if collectl does not send it to Ganglia.
    pub(super) group: &'static str,
    /// Its unit in Ganglia.
    pub(super) unit: &'static str,
    /// Ganglia's own metric for the same thing: its name, its unit, and what the value is
    /// multiplied by.
    pub(super) standard: Option<(&'static str, &'static str, f64)>,
}

const fn rate(name: &'static str) -> Known {
    Known { name, level: false, lexpr: true, sent: None, group: "", unit: "", standard: None }
}

const fn level(name: &'static str) -> Known {
    Known { level: true, ..rate(name) }
}

impl Known {
    /// Sent under its own name.
    const fn sent(self, unit: &'static str, group: &'static str) -> Known {
        Known { sent: Some(self.name), unit, group, ..self }
    }

    /// Sent under another name.
    const fn sent_as(self, sent: &'static str, unit: &'static str, group: &'static str) -> Known {
        Known { sent: Some(sent), unit, group, ..self }
    }

    /// One of Ganglia's own.
    const fn standard(self, name: &'static str, unit: &'static str, factor: f64) -> Known {
        Known { standard: Some((name, unit, factor)), ..self }
    }
}

/// The entry of a metric, by the name its layout gives it.
pub(super) fn find(name: &str) -> Option<&'static Known> {
    // `diskinfo.reads.{}` and `cpuinfo.user.cpu{}` are filed without their last part.
    let key = match name.find("{}") {
        Some(at) if name.len() == at + 2 => &name[..name.rfind('.').unwrap_or(at)],
        _ => name,
    };
    KNOWN.iter().find(|known| known.name == key)
}

static KNOWN: &[Known] = &[
    level("cputotals.num").standard("cpu_num", "CPUs", 1.0),
    level("cputotals.user").sent("percent", "cpu").standard("cpu_user", "percent", 1.0),
    level("cputotals.nice").sent("percent", "cpu").standard("cpu_nice", "percent", 1.0),
    level("cputotals.sys").sent("percent", "cpu").standard("cpu_system", "percent", 1.0),
    level("cputotals.wait").sent("percent", "cpu").standard("cpu_wio", "percent", 1.0),
    level("cputotals.idle").sent("percent", "cpu").standard("cpu_idle", "percent", 1.0),
    level("cputotals.irq").sent("percent", "cpu"),
    level("cputotals.soft").sent("percent", "cpu"),
    level("cputotals.steal").sent("percent", "cpu"),
    level("cputotals.systot"),
    level("cputotals.usertot"),
    level("cputotals.total"),
    rate("ctxint.ctx").sent("switches/sec", "cpu"),
    rate("ctxint.int").sent("intrpts/sec", "cpu"),
    rate("proc.creates").sent_as("ctxint.proc", "pcreates/sec", "cpu"),
    level("proc.runq").sent_as("ctxint.runq", "runqSize", "cpu").standard(
        "proc_total",
        "Load/Procs",
        1.0,
    ),
    level("proc.run").standard("proc_run", "Load/Procs", 1.0),
    level("cpuload.avg1").sent("loadAvg1", "cpu").standard("load_one", "Load/Procs", 1.0),
    level("cpuload.avg5").sent("loadAvg5", "cpu").standard("load_five", "Load/Procs", 1.0),
    level("cpuload.avg15").sent("loadAvg15", "cpu").standard("load_fifteen", "Load/Procs", 1.0),
    level("cpuinfo.user").sent("percent", "cpu"),
    level("cpuinfo.nice").sent("percent", "cpu"),
    level("cpuinfo.sys").sent("percent", "cpu"),
    level("cpuinfo.wait").sent("percent", "cpu"),
    level("cpuinfo.irq").sent("percent", "cpu"),
    level("cpuinfo.soft").sent("percent", "cpu"),
    level("cpuinfo.steal").sent("percent", "cpu"),
    level("cpuinfo.idle").sent("percent", "cpu"),
    level("cpuinfo.intrpt").sent("intrpts/sec", "cpu"),
    rate("disktotals.reads").sent("reads/sec", "disk"),
    rate("disktotals.readkbs").sent("readkbs/sec", "disk"),
    rate("disktotals.writes").sent("writes/sec", "disk"),
    rate("disktotals.writekbs").sent("writekbs/sec", "disk"),
    rate("diskinfo.reads").sent("reads/sec", "disk"),
    rate("diskinfo.readkbs").sent("readkbs/sec", "disk"),
    rate("diskinfo.readw"),
    rate("diskinfo.writes").sent("writes/sec", "disk"),
    rate("diskinfo.writekbs").sent("writekbs/sec", "disk"),
    rate("diskinfo.writew"),
    Known { lexpr: false, ..rate("diskinfo.rqst").sent("requests/sec", "") },
    rate("diskinfo.quelen").sent_as("diskinfo.qlen", "depth", ""),
    rate("diskinfo.wait").sent("msec", ""),
    rate("diskinfo.svctime").sent_as("diskinfo.time", "msec", ""),
    rate("diskinfo.util").sent("percent", ""),
    rate("nfsinfo.Sread").sent_as("nfsinfo.SRead", "SvrReads/sec", "NFS server"),
    rate("nfsinfo.Swrite").sent_as("nfsinfo.SWrite", "SvrWrites/sec", "NFS server"),
    rate("nfsinfo.Smeta").sent("SvrMeta/sec", "NFS server"),
    rate("nfsinfo.Scommit").sent("SvrCommt/sec", "NFS server"),
    rate("nfsinfo.Cread").sent_as("nfsinfo.CRead", "CltReads/sec", "NFS client"),
    rate("nfsinfo.Cwrite").sent_as("nfsinfo.CWrite", "CltWrites/sec", "NFS client"),
    rate("nfsinfo.Cmeta").sent("CltMeta/sec", "NFS client"),
    rate("nfsinfo.Ccommit").sent("CltCommt/sec", "NFS client"),
    level("inodeinfo.dentrynum").sent_as("inodeinfo.dentnum", "dentrynum", "inode"),
    level("inodeinfo.dentryunused").sent_as("inodeinfo.dentunused", "dentryunused", "inode"),
    level("inodeinfo.filesalloc").sent_as("inodeinfo.fhandalloc", "filesalloc", "inode"),
    level("inodeinfo.filesmax").sent_as("inodeinfo.fhandmpct", "filesmax", "inode"),
    level("inodeinfo.inodeused").sent_as("inodeinfo.inodenum", "inodeused", "inode"),
    level("meminfo.tot").sent("kb", "memory").standard("mem_total", "KB", 1.0),
    level("meminfo.used").sent("kb", "memory"),
    level("meminfo.free").sent("kb", "memory").standard("mem_free", "KB", 1.0),
    level("meminfo.shared").sent("kb", "memory").standard("mem_shared", "KB", 1.0),
    level("meminfo.buf").sent("kb", "memory").standard("mem_buffers", "KB", 1.0),
    level("meminfo.cached").sent("kb", "memory").standard("mem_cached", "KB", 1.0),
    level("meminfo.slab").sent("kb", "memory"),
    level("meminfo.map").sent("kb", "memory"),
    level("meminfo.anon"),
    level("meminfo.anonH"),
    level("meminfo.dirty"),
    level("meminfo.locked"),
    level("meminfo.inactive"),
    level("meminfo.hugetot").sent("kb", "memory"),
    level("meminfo.hugefree").sent("kb", "memory"),
    level("meminfo.hugersvd").sent("kb", "memory"),
    level("meminfo.sunreclaim"),
    level("swapinfo.total").sent("kb", "memory").standard("swap_total", "KB", 1.0),
    level("swapinfo.free").sent("kb", "memory").standard("swap_free", "KB", 1.0),
    level("swapinfo.used").sent("kb", "memory"),
    rate("swapinfo.in").sent("swaps/sec", "memory"),
    rate("swapinfo.out").sent("swaps/sec", "memory"),
    rate("pageinfo.fault").sent("faults/sec", "memory"),
    rate("pageinfo.majfault").sent("majflt/sec", "memory"),
    rate("pageinfo.in").sent("pages/sec", "memory"),
    rate("pageinfo.out").sent("pages/sec", "memory"),
    level("numainfo.used").sent("kb", "memory"),
    level("numainfo.free").sent("kb", "memory"),
    level("numainfo.slab").sent("kb", "memory"),
    level("numainfo.map").sent("kb", "memory"),
    level("numainfo.anon").sent("kb", "memory"),
    level("numainfo.anonH"),
    level("numainfo.lock").sent("kb", "memory"),
    level("numainfo.act").sent("kb", "memory"),
    level("numainfo.inact").sent("kb", "memory"),
    rate("nettotals.kbin").sent("kb/sec", "network").standard("bytes_in", "Bytes/sec", 1024.0),
    rate("nettotals.pktin").sent("pkts/sec", "network").standard("pkts_in", "pkts/sec", 1.0),
    rate("nettotals.kbout").sent("kb/sec", "network").standard("bytes_out", "Bytes/sec", 1024.0),
    rate("nettotals.pktout").sent("pkts/sec", "network").standard("pkts_out", "pkts/sec", 1.0),
    rate("netinfo.kbin").sent_as("nettotals.kbin", "kb/sec", "network"),
    rate("netinfo.pktin").sent_as("nettotals.pktin", "pkts/sec", "network"),
    rate("netinfo.kbout").sent_as("nettotals.kbout", "kb/sec", "network"),
    rate("netinfo.pktout").sent_as("nettotals.pktout", "pkts/sec", "network"),
    level("sockinfo.used").sent("sockets", "socket"),
    level("sockinfo.tcp").sent("sockets", "socket"),
    level("sockinfo.orphan").sent("sockets", "socket"),
    level("sockinfo.tw").sent("sockets", "socket"),
    level("sockinfo.alloc").sent("sockets", "socket"),
    level("sockinfo.mem").sent("sockets", "socket"),
    level("sockinfo.udp").sent("sockets", "socket"),
    level("sockinfo.raw").sent("sockets", "socket"),
    level("sockinfo.frag").sent("sockets", "socket"),
    level("sockinfo.fragm").sent("sockets", "socket"),
    rate("tcpinfo.iperrs").sent("num/sec", "tcp"),
    rate("tcpinfo.tcperrs").sent("num/sec", "tcp"),
    rate("tcpinfo.udperrs").sent("num/sec", "tcp"),
    rate("tcpinfo.icmperrs").sent("num/sec", "tcp"),
    rate("tcpinfo.tcpxerrs").sent("num/sec", "tcp"),
    rate("iconnect.kbin").sent("kb/sec", "infiniband"),
    rate("iconnect.pktin").sent("pkt/sec", "infiniband"),
    rate("iconnect.kbout").sent("kb/sec", "infiniband"),
    rate("iconnect.pktout").sent("pkt/sec", "infiniband"),
    rate("iconnect.{}.kbin"),
    rate("iconnect.{}.pktin"),
    rate("iconnect.{}.kbout"),
    rate("iconnect.{}.pktout"),
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
