//! The rules of a style sheet that name elements by their id, as pandas writes them for styled tables.
//!
//! A page holds no style sheet of a notebook. What its rules say of an element becomes the element's own style.

use std::collections::HashMap;

use super::style::declarations;

/// The most rules that are compared with each element.
const MAX_RULES: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Sheet {
    /// By id: pandas writes a rule for each cell.
    by_id: HashMap<String, String>,
    below: Vec<Rule>,
}

/// A rule for elements below another: `#T_1 th.blank`.
#[derive(Debug)]
struct Rule {
    ancestor: String,
    tag: Option<String>,
    classes: Vec<String>,
    style: String,
}

/// An element, as rules name it.
pub(crate) struct Element<'a> {
    pub(crate) tag: &'a str,
    pub(crate) id: &'a str,
    pub(crate) classes: &'a str,
}

impl Sheet {
    /// Adds the rules of the text of a `style` element.
    pub(crate) fn add(&mut self, text: &str) {
        let mut rest = text;
        while let Some((selectors, after)) = rest.split_once('{') {
            // Rules within others, such as those for a medium, are left out with them.
            if selectors.contains('@') {
                rest = after_block(after);
                continue;
            }
            let Some((style, after)) = after.split_once('}') else { return };
            let style = declarations(style);
            if !style.is_empty() {
                selectors.split(',').for_each(|selector| self.rule(selector.trim(), &style));
            }
            rest = after;
        }
    }

    fn rule(&mut self, selector: &str, style: &str) {
        let mut parts = selector.split_whitespace();
        let Some(ancestor) = parts.next().and_then(|first| first.strip_prefix('#')) else { return };
        if !is_name(ancestor) {
            return;
        }
        match (parts.next(), parts.next()) {
            (None, _) => self.by_id.entry(ancestor.to_owned()).or_default().push_str(style),
            (Some(element), None) if self.below.len() < MAX_RULES => {
                let mut names = element.split('.');
                let tag = names.next().unwrap_or_default();
                let classes: Vec<String> = names.map(ToOwned::to_owned).collect();
                if (tag.is_empty() || is_name(tag)) && classes.iter().all(|class| is_name(class)) {
                    let tag = (!tag.is_empty()).then(|| tag.to_ascii_lowercase());
                    let ancestor = ancestor.to_owned();
                    self.below.push(Rule { ancestor, tag, classes, style: style.to_owned() });
                }
            }
            _ => {}
        }
    }

    /// The style of an element below those with these ids.
    pub(crate) fn style<'a>(
        &self,
        element: &Element<'_>,
        ancestors: impl Iterator<Item = &'a str>,
    ) -> String {
        let mut style = String::new();
        if !self.below.is_empty() {
            let ancestors: Vec<&str> = ancestors.collect();
            let is_meant = |rule: &&Rule| {
                let has_class = |class: &String| element.classes.split_whitespace().any(|own| own == class);
                ancestors.contains(&&*rule.ancestor)
                    && rule.tag.as_ref().is_none_or(|tag| tag == element.tag)
                    && rule.classes.iter().all(has_class)
            };
            self.below.iter().filter(is_meant).for_each(|rule| style.push_str(&rule.style));
        }
        if let Some(own) = self.by_id.get(element.id) {
            style.push_str(own);
        }
        style
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// What follows the block whose brace is open at the start of `text`.
fn after_block(text: &str) -> &str {
    let mut open = 1_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_become_styles_of_their_elements() {
        let mut sheet = Sheet::default();
        sheet.add(
            "#T_1 th { text-align: left } @media print { #T_1 { color: red } } #T_1_row0_col0, #T_1_row1_col0 { color: blue; \
             position: fixed } #T_1 .blank:hover { color: red } #T_1 td.a.b { width: 1em } body { color: red } #x",
        );
        let style = |tag, id, classes| sheet.style(&Element { tag, id, classes }, ["T_1"].into_iter());
        assert_eq!(style("th", "", ""), "text-align:left;");
        assert_eq!(style("td", "T_1_row1_col0", "data"), "color:blue;");
        assert_eq!(style("td", "", "b c a"), "width:1em;");
        assert_eq!(style("td", "", "blank"), "");
        assert_eq!(style("body", "T_1", ""), "");
        assert_eq!(sheet.style(&Element { tag: "th", id: "", classes: "" }, ["T_2"].into_iter()), "");
    }
}
