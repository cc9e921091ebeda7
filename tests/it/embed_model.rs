//! `cerebro model`: installing, choosing, trying and removing models, and files that are not what
//! they should be.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::support::{Agent, Home, Provider, Scene, finish, http, json, library, model_files, model_home};

fn state(home: &Home, name: &str) -> String {
    let list = home.json(&["model", "list"]);
    let models = list["models"].as_array().unwrap();
    let found = models.iter().find(|model| model["model"] == name);
    found.map_or_else(|| "none".to_owned(), |model| model["state"].as_str().unwrap().to_owned())
}

fn cut(path: &Path, bytes: u64) {
    fs::File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_model_from_a_folder_is_installed_tried_chosen_and_removed() {
    let home = Home::with_config("# mine\nidle_exit = \"1h\" # long\n");
    let from = model_files(&home);
    let from = from.to_str().unwrap();
    assert_eq!(state(&home, "all-minilm-l6-v2"), "available");
    let installed = home.json(&["model", "install", "mine", "--from", from]);
    assert_eq!(installed["dimension"], 384, "{installed}");
    assert_eq!((state(&home, "mine").as_str(), &installed["in_use"]), ("in use", &true.into()));

    let tried = home.json(&["model", "test"]);
    assert_eq!(tried["model"], "local/mine");
    assert!(
        tried["near"].as_f64() > tried["far"].as_f64() && tried["query_ms"].as_f64() > Some(0.0),
        "{tried}"
    );
    let words = finish(home.command().args(["model", "test"]).env("CEREBRO_LOG", "debug"));
    assert!(words.stdout.contains("a query\t") && words.stdout.contains("160 words\t"), "{words:?}");
    // Six layers of six products, two tables, and in each layer an attention and a GELU as one operator each.
    assert!(words.stderr.contains("integer=38 fused=12"), "{words:?}");

    // A second time changes nothing.
    home.json(&["model", "install", "mine", "--from", from]);
    home.json(&["model", "install", "other", "--from", from]);
    assert_eq!((state(&home, "mine").as_str(), state(&home, "other").as_str()), ("in use", "installed"));
    home.json(&["model", "use", "other"]);
    assert_eq!((state(&home, "mine").as_str(), state(&home, "other").as_str()), ("installed", "in use"));
    home.json(&["model", "use", "none"]);
    assert_eq!(state(&home, "other"), "installed");
    let none = home.run(&["model", "test"]);
    assert!(none.code() == 1 && none.stderr.contains("no model is in use"), "{none:?}");
    home.json(&["model", "use", "other"]);
    // Search would then work without vectors, so the command asks first; here nobody can answer.
    let asked = home.run(&["model", "remove", "other"]);
    assert!(asked.code() == 2 && asked.stderr.contains("--yes"), "{asked:?}");
    assert_eq!(state(&home, "other"), "in use");
    home.json(&["model", "remove", "other", "--yes"]);
    assert_eq!((state(&home, "mine").as_str(), state(&home, "other").as_str()), ("in use", "none"));
    let config = fs::read_to_string(home.data().join("config.toml")).unwrap();
    assert!(config.starts_with("# mine\nidle_exit = \"1h\" # long\n"), "{config}");
    let left: Vec<_> = fs::read_dir(home.data().join("models")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn choosing_a_model_restarts_the_daemon() {
    let home = Home::new();
    home.json(&["daemon", "start"]);
    let before = home.daemon_pid();
    let run = home.run(&["model", "use", "none"]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr.contains("the daemon has stopped"), "{run:?}");
    home.json(&["daemon", "start"]);
    assert_ne!(home.daemon_pid(), before);
}

#[test]
fn files_that_cannot_be_a_model_are_not_installed() {
    let home = Home::new();
    let from = model_files(&home);
    let folder = from.to_str().unwrap();
    let refused = |name: &str, want: &[&str]| {
        let run = home.run(&["model", "install", name, "--from", folder]);
        assert_eq!(run.code(), 1, "{want:?}: {run:?}");
        assert!(want.iter().all(|want| run.stderr.contains(want)), "{want:?}: {run:?}");
        assert_eq!(state(&home, "mine"), "none");
    };
    refused("../mine", &["../mine", "not a model's name"]);
    fs::rename(from.join("tokenizer.json"), from.join("elsewhere")).unwrap();
    refused("mine", &["tokenizer.json is missing"]);
    fs::write(from.join("tokenizer.json"), "{}").unwrap();
    refused("mine", &["`mine` cannot be used", "tokenizer.json"]);
    fs::rename(from.join("elsewhere"), from.join("tokenizer.json")).unwrap();
    cut(&from.join("model.onnx"), 1_000_000);
    refused("mine", &["`mine` cannot be used"]);
    fs::write(from.join("model.onnx"), "not a graph").unwrap();
    refused("mine", &["`mine` cannot be used"]);
    let library = library(&from);
    fs::write(&library, "not a library").unwrap();
    refused("mine", &["was left alone", "--runtime-from", "ONNX Runtime is not installed"]);
    let named = ["model", "install", "mine", "--from", folder, "--runtime-from", library.to_str().unwrap()];
    let run = home.run(&named);
    assert!(run.code() == 1 && run.stderr.contains("does not work as ONNX Runtime"), "{run:?}");
    assert!(!home.data().join("runtime/runtime.toml").exists());
    let run = home.run(&["model", "install", "mine", "--from", folder, "--runtime-from", "/no/such/file"]);
    assert!(run.code() == 1 && run.stderr.contains("/no/such/file is not a file"), "{run:?}");
}

/// A supplier of weights need not be trusted to run code here.
#[test]
fn native_code_that_is_not_known_is_loaded_only_by_its_name() {
    let home = Home::new();
    let from = model_files(&home);
    // It works as ONNX Runtime, and is another file than the known one.
    let other = library(&from);
    let mut file = fs::File::options().append(true).open(&other).unwrap();
    file.write_all(b"changed").unwrap();
    drop(file);
    let from = from.to_str().unwrap();
    let run = home.run(&["model", "install", "mine", "--from", from]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr.contains("warning: ") && run.stderr.contains("--runtime-from"), "{run:?}");
    assert!(!home.data().join("runtime/runtime.toml").exists(), "{run:?}");

    let named = ["model", "install", "mine", "--from", from, "--runtime-from", other.to_str().unwrap()];
    let run = home.run(&named);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr.contains("warning: ") && run.stderr.contains("native code"), "{run:?}");
    assert_eq!(state(&home, "mine"), "in use");
    home.json(&["model", "test"]);

    // The one that is known needs no name, and takes its place.
    fs::remove_dir_all(from).unwrap();
    let from = model_files(&home);
    let run = home.run(&["model", "install", "other", "--from", from.to_str().unwrap()]);
    assert!(run.code() == 0 && !run.stderr.contains("warning"), "{run:?}");
}

#[test]
fn installed_files_that_change_are_noticed() {
    let home = Home::new();
    let from = model_files(&home);
    home.json(&["model", "install", "mine", "--from", from.to_str().unwrap()]);
    let model = home.data().join("models/mine");
    let damaged = |path: &Path, want: &str| {
        let run = home.run(&["model", "test"]);
        assert_eq!(run.code(), 1, "{want}: {run:?}");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(run.stderr.contains(want) && run.stderr.contains(name), "{want}: {run:?}");
    };
    let onnx = model.join("model.onnx");
    let bytes = fs::read(&onnx).unwrap();
    let mut other = bytes.clone();
    other[12_345_678] ^= 1;
    fs::write(&onnx, other).unwrap();
    damaged(&onnx, "is damaged: its SHA-256");
    cut(&onnx, 99);
    damaged(&onnx, "is damaged: it has 99 bytes");
    fs::remove_file(&onnx).unwrap();
    damaged(&onnx, "is missing");
    fs::write(&onnx, bytes).unwrap();

    // A shortened library would end a process that runs it, by a signal.
    let library = library(&home.data().join("runtime"));
    cut(&library, 4_000_000);
    damaged(&library, "is damaged: it has 4000000 bytes");
    fs::remove_file(home.data().join("runtime/runtime.toml")).unwrap();
    let run = home.run(&["model", "test"]);
    assert!(run.stderr.contains("ONNX Runtime is not installed"), "{run:?}");
    fs::write(model.join("model.toml"), "name = 1").unwrap();
    damaged(&model.join("model.toml"), "is not what it should be");
    // Search by words still works.
    home.json(&["save", "Without vectors", "The gannet is found by its name.", "--project", "demo"]);
    assert!(home.run(&["search", "gannet", "--project", "demo"]).success().contains("Without vectors"));
}

#[test]
fn only_the_known_files_are_taken_from_the_network() {
    let home = Home::new();
    // The page lists the requested name, but the file behind it is another one.
    let page = |file: &str| format!("<a href=\"/files/{file}#sha256=0\">{file}</a>");
    let runtime = "onnxruntime-1.31.1-cp311-cp311-manylinux_2_28_x86_64.whl";
    let names = format!("{}{}", page(runtime), page(&runtime.replace("x86_64", "aarch64")));
    let install = |address: &str| {
        let index = format!("{address}/simple");
        let run = home.run(&["model", "install", "all-minilm-l6-v2", "--index", &index]);
        assert_eq!(run.code(), 1, "{run:?}");
        assert_eq!(state(&home, "all-minilm-l6-v2"), "available");
        assert!(!home.data().join("runtime/runtime.toml").exists());
        assert_eq!(fs::read_dir(home.data().join("models")).unwrap().count(), 0, "something is left");
        run.stderr
    };
    let wrong = Provider::start(vec![
        Scene::Answer(200, "", names.clone()),
        Scene::Answer(200, "", "other bytes".to_owned()),
    ]);
    let run = install(wrong.address());
    assert!(run.contains("not the file that Cerebro knows"), "{run}");
    let lines: Vec<String> = wrong.requests().into_iter().map(|request| request.line).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("GET /simple/onnxruntime/ ") && lines[1].starts_with("GET /files/onnxruntime-")
    );

    let half = Provider::start(vec![Scene::Answer(200, "", names), Scene::Half("part".to_owned())]);
    let run = install(half.address());
    assert!(run.contains("broke off"), "{run}");
    let run = install(Provider::answering("<html></html>").address());
    assert!(run.contains("has no file onnxruntime-"), "{run}");
    let run = install(Provider::start(vec![Scene::Answer(404, "", String::new())]).address());
    assert!(run.contains("404") && run.contains("onnxruntime"), "{run}");
    let run = install("http://user:secret@127.0.0.1:1");
    assert!(run.contains("cannot get onnxruntime from 127.0.0.1") && !run.contains("secret"), "{run}");
}

#[test]
fn an_unknown_model_is_answered_with_the_known_ones() {
    let home = Home::new();
    for (args, want) in [
        (&["model", "install", "no-such"][..], "multilingual-e5-small"),
        (&["model", "use", "no-such"], "`no-such` is not installed"),
        (&["model", "remove", "no-such"], "`no-such` is not installed"),
        (&["model", "test", "no-such"], "`no-such` is not installed"),
        (&["model", "install", "x", "--from", "/no/such/folder"], "/no/such/folder"),
    ] {
        let run = home.run(args);
        assert_eq!(run.code(), 1, "{args:?}: {run:?}");
        assert!(run.stderr.contains(want), "{args:?}: {run:?}");
    }
    let run = home.run(&["model", "use", "openai"]);
    assert!(run.code() == 2 && run.stderr.contains("--model NAME"), "{run:?}");
    assert!(!home.data().join("config.toml").exists(), "a refused choice was written");
}

#[test]
fn of_many_questions_at_once_each_gets_its_vector() {
    const AGENTS: usize = 3;
    const EACH: usize = 250;
    let home = Home::new();
    home.json(&["model", "install", "mine", "--from", model_files(&home).to_str().unwrap()]);
    let mut agents: Vec<Agent> = (0..AGENTS).map(|_| home.agent()).collect();
    agents[0].save("Uploads", "The upload is tried again by the queue.");
    home.run(&["worker", "status", "--wait"]).success();
    let asked: Vec<Vec<u64>> = agents
        .iter_mut()
        .enumerate()
        .map(|(agent, one)| {
            (0..EACH)
                .map(|n| one.send("mem_search", json!({"query": format!("upload {agent} {n}")})))
                .collect()
        })
        .collect();
    for (agent, ids) in agents.iter_mut().zip(asked) {
        for id in ids {
            assert_eq!(agent.reply(id)["hits"].as_array().unwrap().len(), 1);
        }
    }
    let log = fs::read_to_string(home.data().join("daemon.log")).unwrap();
    assert_eq!(log.matches("went on with words alone").count(), 0, "{log}");
}

/// A hub with one repository: `/api/models/…/revision/…` and `/…/resolve/COMMIT/…`.
fn hub(home: &Home, commit: &'static str, pooling: &'static str) -> String {
    let files = model_files(home);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Some(request) = http::read_request(&mut std::io::BufReader::new(stream.try_clone().unwrap()))
            else {
                continue;
            };
            let path = request.line.split(' ').nth(1).unwrap_or_default().to_owned();
            let file = path.split_once(&format!("/acme/Words/resolve/{commit}/")).map(|(_, file)| file);
            let body = match file {
                None if path == "/api/models/acme/Words/revision/main" => {
                    Some(format!("{{\"sha\":\"{commit}\"}}").into_bytes())
                }
                Some("onnx/model.onnx") => fs::read(files.join("model.onnx")).ok(),
                Some("tokenizer.json") => fs::read(files.join("tokenizer.json")).ok(),
                Some("1_Pooling/config.json") => Some(pooling.as_bytes().to_vec()),
                Some("sentence_bert_config.json") => Some(b"{\"max_seq_length\": 128}".to_vec()),
                Some("config_sentence_transformers.json") => {
                    Some(b"{\"prompts\": {\"query\": \"ask: \"}}".to_vec())
                }
                _ => None,
            };
            let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
            let body = body.unwrap_or_default();
            let head =
                format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            let mut stream = &stream;
            // A client that has read enough may hang up.
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

#[test]
fn a_model_of_a_hub_is_described_by_its_own_configuration_and_pinned() {
    let home = Home::new();
    let library = library(&model_home().join("runtime"));
    let runtime = ["--runtime-from", library.to_str().unwrap()];
    let commit = "0123456789012345678901234567890123456789";
    let mean = hub(&home, commit, "{\"pooling_mode_mean_tokens\": true}");
    let install = |more: &[&str]| {
        let words = ["model", "install", "hub:acme/Words@main"];
        home.run(&words.iter().chain(&runtime).chain(more).copied().collect::<Vec<_>>())
    };
    let run = install(&["--hub", &mean]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(state(&home, "words"), "in use");
    let manifest = fs::read_to_string(home.data().join("models/words/model.toml")).unwrap();
    for part in [commit, "max_tokens = 128", "query_prefix = \"ask: \"", "pooling = \"mean\"", "sha256"] {
        assert!(manifest.contains(part), "{part}: {manifest}");
    }
    assert!(home.json(&["model", "test"])["near"].as_f64() > Some(0.4));
    let other = install(&["--hub", &mean, "--as", "other", "--query-prefix", "", "--max-tokens", "64"]);
    assert_eq!((other.code(), state(&home, "other").as_str()), (0, "installed"), "{other:?}");
    // The pooling must be stated and known.
    let odd = hub(&home, commit, "{\"pooling_mode_max_tokens\": true}");
    let refused = install(&["--hub", &odd, "--as", "odd"]);
    assert!(refused.code() == 1 && refused.stderr.contains("pools by another way"), "{refused:?}");
    let refused = install(&["--hub", &mean, "--as", "odd", "--file", "onnx/none.onnx"]);
    assert!(refused.code() == 1 && refused.stderr.contains("no onnx/none.onnx"), "{refused:?}");
    assert_eq!(state(&home, "odd"), "none");

    let set = home.folder("set");
    fs::write(
        set.join("corpus.jsonl"),
        "{\"_id\":\"a\",\"text\":\"The login fails: the token has expired.\"}\n\
        {\"_id\":\"b\",\"text\":\"The chart has twelve columns on wide screens.\"}\n",
    )
    .unwrap();
    fs::write(set.join("queries.jsonl"), "{\"_id\":\"q\",\"text\":\"why can users not sign in\"}\n").unwrap();
    fs::write(set.join("qrels.tsv"), "query-id\tcorpus-id\tscore\nq\ta\t1\n").unwrap();
    let compared = home.json(&["model", "compare", "--data", set.to_str().unwrap()]);
    assert_eq!((&compared["passages"], compared["models"].as_array().map(Vec::len)), (&json!(2), Some(2)));
    assert_eq!(compared["models"][0]["mrr_at_10"], 1.0, "{compared}");
}
