//! What tests of asking share: simulated devices, queries of interfaces, a clock that can be set ahead.

#![allow(dead_code, clippy::unwrap_used, reason = "each test uses its part")]

use std::sync::LazyLock;
use std::time::Instant;

use poll::ask::MergingAsker;
use poll::round::Asker as _;
use poll::{
    Config, Device, InterfaceSelector, ObjectMethod, Query, QueryAnswer, SnmpQuery, SnmpVersion,
    Variable, VariableSource,
};
use snmp_simulator::{AgentDevice, AgentThread};

pub(crate) fn now_ns() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed().as_nanos() as u64
}

/// A clock that is set ahead, so that rounds need not wait for their time.  Requests that are on
/// their way time out then: only one test at a time uses it.
pub(crate) mod set_clock {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// What the clock is ahead, in ns.
    static AHEAD_NS: AtomicU64 = AtomicU64::new(0);

    pub(crate) fn now_ns() -> u64 {
        super::now_ns() + AHEAD_NS.load(Ordering::Relaxed)
    }

    pub(crate) fn pass(ns: u64) {
        AHEAD_NS.fetch_add(ns, Ordering::Relaxed);
    }

    /// Waits until no other test uses the clock.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn device(address: std::net::SocketAddr, version: SnmpVersion) -> Device {
    Device {
        host: address.ip().to_string(),
        port: address.port(),
        community: "public".into(),
        timeout_s: 0.3,
        retries: 2,
        backoff: 1.0,
        version,
        text: format!("public@{address}"),
        ..Device::default()
    }
}

pub(crate) const IN: [u32; 10] = [1, 3, 6, 1, 2, 1, 2, 2, 1, 10];
pub(crate) const OUT: [u32; 10] = [1, 3, 6, 1, 2, 1, 2, 2, 1, 16];

pub(crate) fn query(device: usize, interface: &InterfaceSelector) -> Query {
    let variables = [IN, OUT].map(|id| {
        let source =
            VariableSource::Object { name: "".into(), id: id.into(), method: ObjectMethod::Get };
        Variable { source, interface: interface.clone() }
    });
    let text = format!("device {device} {interface:?}");
    Query::Snmp(std::sync::Arc::new(SnmpQuery {
        device,
        variables: variables.into(),
        conversion: None,
        text,
    }))
}

pub(crate) fn start(
    count: u32,
    interfaces: u32,
    change: impl Fn(u32, &mut AgentDevice),
) -> AgentThread {
    AgentThread::start_switches(count, interfaces, now_ns, change).unwrap()
}

pub(crate) fn ask(asker: &mut MergingAsker, config: &Config) -> (Vec<QueryAnswer>, Vec<String>) {
    let mut said = Vec::new();
    let answers = asker.ask(config, &|| 1_700_000_000_000_000_000, &mut |line| said.push(line));
    (answers, said)
}

pub(crate) fn is_full(answer: &QueryAnswer) -> bool {
    let is_number = |value: &Option<Vec<u8>>| {
        value.as_ref().is_some_and(|text| text.iter().all(u8::is_ascii_digit))
    };
    answer.values.iter().all(is_number) && answer.name.as_deref() == Some("switch")
}
