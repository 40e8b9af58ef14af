use std::fmt::Write;

use notebook::{Json, MimeBundle};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::full_text;

fn stream(name: &str, text: &str) -> Output {
    Output::Stream { name: name.to_owned(), text: text.into() }
}

fn bundle(data: &serde_json::Value) -> MimeBundle {
    MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() }
}

fn display(text: &str) -> Output {
    Output::Display(bundle(&json!({ "text/plain": text })))
}

fn result(text: &str) -> Output {
    Output::Result { execution_count: Some(1), bundle: bundle(&json!({ "text/plain": text })) }
}

fn error(name: &str, value: &str, traceback: &str) -> Output {
    Output::Error { name: name.to_owned(), value: value.to_owned(), traceback: vec![traceback.to_owned()] }
}

fn image() -> Output {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";
    Output::Display(bundle(&json!({ "image/png": png })))
}

fn more(index: usize, offset: usize) -> String {
    format!("see({index}, {offset})")
}

fn numbered(word: &str, lines: usize) -> String {
    let mut text = String::new();
    (0..lines).for_each(|n| writeln!(text, "{word} {n}").unwrap());
    text
}

fn text_of(reply: Reply) -> String {
    let mut text = String::new();
    for part in reply.close("") {
        match part {
            Part::Text(part) => text.push_str(&part),
            Part::Image { mime, .. } => write!(text, "<{mime}>").unwrap(),
        }
    }
    text
}

fn rendered(characters: usize, outputs: &[Output]) -> String {
    let mut reply = Reply::new(Budget { characters, images: 2 });
    reply.outputs(outputs, &more);
    text_of(reply)
}

#[test]
fn a_single_output_has_no_label() {
    assert_eq!(rendered(1000, &[stream("stdout", "a\nb\n")]), "a\nb");
    assert_eq!(rendered(1000, &[result("42")]), "42");
    assert_eq!(rendered(1000, &[stream("stderr", "oh\n")]), "[stderr]\noh");
    assert_eq!(rendered(1000, &[]), "");
}

#[test]
fn several_outputs_have_labels() {
    let outputs = [
        stream("stdout", "a\n"),
        stream("stderr", "b\n"),
        display("c"),
        result("d"),
        error("E", "f", "E: f"),
    ];
    assert_eq!(rendered(1000, &outputs), "[stdout]\na\n[stderr]\nb\n[display]\nc\n[result]\nd\nE: f");
}

#[test]
fn outputs_without_text_are_omitted() {
    assert_eq!(rendered(1000, &[stream("stdout", "\n\n"), display(""), result("1")]), "[result]\n1");
}

#[test]
fn images_are_placed_between_texts() {
    let outputs = [stream("stdout", "a"), image(), image(), image()];
    assert_eq!(
        rendered(1000, &outputs),
        "[stdout]\na\n[image/png 1×1, 68 B]<image/png>[image/png 1×1, 68 B]<image/png>\
         [image/png 1×1, 68 B, left out, see(3, 0) shows it]\n[left out above: see(3, 0) shows it]"
    );
}

#[test]
fn text_of_the_tool_counts() {
    let mut reply = Reply::new(Budget { characters: 100, images: 0 });
    reply.say("Done.");
    assert_eq!(reply.left(), 95);
    reply.outputs(&[result("1")], &more);
    reply.say("");
    reply.say("Bye.");
    assert_eq!(reply.left(), 100 - "Done.\n1\nBye.".len());
    assert_eq!(reply.close(""), [Part::Text("Done.\n1\nBye.".to_owned())]);
}

#[test]
fn long_text_of_the_tool_is_shortened_in_the_middle() {
    let mut reply = Reply::new(Budget { characters: 60, images: 0 });
    reply.say(&"word ".repeat(100));
    let text = text_of(reply);
    assert!(text.starts_with("word "), "{text}");
    assert!(text.contains(" characters left out … "), "{text}");
    assert!(text.chars().count() <= 60);
}

#[test]
fn a_long_output_leaves_room_for_a_short_one() {
    let long = "line of text\n".repeat(5).replace("line", "other line") + &"x\ny\n".repeat(10_000);
    let text =
        rendered(1000, &[stream("stdout", &long), error("ValueError", "no", "somewhere\nValueError: no")]);
    assert!(text.contains("x\ny\nsomewhere\nValueError: no\n[left out above: see(0, "), "{text}");
    assert!(text.contains(" lines left out, see(0, "), "{text}");
    assert!((850..=1000).contains(&text.chars().count()), "{}", text.chars().count());
}

#[test]
fn an_error_gets_more_characters_than_a_stream() {
    let long = numbered("line", 2000);
    let text = rendered(2000, &[stream("stderr", &long), error("E", "no", &format!("{long}E: no"))]);
    let (streamed, failed) = text.split_once("line 1999\n").unwrap();
    assert!(streamed.starts_with("[stderr]\nline 0\n"), "{text}");
    assert!(failed.contains("line 1999\nE: no\n[left out above: see(0, "), "{text}");
    assert!(failed.len() > 3 * streamed.len(), "{text}");
}

