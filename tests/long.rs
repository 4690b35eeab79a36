//! A day in minutes: memory stays bounded whatever comes, clocks may go back, and a gap stays a gap.
#![allow(clippy::unwrap_used, clippy::panic)]

use umtop::event::{Event, Metric};
use umtop::render;
use umtop::session::{MAX_LASTING, MAX_PASSES, MAX_RUNS, Session};
use umtop::ui::Screen;
use umtop::units::{Nanos, Stamp};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400;

fn event(at: u64, body: &str) -> Event {
    serde_json::from_str(&format!("{{\"at\":{at},\"body\":{body}}}")).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn tick(at: u64, n: u64) -> Event {
    let latency = n * 2_654_435_761 % 1_000_003;
    event(
        at,
        &format!(
            "{{\"uvm\":{{\"window\":10000000,\"level\":\"full\",\"counters\":{{\"bytes_htod\":4096,\"bytes_dtoh\":{n},\
             \"cpu_faults\":1,\"gpu_faults\":{n}}},\"events\":{{\"gpu_faults\":[[\"read\",{n}]],\"batches\":1,\
             \"batch_latency_ns\":[[{latency},1]],\"batch_faults\":[[{},1]],\"copy_bytes\":[[{latency},1]],\
             \"lost\":[[{},1]],\"cpu_sites\":[{{\"pid\":{},\"tid\":{n},\"pc\":{n},\"faults\":1}}]}}}}}}",
            n % 300,
            n % 14,
            1 + n % 7,
        ),
    )
}

fn sample(at: u64, value: f64) -> Event {
    let readings =
        "[[\"pcie_hto_d\",{\"value\":V}],[\"vram_used\",{\"value\":V}]]".replace('V', &format!("{value:.1}"));
    event(at, &format!("{{\"sample\":{{\"source\":\"t\",\"window\":100000000,\"readings\":{readings}}}}}"))
}

/// How much a session holds, by kind.
fn held(session: &Session) -> Vec<(&'static str, usize)> {
    let runs = &session.runs;
    vec![
        ("driver's windows", session.uvm.points.iter().count()),
        ("readings of a metric", session.metrics.values().map(|m| m.series.iter().count()).max().unwrap_or(0)),
        ("runs", runs.runs.len()),
        ("markers", runs.markers.len()),
        ("passes of a run", runs.runs.iter().map(|run| run.passes.len()).max().unwrap_or(0)),
        ("notices", session.notices.len()),
        ("ranges", session.ranges.len()),
        ("mapped ranges", session.mapped.len()),
        ("followed ranges", session.residency.maps.len()),
        ("latencies told apart", session.uvm.total.batch_latency_ns.pairs().count()),
        ("sizes told apart", session.uvm.total.copy_bytes.pairs().count()),
        ("sites", session.watch.sites.len()),
        ("names", session.watch.names.len()),
        ("threads", session.watch.threads.len()),
        ("lines of output", session.watch.output.len()),
    ]
}

/// The most that a session may hold of each, in the order of [`held`].
const MOST: [usize; 15] =
    [27_000, 27_000, MAX_RUNS, MAX_RUNS, MAX_PASSES, 200, 8, 8, 8, 6_144, 6_144, 4_096, 4_096, 4_096, 500];

/// Everything that one second of a busy session may tell.
fn second(s: u64, session: &mut Session, start: &str, pass: &str) {
    let at = s * SECOND;
    let mut tell = |body: String| session.apply(&event(at, &body));
    if s.is_multiple_of(30) {
        tell(format!("{{\"freed\":{{\"address\":{}}}}}", (s - s.min(30)) << 21));
        tell(format!(
            "{{\"allocated\":{{\"address\":{},\"bytes\":4194304,\"memory\":\"managed\",\"label\":\"b\"}}}}",
            s << 21
        ));
        tell(start.replace("RUN", &(s / 30).to_string()).replace("SIZE", &(4096 << (s / 30 % 4)).to_string()));
    }
    tell(format!("{{\"mapped\":{{\"address\":{},\"pages\":[1,2]}}}}", (s - s % 30) << 21));
    // A range that is not there any more, as a probe may tell.
    tell(format!("{{\"mapped\":{{\"address\":{},\"pages\":[1,2]}}}}", (s + 1) << 40));
    tell(format!("{{\"notice\":{{\"level\":\"info\",\"source\":\"t\",\"text\":\"{s}\"}}}}"));
    tell(format!("{{\"watched\":{{\"thread\":{{\"pid\":1,\"tid\":{s},\"name\":\"t\"}}}}}}"));
    tell(format!(
        "{{\"watched\":{{\"site\":{{\"pid\":1,\"pc\":{s},\"module\":\"m\",\"function\":null,\"place\":null}}}}}}"
    ));
    tell(format!("{{\"watched\":{{\"output\":{{\"lines\":[\"{s}\"],\"skipped\":1}}}}}}"));
    tell(pass.replace("RUN", &(s / 30).to_string()).replace("INDEX", &(s % 30).to_string()));
    for tenth in 0..4 {
        session.apply(&tick(at + tenth * SECOND / 4, s * 4 + tenth));
    }
    session.apply(&sample(at, s as f64));
}

/// A run and a pass as a real recording has them, to be filled in.
fn templates() -> (String, String) {
    let text = {
        use std::io::Read;
        let mut text = String::new();
        let file = std::fs::File::open("assets/recordings/ping-pong.umr").unwrap();
        zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let body = |holds: &str| -> serde_json::Value {
        let line = text.lines().find(|line| line.contains(holds)).unwrap();
        serde_json::from_str::<serde_json::Value>(line).unwrap()["body"].clone()
    };
    let (mut start, mut pass) = (body("{\"run\":{\"started\""), body("{\"run\":{\"pass_ended\""));
    start["run"]["started"]["run"] = "RUN".into();
    start["run"]["started"]["settings"]["size"] = "SIZE".into();
    pass["run"]["pass_ended"]["run"] = "RUN".into();
    pass["run"]["pass_ended"]["index"] = "INDEX".into();
    let bare = |value: serde_json::Value| {
        ["RUN", "SIZE", "INDEX"].iter().fold(value.to_string(), |text, word| text.replace(&format!("\"{word}\""), word))
    };
    (bare(start), bare(pass))
}

#[test]
fn a_day_stays_bounded_and_can_be_drawn() {
    let (start, pass) = templates();
    let mut session = Session::default();
    session
        .apply(&event(0, "{\"watched\":{\"subject\":{\"pid\":1,\"user\":\"u\",\"command\":\"p\",\"output\":null}}}"));
    for s in 0..DAY {
        second(s, &mut session, &start, &pass);
    }
    let held = held(&session);
    for ((what, held), most) in held.iter().zip(MOST) {
        assert!(*held <= most && *held > 0, "{what}: {held}, at most {most}");
    }
    assert_eq!(session.uvm.total.batches, DAY * 4, "sums forget nothing");
    assert_eq!(session.uvm.total.batch_latency_ns.count(), DAY * 4);
    let mut model = render::pictured();
    model.session = session;
    for screen in Screen::ALL {
        render::shot(&mut model, screen, (160, 48));
    }
}

#[test]
fn many_long_runs_keep_few_passes_of_the_old_ones_unless_a_report_wants_all() {
    let (start, pass) = templates();
    let kept = |mut session: Session| {
        for run in 0..40u64 {
            session.apply(&event(run, &start.replace("RUN", &run.to_string()).replace("SIZE", "4096")));
            for n in 0..1_000u64 {
                let pass = pass.replace("RUN", &run.to_string()).replace("INDEX", &n.to_string());
                session.apply(&event(run * 1_000 + n, &pass));
            }
        }
        session.runs.runs.iter().map(|run| (run.passes.len(), run.forgotten)).collect::<Vec<_>>()
    };
    assert!(kept(Session::default()).iter().all(|run| *run == (1_000, 0)));
    let lasting = kept(Session::lasting());
    assert!(lasting.iter().all(|(kept, forgotten)| *kept >= 32 && *kept as u64 + forgotten == 1_000), "{lasting:?}");
    assert!(lasting.iter().map(|(kept, _)| kept).sum::<usize>() <= MAX_LASTING, "{lasting:?}");
    assert_eq!((lasting[0].0, lasting[39].0), (32, 1_000), "the old ones give way");
}

#[test]
fn one_long_run_keeps_its_newest_passes_and_says_how_many_went() {
    let (start, pass) = templates();
    let mut session = Session::default();
    session.apply(&event(0, &start.replace("RUN", "1").replace("SIZE", "4096")));
    for n in 0..20_000u64 {
        session.apply(&event(n, &pass.replace("RUN", "1").replace("INDEX", &n.to_string())));
    }
    let run = session.runs.current().unwrap();
    assert_eq!((run.passes.len(), run.forgotten), (MAX_PASSES, 20_000 - MAX_PASSES as u64));
    assert_eq!(run.passes.back().unwrap().1.index, 19_999);
}

#[test]
fn a_clock_that_goes_back_breaks_nothing() {
    let mut session = Session::default();
    let moments = [0, 10, 5_000, 4_000, 3_999, 1, 0, 5_001, 86_400, 2, 90_000].map(|s| s * SECOND);
    for (n, at) in moments.into_iter().cycle().take(60_000).enumerate() {
        session.apply(&tick(at, n as u64));
        session.apply(&sample(at, n as f64));
    }
    assert_eq!(session.now, Stamp(90_000 * SECOND), "the session's own time never goes back");
    assert_eq!(session.uvm.total.batches, 60_000);
    let mut model = render::pictured();
    model.session = session;
    for screen in Screen::ALL {
        render::shot(&mut model, screen, (160, 48));
    }
}

#[test]
fn hours_of_sleep_are_a_gap_in_every_chart() {
    let mut session = Session::default();
    let wakes = 8 * 3_600 * SECOND;
    let moments = (0..600).map(|n| n * SECOND / 10).chain((0..600).map(|n| wakes + n * SECOND / 10));
    for at in moments {
        session.apply(&tick(at, 1));
        session.apply(&sample(at, 5.0));
    }
    let (from, to) = (Stamp(0), Stamp(wakes + 60 * SECOND));
    let reading = session.metric(Metric::PcieHtoD).unwrap().series.means(from, to, 96, |reading| reading.value);
    let windows = session.uvm.points.means(from, to, 96, |point| point.per_second(1));
    for columns in [reading, windows] {
        assert!(columns[0].is_some() && columns[95].is_some());
        assert!(columns[2..94].iter().all(Option::is_none), "nobody was there: {columns:?}");
    }
    assert!(session.uvm.points.iter().all(|point| point.window <= Nanos(SECOND)), "no window spans the sleep");
}
