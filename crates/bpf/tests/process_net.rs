//! Packets by process on the running kernel: each has its owner, and together they are what the
//! loopback device of a network namespace counted.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;

use bpf::{NetCounts, ProcessNet};

use crate::kernel::open;

/// Tells the child that it is one.
const CHILD: &str = "PROCESS_NET_CHILD";

const DATAGRAMS: u64 = 200;
const DATAGRAM_BYTES: u64 = 1000;
const CONNECTIONS: u64 = 50;
const ANSWER_BYTES: usize = 20_000;
const LONG_BYTES: usize = 4 << 20;

/// The root of the unified hierarchy of control groups.
fn hierarchy() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    line.split(' ').nth(1).map(PathBuf::from)
}

/// The loaded programs, or why this test means nothing here.
fn opened() -> Option<ProcessNet> {
    let root = hierarchy();
    if root.is_none() {
        testkit::skip("the unified hierarchy", "no cgroup2 is mounted");
        return None;
    }
    open(|kernel| ProcessNet::open(kernel, root.as_deref()))
}

/// What a process of this number has.
fn of(net: &mut ProcessNet, pid: u32) -> NetCounts {
    let mut found = [0; 12];
    net.each(|_, owner| {
        if owner.pid == pid.cast_signed() {
            found = owner.counts;
        }
    })
    .unwrap();
    found
}

/// In the child: a network namespace of its own whose loopback device is up.
fn isolate() {
    // SAFETY: the descriptors of this thread are those of the process, as before.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    assert_eq!(unshared, 0, "{}", std::io::Error::last_os_error());
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // `struct ifreq`: the name in 16 bytes, and the flags.
    let mut request = [0_u8; 40];
    request[..2].copy_from_slice(b"lo");
    request[16..18].copy_from_slice(&(libc::IFF_UP as u16).to_ne_bytes());
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the kernel reads a `struct ifreq`, which has 40 bytes.
    let set = unsafe { libc::ioctl(descriptor, libc::SIOCSIFFLAGS, request.as_mut_ptr()) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

fn exchange(listener: &TcpListener, answer: &[u8]) {
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut server = listener.accept().unwrap().0;
    client.write_all(b"question").unwrap();
    server.read_exact(&mut [0; 8]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || server.write_all(answer).unwrap());
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), answer.len());
    });
}

/// The process that sends and receives; it says what its loopback device counted.
#[test]
#[allow(clippy::print_stdout, reason = "its parent reads it")]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    isolate();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..DATAGRAMS {
        udp.send_to(&[7; DATAGRAM_BYTES as usize], udp.local_addr().unwrap()).unwrap();
        udp.recv(&mut [0; 2000]).unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for _ in 0..CONNECTIONS {
        exchange(&listener, &[1; ANSWER_BYTES]);
    }
    exchange(&listener, &vec![2; LONG_BYTES]);
    print!("{}", std::fs::read_to_string("/proc/thread-self/net/dev").unwrap());
}

/// What the loopback device received in this text of `/proc/net/dev`: bytes and packets.
fn loopback(text: &str) -> [u64; 2] {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:")).unwrap();
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
    [numbers.next().unwrap(), numbers.next().unwrap()]
}

#[test]
fn a_process_owns_what_it_sends_and_receives() {
    let Some(mut net) = opened() else { return };
    let mut child = testkit::own_test("process_net::child");
    let output = child.env(CHILD, "1").stdout(std::process::Stdio::piped());
    let child = output.spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let counts = of(&mut net, pid);
    let udp = [DATAGRAMS * (DATAGRAM_BYTES + 28), DATAGRAMS];
    assert_eq!([counts[4..6].to_vec(), counts[6..8].to_vec()], [udp; 2]);
    let [bytes, packets] = loopback(&String::from_utf8(output.stdout).unwrap());
    for direction in [0, 2] {
        let [ours, ours_packets] = [0, 1].map(|at| counts[direction + at] + udp[at]);
        assert!(ours <= bytes && bytes - ours < bytes / 50, "{ours} of {bytes} bytes");
        // What arrives when a connection is closed already, or answers that, has no process.
        let missing = packets - ours_packets;
        assert!(missing <= 3 * (CONNECTIONS + 1), "{ours_packets} of {packets} packets");
    }
    assert_eq!(net.unowned().owners_lost, 0);
}

#[test]
fn a_forgotten_process_is_found_again_by_its_open_socket() {
    let Some(mut net) = opened() else { return };
    let own = std::process::id();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = || udp.send_to(&[7; 10], udp.local_addr().unwrap()).unwrap();
    send();
    let mut keys = Vec::new();
    net.each(|key, owner| keys.extend((owner.pid == own.cast_signed()).then_some(key))).unwrap();
    assert_eq!(keys.len(), 1);
    net.forget(keys[0]).unwrap();
    assert!(net.forget(keys[0]).is_err());
    let before = net.unowned();
    send();
    assert_eq!(of(&mut net, own)[6..8], [0, 0]);
    assert!(net.unowned().sockets > before.sockets);
    net.search().unwrap();
    send();
    // What waited for its owner, and the one after that.
    assert_eq!(of(&mut net, own)[6..8], [2 * 38, 2]);
}

#[test]
fn without_control_groups_it_is_refused_by_that_name() {
    let refused = bpf::KernelTypes::open().and_then(|kernel| ProcessNet::open(&kernel, None));
    match refused {
        Err(error @ bpf::Error::NoControlGroups) => {
            assert!(error.to_string().contains("cgroup2"));
        }
        Err(error) => testkit::skip_refused("BPF programs", &error.to_string()),
        Ok(_) => panic!("loaded without control groups"),
    }
}
