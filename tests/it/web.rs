//! `cerebro web`: access, the pages, what a click does, and when it ends.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::net::TcpStream;

use crate::hooks::report;
use crate::support::transcripts::Claude;
use crate::support::{Browser, Home, alter, json};

/// Largest page, in bytes.
const PAGE_BYTES_MAX: usize = 60_000;
/// HTML that would run a script if it were not escaped.
const ATTACK: &str = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>";

/// A memory with everything: revisions, a session with a prompt and a summary.
fn furnished(home: &Home) -> String {
    let mut agent = home.agent();
    let id = agent.save("Alpha decision", "# Heading\n\nFirst *text* of alpha.\n\n```rust\nlet a = 1;\n```");
    agent.ok("mem_update", json!({ "id": id, "content": "# Heading\n\nSecond text of alpha." }));
    agent.save("Beta", "About beta and alpha.");
    agent.ok("mem_save_prompt", json!({ "content": "What is alpha?" }));
    agent.ok("mem_session_summary", json!({ "content": "## Goal\n- Furnish the home" }));
    id
}

/// The sessions' page of the last session.
fn last_session(browser: &Browser) -> String {
    let list = browser.read("/sessions");
    let from = list.body.find("href=\"/sessions/").unwrap() + 6;
    list.body[from..].split('"').next().unwrap().to_owned()
}

fn pages(browser: &Browser, id: &str) -> Vec<String> {
    let own = ["", "/history", "/edit"].map(|part| format!("/memories/{id}{part}"));
    let fixed =
        ["/", "/health", "/memories", "/memories?q=alpha", "/memories?deleted=1", "/sessions", "/live"];
    let fixed = fixed.iter().chain(&["/history", "/history?q=alpha", "/work", "/work?all=1"]);
    let fixed = fixed.chain(&["/documents", "/inbox", "/tidy", "/graph/project?project=demo"]);
    let fixed = fixed.chain(&["/graph/entity?name=alpha&project=demo", "/memories?archived=1&tags=x"]);
    let more = ["/pairs", "/pairs?which=twins", "/projects", "/projects/merge?from=demo&into=other"];
    let all = fixed.chain(&more).map(|path| (*path).to_owned());
    all.chain(own).chain([format!("/graph/{id}"), last_session(browser)]).collect()
}

