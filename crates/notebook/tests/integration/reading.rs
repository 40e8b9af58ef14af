//! Finding one's way in a notebook: references, outline, search, differences.

use std::sync::Arc;

use notebook::{
    CellRef, CellRefError, CellType, Edit, HitLocation, NewCell, Notebook, Output, Query, Text, diff,
    outline, search,
};

use crate::files::of_corpus;

/// Cells with these ids, kinds and sources.
fn notebook(cells: &[(&str, CellType, &str)]) -> Notebook {
    let mut notebook = Notebook::new();
    for (index, (id, kind, source)) in cells.iter().enumerate() {
        let cell = NewCell { id: (*id).into(), ..NewCell::new(kind.clone(), *source) };
        notebook.apply(&Edit::Insert { index, cell }).unwrap();
    }
    notebook
}

fn ran(notebook: &mut Notebook, id: &str, count: u64, text: &str) {
    let outputs: Arc<[Output]> =
        [Output::Stream { name: "stdout".to_owned(), text: Text::from(text) }].into();
    notebook.apply(&Edit::SetOutputs { id: id.into(), outputs, execution_count: Some(count) }).unwrap();
}

fn example() -> Notebook {
    let mut notebook = notebook(&[
        ("abc1", CellType::Code, "\n  \nimport os  \nx"),
        ("abd2", CellType::Code, "y"),
        ("abc", CellType::Code, "z"),
        ("12345678", CellType::Markdown, ""),
    ]);
    ran(&mut notebook, "abc1", 4, "");
    ran(&mut notebook, "abd2", 12, "");
    ran(&mut notebook, "abc", 4, "");
    notebook
}

#[test]
fn references_are_parsed() {
    let cases = [
        ("In[12]", CellRef::Execution(12)),
        (" in [ 12 ] ", CellRef::Execution(12)),
        ("[12]", CellRef::Execution(12)),
        ("#3", CellRef::Index(3)),
        ("12", CellRef::Id("12".to_owned())),
        ("abc", CellRef::Id("abc".to_owned())),
        ("In[x]", CellRef::Id("In[x]".to_owned())),
        ("Out[1]", CellRef::Id("Out[1]".to_owned())),
        ("#x", CellRef::Id("#x".to_owned())),
        ("", CellRef::Id(String::new())),
    ];
    for (text, reference) in cases {
        assert_eq!(CellRef::parse(text), reference, "{text}");
    }
}

#[test]
fn a_reference_that_names_no_single_cell_lists_candidates() {
    let notebook = example();
    let resolved =
        |reference: &str| notebook.resolve(&CellRef::parse(reference)).map_err(|error| error.to_string());
    assert_eq!(resolved("abc"), Ok(2), "an exact id wins over a prefix");
    assert_eq!(resolved("abc1"), Ok(0));
    assert_eq!(resolved("abd"), Ok(1));
    assert_eq!(resolved("12"), Ok(3));
    let index_or_id = "1 matches more than one cell: #1 · abd2 · In[12] (y), #3 · 12345678";
    assert_eq!(resolved("1"), Err(index_or_id.to_owned()));
    assert_eq!(resolved("In[12]"), Ok(1));
    assert_eq!(resolved("#3"), Ok(3));
    assert_eq!(resolved("#4"), Err("There is no cell #4: the notebook has cells #0 to #3".to_owned()));
    let ambiguous = "ab matches more than one cell: \
        #0 · abc1 · In[4] (import os), #1 · abd2 · In[12] (y), #2 · abc · In[4] (z)";
    assert_eq!(resolved("ab"), Err(ambiguous.to_owned()));
    let twice = "In[4] matches more than one cell: #0 · abc1 · In[4] (import os), #2 · abc · In[4] (z)";
    assert_eq!(resolved("In[4]"), Err(twice.to_owned()));
    let unknown = "No cell is called abd3; the nearest are \
        #1 · abd2 · In[12] (y), #0 · abc1 · In[4] (import os), #2 · abc · In[4] (z)";
    assert_eq!(resolved("abd3"), Err(unknown.to_owned()));
    let CellRefError::Unknown { nearest, .. } = notebook.resolve(&CellRef::Execution(11)).unwrap_err() else {
        panic!()
    };
    assert_eq!((nearest[0].index, nearest.len()), (1, 3));
    assert_eq!(resolved("").unwrap_err().split(';').next(), Some("No cell is called "));
    let none = Notebook::new().resolve(&CellRef::Index(0)).unwrap_err();
    assert_eq!(none.to_string(), "There is no cell #0: the notebook has no cells");
}

