//! `execute_code`: runs code that enters no notebook.

use std::time::Duration;

use workspace::Settings;

use super::arguments::Arguments;
use super::context::{Context, Outcome};
use super::runs::{Waiting, report};
use super::schema::Schema;
use super::{Effect, Tool};

const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn tool() -> Tool {
    Tool {
        name: "execute_code",
        description: "Run code (magics and ! too) in the notebook's kernel; nothing enters the notebook.",
        schema: Schema::new()
            .text("code", "")
            .seconds_or("timeout", 30, "Seconds to wait")
            .text("kernel_id", "Default: the notebook's kernel")
            .seconds_or("progress_interval", 5, "")
            .flag("interrupt_on_timeout", false, "")
            .flag("interrupt_on_cancel", false, "")
            .budget()
            .notebook()
            .require(&["code"])
            .build(),
        effect: Effect::Runs,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let code = arguments.text("code")?;
    let settings = Settings { default_timeout: PATIENCE, ..*session.workspace().settings() };
    let waiting = Waiting::read(&arguments, &settings)?;
    let budget = context.budget(&arguments)?;
    let kernel = arguments.optional_text("kernel_id")?;
    let (run, place) = match (kernel, arguments.notebook()?) {
        (Some(kernel), _) => (session.run_code(Some(&kernel), code).await?, format!(" · kernel {kernel}")),
        (None, None) if session.current().is_none() => {
            (session.run_code(None, code).await?, " · a kernel of no notebook".to_owned())
        }
        (None, name) => {
            let opened = session.notebook(name.as_deref()).await?;
            let place = format!(" · kernel of {}", opened.path());
            (session.run(opened, None, code)?, place)
        }
    };
    waiting.wait(&run, context).await?;
    Ok(report(&run, budget, "", &place))
}
