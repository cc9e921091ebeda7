//! Validation, redaction and normalising of what callers give, whatever its way in.

use super::ServiceError;
use cerebro_core::domain::limits::{
    AGENT_NAME_CHARS_MAX, CONTENT_BYTES_MAX, DIRECTORY_BYTES_MAX, QUERY_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX,
    TITLE_CHARS_MAX, TOPIC_KEY_CHARS_MAX,
};
use cerebro_core::hygiene;
use cerebro_core::redact::redact_secrets;
use cerebro_core::text;

/// A title: one line, 1 to 300 characters.
///
/// # Errors
/// [`ServiceError::Invalid`]
pub(super) fn title(value: &str) -> Result<String, ServiceError> {
    bounded("title", value, &text::one_line(&text::strip_control_chars(value)))?;
    let title = text::one_line(&redact_secrets(value));
    Ok(text::cut_chars(&title, TITLE_CHARS_MAX).into_owned())
}

/// Content, of a memory, prompt or summary: 1 byte to 256 KiB.
///
/// # Errors
/// [`ServiceError::Invalid`]
pub(super) fn content(value: &str) -> Result<String, ServiceError> {
    let too_long = |bytes: usize| {
        let problem = format!(
            "it has {bytes} bytes, at most {CONTENT_BYTES_MAX} (256 KiB) are kept; shorten it or save it in parts"
        );
        ServiceError::invalid("content", value, problem)
    };
    if value.len() > CONTENT_BYTES_MAX {
        return Err(too_long(value.len()));
    }
    let content = redact_secrets(value);
    // What stands for a secret may be longer than the secret.
    if content.len() > CONTENT_BYTES_MAX {
        return Err(too_long(content.len()));
    }
    if content.trim().is_empty() {
        return Err(ServiceError::invalid("content", value, "it is empty; give the text to remember"));
    }
    Ok(content)
}

/// A search query: 1 to 2,000 characters.
///
/// # Errors
/// [`ServiceError::Invalid`]
pub(super) fn query(value: &str) -> Result<String, ServiceError> {
    let count = value.chars().count();
    if count > QUERY_CHARS_MAX {
        let problem =
            format!("it has {count} characters, at most {QUERY_CHARS_MAX} are searched; ask shorter");
        return Err(ServiceError::invalid("query", value, problem));
    }
    let query = text::one_line(&redact_secrets(value));
    if query.is_empty() {
        return Err(ServiceError::invalid("query", value, "it is empty; give words to search for"));
    }
    Ok(query)
}

/// Tags: up to 16, of up to 64 characters; repeated and empty ones fall away.
///
/// # Errors
/// [`ServiceError::Invalid`]
pub(super) fn tags(values: &[String]) -> Result<Vec<String>, ServiceError> {
    let mut tags: Vec<String> = Vec::new();
    for value in values {
        let tag = text::one_line(&redact_secrets(value));
        if tag.chars().count() > TAG_CHARS_MAX {
            let problem = format!("a tag has at most {TAG_CHARS_MAX} characters; shorten it");
            return Err(ServiceError::invalid("tags", value, problem));
        }
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if tags.len() > TAGS_MAX {
        let problem = format!("{} tags, at most {TAGS_MAX} are kept; drop some", tags.len());
        return Err(ServiceError::invalid("tags", &tags.join(", "), problem));
    }
    Ok(tags)
}

/// A topic key: normalised, up to 120 characters; an empty one is none.
///
/// # Errors
/// [`ServiceError::Invalid`]
pub(super) fn topic_key(value: &str) -> Result<Option<String>, ServiceError> {
    if value.trim().is_empty() {
        return Ok(None);
    }
    let key = redact_secrets(value);
    match hygiene::normalise(&key) {
        Ok(key) => Ok(Some(key)),
        Err(error) => {
            let problem =
                format!("{error}; a topic key is `family/segment` of 1 to {TOPIC_KEY_CHARS_MAX} characters");
            Err(ServiceError::invalid("topic_key", value, problem))
        }
    }
}

/// The name of an agent: one short line, cut where it is too long.
pub fn agent(name: &str) -> String {
    let line = text::one_line(&redact_secrets(name));
    text::cut_chars(&line, AGENT_NAME_CHARS_MAX).into_owned()
}

/// The folder of a session: as it came where it is a path of one line, else made one, and cut.
pub fn directory(path: &str) -> String {
    let path = redact_secrets(path);
    if is_directory(&path) {
        return path;
    }
    text::cut_bytes(&text::one_line(&path), DIRECTORY_BYTES_MAX).to_owned()
}

/// Whether this can be the path of a folder: one line of at most 4,096 bytes.
pub fn is_directory(path: &str) -> bool {
    path.len() <= DIRECTORY_BYTES_MAX && !path.contains(char::is_control)
}

fn bounded(field: &'static str, value: &str, line: &str) -> Result<(), ServiceError> {
    let count = line.chars().count();
    if count == 0 {
        return Err(ServiceError::invalid(field, value, "it is empty; give a short name for the memory"));
    }
    if count > TITLE_CHARS_MAX {
        let problem = format!("it has {count} characters, at most {TITLE_CHARS_MAX} are kept; shorten it");
        return Err(ServiceError::invalid(field, value, problem));
    }
    Ok(())
}
