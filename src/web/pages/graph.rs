//! A graph of memories and their relations: around one memory, of a project, or about a name.

use std::collections::BTreeSet;

use super::prelude::*;
use super::{counted, from, known_projects, part};
use crate::answer::{
    self,
    graph::{self, Beside, Graph, Relation},
};
use crate::view::Row;
use crate::web::html::layout::{self, BOX_HEIGHT, BOX_WIDTH, Curve, Edge, Node};
use cerebro_core::relate::RelationKind;

/// Most memories in a graph, including the centre.
const NODES: usize = 36;
/// Largest distance of a memory from the centre, in relations.
const DEPTH: usize = 2;
/// Longest title in a box, in characters and in bytes of HTML.
const LABEL_CHARS_MAX: usize = 28;
const LABEL_BYTES_MAX: usize = 84;
/// Most lines in the picture. Only the strongest relations are drawn.
const CURVES_MAX: usize = 120;
/// Size of the table below the graph, of the HTML around each line, and of the evidence of a relation, in bytes.
const TABLE_BYTES: usize = 14_000;
const AROUND_BYTES: usize = 220;
const EVIDENCE_BYTES_MAX: usize = 200;
/// Longest title in a line of the table, in bytes of HTML.
const TITLE_BYTES_MAX: usize = 120;
/// Most other names that are listed.
const BESIDE_MAX: usize = 20;

/// A memory's box.
struct Shape {
    href: String,
    /// The full title, shown when the pointer is on the box.
    title: String,
    label: String,
    /// Its type, and its relation to a memory closer to the centre.
    words: String,
    x: String,
    y: String,
    is_middle: bool,
}

/// A relation in the table below the picture.
struct Line {
    from: String,
    from_href: String,
    kind: String,
    weight: String,
    to: String,
    to_href: String,
    evidence: String,
}

impl Line {
    fn weight(&self) -> usize {
        let texts = [&self.from, &self.to, &self.evidence].map(|text| byte_budget::weight(text));
        texts.iter().sum::<usize>() + AROUND_BYTES
    }
}

/// The picture, and its relations as a table.
#[derive(Default)]
struct Picture {
    width: String,
    height: String,
    box_width: f64,
    box_height: f64,
    shapes: Vec<Shape>,
    curves: Vec<Curve>,
    lines: Vec<Line>,
    pager: Pager,
    is_cut: bool,
}

/// The heading above the picture.
#[derive(Default)]
struct Head {
    /// Words before the title.
    around: &'static str,
    title: String,
    href: String,
    kind: String,
    project: String,
    when: When,
    /// Other names in the same memories, each with the number of memories and its address.
    beside: Vec<(String, String, String)>,
    /// The text if there are no relations.
    nothing: &'static str,
}

#[derive(Template)]
#[template(path = "graph.html")]
struct GraphPage {
    shell: Shell,
    head: Head,
    picture: Picture,
    projects: Vec<String>,
    project: String,
    name: String,
}

/// The graph around the latest memory.
pub(in crate::web) async fn start(State(shared): State<Shared>) -> Page {
    let answer = shared.backend.read(of::Browse, json!({ "limit": 1 })).await?;
    if let Some(last) = answer.memories.first() {
        return Ok(Redirect::to(&link::graph(&last.row.id.line())).into_response());
    }
    let nothing = "There are no memories yet. Relations between memories are shown here.";
    let head = Head { around: "Graph", nothing, ..Head::default() };
    Ok(drawn(&shared, head, Picture::default(), "", "").await)
}

/// The graph around one memory; every memory in it can become the centre.
pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let question = json!({ "id": id, "depth": DEPTH, "limit": NODES });
    let answer = shared.backend.read(of::Graph, question).await?;
    let picture = around(&answer, (&link::graph(&id), from(&parts)?), true);
    let middle = answer.nodes.first().map(Row::node).unwrap_or_default();
    let head = Head {
        around: "Around",
        title: super::titled(&middle.title),
        href: link::memory(&middle.id),
        when: locale.moment(middle.at),
        kind: middle.kind,
        project: super::named(&middle.project),
        nothing: "Nothing is related to this memory yet. The worker draws relations once a memory has a vector.",
        ..Head::default()
    };
    Ok(drawn(&shared, head, picture, "", "").await)
}

