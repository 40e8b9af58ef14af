use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::refusal::Code;

fn kind(variant: &str, accelerator: Option<&str>, has_high_memory: bool) -> MachineKind {
    MachineKind { variant: variant.into(), accelerator: accelerator.map(str::to_owned), has_high_memory }
}

#[test]
fn ids_can_stand_in_a_path() {
    for id in ["r-2b0c", "gpu-t4-s-kkb-usw1b1-abc", "a.b_C", &"a".repeat(200)] {
        assert!(MachineId::parse(id).is_some(), "{id}");
    }
    for id in ["", ".", "..", ".hidden", "a/b", "a b", "a?b", "a%2fb", "é", &"a".repeat(201)] {
        assert!(MachineId::parse(id).is_none(), "{id}");
    }
}

#[test]
fn ids_of_ours_name_the_type_and_are_labels_of_a_host() {
    let id = MachineId::generate(&kind("GPU", Some("T4"), false)).to_string();
    let (start, random) = id.rsplit_once('-').unwrap();
    assert_eq!(start, "cellbridge-t4");
    assert!(random.len() == 6 && random.bytes().all(|it| it.is_ascii_hexdigit()), "{id}");
    assert!(MachineId::generate(&kind("CPU", None, false)).as_str().starts_with("cellbridge-cpu-"));
    let long = MachineId::generate(&kind("GPU", Some(&"X/_ é9".repeat(90)), false));
    assert!(long.as_str().len() <= MAX_OWN_ID && MachineId::parse(long.as_str()).is_some(), "{long}");
}

#[test]
fn requests_are_as_documented() {
    let id = MachineId::parse("cellbridge-t4-3fa9c1").unwrap();
    let create = Request::create(Some(&id), &kind("GPU", Some("T4"), true), Uuid::nil());
    assert_eq!(create.method, Method::POST);
    assert_eq!(
        create.path,
        "v1beta/runtimes?requestId=00000000-0000-0000-0000-000000000000&runtimeId=cellbridge-t4-3fa9c1"
    );
    assert_eq!(
        create.body.as_deref(),
        Some(r#"{"runtimeSpec":{"variant":"VARIANT_GPU","accelerator":"T4","shape":"SHAPE_HIGHMEM"}}"#)
    );
    let create = Request::create(None, &kind("CPU", None, false), Uuid::nil());
    assert_eq!(create.path, "v1beta/runtimes?requestId=00000000-0000-0000-0000-000000000000");
    assert_eq!(
        create.body.as_deref(),
        Some(r#"{"runtimeSpec":{"variant":"VARIANT_CPU","accelerator":"NONE","shape":"SHAPE_STANDARD"}}"#)
    );
    let paths = [
        Request::get(SPECS),
        Request::get(SUBSCRIPTION),
        Request::get(MACHINES),
        Request::machine(&id),
        Request::wait(&OperationId("x".into())),
        Request::delete(&id),
    ]
    .map(|it| format!("{} {}", it.method, it.path));
    assert_eq!(
        paths,
        [
            "GET v1beta/runtimespecs",
            "GET v1beta/subscription",
            "GET v1beta/runtimes",
            "GET v1beta/runtimes/cellbridge-t4-3fa9c1",
            "GET v1/operations/x:wait?timeout=20s",
            "DELETE v1beta/runtimes/cellbridge-t4-3fa9c1?allowMissing=true",
        ]
    );
}

#[test]
fn machines_are_read_with_unknown_values_and_without_a_connection() {
    let body = br#"{"runtimes": [
        {"name": "runtimes/r-1", "runtimeSpec": {"variant": "VARIANT_GPU", "accelerator": "T4", "shape": "SHAPE_HIGHMEM"},
         "version": "2026.07", "connectionInfo": {"url": "https://x.prod.colab.dev", "token": "hush",
         "expireTime": "1970-01-01T01:00:00.5Z"}, "new": 1},
        {"name": "runtimes/r-2", "runtimeSpec": {"variant": "VARIANT_NPU", "accelerator": "N9", "shape": "SHAPE_HUGE"}},
        {"name": "runtimes/r-3", "connectionInfo": {"url": "https://x.prod.colab.dev"}},
        {"name": "runtimes/../secrets"},
        {"name": "projects/r-4"}
    ]}"#;
    let machines = read_machines(body).unwrap();
    let found: Vec<_> = machines.iter().map(|it| format!("{}: {}", it.id, it.kind)).collect();
    assert_eq!(found, ["r-1: T4 GPU with high RAM", "r-2: N9 NPU", "r-3: CPU"]);
    let connection = machines[0].connection.as_ref().unwrap();
    assert_eq!(connection.expires, UNIX_EPOCH + Duration::from_millis(3_600_500));
    assert_eq!((connection.url.as_str(), connection.token.expose()), ("https://x.prod.colab.dev", "hush"));
    assert!(machines[1].connection.is_none() && machines[2].connection.is_none());
    assert!(!format!("{machines:?}").contains("hush"));
    assert_eq!(read_machines(b"{}"), Some(Vec::new()));
    assert_eq!((read_machines(b"hush"), read_machine(b"{}")), (None, None));
}

