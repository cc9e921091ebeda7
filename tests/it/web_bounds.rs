//! `cerebro web`: every page is bounded, whatever is stored, and a link leads to the rest of each text.

use crate::hooks::report;
use crate::support::{Browser, Home, Value, alter, json};

/// Largest page, in bytes.
const PAGE_BYTES_MAX: usize = 60_000;

/// Opens a page that must be small; returns its HTML.
#[track_caller]
fn small(browser: &Browser, path: &str) -> String {
    let page = browser.read(path);
    assert!(page.body.len() < PAGE_BYTES_MAX, "{path} has {} bytes", page.body.len());
    page.body
}

/// The address behind the link with these words.
fn link(html: &str, words: &str) -> Option<String> {
    let before = html.split(words).next().filter(|before| before.len() < html.len())?;
    let href = before.rsplit("href=\"").next()?.split('"').next()?;
    Some(href.replace("&#38;", "&").replace("&amp;", "&"))
}

#[test]
fn long_texts_are_cut_by_their_bytes_and_readable_to_their_end() {
    let home = Home::new();
    let mut agent = home.agent();
    let lines: String = (0..3_000).map(|n| format!("line {n} <of> \"many\"\n")).collect();
    for (title, first, second) in [
        ("Quotes", "\"".repeat(16 * 1024), "'".repeat(100_000)),
        ("Brackets", "<".repeat(40_000), "&".repeat(40_000)),
        ("Characters", "日本語の文章 ".repeat(4_000), "中文 ".repeat(20_000)),
        ("One line", "word ".repeat(30_000), "other ".repeat(30_000)),
        ("Lines", lines.clone(), lines.replace("line", "LINE")),
    ] {
        let id = agent.save(title, &first);
        agent.ok("mem_update", json!({ "id": id, "content": second }));
        agent.ok("mem_update", json!({ "id": id, "content": first }));
        let browser = Browser::open(&home);
        let page = small(&browser, &format!("/memories/{id}"));
        let whole = link(&page, ">Show the whole text").unwrap_or_else(|| panic!("{title} is not cut"));
        assert!(browser.read(&whole).body.len() > PAGE_BYTES_MAX);
        let history = format!("/memories/{id}/history");
        let (mut page, mut pages) = (small(&browser, &history), 1);
        while let Some(next) = link(&page, ">Go on in revision 3") {
            page = small(&browser, &next);
            pages += 1;
            assert!(pages < 100, "{title} has no end");
        }
        assert!(pages > 2, "{title}: {pages}");
        drop(browser);
    }
}

#[test]
fn lists_of_the_longest_names_fit() {
    let home = Home::new();
    let mut agent = home.pump().client(&"<".repeat(64)).project("demo").start();
    for n in 0..60 {
        let title = format!("{} {n}", if n % 2 == 0 { "<".repeat(290) } else { "題".repeat(290) });
        let project = format!("{}{n}", "プ".repeat(150));
        agent.ok("mem_save", json!({ "title": title, "content": "漢字 ".repeat(300), "project": project }));
        agent.ok("mem_save_prompt", json!({ "content": "<&> ".repeat(500) }));
    }
    agent.ok("mem_session_summary", json!({ "content": "<b>&\"'</b> ".repeat(3_000) }));
    let browser = Browser::open(&home);
    for path in ["/", "/memories", "/memories?q=%E6%BC%A2%E5%AD%97", "/sessions", "/live", "/projects"] {
        small(&browser, path);
    }
    let sessions = browser.read("/sessions").body;
    let from = sessions.find("href=\"/sessions/").unwrap() + 6;
    let session = sessions[from..].split('"').next().unwrap().to_owned();
    let page = small(&browser, &session);
    assert!(page.contains("Show all texts in full"));
}

#[test]
fn a_hundred_and_fifty_projects_are_listed_page_by_page() {
    let home = Home::new();
    let at = "2026-01-05T10:00:00.000001Z";
    let letter = |n: usize| char::from(b'a' + u8::try_from(n).unwrap());
    let line = |n: usize| {
        json!({
            "kind": "memory", "id": format!("k{}{}aaaaaaaaa", letter(n / 26), letter(n % 26)),
            "project": format!("acme-with-a-long-name/and-a-long-repository-{n:03}"), "scope": "project",
            "type": "discovery", "title": format!("Memory {n}"), "content": "x", "agent": "test", "revision": 1,
            "duplicate_count": 0, "created_at": at, "updated_at": at, "last_seen_at": at,
        })
    };
    let lines: Vec<Value> = (0..150).map(line).collect();
    home.import(&lines).success();
    let browser = Browser::open(&home);
    let (mut path, mut seen, mut pages) = (Some("/projects".to_owned()), 0, 0);
    while let Some(next) = path {
        let page = small(&browser, &next);
        seen += page.matches("<th scope=\"row\">").count();
        path = link(&page, " rel=\"next\"");
        pages += 1;
    }
    assert_eq!(seen, 150, "on {pages} pages");
    small(&browser, "/memories");
    small(&browser, "/sessions");
}

