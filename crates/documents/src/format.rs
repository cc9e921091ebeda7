//! Which format a file has, by its name.

use std::path::Path;

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Markdown.
    Markdown,
    /// Plain text, and whatever else is text.
    Text,
    /// The source of a program, or its configuration.
    Code,
    /// Rows with a line of names.
    Csv,
    /// JSON, or a value a line.
    Json,
    /// A Jupyter notebook.
    Notebook,
    /// HTML.
    Html,
    /// A document of Word.
    Docx,
    /// Slides of PowerPoint.
    Pptx,
    /// Sheets of Excel.
    Xlsx,
    /// A book.
    Epub,
    /// PDF.
    Pdf,
}

const CODE: [&str; 41] = [
    "rs", "py", "ts", "tsx", "js", "jsx", "mjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs",
    "rb", "php", "swift", "scala", "sh", "bash", "zsh", "fish", "ps1", "sql", "surql", "lua", "pl", "r",
    "zig", "ex", "exs", "hs", "toml", "yaml", "yml", "ini", "proto", "graphql", "tf",
];

impl Format {
    /// The format that a file's name tells; `None` for a name that tells of none.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "md" | "markdown" | "mdx" | "mdc" => Self::Markdown,
            "txt" | "text" | "rst" | "adoc" | "org" | "log" | "tex" => Self::Text,
            "csv" | "tsv" => Self::Csv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "ipynb" => Self::Notebook,
            "html" | "htm" | "xhtml" => Self::Html,
            "docx" => Self::Docx,
            "pptx" => Self::Pptx,
            "xlsx" => Self::Xlsx,
            "epub" => Self::Epub,
            "pdf" => Self::Pdf,
            code if CODE.contains(&code) => Self::Code,
            _ => return None,
        })
    }

    /// Its name, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Code => "code",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Notebook => "notebook",
            Self::Html => "html",
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Xlsx => "xlsx",
            Self::Epub => "epub",
            Self::Pdf => "pdf",
        }
    }
}
