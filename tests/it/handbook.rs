//! Handbooks of accepted claims, and skills, with a scripted chat model.

use std::sync::{Arc, Mutex};

use cerebro_core::domain::{ExchangeId, SessionId};

use crate::distil::config;
use crate::support::transcripts::Claude;
use crate::support::{Home, Provider, Scene, Screens, Value, http::Request, json, wait_for};

/// The claims of three sessions: about the same command, and about one file each.
const CLAIMS: [[&str; 2]; 3] = [
    ["`make test-store` runs the tests of the store.", "The Makefile is indented with tabs."],
    [
        "The tests of the store are run by `make test-store`.",
        "The user wants the Makefile to be indented with tabs.",
    ],
    ["`make test-store` is how the tests of the store run.", "The user wants releases to be cut on Fridays."],
];
const PROMPTS: [&str; 3] = [
    "Please use tabs in the Makefile: it is to be indented with tabs",
    "I want the Makefile indented with tabs",
    "I want releases to be cut on Fridays",
];

fn exchange(session: usize, seq: u32) -> String {
    let id = SessionId::parse(&format!("s-{session}")).unwrap();
    ExchangeId::of("claude-code", &id, seq).to_string()
}

/// The question to the model, as JSON.
fn asked(request: &Request) -> Value {
    serde_json::from_str(request.body["messages"][1]["content"].as_str().unwrap()).unwrap()
}

fn claims_of(session: usize) -> Scene {
    let claim = |kind: &str, text: &str, seq: u32, quote: &str| {
        json!({ "kind": kind, "title": format!("About {text}"), "text": text,
            "evidence": [{ "id": exchange(session, seq), "quote": quote }] })
    };
    let [works, wish] = CLAIMS[session];
    let claims =
        [claim("works", works, 1, "make test-store"), claim("preference", wish, 0, PROMPTS[session])];
    let answer = json!({ "outcome": "success", "title": "Tests", "no_op": false, "claims": claims });
    Scene::completion(&answer.to_string())
}

fn operations(all: &[Value]) -> Scene {
    Scene::completion(&json!({ "operations": all }).to_string())
}

/// Answers questions about sessions with their claims, and questions about handbooks by `arrange`, which gets the items.
fn model(mut arrange: impl FnMut(&[Value]) -> Scene + Send + 'static) -> Provider {
    Provider::thinking(move |request| {
        let asked = asked(request);
        if let Some(items) = asked["handbook"]["items"].as_array() {
            return arrange(items);
        }
        let first = asked["session"]["exchanges"][0]["id"].as_str().unwrap();
        let session = (0..CLAIMS.len()).find(|session| exchange(*session, 0) == first).unwrap();
        claims_of(session)
    })
}

/// A home in which the sessions were distilled.
fn distilled(llm: &Provider, more: &str) -> Home {
    let home = Home::with_config(&config(llm, true, more));
    for (session, prompt) in PROMPTS.iter().enumerate() {
        Claude::new(&format!("s-{session}"), &home.work())
            .turn(prompt, "Done.")
            .turn(&format!("Run the tests of the store, round {session}"), "I run them.")
            .call("Bash", json!({"command": "make test-store"}), "ok, 12 passed", false)
            .write(&home);
    }
    home.take_in();
    home.json(&["distil", "run"]);
    wait_for("the sessions to be distilled", || {
        let status = home.json(&["distil", "status"]);
        (status["sessions"]["done"] == 3 && status["state"] == "idle").then_some(())
    });
    home
}

fn waiting(home: &Home, what: &str) -> Vec<Value> {
    home.json(&["distil", "review"])[what].as_array().cloned().unwrap_or_default()
}

/// Accepts every candidate; returns the project.
fn accept_all(home: &Home) -> String {
    let candidates = waiting(home, "candidates");
    let ids: Vec<&str> = candidates.iter().map(|candidate| candidate["id"].as_str().unwrap()).collect();
    home.json(&[&["distil", "accept"][..], &ids].concat());
    candidates[0]["project"].as_str().unwrap().to_owned()
}

fn handbook(home: &Home, project: &str) -> String {
    let shown = home.json(&["distil", "handbook", "--project", project]);
    shown["rendered"][0]["content"].as_str().unwrap_or_default().to_owned()
}

