use serde_json::Value;

use super::format::{State, VIEW, reference};
use super::html::text_of;

/// How deep boxes may contain boxes, and how many models one text shows.
const MAX_DEPTH: usize = 16;
const MAX_MODELS: usize = 500;
/// How long a text may be, in characters.
const MAX_CHARS: usize = 10_000;
/// How many characters a bar has.
const BAR: u8 = 10;

/// Makes the text of one displayed widget.
pub(super) struct View<'a, F> {
    state: &'a F,
    models_left: usize,
}

impl<'a, 's, F: Fn(&str) -> Option<&'s State>> View<'a, F> {
    /// What a person sees of a model; `None` if that is not known.
    pub(super) fn text(id: &str, state: &'a F) -> Option<String> {
        state(id)?.get("_model_name")?;
        let mut text = View { state, models_left: MAX_MODELS }.model(id, MAX_DEPTH);
        if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
            text.truncate(end);
            text.push('…');
        }
        Some(text)
    }

    fn model(&mut self, id: &str, depth: usize) -> String {
        let Some(state) = (self.state)(id).filter(|_| depth > 0 && self.models_left > 0) else {
            return String::new();
        };
        self.models_left -= 1;
        if self.is_hidden(state) {
            return String::new();
        }
        let model = Model(state);
        let name = model.text("_model_name");
        let name = name.strip_suffix("Model").unwrap_or(&name);
        match name {
            "HBox" => join_row(&self.children(state, depth), state, self.state),
            "VBox" | "Box" | "GridBox" | "AppLayout" | "GridspecLayout" | "TwoByTwoLayout" => {
                self.column(state, depth)
            }
            "Tab" | "Accordion" | "Stack" => self.selected_child(name, state, depth),
            "Output" => self.outputs(state, depth),
            _ => model.shown(name),
        }
    }

    /// The outputs that code has put into an `Output` widget. Widgets among them are shown as they are now.
    fn outputs(&mut self, state: &State, depth: usize) -> String {
        let outputs = state.get("outputs").and_then(Value::as_array);
        let text = |output: &Value| match output["data"][VIEW]["model_id"].as_str() {
            Some(id) if (self.state)(id).is_some() => self.model(id, depth - 1),
            _ => captured_text(output),
        };
        let texts = outputs.into_iter().flatten().map(text).map(|text| text.trim_end().to_owned());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Whether its layout hides it.
    fn is_hidden(&self, state: &State) -> bool {
        let layout = state.get("layout").and_then(reference).and_then(self.state);
        let is = |name: &str, value: &str| {
            layout.and_then(|layout| layout.get(name)).and_then(Value::as_str) == Some(value)
        };
        is("display", "none") || is("visibility", "hidden")
    }

    /// The text of each child, which may be empty.
    fn children(&mut self, state: &State, depth: usize) -> Vec<String> {
        let children = state.get("children").and_then(Value::as_array);
        let ids = children.into_iter().flatten().filter_map(reference);
        ids.map(|id| self.model(id, depth - 1)).collect()
    }

    fn column(&mut self, state: &State, depth: usize) -> String {
        let children = self.children(state, depth);
        children.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The titles, and the child that is open.
    fn selected_child(&mut self, name: &str, state: &State, depth: usize) -> String {
        let children = state.get("children").and_then(Value::as_array).map_or(0, Vec::len);
        let selected = state.get("selected_index").and_then(Value::as_u64);
        let selected =
            selected.and_then(|index| usize::try_from(index).ok()).filter(|index| *index < children);
        let title = |index: usize| {
            let title = title(state, index).unwrap_or_else(|| (index + 1).to_string());
            if selected == Some(index) { format!("[{title}]") } else { title }
        };
        let titles: Vec<_> = (0..children).map(title).collect();
        let child = state.get("children").and_then(|children| children.get(selected?)).and_then(reference);
        let child = child.map(|id| self.model(id, depth - 1)).unwrap_or_default();
        let titles = if name == "Stack" { String::new() } else { titles.join(" | ") };
        [titles, child].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// The text of an output in an `Output` widget.
fn captured_text(output: &Value) -> String {
    let data = &output["data"];
    if data["text/plain"].as_str().is_some_and(is_bare_repr) {
        if let Some(markdown) = data["text/markdown"].as_str() {
            return markdown.to_owned();
        }
        if let Some(html) = data["text/html"].as_str() {
            return text_of(html);
        }
    }
    let text = [&output["text"], &data["text/plain"]].into_iter().find(|text| !text.is_null());
    match (text, output["ename"].as_str()) {
        (Some(Value::Array(lines)), _) => lines.iter().filter_map(Value::as_str).collect::<String>(),
        (Some(text), _) => text.as_str().unwrap_or_default().to_owned(),
        (None, Some(name)) => format!("{name}: {}", output["evalue"].as_str().unwrap_or_default()),
        (None, None) => String::new(),
    }
}

/// Whether a text only names its object: `<IPython.core.display.HTML object>`.
fn is_bare_repr(text: &str) -> bool {
    text.starts_with('<') && text.trim_end().ends_with(" object>")
}

/// In ipywidgets 8 a list, before an object whose names are numbers.
fn title(state: &State, index: usize) -> Option<String> {
    let title = match state.get("titles") {
        Some(Value::Array(titles)) => titles.get(index),
        _ => state.get("_titles").and_then(|titles| titles.get(index.to_string())),
    };
    title.and_then(Value::as_str).filter(|title| !title.is_empty()).map(str::to_owned)
}

/// Children side by side. The numbers of a bar are left out where the text beside it has them, as in a bar of tqdm.
fn join_row<'s>(children: &[String], state: &State, model: &impl Fn(&str) -> Option<&'s State>) -> String {
    let ids = state.get("children").and_then(Value::as_array).into_iter().flatten().map(reference);
    let has_numbers = |text: &str| text.contains('%') || text.contains('/') || text.contains("it ");
    let others_have_numbers =
        |at: usize| children.iter().enumerate().any(|(other, text)| other != at && has_numbers(text));
    let parts = children.iter().zip(ids).enumerate().map(|(at, (text, id))| {
        let progress = id.and_then(model).map(Model).filter(Model::is_progress);
        match progress.filter(|_| !text.is_empty() && others_have_numbers(at)) {
            Some(progress) => progress.described(progress.bar()),
            None => text.clone(),
        }
    });
    let parts: Vec<_> = parts.filter(|text| !text.is_empty()).collect();
    let separator = if parts.iter().any(|part| part.contains('\n')) { "\n" } else { " " };
    parts.join(separator)
}

/// The state of a model without children.
struct Model<'s>(&'s State);

impl Model<'_> {
    fn shown(&self, name: &str) -> String {
        match name {
            "HTML" | "HTMLMath" => self.described(text_of(&self.text("value"))),
            "Label" | "Text" | "Textarea" | "Combobox" => self.described(self.text("value")),
            "Password" => self.described("•".repeat(self.text("value").chars().count().min(1) * 8)),
            "IntProgress" | "FloatProgress" => {
                self.described(format!("{} {}{}", self.bar(), self.plain("value"), self.out_of()))
            }
            "Checkbox" | "ToggleButton" | "Valid" => {
                let is_on = self.0.get("value").and_then(Value::as_bool) == Some(true);
                format!("[{}] {}", if is_on { 'x' } else { ' ' }, self.label()).trim_end().to_owned()
            }
            "Button" | "FileUpload" => format!("[{}]", self.label()),
            "Dropdown" | "RadioButtons" | "Select" | "ToggleButtons" | "SelectionSlider" => {
                self.described(self.selection())
            }
            "SelectMultiple" | "SelectionRangeSlider" => self.described(self.selections()),
            "Image" | "Audio" | "Video" => format!(
                "[{}]",
                [&name.to_lowercase(), &self.text("format")].map(String::as_str).join(" ").trim()
            ),
            _ if self.0.contains_key("value") && is_known(name) => {
                self.described(format!("{}{}", self.plain("value"), self.range()))
            }
            _ => self.unknown(name),
        }
    }

    fn is_progress(&self) -> bool {
        matches!(&*self.text("_model_name"), "IntProgressModel" | "FloatProgressModel")
    }

    fn unknown(&self, name: &str) -> String {
        let value = self.plain("value");
        let shown = if value.is_empty() { name.to_owned() } else { format!("{name}: {value}") };
        self.described(shown)
    }

    /// With the description before it, if it has one.
    fn described(&self, shown: String) -> String {
        match self.text("description") {
            none if none.is_empty() => shown,
            description if shown.is_empty() => description,
            description => format!("{} {shown}", with_colon(&description)),
        }
    }

    /// What stands on a button.
    fn label(&self) -> String {
        let names = ["description", "tooltip", "icon"];
        names.into_iter().map(|name| self.text(name)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn text(&self, name: &str) -> String {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn plain(&self, name: &str) -> String {
        self.0.get(name).map(plain).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64).filter(|number| number.is_finite())
    }

    /// A bar as tqdm prints it.
    fn bar(&self) -> String {
        let (min, max) = (self.number("min").unwrap_or(0.0), self.number("max").unwrap_or(100.0));
        let share = ((self.number("value").unwrap_or(min) - min) / (max - min)).clamp(0.0, 1.0);
        let share = if max > min { share } else { 0.0 };
        let full = (1..=BAR).filter(|part| share * f64::from(BAR) >= f64::from(*part)).count();
        let mood = match &*self.text("bar_style") {
            "danger" => " (danger)",
            "warning" => " (warning)",
            _ => "",
        };
        format!("|{}{}|{mood}", "█".repeat(full), " ".repeat(usize::from(BAR) - full))
    }

    /// The end of `3/10` or `3 (1–10)`.
    fn out_of(&self) -> String {
        match self.number("min") {
            Some(0.0) | None => format!("/{}", self.plain("max")),
            Some(_) => self.range(),
        }
    }

    fn range(&self) -> String {
        match (self.plain("min"), self.plain("max")) {
            (min, max) if min.is_empty() || max.is_empty() => String::new(),
            // Of a slider with a logarithmic scale.
            (min, max) if self.0.contains_key("base") => {
                let base = self.plain("base");
                format!(" ({base}^{min}–{base}^{max})")
            }
            (min, max) => format!(" ({min}–{max})"),
        }
    }

    fn options(&self) -> Vec<String> {
        let options = self.0.get("_options_labels").and_then(Value::as_array);
        options.into_iter().flatten().map(plain).collect()
    }

    fn selection(&self) -> String {
        let options = self.options();
        let index = self.0.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let selected = index.and_then(|index| options.get(index).cloned());
        let selected = selected.unwrap_or_else(|| "(nothing selected)".to_owned());
        format!("{selected} (of {})", list(&options))
    }

    fn selections(&self) -> String {
        let options = self.options();
        let indexes = self.0.get("index").and_then(Value::as_array);
        let indexes = indexes.into_iter().flatten().filter_map(Value::as_u64);
        let selected: Vec<_> = indexes
            .filter_map(|index| usize::try_from(index).ok())
            .filter_map(|index| options.get(index).cloned())
            .collect();
        let selected =
            if selected.is_empty() { "(nothing selected)".to_owned() } else { selected.join(", ") };
        format!("{selected} (of {})", list(&options))
    }
}

/// Widgets with a value that is a number, a text, a date or a list of them.
fn is_known(name: &str) -> bool {
    ["Slider", "Text", "Picker", "Input", "Play"].iter().any(|end| name.ends_with(end))
}

fn with_colon(description: &str) -> String {
    if description.ends_with(':') { description.to_owned() } else { format!("{description}:") }
}

/// The first options.
fn list(options: &[String]) -> String {
    const MOST: usize = 10;
    match options.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{}, … {more} more", options[..MOST].join(", ")),
        _ => options.join(", "),
    }
}

/// A value without JSON's marks.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => number(value),
        Value::Array(values) => values.iter().take(20).map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(_) => date(value).unwrap_or_default(),
    }
}

/// `3.0` as `3`.
fn number(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A date as ipywidgets sends it, whose months begin with 0.
fn date(value: &Value) -> Option<String> {
    let part = |name: &str| value.get(name).and_then(Value::as_u64);
    let time = part("hours").zip(part("minutes")).map(|(hours, minutes)| format!("{hours:02}:{minutes:02}"));
    let year = part("year").zip(part("month"));
    let date = year
        .map(|(year, month)| format!("{year:04}-{:02}-{:02}", month + 1, part("date").unwrap_or_default()));
    match (date, time) {
        (Some(date), Some(time)) => Some(format!("{date} {time}")),
        (date, time) => date.or(time),
    }
}
