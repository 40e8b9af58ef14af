use proptest::prelude::*;

use super::*;

#[test]
fn colors_and_links_become_plain_text() {
    assert_eq!(render("\x1b[1;31merror\x1b[0m: \x1b[38;2;1;2;3mred\x1b[m"), "error: red");
    assert_eq!(
        render("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\ and \x1b]0;title\x07text"),
        "link and text"
    );
    assert_eq!(render("\x1b(Bplain\x1b7\x1b8 text\x1b="), "plain text");
    assert_eq!(render("a\x1bPq#0;2;0;0;0#0~~\x1b\\b"), "ab");
}

#[test]
fn an_unterminated_sequence_ends_with_its_line() {
    assert_eq!(render("a\x1b]0;never closed\nb"), "a\nb");
    assert_eq!(render("a\x1b["), "a");
    assert_eq!(render("a\x1b[31"), "a");
    assert_eq!(render("a\x1b"), "a");
    assert_eq!(render("a\x1b[3öb"), "aöb");
    assert_eq!(render("a\x1b[3\nb"), "a");
    assert_eq!(render("a\x1b[3\nmb"), "a\nb");
}

#[test]
fn a_carriage_return_overwrites_the_line() {
    assert_eq!(render("10%\r50%\r100%"), "100%");
    assert_eq!(render("100%\r5"), "500%");
    assert_eq!(render("a\r\nb\r\n"), "a\nb");
    assert_eq!(render("\rprogress 1\rprogress 2\n"), "progress 2");
    assert_eq!(render("öäü\r€"), "€äü");
    assert_eq!(render("50%\r"), "50%");
    assert_eq!(render("loading...\r\x1b[Kdone"), "done");
}

#[test]
fn a_backspace_overwrites_a_character() {
    assert_eq!(render("|\x08/\x08-\x08\\\x08ok"), "ok");
    assert_eq!(render("abc\x08\x08X"), "aXc");
    assert_eq!(render("N\x08NA\x08AM\x08ME\x08E"), "NAME");
    assert_eq!(render("\x08\x08a"), "a");
}

#[test]
fn nested_progress_bars_are_overwritten() {
    let frame = |outer, inner| format!("\router {outer}\n\rinner {inner}\x1b[A");
    let text = format!("{}{}{}\n\n", frame(1, 1), frame(1, 2), frame(2, 9));
    assert_eq!(render(&text), "outer 2\ninner 9");
}

#[test]
fn a_live_display_is_erased_line_by_line() {
    let text = "a 1\nb 1\r\x1b[2K\x1b[1A\x1b[2Ka 2\nb 2\n";
    assert_eq!(render(text), "a 2\nb 2");
    assert_eq!(render("one\ntwo\nthree\x1b[2A\r\x1b[Jnew"), "new");
    assert_eq!(render("one\ntwo\x1b[Fx"), "xne\ntwo");
}

#[test]
fn the_cursor_moves_within_a_line() {
    assert_eq!(render("a\x1b[3Cb"), "a   b");
    assert_eq!(render("abcdef\x1b[3GX"), "abXdef");
    assert_eq!(render("abcdef\x1b[2DX"), "abcdXf");
    assert_eq!(render("abc\r\x1b[1Kd"), "dbc");
    assert_eq!(render("abc\x1b[2Kd"), "   d");
    assert_eq!(render("\x1b[999999999Gx").len(), 1001);
    assert!(render(&"\x1b[999Cx\n\x1b[999Cy\n".repeat(10_000)).len() < 2_000_000);
    assert_eq!(render("a\x1b[99999999999999999999999A\x1b[99999999999B b"), "a b");
}

#[test]
fn control_characters_are_removed_except_tabs() {
    assert_eq!(render("a\tb\x07\0c\x7f"), "a\tbc");
    assert_eq!(render("a\x0cb\x0bc"), "a\nb\nc");
}

#[test]
fn trailing_blanks_and_blank_lines_are_removed() {
    assert_eq!(render("a   \nb\t\n\n\n"), "a\nb");
    assert_eq!(render("\n\na\n\nb"), "\n\na\n\nb");
    assert_eq!(render("   \n  \n"), "");
    assert_eq!(render(&format!("a{}b", "\n".repeat(100))), "a\n… (99 blank lines)\nb");
}

