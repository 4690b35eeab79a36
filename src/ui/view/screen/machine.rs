//! Which unified memory this is, what the machine can do and why not, how its driver is set, and what watches it.

use crate::event::{Can, Caps, Header, Metric, Origin, ProbeInfo, parameter_meaning};
use crate::ui::load::Load;
use crate::ui::setup::Mode;
use crate::ui::theme::Role;
use crate::ui::view::context::{Context, wrapped};
use crate::units::{Bytes, count, gb_per_s};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// From this width on there are two columns.
const TWO_FROM: u16 = 110;
/// Columns of the names of capabilities.
const LABEL: usize = 18;

/// Draws the screen.
pub fn draw(cx: &Context, area: Rect, buf: &mut Buffer) {
    let Some(header) = &cx.session.header else {
        let inner = cx.boxed(area, "Machine", &[], buf);
        cx.words(inner, Role::Dim, "starting", buf);
        return;
    };
    if area.width >= TWO_FROM {
        let half = area.width / 2;
        let left = Rect { width: half, ..area };
        let right = Rect { x: left.right(), width: area.width - half, ..area };
        let inner = cx.boxed(left, "Machine", &[], buf);
        put(inner, &machine(cx, header, inner.width), cx.model.ui.scroll, buf);
        let inner = cx.boxed(right, "Driver and probes", &[], buf);
        put(inner, &watching(cx, header, inner.width), cx.model.ui.scroll, buf);
    } else {
        let inner = cx.boxed(area, "Machine", &[], buf);
        put(inner, &everything(cx, header, inner.width), cx.model.ui.scroll, buf);
    }
}

/// Lines that do not fit.
pub fn scrollable(cx: &Context, area: Rect) -> u16 {
    let Some(header) = &cx.session.header else { return 0 };
    let lines = if area.width >= TWO_FROM {
        let width = (area.width / 2).saturating_sub(4);
        machine(cx, header, width).len().max(watching(cx, header, width).len())
    } else {
        everything(cx, header, area.width.saturating_sub(4)).len()
    };
    (lines as u16).saturating_sub(area.height.saturating_sub(2))
}

fn put(area: Rect, lines: &[Line], scroll: u16, buf: &mut Buffer) {
    let first = scroll.min((lines.len() as u16).saturating_sub(area.height));
    for (y, line) in (area.top()..area.bottom()).zip(lines.iter().skip(usize::from(first))) {
        buf.set_line(area.x, y, line, area.width);
    }
}

fn everything(cx: &Context, header: &Header, width: u16) -> Vec<Line<'static>> {
    let mut lines = machine(cx, header, width);
    lines.push(Line::default());
    lines.extend(watching(cx, header, width));
    lines
}

/// A name and what it is, on as many lines as it needs.
fn entry(cx: &Context, label: &str, role: Role, text: &str, width: u16) -> Vec<Line<'static>> {
    let rows = wrapped(text, usize::from(width).saturating_sub(LABEL));
    let line = |(i, row): (usize, String)| {
        let label = if i == 0 { label } else { "" };
        Line::from(vec![cx.span(Role::Dim, format!("{label:<LABEL$}")), cx.span(role, row)])
    };
    rows.into_iter().enumerate().map(line).collect()
}

/// Which unified memory this is, in NVIDIA's own division, with what that means.
fn paradigm(caps: &Caps) -> (&'static str, &'static str) {
    match (caps.managed.yes(), caps.concurrent.yes(), caps.pageable.yes(), caps.host_page_tables.yes()) {
        (false, ..) => ("no unified memory", "cuMemAllocManaged does not work here"),
        (_, false, ..) => {
            ("no concurrent access", "managed memory moves as a whole at kernel launches; the CPU waits meanwhile")
        }
        (_, _, true, true) => {
            ("coherent", "hardware keeps both sides coherent: all memory is shared, pages need not move")
        }
        (_, _, true, false) => ("full, by software (HMM)", "malloc memory too: any page can fault and migrate"),
        (_, _, false, _) => {
            ("managed memory only", "pages of cuMemAllocManaged fault and migrate; malloc memory does not")
        }
    }
}

