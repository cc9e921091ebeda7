//! The readers on good, broken, huge and nested files.

use std::io::{Cursor, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;

use super::*;

const FORMATS: [Format; 12] = [
    Format::Markdown,
    Format::Text,
    Format::Code,
    Format::Csv,
    Format::Json,
    Format::Notebook,
    Format::Html,
    Format::Docx,
    Format::Pptx,
    Format::Xlsx,
    Format::Epub,
    Format::Pdf,
];

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn read_chunks(format: Format, bytes: &[u8]) -> Vec<(String, String)> {
    let reading = read(format, bytes).unwrap();
    chunks(&reading).0.into_iter().map(|chunk| (chunk.heading, chunk.text)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(heading, text)| ((*heading).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn markdown_is_cut_at_its_headings_and_keeps_their_path() {
    let source = "---\nname: x\n---\nFirst.\n\n# Guide\n\nAbout.\n\n## Set up\n\n```\n# no heading\n```\n\n## Use `it`\n\nSo.\n";
    let expected = [
        ("", "First."),
        ("Guide", "About."),
        ("Guide › Set up", "```\n# no heading\n```"),
        ("Guide › Use it", "So."),
    ];
    assert_eq!(read_chunks(Format::Markdown, source.as_bytes()), pairs(&expected));
    assert_eq!(read(Format::Markdown, source.as_bytes()).unwrap().title.as_deref(), Some("Guide"));
}

#[test]
fn elements_that_begin_a_line_of_html_keep_words_apart() {
    let source = "<main><SECTION class='a'>One</SECTION><section>two</section><details><summary>three</summary>four</details>\
        <figure><figcaption>five</figcaption></figure>six<hr>seven <section-x>eight</section-x></main>";
    let [(_, text)]: [(String, String); 1] = read_chunks(Format::Html, source.as_bytes()).try_into().unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words, ["One", "two", "three", "four", "five", "six", "seven", "eight"], "{text}");
}

#[test]
fn html_is_read_without_its_scripts() {
    let source = "<html><head><title>A &amp; B</title><script>for (var x = 1; x<y; x++) a<b;</script></head><body><h1>Top</h1><p>Text \
                  <b>here</b>.</p><h2>Next</h2><ul><li>one</li><li>two</li></ul></body></html>";
    let reading = read(Format::Html, source.as_bytes()).unwrap();
    assert_eq!(reading.title.as_deref(), Some("A & B"));
    let texts: Vec<_> = reading.sections.iter().map(|section| section.path.join("/")).collect();
    assert_eq!(texts, ["Top", "Top/Next"]);
    assert!(!format!("{reading:?}").contains("var x"), "{reading:?}");
}

#[test]
fn rows_can_be_read_alone() {
    let csv = "name;age\nAda;36\nBob;\n";
    let expected = [("", "name; age\nname: Ada; age: 36\nname: Bob")];
    assert_eq!(read_chunks(Format::Csv, csv.as_bytes()), pairs(&expected));
    let json = r#"{"server": {"port": 8080, "hosts": ["a", "b"]}, "off": null}"#;
    let expected = [("server", "port: 8080\nhosts: a\nhosts: b")];
    assert_eq!(read_chunks(Format::Json, json.as_bytes()), pairs(&expected));
    let lines = "{\"a\": 1}\n{\"a\": 2}\n";
    assert_eq!(read_chunks(Format::Json, lines.as_bytes()), pairs(&[("", "a: 1"), ("", "a: 2")]));
}

#[test]
fn a_title_above_a_table_is_no_name_of_a_column() {
    for (csv, expected) in [
        ("Sales 2026\n\nRegion;Sum\nNorth;12\n", "Sales 2026\nRegion; Sum\nRegion: North; Sum: 12"),
        ("Sales 2026,,\nRegion,Sum,\nNorth,12,\n", "Sales 2026\nRegion; Sum\nRegion: North; Sum: 12"),
        ("Mail\na@b.ch\nc@d.ch\n", "Mail\nMail: a@b.ch\nMail: c@d.ch"),
        // An index without a name, as programs write it.
        (",Sum\n0,5\n", "Sum\n0; Sum: 5"),
    ] {
        assert_eq!(read_chunks(Format::Csv, csv.as_bytes()), pairs(&[("", expected)]));
    }
    let rows = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>Sales</t></is></c></row>
        <row r="3"><c r="A3" t="inlineStr"><is><t>city</t></is></c><c r="B3" t="inlineStr"><is><t>sum</t></is></c></row>
        <row r="4"><c r="A4" t="inlineStr"><is><t>Bern</t></is></c><c r="B4"><v>134</v></c></row>"#;
    let expected = [("Towns", "Sales\ncity; sum\ncity: Bern; sum: 134")];
    assert_eq!(read_chunks(Format::Xlsx, &sheet_book(rows, "")), pairs(&expected));
}

#[test]
fn a_comment_in_the_code_of_html_is_no_heading() {
    let source = "<h1>Set up</h1><p>Run:</p><pre class='sh'># get it\n<b># then</b>\n---\nmake</pre><p>Done.</p>\
        <pre>\n# again\n</pre><h2>Use</h2><p>So.</p>";
    let found = read_chunks(Format::Html, source.as_bytes());
    let [(first, text), (second, _)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("Set up", "Set up › Use"), "{found:?}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words.join(" "), "Run: # get it **# then** --- make Done. # again");
}

#[test]
fn a_notebook_gives_its_cells() {
    let source = r##"{"cells": [{"cell_type": "markdown", "source": ["# Plot\n", "Why."]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "noise"}]}]}"##;
    let expected = [("Plot", "Why.\n\n```\nx = 1\n```")];
    assert_eq!(read_chunks(Format::Notebook, source.as_bytes()), pairs(&expected));
}

#[test]
fn word_slides_and_books_are_read_under_their_headings() {
    let word = br#"<w:document xmlns:w="w"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Plan</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">Fish &amp; </w:t><w:t>chips</w:t></w:r></w:p></w:body></w:document>"#;
    let docx = archive(&[("word/document.xml", word)]);
    assert_eq!(read_chunks(Format::Docx, &docx), pairs(&[("Plan", "Fish & chips")]));
    let french = br#"<w:document><w:p><w:pStyle w:val="Titre1"/><w:t>Projet</w:t></w:p><w:p><w:t>Oui</w:t></w:p></w:document>"#;
    let styles = br#"<w:styles><w:style w:styleId="Titre1"><w:name w:val="heading 1"/></w:style></w:styles>"#;
    let docx = archive(&[("word/document.xml", french), ("word/styles.xml", styles)]);
    assert_eq!(read_chunks(Format::Docx, &docx), pairs(&[("Projet", "Oui")]));
    let boxed = br"<w:document><mc:AlternateContent><mc:Choice><w:p><w:t>Aside</w:t></w:p></mc:Choice>
        <mc:Fallback><w:p><w:t>Aside</w:t></w:p></mc:Fallback></mc:AlternateContent></w:document>";
    let docx = archive(&[("word/document.xml", boxed)]);
    assert_eq!(read_chunks(Format::Docx, &docx), pairs(&[("", "Aside")]));

    let slide = |title: &str, body: &str| {
        format!(
            "<p:sld xmlns:p='p' xmlns:a='a'><p:sp><p:nvPr><p:ph type='title'/></p:nvPr><a:p><a:t>{title}</a:t></a:p></p:sp>\
             <p:sp><a:p><a:t>{body}</a:t></a:p></p:sp></p:sld>"
        )
    };
    let (first, tenth) = (slide("Start", "one"), slide("End", "ten"));
    let pptx =
        archive(&[("ppt/slides/slide10.xml", tenth.as_bytes()), ("ppt/slides/slide2.xml", first.as_bytes())]);
    assert_eq!(read_chunks(Format::Pptx, &pptx), pairs(&[("Start", "one"), ("End", "ten")]));
    let table = br"<p:sld><p:sp><p:ph type='title'/><a:p><a:t>Costs</a:t></a:p></p:sp>
        <p:graphicFrame><a:tbl><a:tc><a:p><a:t>May</a:t></a:p></a:tc></a:tbl></p:graphicFrame></p:sld>";
    let pptx = archive(&[("ppt/slides/slide1.xml", table)]);
    assert_eq!(read_chunks(Format::Pptx, &pptx), pairs(&[("Costs", "May")]));

    let epub = archive(&[
        (
            "META-INF/container.xml",
            br#"<container><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>"#,
        ),
        (
            "in/book.opf",
            br#"<package><metadata><dc:title xmlns:dc="d">Tales</dc:title></metadata><manifest>
               <item id="b" href="../more/b%20b.xhtml"/><item id="a" href="a.xhtml"/></manifest>
               <spine><itemref idref="a"/><itemref idref="b"/></spine></package>"#,
        ),
        ("in/a.xhtml", b"<html><body><h1>One</h1><p>First.</p></body></html>"),
        ("more/b b.xhtml", b"<html><body><h1>Two</h1><p>Second.</p></body></html>"),
    ]);
    assert_eq!(read_chunks(Format::Epub, &epub), pairs(&[("One", "First."), ("Two", "Second.")]));
    assert_eq!(read(Format::Epub, &epub).unwrap().title.as_deref(), Some("Tales"));
}

fn sheet_book(rows: &str, styles: &str) -> Vec<u8> {
    let book = br#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Towns" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
    let links = br#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
    let roots = br#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    let main = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"";
    let sheet = format!("<worksheet {main}><sheetData>{rows}</sheetData></worksheet>");
    let styles = format!("<styleSheet {main}><cellXfs>{styles}</cellXfs></styleSheet>");
    archive(&[
        ("_rels/.rels", roots),
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", links),
        ("xl/styles.xml", styles.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

#[test]
fn sheets_are_read_row_by_row_however_large_they_claim_to_be() {
    let rows = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>city</t></is></c><c r="B1" t="inlineStr"><is><t>people</t></is></c></row>
        <row r="1048576"><c r="A1048576" t="inlineStr"><is><t>Bern</t></is></c><c r="B1048576"><v>134</v></c><c r="XFD1048576"><v>1</v></c></row>"#;
    let expected = [("Towns", "city; people\ncity: Bern; people: 134")];
    assert_eq!(read_chunks(Format::Xlsx, &sheet_book(rows, "")), pairs(&expected));
}

#[test]
fn dates_of_sheets_are_read_as_dates() {
    // The formats that Excel has for a date, a date with its time, a time, and a duration.
    let styles =
        r#"<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="46"/>"#;
    let rows = r#"<row r="1"><c r="A1" s="1"><v>46027</v></c><c r="B1" s="2"><v>46027.75</v></c><c r="C1" s="3"><v>0.5</v></c>
        <c r="D1" s="4"><v>1.5</v></c><c r="E1"><v>46027</v></c>
        <c r="F1" s="2"><v>46082.60416666666</v></c></row>"#;
    let expected =
        [("Towns", "2026-01-05; 2026-01-05 18:00:00; 12:00:00; 129600 s; 46027; 2026-03-01 14:30:00")];
    assert_eq!(read_chunks(Format::Xlsx, &sheet_book(rows, styles)), pairs(&expected));
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and the rest of it";

/// The images of a document: caption, page, place, format.
fn images(format: Format, bytes: &[u8]) -> Vec<(String, Option<u32>, ImageSource, String)> {
    let images = read(format, bytes).unwrap().images;
    images.into_iter().map(|image| (image.caption, image.page, image.place, image.mime)).collect()
}

fn within(
    caption: &str,
    page: Option<u32>,
    name: &str,
    mime: &str,
) -> (String, Option<u32>, ImageSource, String) {
    (caption.to_owned(), page, ImageSource::Within(name.to_owned()), mime.to_owned())
}

#[test]
fn images_of_archives_keep_caption_page_and_hash_and_give_their_bytes_on_demand() {
    let links = br#"<Relationships><Relationship Id="rId4" Target="media/one.png"/><Relationship Id="rId5" Target="../media/two.jpg"/>
        <Relationship Id="rId6" Target="media/none.png"/></Relationships>"#;
    let word = br#"<w:document xmlns:w="w"><w:p><w:r><w:t>Text</w:t><w:drawing><wp:docPr descr="A  kestrel"/><a:blip r:embed="rId4"/>
        <a:blip r:embed="rId6"/></w:drawing></w:r></w:p></w:document>"#;
    let docx = archive(&[
        ("word/document.xml", word),
        ("word/_rels/document.xml.rels", links),
        ("word/media/one.png", PNG),
    ]);
    assert_eq!(images(Format::Docx, &docx), [within("A kestrel", None, "word/media/one.png", "image/png")]);
    assert_eq!(image(Format::Docx, &docx, "word/media/one.png").unwrap(), PNG);
    assert_eq!(image(Format::Docx, &docx, "word/document.xml"), Err(DocumentError::NoImage));
    let image = &read(Format::Docx, &docx).unwrap().images[0];
    assert_eq!((image.bytes, image.hash.len()), (PNG.len() as u64, 64));

    let slide = br#"<p:sld><p:sp><a:p><a:t>One</a:t></a:p></p:sp><p:pic><p:cNvPr descr="Two herons"/><a:blip r:embed="rId5"/></p:pic></p:sld>"#;
    let pptx = archive(&[
        ("ppt/slides/slide3.xml", slide),
        ("ppt/slides/_rels/slide3.xml.rels", links),
        ("ppt/media/two.jpg", b"\xff\xd8\xff and so on"),
    ]);
    assert_eq!(
        images(Format::Pptx, &pptx),
        [within("Two herons", Some(3), "ppt/media/two.jpg", "image/jpeg")]
    );

    let epub = archive(&[
        ("META-INF/container.xml", br#"<container><rootfile full-path="in/book.opf"/></container>"#),
        (
            "in/book.opf",
            br#"<package><manifest><item id="a" href="text/a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>"#,
        ),
        ("in/text/a.xhtml", br#"<html><body><p>So.</p><img src="../i/a.gif" alt="An osprey"/></body></html>"#),
        ("in/i/a.gif", b"GIF89a and so on"),
    ]);
    assert_eq!(images(Format::Epub, &epub), [within("An osprey", None, "in/i/a.gif", "image/gif")]);
}

#[test]
fn images_of_texts_are_separate_files_or_inline() {
    let beside = |caption: &str, path: &str| {
        (caption.to_owned(), None, ImageSource::Beside(path.to_owned()), String::new())
    };
    let source = "See ![a *red* kite](img/kite.png \"t\") and ![](img/my%20own.png#top), not ![x](https://example.com/a.png) \
                  or ![y](/etc/z.png).\n\n<img alt='a stork' src='img/stork.svg'>\n";
    let expected = [
        beside("a red kite", "img/kite.png"),
        beside("", "img/my own.png"),
        beside("a stork", "img/stork.svg"),
    ];
    assert_eq!(images(Format::Markdown, source.as_bytes()), expected);
    let html = "<p>Text</p><IMG hidden src=\"a&amp;b.png\" alt=\"A &lt; B\"><img src=unquoted.png><img alt=\"none\">";
    assert_eq!(images(Format::Html, html.as_bytes()), [beside("A < B", "a&b.png")]);

    let written = "iVBORw0KGgogYW5kIHRoZSByZXN0IG9mIGl0";
    let markdown =
        format!("Text ![inline](data:image/png;base64,{written}) ![broken](data:image/png;base64,@@)");
    let [(caption, _, ImageSource::Within(name), mime)] = &images(Format::Markdown, markdown.as_bytes())[..]
    else {
        panic!("{:?}", images(Format::Markdown, markdown.as_bytes()));
    };
    assert_eq!((caption.as_str(), mime.as_str()), ("inline", "image/png"));
    assert_eq!(image(Format::Markdown, markdown.as_bytes(), name).unwrap(), PNG);

    let notebook = format!(
        r#"{{"cells": [{{"cell_type": "code", "source": "plot()", "outputs": [{{"data": {{"image/png": "{written}\n"}}}}]}},
            {{"cell_type": "markdown", "source": "Seen.", "attachments": {{"k.png": {{"image/png": "{written}"}}}}}}]}}"#
    );
    let expected = [
        within("", None, "cell 0 output 0", "image/png"),
        within("k.png", None, "cell 1 attachment k.png", "image/png"),
    ];
    assert_eq!(images(Format::Notebook, notebook.as_bytes()), expected);
    assert_eq!(image(Format::Notebook, notebook.as_bytes(), "cell 0 output 0").unwrap(), PNG);
}

#[test]
fn the_base64_of_an_inline_image_is_no_text() {
    let written = STANDARD.encode(PNG.repeat(20));
    let text = |format, source: String| {
        let document = read(format, source.as_bytes()).unwrap();
        document.sections.iter().map(|section| section.text.clone()).collect::<Vec<_>>().join("\n")
    };
    let markdown =
        text(Format::Markdown, format!("Before ![a kite](data:image/png;base64,{written}) after."));
    assert_eq!(markdown, "Before ![a kite](data:image/png;base64,) after.");
    let html =
        text(Format::Html, format!("<p>Before <img src=\"data:image/png;base64,{written}\"> after.</p>"));
    assert!(html.contains("Before") && html.contains("after.") && !html.contains(&written[..40]), "{html}");
    let prose = format!("The token ;base64,{written} is no URL.");
    assert_eq!(text(Format::Markdown, prose.clone()), prose);
    // A blank of more than one byte before it, and so many images that a search through the whole text for each would be slow.
    let wide = format!("A\u{a0}token;base64,{written} and\u{3000}data:image/png;base64,{written}!");
    let kept = format!("A\u{a0}token;base64,{written} and\u{3000}data:image/png;base64,!");
    assert_eq!(text(Format::Markdown, wide), kept);
    let many = ";base64,".repeat(1 << 17);
    assert_eq!(text(Format::Markdown, many.clone()), many);
}

#[test]
fn of_too_many_images_the_first_are_kept() {
    let source: String = (0..limits::IMAGES_MAX + 5).map(|n| format!("![{n}]({n}.png) ")).collect();
    let found = images(Format::Markdown, source.as_bytes());
    assert_eq!(found.len(), limits::IMAGES_MAX);
    let long = format!("![{}](a.png)", "caption ".repeat(100));
    assert!(images(Format::Markdown, long.as_bytes())[0].0.len() <= limits::CAPTION_BYTES_MAX);
}

#[test]
fn zip_bombs_deep_nesting_and_large_files_are_refused() {
    let zeros = vec![b' '; 64 << 20];
    let bomb = archive(&[("word/document.xml", &zeros)]);
    assert_eq!(read(Format::Docx, &bomb), Err(DocumentError::TooMuchInside));
    assert_eq!(read(Format::Xlsx, &bomb), Err(DocumentError::TooMuchInside));
    let deep = format!("<a>{}", "<a>".repeat(100_000));
    let docx = archive(&[("word/document.xml", deep.as_bytes())]);
    assert_eq!(read(Format::Docx, &docx), Err(DocumentError::TooDeep));
    assert_eq!(read(Format::Html, "<div>".repeat(100_000).as_bytes()), Err(DocumentError::TooDeep));
    assert!(matches!(read(Format::Json, "[".repeat(100_000).as_bytes()), Err(DocumentError::Malformed(_))));
    assert_eq!(read(Format::Text, &vec![b'x'; limits::FILE_BYTES_MAX + 1]), Err(DocumentError::TooLarge));
    assert_eq!(read(Format::Text, b"a\0b"), Err(DocumentError::NotText));
    assert_eq!(read(Format::Markdown, b"# Only\n"), Err(DocumentError::Empty));
    let locked = [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".as_slice(), &[0; 64]].concat();
    assert_eq!(read(Format::Docx, &locked), Err(DocumentError::Locked));
    let cut = read(Format::Xlsx, &sheet_book("", "")[..100]).unwrap_err().to_string();
    assert_eq!(cut, "it is not well-formed: it is no archive, or its end is missing");
}

#[test]
fn a_long_text_is_cut_short_and_says_so() {
    let long = "A line of text.\n".repeat(limits::TEXT_BYTES_MAX / 8);
    let reading = read(Format::Text, long.as_bytes()).unwrap();
    let (chunks, cut) = chunks(&reading);
    assert!(reading.cut && cut);
    assert_eq!(chunks.len(), limits::CHUNKS_MAX);
}

#[test]
fn many_short_values_are_cut_short_like_long_texts() {
    let many = |one: &str| one.repeat(limits::TEXT_BYTES_MAX / one.len() + 1);
    let json = format!("{{\"a\": [{}0], \"b\": 1}}", many("0,"));
    let list = format!("[{}0]", many("0,"));
    let (csv, html) = (format!("a;b\n{}", many("1;2\n")), many("<b>x</b> "));
    let lines = many("{\"a\": 1}\n");
    for (format, source) in [
        (Format::Json, json),
        (Format::Json, list),
        (Format::Json, lines),
        (Format::Csv, csv),
        (Format::Html, html),
    ] {
        let reading = read(format, source.as_bytes()).unwrap();
        let kept: usize = reading.sections.iter().map(|section| section.text.len()).sum();
        assert!(reading.cut && kept > 0 && kept <= limits::TEXT_BYTES_MAX, "{format:?}: {kept}");
    }
}

#[test]
fn json_gives_one_line_for_each_leaf() {
    let read = |source: &str| read_chunks(Format::Json, source.as_bytes());
    let source = r#"[{"z": 1.0, "a": -2, "on": true, "none": null, "t\u0041g": "x\ny"}, 18446744073709551615, [[]], 1e300]"#;
    let expected = "z: 1.0\na: -2\non: true\ntAg: x\ny\n18446744073709551615\n1e+300";
    assert_eq!(read(source), pairs(&[("", expected)]));
    assert_eq!(read("{\"a\": {\"b\": {\"c\": 1}}, \"d\": 2}"), pairs(&[("a", "b.c: 1"), ("d", "2")]));
    for wrong in ["{\"a\": 1} {", "{\"a\": }", "[1,]", "{\"a\": 1}\n{\"a\": \n"] {
        let read = super::read(Format::Json, wrong.as_bytes());
        assert!(matches!(read, Err(DocumentError::Malformed(_))), "{wrong}: {read:?}");
    }
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    assert!(matches!(super::read(Format::Json, deep.as_bytes()), Err(DocumentError::Malformed(_))));
}

#[test]
fn a_change_of_one_section_leaves_the_other_chunks() {
    let source = "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree\n";
    let digests = |source: &str| -> Vec<String> {
        let reading = read(Format::Markdown, source.as_bytes()).unwrap();
        chunks(&reading).0.iter().map(|chunk| Chunk::digest(&chunk.heading, &chunk.text)).collect()
    };
    let before: Vec<(usize, String)> = digests(source).into_iter().enumerate().collect();
    let now = digests(&source.replace("two", "2"));
    assert_eq!(compare(&before, &now), Compared { kept: vec![Some(0), None, Some(2)], gone: vec![1] });
    let moved = digests("# C\n\nthree\n\n# A\n\none\n\n# B\n\ntwo\n");
    assert_eq!(compare(&before, &moved), Compared { kept: vec![Some(2), Some(0), Some(1)], gone: vec![] });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_break_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        for format in FORMATS {
            let _ = read(format, &bytes);
        }
    }

    #[test]
    fn no_markup_breaks_a_reader(pieces in prop::collection::vec("(<[a-z/]{0,6}>|#{1,7} |`{1,4}|\\[|\\]|\\||\n|[a-zä]{0,5}|\\{|\"|:|,)", 0..200)) {
        let source = pieces.concat();
        for format in FORMATS {
            let _ = read(format, source.as_bytes());
        }
    }

    #[test]
    fn a_broken_archive_breaks_no_reader(at in 0_usize..400, byte in any::<u8>()) {
        let mut docx = archive(&[("word/document.xml", b"<w:t>text</w:t>"), ("xl/workbook.xml", b"<a/>")]);
        let at = at % docx.len();
        docx[at] = byte;
        for format in [Format::Docx, Format::Pptx, Format::Xlsx, Format::Epub] {
            let _ = read(format, &docx);
        }
    }

    #[test]
    fn chunks_are_bounded_and_hold_every_word(words in prop::collection::vec("[a-zäöü]{1,300}", 1..300)) {
        let text = words.join(" ");
        let (chunks, cut) = chunks(&read(Format::Text, text.as_bytes()).unwrap());
        prop_assert!(!cut);
        prop_assert!(chunks.iter().all(|chunk| chunk.text.len() <= limits::CHUNK_BYTES_MAX));
        let held: Vec<String> =
            chunks.iter().flat_map(|chunk| chunk.text.split(' ').map(str::to_owned)).collect();
        prop_assert_eq!(held, words);
    }
}