/// The graph of the latest memories of a project.
pub(in crate::web) async fn project(Asked { shared, parts, .. }: Asked) -> Page {
    let project = part(&parts, "project");
    if project.is_empty() {
        return Ok(Redirect::to("/graph").into_response());
    }
    let question = json!({ "project": project, "limit": NODES });
    let answer = shared.backend.read(of::Graph, question).await?;
    let own = link::with_query("/graph/project", &[("project", &project)]);
    let picture = around(&answer, (&own, from(&parts)?), false);
    let head = Head {
        around: "Project",
        title: super::named(&project),
        href: super::overview::place_of(&project),
        nothing: "None of its newest memories are related to each other.",
        ..Head::default()
    };
    Ok(drawn(&shared, head, picture, &project, "").await)
}

/// The graph of the memories that name a file, a symbol or a word.
pub(in crate::web) async fn entity(Asked { shared, locale, parts }: Asked) -> Page {
    let (name, project) = (part(&parts, "name"), part(&parts, "project"));
    if name.is_empty() {
        return Ok(Redirect::to("/graph").into_response());
    }
    let mut question = json!({ "name": name, "limit": NODES });
    if !project.is_empty() {
        question["project"] = json!(project);
    }
    let answer = shared.backend.read(of::Entity, question).await?;
    let nodes = answer.memories.iter().map(|about| (Row::of(&about.row), 0)).collect();
    let place = (link::entity(&name, &project), from(&parts)?);
    let picture = picture(nodes, (&answer.relations, answer.truncated), (&place.0, place.1), false);
    let own = answer.project.line();
    let beside = |entity: &Beside| {
        let name = entity.name.line();
        (
            super::named(&name),
            counted(&locale, entity.memories, "memory", "memories"),
            link::entity(&name, &own),
        )
    };
    let head = Head {
        around: "What names",
        title: super::named(&name),
        project: super::named(&own),
        beside: answer.beside.iter().take(BESIDE_MAX).map(beside).collect(),
        nothing: "The memories that name it are not related to each other.",
        ..Head::default()
    };
    Ok(drawn(&shared, head, picture, &own, &name).await)
}

async fn drawn(shared: &Shared, head: Head, picture: Picture, project: &str, name: &str) -> Response {
    let counts = shared.backend.counts().await;
    shell::ok(&GraphPage {
        shell: Shell::titled(format!("{} {}", head.around, head.title).trim(), "/graph"),
        projects: known_projects(&counts),
        head,
        picture,
        project: project.to_owned(),
        name: name.to_owned(),
    })
}

/// The graph around a memory, or of a project.
fn around(answer: &Graph, place: (&str, usize), has_middle: bool) -> Picture {
    let distance = |node: &graph::Node| usize::try_from(node.distance).unwrap_or(usize::MAX);
    let nodes = answer.nodes.iter().map(|node| (Row::node(node), distance(node))).collect();
    picture(nodes, (&answer.relations, answer.truncated), place, has_middle)
}

