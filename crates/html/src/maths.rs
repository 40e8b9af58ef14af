//! Formulas: LaTeX as `MathML`, which browsers draw without a script.

use std::panic::{AssertUnwindSafe, catch_unwind};

use notebook::markup::{Part, read};
use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};

use crate::fragment::Fragment;

/// A longer formula is shown as its source, in bytes.
const MAX_LENGTH: usize = 20_000;
/// The most nested groups, which the writer follows by recursion.
const MAX_DEPTH: usize = 60;
/// The longest `MathML` of a formula, in bytes.
const MAX_WRITTEN: usize = 1024 * 1024;

/// Definitions make work without a bound: `\def\a{\a\a}`.
const DEFINITIONS: [&str; 9] =
    ["def", "edef", "futurelet", "gdef", "let", "newcommand", "providecommand", "renewcommand", "xdef"];

/// Writes a formula, or its source if it cannot be read.
pub(crate) fn formula(latex: &str, is_block: bool, html: &mut Fragment) {
    match mathml(latex, is_block) {
        Some(maths) => {
            html.append(maths);
        }
        // An element that may stand in a paragraph, too.
        None => {
            html.raw("<code class=\"cb-latex\">").text(latex).raw("</code>");
        }
    }
}

/// The formula as `MathML`; `None` if some of it is not known.
fn mathml(latex: &str, is_block: bool) -> Option<Fragment> {
    let is_deep = latex.matches(['{', '^', '_', '\\']).count() > 4_000 || depth(latex) > MAX_DEPTH;
    let is_definition = |name: &str| DEFINITIONS.iter().any(|definition| name.starts_with(definition));
    let has_definition = latex.split('\\').skip(1).any(is_definition);
    if latex.len() > MAX_LENGTH || is_deep || has_definition {
        return None;
    }
    let display_mode = if is_block { DisplayMode::Block } else { DisplayMode::Inline };
    let config = RenderConfig { display_mode, ..RenderConfig::default() };
    // A panic would be an error in the library, which must not end the program.
    let written = catch_unwind(AssertUnwindSafe(|| {
        let storage = Storage::new();
        let events: Vec<_> = Parser::new(latex, &storage).take(MAX_LENGTH).collect();
        if events.iter().any(Result::is_err) {
            return None;
        }
        let mut written = String::new();
        push_mathml(&mut written, events.into_iter(), config).ok()?;
        (written.len() <= MAX_WRITTEN).then_some(written)
    }));
    Some(allowed(&written.ok()??))
}

fn depth(latex: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for byte in latex.bytes() {
        match byte {
            b'{' | b'(' | b'[' => open += 1,
            b'}' | b')' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    // `\left` and `\begin` nest, too.
    deepest + latex.matches("\\left").count().max(latex.matches("\\begin").count())
}

/// Elements of `MathML` Core, of which none takes HTML or an address.
const ELEMENTS: &str = include_str!("maths/elements.txt");
const ATTRIBUTES: &str = include_str!("maths/attributes.txt");

/// The library's `MathML`, written again: what it copies from the formula is text, and nothing else is.
fn allowed(mathml: &str) -> Fragment {
    let mut html = Fragment::default();
    let mut open: Vec<&'static str> = Vec::new();
    read(mathml, |part| {
        match part {
            Part::Tag(tag) if tag.is_start => {
                let name = ELEMENTS.lines().find(|known| *known == tag.name)?;
                html.raw("<").raw(name);
                for (attribute, value) in tag.attributes() {
                    if let Some(known) = ATTRIBUTES.lines().find(|known| *known == attribute) {
                        html.attribute(known, &value);
                    } else if attribute == "class" {
                        write_classes(&value, &mut html);
                    } else if attribute == "style" {
                        write_style(&value, &mut html);
                    } else if attribute == "width" {
                        html.attribute("width", &value);
                    }
                }
                html.raw(">");
                if tag.is_self_closing {
                    html.raw("</").raw(name).raw(">");
                } else {
                    open.push(name);
                }
            }
            Part::Tag(tag) => {
                if let Some(at) = open.iter().rposition(|it| *it == tag.name) {
                    close(&mut open, at, &mut html);
                }
            }
            Part::Text(text) => drop(html.text(&text)),
            Part::Comment(_) => {}
        }
        None
    });
    close(&mut open, 0, &mut html);
    html
}

/// Closes elements from the innermost to the one at `at`.
fn close(open: &mut Vec<&'static str>, at: usize, html: &mut Fragment) {
    for name in open.drain(at..).rev() {
        html.raw("</").raw(name).raw(">");
    }
}

/// The library's classes for tables.
fn write_classes(classes: &str, html: &mut Fragment) {
    if classes.split(' ').all(|class| class.starts_with("menv-")) {
        html.attribute("class", classes);
    }
}

fn write_style(style: &str, html: &mut Fragment) {
    let style = crate::sanitize::style::declarations(style);
    if !style.is_empty() {
        html.attribute("style", &style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(latex: &str) -> String {
        let mut html = Fragment::default();
        formula(latex, false, &mut html);
        html.as_str().to_owned()
    }

    #[test]
    fn formulas_become_mathml() {
        let square = written("x^2");
        assert!(
            square.starts_with("<math") && square.contains("<msup><mi>x</mi><mn>2</mn></msup>"),
            "{square}"
        );
        let half = written("\\frac{1}{2}");
        assert!(half.contains("<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"), "{half}");
        assert!(written("a < b").contains("&lt;"), "{}", written("a < b"));
        let matrix = written("\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}");
        assert!(matrix.contains("<mtable class=\"menv-arraylike\">") && matrix.contains("<mtd>"), "{matrix}");
    }

    #[test]
    fn what_cannot_be_read_is_shown_as_it_is() {
        for latex in ["\\unknowncommand{x}", "\\frac{", "\\def\\a{\\a\\a}\\a", "\\gdef\\a{x}\\a", "}"] {
            let shown = written(latex);
            assert!(shown.starts_with("<code class=\"cb-latex\">"), "{latex}: {shown}");
        }
    }

    #[test]
    fn deep_and_long_formulas_end() {
        for latex in
            ["{".repeat(10_000), "x^".repeat(3_000), "\\left(".repeat(2_000), "\\sqrt ".repeat(3_900)]
        {
            assert!(!written(&latex).is_empty());
        }
    }

    #[test]
    fn formulas_hold_no_markup() {
        for latex in [
            "\\text{<script>alert(1)</script>}",
            "\\left< x \\right>",
            "\\operatorname{<img src=x onerror=alert(1)>}",
            "\\color{red\"onclick=\"x} y",
            "\\href{javascript:alert(1)}{x}",
            "\\text{</math><img src=x onerror=alert(1)>}",
        ] {
            let shown = written(latex);
            for bad in ["<script", "<img", "onclick=\"", "<a"] {
                assert!(!shown.contains(bad), "{latex}: {shown}");
            }
        }
    }
}
