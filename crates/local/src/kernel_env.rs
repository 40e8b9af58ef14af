//! Which variables kernels inherit: none that belong to the client that started this program, or to its model.
//!
//! A kernel runs what a model wrote. With these variables it could use the client's session and spend from the key of
//! its model; and a program that it starts would take itself for a part of the client.

use std::ffi::OsStr;

use crate::Variables;

/// Variables that clients set for the programs that they start.
const PREFIXES: [&str; 19] = [
    "AMP_",
    "ANTHROPIC_",
    "ANTIGRAVITY_",
    "AUGMENT_",
    "CLAUDE_",
    "CLINE_",
    "CODEX_",
    "CONTINUE_",
    "COPILOT_",
    "CURSOR_",
    "GEMINI_",
    "GITHUB_COPILOT_",
    "GOOSE_",
    "JUNIE_",
    "KIRO_",
    "OPENCODE_",
    "VSCODE_",
    "WINDSURF_",
    "ZED_",
];

/// Others that clients set, the keys of their models, and what logs in to this program and the servers it uses.
const NAMES: [&str; 38] = [
    "AI_AGENT",
    "AI_GATEWAY_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CELLBRIDGE_TOKEN",
    "CEREBRAS_API_KEY",
    "CLAUDECODE",
    "CODE_SANDBOX_PASSWORD",
    "CODE_SANDBOX_TOKEN",
    "COHERE_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "DOCUMENT_PASSWORD",
    "DOCUMENT_TOKEN",
    "ELECTRON_RUN_AS_NODE",
    "FIREWORKS_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "JUPYTER_PASSWORD",
    "JUPYTER_TOKEN",
    "LITELLM_API_KEY",
    "MCP_TOKEN",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NVIDIA_API_KEY",
    "OPENAI_ADMIN_KEY",
    "OPENAI_API_KEY",
    "OPENCODE",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "RUNTIME_PASSWORD",
    "RUNTIME_TOKEN",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
];

/// The variables that kernels inherit of these: all but those of the client, unless `kept` names them.
pub(crate) fn inherited(mut variables: Variables, kept: &[String]) -> Variables {
    let is_kept = |name: &OsStr| kept.iter().any(|kept| name == OsStr::new(kept));
    variables.retain(|name| !is_of_client(name) || is_kept(name));
    variables
}

fn is_of_client(name: &OsStr) -> bool {
    // Only names in ASCII are listed.
    let Some(name) = name.to_str() else { return false };
    // Windows does not distinguish case, and elsewhere nobody means something else by it.
    let name = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::process_env::tests::with;

    #[test]
    fn what_belongs_to_the_client_is_not_inherited() {
        let of_client = [
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_PROJECT_DIR",
            "ANTHROPIC_BASE_URL",
            "KIRO_SESSION",
            "AZURE_API_KEY",
            "CODEX_SANDBOX",
            "CURSOR_TRACE_ID",
            "VSCODE_IPC_HOOK",
            "GEMINI_CLI",
            "GEMINI_API_KEY",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GOOGLE_API_KEY",
            "CELLBRIDGE_TOKEN",
            "JUPYTER_TOKEN",
            "openai_api_key",
        ];
        let of_person = [
            "PATH",
            "HOME",
            "VIRTUAL_ENV",
            "JUPYTER_PATH",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CODE",
            "AWS_PROFILE",
        ];
        let all = of_client.iter().chain(&of_person).map(|name| (*name, "x")).collect::<Vec<_>>();
        let left = |kept: &[&str]| -> Vec<OsString> {
            let kept: Vec<String> = kept.iter().copied().map(str::to_owned).collect();
            inherited(with(&all).variables, &kept).into_iter().map(|(name, _)| name).collect()
        };
        let sorted = |names: &[&str]| {
            let mut names: Vec<OsString> = names.iter().map(OsString::from).collect();
            names.sort();
            names
        };
        assert_eq!(left(&[]), sorted(&of_person));
        let kept = ["OPENAI_API_KEY", "CODEX_SANDBOX", "NONE"];
        assert_eq!(left(&kept), sorted(&[&of_person[..], &kept[..2]].concat()));
    }

    #[test]
    fn each_name_is_listed_once() {
        assert!(NAMES.is_sorted() && PREFIXES.is_sorted());
        assert!(NAMES.iter().all(|name| !PREFIXES.iter().any(|prefix| name.starts_with(prefix))));
    }
}
