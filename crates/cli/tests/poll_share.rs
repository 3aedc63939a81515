//! `whit poll --share`: several pollers beside a real server of NATS, and simulated devices.
//!
//! A moment in which a busy machine lets a lease end is no failure: what is awaited comes again.  What
//! may never be is that two write a database at once, which the database itself refuses: the later
//! write is not later than the last.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;

use service_account::{SharedPollers, pollers_beside};
use snmp_simulator::AgentThread;
use testkit::{Authority, NatsServer, Running, wait_until};

use crate::whit;

const DEVICES: u32 = 24;

fn now_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Simulated devices, and a configuration of a target of each, in a folder of all pollers.
struct Site {
    folder: tempfile::TempDir,
    _agent: AgentThread,
}

impl Site {
    fn new() -> Self {
        let agent = AgentThread::start_switches(DEVICES, 1, now_ns, |_, _| {}).expect("an agent");
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = format!(
            "WorkDir: {}\nLogFormat: rrdtool\nInterval: 0:01\nMaxBytes[_]: 125000000\nTitle[_]: x\n",
            folder.path().display()
        );
        for number in 0..DEVICES {
            let at = agent.address(number);
            text += &format!("Target[d{number}]: 1:public@{}:{}::::2\n", at.ip(), at.port());
        }
        std::fs::write(folder.path().join("a.cfg"), text).expect("written");
        Site { folder, _agent: agent }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn poller(&self, name: &str, words: &[&str]) -> Poller<'_> {
        let mut command = whit();
        command.args(["poll", "-c", "100000", "--debug=log", "--poller", name]).args(words);
        command.arg("--logging").arg(self.path(&format!("{name}.log"))).arg(self.path("a.cfg"));
        Poller { site: self, name: name.to_owned(), running: Running::start(&mut command) }
    }
}

struct Poller<'s> {
    site: &'s Site,
    name: String,
    running: Running,
}

impl Poller<'_> {
    fn log(&self) -> String {
        let log = self.site.path(&format!("{}.log", self.name));
        std::fs::read_to_string(log).unwrap_or_default()
    }

    /// How many targets it has, as it said last; none if it has not said it yet.
    fn count(&self) -> Option<u32> {
        let log = self.log();
        let (before, _) = log.rsplit_once(&format!(" of {DEVICES} targets are polled here"))?;
        before.rsplit(' ').next()?.parse().ok()
    }
}

impl Poller<'_> {
    /// What it says of all pollers in the file beside its recordings.
    fn account(&self) -> SharedPollers {
        let folder = self.site.path(&format!("{}-recordings", self.name));
        pollers_beside(&folder).pop().unwrap_or_default()
    }

    /// Records its rounds, too.
    fn recording(site: &Site, name: &str) -> String {
        format!("-f{}/", site.path(&format!("{name}-recordings")).display())
    }
}