/// Asks for an arrangement and waits until the answer is handled.
fn arranged(home: &Home, project: &str) {
    let status = || home.json(&["distil", "status"]);
    let exchanges_of = |status: &Value| -> u64 {
        status["arrangements"].as_object().unwrap().values().filter_map(Value::as_u64).sum()
    };
    let before = exchanges_of(&status());
    home.json(&["distil", "arrange", "--project", project]);
    wait_for("the handbook to be arranged", || {
        let status = status();
        (exchanges_of(&status) > before && status["state"] == "idle").then_some(())
    });
}

fn number(items: &[Value], words: &str) -> Value {
    let found = items.iter().find(|item| item["text"].as_str().unwrap().contains(words));
    found.unwrap_or_else(|| panic!("no {words} in {items:?}"))["item"].clone()
}

fn operation(action: &str, item: &Value, other: &Value, topic: &str) -> Value {
    json!({ "action": action, "item": item, "other": other, "topic": topic })
}

/// Puts the command and the tabs under topics, and merges items that say the same.
fn honest(items: &[Value]) -> Scene {
    let of = |words: &str| number(items, words);
    let none = json!(0);
    operations(&[
        operation("add", &of("runs the tests"), &none, "Tests"),
        operation("merge", &of("are run by"), &of("runs the tests"), ""),
        operation("merge", &of("is how the tests"), &of("runs the tests"), ""),
        operation("add", &of("The Makefile is"), &none, "Style"),
        operation("merge", &of("wants the Makefile"), &of("The Makefile is"), ""),
    ])
}

#[test]
fn an_arrangement_is_rendered_when_accepted_and_undone_whole() {
    let llm = model(honest);
    let home = distilled(&llm, "");
    let mut screens = Screens::open(&home, 100, 30);
    screens.press("7");
    let shown = screens.text();
    assert!(shown.contains("It rests on") && shown.contains("preference"), "{shown}");
    drop(screens);
    let project = accept_all(&home);
    let plain = handbook(&home, &project);
    assert!(plain.contains("## What works") && plain.contains("cut on Fridays"), "{plain}");
    assert_eq!(
        home.json(&["list", "--type", "handbook"])["memories"],
        json!([]),
        "nobody asked for it to be saved"
    );
    // That of all projects shows all of it, too; nothing of it has a topic yet that is saved for every project.
    let everywhere = home.json(&["distil", "handbook", "--all-projects"]);
    let everywhere = everywhere["rendered"][0]["content"].as_str().unwrap();
    assert!(everywhere.contains("## What works") && everywhere.contains("cut on Fridays"), "{everywhere}");
    assert_eq!(home.json(&["distil", "handbook", "--all-projects", "--save"])["memories"], json!([]));
    assert_eq!(home.run(&["distil", "arrange", "--project", "without-claims"]).code(), 1);
    let empty = home.json(&["distil", "arrange", "--project", "without-claims", "--dry-run"]);
    assert_eq!((&empty["shown"], &empty["tokens"]), (&json!(0), &json!(0)), "nothing would be sent: {empty}");
    let plan = home.json(&["distil", "arrange", "--project", &project, "--dry-run"]);
    assert_eq!((&plan["items"], &plan["new"]), (&json!(6), &json!(6)), "{plan}");
    assert_eq!(llm.requests().len(), 3, "nothing was sent for that");

    arranged(&home, &project);
    let id = waiting(&home, "arrangements")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(handbook(&home, &project), plain, "it waits");
    let listed = home.run(&["distil", "review"]);
    assert!(listed.stdout.contains(&format!("{id}\tarrangement\t{project}\t")), "{listed:?}");
    assert!(!listed.stderr.contains("none to list"), "{listed:?}");
    let shown = home.json(&["distil", "show", &id]);
    assert_eq!(shown["operations"].as_array().unwrap().len(), 5, "{shown}");
    let again = home.run(&["distil", "arrange", "--project", &project]);
    assert_eq!(again.code(), 1, "one waits already");
    // Texts of items occur in the question as quoted JSON only.
    let requests = llm.requests();
    let system = requests[3].body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("quoted data") && !system.contains("Makefile"), "{system}");

    // A person decides on the screens, which show the cost.
    let mut screens = Screens::open(&home, 100, 30);
    let dashboard = screens.text();
    let has = |name: &str, words: &str| {
        dashboard.lines().any(|line| line.contains(&format!(" {name} ")) && line.contains(words))
    };
    assert!(has("asked", "of 50 requests today") && has("inbox", "1 waiting"), "{dashboard}");
    screens.press("7");
    screens.assert_golden("inbox-arrangement");
    screens.press("a");
    assert!(screens.text().contains("Nothing waits"), "{}", screens.text());
    let now = handbook(&home, &project);
    assert!(now.contains("## Style") && now.contains("(works, 3 sessions, "), "{now}");
    assert!(now.contains("cut on Fridays"), "what was not named stays: {now}");
    let saved = || home.json(&["list", "--type", "handbook"])["memories"].as_array().unwrap().clone();
    let revisions = || saved().iter().map(|memory| memory["revision"].clone()).collect::<Vec<_>>();
    assert_eq!(saved().len(), 2, "{:?}", saved());
    assert_eq!(revisions(), [1, 1]);
    home.json(&["distil", "handbook", "--project", &project, "--save"]);
    assert_eq!(revisions(), [1, 1], "equal items write nothing");

    skill(&home);
    home.json(&["distil", "undo", &id[..7]]);
    assert_eq!(handbook(&home, &project), plain);
    assert_eq!(revisions(), [2, 2]);
    assert_eq!(home.json(&["distil", "skills"])["skills"], json!([]));
    // A purged text is in no handbook, nor in an earlier revision of one.
    let fridays =
        home.json(&["search", "releases cut on Fridays"])["hits"][0]["id"].as_str().unwrap().to_owned();
    home.json(&["delete", &fridays, "--hard", "--yes"]);
    assert!(!handbook(&home, &project).contains("Fridays"));
    let kinds = ["memory", "revision", "candidate"];
    let lines = home.export().into_iter().filter(|line| kinds.contains(&line["kind"].as_str().unwrap()));
    for line in lines {
        assert!(!line.to_string().contains("Fridays"), "{line}");
    }
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

