use proptest::prelude::*;

use super::*;

/// The usual table, with one row of headers and one label in each row.
fn with_spaces(text: &str, plain: &str) -> Option<String> {
    super::with_spaces(text, plain, Shape { headers: 1, labels: 1 }, Headers::Right)
}

proptest! {
    #[test]
    fn no_table_panics(text in "([a .]{0,3}\t?[a .\n]{0,3}){0,12}", plain in "([a .]{0,4}\n?){0,16}") {
        for (headers, labels) in [(0, 1), (1, 1), (2, 2), (9, 0)] {
            let shown = super::with_spaces(&text, &plain, Shape { headers, labels }, if labels == 1 { Headers::Right } else { Headers::Levels });
            prop_assert!(shown.is_none_or(|shown| shown.matches('a').count() == text.matches('a').count()));
        }
    }
}

#[test]
fn spaces_of_headers_and_cells_are_found() {
    let plain = "  Order Date   Region    n\n0  2020-01-01  SOUTH   1.5\n1           b    x  y  NaN";
    let html = "\tOrder Date\tRegion\tn\n0\t2020-01-01\tSOUTH\t1.5\n1\tb\t\"x  y\"\tNaN\n2 rows × 3 columns";
    assert_eq!(
        with_spaces(html, plain).unwrap(),
        "\t\"Order Date \"\tRegion\tn\n0\t2020-01-01\t\"SOUTH \"\t1.5\n1\tb\t\"x  y\"\tNaN\n2 rows × 3 columns"
    );
}

/// The note about spaces without a certain place.
fn note(names: &str) -> String {
    format!("\n[Texts start or end with spaces that are not shown in or beside: {names}]")
}

#[test]
fn spaces_at_the_start_are_named_without_a_place() {
    for (plain, html, names) in [
        // {'id': ['  7', '12']}
        ("    id\n0    7\n1   12", "\tid\n0\t7\n1\t12", "id"),
        // {'code': ['    A1', '    B2'], 'n': [1, 2]}
        ("     code  n\n0      A1  1\n1      B2  2", "\tcode\tn\n0\tA1\t1\n1\tB2\t2", "code"),
        // {'city': ['      Rome', 'Oslo']}
        ("         city\n0        Rome\n1        Oslo", "\tcity\n0\tRome\n1\tOslo", "city"),
        // {'a': [1, 3], ' b': [2, 4], ' Region': ['SOUTH', 'N']}
        (
            "   a   b  Region\n0  1   2   SOUTH\n1  3   4       N",
            "\ta\tb\tRegion\n0\t1\t2\tSOUTH\n1\t3\t4\tN",
            "b, Region",
        ),
        // {' code ': ['long text', 'x']}: only the space at its end can be seen.
        ("       code \n0  long text\n1          x", "\tcode\n0\tlong text\n1\tx", "code"),
    ] {
        assert_eq!(with_spaces(html, plain), Some(html.to_owned() + &note(names)));
    }
    // {' lead': ['  v'], 'trail ': ['w  ']}
    assert_eq!(
        with_spaces("\tlead\ttrail\n0\tv\tw", "   lead trail \n0     v    w  ").unwrap(),
        format!("\tlead\t\"trail \"\n0\tv\tw{}", note("lead, \"trail \""))
    );
}

