//! Restores kernel files from the lines of a collectl recording.
//!
//! collectl puts a tag before most lines and removes headings.  Both are undone here, so that the
//! text is what the kernel printed, as far as it was recorded.

use std::collections::HashMap;

use procfs::Host;

use super::header::Header;
use super::processes::Processes;
use super::slub::Slub;

/// The most text of one kernel file in one interval; the same limit as for a real file.
const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most kernel files of an interval.  Large machines have a few per NUMA node and adapter.
const FILES_MAX: usize = 16_384;

const NET_DEV_HEADING: &[u8] =
    b"Inter-|   Receive                                                |  Transmit\n \
      face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs \
      drop fifo colls carrier compressed\n";
const SLABINFO_HEADING: &[u8] = b"slabinfo - version: 2.1\n\
    # name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables \
    <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n";

/// Files with a fixed index, found without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FixedFile {
    Stat,
    Loadavg,
    Diskstats,
    NetDev,
    Interrupts,
    Meminfo,
    Vmstat,
    Snmp,
    Netstat,
    NfsClient,
    NfsServer,
    Sockstat,
    Buddyinfo,
    DentryState,
    InodeNr,
    FileNr,
    Slabinfo,
    /// The output of `ipmitool`: not a kernel file, but a source reads it.
    Sensors,
}

const KNOWN: [(FixedFile, &str); 18] = [
    (FixedFile::Stat, "/proc/stat"),
    (FixedFile::Loadavg, "/proc/loadavg"),
    (FixedFile::Diskstats, "/proc/diskstats"),
    (FixedFile::NetDev, "/proc/net/dev"),
    (FixedFile::Interrupts, "/proc/interrupts"),
    (FixedFile::Meminfo, "/proc/meminfo"),
    (FixedFile::Vmstat, "/proc/vmstat"),
    (FixedFile::Snmp, "/proc/net/snmp"),
    (FixedFile::Netstat, "/proc/net/netstat"),
    (FixedFile::NfsClient, "/proc/net/rpc/nfs"),
    (FixedFile::NfsServer, "/proc/net/rpc/nfsd"),
    (FixedFile::Sockstat, "/proc/net/sockstat"),
    (FixedFile::Buddyinfo, "/proc/buddyinfo"),
    (FixedFile::DentryState, "/proc/sys/fs/dentry-state"),
    (FixedFile::InodeNr, "/proc/sys/fs/inode-nr"),
    (FixedFile::FileNr, "/proc/sys/fs/file-nr"),
    (FixedFile::Slabinfo, "/proc/slabinfo"),
    (FixedFile::Sensors, "/collectl/ipmi"),
];

struct KernelFile {
    path: String,
    text: Vec<u8>,
    /// Whether the host has the file.
    is_put: bool,
}

/// The text of an interval, file by file.
pub(super) struct KernelFiles {
    files: Vec<KernelFile>,
    /// The indexes of the other files, by path.
    indexes: HashMap<String, usize>,
    /// Files made from facts of the header: put into the host with the first interval.
    constants: Vec<(String, String)>,
    is_slub: bool,
    processes: Processes,
    cpus: usize,
    /// The CPUs in `/proc/stat` of this interval: those that are online.
    cpus_seen: Vec<u32>,
    slub: Slub,
    /// A buffer for paths, kept for its memory.
    path: String,
}

impl KernelFiles {
    /// No text yet.
    pub(super) fn new(header: &Header) -> Self {
        let file = |(_, path): &(FixedFile, &str)| KernelFile {
            path: (*path).to_owned(),
            text: Vec::new(),
            is_put: false,
        };
        KernelFiles {
            files: KNOWN.iter().map(file).collect(),
            indexes: HashMap::new(),
            constants: speeds(header),
            is_slub: header.is_slub(),
            processes: Processes::default(),
            cpus: header.cpus(),
            cpus_seen: Vec::new(),
            slub: Slub::new(&header.text),
            path: String::new(),
        }
    }

    /// Begins an interval.
    pub(super) fn begin(&mut self) {
        self.cpus_seen.clear();
        self.processes.begin();
        self.slub.begin();
        for file in &mut self.files {
            file.text.clear();
        }
    }

    /// Whether the interval has slabs.
    pub(super) fn has_slabs(&self) -> bool {
        self.slub.seen() || !self.files[FixedFile::Slabinfo as usize].text.is_empty()
    }

    /// Whether the interval has processes.
    pub(super) fn has_processes(&self) -> bool {
        self.processes.any()
    }

    /// Whether the interval has sensors.
    pub(super) fn has_sensors(&self) -> bool {
        !self.files[FixedFile::Sensors as usize].text.is_empty()
    }