#[test]
fn a_link_lets_one_browser_in_once() {
    let home = Home::new();
    home.agent().save("Secret title", "x");
    let browser = Browser::start(&home);
    for path in ["/", "/memories", "/?key=", "/?key=00000000000000000000000000000000", "/live/stream"] {
        let refused = browser.get(path);
        assert_eq!(refused.status, 403, "{path}");
        assert!(!refused.body.contains("Secret") && !refused.body.contains("/memories"), "{refused:?}");
    }
    let entered = browser.get(&browser.link.clone());
    assert_eq!((entered.status, entered.header("location")), (303, "/"));
    let cookie = entered.header("set-cookie");
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    let key = browser.link.split('=').nth(1).unwrap();
    assert!(!cookie.contains(key) && !entered.body.contains(key), "the key is no cookie");
    assert_eq!(browser.get(&browser.link.clone()).status, 403, "it works once");
    let own = format!("cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(browser.ask("GET /", &[&own], "").status, 200);
    assert_eq!(browser.ask(&format!("GET {}", browser.link), &[&own], "").status, 303, "who is in stays in");
    let other = own.replace("cerebro_", "cerebro_1");
    assert_eq!(browser.ask("GET /", &[&other], "").status, 403, "another port's cookie");
}

#[test]
fn a_second_command_gives_a_new_link_to_the_open_page() {
    let home = Home::new();
    home.agent().save("Shared title", "x");
    let mut first = Browser::open(&home);
    let second = home.json(&["web"]);
    assert_eq!((&second["already_open"], &second["address"]), (&json!(true), &json!(first.address)));
    let path = second["link"].as_str().unwrap().strip_prefix(&format!("http://{}", first.address)).unwrap();
    let stranger = ["cookie: a=b"];
    let entered = first.ask(&format!("GET {path}"), &stranger, "");
    assert_eq!(entered.status, 303, "{entered:?}");
    let cookie = entered.header("set-cookie").split(';').next().unwrap().to_owned();
    let page = first.ask("GET /memories", &[&format!("cookie: {cookie}")], "");
    assert!(page.says("Shared title"), "{page:?}");
    assert_eq!(first.ask(&format!("GET {path}"), &stranger, "").status, 403, "a new link works once, too");
    assert!(first.read("/memories").says("Shared title"), "whoever was let in before stays so");
    assert_eq!(first.interrupt(), 0);
    TcpStream::connect(&first.address).expect_err("the page closes with the command that opened it");
}

#[test]
fn only_its_own_pages_reach_it() {
    let home = Home::new();
    let id = furnished(&home);
    let browser = Browser::open(&home);
    let port = browser.address.split(':').nth(1).unwrap();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1"] {
        assert_eq!(browser.ask("GET /", &[&format!("host: {host}")], "").status, 403, "{host}");
    }
    assert_eq!(browser.ask("GET /", &[&format!("host: localhost:{port}")], "").status, 200);
    for origin in ["null", "http://localhost:3000", "https://evil.example", "http://127.0.0.1"] {
        assert_eq!(browser.ask("GET /", &[&format!("origin: {origin}")], "").status, 403, "{origin}");
    }
    let token = browser.read(&format!("/memories/{id}")).token().to_owned();
    let forged = token.chars().rev().collect::<String>();
    let forms =
        ["delete", "pin", "unpin", "restore", "edit"].map(|change| format!("/memories/{id}/{change}"));
    let others = ["/health", "/worker", "/projects/merge", "/pairs/settle", "/pairs/replace", "/pairs/merge"];
    let others = others.iter().chain(&["/inbox/x", "/tidy", "/tidy/x", "/documents/x/forget"]);
    let others: Vec<String> = others.map(|path| (*path).to_owned()).collect();
    let before = home.export_text();
    for path in forms.iter().chain(&others) {
        for fields in [&[("title", "x")][..], &[("token", "")], &[("token", &forged)]] {
            let refused = browser.send(path, fields);
            assert_eq!(refused.status, 403, "{path} {fields:?}");
        }
    }
    let foreign = ["content-type: application/x-www-form-urlencoded", "origin: http://localhost:3000"];
    let refused = browser.ask(&format!("POST {}", forms[0]), &foreign, &format!("token={token}"));
    assert_eq!(refused.status, 403, "the token alone is not enough");
    assert_eq!(home.export_text(), before, "nothing was changed");
    assert_eq!(browser.get(&forms[0]).status, 405, "no change by a link");
}

#[test]
fn every_page_is_there_small_and_safe() {
    let home = Home::new();
    let id = furnished(&home);
    let browser = Browser::open(&home);
    for path in pages(&browser, &id) {
        let page = browser.read(&path);
        assert!(page.body.len() < PAGE_BYTES_MAX, "{path} has {} bytes", page.body.len());
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"),
            "{policy}"
        );
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        for part in [" style=", " onclick=", "<style", "javascript:", "src=\"http", "href=\"//"] {
            assert!(!page.body.contains(part), "{path} has {part}");
        }
        assert_eq!(page.body.matches("<script").count(), 1, "{path}");
        assert_eq!(page.body.matches("<h1").count(), 1, "{path}");
        assert!(page.body.contains("<html lang=\"en\">") && page.body.contains("href=\"#main\""), "{path}");
        labelled(&path, &page.body);
    }
    assert_eq!(browser.read("/assets/icon.svg").header("content-type"), "image/svg+xml");
    for path in [
        "/nowhere", "/memories/x", "/memories/aaaaaaaaaaaa", "/sessions/none", "/assets/none.css",
        "/graph/x", "/history/none", "/exchanges/x", "/work/none", "/documents/x", "/tidy/x",
    ] {
        assert_eq!(browser.get(path).status, 404, "{path}");
    }
}

