//! A server of one page. Requests are answered one after the other: a scrape is a few kilobytes every few seconds.

use super::{Board, classic, text};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long a client may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest request that is read.
const MAX_REQUEST: usize = 8 << 10;
/// The media type of OpenMetrics text, version 1.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The same without parameters, as a scraper's `Accept` names it.
const OPEN_METRICS_RANGE: &str = "application/openmetrics-text";
/// The media type of the Prometheus text format, which every scraper reads.
const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken, or not ours.
    #[error("cannot serve metrics on {address}: {error}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
}

/// Starts to serve on a thread of its own, which ends with the process. Gives the address, with the port that was chosen
/// where 0 was asked for.
pub fn serve(address: SocketAddr, board: Board) -> Result<SocketAddr, ServeError> {
    let failed = |error| ServeError::Bind { address, error };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let answer_all = move || {
        for stream in listener.incoming().flatten() {
            // A client that went away is its own affair.
            let _ = answer(stream, &board);
        }
    };
    std::thread::Builder::new().name("umtop-metrics".to_owned()).spawn(answer_all).map_err(failed)?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, board: &Board) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut stream)?;
    let mut words = request.split_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => match text(&board.read()) {
            Ok(text) if reads_open_metrics(&request) => ("200 OK", OPEN_METRICS, text),
            Ok(text) => ("200 OK", CLASSIC, classic(&text)),
            Err(_) => ("500 Internal Server Error", "text/plain", "the metrics could not be encoded\n".to_owned()),
        },
        (Some("GET"), Some(_)) => ("404 Not Found", "text/plain", "umtop: the metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "umtop: only GET\n".to_owned()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

/// Whether the request's `Accept` names OpenMetrics; a weight of 0 is a refusal (RFC 9110).
fn reads_open_metrics(request: &str) -> bool {
    let fields = request.lines().filter_map(|line| line.split_once(':'));
    let accepted = fields.filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
    accepted.flat_map(|(_, value)| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|media| media.eq_ignore_ascii_case(OPEN_METRICS_RANGE));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        named && weight != Some(0.0)
    })
}

/// The request up to the empty line after its headers, or as much as comes.
fn request(stream: &mut TcpStream) -> io::Result<String> {
    let mut read = Vec::new();
    let mut part = [0; 1024];
    while read.len() < MAX_REQUEST && !read.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => break,
            n => read.extend_from_slice(&part[..n]),
        }
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}