    /// Puts the interval's text into the host; removes files that the interval does not have.
    pub(super) fn put_into(&mut self, host: &mut Host) {
        for (path, text) in self.constants.drain(..) {
            host.put(&path, Some(text.as_bytes()));
        }
        if self.slub.seen() {
            let text = &mut self.files[FixedFile::Slabinfo as usize].text;
            text.extend_from_slice(SLABINFO_HEADING);
            self.slub.push(text);
        }
        for file in &mut self.files {
            if !file.text.is_empty() {
                host.put(&file.path, Some(&file.text));
                file.is_put = true;
            } else if file.is_put {
                host.put(&file.path, None);
                file.is_put = false;
            }
        }
        self.processes.put_into(host);
    }

    /// Takes a line of the recording.  Unknown lines are skipped.
    pub(super) fn add_line(&mut self, line: &[u8]) {
        let end = memchr::memchr2(b' ', b'\t', line).unwrap_or(line.len());
        let (tag, rest) = line.split_at(end);
        let rest = rest.get(1..).unwrap_or_default();
        match tag {
            [b'p', b'r', b'o', b'c', b':', ..] | [b'p', b'r', b'o', b'c', b'T', b':', ..] => {
                self.processes.add_line(tag, rest);
            }
            b"Slab" if self.is_slub => self.slub.add_line(rest),
            b"Slab" => self.add_below(FixedFile::Slabinfo, SLABINFO_HEADING, rest),
            b"disk" => self.add(FixedFile::Diskstats, rest),
            b"Net" => self.add_below(FixedFile::NetDev, NET_DEV_HEADING, rest),
            b"int" => self.take_interrupt(rest),
            b"load" => self.add(FixedFile::Loadavg, rest),
            b"buddy" => self.add(FixedFile::Buddyinfo, rest),
            b"ipmi:" => self.add(FixedFile::Sensors, rest),
            b"sock" => self.add(FixedFile::Sockstat, rest),
            b"fs-ds" => self.add(FixedFile::DentryState, rest),
            b"fs-is" => self.add(FixedFile::InodeNr, rest),
            b"fs-fnr" => self.add(FixedFile::FileNr, rest),
            b"numai" => self.take_node(rest, "meminfo", rest),
            b"numas" => {
                let text = rest.splitn(3, |&byte| byte == b' ').nth(2).unwrap_or_default();
                self.take_node(rest, "numastat", text);
            }
            b"intr" | b"ctxt" | b"processes" | b"procs_running" | b"procs_blocked" => {
                self.add(FixedFile::Stat, line);
            }
            b"TcpExt:" => self.take_old_tcp(rest),
            _ => self.take_by_prefix(line, tag, rest),
        }
    }

    /// Lines whose tag is more than a word, and lines without a tag.
    fn take_by_prefix(&mut self, line: &[u8], tag: &[u8], rest: &[u8]) {
        if let Some(number) = tag.strip_prefix(b"cpu") {
            let number = std::str::from_utf8(number).unwrap_or("x");
            if let Ok(cpu) = number.parse() {
                self.cpus_seen.push(cpu);
            } else if !number.is_empty() {
                return;
            }
            self.add(FixedFile::Stat, line);
        } else if tag.starts_with(b"tcp-") {
            let file = if tag.ends_with(b"Ext:") { FixedFile::Netstat } else { FixedFile::Snmp };
            self.add(file, &line[4..]);
        } else if tag.starts_with(b"nfsc-") {
            self.add(FixedFile::NfsClient, &line[5..]);
        } else if tag.starts_with(b"nfss-") {
            self.add(FixedFile::NfsServer, &line[5..]);
        } else if tag.starts_with(b"ib") && tag.get(2).is_some_and(u8::is_ascii_digit) {
            self.take_infiniband(tag, rest);
        } else if tag.ends_with(b":") && tag[0].is_ascii_uppercase() {
            self.add(FixedFile::Meminfo, line);
        } else if is_vmstat(tag, rest) {
            self.add(FixedFile::Vmstat, line);
        }
    }

    fn add(&mut self, known: FixedFile, line: &[u8]) {
        append(&mut self.files[known as usize].text, line);
    }

    fn add_below(&mut self, known: FixedFile, heading: &[u8], line: &[u8]) {
        let text = &mut self.files[known as usize].text;
        if text.is_empty() {
            text.extend_from_slice(heading);
        }
        append(text, line);
    }

    /// A line of `/proc/interrupts`, whose heading, the names of the CPUs, is not recorded.
    fn take_interrupt(&mut self, line: &[u8]) {
        let text = &mut self.files[FixedFile::Interrupts as usize].text;
        if text.is_empty() {
            let counts = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let is_number = |word: &&[u8]| word.iter().all(u8::is_ascii_digit);
            let columns = counts.skip(1).take_while(is_number).count().min(self.cpus.max(1));
            text.extend_from_slice(b"     ");
            for column in 0..columns {
                // Each online CPU has a column; /proc/stat has their numbers.
                let cpu = match self.cpus_seen.get(column) {
                    Some(&cpu) if self.cpus_seen.len() == columns => cpu as usize,
                    _ => column,
                };
                text.extend_from_slice(format!("      CPU{cpu:<2}").as_bytes());
            }
            text.push(b'\n');
        }
        append(text, line);
    }