#[test]
fn pairs_of_long_texts_fit() {
    let home = Home::new();
    let mut agent = home.agent();
    let texts = ["漢字の長い文章 ".repeat(300), "<&\"'> ".repeat(600)];
    let ids: Vec<String> = (0..30)
        .map(|n| agent.save(&format!("{}{n}", "題".repeat(200)), &format!("{n} {}", texts[n % 2])))
        .collect();
    drop(agent);
    let evidence = "証拠 ".repeat(400);
    let relations: Vec<String> = (0..15)
        .map(|n| {
            format!(
                "RELATE memory:{}->RELATES_TO->memory:{} SET kind = 'similar', weight = 0.99, evidence = '{evidence}', \
                 method = 'vectors', at = time::now();",
                ids[2 * n],
                ids[2 * n + 1]
            )
        })
        .collect();
    alter(&home, &relations.concat());
    let browser = Browser::open(&home);
    small(&browser, "/pairs?which=twins");
    small(&browser, "/pairs?which=twins&from=10");
}

#[test]
fn an_address_that_cannot_be_read_is_refused() {
    let home = Home::new();
    home.agent().save("One", "x");
    let browser = Browser::open(&home);
    for path in [
        "/memories?limit=abc",
        "/memories?page=abc",
        "/memories?as_of=abc",
        "/memories?since=abc",
        "/memories?from=abc",
        "/memories?deleted=abc",
        "/history?from=abc",
        "/sessions?before=abc",
        "/work?before=abc",
        "/work?all=abc",
        "/pairs?which=abc",
        "/inbox?state=abc",
        "/sessions/s?whole=abc",
        "/sessions/s?after=abc",
        "/memories/aaaaaaaaaaaa?whole=abc",
        "/live/stream?after=abc",
    ] {
        let page = browser.get(path);
        assert!(page.status == 400 && page.says("abc"), "{path}: {} {}", page.status, page.text());
    }
}

#[test]
fn a_page_says_why_it_does_not_show_what_was_asked_for() {
    let home = Home::new();
    let id = home.agent().save("One", "x");
    let browser = Browser::open(&home);
    let button = browser.get(&format!("/memories/{id}/pin"));
    assert!(button.status == 405 && button.says("The address belongs to a button."), "{}", button.text());
    let beyond = browser.read("/memories?from=500");
    assert!(beyond.says("The list ends before this place."), "{}", beyond.text());
    assert!(!beyond.says("No memories yet"), "{}", beyond.text());
    let unsearched = browser.read("/memories?q=unknown&agent=x");
    assert!(unsearched.says("They are listed without the words"), "{}", unsearched.text());
    assert!(!browser.read("/memories?q=unknown").says("without the words"));
}

#[test]
fn every_session_of_the_live_page_can_be_looked_at() {
    let home = Home::new();
    home.agent().save("One", "x");
    home.run(&["list"]).success();
    let browser = Browser::open(&home);
    let live = browser.read("/live").body;
    let hrefs: Vec<&str> = live.split("href=\"/sessions/").skip(1).collect();
    assert!(!hrefs.is_empty(), "{live}");
    for href in hrefs {
        let id = href.split('"').next().unwrap();
        assert_eq!(browser.get(&format!("/sessions/{id}")).status, 200, "{id}");
    }
}

#[test]
fn pages_of_work_neither_skip_nor_repeat_what_was_active_at_one_moment() {
    let home = Home::new();
    home.run(&["list"]).success();
    report(&home, "codex", "UserPromptSubmit", "s-1", json!({ "prompt": "Mend the pier" }));
    let lines = home.export();
    let work = lines.iter().find(|line| line["kind"] == "work").unwrap();
    let copy = |n: u8| {
        let mut copy = work.clone();
        copy["id"] = json!(format!("aaaaaaaaaa{}{}", char::from(b'a' + n / 8), char::from(b'a' + n % 8)));
        copy.to_string() + "\n"
    };
    let other = Home::new();
    other.import_text(&format!("{}\n{}", lines[0], (0..40).map(copy).collect::<String>())).success();
    let browser = Browser::open(&other);
    let (mut shown, mut next) = (Vec::new(), Some("/work".to_owned()));
    while let Some(page) = next {
        let body = browser.read(&page).body;
        let links =
            body.split("href=\"/work/").skip(1).map(|link| link.split('"').next().unwrap().to_owned());
        shown.extend(links);
        assert!(shown.len() <= 40, "{shown:?}");
        next = link(&body, ">Older");
    }
    shown.sort();
    shown.dedup();
    assert_eq!(shown.len(), 40, "{shown:?}");
}
