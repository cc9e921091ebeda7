//! The neighbourhood of a memory as a picture to walk: every memory in it can become the middle.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use serde_json::{Value, json};

use crate::view::{self, Row, items};
use crate::web::{
    Shared,
    failure::Failure,
    shell::{self, Shell},
    view::{
        layout::{self, BOX_HEIGHT, BOX_WIDTH, Curve, Edge, Node},
        link,
        locale::{Locale, When},
    },
};
use cerebro_core::operation::Operation;
use cerebro_core::text;

/// Memories of a picture, the middle one included.
const NODES: usize = 36;
/// How many relations the picture reaches out.
const DEPTH: usize = 2;
/// Longest title in a box.
const LABEL_CHARS_MAX: usize = 28;
/// Most relations in the list below the picture.
const RELATIONS_MAX: usize = 60;

/// A memory's box.
struct Shape {
    href: String,
    /// The whole title, for who points at the box.
    title: String,
    label: String,
    /// Its type, and what joins it to what is nearer to the middle.
    words: String,
    x: String,
    y: String,
    is_middle: bool,
}

/// A relation in the list below the picture.
struct Line {
    from: String,
    from_href: String,
    kind: String,
    weight: String,
    to: String,
    to_href: String,
    evidence: String,
}

#[derive(Template)]
#[template(path = "graph.html")]
struct GraphPage {
    shell: Shell,
    title: String,
    href: String,
    kind: String,
    project: String,
    when: When,
    width: String,
    height: String,
    box_width: f64,
    box_height: f64,
    shapes: Vec<Shape>,
    curves: Vec<Curve>,
    lines: Vec<Line>,
    lines_more: usize,
    is_cut: bool,
}

#[derive(Template)]
#[template(path = "empty.html")]
struct EmptyPage {
    shell: Shell,
    words: &'static str,
}

/// Begins with the memory that was written last.
pub(in crate::web) async fn start(State(shared): State<Shared>) -> Result<Response, Failure> {
    let answer = shared.desk.ask(Operation::Browse, json!({ "limit": 1 })).await?;
    let last = items(&answer, "memories").map(|row| view::text(row, "id")).next();
    Ok(match last {
        Some(id) => Redirect::to(&link::graph(&id)).into_response(),
        None => shell::ok(&EmptyPage {
            shell: Shell::titled("Graph", "/graph"),
            words: "There are no memories yet. Relations between memories are shown here.",
        }),
    })
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    locale: Locale,
) -> Result<Response, Failure> {
    let question = json!({ "id": id, "depth": DEPTH, "limit": NODES });
    let answer = shared.desk.ask(Operation::Graph, question).await?;
    Ok(shell::ok(&page(&answer, &locale)))
}

fn page(answer: &Value, locale: &Locale) -> GraphPage {
    let rows: Vec<Row> = items(answer, "nodes").map(Row::read).collect();
    let node = |node: &Value| Node {
        id: view::text(node, "id"),
        distance: node["distance"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
    };
    let nodes: Vec<Node> = items(answer, "nodes").map(node).collect();
    let edge = |one: &Value| Edge {
        from: view::text(one, "from"),
        to: view::text(one, "to"),
        kind: view::text(one, "kind").replace('_', " "),
        weight: one["weight"].as_f64().unwrap_or(0.0),
    };
    let edges: Vec<Edge> = items(answer, "relations").map(edge).collect();
    let layout = layout::place(&nodes, &edges);
    let shape = |(n, row): (usize, &Row)| {
        let place = &layout.places[n];
        Shape {
            href: if n == 0 { link::memory(&row.id) } else { link::graph(&row.id) },
            title: super::titled(&row.title),
            label: text::cut_chars(&super::titled(&row.title), LABEL_CHARS_MAX).into_owned(),
            words: words(row, n, &nodes, &edges),
            x: place.x.clone(),
            y: place.y.clone(),
            is_middle: n == 0,
        }
    };
    let title = |id: &str| {
        rows.iter().find(|row| row.id == id).map_or(String::new(), |row| super::titled(&row.title))
    };
    let line = |(edge, one): (&Edge, &Value)| Line {
        from: title(&edge.from),
        from_href: link::memory(&edge.from),
        kind: edge.kind.clone(),
        weight: format!("{:.2}", edge.weight),
        to: title(&edge.to),
        to_href: link::memory(&edge.to),
        evidence: text::cut_chars(&view::text(one, "evidence"), 160).into_owned(),
    };
    let middle = rows.first().cloned().unwrap_or_default();
    GraphPage {
        shell: Shell::titled(&format!("Around {}", middle.title), "/graph"),
        title: super::titled(&middle.title),
        href: link::memory(&middle.id),
        when: locale.moment(middle.at),
        kind: middle.kind,
        project: middle.project,
        width: layout.width.clone(),
        height: layout.height.clone(),
        box_width: BOX_WIDTH,
        box_height: BOX_HEIGHT,
        shapes: rows.iter().enumerate().map(shape).collect(),
        lines: edges.iter().zip(items(answer, "relations")).take(RELATIONS_MAX).map(line).collect(),
        lines_more: edges.len().saturating_sub(RELATIONS_MAX),
        is_cut: answer["truncated"] == true,
        curves: layout.curves,
    }
}

/// The type of a memory, and the strongest relation that joins it to what is nearer to the middle.
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
