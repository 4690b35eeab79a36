//! The thread that writes to the terminal. A terminal that does not read (a stalled connection, a stopped multiplexer) holds
//! up this thread and nothing else: while it is held up no frame is drawn, keys and signals are still obeyed.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use ratatui::crossterm::tty::IsTty;
use rustix::termios::{QueueSelector, tcflush};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

/// Pieces that may wait: a frame is two.
const WAITING_MOST: usize = 16;
/// How long the terminal may take for what must be written (entering, restoring). Then what it has not taken is thrown away,
/// and it gets the same time once more.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether frames are for the terminal now.
pub(super) static ACTIVE: AtomicBool = AtomicBool::new(false);
static QUEUE: OnceLock<Sender<Job>> = OnceLock::new();
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// `errno` of the first write that failed; 0 for none.
static FAILED: AtomicI32 = AtomicI32::new(0);

struct Job {
    bytes: Vec<u8>,
    /// `None` for a frame, which is left out once the terminal was given back.
    done: Option<Sender<()>>,
}

/// Starts the thread, once in a process.
pub(super) fn start() -> io::Result<()> {
    if QUEUE.get().is_some() {
        return Ok(());
    }
    // A descriptor of its own: nobody waits for the lock that `io::stdout` would hold during a write.
    let terminal = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (queue, jobs) = bounded(WAITING_MOST);
    std::thread::Builder::new().name("umtop-screen".to_owned()).spawn(move || write(terminal, &jobs))?;
    // Whoever was first here has the terminal.
    let _ = QUEUE.set(queue);
    Ok(())
}

fn write(mut terminal: File, jobs: &Receiver<Job>) {
    for Job { bytes, done } in jobs {
        let wanted = done.is_some() || ACTIVE.load(Ordering::SeqCst);
        if wanted && let Err(error) = terminal.write_all(&bytes) {
            FAILED.store(error.raw_os_error().unwrap_or(libc::EIO), Ordering::SeqCst);
        }
        WAITING.fetch_sub(1, Ordering::SeqCst);
        // Whoever waited may have gone.
        done.map(|done| done.try_send(()));
    }
}

/// Whether everything has been written, so that a frame would not wait.
pub(super) fn idle() -> bool {
    WAITING.load(Ordering::SeqCst) == 0
}

/// Hands over a piece of a frame; what cannot wait in the queue stays in `bytes`. The error is that of an earlier write.
pub(super) fn frame(bytes: &mut Vec<u8>) -> io::Result<()> {
    match FAILED.load(Ordering::SeqCst) {
        0 => {}
        errno => return Err(io::Error::from_raw_os_error(errno)),
    }
    if let Some(Job { bytes: back, .. }) = send(Job { bytes: std::mem::take(bytes), done: None }) {
        *bytes = back;
    }
    Ok(())
}

/// Writes what must be written, and waits for it in measure. `false` if the terminal did not take it.
pub(super) fn insist(bytes: &[u8]) -> bool {
    let (done, written) = bounded(1);
    let mut job = Some(Job { bytes: bytes.to_vec(), done: Some(done) });
    for _ in 0..2 {
        job = job.and_then(send);
        if written.recv_timeout(PATIENCE).is_ok() {
            return true;
        }
        // What a stalled terminal has not taken would keep this out. Where that cannot be, nothing is lost.
        let out = io::stdout();
        if out.is_tty() {
            let _ = tcflush(out.as_fd(), QueueSelector::OFlush);
        }
    }
    false
}

/// Gives the job back where there is no room for it, or nobody.
fn send(job: Job) -> Option<Job> {
    let Some(queue) = QUEUE.get() else { return Some(job) };
    WAITING.fetch_add(1, Ordering::SeqCst);
    match queue.try_send(job) {
        Ok(()) => None,
        Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
            WAITING.fetch_sub(1, Ordering::SeqCst);
            Some(job)
        }
    }
}