/// Waits until these have all devices among them, and each has some.
fn wait_until_all_are_polled(what: &str, pollers: &[&Poller<'_>]) {
    wait_until(what, || {
        let counts: Vec<u32> = pollers.iter().map(|one| one.count().unwrap_or(0)).collect();
        counts.iter().all(|count| *count > 0) && counts.iter().sum::<u32>() == DEVICES
    });
}

/// Waits until each device has been asked once more.
fn wait_until_asked(what: &str, pollers: &[&Poller<'_>]) {
    let counts = || -> Vec<usize> {
        let logs: String = pollers.iter().map(|one| one.log()).collect();
        let asked = |number| logs.matches(&format!("--log: d{number} ")).count();
        (0..DEVICES).map(asked).collect()
    };
    let before = counts();
    wait_until(what, || counts().iter().zip(&before).all(|(now, before)| now > before));
}

#[test]
fn pollers_share_devices_and_take_over_those_of_the_dead() {
    let Some(mut server) = NatsServer::start(None) else { return };
    let site = Site::new();
    let address = format!("--share=nats://{}/whit", server.address());
    let poller = |name: &str| site.poller(name, &[&address, &Poller::recording(&site, name)]);
    let [mut a, b, c] = ["a", "b", "c"].map(poller);
    wait_until_all_are_polled("three share all devices", &[&a, &b, &c]);
    // Each knows of all whose every device is.
    let all: Vec<&str> = vec!["a", "b", "c"];
    wait_until("all know all", || {
        [&a, &b, &c].iter().all(|one| {
            let counts = one.account();
            let counts = counts.counts();
            let is_whole = counts.values().sum::<usize>() == DEVICES as usize;
            counts.keys().eq(&all) && is_whole && counts.values().all(|count| *count > 0)
        })
    });
    let of_c: BTreeSet<String> = {
        let devices = a.account().devices.into_iter();
        devices.filter(|(_, owner)| owner.poller == "c").map(|(device, _)| device).collect()
    };
    wait_until_asked("all are asked by three", &[&a, &b, &c]);
    let log = c.log();
    c.running.kill();
    wait_until_all_are_polled("two take over", &[&a, &b]);
    wait_until_asked("all are asked by two", &[&a, &b]);
    assert!([&a, &b].iter().any(|one| one.log().contains("the poller c is silent")), "{}", a.log());
    // What was of c has gone to both, who know that c is silent.
    wait_until("both know that c is silent", || {
        [&a, &b].iter().all(|one| {
            let known = one.account();
            let owners = known.devices.values().map(|owner| owner.poller.as_str());
            known.silent.contains_key("c") && owners.collect::<BTreeSet<_>>() == ["a", "b"].into()
        })
    });
    let known = b.account();
    let taken = ["a", "b"].map(|name| known.taken_over(name).get("c").map_or(0, |taken| taken.0));
    assert!(taken.iter().sum::<usize>() >= of_c.len(), "{taken:?} {of_c:?} {known:?}");
    assert!(of_c.iter().all(|device| known.devices[device].from.is_some()), "{known:?}");
    // Without the bucket nobody knows who polls, so nobody does; and then all go on.
    server.signal(libc::SIGSTOP);
    wait_until("nobody polls", || [&a, &b].iter().all(|one| one.count() == Some(0)));
    assert!([&a, &b].iter().all(|one| one.log().contains("cannot be used")), "{}", a.log());
    wait_until("both say since when", || {
        [&a, &b].iter().all(|one| one.account().unusable.is_some())
    });
    server.signal(libc::SIGCONT);
    wait_until_all_are_polled("both go on", &[&a, &b]);
    wait_until_asked("all are asked again", &[&a, &b]);
    // Who ends gives its devices away at once.
    a.running.signal(libc::SIGTERM);
    assert!(a.running.ended().success(), "{}", a.log());
    assert_eq!(
        a.account(),
        SharedPollers::default(),
        "who has given its devices away knows nothing"
    );
    wait_until_all_are_polled("one has all", &[&b]);
    wait_until_asked("all are asked by one", &[&b]);
    for log in [a.log(), b.log(), log] {
        assert!(!log.contains("cannot update"), "{log}");
    }
}

#[test]
fn a_server_is_checked_and_told_a_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new(folder.path(), "ca");
    let files = authority.sign("server", &["localhost"], false);
    let Some(encrypted) = NatsServer::encrypted(&files) else { return };
    let Some(closed) = NatsServer::start(Some("a-token")) else { return };
    let site = Site::new();
    let token = site.path("token");
    std::fs::write(&token, "a-token\n").expect("written");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("changed");
    let tls = format!("--share=tls://localhost:{}/whit", encrypted.address().port());
    let ca = format!("--share-ca={}", authority.file.display());
    let by_token = format!("--share=nats://{}/whit", closed.address());
    let token = format!("--share-token-file={}", token.display());
    let encrypted = site.poller("encrypted", &[&tls, &ca]);
    let refused = site.poller("refused", &[&by_token]);
    let known = site.poller("known", &[&by_token, &token]);
    for poller in [&encrypted, &known] {
        wait_until("it polls all", || poller.count() == Some(DEVICES));
    }
    wait_until("it is refused", || refused.log().contains("Authorization Violation"));
    assert_eq!(refused.count().unwrap_or(0), 0);
    // What cannot be shared is refused by name.
    for (words, why) in [
        (&["-c", "1", by_token.as_str()][..], "--share needs a poller that stays"),
        (&["-c", "2", "--poller", "x"], "--share"),
        (&["-c", "2", by_token.as_str(), "--poller", "a b"], "no name of a poller"),
        (&["-c", "2", "--share", "nats://h"], "write nats://HOST:PORT/BUCKET"),
    ] {
        let output = whit().arg("poll").args(words).arg(site.path("a.cfg")).output().expect("whit");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{words:?}: {said}");
    }
}
