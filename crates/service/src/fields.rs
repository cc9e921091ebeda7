//! Validates, redacts and normalises the input of callers, from whichever edge it comes.

use super::ServiceError;
use cerebro_core::domain::limits::{
    AGENT_NAME_CHARS_MAX, CONTENT_BYTES_MAX, DIRECTORY_BYTES_MAX, HOOK_MESSAGE_CHARS_MAX, QUERY_CHARS_MAX,
    TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX, TOPIC_KEY_CHARS_MAX,
};
use cerebro_core::domain::{Project, Trigger, Validity};
use cerebro_core::hygiene;
use cerebro_core::redact::{Cleaned, RedactedText, redact_list, redact_name, redact_secrets, redact_text};
use cerebro_core::text;

/// Reads the texts of one call. This is the one place where input is redacted. It counts what was replaced, and answers
/// [`ServiceError::Invalid`] for what does not fit.
#[derive(Debug, Default)]
pub(super) struct Fields {
    redacted: usize,
}

impl Fields {
    /// How many places of the texts so far were replaced.
    pub(super) fn redacted(&self) -> usize {
        self.redacted
    }

    fn count<T>(&mut self, Cleaned { value, count }: Cleaned<T>) -> T {
        self.redacted += count;
        value
    }

    fn text(&mut self, value: &str) -> RedactedText {
        self.count(redact_text(value))
    }

    /// A title: one line, 1 to 300 characters.
    pub(super) fn title(&mut self, value: &str) -> Result<RedactedText, ServiceError> {
        let title = self.text(value).one_line();
        let given = text::one_line(&text::strip_control_chars(value)).chars().count();
        // The sign of a redaction may be longer or shorter than the secret.
        match given.min(title.chars().count()) {
            0 => {
                let problem = "it is empty; give a short name for the memory";
                Err(ServiceError::invalid("title", value, problem))
            }
            count if count > TITLE_CHARS_MAX => {
                let problem =
                    format!("it has {count} characters, at most {TITLE_CHARS_MAX} are kept; shorten it");
                Err(ServiceError::invalid("title", value, problem))
            }
            _ => Ok(title.cut_chars(TITLE_CHARS_MAX)),
        }
    }

    /// The content of a memory, prompt or summary: 1 byte to 256 KiB, with secrets replaced.
    pub(super) fn content(&mut self, value: &str) -> Result<RedactedText, ServiceError> {
        let content = self.text(value);
        let bytes = content.len();
        if bytes > CONTENT_BYTES_MAX {
            let problem = format!(
                "it has {bytes} bytes, at most {CONTENT_BYTES_MAX} (256 KiB) are kept; shorten it or save it in parts"
            );
            return Err(ServiceError::invalid("content", value, problem));
        }
        if content.trim().is_empty() {
            return Err(ServiceError::invalid("content", value, "it is empty; give the text to remember"));
        }
        Ok(content)
    }

    /// The last message of a session, whose beginning serves as a summary: at least 1 character, and cut.
    pub(super) fn message(&mut self, value: &str) -> Result<RedactedText, ServiceError> {
        // Redacted before it is cut, because a part of a secret is not recognised.
        let message = self.text(value).trimmed().cut_chars(HOOK_MESSAGE_CHARS_MAX);
        if message.is_empty() {
            return Err(ServiceError::invalid("content", value, "it is empty; give the text to remember"));
        }
        Ok(message)
    }

    /// A search query: 1 to 2,000 characters.
    pub(super) fn query(&mut self, value: &str) -> Result<RedactedText, ServiceError> {
        let query = self.text(value);
        let count = query.chars().count();
        if count > QUERY_CHARS_MAX {
            let problem =
                format!("it has {count} characters, at most {QUERY_CHARS_MAX} are searched; ask shorter");
            return Err(ServiceError::invalid("query", value, problem));
        }
        let query = query.one_line();
        if query.is_empty() {
            return Err(ServiceError::invalid("query", value, "it is empty; give words to search for"));
        }
        Ok(query)
    }

    /// Tags: up to 16, of up to 64 characters. Repeated and empty ones are dropped.
    pub(super) fn tags(&mut self, values: &[String]) -> Result<Vec<RedactedText>, ServiceError> {
        let mut tags: Vec<RedactedText> = Vec::new();
        for tag in self.words(values) {
            if tag.chars().count() > TAG_CHARS_MAX {
                let problem = format!("a tag has at most {TAG_CHARS_MAX} characters; shorten it");
                // A tag may be a part of a secret that only the whole list reveals.
                return Err(ServiceError::invalid("tags", &tag, problem));
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

    /// The tags that a search asks for, in the form in which tags are stored.
    pub(super) fn words(&mut self, values: &[String]) -> Vec<RedactedText> {
        self.count(redact_list(values)).iter().map(RedactedText::one_line).collect()
    }

    /// Where a thing to be done is shown; an empty trigger is none.
    pub(super) fn trigger(&mut self, value: &str) -> Result<Option<Trigger>, ServiceError> {
        if value.trim().is_empty() {
            return Ok(None);
        }
        let trigger = Trigger::parse(&self.text(value));
        trigger.map(Some).map_err(|error| ServiceError::invalid("trigger", value, error.to_string()))
    }

    /// A topic key: normalised, up to 120 characters; an empty one is none.
    pub(super) fn topic_key(&mut self, value: &str) -> Result<Option<RedactedText>, ServiceError> {
        if value.trim().is_empty() {
            return Ok(None);
        }
        hygiene::normalise(&self.text(value)).map(Some).map_err(|error| {
            let problem =
                format!("{error}; a topic key is `family/segment` of 1 to {TOPIC_KEY_CHARS_MAX} characters");
            ServiceError::invalid("topic_key", value, problem)
        })
    }

    /// The name of an agent: one short line, cut where it is too long.
    pub(super) fn agent(&mut self, name: &str) -> RedactedText {
        self.text(name).one_line().cut_chars(AGENT_NAME_CHARS_MAX)
    }

    /// The folder of a session: unchanged if it is a path of one line, else made one line and cut.
    pub(super) fn directory(&mut self, path: &str) -> RedactedText {
        let path = self.text(path);
        if is_directory(&path) { path } else { path.one_line().cut_bytes(DIRECTORY_BYTES_MAX) }
    }
}

/// A period of validity, if it ends after it begins.
pub(super) fn checked_validity(valid: Validity) -> Result<Validity, ServiceError> {
    match (valid.from, valid.until) {
        (Some(from), Some(until)) if until < from => {
            let problem = format!("it is before valid_from, {from}");
            Err(ServiceError::invalid("valid_until", &until.to_string(), problem))
        }
        _ => Ok(valid),
    }
}

/// The name of an agent, as [`Fields::agent`] reads it.
pub fn agent(name: &str) -> RedactedText {
    Fields::default().agent(name)
}

/// Whether this can be the path of a folder: one line of at most 4,096 bytes.
pub fn is_directory(path: &str) -> bool {
    path.len() <= DIRECTORY_BYTES_MAX && !path.contains(char::is_control)
}

/// The project of a line of an export; what names none is of the general one.
pub(crate) fn project(text: &str) -> Result<Project, String> {
    if text.is_empty() {
        return Ok(Project::general());
    }
    Project::parse(&redact_name(text)).ok_or_else(|| format!("`{}` is no project name", redact_secrets(text)))
}
