use super::*;

fn kind(variant: &str, accelerator: &str, has_high_memory: bool) -> MachineKind {
    let accelerator = Some(accelerator.to_owned()).filter(|it| !it.is_empty());
    MachineKind { variant: variant.into(), accelerator, has_high_memory }
}

fn specs() -> Vec<Spec> {
    [
        ("GPU", "A100", false, true),
        ("GPU", "L4", true, true),
        ("GPU", "T4", true, true),
        ("GPU", "T4", false, true),
        ("GPU", "H100", false, false),
        ("CPU", "", true, true),
        ("CPU", "", false, true),
        ("TPU", "V9", true, true),
        ("TPU", "V6E1", true, true),
        ("NPU", "N2", false, true),
        ("NPU", "N1", false, true),
    ]
    .map(|(variant, accelerator, has_high_memory, is_eligible)| Spec {
        kind: kind(variant, accelerator, has_high_memory),
        is_eligible,
    })
    .into()
}

fn account(tier: Tier) -> Account {
    Account { name: Some("ada@example.com".into()), tier }
}

fn wanted(variant: &str, accelerator: &str, has_high_memory: bool) -> WantedMachine {
    let given = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
    WantedMachine {
        variant: given(variant),
        accelerator: given(accelerator),
        has_high_memory: has_high_memory.then_some(true),
    }
}

#[test]
fn what_is_omitted_is_chosen() {
    let (specs, account) = (specs(), account(Tier::Pro));
    for (wanted, chosen) in [
        (wanted("", "", false), "CPU"),
        (wanted("cpu", "none", true), "CPU with high RAM"),
        (wanted("gpu", "", false), "T4 GPU"),
        (wanted("GPU", "", true), "T4 GPU with high RAM"),
        (wanted("", "a100", false), "A100 GPU"),
        (wanted("", "l4", false), "L4 GPU with high RAM"),
        (wanted("TPU", "", false), "V6E1 TPU with high RAM"),
        (wanted("npu", "", false), "N2 NPU"),
        (wanted("T4 GPU", "", false), "T4 GPU"),
        (wanted("", "T4 GPU with high RAM", false), "T4 GPU with high RAM"),
        (wanted("", "gpu", false), "T4 GPU"),
        (wanted("A100", "", false), "A100 GPU"),
        (wanted("", "nvidia-t4", false), "T4 GPU"),
        (wanted("GPU", "Tesla T4", false), "T4 GPU"),
        (wanted("TPU", "v6e-1", false), "V6E1 TPU with high RAM"),
        (wanted("CPU", "CPU", false), "CPU"),
    ] {
        let spec = choose(&wanted, &specs, &account).unwrap();
        assert_eq!(spec.kind.to_string(), chosen, "{wanted:?}");
    }
}

#[test]
fn what_cannot_be_had_names_what_can() {
    let (specs, account) = (specs(), account(Tier::Free));
    for (wanted, kind, said) in [
        (wanted("", "H100", false), ErrorKind::Forbidden, "may not have H100 machines"),
        (wanted("", "P100", false), ErrorKind::InvalidArgument, "no \"P100\" machines"),
        (wanted("TPU", "T4", false), ErrorKind::InvalidArgument, "no \"T4 TPU\" machines"),
        (wanted("", "A100", true), ErrorKind::InvalidArgument, "no \"A100 with high RAM\" machines"),
        (wanted("QPU", "", false), ErrorKind::InvalidArgument, "no \"QPU\" machines"),
    ] {
        let error = choose(&wanted, &specs, &account).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.cause.contains(said) && error.cause.contains("T4 GPU, CPU"), "{error}");
        assert!(!error.cause.contains("H100 GPU"), "{error}");
    }
}

#[test]
fn only_the_free_types_of_a_free_account_cost_nothing() {
    for (kind, is_free) in [
        (kind("CPU", "", false), true),
        (kind("CPU", "", true), false),
        (kind("GPU", "T4", false), true),
        (kind("GPU", "T4", true), false),
        (kind("TPU", "V5E1", true), true),
        (kind("GPU", "A100", false), false),
    ] {
        let cost = |tier| account(tier).cost(&kind);
        assert_eq!(cost(Tier::Free).is_none(), is_free, "{kind}");
        for tier in [Tier::Pro, Tier::ProPlus, Tier::Other] {
            assert!(cost(tier).unwrap().contains("compute units of ada@example.com"), "{kind}");
        }
    }
}

#[test]
fn accounts_are_named_as_far_as_they_are_known() {
    assert_eq!(account(Tier::ProPlus).title(), "ada@example.com (Colab Pro+)");
    assert_eq!(Account { name: None, tier: Tier::Other }.title(), "the signed-in Google account");
}

#[test]
fn the_first_model_that_the_account_may_have_is_chosen() {
    let mut specs = specs();
    for spec in &mut specs {
        spec.is_eligible &= spec.kind.accelerator.as_deref() != Some("T4");
    }
    let wanted = wanted("GPU", "", false);
    assert_eq!(
        choose(&wanted, &specs, &account(Tier::Pro)).unwrap().kind.to_string(),
        "L4 GPU with high RAM"
    );
}

#[test]
fn the_memory_that_was_asked_for_is_not_replaced() {
    let asked = WantedMachine { has_high_memory: Some(false), ..wanted("", "L4", false) };
    let error = choose(&asked, &specs(), &account(Tier::Pro)).unwrap_err();
    assert!(error.cause.contains("\"L4 with standard RAM\""), "{error}");
}

#[test]
fn contradictions_are_refused() {
    for (variant, accelerator, memory) in
        [("T4", "A100", None), ("CPU", "GPU", None), ("T4 GPU with high RAM", "", Some(false))]
    {
        let asked = WantedMachine { has_high_memory: memory, ..wanted(variant, accelerator, false) };
        let error = choose(&asked, &specs(), &account(Tier::Pro)).unwrap_err();
        assert!(error.cause.contains("different types"), "{error}");
    }
}
