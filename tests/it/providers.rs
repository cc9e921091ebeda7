//! What holds for every provider, of vectors or of text: where its key goes, that redirections are not followed,
//! and that answers have a bound.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use cerebro_core::redact::redact_text;
use cerebro_models::embed::{self, Provider as Kind, Purpose};
use cerebro_models::llm::{self, Ask, Dialect, Llm};
use cerebro_models::provider::ProviderError;

use crate::support::{FaultyProvider, Finished, Home, Provider, Scene, finish, json, model_folder};

const KEY: &str = "sk-the-real-one";

/// A vector of three numbers for one text, as OpenAI gives it.
const VECTOR: &str = r#"{"data":[{"index":0,"embedding":[0.6,0.0,0.8]}],"usage":{"total_tokens":3}}"#;

fn key_file(folder: &Path) -> String {
    let path = folder.join("key");
    std::fs::write(&path, "sk-of-a-file\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path.to_string_lossy().into_owned()
}

/// `cerebro model use openai`, which requests one vector, with the conventional key in the environment.
fn choose(home: &Home, base_url: &str, more: &[&str]) -> Finished {
    let mut command = home.command();
    command.args(["model", "use", "openai", "--model", "m", "--base-url", base_url]).args(more);
    finish(command.env("OPENAI_API_KEY", KEY).env("OPENAI_ORG_ID", "org-mine").env("MY_KEY", "sk-mine"))
}

#[test]
fn a_server_gets_only_the_key_that_was_named_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(folder.path());
    for (more, want) in [
        (&[][..], None),
        (&["--api-key-env", "OPENAI_API_KEY"][..], Some(KEY)),
        (&["--api-key-env", "MY_KEY"][..], Some("sk-mine")),
        (&["--api-key-file", &file][..], Some("sk-of-a-file")),
        (&["--api-key-env", "NO_SUCH_KEY"][..], None),
    ] {
        let (home, server) = (Home::new(), Provider::answering(VECTOR));
        choose(&home, &format!("{}/v1", server.address()), more).success();
        let [request] = server.requests().try_into().unwrap();
        let brought = request.headers.lines().find_map(|line| line.strip_prefix("authorization: "));
        assert_eq!(brought, want.map(|key| format!("bearer {key}")).as_deref(), "{more:?}: {request:?}");
        assert!(!request.headers.contains("org-mine"), "{more:?}: {request:?}");
    }
}