    /// `Node 0 MemTotal: …`: the second word is the node's number.
    fn take_node(&mut self, line: &[u8], name: &str, text: &[u8]) {
        let mut words = line.split(|&byte| byte == b' ').skip(1);
        let number = words.next().and_then(|word| std::str::from_utf8(word).ok());
        let Some(node) = number.and_then(|word| word.parse::<u16>().ok()) else { return };
        self.path.clear();
        self.path.push_str(&format!("/sys/devices/system/node/node{node}/{name}"));
        if let Some(index) = self.at_path() {
            append(&mut self.files[index].text, text);
        }
    }

    /// `ib0-1:rcvd 1234`: adapter 0, port 1.  collectl does not record the adapter's name.
    fn take_infiniband(&mut self, tag: &[u8], rest: &[u8]) {
        let tag = String::from_utf8_lossy(&tag[2..]);
        let Some((place, what)) = tag.split_once(':') else { return };
        let Some((adapter, port)) = place.split_once('-') else { return };
        let (Ok(adapter), Ok(port)) = (adapter.parse::<u16>(), port.parse::<u16>()) else { return };
        // perfquery -x: port, selector, …, then sent words, received words and packets.
        let words: Vec<&[u8]> = rest.split(|&byte| byte == b' ').collect();
        let values: &[(&str, &[u8])] = match what {
            "rcvd" => &[("port_rcv_data", rest)],
            "xmtd" => &[("port_xmit_data", rest)],
            "rcvp" => &[("port_rcv_packets", rest)],
            "xmtp" => &[("port_xmit_packets", rest)],
            "pquery:" if words.len() >= 8 && words.len() < 20 => &[
                ("port_xmit_data", words[4]),
                ("port_rcv_data", words[5]),
                ("port_xmit_packets", words[6]),
                ("port_rcv_packets", words[7]),
            ],
            _ => return,
        };
        for (name, value) in values {
            self.path = format!("/sys/class/infiniband/ib{adapter}/ports/{port}/counters/{name}");
            if let Some(index) = self.at_path() {
                append(&mut self.files[index].text, value);
            }
        }
    }

    /// Before 3.6.4 the values of `TcpExt` are recorded without their names.  Like collectl, this
    /// reads four of them by their position in the kernels of that time.
    fn take_old_tcp(&mut self, rest: &[u8]) {
        const PLACES: [(usize, &str); 4] =
            [(27, "TCPPureAcks"), (28, "TCPHPAcks"), (40, "TCPLoss"), (45, "TCPFastRetrans")];
        let count = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        let mut names = b"TcpExt:".to_vec();
        for index in 0..count.min(1024) {
            let known = PLACES.iter().find(|(at, _)| *at == index);
            let name = known.map_or_else(|| format!(" Unnamed{index}"), |(_, n)| format!(" {n}"));
            names.extend_from_slice(name.as_bytes());
        }
        self.add(FixedFile::Netstat, &names);
        let values = [b"TcpExt: ", rest].concat();
        self.add(FixedFile::Netstat, &values);
    }

    /// The index of the file `self.path`, created if necessary; `None` if there are too many.
    fn at_path(&mut self) -> Option<usize> {
        if let Some(&index) = self.indexes.get(&self.path) {
            return Some(index);
        }
        if self.files.len() >= FILES_MAX {
            return None;
        }
        let path = self.path.clone();
        self.indexes.insert(path.clone(), self.files.len());
        self.files.push(KernelFile { path, text: Vec::new(), is_put: false });
        Some(self.files.len() - 1)
    }
}

/// The speeds of the interfaces, as far as the header has them (`eth0:1000 lo:??`).
fn speeds(header: &Header) -> Vec<(String, String)> {
    let names = header.meta.get("net_names").unwrap_or_default();
    let known = names.split_whitespace().filter_map(|word| {
        let (name, speed) = word.rsplit_once(':')?;
        let digits = !speed.is_empty() && speed.bytes().all(|byte| byte.is_ascii_digit());
        let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
        (digits && plain).then(|| (format!("/sys/class/net/{name}/speed"), format!("{speed}\n")))
    });
    known.take(FILES_MAX).collect()
}

/// Whether a line without a tag is one of `/proc/vmstat`: a name and a number.
fn is_vmstat(tag: &[u8], rest: &[u8]) -> bool {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !rest.is_empty() && tag.iter().all(name) && rest.iter().all(u8::is_ascii_digit)
}

