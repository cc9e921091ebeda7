//! The rules of CONTRIBUTING.md, checked on the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const SOURCE_LINES_MAX: usize = 700;
const TEST_LINES_MAX: usize = 500;

struct Source {
    /// The path from the root of the repository.
    path: PathBuf,
    text: String,
}

impl Source {
    fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())).flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<Source> {
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(repository()).unwrap().to_owned(),
    };
    let folders = ["src", "crates"].map(|folder| files(&repository().join(folder), "rs"));
    let sources: Vec<Source> = folders.into_iter().flatten().map(read).collect();
    assert!(sources.len() > 20, "only {} sources are seen", sources.len());
    sources
}

#[track_caller]
fn assert_none(violations: Vec<String>, rule: &str) {
    assert!(violations.is_empty(), "{rule}:\n{}", violations.join("\n"));
}

#[test]
fn files_stay_small_and_say_what_they_are() {
    let mut violations = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > SOURCE_LINES_MAX {
            violations.push(format!("{} has {lines} lines: two nouns", source.path.display()));
        }
        if !source.text.starts_with("//!") {
            violations.push(format!("{} does not begin by saying what it is", source.path.display()));
        }
        let name = source.path.file_stem().unwrap().to_string_lossy().into_owned();
        if ["util", "utils", "helper", "helpers", "common", "manager", "types", "misc"]
            .contains(&name.as_str())
        {
            violations.push(format!("{} is named for nothing", source.path.display()));
        }
    }
    for path in files(&repository().join("tests"), "rs") {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        if lines > TEST_LINES_MAX {
            violations.push(format!("{} has {lines} lines", path.display()));
        }
    }
    assert_none(violations, "small files that say what they are");
}

/// What the sources of the store include, by path from the root of the repository, without ending.
fn included() -> String {
    sources()
        .iter()
        .filter(|s| s.is_in("crates/store") || s.is_in("crates/engine"))
        .map(|source| source.text.clone())
        .collect()
}

#[test]
fn every_statement_is_used_and_every_use_has_a_statement() {
    let store = included();
    let mut violations = Vec::new();
    let statements = files(&repository().join("surql/statements"), "surql");
    assert!(!statements.is_empty(), "no statements");
    let names: BTreeSet<String> =
        statements.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    for name in &names {
        if !store.contains(&format!("\"{name}\"")) && !store.contains(&format!("statements/{name}.surql")) {
            violations.push(format!("surql/statements/{name}.surql is used by nothing"));
        }
    }
    let table =
        store.split("statements! {").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or_default();
    for line in table.lines().filter(|line| line.contains('=')) {
        let constant = line.split('=').next().unwrap_or_default().trim();
        if store.matches(&format!("statement::{constant}")).count() == 0 {
            violations.push(format!("the statement {constant} is declared and never run"));
        }
    }
    assert_none(violations, "statements");
}

#[test]
fn only_the_store_may_declare_a_text_redacted() {
    let violations = sources()
        .into_iter()
        .filter(|source| !source.is_in("crates/store") && !source.path.ends_with("tests.rs"))
        .filter(|source| source.path != Path::new("crates/core/src/redact/redacted.rs"))
        .filter(|source| source.text.contains("from_store("))
        .map(|source| format!("{} calls RedactedText::from_store", source.path.display()))
        .collect();
    assert_none(violations, "only redaction, and the store of what it holds, makes a RedactedText");
}

#[test]
fn every_surql_file_says_what_it_is_for() {
    let mut violations = Vec::new();
    let folders = ["surql", "schema"].map(|folder| files(&repository().join(folder), "surql"));
    assert!(folders.iter().all(|folder| !folder.is_empty()), "no files");
    for path in folders.concat() {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        if first.strip_prefix("-- ").is_none_or(|words| words.trim().len() < 10) {
            violations.push(format!("{} begins: {first}", path.display()));
        }
    }
    assert_none(violations, "a first line `-- what it is for`");
}

#[test]
fn migrations_are_numbered_without_gaps_and_all_applied() {
    let store = included();
    for (n, path) in files(&repository().join("schema"), "surql").iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("{:04}_", n + 1)), "{name} is number {}", n + 1);
        assert!(store.contains(&format!("schema/{name}")), "{name} is not applied by the store");
    }
}

