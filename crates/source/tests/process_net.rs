//! Packets of another process are its own, short connections too, and without permission nothing is
//! said but that.  A test says why it skips where programs may not be loaded.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use procfs::{Host, SystemClock};
use sample::{Snapshot, State};
use source::{Entry, Sampler, SourceContext};

/// Tells the child the port to connect to.
const CHILD: &str = "PROCESS_NET_PORT";

/// Tells the child to give up its rights.
const NOBODY: &str = "PROCESS_NET_NOBODY";

const CONNECTIONS: u64 = 100;

fn entries() -> Vec<&'static Entry> {
    vec![source::find("process_net").unwrap()]
}

/// The process that connects, many times.
#[test]
fn child() {
    let Some(port) = std::env::var_os(CHILD) else { return };
    let port: u16 = port.to_str().unwrap().parse().unwrap();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(&[1; 100]).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
}

/// The value of a field of a process, or of the row without one.
fn get(snapshot: &Snapshot, pid: u32, field: &str) -> Option<u64> {
    let table = &snapshot.samples[0].table;
    let field = entries()[0].field(field).unwrap();
    let start = format!("{pid}\u{1f}");
    let row = (0..table.rows()).find(|&row| table.name(row).starts_with(start.as_bytes()))?;
    table.get(row, field)
}

#[test]
fn short_connections_belong_to_the_programs_at_their_ends() {
    let mut host = Host::new("/");
    let context = Arc::new(SourceContext::default());
    let mut sampler = Sampler::open(&mut host, &entries(), &context);
    let mut snapshot = Snapshot::new(&sampler.defs());
    let mut sample = |host: &mut Host, snapshot: &mut Snapshot| {
        sampler.sample(host, &mut SystemClock, |_, _| State::Ok, snapshot);
        snapshot.samples[0].state
    };
    if sample(&mut host, &mut snapshot) != State::Ok {
        let why = context.shared.refusals.of("process_net").expect("a reason");
        if why.contains("cgroup2") {
            return testkit::skip("the unified hierarchy", &why);
        }
        return testkit::skip_refused("counting in the kernel", &why);
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = testkit::own_test("process_net::child");
    let port = listener.local_addr().unwrap().port().to_string();
    let mut child = child.env(CHILD, port).stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..CONNECTIONS {
        let mut stream = listener.accept().unwrap().0;
        stream.read_exact(&mut [0; 100]).unwrap();
        stream.write_all(&[2; 1000]).unwrap();
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(sample(&mut host, &mut snapshot), State::Ok);
    let field = |pid, name| get(&snapshot, pid, name).unwrap();
    // A handshake, the data and an end each way: headers of at most 60 bytes, and few of them.
    for (pid, sent, received) in [(child.id(), 100, 1000), (std::process::id(), 1000, 100)] {
        for (name, data) in [("tcp_tx_bytes", sent), ("tcp_rx_bytes", received)] {
            let bytes = field(pid, name) / CONNECTIONS;
            assert!((data + 80..data + 600).contains(&bytes), "{name} of {pid}: {bytes}");
        }
        assert!(field(pid, "tcp_tx_packets") >= 3 * CONNECTIONS);
    }
    assert_eq!(field(0, "not_counted"), 0);
    // The child is gone: its counters grow no more, so at the next looks it has no row.
    for _ in 0..40 {
        assert_eq!(sample(&mut host, &mut snapshot), State::Ok);
    }
    assert_eq!(get(&snapshot, child.id(), "tcp_tx_bytes"), None);
    assert!(get(&snapshot, std::process::id(), "tcp_tx_bytes").is_some());
}

/// In a process of its own: what the kernel can do is found out once in a process, and a thread
/// without permission finds out nothing.
#[test]
fn without_permission_it_is_denied_with_the_reason() {
    let mut child = testkit::own_test("process_net::nobody");
    assert!(child.env(NOBODY, "1").status().unwrap().success());
}

#[test]
fn nobody() {
    if std::env::var_os(NOBODY).is_none() {
        return;
    }
    let (state, why) = testkit::as_nobody(|| {
        let mut host = Host::new("/");
        let context = Arc::new(SourceContext::default());
        let mut sampler = Sampler::open(&mut host, &entries(), &context);
        let mut snapshot = Snapshot::new(&sampler.defs());
        sampler.sample(&mut host, &mut SystemClock, |_, _| State::Ok, &mut snapshot);
        assert_eq!(snapshot.samples[0].table.rows(), 0);
        (snapshot.samples[0].state, context.shared.refusals.of("process_net").unwrap())
    });
    match state {
        State::Denied => assert!(why.contains("CAP_BPF"), "{why}"),
        // No BTF, no control groups, or in a namespace: nothing was asked for.
        State::Absent => testkit::skip_refused("counting without rights", &why),
        _ => panic!("{state:?}: {why}"),
    }
}