fn append(text: &mut Vec<u8>, line: &[u8]) {
    if text.len() + line.len() < FILE_BYTES_MAX {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::ReadMode;

    fn files(flags: &str, lines: &[&str]) -> Host {
        let text = format!(
            "# Collectl:   V4.3.1-1\n# SubSys: c NumCPUs: 4 Flags: {flags}\n\
             # NumNets: 2 NetNames: lo:?? eth0:1000\n"
        );
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let mut reader = super::super::lines::Lines::open(file.path()).unwrap();
        let header = Header::read(file.path(), &mut reader).unwrap();
        let mut files = KernelFiles::new(&header);
        files.begin();
        for line in lines {
            files.add_line(line.as_bytes());
        }
        let mut host = Host::in_memory();
        files.put_into(&mut host);
        host
    }

    fn text(host: &mut Host, path: &str) -> String {
        let id = host.file(path, ReadMode::Whole);
        String::from_utf8_lossy(host.read(id).unwrap()).into_owned()
    }

    #[test]
    fn lines_go_back_where_they_came_from() {
        let mut host = files(
            "i",
            &[
                "cpu  1 2 3 4",
                "cpu0 1 2 3 4",
                "cpu2 1 2 3 4",
                "intr 5",
                "procs_running 1",
                "load 0.1 0.2 0.3 1/100 77",
                "disk  252       0 vda 5013 0 1",
                "Net   eth0: 1 2 3",
                "int  24:          1          0  IO-APIC   5-edge      ACPI:Ged",
                "MemTotal:       24684096 kB",
                "Inactive(anon):   12 kB",
                "Slab:   99 kB",
                "pgpgin 77",
                "tcp-Ip: Forwarding",
                "tcp-Ip: 1",
                "tcp-TcpExt: A",
                "nfsc-net 0 0 0 0",
                "numai Node 0 MemTotal:       100 kB",
                "numas Node 0 numa_hit 1217",
                "fs-fnr 1 2 3",
                "Slab kmalloc-64 1 2 3",
                "ib0-1:rcvd 123",
                "proc:1 stat 1 (init) S",
                "misc-up 1 2",
            ],
        );
        assert_eq!(
            text(&mut host, "/proc/stat"),
            "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu2 1 2 3 4\nintr 5\nprocs_running 1\n"
        );
        assert_eq!(text(&mut host, "/sys/class/net/eth0/speed"), "1000\n");
        assert_eq!(text(&mut host, "/proc/loadavg"), "0.1 0.2 0.3 1/100 77\n");
        assert_eq!(text(&mut host, "/proc/diskstats"), " 252       0 vda 5013 0 1\n");
        assert!(text(&mut host, "/proc/net/dev").ends_with("compressed\n  eth0: 1 2 3\n"));
        let interrupts = text(&mut host, "/proc/interrupts");
        assert!(interrupts.starts_with("           CPU0       CPU2 \n 24: "), "{interrupts}");
        let meminfo = text(&mut host, "/proc/meminfo");
        assert_eq!(meminfo.lines().count(), 3);
        assert_eq!(text(&mut host, "/proc/vmstat"), "pgpgin 77\n");
        assert_eq!(text(&mut host, "/proc/net/snmp"), "Ip: Forwarding\nIp: 1\n");
        assert_eq!(text(&mut host, "/proc/net/netstat"), "TcpExt: A\n");
        assert_eq!(text(&mut host, "/proc/net/rpc/nfs"), "net 0 0 0 0\n");
        let node = "/sys/devices/system/node/node0";
        assert_eq!(text(&mut host, &format!("{node}/meminfo")), "Node 0 MemTotal:       100 kB\n");
        assert_eq!(text(&mut host, &format!("{node}/numastat")), "numa_hit 1217\n");
        assert!(text(&mut host, "/proc/slabinfo").ends_with("\nkmalloc-64 1 2 3\n"));
        let port = "/sys/class/infiniband/ib0/ports/1/counters/port_rcv_data";
        assert_eq!(text(&mut host, port), "123\n");
    }

    #[test]
    fn slabs_of_the_slub_tree_become_slabinfo() {
        let lines = [
            "Slab kmalloc-64 slab_size 64",
            "Slab kmalloc-64 order 0",
            "Slab kmalloc-64 objs_per_slab 64",
            "Slab kmalloc-64 objects 512",
            "Slab kmalloc-64 slabs 8",
        ];
        let mut host = files("is", &lines);
        let expected = "\nkmalloc-64 512 512 64 64 1 : tunables 0 0 0 : slabdata 8 8 0\n";
        assert!(text(&mut host, "/proc/slabinfo").ends_with(expected));
    }
}
