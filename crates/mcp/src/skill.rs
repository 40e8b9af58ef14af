//! How to work in notebooks: one text, served as a skill (`io.modelcontextprotocol/skills`, SEP-2640) and as a prompt. The plugins
//! have a copy of it, and the instructions its lines about tools that agents do not find by themselves.

use rmcp::model::{
    ContentBlock, GetPromptResult, GetSkillResult, ListSkillsResult, Prompt, PromptMessage, ResourceContents,
    Role, Skill, SkillFrontmatter, SkillResource, SkillResources,
};

const TEXT: &str = include_str!("skills/working-in-notebooks/SKILL.md");
const URI: &str = "skill://working-in-notebooks/SKILL.md";
pub(crate) const PROMPT: &str = "working_in_notebooks";

pub(crate) fn list() -> ListSkillsResult {
    ListSkillsResult::with_all_items(vec![skill()])
}

/// The skill at an address; `None` if there is none.
pub(crate) fn get(uri: &str) -> Option<GetSkillResult> {
    (uri == URI).then(|| GetSkillResult::new(skill()))
}

/// The file at an address; `None` if the skill has none there.
pub(crate) fn read(uri: &str) -> Option<ResourceContents> {
    (uri == URI).then(|| ResourceContents::text(TEXT, URI).with_mime_type("text/markdown"))
}

pub(crate) fn prompt() -> Prompt {
    Prompt::new(PROMPT, Some("How to work in notebooks with these tools"), None)
}

pub(crate) fn prompt_text() -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new(Role::User, ContentBlock::text(parts().1.trim()))])
}

/// What a tool is for and how it is called, as the skill says.
pub(crate) fn hint(tool: &str) -> Option<String> {
    let rows = TEXT.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let starts = format!("`{tool}`");
    let (purpose, call) = rows.into_iter().find(|(_, call)| call.starts_with(&starts))?;
    let call = call.split(';').next().unwrap_or(call).replace('`', "");
    Some(format!("{purpose}: {call}"))
}

fn skill() -> Skill {
    let field = |name: &str| {
        let value = parts().0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.unwrap_or_default()
    };
    let files = vec![SkillResource::from_bytes(URI, TEXT.as_bytes())];
    let frontmatter = SkillFrontmatter::new(field("name"), field("description"));
    Skill::new(URI, frontmatter, SkillResources::Files(files))
}

/// The frontmatter and the rest.
fn parts() -> (&'static str, &'static str) {
    let parts = TEXT.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n"));
    parts.unwrap_or(("", TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skill_is_valid_and_its_file_is_what_it_promises() {
        let skill = skill();
        skill.validate().unwrap();
        assert!(skill.frontmatter.description.contains("Jupyter notebooks"), "{skill:?}");
        let SkillResources::Files(files) = &skill.resources else { panic!("{skill:?}") };
        let ResourceContents::TextResourceContents { text, .. } = read(URI).unwrap() else {
            panic!("no text")
        };
        files[0].verify(text.as_bytes()).unwrap();
        assert!(
            read("skill://working-in-notebooks/other.md").is_none() && get("skill://x/SKILL.md").is_none()
        );
    }

    #[test]
    fn a_hint_is_a_row_of_the_skill() {
        let hint = |tool| hint(tool).unwrap_or_default();
        assert_eq!(hint("run_cells"), "bring outputs up to date after edits: run_cells with stale: true");
        assert_eq!(hint("undo"), "revert your changes: undo");
        assert_eq!(hint("no_tool"), "");
    }
}
