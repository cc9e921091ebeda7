//! What distilling spends: caps, bounds of questions and answers, and what they hold back.

use crate::distil::{answer, candidates, config, distilled, furnished, honest, status};
use crate::support::transcripts::Claude;
use crate::support::{Home, Provider, Scene, Value, json, wait_for};

#[test]
fn a_model_that_hangs_costs_within_the_caps() {
    let llm = Provider::start(vec![Scene::Hang]);
    let home = furnished(&llm, "requests_per_day = 1\n");
    home.json(&["distil", "run"]);
    wait_for("the cap", || {
        let status = status(&home);
        (status["requests_today"] == 1 && status["state"] == "waiting").then_some(())
    });
    // However often it is asked for, and after a restart.
    home.json(&["distil", "run"]);
    home.end();
    home.json(&["distil", "run"]);
    wait_for("the cap again", || (status(&home)["state"] == "waiting").then_some(()));
    assert_eq!(llm.requests().len(), 1);
    assert_eq!(candidates(&home), Vec::<Value>::new());
}

#[test]
fn a_request_in_another_form_counts_too() {
    let scenes = || vec![Scene::refusing("temperature"), answer(&honest())];
    let llm = Provider::start(scenes());
    let home = furnished(&llm, "requests_per_day = 1\n");
    home.json(&["distil", "run"]);
    wait_for("the cap", || {
        let status = status(&home);
        (status["requests_today"] == 1 && status["state"] == "waiting").then_some(())
    });
    assert_eq!(llm.requests().len(), 1);
    let llm = Provider::start(scenes());
    let home = furnished(&llm, "");
    let status = distilled(&home);
    assert_eq!((&status["requests_today"], &status["tokens_today"]), (&json!(2), &json!(100)), "{status}");
    assert_eq!(llm.requests().len(), 2);
}

/// The bytes of each request that count as its tokens.
fn sizes(llm: &Provider) -> Vec<usize> {
    let size = |body: &Value| {
        let turns = body["messages"].as_array().unwrap().iter();
        let turns: usize = turns.map(|turn| turn["content"].as_str().unwrap().len()).sum();
        turns + body["response_format"]["json_schema"]["schema"].to_string().len()
    };
    llm.requests().iter().map(|request| size(&request.body)).collect()
}

#[test]
fn a_question_stays_within_its_bound() {
    let llm = Provider::start(vec![answer(&[])]);
    let home = furnished(&llm, "tokens_per_session = 2000\n");
    let long = "word ".repeat(1_500);
    Claude::new("s-2", &home.work()).turn(&long, &long).turn(&long, &long).write(&home);
    // The least that is shown of it takes twice as much in JSON.
    let marks = "\"\\\n".repeat(1_000);
    let mut marked = Claude::new("s-3", &home.work()).turn(&marks, &marks).turn(&marks, &marks);
    for n in 0..8 {
        let command = format!("make {n} {}", "\"\\".repeat(80));
        marked = marked.call("Bash", json!({ "command": command }), "ok", false);
    }
    marked.write(&home);
    home.take_in();
    home.json(&["distil", "run"]);
    wait_for("all sessions", || {
        let sessions = status(&home)["sessions"].clone();
        (sessions == json!({ "nothing": 2, "too_long": 1 })).then_some(())
    });
    let sizes = sizes(&llm);
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= 3 * 2_000), "{sizes:?}");
}

#[test]
fn a_correction_stays_within_the_bound_of_a_question() {
    let endless = format!("{{\"outcome\": \"{}", "lorem ipsum ".repeat(18_000));
    let llm = Provider::start(vec![Scene::completion(&endless), answer(&honest())]);
    let home = furnished(&llm, "tokens_per_session = 4000\n");
    distilled(&home);
    let sizes = sizes(&llm);
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= 3 * 4_000), "{sizes:?}");
}

#[test]
fn a_session_whose_correction_fits_no_day_is_given_up() {
    let llm = Provider::start(vec![Scene::completion("no JSON")]);
    let home = furnished(&llm, "requests_per_day = 1\n");
    home.json(&["distil", "run"]);
    wait_for("the end of it", || (status(&home)["given_up"] == 1).then_some(()));
    assert_eq!(llm.requests().len(), 1);
}

#[test]
fn a_cap_of_tokens_holds_before_the_first_request() {
    let llm = Provider::start(vec![answer(&honest())]);
    let home = furnished(&llm, "tokens_per_day = 3999\n");
    let ran = home.run(&["distil", "run"]);
    assert!(ran.code() == 1 && ran.stderr.contains("`tokens_per_day`"), "{ran:?}");
    wait_for("the worker to say so", || (status(&home)["state"] == "unusable").then_some(()));
    assert_eq!(llm.requests().len(), 0, "one question would be beyond it");
}

