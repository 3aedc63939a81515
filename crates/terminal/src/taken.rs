//! The terminal: switched to raw mode and the alternate screen at the start, and restored at every
//! end (return, error, panic, SIGTERM, SIGHUP, SIGINT) and while the process is stopped.
//!
//! A signal handler writes a byte to a pipe; the loop waits for this pipe and the keyboard, so
//! signals are handled at once and need no polling.

use std::io::{self, BufWriter, IsTerminal as _};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use ratatui_core::layout::{Position, Rect};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{self, Event};
use ratatui_crossterm::crossterm::{cursor, execute, queue, terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::TerminalError;
use crate::keys::{self, Edit};
use crate::output::Output;

/// Size of the output buffer: more than the changes of a screen, so that these are written by one
/// call.
const BUFFER_BYTES: usize = 64 * 1024;

const STOP: u32 = 1;
const SUSPEND: u32 = 2;
const CONTINUED: u32 = 4;
const RESIZED: u32 = 8;

static PENDING: AtomicU32 = AtomicU32::new(0);
static WAKE: AtomicI32 = AtomicI32::new(-1);
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether the terminal tells of the mouse.
static MOUSE: AtomicBool = AtomicBool::new(false);
/// Whether it is to.
static WANTS_MOUSE: AtomicBool = AtomicBool::new(false);

/// The type of the screen.
pub type Screen = Terminal<CrosstermBackend<BufWriter<Output>>>;

/// Why the loop was woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// The time is up.
    Time,
    /// Keys and other events.
    Events(Vec<Event>),
    /// Draw everything again: another program had the terminal, or its size changed.
    Redraw,
    /// End.
    Stop,
}

/// The terminal while this program draws on it.
pub struct TakenTerminal {
    /// The screen.  Never dropped: its destructor would print to stderr if the terminal is gone, and
    /// [`give_back`] restores the terminal already.
    pub screen: ManuallyDrop<Screen>,
    signals: OwnedFd,
    /// Events that were read while the program was busy.
    events: Vec<Event>,
}

/// What the environment says about the terminal.
#[derive(Clone, Debug, Default)]
pub struct TerminalKind {
    /// `TERM`, if it is set.
    pub name: Option<String>,
    /// Whether colours are disabled: `NO_COLOR` is not empty.
    pub no_colour: bool,
    /// The character locale: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is not empty.
    pub locale: String,
}

impl TerminalKind {
    /// Checks that there is a terminal that can show a screen.
    ///
    /// # Errors
    /// If there is none.
    pub fn check(&self) -> Result<(), TerminalError> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(TerminalError::NoTerminal);
        }
        match self.name.as_deref() {
            Some("") | None => Err(TerminalError::UnknownTerminal),
            Some("dumb") => Err(TerminalError::DumbTerminal),
            Some(_) => Ok(()),
        }
    }

    /// Whether colours are enabled and supported.
    #[must_use]
    pub fn has_colour(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        let plain = name.starts_with("vt") || name.ends_with("-m") || name.ends_with("-mono");
        !self.no_colour && !plain
    }

    /// Whether the terminal shows only ASCII: by the locale, or because it is an old one.
    #[must_use]
    pub fn is_ascii(&self) -> bool {
        let locale = self.locale.to_ascii_lowercase();
        let name = self.name.as_deref().unwrap_or_default();
        !(locale.contains("utf-8") || locale.contains("utf8")) || name.starts_with("vt")
    }
}

