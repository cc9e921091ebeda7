//! A query, and the terms that the index looks up for it. The text is data: it has no operators.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tantivy::{
    Term,
    tokenizer::{TextAnalyzer, TokenStream},
};

use super::{
    fold::fold,
    schema::{Fields, Key},
    tokenizer::{Run, is_decoration, query_analyzer, runs, short_hash},
};
use cerebro_core::domain::{Kind, Project, Scope, ScopeName, Timestamp, limits::QUERY_CHARS_MAX};
use cerebro_core::recall::{ExternalSignals, Weights};
use cerebro_core::redact::RedactedText;

/// Most query terms of one query; the first ones count. A query of 2,000 characters rarely has more.
const QUERY_TERMS_MAX: usize = 96;
/// Most distinct concepts: one per bit of a mask.
pub const CONCEPTS_MAX: usize = 64;

/// A search.
#[derive(Debug, Clone)]
pub struct Query {
    /// Any text; characters beyond [`QUERY_CHARS_MAX`] are ignored.
    pub text: RedactedText,
    pub projects: Projects,
    pub scope: Option<ScopeName>,
    pub kind: Option<Kind>,
    /// All of these are required.
    pub tags: Vec<RedactedText>,
    /// Not older than this.
    pub since: Option<Timestamp>,
    /// Not younger than this.
    pub until: Option<Timestamp>,
    pub limit: usize,
    pub offset: usize,
    /// Only memories that are true at this moment.
    pub valid_at: Option<Timestamp>,
    /// Only texts that the store held at this moment, in an index of the past.
    pub held_at: Option<Timestamp>,
    /// Whether archived memories are searched.
    pub archived: Archived,
    /// The weight of each signal.
    pub weights: Weights,
    /// Supersessions, by the numbers of the memories: the newer one is listed before the older one.
    pub successors: Arc<HashMap<u64, u64>>,
    /// Signals from outside the texts, as far as they have a weight.
    pub external: Arc<ExternalSignals>,
    /// Whether changes that wait for their commit are searched, too. To take up many of them takes as long as their commit.
    pub queued: bool,
}

impl Query {
    /// A query whose only condition is the projects. Its limit is 0, so the caller sets one.
    pub fn of(text: RedactedText, projects: Projects) -> Self {
        Self {
            text,
            projects,
            scope: None,
            kind: None,
            tags: Vec::new(),
            since: None,
            until: None,
            limit: 0,
            offset: 0,
            valid_at: None,
            held_at: None,
            archived: Archived::Without,
            weights: Weights::default(),
            successors: Arc::default(),
            external: Arc::default(),
            queued: true,
        }
    }

    /// A query without words, filtered by scope only.
    pub(super) fn everything_in(scope: &Scope) -> Self {
        Self {
            scope: Some(scope.name()),
            archived: Archived::With,
            ..Self::of(RedactedText::default(), Projects::within(scope.project()))
        }
    }
}

/// Whether archived memories are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Without archived memories.
    #[default]
    Without,
    /// With archived memories.
    With,
    /// Only archived memories.
    Only,
}

/// Whose memories are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projects {
    All,
    Of {
        project: Project,
        /// Also search personal memories, which belong to no project.
        with_personal: bool,
    },
}

impl Projects {
    /// Only this project; everything when `None`.
    pub fn within(project: Option<&Project>) -> Self {
        match project {
            Some(project) => Self::Of { project: project.clone(), with_personal: false },
            None => Self::All,
        }
    }
}

/// One thing to look for.
#[derive(Debug, Clone)]
pub struct QueryTerm {
    /// One term for each field that may hold it.
    pub terms: Vec<Term>,
    pub kind: TermKind,
    /// The concept that it stands for: a bit number.
    pub concept: usize,
    /// The concept of the name that it is part of.
    pub part_of: Option<usize>,
}

/// How a query term is written in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// A word, or a part of a name.
    Word,
    /// A name as a whole, among the names or among the words.
    Name,
}

impl Query {
    /// The terms of the places to search; `None` where all places are searched.
    pub fn places(&self, fields: &Fields) -> Option<Vec<Term>> {
        let Projects::Of { project, with_personal } = &self.projects else { return None };
        let mut places = vec![fields.term(Key::Project(project))];
        places.extend(with_personal.then(|| fields.term(Key::Scope(ScopeName::Personal))));
        Some(places)
    }