fn machine(cx: &Context, header: &Header, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let (kind, means) = paradigm(&header.caps);
    lines.extend(entry(cx, "unified memory", Role::Value, kind, width));
    lines.extend(entry(cx, "", Role::Dim, means, width));
    if let Origin::Simulated { profile, reason } = &header.origin {
        lines.extend(entry(cx, "SIMULATED", Role::Warning, &format!("{profile}: {reason}"), width));
    }
    if let Some(gpu) = &header.gpu {
        let memory = if gpu.vram.0 > 0 { gpu.vram.to_string() } else { "memory n/a".to_owned() };
        let card = format!("{}, {memory}, compute {}", gpu.name, gpu.compute);
        lines.extend(entry(cx, "GPU", Role::Text, &card, width));
        lines.extend(entry(cx, "driver", Role::Text, &format!("{}, CUDA {}", gpu.driver, gpu.cuda), width));
        lines.extend(entry(cx, "PCI address", Role::Text, &gpu.pci, width));
    }
    lines.extend(second(cx, header, width));
    let host = &header.host;
    lines.extend(entry(cx, "host", Role::Text, &format!("{}, {} cores, {}", host.cpu, host.cores, host.memory), width));
    lines.extend(entry(cx, "kernel", Role::Text, &host.kernel, width));
    lines.extend(link(cx, header, width));
    lines.push(Line::default());
    lines.push(Line::from(cx.span(Role::Title, "can it")));
    for (name, can) in capabilities(&header.caps) {
        let (role, text) = match can {
            Can::Yes => (Role::Good, "yes".to_owned()),
            Can::No(why) => (Role::Warning, format!("no: {why}")),
        };
        lines.extend(entry(cx, name, role, &text, width));
    }
    lines
}

/// The second GPU, and what joins the two.
fn second(cx: &Context, header: &Header, width: u16) -> Vec<Line<'static>> {
    match &header.second_gpu {
        Some(second) => {
            let card = format!("{}, {}", second.name, second.pci);
            let mut lines = entry(cx, "second GPU", Role::Text, &card, width);
            lines.extend(entry(cx, "between them", Role::Text, &second.carrier.to_string(), width));
            lines
        }
        None if header.caps.gpus > 1 => entry(cx, "second GPU", Role::Dim, "not recorded", width),
        None => Vec::new(),
    }
}

fn capabilities(caps: &Caps) -> [(&'static str, &Can); 8] {
    [
        ("managed memory", &caps.managed),
        ("concurrent access", &caps.concurrent),
        ("prefetch", &caps.prefetch),
        ("advice", &caps.advise),
        ("malloc on the GPU", &caps.pageable),
        ("host page tables", &caps.host_page_tables),
        ("zero-copy", &caps.zero_copy),
        ("trace the driver", &caps.trace),
    ]
}

fn link(cx: &Context, header: &Header, width: u16) -> Vec<Line<'static>> {
    let read = |metric| cx.session.metric(metric).and_then(|known| known.value());
    let now = read(Metric::PcieGeneration).zip(read(Metric::PcieWidth));
    let now = now.map_or_else(|| "n/a".to_owned(), |(generation, lanes)| format!("{generation:.0}.0 x{lanes:.0}"));
    let best = header.gpu.as_ref().and_then(|gpu| gpu.link_max);
    let best = best.map_or_else(|| "n/a".to_owned(), |(generation, lanes)| format!("{generation}.0 x{lanes}"));
    let mut lines = entry(cx, "PCIe", Role::Text, &format!("{now} now, {best} at best"), width);
    let measured = |metric| read(metric).map(|rate| format!("{} GB/s", gb_per_s(rate)));
    let ceiling = match (measured(Metric::LinkHtoD), measured(Metric::LinkDtoH)) {
        (Some(down), Some(up)) => (Role::Value, format!("HtoD {down}, DtoH {up}, measured by explicit copies")),
        _ => {
            let computed = crate::session::link_ceiling(cx.session).map(|link| gb_per_s(link.bytes_per_second));
            let computed =
                computed.map_or_else(|| "n/a".to_owned(), |rate| format!("{rate} GB/s by generation and lanes"));
            let measure = if cx.model.setup.mode == Mode::Live { "; press k to measure" } else { "; not measured" };
            (Role::Dim, format!("{computed}{measure}"))
        }
    };
    lines.extend(entry(cx, "link ceiling", ceiling.0, &ceiling.1, width));
    lines
}

