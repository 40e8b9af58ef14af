//! Several Colab tabs: each has its own token, path, name, runs and losses.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::{Agent, Connection, Message, Serving, Tab, Upgrade, exchange, text_result, within};

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};
use crate::colab_place::{Cells, ColabClient};

const ONE: &str = "https://colab.research.google.com/drive/one";

/// The notebook that a hand-driven tab shows.
const CELLS: &str = r#"{"cells":[{"cell_type":"code","id":"a","source":["x"]}]}"#;

/// The address of the tab that `use_notebook` would open, if it could.
async fn address(client: &mut ColabClient, arguments: Value) -> Result<Connection> {
    Connection::in_text(&client.refused("use_notebook", arguments).await?)
}

/// A client with a page in the first tab and one in a further tab, which shows [`ONE`] and which the agent calls "one".
struct TwoTabs {
    client: ColabClient,
    first: Cells,
    second: Cells,
    /// The further tab's.
    connection: Connection,
    first_page: Serving,
    second_page: Serving,
}

impl TwoTabs {
    async fn start() -> Result<Self> {
        let (first, second) = (Cells::default(), Cells::default());
        let (mut client, first_page) = ColabClient::with_page(&first).await?;
        let opening = json!({ "notebook_path": ONE, "notebook_name": "one" });
        let connection = address(&mut client, opening.clone()).await?;
        let second_page = Tab::connect(&connection).await?.serve(second.page()).await?;
        let opened = client.call("use_notebook", opening).await?;
        assert!(opened.contains(r#"Opened colab:2 in the Colab tab as "one""#), "{opened}");
        Ok(Self { client, first, second, connection, first_page, second_page })
    }
}

/// Adds a cell to the notebook with this name or path.
async fn insert(client: &mut ColabClient, notebook: &str, source: &str) -> Result<String> {
    let cell =
        json!({ "notebook_name": notebook, "cell_index": -1, "cell_type": "code", "cell_source": source });
    client.call("insert_cell", cell).await
}

#[tokio::test]
async fn each_notebook_has_a_tab_with_a_token_a_path_and_a_name() -> Result<()> {
    let mut tabs = TwoTabs::start().await?;
    let first = tabs.client.connection.clone();
    let client = &mut tabs.client;
    assert_eq!(tabs.connection.port, first.port);
    assert_ne!(tabs.connection.token, first.token);
    assert!(tabs.connection.url.starts_with(&format!("{ONE}#mcpProxyToken=")), "{}", tabs.connection.url);

    for notebook in ["one", "colab:2", &format!("{ONE}?usp=sharing"), &format!("colab:{ONE}#scrollTo=x")] {
        insert(client, notebook, notebook).await?;
    }
    insert(client, "colab:", "of the first").await?;
    assert_eq!(tabs.first.sources(), ["of the first"]);
    assert_eq!(tabs.second.sources().len(), 4);
    let listed = client.call("list_notebooks", json!({})).await?;
    assert!(listed.contains("one\tcolab:2\tcolab:2") && listed.contains("colab:\tcolab:\tcolab"), "{listed}");
    Ok(())
}

#[tokio::test]
async fn a_new_notebook_gets_a_tab_of_its_own() -> Result<()> {
    let (mut client, _first) = ColabClient::with_page(&Cells::default()).await?;
    let create = json!({ "notebook_path": "colab:", "mode": "create" });
    for path in ["colab:2", "colab:3"] {
        let refused = client.refused("use_notebook", &create).await?;
        let next = format!("Call use_notebook with notebook_path {path:?} to open it again.");
        assert!(
            refused.contains("notebooks/empty.ipynb#mcpProxyToken=") && refused.ends_with(&next),
            "{refused}"
        );
        let _page =
            Tab::connect(&Connection::in_text(&refused)?).await?.serve(Cells::default().page()).await?;
        let listed = client.call("list_notebooks", json!({})).await?;
        assert!(listed.contains(&format!("-\t{path}\t-\tnot opened")), "{listed}");
        client.call("use_notebook", json!({ "notebook_path": path })).await?;
        let again = json!({ "notebook_path": path, "mode": "create" });
        assert!(client.refused("use_notebook", again).await?.contains("mode \"connect\""));
    }
    Ok(())
}

#[tokio::test]
async fn without_a_tab_the_first_notebook_gets_the_first_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().display().to_string();
    let mut agent = Agent::start_with(PROGRAM, &["--no-browser", "--root", &root], &WITHOUT_PYTHON)?;
    agent.initialize("2025-11-25").await?;
    let refused = agent.call_tool_expecting_failure("use_notebook", json!({ "notebook_path": ONE })).await?;
    assert!(refused.contains(&format!("{ONE}#mcpProxyToken=")), "{refused}");
    assert!(refused.ends_with(r#"notebook_path "colab:" to open it again."#), "{refused}");
    let _page = Tab::connect(&Connection::in_text(&refused)?).await?.serve(Cells::default().page()).await?;
    for path in [ONE, "colab:"] {
        let opened = agent.call_tool("use_notebook", json!({ "notebook_path": path })).await?;
        assert!(opened["content"][0]["text"].to_string().contains("Opened colab: in"), "{opened}");
    }
    Ok(())
}

#[tokio::test]
async fn a_tab_whose_page_has_gone_keeps_its_path() -> Result<()> {
    let mut tabs = TwoTabs::start().await?;
    let client = &mut tabs.client;
    insert(client, "one", "before").await?;
    drop(tabs.second_page);
    let reading = json!({ "notebook_name": "one", "cell_index": 0 });
    let gone = async {
        loop {
            let refused = client.refused("read_cell", &reading).await?;
            // The page may have gone while it was asked.
            if !refused.contains("disconnected before") {
                return anyhow::Ok(refused);
            }
        }
    };
    let refused = within("the end of the page", gone).await??;
    assert!(
        refused.contains(
            "The notebook colab:2 is in a Colab tab, and that tab is not connected. Another connected tab: colab:."
        ),
        "{refused}"
    );
    assert!(
        refused.ends_with(r#"Call use_notebook with notebook_path "colab:2" to open it again."#),
        "{refused}"
    );
    let run = json!({ "notebook_name": "one", "code": "1" });
    let refused = client.refused("execute_code", run).await?;
    assert!(
        refused.contains("the Colab tab colab:2, which is not connected. Another connected tab: colab:."),
        "{refused}"
    );
    insert(client, "colab:", "still there").await?;

    let _page = Tab::connect(&tabs.connection).await?.serve(tabs.second.page()).await?;
    client.call("use_notebook", json!({ "notebook_path": "colab:2" })).await?;
    assert!(client.call("read_cell", reading).await?.contains("before"));
    assert_eq!(tabs.first.sources(), ["still there"]);
    Ok(())
}

#[tokio::test]
async fn a_notebook_that_was_connected_with_the_line_may_not_be_the_one_asked_for() -> Result<()> {
    let mut client = ColabClient::start().await?;
    let opening = json!({ "notebook_path": ONE });
    let mut connection = address(&mut client, opening.clone()).await?;
    let url_token = std::mem::replace(&mut connection.token, connection.pasted_token.clone());
    let notice = "[NOTICE] The person connected this tab with the line for Colab's own dialog";
    let page = Tab::connect(&connection).await?.serve(Cells::default().page()).await?;
    let opened = client.call("use_notebook", opening.clone()).await?;
    assert!(opened.contains(notice) && opened.contains(&format!("may differ from {ONE}:")), "{opened}");

    drop(page);
    connection.token = url_token;
    let reconnected = async {
        loop {
            // The first page may not have gone yet.
            let mut tab = Tab::connect(&connection).await?;
            if tab.ready().await.is_ok() {
                return anyhow::Ok(tab);
            }
        }
    };
    let _page = within("the page's end", reconnected).await??.serve(Cells::default().page()).await?;
    let opened = client.call("use_notebook", opening).await?;
    assert!(!opened.contains(notice), "{opened}");
    Ok(())
}

#[tokio::test]
async fn a_second_page_with_the_token_of_a_tab_is_rejected() -> Result<()> {
    let mut tabs = TwoTabs::start().await?;
    for connection in [&tabs.connection, &tabs.client.connection] {
        let mut second = Tab::connect(connection).await?;
        assert_eq!(second.wait_close().await?, (1013, "Server is busy".to_owned()));
    }
    insert(&mut tabs.client, "one", "x").await?;
    insert(&mut tabs.client, "colab:", "y").await?;
    assert_eq!((tabs.first.sources(), tabs.second.sources()), (vec!["y".to_owned()], vec!["x".to_owned()]));
    Ok(())
}

/// Answers what the page is asked about its cells, until it is to run one.
async fn until_run(tab: &mut Tab) -> Result<Message> {
    loop {
        let asked = tab.expect("tools/call").await?;
        if asked.tool()? == "run_code_cell" {
            return Ok(asked);
        }
        assert_eq!(asked.tool()?, "get_cells");
        tab.reply(&asked, &text_result(CELLS)).await?;
    }
}

/// Answers what the page is asked about its cells, until the agent's call is answered.
async fn until_answered(client: &mut ColabClient, tab: &mut Tab, call: u64) -> Result<Message> {
    loop {
        tokio::select! {
            asked = tab.expect_call("get_cells") => tab.reply(&asked?, &text_result(CELLS)).await?,
            answer = client.agent.wait_response(call) => return answer,
        }
    }
}

#[tokio::test]
async fn the_runs_of_one_tab_neither_wait_for_those_of_another_nor_are_lost_with_them() -> Result<()> {
    let mut client = ColabClient::start().await?;
    let further = address(&mut client, json!({ "notebook_path": ONE })).await?;
    let (mut first, mut second) = (Tab::connect(&client.connection).await?, Tab::connect(&further).await?);
    first.open().await?;
    second.open().await?;
    for (tab, path) in [(&mut first, "colab:"), (&mut second, "colab:2")] {
        let opening = client.agent.start_call("use_notebook", json!({ "notebook_path": path })).await?;
        until_answered(&mut client, tab, opening).await?.result()?;
    }
    let execute = |notebook: &str| json!({ "notebook_name": notebook, "cell_index": 0 });

    let waiting = client.agent.start_call("execute_cell", execute("colab:")).await?;
    until_run(&mut first).await?;
    let running = client.agent.start_call("execute_cell", execute("colab:2")).await?;
    let run = until_run(&mut second).await?;
    complete(&mut client, &mut second, running, &run, "beside it").await?;

    let running = client.agent.start_call("execute_cell", execute("colab:2")).await?;
    let run = until_run(&mut second).await?;
    first.drop_hard()?;
    let lost = client.agent.wait_failure(waiting).await?;
    assert!(lost.contains("[LOST: the application that ran it disconnected"), "{lost}");
    complete(&mut client, &mut second, running, &run, "after it").await
}

/// The page ends a run with this output, which the agent is shown.
async fn complete(
    client: &mut ColabClient,
    tab: &mut Tab,
    call: u64,
    run: &Message,
    output: &str,
) -> Result<()> {
    let outputs = json!({ "outputs": [{ "output_type": "stream", "name": "stdout", "text": [output] }] });
    tab.reply(run, &text_result(&outputs.to_string())).await?;
    let done = until_answered(client, tab, call).await?.result_value()?;
    let text = done["content"][0]["text"].as_str().context("no text")?;
    assert!(text.contains(output) && text.contains("[COMPLETED in"), "{text}");
    Ok(())
}

#[tokio::test]
async fn there_are_at_most_eight_tabs() -> Result<()> {
    let (mut client, _first) = ColabClient::with_page(&Cells::default()).await?;
    let opening = |number: usize| json!({ "notebook_path": format!("{ONE}{number}") });
    let mut pages = Vec::new();
    for number in 2..=8 {
        let connection = address(&mut client, opening(number)).await?;
        pages.push(Tab::connect(&connection).await?.serve(Cells::default().page()).await?);
    }
    let refused = client.refused("use_notebook", opening(9)).await?;
    assert!(refused.contains("already has 8 Colab tabs open") && refused.contains("close one"), "{refused}");

    // Another takes the place of one whose page has gone, but not its path.
    pages.remove(2);
    let opened = async {
        loop {
            let answer = client.refused("use_notebook", opening(9)).await?;
            if !answer.contains("already has 8 Colab tabs open") {
                return anyhow::Ok(answer);
            }
        }
    };
    let opened = within("room for a tab", opened).await??;
    assert!(opened.ends_with(r#"notebook_path "colab:9" to open it again."#), "{opened}");
    let forgotten = client.refused("use_notebook", json!({ "notebook_path": "colab:4" })).await?;
    assert!(forgotten.contains("There is no Colab tab colab:4"), "{forgotten}");
    client.call("use_notebook", json!({ "notebook_path": "colab:5" })).await?;
    Ok(())
}

#[tokio::test]
async fn a_call_of_a_page_s_tool_can_name_the_tab() -> Result<()> {
    let mut tabs = TwoTabs::start().await?;
    let client = &mut tabs.client;
    let add = |code: &str| json!({ "cellIndex": 0, "language": "python", "code": code });
    let by_name = |notebook: Value, code: &str| json!({ "name": "add_code_cell", "arguments": add(code), "notebook": notebook });
    for (notebook, code) in [(json!("colab:2"), "two"), (json!("colab:"), "one"), (Value::Null, "one again")]
    {
        client.agent.call_tool("call_colab_tool", by_name(notebook, code)).await?;
    }
    let unnamed = json!({ "name": "add_code_cell", "arguments": add("first") });
    client.agent.call_tool("call_colab_tool", unnamed).await?;
    assert_eq!(tabs.first.sources(), ["first", "one again", "one"]);
    assert_eq!(tabs.second.sources(), ["two"]);
    for wrong in [json!("colab:7"), json!("one"), json!(2)] {
        let refused = client.refused("call_colab_tool", by_name(wrong.clone(), "x")).await?;
        assert!(refused.contains("is not the path of a notebook in a Colab tab"), "{wrong}: {refused}");
    }
    drop(tabs.first_page);
    let named = async {
        while !client.refused("call_colab_tool", r#"{"name":"no_such_tool"}"#).await?.contains(": colab:2.") {
        }
        anyhow::Ok(())
    };
    within("the name of the tab that is left", named).await?
}

#[tokio::test]
async fn no_token_of_a_further_tab_is_logged() -> Result<()> {
    let mut client = ColabClient::start_with(&["--log-level", "trace"]).await?;
    let connection = address(&mut client, json!({ "notebook_path": ONE })).await?;
    let mut tab = Tab::connect(&connection).await?;
    tab.open().await?;
    tab.send_text(format!("garbage {}", connection.token)).await?;
    let foreign = Upgrade::good(&format!("/?access_token={}", connection.token));
    let foreign = foreign.with("Origin", &connection.token).bytes();
    exchange([127, 0, 0, 1].into(), connection.port, &foreign).await?;
    client.agent.close_stdin();
    tab.wait_close().await?;
    client.agent.wait_exit().await?;
    let log = client.agent.program().whole_stderr().await?;
    assert!(log.contains("invalid Origin header: (hidden)"), "{log}");
    assert!(!log.contains(&connection.token), "{log}");
    Ok(())
}
