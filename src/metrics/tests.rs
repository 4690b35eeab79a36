mod page;

use super::*;
use crate::event::{Body, Counters, Event, Metric, Reading, Sample, TraceLevel, UvmTick, Why};
use crate::units::Bytes;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

fn at(ms: u64, body: Body) -> Event {
    Event { at: Stamp(ms * 1_000_000), body }
}

fn header() -> Event {
    let header = crate::event::Header {
        umtop: "0.1.0".into(),
        started: "2026-11-30T08:00:00Z".into(),
        origin: crate::event::Origin::Measured,
        gpu: None,
        second_gpu: None,
        host: crate::event::HostInfo { kernel: String::new(), cpu: String::new(), cores: 1, memory: Bytes(1) },
        caps: crate::workload::plan_tests::caps(),
        uvm_params: Default::default(),
        probes: Vec::new(),
    };
    at(0, Body::Header(Box::new(header)))
}

fn session() -> Session {
    let mut session = Session::default();
    let readings = vec![
        (Metric::PcieHtoD, Reading::Value(6.5e9)),
        (Metric::Power, Reading::Absent(Why::Denied(String::new()))),
        (Metric::OwnCpu, Reading::Value(3.0)),
    ];
    let counters = Counters { bytes_htod: 4096, bytes_dtoh: 8192, cpu_faults: 2, gpu_faults: 1 };
    let tick =
        UvmTick { window: Nanos::millis(10), level: TraceLevel::Counters, counters: Some(counters), events: None };
    for event in [
        header(),
        at(10, Body::Sample(Sample { source: "nvml gpm".into(), window: None, readings })),
        at(20, Body::Uvm(Box::new(tick))),
    ] {
        session.apply(&event);
    }
    session
}

#[test]
fn names_come_from_the_catalogue_and_what_is_absent_is_left_out() {
    let text = text(&Snapshot::of(&session())).unwrap();
    for line in [
        "umtop_pcie_htod_bytes_per_second{source=\"nvml gpm\"} 6500000000.0",
        "umtop_cpu_percent{source=\"nvml gpm\"} 3.0",
        "umtop_uvm_htod_bytes_total 4096",
        "umtop_uvm_gpu_faults_total 1",
        "# TYPE umtop_uvm_dtoh_bytes counter",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
    assert!(text.contains("origin=\"measured\"") && text.ends_with("# EOF\n"));
    assert!(!text.contains("power_watts") && !text.contains("faults_raw"), "unknown is not 0:\n{text}");
}

fn ask(address: std::net::SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_scrape_gets_the_newest_snapshot() {
    let board = Board::default();
    let address = serve("127.0.0.1:0".parse().unwrap(), board.clone()).unwrap();
    board.publisher()(&session());
    let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("umtop_uvm_htod_bytes_total 4096"),
        "{answer}"
    );
    assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    let taken = serve(address, board).unwrap_err().to_string();
    assert!(taken.contains(&address.to_string()), "{taken}");
}

#[test]
fn a_scraper_gets_the_format_that_it_asks_for() {
    let board = Board::default();
    let address = serve("127.0.0.1:0".parse().unwrap(), board.clone()).unwrap();
    board.publisher()(&session());
    let accepting = |accept: &str| ask(address, &format!("GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n"));
    // What Prometheus 2.42 sends.
    let prometheus = "accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
                      q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    let answer = accepting(prometheus);
    assert!(answer.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{answer}");
    assert!(answer.ends_with("# EOF\n") && answer.contains("# TYPE umtop_uvm_htod_bytes counter\n"));
    for older in ["Host: x", "Accept: */*", "Accept: text/plain", "Accept: application/openmetrics-text; q=0, */*"] {
        let answer = accepting(older);
        assert!(answer.contains("Content-Type: text/plain; version=0.0.4"), "{older}: {answer}");
        assert!(!answer.contains("# EOF") && answer.contains("# TYPE umtop_uvm_htod_bytes_total counter\n"));
    }
}

#[test]
fn a_snapshot_is_made_when_it_is_time_and_when_a_replay_goes_back() {
    let board = Board::default();
    let mut publish = board.publisher();
    let mut session = session();
    publish(&session);
    let first = board.read();
    session.now = session.now.plus(Nanos::millis(100));
    publish(&session);
    assert!(Arc::ptr_eq(&first, &board.read()));
    session.now = session.now.plus(PERIOD);
    publish(&session);
    assert_eq!(board.read().now_ns, session.now.0);
    session.now = Stamp(5);
    publish(&session);
    assert_eq!(board.read().now_ns, 5);
}
