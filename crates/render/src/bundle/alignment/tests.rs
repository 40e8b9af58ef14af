use proptest::prelude::*;

use super::*;

/// The usual table, with one row of headers and one label in each row.
fn with_spaces(text: &str, plain: &str) -> Option<String> {
    super::with_spaces(text, plain, Shape { headers: 1, labels: 1 }, true)
}

proptest! {
    #[test]
    fn no_table_panics(text in "([a .]{0,3}\t?[a .\n]{0,3}){0,12}", plain in "([a .]{0,4}\n?){0,16}") {
        for (headers, labels) in [(0, 1), (1, 1), (2, 2), (9, 0)] {
            let shown = super::with_spaces(&text, &plain, Shape { headers, labels }, labels == 1);
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
    format!("\n[Texts begin or end with spaces that are not shown in or beside: {names}]")
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
        // index=[' r1', 'r2 ']
        ("     a\n r1  1\nr2   2", "\ta\nr1\t1\nr2\t2", "the index"),
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
        super::with_spaces(html, plain, Shape { headers, labels }, true).unwrap()
    };
    // Levels of an index are aligned to the left.
    let (plain, html) = ("      n\nk l    \na xx  1\nb y   2", "\t\tn\nk\tl\na\txx\t1\nb\ty\t2");
    assert_eq!(shown(html, plain, 2, 2), html);
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
    assert_eq!(super::with_spaces(html, plain, shape, false).as_deref(), Some(html));
}

#[test]
fn other_text_is_left_alone() {
    assert_eq!(with_spaces("\ta\n0\t1", "   b\n0  1"), None);
    assert_eq!(with_spaces("\ta\n0\t1", ""), None);
    assert_eq!(with_spaces("no table", "a\nb"), None);
}
