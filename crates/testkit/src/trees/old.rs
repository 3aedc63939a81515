//! Linux 2.6.32: nine CPU times, eleven numbers a disk, no PSI, no `MemAvailable`, few TCP
//! counters, cgroups mounted in folders that the administrator chose.

use std::io;
use std::path::Path;

use super::grow;
use crate::fake::put;

pub(super) fn write(root: &Path, step: u64) -> io::Result<()> {
    for (path, text) in COUNTERS {
        let kept = if path.ends_with("diskstats") { 2 } else { 0 };
        put(root, path, grow(text.as_bytes(), step, kept))?;
    }
    for (path, text) in LEVELS {
        put(root, path, text)?;
    }
    Ok(())
}

const COUNTERS: &[(&str, &str)] = &[
    (
        "/proc/stat",
        "cpu  20481 127 9012 880123 3301 12 340 5 0\n\
cpu0 10240 64 4506 440061 1650 6 170 2 0\n\
cpu1 10241 63 4506 440062 1651 6 170 3 0\n\
intr 1928374 120 2 0 0 0 0 0 0 1\n\
ctxt 3847561\n\
btime 1300000000\n\
processes 12345\n\
procs_running 1\n\
procs_blocked 0\n\
softirq 918273 0 401234 12 90812 8123 0 34 201938 1203 214917\n",
    ),
    (
        "/proc/meminfo",
        "MemTotal:        4056812 kB\n\
MemFree:         1829304 kB\n\
Buffers:          182312 kB\n\
Cached:          1203948 kB\n\
SwapCached:            4 kB\n\
Active:           918272 kB\n\
Inactive:         812736 kB\n\
Active(anon):     291827 kB\n\
Inactive(anon):    12837 kB\n\
Active(file):     626445 kB\n\
Inactive(file):   799899 kB\n\
Unevictable:        1024 kB\n\
Mlocked:            1024 kB\n\
SwapTotal:       4194296 kB\n\
SwapFree:        4194288 kB\n\
Dirty:               128 kB\n\
Writeback:             4 kB\n\
AnonPages:        345678 kB\n\
Mapped:            56789 kB\n\
Shmem:              4321 kB\n\
Slab:             123456 kB\n\
SReclaimable:      98765 kB\n\
SUnreclaim:        24691 kB\n\
KernelStack:        1928 kB\n\
PageTables:        12837 kB\n\
NFS_Unstable:          0 kB\n\
Bounce:                0 kB\n\
WritebackTmp:          0 kB\n\
CommitLimit:     6222700 kB\n\
Committed_AS:     918273 kB\n\
VmallocTotal:   34359738367 kB\n\
VmallocUsed:       28172 kB\n\
VmallocChunk:   34359706012 kB\n\
HardwareCorrupted:     0 kB\n\
HugePages_Total:       0\n\
HugePages_Free:        0\n\
HugePages_Rsvd:        0\n\
HugePages_Surp:        0\n\
Hugepagesize:       2048 kB\n",
    ),
    (
        "/proc/vmstat",
        "nr_free_pages 457326\n\
nr_inactive_anon 3209\n\
nr_active_anon 72956\n\
nr_mapped 14197\n\
nr_dirty 32\n\
numa_hit 9182736\n\
pgpgin 1827364\n\
pgpgout 9182736\n\
pswpin 1\n\
pswpout 2\n\
pgalloc_dma 1\n\
pgalloc_dma32 5647382\n\
pgalloc_normal 9182734\n\
pgfree 15283746\n\
pgactivate 372819\n\
pgdeactivate 1203\n\
pgfault 28374655\n\
pgmajfault 8123\n\
pgrefill_dma 5\n\
pgrefill_normal 1203\n\
pgsteal_dma 6\n\
pgsteal_normal 90812\n\
pgscan_kswapd_dma 7\n\
pgscan_kswapd_normal 91823\n\
pgscan_direct_normal 123\n\
pginodesteal 4\n\
slabs_scanned 12032\n\
kswapd_steal 90700\n\
allocstall 3\n\
pgrotated 17\n",
    ),
    (
        "/proc/diskstats",
        "   8       0 sda 28172 9182 1829304 120394 81726 192837 9182736 901827 0 201938 1022221\n\
   8       1 sda1 120 31 1204 98 12 4 96 31 0 120 129\n\
   8       2 sda2 28050 9151 1828100 120296 81714 192833 9182640 901796 0 201818 1022092\n\
 253       0 dm-0 37000 0 1828000 190000 270000 0 9180000 2900000 0 201000 3090000\n",
    ),
    (
        "/proc/softirqs",
        "                CPU0       CPU1       \n      \
HI:          0          1\n   \
TIMER:    1002938    1102938\n  \
NET_TX:         12         45\n  \
NET_RX:      90812       1203\n   \
BLOCK:      81230         12\n\
BLOCK_IOPOLL:          0          0\n \
TASKLET:         34          5\n   \
SCHED:     201938     190283\n \
HRTIMER:       1203       1302\n     \
RCU:     214917     224917\n",
    ),
    (
        "/proc/interrupts",
        "           CPU0       CPU1       \n  \
0:        120          0   IO-APIC-edge      timer\n  \
1:          2          0   IO-APIC-edge      i8042\n \
14:      81230          0   IO-APIC-edge      ata_piix\n \
24:      90812       1203   PCI-MSI-edge      eth0\n\
NMI:          0          0   Non-maskable interrupts\n\
LOC:    1002938    1102938   Local timer interrupts\n\
RES:      20193      19028   Rescheduling interrupts\n\
ERR:          0\n\
MIS:          0\n",
    ),
    (
        "/proc/schedstat",
        "version 15\n\
timestamp 4295043821\n\
cpu0 12 0 1166128 394873 614018 384250 78417542338 6042161263 741302\n\
domain0 00000003 40812 40703 109 2 3 4 5 6 7 8 9\n\
cpu1 9 0 1066128 294873 514018 284250 68417542338 5042161263 641302\n\
domain0 00000003 30812 30703 109 2 3 4 5 6 7 8 9\n",
    ),
    (
        "/proc/net/dev",
        "Inter-|   Receive                                                |  Transmit\n \
face |bytes    packets errs drop fifo frame compressed multicast|\
bytes    packets errs drop fifo colls carrier compressed\n    \
lo:  918273    1203    0    0    0     0          0         0   918273    1203    0    0    0     0       0          0\n  \
eth0: 91827364  120394    1    2    0     0          0        12 18273645   90812    0    0    0     0       0          0\n",
    ),
    (
        "/proc/net/snmp",
        "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos \
InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs \
ReasmFails FragOKs FragFails FragCreates\n\
Ip: 2 64 91823 0 0 0 0 0 91820 80123 0 3 0 0 0 0 0 0 0\n\
Icmp: InMsgs InErrors InDestUnreachs InEchos InEchoReps OutMsgs OutErrors OutDestUnreachs OutEchos OutEchoReps\n\
Icmp: 12 0 3 8 1 11 0 3 0 8\n\
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets \
CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts\n\
Tcp: 1 200 120000 -1 120 340 5 6 4 88123 77123 12 0 34\n\
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
Udp: 3201 12 0 2901 0 0\n",
    ),
    (
        "/proc/net/netstat",
        "TcpExt: SyncookiesSent SyncookiesRecv SyncookiesFailed TW TCPLoss TCPFastRetrans TCPTimeouts\n\
TcpExt: 0 0 0 120 3 4 5\n\
IpExt: InNoRoutes InTruncatedPkts InMcastPkts OutMcastPkts\n\
IpExt: 0 0 12 13\n",
    ),
    (
        "/proc/slabinfo",
        "slabinfo - version: 2.1\n\
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables \
<limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n\
ext4_inode_cache   90812  91820    896    4    1 : tunables   54   27    8 : slabdata  22955  22955      0\n\
dentry            120394 120400    192   20    1 : tunables  120   60    8 : slabdata   6020   6020      0\n",
    ),
    ("/cgroup/cpuacct/cpuacct.usage", " 78417542338\n"),
    ("/cgroup/memory/memory.usage_in_bytes", " 1234567890\n"),
    ("/cgroup/cpuacct/batch/cpuacct.stat", "user 1203\nsystem 340\n"),
];

