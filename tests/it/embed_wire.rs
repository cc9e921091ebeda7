//! Requests to OpenAI and Ollama, and how their answers are read: exchanges in the services' own formats, over a
//! real socket.

use std::sync::Arc;
use std::time::Duration;

use cerebro_core::redact::redact_text;
use cerebro_models::embed::{self, Embedded, Embedder, Provider as Kind, Purpose, Settings};
use cerebro_models::provider::ProviderError;

use crate::support::{Provider, Scene, json, model_folder};

/// An answer of OpenAI's `/v1/embeddings` for two texts, its vectors shortened, not in order.
const OPENAI: &str = r#"{
  "object": "list",
  "data": [
    { "object": "embedding", "index": 1, "embedding": [0.0, -0.5, 0.0] },
    { "object": "embedding", "index": 0, "embedding": [0.6, 0.0, 0.8] }
  ],
  "model": "text-embedding-3-small",
  "usage": { "prompt_tokens": 11, "total_tokens": 11 }
}"#;

/// An answer of Ollama's `/api/embed` for two texts, its vectors shortened.
const OLLAMA: &str = r#"{"model":"all-minilm","embeddings":[[0.6,0.0,0.8],[0.0,-2.0,0.0]],
  "total_duration":14143917,"load_duration":1019500,"prompt_eval_count":8}"#;

fn settings(provider: Kind, address: &str) -> Settings {
    let base_url = if provider == Kind::OpenAi { format!("{address}/v1") } else { address.to_owned() };
    Settings {
        provider,
        model: "m".to_owned(),
        base_url,
        api_key_env: "CEREBRO_TEST_NO_SUCH_KEY".to_owned(),
        dimension: 3,
        timeout: Duration::from_secs(10),
        ..Settings::default()
    }
}

fn open(settings: &Settings) -> Arc<dyn Embedder> {
    embed::open(settings, &model_folder()).unwrap().unwrap()
}

fn ask(settings: &Settings, texts: &[&str]) -> Result<Embedded, ProviderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let texts = texts.iter().map(|text| redact_text(text).value).collect();
    runtime.block_on(async { open(settings).embed(Purpose::Passage, texts).await })
}

#[test]
fn requests_to_openai_have_its_format() {
    let server = Provider::answering(OPENAI);
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), "sk-of-a-file\n").unwrap();
    let settings = Settings {
        api_key_file: Some(key.path().to_owned()),
        passage_prefix: "passage: ".to_owned(),
        ..settings(Kind::OpenAi, server.address())
    };
    let made = ask(&settings, &["one", "two"]).unwrap();
    assert_eq!(made.vectors, [[0.6, 0.0, 0.8], [0.0, -1.0, 0.0]], "in order, of unit length");
    assert_eq!(made.tokens, 11);
    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /v1/embeddings HTTP/1.1");
    assert!(request.headers.contains("authorization: bearer sk-of-a-file"), "{request:?}");
    let want = json!({ "model": "m", "input": ["passage: one", "passage: two"], "encoding_format": "float" });
    assert_eq!(request.body, want);
    assert_eq!(open(&settings).model().name, "openai/m");
}

#[test]
fn fields_that_compatible_servers_leave_out_are_optional() {
    let bare = r#"{"data":[{"embedding":[3,0,4]},{"embedding":[0,1e-3,0]}]}"#;
    let server = Provider::answering(bare);
    let made = ask(&settings(Kind::OpenAi, server.address()), &["twelve bytes", "one more"]).unwrap();
    assert_eq!(made.vectors, [[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]]);
    assert_eq!(made.tokens, 5, "estimated, where nobody counts");
}

#[test]
fn texts_are_sent_in_bounded_requests() {
    let one = r#"{"data":[{"embedding":[1,0,0]},{"embedding":[0,1,0]}]}"#;
    let server = Provider::answering(one);
    let settings = Settings { batch: 2, ..settings(Kind::OpenAi, server.address()) };
    let made = ask(&settings, &["a", "b", "c", "d", "e", "f"]).unwrap();
    assert_eq!(made.vectors.len(), 6);
    let sizes: Vec<usize> =
        server.requests().iter().map(|request| request.body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [2, 2, 2]);
}

#[test]
fn openais_errors_are_classified() {
    let error_of = |status, headers, message: &str| {
        let body = json!({ "error": { "message": message, "type": "x", "param": null, "code": null } });
        let server = Provider::start(vec![Scene::Answer(status, headers, body.to_string())]);
        let error = ask(&settings(Kind::OpenAi, server.address()), &["a text about gannets"]).unwrap_err();
        assert_eq!(server.requests().len(), 1, "sent once: the caller decides about a second time");
        assert!(error.to_string().contains("openai/m"), "{error}");
        error
    };
    let limited = error_of(429, "retry-after: 7\r\n", "Rate limit reached for requests");
    let ProviderError::Later { after, reason, .. } = &limited else { panic!("{limited:?}") };
    assert_eq!(*after, Some(Duration::from_secs(7)));
    assert!(reason.contains("429") && reason.contains("Rate limit reached"), "{reason}");
    for status in [500, 502, 503] {
        assert!(error_of(status, "", "The server had an error").is_passing());
    }
    for status in [401, 403, 404] {
        let error = error_of(status, "", "Incorrect API key provided");
        assert!(
            matches!(&error, ProviderError::Unusable(words) if words.contains("Incorrect API")),
            "{error:?}"
        );
    }
    let refused = error_of(400, "", "This model's maximum context length is 8192 tokens");
    assert!(
        matches!(&refused, ProviderError::Refused { reason, .. } if reason.contains("8192")),
        "{refused:?}"
    );
    let echo = error_of(400, "", "cannot embed 'a text about gannets'");
    assert!(!echo.to_string().contains("gannets"), "the text is repeated: {echo}");
}

