//! The prompts: `jupyter_cite`, a person's request with the cells that it is about, and how to work in notebooks.

use notebook::{CellRef, Notebook, one_line};
use place::{Error, ErrorKind};
use render::quoted;
use rmcp::model::{
    ContentBlock, GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use workspace::Session;

use crate::skill;
use calls::replies::cell_text::{banner, index_or_id};

const CITE: &str = "jupyter_cite";

pub(crate) fn list() -> ListPromptsResult {
    let argument = |name: &str, description: &str, is_required| {
        PromptArgument::new(name).with_description(description).with_required(is_required)
    };
    let arguments = vec![
        argument("prompt", "What you want", true),
        argument("cell_indices", "The cells it is about: 0-2,4 or 3- ", true),
        argument("notebook_name", "Name or path; default: the current one", false),
    ];
    let prompt = Prompt::new(CITE, Some("Ask about cells of a notebook"), Some(arguments));
    ListPromptsResult::with_all_items(vec![prompt, skill::prompt()])
}

/// A prompt with its arguments filled in; `None` if there is none of that name.
pub(crate) async fn get(
    session: &Session,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<Option<GetPromptResult>, Error> {
    match name {
        CITE => {}
        skill::PROMPT => return Ok(Some(skill::prompt_text())),
        _ => return Ok(None),
    }
    let argument = |name: &str| match arguments?.get(name)? {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Null => None,
        other => Some(other.to_string()),
    };
    let missing = |name| Error::new(ErrorKind::InvalidArgument, format!("{CITE} needs {name}."), "");
    let wanted = argument("prompt").ok_or_else(|| missing("prompt"))?;
    let indices = argument("cell_indices").ok_or_else(|| missing("cell_indices"))?;
    let opened = session.notebook(argument("notebook_name").as_deref()).await?;
    let notebook = opened.document().snapshot().await?;
    let find = |reference: &CellRef| session.find(opened.path(), &notebook, reference);
    let cells = cited(&notebook, &indices, &find)?;
    let numbers: Vec<String> = cells.iter().map(usize::to_string).collect();
    let mut text = format!(
        "USER Cite cells [{}] from notebook {}, here are the cells:\n",
        numbers.join(", "),
        one_line(opened.path())
    );
    for index in &cells {
        let cell = &notebook.cells()[*index];
        text.push_str(&format!("{}\n{}\n", banner(*index, cell), quoted(&cell.source())));
    }
    text.push_str(&format!("=====End of Cited Cells=====\nUSER's Instruction are follow: {wanted}"));
    session.saw(opened.path(), &notebook, cells);
    let message = PromptMessage::new(Role::User, ContentBlock::text(text));
    Ok(Some(GetPromptResult::new(vec![message])))
}

/// The cells that a list such as `0-2,4` or `3-` names, each once; ids and `In[n]` work, too.
fn cited(
    notebook: &Notebook,
    indices: &str,
    find: &dyn Fn(&CellRef) -> Result<usize, Error>,
) -> Result<Vec<usize>, Error> {
    let count = notebook.cells().len();
    let wrong = |part: &str| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("cell_indices cannot be {part:?}; the notebook has {count} cells."),
            "Say, for example, 0-2,4 or 3-.",
        )
    };
    let mut cells = Vec::new();
    for part in indices.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let ends = part.split_once('-').and_then(|(from, through)| Some((number(from)?, through.trim())));
        let (from, through) = match ends {
            Some((from, "")) => (from, count.checked_sub(1).ok_or_else(|| wrong(part))?),
            Some((from, through)) => (from, number(through).ok_or_else(|| wrong(part))?),
            None => find(&index_or_id(notebook, part)).map(|index| (index, index))?,
        };
        if from > through || through >= count {
            return Err(wrong(part));
        }
        cells.extend((from..=through).filter(|index| !cells.contains(index)).collect::<Vec<_>>());
    }
    if cells.is_empty() { Err(wrong(indices)) } else { Ok(cells) }
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, NewCell};

    use super::*;

    fn notebook() -> Notebook {
        let mut notebook = Notebook::new();
        for index in 0..5 {
            let mut cell = NewCell::new(CellType::Code, format!("{index}"));
            // An id may look like an index.
            cell.id = format!("1234567{index}").into();
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        notebook
    }

    fn cited_in(notebook: &Notebook, indices: &str) -> Result<Vec<usize>, Error> {
        cited(notebook, indices, &|reference| Ok(notebook.resolve(reference)?))
    }

    #[test]
    fn ranges_and_single_cells_are_cited_once_each() {
        let notebook = notebook();
        for (indices, cells) in [
            ("0-2,4", vec![0, 1, 2, 4]),
            ("3-", vec![3, 4]),
            (" 1 , 0 ", vec![1, 0]),
            ("2,1-3", vec![2, 1, 3]),
            (notebook.cells()[2].id(), vec![2]),
        ] {
            assert_eq!(cited_in(&notebook, indices).unwrap(), cells, "{indices}");
        }
    }

    #[test]
    fn what_names_no_cell_is_refused() {
        for indices in ["", "5", "0-5", "3-1", "9-", "x-y"] {
            assert!(cited_in(&notebook(), indices).is_err(), "{indices}");
        }
        assert!(cited_in(&Notebook::new(), "0-").is_err());
    }
}