/// Each field that a person fills in has a label.
fn labelled(path: &str, html: &str) {
    let fields = ["<input ", "<select ", "<textarea "];
    let tags = fields
        .iter()
        .flat_map(|field| html.split(field).skip(1))
        .filter(|tag| !tag.starts_with("type=\"hidden\""));
    for tag in tags {
        let id = tag.split("id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        assert!(html.contains(&format!("<label for=\"{id}\">")), "{path}: {tag:.60}");
    }
}

#[test]
fn stored_html_is_text_on_every_page() {
    let home = Home::new();
    let mut agent = home.pump().client(ATTACK).project("demo").start();
    let id = agent.save(ATTACK, &format!("{ATTACK}\n\n[link](javascript:alert(4))"));
    agent.ok(
        "mem_update",
        json!({ "id": id, "content": format!("changed {ATTACK}"), "tags": [&ATTACK[..60]] }),
    );
    agent.ok("mem_save_prompt", json!({ "content": ATTACK }));
    agent.ok("mem_session_summary", json!({ "content": ATTACK }));
    let browser = Browser::open(&home);
    let query = "/memories?q=%3Cscript%3Ealert&project=%22%3E%3Cscript%3E&done=%3Cscript%3E".to_owned();
    for path in pages(&browser, &id).into_iter().filter(|path| !path.contains("merge")).chain([query]) {
        let page = browser.read(&path);
        for part in ["<script>", "<img src=x", "<svg onload", "href=\"javascript"] {
            assert!(!page.body.contains(part), "{path} has {part}: {}", page.body);
        }
    }
    let page = browser.read(&format!("/memories/{id}"));
    assert!(page.says("</title><script>alert(1)</script>"), "{}", page.text());
    let edit = browser.read(&format!("/memories/{id}/edit"));
    assert!(edit.says("changed </title><script>"), "{}", edit.text());
}

#[test]
fn a_click_does_what_the_command_does() {
    let home = Home::new();
    let id = furnished(&home);
    let browser = Browser::open(&home);
    let page = format!("/memories/{id}");
    let stored = |what: &str| home.json(&["get", &id])[what].clone();
    let kinds = || home.events().iter().map(|event| event["kind"].to_string()).collect::<Vec<_>>();
    let before = kinds().len();
    for (change, done, what, want) in
        [("pin", "pinned", "pinned", json!(true)), ("unpin", "no longer pinned", "pinned", json!(null))]
    {
        let answer = browser.post(&page, &format!("{page}/{change}"), &[]);
        assert_eq!(answer.status, 303, "{answer:?}");
        assert!(browser.read(answer.header("location")).says(done), "{change}");
        assert_eq!(stored(what), want, "{change}");
    }
    browser.post(&page, &format!("{page}/delete"), &[]);
    assert!(stored("deleted_at").is_string());
    assert!(browser.read("/memories?deleted=1").says("Alpha decision"));
    assert!(!browser.read("/memories").says("Alpha decision"));
    browser.post(&page, &format!("{page}/restore"), &[]);
    assert!(stored("deleted_at").is_null() && browser.read("/memories").says("Alpha decision"));
    assert_eq!(kinds().len(), before + 4, "each change has one event: {:?}", kinds());

    let fields = [
        ("title", "Alpha, again"),
        ("type", "decision"),
        ("tags", "a, b"),
        ("content", "Third\r\ntext."),
        ("revision", "2"),
    ];
    let answer = browser.post(&format!("{page}/edit"), &format!("{page}/edit"), &fields);
    assert_eq!(answer.header("location"), format!("{page}?done=updated"), "{answer:?}");
    assert_eq!(
        (stored("title"), stored("content"), stored("revision")),
        (json!("Alpha, again"), json!("Third\ntext."), json!(3))
    );
    assert_eq!(stored("tags"), json!(["a", "b"]));
    let history = browser.read(&format!("{page}/history"));
    assert!(history.says("Revision 3") && history.body.contains("<ins>Third</ins>"), "{}", history.body);
    assert!(history.body.contains("<del>Second text of alpha.</del>"), "{}", history.body);
    assert!(history.body.contains("The type was <q>manual</q>."), "{}", history.body);
}

