//! `cellbridge demo`: where it works, and how its output looks.

use anyhow::Context as _;

use crate::args;

pub(crate) async fn run(options: args::Demo) -> anyhow::Result<()> {
    let folder = match options.folder {
        Some(folder) => folder,
        None => std::env::current_dir().context("the current folder is gone; name another one")?,
    };
    let folder = std::path::absolute(folder)?;
    let program = std::env::current_exe().context("cannot find out where this program is")?;
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let looks = ::demo::Looks { has_colours: !is_plain && !is_dumb, has_progress: !is_dumb };
    ::demo::run(&program, &folder, looks).await
}
