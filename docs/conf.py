"""How Sphinx makes the site of these pages: `cargo xtask site`. The pages themselves are plain Markdown."""

project = "Cellbridge"
author = "The Cellbridge authors"
extensions = ["myst_parser"]
root_doc = "README"
# Anchors are those of GitHub, so that one link works in both.
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Cellbridge"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
# Quotation marks belong to messages and commands.
smartquotes = False
# The site contains nothing that was not written by hand or by `cargo xtask docs`.
html_copy_source = False
html_show_sphinx = False
html_use_index = False

# Sphinx warns about a page that is missing here.
NAVIGATION = {
    "Start": ["folder", "jupyter", "inside", "colab", "places"],
    "Clients": ["install", "clients/*"],
    "Reference": ["tools", "stale", "run", "verify", "view", "export", "settings", "telemetry", "colab-machines"],
    "Help": ["doctor", "troubleshooting", "migration", "comparison"],
    "About": ["platforms", "benchmarks", "releasing", "glossary"],
}


def setup(app: object) -> None:
    app.connect("source-read", _add_navigation)


def _add_navigation(_app: object, page: str, source: list[str]) -> None:
    """Adds the table of contents, which GitHub would show as code."""
    if page == root_doc:
        source[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
            for caption, pages in NAVIGATION.items()
        )
