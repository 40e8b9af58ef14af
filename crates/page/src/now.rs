//! What happens now: runs, kernels and notebooks.

use html::Fragment;
use notebook::{CellId, one_line};
use place::{FoundNotebooks, NotebookPath, RunState, SearchExtent};
use questions::{OpenQuestion, Question};

use crate::hub::SeenAgent;
use crate::machine::{SeenKernel, SeenRun};
use crate::parts::{Part, Section, digest};
use crate::words::{ago, elapsed, millis, run_state, size};

/// The sections about now.
pub(crate) fn sections(
    kernels: &[SeenKernel],
    notebooks: &FoundNotebooks,
    agents: &[SeenAgent],
) -> [Section<'static>; 4] {
    let runs = kernels.iter().flat_map(|kernel| &kernel.runs).filter(|run| !run.state.is_over());
    [
        Section { name: "runs", parts: or_none(runs.map(run).collect(), "runs-none", "Nothing is running.") },
        Section {
            name: "agents",
            parts: or_none(
                agents.iter().map(agent).collect(),
                "agents-none",
                "No agent has changed anything.",
            ),
        },
        Section {
            name: "kernels",
            parts: or_none(kernels.iter().map(kernel).collect(), "kernels-none", "No kernel is running."),
        },
        Section { name: "notebooks", parts: notebook_list(notebooks) },
    ]
}

/// The questions that wait for the person.
pub(crate) fn questions(open: &[OpenQuestion]) -> Section<'static> {
    let parts = open.iter().map(question).collect();
    Section { name: "questions", parts: or_none(parts, "questions-none", "Nothing waits for your answer.") }
}

fn question(open: &OpenQuestion) -> Part<'static> {
    let id = format!("question-{}", open.number);
    let Question { client, text, asked_at, input: _ } = &open.question;
    let mut html = Fragment::default();
    html.raw("<li class=\"v-question\"").attribute("id", &id).raw("><p>");
    html.text(if client.is_empty() { "An agent" } else { client.trim() }).raw(" asks for your consent, ");
    html.raw("<time data-ago=\"").number(millis(*asked_at)).raw("\"></time></p><pre tabindex=\"0\">");
    html.text(text).raw("</pre><p class=\"v-actions\">");
    for (action, label) in [("accept", "Accept"), ("decline", "Decline")] {
        html.raw("<button type=\"button\"").attribute("data-do", action);
        html.attribute("data-question", &open.number.to_string()).raw(">").text(label).raw("</button> ");
    }
    html.raw("</p></li>");
    Part::new(id, html)
}

fn or_none(parts: Vec<Part<'static>>, id: &str, none: &str) -> Vec<Part<'static>> {
    if !parts.is_empty() {
        return parts;
    }
    let mut html = Fragment::default();
    html.raw("<li").attribute("id", id).raw(" class=\"v-none\">").text(none).raw("</li>");
    vec![Part::new(id.to_owned(), html)]
}

fn agent(agent: &SeenAgent) -> Part<'static> {
    let SeenAgent { notebook, activity } = agent;
    let id = format!("agent-{}", digest(&(&activity.agent, &activity.session, &activity.notebook)));
    let mut html = Fragment::default();
    html.raw("<li class=\"v-agent\"").attribute("id", &id).raw("><strong>").text(&one_line(&activity.agent));
    html.raw("</strong> ");
    let cell = activity.cell.as_deref().map(CellId::from);
    match notebook {
        Some(path) => notebook_link(path, cell.as_ref().map(crate::cells::part_id).as_deref(), &mut html),
        None => {
            html.text(&one_line(&activity.notebook));
        }
    }
    if let Some(cell) = &activity.cell {
        html.raw(" <code>").text(&one_line(cell)).raw("</code>");
    }
    html.raw(" <span>").text(&one_line(&activity.tool)).raw("</span> ");
    ago(activity.last, &mut html);
    html.raw(" <span>since <time data-at=\"").number(activity.first).raw("\"></time>");
    html.raw(if activity.is_connected { "</span></li>" } else { ", not connected</span></li>" });
    Part::new(id, html)
}

