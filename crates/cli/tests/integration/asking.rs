//! `--ask`: the person is asked before calls, in both eras, and nothing escapes.

use std::fs;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Agent, Endpoint, Message, Program};

use crate::allowed::{CALLS, Client, EDITING, OF_COLAB, OTHER_CALLS, READING, RUNNING, names, start, text};
use crate::bridge::{Bridge, LIST_CHANGED, PROGRAM, Served};

const ALL: [&str; 2] = ["--ask", "edit,run,files,kernels,delete,colab"];
const CANNOT_ASK: &str = "needs the person's consent, and this client cannot ask";
const OVERWRITE: (&str, &str) =
    ("overwrite_cell_source", r#"{"notebook_name":"a.ipynb","cell_index":0,"cell_source":"new"}"#);

/// A client of the older era that shows its person forms.
async fn with_forms(options: &[&str]) -> Result<Client> {
    let mut client = Client::silent(options, &[])?;
    client.agent.initialize_with_forms("2025-11-25").await?;
    Ok(client)
}

fn message_of(question: &Message) -> Result<String> {
    let params = question.params_value()?;
    assert_eq!((&params["mode"], &params["requestedSchema"]["properties"]), (&json!("form"), &json!({})));
    params["message"].as_str().map(str::to_owned).context("no message")
}

/// Makes a call about which the person is asked, and replies so; returns the question and the result.
async fn reply(agent: &mut Agent, call: (&str, &str), action: &str) -> Result<(String, Value)> {
    let id = agent.start_call(call.0, call.1).await?;
    let question = agent.wait_request("elicitation/create").await?;
    agent.respond(&question, json!({ "action": action })).await?;
    let result = agent.wait_response(id).await?.result_value()?;
    agent.assert_quiet().await?;
    Ok((message_of(&question)?, result))
}

async fn assert_cannot_ask(agent: &mut Agent, call: (&str, &str)) -> Result<()> {
    let refusal = agent.call_tool_expecting_failure(call.0, call.1).await?;
    assert!(refusal.contains(CANNOT_ASK), "{call:?}: {refusal}");
    Ok(())
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_refused_what_the_person_must_be_asked_about() -> Result<()> {
    for variables in [&[][..], &[("CELLBRIDGE_ASK", "edit, run,files,kernels,delete")]] {
        let options = if variables.is_empty() { &ALL[..] } else { &[] };
        let mut client = Client::start_with(options, variables).await?;
        let before = client.files()?;
        let all = names(&mut client.agent).await?;
        assert_eq!(all.len(), CALLS.len() + OF_COLAB.len(), "all are listed");
        for call in CALLS.into_iter().filter(|(tool, _)| !READING.contains(tool)).chain(OTHER_CALLS) {
            assert_cannot_ask(&mut client.agent, call).await?;
        }
        for (tool, arguments) in CALLS.iter().filter(|(tool, _)| READING.contains(tool)) {
            let result = client.agent.call_tool(tool, arguments).await?;
            assert_eq!(result["isError"], false, "{tool}: {result}");
        }
        assert_eq!(client.files()?, before);
        client.assert_no_kernel().await?;
    }
    Ok(())
}

/// Waits until this holds.
#[cfg(unix)]
async fn eventually(what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
    let held = async {
        while !holds()? {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        anyhow::Ok(())
    };
    testkit::within(what, held).await?
}

#[cfg(unix)]
#[tokio::test]
async fn a_page_answers_for_a_client_that_cannot_ask_and_beside_one_that_can() -> Result<()> {
    use page::{Answer, OpenQuestions};

    /// What the page shows as soon as it shows something.
    async fn shown(page: &OpenQuestions) -> Result<page::OpenQuestion> {
        let mut changes = page.changes();
        loop {
            if let Some(open) = page.all().pop() {
                return Ok(open);
            }
            changes.changed().await?;
        }
    }

    let home = tempfile::tempdir()?;
    let state = home.path().to_str().context("a path")?;
    let variables = [("XDG_STATE_HOME", state)];
    let page = OpenQuestions::default();
    let pages = page::folder_of_pages(&home.path().join("cellbridge"));
    let listener = page::private_socket::listen(&pages, home.path())?;
    let asking = async {
        let mut client = Client::start_with(&["--ask", "edit"], &variables).await?;
        for (answer, expected) in
            [(Answer::Declined, "The person declined"), (Answer::Accepted, "saved to disk")]
        {
            let id = client.agent.start_call(OVERWRITE.0, OVERWRITE.1).await?;
            let open = shown(&page).await?;
            assert!(open.question.text.contains("new") && !open.question.client.is_empty(), "{open:?}");
            assert!(page.answer(open.number, answer));
            let said = text(&client.agent.wait_response(id).await?.result_value()?)?;
            assert!(said.contains(expected), "{said}");
        }

        let mut client = Client::silent(&["--ask", "edit"], &variables)?;
        client.agent.initialize_with_forms("2025-11-25").await?;
        let id = client.agent.start_call(OVERWRITE.0, OVERWRITE.1).await?;
        client.agent.wait_request("elicitation/create").await?;
        assert!(page.answer(shown(&page).await?.number, Answer::Accepted));
        let said = text(&client.agent.wait_response(id).await?.result_value()?)?;
        assert!(said.contains("saved to disk"), "{said}");

        let mut client = Client::silent(&["--ask", "edit"], &variables)?;
        client.agent.initialize_with_forms("2025-11-25").await?;
        let (_, result) = reply(&mut client.agent, OVERWRITE, "accept").await?;
        assert!(text(&result)?.contains("saved to disk") && page.all().is_empty(), "{result}");

        // In the 2026-07-28 era the question waits with the call; the first answer counts there, too.
        let mut client = Client::silent(&["--ask", "edit"], &variables)?;
        let before = client.files()?;
        for (answer, expected) in [(None, "The person declined"), (Some(Answer::Accepted), "saved to disk")] {
            let asked = client.agent.request("tools/call", modern(OVERWRITE, None)?).await?;
            let open = shown(&page).await?;
            if let Some(answer) = answer {
                assert!(page.answer(open.number, answer));
                eventually("the edit", || Ok(client.files()? != before)).await?;
            }
            let again = modern(OVERWRITE, Some((&asked["requestState"], "decline")))?;
            let said = text(&client.agent.request("tools/call", &again).await?)?;
            assert!(said.contains(expected), "{said}");
            eventually("the end of the question", || Ok(page.all().is_empty())).await?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        () = listener.serve(page::question_routes(page.clone())) => unreachable!("it serves until it is dropped"),
        done = asking => done?,
    }
    // The page is gone.
    let mut client = Client::start_with(&["--ask", "edit"], &variables).await?;
    assert_cannot_ask(&mut client.agent, OVERWRITE).await
}

#[tokio::test]
async fn nobody_is_asked_about_a_preview() -> Result<()> {
    let mut client = Client::start(&ALL).await?;
    let before = client.files()?;
    // A plan of packages starts the kernel, and what only reads has no preview.
    let has_none = ["add_packages", "list_variables", "inspect_variable"];
    for (tool, arguments) in CALLS.into_iter().filter(|(tool, _)| !has_none.contains(tool)) {
        let mut arguments: Value = serde_json::from_str(arguments)?;
        arguments["preview"] = true.into();
        let result = client.agent.call_tool(tool, &arguments.to_string()).await?;
        assert!(!text(&result)?.contains(CANNOT_ASK), "{tool}: {result}");
    }
    assert_eq!(client.files()?, before);
    client.assert_no_kernel().await
}

#[tokio::test]
async fn each_group_is_asked_about() -> Result<()> {
    let edit = [&EDITING[..], &["copy_notebook", "insert_execute_code_cell"]].concat();
    let run = [&RUNNING[..], &["restart_notebook", "insert_execute_code_cell"]].concat();
    for (group, asked) in [
        ("edit", &edit[..]),
        ("run", &run),
        ("delete", &["restart_notebook", "delete_cell", "clear_cell_output", "undo"]),
        ("kernels", &["restart_notebook", "list_variables", "inspect_variable"]),
        ("files", &["copy_notebook", "copy_file", "open_in_browser"]),
        ("move_cell,list_files", &["list_files", "move_cell"]),
        ("execute_ipython", &["execute_code"]),
        ("colab", &[]),
    ] {
        let mut client = Client::start(&["--ask", group]).await?;
        for (tool, arguments) in CALLS {
            let result = client.agent.call_tool(tool, arguments).await?;
            let is_asked = text(&result)?.contains(CANNOT_ASK);
            // The operator has not named its address.
            let is_expected = asked.contains(&tool) || tool == "connect_to_jupyter";
            assert_eq!(is_asked, is_expected, "{group} {tool}: {result}");
        }
        // A tool of the page may do what was meant by any of these.
        assert_cannot_ask(&mut client.agent, ("call_colab_tool", r#"{"name":"run_code_cell"}"#)).await?;
    }
    Ok(())
}

/// What each tool that may run code, as its annotations say, would run in a call of [`CALLS`].
const SOURCES: [(&str, &str); 10] = [
    ("edit_cells", "new"),
    ("insert_cell", "new"),
    ("overwrite_cell_source", "new"),
    ("edit_cell_source", "one, one"),
    ("execute_cell", "one"),
    ("insert_execute_code_cell", "new"),
    ("run_cells", "one"),
    ("verify_notebook", "one"),
    ("execute_code", "1"),
    ("answer_input", "x"),
];

#[tokio::test]
async fn the_person_sees_the_source_of_whatever_runs() -> Result<()> {
    let mut client = with_forms(&["--ask", "run"]).await?;
    let before = client.files()?;
    let list = client.agent.request("tools/list", "{}").await?;
    let tools = list["tools"].as_array().context("no tools")?;
    let runs = |tool: &&Value| {
        let hints = &tool["annotations"];
        hints["openWorldHint"] == true && hints["destructiveHint"] == true
    };
    // A tool of the page may do anything, and that of packages shows its plan.
    let others = [&OF_COLAB[..], &["add_packages"]].concat();
    let names: Vec<&str> = tools.iter().filter(runs).filter_map(|tool| tool["name"].as_str()).collect();
    for name in names.into_iter().filter(|name| !others.contains(name)) {
        let (_, source) = SOURCES.iter().find(|(tool, _)| *tool == name).context(name.to_owned())?;
        let (_, arguments) = CALLS.iter().find(|(tool, _)| *tool == name).context(name.to_owned())?;
        let mut arguments: Value = serde_json::from_str(arguments)?;
        if ["insert_cell", "overwrite_cell_source", "edit_cell_source"].contains(&name) {
            arguments["run"] = true.into();
        }
        if name == "edit_cells" {
            arguments["run_stale"] = true.into();
        }
        let (question, result) = reply(&mut client.agent, (name, &arguments.to_string()), "decline").await?;
        assert!(question.contains(&format!(":\n        {source}\n")), "{name}: {question}");
        assert!(text(&result)?.contains("The person declined"), "{name}: {result}");
    }
    assert_eq!(client.files()?, before);
    client.assert_no_kernel().await
}

#[tokio::test]
async fn a_plan_of_packages_is_not_asked_about_without_the_plan() -> Result<()> {
    for group in ["run", "kernels"] {
        let mut client = with_forms(&["--ask", group]).await?;
        let packages = ("add_packages", r#"{"notebook_name":"a.ipynb","packages":["six"]}"#);
        // Planning starts the kernel, which runs files of its environment.
        let (question, result) = reply(&mut client.agent, packages, "decline").await?;
        assert!(question.contains("start the kernel of a.ipynb") && !question.contains("six"), "{question}");
        assert!(text(&result)?.contains("The person declined"), "{result}");
        // There is no Python here, so there is no plan, and no second question.
        let (_, result) = reply(&mut client.agent, packages, "accept").await?;
        assert_eq!(result["isError"], true, "{result}");
        client.agent.assert_quiet().await?;
    }
    Ok(())
}

#[tokio::test]
async fn words_of_an_agent_cannot_pass_for_the_question() -> Result<()> {
    let mut client = with_forms(&["--ask", "edit,run,files"]).await?;
    let foreign = "x\nAllow it?\r\u{1b}[2K\u{202e}";
    for (tool, name, others) in [
        ("execute_code", "code", json!({})),
        ("insert_cell", "cell_source", json!({ "notebook_name": "a.ipynb", "cell_type": "markdown" })),
        ("copy_file", "to", json!({ "from": "a.ipynb" })),
        ("checkpoint", "name", json!({ "notebook_name": "a.ipynb" })),
    ] {
        let mut arguments = others;
        arguments[name] = foreign.into();
        let (question, _) = reply(&mut client.agent, (tool, &arguments.to_string()), "decline").await?;
        assert!(question.contains("\nThe agent says:\n    "), "{tool}: {question}");
        assert!(question.contains("\n        Allow it?\\u{d}\\u{1b}[2K\\u{202e}\n"), "{tool}: {question}");
    }
    Ok(())
}

#[tokio::test]
async fn what_arguments_ask_for_is_asked_about_too() -> Result<()> {
    let mut client = Client::start(&["--ask", "run,delete,files,kernels"]).await?;
    let before = client.files()?;
    for tool in ["insert_cell", "overwrite_cell_source", "edit_cell_source"] {
        let (_, values) = CALLS.iter().find(|(name, _)| *name == tool).context(tool)?;
        assert_cannot_ask(&mut client.agent, (tool, &values.replacen('{', r#"{"run":true,"#, 1))).await?;
    }
    let cell = r#""notebook_name":"a.ipynb","cell_index":0"#;
    for change in [r#""merge_with_next":true"#, r#""cell_type":"raw""#] {
        assert_cannot_ask(&mut client.agent, ("change_cell", &format!("{{{cell},{change}}}"))).await?;
    }
    for call in OTHER_CALLS.into_iter().filter(|(tool, _)| *tool == "use_notebook") {
        assert_cannot_ask(&mut client.agent, call).await?;
    }
    let opened = client.agent.call_tool("use_notebook", r#"{"notebook_path":"a.ipynb"}"#).await?;
    assert!(text(&opened)?.contains("No kernel was chosen"), "choosing one may install Python: {opened}");
    assert_eq!(client.files()?, before);
    Ok(())
}

#[tokio::test]
async fn a_copy_that_replaces_something_is_asked_about_as_deleting() -> Result<()> {
    let mut client = Client::start(&["--ask", "delete"]).await?;
    for (tool, to) in [("copy_file", "copied.bin"), ("copy_notebook", "copied.ipynb")] {
        let copy = format!(r#"{{"from":"a.ipynb","to":"{to}"}}"#);
        let result = client.agent.call_tool(tool, &copy).await?;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        assert_cannot_ask(&mut client.agent, (tool, &copy.replacen('{', r#"{"overwrite":true,"#, 1))).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_copy_that_a_later_start_executes_is_a_run() -> Result<()> {
    let executed = [
        ".venv/lib/python3.12/site-packages/x.pth",
        "./.venv/x.pth",
        "sitecustomize.py",
        "kernels/x/kernel.json",
        ".hidden",
        "linked/x.pth",
        "tools/etc/settings.json",
        "Dockerfile",
        "CLAUDE.md",
        "model.pkl",
        "conda/x.dat",
        #[cfg(unix)]
        "launch",
    ];
    let link = |folder: &std::path::Path| -> Result<()> {
        fs::create_dir_all(folder.join(".venv/lib"))?;
        fs::create_dir_all(folder.join("tools/etc"))?;
        fs::write(folder.join("tools/pyvenv.cfg"), "")?;
        fs::create_dir_all(folder.join("conda/conda-meta"))?;
        fs::write(folder.join("conda/conda-meta/history"), "")?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(folder.join("launch"), "")?;
            fs::set_permissions(folder.join("launch"), fs::Permissions::from_mode(0o755))?;
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(".venv", folder.join("linked"))?;
        #[cfg(not(unix))]
        fs::create_dir_all(folder.join("linked"))?;
        Ok(())
    };
    let asking = Client::start(&["--ask", "run"]).await?;
    let offering = Client::start(&["--tools", "read,files"]).await?;
    for (mut client, refusal) in [(asking, CANNOT_ASK), (offering, "offers agents only")] {
        link(client.folder.path())?;
        let before = client.files()?;
        for to in executed {
            let copy = json!({ "from": "a.ipynb", "to": to, "overwrite": true }).to_string();
            let refused = client.agent.call_tool_expecting_failure("copy_file", &copy).await?;
            assert!(refused.contains(refusal), "{to}: {refused}");
        }
        assert_eq!(client.files()?, before);
        let data = r#"{"from":"a.ipynb","to":"data/a.csv"}"#;
        assert_eq!(client.agent.call_tool("copy_file", data).await?["isError"], false);
    }
    Ok(())
}

#[tokio::test]
async fn code_that_is_sent_as_text_of_a_list_is_shown_whole() -> Result<()> {
    let mut client = with_forms(&["--ask", "run,edit"]).await?;
    let code = format!("{}\nevil()", "x = 1\n".repeat(300));
    let cells = json!([{ "type": "code", "source": code }]).to_string();
    let edits = json!([{ "cell_index": 0, "cell_source": code }]).to_string();
    for (tool, arguments) in [
        ("insert_cell", json!({ "notebook_name": "a.ipynb", "cells": cells, "run": true })),
        ("edit_cells", json!({ "notebook_name": "a.ipynb", "edits": edits, "run_stale": true })),
    ] {
        let (question, _) = reply(&mut client.agent, (tool, &arguments.to_string()), "decline").await?;
        assert!(question.contains("source:\n        x = 1\n"), "{tool}: {question}");
        assert!(
            question.contains("\n        evil()\n") && !question.contains("are not shown"),
            "{tool}: {question}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_merge_shows_both_cells() -> Result<()> {
    let mut client = with_forms(&["--ask", "edit"]).await?;
    let merge = r#"{"notebook_name":"a.ipynb","cell_index":0,"merge_with_next":true}"#;
    let (question, _) = reply(&mut client.agent, ("change_cell", merge), "decline").await?;
    assert!(question.contains("\n        one\n") && question.contains("\n        two\n"), "{question}");
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_copy_shows_where_it_leads_and_what_it_holds() -> Result<()> {
    let mut client = with_forms(&["--ask", "run,files"]).await?;
    let folder = client.folder.path().to_owned();
    fs::create_dir_all(folder.join(".venv/lib"))?;
    std::os::unix::fs::symlink(".venv/lib", folder.join("data"))?;
    fs::write(folder.join("a.txt"), "import shown\n")?;
    let copy = ("copy_file", r#"{"from":"a.txt","to":"data/x.pth"}"#);
    let id = client.agent.start_call(copy.0, copy.1).await?;
    let question = client.agent.wait_request("elicitation/create").await?;
    let shown = message_of(&question)?;
    for part in [".venv/lib/x.pth", "it is in an environment", "\n        import shown\n"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    fs::write(folder.join("a.txt"), "import other\n")?;
    client.agent.respond(&question, r#"{"action":"accept"}"#).await?;
    let refusal = client.agent.wait_failure(id).await?;
    assert!(refusal.contains("changed after the person was asked"), "{refusal}");
    assert!(!folder.join(".venv/lib/x.pth").exists());
    let (_, copied) = reply(&mut client.agent, copy, "accept").await?;
    assert!(text(&copied)?.contains("Copied"), "{copied}");
    let overwriting = ("copy_notebook", r#"{"from":"a.ipynb","to":"b.ipynb","overwrite":true}"#);
    fs::write(folder.join("b.ipynb"), fs::read_to_string(folder.join("a.ipynb"))?.replace("one", "three"))?;
    let (question, copied) = reply(&mut client.agent, overwriting, "accept").await?;
    assert!(question.contains("replace the cells of b.ipynb") && question.contains("-three"), "{question}");
    assert!(text(&copied)?.contains("Copied"), "{copied}");
    Ok(())
}

#[tokio::test]
async fn the_person_sees_a_call_and_decides() -> Result<()> {
    let mut client = with_forms(&ALL).await?;
    let before = client.files()?;
    for (action, expected) in
        [("decline", "The person declined overwrite_cell_source."), ("cancel", "did not accept")]
    {
        let (question, result) = reply(&mut client.agent, OVERWRITE, action).await?;
        assert_eq!(
            question,
            "Allow the agent to call overwrite_cell_source?\nnotebook: a.ipynb\nThe agent says:\n    cell_source:\n        new\n    \
             notebook_name: a.ipynb\n    cell_index: 0\nThe notebook has:\n    cell 0 (code, id a):\n        one\n"
        );
        assert_eq!(result["isError"], true);
        assert!(text(&result)?.contains(expected) && text(&result)?.contains("Nothing was done"), "{result}");
        assert_eq!(client.files()?, before);
    }
    let (_, result) = reply(&mut client.agent, OVERWRITE, "accept").await?;
    assert!(text(&result)?.contains("overwritten successfully"), "{result}");
    // Consent is given for one call.
    let deleting = ("delete_cell", r#"{"notebook_name":"a.ipynb","cell_indices":[0,1]}"#);
    let (question, result) = reply(&mut client.agent, deleting, "accept").await?;
    assert!(
        question.contains("id a):\n        new\n") && question.contains("id b):\n        two\n"),
        "{question}"
    );
    assert_eq!(result["isError"], false, "{result}");
    // Once, although it edits and runs; there is no kernel.
    let running = r#"{"notebook_name":"a.ipynb","cell_type":"code","cell_source":"x","run":true}"#;
    let (question, result) = reply(&mut client.agent, ("insert_cell", running), "accept").await?;
    assert!(question.contains("run: true\n"), "{question}");
    assert!(text(&result)?.contains("[NOT RUN]"), "{result}");
    Ok(())
}

#[tokio::test]
async fn a_call_that_cannot_succeed_is_not_asked_about() -> Result<()> {
    let mut client = with_forms(&ALL).await?;
    for call in [
        ("execute_cell", r#"{"notebook_name":"none.ipynb","cell_index":0}"#),
        ("execute_cell", r#"{"notebook_name":"a.ipynb","cell_index":7}"#),
    ] {
        client.agent.call_tool_expecting_failure(call.0, call.1).await?;
        client.agent.assert_quiet().await?;
    }
    Ok(())
}

#[tokio::test]
async fn arguments_are_checked_before_the_person_is_asked() -> Result<()> {
    let mut client = with_forms(&ALL).await?;
    for (tool, arguments) in [
        ("insert_cell", r#"{"cell_source":"x"}"#),
        ("insert_cell", r#"{"cell_type":"markdown","cell_source":"x","run":true}"#),
        ("insert_cell", r#"{"cells":[{"cell_type":"none","cell_source":"x"}]}"#),
        ("edit_cells", r#"{"rename":"a"}"#),
        ("edit_cells", "{}"),
        ("edit_cell_source", r#"{"cell_index":0,"old_string":"","new_string":"x"}"#),
        ("edit_cell_source", r#"{"cell_index":0,"old_string":"x","new_string":"x"}"#),
        ("overwrite_cell_source", r#"{"cell_source":"x"}"#),
        ("overwrite_cell_source", r#"{"cell_index":-1,"cell_source":"x"}"#),
        ("change_cell", r#"{"cell_index":0}"#),
        ("change_cell", r#"{"cell_index":0,"tags":["a,b"]}"#),
        ("change_cell", r#"{"cell_index":0,"metadata":{"trusted":true}}"#),
        ("change_cell", r#"{"cell_index":0,"duplicate":true,"tags":["a"]}"#),
        ("clear_cell_output", "{}"),
        ("delete_cell", "{}"),
        ("move_cell", r#"{"source_index":0}"#),
        ("execute_cell", "{}"),
        ("execute_cell", r#"{"cell_index":0,"timeout":"soon"}"#),
        ("run_cells", "{}"),
        ("undo", r#"{"last":0}"#),
        ("undo", r#"{"id":"first"}"#),
        ("checkpoint", r#"{"name":" "}"#),
        ("list_variables", r#"{"kinds":"other"}"#),
        ("list_variables", r#"{"sort":"other"}"#),
    ] {
        let mut arguments: Value = serde_json::from_str(arguments)?;
        arguments["notebook_name"] = "a.ipynb".into();
        client.agent.call_tool_expecting_failure(tool, &arguments.to_string()).await?;
        client.agent.assert_quiet().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_resource_needs_the_consent_to_the_tools_that_show_it() -> Result<()> {
    let read = |uri: &str| json!({ "uri": uri }).to_string();
    for (asked, uri) in [
        ("read_cell", "notebook://a.ipynb"),
        ("read_cell", "notebook://a.ipynb/cells/a"),
        ("read_notebook", "notebook://a.ipynb/cells/a"),
        ("get_run", "run://r1"),
        ("list_kernels", "kernel://k1"),
    ] {
        let mut client = Client::start(&["--ask", asked]).await?;
        for method in ["resources/read", "resources/subscribe"] {
            let answer = client.agent.exchange(method, &read(uri)).await?;
            assert!(answer.error()?.contains(CANNOT_ASK), "{asked} {method}: {}", answer.text);
        }
    }
    let mut client = Client::start(&["--ask", "get_run"]).await?;
    client.agent.request("resources/read", &read("notebook://a.ipynb")).await?;
    Ok(())
}

#[tokio::test]
async fn a_notebook_where_a_later_start_executes_files_is_a_run() -> Result<()> {
    let mut client = Client::start(&["--ask", "run"]).await?;
    fs::create_dir_all(client.folder.path().join("tools"))?;
    fs::write(client.folder.path().join("tools/pyvenv.cfg"), "")?;
    let before = client.files()?;
    let create = |path: &str| json!({ "notebook_path": path, "mode": "create" }).to_string();
    for path in [".venv/new.ipynb", ".ipython/profile_default/startup/new.ipynb", "tools/new.ipynb"] {
        assert_cannot_ask(&mut client.agent, ("use_notebook", &create(path))).await?;
    }
    assert_eq!(client.files()?, before);
    assert_eq!(client.agent.call_tool("use_notebook", &create("new.ipynb")).await?["isError"], false);
    Ok(())
}

#[tokio::test]
async fn what_changed_after_the_question_is_not_done() -> Result<()> {
    for (ask, call) in [
        ("delete", ("delete_cell", r#"{"notebook_name":"a.ipynb","cell_indices":[0]}"#)),
        ("run", ("execute_cell", r#"{"notebook_name":"a.ipynb","cell_index":0}"#)),
        ("run", ("run_cells", r#"{"notebook_name":"a.ipynb","all":true}"#)),
        ("run", ("verify_notebook", r#"{"notebook_name":"a.ipynb","confirm":true}"#)),
        // Here it asks because of what runs again.
        ("delete", ("verify_notebook", r#"{"notebook_name":"a.ipynb"}"#)),
        (
            "run",
            (
                "edit_cell_source",
                r#"{"notebook_name":"a.ipynb","cell_index":0,"old_string":"n","new_string":"m","run":true}"#,
            ),
        ),
    ] {
        let mut client = with_forms(&["--ask", ask]).await?;
        let id = client.agent.start_call(call.0, call.1).await?;
        let question = client.agent.wait_request("elicitation/create").await?;
        // Calls of the same agent wait for each other, so another program changes it.
        let file = client.folder.path().join("a.ipynb");
        let changed = fs::read_to_string(&file)?.replace(r#""source": "one""#, r#""source": "new""#);
        fs::write(&file, changed)?;
        client.agent.respond(&question, r#"{"action":"accept"}"#).await?;
        let refusal = client.agent.wait_failure(id).await?;
        assert!(refusal.contains("changed after the person was asked"), "{call:?}: {refusal}");
        let read = client.agent.call_tool("read_notebook", r#"{"notebook_name":"a.ipynb"}"#).await?;
        assert!(text(&read)?.contains("\tnew"), "{read}");
    }
    Ok(())
}

#[tokio::test]
async fn cells_run_in_the_order_in_which_they_were_shown() -> Result<()> {
    let mut client = with_forms(&["--ask", "run"]).await?;
    for tool in ["run_cells", "verify_notebook"] {
        let arguments = json!({ "notebook_name": "a.ipynb", "all": true, "confirm": true });
        let mut arguments = arguments.as_object().cloned().context("an object")?;
        arguments.remove(if tool == "run_cells" { "confirm" } else { "all" });
        let file = client.folder.path().join("a.ipynb");
        let mut both: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
        both["cells"][1] = both["cells"][0].clone();
        (both["cells"][0]["id"], both["cells"][1]["id"]) = ("a".into(), "b".into());
        fs::write(&file, both.to_string())?;
        let id = client.agent.start_call(tool, &Value::from(arguments).to_string()).await?;
        let question = client.agent.wait_request("elicitation/create").await?;
        let mut notebook: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
        notebook["cells"].as_array_mut().context("no cells")?.reverse();
        fs::write(&file, notebook.to_string())?;
        client.agent.respond(&question, r#"{"action":"accept"}"#).await?;
        let refusal = client.agent.wait_failure(id).await?;
        assert!(refusal.contains("order changed after the person was asked"), "{tool}: {refusal}");
    }
    Ok(())
}

#[tokio::test]
async fn a_question_ends_with_its_call() -> Result<()> {
    let mut client = with_forms(&ALL).await?;
    let before = client.files()?;
    let id = client.agent.start_call(OVERWRITE.0, OVERWRITE.1).await?;
    let question = client.agent.wait_request("elicitation/create").await?;
    client.agent.notify("notifications/cancelled", json!({ "requestId": id })).await?;
    let withdrawn = client.agent.wait_notification("notifications/cancelled").await?;
    assert_eq!(withdrawn.params_value()?["requestId"].to_string(), question.need_id()?);
    // A reply that comes too late changes nothing.
    client.agent.respond(&question, r#"{"action":"accept"}"#).await?;
    client.agent.request("ping", "{}").await?;
    assert_eq!(client.files()?, before);
    Ok(())
}

/// `_meta` of the 2026-07-28 era.
fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "testkit", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// The params of a call in the 2026-07-28 era; those of a repetition with the state and the person's reply.
fn modern(call: (&str, &str), again: Option<(&Value, &str)>) -> Result<Value> {
    let arguments: Value = serde_json::from_str(call.1)?;
    let mut params = json!({ "name": call.0, "arguments": arguments });
    params["_meta"] = meta(&json!({ "elicitation": { "form": {} } }));
    if let Some((state, action)) = again {
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ "person": { "action": action } });
    }
    Ok(params)
}

#[tokio::test]
async fn without_sessions_the_person_is_asked_between_two_calls() -> Result<()> {
    let mut client = Client::silent(&ALL, &[])?;
    let before = client.files()?;
    let agent = &mut client.agent;
    let asked = agent.request("tools/call", modern(OVERWRITE, None)?).await?;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["person"];
    assert_eq!(question["method"], "elicitation/create");
    assert!(
        question["params"]["message"].as_str().is_some_and(|text| text.contains("        new\n")),
        "{asked}"
    );
    let state = &asked["requestState"];
    let other =
        ("overwrite_cell_source", r#"{"notebook_name":"a.ipynb","cell_index":1,"cell_source":"new"}"#);
    let deleting = ("delete_cell", r#"{"notebook_name":"a.ipynb","cell_indices":[0]}"#);
    for (call, state) in [(other, state), (deleting, state), (OVERWRITE, &json!("forged"))] {
        let refused = agent.request("tools/call", modern(call, Some((state, "accept")))?).await?;
        assert_eq!(refused["isError"], true, "{call:?}: {refused}");
    }
    let declined = agent.request("tools/call", modern(OVERWRITE, Some((state, "decline")))?).await?;
    assert!(text(&declined)?.contains("The person declined"), "{declined}");
    let replayed = agent.request("tools/call", modern(OVERWRITE, Some((state, "accept")))?).await?;
    assert!(text(&replayed)?.contains("no longer open"), "{replayed}");
    assert_eq!(client.files()?, before);

    let agent = &mut client.agent;
    let asked = agent.request("tools/call", modern(OVERWRITE, None)?).await?;
    let again = modern(OVERWRITE, Some((&asked["requestState"], "accept")))?;
    let done = agent.request("tools/call", &again).await?;
    assert!(text(&done)?.contains("overwritten successfully"), "{done}");
    assert_eq!(done["resultType"], "complete");
    let replayed = agent.request("tools/call", &again).await?;
    assert!(text(&replayed)?.contains("no longer open"), "{replayed}");

    let mut unable = modern(OVERWRITE, None)?;
    unable["_meta"] = meta(&json!({}));
    let refused = agent.request("tools/call", unable).await?;
    assert!(text(&refused)?.contains(CANNOT_ASK), "{refused}");
    Ok(())
}

#[tokio::test]
async fn the_second_call_may_come_over_another_connection() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().display().to_string();
    let options = ["--no-browser", "--root", &root, "--ask", "files", "--token=secret"];
    let served = Served::start_with(&options).await?;
    let endpoint = || Endpoint::new(served.bare_url()).with_bearer("secret");
    let call = r#""name":"use_notebook","arguments":{"notebook_path":"new.ipynb","mode":"create"}"#;
    let asked = endpoint().post_modern_with_forms(1, "tools/call", call).await?.message().await?;
    let asked = asked.result_value()?;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(!folder.path().join("new.ipynb").exists());
    let again = format!(
        r#"{call},"requestState":{},"inputResponses":{{"person":{{"action":"accept"}}}}"#,
        asked["requestState"]
    );
    let done = endpoint().post_modern_with_forms(2, "tools/call", &again).await?.message().await?;
    assert!(done.result()?.contains("Created new.ipynb"), "{}", done.text);
    assert!(folder.path().join("new.ipynb").exists());
    Ok(())
}

#[tokio::test]
async fn under_read_only_a_reply_completes_nothing() -> Result<()> {
    let mut client = Client::silent(&[&ALL[..], &["--read-only"]].concat(), &[])?;
    let before = client.files()?;
    for call in CALLS.into_iter().filter(|(tool, _)| !READING.contains(tool)) {
        let first = client.agent.request("tools/call", modern(call, None)?).await?;
        assert!(text(&first)?.contains("lets agents only read"), "{call:?}: {first}");
        let again = modern(call, Some((&json!("forged"), "accept")))?;
        let again = client.agent.request("tools/call", again).await?;
        assert_eq!((&again["isError"], &again["resultType"]), (&json!(true), &json!("complete")), "{again}");
    }
    assert_eq!(client.files()?, before);
    Ok(())
}

#[tokio::test]
async fn calls_of_a_page_are_asked_about() -> Result<()> {
    let mut agent = Agent::start(PROGRAM, &["colab", "--no-browser", "--ask", "run"])?;
    agent.initialize_with_forms("2025-11-25").await?;
    let connection = testkit::Connection::ask(&mut agent).await?;
    let mut bridge = Bridge { agent, connection };
    let mut tab = testkit::Tab::connect(&bridge.connection).await?;
    tab.open().await?;
    bridge.agent.wait_notification(LIST_CHANGED).await?;
    let running = ("run_code_cell", r#"{"cellId":"a"}"#);
    let by_name = ("call_colab_tool", r#"{"name":"run_code_cell","arguments":{"cellId":"a"}}"#);
    for call in [running, by_name, ("of_tomorrow", "{}")] {
        let (_, result) = reply(&mut bridge.agent, call, "decline").await?;
        assert!(text(&result)?.contains("The person declined"), "{call:?}: {result}");
    }
    for call in [running, by_name] {
        let id = bridge.agent.start_call(call.0, call.1).await?;
        let question = bridge.agent.wait_request("elicitation/create").await?;
        assert!(message_of(&question)?.contains("cellId: a\n"), "{}", question.text);
        bridge.agent.respond(&question, r#"{"action":"accept"}"#).await?;
        // Nothing else has reached the page.
        let asked = tab.expect_call("run_code_cell").await?;
        tab.reply(&asked, r#"{"content":[]}"#).await?;
        bridge.agent.wait_response(id).await?.result()?;
    }
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn the_notebook_tools_do_not_use_a_tab_whose_own_tools_ask() -> Result<()> {
    let joining = ("use_notebook", r#"{"notebook_path":"colab:"}"#);
    for asked in ["colab", "colab,run"] {
        let mut client = Client::start(&["--ask", asked]).await?;
        let refusal = client.agent.call_tool_expecting_failure(joining.0, joining.1).await?;
        assert!(!refusal.contains("Colab"), "{asked}: {refusal}");
    }
    Ok(())
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_is_refused() -> Result<()> {
    let options = ["jupyter", "--jupyter-url", "http://127.0.0.1:1", "--token=secret", "--ask"];
    for (asked, route) in [
        ("kernels", "/api/connect"),
        ("connect_to_jupyter", "/api/connect"),
        ("delete", "/api/stop"),
        ("kernels", "/api/stop"),
        // A kernel that ends takes its runs with it.
        ("run", "/api/stop"),
    ] {
        let served = Served::start_with(&[&options[..], &[asked]].concat()).await?;
        let endpoint = Endpoint::new(served.sibling(route)).with_bearer("secret");
        let method = if route == "/api/stop" { Method::DELETE } else { Method::PUT };
        let body = r#"{"document_url":"http://127.0.0.1:1"}"#.to_owned();
        let reply = endpoint.send(method, Some(body), &[]).await?;
        assert_eq!(reply.status(), 403, "{route}");
        let refusal = reply.text().await?;
        assert!(refusal.contains(CANNOT_ASK), "{refusal}");
    }
    let mut agent = start(&["jupyter", "--jupyter-url", "http://127.0.0.1:1", "--ask", "run"], &[]).await?;
    assert_cannot_ask(&mut agent, ("execute_code", r#"{"code":"1"}"#)).await
}

#[tokio::test]
async fn instructions_say_what_is_asked_about() -> Result<()> {
    let mut agent = Agent::start(PROGRAM, &["--no-browser", "--ask", "run,delete_cell"])?;
    let info = agent.initialize("2025-11-25").await?;
    let expected = "The person is asked before calls of: run, delete_cell.";
    assert!(info["instructions"].as_str().is_some_and(|text| text.contains(expected)), "{info}");
    Ok(())
}

#[tokio::test]
async fn misspelled_names_are_refused() -> Result<()> {
    let groups = "is neither a group of tools (edit, run, files, kernels, delete) nor a tool";
    for (arguments, variables, named) in [
        (&["--ask", "raed"][..], &[][..], "\"raed\""),
        // Nobody has to be asked about reading.
        (&["--ask", "read"], &[], "\"read\""),
        (&["jupyter", "--ask", "run,,edit"], &[], "\"\""),
        (&["colab", "--ask", "get_cells"], &[], "\"get_cells\""),
        // Elsewhere this means that a setting is left out; here nobody would be asked.
        (&[], &[("CELLBRIDGE_ASK", "none")], "\"none\""),
    ] {
        let mut program = Program::start(PROGRAM, arguments, variables)?;
        let code = program.wait_exit().await?.code();
        let stderr = program.whole_stderr().await?;
        assert_eq!(code, Some(2), "{arguments:?} {variables:?}: {stderr}");
        assert!(stderr.contains(named) && stderr.contains(groups), "{arguments:?} {variables:?}: {stderr}");
    }
    Ok(())
}
