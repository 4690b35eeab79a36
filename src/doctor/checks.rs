//! From raw findings to lines. Everything here is pure.

use super::machine::{Machine, Node, Terminal};
use super::{Finding, Status};
use crate::device::{GpuSurvey, Survey};
use crate::probe::nvml::{NvmlError, NvmlSurvey, PcieSource};
use crate::units::Bytes;
use Status::{Bad, Limited, Ok as Good, Unknown};
use std::collections::BTreeMap;

/// Below this much free host memory not even small workloads are comfortable: 256 MiB in two copies, and the system.
const LITTLE_MEMORY: Bytes = Bytes::mib(1024);

/// All findings, in the order in which a person would look for the fault.
pub fn judge(survey: &Survey, machine: &Machine) -> Vec<Finding> {
    let mut findings = driver(survey);
    let any_managed = survey.gpus.iter().any(|gpu| gpu.managed);
    for gpu in &survey.gpus {
        findings.extend(unified_memory(gpu, any_managed));
    }
    findings.push(uvm_node(&machine.uvm_node));
    findings.push(match &machine.tools_node {
        Ok(()) => finding("uvm tools", Good, "/dev/nvidia-uvm-tools opens: faults and migrations can be traced"),
        Err(error) => from_error("uvm tools", &error.to_string()),
    });
    findings.push(uvm_module(machine.uvm_version.as_deref(), &machine.uvm_params));
    findings.extend(nvml(&machine.nvml));
    findings.push(memory(machine));
    findings.push(colour(&machine.terminal));
    findings.push(characters(&machine.terminal));
    findings
}

fn driver(survey: &Survey) -> Vec<Finding> {
    let library = match &survey.library {
        Ok(()) => match &survey.cuda_version {
            Some(version) => finding("libcuda", Good, format!("the driver's CUDA version is {version}")),
            None => finding("libcuda", Good, "found"),
        },
        Err(text) => Finding { status: Bad, ..from_error("libcuda", text) },
    };
    let init = match (&survey.library, &survey.init) {
        (Err(_), _) => finding("cuInit", Unknown, "not tried without libcuda"),
        (_, Ok(())) => finding("cuInit", Good, "succeeded"),
        (_, Err(text)) => Finding { status: Bad, ..from_error("cuInit", text) },
    };
    let started = survey.library.is_ok() && survey.init.is_ok();
    let gpus = match survey.gpus.as_slice() {
        [] if started => finding("gpus", Bad, "CUDA sees no GPU")
            .remedy("look at nvidia-smi and at CUDA_VISIBLE_DEVICES; in a container pass --gpus all"),
        [] => finding("gpus", Unknown, "cannot be listed"),
        gpus => {
            let names: Vec<_> = gpus.iter().map(|g| format!("{} {} {} ({})", g.index, g.name, g.pci, g.vram)).collect();
            finding("gpus", Good, names.join("; "))
        }
    };
    vec![library, init, gpus]
}

fn unified_memory(gpu: &GpuSurvey, any_managed: bool) -> Vec<Finding> {
    let name = |what: &str| format!("gpu {} {what}", gpu.index);
    if !gpu.managed {
        let status = if any_managed { Limited } else { Bad };
        return vec![
            finding(name("managed"), status, format!("{} has no managed memory", gpu.name))
                .remedy("choose another GPU with --gpu"),
        ];
    }
    let managed = finding(name("managed"), Good, format!("cuMemAllocManaged works, compute {}", gpu.compute));
    let concurrent = if gpu.concurrent {
        finding(name("concurrent"), Good, "CPU and GPU may touch managed memory together: pages migrate on fault")
    } else {
        finding(name("concurrent"), Limited, "no GPU page faults: memory moves as a whole at kernel launch")
            .remedy("needs Linux itself (not WSL2) and a Pascal or later GPU")
    };
    // That malloc memory is out of the GPU's reach is how most machines are; no workload needs it.
    let pageable = match (gpu.pageable, gpu.host_page_tables) {
        (true, true) => "the GPU reads malloc memory through the host's page tables (hardware coherent)",
        (true, false) => "the GPU reads malloc memory by faults (HMM)",
        (false, _) => "the GPU cannot read malloc memory (no HMM): managed memory only",
    };
    vec![managed, concurrent, finding(name("pageable"), Good, pageable)]
}

fn uvm_node(node: &Node) -> Finding {
    let name = "uvm node";
    match node {
        Node::Opens => finding(name, Good, "/dev/nvidia-uvm opens"),
        Node::Missing => finding(name, Limited, "/dev/nvidia-uvm is missing")
            .remedy("run nvidia-modprobe -u -c=0; in a container pass --gpus all or --device /dev/nvidia-uvm"),
        Node::Denied => finding(name, Limited, "/dev/nvidia-uvm may not be opened")
            .remedy("ask for mode 0666, which nvidia-modprobe -u sets, or allow the device in the container's rules"),
        Node::Fails(error) => finding(name, Limited, format!("/dev/nvidia-uvm cannot be opened: {error}")),
    }
}

