//! Large notebooks: nothing is copied that need not be, and nothing grows faster than the file.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use notebook::{Edit, Json, MimeBundle, Notebook, Output};

use crate::files::parse;

#[test]
fn a_large_image_is_written_without_a_copy() {
    /// Notes which large pieces were written from inside the image.
    struct Shared<'a>(&'a Bytes, usize);
    impl Write for Shared<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.as_ptr_range().contains(&bytes.as_ptr()) {
                self.1 += bytes.len();
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let image = 4 << 20;
    let data = Json::parse(Bytes::from(format!("{{\"image/png\":\"{}\"}}", "A".repeat(image)))).unwrap();
    let bundle = MimeBundle { data: data.clone(), metadata: Json::empty_object() };
    let mut notebook =
        parse(r#"{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","id":"a"}]}"#)
            .unwrap();
    let outputs: Arc<[Output]> = [Output::Display(bundle)].into();
    notebook.apply(&Edit::SetOutputs { id: "a".into(), outputs, execution_count: Some(1) }).unwrap();
    let mut out = Shared(data.bytes(), 0);
    notebook.write(&mut out).unwrap();
    assert_eq!(out.1, image);
    let again = parse(notebook.to_bytes()).unwrap();
    let file = again.to_bytes();
    let [Output::Display(bundle)] = &*again.cells()[0].outputs() else { panic!() };
    assert_eq!(bundle.text("image/png").unwrap().len(), image);
    assert_eq!(again.to_bytes().len(), file.len());
}

#[test]
fn many_equal_cells_without_ids_are_fast() {
    let cell = r#"{"cell_type":"code","metadata":{},"source":[],"outputs":[],"execution_count":null}"#;
    let cells = vec![cell; 20_000].join(",");
    let text = format!(r#"{{"nbformat":4,"nbformat_minor":5,"metadata":{{}},"cells":[{cells}]}}"#);
    let mut notebook = parse(text).unwrap();
    let id = notebook.cells()[19_999].id().clone();
    notebook.apply(&Edit::Move { id: id.clone(), index: 0 }).unwrap();
    let again = parse(notebook.to_bytes()).unwrap();
    assert_eq!(again.cells()[0].id(), &id);
    assert_eq!(again.cells().len(), 20_000);
}

#[test]
fn deeply_nested_values_are_kept() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        r#"{{"nbformat":4,"nbformat_minor":5,"metadata":{{"deep":{deep}}},"cells":[{{"id":"a","cell_type":"raw","metadata":{{"deep":{deep}}},"source":{deep}}}]}}"#
    );
    let mut notebook = parse(text.clone()).unwrap();
    assert_eq!(notebook.to_bytes(), text.as_bytes());
    assert_eq!(notebook.cells()[0].source(), "");
    let revision = notebook.cells()[0].revision().to_owned();
    notebook.apply(&Edit::SetSource { id: "a".into(), source: "x".to_owned() }).unwrap();
    assert_ne!(notebook.cells()[0].revision(), revision);
    notebook.apply(&Edit::set_language_info(Json::empty_object())).unwrap();
    let again: Notebook = parse(notebook.to_bytes()).unwrap();
    assert_eq!(again.cells()[0].revision(), notebook.cells()[0].revision());
}

#[test]
fn an_upgrade_from_nbformat_3_is_not_laid_out() {
    let numbers = format!("{}{}1{}", "[".repeat(100), "1,".repeat(100_000), "]".repeat(100));
    let text =
        format!(r#"{{"nbformat":3,"worksheets":[{{"cells":[{{"cell_type":"code","a":{numbers}}}]}}]}}"#);
    let notebook = parse(text.clone()).unwrap();
    let metadata = notebook.cells()[0].metadata();
    assert_eq!(metadata.as_str(), format!(r#"{{"a":{numbers}}}"#));
    assert_eq!(notebook.to_bytes(), text.as_bytes());
}

#[test]
fn more_cells_than_anybody_writes_are_refused() {
    let cells = "{},".repeat(100_000) + "{}";
    for text in [
        format!(r#"{{"nbformat":4,"cells":[{cells}]}}"#),
        format!(r#"{{"nbformat":3,"worksheets":[{{"cells":[{cells}]}}]}}"#),
        format!(r#"{{"nbformat":3,"worksheets":[{cells},{{"cells":[{{}}]}}]}}"#),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), "too large: it has more than 100000 cells");
    }
}
