//! The terminal guard: it takes the terminal and gives it back on every path out.
//!
//! Ways out and who restores: return and unwinding (`Drop`), a panic on any thread (the panic hook), SIGTERM, SIGHUP and
//! SIGINT (a message, then return), SIGTSTP (a message, then [`Guard::suspend`]), and SIGSEGV and its like (a handler that
//! calls nothing but async-signal-safe functions and leaves the signal its default action, so that the exit status is true).
#![allow(unsafe_code)]

use super::signals::{self, Signal};
use super::writer::{self, ACTIVE};
use crossbeam_channel::Receiver;
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{self, IsTerminal, Write};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Alternate screen, cleared, cursor hidden, mouse clicks and wheel (SGR coordinates).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?1000h\x1b[?1006h";

/// Undoes [`ENTER`] and whatever else may be on: synchronized update, every mouse mode, bracketed paste, attributes.
const RESTORE: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

/// Signals that end the process at once; the handler restores the terminal first. First those of crashes, then what somebody
/// may send by hand.
const FATAL: [libc::c_int; 17] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
];

/// Whether any thread has panicked since the terminal was taken.
static PANICKED: AtomicBool = AtomicBool::new(false);
/// The terminal's settings as they were found, for the fatal handler.
static FOUND: OnceLock<libc::termios> = OnceLock::new();

/// Why the terminal cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Input or output goes elsewhere.
    #[error("{0} is not a terminal: the dashboard needs one (`umtop bench` does not)")]
    NotATerminal(&'static str),
    /// The terminal refused.
    #[error("the terminal cannot be set up: {0}")]
    Terminal(#[from] io::Error),
}

/// The terminal, taken. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Guard {
    signals: Receiver<Signal>,
}

impl Guard {
    /// Takes the terminal: raw mode, alternate screen, mouse. To be called before anything else that may fail or panic.
    pub fn enter() -> Result<Self, GuardError> {
        if !io::stdout().is_terminal() {
            return Err(GuardError::NotATerminal("standard output"));
        }
        if !io::stdin().is_terminal() {
            return Err(GuardError::NotATerminal("standard input"));
        }
        remember_settings()?;
        install_panic_hook();
        install_fatal_handlers();
        writer::start()?;
        let guard = Self { signals: signals::watch()? };
        PANICKED.store(false, Ordering::SeqCst);
        take()?;
        Ok(guard)
    }

    /// Signals that arrived.
    pub fn signals(&self) -> &Receiver<Signal> {
        &self.signals
    }

    /// Whether a thread has panicked, after which the terminal is no longer ours.
    pub fn panicked(&self) -> bool {
        PANICKED.load(Ordering::SeqCst)
    }

    /// Gives the terminal back, stops the process as SIGTSTP would, and takes the terminal again once it goes on.
    pub fn suspend(&self) -> io::Result<()> {
        give_back();
        // SAFETY: raise has no memory preconditions; SIGSTOP stops the whole process until SIGCONT.
        unsafe { libc::raise(libc::SIGSTOP) };
        take()
    }

    /// Takes the terminal again after the process was stopped by somebody else.
    pub fn resume(&self) -> io::Result<()> {
        if ACTIVE.load(Ordering::SeqCst) {
            disable_raw_mode()?;
        }
        take()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// What a frame is written to: nothing goes to the terminal's thread before `flush`, and nothing at all to the terminal once
/// it was given back.
#[derive(Debug, Default)]
pub struct Screen {
    pending: Vec<u8>,
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        writer::frame(&mut self.pending)
    }
}

/// A terminal that does not take the sequence now gets it when it reads again.
fn take() -> io::Result<()> {
    ACTIVE.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    writer::insist(ENTER);
    Ok(())
}

/// Restores, once. Errors are of no use: there is nobody left to tell.
pub(super) fn give_back() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        writer::insist(RESTORE);
        let _ = disable_raw_mode();
    }
}

fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICKED.store(true, Ordering::SeqCst);
            give_back();
            report(info);
        }));
    });
}

fn remember_settings() -> io::Result<()> {
    let mut found = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the pointer is valid for a termios; it is read only if the call filled it.
    let found = unsafe {
        if libc::tcgetattr(libc::STDIN_FILENO, found.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        found.assume_init()
    };
    FOUND.get_or_init(|| found);
    Ok(())
}

fn install_fatal_handlers() {
    for signal in FATAL {
        // SAFETY: the action is fully initialised (zero is a valid sigaction), the handler is async-signal-safe, and
        // SA_ONSTACK lets it run when the stack has overflowed (std gives each thread an alternate stack).
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = restore_and_die as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Runs inside a signal handler. SA_RESETHAND has put the default action back; the signal is blocked until the return,
/// when the raised one is delivered and ends the process with the right status.
extern "C" fn restore_and_die(signal: libc::c_int) {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        let mut room = libc::pollfd { fd: libc::STDOUT_FILENO, events: libc::POLLOUT, revents: 0 };
        // SAFETY: poll, tcflush, write, tcsetattr and raise are async-signal-safe; `room` is one entry, the buffers are
        // static.
        unsafe {
            // A terminal that does not read must not keep the process alive: what it has not taken is thrown away.
            if libc::poll(&mut room, 1, 0) == 0 {
                libc::tcflush(libc::STDOUT_FILENO, libc::TCOFLUSH);
            }
            if libc::poll(&mut room, 1, 0) == 1 {
                libc::write(libc::STDOUT_FILENO, RESTORE.as_ptr().cast(), RESTORE.len());
            }
            if let Some(found) = FOUND.get() {
                libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, found);
            }
        }
    }
    // SAFETY: see above.
    unsafe { libc::raise(signal) };
}