#[test]
fn types_are_read_and_unknown_shapes_left_out() {
    let body = br#"{"runtimeSpecs": [
        {"key": {"variant": "VARIANT_CPU", "accelerator": "NONE", "shape": "SHAPE_STANDARD"}, "eligible": true},
        {"key": {"variant": "VARIANT_TPU", "accelerator": "V9", "shape": "SHAPE_HIGHMEM"}},
        {"key": {"variant": "VARIANT_GPU", "accelerator": "T4", "shape": "SHAPE_HUGE"}, "eligible": true}
    ]}"#;
    let specs = read_specs(body).unwrap();
    let found: Vec<_> = specs.iter().map(|it| (it.kind.to_string(), it.is_eligible)).collect();
    assert_eq!(found, [("CPU".to_owned(), true), ("V9 TPU with high RAM".to_owned(), false)]);
    assert_eq!(read_specs(b"{}"), Some(Vec::new()));
}

#[test]
fn tiers_are_read() {
    for (tier, read) in [
        ("SUBSCRIPTION_TIER_FREE", Tier::Free),
        ("SUBSCRIPTION_TIER_PRO", Tier::Pro),
        ("SUBSCRIPTION_TIER_PRO_PLUS", Tier::ProPlus),
        ("SUBSCRIPTION_TIER_ULTRA", Tier::Other),
        ("", Tier::Other),
    ] {
        let body = format!(r#"{{"name": "subscription", "tier": "{tier}"}}"#);
        assert_eq!(read_tier(body.as_bytes()), Some(read), "{tier}");
    }
}

#[test]
fn operations_are_pending_done_or_refused() {
    let pending = Some(Operation::Pending(OperationId("op-1".into())));
    assert_eq!(read_operation(br#"{"name": "operations/op-1", "metadata": {"@type": "x"}}"#), pending);
    assert_eq!(read_operation(br#"{"name": "operations/op-1", "done": false}"#), pending);
    let created = read_operation(
        br#"{"name": "operations/op-1", "done": true, "response": {"@type": "x", "name": "runtimes/r-1"}}"#,
    );
    let Some(Operation::Created(Some(runtime))) = created else { panic!("{created:?}") };
    assert_eq!(runtime.id.as_str(), "r-1");
    assert_eq!(read_operation(br#"{"name": "operations/x", "done": true}"#), Some(Operation::Created(None)));
    let refused = read_operation(br#"{"done": true, "error": {"code": 9, "message": "No."}}"#);
    let words = "\"No.\" (code 9)".to_owned();
    let refusal = Refusal { code: Code::FailedPrecondition, reason: None, words };
    assert_eq!(refused, Some(Operation::Refused(refusal)));
    assert_eq!(read_operation(br#"{"name": "operations/../x"}"#), None);
    assert_eq!(read_operation(b"[]"), None);
}
