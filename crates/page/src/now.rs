//! What happens now: runs, kernels and notebooks.

use html::Fragment;
use notebook::{CellId, one_line, visible};
use place::{FoundNotebooks, RunId, RunState, SearchExtent};

use crate::hub::SeenAgent;
use crate::kernels::{SeenKernel, SeenRun, SeenSource};
use crate::parts::{Part, Section, digest};
use crate::questions::{OpenQuestion, Question};
use crate::tabs::OpenTab;
use crate::words::{ago, button, elapsed, millis, run_state, size};
use workspace::BlobId;

/// The time of the last read is shown in steps of this many milliseconds.
const READ_GRAIN: u64 = 10_000;

/// The sections about now.
pub(crate) fn sections(
    kernels: &[SeenKernel],
    notebooks: &FoundNotebooks,
    agents: &[SeenAgent],
    tabs: &[OpenTab],
) -> [Section<'static>; 4] {
    let runs = kernels.iter().flat_map(|kernel| &kernel.runs).filter(|run| !run.state.is_over());
    [
        section("runs", runs.map(run).collect(), "Nothing is running."),
        section(
            "agents",
            agents.iter().map(|it| agent(it, tabs)).collect(),
            "No agent has changed anything.",
        ),
        section("kernels", kernels.iter().map(kernel).collect(), "No kernel is running."),
        Section { name: "notebooks", parts: notebook_list(notebooks, tabs) },
    ]
}

/// The questions that wait for the person.
pub(crate) fn questions(open: &[OpenQuestion]) -> Section<'static> {
    section("questions", open.iter().map(question).collect(), "Nothing waits for your answer.")
}

fn question(open: &OpenQuestion) -> Part<'static> {
    let id = format!("question-{}", open.number);
    let Question { client, text, asked_at, input: _ } = &open.question;
    let (client, shown) = (one_line(client.trim()), question_digest(&open.question));
    let number = open.number.to_string();
    Part::item(id, "v-question", |html| {
        html.raw("<p>")
            .text(if client.is_empty() { "An agent" } else { &client })
            .raw(" asks for your consent, ");
        ago(millis(*asked_at), html);
        html.raw("</p><pre tabindex=\"0\">").text(&visible(text)).raw("</pre><p class=\"v-actions\">");
        for (action, label) in [("accept", "Accept"), ("decline", "Decline")] {
            // The script enables them once the question has stood still.
            let data = [("data-shown", &*shown), ("data-question", &number), ("disabled", "")];
            button(action, label, &data, html);
            html.raw(" ");
        }
        html.raw("</p>");
    })
}

/// Tells what a person was asked from everything else that could be asked.
pub(crate) fn question_digest(Question { client, text, .. }: &Question) -> String {
    BlobId::of(format!("{client}\0{text}").as_bytes()).as_str().to_owned()
}

/// The same for the line for which a run waits.
pub(crate) fn prompt_digest(run: &RunId, prompt: &str, is_password: bool) -> String {
    BlobId::of(format!("{run}\0{is_password}\0{prompt}").as_bytes()).as_str().to_owned()
}

/// A section, which has one part even if there is nothing in it.
pub(crate) fn section(name: &'static str, mut parts: Vec<Part<'static>>, none: &str) -> Section<'static> {
    if parts.is_empty() {
        parts.push(Part::none(&format!("{name}-none"), none));
    }
    Section { name, parts }
}

fn agent(agent: &SeenAgent, tabs: &[OpenTab]) -> Part<'static> {
    let SeenAgent { notebook, activity } = agent;
    let id = format!("agent-{}", digest(&(&activity.agent, &activity.session, &activity.notebook)));
    let cell = activity.cell.as_deref().map(CellId::from);
    let part = cell.as_ref().map(crate::cells::part_id);
    let tab = tabs.iter().find(|tab| tab.identity == activity.notebook);
    Part::item(id, "v-agent", |html| {
        html.raw("<strong>").text(&one_line(&activity.agent)).raw("</strong> ");
        match (notebook, tab) {
            (Some(path), _) => link(None, path, part.as_deref(), html),
            (None, Some(tab)) => link(Some(&tab.root), &tab.path, part.as_deref(), html),
            (None, None) => drop(html.text(&one_line(&activity.notebook))),
        }
        if let Some(cell) = &activity.cell {
            html.raw(" <code>").text(&one_line(cell)).raw("</code>");
        }
        html.raw(" <span>").text(&one_line(&activity.tool)).raw("</span> ");
        ago(activity.last, html);
        html.raw(" <span>since <time data-at=\"").number(activity.first).raw("\"></time>");
        html.raw(if activity.is_connected { "</span>" } else { ", not connected</span>" });
    })
}