impl TakenTerminal {
    /// Takes control of the terminal.
    ///
    /// # Errors
    /// If the terminal cannot be set up.
    pub fn take() -> Result<Self, TerminalError> {
        let signals = install_handlers().map_err(failed("install signal handlers"))?;
        restore_on_panic();
        enter().map_err(failed("set the terminal to raw mode"))?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, Output::open(is_ending));
        let screen = Terminal::new(CrosstermBackend::new(writer));
        match screen {
            Ok(screen) => {
                Ok(TakenTerminal { screen: ManuallyDrop::new(screen), signals, events: Vec::new() })
            }
            Err(error) => {
                give_back();
                Err(failed("get the terminal's size")(error))
            }
        }
    }

    /// As [`take`](Self::take), and the terminal tells of the mouse: [`Event::Mouse`].
    ///
    /// # Errors
    /// If the terminal cannot be set up.
    pub fn take_with_mouse() -> Result<Self, TerminalError> {
        WANTS_MOUSE.store(true, Ordering::Relaxed);
        Self::take()
    }

    /// Waits for a key or a signal, no longer than `timeout`.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<TerminalEvent, TerminalError> {
        if !self.events.is_empty() {
            return Ok(TerminalEvent::Events(std::mem::take(&mut self.events)));
        }
        let stdin = io::stdin();
        let mut watched =
            [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed("wait for the terminal")(error.into())),
        }
        let (keys, woken) = (watched[0].revents(), watched[1].revents());
        if woken.contains(PollFlags::IN) {
            let mut bytes = [0; 64];
            while rustix::io::read(&self.signals, &mut bytes).is_ok_and(|count| count > 0) {}
        }
        let pending = PENDING.swap(0, Ordering::Relaxed);
        if pending & STOP != 0 || keys.intersects(PollFlags::HUP | PollFlags::ERR) {
            return Ok(TerminalEvent::Stop);
        }
        if pending & SUSPEND != 0 {
            self.suspend()?;
            return Ok(TerminalEvent::Redraw);
        }
        if pending & CONTINUED != 0 {
            self.again()?;
            return Ok(TerminalEvent::Redraw);
        }
        if keys.contains(PollFlags::IN) {
            let mut events = Vec::new();
            while event::poll(Duration::ZERO)? {
                events.push(event::read()?);
            }
            return Ok(TerminalEvent::Events(events));
        }
        Ok(if pending & RESIZED != 0 { TerminalEvent::Redraw } else { TerminalEvent::Time })
    }

    /// Whether what is being done is to end: by Esc, Ctrl-C or a signal.  Other keys are kept for
    /// [`wait`](Self::wait).
    pub fn is_interrupted(&mut self) -> bool {
        while event::poll(Duration::ZERO).unwrap_or(false) {
            let Ok(event) = event::read() else { return true };
            if keys::edit(&event) == Some(Edit::Cancel) {
                return true;
            }
            self.events.push(event);
        }
        is_ending()
    }

    /// Restores the terminal, stops, and takes control again when the process is continued.
    ///
    /// # Errors
    /// If the terminal cannot be set up again.
    pub fn suspend(&mut self) -> Result<(), TerminalError> {
        give_back();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)
            .map_err(|error| failed("stop")(error.into()))?;
        PENDING.fetch_and(!CONTINUED, Ordering::Relaxed);
        self.again()
    }

    fn again(&mut self) -> Result<(), TerminalError> {
        // Another program may have left the terminal in any state.
        let _ = terminal::disable_raw_mode();
        enter().map_err(failed("set the terminal to raw mode again"))?;
        self.clear()
    }

    /// Marks the screen's content as unknown, so that all is drawn again.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn clear(&mut self) -> Result<(), TerminalError> {
        // `Terminal::clear` would ask the terminal where its cursor is, and wait for the answer.
        let size = self.screen.size()?;
        self.screen.resize(Rect::from((Position::ORIGIN, size)))?;
        Ok(())
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Ends the wait of the program that draws, from another of its threads: it gets
/// [`TerminalEvent::Time`].  Nothing happens before the terminal is taken.
pub fn wake() {
    let pipe = WAKE.load(Ordering::Relaxed);
    if pipe >= 0 {
        // SAFETY: the descriptor of the pipe is never closed once it is in `WAKE`.
        let pipe = unsafe { BorrowedFd::borrow_raw(pipe) };
        // A pipe that is full wakes as well.
        let _ = rustix::io::write(pipe, &[0]);
    }
}

/// Whether a signal has come that ends the program.
fn is_ending() -> bool {
    PENDING.load(Ordering::Relaxed) & STOP != 0
}

/// Adds to an error what was attempted.
fn failed(what: &'static str) -> impl Fn(io::Error) -> TerminalError {
    move |source| TerminalError::Failed { what, source }
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::Relaxed);
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
    if WANTS_MOUSE.load(Ordering::Relaxed) {
        MOUSE.store(true, Ordering::Relaxed);
        execute!(io::stdout(), event::EnableMouseCapture)?;
    }
    Ok(())
}

/// Restores the terminal.  Errors are ignored: they could not be shown.
fn give_back() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        let mut last = Vec::new();
        if MOUSE.swap(false, Ordering::Relaxed) {
            let _ = queue!(last, event::DisableMouseCapture);
        }
        let _ = queue!(last, cursor::Show, terminal::LeaveAlternateScreen);
        Output::open(is_ending).write_last(&last);
        let _ = terminal::disable_raw_mode();
    }
}

/// Restores the terminal before the message of a panic.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            earlier(panic);
        }));
    });
}

fn install_handlers() -> io::Result<OwnedFd> {
    use rustix::pipe::{PipeFlags, pipe_with};
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // The handlers write to it until the process ends.
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
    // descriptor is never closed.  `errno` is restored, because the interrupted code may read it.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(wake, [0u8].as_ptr().cast(), 1);
        *libc::__errno_location() = errno;
    }
}
