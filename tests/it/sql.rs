//! `cerebro sql`: people's queries, which can only read.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{Home, json};

fn home() -> Home {
    let home = Home::new();
    let mut agent = home.agent();
    for (title, content) in [("Alpha", "First."), ("Beta", "Second."), ("Gamma", "Third.")] {
        agent.save(title, content);
    }
    home
}

#[test]
fn queries_come_from_the_line_a_file_and_standard_input() {
    let home = home();
    let query = "SELECT title, revision FROM memory ORDER BY title";
    let want = "Alpha\t1\nBeta\t1\nGamma\t1\n";
    assert_eq!(home.run(&["sql", query]).success(), want);

    let file = home.work().join("q.surql");
    fs::write(&file, format!("-- A comment.\n{query};\nRETURN 5;\n")).unwrap();
    assert_eq!(home.run(&["sql", "--file", file.to_str().unwrap()]).success(), format!("{want}\n5\n"));

    for args in [&["sql"][..], &["sql", "-"]] {
        let mut process =
            home.command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        process.stdin.take().unwrap().write_all(query.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap(), want);
    }
}

#[test]
fn parameters_are_bound_and_never_read_as_language() {
    let home = home();
    let ask = |value: &str| {
        let answer = home.json(&["sql", "SELECT VALUE title FROM memory WHERE title = $t", "--set", value]);
        answer["results"][0]["result"].clone()
    };
    assert_eq!(ask("t=Beta"), json!(["Beta"]));
    assert_eq!(ask("t=' OR true OR title = '"), json!([]), "nothing has that title");
    let typed = home.json(&[
        "sql",
        "RETURN [$n + 1, $b, $l, $q]",
        "--set",
        "n=4",
        "--set",
        "b=true",
        "--set",
        "l=[1]",
        "--set",
        "q=\"4\"",
    ]);
    assert_eq!(typed["results"][0]["result"], json!([5, true, [1], "4"]));
    assert_eq!(home.run(&["sql", "RETURN 1", "--set", "nothing"]).code(), 2);
}

#[test]
fn nothing_can_be_written_or_defined() {
    let home = home();
    let info = ["sql", "RETURN (INFO FOR DB)"];
    let before = (home.export_text(), home.json(&info)["results"][0]["result"].clone());
    for write in [
        "DELETE memory",
        "CREATE memory:x SET title = 'x'",
        "UPDATE memory SET title = 'x'",
        "CREATE other:1",
        "UPSERT other:1 SET a = 1",
        "BEGIN; DELETE memory; COMMIT",
        "INSERT INTO memory { title: 'x' }",
        "FOR $m IN (SELECT VALUE id FROM memory) { DELETE $m }",
        "RETURN (DELETE memory RETURN BEFORE)",
        "LET $f = || { DELETE memory }; $f()",
    ] {
        home.run(&["sql", write]);
    }
    let run = home.run(&["sql", "DELETE memory"]);
    assert!(run.stderr.contains("changes nothing"), "{run:?}");
    for refused in [
        "DEFINE TABLE x",
        "REMOVE TABLE memory",
        "DEFINE USER x ON DATABASE PASSWORD 'x'",
        "INFO FOR ROOT",
        "DEFINE EVENT e ON memory THEN (DELETE memory)",
        "ALTER SYSTEM COMPACT",
        "LIVE SELECT * FROM memory",
        "USE NS other DB other",
        "RETURN http::get('http://127.0.0.1')",
        "RETURN sleep(1ms)",
        "RETURN function() { return 1 }",
    ] {
        let answer = home.run(&["sql", refused]);
        assert_eq!(answer.code(), 1, "{refused}: {answer:?}");
        assert!(!answer.stderr.is_empty(), "{refused}: {answer:?}");
    }
    assert_eq!((home.export_text(), home.json(&info)["results"][0]["result"].clone()), before);
}

#[test]
fn answers_are_bounded() {
    let home = home();
    let cut = home.run(&["sql", "SELECT title FROM memory ORDER BY title", "--limit", "2"]);
    assert!(cut.stdout == "Alpha\nBeta\n" && cut.stderr.contains("there is more"), "{cut:?}");
    let whole = home.json(&["sql", "SELECT title FROM memory", "--limit", "3"]);
    assert!(whole["results"][0].get("cut").is_none(), "{whole}");

    let large = home.json(&["sql", "RETURN { a: array::repeat(string::repeat('x', 900000), 10) }; RETURN 1"]);
    assert!(large["results"][0]["cut"] == true && large["results"][0]["result"].is_null());

    let begun = std::time::Instant::now();
    let endless = home.run(&["sql", "--timeout", "1", "FOR $i IN 0..1000000000 { LET $x = $i * 2 }"]);
    assert!(endless.code() == 1 && endless.stderr.contains("longer than 1 s"), "{endless:?}");
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    assert_eq!(home.json(&["stats"])["memories"]["live"], 3);

    let many = "RETURN 1;".repeat(101);
    assert!(home.run(&["sql", &many]).stderr.contains("101 statements"));
}

#[test]
fn errors_are_reported_where_they_are() {
    let home = home();
    let odd = home.run(&["sql", "SELEC title FROM memory"]);
    assert!(odd.code() == 1 && odd.stderr.contains("Parse error"), "{odd:?}");
    let second = home.run(&["sql", "RETURN 1; RETURN <int> 'x'; RETURN 3"]);
    assert_eq!(second.code(), 1);
    assert!(second.stdout.contains('1') && second.stdout.contains('3'), "{second:?}");
    assert!(second.stderr.contains("statement 2"), "{second:?}");
    assert_eq!(home.run(&["sql", "--file", "/nowhere.surql"]).code(), 1);
    assert_eq!(home.run(&["sql", "x", "--file", "y"]).code(), 2);
}

#[test]
fn a_query_without_a_value_says_so() {
    let home = Home::new();
    let done = home.run(&["sql", "SELEC"]);
    assert_eq!(done.code(), 0, "{done:?}");
    assert!(done.stdout.is_empty() && done.stderr.contains("NONE"), "{done:?}");
}
