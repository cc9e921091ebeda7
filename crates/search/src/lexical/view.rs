//! What a search reads: the committed segments, and the queued changes.
//!
//! A commit writes files, rewrites the index's list of segments and reopens them all. A search right after a save
//! needs none of that. A queued memory is cut into terms once, by the same schema and analyser. The queued memories
//! form one more [`Segment`] beside the committed ones, in which older versions of the same memories are ignored.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use tantivy::{
    DocAddress, DocId, Searcher, SegmentReader, TantivyDocument, Term,
    fastfield::Column,
    fieldnorm::FieldNormReader,
    index::SegmentId,
    schema::{Field, IndexRecordOption, Value},
};

use super::{
    Change, LexicalError, Result,
    schema::{Fields, Key, VALID},
    tokenizer::words_analyzer,
};

/// A change that waits for its commit.
pub struct Queued {
    pub change: Change,
    /// Cut when a search first needs them.
    passages: OnceLock<Vec<Arc<Passage>>>,
}

/// A passage of a queued memory, as a segment would hold it.
pub struct Passage {
    document: TantivyDocument,
    /// The frequency of each term.
    terms: HashMap<Term, u32>,
    /// The number of words in head and body.
    lengths: [u32; 2],
}

impl Queued {
    pub fn new(change: Change) -> Self {
        Self { change, passages: OnceLock::new() }
    }

    fn passages(&self, fields: &Fields) -> &[Arc<Passage>] {
        self.passages.get_or_init(|| {
            let documents = self.change.docs().iter().flat_map(|doc| fields.documents(doc));
            documents.map(|document| Arc::new(Passage::cut(document, fields))).collect()
        })
    }
}

impl Passage {
    fn cut(document: TantivyDocument, fields: &Fields) -> Self {
        let mut terms = HashMap::new();
        let mut words = words_analyzer();
        let mut length = |field: Field, terms: &mut HashMap<Term, u32>| {
            let mut count = 0;
            for text in document.get_all(field).filter_map(|value| value.as_str()) {
                words.token_stream(text).process(&mut |token| {
                    count += 1;
                    *terms.entry(Term::from_field_text(field, &token.text)).or_default() += 1;
                });
            }
            count
        };
        let lengths = [length(fields.head, &mut terms), length(fields.body, &mut terms)];
        for key in document.get_all(fields.keys).filter_map(|value| value.as_str()) {
            *terms.entry(Term::from_field_text(fields.keys, key)).or_default() += 1;
        }
        Self { document, terms, lengths }
    }
}

/// A snapshot of the index, including queued changes.
pub struct View {
    fields: Fields,
    committed: Searcher,
    /// One per committed segment.
    known: Vec<Known>,
    /// The memories of committed segments that queued changes replace or remove.
    changed: Vec<Term>,
    queued: Vec<Arc<Passage>>,
    /// How many changes had ever been queued when it was taken.
    pushes: u64,
}

impl View {
    /// The committed segments overlaid with the queued `changes`, which have the last one of each memory.
    pub fn new(committed: Searcher, fields: &Fields, changes: &[Arc<Queued>], pushes: u64) -> Result<Self> {
        let mut changed = Vec::new();
        for queued in changes {
            let memory = fields.term(Key::Memory(queued.change.id()));
            if committed.doc_freq(&memory)? > 0 {
                changed.push(memory);
            }
        }
        let queued = changes.iter().flat_map(|queued| queued.passages(fields)).cloned().collect();
        let known = committed.segment_readers().iter().map(|_| Known::default()).collect();
        Ok(Self { fields: *fields, committed, known, changed, queued, pushes })
    }

    /// Whether it is still current for an index with these committed segments and pushes.
    pub fn is_current(&self, committed: &Searcher, pushes: u64) -> bool {
        self.pushes == pushes
            && self.committed.generation().generation_id() == committed.generation().generation_id()
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.committed.segment_readers().len() + usize::from(!self.queued.is_empty())
    }

    /// A segment by its number.
    pub fn segment(&self, ord: usize) -> Segment<'_> {
        match self.committed.segment_readers().get(ord) {
            Some(reader) => {
                Segment::Committed(Committed { reader, known: &self.known[ord], changed: &self.changed })
            }
            None => Segment::Queued(&self.queued, &self.fields),
        }
    }

    pub fn segments(&self) -> impl Iterator<Item = Segment<'_>> {
        (0..self.len()).map(|ord| self.segment(ord))
    }

    /// The stored fields of a passage.
    pub fn doc(&self, at: DocAddress) -> Result<TantivyDocument> {
        match self.segment(at.segment_ord as usize) {
            Segment::Committed(_) => Ok(self.committed.doc(at)?),
            Segment::Queued(passages, _) => Ok(passages[at.doc_id as usize].document.clone()),
        }
    }
}

/// Passages numbered from 0; those of a memory are adjacent.
#[derive(Clone, Copy)]
pub enum Segment<'a> {
    Committed(Committed<'a>),
    Queued(&'a [Arc<Passage>], &'a Fields),
}

