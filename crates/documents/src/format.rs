//! The format of a file, by its name.

use std::path::Path;

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Markdown,
    /// Plain text, and any other text.
    Text,
    /// Source code or configuration.
    Code,
    /// CSV: rows under a line of column names.
    Csv,
    /// JSON, or one value per line.
    Json,
    /// A Jupyter notebook.
    Notebook,
    Html,
    /// A document of Word.
    Docx,
    /// Slides of PowerPoint.
    Pptx,
    /// Sheets of Excel.
    Xlsx,
    /// A book.
    Epub,
    Pdf,
}

const CODE: [&str; 41] = [
    "rs", "py", "ts", "tsx", "js", "jsx", "mjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs",
    "rb", "php", "swift", "scala", "sh", "bash", "zsh", "fish", "ps1", "sql", "surql", "lua", "pl", "r",
    "zig", "ex", "exs", "hs", "toml", "yaml", "yml", "ini", "proto", "graphql", "tf",
];

impl Format {
    /// The format for a file's name; `None` for an unknown name.
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

    /// Its name, as stored and shown.
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
