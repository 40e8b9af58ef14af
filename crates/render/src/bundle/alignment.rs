//! Finds spaces around the headers and cells of a data frame.
//!
//! pandas removes them from its HTML, where `"Order Date "` and `"Order Date"` look the same, but its plain text is aligned as if they
//! were there: values and headers end at the right edge of their column, and before the widest header is one space.
//!
//! Example: in the column
//!
//! ```text
//!   Order Date   Region
//! 0  2020-01-01  SOUTH
//! ```
//!
//! the dates end in column 13 and the header in column 12, so that the header ends with a space.

/// Larger tables are left as they are, in bytes.
const MAX_SIZE: usize = 200_000;

/// Where a text stands in a line, in characters.
type Span = (usize, usize);

/// Something else stands where a cell was looked for.
struct NotThere;

/// The table `text`, with tabs between its cells, with those quoted around which spaces are found in `plain`.
pub(super) fn with_spaces(text: &str, plain: &str) -> Option<String> {
    if text.len() > MAX_SIZE || plain.len() > MAX_SIZE {
        return None;
    }
    let lines: Vec<Vec<char>> = plain.lines().map(|line| line.chars().collect()).collect();
    let blocks: Vec<&[Vec<char>]> = lines.split(Vec::is_empty).filter(|block| block.len() > 1).collect();
    let count = blocks.first()?.len();
    let mut rows: Vec<Vec<String>> =
        text.lines().take(count).map(|line| line.split('\t').map(str::to_owned).collect()).collect();
    if rows.len() < count || !rows[0].first()?.is_empty() {
        return None;
    }
    let mut first = 1;
    for block in blocks.into_iter().filter(|block| block.len() == count) {
        let columns = spans(&rows, block, first)?;
        let is_left = has_left_headers(&columns);
        for (at, pair) in columns.windows(2).enumerate() {
            quote(&mut rows, first + at, (&pair[0], &pair[1]), !is_left);
        }
        first += columns.len() - 1;
    }
    let rest = text.split_inclusive('\n').skip(count);
    let table: Vec<String> = rows.into_iter().map(|row| row.join("\t")).collect();
    let has_break = text.split_inclusive('\n').nth(count - 1).is_some_and(|line| line.ends_with('\n'));
    let break_after = if has_break { "\n" } else { "" };
    Some(table.join("\n") + break_after + &rest.collect::<String>())
}

/// The spans of the index and of the columns from `first` on that stand in this block of lines, by row; `None` if the lines are not
/// those of the rows.
fn spans(rows: &[Vec<String>], block: &[Vec<char>], first: usize) -> Option<Vec<Vec<Option<Span>>>> {
    let mut columns: Vec<Vec<Option<Span>>> = vec![Vec::new()];
    let mut count = usize::MAX;
    for (row, line) in rows.iter().zip(block) {
        let mut at = 0;
        columns[0].push(find(line, row.first()?, &mut at).ok()?);
        for column in first..first.saturating_add(count) {
            let Some(cell) = row.get(column) else {
                // Empty cells at the end of a row are not written.
                if count == usize::MAX {
                    count = column - first;
                    break;
                }
                columns[column - first + 1].push(None);
                continue;
            };
            if count == usize::MAX {
                if line[at..].iter().all(|character| matches!(character, ' ' | '\\')) {
                    count = column - first;
                    break;
                }
                columns.push(Vec::new());
            }
            columns[column - first + 1].push(find(line, cell, &mut at).ok()?);
        }
    }
    (columns.len() > 1).then_some(columns)
}

/// Where `cell` is the next text of the line, and `None` if it is empty.
fn find(line: &[char], cell: &str, at: &mut usize) -> Result<Option<Span>, NotThere> {
    if cell.is_empty() {
        return Ok(None);
    }
    let rest = line.get(*at..).unwrap_or_default();
    let start = *at + rest.iter().position(|character| *character != ' ').ok_or(NotThere)?;
    let spelled = |text: &str| {
        let end = start + text.chars().count();
        let is_there = line.get(start..end)?.iter().copied().eq(text.chars());
        let ends = line.get(end).is_none_or(|next| *next == ' ');
        (is_there && ends).then_some(end)
    };
    // Left out rows are `...` in HTML, and as many dots as fit in plain text.
    let dots = || line[start..].iter().take_while(|character| **character == '.').count();
    if let Some(end) = spelled(cell).or_else(|| spelled(&bare(cell))) {
        *at = end;
        Ok(Some((start, end)))
    } else if cell == "..." && (1..3).contains(&dots()) {
        *at = start + dots();
        Ok(None)
    } else {
        Err(NotThere)
    }
}

/// A cell without the quotes that it has because of spaces within it.
fn bare(cell: &str) -> String {
    let inner = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
    inner.unwrap_or(cell).to_owned()
}

/// Whether headers are aligned to the left: most start where their values start, and end at different distances before the edge.
fn has_left_headers(columns: &[Vec<Option<Span>>]) -> bool {
    let distance = |column: &Vec<Option<Span>>| {
        let (start, end) = (*column.first()?)?;
        let starts = column[1..].iter().flatten().map(|(start, _)| *start);
        (start <= starts.min()?).then(|| edge(column) - end).filter(|distance| *distance > 0)
    };
    let distances: Vec<usize> = columns[1..].iter().filter_map(distance).collect();
    distances.len() * 2 > columns.len() - 1 && distances.iter().any(|distance| *distance > 1)
}

