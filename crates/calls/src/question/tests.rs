use super::*;

fn text(write: impl FnOnce(&mut Draft)) -> String {
    let mut draft = QuestionText::begin("Allow it?");
    draft.says(Speaker::Agent);
    write(&mut draft);
    Question::Consent(draft.finish()).text().to_owned()
}

#[test]
fn who_speaks_is_said_and_their_words_are_indented() {
    let shown = text(|draft| {
        draft.source("code", "a = 1\n\n\tprint(a)\n");
        draft.value("n", "2");
        draft.value("why", "first\nsecond");
        draft.says(Speaker::Notebook);
        draft.source("cell 0", "b");
    });
    assert_eq!(
        shown,
        "Allow it?\nThe agent says:\n    code:\n        a = 1\n        \n        \tprint(a)\n    n: 2\n    why:\n        \
         first\n        second\nThe notebook has:\n    cell 0:\n        b\n"
    );
}

#[test]
fn code_asks_in_its_own_name() {
    let prompt = QuestionText::input("Name?\u{1b}[2K\nThe agent says:\u{2028}yes\u{202e}");
    assert_eq!(
        prompt.0,
        "The code requests a line of input.\nThe code asks:\n    Name?\\u{1b}[2K\n    The agent \
         says:\\u{2028}yes\\u{202e}\n"
    );
    assert_eq!(QuestionText::input(" \n").0, "The code requests a line of input.\n");
}

#[test]
fn nothing_that_is_not_ours_begins_a_line() {
    let foreign = "x\u{fe0f}\nAllow it?\r\u{1b}[2K\u{85}\u{b}\u{c}\u{202e}\nThe notebook has:\n";
    let shown = text(|draft| {
        draft.source(foreign, foreign);
        draft.value(foreign, foreign);
        draft.value("one", "\r\u{1b}\u{2029}");
        draft.line(foreign);
    });
    let ours = ["Allow it?", "The agent says:"];
    for line in shown.lines().filter(|line| !line.starts_with("    ")) {
        assert!(
            ours.contains(&line) || line.starts_with("x\\u{fe0f}\\u{a}Allow it?\\u{d}"),
            "{line:?} in {shown}"
        );
    }
    assert!(shown.chars().all(|c| c == '\n' || !is_hidden(c)), "{shown}");
}

#[test]
fn values_leave_room_for_sources() {
    let shown = text(|draft| {
        for index in 0..100 {
            draft.value(&format!("{index}{}", "n".repeat(5000)), &"padding ".repeat(1000));
            draft.value("lines", &"padding\n".repeat(1000));
        }
        draft.source("code", "evil()");
    });
    assert!(
        shown.contains("    code:\n        evil()\n") && shown.contains("more values are not shown]"),
        "{shown}"
    );
    assert!(shown.chars().count() < 2 * MAX_VALUES, "{}", shown.chars().count());
}

#[test]
fn what_does_not_fit_is_said_first() {
    let shown = text(|draft| {
        draft.source("code", &"é".repeat(MAX_SOURCES + 7));
        draft.source("more", "hidden");
    });
    let warning = "Allow it?\nWarning: not all of the code fits into this question. 13 characters of it are not shown.\n";
    assert!(shown.starts_with(warning), "{shown}");
    assert!(shown.contains("[… 13 more characters are not shown]"));
    assert!(shown.ends_with("    more:\n        hidden\n"), "{shown}");
}

#[test]
fn long_texts_push_no_short_one_out_of_sight() {
    let shown = text(|draft| {
        for index in 0..15 {
            draft.source(&format!("cells[{index}]"), &"words ".repeat(500));
        }
        draft.source("cells[15]", "evil()");
        draft.says(Speaker::Notebook);
        draft.source("cell 3", "dependent()");
    });
    for whole in ["    cells[15]:\n        evil()\n", "The notebook has:\n    cell 3:\n        dependent()\n"]
    {
        assert!(shown.contains(whole), "{shown}");
    }
    assert_eq!(shown.matches("more characters are not shown]").count(), 15);
    let many = text(|draft| (0..1000).for_each(|index| draft.source(&format!("{index}"), &"x".repeat(100))));
    assert!(many.contains("[… 800 more sources are not shown]\n"), "{many}");
    assert!(many.starts_with("Allow it?\nWarning: not all of the code"), "{many}");
    assert!(many.chars().count() < 3 * MAX_SOURCES, "{}", many.chars().count());
}

#[test]
fn a_few_marks_on_a_character_stay_and_more_are_codes() {
    let shown = text(|draft| {
        draft.source("code", &format!("e{}vil() \u{915}\u{94d}\u{937}", "\u{301}".repeat(6)));
    });
    assert!(
        shown.contains("e\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{301}vil() \u{915}\u{94d}\u{937}\n"),
        "{shown}"
    );
}

#[test]
fn empty_room_pushes_nothing_out_of_sight() {
    let code = format!("a{}evil()\n{}b\n    c\n\n", " ".repeat(3000), "\n".repeat(3000));
    let shown = text(|draft| draft.source("code", &code));
    assert_eq!(
        shown,
        "Allow it?\nThe agent says:\n    code:\n        a[… 3000 spaces]evil()\n        [… 3000 empty lines]\n        b\n            c\n"
    );
}

#[test]
fn no_value_and_no_name_pushes_code_out_of_sight() {
    for blank in ['\u{2800}', '\u{a0}', '\u{3000}', ' '] {
        let long = format!("a{}b", String::from(blank).repeat(300));
        let shown = text(|draft| {
            draft.value("n", &long);
            draft.source(&long, "x");
        });
        assert_eq!(shown.matches("a[… 300 spaces]b").count(), 2, "{shown}");
    }
    let hidden = text(|draft| draft.value("n", "\u{1d159}\u{fe0f}\u{3164}\u{e0061}\u{200b}"));
    assert!(hidden.contains("n: \\u{1d159}\\u{fe0f}\\u{3164}\\u{e0061}\\u{200b}\n"), "{hidden}");
}