const LEVELS: &[(&str, &str)] = &[
    ("/proc/loadavg", "0.20 0.18 0.12 1/80 11206\n"),
    ("/proc/uptime", "9182.73 17263.54\n"),
    (
        "/proc/net/sockstat",
        "sockets: used 120\n\
TCP: inuse 5 orphan 0 tw 1 alloc 8 mem 1\n\
UDP: inuse 4 mem 2\n\
UDPLITE: inuse 0\n\
RAW: inuse 0\n\
FRAG: inuse 0 memory 0\n",
    ),
    ("/proc/sys/fs/dentry-state", "12000\t9000\t45\t0\t0\t0\n"),
    ("/proc/sys/fs/inode-nr", "11000\t700\n"),
    ("/proc/sys/fs/file-nr", "1000\t0\t398765\n"),
    (
        "/proc/buddyinfo",
        "Node 0, zone      DMA      3      2      1      1      2      2      0      0      1      1      3 \n\
Node 0, zone   Normal    300     20     10      1      2      2      0      0      1      1      3 \n",
    ),
    ("/proc/self/statm", "1000 500 300 10 0 200 0\n"),
    (
        "/proc/self/mountinfo",
        "17 60 0:3 / /proc rw,relatime - proc proc rw\n\
20 60 0:20 / /cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
21 60 0:21 / /cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
60 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw,barrier=1,data=ordered\n",
    ),
    (
        "/proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuacct\t1\t2\t1\nmemory\t2\t1\t1\n",
    ),
    ("/sys/block/sda/dev", "8:0\n"),
];
