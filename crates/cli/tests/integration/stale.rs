//! Stale cells, as the tools show and run them. The tab's runs are of our own, without a kernel.

use anyhow::Result;
use serde_json::json;

use crate::colab_place::{Cells, ColabClient};

#[tokio::test]
async fn stale_cells_are_shown_explained_and_run() -> Result<()> {
    let (mut client, _page) = ColabClient::with_page(&Cells::default()).await?;
    for source in ["x = 1", "y = x", "print(2)"] {
        client.insert(-1, source).await?;
    }
    let fresh = client.call("read_notebook", json!({})).await?;
    assert!(!fresh.contains("State"), "where nothing has run here, a column says nothing: {fresh}");
    let stale = client.call("read_notebook", json!({ "only": "stale" })).await?;
    assert!(stale.contains("3 of them selected") && stale.contains("\tx = 1\tnever run\n"), "{stale}");
    client.call("run_cells", json!({ "all": true })).await?;
    let ran = client.call("read_notebook", json!({})).await?;
    assert!(!ran.contains("State") && ran.contains("y = x\n"), "{ran}");

    client.call("overwrite_cell_source", json!({ "cell_index": 0, "cell_source": "x = 2" })).await?;
    let brief = client.call("read_notebook", json!({})).await?;
    for row in ["First Line\tState\n", "\tx = 2\tedited\n", "\ty = x\tinput changed\n", "\tprint(2)\t"] {
        assert!(brief.contains(row), "{row:?} {brief}");
    }
    let only = client.call("read_notebook", json!({ "only": "stale", "limit": 1 })).await?;
    assert!(only.contains("1 more cells: read_notebook(start_index=1, only=\"stale\", limit=1)"), "{only}");
    let explained = "[state] input changed: uses x: cell 0 defines it and was edited after its run ";
    let read = client.call("read_cell", json!({ "cell_index": 1 })).await?;
    assert!(read.contains(explained), "{read}");
    let detailed = client.call("read_notebook", json!({ "response_format": "detailed" })).await?;
    assert!(detailed.contains(explained) && detailed.matches("[state]").count() == 2, "{detailed}");

    let ran = client.call("run_cells", json!({ "stale": true })).await?;
    assert!(ran.starts_with("Cells to run: 0 (edited), 1 (input changed).\n"), "{ran}");
    assert!(ran.contains("ran y = x") && !ran.contains("ran print(2)"), "{ran}");
    let again = client.call("run_cells", json!({ "stale": true })).await?;
    assert_eq!(again, "No code cell there is stale; nothing was run.");
    Ok(())
}

#[tokio::test]
async fn a_range_of_stale_cells_takes_along_what_it_needs() -> Result<()> {
    let (mut client, _page) = ColabClient::with_page(&Cells::default()).await?;
    for source in ["x = 1", "z = 3", "y = x"] {
        client.insert(-1, source).await?;
    }
    let ran = client.call("run_cells", json!({ "stale": true, "from": "2" })).await?;
    assert!(ran.starts_with("Cells to run: 0 (never run), 2 (never run).\n"), "{ran}");
    assert!(ran.contains("[2 cells run in colab:]"), "{ran}");
    let stale = client.call("read_notebook", json!({ "only": "stale" })).await?;
    assert!(stale.contains("z = 3\tnever run") && stale.contains("1 of them selected"), "{stale}");
    Ok(())
}

#[tokio::test]
async fn what_may_have_changed_is_named_and_not_run() -> Result<()> {
    let (mut client, _page) = ColabClient::with_page(&Cells::default()).await?;
    for source in ["xs = make()", "xs.touch(1)", "xs", "%%bash\nls"] {
        client.insert(-1, source).await?;
    }
    client.call("run_cells", json!({ "all": true })).await?;
    client.call("execute_cell", json!({ "cell_index": 1 })).await?;
    let stale = client.call("read_notebook", json!({ "only": "stale" })).await?;
    assert!(stale.contains("0 of them selected"), "{stale}");
    assert!(stale.ends_with("\nmay have changed: cells 2.\nnothing known: cells 3."), "{stale}");
    let again = client.call("run_cells", json!({ "stale": true })).await?;
    assert!(again.contains("nothing was run"), "{again}");
    Ok(())
}

#[tokio::test]
async fn the_edit_that_leaves_a_name_undefined_says_so_once() -> Result<()> {
    let (mut client, _page) = ColabClient::with_page(&Cells::default()).await?;
    for source in ["x = 1", "print(x)", "y = 2"] {
        client.insert(-1, source).await?;
    }
    client.call("run_cells", json!({ "all": true })).await?;
    let edits = json!([{ "cell_index": 1, "old_string": "x", "new_string": "x + xx" }]);
    let only_below = "cell 0 uses x, which only cell 1 defines, below";
    for (tool, arguments, expected) in [
        ("edit_cells", json!({ "edits": edits }), Some("cell 1 uses xx, which no cell defines")),
        ("move_cell", json!({ "source_index": 0, "target_index": 1 }), Some(only_below)),
        ("insert_cell", json!({ "cell_index": 0, "cell_type": "code", "cell_source": "z = 3" }), None),
        (
            "edit_cell_source",
            json!({ "cell_index": 1, "old_string": "xx", "new_string": "zz" }),
            Some("cell 1 uses zz, which no cell defines"),
        ),
        ("delete_cell", json!({ "cell_indices": [2] }), Some("cell 1 uses x, which no cell defines")),
        ("delete_cell", json!({ "cell_indices": [2] }), None),
    ] {
        let said = client.call(tool, arguments).await?;
        let lines: Vec<_> = said.lines().filter(|line| line.contains("uses ")).collect();
        let expected: Vec<_> = expected.iter().map(|clause| format!("[state] {clause}.")).collect();
        assert_eq!(lines, expected, "{tool}: {said}");
    }
    Ok(())
}
