//! What nearly every page uses: the framework, the shell and the daemon's operations.

pub(super) use askama::Template;
pub(super) use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
pub(super) use serde_json::json;

pub(super) use super::{Asked, Page, returned};
pub(super) use crate::answer::of;
pub(super) use crate::web::{
    Shared,
    access::Posted,
    failure::Failure,
    html::{
        byte_budget::{self, ByteBudget},
        link,
        locale::{Locale, When},
        pager::Pager,
        parameter::Unread,
    },
    shell::{self, Shell},
};