/// A segment on disk.
#[derive(Clone, Copy)]
pub struct Committed<'a> {
    reader: &'a SegmentReader,
    known: &'a Known,
    /// Memories whose passages count as deleted.
    changed: &'a [Term],
}

/// What is found out about a committed segment when a search first needs it.
#[derive(Default)]
struct Known {
    /// Looked up by name once, because a lookup takes longer than reading a value.
    columns: OnceLock<Columns>,
    /// See [`Segment::alive`].
    alive: OnceLock<Option<Vec<u64>>>,
}

struct Columns {
    memory: Column<u64>,
    date: Column<i64>,
    valid_until: Column<i64>,
}

impl<'a> Committed<'a> {
    pub fn id(self) -> SegmentId {
        self.reader.segment_id()
    }

    fn columns(self) -> Result<&'a Columns> {
        if let Some(columns) = self.known.columns.get() {
            return Ok(columns);
        }
        let fast = self.reader.fast_fields();
        let columns = Columns {
            memory: fast.u64("memory")?,
            date: fast.i64("date")?,
            valid_until: fast.i64(VALID[1])?,
        };
        Ok(self.known.columns.get_or_init(|| columns))
    }
}

/// The length of each passage's field, encoded in a byte ([`FieldNormReader::id_to_fieldnorm`]).
pub enum Lengths {
    Committed(FieldNormReader),
    Queued(Vec<u8>),
}

impl Lengths {
    pub fn id(&self, doc: DocId) -> u8 {
        match self {
            Self::Committed(reader) => reader.fieldnorm_id(doc),
            Self::Queued(ids) => ids[doc as usize],
        }
    }
}

impl Segment<'_> {
    /// The number of passages, including deleted ones.
    pub fn max_doc(&self) -> u32 {
        match self {
            Self::Committed(segment) => segment.reader.max_doc(),
            Self::Queued(passages, _) => u32::try_from(passages.len()).unwrap_or(u32::MAX),
        }
    }

    /// Calls `each` for every passage with a term, in order, with the term's frequency there.
    pub fn scan(&self, term: &Term, mut each: impl FnMut(DocId, u32)) -> Result<()> {
        let reader = match self {
            Self::Committed(segment) => segment.reader,
            Self::Queued(passages, _) => {
                let has = |(doc, passage): (u32, &Arc<Passage>)| Some((doc, *passage.terms.get(term)?));
                (0..).zip(passages.iter()).filter_map(has).for_each(|(doc, freq)| each(doc, freq));
                return Ok(());
            }
        };
        let inverted = reader.inverted_index(term.field())?;
        let Some(mut postings) = inverted.read_block_postings(term, IndexRecordOption::WithFreqs)? else {
            return Ok(());
        };
        while !postings.docs().is_empty() {
            // A field without frequencies leaves the slice empty.
            let freqs = postings.freqs().iter().copied().chain(std::iter::repeat(1));
            for (doc, freq) in postings.docs().iter().zip(freqs) {
                each(*doc, freq);
            }
            postings.advance();
        }
        Ok(())
    }

    /// How many passages have a term, including deleted ones.
    pub fn doc_freq(&self, term: &Term) -> Result<u32> {
        match self {
            Self::Committed(segment) => Ok(segment.reader.inverted_index(term.field())?.doc_freq(term)?),
            Self::Queued(passages, _) => {
                let count = passages.iter().filter(|passage| passage.terms.contains_key(term)).count();
                Ok(u32::try_from(count).unwrap_or(u32::MAX))
            }
        }
    }

    /// The passages that are neither deleted nor changed by the queue, as a bit set; `None` when that is all of
    /// them.
    pub fn alive(&self) -> Result<Option<&[u64]>> {
        let Self::Committed(Committed { reader, known, changed }) = self else { return Ok(None) };
        if let Some(alive) = known.alive.get() {
            return Ok(alive.as_deref());
        }
        let alive = if changed.is_empty() && !reader.has_deletes() {
            None
        } else {
            let mut alive = bits(self.max_doc(), reader.doc_ids_alive());
            for memory in *changed {
                self.scan(memory, |doc, _| alive[doc as usize / 64] &= !(1 << (doc % 64)))?;
            }
            Some(alive)
        };
        Ok(known.alive.get_or_init(|| alive).as_deref())
    }

    /// The lengths of head or body.
    pub fn lengths(&self, field: Field) -> Result<Lengths> {
        match self {
            Self::Committed(segment) => Ok(Lengths::Committed(segment.reader.get_fieldnorms_reader(field)?)),
            Self::Queued(passages, fields) => {
                let id =
                    |passage: &Arc<Passage>| FieldNormReader::fieldnorm_to_id(passage.length(field, fields));
                Ok(Lengths::Queued(passages.iter().map(id).collect()))
            }
        }
    }

    /// The number of words in head or body over all passages.
    pub fn words(&self, field: Field) -> Result<u64> {
        match self {
            Self::Committed(segment) => Ok(segment.reader.inverted_index(field)?.total_num_tokens()),
            Self::Queued(passages, fields) => {
                Ok(passages.iter().map(|passage| u64::from(passage.length(field, fields))).sum())
            }
        }
    }

    /// Each passage's number within its memory.
    pub fn numbers(&self) -> Result<Vec<u64>> {
        self.numbers_of("passage", |fields| fields.passage)
    }

    fn numbers_of(&self, name: &str, field: fn(&Fields) -> Field) -> Result<Vec<u64>> {
        match self {
            Self::Committed(segment) => {
                let mut numbers = vec![0; self.max_doc() as usize];
                segment.reader.fast_fields().u64(name)?.values.get_range(0, &mut numbers);
                Ok(numbers)
            }
            Self::Queued(passages, fields) => {
                passages.iter().map(|passage| stored(&passage.document, field(fields))).collect()
            }
        }
    }

    /// Each passage's memory, as a number.
    pub fn memories(&self) -> Result<Vec<u64>> {
        self.numbers_of("memory", |fields| fields.memory)
    }

    /// A hash of each passage's session, 0 for none.
    pub fn sessions(&self) -> Result<Vec<u64>> {
        self.numbers_of("session", |fields| fields.session)
    }

    /// A column of moments, in microseconds since 1970, by the name under which a segment on disk has it.
    pub fn moments(&self, name: &str, field: Field) -> Result<Vec<i64>> {
        match self {
            Self::Committed(segment) => {
                let mut moments = vec![0; self.max_doc() as usize];
                segment.reader.fast_fields().i64(name)?.values.get_range(0, &mut moments);
                Ok(moments)
            }
            Self::Queued(passages, _) => {
                passages.iter().map(|passage| moment(&passage.document, field)).collect()
            }
        }
    }

    /// The last moment at which a passage is true, in microseconds since 1970.
    pub fn valid_until(&self, doc: DocId) -> Result<i64> {
        match self {
            Self::Committed(segment) => Ok(segment.columns()?.valid_until.first(doc).unwrap_or_default()),
            Self::Queued(passages, fields) => moment(&passages[doc as usize].document, fields.valid[1]),
        }
    }

    /// The memory of a passage, as a number.
    pub fn memory(&self, doc: DocId) -> Result<u64> {
        match self {
            Self::Committed(segment) => Ok(segment.columns()?.memory.first(doc).unwrap_or_default()),
            Self::Queued(passages, fields) => stored(&passages[doc as usize].document, fields.memory),
        }
    }

    /// When each passage was written, in microseconds since 1970.
    pub fn dates(&self) -> Result<Vec<i64>> {
        match self {
            Self::Committed(segment) => {
                let mut dates = vec![0; self.max_doc() as usize];
                segment.columns()?.date.values.get_range(0, &mut dates);
                Ok(dates)
            }
            Self::Queued(passages, fields) => passages.iter().map(|passage| passage.date(fields)).collect(),
        }
    }

    /// When a passage was written, in microseconds since 1970.
    pub fn date(&self, doc: DocId) -> Result<i64> {
        match self {
            Self::Committed(segment) => Ok(segment.columns()?.date.first(doc).unwrap_or_default()),
            Self::Queued(passages, fields) => passages[doc as usize].date(fields),
        }
    }
}

