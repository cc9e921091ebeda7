//! How fast documents are read: `cargo run --release -p cerebro-documents --example speed -- [FILE…]`
//!
//! Without files it reads generated Markdown (sections, lists and code) and a generated PDF of text pages. Each is read until a
//! second has passed, and cut into passages.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it reads, measures and prints")]

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cerebro_documents::{Format, chunks, read};
use pdf_extract::{Dictionary, Document, Object, Stream};

type BoxError = Box<dyn std::error::Error>;

/// How long the reading of each file is repeated.
const ENOUGH: Duration = Duration::from_secs(1);
const SECTIONS: usize = 1_500;
const PAGES: usize = 100;

fn markdown() -> Vec<u8> {
    let section = |n: usize| {
        format!(
            "## Section {n}\n\nThe worker of part {n} retries `store_{n}` three times, and then it tells whoever asked \
             that the part could not be stored.\n\n- one of {n}\n- two of {n}, see [the guide](guide.md)\n\n\
             ```rust\nfn part_{n}() -> usize {{\n    {n}\n}}\n```\n\n| a | b |\n|---|---|\n| {n} | x |\n\n"
        )
    };
    (0..SECTIONS).map(section).collect::<String>().into_bytes()
}

fn dictionary(pairs: Vec<(&str, Object)>) -> Dictionary {
    pairs.into_iter().map(|(name, value)| (name.as_bytes().to_vec(), value)).collect()
}

fn pdf() -> Result<Vec<u8>, BoxError> {
    let mut document = Document::with_version("1.5");
    let pages = document.new_object_id();
    let font = document.add_object(dictionary(vec![
        ("Type", "Font".into()),
        ("Subtype", "Type1".into()),
        ("BaseFont", "Courier".into()),
    ]));
    let fonts = dictionary(vec![("F1", font.into())]);
    let resources = document.add_object(dictionary(vec![("Font", fonts.into())]));
    let mut kids = Vec::new();
    for page in 0..PAGES {
        let mut text = "BT /F1 10 Tf 12 TL 50 780 Td\n".to_owned();
        for line in 0..60 {
            writeln!(text, "(Line {line} of page {page} tells what the worker does with its parts.) Tj T*")?;
        }
        text.push_str("ET");
        let content = document.add_object(Stream::new(Dictionary::new(), text.into_bytes()));
        let page = dictionary(vec![
            ("Type", "Page".into()),
            ("Parent", pages.into()),
            ("Contents", content.into()),
            ("Resources", resources.into()),
            ("MediaBox", vec![0.into(), 0.into(), 595.into(), 842.into()].into()),
        ]);
        kids.push(Object::from(document.add_object(page)));
    }
    let count = i64::try_from(PAGES)?;
    let tree = dictionary(vec![("Type", "Pages".into()), ("Kids", kids.into()), ("Count", count.into())]);
    document.objects.insert(pages, tree.into());
    let root = document.add_object(dictionary(vec![("Type", "Catalog".into()), ("Pages", pages.into())]));
    document.trailer.set("Root", root);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes)?;
    Ok(bytes)
}

fn measure(name: &str, format: Format, bytes: &[u8]) -> Result<(), BoxError> {
    let begun = Instant::now();
    let (mut times, mut passages) = (0_u32, 0);
    while begun.elapsed() < ENOUGH {
        passages = chunks(&read(format, bytes)?).0.len();
        times += 1;
    }
    let megabytes = bytes.len() as f64 / 1e6;
    let speed = megabytes * f64::from(times) / begun.elapsed().as_secs_f64();
    println!("{name}: {megabytes:.2} MB, {passages} passages, {speed:.1} MB/s");
    Ok(())
}

fn main() -> Result<(), BoxError> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        measure("Markdown", Format::Markdown, &markdown())?;
        measure("PDF", Format::Pdf, &pdf()?)?;
    }
    for file in files {
        let format = Format::of(&file).unwrap_or(Format::Text);
        measure(&file.display().to_string(), format, &std::fs::read(&file)?)?;
    }
    Ok(())
}