#[test]
fn first_line_and_line_count() {
    let notebook = example();
    let cell = |index: usize| &notebook.cells()[index];
    assert_eq!(cell(0).first_of_lines(), ("import os".to_owned(), 4));
    assert_eq!(cell(3).first_of_lines(), (String::new(), 0));
    for source in ["a", "a\n", "\n a \r\n\n", "\n", "\n\nb\nc"] {
        let of_source = self::notebook(&[("a", CellType::Code, source)]);
        let cell = &of_source.cells()[0];
        assert_eq!(cell.first_of_lines(), (cell.first_line(), source.lines().count()), "{source:?}");
    }
}

#[test]
fn diffs_have_three_lines_of_context() {
    assert_eq!(diff("same", "same"), "");
    assert_eq!(diff("", "new"), "@@ -0,0 +1 @@\n+new\n");
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = old.replace("5\n", "five\nhalf\n");
    assert_eq!(diff(old, &new), "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+half\n 6\n 7\n 8\n");
    assert_eq!(diff("a\nb", "a\nb\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+b\n");
}

#[test]
fn the_outline_contains_only_headings() {
    let source = "# One #\ntext\n####### seven\n#no space\n   ### Three\n    # code\n```python\n# comment\n# another\n~~~\n```\n## Two ##x\n#\n\
                  ~~~~\n# in\n~~~\n# still in";
    let notebook = notebook(&[
        ("a", CellType::Code, "# comment"),
        ("b", CellType::Markdown, source),
        ("c", CellType::Markdown, "`# x`\n###### C# ######"),
    ]);
    let found: Vec<_> = outline(&notebook)
        .into_iter()
        .map(|heading| (heading.cell_id, heading.level, heading.title))
        .collect();
    let heading = |id: &str, level, title: &str| (id.into(), level, title.to_owned());
    let expected = [
        heading("b", 1, "One"),
        heading("b", 3, "Three"),
        heading("b", 2, "Two ##x"),
        heading("b", 1, ""),
        heading("c", 6, "C#"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn search_finds_lines_in_sources_and_outputs() {
    let mut notebook = example();
    ran(&mut notebook, "abd2", 12, "first\nThe İMPORT of it\n");
    let query = |text: &str| Query {
        text: text.to_owned(),
        ignore_case: true,
        in_sources: true,
        in_outputs: true,
        limit: 9,
    };
    let places = |query: &Query| -> Vec<_> {
        search(&notebook, query).into_iter().map(|hit| (hit.index, hit.location, hit.line)).collect()
    };
    assert_eq!(places(&query("mport")), [(0, HitLocation::Source, 3), (1, HitLocation::Output(0), 2)]);
    assert_eq!(places(&Query { ignore_case: false, ..query("mport") }), [(0, HitLocation::Source, 3)]);
    assert_eq!(places(&Query { in_sources: false, ..query("mport") }), [(1, HitLocation::Output(0), 2)]);
    assert_eq!(places(&Query { in_outputs: false, ..query("mport") }), [(0, HitLocation::Source, 3)]);
    assert_eq!(places(&Query { limit: 1, ..query("mport") }).len(), 1);
    assert_eq!(places(&Query { limit: 0, ..query("mport") }).len(), 0);
    assert_eq!(places(&query("")), []);
    assert_eq!(places(&query("absent")), []);
}

#[test]
fn a_hit_in_a_long_line_shows_its_surroundings() {
    let long = format!("{}needle{}", "é".repeat(1000), "x".repeat(1000));
    let notebook = notebook(&[("a", CellType::Raw, &long)]);
    let query =
        Query { text: "NEEDLE".to_owned(), ignore_case: true, in_sources: true, in_outputs: false, limit: 5 };
    let hits = search(&notebook, &query);
    assert_eq!(hits[0].text.chars().count(), 200);
    assert!(hits[0].text.contains("éneedlex"));
}

#[test]
fn search_uses_the_readable_text_of_outputs() {
    let notebook = of_corpus("clean-outputs");
    let found = |text: &str| {
        let text = text.to_owned();
        search(&notebook, &Query { text, ignore_case: false, in_sources: false, in_outputs: true, limit: 9 })
    };
    assert_eq!(found("ValueError: no").first().map(|hit| &*hit.text), Some("ValueError: no"));
    assert_eq!(found("Figure")[0].location, HitLocation::Output(2));
    assert!(found("iVBOR").is_empty(), "images are not text");
}
