//! What a proxy sleeps on: the connection, new files in the folders of rings, the doorbells that
//! producers of important records ring, and a time.
//!
//! A record below ERROR ends a sleep only if its process was asked for that, as all are after some
//! quiet; until then rings are looked at every few milliseconds.  Without rings, or once all processes
//! were asked, nothing is looked at before a file appears or a producer wakes the proxy.  A wake-up
//! without work costs one system call for each ring and one to sleep again.

use std::fs::DirBuilder;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use logring::Doorbell;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use connection::SocketStream;

/// Longest sleep of a thread at a doorbell: then it sees that its proxy is gone.
const DOORBELL_SLEEP_NS: u64 = 30_000_000_000;
/// Sleeps from here on ask producers to ring.
const ARM_FROM: Duration = Duration::from_millis(2);

/// Ends a proxy's sleep, from any thread.
#[derive(Debug, Clone)]
pub struct ProxyWaker(Arc<OwnedFd>);

impl ProxyWaker {
    /// Ends the sleep now, or the next one.
    pub fn wake(&self) {
        ring(&self.0);
    }
}

fn ring(event: &OwnedFd) {
    // It fails only if it was rung more often than anybody can count.
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

/// A folder of rings.
struct Watched {
    folder: PathBuf,
    doorbell: Option<Arc<Doorbell>>,
    is_watched: bool,
}

/// What a proxy sleeps on.
pub(super) struct Waking {
    event: Option<Arc<OwnedFd>>,
    inotify: Option<OwnedFd>,
    folders: Vec<Watched>,
    is_armed: bool,
    /// There may be new files.
    pub(super) has_files: bool,
    /// The connection may have something to read.
    pub(super) is_readable: bool,
}

impl Waking {
    pub(super) fn new(folders: &[PathBuf]) -> Self {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let watched = |folder: &PathBuf| Watched {
            folder: folder.clone(),
            doorbell: None,
            is_watched: false,
        };
        // Without them a proxy looks more often.
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).ok().map(Arc::new);
        let mut waking = Waking {
            event,
            inotify: inotify::init(flags).ok(),
            folders: folders.iter().map(watched).collect(),
            is_armed: false,
            has_files: true,
            is_readable: true,
        };
        waking.watch();
        waking
    }

    pub(super) fn waker(&self) -> Option<ProxyWaker> {
        self.event.clone().map(ProxyWaker)
    }

    /// Whether new files and important records end a sleep.
    pub(super) fn is_complete(&self) -> bool {
        self.folders.iter().all(|one| one.is_watched && one.doorbell.is_some())
    }

    /// Begins to watch folders that are not watched yet.  One that is not there is made, as writers
    /// do.
    pub(super) fn watch(&mut self) {
        for one in &mut self.folders {
            if one.doorbell.is_none() {
                // If it cannot be made, a writer may make it later.
                let _ = DirBuilder::new().recursive(true).mode(0o700).create(&one.folder);
                one.doorbell = self.event.as_ref().and_then(|event| doorbell(&one.folder, event));
            }
            if !one.is_watched
                && let Some(inotify) = &self.inotify
            {
                let flags = WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::ONLYDIR;
                one.is_watched = inotify::add_watch(inotify, &one.folder, flags).is_ok();
                self.has_files = true;
            }
        }
    }

    /// Asks producers to ring, or to leave it; whether that changed.
    fn arm(&mut self, is_armed: bool) -> bool {
        if self.is_armed == is_armed {
            return false;
        }
        self.is_armed = is_armed;
        for doorbell in self.folders.iter().filter_map(|one| one.doorbell.as_ref()) {
            doorbell.arm(is_armed);
        }
        true
    }

    /// There was work: producers need not ring.
    pub(super) fn is_busy(&mut self) {
        self.arm(false);
        self.is_readable = true;
    }

    /// Prepares a sleep; `false`: look at the rings once more before it.
    pub(super) fn prepare(&mut self, most: Duration) -> bool {
        most < ARM_FROM || !self.arm(true)
    }

    /// Sleeps.
    pub(super) fn sleep(
        &mut self,
        connection: Option<&SocketStream>,
        has_output: bool,
        most: Duration,
    ) {
        let wait = Timespec {
            tv_sec: most.as_secs().cast_signed(),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        let ways = if has_output { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = Vec::with_capacity(3);
        fds.extend(connection.map(|fd| PollFd::new(fd, ways)));
        fds.extend(self.event.as_deref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.inotify.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        // A signal ends the sleep, and that is all.
        let count = poll(&mut fds, Some(&wait)).unwrap_or(0);
        let mut ready = fds.iter().map(|fd| count > 0 && !fd.revents().is_empty());
        self.is_readable = connection.is_some() && ready.next() == Some(true);
        let is_rung = self.event.is_some() && ready.next() == Some(true);
        let has_files = self.inotify.is_some() && ready.next() == Some(true);
        let mut bytes = [0; 4096];
        if is_rung && let Some(event) = &self.event {
            let _ = rustix::io::read(event, &mut bytes[..8]);
        }
        if has_files && let Some(inotify) = &self.inotify {
            while rustix::io::read(inotify, &mut bytes).is_ok_and(|count| count > 0) {}
            self.has_files = true;
        }
    }
}

impl Drop for Waking {
    fn drop(&mut self) {
        self.arm(false);
        self.event = None;
        for doorbell in self.folders.iter().filter_map(|one| one.doorbell.as_ref()) {
            doorbell.wake_sleepers();
        }
    }
}

/// The doorbell of a folder, and a thread that passes its ringing on.
fn doorbell(folder: &Path, event: &Arc<OwnedFd>) -> Option<Arc<Doorbell>> {
    let doorbell = Arc::new(Doorbell::open(folder).ok()?);
    let (listening, event) = (Arc::clone(&doorbell), Arc::downgrade(event));
    let listen = move || pass_on(&listening, &event);
    let thread = std::thread::Builder::new().name("log-doorbell".to_owned());
    thread.spawn(listen).ok().map(|_| doorbell)
}

fn pass_on(doorbell: &Doorbell, event: &Weak<OwnedFd>) {
    let mut number = doorbell.number();
    loop {
        doorbell.wait(number, DOORBELL_SLEEP_NS);
        let Some(event) = event.upgrade() else { return };
        let now = doorbell.number();
        if now != number {
            number = now;
            ring(&event);
        }
    }
}
