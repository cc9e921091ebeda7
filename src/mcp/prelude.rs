//! What nearly every handler uses: the call, its arguments, and the forms of its answer.

pub(super) use serde_json::{Value, json};

pub(super) use super::{
    arguments::ArgumentError,
    call::{Answer, AnswerTo, Call},
    fault::Fault,
    reply::{Reply, moment},
};
pub(super) use crate::answer::{Text, of};
pub(super) use cerebro_core::text;