fn run(run: &SeenRun) -> Part<'static> {
    let id = format!("run-{}", digest(&run.id.as_str()));
    let mut html = Fragment::default();
    html.raw("<li class=\"v-run\"").attribute("id", &id).raw(">");
    if let Some(notebook) = &run.notebook {
        notebook_link(notebook, run.cell.as_ref().map(crate::cells::part_id).as_deref(), &mut html);
    }
    if let Some(cell) = &run.cell {
        html.raw(" <code>").text(&one_line(&cell.to_string())).raw("</code>");
    }
    html.raw(" <span class=\"v-state\">").text(run_state(&run.state)).raw("</span> ");
    if let Some(since) = run.since {
        elapsed(since, &mut html);
    }
    let line = run.source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    html.raw("<code class=\"v-line\">").text(&one_line(line)).raw("</code>");
    controls(run, &mut html);
    html.raw("</li>");
    Part::new(id, html)
}

/// What a person can do to a run.
pub(crate) fn controls(run: &SeenRun, html: &mut Fragment) {
    if let RunState::WaitingForInput { prompt, is_password } = &run.state
        && run.takes_input
    {
        html.raw("<form class=\"v-answer\" data-do=\"answer\"")
            .attribute("data-run", run.id.as_str())
            .raw("><label>");
        let prompt = prompt.trim();
        html.text(if prompt.is_empty() { "The code waits for input:" } else { prompt })
            .raw(" <input name=\"line\"");
        html.raw(if *is_password { " type=\"password\"" } else { " type=\"text\"" });
        html.raw(" autocomplete=\"off\" spellcheck=\"false\"></label> <button>Answer</button></form>");
    }
    if !run.state.is_over() {
        html.raw("<button type=\"button\" data-do=\"interrupt\"").attribute("data-run", run.id.as_str());
        html.raw(">Interrupt</button>");
    }
}

fn kernel(kernel: &SeenKernel) -> Part<'static> {
    let id = format!("kernel-{}", digest(&kernel.id));
    let mut html = Fragment::default();
    html.raw("<li class=\"v-kernel\"").attribute("id", &id).raw(">");
    if let Some(notebook) = &kernel.notebook {
        notebook_link(notebook, None, &mut html);
        html.raw(" ");
    }
    html.raw("<span>").text(&one_line(&kernel.display_name)).raw("</span> <span class=\"v-state\">");
    html.text(&one_line(&kernel.state)).raw("</span>");
    if let Some(bytes) = kernel.memory {
        html.raw(" <span>").text(&size(bytes)).raw("</span>");
    }
    if let Some(at) = kernel.started_at {
        html.raw(" <span>started <time data-ago=\"").number(millis(at)).raw("\"></time></span>");
    }
    html.raw(" <span>").text(&match kernel.servers {
        0 => "no program connected".to_owned(),
        1 => "1 program connected".to_owned(),
        count => format!("{count} programs connected"),
    });
    html.raw("</span></li>");
    Part::new(id, html)
}

fn notebook_list(found: &FoundNotebooks) -> Vec<Part<'static>> {
    let mut parts: Vec<_> = found
        .paths
        .iter()
        .map(|path| {
            let id = format!("notebook-{}", digest(&path.as_str()));
            let mut html = Fragment::default();
            html.raw("<li").attribute("id", &id).raw(">");
            notebook_link(path, None, &mut html);
            html.raw("</li>");
            Part::new(id, html)
        })
        .collect();
    let more = match found.extent {
        SearchExtent::Complete if parts.is_empty() => Some("There are no notebooks here."),
        SearchExtent::Complete => None,
        SearchExtent::Truncated => Some("There are more; open them with their path."),
        SearchExtent::InProgress => Some("The search is still running."),
    };
    if let Some(more) = more {
        let mut html = Fragment::default();
        html.raw("<li id=\"notebooks-more\" class=\"v-none\">").text(more).raw("</li>");
        parts.push(Part::new("notebooks-more".to_owned(), html));
    }
    parts
}

/// A link that opens a notebook on the page, at a cell if one is given.
fn notebook_link(path: &NotebookPath, part: Option<&str>, html: &mut Fragment) {
    html.raw("<a href=\"#\" class=\"v-open\"").attribute("data-notebook", path);
    if let Some(part) = part {
        html.attribute("data-part", part);
    }
    html.raw(">").text(&one_line(path)).raw("</a>");
}
