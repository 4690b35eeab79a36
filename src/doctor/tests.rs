use super::checks::judge;
use super::machine::{Machine, Node, Terminal};
use super::*;
use crate::device::GpuSurvey;
use crate::event::{HostInfo, Why};
use crate::probe::nvml::{NvmlError, NvmlSurvey, PcieSource};
use crate::probe::uvm::UvmError;
use crate::units::Bytes;

fn gpu() -> GpuSurvey {
    GpuSurvey {
        index: 0,
        name: "Test GPU".to_owned(),
        uuid: "GPU-0".to_owned(),
        pci: "0000:65:00.0".to_owned(),
        compute: "9.0".to_owned(),
        vram: Bytes::mib(16384),
        managed: true,
        concurrent: true,
        pageable: false,
        host_page_tables: false,
        map_host: true,
    }
}

fn good_survey() -> Survey {
    Survey { library: Ok(()), init: Ok(()), cuda_version: Some("13.0".to_owned()), gpus: vec![gpu()] }
}

fn good_machine() -> Machine {
    let params = [("uvm_perf_prefetch_enable", "1"), ("uvm_perf_prefetch_threshold", "51")];
    Machine {
        uvm_node: Node::Opens,
        tools_node: Ok(()),
        uvm_version: Some("580.159".to_owned()),
        uvm_params: params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        nvml: Ok(NvmlSurvey { driver: Some("580.159".to_owned()), pcie: vec![(PcieSource::Gpm, Ok(()))] }),
        host: HostInfo { kernel: String::new(), cpu: String::new(), cores: 8, memory: Bytes::mib(32768) },
        available: Some(Bytes::mib(16384)),
        terminal: Terminal {
            term: Some("xterm-256color".to_owned()),
            colour: Some("truecolor".to_owned()),
            no_colour: false,
            locale: Some("en_US.UTF-8".to_owned()),
        },
    }
}

fn status(findings: &[Finding], name: &str) -> Status {
    findings.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no finding {name}")).status
}

#[test]
fn a_good_machine_has_no_complaint() {
    let findings = judge(&good_survey(), &good_machine());
    assert!(findings.iter().all(|f| f.status == Status::Ok && f.remedy.is_none()), "{}", to_text(&findings));
    assert_eq!(exit_code(&findings), 0);
}

#[test]
fn without_a_usable_device_it_is_unusable() {
    let no_library = Survey {
        library: Err("libcuda is missing: install the driver".to_owned()),
        init: Err(String::new()),
        cuda_version: None,
        gpus: vec![],
    };
    let no_gpu = Survey { gpus: vec![], ..good_survey() };
    let no_managed = Survey { gpus: vec![GpuSurvey { managed: false, ..gpu() }], ..good_survey() };
    for survey in [no_library, no_gpu, no_managed] {
        let findings = judge(&survey, &good_machine());
        assert_eq!(exit_code(&findings), 2, "{}", to_text(&findings));
        assert!(findings.iter().filter(|f| f.status == Status::Bad).all(|f| f.remedy.is_some()));
    }
}

#[test]
fn one_gpu_with_managed_memory_is_enough() {
    let gpus = vec![GpuSurvey { managed: false, ..gpu() }, GpuSurvey { index: 1, ..gpu() }];
    let findings = judge(&Survey { gpus, ..good_survey() }, &good_machine());
    assert_eq!(status(&findings, "gpu 0 managed"), Status::Limited);
    assert_eq!(status(&findings, "gpu 1 managed"), Status::Ok);
    assert_eq!(exit_code(&findings), 1);
}

#[test]
fn each_missing_thing_limits_and_names_its_remedy() {
    let cases: Vec<(&str, Machine)> = vec![
        ("uvm tools", Machine { tools_node: Err(UvmError::NodeMissing), ..good_machine() }),
        ("uvm tools", Machine { tools_node: Err(UvmError::Wsl), ..good_machine() }),
        ("uvm node", Machine { uvm_node: Node::Denied, ..good_machine() }),
        ("uvm module", Machine { uvm_params: Default::default(), ..good_machine() }),
        ("nvml", Machine { nvml: Err(NvmlError::VersionMismatch), ..good_machine() }),
        ("host memory", Machine { available: Some(Bytes::mib(200)), ..good_machine() }),
        ("terminal", Machine { terminal: Terminal { term: None, ..good_machine().terminal }, ..good_machine() }),
        ("characters", Machine { terminal: Terminal { locale: None, ..good_machine().terminal }, ..good_machine() }),
    ];
    for (name, machine) in cases {
        let findings = judge(&good_survey(), &machine);
        assert_eq!(status(&findings, name), Status::Limited, "{name}");
        assert!(findings.iter().any(|f| f.name == name && f.remedy.is_some()), "{name} has no remedy");
        assert_eq!(exit_code(&findings), 1, "{name}");
    }
}

#[test]
fn the_best_pcie_source_that_works_is_named() {
    let no = || Err(Why::NotSupported("no".to_owned()));
    let machine = |pcie| Machine { nvml: Ok(NvmlSurvey { driver: None, pcie }), ..good_machine() };
    let second = machine(vec![(PcieSource::Gpm, no()), (PcieSource::Counters, Ok(()))]);
    let findings = judge(&good_survey(), &second);
    assert!(findings.iter().any(|f| f.name == "pcie" && f.detail.contains("197/198") && f.status == Status::Ok));
    let none = machine(vec![(PcieSource::Gpm, no()), (PcieSource::Counters, no()), (PcieSource::Window, no())]);
    assert_eq!(status(&judge(&good_survey(), &none), "pcie"), Status::Limited);
}

#[test]
fn what_is_wrong_and_what_to_do_are_told_apart() {
    let found = |init: &str, tools_node| {
        let survey = Survey { init: Err(init.to_owned()), gpus: vec![], ..good_survey() };
        let findings = judge(&survey, &Machine { tools_node: Err(tools_node), ..good_machine() });
        let of = |name| findings.iter().find(|f| f.name == name).map(|f| (f.detail.clone(), f.remedy.clone())).unwrap();
        (of("cuInit"), of("uvm tools"))
    };
    let busy = UvmError::NodeFailed(std::io::Error::other("device busy"));
    let (init, tools) = found("cuInit failed with CUDA_ERROR_NO_DEVICE (100): no GPU is visible: see nvidia-smi", busy);
    assert_eq!(init.0, "cuInit failed with CUDA_ERROR_NO_DEVICE (100): no GPU is visible");
    assert_eq!(init.1.as_deref(), Some("see nvidia-smi"));
    assert_eq!(tools, ("/dev/nvidia-uvm-tools cannot be opened (device busy)".to_owned(), None));
}

#[test]
fn the_forms_agree() {
    let machine = Machine { tools_node: Err(UvmError::NodeDenied), ..good_machine() };
    let findings = judge(&good_survey(), &machine);
    let json = to_json(&findings);
    assert_eq!(json["exit_code"], 1);
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(findings.len()));
    let text = to_text(&findings);
    for finding in &findings {
        assert!(text.contains(&finding.detail));
        assert!(finding.remedy.as_ref().is_none_or(|remedy| text.contains(remedy)));
    }
}

#[test]
fn this_machine_can_be_examined() {
    let survey = Survey {
        library: Err("libcuda.so.1 is missing: install the driver".to_owned()),
        init: Err("not tried".to_owned()),
        cuda_version: None,
        gpus: vec![],
    };
    let findings = examine(&survey);
    assert_eq!(exit_code(&findings), 2);
    assert_eq!(status(&findings, "cuInit"), Status::Unknown);
    println!("{}", to_text(&findings));
}
