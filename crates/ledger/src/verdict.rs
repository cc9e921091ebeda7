//! Reads the output of a test run: how many tests passed and failed, and the names of some that failed.
//!
//! The runner is recognised by the command line first, then by its output. Unrecognised output gives nothing, never
//! a guess.

use crate::{Tests, limits::TEST_NAMES_MAX};

/// Longest name, in characters. A longer one is left out: half a name is useless, and half a secret is not
/// recognised.
const NAME_CHARS_MAX: usize = 120;
/// Longest line that is examined.
const LINE_BYTES_MAX: usize = 1_024;

/// Runners, by consecutive words of a command line; more specific ones come first.
const RUNNERS: [(&[&str], &str); 24] = [
    (&["cargo", "nextest"], "cargo nextest"),
    (&["cargo", "test"], "cargo test"),
    (&["cargo", "t"], "cargo test"),
    (&["pytest"], "pytest"),
    (&["py.test"], "pytest"),
    (&["unittest"], "unittest"),
    (&["go", "test"], "go test"),
    (&["gotestsum"], "go test"),
    (&["vitest"], "vitest"),
    (&["jest"], "jest"),
    (&["mocha"], "mocha"),
    (&["playwright", "test"], "playwright"),
    (&["npm", "test"], "npm test"),
    (&["npm", "t"], "npm test"),
    (&["pnpm", "test"], "pnpm test"),
    (&["yarn", "test"], "yarn test"),
    (&["bun", "test"], "bun test"),
    (&["deno", "test"], "deno test"),
    (&["rspec"], "rspec"),
    (&["phpunit"], "phpunit"),
    (&["dotnet", "test"], "dotnet test"),
    (&["ctest"], "ctest"),
    (&["mix", "test"], "mix test"),
    (&["swift", "test"], "swift test"),
];
/// Build tools that have tests as one of their goals.
const BUILDERS: [(&str, &str); 8] = [
    ("mvn", "maven"),
    ("mvnw", "maven"),
    ("gradle", "gradle"),
    ("gradlew", "gradle"),
    ("make", "make test"),
    ("just", "just test"),
    ("npm", "npm test"),
    ("pnpm", "pnpm test"),
];

/// The result of the tests that a command ran, if it ran any.
pub fn tests(command: &str, output: &str) -> Option<Tests> {
    let mut tests = Tests { tool: runner(command)?.to_owned(), ..Tests::default() };
    for line in output.lines().filter(|line| line.len() <= LINE_BYTES_MAX) {
        read(&mut tests, line.trim());
    }
    Some(tests)
}

/// The runner that a command line starts.
fn runner(command: &str) -> Option<&'static str> {
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || "&|;()".contains(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    let follows = |wanted: &[&str]| words.windows(wanted.len()).any(|window| window == wanted);
    // In `cargo +nightly test`, a toolchain comes between.
    let is_cargo = words
        .windows(3)
        .any(|window| matches!(window, ["cargo", toolchain, "test" | "t"] if toolchain.starts_with('+')));
    if is_cargo {
        return Some("cargo test");
    }
    if let Some((_, tool)) = RUNNERS.iter().find(|(wanted, _)| follows(wanted)) {
        return Some(tool);
    }
    let has_goal = words
        .iter()
        .any(|word| matches!(*word, "test" | "tests" | "check" | "verify") || word.starts_with("test:"));
    let builder = BUILDERS.iter().find(|(name, _)| words.contains(name))?;
    has_goal.then_some(builder.1)
}

fn read(tests: &mut Tests, line: &str) {
    if let Some((passed, failed)) = counts(line) {
        tests.passed = Some(tests.passed.unwrap_or(0).saturating_add(passed));
        tests.failed = Some(tests.failed.unwrap_or(0).saturating_add(failed));
    }
    // unittest prints all that ran first, `Ran 3 tests in 0.01s`, and then `FAILED (failures=1, errors=1)`.
    if line.starts_with("Ran ") {
        tests.passed = number_before(line, "tests").or_else(|| number_before(line, "test")).or(tests.passed);
    }
    if let Some(totals) = line.strip_prefix("FAILED (") {
        let failed = number_after(totals, "failures").saturating_add(number_after(totals, "errors"));
        tests.failed = Some(failed);
        tests.passed = tests.passed.map(|ran| ran.saturating_sub(failed));
    }
    if let Some(name) = failed_name(line)
        && tests.names.len() < TEST_NAMES_MAX
        && name.chars().count() <= NAME_CHARS_MAX
        && !tests.names.iter().any(|known| known == name)
    {
        tests.names.push(name.to_owned());
    }
}

/// The numbers of passed and failed tests in a runner's summary line.
fn counts(line: &str) -> Option<(u32, u32)> {
    // cargo: `test result: FAILED. 3 passed; 1 failed; 0 ignored`; nextest: `Summary [ 0.1s] 4 tests run: 3 passed, 1 failed`;
    // pytest: `==== 1 failed, 3 passed in 0.12s ====`; jest, vitest: `Tests: 1 failed, 3 passed, 4 total`.
    let is_totals = line.starts_with("test result:")
        || (line.starts_with("Summary [") && line.contains(" run:"))
        || (line.starts_with('=') && line.ends_with('=') && line.contains(" in "))
        || line.starts_with("Tests:")
        || line.starts_with("Tests ");
    if !is_totals {
        return None;
    }
    let passed = number_before(line, "passed");
    let failed = number_before(line, "failed");
    (passed.is_some() || failed.is_some()).then(|| (passed.unwrap_or(0), failed.unwrap_or(0)))
}

