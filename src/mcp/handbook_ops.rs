//! A person's operations on handbooks: plans, arrangements and the decisions about them, the rendered text, and drafts
//! of skills.

use super::prelude::*;
use crate::answer::distil;
use cerebro_core::distil::handbook::{Rendered, owner};
use cerebro_core::distil::operations::{Handbook, Position};
use cerebro_core::distil::skill::Skill;
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, ItemOperation, Memory, MemoryId, Project,
};

/// The project of the handbook; `None` for that of all projects.
fn whose(call: &mut Call) -> Result<Option<Project>, ArgumentError> {
    let project = call.arguments.project()?;
    if project.is_none() && !call.arguments.flag(&["all_projects"])? {
        return Err(ArgumentError::new("project", None, "name a project, or say `all_projects`"));
    }
    Ok(project)
}

/// What arranging a handbook would send, with an estimate of the cost. Sends nothing.
pub(super) async fn plan(call: &mut Call) -> AnswerTo<of::DistilArrangePlan> {
    let project = whose(call)?;
    let plan = call.service.distilling.arrange_plan(project.as_ref()).await?;
    Ok(distil::ArrangePlan {
        handbook: owner(project.as_ref()).into(),
        items: plan.items as u64,
        new: plan.new as u64,
        shown: plan.shown as u64,
        tokens: plan.tokens,
    })
}

/// Queues the arranging of a handbook. Returns at once.
pub(super) async fn arrange(call: &mut Call) -> AnswerTo<of::DistilArrange> {
    let project = whose(call)?;
    let is_queued = call.service.distilling.arrange_now(project.as_ref()).await?;
    Ok(distil::Arranging { handbook: owner(project.as_ref()).into(), given_up: !is_queued })
}

/// The present text of a handbook, as it would be rendered.
pub(super) async fn show(call: &mut Call) -> AnswerTo<of::DistilHandbook> {
    let project = whose(call)?;
    let (handbook, rendered) = call.service.memories.handbook(project.as_ref()).await?;
    let text = |text: &Rendered| distil::Rendered {
        topic_key: text.topic_key.into(),
        title: Text::of(&text.title),
        content: Text::of(&text.content),
    };
    Ok(distil::Handbook {
        handbook: owner(project.as_ref()).into(),
        items: handbook.shown().count() as u64,
        rendered: rendered.iter().map(text).collect(),
    })
}

/// Updates the memories of a handbook to its present state.
pub(super) async fn render(call: &mut Call) -> AnswerTo<of::DistilRender> {
    let project = whose(call)?;
    let memories = call.service.memories.render_handbook(project.as_ref()).await?;
    let row = |memory: &Memory| distil::SavedText {
        id: Text::of(memory.id),
        topic_key: memory.topic_key.as_ref().map(Text::of),
        revision: memory.revision,
    };
    Ok(distil::Saved { memories: memories.iter().map(row).collect() })
}

/// The drafts of skills, with their texts.
pub(super) async fn skills(call: &mut Call) -> AnswerTo<of::DistilSkills> {
    let project = call.arguments.project()?;
    let skills = call.service.memories.skills(project.as_ref()).await?;
    let row = |(project, skill): &(Project, Skill)| distil::Skill {
        name: Text::from(&skill.name),
        project: Text::of(project),
        title: Text::of(&skill.title),
        sessions: skill.sessions as u64,
        memory: Text::of(skill.memory),
        text: Text::of(&skill.text),
    };
    Ok(distil::Skills { skills: skills.iter().map(row).collect() })
}

/// Undoes an accepted arrangement.
pub(super) async fn undo(call: &mut Call) -> AnswerTo<of::DistilUndo> {
    let given = call.arguments.needed("id")?;
    let id = ArrangementId::parse(&given).map_err(ArgumentError::unread("id", &given))?;
    decide(call, &id, ArrangementState::Undone).await
}

/// Accepts, rejects or undoes an arrangement.
pub(super) async fn decide(
    call: &mut Call,
    id: &ArrangementId,
    wanted: ArrangementState,
) -> AnswerTo<of::DistilUndo> {
    let (arrangement, changed) = call.service.distilling.decide_arrangement(id, wanted).await?;
    let outcome = if changed { wanted.as_str() } else { "unchanged" };
    Ok(distil::Decided {
        id: Text::of(arrangement.id),
        outcome: outcome.into(),
        title: title(&arrangement).into(),
        memory: None,
        saved: None,
    })
}

fn title(arrangement: &Arrangement) -> String {
    let changes = text::counted(arrangement.operations.len(), "change");
    format!("{changes} of the handbook of {}", owner(arrangement.project.as_ref()))
}

/// An arrangement in a list.
pub(super) fn row(arrangement: &Arrangement) -> distil::Arrangement {
    distil::Arrangement {
        id: Text::of(arrangement.id),
        state: arrangement.state.as_str().into(),
        title: title(arrangement).into(),
        handbook: owner(arrangement.project.as_ref()).into(),
        changes: arrangement.operations.len() as u64,
        dropped: arrangement
            .dropped
            .iter()
            .map(|(reason, count)| (reason.clone(), Value::from(*count)))
            .collect(),
        model: Text::of(&arrangement.model),
        generation: Text::from(&arrangement.generation),
        at: moment(arrangement.at).into(),
        decided_at: arrangement.decided_at.map(|at| moment(at).into()),
        operations: None,
    }
}

/// An arrangement with what each of its operations would change.
pub(super) async fn arrangement(call: &mut Call, id: &ArrangementId) -> AnswerTo<of::DistilShow> {
    let (arrangement, mut handbook) = call.service.distilling.arrangement(id).await?;
    let mut operations = Vec::new();
    for operation in &arrangement.operations {
        let before = handbook.get(&operation.item).and_then(|(_, place)| topic(place));
        let fits = handbook.apply(operation).is_ok();
        operations.push(operation_row(&handbook, operation, before, fits));
    }
    let row = distil::Arrangement { operations: Some(operations), ..row(&arrangement) };
    Ok(distil::Proposal { candidate: None, arrangement: Some(row) })
}

fn topic(place: &Position) -> Option<Text> {
    match place {
        Position::Topic(topic) => Some(Text::of(topic)),
        _ => None,
    }
}

fn operation_row(
    handbook: &Handbook,
    operation: &ItemOperation,
    was: Option<Text>,
    fits: bool,
) -> distil::Operation {
    let title = |id: &MemoryId| handbook.get(id).map(|(item, _)| Text::of(&item.title));
    let change = &operation.change;
    distil::Operation {
        action: change.name().into(),
        memory: Text::of(operation.item),
        title: title(&operation.item),
        was,
        topic: change.topic().map(Text::of),
        other: change.other().map(Text::of),
        other_title: change.other().as_ref().and_then(title),
        fits,
    }
}
