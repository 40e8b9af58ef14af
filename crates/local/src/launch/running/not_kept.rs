//! No kernel has a keeper.

use std::future::Ready;
use std::sync::Arc;

use kernel::Client;
use place::Executor;

use super::RunningKernel;

/// A kernel that has a keeper, which there is not.
pub(crate) enum KeptKernel {}

impl KeptKernel {
    pub(super) fn client(&self) -> &Client {
        match *self {}
    }

    pub(super) fn executor(&self) -> Arc<dyn Executor> {
        match *self {}
    }

    pub(super) fn process(&self) -> Option<u32> {
        match *self {}
    }

    pub(super) fn interrupt(&self) {
        match *self {}
    }

    pub(super) fn end(&self) -> Ready<()> {
        match *self {}
    }
}

impl RunningKernel {
    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(crate) fn described_others(&self) -> Option<String> {
        None
    }
}
