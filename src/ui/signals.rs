//! Signals as messages. A thread waits for them, so that nothing runs inside a handler.

use super::guard;
use crossbeam_channel::{Receiver, unbounded};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use std::io;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// End; the number is the signal's.
    End(i32),
    /// Stop as the shell's Ctrl-Z does.
    Suspend,
    /// The process goes on after it was stopped.
    Continued,
}

/// Starts the thread that waits for signals. A second signal to end, while the first is being obeyed, restores the terminal
/// and ends the process at once with status 128 + signal.
pub fn watch() -> io::Result<Receiver<Signal>> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGCONT])?;
    let (sender, receiver) = unbounded();
    let wait = move || {
        let mut ending = false;
        for number in signals.forever() {
            let signal = match number {
                SIGTSTP => Signal::Suspend,
                SIGCONT => Signal::Continued,
                _ if ending => {
                    guard::give_back();
                    signal_hook::low_level::exit(128 + number);
                }
                _ => Signal::End(number),
            };
            ending |= matches!(signal, Signal::End(_));
            if sender.send(signal).is_err() && !ending {
                return;
            }
        }
    };
    std::thread::Builder::new().name("umtop-signals".to_owned()).spawn(wait)?;
    Ok(receiver)
}