fn watching(cx: &Context, header: &Header, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(cx.span(Role::Title, "probes"))];
    for probe in &header.probes {
        lines.extend(one_probe(cx, probe, width));
    }
    if header.probes.is_empty() {
        lines.push(Line::from(cx.span(Role::Dim, "none")));
    }
    lines.extend(own_cost(cx, width));
    lines.push(Line::default());
    lines.push(Line::from(cx.span(Role::Title, "the driver's live parameters")));
    if header.uvm_params.is_empty() {
        let text = "n/a: /sys/module/nvidia_uvm/parameters cannot be read here";
        lines.push(Line::from(cx.span(Role::Dim, text)));
    }
    // Those that decide what a user sees come first.
    let (known, other): (Vec<_>, Vec<_>) =
        header.uvm_params.iter().partition(|(name, _)| parameter_meaning(name).is_some());
    for (name, value) in known {
        let short = name.strip_prefix("uvm_").unwrap_or(name).trim_start_matches("perf_").to_owned();
        let mut spans = vec![cx.span(Role::Text, format!("{short} = ")), cx.span(Role::Value, value.clone())];
        let meaning = parameter_meaning(name).unwrap_or_default();
        let room = usize::from(width).saturating_sub(spans.iter().map(Span::width).sum::<usize>() + 2);
        if meaning.chars().count() <= room {
            spans.push(cx.span(Role::Dim, format!("  {meaning}")));
            lines.push(Line::from(spans));
        } else {
            lines.push(Line::from(spans));
            let rows = wrapped(meaning, usize::from(width).saturating_sub(4));
            lines.extend(rows.into_iter().map(|row| Line::from(cx.span(Role::Dim, format!("    {row}")))));
        }
    }
    if !other.is_empty() {
        let rest: Vec<String> =
            other.iter().map(|(name, value)| format!("{}={value}", name.trim_start_matches("uvm_"))).collect();
        let rows = wrapped(&rest.join(" "), usize::from(width));
        lines.extend(rows.into_iter().map(|row| Line::from(cx.span(Role::Dim, row))));
    }
    lines
}

fn one_probe(cx: &Context, probe: &ProbeInfo, width: u16) -> Vec<Line<'static>> {
    let mut text = probe.method.clone();
    if probe.period.0 > 0 {
        text.push_str(&format!(", every {}", probe.period));
    }
    let mut lines = entry(cx, &probe.name, Role::Text, &text, width);
    let cost = if probe.cost.is_empty() { "cost n/a".to_owned() } else { format!("costs {}", probe.cost) };
    let mut rest = vec![cost];
    rest.extend(loss(cx, probe));
    if !probe.note.is_empty() {
        rest.push(probe.note.clone());
    }
    lines.extend(entry(cx, "", Role::Dim, &rest.join("; "), width));
    lines
}

/// What the probe has lost, where it can lose anything.
fn loss(cx: &Context, probe: &ProbeInfo) -> Option<String> {
    probe.name.contains("uvm").then(|| {
        let total = &cx.session.uvm.total;
        format!("lost {} events, {} made no sense", total.lost_total(), total.malformed)
    })
}

fn own_cost(cx: &Context, width: u16) -> Vec<Line<'static>> {
    let known = |metric| cx.session.metric(metric);
    let read = |metric| known(metric).and_then(|known| known.value());
    let percent = |metric| read(metric).map_or_else(|| "n/a".to_owned(), |percent| format!("{percent:.1} %"));
    let memory = read(Metric::OwnMemory).map_or_else(|| "n/a".to_owned(), |bytes| Bytes(bytes as u64).to_string());
    let whole = format!("CPU {} of a core, memory {memory}, its workload included", percent(Metric::OwnCpu));
    let mut lines = entry(cx, "umtop itself", Role::Text, &whole, width);
    // Recordings of before do not have these.
    if let Some(screen) = known(Metric::ScreenCpu) {
        let parts = match (&screen.absent, known(Metric::DriverCpu).and_then(|driver| driver.absent.as_ref())) {
            (Some(why), _) => format!("without it: n/a, {why}"),
            (None, driver) => format!(
                "without it: screen {}, the driver's events {}{}, other probes {}",
                percent(Metric::ScreenCpu),
                percent(Metric::DriverCpu),
                driver.map_or_else(String::new, |why| format!(" ({why})")),
                percent(Metric::ProbesCpu)
            ),
        };
        lines.extend(entry(cx, "", Role::Dim, &parts, width));
    }
    if let Some(Load { events, frames, longest }) = cx.model.ui.load {
        let text = format!("{} events/s, {frames:.0} frames/s, {longest} a frame at most", count(events));
        lines.extend(entry(cx, "this screen", Role::Text, &text, width));
    }
    lines
}