fn uvm_module(version: Option<&str>, params: &BTreeMap<String, String>) -> Finding {
    let name = "uvm module";
    if params.is_empty() {
        return finding(name, Limited, "nvidia_uvm is not loaded, or hides its parameters (WSL2 has no such module)")
            .remedy("run nvidia-modprobe -u -c=0");
    }
    let value = |key: &str| params.get(key).map_or("?", String::as_str);
    let text = format!(
        "{}: prefetch {} at {} %, batch {}, thrashing {} at {}, hmm {}",
        version.unwrap_or("version unknown"),
        switch(value("uvm_perf_prefetch_enable")),
        value("uvm_perf_prefetch_threshold"),
        value("uvm_perf_fault_batch_count"),
        switch(value("uvm_perf_thrashing_enable")),
        value("uvm_perf_thrashing_threshold"),
        match value("uvm_disable_hmm") {
            "Y" | "1" => "disabled",
            "N" | "0" => "not disabled",
            other => other,
        },
    );
    finding(name, Good, text)
}

fn switch(value: &str) -> &str {
    match value {
        "0" | "N" => "off",
        "1" | "Y" => "on",
        other => other,
    }
}

fn nvml(nvml: &Result<NvmlSurvey, NvmlError>) -> Vec<Finding> {
    let survey = match nvml {
        Ok(survey) => survey,
        Err(error) => {
            let pcie = finding("pcie", Unknown, "not tried without NVML");
            return vec![from_error("nvml", &error.to_string()), pcie];
        }
    };
    let driver = survey.driver.as_deref().unwrap_or("of unknown version");
    let up = finding("nvml", Good, format!("driver {driver}"));
    let pcie = match (survey.pcie.iter().find(|(_, works)| works.is_ok()), survey.pcie.first()) {
        (Some((source, _)), _) => {
            let info = source.info();
            let status = if *source == PcieSource::Window { Limited } else { Good };
            finding("pcie", status, format!("{}: {}", info.method, info.note))
        }
        (None, Some((_, Err(why)))) => finding("pcie", Limited, format!("no throughput: {why}")),
        (None, _) => finding("pcie", Unknown, "no GPU to try it on"),
    };
    vec![up, pcie]
}

fn memory(machine: &Machine) -> Finding {
    let total = machine.host.memory;
    match machine.available {
        Some(free) if free >= LITTLE_MEMORY => finding("host memory", Good, format!("{free} free of {total}")),
        Some(free) => finding("host memory", Limited, format!("only {free} free of {total}"))
            .remedy("choose a small --size, or close other programs"),
        None => finding("host memory", Unknown, "MemAvailable cannot be read"),
    }
}

fn colour(terminal: &Terminal) -> Finding {
    let name = "terminal";
    match (&terminal.term, &terminal.colour) {
        (None, _) => finding(name, Limited, "TERM is not set").remedy("run in a terminal, or use umtop bench"),
        (Some(term), _) if term == "dumb" => {
            finding(name, Limited, "TERM=dumb can show no screen").remedy("run in a terminal, or use umtop bench")
        }
        (Some(term), _) if terminal.no_colour => finding(name, Good, format!("{term}, colours off by NO_COLOR")),
        (Some(term), Some(colour)) => finding(name, Good, format!("{term}, {colour}")),
        (Some(term), None) if term.contains("256color") => finding(name, Good, format!("{term}, 256 colours")),
        (Some(term), None) => finding(name, Good, format!("{term}, 16 colours")),
    }
}

fn characters(terminal: &Terminal) -> Finding {
    let locale = terminal.locale.as_deref().unwrap_or("not set");
    let folded = locale.to_ascii_lowercase();
    if folded.contains("utf-8") || folded.contains("utf8") {
        finding("characters", Good, locale)
    } else {
        finding("characters", Limited, format!("the locale is {locale}, not UTF-8: charts are drawn in ASCII"))
            .remedy("set LC_ALL=C.UTF-8")
    }
}

fn finding(name: impl Into<String>, status: Status, detail: impl Into<String>) -> Finding {
    Finding { name: name.into(), status, detail: detail.into(), remedy: None }
}

impl Finding {
    fn remedy(self, text: &str) -> Self {
        Self { remedy: Some(text.to_owned()), ..self }
    }
}

/// A limited finding from an error line of the form `what is wrong: what to do`; what is wrong may hold colons of its own.
fn from_error(name: &str, text: &str) -> Finding {
    let (detail, remedy) = match text.rsplit_once(": ") {
        Some((detail, remedy)) => (detail, Some(remedy.to_owned())),
        None => (text, None),
    };
    Finding { name: name.to_owned(), status: Limited, detail: detail.to_owned(), remedy }
}