fn run(run: &SeenRun) -> Part<'static> {
    let id = format!("run-{}", digest(&run.id.as_str()));
    Part::item(id, "v-run", |html| {
        if let Some(notebook) = &run.notebook {
            link(None, notebook, run.cell.as_ref().map(crate::cells::part_id).as_deref(), html);
        }
        if let Some(cell) = &run.cell {
            html.raw(" <code>").text(&one_line(&cell.to_string())).raw("</code>");
        }
        html.raw(" <span class=\"v-state\">").text(run_state(&run.state)).raw("</span> ");
        if let Some(since) = run.since {
            elapsed(since, html);
        }
        let line = run.source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        html.raw("<code class=\"v-line\">").text(&one_line(line)).raw("</code>");
        controls(run, html);
    })
}

/// What a person can do to a run.
pub(crate) fn controls(run: &SeenRun, html: &mut Fragment) {
    if let RunState::WaitingForInput { prompt, is_password } = &run.state
        && run.takes_input
    {
        html.raw("<form class=\"v-answer\" data-do=\"answer\"")
            .attribute("data-run", run.id.as_str())
            .attribute("data-shown", &prompt_digest(&run.id, prompt, *is_password))
            .raw("><label>");
        let prompt = visible(prompt.trim());
        html.text(if prompt.is_empty() { "The code waits for input:" } else { &prompt })
            .raw(" <input name=\"line\"");
        html.raw(if *is_password { " type=\"password\"" } else { " type=\"text\"" });
        html.raw(" autocomplete=\"off\" spellcheck=\"false\"></label> <button>Answer</button></form>");
    }
    if !run.state.is_over() && run.is_interruptible {
        button("interrupt", "Interrupt", &[("data-run", run.id.as_str())], html);
    }
}

fn kernel(kernel: &SeenKernel) -> Part<'static> {
    let id = format!("kernel-{}", digest(&kernel.id));
    Part::item(id, "v-kernel", |html| {
        if let Some(notebook) = &kernel.notebook {
            link(None, notebook, None, html);
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
        let servers = format!("programs connected: {}", kernel.servers);
        html.raw(" <span>").text(&servers).raw("</span>");
    })
}

fn notebook_list(found: &FoundNotebooks, tabs: &[OpenTab]) -> Vec<Part<'static>> {
    let here = found.paths.iter().map(|path| {
        let id = format!("notebook-{}", digest(&path.as_str()));
        Part::item(id, "", |html| link(None, path, None, html))
    });
    let in_tabs = tabs.iter().map(|tab| {
        Part::item(format!("tab-{}", digest(&(&tab.root, &tab.path))), "", |html| {
            link(Some(&tab.root), &tab.path, None, html);
            html.raw(" <span>in a Colab tab</span>");
        })
    });
    let mut parts: Vec<_> = here.chain(in_tabs).collect();
    let more = match found.extent {
        SearchExtent::Complete if parts.is_empty() => Some("There are no notebooks here."),
        SearchExtent::Complete => None,
        SearchExtent::Truncated => Some("There are more; open them with their path."),
        SearchExtent::InProgress => Some("The search is still running."),
    };
    parts.extend(more.map(|more| Part::none("notebooks-more", more)));
    parts
}

/// How the notebook of the page is known, if that is not at once.
pub(crate) fn source(source: Option<SeenSource>) -> Section<'static> {
    let part = |SeenSource { read_at, is_connected }: SeenSource| {
        let mut html = Fragment::default();
        html.raw("<p id=\"source-tab\" class=\"v-none\">").text(if is_connected {
            "The notebook of a Colab tab, as the agent's server read it last, "
        } else {
            "The Colab tab is not connected. The page shows what the agent's server read last, "
        });
        // A page that is up to date has nothing to change.
        let at = millis(read_at);
        ago(at - at % READ_GRAIN, &mut html);
        html.raw(".</p>");
        Part::new("source-tab".to_owned(), html)
    };
    Section { name: "source", parts: source.map(part).into_iter().collect() }
}

/// A link that opens a notebook on the page, at a cell if one is given, below another root if that is given, such as one of a tab.
fn link(root: Option<&str>, path: &str, part: Option<&str>, html: &mut Fragment) {
    html.raw("<a href=\"#\" class=\"v-open\"");
    for (name, value) in [("data-root", root), ("data-notebook", Some(path)), ("data-part", part)] {
        value.map(|value| html.attribute(name, value));
    }
    html.raw(">").text(&one_line(path)).raw("</a>");
}