#[test]
fn levels_and_names_of_the_index_are_no_columns() {
    let shown = |html: &str, plain: &str, headers, labels| {
        super::with_spaces(html, plain, Shape { headers, labels }, Headers::Right).unwrap()
    };
    // Levels of an index are aligned to the left.
    let (plain, html) = ("      n\nk l    \na xx  1\nb y   2", "\t\tn\nk\tl\na\txx\t1\nb\ty\t2");
    assert_eq!(shown(html, plain, 2, 2), html);
    // index=[' r1', 'r2']
    let (plain, html) = ("     a\n r1  1\nr2   2", "\ta\nr1\t1\nr2\t2");
    assert_eq!(shown(html, plain, 1, 1), "\ta\n\" r1\"\t1\nr2\t2");
    // Numbers have room for a sign.
    let (plain, html) = ("     a\n 1   1\n-22  2", "\ta\n1\t1\n-22\t2");
    assert_eq!(shown(html, plain, 1, 1), html);
    // groupby('city ').sum()
    let (plain, html) = ("       n\ncity    \na      3\nb      3", "\tn\ncity\na\t3\nb\t3");
    assert_eq!(shown(html, plain, 2, 1), html.to_owned() + &note("the index, n"));
    // The second level of the columns is called " y".
    let (plain, html) = ("  Sales    \n      x   y\n0     1   2", "\tSales\n\tx\ty\n0\t1\t2");
    assert_eq!(shown(html, plain, 2, 1), html.to_owned() + &note("y"));
}

#[test]
fn blank_names_are_counted() {
    let (plain, html) = ("   a      \n0  1  x  1\n1  2  y  2", "\ta\n0\t1\tx\t1\n1\t2\ty\t2");
    assert_eq!(
        with_spaces(html, plain).unwrap(),
        format!("{html}\n[Names that are empty or only spaces, of columns counted from 0: 1, 2]")
    );
}

#[test]
fn what_may_be_a_space_of_the_column_before_is_not_quoted() {
    for (plain, html) in [
        // The index is called "region ".
        (
            "         sales  qty\nregion             \nSouth     12.5    3\nNorth      7.0    1",
            "\tsales\tqty\nregion\t\t\nSouth\t12.5\t3\nNorth\t7.0\t1",
        ),
        // "Bob " and "Bob" are in the index.
        ("      sales\nBob       1\nBob       2", "\tsales\nBob\t1\nBob\t2"),
        // The only value is "SOUTH ".
        ("  region   sales\n0  SOUTH    12.5", "\tregion\tsales\n0\tSOUTH\t12.5"),
    ] {
        let shown = with_spaces(html, plain);
        assert!(!shown.as_deref().unwrap_or(html).contains("\" "), "{shown:?}");
    }
}

#[test]
fn columns_that_are_wrapped_or_shortened_are_found() {
    let plain = [
        "     a first column second column   \\",
        "0    0           x               y   ",
        "1    1           x               y   ",
        "..  ..          ...            ...   ",
        "98  98           x               y   ",
        "99  99           x               y   ",
        "",
        "   third  ",
        "0      z  ",
        "1      z  ",
        "..   ...  ",
        "98     z  ",
        "99     z  ",
        "",
        "[100 rows x 4 columns]",
    ]
    .join("\n");
    let html = "\ta\tfirst column\tsecond column\tthird\n0\t0\tx\ty\tz\n1\t1\tx\ty\tz\n...\t...\t...\t...\t...\n98\t98\tx\ty\tz\n\
                99\t99\tx\ty\tz\n100 rows × 4 columns";
    let shown = html.replace("second column", "\"second column \"").replacen("100 rows", "ROWS", 1);
    let shown = shown.replace("\nROWS", &(note("first column") + "\n100 rows"));
    assert_eq!(with_spaces(html, &plain).unwrap(), shown);
}

#[test]
fn a_header_after_left_out_columns_can_have_a_space_of_pandas() {
    let (plain, html) = ("    a  ...  xyz\n0  bb  ...   ab", "\ta\t...\txyz\n0\tbb\t...\tab");
    assert_eq!(with_spaces(html, plain).as_deref(), Some(html));
}