#[test]
fn a_long_session_is_asked_about_within_the_cap_of_a_day() {
    let llm = Provider::start(vec![answer(&[])]);
    let home = Home::with_config(&config(&llm, true, "tokens_per_day = 8000\n"));
    let mut long = Claude::new("s-1", &home.work());
    for n in 0..12 {
        long = long.turn(&format!("Check part {n}: {}", "word ".repeat(500)), &"reply ".repeat(600));
    }
    long.write(&home);
    home.take_in();
    distilled(&home);
    let sizes = sizes(&llm);
    assert!(sizes.len() == 1 && sizes[0] <= 3 * 6_000, "{sizes:?}");
}

#[test]
fn what_is_due_is_queued_while_another_job_waits() {
    let llm = Provider::thinking(|request| {
        let is_first = request.body.to_string().contains("Tidy up");
        if is_first { Scene::Answer(503, "", "{}".to_owned()) } else { answer(&[]) }
    });
    let home = Home::with_config(&config(&llm, true, ""));
    let session = |id: &str, prompt: &str| {
        Claude::new(id, &home.work()).turn(prompt, "Done.").turn("Once more", "Done.").write(&home);
        home.take_in();
    };
    session("s-1", "Tidy up");
    home.json(&["distil", "run"]);
    // The daemon may have asked by itself before.
    wait_for("the first request", || (!llm.requests().is_empty()).then_some(()));
    session("s-2", "Mend it");
    // The next daemon looks for sessions at once. The first job waits for its next attempt meanwhile.
    home.end();
    wait_for("the other session", || (status(&home)["sessions"] == json!({ "nothing": 1 })).then_some(()));
}

/// An answer of a model that reasoned until its tokens were spent.
fn cut_off(spent: u64) -> Scene {
    let body = json!({
        "choices": [{ "index": 0, "finish_reason": "length",
            "message": { "role": "assistant", "content": "", "refusal": null } }],
        "usage": { "prompt_tokens": 100, "completion_tokens": spent - 100, "total_tokens": spent,
            "completion_tokens_details": { "reasoning_tokens": spent - 100 } },
    });
    Scene::Answer(200, "", body.to_string())
}

fn bounds(llm: &Provider) -> Vec<u64> {
    llm.requests().iter().filter_map(|request| request.body["max_completion_tokens"].as_u64()).collect()
}

#[test]
fn a_model_that_reasons_first_gets_room_for_its_answers() {
    let llm = Provider::start(vec![cut_off(2_100), answer(&honest()), answer(&[])]);
    let home = furnished(&llm, "");
    let status = distilled(&home);
    assert_eq!(status["candidates"]["waiting"], 3, "{status}");
    assert_eq!((&status["requests_today"], &status["tokens_today"]), (&json!(2), &json!(2_200)), "{status}");
    assert_eq!(bounds(&llm), [2_000, 16_000]);
    Claude::new("s-2", &home.work()).turn("Tidy up", "Done.").turn("Once more", "Done.").write(&home);
    home.take_in();
    home.json(&["distil", "run"]);
    wait_for("the next session", || (bounds(&llm).len() > 2).then_some(()));
    assert_eq!(bounds(&llm)[2], 16_000, "it is known by now");
}

#[test]
fn a_longer_answer_stays_within_the_cap_and_waits_for_the_next_day() {
    let llm = Provider::start(vec![cut_off(2_100), cut_off(9_900)]);
    let home = furnished(&llm, "tokens_per_day = 12000\n");
    home.json(&["distil", "run"]);
    let status = wait_for("the cap", || {
        let status = status(&home);
        (status["state"] == "waiting").then_some(status)
    });
    assert_eq!((&status["requests_today"], &status["tokens_today"]), (&json!(2), &json!(12_000)), "{status}");
    assert_eq!(status["given_up"], 0, "{status}");
    let asked = bounds(&llm);
    assert!(asked[0] == 2_000 && (2_001..9_900).contains(&asked[1]) && asked.len() == 2, "{asked:?}");
}

#[test]
fn an_answer_that_is_too_long_for_any_day_is_given_up() {
    let llm = Provider::start(vec![cut_off(2_100), cut_off(16_100)]);
    let home = furnished(&llm, "");
    home.json(&["distil", "run"]);
    wait_for("the end of it", || (status(&home)["given_up"] == 1).then_some(()));
    assert_eq!(bounds(&llm), [2_000, 16_000]);
    let jobs = home.json(&["jobs"]);
    let reason = jobs["jobs"][0]["error"].as_str().unwrap();
    assert!(reason.contains("cut off after 16000 tokens"), "{jobs}");
}