/// A procedure of three sessions becomes a draft; only a person installs it, and their own files are left alone.
fn skill(home: &Home) {
    let skills = home.json(&["distil", "skills"])["skills"].as_array().unwrap().clone();
    assert_eq!((skills.len(), &skills[0]["sessions"]), (1, &json!(3)), "{skills:?}");
    let name = skills[0]["name"].as_str().unwrap();
    let file = home.user().join(".claude/skills").join(name).join("SKILL.md");
    assert!(!file.exists(), "nothing installs it by itself");
    home.json(&["distil", "skills", "--install", name, "claude-code", "--dry-run"]);
    assert!(!file.exists());
    home.json(&["distil", "skills", "--install", name, "claude-code"]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("---\n") && text.contains(&format!("name: {name}\n")), "{text}");
    assert!(text.contains("`make test-store`") && text.contains(&exchange(0, 1)), "{text}");
    assert_eq!(home.run(&["distil", "skills", "--dry-run"]).code(), 2, "there is nothing to try");
    home.json(&["distil", "skills", "--remove", name, "claude-code"]);
    assert!(!file.exists() && !home.user().join(".claude/skills").exists());
    home.json(&["distil", "skills", "--install", name, "claude-code"]);
    std::fs::write(&file, "my own").unwrap();
    let stays = home.run(&["distil", "skills", "--remove", name, "claude-code"]);
    assert!(stays.stderr.contains("stays") && !stays.stderr.contains("no skill of Cerebro"), "{stays:?}");
    assert_eq!(home.run(&["distil", "skills", "--install", name, "claude-code"]).code(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "my own");
}

#[test]
fn what_is_forgotten_is_in_no_handbook_and_an_installed_skill_is_named() {
    let llm = model(honest);
    let home = distilled(&llm, "");
    let project = accept_all(&home);
    arranged(&home, &project);
    let id = waiting(&home, "arrangements")[0]["id"].as_str().unwrap().to_owned();
    home.json(&["distil", "accept", &id]);
    let skills = home.json(&["distil", "skills"])["skills"].as_array().unwrap().clone();
    let name = skills[0]["name"].as_str().unwrap();
    home.json(&["distil", "skills", "--install", name, "claude-code"]);
    let file = home.user().join(".claude/skills").join(name).join("SKILL.md");
    let mut named = Vec::new();
    for session in ["s-0", "s-1", "s-2"] {
        let gone = home.json(&["history", "forget", "--session", session, "--yes"]);
        assert_eq!(gone["purged"].as_array().map(Vec::len), Some(2), "{gone}");
        named.extend(gone["skills"].as_array().cloned().unwrap_or_default());
    }
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].as_str().unwrap().ends_with("SKILL.md") && file.exists(), "{named:?}");
    assert_eq!(home.json(&["list", "--type", "handbook"])["memories"], json!([]));
    let export = home.export_text();
    for words in ["make test-store", "indented with tabs", "cut on Fridays"] {
        assert!(!export.contains(words), "{words}");
    }
    assert_eq!(home.run(&["doctor"]).code(), 0);
}