#[test]
fn an_edit_of_an_old_text_is_not_saved_and_not_lost() {
    let home = Home::new();
    let id = furnished(&home);
    let browser = Browser::open(&home);
    let form = format!("/memories/{id}/edit");
    let fields = [
        ("title", "T"),
        ("type", "decision"),
        ("tags", ""),
        ("content", "Mine & <b>bold</b>"),
        ("revision", "1"),
    ];
    let answer = browser.post(&form, &form, &fields);
    assert_eq!(answer.status, 409);
    assert!(answer.says("It was not saved") && answer.says("Mine & <b>bold</b>"), "{}", answer.text());
    assert_eq!(home.json(&["get", &id])["revision"], 2);
}

#[test]
fn a_search_is_the_agents_own() {
    let home = Home::new();
    furnished(&home);
    let mut agent = home.agent();
    let found = agent.ok("mem_search", json!({ "query": "alpha", "project": "demo" }));
    let browser = Browser::open(&home);
    let page = browser.read("/memories?q=alpha&project=demo");
    assert!(page.says(&format!("match: {}", found.str("match"))), "{}", page.text());
    let shown: Vec<&str> = page
        .body
        .split("<h3><a href=\"/memories/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(shown, found.ids("hits"), "the same hits in the same order");
    assert!(page.says("words "), "with reasons: {}", page.text());
    assert!(browser.read("/memories?q=zzzunknown").says("match: none"));
}

#[test]
fn a_long_list_is_paged_and_nothing_is_missing() {
    let home = Home::new();
    let mut agent = home.agent();
    let all: BTreeSet<String> =
        (0..60).map(|n| agent.save(&format!("Number {n}"), &format!("Text {n}."))).collect();
    let browser = Browser::open(&home);
    let mut seen = BTreeSet::new();
    let mut path = Some("/memories?project=demo".to_owned());
    let mut count = 0;
    while let Some(next) = path {
        let page = browser.read(&next);
        count += 1;
        seen.extend(
            page.body
                .split("<h3><a href=\"/memories/")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned()),
        );
        path = page.body.split("\" rel=\"next\"").next().filter(|_| page.body.contains("rel=\"next\"")).map(
            |before| before.rsplit("href=\"").next().unwrap().replace("&#38;", "&").replace("&amp;", "&"),
        );
    }
    assert_eq!((count, seen), (2, all));
}

#[test]
fn calls_are_shown_as_they_happen() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Before", "x");
    let browser = Browser::open(&home);
    assert!(browser.read("/live").says("save"));
    let mut stream = browser.begin("GET /live/stream?after=1000000", &[], "");
    let (status, headers) = Browser::head(&mut stream);
    assert_eq!((status, headers["content-type"].as_str()), (200, "text/event-stream"));
    drop(stream);
    let last =
        browser.read("/live").body.split("after=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let mut stream = browser.begin(&format!("GET /live/stream?after={last}"), &[], "");
    Browser::head(&mut stream);
    agent.save("Later", "<b>y</b>");
    let mut received = String::new();
    while !received.contains("</tr>") {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended: {received}");
        received.push_str(&line);
    }
    assert!(
        received.contains("<tr>") && received.contains("Later") && !received.contains("<b>"),
        "{received}"
    );
    assert!(!received.contains("Before"), "only what is new: {received}");
}