#[test]
fn repeated_lines_are_counted() {
    let waiting = "waiting for the server\n";
    assert_eq!(
        render(&format!("{}ok", waiting.repeat(300))),
        "waiting for the server\n… (line repeated 299 more times)\nok"
    );
    assert_eq!(render("a\na\na\nb\n"), "a\na\na\nb");
    let long = "x".repeat(90);
    assert_eq!(render(&format!("{long}\n{long}\n")), format!("{long}\n{long}"));
    assert_eq!(
        render(&format!("{long}\n{long}\n{long}\n")),
        format!("{long}\n… (line repeated 2 more times)")
    );
    assert_eq!(render("a\n\na\n\na"), "a\n\na\n\na");
}

#[test]
fn a_sequence_can_be_split_between_pieces() {
    let text = "a\x1b[31mb\x1b[0m 1%\r\x1b[2K2%\nc\x1b[A\rX\n\nä\r€\x1b]0;t\x07.";
    let characters: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(render_pieces(characters.iter().map(String::as_str)), render(text));
}

#[test]
fn memory_is_bounded_for_long_lines() {
    let long = "0123456789".repeat(50_000);
    assert_eq!(render(&long), long);
    let pieces = [long.as_str(), "ä", long.as_str(), "\nb\n"];
    assert_eq!(render_pieces(pieces), format!("{long}ä{long}\nb"));
    let lines = format!("first\n{long}\n{long}\nlast");
    assert_eq!(render(&lines), lines);
}

#[test]
fn lines_beyond_the_screen_are_final() {
    use std::fmt::Write;
    let mut text = String::new();
    (0..1000).for_each(|n| writeln!(text, "{n}").unwrap());
    text.push_str("\x1b[5000AX");
    let shown = render(&text);
    assert_eq!(shown.lines().count(), 1000);
    assert!(shown.contains("\nX37\n"), "{shown}");
}

proptest! {
    #[test]
    fn any_text_is_rendered_independently_of_its_pieces(parts in prop::collection::vec(sequence(), 0..60)) {
        let text = parts.concat();
        let whole = render(&text);
        let single: Vec<String> = text.chars().map(String::from).collect();
        prop_assert_eq!(&render_pieces(single.iter().map(String::as_str)), &whole);
        prop_assert!(!whole.contains(['\r', '\x1b', '\x08']));
        prop_assert!(!whole.ends_with(['\n', ' ']));
    }

    #[test]
    fn plain_lines_are_unchanged(lines in prop::collection::vec("[a-zäöü€ ]{0,5}[a-z€]", 0..9)) {
        prop_assume!(lines.windows(2).all(|pair| pair[0] != pair[1]));
        prop_assert_eq!(render(&lines.join("\n")), lines.join("\n"));
    }
}

fn sequence() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-cä€\\[;m0-9]{0,4}",
        "[\r\n\x08\t\x07\x1b\\]\\\\ ]",
        (0..70_usize, "[A-GJKm]").prop_map(|(count, function)| format!("\x1b[{count}{function}")),
        "\x1b\\[[JKA]",
    ]
}

#[test]
fn a_person_sees_colours_and_every_line() {
    let shown = |text: &str| {
        let pieces = styled([text]).into_iter();
        let pieces = pieces.map(|piece| match piece.style.foreground {
            Some(Colour::Indexed(index)) => format!("<{index}:{}>", piece.text),
            _ => piece.text,
        });
        pieces.collect::<String>()
    };
    for (text, expected) in [
        ("plain", "plain"),
        ("a\x1b[31mb\x1b[0mc", "a<1:b>c"),
        ("\x1b[31mred\nstill\x1b[39m no", "<1:red>\n<1:still> no"),
        ("\x1b[32m10%\r\x1b[31m99%", "<1:99%>"),
        ("abc\r\x1b[31mX", "<1:X>bc"),
        ("same\nsame\nsame\nsame\nsame\nsame\nsame\nsame", &["same"; 8].join("\n")),
        ("a\x1b]8;;http://x\x07link\x1b]8;;\x07", "alink"),
        ("\x1b5m", "m"),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
    assert_eq!(render("a\x1b[31mb\x1b[0mc"), "abc", "models see no colours");
}
