//! Documents that are broken, huge, nested or bombs: each is named with a reason, the others are read, and the daemon lives.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{Home, Value, json, scaled};

/// How many there are; the bar is 1,000 (`CEREBRO_TEST_SCALE=16`).
const FILES: usize = 64;
const KINDS: usize = 16;

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn noise(rng: &mut StdRng, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|_| rng.random()).collect();
    bytes.push(0);
    bytes
}

/// The name and bytes of one that cannot be read.
fn broken(kind: usize, rng: &mut StdRng) -> (&'static str, Vec<u8>) {
    let length = rng.random_range(1..4_000);
    let word = br#"<w:document><w:p><w:r><w:t>Text</w:t></w:r></w:p></w:document>"#;
    let office = ["docx", "pptx", "xlsx", "epub"];
    let ending = office[rng.random_range(0..office.len())];
    match kind {
        0 => ("txt", noise(rng, length)),
        1 => ("md", [b"# So\n".to_vec(), noise(rng, length)].concat()),
        2 => ("csv", [b"a,b\n".to_vec(), noise(rng, length)].concat()),
        3 => ("json", format!("{{\"a\": {}", "[".repeat(length * 10)).into_bytes()),
        4 => ("ipynb", br#"{"cells": 7}"#.to_vec()),
        5 => ("html", format!("<p>{}", "<div>".repeat(5_000 + length)).into_bytes()),
        6 => ("pdf", [b"%PDF-1.7\n1 0 obj\n".to_vec(), noise(rng, length)].concat()),
        7 => (ending, noise(rng, length)),
        // Cut off: the end of an archive says what is in it.
        8 => {
            let whole = archive(&[("word/document.xml", word)]);
            let cut = rng.random_range(1..whole.len() - 22);
            ("docx", whole[..cut].to_vec())
        }
        // A bomb, and one of another name.
        9 => ("docx", archive(&[("word/document.xml", &vec![b' '; 24 << 20])])),
        10 => ("xlsx", archive(&[("xl/workbook.xml", &vec![b' '; 24 << 20])])),
        11 => {
            let deep = format!("<a>{}", "<a>".repeat(1_000 + length));
            ("docx", archive(&[("word/document.xml", deep.as_bytes())]))
        }
        // An archive within an archive, and none of a document.
        12 => ("pptx", archive(&[("inner.zip", &archive(&[("a", b"a")]))])),
        13 => {
            let names: Vec<String> = (0..10_001).map(|n| n.to_string()).collect();
            let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
            ("epub", archive(&many))
        }
        14 => (
            "epub",
            archive(&[(
                "META-INF/container.xml",
                b"<container><rootfile full-path=\"../../x\"/></container>",
            )]),
        ),
        _ => ("txt", Vec::new()),
    }
}

fn names(list: &Value) -> BTreeSet<String> {
    let name = |one: &Value| one["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    list.as_array().unwrap().iter().map(name).collect()
}

fn fill(folder: &Path, rng: &mut StdRng) -> BTreeSet<String> {
    fs::create_dir_all(folder).unwrap();
    let mut expected = BTreeSet::new();
    for n in 0..scaled(FILES) {
        let kind = n % (KINDS + 1);
        let (ending, bytes) = if kind == KINDS { ("md", Vec::new()) } else { broken(kind, rng) };
        let name = format!("{n:04}.{ending}");
        let file = fs::File::create(folder.join(&name)).unwrap();
        (&file).write_all(&bytes).unwrap();
        if kind == KINDS {
            // Beyond the bound, without the disk's help.
            file.set_len((16 << 20) + 1).unwrap();
        }
        expected.insert(name);
    }
    expected
}

#[test]
fn each_broken_file_is_named_and_the_daemon_lives() {
    let home = Home::new();
    let mut agent = home.agent();
    let pid = home.daemon_pid();
    let docs = home.work().join("docs");
    let mut rng = StdRng::seed_from_u64(16);
    let expected = fill(&docs, &mut rng);
    for (n, name) in ["0000-good.md", "9999-good.md"].iter().enumerate() {
        fs::write(docs.join(name), format!("# Good\n\nOsprey number {n} fishes here.\n")).unwrap();
    }
    let run = home.run(&["ingest", "docs", "--project", "demo", "--json"]);
    assert_eq!(run.code(), 1, "{run:?}");
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let named = names(&answer["faults"]);
    assert_eq!(expected.difference(&named).collect::<Vec<_>>(), [] as [&String; 0], "not named");
    assert_eq!(named, expected);
    assert!(
        answer["faults"].as_array().unwrap().iter().all(|one| !one["reason"].as_str().unwrap().is_empty())
    );
    assert_eq!(names(&answer["documents"]).len(), 2, "{answer:#}");
    assert_eq!(home.daemon_pid(), pid);
    let found = agent.ok("mem_search", json!({ "query": "osprey fishes", "type": "document" }));
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found:?}");
}
