//! The folders of agents' files, and the command lines with which agents start Cerebro.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The folders of a user, as agents find them.
#[derive(Debug, Clone)]
pub struct UserFolders {
    home: PathBuf,
    variable: fn(&str) -> Option<PathBuf>,
}

impl UserFolders {
    /// The folders of the user with this home folder, in the environment of this process.
    pub fn of(home: PathBuf) -> Self {
        Self { home, variable: |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from) }
    }

    /// A file or folder of the home.
    pub fn home(&self, below: &str) -> PathBuf {
        self.home.join(below)
    }

    /// The folder that the variable names, otherwise one in the home.
    pub fn named(&self, variable: &str, below: &str) -> PathBuf {
        (self.variable)(variable).unwrap_or_else(|| self.home(below))
    }

    /// The folder of Gemini CLI. Its variable names the folder around it.
    pub fn gemini(&self) -> PathBuf {
        self.named("GEMINI_CLI_HOME", "").join(".gemini")
    }

    /// The folder for configuration.
    pub fn config(&self) -> PathBuf {
        self.named("XDG_CONFIG_HOME", ".config")
    }

    /// The folder of graphical applications' settings.
    pub fn application(&self) -> PathBuf {
        if cfg!(target_os = "macos") { self.home("Library/Application Support") } else { self.config() }
    }
}

/// Whether a program of that name is in one of the folders of `PATH`.
pub fn is_on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// How agents start this program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The program's absolute path: graphical agents have no useful `PATH`.
    pub program: PathBuf,
    /// The program that the last setup from this home wrote; it may have been moved since.
    pub former: Option<PathBuf>,
    /// The home, unless it is the default one.
    pub home: Option<PathBuf>,
}

impl Invocation {
    /// What distinguishes this home's files from another's: a hash of its path, nothing for the default one.
    pub fn home_suffix(&self) -> String {
        let Some(home) = &self.home else { return String::new() };
        let digest = Sha256::digest(home.as_os_str().as_encoded_bytes());
        format!("-{}", cerebro_core::text::hex(&digest[..4]))
    }

    /// The program, as text.
    pub fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// `words` as arguments, after those that name a home other than the default.
    pub fn arguments(&self, words: &[&str]) -> Vec<String> {
        let home =
            self.home.iter().flat_map(|home| ["--home".to_owned(), home.to_string_lossy().into_owned()]);
        home.chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    /// Program and arguments.
    pub fn words(&self, words: &[&str]) -> Vec<String> {
        std::iter::once(self.program()).chain(self.arguments(words)).collect()
    }

    /// [`Self::words`] as one command line for a shell.
    pub fn line(&self, words: &[&str]) -> String {
        self.words(words).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word, quoted for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The words of a command line, as a shell reads them, without what it would expand; `None` if a quotation or an
/// escape does not end.
pub fn words_of(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        let mut push = |c: Option<char>| word.get_or_insert_with(String::new).extend(c);
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                push(None);
            }
            (None | Some('"'), '\\') => push(Some(rest.next()?)),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => push(Some(c)),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A path, with `~` for the user's home folder.
pub fn short(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_line_as_it_is_meant() {
        let invocation =
            Invocation { program: "/a b/it's".into(), home: Some("/h$x".into()), ..Invocation::default() };
        let line = invocation.line(&["hook", "codex"]);
        assert_eq!(line, r"'/a b/it'\''s' --home '/h$x' hook codex");
        let output = std::process::Command::new("sh").arg("-c").arg(format!("printf '%s|' {line}")).output();
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), "/a b/it's|--home|/h$x|hook|codex|");
        assert_eq!(words_of(&line), Some(invocation.words(&["hook", "codex"])));
    }

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        for (line, want) in [
            (" a  b\t", &["a", "b"][..]),
            (r#""a b"'c'd ''"#, &["a bcd", ""]),
            (r#"a\ b "c\"d" 'e\f'"#, &["a b", "c\"d", "e\\f"]),
            ("", &[]),
        ] {
            assert_eq!(words_of(line).unwrap(), want, "{line}");
        }
        for line in ["'a", "a \"b", "a\\"] {
            assert_eq!(words_of(line), None, "{line}");
        }
    }
}