#[test]
fn pairs_are_shown_and_decided_with_one_click() {
    let home = Home::new();
    let mut agent = home.agent();
    let (old, new) =
        (agent.save("Port is 80", "The port is 80."), agent.save("Port is 81", "The port is 81."));
    let near = agent.save("Port, once more", "The port is still 81.");
    drop(agent);
    let relate = |from: &str, to: &str, kind: &str, weight: f64| {
        let method = if kind == "similar" { "vectors" } else { "llm" };
        format!(
            "RELATE memory:{from}->RELATES_TO->memory:{to} SET kind = '{kind}', weight = {weight}, \
             evidence = 'both name the port', method = '{method}', at = time::now();"
        )
    };
    let relations = [
        relate(&new, &old, "contradicts", 0.9),
        relate(&new, &near, "similar", 0.97),
        relate(&near, &new, "similar", 0.97),
        relate(&near, &old, "similar", 0.5),
    ];
    alter(&home, &relations.concat());
    let browser = Browser::open(&home);
    let graph = browser.read(&format!("/graph/{new}"));
    for part in [&old, &near] {
        assert!(graph.body.contains(&format!("<a href=\"/graph/{part}\"")), "{}", graph.body);
    }
    assert!(graph.says("contradicts 0.90") && graph.body.contains("<path"), "{}", graph.text());
    // Likeness was found from both ends and is one relation.
    for weight in ["0.97", "0.90", "0.50"] {
        let row = format!("<td class=\"end\">{weight}</td>");
        assert_eq!(graph.body.matches(&row).count(), 1, "{weight}: {}", graph.body);
    }
    let twins = browser.read("/pairs?which=twins");
    assert_eq!(
        twins.body.matches("class=\"pair\"").count(),
        1,
        "once, not both ways, and only the near ones"
    );
    assert!(twins.says("Port, once more") && !twins.says("Port is 80"));
    let conflicts = browser.read("/pairs");
    assert!(
        conflicts.says("they cannot both be true") && conflicts.says("both name the port"),
        "{}",
        conflicts.text()
    );
    let answer = browser.post("/pairs", &format!("/memories/{old}/delete"), &[("back", "pairs")]);
    assert_eq!(answer.header("location"), "/pairs?done=deleted");
    assert!(browser.read("/pairs").says("None wait for you"), "a deleted memory is at odds with none");
    assert!(home.json(&["get", &old])["deleted_at"].is_string());
}

#[test]
fn projects_are_merged_after_a_question() {
    let home = Home::new();
    let id = home.pump().project("old/name").start().save("Moved", "x");
    home.pump().project("new").start().save("Stays", "y");
    let browser = Browser::open(&home);
    let question = "/projects/merge?from=old%2Fname&into=new";
    assert!(browser.read(question).says("1 memory, "));
    assert_eq!(browser.get("/projects/merge?from=new&into=new").status, 400);
    let reserved = browser.get("/projects/merge?from=old%2Fname&into=Personal");
    assert!(reserved.status == 400 && reserved.body.contains("choose another name"), "{reserved:?}");
    let answer = browser.post(question, "/projects/merge", &[("from", "old/name"), ("into", "new")]);
    assert_eq!((answer.status, answer.header("location")), (303, "/projects?done=merged"));
    assert_eq!(home.json(&["get", &id])["project"], "new");
    assert!(!browser.read("/projects").says("old/name"));
}

#[test]
fn dates_are_those_of_the_reader() {
    let home = Home::new();
    home.agent().save("Dated", "x");
    let browser = Browser::open(&home);
    let at = home.json(&["list", "--all-projects"])["memories"][0]["updated_at"].as_str().unwrap().to_owned();
    let (year, month, day) = (&at[..4], &at[5..7], &at[8..10]);
    let german = browser.ask("GET /memories", &["accept-language: de-DE,de;q=0.9,en;q=0.5"], "");
    assert!(german.says(&format!("{day}.{month}.{year}, ")), "{}", german.text());
    let english = browser.ask("GET /memories", &["accept-language: en-GB"], "");
    assert!(english.says(&format!(" {year}, ")) && !english.says(&format!("{day}.{month}.{year}")));
}

