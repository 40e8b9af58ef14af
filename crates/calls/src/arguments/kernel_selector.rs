//! The kernel that an agent wants for a notebook.

use place::{Error, KernelSelector};
use workspace::Session;

/// `id` is that of an existing kernel or its beginning, or `NEW`. An existing kernel has its kernelspec already.
pub async fn kernel_selector(
    session: &Session,
    id: Option<&str>,
    kernelspec: Option<String>,
) -> Result<KernelSelector, Error> {
    Ok(match (id, kernelspec) {
        (None, None) => KernelSelector::Any,
        (None, Some(kernelspec)) => KernelSelector::Kernelspec(kernelspec),
        (Some("NEW"), kernelspec) => KernelSelector::New(kernelspec),
        (Some(id), _) => KernelSelector::Existing(session.kernel(id).await?.id().clone()),
    })
}
