//! The terminal: taken over at the start, given back at every end there is (return, error, panic,
//! TERM, HUP, INT), lent back while stopped.
//!
//! A signal writes a byte to a pipe that the loop waits on together with the keyboard, so none
//! comes late and none is polled for.

use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{self, Event};
use ratatui_crossterm::crossterm::{cursor, execute, terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes gathered before they are written: more than one screen's changes, so that they leave in
/// one call.
const BUFFER_BYTES: usize = 64 * 1024;

const STOP: u32 = 1;
const SUSPEND: u32 = 2;
const CONTINUED: u32 = 4;
const RESIZED: u32 = 8;

static PENDING: AtomicU32 = AtomicU32::new(0);
static WAKE: AtomicI32 = AtomicI32::new(-1);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What the screen is drawn with.
pub(crate) type Screen = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// What the loop was woken by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The time is up.
    Time,
    /// Keys and the like.
    Events(Vec<Event>),
    /// Draw everything again: the terminal was another's, or has another size.
    Redraw,
    /// End.
    Stop,
}

/// The terminal while it is ours.
pub(crate) struct Ours {
    /// Never dropped: its own end would complain on stderr when the terminal is gone, and what it
    /// would put right is put right by [`give_back`].
    pub(crate) screen: ManuallyDrop<Screen>,
    signals: OwnedFd,
}

/// Whether there is a terminal that a screen can be drawn on; if not, says what to do instead.
pub(crate) fn check() -> anyhow::Result<()> {
    let other = "whit record --top and whit play --top give plain lines";
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!("whit top needs a terminal; {other}");
    }
    match std::env::var("TERM").as_deref() {
        Ok("") | Err(_) => bail!("TERM is not set, so nothing is known of the terminal; {other}"),
        Ok("dumb") => bail!("the terminal (TERM=dumb) cannot place text; {other}"),
        Ok(_) => Ok(()),
    }
}

/// Whether colours are wanted and can be had.
pub(crate) fn has_colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let term = std::env::var("TERM").unwrap_or_default();
    let plain = term.starts_with("vt") || term.ends_with("-m") || term.ends_with("-mono");
    !refused && !plain
}

/// Whether the terminal shows ASCII alone: the locale says so, or it is an old one.
pub(crate) fn is_ascii() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    let term = std::env::var("TERM").unwrap_or_default();
    !(locale.contains("utf-8") || locale.contains("utf8")) || term.starts_with("vt")
}

impl Ours {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// Those of the terminal.
    pub(crate) fn take() -> anyhow::Result<Self> {
        let signals = install_handlers().context("cannot watch for signals")?;
        restore_on_panic();
        enter().context("cannot take the terminal over")?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        let screen = Terminal::new(CrosstermBackend::new(writer));
        match screen {
            Ok(screen) => Ok(Ours { screen: ManuallyDrop::new(screen), signals }),
            Err(error) => {
                give_back();
                Err(error).context("cannot learn the terminal's size")
            }
        }
    }

    /// Waits for a key or a signal, no longer than `timeout`.
    ///
    /// # Errors
    /// Those of the terminal.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> anyhow::Result<Wake> {
        let stdin = io::stdin();
        let mut watched =
            [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for the terminal"),
        }
        let (keys, woken) = (watched[0].revents(), watched[1].revents());
        if woken.contains(PollFlags::IN) {
            let mut bytes = [0; 64];
            while rustix::io::read(&self.signals, &mut bytes).is_ok_and(|count| count > 0) {}
        }
        let pending = PENDING.swap(0, Ordering::Relaxed);
        if pending & STOP != 0 || keys.intersects(PollFlags::HUP | PollFlags::ERR) {
            return Ok(Wake::Stop);
        }
        if pending & SUSPEND != 0 {
            self.suspend()?;
            return Ok(Wake::Redraw);
        }
        if pending & CONTINUED != 0 {
            self.again()?;
            return Ok(Wake::Redraw);
        }
        if keys.contains(PollFlags::IN) {
            let mut events = Vec::new();
            while event::poll(Duration::ZERO)? {
                events.push(event::read()?);
            }
            return Ok(Wake::Events(events));
        }
        Ok(if pending & RESIZED != 0 { Wake::Redraw } else { Wake::Time })
    }

    /// Gives the terminal back, stops, and takes it again when told to go on.
    pub(crate) fn suspend(&mut self) -> anyhow::Result<()> {
        give_back();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)
            .context("cannot stop")?;
        PENDING.fetch_and(!CONTINUED, Ordering::Relaxed);
        self.again()
    }

    fn again(&mut self) -> anyhow::Result<()> {
        // Whoever had the terminal meanwhile may have left it in any state.
        let _ = terminal::disable_raw_mode();
        enter().context("cannot take the terminal over again")?;
        self.screen.clear()?;
        Ok(())
    }

    /// Forgets what is on the screen, so that all is drawn again.
    pub(crate) fn clear(&mut self) -> anyhow::Result<()> {
        self.screen.clear()?;
        Ok(())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::Relaxed);
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)
}

/// Gives the terminal back.  Never fails: nobody is left to tell.
fn give_back() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        let mut out = io::stdout();
        let _ = execute!(out, cursor::Show, terminal::LeaveAlternateScreen);
        let _ = out.flush();
        let _ = terminal::disable_raw_mode();
    }
}

/// A panic's message must be readable, and the shell behind it usable.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told_so_far = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            told_so_far(panic);
        }));
    });
}

fn install_handlers() -> io::Result<OwnedFd> {
    use rustix::pipe::{PipeFlags, pipe_with};
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // The handlers write to it as long as the process lives.
    WAKE.store(write.as_fd().as_raw_fd(), Ordering::Relaxed);
    std::mem::forget(write);
    let signals = [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGTSTP,
        libc::SIGCONT,
        libc::SIGWINCH,
    ];
    for signal in signals {
        // SAFETY: `sigaction` is plain data for which zero is a valid value; the handler touches
        // atomics and writes to a pipe, both of which a handler may do.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    Ok(read)
}

extern "C" fn note(signal: libc::c_int) {
    let bit = match signal {
        libc::SIGTSTP => SUSPEND,
        libc::SIGCONT => CONTINUED,
        libc::SIGWINCH => RESIZED,
        _ => STOP,
    };
    PENDING.fetch_or(bit, Ordering::Relaxed);
    let wake = WAKE.load(Ordering::Relaxed);
    // SAFETY: write(2) may be called by a handler; the byte lives through the call, and the
    // descriptor is never closed.  `errno` is put back, as the code interrupted may look at it.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(wake, [0u8].as_ptr().cast(), 1);
        *libc::__errno_location() = errno;
    }
}