    /// The conditions that a memory must meet: at least one term of each inner list.
    pub fn conditions(&self, fields: &Fields) -> Vec<Vec<Term>> {
        let mut conditions: Vec<Vec<Term>> = self.places(fields).into_iter().collect();
        let scope = self.scope.map(Key::Scope);
        let kind = self.kind.as_ref().map(Key::Kind);
        let tags = self.tags.iter().map(|tag| Key::Tag(tag));
        conditions.extend(scope.into_iter().chain(kind).chain(tags).map(|key| vec![fields.term(key)]));
        conditions
    }

    /// The text, cut to its bound.
    pub fn bounded_text(&self) -> &str {
        match self.text.char_indices().nth(QUERY_CHARS_MAX) {
            Some((end, _)) => &self.text[..end],
            None => &self.text,
        }
    }

    /// The terms to look up. Stop words are left out unless the query has no other words.
    pub fn query_terms(&self, fields: &Fields) -> Vec<QueryTerm> {
        let all: Vec<Run<'_>> = runs(self.bounded_text()).collect();
        let meant: Vec<Run<'_>> = all.iter().filter(|run| !is_stop_word(run.text)).copied().collect();
        let mut query_terms = QueryTerms {
            fields,
            words: query_analyzer(),
            seen: HashSet::new(),
            list: Vec::new(),
            concepts: 0,
        };
        for run in if meant.is_empty() { all } else { meant } {
            if query_terms.list.len() >= QUERY_TERMS_MAX || query_terms.concepts >= CONCEPTS_MAX - 1 {
                break;
            }
            query_terms.add(&run);
        }
        query_terms.list.truncate(QUERY_TERMS_MAX);
        query_terms.list
    }
}

struct QueryTerms<'a> {
    fields: &'a Fields,
    words: TextAnalyzer,
    seen: HashSet<Term>,
    list: Vec<QueryTerm>,
    concepts: usize,
}

impl QueryTerms<'_> {
    fn add(&mut self, run: &Run<'_>) {
        let mut tokens = Vec::new();
        self.words.token_stream(run.text).process(&mut |token| tokens.push(token.clone()));
        let whole = self.concepts;
        let name = run.name();
        if let Some(name) = &name {
            self.concepts += 1;
            for name in [name].into_iter().chain(&short_hash(run.text)) {
                self.push(vec![self.fields.term(Key::Name(name))], TermKind::Name, whole, None);
            }
        }
        for (i, token) in tokens.iter().enumerate() {
            let terms =
                [self.fields.head, self.fields.body].map(|field| Term::from_field_text(field, &token.text));
            // The analyser emits a camel case word as a whole before its parts.
            let joined = tokens.get(i + 1).is_some_and(|next| {
                next.offset_from == token.offset_from && next.offset_to < token.offset_to
            });
            if name.is_some() && (joined || tokens.len() == 1) {
                self.push(terms.to_vec(), TermKind::Name, whole, None);
            } else if self.concepts < CONCEPTS_MAX {
                let part_of = name.is_some().then_some(whole);
                if self.push(terms.to_vec(), TermKind::Word, self.concepts, part_of) {
                    self.concepts += 1;
                }
            }
        }
    }

    /// Whether the query term is new.
    fn push(&mut self, terms: Vec<Term>, kind: TermKind, concept: usize, part_of: Option<usize>) -> bool {
        let new = self.seen.insert(terms[0].clone());
        if new {
            self.list.push(QueryTerm { terms, kind, concept, part_of });
        }
        new
    }
}

/// Whether a word says nothing about the subject.
pub fn is_stop_word(word: &str) -> bool {
    is_decoration(word) || STOP_WORDS.binary_search(&fold(word).as_str()).is_ok()
}

/// English words that say nothing about the subject, folded (so without apostrophes), in order.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "arent", "as", "at",
    "be", "because", "been", "before", "being", "both", "but", "by", "can", "cannot", "cant", "could",
    "couldnt", "did", "didnt", "do", "does", "doesnt", "doing", "dont", "during", "each", "for", "from",
    "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "im", "in",
    "into", "is", "isnt", "it", "its", "ive", "just", "may", "me", "might", "my", "no", "nor", "of", "off",
    "on", "or", "our", "ours", "over", "please", "shall", "she", "should", "so", "some", "such", "than",
    "that", "thats", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "under", "until", "up", "us", "very", "was", "wasnt", "we", "were", "werent",
    "what", "whats", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "yours",
];

#[cfg(test)]
mod tests {
    use super::STOP_WORDS;

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
    }
}
