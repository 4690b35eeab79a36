//! What `--help` shows below the options: command lines that work. A test parses each one.

/// Of `umtop` itself.
pub(super) const TOP: &str = "\
Examples:
  umtop                               your GPU, or the simulator if there is none
  umtop --workload ping-pong          CPU and GPU fight over one page
  umtop --device sim                  the simulator on purpose
  umtop demo prefetch-switched-on     a recording of an H200, no GPU needed
  umtop bench sequential --prefetch=both    on demand against prefetch, a table
  umtop watch -- python train.py      somebody else's program from its start

Exit codes: 0 done, 1 something failed, 2 bad usage, 3 the device that was
asked for cannot be used, 4 no terminal; 128+N ended by signal N.
doctor: 0 everything works, 1 limited, 2 unusable.
If umtop was killed with SIGKILL and the terminal is odd, type: reset";

/// Of `umtop replay`.
pub(super) const REPLAY: &str = "\
Examples:
  umtop replay lesson.umr                   play it; the arrows go back and on
  umtop replay lesson.umr --speed 0.25      in slow motion
  umtop replay lesson.umr --format table    its totals, without a terminal";

/// Of `umtop demo`.
pub(super) const DEMO: &str = "\
Examples:
  umtop demo                                the list, and what to look at
  umtop demo prefetch-switched-on           a sweep on demand, then with prefetch
  umtop demo ping-pong --speed 0.5          at half speed";

/// Of `umtop render`.
pub(super) const RENDER: &str = "\
Examples:
  umtop render run.umr -o end.png                        how it ended
  umtop render run.umr --at 12.5s -o moment.svg          one moment
  umtop render run.umr --screen faults --size 120x36 -o faults.txt
  umtop render run.umr --from 0s --to 20s -o run.gif     an animation
  umtop render run.umr --speed 4 -o run.cast             for asciinema";

/// Of `umtop export`.
pub(super) const EXPORT: &str = "\
Examples:
  umtop export run.umr -o run.csv           long form: time, metric, value, unit
  umtop export run.umr -o run.jsonl         the same rows, one JSON object a line
  umtop export run.umr -o run.json          a trace: open it in ui.perfetto.dev
  umtop export run.umr --format csv -o -    to standard output";

/// Of `umtop bench`.
pub(super) const BENCH: &str = "\
Examples:
  umtop bench sequential --prefetch=both                 on demand, prefetch
  umtop bench explicit-vs-managed          what the workload's file compares
  umtop bench sequential --memory managed,explicit --runs 20
  umtop bench ping-pong --device sim --format json       raw times, no GPU
  umtop bench sequential --trace off,counters,faults,full    what watching costs
  umtop bench --report results             all workloads, a report with pictures";

/// Of `umtop watch`.
pub(super) const WATCH: &str = "\
Examples:
  umtop watch                               who uses unified memory here
  umtop watch 4711                          a running program, live
  umtop watch -- python train.py            from its start; its exit code is ours
  umtop watch 4711 --for 10s --format json  totals, without a terminal
  umtop watch --trace full --record run.umr -- ./solver input";

/// Of `umtop doctor`.
pub(super) const DOCTOR: &str = "\
Examples:
  umtop doctor                              every check, with what to do
  umtop doctor --json                       the same for a script or an issue
  umtop doctor > doctor.txt                 a file to send; the exit code stays

Exit codes: 0 everything works, 1 limited, 2 no managed memory can run here.";

/// Of `umtop workloads`.
pub(super) const WORKLOADS: &str = "\
Examples:
  umtop workloads                           question, prediction and reason of each
  umtop workloads --json                    the same for a program
  umtop workloads check mine.toml           is this file right? if not, where";

/// Of `umtop workloads check`.
pub(super) const CHECK: &str = "\
Examples:
  umtop workloads check mine.toml
  umtop workloads check workloads/sequential.toml workloads/random.toml
  umtop bench mine.toml --device sim        then try it, without a GPU";

/// Of `umtop completions`.
pub(super) const COMPLETIONS: &str = "\
Examples:
  umtop completions bash > ~/.local/share/bash-completion/completions/umtop
  umtop completions zsh > ~/.zfunc/_umtop
  umtop completions fish > ~/.config/fish/completions/umtop.fish";

/// Of `umtop man`.
pub(super) const MAN: &str = "\
Examples:
  umtop man | man -l -                      read it
  umtop man watch | man -l -                the page of a command
  umtop man > ~/.local/share/man/man1/umtop.1    then: man umtop";
