//! A kernel that other programs use, as its notebook's cells are judged by it.

use place::{Kernel, KernelDescription, KernelId, KernelState};

use super::SeenKernel;

/// Only looked at: whoever wants to use it connects to it.
pub(crate) struct ObservedKernel {
    id: KernelId,
    process: Option<u32>,
    description: KernelDescription,
}

impl ObservedKernel {
    /// `None` for one that has ended.
    pub(crate) fn of(kernel: &SeenKernel, language: &str) -> Option<Self> {
        let process = Some(kernel.process?);
        let description = KernelDescription {
            name: String::new(),
            display_name: kernel.display_name.clone(),
            language: kernel.language.clone().unwrap_or_else(|| language.to_owned()),
            environment: String::new(),
            state: KernelState::Idle,
            last_activity: None,
            connections: None,
            keeping: None,
            foreign: None,
        };
        Some(Self { id: KernelId::new(kernel.id.clone()), process, description })
    }
}

impl Kernel for ObservedKernel {
    fn id(&self) -> &KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        self.description.clone()
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn outlives_us(&self) -> bool {
        true
    }

    fn instance(&self) -> Option<String> {
        self.process.map(|process| process.to_string())
    }
}