#[test]
fn the_headline_of_a_long_error_is_visible() {
    let frames = numbered("frame", 2000);
    let message = numbered("bad row", 2000);
    let traceback = format!("BadError  Traceback (most recent call last)\n{frames}BadError: rows\n{message}");
    let outputs = [stream("stdout", &frames), error("BadError", &format!("rows\n{message}"), &traceback)];
    let text = rendered(1000, &outputs);
    assert!(
        text.contains("\nBadError: rows…\nBadError  Traceback (most recent call last)\nframe 0\n"),
        "{text}"
    );
    assert!(text.contains("bad row 1999\n[left out above: see(0, "), "{text}");
}

#[test]
fn of_many_outputs_the_middle_is_left_out() {
    let mut outputs: Vec<Output> = (0..1000).map(|n| display(&format!("number {n}"))).collect();
    outputs.push(error("E", "f", "E: f"));
    let text = rendered(1200, &outputs);
    assert!(text.starts_with("[display]\nnumber 0\n"), "{text}");
    assert!(
        text.contains("number 9\n… 981 outputs left out, see(10, 0) shows the first of them\n[display]"),
        "{text}"
    );
    assert!(text.ends_with("[display]\nnumber 999\nE: f\n[left out above: see(10, 0) shows it]"), "{text}");
}

#[test]
fn the_offset_is_where_the_left_out_part_starts() {
    let long = numbered("line", 5000);
    let output = stream("stdout", &long);
    let text = rendered(800, std::slice::from_ref(&output));
    let (head, rest) = text.split_once("… ").unwrap();
    let (count, rest) = rest.split_once(" lines left out, see(0, ").unwrap();
    let (offset, tail) = rest.split_once(") shows them\n").unwrap();
    let (tail, last_line) = tail.rsplit_once('\n').unwrap();
    assert_eq!(last_line, format!("[left out above: see(0, {offset}) shows it]"));
    let full = full_text(&output);
    let (page, _) = crate::page(&full, offset.parse().unwrap(), usize::MAX / 2);
    let between = page.strip_suffix(tail).unwrap();
    assert_eq!(format!("{head}{between}{tail}"), full);
    assert_eq!(between.lines().count().to_string(), count);
}

#[test]
fn the_last_line_names_the_first_thing_that_was_left_out() {
    let long = numbered("line", 2000);
    let closed = |say: &str, outputs: &[Output]| {
        let mut reply = Reply::new(Budget { characters: 1000, images: 0 });
        reply.say(say);
        reply.outputs(outputs, &more);
        let mut parts = reply.close("[COMPLETED]");
        let Some(Part::Text(text)) = parts.pop() else { panic!("no text") };
        text.lines().last().unwrap().to_owned()
    };
    let streamed = stream("stdout", &long);
    assert_eq!(closed("Done.", &[stream("stdout", "short")]), "[COMPLETED]");
    assert_eq!(closed("", &[result("1"), image()]), "[COMPLETED] · left out above: see(1, 0) shows it");
    assert!(
        closed("", &[result("1"), streamed, image()]).starts_with("[COMPLETED] · left out above: see(1, ")
    );
    for outputs in [&[][..], &[result("1"), image()]] {
        assert_eq!(closed(&long, outputs), "[COMPLETED] · part of the text above was left out");
    }
}

proptest! {
    #[test]
    fn no_reply_exceeds_its_budget(
        characters in 0_usize..600, text in ".{0,80}", outputs in prop::collection::vec(any_output(), 0..12),
    ) {
        let mut reply = Reply::new(Budget { characters, images: 1 });
        reply.say(&text);
        reply.outputs(&outputs, &more);
        let parts = reply.close("");
        let texts: usize = parts.iter().map(|part| match part {
            Part::Text(text) => text.chars().count(),
            Part::Image { .. } => 0,
        }).sum();
        prop_assert!(texts <= characters, "{texts} > {characters}");
        let are_merged = parts.windows(2).all(|pair| !matches!(pair, [Part::Text(_), Part::Text(_)]));
        prop_assert!(are_merged);
        let images = parts.iter().filter(|part| matches!(part, Part::Image { .. })).count();
        prop_assert!(images <= 1);
    }

    #[test]
    fn outputs_that_fit_are_whole(outputs in prop::collection::vec(any_output(), 0..12)) {
        let text = rendered(1_000_000, &outputs);
        for output in &outputs {
            let full = full_text(output);
            prop_assert!(text.contains(full.trim_end_matches(']')), "{text}\n{full}");
        }
    }
}

fn any_output() -> impl Strategy<Value = Output> {
    let text = "([a-zä ]{0,12}\n?){0,30}";
    prop_oneof![
        (any::<bool>(), text)
            .prop_map(|(is_error, text)| stream(if is_error { "stderr" } else { "stdout" }, &text)),
        text.prop_map(|text| display(&text)),
        text.prop_map(|text| result(&text)),
        ("[A-Z]{0,3}", text).prop_map(|(name, text)| error(&name, &text, &text)),
        Just(image()),
    ]
}
