//! OpenMetrics text as the older Prometheus text format (version 0.0.4), for scrapers that do not ask for OpenMetrics.

/// The same samples. In this format a family has the name of its samples, and there is no kind `info`.
pub fn classic(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            // The name that it is told under depends on the kind, which follows.
            help = rest.split_once(' ').map(|(_, text)| text);
        } else if let Some((family, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let (name, kind) = match kind {
                "counter" => (format!("{family}_total"), kind),
                "info" => (format!("{family}_info"), "gauge"),
                _ => (family.to_owned(), kind),
            };
            if let Some(help) = help.take() {
                out.push_str(&format!("# HELP {name} {help}\n"));
            }
            out.push_str(&format!("# TYPE {name} {kind}\n"));
        } else if !line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