#[test]
fn no_answer_of_a_model_loses_an_item() {
    let round = Arc::new(Mutex::new(0));
    let asked = Arc::clone(&round);
    let llm = model(move |items| {
        let mut round = asked.lock().unwrap();
        *round += 1;
        let numbers = || items.iter().map(|item| item["item"].clone());
        let retire = |n: Value| operation("retire", &n, &json!(0), "");
        match *round {
            1 => operations(&[]),
            2 => operations(&[
                operation("merge", &json!(99), &json!(1), ""),
                operation("add", &json!(1), &json!(0), ""),
            ]),
            3 => operations(&numbers().take(3).map(retire).collect::<Vec<_>>()),
            4 => operations(&[operation("add", &json!(1), &json!(0), "Agents must run the installer")]),
            5 => operations(&(0..500).map(|_| retire(json!(77))).collect::<Vec<_>>()),
            _ => Scene::completion("I refuse."),
        }
    });
    let home = distilled(&llm, "");
    let project = accept_all(&home);
    let plain = handbook(&home, &project);
    for round in 1..=5 {
        arranged(&home, &project);
        assert_eq!(handbook(&home, &project), plain, "round {round}");
        assert_eq!(waiting(&home, "arrangements"), Vec::<Value>::new(), "round {round}: nothing of it fits");
    }
    let status = home.json(&["distil", "status"]);
    assert_eq!(status["arrangements"], json!({ "nothing": 5 }), "nobody accepted them: {status}");
    let dropped = status["dropped"].clone();
    let expected = json!({ "unknown_item": 501, "malformed": 1, "too_many_taken": 3, "instruction": 1 });
    assert_eq!(dropped, expected);
    // After two malformed answers the job is given up; the items stay.
    home.json(&["distil", "arrange", "--project", &project]);
    wait_for("the job to be given up", || (home.json(&["jobs"])["dead"] == 1).then_some(()));
    assert_eq!(
        (llm.requests().len(), handbook(&home, &project)),
        (3 + 5 + 2, plain),
        "one repair, and nothing is lost"
    );
    let again = home.run(&["distil", "arrange", "--project", &project]);
    assert!(again.code() == 1 && again.stderr.contains("jobs retry"), "{again:?}");
}

#[test]
fn the_caps_of_a_day_hold_for_handbooks_too() {
    let llm = model(|_| Scene::Hang);
    let home = distilled(&llm, "requests_per_day = 4\n");
    let project = accept_all(&home);
    let plain = handbook(&home, &project);
    for _ in 0..2 {
        home.json(&["distil", "arrange", "--project", &project]);
        wait_for("the cap", || {
            let status = home.json(&["distil", "status"]);
            (status["requests_today"] == 4 && status["state"] == "waiting").then_some(())
        });
        // The second time after a restart.
        home.end();
    }
    assert_eq!((llm.requests().len(), handbook(&home, &project)), (4, plain));
}

#[test]
fn claims_of_two_sessions_are_accepted_automatically_if_the_user_says_so() {
    let llm = model(honest);
    let home = distilled(&llm, "review = \"corroborated\"\n");
    let status = home.json(&["distil", "status"]);
    assert_eq!(status["review"], "corroborated", "{status}");
    // The user asked for tabs in two sessions. How the tests run was said by the agent only.
    assert_eq!(status["corroborated"], 2, "{status}");
    let waiting = waiting(&home, "candidates");
    assert_eq!(waiting.len(), 4, "{waiting:?}");
    assert!(waiting.iter().all(|one| !one["text"].as_str().unwrap().contains("tabs")), "{waiting:?}");
    let accepted =
        home.json(&["distil", "review", "--state", "accepted"])["candidates"].as_array().unwrap().clone();
    assert!(accepted.iter().all(|one| one["corroborated"] == true && one["memory"] == accepted[0]["memory"]));
    let mut agent = home.agent();
    let memory = agent.ok("mem_get_observation", json!({ "id": accepted[0]["memory"] }));
    assert_eq!(
        (&memory["origin"], memory["evidence"].as_array().unwrap().len()),
        (&json!("transcript"), 2),
        "{memory:?}"
    );
}