/// Where the widest text of a column ends.
fn edge(column: &[Option<Span>]) -> usize {
    column.iter().flatten().map(|(_, end)| *end).max().unwrap_or_default()
}

/// Quotes the cells of a column around which there are spaces, given the spans of the column before it and of the column.
fn quote(
    rows: &mut [Vec<String>],
    index: usize,
    (before, column): (&[Option<Span>], &[Option<Span>]),
    has_right_headers: bool,
) {
    let (left, right) = (edge(before), edge(column));
    let values: Vec<Span> = column[1..].iter().flatten().copied().collect();
    // Values that are aligned to the left end at different places for another reason.
    let is_left = values.windows(2).all(|pair| pair[0].0 == pair[1].0)
        && values.windows(2).any(|pair| pair[0].1 != pair[1].1);
    let number = |row: &Vec<String>, index: usize| {
        let value = row.get(index).map_or("", String::as_str);
        value.parse::<f64>().is_ok() || matches!(value, "True" | "False")
    };
    let is_number = |row: &Vec<String>| {
        number(row, index) || row.get(index).is_none_or(|value| value.is_empty() || value == "...")
    };
    // Texts before it may all end in a space, which would look like one before this header. A number ends where it ends.
    let is_edge_sure = rows[1..]
        .iter()
        .zip(&before[1..])
        .any(|(row, span)| span.is_some_and(|(_, end)| end == left) && number(row, index - 1));
    // Before a column there is a space, and another before its values and before headers of numbers.
    let least = left + 1 + usize::from(rows[1..].iter().all(is_number));
    for (row, span) in column.iter().enumerate() {
        let Some((start, end)) = *span else { continue };
        let is_aligned = if row == 0 { has_right_headers } else { !is_left };
        let after = if is_aligned { right - end } else { 0 };
        let is_widest = row == 0 && values.iter().all(|(value, _)| start <= *value && *value > left + 2);
        let space = if is_widest && is_aligned && is_edge_sure { start.saturating_sub(least) } else { 0 };
        let cell = &mut rows[row][index];
        if space + after > 0 && cell.parse::<f64>().is_err() {
            *cell = format!("{:?}", format!("{}{}{}", " ".repeat(space), bare(cell), " ".repeat(after)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_table_panics(text in "([a .]{0,3}\t?[a .\n]{0,3}){0,12}", plain in "([a .]{0,4}\n?){0,16}") {
            let shown = with_spaces(&text, &plain);
            let without = |text: &str| text.replace(['"', ' '], "");
            prop_assert!(shown.is_none_or(|shown| without(&shown) == without(&text)));
        }
    }

    #[test]
    fn the_last_line_break_stays() {
        assert_eq!(with_spaces("\t\n\n", ".\na\n\n").as_deref(), Some("\t\n\n"));
    }

    #[test]
    fn spaces_of_headers_and_cells_are_found() {
        let plain = "  Order Date   Region    n\n0  2020-01-01  SOUTH   1.5\n1           b    x  y  NaN";
        let html =
            "\tOrder Date\tRegion\tn\n0\t2020-01-01\tSOUTH\t1.5\n1\tb\t\"x  y\"\tNaN\n2 rows × 3 columns";
        assert_eq!(
            with_spaces(html, plain).unwrap(),
            "\t\"Order Date \"\tRegion\tn\n0\t2020-01-01\t\"SOUTH \"\t1.5\n1\tb\t\"x  y\"\tNaN\n2 rows × 3 columns"
        );
        let plain = "   a   b  Region\n0  1   2   SOUTH\n1  3   4       N";
        let html = "\ta\tb\tRegion\n0\t1\t2\tSOUTH\n1\t3\t4\tN";
        assert_eq!(with_spaces(html, plain).unwrap(), "\ta\t\" b\"\t\" Region\"\n0\t1\t2\tSOUTH\n1\t3\t4\tN");
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
        let shown = html.replace("second column", "\"second column \"").replace("\tx\t", "\t\"x \"\t");
        assert_eq!(with_spaces(html, &plain).unwrap(), shown);
    }

    #[test]
    fn tables_without_spaces_stay() {
        for plain in [
            "   Order Date Region    n     ok  long header name\n0  2020-01-01  SOUTH  1.5   True                 1\n1  2021-01-01     NO  NaN  False                 2",
            "    id           f       date\n0    1        0.10 2020-01-01\n1   22       -2.25 2020-01-01\n2 -333  1000000.00 2020-01-01",
            "          name   city\n0        Alice  Paris\n1          Bob   Rome\n2  Christopher   Wien",
            "  a      b      cc   \n0  Alice  Paris  xxxx\n1    Bob   Rome   yyy",
        ] {
            let words =
                |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join("\t");
            let html =
                plain.replace("Order Date", "Order_Date").replace("long header name", "long_header_name");
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
    fn other_text_is_left_alone() {
        assert_eq!(with_spaces("\ta\n0\t1", "   b\n0  1"), None);
        assert_eq!(with_spaces("\ta\n0\t1", ""), None);
        assert_eq!(with_spaces("no table", "a\nb"), None);
    }
}