#[test]
fn a_key_does_not_cross_a_network_unencrypted() {
    let (home, server) = (Home::new(), FaultyProvider::start());
    let base_url = server.base_url();
    let refused = choose(&home, &base_url, &["--api-key-env", "OPENAI_API_KEY"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("127.0.0.2") && refused.stderr.contains("https://"), "{refused:?}");
    assert!(!refused.stderr.contains(KEY), "{refused:?}");
    let password = base_url.replace("://", "://user:secret@");
    let refused = choose(&home, &password, &[]);
    assert!(refused.code() == 1 && !refused.stderr.contains("secret"), "{refused:?}");
    assert_eq!(server.requests(), 0, "nothing was sent");
    choose(&home, &base_url, &[]).success();
    assert_eq!(server.requests(), 1, "without a key it is asked");
}

#[test]
fn requests_to_this_machine_use_no_proxy() {
    let (home, server, proxy) = (Home::new(), Provider::answering(VECTOR), Provider::answering(VECTOR));
    let mut command = home.command();
    command.args(["model", "use", "openai", "--model", "m", "--base-url", server.address()]);
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(variable, proxy.address());
    }
    finish(&mut command).success();
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

fn embed_settings(provider: Kind, address: &str) -> embed::Settings {
    let (model, base_url) = ("m".to_owned(), address.to_owned());
    embed::Settings { provider, model, base_url, dimension: 3, ..embed::Settings::default() }
}

fn llm_settings(dialect: Dialect, address: &str) -> llm::Settings {
    let (provider, model, base_url) = (Some(dialect), "m".to_owned(), address.to_owned());
    llm::Settings { provider, model, base_url, ..llm::Settings::default() }
}

/// Asks for one vector.
async fn embed(settings: &embed::Settings) -> Result<(), ProviderError> {
    let embedder = embed::open(settings, &model_folder())?.unwrap();
    embedder.embed(Purpose::Passage, vec![redact_text("a text about gannets").value]).await.map(drop)
}

/// Asks one question.
async fn question(settings: &llm::Settings) -> Result<(), ProviderError> {
    ask(&llm::open(settings, "relations")?.unwrap()).await
}

async fn ask(llm: &Llm) -> Result<(), ProviderError> {
    let schema = json!({ "type": "object" });
    let turns = vec![redact_text("a text about gannets").value];
    llm.ask(&Ask { instructions: "Do.", turns, schema: &schema, answer_tokens: 100 }).await.map(drop)
}

/// The error of each kind of provider whose server plays a scene.
async fn errors(scene: impl Fn() -> Scene) -> Vec<(String, ProviderError)> {
    let mut errors = Vec::new();
    for kind in [Kind::OpenAi, Kind::Ollama] {
        let server = Provider::start(vec![scene()]);
        let error = embed(&embed_settings(kind, server.address())).await.unwrap_err();
        errors.push((format!("vectors of {kind:?}"), error));
        assert_eq!(server.requests().len(), 1, "{kind:?} is asked once");
    }
    for dialect in Dialect::ALL {
        let server = Provider::start(vec![scene()]);
        let error = question(&llm_settings(dialect, server.address())).await.unwrap_err();
        errors.push((format!("text of {dialect:?}"), error));
        assert_eq!(server.requests().len(), 1, "{dialect:?} is asked once");
    }
    errors
}

#[tokio::test]
async fn texts_do_not_follow_a_redirection() {
    let other = Provider::answering(VECTOR);
    for status in [301, 302, 307, 308] {
        let location: &'static str = format!("location: {}/v1/embeddings\r\n", other.address()).leak();
        for (who, error) in errors(|| Scene::Answer(status, location, String::new())).await {
            let names_redirections =
                matches!(&error, ProviderError::Unusable(words) if words.contains("redirections"));
            assert!(names_redirections, "{who}, {status}: {error:?}");
        }
    }
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[tokio::test]
async fn a_requested_wait_is_bounded_for_every_provider() {
    let body = json!({ "error": { "message": "slow down" } }).to_string();
    for (header, want) in [
        ("retry-after: 7\r\n", Some(Duration::from_secs(7))),
        ("retry-after: 0.5\r\n", Some(Duration::from_millis(500))),
        ("retry-after: Fri, 01 Jan 2100 00:00:00 GMT\r\n", Some(Duration::from_secs(24 * 60 * 60))),
        ("retry-after: -1\r\n", None),
        ("", None),
    ] {
        for status in [429, 503] {
            for (who, error) in errors(|| Scene::Answer(status, header, body.clone())).await {
                let ProviderError::Later { after, .. } = &error else { panic!("{who}: {error:?}") };
                assert_eq!(*after, want, "{who}, {status}, {header}");
            }
        }
    }
}

#[tokio::test]
async fn every_provider_says_whose_key_is_not_accepted_and_where_it_is_set() {
    let body = json!({ "error": { "message": "no such key" } }).to_string();
    for (who, error) in errors(|| Scene::Answer(401, "", body.clone())).await {
        let words = error.to_string();
        assert!(
            matches!(error, ProviderError::Unusable(_)) && words.contains("no such key"),
            "{who}: {words}"
        );
        let table = if who.starts_with("vectors") { "[embeddings]" } else { "[relations]" };
        assert!(words.contains(table), "{who}: {words}");
    }
}

#[tokio::test]
async fn a_model_that_takes_no_temperature_gets_none_in_later_requests() {
    let open = |server: &Provider| {
        llm::open(&llm_settings(Dialect::OpenAi, server.address()), "relations").unwrap().unwrap()
    };
    let server = Provider::start(vec![Scene::refusing("temperature"), Scene::completion("{}")]);
    let llm = open(&server);
    let error = ask(&llm).await.unwrap_err();
    assert!(matches!(error, ProviderError::FormRefused { .. }), "{error:?}");
    assert_eq!(server.requests().len(), 1, "the caller asks again, and pays for that");
    ask(&llm).await.unwrap();
    let [first, second] = server.requests().try_into().unwrap();
    assert_eq!((first.body.get("temperature"), second.body.get("temperature")), (Some(&json!(0)), None));
    // If it refuses again, or refuses another parameter, a person has to name another model. No text is given up.
    for (refused, requests) in [("temperature", 2), ("response_format", 1)] {
        let server = Provider::start(vec![Scene::refusing(refused)]);
        let llm = open(&server);
        for _ in 1..requests {
            ask(&llm).await.unwrap_err();
        }
        let error = ask(&llm).await.unwrap_err();
        let is_named = matches!(&error, ProviderError::Unusable(words) if words.contains(refused));
        assert!(is_named && server.requests().len() == requests, "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_is_read_up_to_a_bound() {
    for dialect in Dialect::ALL {
        let server = Provider::answering("x".repeat(300 * 1024));
        let error = question(&llm_settings(dialect, server.address())).await.unwrap_err();
        assert!(error.is_passing() && error.to_string().contains("more than"), "{dialect:?}: {error}");
    }
    for kind in [Kind::OpenAi, Kind::Ollama] {
        let server = Provider::answering("x".repeat(65 * 1024 * 1024));
        let error = embed(&embed_settings(kind, server.address())).await.unwrap_err();
        assert!(error.is_passing() && error.to_string().contains("more than"), "{kind:?}: {error}");
    }
}

#[tokio::test]
async fn a_key_is_sent_in_the_providers_header() {
    let folder = tempfile::tempdir().unwrap();
    let file = Some(key_file(folder.path()).into());
    for (dialect, header) in [
        (Dialect::OpenAi, "authorization: bearer sk-of-a-file"),
        (Dialect::Ollama, "authorization: bearer sk-of-a-file"),
        (Dialect::Anthropic, "x-api-key: sk-of-a-file"),
    ] {
        let server = Provider::answering("{}");
        let settings =
            llm::Settings { api_key_file: file.clone(), ..llm_settings(dialect, server.address()) };
        question(&settings).await.unwrap_err();
        let [request] = server.requests().try_into().unwrap();
        assert_eq!(request.headers.matches("sk-of-a-file").count(), 1, "{request:?}");
        assert!(request.headers.lines().any(|line| line == header), "{dialect:?}: {request:?}");
    }
}