#[test]
fn headers_with_several_levels_are_found() {
    let shown = |html: &str, plain: &str| {
        super::with_spaces(html, plain, Shape { headers: 2, labels: 1 }, Headers::Levels).unwrap()
    };
    // {('u', 'north'): ['a ', 'ccccc'], ('u', 'x '): ['bb', 'ddd']}
    let plain = "       u     \n   north   x \n0     a    bb\n1  ccccc  ddd";
    let html = "\tu\n\tnorth\tx\n0\ta\tbb\n1\tccccc\tddd";
    assert_eq!(shown(html, plain), html.to_owned() + &note("north, x"));
    // The first line of a block ends before its columns do.
    let plain = "      u       \\\n  north    x   \n0     a  ccc   \n\n              \n  longest  w  \n0     dd   e  ";
    let html = "\tu\n\tnorth\tx\tlongest\tw\n0\ta\tccc\tdd\te";
    assert_eq!(shown(html, plain), html.to_owned() + &note("longest"));
    // display.colheader_justify="left"
    let (plain, html) = ("  x       \n  y  zz   \n0  1  aaaa", "\tx\n\ty\tzz\n0\t1\taaaa");
    assert_eq!(shown(html, plain), html);
}

#[test]
fn other_spaces_and_hidden_characters_are_spelled() {
    // {'\u{a0}c ': ['x'], 'a\u{a0}\u{a0}b': ['y\u{3000}'], 'd \u{200b}': ['z']}
    let plain = "  \u{a0}c  a\u{a0}\u{a0}b d \u{200b}\n0   x   y\u{3000}   z";
    let html = "\tc\t\"a  b\"\t\"d \\u{200b}\"\n0\tx\ty\tz";
    assert_eq!(
        with_spaces(html, plain).unwrap(),
        "\t\"\\u{a0}c \"\t\"a\\u{a0}\\u{a0}b\"\t\"d \\u{200b}\"\n0\tx\t\"y\\u{3000}\"\tz"
    );
    // Whose it is cannot be seen.
    let (plain, html) = ("   a \u{a0}   b\n0    1   2", "\ta\tb\n0\t1\t2");
    assert_eq!(with_spaces(html, plain), Some(html.to_owned() + &note("a, b")));
}

/// A frame as pandas writes it.
#[derive(Debug)]
struct Frame {
    labels: Vec<String>,
    names: Vec<String>,
    columns: Vec<Vec<String>>,
}

fn text() -> impl Strategy<Value = String> {
    ("( |  )?", "[abc]{1,4}( [abc])?", "( |  )?").prop_map(|(before, text, after)| before + &text + &after)
}

fn frame() -> impl Strategy<Value = Frame> {
    (1..4_usize, 1..5_usize).prop_flat_map(|(rows, columns)| {
        let column = prop_oneof![
            prop::collection::vec(text(), rows),
            prop::collection::vec("-?[1-9]{1,5}", rows),
            prop::collection::vec("[abc]{1,4}", rows),
        ];
        let texts = |count| {
            prop_oneof![prop::collection::vec(text(), count), prop::collection::vec("[abc]{1,4}", count)]
        };
        (texts(rows), texts(columns), prop::collection::vec(column, columns))
            .prop_map(|(labels, names, columns)| Frame { labels, names, columns })
    })
}

impl Frame {
    fn rows(&self) -> Vec<Vec<&str>> {
        let head = std::iter::once("").chain(self.names.iter().map(String::as_str)).collect();
        let body = self.labels.iter().enumerate().map(|(row, label)| {
            let values = self.columns.iter().map(move |column| &*column[row]);
            std::iter::once(&**label).chain(values).collect()
        });
        std::iter::once(head).chain(body).collect()
    }

