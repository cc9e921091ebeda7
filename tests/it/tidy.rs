//! The rules of the house, held against the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const SOURCE_LINES_MAX: usize = 700;
const TEST_LINES_MAX: usize = 500;

/// Modules in rows; one may use the rows above it and its neighbours, never a row below.
const LAYERS: [&[&str]; 8] = [
    &["domain"],
    &["text", "redact", "hygiene", "pace", "passage", "relate", "recall"],
    &["store", "lexical", "vector", "embed", "llm", "door"],
    &["service"],
    &["home", "project_dir", "daemon", "pump"],
    &["mcp", "config"],
    &["hook", "setup", "tui"],
    &["cli"],
];

/// Modules that do no I/O, read no clock and spawn nothing.
const PURE: [&str; 9] =
    ["domain", "text", "redact", "hygiene", "pace", "passage", "relate", "recall", "hook"];

struct Source {
    /// The path below `src`.
    path: PathBuf,
    text: String,
}

impl Source {
    /// The module at the top that it belongs to; `lib` and `main` are the roots.
    fn module(&self) -> String {
        let first = self.path.iter().next().unwrap().to_string_lossy().into_owned();
        first.trim_end_matches(".rs").to_owned()
    }

    /// The lines of the program itself with their numbers: without comments and without the tests at
    /// the end of the file.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        // A module's tests are in it or, where they are many, in a `tests.rs` beside it.
        let is_test = self.path.ends_with("tests.rs");
        let program = if is_test { "" } else { self.text.split("#[cfg(test)]").next().unwrap_or_default() };
        program
            .lines()
            .enumerate()
            .map(|(n, line)| (n + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// `path:line: text` of the lines that `is_fault` finds.
    fn faults(&self, is_fault: impl Fn(&str) -> bool) -> Vec<String> {
        let at = |n: usize, line: &str| format!("src/{}:{n}: {}", self.path.display(), line.trim());
        self.code().filter(|(_, line)| is_fault(line)).map(|(n, line)| at(n, line)).collect()
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
    let root = repository().join("src");
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(&root).unwrap().to_owned(),
    };
    let sources: Vec<Source> = files(&root, "rs").into_iter().map(read).collect();
    assert!(sources.len() > 20, "only {} sources are seen", sources.len());
    sources
}

#[track_caller]
fn assert_none(faults: Vec<String>, rule: &str) {
    assert!(faults.is_empty(), "{rule}:\n{}", faults.join("\n"));
}

fn row(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// The modules at the top that a line names by `crate::…`, also in braces.
fn used_modules(line: &str) -> Vec<String> {
    let word =
        |text: &str| text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>();
    line.match_indices("crate::")
        .map(|(at, name)| word(&line[at + name.len()..]))
        .filter(|w| !w.is_empty())
        .collect()
}

/// The sources with each `use crate::{…}` of several lines unfolded to its modules.
fn uses(source: &Source) -> BTreeSet<String> {
    let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
    let mut found: BTreeSet<String> = code.iter().flat_map(|line| used_modules(line)).collect();
    let joined = code.join("\n");
    for (at, opening) in joined.match_indices("crate::{") {
        let mut depth = 1;
        let mut item = String::new();
        for c in joined[at + opening.len()..].chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ if depth == 1 => item.push(c),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let first = |part: &str| part.trim().split("::").next().unwrap_or_default().trim().to_owned();
        found.extend(item.split(',').map(first).filter(|name| !name.is_empty()));
    }
    found
}

#[test]
fn a_module_uses_only_what_is_above_it() {
    let mut faults = Vec::new();
    for source in sources() {
        let module = source.module();
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(own) = row(&module) else {
            faults.push(format!("src/{}: `{module}` has no place in the layers", source.path.display()));
            continue;
        };
        for used in uses(&source) {
            if row(&used).is_some_and(|row| row > own) {
                faults.push(format!("src/{}: `{module}` uses `{used}` below it", source.path.display()));
            }
        }
    }
    assert_none(faults, "the layers");
}

#[test]
fn the_layering_rule_sees_what_it_looks_for() {
    let source = |text: &str| Source { path: PathBuf::from("store/mod.rs"), text: text.to_owned() };
    let names = |text: &str| uses(&source(text)).into_iter().collect::<Vec<_>>();
    assert_eq!(names("use crate::service::Service;"), ["service"]);
    assert_eq!(names("use crate::{\n    domain::{Memory, limits},\n    mcp::Tool,\n};"), ["domain", "mcp"]);
    assert_eq!(names("fn f() { crate::cli::run() }"), ["cli"]);
    assert_eq!(
        names("// crate::cli\n/// [`crate::mcp`]\n#[cfg(test)]\nmod tests { use crate::daemon; }"),
        [""; 0]
    );
}

#[test]
fn only_the_store_knows_the_database() {
    let speaks = |line: &str| {
        let names_crate =
            ["surrealdb::", "surrealdb_core", "surrealdb_server", "surrealdb_cnf", "use surrealdb"];
        let queries =
            ["\"SELECT ", "\"UPSERT ", "\"RELATE ", "\"DEFINE ", "\"REMOVE TABLE", "\"UPDATE ", "\"INFO FOR"];
        names_crate.iter().chain(&queries).any(|word| line.contains(word))
    };
    // Other programs' files are read in SQLite's language, in one place.
    let elsewhere = |s: &&Source| s.module() != "store" && !s.path.ends_with("cli/foreign/sqlite.rs");
    let faults = sources().iter().filter(elsewhere).flat_map(|s| s.faults(speaks)).collect();
    assert_none(faults, "SurrealDB and SurrealQL live in src/store");
    let in_store = sources().iter().filter(|s| s.module() == "store").flat_map(|s| s.faults(speaks)).count();
    assert!(in_store > 0, "the rule sees nothing even in src/store");
}

#[test]
fn only_the_lexical_index_knows_tantivy() {
    let names = |line: &str| line.contains("tantivy::");
    let faults = sources().iter().filter(|s| s.module() != "lexical").flat_map(|s| s.faults(names)).collect();
    assert_none(faults, "tantivy lives in src/lexical");
}

#[test]
fn pure_modules_touch_nothing() {
    let touches = |line: &str| {
        let words = [
            "std::fs", "std::net", "std::process", "std::env", "std::thread", "tokio", "SystemTime::now",
            "Instant::now", "Timestamp::now", "Zoned::now",
        ];
        words.iter().any(|word| line.contains(word))
    };
    let pure = |source: &&Source| PURE.contains(&source.module().as_str());
    let faults = sources().iter().filter(pure).flat_map(|source| source.faults(touches)).collect();
    assert_none(faults, "the pure modules do no I/O and read no clock");
}

#[test]
fn only_the_command_line_prints() {
    let prints =
        |line: &str| ["println!", "print!(", "eprint!(", "dbg!("].iter().any(|word| line.contains(word));
    let faults = sources().iter().filter(|s| s.module() != "cli").flat_map(|s| s.faults(prints)).collect();
    assert_none(faults, "standard output belongs to src/cli and the protocol");
}

#[test]
fn nothing_is_unwrapped_or_left_to_do() {
    let is_fault = |line: &str| {
        [".unwrap()", "todo!(", "unimplemented!(", "FIXME"].iter().any(|word| line.contains(word))
    };
    let faults = sources().iter().flat_map(|source| source.faults(is_fault)).collect();
    assert_none(faults, "errors are handled and work is finished");
}

#[test]
fn files_stay_small_and_say_what_they_are() {
    let mut faults = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > SOURCE_LINES_MAX {
            faults.push(format!("src/{} has {lines} lines: two nouns", source.path.display()));
        }
        if !source.text.starts_with("//!") {
            faults.push(format!("src/{} does not begin by saying what it is", source.path.display()));
        }
        let name = source.path.file_stem().unwrap().to_string_lossy().into_owned();
        if ["util", "utils", "helper", "helpers", "common", "manager", "types", "misc"]
            .contains(&name.as_str())
        {
            faults.push(format!("src/{} is named for nothing", source.path.display()));
        }
    }
    for path in files(&repository().join("tests"), "rs") {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        if lines > TEST_LINES_MAX {
            faults.push(format!("{} has {lines} lines", path.display()));
        }
    }
    assert_none(faults, "small files that say what they are");
}

/// What the sources of the store include, by path from the root of the repository, without ending.
fn included() -> String {
    sources().iter().filter(|source| source.module() == "store").map(|source| source.text.clone()).collect()
}

#[test]
fn every_statement_is_used_and_every_use_has_a_statement() {
    let store = included();
    let mut faults = Vec::new();
    let statements = files(&repository().join("surql/statements"), "surql");
    assert!(!statements.is_empty(), "no statements");
    let names: BTreeSet<String> =
        statements.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    for name in &names {
        if !store.contains(&format!("\"{name}\"")) && !store.contains(&format!("statements/{name}.surql")) {
            faults.push(format!("surql/statements/{name}.surql is used by nothing"));
        }
    }
    let table =
        store.split("statements! {").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or_default();
    for line in table.lines().filter(|line| line.contains('=')) {
        let constant = line.split('=').next().unwrap_or_default().trim();
        if store.matches(&format!("statement::{constant}")).count() == 0 {
            faults.push(format!("the statement {constant} is declared and never run"));
        }
    }
    assert_none(faults, "statements");
}

#[test]
fn every_surql_file_says_what_it_is_for() {
    let mut faults = Vec::new();
    let folders = ["surql", "schema"].map(|folder| files(&repository().join(folder), "surql"));
    assert!(folders.iter().all(|folder| !folder.is_empty()), "no files");
    for path in folders.concat() {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        if first.strip_prefix("-- ").is_none_or(|words| words.trim().len() < 10) {
            faults.push(format!("{} begins: {first}", path.display()));
        }
    }
    assert_none(faults, "a first line `-- what it is for`");
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
fn queries_for_people_need_no_parameters() {
    let mut faults = Vec::new();
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
                faults.push(format!("{} needs ${name}", path.display()));
            }
        }
    }
    assert_none(faults, "surql/queries run as they stand");
}
