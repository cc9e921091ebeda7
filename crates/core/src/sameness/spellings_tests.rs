//! A text that no longer holds, in the spellings of data, programs, mails and lists.

use super::{noted, readings, says};

const TEXT: &str =
    "The deploy job retries uploads 17 times because the storage answers \"slow down\" under load";

fn are_read(texts: &[String]) {
    let missed: Vec<&String> = texts.iter().filter(|text| !says(text, &[noted(TEXT)])).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

fn are_not_read(texts: &[String]) {
    let read: Vec<&String> = texts.iter().filter(|text| says(text, &[noted(TEXT)])).collect();
    assert!(read.is_empty(), "{read:#?}");
}

/// The text in lines of about five words, each with a beginning.
fn wrapped(begin: &str) -> String {
    let words: Vec<&str> = TEXT.split(' ').collect();
    words.chunks(5).map(|line| format!("{begin}{}", line.join(" "))).collect::<Vec<_>>().join("\n")
}

#[test]
fn in_data() {
    let quoted = serde_json::to_string(TEXT).unwrap();
    let doubled = TEXT.replace('"', "\"\"");
    let bare = TEXT.replace('"', "");
    let object = serde_json::json!({ "text": TEXT, "n": 1 }).to_string();
    are_read(&[
        format!("id,text,state\n1,\"{doubled}\",done\n2,\"Something else\",done"),
        format!("1,{bare},done"),
        format!("7,x,{bare},done"),
        format!("7,,{bare},done"),
        format!("1;\"{doubled}\";17"),
        format!("1;{bare};17"),
        format!("1\t{TEXT}\tdone"),
        format!("<tr><td>7</td><td>{}</td></tr>", TEXT.replace('"', "&quot;")),
        format!("id | text\n--- | ---\n1 | {TEXT}"),
        format!("rule = {quoted}"),
        format!("[rules]\nupload = {quoted} # so it is\nother = 1"),
        format!("rule = '''{TEXT}'''"),
        format!("rule = \"\"\"\n{TEXT}\n\"\"\""),
        format!("rule = {TEXT}"),
        format!("note={TEXT}"),
        format!("echo {quoted} >> notes.md"),
        format!("git commit -m {quoted}"),
        format!("{quoted}: true"),
        format!("{quoted} = rule"),
        serde_json::json!({ TEXT: true }).to_string(),
        format!("RULE=\"{bare}\""),
        format!("export RULE='{TEXT}'"),
        format!("rule: >\n  {}", wrapped("  ")),
        format!("rule: |\n  {TEXT}\n"),
        format!("- id: 7\n  upload_rule: '{TEXT}'"),
        format!("INSERT INTO notes (id, text) VALUES (1, '{TEXT}');"),
        format!("remember({quoted})"),
        format!("memory.save(text={quoted}, tags=[])"),
        format!("print(f'{TEXT}')"),
        format!("{{ text: '{TEXT}', id: 7 }},"),
        format!("{{'text': '{TEXT}'}}"),
        format!("<note id=\"7\" text='{TEXT}'/>"),
        format!("level=info msg={quoted} at=noon"),
        format!("key => `{TEXT}`,"),
        serde_json::json!({ "payload": object }).to_string(),
        serde_json::json!({ "a": 1, "payload": serde_json::json!({ "inner": object }).to_string(), "z": "x" }).to_string(),
        format!("data: {object}"),
        serde_json::to_string(&quoted).unwrap(),
        quoted.trim_matches('"').to_owned(),
        TEXT.replace('"', "\\u0022"),
        TEXT.replace('"', "\\x22"),
        format!("Before.\\n{}\\nAfter.", TEXT.replace('"', "\\\"")),
    ]);
}

#[test]
fn encoded() {
    let percent = TEXT.replace(' ', "%20").replace('"', "%22");
    let plus = TEXT.replace(' ', "+").replace('"', "%22");
    let words = TEXT.replace('"', "").to_lowercase();
    let camel: String = words.split(' ').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    are_read(&[
        percent.clone(),
        plus.clone(),
        format!("note={percent}"),
        format!("https://a.example/add?id=7&note={plus}&page=2"),
        format!("See {percent} for it."),
        TEXT.replace('"', "=22").replace(" because", " =\nbecause"),
        TEXT.replace("retries", "re-\ntries"),
        TEXT.replace('"', "&quot;").replace(" job", "&nbsp;job").replace(" under", "&ensp;under"),
        TEXT.replace('"', "&amp;quot;"),
        TEXT.replace(" job", "&#32;job").replace('l', "&#x6c;"),
        TEXT.replace('o', "&ograve;"),
        words.replace(' ', "_"),
        words.replace(' ', "-"),
        words.replace(' ', "."),
        words.replace(' ', "/"),
        camel.clone(),
        format!("#{camel}"),
        format!("\u{1b}[1;31m{TEXT}\u{1b}[0m"),
        format!("[31m{TEXT}[0m"),
    ]);
}

#[test]
fn what_only_looks_like_a_code_of_a_terminal_stays() {
    for text in ["The alert takes the [max, min] of rows", "The alert takes the [15m] mean of rows"] {
        let read = readings(&text.replace("alert", "<b>alert</b>"));
        assert!(read.contains(&noted(text)), "{read:?}");
        assert!(!read.contains(&noted("The alert takes the mean of rows")), "{read:?}");
    }
}

#[test]
fn an_alternative_in_a_sentence_is_no_row_of_a_table() {
    let text = |what: &str| format!("The marmot ledger takes {what} of the whole budget of its gateway.");
    assert!(!says(&text("a | b"), &[noted(&text("a b"))]));
}

#[test]
fn in_lists() {
    are_read(
        &[
            "1.1 ", "1.2. ", "2.3) ", "(a) ", "b. ", "iv. ", "(ii) ", "IV) ", "12: ", "12→", "[7] ", "[7]: ",
            "#7 ", "#7: ", "1.) ", "§ 3 ", "① ", "②", "1️⃣ ", "Rule 3: ", "Fact 2 - ", "ADR 7: ", "Step 1: ",
            "note -> ", "rule => ", "- 1.2 ", "2. (b) ", "PSA: ", "Heads-up: ", "Lessons learned: ",
            "We decided that ", "It turns out that ", "The user said that ", "In fact, ", "As we know, ",
            "So ", "[^1]: ", "[10:30] ", "[INFO] ", "INFO ",
        ]
        .map(|begin| format!("{begin}{TEXT}")),
    );
    are_read(
        &[
            " (2026-11-01)", " [2026-11-01 10:30]", " — 2026-11-01", " ✅", " 👍", ". ✔",
            " (see #7) (2026-11-01)",
        ]
        .map(|end| format!("{TEXT}{end}")),
    );
    are_read(&[
        format!("<note><![CDATA[{TEXT}]]></note>"),
        format!("\\textbf{{{TEXT}}}"),
        format!("\\item {TEXT}"),
        format!("<{TEXT}>"),
        format!("[quote]{TEXT}[/quote]"),
        format!("[quote=ann]{TEXT}[/quote]"),
        format!("== {TEXT} =="),
        format!("=={TEXT}=="),
        format!("> [!NOTE]\n> {TEXT}"),
        format!("> [!NOTE]\n{}", wrapped("> ")),
        format!("!!! note\n    {TEXT}"),
        format!(":::note\n{TEXT}\n:::"),
        format!(".. note::\n\n   {TEXT}"),
        format!("+{TEXT}"),
        format!("diff --git a b\n+{TEXT}\n"),
    ]);
}

#[test]
fn in_programs() {
    are_read(
        &[
            "// ", "/// ", "//! ", "# ", "## ", "* ", " * ", "-- ", "; ", ";; ", "% ", "| ", "> ", "\t",
            "    ",
        ]
        .map(wrapped),
    );
    are_read(&[
        format!("/* {TEXT} */"),
        format!("/** {TEXT} */"),
        format!("/*\n{}\n */", wrapped(" * ")),
        format!("/**\n{}\n */\nfn run() {{}}", wrapped(" * ")),
        format!("let n = 17; // {TEXT}"),
        format!("def run():\n    \"\"\"{TEXT}\"\"\"\n"),
        format!("<!--\n{}\n-->", wrapped("  ")),
        format!("fn run() {{\n{}\n}}", wrapped("    // ")),
        wrapped("7\t"),
        wrapped("17→"),
    ]);
}

#[test]
fn beside_what_was_struck_out() {
    are_read(&[
        format!("~~Something else~~ {TEXT}"),
        format!("<del>Something else</del> {TEXT}"),
        TEXT.replace("17", "~~16~~ 17"),
        TEXT.replace("17", "<s>16</s> 17"),
    ]);
}

#[test]
fn behind_what_only_introduces_it() {
    are_read(
        &[
            "FYI ",
            "FYI, ",
            "Update: ",
            "To recap: ",
            "Please note: ",
            "Please remember: ",
            "As discussed, ",
            "OK, ",
            "For the record, ",
            "Actually, ",
            "BTW, ",
            "IIRC, ",
            "According to the docs, ",
            "Hi team, ",
            "Key fact: ",
            "The user told me that ",
            "Keep in mind: ",
            "It is important to know that ",
            "Memory saved: ",
            "TODO: ",
            "User preference: ",
            "One more thing: ",
            "IMPORTANT! ",
            "(Note) ",
            "[memory] ",
            "[DECISION] ",
            "@claude ",
            "Correction: ",
            "No\u{200b}te: ",
            "**Learned**: **What**: ",
            "**Deploy job**: ",
            "- `storage`: ",
            "1. **Storage load** — ",
            "Known facts: ",
        ]
        .map(|begin| format!("{begin}{TEXT}")),
    );
    are_read(
        &[
            " (Nov 1, 2026)", " [as of 2026-11-01]", " (as of February 2026)", " (updated 2026-11-01)",
            " — Ann", " -- Ann Lee.", " (confirmed)", " [verified]", ", as agreed.", " #ops #deploy",
            " (note)", " - note",
        ]
        .map(|end| format!("{TEXT}{end}")),
    );
}

#[test]
fn in_letters_and_signs_that_look_alike() {
    are_read(&[
        TEXT.replace('o', "о"),
        TEXT.replace('a', "а").replace('e', "е").replace('p', "р"),
        TEXT.replace('o', "ο"),
        format!("Note: {}", TEXT.replace('o', "\u{200b}о")),
        TEXT.replace(' ', "\u{200b}"),
        TEXT.replace("retries", "re\u{ad}\ntries"),
        TEXT.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        TEXT.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        TEXT.replace('"', "&amp;amp;quot;"),
        TEXT.replace(' ', "%2520"),
        format!("https://a.example/?note={}", TEXT.replace(' ', "+")),
    ]);
    // Alone, a letter of Greek is a sign of mathematics.
    let text = |sign: &str| format!("The rate of the ledger is {sign} = 5 in each of its gateways");
    assert!(!says(&text("ρ"), &[noted(&text("p"))]) && !says(&text("ν"), &[noted(&text("v"))]));
    // What is escaped in a text is escaped twice in HTML.
    let text = "Escape it as &lt; in the text of the ledger";
    assert!(says(&text.replace('&', "&amp;"), &[noted(text)]));
}

#[test]
fn at_the_end_of_a_long_text() {
    let lines: String =
        (0..3_000).map(|n| format!("Line {n} of the log says nothing at all about it.\n")).collect();
    are_read(&[format!("{lines}{TEXT}"), format!("{lines}\n\n- {TEXT}\n")]);
}

#[test]
fn what_is_only_mentioned_or_restricted_is_another_text() {
    let quoted = serde_json::to_string(TEXT).unwrap();
    let object = serde_json::json!({ "old": { "text": TEXT }, "new": { "text": "Another." } });
    are_not_read(&[
        object.to_string(),
        serde_json::to_string_pretty(&object).unwrap(),
        serde_json::json!({ TEXT: false }).to_string(),
        format!("<old>{TEXT}</old>"),
        format!("<rejected id=\"7\">{TEXT}</rejected>"),
        format!("[before] {TEXT}"),
        format!("[before]{TEXT}[/before]"),
        format!("replaced = ['{TEXT}']"),
        format!("forget({quoted})"),
        format!("memory.deleteFact({{ text: {quoted} }})"),
        format!("{quoted}: false"),
        format!("\\sout{{{TEXT}}}"),
        format!("was: {TEXT}"),
        format!("Is it so that {TEXT}?"),
        format!("{TEXT}, but only on Mondays."),
        format!("{TEXT}, unless the flag is set."),
        format!("{TEXT} (except on Windows)."),
        format!("{TEXT} (before)"),
        format!("{TEXT} — Windows"),
        format!("{TEXT} #staging"),
        format!("If the flag is set, {TEXT}"),
        format!("On Windows, {TEXT}"),
        format!("Per day, {TEXT}"),
        format!("We discussed whether it is so and {TEXT}"),
    ]);
}

#[test]
fn what_only_looks_like_a_wrapper_is_another_text() {
    let question = TEXT.replace("The", "the");
    are_not_read(
        &[
            "A: ", "a = ", "They claim that ", "Claude 4: ", "Team 2: ", "@deprecated ", "@staging: ",
            "@ann ", "Marketing 2026: ", "According to v1, ", "According to rumours, ", "Market 1, 2026: ",
        ]
        .map(|begin| format!("{begin}{TEXT}")),
    );
    are_not_read(
        &[
            " (Codex)", " (manual)", " (todo)", " (team)", " (when)", " - why", " — Fixed", " — No",
            " — Never", " - Mondays", " #v2", " #wontfix", " (on 2026-11-01)", " (the team)",
            " (via Docker)",
        ]
        .map(|end| format!("{TEXT}{end}")),
    );
    are_not_read(&[
        format!("Is it agreed that {question}?"),
        format!("Who told you that {question}?"),
        format!("<rule status=\"deprecated\">{TEXT}</rule>"),
        format!("[note env=staging]{TEXT}[/note]"),
        format!("\\cancel{{{TEXT}}}"),
        format!("<if>{TEXT}</if>"),
        serde_json::json!({ "text": TEXT, "valid": false }).to_string(),
        serde_json::json!({ "rules": [{ "text": TEXT, "status": "superseded" }] }).to_string(),
        serde_json::json!({ "text": TEXT, "deprecated": true }).to_string(),
        format!("| rule | state |\n|---|---|\n| {TEXT} | wrong |"),
        format!("| staging | {TEXT} |"),
        format!("7\t{TEXT}\tremoved"),
        format!("if [ \"$rule\" = '{TEXT}' ]; then"),
        format!("DELETE FROM notes WHERE text = '{TEXT}';"),
        format!("{TEXT}, and we lowered the limit."),
        format!("{TEXT}, which has changed."),
        format!("{TEXT} (the docs disagree)."),
        format!("{TEXT}, the early ones and the late ones."),
        format!("{TEXT}, as long as the flag is set."),
        format!("Provided the flag is set, {TEXT}"),
        format!("The rule is gone - {TEXT}"),
        format!("-{TEXT}\n+Another rule of the deploy job"),
        format!("@@ -1,2 +1 @@\n one more\n-{TEXT}\n"),
        format!("UPDATE notes SET state = 'gone' WHERE text = '{TEXT}';"),
        format!("DELETE FROM notes\nWHERE text = '{TEXT}'"),
        format!("Deploy hooks: {TEXT}"),
    ]);
}

#[test]
fn what_says_something_else_is_another_text() {
    let quoted = serde_json::to_string(TEXT).unwrap();
    let percent = TEXT.replace(' ', "%20");
    are_not_read(&[
        format!("old = {quoted}"),
        format!("old_rule = {quoted}"),
        format!("\"before\": {quoted}, \"after\": 1"),
        format!("prod-rule: {quoted}"),
        format!("~~{TEXT}~~ It is otherwise."),
        TEXT.replace("17", "~~17~~ 18"),
        format!("Nobody says \"{TEXT}\" any more"),
        format!("The old rule, \"{TEXT}\", holds no more."),
        format!("It is not so: \"{}\"", TEXT.replace('"', "'")),
        format!("https://a.example/add?old={percent}"),
        format!("We have not decided that {TEXT}"),
        format!("production = {TEXT}"),
        format!("{TEXT} ❌"),
        format!("{TEXT} (until 2026-11-01)"),
        format!("[del]{TEXT}[/del]"),
        TEXT.replace("17", "18").replace(' ', "%20"),
        TEXT.replace("17", "18").replace('"', "").replace(' ', "_"),
        TEXT.replace("17", "-17").replace(' ', "+").replace('"', "%22"),
        serde_json::json!({ "payload": serde_json::json!({ "old": TEXT }).to_string() }).to_string(),
        serde_json::json!({ "payload": serde_json::json!({ "a": TEXT.replace("17", "18") }).to_string() })
            .to_string(),
    ]);
    for (one, other) in [
        ("Rules, patterns and notes of the ledger are kept", "Patterns and notes of the ledger are kept"),
        ("The ledger keeps names, rules, notes", "The ledger keeps names, rules"),
        ("The ledger keeps the rules of a user, status", "The ledger keeps the rules of a user"),
        ("1.5 hours are enough for the nightly job", "Hours are enough for the nightly job"),
        ("5 - 3 rows are left in the ledger", "3 rows are left in the ledger"),
        ("5433, 5434 and more ports of the ledger", "5434 and more ports of the ledger"),
        ("v2: the ledger listens on port 5432", "The ledger listens on port 5432"),
        ("alice: the ledger listens on port 5432", "The ledger listens on port 5432"),
        ("a.example:443: the ledger listens on port 5432", "The ledger listens on port 5432"),
        ("the path is src/a/b/c/d/e/f.rs of it", "the path is src a b c d e f of it"),
        ("10%20 of the rows of it are%20 gone", "10%30 of the rows of it are%20 gone"),
        ("the ledger is cache_size of the shop", "the ledger is cache size of the shop"),
    ] {
        assert!(!says(one, &[noted(other)]), "{one} / {other}");
        assert!(!says(other, &[noted(one)]), "{other} / {one}");
    }
}
