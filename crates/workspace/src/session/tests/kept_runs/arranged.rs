//! What is known of cells that were split, merged or copied, when others of them change or run again.

use super::*;
use StaleState::{Edited, NeverRun, OtherKernel, UpToDate};

impl Server {
    async fn edit_cell(&self, index: usize, edits: impl FnOnce(CellId) -> Vec<Edit>) {
        let id = self.snapshot().await.cells()[index].id().clone();
        self.edit(edits(id)).await;
    }

    /// As `change_cell` does: the lower half keeps the id.
    async fn split(&self, index: usize, upper: &str, lower: &str) {
        let cell = NewCell::new(CellType::Code, upper);
        let source = lower.to_owned();
        self.edit_cell(index, |id| vec![Edit::Insert { index, cell }, Edit::SetSource { id, source }]).await;
    }

    async fn merge(&self, index: usize, source: &str) {
        let next = self.snapshot().await.cells()[index + 1].id().clone();
        let source = source.to_owned();
        self.edit_cell(index, |id| {
            vec![
                Edit::SetSource { id: id.clone(), source },
                Edit::SetOutputs { id, outputs: Arc::new([]), execution_count: None },
                Edit::Delete { ids: vec![next] },
            ]
        })
        .await;
    }

    async fn duplicate(&self, index: usize) {
        let notebook = self.snapshot().await;
        let cell = &notebook.cells()[index];
        let copy = NewCell::new(CellType::Code, cell.source().into_owned());
        let (id, execution_count) = (copy.id.clone(), cell.execution_count());
        self.edit(vec![
            Edit::Insert { index: index + 1, cell: copy },
            Edit::SetOutputs { id, outputs: cell.outputs().into(), execution_count },
        ])
        .await;
    }
}

async fn ran(sources: &[&str]) -> (Machine, Server) {
    let machine = Machine::new();
    let server = machine.server().await;
    server.write(sources).await;
    server.run_all().await;
    (machine, server)
}

#[tokio::test]
async fn a_half_keeps_its_run_when_the_other_changes() {
    const TRAINING: &str = "import time\nmodel = 41\nprint(model)";
    let (_machine, server) = ran(&[TRAINING]).await;
    server.split(0, "import time\nmodel = 41", "print(model)").await;
    server.set(1, "print(model + 1)").await;
    assert_eq!(server.states().await, [UpToDate, Edited]);
    server.run(1).await;
    assert_eq!(server.states().await, [UpToDate; 2]);
    server.set(0, "import time\nmodel = 42").await;
    assert_eq!(server.states().await, [Edited, StaleState::InputChanged]);
    // Run again as it was, without a look in between.
    let (_machine, server) = ran(&[TRAINING]).await;
    server.split(0, "import time\nmodel = 41", "print(model)").await;
    server.run(1).await;
    assert_eq!(server.states().await, [UpToDate; 2]);
}

#[tokio::test]
async fn parts_keep_their_runs_when_they_are_moved_and_deleted() {
    let (_machine, server) = ran(&["a = 1\nb = 2\nprint(a, b)", "print(3)"]).await;
    server.split(0, "a = 1\nb = 2", "print(a, b)").await;
    server.split(0, "a = 1", "b = 2").await;
    server.edit_cell(0, |id| vec![Edit::Move { id, index: 1 }]).await;
    assert_eq!(server.states().await, [UpToDate; 4]);
    server.edit_cell(2, |id| vec![Edit::Delete { ids: vec![id] }]).await;
    assert_eq!(server.states().await, [UpToDate; 3]);
    // Put together again, and apart.
    server.merge(0, "b = 2\na = 1").await;
    assert_eq!(server.states().await, [Edited, UpToDate], "they ran the other way round");
}

#[tokio::test]
async fn parts_of_parts_are_in_order() {
    let (_machine, server) = ran(&["a = 1\nb = a\nc = b\nprint(c)"]).await;
    server.split(0, "a = 1\nb = a\nc = b", "print(c)").await;
    server.split(0, "a = 1\nb = a", "c = b").await;
    server.split(0, "a = 1", "b = a").await;
    assert_eq!(server.states().await, [UpToDate; 4]);
    server.merge(1, "b = a\n\nc = b").await;
    server.run(2).await;
    assert_eq!(server.states().await, [UpToDate; 3]);
    server.set(0, "a = 2").await;
    server.run(0).await;
    assert_eq!(server.states().await[..2], [UpToDate, StaleState::InputChanged]);
}

#[tokio::test]
async fn a_copy_keeps_its_run_when_the_original_runs_again() {
    let (_machine, server) = ran(&["a = 1", "print(a)"]).await;
    server.duplicate(1).await;
    server.run(1).await;
    assert_eq!(server.states().await, [UpToDate; 3]);
    server.set(2, "print(a, a)").await;
    assert_eq!(server.states().await, [UpToDate, UpToDate, Edited]);
    server.edit(vec![Edit::Insert { index: 3, cell: NewCell::new(CellType::Code, "print(a)") }]).await;
    assert_eq!(server.states().await[3], NeverRun, "it shows nothing");
}

#[tokio::test]
async fn what_was_arranged_before_the_kernel_was_restarted_has_run_before() {
    let (machine, server) = ran(&["a = 1", "b = 2", "c = 3\nd = 4", "e = 5", "f = 6"]).await;
    server.merge(0, "a = 1\n\nb = 2").await;
    machine.restarts();
    assert_eq!(server.states().await, [OtherKernel; 4]);
    // After it, there is no run in the kernel to divide.
    server.split(1, "c = 3", "d = 4").await;
    server.run(0).await;
    server.merge(3, "e = 5\n\nf = 6").await;
    assert_eq!(server.states().await, [UpToDate, NeverRun, Edited, Edited]);
}

#[tokio::test]
async fn the_next_server_knows_a_cell_that_was_split_and_merged_back() {
    let (machine, server) = ran(&["a = 1\nprint(a)", "print(a)"]).await;
    server.split(0, "a = 1", "print(a)").await;
    let upper = server.snapshot().await.cells()[0].id().clone();
    // As `change_cell` does: the half that has run keeps its id.
    server
        .edit_cell(1, |id| {
            vec![
                Edit::SetSource { id: id.clone(), source: "a = 1\n\nprint(a)".to_owned() },
                Edit::SetOutputs { id, outputs: Arc::new([]), execution_count: None },
                Edit::Delete { ids: vec![upper] },
            ]
        })
        .await;
    drop(server);
    assert_eq!(machine.server().await.states().await, [UpToDate; 2]);
}
