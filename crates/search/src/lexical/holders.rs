//! Finds the memories that mention a name: exact lookups without ranking.

use tantivy::{Term, tokenizer::TokenStream};

use super::{
    Index, Query, Result,
    scan::Allowed,
    schema::Key,
    tokenizer::{runs, words_analyzer},
};
use cerebro_core::domain::{Scope, SubjectId};

impl Index {
    /// For each name, the live memories of a scope that mention it, in order of id, at most `limit` +
    /// 1. That many mean that the name is too common to be significant.
    pub fn holders(&self, scope: &Scope, names: &[String], limit: usize) -> Result<Vec<Vec<SubjectId>>> {
        let view = self.view()?;
        let terms: Vec<Option<Term>> = names.iter().map(|name| self.term_of(name)).collect();
        let place = Query::everything_in(scope);
        let mut found = vec![Vec::new(); names.len()];
        for segment in view.segments() {
            let allowed = Allowed::new(segment, self.fields(), &place)?;
            for (term, holders) in terms.iter().zip(&mut found) {
                let Some(term) = term else { continue };
                let mut docs = Vec::new();
                segment.scan(term, |doc, _| docs.push(doc))?;
                for doc in docs.into_iter().filter(|doc| allowed.has(*doc)) {
                    holders.extend(SubjectId::from_number(segment.memory(doc)?));
                }
            }
        }
        for holders in &mut found {
            holders.sort_unstable();
            holders.dedup();
            holders.truncate(limit + 1);
        }
        Ok(found)
    }

    /// The term by which a name is found: the name itself, or for a plain word its stem.
    fn term_of(&self, name: &str) -> Option<Term> {
        let run = runs(name).next()?;
        if let Some(name) = run.name() {
            return Some(self.fields().term(Key::Name(&name)));
        }
        let mut words = words_analyzer();
        let mut stream = words.token_stream(run.text);
        stream.advance().then(|| Term::from_field_text(self.fields().body, &stream.token().text))
    }
}
