"""How Sphinx builds the site. Every warning is an error: make site."""

project = "leasehold"
html_title = "leasehold"
author = "the authors of leasehold"
copyright = author

extensions = ["myst_parser"]
myst_heading_anchors = 6  # anchors are those of the repository's own pages
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_theme_options = {
    "footer_icons": [
        {
            "name": "Repository",
            "url": "https://github.com/leasehold-go/leasehold",
            "html": "Repository",
            "class": "repository",
        }
    ],
}
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_permalinks_icon = "#"
highlight_language = "none"  # where a block does not say
smartquotes = False  # flags keep their dashes
pygments_style = "friendly"
pygments_dark_style = "github-dark"
