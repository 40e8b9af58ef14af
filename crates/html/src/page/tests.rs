use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Node, attacks, check, parsed};

fn notebook(cells: &[Value], metadata: &Value) -> Notebook {
    let text =
        json!({ "cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5 }).to_string();
    Notebook::parse(Bytes::from(text)).unwrap()
}

fn code(id: &str, source: &str, outputs: &Value) -> Value {
    json!({ "cell_type": "code", "id": id, "metadata": {}, "source": source, "execution_count": 3, "outputs": outputs })
}

fn markdown(id: &str, source: &str) -> Value {
    json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": source })
}

fn written<'a>(notebook: &Notebook, change: impl FnOnce(&mut Context<'a>)) -> Page {
    let mut context = Context::new(notebook, &|_| None);
    change(&mut context);
    page(&About { title: "a.ipynb", lines: vec!["Python 3".to_owned()] }, notebook, &context)
}

fn python() -> Value {
    json!({ "language_info": { "name": "python" } })
}

#[test]
fn each_cell_has_its_index_id_and_execution_count() {
    let stream = json!([{ "output_type": "stream", "name": "stdout", "text": "hi\n" }]);
    let cells = [markdown("first", "# One"), code("second", "print('hi')", &stream)];
    let html = written(&notebook(&cells, &python()), |_| {}).html;
    let tree = parsed(&html);
    let articles = tree.all("article");
    assert_eq!(articles.len(), 2);
    assert_eq!(articles[1].attribute("id"), Some("cell-1"));
    for part in [
        "<a class=\"cb-index\" href=\"#cell-1\">1</a> <span class=\"cb-count\">In[3]</span> <code class=\"cb-id\">second</code>",
        "<pre class=\"cb-source\" tabindex=\"0\"><code>print(<span class=\"cb-string\">&#39;hi&#39;</span>)</code></pre>",
        "<pre tabindex=\"0\">hi</pre>",
        "<h1 id=\"content-One\">One</h1>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    assert_eq!(tree.all("title")[0].text, "a.ipynb");
    assert_eq!(tree.all("html")[0].attribute("lang"), Some("en"));
    assert_eq!((tree.all("main").len(), tree.all("script").len()), (1, 0));
}

#[test]
fn sources_can_be_hidden() {
    let stream = json!([{ "output_type": "stream", "name": "stdout", "text": "out" }]);
    let cells = [code("a", "secret()", &stream), code("b", "secret()", &json!([]))];
    let html = written(&notebook(&cells, &python()), |context| context.shows_sources = false).html;
    assert!(!html.contains("secret") && html.contains("out"));
    assert_eq!(parsed(&html).all("article").len(), 1);
}

#[test]
fn hidden_parts_are_folded() {
    let mut cell = code("a", "x", &json!([{ "output_type": "stream", "name": "stdout", "text": "out" }]));
    cell["metadata"] = json!({ "jupyter": { "source_hidden": true, "outputs_hidden": true } });
    let html = written(&notebook(&[cell], &python()), |_| {}).html;
    assert_eq!(parsed(&html).all("details").len(), 2);
}

#[test]
fn headings_are_listed() {
    let html = written(
        &notebook(&[markdown("a", "# One\n## Two <b>"), markdown("b", "# Three")], &python()),
        |_| {},
    )
    .html;
    let tree = parsed(&html);
    let links: Vec<_> = tree.all("nav")[0].all("a");
    let links: Vec<_> = links.iter().map(|link| (&*link.text, link.attribute("href").unwrap())).collect();
    assert_eq!(links, [("One", "#cell-0"), ("Two <b>", "#cell-0"), ("Three", "#cell-1")]);
}

#[test]
fn a_page_makes_no_request() {
    let html =
        written(&notebook(&[markdown("a", "![x](https://example.org/a.png)")], &python()), |_| {}).html;
    let tree = parsed(&html);
    let policy = tree.all("meta")[1].attribute("content").unwrap();
    assert_eq!(
        policy,
        "default-src 'none'; style-src 'unsafe-inline'; media-src data:; base-uri 'none'; form-action 'none'; img-src data:"
    );
    assert!(tree.all("img").is_empty());
}

#[test]
fn a_library_is_in_the_page_once() {
    let chart = json!({ "output_type": "display_data", "metadata": {}, "data": { "application/vnd.plotly.v1+json": { "data": [] } } });
    let cells = [code("a", "x", &json!([chart, chart])), code("b", "x", &json!([chart]))];
    let notebook = notebook(&cells, &python());
    let mut libraries = Libraries::default();
    libraries.insert(Library::Plotly, vec!["var a = '</script><script>alert(1)</script>'".to_owned()]);
    libraries.insert(Library::Bokeh, vec!["unused".to_owned()]);
    let page = written(&notebook, |context| context.libraries = Some(&libraries));
    let tree = parsed(&page.html);
    let scripts = tree.all("script");
    assert_eq!((tree.all("iframe").len(), scripts.len()), (3, 2), "the library and the loader");
    assert_eq!(
        serde_json::from_str::<Vec<String>>(&scripts[0].text).unwrap(),
        ["var a = '</script><script>alert(1)</script>'"]
    );
    let policy = tree.all("meta")[1].attribute("content").unwrap();
    assert!(policy.contains(&script_hash(&scripts[1].text)), "the loader may run");
    assert!(!policy.contains("script-src 'unsafe-inline'"), "{policy}");
    let page = written(&notebook, |context| context.libraries = None);
    assert_eq!((page.interactive, parsed(&page.html).all("script").len()), (3, 0));
}

/// Checks a page: its parts are ours, and all in them is harmless.
fn assert_page_is_safe(html: &str, source: &str, cells: usize) {
    let tree = parsed(html);
    let body = tree.all("body")[0];
    let names: Vec<&str> =
        body.children.iter().map(|child| &*child.name).filter(|name| *name != "nav").collect();
    assert_eq!(names, ["header", "main"], "{source:?}");
    let main = body.all("main");
    let articles: Vec<&Node> = main[0].children.iter().collect();
    assert_eq!(articles.len(), cells, "{source:?}");
    for (index, article) in articles.iter().enumerate() {
        assert_eq!(article.attribute("id"), Some(&*format!("cell-{index}")), "{source:?}");
        assert_eq!(article.all("article").len(), 1, "{source:?}");
    }
    tree.walk(&mut |node| check(node, source));
    let mut ids = Vec::new();
    tree.walk(&mut |node| ids.extend(node.attribute("id")));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id occurs twice: {source:?}");
}

/// Each attack in the Markdown, the source, the attachments, the metadata and the names of a notebook.
#[test]
fn attacks_are_harmless() {
    for attack in attacks() {
        let mut image = markdown(
            "m",
            &format!("![{attack}](attachment:x)\n\n{attack}\n\n> - {attack}\n\n```{attack}\n{attack}\n```"),
        );
        image["attachments"] =
            json!({ "x": { "image/png": attack }, attack.clone(): { attack.clone(): attack } });
        let mut raw =
            json!({ "cell_type": "raw", "id": "r", "metadata": { "tags": [attack] }, "source": attack });
        raw["metadata"]["jupyter"] = json!({ "source_hidden": attack });
        let other = json!({ "cell_type": attack, "id": "o", "metadata": {}, "source": attack });
        let outputs =
            json!([{ "output_type": "display_data", "data": { "text/markdown": attack }, "metadata": {} }]);
        let cells = [
            markdown("a", &format!("# {attack}\n\n{attack}")),
            image,
            code(&attack, &attack, &outputs),
            raw,
            other,
            markdown("z", &format!("| a |\n|-|\n| {attack} |\n\n<div>\n\n{attack}")),
        ];
        let metadata = json!({
            "kernelspec": { "name": attack, "display_name": attack, "language": attack }, "language_info": { "name": attack },
        });
        let notebook = notebook(&cells, &metadata);
        let context = Context::new(&notebook, &|_| None);
        let about = About { title: &attack, lines: vec![attack.clone()] };
        assert_page_is_safe(&page(&about, &notebook, &context).html, &attack, cells.len());
    }
}
