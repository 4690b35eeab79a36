//! A machine whose GPU is made up: the two fake libraries in a folder of their own, the real binary that finds them there
//! as it would find the driver's, and what came of it.

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;
use umtop::event::{Body, Metric, Reading, Sample};
use umtop::recording::Reader;

/// What lies in the place of NVML.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Library {
    /// The fake.
    Fake,
    /// The fake without a function.
    Without(&'static str),
    /// Nothing.
    Missing,
    /// A file that is no library.
    Broken,
    /// A library with nothing in it.
    Empty,
}

/// How long a call of the fake driver makes a step of a pass last, ms.
const STEP: u32 = 50;

/// The made-up machine.
pub struct Bed {
    dir: TempDir,
}

impl Bed {
    pub fn new(library: Library, script: &str) -> Self {
        let bed = Self { dir: tempfile::tempdir().unwrap() };
        let nvml = bed.path("libnvidia-ml.so.1");
        match library {
            Library::Fake => drop(std::fs::copy(whole("nvml.c"), &nvml).unwrap()),
            Library::Without(function) => compile("nvml.c", &[&format!("-D{function}=hidden")], &nvml),
            Library::Missing => {}
            Library::Broken => std::fs::write(&nvml, "no library").unwrap(),
            Library::Empty => compile("empty.c", &[], &nvml),
        }
        std::fs::copy(whole("cuda.c"), bed.path("libcuda.so.1")).unwrap();
        std::fs::write(bed.path("script"), format!("cuStreamSynchronize * delay {STEP}\n{script}\n")).unwrap();
        bed
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder that the loader is told of.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub fn doctor(&self) -> Seen {
        self.seen(Command::cargo_bin("umtop").unwrap().arg("doctor"))
    }

    /// The same for machines: it must be JSON whatever was found.
    pub fn doctor_json(&self) -> serde_json::Value {
        let seen = self.seen(Command::cargo_bin("umtop").unwrap().args(["doctor", "--json"]));
        serde_json::from_str(&seen.text).unwrap_or_else(|error| panic!("{error}: {}", seen.text))
    }

    /// What the recording of a bench exports of a metric: each value, or null.
    pub fn exported(&self, metric: Metric) -> Vec<serde_json::Value> {
        let rows = self.path("a.jsonl");
        if !rows.exists() {
            let seen = self
                .seen(Command::cargo_bin("umtop").unwrap().arg("export").arg(self.path("a.umr")).arg("-o").arg(&rows));
            assert_eq!(seen.code, Some(0), "{}", seen.text);
        }
        let text = std::fs::read_to_string(rows).unwrap();
        let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.filter(|row| row["metric"] == metric.info().name).map(|row| row["value"].clone()).collect()
    }

    /// Runs passes for at least so long, ms, and records them.
    pub fn bench(&self, ms: u32) -> Seen {
        let recording = self.path("a.umr");
        let runs = (ms / STEP).to_string();
        let mut seen = self.seen(
            Command::cargo_bin("umtop")
                .unwrap()
                .args(["bench", "sequential", "--device", "cuda", "--size", "64KiB", "--warmups", "0", "--runs", &runs])
                .arg("--record")
                .arg(&recording),
        );
        let mut reader = Reader::open(&recording).unwrap_or_else(|error| panic!("{error}: {}", seen.text));
        while let Some(event) = reader.next_event().unwrap() {
            match event.body {
                Body::Header(header) => {
                    let carrier = header.second_gpu.map_or("no second GPU".to_owned(), |gpu| gpu.carrier.to_string());
                    seen.text.push_str(&format!("between GPUs: {carrier}\n"));
                }
                Body::Sample(sample) if sample.source.starts_with("nvml") => seen.samples.push(sample),
                Body::Notice(notice) => seen.text.push_str(&format!("{}: {}\n", notice.source, notice.text)),
                _ => {}
            }
        }
        for sample in &seen.samples {
            for (_, reading) in &sample.readings {
                if let Reading::Absent(why) = reading {
                    seen.text.push_str(&format!("{why}\n"));
                }
            }
        }
        seen
    }

    /// Runs one of the ignored helpers of this test program where it finds the fakes.
    pub fn helper(&self, name: &str) -> Seen {
        let me = std::env::current_exe().unwrap();
        self.seen(Command::new(me).args(["--exact", name, "--ignored", "--nocapture"]))
    }

    fn seen(&self, command: &mut Command) -> Seen {
        let output = command.env("LD_LIBRARY_PATH", self.folder()).env("LC_ALL", "C.UTF-8").output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        Seen { text, code: output.status.code(), samples: Vec::new() }
    }
}

/// What came of a run.
pub struct Seen {
    /// Everything that was said: output, notices, reasons for what is absent.
    pub text: String,
    pub code: Option<i32>,
    pub samples: Vec<Sample>,
}

impl Seen {
    /// The readings of a metric, oldest first, with their source and window in seconds.
    pub fn readings(&self, wanted: Metric) -> Vec<(&str, f64, &Reading)> {
        let of = |sample: &'_ Sample| {
            let found = sample.readings.iter().position(|(metric, _)| *metric == wanted)?;
            Some((found, sample.window.map_or(0.0, |window| window.seconds())))
        };
        let found = self.samples.iter().filter_map(|sample| {
            let (place, window) = of(sample)?;
            Some((sample.source.as_str(), window, &sample.readings[place].1))
        });
        found.collect()
    }

    /// The values of a metric.
    pub fn values(&self, metric: Metric) -> Vec<f64> {
        self.readings(metric).into_iter().filter_map(|(_, _, reading)| reading.value()).collect()
    }
}

/// A fake as it is, compiled once.
fn whole(source: &'static str) -> PathBuf {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        for source in ["nvml.c", "cuda.c"] {
            compile(source, &[], &dir.path().join(source));
        }
        dir
    });
    built.path().join(source)
}

fn compile(source: &str, options: &[&str], to: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_nvml").join(source);
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-pthread"]).args(options).arg("-o").arg(to).arg(source).arg("-ldl");
    let output = cc.output().expect("a C compiler named cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