#[test]
fn the_image_is_built_with_everything_that_is_compiled() {
    const OTHERS: [&str; 3] = ["docker", "docs", "packaging"];
    let kept = fs::read_to_string(repository().join("docker/Dockerfile.dockerignore")).unwrap();
    // Cargo builds without a build script that is missing, and says nothing.
    let is_compiled = |path: &Path| path.is_dir() || path.extension().is_some_and(|kind| kind == "rs");
    let entries = fs::read_dir(repository()).unwrap().flatten().filter(|entry| is_compiled(&entry.path()));
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let missing = |name: &String| {
        let is_other = name.starts_with('.') || name == "target" || OTHERS.contains(&name.as_str());
        !is_other && !kept.lines().any(|line| line.strip_prefix('!') == Some(name.as_str()))
    };
    assert_none(names.filter(missing).collect(), "docker/Dockerfile.dockerignore keeps it");
}

#[test]
fn queries_for_people_need_no_parameters() {
    let mut violations = Vec::new();
    for path in files(&repository().join("surql/queries"), "surql") {
        let text = fs::read_to_string(&path).unwrap();
        let code =
            text.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n");
        let names = |piece: &str| {
            piece.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>()
        };
        for piece in code.split('$').skip(1) {
            let name = names(piece);
            let is_bound = ["parent", "this", "value", "before", "after", "event"].contains(&name.as_str())
                || code.contains(&format!("LET ${name}"));
            let is_closure = code.contains(&format!("|${name}")) || code.contains(&format!("FOR ${name}"));
            if !is_bound && !is_closure {
                violations.push(format!("{} needs ${name}", path.display()));
            }
        }
    }
    assert_none(violations, "surql/queries run as they stand");
}

#[test]
fn decisions_are_numbered_without_gaps_dated_and_listed() {
    let folder = repository().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut decisions = files(&folder, "md");
    decisions.retain(|path| !path.ends_with("README.md"));
    assert!(!decisions.is_empty(), "no decisions");
    for (n, path) in decisions.iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(path).unwrap();
        assert!(name.starts_with(&format!("{:02}-", n + 1)), "{name} is number {}", n + 1);
        assert!(text.starts_with(&format!("# {:02}. ", n + 1)), "{name} has another number in its heading");
        assert!(text.contains("\nDate: 20") && text.contains(" Status: "), "{name} has no date or no status");
        assert!(index.contains(&format!("({name})")), "{name} is not in the index");
    }
}

/// The targets of a Markdown text's links, but those to elsewhere.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
}

#[test]
fn links_in_documents_resolve() {
    let mut violations = Vec::new();
    let mut documents = files(&repository().join("docs"), "md");
    documents.push(repository().join("README.md"));
    for path in documents {
        let text = fs::read_to_string(&path).unwrap();
        let folder = path.parent().unwrap();
        let missing = links(&text).filter(|target| !folder.join(target).exists());
        violations.extend(missing.map(|target| format!("{} points at {target}", path.display())));
    }
    assert_none(violations, "links lead to files");
}

#[test]
fn the_lineage_maps_every_seed_to_files_and_commands() {
    let lineage = fs::read_to_string(repository().join("docs/lineage.md")).unwrap();
    for seed in ["`000_*`", "`001_*`", "`002_*`", "`003_*`", "`004_*`"] {
        let part = lineage.split("\n## ").find(|part| part.lines().next().unwrap_or_default().contains(seed));
        let rows = part.unwrap_or_default().lines().filter(|line| line.starts_with("| ")).count();
        assert!(rows > 10, "{seed} has {rows} rows");
    }
    let commands = fs::read_to_string(repository().join("src/cli/command/mod.rs")).unwrap();
    let named = lineage.split("`cerebro ").skip(1).filter_map(|rest| rest.split([' ', '`']).next());
    let missing = named.filter(|name| {
        let variant: String =
            name.chars().take(1).flat_map(char::to_uppercase).chain(name.chars().skip(1)).collect();
        !commands.contains(&format!("\n    {variant}("))
    });
    let violations = missing.map(|name| format!("there is no `cerebro {name}`")).collect();
    assert_none(violations, "the lineage names commands that there are");
}