#[test]
fn malformed_answers_give_no_vectors() {
    for kind in [Kind::OpenAi, Kind::Ollama] {
        let whole = if kind == Kind::OpenAi { OPENAI } else { OLLAMA };
        for (name, scene) in [
            ("half", Scene::Half(whole.to_owned())),
            ("cut", Scene::Answer(200, "", whole[..40].to_owned())),
            ("a page", Scene::Answer(200, "", "<html>Log in to the hotel's network</html>".to_owned())),
            ("gateway", Scene::Answer(502, "", "<html>Bad gateway</html>".to_owned())),
        ] {
            let server = Provider::start(vec![scene]);
            let error = ask(&settings(kind, server.address()), &["one", "two"]).unwrap_err();
            assert!(error.is_passing(), "{kind:?}, {name}: {error:?}");
            assert_eq!(server.requests().len(), 1, "{kind:?}, {name}");
        }
        let server = Provider::answering(whole);
        let few = ask(&settings(kind, server.address()), &["one", "two", "three"]).unwrap_err();
        assert!(few.to_string().contains("2 vectors for 3 texts"), "{few}");
        let other = Settings { dimension: 4, ..settings(kind, server.address()) };
        let error = ask(&other, &["one", "two"]).unwrap_err();
        assert!(matches!(&error, ProviderError::Unusable(words) if words.contains("3 numbers")), "{error:?}");
    }
}

#[test]
fn a_provider_that_does_not_answer_is_not_waited_for() {
    for kind in [Kind::OpenAi, Kind::Ollama] {
        let server = Provider::start(vec![Scene::Hang]);
        let settings = Settings { timeout: Duration::from_millis(200), ..settings(kind, server.address()) };
        let error = ask(&settings, &["one"]).unwrap_err();
        assert!(error.is_passing() && error.to_string().contains("within 200 ms"), "{error:?}");
        // No test listens there; a port that was free a moment ago may be another test's by now.
        let away = ask(&self::settings(kind, "http://127.0.0.1:1"), &["one"]).unwrap_err();
        assert!(away.is_passing() && away.to_string().to_lowercase().contains("refused"), "{away:?}");
    }
}

#[test]
fn requests_to_ollama_have_its_format() {
    let server = Provider::answering(OLLAMA);
    let settings =
        Settings { query_prefix: "query: ".to_owned(), ..settings(Kind::Ollama, server.address()) };
    let made = ask(&settings, &["one", "two"]).unwrap();
    assert_eq!(made.vectors, [[0.6, 0.0, 0.8], [0.0, -1.0, 0.0]]);
    let [request] = server.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /api/embed HTTP/1.1");
    assert_eq!(request.body, json!({ "model": "m", "input": ["one", "two"], "truncate": false }));
    let embedder = open(&settings);
    assert!(!embedder.is_metered() && embedder.model().name == "ollama/m");
}

#[test]
fn ollamas_errors_are_classified() {
    let error_of = |status, message: &str| {
        let body = json!({ "error": message }).to_string();
        let server = Provider::start(vec![Scene::Answer(status, "", body)]);
        ask(&settings(Kind::Ollama, server.address()), &["a text about gannets"]).unwrap_err()
    };
    let missing = error_of(404, "model \"m\" not found, try pulling it first");
    assert!(
        matches!(&missing, ProviderError::Unusable(words) if words.contains("ollama pull m")),
        "{missing:?}"
    );
    let long = error_of(400, "the input length exceeds the context length");
    assert!(matches!(long, ProviderError::Refused { .. }), "{long:?}");
    assert!(error_of(503, "server busy, please try again.  maximum pending requests exceeded").is_passing());
}

#[test]
fn missing_settings_are_reported_before_any_request() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "sk-x").unwrap();
    std::fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let plain = settings(Kind::OpenAi, "http://127.0.0.1:9");
    for (settings, want) in [
        (Settings { base_url: String::new(), ..plain.clone() }, "CEREBRO_TEST_NO_SUCH_KEY"),
        (Settings { api_key_file: Some(file.path().to_owned()), ..plain.clone() }, "chmod 600"),
        (Settings { api_key_file: Some("/no/such/file".into()), ..plain.clone() }, "/no/such/file"),
        (Settings { dimension: 0, ..plain.clone() }, "cerebro model use openai --model m"),
        (Settings { base_url: "ftp://x".to_owned(), ..plain.clone() }, "http://"),
        (Settings { model: String::new(), ..plain }, "--model NAME"),
        (Settings { base_url: "x".to_owned(), ..settings(Kind::Ollama, "") }, "http://"),
    ] {
        let Err(error) = embed::open(&settings, &model_folder()) else { panic!("opened: {settings:?}") };
        assert!(!error.is_passing() && error.to_string().contains(want), "{want}: {error:?}");
    }
}