#[test]
fn a_text_from_right_to_left_is_shown_so() {
    let home = Home::new();
    let id = home.agent().save("مرحبا", "- هذا نص من اليمين إلى اليسار");
    let page = Browser::open(&home).read(&format!("/memories/{id}"));
    assert!(page.body.contains("text\" dir=\"auto\">"), "{}", page.body);
}

#[test]
fn the_page_is_gone_with_its_command() {
    let home = Home::new();
    let mut browser = Browser::open(&home);
    let refused = home.run(&["web", "--no-open", "--port", "1"]);
    assert_ne!(refused.code(), 0);
    assert!(refused.stderr.contains("already open"), "{refused:?}");
    assert_eq!(browser.interrupt(), 0);
    TcpStream::connect(&browser.address).expect_err("nobody listens any more");
    let mut next = Browser::open(&home);
    assert_eq!(next.ask("GET /", &[&format!("cookie: {}", browser.cookie)], "").status, 403, "an old cookie");
    home.run(&["web", "--stop"]).success();
    assert_eq!(next.ended(), 0);
    TcpStream::connect(&next.address).expect_err("nobody listens any more");
    assert!(home.run(&["web", "--stop"]).success().is_empty());
}

/// The first link of a page to something under a path.
fn first_link(browser: &Browser, page: &str, under: &str) -> String {
    let body = browser.read(page).body;
    let start = format!("href=\"{under}");
    let from = body.find(&start).unwrap_or_else(|| panic!("{page} leads nowhere under {under}: {body}")) + 6;
    body[from..].split('"').next().unwrap().to_owned()
}

#[test]
fn past_sessions_and_work_are_read_in_a_browser() {
    let home = Home::new();
    Claude::new("s-1", &home.work())
        .turn(&format!("Mend the petrel {ATTACK}"), "Looking.")
        .call("Bash", json!({ "command": "cargo test" }), "error[E0425]: cannot find value `storm`", true)
        .turn("Thanks", "You are welcome, and the petrel flies again over the northern sea.")
        .write(&home);
    home.take_in();
    report(&home, "codex", "UserPromptSubmit", "s-2", json!({ "prompt": "Mend the pier" }));
    let browser = Browser::open(&home);
    let session = first_link(&browser, "/history", "/history/");
    let exchange = first_link(&browser, &session, "/exchanges/");
    let work = first_link(&browser, "/work", "/work/");
    assert_eq!(first_link(&browser, "/history?q=petrel+northern+sea", "/exchanges/").len(), exchange.len());
    for (path, want) in [
        ("/history", "2 exchanges"),
        (session.as_str(), "Mend the petrel"),
        (session.as_str(), "1 command"),
        (&exchange, "cargo test"),
        (&work, "Mend the pier"),
    ] {
        let page = browser.read(path);
        assert!(page.body.contains(want) && page.body.len() < PAGE_BYTES_MAX, "{path}: {}", page.body);
        assert_eq!(page.body.matches("<script").count(), 1, "{path}: stored text is text");
        assert!(!page.body.contains("<img src=x"), "{path}");
        assert_eq!(page.body.matches("<h1").count(), 1, "{path}");
        labelled(path, &page.body);
    }
}

#[test]
fn the_way_back_to_the_first_page_keeps_the_filter() {
    let home = Home::new();
    home.agent().save("One", "x");
    let browser = Browser::open(&home);
    let early = "before=2020-01-01T00%3A00%3A00Z";
    for (page, first) in [
        (format!("/sessions?project=demo&{early}"), "/sessions?project=demo"),
        (format!("/work?all=1&{early}"), "/work?all=1"),
        ("/history?project=demo&from=30".to_owned(), "/history?project=demo"),
        ("/documents?project=demo&from=40".to_owned(), "/documents?project=demo"),
    ] {
        let body = browser.read(&page).body;
        let pager =
            body.split("class=\"pager\"").nth(1).unwrap_or_else(|| panic!("no pager in {page}: {body}"));
        assert!(pager.contains(&format!("href=\"{first}\"")), "{page}: {pager}");
    }
}