    fn html(&self) -> String {
        let line = |row: &Vec<&str>| row.iter().map(|text| text.trim()).collect::<Vec<_>>().join("\t");
        self.rows().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn plain(&self) -> String {
        let labels = trimmed(&self.labels);
        let width = labels.iter().map(|label| label.len()).max().unwrap_or_default();
        let head = std::iter::once(String::new());
        let mut lines: Vec<String> =
            head.chain(labels.iter().map(|it| (*it).to_owned())).map(|it| format!("{it:width$}")).collect();
        for (name, values) in trimmed(&self.names).iter().zip(&self.columns) {
            let are_numbers = values.iter().all(|value| is_number(value));
            let lead = |value: &&String| if is_number(value) && value.starts_with('-') { "" } else { " " };
            let name = format!("{}{name}", if are_numbers { " " } else { "" });
            let values = values.iter().map(|value| format!("{}{value}", lead(&value)));
            let texts: Vec<String> = std::iter::once(name).chain(values).collect();
            let width = texts.iter().map(String::len).max().unwrap_or_default();
            lines.iter_mut().zip(texts).for_each(|(line, text)| line.push_str(&format!(" {text:>width$}")));
        }
        lines.join("\n")
    }
}

/// Without the spaces that all texts have at their start.
fn trimmed(texts: &[String]) -> Vec<&str> {
    let shared = texts.iter().map(|text| text.len() - text.trim_start().len()).min().unwrap_or_default();
    texts.iter().map(|text| &text[shared..]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_space_is_invented(frame in frame()) {
        let html = frame.html();
        let shown = with_spaces(&html, &frame.plain()).unwrap();
        let notes: String = shown.lines().skip(html.lines().count()).collect();
        for (line, row) in shown.lines().zip(frame.rows()) {
            for (cell, text) in line.split('\t').zip(row) {
                let known = bare(cell);
                prop_assert_eq!(known.trim(), text.trim());
                prop_assert!(text.contains(&known), "{:?} for {:?}\n{}\n{}", cell, text, frame.plain(), shown);
            }
        }
        let texts = || frame.rows().concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let has_spaces = texts().iter().any(|text| text.trim() != text);
        prop_assert!(notes.is_empty() || has_spaces, "{}\n{}", frame.plain(), shown);
        // Whatever cannot be seen in its place makes a column or the labels wider, or is not to be seen.
        let is_narrow = frame.plain().lines().all(|line| line.trim_end().len() == line.len());
        prop_assert!(is_narrow || !notes.is_empty() || shown.contains(" \""), "{}\n{}", frame.plain(), shown);
    }

    #[test]
    fn labels_show_the_spaces_that_others_do_not_have(frame in frame()) {
        let shown = with_spaces(&frame.html(), &frame.plain()).unwrap();
        let labels = trimmed(&frame.labels);
        for (line, label) in shown.lines().skip(1).zip(labels) {
            let cell = bare(line.split('\t').next().unwrap());
            prop_assert_eq!(cell.trim_end(), label.trim_end());
        }
    }
}

#[test]
fn tables_without_spaces_stay() {
    for plain in [
        "   Order Date Region    n     ok  long header name\n0  2020-01-01  SOUTH  1.5   True                 1\n1  2021-01-01     NO  NaN  False                 2",
        "    id           f       date\n0    1        0.10 2020-01-01\n1   22       -2.25 2020-01-01\n2 -333  1000000.00 2020-01-01",
        "          name   city\n0        Alice  Paris\n1          Bob   Rome\n2  Christopher   Wien",
    ] {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join("\t");
        let html = plain.replace("Order Date", "Order_Date").replace("long header name", "long_header_name");
        let html: Vec<String> = html.lines().map(words).collect();
        let html = html
            .join("\n")
            .replace("Order_Date", "Order Date")
            .replace("long_header_name", "long header name");
        let html = format!("\t{html}");
        assert_eq!(with_spaces(&html, plain).as_deref(), Some(&*html));
    }
}

#[test]
fn headers_on_the_left_are_left_alone() {
    let plain = "  a      b      cc   \n0  Alice  Paris  xxxx\n1    Bob   Rome   yyy";
    let html = "\ta\tb\tcc\n0\tAlice\tParis\txxxx\n1\tBob\tRome\tyyy";
    let shape = Shape { headers: 1, labels: 1 };
    assert_eq!(super::with_spaces(html, plain, shape, Headers::Left).as_deref(), Some(html));
}

#[test]
fn other_text_is_left_alone() {
    assert_eq!(with_spaces("\ta\n0\t1", "   b\n0  1"), None);
    assert_eq!(with_spaces("\ta\n0\t1", ""), None);
    assert_eq!(with_spaces("no table", "a\nb"), None);
}
