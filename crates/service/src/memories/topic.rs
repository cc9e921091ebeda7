//! Suggesting a stable key for a subject that will be saved again.

use crate::{Caller, Memories, ServiceError, fields::Fields};
use cerebro_core::domain::Project;
use cerebro_core::hygiene;
use cerebro_store::Topic;

/// How many of the project's newest keys are looked at.
const TOPICS_MAX: usize = 2_000;
/// How many near keys are named.
const EXISTING_MAX: usize = 5;

/// A key, and the live ones near it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The suggested key.
    pub topic_key: String,
    /// Keys in use, each with the memory that holds it, the nearest first.
    pub existing: Vec<Topic>,
    /// Whose keys were looked at.
    pub project: Project,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl Memories {
    /// Suggests a key from a type, title and content, and names live keys of the project near it.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] when neither title nor content is given.
    pub async fn suggest_topic(
        &self,
        caller: &Caller,
        kind: Option<&str>,
        title: Option<&str>,
        content: Option<&str>,
    ) -> Result<Suggestion, ServiceError> {
        let given = |text: Option<&str>| text.is_some_and(|text| !text.trim().is_empty());
        if !given(title) && !given(content) {
            return Err(ServiceError::invalid(
                "title",
                "",
                "give a title or content to name the subject from",
            ));
        }
        let mut fields = Fields::default();
        let title = title.filter(|_| given(title)).map(|title| fields.title(title)).transpose()?;
        let content =
            content.filter(|_| given(content)).map(|content| fields.content(content)).transpose()?;
        let topic_key = hygiene::suggest(kind, title.as_deref(), content.as_deref());
        let mut near: Vec<_> = self
            .base
            .store
            .topics()
            .of_project(&caller.project, TOPICS_MAX)
            .await?
            .into_iter()
            .map(|topic| (hygiene::nearness(&topic_key, &topic.key), topic))
            .filter(|(nearness, _)| *nearness >= hygiene::NEAR_MIN)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.key.cmp(&b.1.key)));
        let existing = near.into_iter().take(EXISTING_MAX).map(|(_, topic)| topic).collect();
        Ok(Suggestion { topic_key, existing, project: caller.project.clone(), redacted: fields.redacted() })
    }
}