/// The graph of memories, each with its distance, and of their relations, with whether there are more; and the table's
/// lines from `from` on. `own` is the address of the page.
fn picture(
    found: Vec<(Row, usize)>,
    (relations, truncated): (&[Relation], bool),
    (own, from): (&str, usize),
    has_middle: bool,
) -> Picture {
    let mut nodes: Vec<Node> =
        found.iter().map(|(row, distance)| Node { id: row.id.clone(), distance: *distance }).collect();
    let rows: Vec<Row> = found.into_iter().map(|(row, _)| row).collect();
    let edge = |one: &Relation| Edge {
        from: one.from.line(),
        to: one.to.line(),
        kind: one.kind.line().replace('_', " "),
        weight: one.weight,
    };
    let relations = each_once(relations);
    let edges: Vec<Edge> = relations.iter().copied().map(edge).collect();
    if !has_middle {
        layout::spread(&mut nodes, &edges);
    }
    let strongest = &edges[..edges.len().min(CURVES_MAX)];
    let layout = layout::place(&nodes, strongest);
    let shape = |(n, row): (usize, &Row)| {
        let (place, title) = (&layout.places[n], super::titled(&row.title));
        let is_middle = has_middle && n == 0;
        Shape {
            href: if is_middle { link::memory(&row.id) } else { link::graph(&row.id) },
            label: byte_budget::line(&title, LABEL_CHARS_MAX, LABEL_BYTES_MAX),
            title: byte_budget::cut(&title, TITLE_BYTES_MAX).into_owned(),
            words: words(row, n, &nodes, &edges),
            x: place.x.clone(),
            y: place.y.clone(),
            is_middle,
        }
    };
    let title = |id: &str| {
        let title = rows.iter().find(|row| row.id == id).map(|row| super::titled(&row.title));
        byte_budget::cut(&title.unwrap_or_default(), TITLE_BYTES_MAX).into_owned()
    };
    let line = |(edge, one): (&Edge, &&Relation)| Line {
        from: title(&edge.from),
        from_href: link::memory(&edge.from),
        kind: edge.kind.clone(),
        weight: format!("{:.2}", edge.weight),
        to: title(&edge.to),
        to_href: link::memory(&edge.to),
        evidence: byte_budget::cut(&answer::line(one.evidence.as_ref()), EVIDENCE_BYTES_MAX).into_owned(),
    };
    let shown = edges.iter().zip(&relations).skip(from).map(line);
    let lines = ByteBudget(TABLE_BYTES).fill(shown, Line::weight);
    let next = from + lines.len();
    Picture {
        width: layout.width.clone(),
        height: layout.height.clone(),
        box_width: BOX_WIDTH,
        box_height: BOX_HEIGHT,
        shapes: rows.iter().enumerate().map(shape).collect(),
        pager: Pager::of("relations")
            .first("First", (from > 0).then(|| own.to_owned()))
            .next("More", (next < edges.len()).then(|| link::onward(own, next))),
        lines,
        is_cut: truncated || edges.len() > CURVES_MAX,
        curves: layout.curves,
    }
}

/// The relations of an answer, in its order. One that holds both ways is there once.
fn each_once(relations: &[Relation]) -> Vec<&Relation> {
    let mut seen = BTreeSet::new();
    let mut once = Vec::with_capacity(relations.len());
    for one in relations {
        let (from, to, kind) = (one.from.raw(), one.to.raw(), one.kind.raw());
        let is_mutual = RelationKind::parse(kind).is_some_and(RelationKind::is_mutual);
        let ends = if is_mutual && to < from { (to, from) } else { (from, to) };
        if seen.insert((ends, kind)) {
            once.push(one);
        }
    }
    once
}

/// The type of a memory, and its strongest relation to a memory closer to the centre.
fn words(row: &Row, n: usize, nodes: &[Node], edges: &[Edge]) -> String {
    let distance = |id: &str| nodes.iter().find(|node| node.id == id).map(|node| node.distance);
    let own = nodes[n].distance;
    let joins = |edge: &&Edge| {
        let other = if edge.from == row.id { &edge.to } else { &edge.from };
        (edge.from == row.id || edge.to == row.id) && distance(other).is_some_and(|other| other < own)
    };
    match edges.iter().find(joins) {
        Some(edge) => format!("{} · {} {:.2}", row.kind, edge.kind, edge.weight),
        None => row.kind.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_picture_is_no_longer_than_a_page_may_be() {
        let id = |n: usize| format!("k{n:011}");
        let node = |n: usize| graph::Node {
            id: id(n).into(),
            title: "<".repeat(300).into(),
            kind: "x".repeat(40).into(),
            distance: n.min(2) as u64,
            ..graph::Node::default()
        };
        let relation = |n: usize| Relation {
            from: id(n % 36).into(),
            to: id(n / 36).into(),
            kind: "depends_on".into(),
            weight: 0.5,
            evidence: Some("日".repeat(300).into()),
            ..Relation::default()
        };
        let answer = Graph {
            nodes: (0..36).map(node).collect(),
            relations: (0..36 * 36).map(relation).collect(),
            truncated: false,
        };
        let (mut from, mut shown) = (0, 0);
        for _ in 0..200 {
            let picture = around(&answer, ("/graph/x", from), true);
            shown += picture.lines.len();
            let page = GraphPage {
                shell: Shell::titled("x", "/graph"),
                head: Head { title: "<".repeat(40), ..Head::default() },
                projects: vec!["<".repeat(200); 5],
                picture,
                project: String::new(),
                name: String::new(),
            };
            let html = page.render().unwrap();
            assert!(html.len() < 60_000, "{}", html.len());
            match page.picture.pager.links.last().filter(|link| link.rel == "next") {
                Some(next) => from = next.href.rsplit('=').next().unwrap().parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(shown, 36 * 36, "every relation is on some page");
    }
}
