//! `--metrics`: the session over HTTP.

use super::Failure;
use crate::metrics::{Board, serve};
use crate::session::Session;
use crate::ui::Watcher;
use std::net::SocketAddr;

/// Metrics that are being served.
pub(super) struct Published {
    board: Board,
}

impl Published {
    /// Starts to serve, if an address was given.
    pub fn start(address: Option<SocketAddr>) -> Result<Option<Self>, Failure> {
        let Some(address) = address else { return Ok(None) };
        let board = Board::default();
        serve(address, board.clone()).map_err(Failure::failed)?;
        Ok(Some(Self { board }))
    }

    /// What looks at the session and publishes it.
    pub fn watcher(self) -> Watcher {
        let mut publish = self.board.publisher();
        Box::new(move |session: &Session| publish(session))
    }
}
