//! NVML that is missing, wrong, late, or changes: the real binary over made-up libraries (`tests/fake_nvml`), which the
//! loader finds as it would find the driver's. The table of cases is also that of docs/robustness-nvml.md.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "fake_nvml/bed.rs"]
mod bed;
#[path = "fake_nvml/cases.rs"]
mod cases;
#[path = "support/terminal.rs"]
mod terminal;

use bed::{Bed, Library, Seen};
use cases::{ALL, Case, Run, answers, functions, libraries, pairs};
use std::time::Duration;
use terminal::Terminal;
use umtop::event::{Metric, Reading, Why};
use umtop::probe::counter::{Count, RateWindow};
use umtop::units::{Nanos, Stamp};

/// Runs a case; what is wrong with it, if anything.
fn check(case: &Case) -> Vec<String> {
    let bed = Bed::new(case.library, &case.script);
    let seen = match case.run {
        Run::Doctor => bed.doctor(),
        Run::Bench(ms) => bed.bench(ms),
        Run::Card => bed.helper("helper_card"),
    };
    let mut wrong = Vec::new();
    let mut require = |holds: bool, what: String| wrong.extend((!holds).then_some(what));
    for text in &case.says {
        require(seen.text.contains(text), format!("does not say '{text}'"));
    }
    for text in &case.never {
        require(!seen.text.contains(text), format!("says '{text}'"));
    }
    // Doctor may be limited by other things of this machine, but not more than limited.
    require(seen.code == Some(case.code), format!("exit code {:?}", seen.code));
    if case.run == Run::Doctor {
        let json = bed.doctor_json().to_string();
        require(json.contains(r#""nvml""#), format!("the JSON has no NVML: {json}"));
    }
    if matches!(case.run, Run::Bench(_)) {
        require(seen.text.contains(", 0 wrong"), "the passes' results were not checked".to_owned());
        for metric in ALL {
            let known = !seen.values(metric).is_empty();
            let lacks = case.lacks.contains(&metric);
            require(known != lacks, format!("{metric:?} known: {known}"));
            let exported = bed.exported(metric);
            require(
                lacks == exported.iter().all(|value| value.is_null()),
                format!("{metric:?} exported: {exported:?}"),
            );
        }
    }
    if wrong.is_empty() { vec![] } else { vec![format!("{}: {}\n{}", case.name, wrong.join("; "), seen.text)] }
}

fn check_all(cases: &[Case]) {
    // Most of a case is waiting.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let part = cases.len().div_ceil(4);
        let threads: Vec<_> =
            cases.chunks(part).map(|some| scope.spawn(|| some.iter().flat_map(check).collect())).collect();
        threads.into_iter().flat_map(|thread| -> Vec<String> { thread.join().unwrap() }).collect()
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_library_that_cannot_be_used_is_told_and_passes_run_all_the_same() {
    let mut cases = libraries();
    // Here there would be the driver's own.
    if std::path::Path::new("/proc/driver/nvidia").exists() {
        cases.retain(|case| case.library != Library::Missing);
    }
    check_all(&cases);
}

#[test]
fn a_function_that_is_missing_takes_only_its_own_figures_away() {
    check_all(&functions());
}

#[test]
fn answers_that_are_wrong_or_late_are_never_numbers() {
    check_all(&answers());
}

#[test]
fn what_carries_copies_between_two_gpus_is_named_or_the_reason_is() {
    let mut cases = pairs();
    if std::path::Path::new("/proc/driver/nvidia").exists() {
        cases.retain(|case| case.library != Library::Missing);
    }
    check_all(&cases);
}

#[test]
#[ignore = "run by other tests where it finds the fake library"]
fn helper_card() {
    match umtop::probe::nvml::card(None, Duration::from_secs(5)) {
        Ok(card) => println!("card: Ok {card:?}"),
        Err(error) => println!("card: {error}"),
    }
}

fn bench(ms: u32, script: &str) -> Seen {
    Bed::new(Library::Fake, script).bench(ms)
}

#[test]
fn figures_are_the_library_s_in_the_unit_of_the_catalogue() {
    let seen = bench(1_000, "nvmlDeviceGetMemoryInfo_v2 * value 3298534883328 2199023255553");
    let all_are = |metric, value: f64| {
        let values = seen.values(metric);
        assert!(!values.is_empty() && values.iter().all(|v| *v == value), "{metric:?}: {values:?}");
    };
    all_are(Metric::VramTotal, 3_298_534_883_328.0);
    all_are(Metric::VramUsed, 2_199_023_255_553.0);
    all_are(Metric::Power, 123.456);
    all_are(Metric::GpuBusy, 37.0);
    all_are(Metric::SmClock, 1_980.0);
    // GPM says MB/s; RX is host to device.
    all_are(Metric::PcieHtoD, 6_000e6);
    all_are(Metric::PcieDtoH, 2_000e6);
    assert_eq!(seen.readings(Metric::PcieHtoD)[0].0, "nvml gpm");
}

#[test]
fn nvlink_is_read_where_it_joins_two_gpus_and_shows_that_a_silent_link_is_silent() {
    let seen = bench(1_000, &format!("{}nvmlGpmMetricsGet * value 0 0", cases::TWO));
    for (metric, value) in
        [(Metric::NvLinkRx, 90_000e6), (Metric::NvLinkTx, 40_000e6), (Metric::PcieHtoD, 0.0), (Metric::PcieDtoH, 0.0)]
    {
        let values = seen.values(metric);
        assert!(!values.is_empty() && values.iter().all(|v| *v == value), "{metric:?}: {values:?}");
        // Without NVLink's traffic, zeros of pairs 100 ms apart would be no answer.
        assert!(seen.readings(metric).iter().all(|(_, window, _)| *window < 0.45), "{metric:?}");
    }
    let lost = bench(1_500, &format!("{}gpm_nvlink * value nan 5", cases::TWO));
    assert!(lost.values(Metric::NvLinkRx).is_empty() && !lost.values(Metric::PcieHtoD).is_empty(), "{}", lost.text);
}

#[test]
fn the_card_is_bound_by_its_uuid() {
    let seen = bench(600, "cuDeviceGetUuid * value 16\nnvmlDeviceGetHandleByUUID * value 2");
    assert!(seen.values(Metric::VramTotal).iter().all(|total| *total == f64::from(24u32) * (1u64 << 30) as f64));
    assert!(!seen.values(Metric::VramTotal).is_empty());
}

/// In each window a whole number of steps was counted, and no wrap was taken for traffic or for silence.
fn whole_steps(seen: &Seen, metric: Metric, step: f64) {
    let mut windows = 0;
    for (source, window, reading) in seen.readings(metric) {
        let Some(rate) = reading.value() else { continue };
        let steps = rate * window / step;
        assert_eq!(source, "nvml counters");
        assert!(window >= 0.1, "{window}");
        assert!((steps - steps.round()).abs() < 1e-6 && steps >= 1.0, "{steps} steps in {window} s");
        assert!(rate <= step / 0.01, "{rate}: the counters are read no more often than every 10 ms");
        windows += 1;
    }
    assert!(windows > 0, "{}", seen.text);
}

#[test]
fn counters_of_either_width_give_the_bytes_that_passed() {
    for width in ["u32", "u64"] {
        // 32 bits wrap every 43 readings or every 11.
        let script = format!(
            "nvmlGpmQueryDeviceSupport * value 0\nrx * as {width}\ntx * as {width}\nrx * step 100000000\ntx * step 400000000"
        );
        let seen = bench(2_000, &script);
        whole_steps(&seen, Metric::PcieHtoD, 1e8);
        whole_steps(&seen, Metric::PcieDtoH, 4e8);
    }
}

#[test]
fn the_window_call_says_how_long_it_looked() {
    let script = "nvmlGpmQueryDeviceSupport * value 0\nnvmlDeviceGetFieldValues * return 3\n\
                  nvmlDeviceGetPcieThroughput * delay 75";
    let seen = bench(1_000, script);
    for (source, window, reading) in seen.readings(Metric::PcieHtoD) {
        // NVML gives KB/s.
        assert_eq!((source, reading), ("nvml window", &Reading::Value(3e9)));
        assert!(window >= 0.15, "{window}");
    }
}

#[test]
fn a_gpu_that_is_lost_is_looked_for_and_found_again() {
    // Of the reads: some are good, two or three find it lost, a second apart, the others are good again.
    let lost = "nvmlDeviceGet* 6-7 return 15\nnvmlGpmSampleGet 7-9 return 15";
    // Or its handle cannot be had again at once: three are needed to begin.
    let gone =
        "nvmlDeviceGet* 6 return 15\nnvmlDeviceGetHandleByUUID 1-3 return 0\nnvmlDeviceGetHandleByUUID 4-5 return 15";
    for script in [lost, gone] {
        let seen = bench(6_000, script);
        let power: Vec<&Reading> = seen.readings(Metric::Power).into_iter().map(|(_, _, reading)| reading).collect();
        let is_lost = |reading: &Reading| matches!(reading, Reading::Absent(Why::Lost(_)));
        let first = power.iter().position(|reading| is_lost(reading)).expect("a lost reading");
        let last = power.iter().rposition(|reading| is_lost(reading)).unwrap();
        assert!(first > 0 && power[..first].iter().all(|r| r.value().is_some()), "{script}: {power:?}");
        assert!(last + 1 < power.len() && power[last + 1..].iter().all(|r| r.value().is_some()), "{script}: {power:?}");
        // It is looked for once a second, not ten times.
        assert!(last - first < 4, "{script}: {power:?}");
        assert!(seen.text.contains("lost"), "{}", seen.text);
        // The link goes on being read by the source that was there before.
        let link = seen.readings(Metric::PcieHtoD);
        assert!(link.iter().all(|(source, ..)| *source == "nvml gpm"), "{script}: {link:?}");
        assert!(link.last().is_some_and(|(.., reading)| reading.value().is_some()), "{script}: {link:?}");
    }
}

/// The dashboard over the fakes.
fn dashboard(bed: &Bed) -> Terminal {
    let umtop = assert_cmd::cargo::cargo_bin("umtop");
    let folder = bed.folder().display();
    Terminal::run(&format!("LD_LIBRARY_PATH={folder} {} --device cuda --size 1MiB", umtop.display()), 140, 40)
}

#[test]
fn a_call_that_never_returns_leaves_the_keys_alive_and_is_timed_on_the_screen() {
    for (script, elsewhere) in [
        ("nvmlDeviceGetPowerUsage 3- hang", "nvml gpm"),
        ("nvmlGpmMetricsGet 6- hang", "used 600 MiB"),
        ("nvmlDeviceGetPowerUsage 3- hang\nnvmlGpmMetricsGet 6- hang", "Sequential sweep"),
    ] {
        let bed = Bed::new(Library::Fake, script);
        let mut terminal = dashboard(&bed);
        for text in ["NVML has not answered for 5 s", "NVML has not answered for 7 s", elsewhere] {
            terminal.expect(text);
        }
        terminal.press("?");
        terminal.expect("collecting goes on");
        terminal.press("?");
        terminal.until("the help's end", || !terminal.text().contains("collecting goes on"));
        terminal.press("q");
        assert_eq!(terminal.restored(), 0, "{script}");
    }
}

#[test]
fn a_call_that_returns_late_ends_the_stall() {
    let bed = Bed::new(Library::Fake, "nvmlDeviceGetPowerUsage 3 delay 7000");
    let mut terminal = dashboard(&bed);
    terminal.expect("NVML has not answered for 5 s");
    terminal.expect("NVML answers again");
    terminal.until("the end of the gap", || !terminal.text().contains("has not answered"));
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_library_of_the_wrong_version_is_told_on_the_screen() {
    let bed = Bed::new(Library::Fake, "nvmlInit_v2 * return 18");
    let mut terminal = dashboard(&bed);
    terminal.expect("different versions");
    terminal.press("q");
    assert_eq!(terminal.restored(), 0);
}

#[test]
fn a_clock_that_goes_backwards_gives_no_rate_of_its_own() {
    let mut window = RateWindow::new(Nanos::millis(100), Nanos::millis(30));
    let ms = |n: u64| Stamp(n * 1_000_000);
    let mut total = 0;
    for at in [1_000, 1_010, 400, 410, 405, 420] {
        total += 1_000_000;
        assert_eq!(window.add(ms(at), [Count::Wide(total); 2]).and_then(Result::ok), None, "at {at} ms");
    }
}

/// The rows of docs/robustness-nvml.md.
fn rows() -> String {
    let mut text = String::from("| NVML | run as | umtop says | exit | kept |\n|---|---|---|---|---|\n");
    for case in libraries().into_iter().chain(functions()).chain(answers()).chain(pairs()) {
        let run = match case.run {
            Run::Doctor => "doctor",
            Run::Bench(_) => "bench",
            Run::Card => "watch",
        };
        let says: Vec<&str> = case.says.iter().copied().filter(|text| !text.is_empty()).collect();
        let says = if says.is_empty() { "nothing: all is there".to_owned() } else { says.join(" … ") };
        let kept = match (case.run, case.lacks.len()) {
            (Run::Doctor, _) => "every other finding".to_owned(),
            (Run::Card, _) => "—".to_owned(),
            (_, 0) => "all figures".to_owned(),
            (_, n) if n == ALL.len() => "passes and their times".to_owned(),
            _ => {
                let names: Vec<&str> = case.lacks.iter().map(|metric| metric.info().name).collect();
                format!("all but {}", names.join(", "))
            }
        };
        let escaped = says.replace('|', "\\|").replace('*', "\\*").replace('\u{1b}', "ESC");
        text.push_str(&format!("| {} | {run} | {escaped} | {} | {kept} |\n", case.name, case.code));
    }
    text
}

#[test]
fn the_document_has_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/robustness-nvml.md");
    let (begin, end) = ("<!-- table: UMTOP_BLESS=1 cargo test --test nvml -->\n", "<!-- end of table -->");
    let written = std::fs::read_to_string(path).unwrap();
    let (before, rest) = written.split_once(begin).expect("the table's beginning");
    let (table, after) = rest.split_once(end).expect("the table's end");
    let rows = rows();
    if std::env::var_os("UMTOP_BLESS").is_some() {
        std::fs::write(path, format!("{before}{begin}{rows}{end}{after}")).unwrap();
    } else {
        assert!(table == rows, "docs/robustness-nvml.md is out of date: UMTOP_BLESS=1 cargo test --test nvml");
    }
}
