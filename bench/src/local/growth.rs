//! How the times and the memory of a server grow with the notebook that it has open.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::local::clients::StdioClient;
use crate::local::setup::cell_count;
use crate::process::resident;
use crate::statistics::median;

/// How many cells the notebooks have.
pub(crate) const SIZES: [usize; 3] = [1_000, 10_000, 30_000];

/// How many calls may wait for a notebook until it is open.
const OPENINGS: usize = 5;

/// What a server takes for a notebook. The times are medians.
pub(crate) struct Growth {
    pub(crate) read: Duration,
    pub(crate) read_after_edit: Duration,
    pub(crate) search: Duration,
    pub(crate) edit: Duration,
    /// After all of this, in KiB.
    pub(crate) resident: u64,
}

/// The name of the notebook of so many cells.
pub(crate) fn name(cells: usize) -> String {
    format!("cells-{cells}.ipynb")
}

/// Measures a new server, for the notebook of this size at this path. Each call is made so many times.
pub(crate) fn measure(mut client: StdioClient, cells: usize, file: &Path, calls: usize) -> Result<Growth> {
    let notebook = name(cells);
    let read = |client: &mut StdioClient| -> Result<Duration> {
        let given = json!({ "notebook_name": notebook, "cell_index": cells / 2 + 1 });
        let (time, text) = client.call("read_cell", &given)?;
        ensure!(text.contains(&format!("Cell {}", cells / 2 + 1)), "not the cell: {text}");
        Ok(time)
    };
    // The first call opens it; a Jupyter server can need longer for it than a call waits.
    if (1..OPENINGS).all(|_| read(&mut client).is_err()) {
        read(&mut client)?;
    }
    let reads = (0..calls * 4).map(|_| read(&mut client)).collect::<Result<_>>()?;
    let search = json!({ "notebook_name": notebook, "query": "nowhere to be found" });
    let searches = (0..calls).map(|_| {
        let (time, text) = client.call("search_notebook", &search)?;
        ensure!(text.contains("does not occur"), "found: {text}");
        Ok(time)
    });
    let searches = searches.collect::<Result<_>>()?;
    let (mut edits, mut reads_after) = (Vec::new(), Vec::new());
    for done in 1..=calls {
        let given = json!({
            "notebook_name": notebook,
            "cell_index": cells / 2,
            "cell_type": "code",
            "cell_source": format!("inserted = {done}"),
        });
        edits.push(client.call("insert_cell", &given)?.0);
        let now = cell_count(file)?;
        ensure!(now == cells + done, "{now} cells are on disk after insert {done} into {cells}");
        reads_after.push(read(&mut client)?);
    }
    Ok(Growth {
        read: median(reads),
        read_after_edit: median(reads_after),
        search: median(searches),
        edit: median(edits),
        resident: resident(client.id())?,
    })
}