fn number_before(line: &str, word: &str) -> Option<u32> {
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|found| *found == word)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

/// The number that is given to a word as `word=3`, or 0.
fn number_after(line: &str, word: &str) -> u32 {
    let digits = line.split_once(word).and_then(|(_, rest)| rest.strip_prefix('='));
    let digits = digits.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The name of a test that a line calls failed.
fn failed_name(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
        return one_word(name);
    }
    if let Some(rest) = line.strip_prefix("--- FAIL: ").or_else(|| line.strip_prefix("FAILED ")) {
        return rest.split_whitespace().next().filter(|name| !name.starts_with('('));
    }
    if let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
        // unittest: `FAIL: test_split (tests.test_a.Split)`, with the name again behind the class since Python 3.11.
        let (name, module) = rest.strip_suffix(')')?.split_once(" (")?;
        return module.contains('.').then_some(if module.ends_with(name) { module } else { name });
    }
    if let Some(rest) = line.strip_prefix("FAIL [") {
        // nextest: `FAIL [   0.010s] crate module::test`
        return rest.split_once(']')?.1.split_whitespace().next_back();
    }
    let name = ["✕ ", "✗ ", "× "].iter().find_map(|mark| line.strip_prefix(mark))?.trim();
    Some(name.rsplit_once(" (").filter(|(_, time)| time.ends_with("ms)")).map_or(name, |(name, _)| name))
}

fn one_word(name: &str) -> Option<&str> {
    let name = name.trim();
    // `test src/lib.rs - f (line 3) ... FAILED` is a name too.
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runners_are_known_by_their_command_lines() {
        for (command, want) in [
            ("cargo test -p redact", Some("cargo test")),
            ("cd x && cargo +nightly test --lib", Some("cargo test")),
            ("cargo nextest run", Some("cargo nextest")),
            ("python -m pytest -q tests", Some("pytest")),
            ("./node_modules/.bin/vitest run", Some("vitest")),
            ("npm run test:unit", Some("npm test")),
            ("go test ./...", Some("go test")),
            ("make -j2 test", Some("make test")),
            ("./gradlew check", Some("gradle")),
            ("cargo build", None),
            ("echo contest", None),
            ("make", None),
            ("", None),
        ] {
            assert_eq!(runner(command), want, "{command}");
        }
    }

    #[test]
    fn counts_and_names_are_read_from_the_output_of_runners() {
        let results = |command: &str, output: &str| {
            let tests = tests(command, output).unwrap();
            (tests.passed, tests.failed, tests.names.join(" "))
        };
        let cargo = "running 2 tests\ntest rules::pem_split ... FAILED\ntest rules::ok ... ok\n\n\
             failures:\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\
             test result: ok. 4 passed; 0 failed; 0 ignored";
        assert_eq!(results("cargo test", cargo), (Some(5), Some(1), "rules::pem_split".to_owned()));
        let pytest = "FAILED tests/test_a.py::test_b - assert 1 == 2\n==== 1 failed, 3 passed in 0.12s ====";
        assert_eq!(results("pytest", pytest), (Some(3), Some(1), "tests/test_a.py::test_b".to_owned()));
        let go = "--- FAIL: TestSplit (0.00s)\nFAIL";
        assert_eq!(results("go test ./...", go), (None, None, "TestSplit".to_owned()));
        let nextest =
            "FAIL [   0.010s] redact rules::pem\nSummary [ 0.1s] 4 tests run: 3 passed, 1 failed, 0 skipped";
        assert_eq!(results("cargo nextest run", nextest), (Some(3), Some(1), "rules::pem".to_owned()));
        let jest = "  ✕ splits keys (3 ms)\nTests:       1 failed, 2 passed, 3 total";
        assert_eq!(results("npx jest", jest), (Some(2), Some(1), "splits keys".to_owned()));
        let unittest = "FAIL: test_split (tests.test_a.Split.test_split)\nERROR: test_b (tests.test_a.Split)\n\
             Ran 5 tests in 0.002s\n\nFAILED (failures=1, errors=1)";
        let names = "tests.test_a.Split.test_split test_b".to_owned();
        assert_eq!(results("python -m unittest", unittest), (Some(3), Some(2), names));
        assert_eq!(results("python -m unittest", "Ran 1 test in 0.1s\n\nOK"), (Some(1), None, String::new()));
        assert_eq!(results("make test", "gcc: error"), (None, None, String::new()));
    }

    proptest! {
        #[test]
        fn no_output_breaks_the_reader(command in "(cargo test|pytest|.{0,20})", output in "(test |FAIL|FAILED \\(|ERROR: |Ran |errors=|[0-9]+ passed|\n|.){0,200}") {
            if let Some(tests) = tests(&command, &output) {
                prop_assert!(tests.names.len() <= TEST_NAMES_MAX);
                prop_assert!(tests.names.iter().all(|name| name.chars().count() <= NAME_CHARS_MAX));
            }
        }
    }
}
