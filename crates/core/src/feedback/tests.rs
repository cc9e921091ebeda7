//! What counts as a sign and what does not; and how often quotations are recognised, on texts of this repository.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn ids(count: usize) -> Vec<MemoryId> {
    (0..count).map(|_| MemoryId::random()).collect()
}

fn sources(signs: &[Sign]) -> Vec<(MemoryId, Source)> {
    signs.iter().map(|sign| (sign.memory, sign.source)).collect()
}

#[test]
fn a_read_counts_once_and_only_after_the_memory_was_shown() {
    let mut watch = Watch::default();
    let shown = ids(3);
    assert_eq!(watch.read(&shown[0]), None, "nothing was shown yet");
    assert_eq!(watch.searched(at(0), "where does it listen", &shown), []);
    let sign = Sign { memory: shown[1], source: Source::Read, rank: 2, is_first: true };
    assert_eq!(watch.read(&shown[1]), Some(sign));
    assert_eq!(watch.read(&shown[1]), None, "a replay");
    assert_eq!(watch.read(&MemoryId::random()), None, "not shown");
    watch.searched(at(1), "on which port", &[shown[1], shown[0]]);
    assert_eq!(watch.read(&shown[1]), None, "shown again, reported before");
    assert_eq!(watch.read(&shown[0]).map(|sign| sign.rank), Some(1), "the best place");
    assert_eq!(watch.corrected(&shown[1]).map(|sign| sign.source), Some(Source::Corrected), "another source");
    assert_eq!(watch.corrected(&shown[1]), None);
}

#[test]
fn asking_again_in_other_words_counts_against_the_first_hits() {
    let first = ids(5);
    let passed =
        |watch: &mut Watch, second, question: &str| sources(&watch.searched(at(second), question, &ids(2)));
    let begun = || {
        let mut watch = Watch::default();
        watch.searched(at(0), "which port does the server use", &first);
        watch
    };
    let want: Vec<_> = first[..3].iter().map(|id| (*id, Source::AskedAgain)).collect();
    let again = "which port does the server listen on";
    assert_eq!(passed(&mut begun(), 60, again), want);
    assert_eq!(
        passed(&mut begun(), 60, "Which port does the SERVER use?"),
        [],
        "the same: a retry or a probe"
    );
    assert_eq!(passed(&mut begun(), 60, "who wrote the parser"), [], "another question");
    assert_eq!(passed(&mut begun(), 601, again), [], "too late");
    let mut read = begun();
    read.read(&first[4]);
    assert_eq!(passed(&mut read, 60, again), [], "one of the hits was read");
    let mut twice = begun();
    passed(&mut twice, 60, again);
    assert_eq!(passed(&mut twice, 70, "which port does the server really use"), [], "reported before");
}

#[test]
fn a_session_keeps_a_bounded_number() {
    let mut watch = Watch::default();
    let all = ids(3 * SHOWN_MAX);
    for (n, shown) in all.chunks(5).enumerate() {
        watch.searched(at(n.try_into().unwrap()), &format!("question {n}"), shown);
    }
    assert_eq!((watch.shown().len(), watch.questions.len()), (SHOWN_MAX, QUESTIONS_MAX));
    assert!(watch.read(&all[0]).is_none() && watch.read(all.last().unwrap()).is_some());
}

#[test]
fn a_memory_that_an_answer_repeats_was_useful() {
    let shown = ids(2);
    let texts = [
        (shown[0], "The listener binds port 4780 of localhost, set by CEREBRO_PORT.".to_owned()),
        (shown[1], "Backups are compressed with zstd and verified after they were written.".to_owned()),
    ];
    let signs_of = |message: &str| {
        let mut watch = Watch::default();
        watch.searched(at(0), "which port does it bind", &shown);
        let signs = sources(&watch.answered(message, &texts));
        assert_eq!(watch.answered(message, &texts), [], "a second time");
        signs
    };
    assert_eq!(
        signs_of("I set cerebro_port to 4780, so that the listener is found on localhost."),
        [(shown[0], Source::Answer)]
    );
    assert_eq!(
        signs_of("Done: which port does it bind, you asked, and I looked."),
        [],
        "the question's words"
    );
    assert_eq!(signs_of(""), []);
}