impl Passage {
    fn length(&self, field: Field, fields: &Fields) -> u32 {
        self.lengths[usize::from(field == fields.body)]
    }

    fn date(&self, fields: &Fields) -> Result<i64> {
        self.document.get_first(fields.date).and_then(|date| date.as_i64()).ok_or_else(incomplete)
    }
}

fn stored(document: &TantivyDocument, field: Field) -> Result<u64> {
    document.get_first(field).and_then(|value| value.as_u64()).ok_or_else(incomplete)
}

fn moment(document: &TantivyDocument, field: Field) -> Result<i64> {
    document.get_first(field).and_then(|value| value.as_i64()).ok_or_else(incomplete)
}

fn incomplete() -> LexicalError {
    LexicalError::Damaged("a queued passage lacks a field".to_owned())
}

/// The passages of a bit set, in order.
pub fn ones(bits: &[u64]) -> impl Iterator<Item = DocId> {
    let of = |(first, word): (DocId, &u64)| {
        let rest = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
        let words = std::iter::successors(Some(*word).filter(|word| *word != 0), rest);
        words.map(move |rest| first + rest.trailing_zeros())
    };
    (0..).step_by(64).zip(bits).flat_map(of)
}

/// A bit set over `count` passages, with the bits of `docs` set.
pub fn bits(count: u32, docs: impl Iterator<Item = DocId>) -> Vec<u64> {
    let mut bits = vec![0; count.div_ceil(64) as usize];
    docs.for_each(|doc| bits[doc as usize / 64] |= 1 << (doc % 64));
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_set_has_what_was_put_into_it() {
        for docs in [vec![], vec![0], vec![1, 63, 64, 65, 127, 191], (0..192).collect()] {
            assert_eq!(ones(&bits(192, docs.iter().copied())).collect::<Vec<DocId>>(), docs);
        }
    }
}
