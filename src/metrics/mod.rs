//! The session as OpenMetrics text over HTTP, or as the older Prometheus text, for Prometheus and Grafana.
//!
//! The thread that folds the session publishes a [`Snapshot`] now and then; the server's thread answers from the newest one.
//! Neither waits for the other.

mod classic;
mod serve;
mod snapshot;
mod text;

pub use classic::classic;
pub use serve::{ServeError, serve};
pub use snapshot::Snapshot;
pub use text::text;

use crate::session::Session;
use crate::units::{Nanos, Stamp};
use std::sync::{Arc, Mutex, PoisonError};

/// A snapshot is made at most this often, in the session's time: more often than anybody scrapes.
const PERIOD: Nanos = Nanos::millis(500);

/// The newest snapshot, shared between the session's thread and the server's.
#[derive(Clone, Debug, Default)]
pub struct Board {
    newest: Arc<Mutex<Arc<Snapshot>>>,
}

impl Board {
    /// What a scrape is answered from.
    pub fn read(&self) -> Arc<Snapshot> {
        Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, snapshot: Snapshot) {
        // The lock is held for the exchange of a pointer only.
        let snapshot = Arc::new(snapshot);
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// A function that looks at the session and publishes it when it is time.
    pub fn publisher(&self) -> impl FnMut(&Session) + use<> {
        let board = self.clone();
        let mut published: Option<Stamp> = None;
        move |session| {
            // A replay may go back.
            let due = published.is_none_or(|at| session.now < at || session.now.since(at) >= PERIOD);
            if due && session.header.is_some() {
                published = Some(session.now);
                board.write(Snapshot::of(session));
            }
        }
    }
}

#[cfg(test)]
mod tests;
