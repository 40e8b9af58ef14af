use serde_json::json;

use super::*;

fn kernel(kernel_name: &str) -> Arc<ForeignKernel> {
    let info = json!({
        "transport": "tcp", "ip": "127.0.0.1", "signature_scheme": "hmac-sha256", "key": "not-to-be-shown",
        "shell_port": 1, "iopub_port": 1, "stdin_port": 1, "control_port": 1, "hb_port": 1, "kernel_name": kernel_name,
    });
    let file = ForeignFile {
        id: "abc".to_owned(),
        path: "/none/kernel-abc.json".into(),
        info: serde_json::from_value(info).unwrap(),
        session: Some("/work/a.ipynb".to_owned()),
        written_at: SystemTime::UNIX_EPOCH,
    };
    ForeignKernel::new(file, Arc::default())
}

fn probed(kernel: &ForeignKernel, is_busy: bool) -> KernelDescription {
    let language_info = Json::empty_object();
    let file = kernel.state.lock().file.clone();
    kernel.update(file, Some(Probe { is_busy, language_info: Some(language_info) }));
    kernel.description()
}

#[test]
fn what_was_seen_of_a_kernel_is_described() {
    let kernel = kernel("ir");
    let known = probed(&kernel, true);
    assert_eq!((&*known.name, &*known.display_name, known.state), ("ir", "ir", KernelState::Busy));
    assert_eq!(known.foreign.unwrap().origin, "started for /work/a.ipynb, probably by a Jupyter server");
    assert_eq!(probed(&kernel, false).state, KernelState::Idle);
}

#[test]
fn a_python_kernel_of_no_kernelspec_has_the_usual_name() {
    assert_eq!((generic_name("python"), generic_name("r"), generic_name("")), ("python3", "r", ""));
    let kernel = kernel("");
    assert_eq!(probed(&kernel, false).name, "");
}

#[tokio::test]
async fn it_is_neither_restarted_nor_ended() {
    let kernel = kernel("python3");
    assert!(kernel.outlives_us() && kernel.is_shared().await && !kernel.is_gone());
    for refused in [kernel.restart().await, kernel.shutdown().await, kernel.check_restartable()] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.to_string().contains("belongs to another program"), "{error}");
    }
    assert!(kernel.check_interruptible().unwrap_err().cause.contains("is not connected"));
}

#[tokio::test]
async fn one_whose_file_was_removed_is_gone() {
    let kernel = kernel("python3");
    let error = kernel.executor().await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::KernelGone);
    assert!(kernel.is_gone());
    probed(&kernel, false);
    assert!(!kernel.is_gone(), "it was seen again");
}
