//! Requests to the metrics server, over a socket as they come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use umtop::metrics::{Board, serve};

fn address() -> SocketAddr {
    static SERVED: OnceLock<SocketAddr> = OnceLock::new();
    *SERVED.get_or_init(|| serve(SocketAddr::from(([127, 0, 0, 1], 0)), Board::default()).expect("a free port"))
}

fuzz_target!(|request: &[u8]| {
    let mut stream = TcpStream::connect(address()).expect("the server listens");
    // It may answer and close before it has read everything.
    let _ = stream.write_all(request).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    if stream.read_to_end(&mut answer).is_ok() {
        assert!(answer.starts_with(b"HTTP/1.1 "), "{:?}", String::from_utf8_lossy(&answer));
    }
});