/// A fixed generator of numbers below a bound.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Ten texts that were shown, which of them the answer quotes, and the answer.
struct Case {
    texts: Vec<(MemoryId, String)>,
    quoted: usize,
    answer: String,
}

fn cases(count: usize) -> Vec<Case> {
    const DOCUMENTS: [&str; 6] = [
        include_str!("../../../../ARCHITECTURE.md"),
        include_str!("../../../../docs/truth.md"),
        include_str!("../../../../docs/freshness.md"),
        include_str!("../../../../docs/recall.md"),
        include_str!("../../../../docs/backup.md"),
        include_str!("../../../../docs/work.md"),
    ];
    const BEFORE: &str = "I looked at this, and here is what I found so far. ";
    const AFTER: &str =
        " The tests pass; please tell me whether this is what you wanted before anything depends on it.";
    let has_words = |text: &&str, least| quoted::words(&fold(text)).len() >= least;
    let paragraphs: Vec<&str> = DOCUMENTS
        .iter()
        .flat_map(|document| document.split("\n\n"))
        .filter(|text| has_words(text, 20) && !text.contains("```"))
        .collect();
    assert!(paragraphs.len() > 40, "{}", paragraphs.len());
    let mut draw = Draw(7);
    let mut cases = Vec::new();
    while cases.len() < count {
        let first = draw.below(paragraphs.len());
        let texts: Vec<(MemoryId, String)> = (0..10)
            .map(|n| (MemoryId::random(), paragraphs[(first + n) % paragraphs.len()].replace('\n', " ")))
            .collect();
        let quoted = draw.below(5);
        let sentences: Vec<&str> = texts[quoted].1.split(". ").filter(|text| has_words(text, 7)).collect();
        let Some(sentence) = (!sentences.is_empty()).then(|| sentences[draw.below(sentences.len())]) else {
            continue;
        };
        let answer = format!("{BEFORE}{sentence}.{AFTER}");
        cases.push(Case { texts, quoted, answer });
    }
    cases
}

#[test]
fn quotations_are_recognised_and_shuffled_words_are_not() {
    let cases = cases(200);
    let nothing = BTreeSet::new();
    let known = |case: &Case| {
        let found = quoted(&case.answer, &case.texts, &nothing);
        found.contains(&case.texts[case.quoted].0)
    };
    let used = cases.iter().filter(|case| known(case)).count();
    let mut mistaken = 0;
    let mut shuffled = 0;
    for (n, case) in cases.iter().enumerate() {
        let other = &cases[(n + 1) % cases.len()];
        // An answer from another case that quotes what is shown here too is no mistake.
        if case.texts.iter().any(|(_, text)| *text == other.texts[other.quoted].1) {
            continue;
        }
        shuffled += 1;
        mistaken += usize::from(!quoted(&other.answer, &case.texts, &nothing).is_empty());
    }
    assert!(used * 100 >= 80 * cases.len(), "{used} of {} answers", cases.len());
    assert!(shuffled > 100 && mistaken * 100 <= 5 * shuffled, "{mistaken} of {shuffled} shuffled answers");
}

#[test]
fn usefulness_grows_with_signs_and_stays_below_one() {
    let of = |signs: &[(Source, u64)]| usefulness(&signs.iter().copied().collect());
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[(Source::Corrected, 1), (Source::Read, 3)]), None);
    let (one, many) = (of(&[(Source::Answer, 1)]).unwrap(), of(&[(Source::Answer, 1_000)]).unwrap());
    assert!((one - 0.5).abs() < 1e-6 && many > one && many < 1.0);
    assert!(of(&[(Source::Read, 1)]).unwrap() < one);
}
